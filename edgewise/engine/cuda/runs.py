"""The three ways to run a program on a GPU, in supersteps, with the best first and by clusters: the arrays of each, and
what it reports."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.balance.clustered import by_clusters_note, clusters_of
from edgewise.balance.contract import SHARED, Plan
from edgewise.engine.contract import LAST_STAMP, Ending
from edgewise.engine.cuda import best_first, by_clusters, control
from edgewise.engine.cuda.arguments import (
    Arcs,
    Buffer,
    Parts,
    Supersteps,
    Work,
    kept_dtype,
    signature,
    stored_identity,
)
from edgewise.engine.cuda.kernel import make_gpu_kernel
from edgewise.engine.cuda.layout import LaidOut
from edgewise.engine.cuda.words import Words
from edgewise.engine.lowering.message_buffer import slot_dtypes
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import packed, words
from edgewise.kernels.cuda.device import THREADS
from edgewise.kernels.cuda.memory import empty, full, pinned, signals, snapshot, written_forms, zeros
from edgewise.kernels.cuda.placed import empty_divided, place
from edgewise.layout.clusters import Clusters
from edgewise.layout.placed_arcs_cuda import PlacedArcs, place_arcs
from edgewise.primitives import cluster_queue, near_far_piles
from edgewise.primitives.ordered_keys import key_dtype
from edgewise.program.inspect import Specification
from edgewise.schedule import Clustered


class Report(NamedTuple):
    """What a kernel reports of a run.

    Attributes:
        supersteps: how many were run.
        ending: how the run ended.
        note: what its supersteps were like, for `explain`; or "".
        phases: see `Outcome.phase_seconds`.
        counted: what is counted in place of supersteps.
    """

    supersteps: int
    ending: Ending
    note: str
    phases: dict[str, float]
    counted: str = "supersteps"


def _of_supersteps(forms: str) -> str:
    """What `explain` tells of supersteps of these forms."""
    return f"supersteps on the GPU: {forms}" if forms else ""


class SuperstepRuns:
    """Runs of a program in supersteps, by `edgewise.engine.cuda.kernel`, in arrays on the GPU that are kept between
    them."""

    make_kernel, signature = staticmethod(make_gpu_kernel), staticmethod(signature)
    control_words, threads = control.CONTROL.size, THREADS

    def __init__(
        self,
        graph: Graph,
        arcs: Arcs,
        spec: Specification,
        message: np.dtype,
        plan: Plan,
        layout: LaidOut | None,
        own: Words,
        spreads: bool,
    ) -> None:
        n = graph.num_vertices
        self.words = own
        self._base = 0
        identity, kept = stored_identity(spec.combine, message), kept_dtype(message)
        messages = full(0 if spec.keeps_messages else n, identity, identity.dtype)
        self._active = zeros(n, np.uint32)
        work = Work(self._active, *(empty(n, np.uint32) for _ in range(3)))
        parts = Parts(empty(plan.num_parts, kept), empty(plan.num_parts, np.uint8))
        self._passed = Supersteps(
            graph=packed(arcs),
            work=packed(work),
            own=(),
            messages=words(messages),
            received=words(zeros(n, np.uint32)),
            outgoing=empty(n * spreads, kept),
            control=words(own.control),
            host=pinned(2, np.int64),
            n=n,
            m=graph.num_arcs,
            base=0,
            limit=0,
            can_pull=False,
            supplied=0,
            plan=packed(plan.of_run(empty)),
            parts=packed(parts),
            layout=packed(layout.rows if layout else ()),
            buffer=packed(_buffer(graph, spec, message, layout) if layout else ()),
        )
        self.host = self._passed.host
        self._form_names = control.BUFFER_FORM_NAMES if layout and layout.maps else control.FORM_NAMES

    @staticmethod
    def nbytes(graph: Graph, spec: Specification, message: np.dtype, plan: Plan, spreads: bool) -> int:
        """The memory that these arrays take on the GPU, without slots."""
        parts = plan.num_parts * (kept_dtype(message).itemsize + 1)
        received = 0 if spec.keeps_messages else max(4, message.itemsize)
        outgoing = kept_dtype(message).itemsize * spreads
        return graph.num_vertices * (received + outgoing + 5 * 4) + plan.nbytes() + parts

    def arguments(self, own: tuple[Any, ...], limit: int, pull: bool, supplied: int) -> Supersteps:
        """What the kernel is launched with; `pull`: whether it may."""
        self.host[...] = 0
        return self._passed._replace(own=own, base=self._base, limit=limit, can_pull=pull, supplied=supplied)

    def active(self, superstep: int) -> int:
        """How many vertices are active since a superstep of the run that goes on."""
        return int(np.count_nonzero(snapshot(self._active) >= self._base + superstep))

    def report(self) -> Report:
        """What the kernel reports."""
        words = self.words.host[: self.control_words].tolist()
        self._base += words[control.SUPERSTEP] + 2
        pushes, pulls = words[control.FORMS :][:2]
        shared = words[SHARED]
        forms = written_forms((pushes - shared, shared, pulls), self._form_names)
        phases = {name: 1e-9 * words[word] for name, word in control.PHASES.items()}
        return Report(words[control.SUPERSTEP], Ending(words[control.ENDED]), _of_supersteps(forms), phases)

    @property
    def worn_out(self) -> bool:
        """Whether the stamps may not suffice for one more run."""
        return self._base >= LAST_STAMP


class BestFirstRuns:
    """Runs of an asynchronous program, by `edgewise.engine.cuda.best_first`, in arrays on the GPU that are kept between
    them."""

    make_kernel, signature = staticmethod(best_first.make_async_kernel), staticmethod(best_first.signature)
    control_words, threads = near_far_piles.CONTROL.size, THREADS
    worn_out = False

    def __init__(
        self,
        graph: Graph,
        arcs: Arcs,
        spec: Specification,
        message: np.dtype,
        plan: Plan,
        layout: LaidOut | None,
        own: Words,
        spreads: bool,
    ) -> None:
        n, m = graph.num_vertices, graph.num_arcs
        piles = near_far_piles.make_piles(n, m, message)._replace(control=own.control)
        self.words, self.host = own, piles.host
        out_edges = packed(near_far_piles.OutEdges(arcs.offsets, arcs.targets))
        self._passed = best_first.BestFirst(out_edges, (), packed(piles), empty(n, np.uint8), n, m, 0, 0)

    @staticmethod
    def nbytes(graph: Graph, spec: Specification, message: np.dtype, plan: Plan, spreads: bool) -> int:
        """The memory that these arrays take on the GPU."""
        return near_far_piles.piles_bytes(graph.num_vertices, graph.num_arcs, message) + graph.num_vertices

    def arguments(self, own: tuple[Any, ...], limit: int, pull: bool, supplied: int) -> best_first.BestFirst:
        """What the kernel is launched with; it never pulls."""
        self.host[...] = 0
        return self._passed._replace(own=own, limit=limit, supplied=supplied)

    def report(self) -> Report:
        """What the kernel reports."""
        host = self.host.tolist()
        forms = written_forms(host[near_far_piles.FORMS :], near_far_piles.FORM_NAMES)
        note = _of_supersteps(f"{forms}; {host[near_far_piles.RISES]} thresholds" if forms else "")
        return Report(host[near_far_piles.SUPERSTEPS], Ending(host[near_far_piles.ENDING]), note, {})


class InClusters(NamedTuple):
    """The clusters of a graph, and where its arcs lead among them."""

    clusters: Clusters
    arcs: PlacedArcs


def in_clusters(graph: Graph, how: Clustered) -> InClusters:
    """A graph in clusters, on the GPU."""
    clusters = graph.gpu.kept(clusters_of, how)
    return InClusters(clusters, place_arcs(graph.gpu.offsets, graph.gpu.targets, clusters))


class ClusterRuns:
    """Runs of an asynchronous program by clusters, by `edgewise.engine.cuda.by_clusters`, in arrays on the GPU that are
    kept between them."""

    make_kernel = staticmethod(by_clusters.make_cluster_kernel)
    signature = staticmethod(by_clusters.signature)
    control_words, threads = cluster_queue.CONTROL.size, cluster_queue.BLOCK
    worn_out = False

    def __init__(
        self,
        graph: Graph,
        arcs: Arcs,
        spec: Specification,
        message: np.dtype,
        plan: Plan,
        layout: InClusters,
        own: Words,
        spreads: bool,
    ) -> None:
        n, (clusters, placed) = graph.num_vertices, layout
        count, key = clusters.num_clusters, key_dtype(message)
        self.words, self.host = own, signals(cluster_queue.HOST.size)
        self._graph, self._clusters, self._crossing = graph, count, placed.crossing
        of_clusters = empty(count, np.int64), empty(count, np.uint32)
        self._passed = by_clusters.ByClusters(
            offsets=arcs.offsets,
            targets=arcs.targets,
            order=clusters.order,
            begins=clusters.begins,
            to=placed.to,
            cluster=placed.cluster,
            crosses=placed.crosses,
            own=(),
            visits=packed(cluster_queue.Visits(empty(n, key), *of_clusters, own.control, self.host)),
            computed=empty(n, key),
            first=empty(n, np.uint8),
            n=n,
            m=graph.num_arcs,
            num_clusters=count,
            supplied=0,
        )

    @staticmethod
    def nbytes(graph: Graph, spec: Specification, message: np.dtype, plan: Plan, spreads: bool) -> int:
        """The memory that these arrays and clusters take on the GPU."""
        return graph.num_vertices * (2 * key_dtype(message).itemsize + 14) + 4 * graph.num_arcs

    def arguments(
        self, own: tuple[Any, ...], limit: int, pull: bool, supplied: int
    ) -> by_clusters.ByClusters:
        """What the kernel is launched with; it has no limit, and never pulls."""
        self.host[...] = 0
        return self._passed._replace(own=own, supplied=supplied)

    def report(self) -> Report:
        """What the kernel reports."""
        visits = int(self.host[cluster_queue.VISITED])
        note = by_clusters_note(self._clusters, visits, self._crossing, self._graph)
        return Report(visits, Ending.FINISHED, note, {}, "visits")


Runs = SuperstepRuns | BestFirstRuns | ClusterRuns


def slot_bytes(spec: Specification, message: np.dtype, num_slots: int) -> list[int]:
    """The bytes of each array of a message buffer."""
    if not spec.keeps_messages:
        return [num_slots * kept_dtype(message).itemsize]
    return [num_slots * size for size in (*(dtype.itemsize for dtype in slot_dtypes(message)), 1)]


def _buffer(graph: Graph, spec: Specification, message: np.dtype, layout: LaidOut) -> Any:
    """A message buffer, as kernels take it; an empty tuple if there is none."""
    size = layout.num_slots

    def slots_of(dtype: np.dtype) -> Any:
        return empty_divided(size, dtype, graph.gpu.part(size * dtype.itemsize))

    if layout.maps is None:
        return ()
    if not spec.keeps_messages:
        return Buffer(layout.maps, slots_of(kept_dtype(message)), empty(0, np.uint8))
    slots = tuple(words(slots_of(dtype)) for dtype in slot_dtypes(message))
    if graph.placement is None:
        return Buffer(layout.maps, slots, zeros(size, np.uint8))
    return Buffer(layout.maps, slots, place(np.zeros(size, np.uint8), graph.gpu.part(size), written=True))
