# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Triangles on a GPU: edges as sorted numbers, and a search for each pair of edges with a common end.

Vertices are ranked by their degrees, the highest first. An edge becomes a number of 64 bits with the rank of its later
end in the upper half and that of its earlier end in the lower half. Sorted, these are the upper rows of `cpu_orient`,
and parallel edges lie side by side. For each edge from v to u, and each w before u in the row of v, a triangle is found
where w is in the row of u, by halving. The threads of a warp share the pairs of their edges.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import graph_on_gpu, offset_dtype
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import (
    AtomicInt32s,
    AtomicInt64s,
    Int64s,
    Offsets,
    Uint32s,
    type_of,
)
from edgewise.kernels.cuda.device import (
    atomic_add,
    ballot,
    count_bits,
    device_function,
    first_bit,
    lane,
    lanes_before,
    num_threads,
    shuffle,
    thread_index,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import cupy, empty, host_copy, zeros
from edgewise.primitives.deal import degree, make_deal
from edgewise.primitives.vertices import LOWER_HALF


class Listing(NamedTuple):
    """What `list_kernel` takes.

    Attributes:
        offsets, targets: the rows of an undirected graph.
        rank: shape (n,): the rank of each vertex.
        edges: shape (half of the arcs,), to be filled: see the module.
        found: a zero, for the number of edges.
        n: vertices.
    """

    offsets: Offsets
    targets: Uint32s
    rank: Uint32s
    edges: Int64s
    found: AtomicInt64s
    n: int


class Counting(NamedTuple):
    """What `count_kernel` takes.

    Attributes:
        edges: shape (m,): sorted, none twice.
        begins: shape (n + 1,): where the edges of each later end begin.
        triangles, degree: shape (n,), by ranks: zeros.
        m: edges.
        part, parts: which part of the edges this is, and how many there are.
    """

    edges: Int64s
    begins: Int64s
    triangles: AtomicInt64s
    degree: AtomicInt32s
    m: int
    part: int
    parts: int


def list_signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of `list_kernel` for graphs with offsets of this dtype."""
    return (type_of(Listing, offset=offsets),)


COUNT_TYPES = (type_of(Counting),)


@device_function
def _list_edge(takes: Any, v: Any, key: Any, k: Any, context: Any) -> Any:
    """List the edge of an arc whose target has the lower rank. All lanes of the warp take part."""
    targets, rank, edges, found = context
    later, earlier = np.int64(0), np.int64(0)
    if takes:
        later, earlier = np.int64(rank[v]), np.int64(rank[targets[k]])
    wanted = earlier < later
    bits = ballot(wanted)
    if bits != 0:
        leader, position = first_bit(bits), np.int64(0)
        if lane() == leader:
            position = atomic_add(found, 0, count_bits(bits))
        position = shuffle(position, leader)
        if wanted:
            edges[position + lanes_before(bits)] = later << 32 | earlier
    return np.int64(0), np.int64(0)


_list_all = make_deal(_list_edge)


def list_kernel(it):
    """The edges, in any order; see `Listing`."""
    for begin in range(thread_index() - lane(), it.n, num_threads()):
        v, start, count = begin + lane(), np.int64(0), np.int64(0)
        if v < it.n:
            start, count = np.int64(it.offsets[v]), degree(v, it.offsets)
        _list_all(v, start, count, np.int64(0), (it.targets, it.rank, it.edges, it.found))


@device_function
def _is_edge(later: Any, earlier: Any, edges: Any, begins: Any) -> Any:
    """Whether two ranks are the ends of an edge."""
    wanted = later << 32 | earlier
    low, high = begins[later], begins[later + 1]
    while low < high:
        middle = (low + high) // 2
        if edges[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low < begins[later + 1] and edges[low] == wanted


@device_function
def _look(takes: Any, edge: Any, key: Any, k: Any, context: Any) -> Any:
    """Look for the triangle of an edge and another one of its later end, which comes before it.

    Lanes that have the same edge are side by side: the first of them adds what all of them have found to its ends.
    """
    edges, begins, triangles = context
    u, found = np.int64(0), False
    if takes:
        u, w = edges[edge] & LOWER_HALF, edges[k] & LOWER_HALF
        found = _is_edge(u, w, edges, begins)
        if found:
            atomic_add(triangles, w, np.int64(1))
    mine = edge if takes else np.int64(-1)
    before = shuffle(mine, max(lane() - 1, 0))
    firsts, hits = ballot(lane() == 0 or mine != before), ballot(found)
    if takes and (firsts >> lane()) & 1 != 0 and hits != 0:
        after = (firsts >> lane()) >> 1
        own = np.int64(hits >> lane())
        if after != 0:
            own &= (2 << first_bit(after)) - 1
        count = np.int64(count_bits(own))
        if count > 0:
            atomic_add(triangles, edges[edge] >> 32, count)
            atomic_add(triangles, u, count)
    return np.int64(0), np.int64(0)


_look_at_all = make_deal(_look)


def count_kernel(it):
    """Triangles and degrees by ranks, of a part of the edges; see `Counting`."""
    for begin in range(it.part * num_threads() + thread_index() - lane(), it.m, it.parts * num_threads()):
        edge, start, count = begin + lane(), np.int64(0), np.int64(0)
        if edge < it.m:
            later = it.edges[edge] >> 32
            start = it.begins[later]
            count = edge - start
            atomic_add(it.degree, later, np.int32(1))
            atomic_add(it.degree, it.edges[edge] & LOWER_HALF, np.int32(1))
        _look_at_all(edge, start, count, np.int64(0), (it.edges, it.begins, it.triangles))


@functools.cache
def _list_kernel(offsets: np.dtype) -> Kernel:
    return fixed_kernel(list_kernel, list_signature(offsets))


@functools.cache
def _count_kernel() -> Kernel:
    return fixed_kernel(count_kernel, COUNT_TYPES)


def _sorted_edges(graph: Graph, rank: Any, run: Execution) -> Any:
    """The edges, sorted, each once: int64 on the GPU."""
    xp, n = cupy(), graph.num_vertices
    on_gpu = graph_on_gpu(graph, run, False)
    edges, found = empty(graph.num_arcs // 2, np.int64), zeros(1, np.int64)
    given = Listing(on_gpu.offsets, on_gpu.targets, rank, edges, found, n)
    _list_kernel(offset_dtype(on_gpu)).start([given])
    edges = edges[: int(host_copy(found)[0])]
    edges.sort()
    differs = edges[1:] != edges[:-1]
    if not differs.all():
        edges = xp.concatenate([edges[:1], edges[1:][differs]])
    return edges


def triangles(graph: Graph, run: Execution, part: int = 0, parts: int = 1) -> tuple[Any, Any]:
    """The triangles through each vertex, int64 on the GPU, and its number of neighbours, int32; or what one of several
    parts of the edges adds to these."""
    xp, n = cupy(), graph.num_vertices
    offsets = graph_on_gpu(graph, run, False).offsets
    order = xp.argsort(xp.diff(offsets.astype(np.int64)))[::-1]
    rank = empty(n, np.uint32)
    rank[order] = xp.arange(n, dtype=np.uint32)
    del order
    edges = _sorted_edges(graph, rank, run)
    begins = xp.searchsorted(edges, xp.left_shift(xp.arange(n + 1, dtype=np.int64), 32))
    found, neighbours = zeros(n, np.int64), zeros(n, np.int32)
    _count_kernel().start([Counting(edges, begins, found, neighbours, len(edges), part, parts)])
    run.explain(f"{len(edges):,} edges, each once, were sorted on the GPU")
    place = rank.view(np.int32)
    return found[place], neighbours[place]
