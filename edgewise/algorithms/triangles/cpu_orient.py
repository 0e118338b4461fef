"""The arcs of a graph as triangles are counted over: from each vertex to those before it in an order by degrees.

Vertices get ranks, the highest degrees first. The upper row of a vertex has its neighbours of lower rank, which have
at least its degree, so it is short: of m edges, no vertex has more than the square root of 2m in it. The lower row has
all others. Upper rows are sorted, for they are filled in the order of ranks: each thread takes a range of ranks, and
knows beforehand where its entries of each row begin.

Degrees of 512 and more are rounded down to 9 bits, so that vertices can be counted by their degrees in a short array.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_or
from edgewise.kernels.cpu.team import barrier, cancelled
from edgewise.kernels.words import CPU_LINE

#: The bits that are kept of a degree, and the number of different degrees that there are then.
_BITS = 9
DEGREES = (31 - _BITS + 2) << (_BITS - 1)
#: Vertices whose rows a thread goes over between two looks at whether the run was cancelled, less one.
_LOOK = np.uint64(0xFFF)

_ONE = np.uint64(1)


class Oriented(NamedTuple):
    """Ranks and rows, of t threads on n vertices with m arcs. Rows are by ranks, and name ranks.

    Attributes:
        order, rank: uint32, shape (n,): the vertex of each rank, and the rank of each vertex.
        upper_begin, lower_begin: unsigned, shape (n + 1,): where rows begin.
        upper_length: uint32, shape (n,): how many entries of each upper row count: parallel edges are dropped.
        upper, lower: uint32, shape (m // 2,): the rows.
        of_degree: int64, shape (t, 2, DEGREES): vertices and arcs by degrees, in each thread's range of vertices.
        cuts: int64, shape (t + 1,): the range of ranks of each thread.
        sums: int64, shape (t, CPU_LINE): the lengths of all upper and lower rows of a thread's range of vertices.
        parallel: int64, shape (1,): whether there are parallel edges.
    """

    order: np.ndarray
    rank: np.ndarray
    upper_begin: np.ndarray
    lower_begin: np.ndarray
    upper_length: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    of_degree: np.ndarray
    cuts: np.ndarray
    sums: np.ndarray
    parallel: np.ndarray


def make_oriented(num_vertices: int, num_arcs: int, offsets: np.dtype, num_threads: int) -> Oriented:
    """Arrays for `orient`."""
    n, half, t = num_vertices, num_arcs // 2, num_threads
    return Oriented(
        order=np.empty(n, np.uint32),
        rank=np.empty(n, np.uint32),
        upper_begin=np.empty(n + 1, offsets),
        lower_begin=np.empty(n + 1, offsets),
        upper_length=np.empty(n, np.uint32),
        upper=np.empty(half, np.uint32),
        lower=np.empty(half, np.uint32),
        of_degree=np.zeros((t, 2, DEGREES), np.int64),
        cuts=np.empty(t + 1, np.int64),
        sums=np.zeros((t, CPU_LINE), np.int64),
        parallel=np.zeros(1, np.int64),
    )


def oriented_bytes(num_vertices: int, num_arcs: int, offsets: np.dtype, num_threads: int) -> int:
    """The memory of these arrays."""
    of_thread = 16 * DEGREES + 8 + 8 * CPU_LINE
    begins = 2 * offsets.itemsize * (num_vertices + 1)
    return 12 * num_vertices + begins + 8 * (num_arcs // 2) + num_threads * of_thread + 16


@device_function
def _rounded(degree: Any) -> Any:
    """The place of a degree among the rounded ones, in their order."""
    dropped = np.int64(0)
    while degree >> dropped >= 1 << _BITS:
        dropped += 1
    return (dropped << (_BITS - 1)) + (degree >> dropped)


@device_function
def _range(thread: Any, size: Any, n: Any) -> Any:
    """The vertices of a thread."""
    return np.uint64(n * thread // size), np.uint64(n * (thread + 1) // size)


@device_function
def _cut(size: Any, num_arcs: Any, it: Any) -> None:
    """Turn numbers of vertices by degrees into the first rank of each, and cut the ranks into ranges of equal work."""
    n, rank, work, t = len(it.rank), np.int64(0), np.int64(0), 1
    whole = num_arcs + n
    it.cuts[0] = 0
    for i in range(DEGREES):
        degree = DEGREES - 1 - i
        vertices, arcs = np.int64(0), np.int64(0)
        for thread in range(size):
            here = it.of_degree[thread, 0, degree]
            it.of_degree[thread, 0, degree] = rank + vertices
            vertices += here
            arcs += it.of_degree[thread, 1, degree]
        while t < size and work + arcs + vertices >= whole * t // size:
            share = (whole * t // size - work) * vertices // max(np.int64(1), arcs + vertices)
            it.cuts[t] = rank + share
            t += 1
        rank += vertices
        work += arcs + vertices
    it.cuts[size] = n


@device_function
def _give_ranks(thread: Any, size: Any, control: Any, offsets: Any, it: Any) -> Any:
    """Rank all vertices; True if the run was cancelled."""
    n = len(it.rank)
    begin, end = _range(thread, size, n)
    mine = it.of_degree[thread]
    for v in range(begin, end):
        degree = np.int64(offsets[v + _ONE]) - np.int64(offsets[v])
        place = _rounded(degree)
        mine[0, place] += 1
        mine[1, place] += degree
    if barrier(control, size):
        return True
    if thread == 0:
        _cut(size, np.int64(offsets[n]), it)
    if barrier(control, size):
        return True
    for v in range(begin, end):
        place = _rounded(np.int64(offsets[v + _ONE]) - np.int64(offsets[v]))
        rank = mine[0, place]
        mine[0, place] = rank + 1
        it.rank[v] = rank
        it.order[rank] = v
    return barrier(control, size)


@device_function
def _count(thread: Any, control: Any, offsets: Any, targets: Any, place: Any, it: Any) -> None:
    """Count the entries of lower rows, and what this thread's range has in each upper row."""
    mine = place[thread]
    for r in range(np.uint64(it.cuts[thread]), np.uint64(it.cuts[thread + 1])):
        if r & _LOOK == 0 and cancelled(control):
            return
        v, lower = np.uint64(it.order[r]), np.int64(0)
        for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
            other = np.uint64(it.rank[targets[k]])
            is_lower = np.int64(other > r)
            mine[other] += is_lower
            lower += is_lower
        it.lower_begin[r] = lower


@device_function
def _place(thread: Any, size: Any, control: Any, place: Any, it: Any) -> Any:
    """Turn numbers of entries into places; True if the run was cancelled."""
    n = len(it.rank)
    begin, end = _range(thread, size, n)
    upper, lower = np.int64(0), np.int64(0)
    for r in range(begin, end):
        length = np.int64(0)
        for t in range(size):
            length += place[t, r]
        it.upper_length[r] = length
        upper += length
        lower += np.int64(it.lower_begin[r])
    it.sums[thread, 0], it.sums[thread, 1] = upper, lower
    if barrier(control, size):
        return True
    upper, lower = np.int64(0), np.int64(0)
    for t in range(thread):
        upper += it.sums[t, 0]
        lower += it.sums[t, 1]
    for r in range(begin, end):
        it.upper_begin[r] = upper
        for t in range(size):
            here = place[t, r]
            place[t, r] = upper
            upper += here
        length = np.int64(it.lower_begin[r])
        it.lower_begin[r] = lower
        lower += length
    if thread == size - 1:
        it.upper_begin[n], it.lower_begin[n] = upper, lower
    return barrier(control, size)


@device_function
def _fill(thread: Any, control: Any, offsets: Any, targets: Any, place: Any, it: Any) -> None:
    """Fill the rows, in the order of ranks."""
    mine = place[thread]
    for r in range(np.uint64(it.cuts[thread]), np.uint64(it.cuts[thread + 1])):
        if r & _LOOK == 0 and cancelled(control):
            return
        k, first = np.uint64(offsets[it.order[r]]), np.uint64(it.lower_begin[r])
        i, end = first, np.uint64(it.lower_begin[r + _ONE])
        while i < end:
            other = np.uint64(it.rank[targets[k]])
            it.lower[i] = other
            i += np.uint64(other > r)
            k += _ONE
        for entry in range(first, end):
            other = np.uint64(it.lower[entry])
            there = np.uint64(mine[other])
            it.upper[there] = r
            mine[other] = np.int64(there + _ONE)


@device_function
def _drop_parallel(thread: Any, size: Any, it: Any) -> None:
    """Drop repeated entries of upper rows, and tell whether there are any."""
    begin, end = _range(thread, size, len(it.rank))
    for r in range(begin, end):
        first = np.uint64(it.upper_begin[r])
        last, kept = first + np.uint64(it.upper_length[r]), first
        for i in range(first, last):
            if i == first or it.upper[i] != it.upper[kept - _ONE]:
                it.upper[kept] = it.upper[i]
                kept += _ONE
        if kept < last:
            it.upper_length[r] = kept - first
            atomic_or(it.parallel, 0, 1)


@device_function
def orient(thread: Any, size: Any, control: Any, offsets: Any, targets: Any, place: Any, it: Any) -> Any:
    """Rank the vertices and fill the rows of `Oriented`; True if the run was cancelled.

    Args:
        offsets, targets: the rows of an undirected graph, unsigned.
        place: int64, shape (t, n): zeros; they are zeros again afterwards.
        it: see `Oriented`.
    """
    if _give_ranks(thread, size, control, offsets, it):
        return True
    _count(thread, control, offsets, targets, place, it)
    if barrier(control, size) or _place(thread, size, control, place, it):
        return True
    _fill(thread, control, offsets, targets, place, it)
    if barrier(control, size):
        return True
    for r in range(len(it.rank)):
        place[thread, r] = 0
    _drop_parallel(thread, size, it)
    return barrier(control, size)
