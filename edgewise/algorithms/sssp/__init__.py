"""Shortest paths over weighted edges.

Result. The least sum of weights over all paths from the source, or from the nearest of several, for each vertex, and a
tree of such paths.

Idea. Vertices wait in buckets of width delta by their tentative distance; the lowest bucket is emptied until it stays
empty (delta-stepping). A small delta wastes no work, a large one gives every thread enough. Negative weights take
Bellman-Ford in supersteps instead.

Encoding. Distances have the dtype of the weights, int64 if sums of int32 could pass it, int32 without weights. A vertex
that was not reached has inf, or the largest value of an integer dtype. Integers stay exact; a float distance is the
least, over all paths, of the sum rounded from left to right. `cpu_distances` tells how threads share distances.

Reference. Meyer and Sanders, "Δ-stepping: a parallelizable shortest path algorithm", Journal of Algorithms 49 (2003);
Bellman, "On a routing problem", Quarterly of Applied Mathematics 16 (1958).

Steps. `cpu_delta_stepping` or `cpu_bellman_ford`, then `path_tree` for the parents.
"""

from contextlib import suppress
from typing import Any, Literal

import numpy as np

from edgewise.algorithms.bfs import (
    DEEP,
    Found,
    find_levels,
    graph_in_layers,
    layers_asked,
    layers_at_hand,
    note_search,
)
from edgewise.algorithms.common.derived import check_derived, index_of_source
from edgewise.algorithms.common.dispatch import Form, begin, bytes_by_clusters, no_memory
from edgewise.algorithms.common.lengths import unreached_value
from edgewise.algorithms.common.names import WEIGHT, names_elsewhere
from edgewise.algorithms.common.numbers import as_float
from edgewise.algorithms.common.weighted import uses_weights
from edgewise.algorithms.sssp.asked import Asked, as_bound, bound_of
from edgewise.algorithms.sssp.asked import ask as ask
from edgewise.algorithms.sssp.cpu import (
    layers_memory,
    paths_in_layers,
    paths_memory,
    paths_work,
    shortest_paths,
)
from edgewise.algorithms.sssp.verify import verify_paths
from edgewise.algorithms.sssp.weights import LEAST_DELTA, is_signed
from edgewise.errors import MemoryLimitError, ScheduleError
from edgewise.execution import Execution, Progress, as_schedule
from edgewise.graph import Arrays, Graph, VertexId, VertexIds, check_graph
from edgewise.graph.sets_of_ids import as_listed
from edgewise.kernels.costs import levels
from edgewise.layout.layers import ring_arcs, stage_arcs
from edgewise.memory import Step, in_turn
from edgewise.path_result import PathResult
from edgewise.result import Columns, HostArray, SavedColumns, is_finite
from edgewise.schedule import Buffered, Pull, Push, Schedule

_Paths = tuple[Any, Any, int]

_SMALLEST = float(np.finfo(np.float64).smallest_subnormal)


class SSSPResult(PathResult):
    """Shortest paths from the nearest of some vertices.

    ``result[vertex]`` is the distance. It is inf for a vertex that was not reached, or None if distances are integers.

    Attributes:
        source: the user's id of the source, or the list of ids.
        target, max_distance: what was asked for, or None. Vertices farther away count as not reached.
        weighted: whether the lengths of edges are the weights of the graph; else each is 1.
        distance: shape (n,): inf, or the largest value of an integer dtype, for vertices that were not reached.
        parent_index: int32, shape (n,): the vertex before each on its path; -1 for sources and for vertices that were
            not reached.
        supersteps: the number of buckets emptied, which may depend on the number of threads, or of supersteps of
            Bellman-Ford or of a program, or of near-far on GPUs, which may depend on timing; by clusters, the number of
            visits to them; of levels, without weights.
    """

    algorithm = "sssp"
    _main = "distance"
    distance = HostArray()

    def __init__(
        self,
        graph: Graph,
        run: Execution,
        source: Any,
        paths: _Paths,
        *,
        target: Any = None,
        max_distance: float | None = None,
        weighted: bool | None = None,
    ) -> None:
        distance, parent, supersteps = paths
        super().__init__(graph, run, supersteps, {"distance": distance, "parent_index": parent})
        index = graph.index_of(source)
        ids = graph.ids_of(np.atleast_1d(index)).tolist()
        self.source = ids if np.ndim(index) else ids[0]
        self.target, self.max_distance = target, max_distance
        self.weighted = graph.weighted if weighted is None else weighted

    def _are_reached(self, lengths: np.ndarray) -> np.ndarray:
        return lengths != unreached_value(lengths.dtype)

    def columns(self) -> dict[str, np.ndarray]:
        """The columns ``distance`` and ``parent``."""
        return {"distance": self.distance, "parent": self.parent}

    def summary(self) -> dict[str, Any]:
        """The number of vertices ``reached``, and the distance of the ``farthest``."""
        reached = self.distance[is_finite(self.distance)]
        return {"reached": self.num_reached, "farthest": reached.max().item() if len(reached) else None}

    def top_rows(self, count: int = 10) -> dict[str, np.ndarray]:
        """The vertices with the least distances."""
        return self._top_rows("distance", count, largest=False)

    def verify(self, graph: Graph) -> bool:
        """Check that these are shortest paths: see `verify_paths`."""
        check_graph(f"{type(self).__name__}.verify", graph)
        check_derived(self, "parent", "num_reached")
        target = None if self.target is None else index_of_source(graph, self.target)
        bound = as_bound("sssp: max_distance", self.max_distance, self.distance.dtype)
        sources = np.atleast_1d(index_of_source(graph, self.source))
        asked = Asked(sources, self.distance.dtype, bound, target)
        return verify_paths(graph, asked, self.distance, self.parent_index, self.weighted)

    @classmethod
    def verify_columns(cls, graph: Graph, columns: Columns, **given: Any) -> bool:
        """Check distances and parents that were written to a file: see `Result.verify_columns`."""
        saved = SavedColumns(graph, columns)
        weighted = uses_weights("sssp", graph, given.get("weighted"), graph.weighted)
        bound = bound_of("sssp", graph, None, given.get("max_distance"), weighted)
        asked = ask("sssp", graph, given["source"], given.get("target"), bound)
        distance = saved.numbers("distance", asked.dtype, missing=asked.unreached)
        return verify_paths(graph, asked, distance, saved.vertices("parent"), weighted)


@names_elsewhere(
    cutoff="max_distance",
    sources="source, which takes several, too",
    method="none: Dijkstra's or Bellman and Ford's answer, as the weights need it",
    **WEIGHT,
)
def sssp(
    graph: Graph,
    source: VertexIds,
    *,
    target: VertexId = None,
    max_distance: float | None = None,
    weighted: bool | None = None,
    delta: float | Literal["auto"] = "auto",
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> SSSPResult:
    """Shortest paths from one vertex, or from the nearest of several, to all others.

    In a graph without weights every edge has length 1.

    Answers do not depend on threads, on delta, or on the order of the work. Of several parents that give equal
    distances, the one of lowest index among those nearer to the source is taken (`path_tree`); with negative
    weights, the lowest of those that gave it first.

    Args:
        graph: weights may be negative, as long as no negative cycle can be reached.
        source: the user's id of the vertex to start from, or a list or a set of ids: distances are those from the
            nearest.
        target: the id of a vertex, or None for all. All vertices that are as near as it have their distances then, and
            those that are farther count as not reached. The search ends early. If it is not reached itself, all that
            can be reached have their distances.
        max_distance: vertices farther away than this number of at least 0 count as not reached, and nothing is looked
            for beyond. For float distances it is rounded to their dtype.
        weighted: the lengths of edges are the weights of the graph if True, which demands them. False gives each edge
            the length 1: this is a breadth-first search, distances are int32, and parents are those of `bfs`. None
            uses weights if the graph has them.
        delta: the width of a bucket, in the unit of the weights; "auto" takes it from the weights and the degrees.
            It changes only the time. A run as a program has no buckets, nor has one on several ranks with CPUs, one
            over layers on a GPU, or a breadth-first search.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. On a GPU, negative
            weights, or a schedule with a balance other than `Clustered`, a `Layout` or a buffer, make it run as a
            program; else there is no delivery but ``Push()``. With `Layered`, it sweeps over lists of layers there
            until no distance falls any more; so it does by default for a graph beyond the GPU's memory, once there are
            deep layers from the source. Several sources do not run over layers there.
        distributed: run on all ranks that torchrun has started, each of which makes this call on the same graph, and
            gets the whole result: the same distances and parents. It is on GPUs if all ranks have one; there is nothing
            to choose but `delta`, the device and ``Schedule(num_threads=...)``. A search with a target finds all within
            `max_distance` there.

    Returns:
        An `SSSPResult`. O(n + m) on average for random weights and bounded degrees (Meyer and Sanders, section 4);
        O(n * m) at worst with negative weights.

    Raises:
        GraphError: a source or the target is not in the graph, there are no weights although they are demanded,
            integer distances could pass int64, or a distance is beyond the floats of the weights' dtype.
        NegativeCycleError: a negative cycle can be reached; the message names a vertex on it. In an undirected graph
            every negative edge is such a cycle.
        ParameterError: a delta that is not positive and finite, no source, a `max_distance` that is not a number of at
            least 0, or a target or a `max_distance` beside negative weights.
        ScheduleError: a balance or a `Layout` on the CPU, a delivery that does not exist, or negative weights in
            layers.
        ParseError, OutputError: the file of layers that a schedule asks for cannot be used, or written.
        DistributedError: `distributed`, and this process is no rank of several, or ranks differ in what they ask for.
    """
    check_graph("sssp", graph)
    if not (isinstance(delta, str) and delta == "auto"):
        given = as_float("sssp: delta", delta, "a positive number, or 'auto'", least=_SMALLEST)
        delta = max(given, LEAST_DELTA)
    source, weighs = as_listed(source, graph), uses_weights("sssp", graph, weighted, graph.weighted)
    bound = bound_of("sssp", graph, target, max_distance, weighs)
    how: dict[str, Any] = {"device": device, "progress": progress, "memory_limit": memory_limit}
    how["distributed"] = distributed
    if graph.weighted and not weighs:
        paths, run = _by_hops(graph, source, target, bound, schedule, how)
    else:
        paths, run = _by_lengths(graph, source, target, bound, delta, schedule, how)
    return SSSPResult(graph, run, source, paths, target=target, max_distance=max_distance, weighted=weighs)


def _by_hops(
    graph: Graph, source: Any, target: Any, bound: Any, schedule: Schedule | None, how: dict[str, Any]
) -> tuple[_Paths, Execution]:
    """`sssp` with edges of length 1, whatever the weights: levels as distances."""
    asked, limit = ask("sssp", graph, source, target, bound), min(int(bound), graph.num_vertices)
    (level, parent, supersteps), run = find_levels("sssp", graph, source, limit, schedule, how)
    level[level < 0] = asked.unreached
    asked.cut(level, parent)
    return (level, parent, supersteps), run


def _by_lengths(
    graph: Graph,
    source: Any,
    target: Any,
    bound: Any,
    delta: float | Literal["auto"],
    schedule: Schedule | None,
    how: dict[str, Any],
) -> tuple[_Paths, Execution]:
    """`sssp` by weights, or in a graph without weights."""
    looking_up, dtype = graph.looking_up(source), bound.dtype
    in_layers = not how["distributed"]
    layers, schedule = layers_asked("sssp", schedule) if in_layers else (None, as_schedule("sssp", schedule))
    if layers is not None:
        if is_signed(graph):
            raise ScheduleError(
                "sssp: there are negative weights, which do not run over layers; leave layout at 'auto'"
            )
        after = layers_memory(graph, dtype, schedule).most
        found = graph_in_layers("sssp", graph, layers, how["device"], how["memory_limit"], after)
        asked = ask("sssp", graph, source, target, bound)
        return _over_layers(graph, asked, delta, found, layers.min_edges, how | {"schedule": schedule})
    program = Form("sssp.program.shortest_paths", no_memory, (Push, Pull, Buffered))
    paths_on_gpu = Form(
        "sssp.cuda.shortest_paths",
        lambda each: graph.num_vertices * _vertex_bytes(graph, dtype) + bytes_by_clusters(graph, each),
        (Push,),
        Arrays.both_ways(graph.weighted),
        _list_bytes(graph),
    )
    task = begin(
        "sssp",
        graph,
        schedule=schedule,
        **how,
        work=paths_work(graph),
        rounds=3 * levels(graph.num_vertices, graph.num_arcs),
        arrays=Arrays.rows(graph.weighted),
        cpu=Form(
            shortest_paths,
            lambda schedule: in_turn(looking_up, paths_memory(graph, dtype, schedule)).most,
            (Push,),
        ),
        cuda=program if is_signed(graph) else paths_on_gpu,
        program=program,
        ranks=Form(
            "sssp.ranks.shortest_paths",
            lambda each: in_turn(looking_up, _memory_on_ranks(graph, dtype, each)).most,
        ),
        by_clusters=not is_signed(graph),
    )
    asked, chosen = ask("sssp", graph, source, target, bound), task.admission.chosen
    may_sweep = chosen.on_gpu and not chosen.as_program and not is_signed(graph) and delta == "auto"
    may_sweep &= len(asked.sources) == 1 and not asked.is_bounded and in_layers
    if may_sweep and graph.placement is not None:
        at_hand = layers_at_hand(graph, asked.sources, DEEP, weights=True)
        if at_hand is not None:
            on_gpu = how | {"device": "cuda", "schedule": schedule}
            with suppress(MemoryLimitError):  # it takes a little more than a run without layers
                return _over_layers(graph, asked, delta, at_hand, None, on_gpu)
    paths, run = task.find(graph, asked, delta)
    if run.on_gpu and in_layers:
        note_search(graph, asked.sources, run.seconds)
    return paths, run


def _over_layers(
    graph: Graph,
    asked: Asked,
    delta: float | Literal["auto"],
    found: Found,
    min_edges: int | None,
    how: dict[str, Any],
) -> tuple[_Paths, Execution]:
    """`sssp` over a graph in layers."""
    moved, n, dtype = found.made.graph, graph.num_vertices, asked.dtype
    task = begin(
        "sssp",
        moved,
        work=paths_work(moved),
        rounds=3 * levels(n, graph.num_arcs),
        arrays=Arrays.rows(graph.weighted),
        cpu=Form(paths_in_layers, lambda each: layers_memory(moved, dtype, each).most + found.taken, (Push,)),
        cuda=Form(
            "sssp.cuda.paths_in_layers",
            lambda _: n * (_vertex_bytes(moved, dtype) + dtype.itemsize + 4) + _ring_bytes(moved),
            (Push,),
            Arrays.rows(graph.weighted),
            _list_bytes(moved),
        ),
        program="over layers",
        **how,
    )
    if task.admission.chosen.on_gpu and len(asked.sources) > 1:
        raise ScheduleError(
            "sssp: several sources do not run over layers on a GPU; leave layout at 'auto', or take device='cpu'"
        )
    paths, run = task.find(found.made, graph, asked, delta, min_edges)
    found.tell(run)
    return paths, run


def _memory_on_ranks(graph: Graph, dtype: np.dtype, schedule: Schedule) -> Step:
    """The memory of a run on one of several ranks, for distances of this dtype."""
    from edgewise.algorithms.sssp.ranks import paths_memory

    return paths_memory(graph, dtype, schedule)


def _ring_bytes(graph: Graph) -> int:
    """The memory of a run over layers for arcs of lists that it has on a GPU beyond the memory."""
    of_weight = 0 if graph.weight_dtype is None else graph.weight_dtype.itemsize
    return (ring_arcs(graph.num_arcs) + stage_arcs(graph.num_arcs)) * (4 + of_weight)


def _vertex_bytes(graph: Graph, dtype: np.dtype) -> int:
    """The memory of a run for each vertex on a GPU, where rows are sorted by weight or not (`cuda_apart`)."""
    return max(dtype.itemsize + 12, 19 * graph.weighted)


def _list_bytes(graph: Graph) -> int:
    """The memory of a run's lists on a GPU."""
    return graph.num_vertices * 24 + graph.num_arcs // 8
