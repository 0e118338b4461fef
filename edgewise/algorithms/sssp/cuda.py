# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Shortest paths over weights of at least 0 on a GPU: one cooperative launch, a near and a far pile.

The loop is `edgewise.primitives.near_far`; the key of a vertex is its distance: floats of at least 0 are ordered as
their bits are. Parents are made at the end: of the in-neighbours that give the distance and are nearer to the source,
the one of lowest index, as on the CPU. So answers depend on no order.

References. Davidson, Baxter, Garland and Owens, "Work-Efficient Parallel GPU Methods for Single-Source Shortest
Paths", IPDPS 2014 (near-far); Meyer and Sanders, Journal of Algorithms 49 (2003).
"""

import functools
from typing import Any, Literal, NamedTuple
from weakref import WeakSet

import numpy as np

from edgewise.algorithms.common.by_clusters import keys_by_clusters, rows_for
from edgewise.algorithms.common.device_graph import (
    WeightedOnGpu,
    graph_on_gpu,
    laid_out,
    lists,
    offset_dtype,
    weighted_graph_on_gpu,
)
from edgewise.algorithms.common.lengths import arcs_of, unreached_value
from edgewise.algorithms.sssp import cuda_apart
from edgewise.algorithms.sssp.asked import Asked
from edgewise.algorithms.sssp.cuda_bounded import bounded_distances
from edgewise.algorithms.sssp.cuda_layers import sweep
from edgewise.algorithms.sssp.cuda_ring import Ring as Ring
from edgewise.algorithms.sssp.cuda_rows import sorted_rows, suit
from edgewise.algorithms.sssp.cuda_sums import distance_of, is_current
from edgewise.algorithms.sssp.cuda_sums import make_sums as make_sums
from edgewise.algorithms.sssp.path_tree import attach_rest
from edgewise.algorithms.sssp.weights import auto_delta, may_overflow, narrow_dtype, refuse_overflow
from edgewise.errors import MemoryLimitError
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.graph.layers import GraphInLayers
from edgewise.kernels.cuda.arguments import AtomicInt64s, AtomicKeys, AtomicUint32s, Int64s, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    INT64,
    UINT32,
    atomic_add,
    atomic_min,
    ballot,
    block_index,
    block_size,
    block_thread,
    cuda,
    device_function,
    grid_barrier,
    lane,
    num_blocks,
    num_threads,
    thread_index,
    warp_sum,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import empty, full, host_copy, signals, wait, written_forms, zeros
from edgewise.primitives import near_far_piles
from edgewise.primitives.block_queues import LONG_WORDS, WORDS, share
from edgewise.primitives.clusters import ClusterRows
from edgewise.primitives.deal import append, degree, make_deal
from edgewise.primitives.near_far import make_near_far, prepare
from edgewise.primitives.near_far_piles import (
    EDGES,
    FORM_NAMES,
    FORMS,
    NEAR,
    RISES,
    SUPERSTEPS,
    Piles,
    list_shapes,
    make_piles,
)
from edgewise.primitives.ordered_keys import key_dtype
from edgewise.primitives.vertices import HUB, NO_VERTEX

#: Words of `control` and of the host's array, behind those of `near_far`.
CONTROL, HOST = near_far_piles.CONTROL.more(), near_far_piles.HOST.more()
HUBS, ORPHANED = CONTROL.take(), CONTROL.take()
ORPHANS = HOST.take()
#: The factor by which buckets are wider than on the CPU: more wasted work, but fewer supersteps.
_WIDER = 3.0
#: Where no vertex of a warp has more in-edges, each lane looks for its own parent.
FEW = 8


#: Graphs with distances that are too long to be found over sorted rows.
_too_far: WeakSet[Graph] = WeakSet()


class Paths(NamedTuple):
    """What the kernel takes.

    Attributes:
        graph: the graph.
        piles: `best` gets the distances.
        parent: shape (n,); 2**32 - 1 for none.
        delta: by how much the threshold rises.
        n, source, unreached: vertices, the source, the key of no distance.
    """

    graph: WeightedOnGpu
    piles: Piles
    parent: AtomicUint32s
    delta: float
    n: int
    source: int
    unreached: int


def make_find_parents(distance: np.dtype, weighted: bool) -> Any:
    """A device function that makes parents from finished distances, for the same variants as `make_kernel`."""
    plus, _, weight_of = make_sums(distance, weighted)

    @device_function
    def offer_parent(takes, v, mine, k, context):
        """Take the source of an in-edge for a parent, if it is nearer to the source and gives the distance."""
        graph, dist, parent = context
        if takes:
            u = np.int64(graph.in_sources[k])
            other = np.int64(dist[u])
            if other < mine and plus(other, weight_of(k, graph.in_weights)) == mine:
                atomic_min(parent, v, np.uint32(u))
        return np.int64(0), np.int64(0)

    offer_all = make_deal(offer_parent, vertex=True, key=True)

    @device_function
    def find_parents(n, source, unreached, graph, dist, parent, hubs, control, generation):
        """Give every reached vertex but the source a parent, if one is nearer; how many have none."""
        context, offsets = (graph, dist, parent), graph.in_offsets
        for begin in range(thread_index() - lane(), n, num_threads()):
            v, start, count, mine, hub = begin + lane(), np.int64(0), np.int64(0), np.int64(0), False
            if v < n:
                mine = np.int64(dist[v])
                if mine != unreached:
                    start = np.int64(offsets[v])
                    count = np.int64(offsets[v + 1]) - start
                    if count >= HUB:
                        hub, count = True, np.int64(0)
            append(hubs, control, HUBS, v, hub)
            if ballot(count > FEW) == 0:
                for k in range(start, start + count):
                    offer_parent(True, v, mine, k, context)
            else:
                offer_all(v, start, count, mine, context)
        generation = grid_barrier(control, generation)
        for i in range(block_index(), control[HUBS], num_blocks()):
            v = np.int64(hubs[i])
            for k in range(np.int64(offsets[v]) + block_thread(), np.int64(offsets[v + 1]), block_size()):
                offer_parent(True, v, np.int64(dist[v]), k, context)
        generation = grid_barrier(control, generation)
        orphans = np.int64(0)
        for v in range(thread_index(), n, num_threads()):
            if v != source and dist[v] != unreached and parent[v] == NO_VERTEX:
                orphans += 1
        orphans = warp_sum(orphans)
        if lane() == 0 and orphans > 0:
            atomic_add(control, ORPHANED, orphans)
        generation = grid_barrier(control, generation)
        return control[ORPHANED]

    return find_parents


def make_search(distance: np.dtype, weighted: bool, apart: bool) -> Any:
    """A device function that finds distances, for the same variants as `make_kernel`."""
    plus, raised, weight_of = make_sums(distance, weighted)

    @device_function
    def message(v, key, k, target, step, context):
        graph, _ = context
        return True, plus(key, weight_of(k, graph.weights))

    @device_function
    def rise(below, start, far, count, width, best, block, context):
        _, delta = context
        return raised(start, delta), width

    run = make_near_far(distance, message, distance_of, rise, is_current, apart=apart)

    @device_function
    def search(graph, piles, block, delta, n, source, unreached):
        """Write distances; what the last barrier returned. Arguments as for the kernels."""
        control = piles.control
        prepare(n, unreached, piles, block)
        generation = grid_barrier(control, np.int64(0))
        if thread_index() == 0:
            piles.best[source] = 0
            piles.near[0] = source
            piles.stamps[source] = 1
            control[NEAR] = 1
            control[EDGES] = degree(source, graph.offsets)
        generation = grid_barrier(control, generation)
        threshold = raised(np.int64(0), delta)
        return run(n, -1, graph, piles, block, generation, threshold, (graph, delta))

    return search


def make_kernel(distance: np.dtype, weighted: bool, apart: bool) -> Any:
    """The kernel for distances of this dtype, with weights or with 1 for each arc; see `make_near_far` for `apart`."""
    search, find_parents = make_search(distance, weighted, apart), make_find_parents(distance, weighted)

    def sssp_kernel(it):
        """Distances and parents; see the module, and `Paths`."""
        words_of_32 = cuda.shared.array(WORDS, UINT32)
        words_of_64 = cuda.shared.array(LONG_WORDS, INT64)
        block = share(words_of_32, words_of_64)
        graph, piles, n, source, unreached = it.graph, it.piles, it.n, it.source, it.unreached
        me, hubs, control = thread_index(), piles.other_near, piles.control
        for v in range(me, n, num_threads()):
            it.parent[v] = NO_VERTEX
        generation = search(graph, piles, block, it.delta, n, source, unreached)
        orphans = find_parents(n, source, unreached, graph, piles.best, it.parent, hubs, control, generation)
        if me == 0:
            piles.host[ORPHANS] = orphans

    return sssp_kernel


class Distances(NamedTuple):
    """What the kernel takes that makes no parents; see `Paths`."""

    graph: WeightedOnGpu
    piles: Piles
    delta: float
    n: int
    source: int
    unreached: int


def make_distances_kernel(distance: np.dtype, weighted: bool, apart: bool) -> Any:
    """The kernel that finds distances and no parents, for the same variants as `make_kernel`."""
    search = make_search(distance, weighted, apart)

    def distances_kernel(it):
        """Distances; see `Distances`."""
        words_of_32 = cuda.shared.array(WORDS, UINT32)
        words_of_64 = cuda.shared.array(LONG_WORDS, INT64)
        block = share(words_of_32, words_of_64)
        search(it.graph, it.piles, block, it.delta, it.n, it.source, it.unreached)

    return distances_kernel


class Parents(NamedTuple):
    """What the kernel takes that only makes parents.

    Attributes:
        graph, n, source, unreached: see `Paths`.
        dist: the keys of distances, shape (n,).
        parent: shape (n,); 2**32 - 1 before, and after for none.
        hubs: shape (m // HUB + 1,).
        control: zeros, see `CONTROL`.
        host: words in the host's memory, see `HOST`.
    """

    graph: WeightedOnGpu
    dist: AtomicKeys
    parent: AtomicUint32s
    hubs: Uint32s
    control: AtomicInt64s
    host: Int64s
    n: int
    source: int
    unreached: int


def make_parents_kernel(distance: np.dtype, weighted: bool, apart: bool) -> Any:
    """The kernel that only makes parents, for the same variants as `make_kernel`, of which `apart` are alike."""
    find_parents = make_find_parents(distance, weighted)

    def parents_kernel(it):
        """Parents from finished distances; see `Parents`."""
        n, source, unreached, hubs, control = it.n, it.source, it.unreached, it.hubs, it.control
        found, turn = (it.graph, it.dist, it.parent), np.int64(0)
        orphans = find_parents(n, source, unreached, *found, hubs, control, turn)
        if thread_index() == 0:
            it.host[ORPHANS] = orphans

    return parents_kernel


#: The makers of kernels, by what the kernels take.
MAKERS = {Paths: make_kernel, Distances: make_distances_kernel, Parents: make_parents_kernel}


def signature(takes: type, offsets: np.dtype, weight: np.dtype | None, distance: np.dtype) -> tuple[Any, ...]:
    """The type of the argument of the kernel that takes `Paths`, `Distances` or `Parents`; see `kernel_of`."""
    return (type_of(takes, offset=offsets, weight=weight or np.dtype(np.int32), key=key_dtype(distance)),)


@functools.cache
def kernel_of(
    takes: type, offsets: np.dtype, weight: np.dtype | None, distance: np.dtype, apart: bool
) -> Kernel:
    """The kernel that takes `Paths`, `Distances` or `Parents`, on the current GPU.

    Args:
        takes: one of these classes.
        offsets, weight: the dtypes of a graph's offsets and weights; None for 1 for each arc.
        distance: the dtype of distances.
        apart: whether the graph's arcs lie in the host's memory.
    """
    kinds = signature(takes, offsets, weight, distance)
    return fixed_kernel(MAKERS[takes], kinds, distance, weight is not None, apart)


def unreached_key(dtype: np.dtype) -> Any:
    """The key of no distance."""
    return np.array([unreached_value(dtype)]).view(key_dtype(dtype))[0]


def gpu_delta(graph: Graph) -> float:
    """`auto_delta` for a GPU."""
    return _WIDER * auto_delta(graph)


def shortest_paths(
    graph: Graph, asked: Asked, delta: float | Literal["auto"], run: Execution
) -> tuple[Any, Any, int]:
    """Distances and parents, and supersteps; the arrays are on the GPU, or on the host: see `finished`.

    Args:
        graph: weights of at least 0.
        asked: what is asked for.
        delta: by how much the threshold rises.
        run: the run that this is.

    Raises:
        GraphError: a distance is beyond the floats of this dtype.
    """
    plain = len(asked.sources) == 1 and not asked.is_bounded
    if plain and graph.placement is not None and suit(graph, asked.dtype):
        found = None if graph in _too_far else _over_sorted_rows(graph, asked, delta, run)
        if found is not None:
            return found
        if graph in _too_far:
            run.explain("over rows as they are: a distance takes more than 31 bits")
    if delta == "auto":
        graph_on_gpu(graph, run)  # makes in-edges
        rows = rows_for(graph, graph.weighted, run)
        if rows is not None:
            return _over_clusters(graph, rows, asked, run)
        delta = gpu_delta(graph)
    if not plain:
        return _within_bounds(graph, asked, delta, run)
    (start,), dtype = asked.sources.tolist(), asked.dtype
    n, m = graph.num_vertices, graph.num_arcs
    on_gpu, weight = weighted_graph_on_gpu(graph, run, narrow_dtype(graph))
    kernel = kernel_of(Paths, offset_dtype(on_gpu), weight, dtype, graph.placement is not None)
    parent = empty(n, np.uint32)
    with lists(graph, *list_shapes(n, m)) as made:
        piles = make_piles(n, m, dtype, CONTROL, HOST, made)
        kernel.start([Paths(on_gpu, piles, parent, delta, n, start, unreached_key(dtype))])
        wait(piles.host, run.progress)
    host = piles.host
    forms = written_forms(host[FORMS:], FORM_NAMES)
    run.explain(f"supersteps on the GPU: {forms}; {host[RISES]} thresholds {delta:.4g} apart")
    paths = piles.best.view(dtype), parent.view(np.int32)
    return *finished(graph, asked, *paths, int(host[ORPHANS]), run), int(host[SUPERSTEPS])


def _within_bounds(graph: Graph, asked: Asked, delta: float, run: Execution) -> tuple[Any, Any, int]:
    """`shortest_paths` from several sources, or within bounds: see `cuda_bounded`."""
    on_gpu, weight = weighted_graph_on_gpu(graph, run, narrow_dtype(graph))
    kinds = offset_dtype(on_gpu), weight, asked.dtype, graph.placement is not None
    distance, supersteps = bounded_distances(graph, on_gpu, kinds, asked, delta, run)
    parent = full(graph.num_vertices, -1, np.int32)
    orphans = nearest_parents(graph, asked, distance, parent, run)
    return *finished(graph, asked, distance, parent, orphans, run), supersteps


def _over_clusters(graph: Graph, rows: ClusterRows, asked: Asked, run: Execution) -> tuple[Any, Any, int]:
    """`shortest_paths` by clusters."""
    dtype, unreached = asked.dtype, int(unreached_key(asked.dtype))
    distance, _, visits = keys_by_clusters(graph, rows, asked.sources, dtype, unreached, unreached, run)
    parent = full(graph.num_vertices, -1, np.int32)
    orphans = nearest_parents(graph, asked, distance, parent, run)
    return *finished(graph, asked, distance, parent, orphans, run), visits


def _over_sorted_rows(
    graph: Graph, asked: Asked, delta: float | Literal["auto"], run: Execution
) -> tuple[Any, Any, int] | None:
    """`shortest_paths` of `cuda_apart`; None if the host has no room to sort rows, or distances are too long."""
    (start,), dtype = asked.sources.tolist(), asked.dtype
    width = auto_delta(graph) if delta == "auto" else delta
    try:
        rows = laid_out(run, "sorted arcs by weight in the host's memory", graph, sorted_rows)
    except MemoryLimitError as refused:
        run.explain(f"over rows as they are: {refused}")
        return None
    unreached = int(unreached_key(dtype))
    distance, parent, found = cuda_apart.search(graph, rows, start, dtype, width, unreached, run)
    if found.too_far:
        _too_far.add(graph)
        del rows, distance, parent
        graph.gpu.drop(sorted_rows)
        return None
    run.explain(
        f"supersteps on the GPU: {found.supersteps} in {found.ranges} ranges of distances; arcs out of a range were "
        f"followed {found.pushed} times from it, and {found.pulled} times by looking back"
    )
    return *finished(graph, asked, distance, parent, found.orphans, run), found.supersteps


def finished(
    graph: Graph, asked: Asked, distance: Any, parent: Any, orphans: int, run: Execution
) -> tuple[Any, Any]:
    """Distances and parents, checked, complete and cut; on the host if some parents had to be found there.

    Args:
        graph, asked: as for `shortest_paths`.
        distance, parent: on the GPU, shape (n,); int32 for parents.
        orphans: the number of vertices that were reached but have no parent: only arcs of length 0 lead there.
        run: the run that this is.

    Raises:
        GraphError: a distance is beyond the floats of its dtype.
    """
    on_host = distance
    if orphans or may_overflow(graph, distance.dtype):
        on_host = host_copy(distance)
        if asked.bound_by(on_host) == asked.unreached:
            refuse_overflow(graph, asked.sources, on_host)
    if orphans:
        distance, parent = on_host, host_copy(parent)
        unreached = unreached_value(distance.dtype)
        attach_rest(arcs_of(graph), distance, parent.view(np.uint32), asked.sources, unreached, run)
        run.explain(f"{orphans:,} parents over arcs of length 0 were found on the CPU")
    asked.cut(distance, parent)
    return distance, parent


def paths_in_layers(
    made: GraphInLayers,
    graph: Graph,
    asked: Asked,
    delta: float | Literal["auto"],
    min_arcs: int | None,
    run: Execution,
) -> tuple[Any, Any, int]:
    """`shortest_paths` from one source by sweeps over a graph in layers, which have no `delta`; see `cuda_layers`."""
    (place,) = made.graph.places_of(asked.sources).tolist()
    distance, parent, orphans, supersteps = sweep(made, place, asked.dtype, min_arcs, run)
    return *finished(graph, asked, distance, parent, orphans, run), supersteps


def nearest_parents(graph: Graph, asked: Asked, distance: Any, parent: Any, run: Execution) -> int:
    """Fill in parents, which are -1, from finished distances; how many vertices were reached but have none.

    Args:
        graph, asked: as for `shortest_paths`.
        distance, parent: on the GPU, shape (n,); int32 for parents.
        run: the run that this is.
    """
    dtype, keys = distance.dtype, distance.view(key_dtype(distance.dtype))
    on_gpu, weight = weighted_graph_on_gpu(graph, run, narrow_dtype(graph))
    given = Parents(
        graph=on_gpu,
        dist=keys,
        parent=parent.view(np.uint32),
        hubs=empty(graph.num_arcs // HUB + 1, np.uint32),
        control=zeros(CONTROL.size, np.int64),
        host=signals(HOST.size),
        n=graph.num_vertices,
        source=int(asked.sources[0]),
        unreached=unreached_key(dtype),
    )
    kernel_of(Parents, offset_dtype(on_gpu), weight, dtype, False).start([given])
    wait(given.host, None)
    return int(given.host[ORPHANS]) - (len(asked.sources) - 1)
