"""The triangles through each vertex, on the CPU: by a bitmap of the upper row of one vertex at a time.

A triangle has three ranks w < u < v. For each u the vertices of its upper row are marked in a bitmap. Then each v of
its lower row has u in its upper row, and each w before u there that is marked makes a triangle. So each pair of entries
of each upper row is looked at once. Each thread adds up what it finds in numbers of its own.

Of several ranks, each counts the triangles of every p-th piece of vertices in the middle.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.triangles.cpu_orient import Oriented, make_oriented, orient, oriented_bytes
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import prefetch
from edgewise.kernels.cpu.team import barrier, cancelled, claim, report, team_kernel

#: Vertices handed out at a time.
_PIECE = 16
#: How many rows ahead what is read soon is fetched: a row, of which two cache lines, and before that where it begins.
_SOON, _LATER, _LINE = np.uint64(6), np.uint64(12), np.uint64(16)

_ONE, _SIX, _LOW_SIX = np.uint64(1), np.uint64(6), np.uint64(63)


class Counting(NamedTuple):
    """The state of t threads on n vertices.

    Attributes:
        arcs: ranks and rows.
        found: int64, shape (t, n): triangles by rank that each thread has found; before, places in rows.
        marked: uint64, shape (t, n / 64): a bitmap of ranks for each thread; zeros.
        triangles, degree: int64 and int32, shape (n,): what is found: triangles, and numbers of neighbours, which are
            zeros before.
    """

    arcs: Oriented
    found: np.ndarray
    marked: np.ndarray
    triangles: np.ndarray
    degree: np.ndarray


def make_counting(num_vertices: int, num_arcs: int, offsets: np.dtype, num_threads: int) -> Counting:
    """A state for `count`."""
    n, t = num_vertices, num_threads
    arcs = make_oriented(n, num_arcs, offsets, t)
    marked = np.zeros((t, _words(n)), np.uint64)
    return Counting(arcs, np.zeros((t, n), np.int64), marked, np.empty(n, np.int64), np.zeros(n, np.int32))


def counting_bytes(num_vertices: int, num_arcs: int, offsets: np.dtype, num_threads: int) -> int:
    """The memory of a state."""
    n, t = num_vertices, num_threads
    return oriented_bytes(n, num_arcs, offsets, t) + t * (8 * n + 8 * _words(n)) + 12 * n


def _words(num_vertices: int) -> int:
    """The words of a bitmap."""
    return -(-num_vertices // 64)


@device_function
def _mark(arcs: Any, u: Any, marked: Any) -> None:
    """Mark the upper row of a vertex, or unmark it."""
    first = np.uint64(arcs.upper_begin[u])
    for k in range(first, first + np.uint64(arcs.upper_length[u])):
        w = np.uint64(arcs.upper[k])
        marked[w >> _SIX] ^= _ONE << (w & _LOW_SIX)


@device_function
def _lower_degree(arcs: Any, u: Any, marked: Any) -> Any:
    """The number of different vertices in a lower row, which are moved to its beginning. Ranks above u are not marked,
    and are not afterwards."""
    first, end = np.uint64(arcs.lower_begin[u]), np.uint64(arcs.lower_begin[u + _ONE])
    kept = first
    for k in range(first, end):
        v = np.uint64(arcs.lower[k])
        if (marked[v >> _SIX] >> (v & _LOW_SIX)) & _ONE == 0:
            marked[v >> _SIX] |= _ONE << (v & _LOW_SIX)
            arcs.lower[kept] = v
            kept += _ONE
    for k in range(first, kept):
        v = np.uint64(arcs.lower[k])
        marked[v >> _SIX] ^= _ONE << (v & _LOW_SIX)
    return kept - first


@device_function
def _count_at(arcs: Any, u: Any, length: Any, marked: Any, found: Any) -> None:
    """Count the triangles of which u is in the middle."""
    first, through = np.uint64(arcs.lower_begin[u]), np.int64(0)
    upper, last = arcs.upper, first + length - _ONE
    for k in range(first, first + length):
        soon = np.uint64(arcs.lower[min(k + _SOON, last)])
        prefetch(arcs.upper_begin, arcs.lower[min(k + _LATER, last)])
        row = np.uint64(arcs.upper_begin[soon])
        prefetch(upper, row)
        prefetch(upper, row + _LINE)
        prefetch(found, soon)
        v = np.uint64(arcs.lower[k])
        i, here = np.uint64(arcs.upper_begin[v]), np.int64(0)
        w = np.uint64(upper[i])
        while w < u:
            is_marked = np.int64((marked[w >> _SIX] >> (w & _LOW_SIX)) & _ONE)
            found[w] += is_marked
            here += is_marked
            i += _ONE
            w = np.uint64(upper[i])
        found[v] += here
        through += here
    found[u] += through


@device_function
def _count_all(control: Any, rank: Any, ranks: Any, it: Any, marked: Any, found: Any) -> None:
    """Count the triangles of all vertices in the middle that are in a piece of this rank."""
    arcs, n = it.arcs, len(it.triangles)
    pieces = (n + _PIECE - 1) // _PIECE
    while True:
        start = _PIECE * (rank + ranks * claim(control, 0, 1, pieces))
        if start >= n:
            return
        report(control, start)
        for u in range(np.uint64(start), np.uint64(min(start + _PIECE, n))):
            length = np.uint64(arcs.lower_begin[u + _ONE]) - np.uint64(arcs.lower_begin[u])
            if arcs.parallel[0]:
                length = _lower_degree(arcs, u, marked)
            upper = np.uint64(arcs.upper_length[u])
            it.degree[arcs.order[u]] = upper + length
            if upper > 0 and length > 0 and not cancelled(control):
                _mark(arcs, u, marked)
                _count_at(arcs, u, length, marked, found)
                _mark(arcs, u, marked)


@team_kernel
def count(
    thread: Any, size: Any, control: Any, offsets: Any, targets: Any, rank: Any, ranks: Any, it: Any
) -> None:
    """Count the triangles through each vertex, and its neighbours.

    Args:
        offsets, targets: the rows of an undirected graph, unsigned.
        rank, ranks: which of how many ranks this is; each has a part of what is counted.
        it: from `make_counting`, for at least `size` threads.
    """
    if orient(thread, size, control, offsets, targets, it.found, it.arcs):
        return
    _count_all(control, rank, ranks, it, it.marked[thread], it.found[thread])
    if barrier(control, size):
        return
    n = len(it.triangles)
    for v in range(n * thread // size, n * (thread + 1) // size):
        through, place = np.int64(0), it.arcs.rank[v]
        for t in range(size):
            through += it.found[t, place]
        it.triangles[v] = through
