# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Connected components on a GPU: one cooperative launch, the same steps as `cpu_connect` on the CPU.

Hook each vertex to its first smaller neighbour, link along the second arc, find the tree that most of a sample is in,
link along the arcs of all other vertices, point every vertex to its root. Roots are hooked to smaller roots by
compare-and-swap, so every root is the smallest vertex of its tree whatever the order.

References. Sutton, Ben-Nun and Barak, IPDPS 2018 (Afforest); Jaiganesh and Burtscher, HPDC 2018 (ECL-CC).
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import GraphOnGpu, graph_on_gpu, offset_dtype
from edgewise.algorithms.common.heads import any_heads, heads_for
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.graph.resident import HEADS
from edgewise.kernels.cuda.arguments import AtomicInt32s, AtomicInt64s, Int64s, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    INT32,
    INT64,
    THREADS,
    WARP,
    atomic_add,
    block_barrier,
    block_size,
    block_thread,
    compare_and_swap,
    cuda,
    device_function,
    grid_barrier,
    lane,
    num_threads,
    thread_index,
    warp_max,
    warp_sum,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import empty, signals, wait, zeros
from edgewise.primitives.ahead import AHEAD, first_place, read_ahead, stride
from edgewise.primitives.control import control_words, host_words
from edgewise.primitives.deal import make_deal
from edgewise.primitives.vertices import NO_VERTEX

#: Words of `control` and of the host's array.
CONTROL, HOST = control_words(), host_words()
_ROOTS = CONTROL.take()
ROOTS, SKIPPED, SAMPLED = (HOST.take() for _ in range(3))
#: Vertices of the sample, slots of the table that counts their roots, arcs of each vertex that are linked before.
SAMPLE, SLOTS, FIRST_ARCS = THREADS, 2 * THREADS, HEADS
#: Passes over all vertices.
PASSES = 5
#: Vertices and arcs together that a warp takes at a time where all arcs are looked at, see `_link_evenly`.
SHARE = 2 * THREADS


class Labelling(NamedTuple):
    """What the kernel takes.

    Attributes:
        graph: in-edges are those of a directed graph that has them.
        heads: the first neighbours of vertices, see `edgewise.algorithms.common.heads`, or any other array.
        label: shape (n,).
        control: zeros, see `CONTROL`.
        host: words in the host's memory, see `HOST`, for results.
        n, directed, has_in_edges: vertices; whether arcs go one way; whether there are in-edges.
        low, high: the vertices that have arcs here, from `low` to `high` - 1: of several ranks, those of this one.
    """

    graph: GraphOnGpu
    heads: Uint32s
    label: AtomicInt32s
    control: AtomicInt64s
    host: Int64s
    n: int
    directed: bool
    has_in_edges: bool
    low: int
    high: int


def signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the kernel's arguments for graphs with offsets of this dtype."""
    return (type_of(Labelling, offset=offsets),)


@device_function
def _root(v: Any, label: Any) -> Any:
    """The root of a vertex's tree, halving the path on the way."""
    parent = np.int64(label[v])
    while parent != v:
        above = np.int64(label[parent])
        if above == parent:
            return parent
        label[v] = above
        v, parent = above, np.int64(label[above])
    return v


@device_function
def link(u: Any, v: Any, label: Any) -> Any:
    """Join the trees of two vertices."""
    a, b = _root(u, label), _root(v, label)
    while a != b:
        low, high = min(a, b), max(a, b)
        before = np.int64(compare_and_swap(label, high, np.int32(high), np.int32(low)))
        if before == high:
            break
        a, b = before, low


@device_function
def root_of(v: Any, label: Any) -> Any:
    """The root of a vertex's tree, where all vertices are pointed to theirs.

    Paths are not halved here: that would write what was an ancestor over the root that another thread wrote.
    """
    root, above = v, np.int64(label[v])
    while above != root:
        root, above = above, np.int64(label[above])
    return root


@device_function
def read_roots(first: Any, end: Any, label: Any, parents: Any, roots: Any) -> None:
    """Read the parents of this lane's vertices, and where these point to: roots, mostly. See `read_ahead`."""
    read_ahead(first, end, label, parents)
    for i in range(AHEAD):
        roots[i] = label[parents[i]]


@device_function
def flattened(v: Any, parent: Any, above: Any, label: Any) -> Any:
    """Point a vertex to its root, which is returned, from what `read_roots` has read."""
    if above != parent:
        above = root_of(above, label)
        label[v] = above
    return above


@device_function
def flatten(low: Any, high: Any, label: Any) -> Any:
    """Point the vertices from `low` to `high` - 1 to their roots; how many roots this thread saw."""
    count, parents, roots = np.int64(0), cuda.local.array(AHEAD, INT32), cuda.local.array(AHEAD, INT32)
    for first in range(first_place(low), high, stride()):
        read_roots(first, high, label, parents, roots)
        for i in range(AHEAD):
            v = first + i * WARP + lane()
            if v < high:
                count += flattened(v, np.int64(parents[i]), np.int64(roots[i]), label) == v
    return count


@device_function
def most_frequent(low: Any, high: Any, label: Any, roots: Any, counts: Any, best: Any) -> Any:
    """The root that most of a sample of the vertices from `low` to `high` - 1 has; every block finds the same. The
    result is in `best`: count, root."""
    for i in range(block_thread(), SLOTS, block_size()):
        roots[i] = -1
        counts[i] = 0
    if block_thread() == 0:
        best[0] = 0
    block_barrier()
    for i in range(block_thread(), SAMPLE, block_size()):
        root = np.int64(label[low + (2 * i + 1) * (high - low) // (2 * SAMPLE)])
        # The upper bits of the product: the lower ones of all roots are the same where rows of a lattice are so long.
        slot = (root * 2654435761 & 0xFFFFFFFF) * SLOTS >> 32
        while True:
            there = np.int64(compare_and_swap(roots, slot, np.int32(-1), np.int32(root)))
            if there == -1 or there == root:
                break
            slot = (slot + 1) % SLOTS
        atomic_add(counts, slot, np.int32(1))
    block_barrier()
    if block_thread() < WARP:
        most = np.int64(0)
        for i in range(block_thread(), SLOTS, WARP):
            if counts[i] > 0:
                most = max(most, np.int64(counts[i]) << 32 | (0x7FFFFFFF - np.int64(roots[i])))
        most = warp_max(most)
        if block_thread() == 0:
            best[0] = most
    block_barrier()
    return best[0]


@device_function
def _visit(takes: Any, v: Any, key: Any, k: Any, context: Any) -> Any:
    """Link a vertex along one arc."""
    neighbours, label = context
    if takes:
        link(v, np.int64(neighbours[k]), label)
    return np.int64(0), np.int64(0)


_link_all = make_deal(_visit)


@device_function
def _link_first_arcs(it: Any, generation: Any) -> Any:
    """Link each vertex along its first arcs; the turn of the barrier afterwards."""
    label, n, offsets, targets = it.label, it.n, it.graph.offsets, it.graph.targets
    me, low, high = thread_index(), it.low, it.high
    for v in range(me, n, num_threads()):
        parent = v
        if low <= v < high:
            k, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
            if k < end:
                parent = min(v, np.int64(targets[k]))
        label[v] = parent
    generation = grid_barrier(it.control, generation)
    for v in range(low + me, high, num_threads()):
        k, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
        for arc in range(k, min(end, k + FIRST_ARCS)):
            target = np.int64(targets[arc])
            if arc > k or target > v:
                link(v, target, label)
    return generation


@device_function
def _link_heads(it: Any, generation: Any) -> Any:
    """Link each vertex along its heads, which are its first arcs."""
    label, n, heads = it.label, it.n, it.heads
    me = thread_index()
    for v in range(me, n, num_threads()):
        head = heads[HEADS * v]
        label[v] = v if head == NO_VERTEX else min(v, np.int64(head))
    generation = grid_barrier(it.control, generation)
    for v in range(me, n, num_threads()):
        for i in range(HEADS):
            head = heads[HEADS * v + i]
            if head != NO_VERTEX and (i > 0 or head > v):
                link(v, np.int64(head), label)
    return generation


@device_function
def _link_evenly(offsets: Any, ends: Any, first_arc: Any, low: Any, high: Any, label: Any) -> None:
    """Link the vertices from `low` to `high` - 1 along all arcs of their rows from number `first_arc` on.

    A vertex has a place, and so has each of its arcs after it. Warps take equal shares of the places: so a vertex of
    high degree keeps no warp longer than others.
    """
    begin, end = np.int64(offsets[low]) + low, np.int64(offsets[high]) + high
    warp, warps = np.int64(thread_index() // WARP), np.int64(num_threads() // WARP)
    for first in range(begin + warp * SHARE, end, warps * SHARE):
        stop = min(first + SHARE, end)
        v, above = np.int64(low), np.int64(high)
        while above - v > 1:
            middle = (v + above) // 2
            if np.int64(offsets[middle]) + middle <= first:
                v = middle
            else:
                above = middle
        while v < high and np.int64(offsets[v]) + v < stop:
            u, start, count = v + lane(), np.int64(0), np.int64(0)
            if u < high:  # arc k of u is at place k + u + 1
                start = max(np.int64(offsets[u]) + first_arc, first - u - 1)
                count = max(np.int64(0), min(np.int64(offsets[u + 1]), stop - u - 1) - start)
            _link_all(u, start, count, np.int64(0), (ends, label))
            v += WARP


def make_link_trees(with_heads: bool, evenly: bool = False) -> Any:
    """``link_trees(it, roots, counts, best)``: link trees along all arcs.

    Args:
        with_heads: whether vertices have heads.
        evenly: whether warps take equal shares where nothing is skipped.

    All threads call it. ``roots``, ``counts`` and ``best`` are arrays that a block shares, see `most_frequent`. Threads
    do not wait for each other at the end. It returns the turn of the barrier, the root of the largest tree, how many of
    the sample are in that tree, and whether arcs inside it were skipped.
    """
    link_first = _link_heads if with_heads else _link_first_arcs

    @device_function
    def link_trees(it, roots, counts, best):
        graph, label, control, directed = it.graph, it.label, it.control, it.directed
        offsets, targets, low, high = graph.offsets, graph.targets, it.low, it.high
        me, generation = thread_index(), np.int64(0)
        generation = link_first(it, generation)
        generation = grid_barrier(control, generation)
        flatten(low, high, label)
        generation = grid_barrier(control, generation)
        most = most_frequent(low, high, label, roots, counts, best)
        # Nobody links before all have sampled: every block has to skip the same tree.
        generation = grid_barrier(control, generation)
        largest = 0x7FFFFFFF - (most & 0xFFFFFFFF)
        sampled = most >> 32
        # An arc that leads into the largest tree from outside is seen from its source; one that leads out of it is seen
        # from its target only where there are in-edges.
        skip = directed == 0 or it.has_in_edges != 0
        if skip and sampled * 10 < SAMPLE:
            skip = False
        if evenly and not skip:
            _link_evenly(offsets, targets, np.int64(FIRST_ARCS), low, high, label)
            # Other ranks may skip arcs into vertices of this one.
            if directed != 0 and it.has_in_edges != 0 and (low > 0 or high < it.n):
                _link_evenly(graph.in_offsets, graph.in_sources, np.int64(0), low, high, label)
            return generation, largest, sampled, skip
        for begin in range(low + me - lane(), high, num_threads()):
            v, nothing = begin + lane(), np.int64(0)
            start, count, in_start, in_count = nothing, nothing, nothing, nothing
            if v < high and not (skip and label[v] == largest):
                start = np.int64(offsets[v]) + FIRST_ARCS
                count = max(np.int64(0), np.int64(offsets[v + 1]) - start)
                if skip and directed != 0:
                    in_start = np.int64(graph.in_offsets[v])
                    in_count = np.int64(graph.in_offsets[v + 1]) - in_start
            _link_all(v, start, count, np.int64(0), (targets, label))
            if skip and directed != 0:
                _link_all(v, in_start, in_count, np.int64(0), (graph.in_sources, label))
        return generation, largest, sampled, skip

    return link_trees


def make_kernel(with_heads: bool) -> Any:
    """The kernel, for vertices with or without heads of their own."""
    link_trees = make_link_trees(with_heads)

    def components_kernel(it):
        """Labels; see the module, and `Labelling`."""
        control = it.control
        roots = cuda.shared.array(SLOTS, INT32)
        counts = cuda.shared.array(SLOTS, INT32)
        best = cuda.shared.array(1, INT64)
        generation, _, sampled, skip = link_trees(it, roots, counts, best)
        generation = grid_barrier(control, generation)
        found = flatten(0, it.n, it.label)
        found = warp_sum(found)
        if lane() == 0 and found > 0:
            atomic_add(control, _ROOTS, found)
        generation = grid_barrier(control, generation)
        if thread_index() == 0:
            it.host[ROOTS] = control[_ROOTS]
            it.host[SKIPPED] = skip
            it.host[SAMPLED] = sampled

    return components_kernel


@functools.cache
def _kernel(offsets: np.dtype, with_heads: bool) -> Kernel:
    return fixed_kernel(make_kernel, signature(offsets), with_heads)


def components(graph: Graph, run: Execution) -> tuple[Any, int, int]:
    """Labels, int32 on the GPU, the number of components, and passes. In-edges are used if the graph has them."""
    n, in_edges = graph.num_vertices, graph.directed and graph.has_in_edges
    on_gpu = graph_on_gpu(graph, run, in_edges)
    heads, with_heads = heads_for(run, graph, on_gpu, "neighbours", any_heads, in_edges)
    kernel = _kernel(offset_dtype(on_gpu), with_heads)
    label, control, host = empty(n, np.int32), zeros(CONTROL.size, np.int64), signals(HOST.size)
    kernel.start([Labelling(on_gpu, heads, label, control, host, n, graph.directed, in_edges, 0, n)])
    wait(host, None)
    share = f"{host[SAMPLED] / SAMPLE:.0%} of a sample was in one component on the GPU"
    run.explain(f"{share}: arcs inside it were {'skipped' if host[SKIPPED] else 'looked at, too'}")
    return label, int(host[ROOTS]), PASSES
