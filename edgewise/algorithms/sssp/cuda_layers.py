# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Shortest paths over a graph in layers, on a GPU: sweeps over lists of joined layers, in one cooperative launch.

The loop is `edgewise.primitives.near_far`, but a place is near if it is below the end of the list that is swept, and
far if it is beyond; the list is swept until no distance in it, or in one before, falls any more. So arcs that lead
back, or stay in a layer, need no special care, and every distance is final at the end, which is found on the GPU. Only
rows of places whose distance has fallen are walked. (The paper sweeps all edges of a list as often as it has layers,
and once over all lists, which leaves distances of paths that lead back too long.)

Beyond the GPU's memory, the rows of a list are copied there when it is begun, in sequence, page by page into a ring
that has room for the last few lists: a wave walks rows several times, and a row that is walked over the link takes a
microsecond more. What the ring does not hold is read where it lies.

Parents are made by vertices, as by `edgewise.algorithms.sssp.cuda`: the vertex of lowest index that gives the distance
and is nearer.

Reference. Zhu et al., "WolfPath", International Journal of Parallel Programming 47 (2019), sections 4.2 and 4.3.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.bfs.cuda import vertices_there
from edgewise.algorithms.common.device_graph import lists, offset_dtype, weighted_graph_on_gpu
from edgewise.algorithms.common.lengths import unreached_value
from edgewise.algorithms.sssp.cuda_sums import make_sums
from edgewise.algorithms.sssp.weights import narrow_dtype
from edgewise.execution import Execution
from edgewise.graph.layers import GraphInLayers
from edgewise.kernels.cuda.arguments import (
    AtomicUint32s,
    Int32s,
    Int64s,
    Keys,
    Offsets,
    Uint32s,
    Weights,
    type_of,
)
from edgewise.kernels.cuda.device import (
    INT64,
    THREADS,
    UINT32,
    atomic_add,
    atomic_min,
    block_barrier,
    block_index,
    block_size,
    block_thread,
    cuda,
    device_function,
    grid_barrier,
    lane,
    load_fresh,
    num_blocks,
    num_threads,
    thread_index,
    warp_sum,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import copy_of, empty, wait, written_forms
from edgewise.layout.layers import RING_ARCS, joined
from edgewise.primitives import near_far_piles
from edgewise.primitives.block_queues import LONG_WORDS, WORDS, share, target_in_row
from edgewise.primitives.deal import degree, list_pieces, make_walk
from edgewise.primitives.halving import last_not_after
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
from edgewise.primitives.vertices import NO_VERTEX

#: Words of `control` and of the host's array, behind those of `near_far`.
CONTROL, HOST = near_far_piles.CONTROL.more(), near_far_piles.HOST.more()
REACHED, ORPHANED = CONTROL.take(), CONTROL.take()
ORPHANS = HOST.take()


#: Arcs of a page of the ring, as a power of two.
PAGE_SHIFT = THREADS.bit_length() + 1
PAGE = 1 << PAGE_SHIFT


class OutArcs(NamedTuple):
    """Rows with weights, or with another array in their place; and those that are kept in a ring.

    Attributes:
        offsets, targets, weights: the rows.
        ring_targets, ring_weights: pages of them.
        held: the page that each slot of the ring holds, or -1.
        pages, m: slots, a power of two; arcs.
    """

    offsets: Offsets
    targets: Uint32s
    weights: Weights
    ring_targets: Uint32s
    ring_weights: Weights
    held: Int64s
    pages: int
    m: int


class Sweeps(NamedTuple):
    """What the kernel takes.

    Attributes:
        graph: the moved rows.
        piles: `best` gets the distances of places.
        vertices: the vertex at each place.
        begins: the first place of each list, and n.
        distance, parent: by vertices, shape (n,); 2**32 - 1 for no parent.
        n, num_lists, start, unreached: places, lists, the place of the source, the key of no distance.
    """

    graph: OutArcs
    piles: Piles
    vertices: Int32s
    begins: Int64s
    distance: Keys
    parent: AtomicUint32s
    n: int
    num_lists: int
    start: int
    unreached: int


@device_function
def _place_in_ring(k: Any, graph: Any) -> Any:
    """Where an arc lies in the ring; less than 0 if it does not."""
    page = k >> PAGE_SHIFT
    slot = page & (graph.pages - 1)
    return slot << PAGE_SHIFT | k & (PAGE - 1) if graph.held[slot] == page else np.int64(-1)


@device_function
def _target_by_ring(k: Any, graph: Any) -> Any:
    at = _place_in_ring(k, graph)
    return np.int64(graph.ring_targets[at]) if at >= 0 else np.int64(graph.targets[k])


def _make_fetch(weighted: bool) -> Any:
    """A device function that brings the rows of places to the ring: as many of the first pages as it has slots. All
    threads of the grid call it, and a barrier of the grid has to follow."""

    @device_function
    def fetch(begin, end, graph):
        first = np.int64(graph.offsets[begin]) >> PAGE_SHIFT
        last = min((np.int64(graph.offsets[end]) + PAGE - 1) >> PAGE_SHIFT, first + graph.pages)
        for page in range(first + block_index(), last, num_blocks()):
            slot = page & (graph.pages - 1)
            if graph.held[slot] != page:
                for i in range(block_thread(), PAGE, block_size()):
                    k = page << PAGE_SHIFT | i
                    if k < graph.m:
                        graph.ring_targets[slot << PAGE_SHIFT | i] = graph.targets[k]
                        if weighted:
                            graph.ring_weights[slot << PAGE_SHIFT | i] = graph.weights[k]
                block_barrier()
                if block_thread() == 0:
                    graph.held[slot] = page

    return fetch


@device_function
def _end_of_list(place: Any, begins: Any, num_lists: Any) -> Any:
    """The end of the list that a place is in."""
    return begins[last_not_after(begins, place, np.int64(0), num_lists) + 1]


def _make_find_parents(plus: Any, weight_of: Any) -> Any:
    """A device function that makes parents from finished distances."""

    @device_function
    def offer_parent(takes, p, mine, k, context):
        """Offer a vertex as parent to the target of an arc that gives its distance."""
        it, vertex_of = context
        if takes:
            target = np.int64(it.graph.targets[k])
            other = np.int64(it.piles.best[target])
            if mine < other and plus(mine, weight_of(k, it.graph.weights)) == other:
                atomic_min(it.parent, np.int64(vertex_of[target]), np.uint32(vertex_of[p]))
        return np.int64(0), np.int64(0)

    @device_function
    def key_of(p, context):
        it, _ = context
        return np.int64(it.piles.best[p])

    walk = make_walk(offer_parent, True, key_of)

    @device_function
    def find_parents(it, generation):
        """Write distances and parents by vertices; how many reached vertices but the source have no parent."""
        control, pieces, best = it.piles.control, it.piles.pieces, it.piles.best
        for begin in range(thread_index() - lane(), it.n, num_threads()):
            p, reached = begin + lane(), False
            if p < it.n:
                it.distance[it.vertices[p]] = best[p]
                reached = best[p] != it.unreached
            list_pieces(p, reached, pieces, control, REACHED, it.graph.offsets)
        generation = grid_barrier(control, generation)
        walk(pieces, control[REACHED], it.graph.offsets, (it, it.vertices))
        generation = grid_barrier(control, generation)
        orphans = np.int64(0)
        for p in range(thread_index(), it.n, num_threads()):
            if p != it.start and best[p] != it.unreached and it.parent[it.vertices[p]] == NO_VERTEX:
                orphans += 1
        orphans = warp_sum(orphans)
        if lane() == 0 and orphans > 0:
            atomic_add(control, ORPHANED, orphans)
        generation = grid_barrier(control, generation)
        return control[ORPHANED]

    return find_parents


def make_kernel(distance: np.dtype, weighted: bool, apart: bool) -> Any:
    """The kernel, for distances of a dtype, with weights or with 1 for each arc; see `make_near_far` for `apart`."""
    plus, _, weight_of = make_sums(distance, weighted)
    fetch = _make_fetch(weighted)

    if apart:

        @device_function
        def message(p, key, k, target, step, it):
            at = _place_in_ring(k, it.graph) if weighted else np.int64(-1)
            weight = weight_of(at, it.graph.ring_weights) if at >= 0 else weight_of(k, it.graph.weights)
            return True, plus(key, weight)

    else:

        @device_function
        def message(p, key, k, target, step, it):
            return True, plus(key, weight_of(k, it.graph.weights))

    @device_function
    def waiting(p, below, best, it):
        return np.int64(p)

    @device_function
    def is_current(p, key, best, it):
        return np.int64(load_fresh(best, p)) >= key

    @device_function
    def rise(below, start, far, count, width, best, block, it):
        end = _end_of_list(start, it.begins, it.num_lists)
        if apart:
            fetch(start, end, it.graph)
        return end, width

    target_of = _target_by_ring if apart else target_in_row
    run = make_near_far(
        distance, message, waiting, rise, is_current, apart=apart, by_place=True, target_of=target_of
    )
    find_parents = _make_find_parents(plus, weight_of)

    def sweeps_kernel(it):
        """Distances and parents; see the module, and `Sweeps`."""
        words_of_32 = cuda.shared.array(WORDS, UINT32)
        words_of_64 = cuda.shared.array(LONG_WORDS, INT64)
        block = share(words_of_32, words_of_64)
        piles, control, n = it.piles, it.piles.control, it.n
        for v in range(thread_index(), n, num_threads()):
            it.parent[v] = NO_VERTEX
        prepare(n, it.unreached, piles, block)
        generation = grid_barrier(control, np.int64(0))
        if thread_index() == 0:
            piles.best[it.start] = 0
            piles.near[0] = it.start
            piles.stamps[it.start] = 1
            control[NEAR] = 1
            control[EDGES] = degree(it.start, it.graph.offsets)
        generation = grid_barrier(control, generation)
        threshold = _end_of_list(it.start, it.begins, it.num_lists)
        if apart:
            for i in range(thread_index(), it.graph.pages, num_threads()):
                it.graph.held[i] = -1
            generation = grid_barrier(control, generation)
            fetch(it.start, threshold, it.graph)
            generation = grid_barrier(control, generation)
        generation = run(n, -1, it.graph, piles, block, generation, threshold, it)
        orphans = find_parents(it, generation)
        if thread_index() == 0:
            piles.host[ORPHANS] = orphans

    return sweeps_kernel


def signature(offsets: np.dtype, weight: np.dtype | None, distance: np.dtype) -> tuple[Any, ...]:
    """The type of the kernel's argument for these dtypes."""
    return (type_of(Sweeps, offset=offsets, weight=weight or np.dtype(np.int32), key=key_dtype(distance)),)


@functools.cache
def _kernel(offsets: np.dtype, weight: np.dtype | None, distance: np.dtype, apart: bool) -> Kernel:
    return fixed_kernel(
        make_kernel, signature(offsets, weight, distance), distance, weight is not None, apart
    )


def ring_pages(num_arcs: int) -> int:
    """The slots of the ring for a graph with so many arcs, a power of two."""
    return 1 << max(0, -(-min(num_arcs, RING_ARCS) // PAGE) - 1).bit_length()


class Swept(NamedTuple):
    """What a run found.

    Attributes:
        distance, parent: by vertices, on the GPU, shape (n,); int32 for parents, -1 for none.
        orphans: how many vertices were reached but have no parent: only arcs of length 0 lead there.
        supersteps: how many there were.
    """

    distance: Any
    parent: Any
    orphans: int
    supersteps: int


def sweep(made: GraphInLayers, place: int, dtype: np.dtype, min_arcs: int | None, run: Execution) -> Swept:
    """Distances and parents from the vertex at a place.

    Args:
        made: the graph in layers, with weights of at least 0.
        place: that of the source.
        dtype: of distances.
        min_arcs: the fewest arcs of a list, or None for as many as the kernel has threads at a time.
        run: the run that this is.
    """
    graph, n, m = made.graph, made.graph.num_vertices, made.graph.num_arcs
    on_gpu, weight = weighted_graph_on_gpu(graph, run, narrow_dtype(graph), in_edges=False)
    kernel = _kernel(offset_dtype(on_gpu), weight, dtype, graph.placement is not None)
    begins = joined(made.order, graph.offsets, min_arcs or kernel.blocks * THREADS)
    distance, parent = empty(n, key_dtype(dtype)), empty(n, np.uint32)
    ring_targets, ring_weights, held = on_gpu.targets, on_gpu.weights, copy_of(begins)
    pages = 0 if graph.placement is None else ring_pages(m)
    if pages:
        held, ring_targets = empty(pages, np.int64), empty(pages * PAGE, np.uint32)
        ring_weights = ring_targets if weight is None else empty(pages * PAGE, weight)
    arcs = OutArcs(*on_gpu[:3], ring_targets, ring_weights, held, pages, m)
    with lists(graph, *list_shapes(n, m)) as arrays:
        piles = make_piles(n, m, dtype, CONTROL, HOST, arrays)
        given = Sweeps(
            graph=arcs,
            piles=piles,
            vertices=vertices_there(made, run),
            begins=copy_of(begins),
            distance=distance,
            parent=parent,
            n=n,
            num_lists=len(begins) - 1,
            start=place,
            unreached=int(np.array([unreached_value(dtype)]).view(key_dtype(dtype))[0]),
        )
        kernel.start([given])
        wait(piles.host, run.progress)
    host, layers = piles.host, made.order.num_layers
    forms = written_forms(host[FORMS:], FORM_NAMES)
    run.explain(
        f"swept {len(begins) - 1:,} lists joined from {layers:,} layers, with {host[RISES]} more begun: {forms}"
    )
    if made.is_ordered and place < made.order.begins[1]:
        run.explain("all arcs lead to the next layer: one sweep is enough, whatever the weights")
    return Swept(distance.view(dtype), parent.view(np.int32), int(host[ORPHANS]), int(host[SUPERSTEPS]))
