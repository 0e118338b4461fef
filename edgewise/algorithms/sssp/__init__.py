"""Single-source shortest paths over weighted edges.

Result. The least sum of weights over all paths from the source, for each vertex, and a tree of such paths.

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
from functools import cached_property
from typing import Any, Literal

import numpy as np

from edgewise.algorithms.bfs import (
    DEEP,
    Found,
    graph_in_layers,
    layers_asked,
    layers_at_hand,
    note_search,
)
from edgewise.algorithms.common.derived import check_derived, index_of_source
from edgewise.algorithms.common.dispatch import Form, begin, bytes_by_clusters, no_memory
from edgewise.algorithms.common.lengths import distance_dtype, unreached_value
from edgewise.algorithms.common.numbers import as_float
from edgewise.algorithms.sssp.cpu import (
    layers_memory,
    paths_in_layers,
    paths_memory,
    paths_work,
    shortest_paths,
)
from edgewise.algorithms.sssp.verify import verify_paths
from edgewise.algorithms.sssp.weights import LEAST_DELTA, is_signed
from edgewise.errors import MemoryLimitError, ParameterError, ScheduleError
from edgewise.execution import Execution, Progress
from edgewise.graph import Arrays, Graph, VertexId, check_graph
from edgewise.kernels.costs import levels
from edgewise.layout.layers import ring_arcs, stage_arcs
from edgewise.memory import in_turn
from edgewise.result import Columns, HostArray, Result, SavedColumns, ids_or_none, is_finite
from edgewise.schedule import Buffered, Pull, Push, Schedule
from edgewise.text import shown

_Paths = tuple[Any, Any, int]

_SMALLEST = float(np.finfo(np.float64).smallest_subnormal)


class SSSPResult(Result):
    """Shortest paths from one vertex.

    Attributes:
        source: the user's id of the source.
        distance: shape (n,): inf, or the largest value of an integer dtype, for vertices that were not reached.
        parent_index: int32, shape (n,): the vertex before each on its path; -1 for the source and for vertices that
            were not reached.
        supersteps: the number of buckets emptied, which may depend on the number of threads, or of supersteps of
            Bellman-Ford or of a program; by clusters, the number of visits to them.
    """

    algorithm = "sssp"
    distance, parent_index = HostArray(), HostArray()

    def __init__(self, graph: Graph, run: Execution, start: int, paths: _Paths) -> None:
        distance, parent, supersteps = paths
        super().__init__(graph, run, supersteps, {"distance": distance, "parent_index": parent})
        self.source = graph.ids_of(np.array([start])).tolist()[0]

    @cached_property
    def parent(self) -> np.ndarray:
        """The parents as the user's ids, shape (n,); `edgewise.result.no_vertex`, mostly -1, for none."""
        return ids_or_none(self.graph, self.parent_index)

    @cached_property
    def num_reached(self) -> int:
        """The number of vertices that were reached, the source included."""
        return int(np.count_nonzero(self.distance != unreached_value(self.distance.dtype)))

    def columns(self) -> dict[str, np.ndarray]:
        """The columns ``distance`` and ``parent``."""
        return {"distance": self.distance, "parent": self.parent}

    def missing(self) -> dict[str, np.ndarray]:
        """Distances of vertices that were not reached, and parents of these and of the source."""
        return {"distance": ~is_finite(self.distance), "parent": self.parent_index < 0}

    def summary(self) -> dict[str, Any]:
        """The number of vertices ``reached``, and the distance of the ``farthest``."""
        reached = self.distance[is_finite(self.distance)]
        return {"reached": self.num_reached, "farthest": reached.max().item() if len(reached) else None}

    def top(self, count: int = 10) -> dict[str, np.ndarray]:
        """The vertices with the least distances."""
        return self._top_rows("distance", count, largest=False)

    def verify(self, graph: Graph) -> bool:
        """Check that these are shortest paths: see `verify_paths`."""
        check_graph(f"{type(self).__name__}.verify", graph)
        check_derived(self, "parent", "num_reached")
        return verify_paths(graph, index_of_source(graph, self.source), self.distance, self.parent_index)

    @classmethod
    def verify_columns(cls, graph: Graph, columns: Columns, **given: Any) -> bool:
        """Check distances and parents that were written to a file: see `Result.verify_columns`."""
        saved = SavedColumns(graph, columns)
        start, kind = graph.index_of(given["source"]), distance_dtype(graph)
        distance = saved.numbers("distance", kind, missing=unreached_value(kind))
        return verify_paths(graph, start, distance, saved.vertices("parent"))


def sssp(
    graph: Graph,
    source: VertexId,
    *,
    delta: float | Literal["auto"] = "auto",
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
) -> SSSPResult:
    """Shortest paths from one vertex to all others. In a graph without weights every edge has length 1.

    Answers do not depend on threads, on delta, or on the order of the work. Of several parents that give equal
    distances, the one of lowest index among those nearer to the source is taken (`path_tree`); with negative
    weights, the lowest of those that gave it first.

    Args:
        graph: weights may be negative, as long as no negative cycle can be reached.
        source: the user's id of the vertex to start from.
        delta: the width of a bucket, in the unit of the weights; "auto" takes it from the weights and the degrees.
            It changes only the time. A run as a program has no buckets, nor has one over layers on a GPU.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. On a GPU, negative
            weights, or a schedule with a balance other than `Clustered`, a `Layout` or a buffer, make it run as a
            program; else there is no delivery but ``Push()``. With `Layered`, it sweeps over lists of layers there
            until no distance falls any more; so it does by default for a graph beyond the GPU's memory, once there are
            deep layers from the source.

    Returns:
        An `SSSPResult`. O(n + m) on average for random weights and bounded degrees (Meyer and Sanders, section 4);
        O(n * m) at worst with negative weights.

    Raises:
        GraphError: the source is not in the graph, integer distances could pass int64, or a distance is beyond the
            floats of the weights' dtype.
        NegativeCycleError: a negative cycle can be reached; the message names a vertex on it. In an undirected graph
            every negative edge is such a cycle.
        ParameterError: a delta that is not positive and finite.
        ScheduleError: a balance or a `Layout` on the CPU, a delivery that does not exist, or negative weights in
            layers.
        ParseError, OutputError: the file of layers that a schedule asks for cannot be used, or written.
    """
    check_graph("sssp", graph)
    looking_up = graph.looking_up(source)
    if not (isinstance(delta, str) and delta == "auto"):
        given = as_float("sssp: delta", delta, "a positive number, or 'auto'", least=_SMALLEST)
        delta = max(given, LEAST_DELTA)
    dtype = distance_dtype(graph)
    asked, schedule = layers_asked("sssp", schedule)
    how: dict[str, Any] = {"progress": progress, "memory_limit": memory_limit}
    if asked is not None:
        if is_signed(graph):
            raise ScheduleError(
                "sssp: there are negative weights, which do not run over layers; leave layout at 'auto'"
            )
        after = layers_memory(graph, dtype, schedule).most
        found = graph_in_layers("sssp", graph, asked, device, memory_limit, after)
        how |= {"device": device, "schedule": schedule}
        return _over_layers(graph, _index_of(graph, source), dtype, delta, found, asked.min_edges, how)
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
        device,
        schedule,
        progress,
        memory_limit,
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
        by_clusters=not is_signed(graph),
    )
    start, chosen = _index_of(graph, source), task.admission.chosen
    sources = np.array([start], np.int64)
    may_sweep = chosen.on_gpu and not chosen.as_program and not is_signed(graph) and delta == "auto"
    if may_sweep and graph.placement is not None:
        at_hand = layers_at_hand(graph, sources, DEEP, weights=True)
        if at_hand is not None:
            how |= {"device": "cuda", "schedule": schedule}
            with suppress(MemoryLimitError):  # it takes a little more than a run without layers
                return _over_layers(graph, start, dtype, delta, at_hand, None, how)
    paths, run = task.find(graph, start, dtype, delta)
    if run.on_gpu:
        note_search(graph, sources, run.seconds)
    return SSSPResult(graph, run, start, paths)


def _over_layers(
    graph: Graph,
    start: int,
    dtype: np.dtype,
    delta: float | Literal["auto"],
    found: Found,
    min_edges: int | None,
    how: dict[str, Any],
) -> SSSPResult:
    """`sssp` over a graph in layers."""
    moved, n = found.made.graph, graph.num_vertices
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
    paths, run = task.find(found.made, graph, start, dtype, delta, min_edges)
    found.tell(run)
    return SSSPResult(graph, run, start, paths)


def _ring_bytes(graph: Graph) -> int:
    """The memory of a run over layers for arcs of lists that it has on a GPU beyond the memory."""
    of_weight = 0 if graph.weight_dtype is None else graph.weight_dtype.itemsize
    return (ring_arcs(graph.num_arcs) + stage_arcs(graph.num_arcs)) * (4 + of_weight)


def _index_of(graph: Graph, source: Any) -> int:
    """The index of the source, which has to be one vertex."""
    start = graph.index_of(source)
    if np.ndim(start):
        raise ParameterError(f"sssp: source is {shown(source)}; expected one vertex")
    return int(start)


def _vertex_bytes(graph: Graph, dtype: np.dtype) -> int:
    """The memory of a run for each vertex on a GPU, where rows are sorted by weight or not (`cuda_apart`)."""
    return max(dtype.itemsize + 12, 19 * graph.weighted)


def _list_bytes(graph: Graph) -> int:
    """The memory of a run's lists on a GPU."""
    return graph.num_vertices * 24 + graph.num_arcs // 8
