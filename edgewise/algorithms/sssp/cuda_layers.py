# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Shortest paths over a graph in layers, on a GPU: sweeps over lists of joined layers, in one cooperative launch.

The loop is `edgewise.primitives.near_far`, but a place is near if it is below the end of the list that is swept, and
far if it is beyond; the list is swept until no distance in it, or in one before, falls any more. So arcs that lead
back, or stay in a layer, need no special care, and every distance is final at the end, which is found on the GPU. Only
rows of places whose distance has fallen are walked. (The paper sweeps all edges of a list as often as it has layers,
and once over all lists, which leaves distances of paths that lead back too long.)

Beyond the GPU's memory, the rows of lists are copied there in sequence, while lists before them are swept, and those of
the last few lists are kept (`edgewise.algorithms.sssp.cuda_ring`): a wave walks rows several times, and a row that is
walked over the link takes a microsecond more.

Parents are made by vertices, as by `edgewise.algorithms.sssp.cuda`: the vertex of lowest index that gives the distance
and is nearer.

Reference. Zhu et al., "WolfPath", International Journal of Parallel Programming 47 (2019), sections 4.2 and 4.3.
"""

import functools
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.bfs.cuda import vertices_there
from edgewise.algorithms.common.device_graph import lists, offset_dtype, weighted_graph_on_gpu
from edgewise.algorithms.common.lengths import unreached_value
from edgewise.algorithms.sssp.cuda_ring import (
    OutArcs,
    Ring,
    in_window,
    make_move_on,
    target_by_window,
    windowed,
)
from edgewise.algorithms.sssp.cuda_sums import is_current, make_sums
from edgewise.algorithms.sssp.weights import narrow_dtype
from edgewise.execution import Execution
from edgewise.graph.layers import GraphInLayers
from edgewise.kernels.cuda.arguments import (
    AtomicUint32s,
    Int32s,
    Int64s,
    Keys,
    type_of,
)
from edgewise.kernels.cuda.device import (
    INT64,
    THREADS,
    UINT32,
    atomic_add,
    atomic_min,
    cuda,
    device_function,
    grid_barrier,
    lane,
    num_threads,
    thread_index,
    warp_sum,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import copy_of, empty, wait, written_forms
from edgewise.layout.layers import joined, ring_arcs
from edgewise.primitives import near_far_piles
from edgewise.primitives.block_queues import LONG_WORDS, WORDS, share, target_in_row
from edgewise.primitives.deal import degree, list_pieces, make_deal, make_walk
from edgewise.primitives.halving import last_not_after
from edgewise.primitives.near_far import make_near_far, prepare
from edgewise.primitives.near_far_piles import (
    DIRECT,
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
LONG_ROWS, ORPHANED, MOVED = CONTROL.take(), CONTROL.take(), CONTROL.take(2)
LATE = MOVED + 1
ORPHANS, BEGUN, BROUGHT, LATE_ARCS = HOST.take(), HOST.take(), HOST.take(), HOST.take()


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
def _as_they_are(arcs: Any, window: Any) -> Any:
    """Stands for `windowed` where all arcs lie on the GPU."""
    return arcs


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
            target, weight = np.int64(it.graph.targets[k]), weight_of(k, it.graph.weights)
            other = np.int64(it.piles.best[target])
            if mine < other and plus(mine, weight) == other:
                atomic_min(it.parent, np.int64(vertex_of[target]), np.uint32(vertex_of[p]))
        return np.int64(0), np.int64(0)

    @device_function
    def key_of(p, context):
        it, _ = context
        return np.int64(it.piles.best[p])

    deal, walk = make_deal(offer_parent, True, True), make_walk(offer_parent, True, key_of)

    @device_function
    def find_parents(it, generation):
        """Write distances and parents by vertices; how many reached vertices but the source have no parent."""
        control, pieces, best, offsets = it.piles.control, it.piles.pieces, it.piles.best, it.graph.offsets
        context = (it, it.vertices)
        for begin in range(thread_index() - lane(), it.n, num_threads()):
            p, start, count, mine = begin + lane(), np.int64(0), np.int64(0), np.int64(0)
            if p < it.n:
                mine = np.int64(best[p])
                it.distance[it.vertices[p]] = best[p]
                if mine != it.unreached:
                    start, count = np.int64(offsets[p]), degree(p, offsets)
            list_pieces(p, count > DIRECT, pieces, control, LONG_ROWS, offsets)
            deal(p, start, count if count <= DIRECT else np.int64(0), mine, context)
        generation = grid_barrier(control, generation)
        walk(pieces, control[LONG_ROWS], offsets, context)
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
    move_on = make_move_on(weighted)

    if apart:

        @device_function
        def message(p, key, k, target, step, context):
            _, graph = context
            if weighted and in_window(k, graph):
                return True, plus(key, weight_of(k & graph.ring_mask, graph.ring_weights))
            return True, plus(key, weight_of(k, graph.weights))

    else:

        @device_function
        def message(p, key, k, target, step, context):
            _, graph = context
            return True, plus(key, weight_of(k, graph.weights))

    @device_function
    def waiting(p, below, best, context):
        return np.int64(p)

    @device_function
    def rise(below, start, far, count, width, best, block, context):
        it, graph = context
        end = _end_of_list(start, it.begins, it.num_lists)
        if apart:
            first, last = np.int64(it.graph.offsets[start]), np.int64(it.graph.offsets[end])
            move_on(first, last, it.graph, graph, it.piles.host, BEGUN, it.piles.control, MOVED)
        return end, width

    rows_of, target_of = (windowed, target_by_window) if apart else (_as_they_are, target_in_row)
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
        graph = rows_of(it.graph, cuda.shared.array(2, INT64))
        threshold, _ = rise(0, it.start, piles.far, 0, 0.0, piles.best, block, (it, graph))
        if apart:
            generation = grid_barrier(control, generation)
        generation = run(n, -1, graph, piles, block, generation, threshold, (it, graph))
        orphans = find_parents(it, generation)
        if thread_index() == 0:
            piles.host[ORPHANS] = orphans
            if apart:
                piles.host[BROUGHT] = control[MOVED]
                piles.host[LATE_ARCS] = control[LATE]

    return sweeps_kernel


def signature(offsets: np.dtype, weight: np.dtype | None, distance: np.dtype) -> tuple[Any, ...]:
    """The type of the kernel's argument for these dtypes."""
    return (type_of(Sweeps, offset=offsets, weight=weight or np.dtype(np.int32), key=key_dtype(distance)),)


@functools.cache
def _kernel(offsets: np.dtype, weight: np.dtype | None, distance: np.dtype, apart: bool) -> Kernel:
    return fixed_kernel(
        make_kernel, signature(offsets, weight, distance), distance, weight is not None, apart
    )


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
    of_lists = graph.offsets[begins].astype(np.int64)
    with lists(graph, *list_shapes(n, m)) as arrays:
        piles = make_piles(n, m, dtype, CONTROL, HOST, arrays)
        rows, ring = on_gpu[:3], None
        if graph.placement is None:
            arcs = OutArcs(*rows, *rows[1:], *rows[1:], piles.control, 0, 0, 0)
        else:
            first = of_lists[np.searchsorted(begins, place, "right") - 1]
            ring = Ring(rows, weight is not None, int(first), piles.host, BEGUN)
            arcs = ring.arcs
            if np.diff(of_lists).max(initial=0) <= ring_arcs(m):
                piles = piles._replace(most_listed=n)  # rows in the ring are as fast in any order
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
        with ring or nullcontext():
            if ring is not None:
                ring()
            kernel.start([given])
            wait(piles.host, run.progress, ring)
    host, layers = piles.host, made.order.num_layers
    forms = written_forms(host[FORMS:], FORM_NAMES)
    run.explain(
        f"swept {len(begins) - 1:,} lists joined from {layers:,} layers, with {host[RISES]} more begun: {forms}"
    )
    if ring is not None:
        run.explain(
            f"{host[BROUGHT]:,} arcs brought to the GPU list by list, {host[LATE_ARCS]:,} of them not ahead"
        )
    if made.is_ordered and place < made.order.begins[1]:
        run.explain("all arcs lead to the next layer: one sweep is enough, whatever the weights")
    return Swept(distance.view(dtype), parent.view(np.int32), int(host[ORPHANS]), int(host[SUPERSTEPS]))
