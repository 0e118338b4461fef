# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Searches and shortest paths by clusters on a GPU: see `edgewise.primitives.clusters`.

A run is made of visits, and how many there are depends on which block is free first; the keys do not.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.cluster_rows import cluster_rows
from edgewise.algorithms.common.device_graph import WeightedOnGpu, laid_out
from edgewise.algorithms.common.lengths import unreached_value
from edgewise.balance.clustered import (
    by_clusters_note,
    check_clustered,
    clusters_of,
    clusters_pay,
    give_up_clusters,
)
from edgewise.errors import MemoryLimitError
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import Int32s, Int64s, Keys, type_of
from edgewise.kernels.cuda.device import (
    INT64,
    UINT32,
    atomic_add,
    atomic_max,
    atomic_min,
    cuda,
    device_function,
    float_bits,
    grid_barrier,
    lane,
    num_threads,
    numba_type,
    thread_index,
    warp_max,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import empty, pinned, room, signals, wait, zeros
from edgewise.layout.clusters import clusters_bytes
from edgewise.primitives import cluster_queue
from edgewise.primitives.cluster_queue import BLOCK, OPEN, VISITED, WANTED, Shared, Visits
from edgewise.primitives.clusters import LOWERED, MOST, ClusterRows, make_visits
from edgewise.primitives.halving import last_not_after
from edgewise.primitives.near_far_rise import LARGEST
from edgewise.primitives.ordered_keys import key_dtype
from edgewise.schedule import Clustered, Schedule

#: Words of `control` and of the host's array behind those of `cluster_queue`: the largest key that is told.
CONTROL, HOST = cluster_queue.CONTROL.more(), cluster_queue.HOST.more()
LARGEST_KEY, FARTHEST = CONTROL.take(), HOST.take()


class FromSources(NamedTuple):
    """What the kernel takes.

    Attributes:
        rows: the arcs.
        visits: see `edgewise.primitives.clusters`.
        place: the place of each vertex.
        found: (n,): the keys, by vertex.
        sources: vertices, which have the key 0.
        n, num_sources: vertices and sources.
        limit: a key above it is written as `none`.
        unreached, none: what a vertex has that no source reaches: its key, and what is written for it.
    """

    rows: ClusterRows
    visits: Visits
    place: Int32s
    found: Keys
    sources: Int64s
    n: int
    num_sources: int
    limit: int
    unreached: int
    none: int


def make_lengths(distance: np.dtype, weighted: bool) -> tuple[np.dtype, Any, Any]:
    """A dtype for keys of distances in which sums with no distance stay in order, and device functions:
    ``plus(key, weight)`` in this dtype, and ``weight_of(k, weights)``, the length of an arc."""
    kind = distance.type
    if distance.kind == "f":
        short, (bits, real) = key_dtype(distance), float_bits(distance)

        @device_function
        def plus(key, weight):
            return bits(kind(real(key) + kind(weight)))

    else:
        short = np.dtype(f"u{key_dtype(distance).itemsize}")
        unsigned = short.type

        @device_function
        def plus(key, weight):
            return unsigned(unsigned(key) + unsigned(weight))

    @device_function
    def weight_of(k, weights):
        return weights[k] if weighted else kind(1)

    return short, plus, weight_of


def make_kernel(distance: np.dtype, weighted: bool) -> Any:
    """The kernel for distances of this dtype, with weights or with 1 for each arc."""
    short, plus, weight_of = make_lengths(distance, weighted)
    visits, kind = make_visits(key_dtype(distance), short, plus, weight_of), numba_type(short)

    def clusters_kernel(it):
        keys = cuda.shared.array(MOST, kind)
        lowered = cuda.shared.array(LOWERED, UINT32)
        least = cuda.shared.array(1, INT64)
        chosen = cuda.shared.array(1, INT64)
        rows, run, n = it.rows, it.visits, it.n
        for p in range(thread_index(), n, num_threads()):
            run.best[p] = it.unreached
        for c in range(thread_index(), rows.num_clusters, num_threads()):
            run.pending[c] = LARGEST
            run.taken[c] = 0
        generation = grid_barrier(run.control, np.int64(0))
        for i in range(thread_index(), it.num_sources, num_threads()):
            p = np.int64(it.place[it.sources[i]])
            run.best[p] = 0
            if p < rows.begins[rows.num_clusters]:
                c = last_not_after(rows.begins, p, np.int64(0), rows.num_clusters + 1)
                if atomic_min(run.pending, c, 0) == LARGEST:
                    atomic_add(run.control, OPEN, 1)
                    atomic_add(run.control, WANTED, 1)
        generation = grid_barrier(run.control, generation)
        generation = visits(n, rows, run, Shared(keys, lowered, least, chosen), generation)
        largest = np.int64(0)
        for v in range(thread_index(), n, num_threads()):
            key = np.int64(run.best[np.int64(it.place[v])])
            if key == it.unreached or key > it.limit:
                it.found[v] = it.none
            else:
                it.found[v] = key
                largest = max(largest, key)
        largest = warp_max(largest)
        if lane() == 0:
            atomic_max(run.control, LARGEST_KEY, largest)
        grid_barrier(run.control, generation)
        if thread_index() == 0:
            run.host[FARTHEST] = run.control[LARGEST_KEY]

    return clusters_kernel


def signature(weight: np.dtype | None, distance: np.dtype) -> tuple[Any, ...]:
    """The type of the argument of the kernel for these dtypes."""
    return (type_of(FromSources, weight=weight or np.dtype(np.int32), key=key_dtype(distance)),)


@functools.cache
def _kernel(weight: np.dtype | None, distance: np.dtype) -> Kernel:
    kinds = signature(weight, distance)
    return fixed_kernel(make_kernel, kinds, distance, weight is not None, threads=BLOCK)


def _rows_of(graph: Graph, weighted: bool, how: Clustered) -> ClusterRows:
    gpu, clusters = graph.gpu, graph.gpu.kept(clusters_of, how)
    lengths, in_lengths = (gpu.weights, gpu.in_weights) if weighted else (gpu.targets, gpu.in_sources)
    on_gpu = WeightedOnGpu(gpu.offsets, gpu.targets, lengths, gpu.in_offsets, gpu.in_sources, in_lengths)
    return cluster_rows(on_gpu, lengths.dtype if weighted else None, clusters)


def _how(run: Execution) -> Clustered:
    """The clusters of a run."""
    balance = run.schedule.balance
    return balance if isinstance(balance, Clustered) else Clustered()


def rows_for(graph: Graph, weighted: bool, run: Execution) -> ClusterRows | None:
    """The arcs of a graph by clusters, if the schedule asks for them or they pay; None if not.

    Args:
        graph: with in-edges.
        weighted: whether with weights.
        run: the run that this is.

    Raises:
        MemoryLimitError: the schedule asks for clusters, and the GPU has no room for them, or not for the graph.
        ScheduleError: it asks for clusters of a graph with too many arcs.
    """
    how = _how(run)
    asked = how is run.schedule.balance
    if asked:
        check_clustered(graph, how)
    elif run.schedule != Schedule() or run.memory_limit is not None or not clusters_pay(graph):
        return None
    try:
        needed = clusters_bytes(graph.num_vertices, graph.num_arcs)
        with room("clusters", 0 if graph.gpu.has(_rows_of, weighted, how) else needed):
            rows: ClusterRows = laid_out(run, "grew clusters", graph, _rows_of, weighted, how)
    except MemoryLimitError:
        if asked:
            raise
        return None
    refused = None if asked else give_up_clusters(graph, len(rows.border))
    if refused is not None:
        graph.gpu.drop(_rows_of, weighted, how)
        run.explain(refused)
        return None
    return rows


def keys_by_clusters(
    graph: Graph,
    rows: ClusterRows,
    sources: np.ndarray,
    dtype: np.dtype,
    most: int,
    none: int,
    run: Execution,
) -> tuple[Any, int, int]:
    """The distance of each vertex from the nearest source, the largest key, and how many visits there were.

    Args:
        graph: weights of at least 0, or none.
        rows: from `rows_for`.
        sources: int64, different vertices, at least one.
        dtype: of distances.
        most: the key of the largest distance that is told.
        none: what is told of others.
        run: the run that this is.

    Returns:
        The distances on the GPU, shape (n,), of this dtype; the key of the largest that is told, and how many visits to
        clusters there were.
    """
    n, count, key = graph.num_vertices, len(sources), key_dtype(dtype)
    place, seen, host = (
        graph.gpu.kept(clusters_of, _how(run)).place,
        pinned(count, np.int64),
        signals(HOST.size),
    )
    seen[:] = sources
    found = empty(n, key)
    of_clusters = empty(rows.num_clusters, np.int64), empty(rows.num_clusters, np.uint32)
    given = FromSources(
        rows=rows,
        visits=Visits(empty(n, key), *of_clusters, zeros(CONTROL.size, np.int64), host),
        place=place,
        found=found,
        sources=seen,
        n=n,
        num_sources=count,
        limit=most,
        unreached=int(np.array([unreached_value(dtype)]).view(key)[0]),
        none=none,
    )
    _kernel(rows.lengths.dtype if len(rows.lengths) else None, dtype).start([given])
    wait(host, run.progress)
    visits, clusters = int(host[VISITED]), rows.num_clusters
    run.explain(by_clusters_note(clusters, visits, len(rows.border), graph))
    return found.view(dtype), int(host[FARTHEST]), visits
