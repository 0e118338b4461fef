"""The CUDA engine: the arrays of a run on the GPU, laid out once for a graph, and the launch of the kernel."""

import threading
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np

from edgewise.balance.clustered import check_clustered, clusters_pay, give_up_clusters
from edgewise.balance.registry import strategy_of
from edgewise.engine.contract import AbstractEngine, Outcome
from edgewise.engine.cuda.arguments import Arcs
from edgewise.engine.cuda.layout import (
    LaidOut,
    has_room,
    has_short_rows,
    host_has_room,
    is_laid_out,
    lay_out,
    num_places,
    places_bytes,
    rows_bytes,
)
from edgewise.engine.cuda.rows import rows_of
from edgewise.engine.cuda.runs import (
    BestFirstRuns,
    ClusterRuns,
    InClusters,
    Runs,
    SuperstepRuns,
    in_clusters,
    slot_bytes,
)
from edgewise.engine.cuda.vertices import FOLDS
from edgewise.engine.cuda.words import Words
from edgewise.engine.delivery import Delivery, may_push
from edgewise.engine.endless import Watch
from edgewise.engine.lowering.accessors import own_array_order, own_dtypes
from edgewise.engine.lowering.binding import Binding, starts_as_weights
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.engine.lowering.constants import Constants, constant_arrays
from edgewise.errors import MemoryLimitError, ScheduleError
from edgewise.execution import Execution
from edgewise.graph import Arrays, Needs, Placement
from edgewise.graph.attributes import in_order
from edgewise.kernels.cuda.arguments import address, words
from edgewise.kernels.cuda.compile import compile_kernel
from edgewise.kernels.cuda.launch import Kernel
from edgewise.kernels.cuda.memory import capability, copy_of, device_number, empty, finish, room, wait
from edgewise.kernels.cuda.placed import for_users, on_gpu, place, snapshot
from edgewise.layout.clusters import clusters_bytes
from edgewise.layout.contract import HEAVY
from edgewise.layout.slots import ARC_BYTES
from edgewise.memory import RefusedBySystem, Step, held, in_turn
from edgewise.program.declarations import STATE_ARRAYS
from edgewise.schedule import Clustered


@final
class GpuProgram(AbstractEngine):
    """A program compiled for the current GPU.

    Args:
        compiled: the program's functions, for the GPU.
        binding: the program on its graph.
        message: the dtype of messages.
        delivery: which way messages go, and who does which arcs; in-edges that it needs are made when it is laid out,
            if they were not yet and there is room.

    Raises:
        ScheduleError: the strategy combines messages in an order that these do not allow.
    """

    def __init__(
        self, compiled: CompiledProgram, binding: Binding, message: np.dtype, delivery: Delivery
    ) -> None:
        self._compiled, self._binding, self._message = compiled, binding, message
        spec, strategy = binding.spec, strategy_of(delivery.balance)
        if strategy.any_order and not (delivery.buffered or may_push(spec, message)):
            raise ScheduleError(
                f"{spec.name}: {type(delivery.balance).__name__}() combines messages in any order, by atomic "
                f"operations, which {message} messages by {spec.combine.name} do not allow; WorkloadDecomposition() "
                "has equal shares, too"
            )
        self._asked = self._delivery = delivery
        self._form: type[Runs] = SuperstepRuns
        self._free: list[_Workspace] = []
        self._lock = threading.RLock()
        self._order = own_array_order(spec)
        self._layout: LaidOut | None = None
        self._in_clusters: InClusters | None = None
        self._laid_out_for: _For | None = None
        #: Whether runs that do not ask for clusters may have them, and whether they are to be made now.
        self._may_cluster = delivery.may_cluster
        self._clusters_wanted = False
        self.memory_kept = 0

    def is_laid_out(self, limit: int | None, given: dict[str, Any]) -> bool:
        with self._lock:
            return self._is_laid_out(limit, given)

    def _is_laid_out(self, limit: int | None, given: dict[str, Any]) -> bool:
        made, placement = self._laid_out_for, self._binding.graph.placement
        if made is None or made.placement != placement:
            return False
        if limit is None:
            if self._pays_to_cluster():
                self._clusters_wanted = True
                return False
            return made.limit is None or placement is None
        fits = self.held_bytes + self.running(0, given).most <= limit
        return fits and (placement is None or made.limit == limit)

    def lay_out(self, limit: int | None, given: dict[str, Any]) -> None:
        with self._lock:
            self._lay_out_anew(limit, given)

    def _lay_out_anew(self, limit: int | None, given: dict[str, Any]) -> None:
        graph = self._binding.graph
        if self._clusters_wanted:
            self._lay_out_in_clusters(limit, given)
            return
        delivery = self._gathering(limit)
        while True:
            try:
                self._lay_out_as(delivery, limit, given)
                if limit is None and self._pays_to_cluster():
                    self._lay_out_in_clusters(limit, given)
                return
            except MemoryLimitError as refused:
                if isinstance(refused, RefusedBySystem) and graph.gpu.read_in_place():
                    continue
                full = graph.built_on_gpu or not host_has_room(graph)
                if not (delivery.layout and delivery.layout_is_spare and full):
                    raise
            delivery = delivery.without_layout()

    def _gathering(self, limit: int | None) -> Delivery:
        """The delivery that was asked for, or one that does without a layout that was not."""
        graph, delivery = self._binding.graph, self._asked
        if not (delivery.layout and delivery.layout_is_spare):
            return delivery
        fits = has_room(graph, delivery.layout, limit)
        if delivery.takes_longer:
            if fits and is_laid_out(graph, delivery.layout, self._with_arcs):
                return delivery
            if limit is None:  # they are needed in its place, and tell how long rows are
                graph.make_in_edges()
        elif not fits:
            return delivery.without_layout()
        if (delivery.takes_longer or graph.built_on_gpu or graph.has_in_edges) and self._has_short_rows():
            return delivery.by_threads()
        return delivery.by_merge_path() if delivery.takes_longer else delivery

    def _has_short_rows(self) -> bool:
        """Whether no vertex has so many in-edges that a layout would give these to more than a thread."""
        graph = self._binding.graph
        return graph.gpu.kept(has_short_rows, HEAVY) if graph.built_on_gpu else has_short_rows(graph, HEAVY)

    def _pays_to_cluster(self) -> bool:
        """Whether clusters may pay that nobody asked for, and are not there yet; it counts as a run."""
        return self._may_cluster and not self._delivery.by_clusters and clusters_pay(self._binding.graph)

    def _lay_out_in_clusters(self, limit: int | None, given: dict[str, Any]) -> None:
        """Lay out what runs by clusters need that did not ask for them, or as before if these do not fit or suit."""
        graph, how, refused = self._binding.graph, Clustered(), "there was no room for clusters"
        self._clusters_wanted = False
        try:
            self._lay_out_as(self._asked._replace(by_clusters=how), limit, given)
            told = give_up_clusters(graph, graph.gpu.kept(in_clusters, how).arcs.crossing)
            if told is None:
                return
            graph.gpu.drop(in_clusters, how)
            refused = told
        except MemoryLimitError:
            pass
        self._may_cluster = False
        self._lay_out_as(self._asked._replace(why=(*self._asked.why, refused)), limit, given)

    def _lay_out_as(self, delivery: Delivery, limit: int | None, given: dict[str, Any]) -> None:
        """Lay out what this delivery needs."""
        spec, graph, self._delivery = self._binding.spec, self._binding.graph, delivery
        self._strategy = strategy_of(delivery.balance)
        self._form = (
            ClusterRuns if delivery.by_clusters else BestFirstRuns if delivery.best_first else SuperstepRuns
        )
        inward = delivery.in_edges and delivery.layout is None
        arrays = self._arrays_read(inward)
        self._layout = self._in_clusters = self._laid_out_for = None
        self._free.clear()
        for made in ("_arcs", "_constants"):  # what was laid out before gives its memory back first
            vars(self).pop(made, None)
        pushes = delivery.pushes and not delivery.best_first
        self._plan = self._strategy.prepare(rows_of(graph), pushes, inward)
        self._own_bytes = self._form.nbytes(graph, spec, self._message, self._plan, delivery.spreads)
        making = graph.gpu.place(spec.name, self._needs(arrays, given), limit)
        with room(f"{spec.name}: the graph", making.most):
            offsets, targets = graph.gpu.offsets, graph.gpu.targets
            in_offsets, in_sources, in_arcs = offsets, targets, offsets
            if inward:
                in_offsets, in_sources = graph.gpu.in_offsets, graph.gpu.in_sources
            if delivery.layout is not None:
                self._layout = lay_out(
                    graph, delivery.layout, delivery.buffered, self._with_arcs, delivery.by_edges
                )
                if not delivery.buffered:
                    in_sources = self._layout.sources
            if delivery.buffered or delivery.spreads:
                in_order = self._layout is None or self._layout.units.in_order
                delivery = self._delivery = delivery._replace(fused=in_order and not spec.keeps_messages)
            if delivery.in_edges and spec.needs_arc_index:
                in_arcs = self._layout.arcs if self._layout else graph.gpu.in_arcs
            self._arcs = Arcs(offsets, targets, in_offsets, in_sources, in_arcs)
            self._constants = self._lay_out({}, None)
        if delivery.by_clusters:
            check_clustered(graph, delivery.by_clusters)
            there = graph.gpu.has(in_clusters, delivery.by_clusters)
            with room("clusters", 0 if there else clusters_bytes(graph.num_vertices, graph.num_arcs)):
                self._in_clusters = graph.gpu.kept(in_clusters, delivery.by_clusters)
        apart = delivery.best_first and graph.placement is not None
        ways = delivery.pushes, delivery.pulls, delivery.buffered, delivery.layout is not None, apart
        slots = delivery.by_edges, delivery.fused, delivery.spreads
        self._how = f"{self._form.__name__} {ways} {slots} {self._strategy.code_key}"
        #: What kernels depend on besides parameters and uniform fields; the program keeps them for all graphs.
        self._kind = ("cuda kernel", device_number(), self._how, str(self._message), self._binding.dtypes)
        self.memory_kept = self.running(0, {}).most
        layout = _on_gpu(self._layout.arrays if self._layout else [])
        fields = _on_gpu(each for key, each in self._constants.copies.items() if not self._is_of_graph(*key))
        of_graph, of_plan = graph.gpu.there(arrays), self._plan.shared_nbytes()
        self.held_bytes = of_graph + of_plan + fields + layout
        self._memory = {
            "graph": of_graph + fields,
            "strategy": of_plan,
            "layout": layout,
            "run": self.memory_kept,
        }
        finish()
        self._laid_out_for = _For(limit, graph.placement)
        self._where = () if graph.placement is None else (str(graph.placement),)

    def _needs(self, arrays: Arrays, given: dict[str, Any]) -> Needs:
        """What runs need of the GPU's memory, of which these arrays of the graph."""
        binding, graph, layout = self._binding, self._binding.graph, self._delivery.layout
        n, m, spec = graph.num_vertices, graph.num_arcs, binding.spec
        always = self._of_vertices(given) + self._plan.shared_nbytes() + (rows_bytes(n) if layout else 0)
        always += 4 * n * len(spec.state_reads.intersection(STATE_ARRAYS))
        # One value for each vertex field, three for each edge field, one in place of degrees that nobody reads.
        single = *binding.vertex.values(), *3 * [*binding.edge.values()]
        always += sum(dtype.itemsize for dtype in single) + 4 * len(STATE_ARRAYS)
        # What fields that are written start as is copied from the host if they do not lie on the GPU.
        starts = sum(binding.edge[name].itemsize for name in spec.edge_writes - self._weight_fields())
        arranging = ARC_BYTES if layout and layout.made_on == "gpu" else 0

        def of_arcs(exactly: bool) -> list[int]:
            places = num_places(graph, layout) if layout and exactly else m
            how = self._delivery.buffered, self._with_arcs, self._delivery.by_edges
            laid_out = places_bytes(graph, places, *how) if layout else []
            return [*laid_out, *self._of_arcs(places), *self._of_run(places), *self._of_given(places, given)]

        return Needs(arrays, always, of_arcs=of_arcs, if_all_fits=(starts + arranging) * m)

    @property
    def _with_arcs(self) -> bool:
        """Whether a layout has the arc of each place."""
        return bool(self._binding.spec.edge_fields) or self._binding.spec.needs_arc_index

    def _of_arcs(self, places: int) -> list[int]:
        """The bytes of each array of values of arcs that all runs read, beside the graph's."""
        edge, spec, weights = self._binding.edge, self._binding.spec, self._weight_fields()
        m, ordered = self._binding.graph.num_arcs, self._delivery.in_edges and self._delivery.layout
        read = weights.union(spec.state_reads.intersection(edge)) - spec.edge_writes
        made = [m * edge[name].itemsize for name in read - weights]
        return [*made, *(places * edge[name].itemsize for name in read if ordered)]

    def _of_run(self, places: int) -> list[int]:
        """The bytes of each array of arcs or places in which a run works, or that it leaves."""
        binding, spec = self._binding, self._binding.spec
        slots = slot_bytes(spec, self._message, places) if self._delivery.buffered else []
        written = [binding.graph.num_arcs * binding.edge[name].itemsize for name in spec.edge_writes]
        return [*slots, *written]

    def _of_given(self, places: int, given: dict[str, Any]) -> list[int]:
        """The bytes of each copy of values given for arcs: in the order of out-edges, and in that of in-edges."""
        edge, m = self._binding.edge, self._binding.graph.num_arcs
        lengths = [m, *[places] * self._delivery.in_edges]
        return [length * edge[name].itemsize for name in given if name in edge for length in lengths]

    def _of_vertices(self, given: dict[str, Any]) -> int:
        """The bytes of arrays of a run that always lie on the GPU."""
        binding = self._binding
        names = [*binding.vertex, *(name for name in given if name in binding.vertex)]
        of_vertex = sum(binding.vertex[name].itemsize for name in names)
        return self._own_bytes + binding.graph.num_vertices * of_vertex

    def _arrays_read(self, inward: bool) -> Arrays:
        """The graph's arrays that runs read."""
        weighted = bool(self._weight_fields())
        arrays = Arrays.both_ways(weighted) if inward else Arrays.rows(weighted)
        if self._delivery.by_clusters:
            arrays |= Arrays.IN_EDGES
        return arrays | Arrays.IN_ARCS if inward and self._binding.spec.needs_arc_index else arrays

    def _weight_fields(self) -> set[str]:
        """The edge fields that are the graph's weights unless something is given for them."""
        fields = self._binding.spec.edge_fields
        return {name for name in fields if starts_as_weights(self._binding, name, {})}

    def _is_of_graph(self, kind: str, name: str) -> bool:
        """Whether what all runs read for a field is an array of the graph."""
        ordered = kind == "in_along" and self._delivery.in_edges and self._layout is not None
        return name in self._weight_fields() and (name in self._binding.spec.edge_writes or not ordered)

    def running(self, num_threads: int, given: dict[str, Any]) -> Step:
        layout, part = self._layout, self._binding.graph.gpu.part
        places = layout.units.size if layout else self._binding.graph.num_arcs
        copies = sum(map(part, self._of_given(places, given)))
        own = self._of_vertices(given) + sum(map(part, self._of_run(places)))
        # See `LaidOut.in_order`.
        ordering = 0
        if copies and layout and layout.arcs is not None and layout.order is None:
            ordering = layout.arcs.nbytes
        return in_turn(Step(copies, copies + ordering), held(own))

    def __call__(
        self, run: Execution, parameters: dict[str, Any], given: dict[str, Any], limit: int | None
    ) -> Outcome:
        spec, progress = self._binding.spec, run.progress
        with self._lock:  # another thread may lay the program out anew
            laid_out_for, memory = self._laid_out_for, self._memory
            workspace, own = self._start(parameters, given, limit)
            layout = self._layout.notes if self._layout else ()
            notes = *self._where, *self._delivery.why, *self._plan.notes, *layout
        if limit is None and isinstance(workspace.form, SuperstepRuns):
            state = partial(map, snapshot, own.values())
            progress = Watch(spec.name, state, workspace.form.active, progress)
        wait(workspace.form.host, progress)
        report = workspace.form.report()
        aggregates = {name: workspace.words.aggregate(name) for name in spec.aggregators}
        with self._lock:
            if self._laid_out_for is laid_out_for:
                self._free.append(workspace)
        return Outcome(
            {name: own["vertex", name] for name in spec.vertex_fields},
            {name: for_users(own["edge", name]) for name in spec.edge_fields if name in spec.edge_writes},
            aggregates,
            report.supersteps,
            report.ending,
            (*((report.note,) if report.note else ()), *notes),
            report.phases,
            memory,
            report.counted,
        )

    def _start(
        self, parameters: dict[str, Any], given: dict[str, Any], limit: int | None
    ) -> tuple["_Workspace", dict[tuple[str, str], Any]]:
        """Start a run; what it works in, and the fields that it writes."""
        graph = self._binding.graph
        laid_out = self._lay_out(given, self._constants) if given else self._constants
        constants = laid_out.constants
        workspace, own = self._take_workspace(parameters), self._run_arrays(laid_out)
        kernel = self._kernel(parameters, constants.uniform)
        passed = {**laid_out.passed, **workspace.passed, **{key: _word(own[key]) for key in own}}
        limits = (-1 if limit is None else limit, self._delivery.in_edges, constants.supplied)
        ordered = tuple(passed[key] for key in self._order)
        arguments = workspace.form.arguments(ordered, *limits)
        wanted = -(-max(graph.num_vertices, graph.num_arcs // 8, 1) // kernel.threads)
        workspace.words.send(parameters)
        kernel.start([arguments], min(kernel.blocks, wanted))
        workspace.words.receive()
        return workspace, own

    def _lay_out(self, given: dict[str, Any], shared: "_Constants | None") -> "_Constants":
        """The arrays that runs only read, and their copies on the GPU, for arrays given for fields. What is not given
        is shared with other runs, if it was made before."""
        graph, spec, in_edges = self._binding.graph, self._binding.spec, self._delivery.in_edges
        layout = self._layout if in_edges else None
        before = shared.constants if shared else None
        constants = constant_arrays(self._binding, given, in_edges and layout is None, graph.gpu, before)
        copies, placed = dict(shared.copies) if shared else {}, dict[int, Any]()
        for (kind, name), values in constants.arrays.items():
            if (kind, name) in copies and name not in given:
                continue
            of_arcs = kind in ("edge", "along", "in_along") and name not in constants.uniform
            written = name in spec.edge_writes  # each run has its own, and reads no other
            ordered = layout if of_arcs and kind == "in_along" and not written else None
            if of_arcs and written and graph.placement is not None:
                copies[kind, name] = copy_of(values[:1])
            elif ordered is not None and ordered.order is not None:
                copies[kind, name] = graph.gpu.placed(in_order(self._on_host(values), ordered.order))
            else:
                if id(values) not in placed:
                    placed[id(values)] = graph.gpu.placed(values) if of_arcs else copy_of(values)
                found = placed[id(values)]
                copies[kind, name] = found if ordered is None else ordered.in_order(found)
        return _Constants(constants, copies, {key: _word(values) for key, values in copies.items()})

    def _on_host(self, values: Any) -> Any:
        """An array of arcs on the host; what is on the GPU are the graph's weights."""
        return values if isinstance(values, np.ndarray) else self._binding.graph.weights

    def _run_arrays(self, laid_out: "_Constants") -> dict[tuple[str, str], Any]:
        """The fields that one run writes, on the GPU."""
        binding, copies, graph = self._binding, laid_out.copies, self._binding.graph
        arrays: dict[tuple[str, str], Any] = {}
        for i, (name, dtype) in enumerate(binding.vertex.items()):
            supplied = laid_out.constants.supplied >> i & 1
            arrays["vertex", name] = (
                copies["initial", name].copy() if supplied else empty(graph.num_vertices, dtype)
            )
        for name in binding.spec.edge_writes:
            if graph.placement is None:
                arrays["edge", name] = copies["edge", name].copy()
            else:
                start = self._on_host(laid_out.constants.arrays["edge", name])
                arrays["edge", name] = place(start, graph.gpu.part(start.nbytes), written=True)
        return arrays

    def _kernel(self, parameters: dict[str, Any], uniform: frozenset[str]) -> Kernel:
        """The kernel for these types of parameters and these uniform edge fields."""
        kind = (*self._kind, uniform, *(type(value) for value in parameters.values()))
        kept: dict[Any, Kernel] = self._binding.spec.kept
        if kind not in kept:
            binding, message = self._binding, self._message
            key = binding.spec.key
            if key is not None:
                dtypes = own_dtypes(binding, parameters)
                written = sorted(
                    f"{kind} {name} {dtype}" for kind in dtypes for name, dtype in dtypes[kind].items()
                )
                key = "\n".join([key, self._how, str(message), *sorted(uniform), *written])
            code = compile_kernel(
                self._form.make_kernel(self._compiled, binding, message, uniform, self._delivery),
                self._form.signature(binding, message, parameters, self._delivery),
                capability(),
                key,
                self._form.threads,
            )
            kept[kind] = Kernel(code, threads=self._form.threads)
        return kept[kind]

    def _take_workspace(self, parameters: dict[str, Any]) -> "_Workspace":
        """A workspace that no other run uses now."""
        while self._free:
            workspace = self._free.pop()
            if not workspace.form.worn_out:
                return workspace
        binding, n = self._binding, self._binding.graph.num_vertices
        dtypes = own_dtypes(binding, parameters)
        kinds = {
            (kind, name): dtypes[kind][name] for kind in ("parameter", "aggregate") for name in dtypes[kind]
        }
        own = Words(self._form.control_words, kinds)
        partials = {
            ("partial", name): empty(max(1, min(n, FOLDS[0])), dtype)
            for name, dtype in binding.aggregates.items()
        }
        layout: Any = self._in_clusters if self._delivery.by_clusters else self._layout
        arguments = (self._arcs, binding.spec, self._message, self._plan, layout)
        form = self._form(binding.graph, *arguments, own, self._delivery.spreads)
        passed = {key: _word(values) for key, values in {**own.arrays, **partials}.items()}
        return _Workspace(form, own, partials, passed)


class _For(NamedTuple):
    """What a program was laid out for: the limit of a run, and where the graph lies."""

    limit: int | None
    placement: Placement | None


class _Constants(NamedTuple):
    """What runs only read (`edgewise.engine.lowering.constants`), its copies on the GPU, and what is passed for
    these."""

    constants: Constants
    copies: dict[tuple[str, str], Any]
    passed: dict[tuple[str, str], Any]


class _Workspace(NamedTuple):
    """What a run works in: arrays of its form, words, parts of aggregates, and what is passed for these two."""

    form: Runs
    words: Words
    partials: dict[tuple[str, str], Any]
    passed: dict[tuple[str, str], Any]


def _on_gpu(arrays: Iterable[Any]) -> int:
    """How many bytes of arrays lie on the GPU; one that is there several times counts once."""
    return sum({id(each): on_gpu(each) for each in arrays}.values())


def _word(values: Any) -> Any:
    """What is passed for one of the program's own arrays."""
    return words(values) if values.dtype.kind == "b" else address(values)
