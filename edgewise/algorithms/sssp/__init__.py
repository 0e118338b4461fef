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

Steps. `cpu` or `cpu_bellman_ford`, then `cpu_path_tree` for the parents.
"""

from functools import cached_property
from typing import Any, Literal

import numpy as np

from edgewise.algorithms.common.derived import check_derived, index_of_source
from edgewise.algorithms.common.dispatch import Form, begin, no_memory
from edgewise.algorithms.common.lengths import (
    arcs_of,
    distance_dtype,
    unreached_value,
    weight_range,
)
from edgewise.algorithms.common.numbers import as_float
from edgewise.algorithms.sssp.cpu import LINE, delta_stepping
from edgewise.algorithms.sssp.cpu_bellman_ford import QUEUED, STEP, bellman_ford, make_search, searching
from edgewise.algorithms.sssp.cpu_buckets import (
    MAX_BUCKETS,
    REBUILDS,
    SUPERSTEPS,
    bucket_chunks,
    bytes_of_buckets,
    make_buckets,
)
from edgewise.algorithms.sssp.cpu_distances import NONE, make_state
from edgewise.algorithms.sssp.cpu_path_tree import (
    attach_rest,
    attaching,
    mark_targets,
    nearer_parents,
    refuse_cycle,
    unpack,
)
from edgewise.algorithms.sssp.verify import verify_paths
from edgewise.errors import GraphError, ParameterError
from edgewise.execution import Execution, Progress, threads_of
from edgewise.graph import Arrays, Graph, check_graph
from edgewise.kernels.costs import levels
from edgewise.kernels.cpu.team import run_alone
from edgewise.memory import Step, held, in_turn
from edgewise.result import Columns, HostArray, Result, SavedColumns, ids_or_none, is_finite
from edgewise.schedule import Buffered, Pull, Push, Schedule
from edgewise.text import shown

_Paths = tuple[Any, Any, int]

#: The factor by which buckets are wider on a GPU: more wasted work, but fewer supersteps.
_GPU_DELTA = 3.0
#: The narrowest bucket: its reciprocal is finite.
_LEAST_DELTA = float(np.finfo(np.float64).tiny)
_SMALLEST = float(np.finfo(np.float64).smallest_subnormal)


class SSSPResult(Result):
    """Shortest paths from one vertex.

    Attributes:
        source: the user's id of the source.
        distance: shape (n,): inf, or the largest value of an integer dtype, for vertices that were not reached.
        parent_index: int32, shape (n,): the vertex before each on its path; -1 for the source and for vertices that
            were not reached.
        supersteps: the number of buckets emptied, which may depend on the number of threads, or of supersteps of
            Bellman-Ford or of a program.
    """

    algorithm = "sssp"
    distance, parent_index = HostArray(), HostArray()

    def __init__(self, graph: Graph, run: Execution, start: int, paths: _Paths) -> None:
        super().__init__(graph, run, paths[2], {"distance": paths[0], "parent_index": paths[1]})
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
        start, distance = graph.index_of(given["source"]), saved.numbers("distance", distance_dtype(graph))
        return verify_paths(graph, start, distance, saved.vertices("parent"))


def sssp(
    graph: Graph,
    source: Any,
    *,
    delta: float | Literal["auto"] = "auto",
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: int | None = None,
) -> SSSPResult:
    """Shortest paths from one vertex to all others. In a graph without weights every edge has length 1.

    Answers do not depend on threads, on delta, or on the order of the work. Of several parents that give equal
    distances, the one of lowest index among those nearer to the source is taken (`cpu_path_tree`); with negative
    weights, the lowest of those that gave it first.

    Args:
        graph: weights may be negative, as long as no negative cycle can be reached.
        source: the user's id of the vertex to start from.
        delta: the width of a bucket, in the unit of the weights; "auto" takes it from the weights and the degrees.
            It changes only the time. A run as a program has no buckets.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. On a GPU, negative
            weights, or a schedule with a balance, a layout or a buffer, make it run as a program; else there is no
            delivery but ``Push()``.

    Returns:
        An `SSSPResult`. O(n + m) on average for random weights and bounded degrees (Meyer and Sanders, section 4);
        O(n * m) at worst with negative weights.

    Raises:
        GraphError: the source is not in the graph, integer distances could pass int64, or a distance is beyond the
            floats of the weights' dtype.
        NegativeCycleError: a negative cycle can be reached; the message names a vertex on it. In an undirected graph
            every negative edge is such a cycle.
        ParameterError: a delta that is not positive and finite.
        ScheduleError: a balance or a layout on the CPU, or a delivery that does not exist.
    """
    check_graph("sssp", graph)
    looking_up = graph.looking_up(source)
    if not (isinstance(delta, str) and delta == "auto"):
        given = as_float("sssp: delta", delta, "a positive number, or 'auto'", least=_SMALLEST)
        delta = max(given, _LEAST_DELTA)
    dtype = distance_dtype(graph)
    program = Form(_as_program, no_memory, (Push, Pull, Buffered))
    task = begin(
        "sssp",
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        work=_work(graph),
        rounds=3 * levels(graph.num_vertices, graph.num_arcs),
        arrays=Arrays.rows(graph.weighted),
        cpu=Form(
            _on_cpu, lambda schedule: in_turn(looking_up, _memory(graph, dtype, schedule)).most, (Push,)
        ),
        cuda=program if _is_signed(graph) else Form(_on_gpu, lambda _: _gpu_memory(graph, dtype), (Push,)),
        program=program,
    )
    start = graph.index_of(source)
    if np.ndim(start):
        raise ParameterError(f"sssp: source is {shown(source)}; expected one vertex")
    paths, run = task.find(graph, start, dtype, delta)
    _refuse_overflow(graph, start, paths[0])
    return SSSPResult(graph, run, start, paths)


def _memory(graph: Graph, dtype: np.dtype, schedule: Schedule) -> Step:
    """The memory that a run takes on the CPU."""
    n = graph.num_vertices
    if _is_signed(graph):
        found = searching(n, dtype)
    else:
        inner, threads = _inner_dtype(graph, dtype), threads_of("sssp", schedule)
        paths = n * (4 + dtype.itemsize * (make_state(0, inner).dtype != dtype))
        buckets = n * make_state(0, inner).itemsize + bytes_of_buckets(n, threads, inner)
        rest = attaching(n) if _may_have_orphans(graph, dtype) else held(0)
        found = Step((4 + dtype.itemsize) * n, max(paths + buckets, (4 + dtype.itemsize) * n + rest.most))
    overflow = Step(0, 4 * n) if _may_overflow(graph, dtype) else held(0)
    return in_turn(graph.making(), found, overflow)


def _gpu_memory(graph: Graph, dtype: np.dtype) -> int:
    """The GPU's memory that a run takes."""
    making = graph.gpu.making(Arrays.both_ways(graph.weighted))
    run = graph.num_vertices * (dtype.itemsize + 36) + graph.num_arcs // 8
    return in_turn(making, held(run)).most


def _on_cpu(
    graph: Graph, start: int, dtype: np.dtype, delta: float | Literal["auto"], run: Execution
) -> _Paths:
    """Distances, parents and supersteps on the CPU."""
    if _is_signed(graph):
        return _by_bellman_ford(graph, start, dtype, run)
    width = _auto_delta(graph) if delta == "auto" else delta
    return _by_delta_stepping(graph, start, dtype, width, run)


def _on_gpu(
    graph: Graph, start: int, dtype: np.dtype, delta: float | Literal["auto"], run: Execution
) -> _Paths:
    """Distances, parents and supersteps on the GPU, if no weight is negative."""
    from edgewise.algorithms.sssp import cuda

    width = gpu_delta(graph) if delta == "auto" else delta
    return _attach_orphans(graph, start, cuda.shortest_paths(graph, start, dtype, width, run), run)


def _as_program(
    graph: Graph, start: int, dtype: np.dtype, delta: float | Literal["auto"], run: Execution
) -> _Paths:
    """Distances, parents and supersteps by a program, for weights of any sign. `delta` is not used."""
    from edgewise.algorithms.sssp import program

    return _attach_orphans(graph, start, program.shortest_paths(graph, start, dtype, run), run)


def _attach_orphans(graph: Graph, start: int, found: tuple[Any, Any, int, int], run: Execution) -> _Paths:
    """The result of a GPU, with parents for the vertices that only arcs of length zero reach."""
    distance, parent, supersteps, orphans = found
    if orphans:
        from edgewise.kernels.cuda.memory import host_copy

        distance, parent = host_copy(distance), host_copy(parent)
        unreached = unreached_value(distance.dtype)
        attach_rest(arcs_of(graph), distance, parent.view(np.uint32), start, unreached, run)
        run.explain(f"{orphans:,} parents over arcs of length 0 were found on the CPU")
    return distance, parent, supersteps


def _refuse_overflow(graph: Graph, start: int, distance: Any) -> None:
    """Refuse distances that left the range of floats: those that are infinite, though the vertex can be reached.

    Raises:
        GraphError: naming a vertex that has no finite distance, though it can be reached.
    """
    dtype = np.dtype(distance.dtype)
    if not _may_overflow(graph, dtype):
        return
    if not isinstance(distance, np.ndarray):
        distance = distance.get()
    lost = distance == -np.inf
    run_alone(mark_targets, graph.offsets, graph.targets, distance != np.inf, lost)
    lost &= ~np.isfinite(distance)
    if lost.any():
        v, source = graph.ids_of(np.array([np.argmax(lost), start])).tolist()
        wider = ", or convert them with .astype(np.float64)" if dtype.itemsize == 4 else ""
        raise GraphError(
            f"sssp: vertex {shown(v)} can be reached from {shown(source)}, but its distance, or one on the way, is "
            f"more than {dtype} holds; scale the weights down{wider}"
        )


def _is_signed(graph: Graph) -> bool:
    """Whether there are negative weights."""
    return bool(weight_range(graph)[0] < 0)


def _may_overflow(graph: Graph, dtype: np.dtype) -> bool:
    """Whether a path can be longer than floats of this dtype hold."""
    heaviest = max(map(abs, weight_range(graph)))
    return dtype.kind == "f" and heaviest * graph.num_vertices > float(np.finfo(dtype).max)


def _may_have_orphans(graph: Graph, dtype: np.dtype) -> bool:
    """Whether arcs can join vertices of equal distance."""
    return dtype.kind == "f" or weight_range(graph)[0] == 0


def _inner_dtype(graph: Graph, dtype: np.dtype) -> np.dtype:
    """The dtype of distances during the search: int32 if they fit, since these take less memory."""
    short = dtype == np.int64 and weight_range(graph)[1] * graph.num_vertices < np.iinfo(np.int32).max
    return np.dtype(np.int32) if short else dtype


def _work(graph: Graph) -> float:
    """About the nanoseconds that one thread takes."""
    return 35 * graph.num_vertices + 4.5 * graph.num_arcs


def _auto_delta(graph: Graph) -> float:
    """A width that was fast on graphs of every kind.

    The fewer neighbours vertices have, the fewer vertices a bucket of a given width holds, and the less work a wider
    bucket wastes: both grow with about the square of the degree.
    """
    if not graph.weighted or graph.num_arcs == 0:
        return 1.0
    with np.errstate(over="ignore"):
        mean = float(graph.stored.weights[:: max(1, graph.num_arcs // 4096)].mean(dtype=np.float64))
    degree = graph.num_arcs / graph.num_vertices
    return max(mean * min(8.0, (6.4 / degree) ** 2), _LEAST_DELTA) if mean > 0 else 1.0


def gpu_delta(graph: Graph) -> float:
    """`_auto_delta` for a GPU."""
    return _GPU_DELTA * _auto_delta(graph)


def _by_delta_stepping(graph: Graph, start: int, dtype: np.dtype, delta: float, run: Execution) -> _Paths:
    """Distances, parents and supersteps, if no weight is negative."""
    n, work, arcs, heaviest = graph.num_vertices, _work(graph), arcs_of(graph), weight_range(graph)[1]
    delta = max(delta, heaviest * n / MAX_BUCKETS)
    run.explain(f"delta-stepping with buckets of width {delta:.4g}")
    inner = _inner_dtype(graph, dtype)
    state, parent = make_state(n, inner), np.empty(n, np.uint32)
    buckets = make_buckets(n, run.num_threads, inner, delta)
    board = np.zeros((run.num_threads, LINE), np.int64)
    listed = np.empty(bucket_chunks(n, run.num_threads), np.int64)
    unreached, beyond = unreached_value(inner), unreached_value(dtype)
    run.launch(
        delta_stepping,
        arcs,
        state,
        buckets,
        board,
        listed,
        np.uint64(start),
        unreached,
        work=work,
        rounds=levels(n, graph.num_arcs),
    )
    if state.dtype == dtype:
        distance = state
        parent.fill(NONE)
        run.launch(nearer_parents, arcs, distance, parent, unreached, work=2 * graph.num_arcs)
    else:
        distance = np.empty(n, dtype)
        run.launch(unpack, state, buckets.distance, unreached, beyond, distance, parent, work=2 * n)
    words = buckets.words
    del state, buckets, listed
    if _may_have_orphans(graph, dtype):
        attach_rest(arcs, distance, parent, start, beyond, run)
    if words[REBUILDS]:
        run.explain(f"buckets made anew {words[REBUILDS]} times, when the room for entries was used up")
    return distance, parent.view(np.int32), int(words[SUPERSTEPS])


def _by_bellman_ford(graph: Graph, start: int, dtype: np.dtype, run: Execution) -> _Paths:
    """Distances, parents and supersteps with weights of any sign."""
    run.explain("Bellman-Ford, for there are negative weights")
    search, until = make_search(graph.num_vertices, start, unreached_value(dtype)), 1
    parent = search.parent.view(np.int32)
    while search.words[QUEUED]:
        run.launch(bellman_ford, arcs_of(graph), search, np.int64(until), work=_work(graph))
        if search.words[QUEUED]:
            refuse_cycle(graph, start, parent)
        until = min(2 * until, graph.num_vertices)
    return search.distance, parent, int(search.words[STEP])
