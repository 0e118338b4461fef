"""Count arcs that join the same two vertices: parallel ones, reciprocal ones, edges listed in both directions.

Idea. A row stamps its targets with its own number and what it has seen of them. A thread takes rows in ascending
order, so a smaller stamp is that of an earlier row, and stamps are never cleared. O(n + m); beyond the rows it
needs four bytes for each vertex and thread. The number of threads is such that all stamps together are never longer
than the rows.
"""

from typing import Any

import numpy as np

from edgewise.graph.csr import Rows
from edgewise.kernels.costs import best_threads
from edgewise.kernels.cpu.launch import launch_on, sealed
from edgewise.kernels.cpu.team import available_threads, claim, team_kernel

_ROWS_PER_PIECE = 1024
#: A stamp is four times the number of a row, counted from 1, plus two bits for what the row has seen of the vertex.
_FRESH, _BOTH, _AGAIN = np.uint64(4), np.uint64(3), np.uint64(2)
#: Below this many vertices, stamps take 32 bits.
_MAX_SHORT = 2**30 - 1


def count_mirrored(rows: Rows) -> int:
    """The number of pairs of different vertices u, v such that both "u v" and "v u" are among the edges.

    Args:
        rows: made by `build_rows` with both directions and reversed arcs marked; the marks are taken away.
    """
    return int(_count(_count_mirrored, rows)[0]) // 2


def listed_twice(where: str, mirrored: int, line: str, arcs: bool) -> str:
    """The warning for an undirected graph of edges that are listed in both directions.

    Args:
        where: what lists them.
        mirrored: as `count_mirrored` says.
        line: what each edge has there.
        arcs: whether the caller said that they have no direction.
    """
    advice = f". With directed=True each {line} is an arc of its own" if arcs else ""
    return (
        f'{where} lists {mirrored:,} edges in both directions, as "u v" and as "v u". Each {line} became an edge of '
        'its own, so degrees count such edges twice. To have each once, give parallel_edges="first", or "min" or '
        f'"sum" to combine the weights of its {line}s{advice}'
    )


def count_reciprocal(rows: Rows, in_edges: Rows) -> int:
    """The number of arcs between different vertices whose reverse is an arc, too; parallel arcs count each.

    Args:
        rows: the out-edges.
        in_edges: the in-edges, as `transpose` makes them.
    """
    return int(_count(_count_reciprocal, rows, sealed(in_edges.offsets), sealed(in_edges.targets))[0])


def count_parallel(rows: Rows, directed: bool) -> int:
    """The number of edges that are parallel to another: they have its source and its target, or its ends.

    Args:
        rows: of the edges, as a graph has them.
        directed: False if each edge but a self-loop is in two rows.
    """
    arcs, loops = _count(_count_parallel, Rows(rows.offsets, sealed(rows.targets), None)).tolist()
    return arcs if directed else (arcs + loops) // 2


def _count(kernel: Any, rows: Rows, *others: np.ndarray) -> np.ndarray:
    """The sums of a kernel's two counts over all pieces of rows, int64, shape (2,)."""
    num_rows = len(rows.offsets) - 1
    fitting = (len(rows.offsets) + len(rows.targets)) // max(num_rows, 1)
    threads = best_threads(3 * len(rows.targets), min(available_threads(), fitting))
    stamps = np.zeros((threads, num_rows), np.uint32 if num_rows < _MAX_SHORT else np.uint64)
    found = np.zeros((-(-num_rows // _ROWS_PER_PIECE), 2), np.int64)
    args = (sealed(rows.offsets), rows.targets, *others, stamps, found)
    launch_on(threads, kernel, *args)
    return found.sum(axis=0)


@team_kernel
def _count_mirrored(
    thread: Any, size: Any, control: Any, offsets: Any, targets: Any, stamps: Any, found: Any
) -> None:
    """Count targets that a row has both with a mark and without; each pair is found from both ends."""
    num_rows = len(offsets) - 1
    stamp, one = stamps[thread], np.uint64(1)
    while True:
        start = claim(control, 0, _ROWS_PER_PIECE, num_rows)
        if start >= num_rows:
            return
        mirrored = 0
        for r in range(np.uint64(start), np.uint64(min(start + _ROWS_PER_PIECE, num_rows))):
            fresh = _FRESH * (r + one)
            for p in range(np.uint64(offsets[r]), np.uint64(offsets[r + one])):
                mark = targets[p] >> np.int32(31)  # -1 or 0, and x ^ -1 is ~x
                v = np.uint64(targets[p] ^ mark)
                targets[p] ^= mark
                before = max(np.uint64(stamp[v]), fresh)
                now = before | np.uint64(1 - mark)
                mirrored += (now == fresh + _BOTH) & (now != before)
                stamp[v] = now
        found[start // _ROWS_PER_PIECE, 0] = mirrored


@team_kernel
def _count_reciprocal(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    in_offsets: Any,
    in_sources: Any,
    stamps: Any,
    found: Any,
) -> None:
    """Count targets of a vertex that are among its sources, itself excepted."""
    num_rows = len(offsets) - 1
    stamp, one = stamps[thread], np.uint64(1)
    while True:
        start = claim(control, 0, _ROWS_PER_PIECE, num_rows)
        if start >= num_rows:
            return
        reciprocal = 0
        for r in range(np.uint64(start), np.uint64(min(start + _ROWS_PER_PIECE, num_rows))):
            number = r + one
            for p in range(np.uint64(in_offsets[r]), np.uint64(in_offsets[r + one])):
                stamp[np.uint64(in_sources[p])] = number
            stamp[r] = 0
            for p in range(np.uint64(offsets[r]), np.uint64(offsets[r + one])):
                reciprocal += stamp[np.uint64(targets[p])] == number
        found[start // _ROWS_PER_PIECE, 0] = reciprocal


@team_kernel
def _count_parallel(
    thread: Any, size: Any, control: Any, offsets: Any, targets: Any, stamps: Any, found: Any
) -> None:
    """Count arcs to targets that a row has more than once. found: these arcs, and the self-loops among them."""
    num_rows = len(offsets) - 1
    stamp, one = stamps[thread], np.uint64(1)
    while True:
        start = claim(control, 0, _ROWS_PER_PIECE, num_rows)
        if start >= num_rows:
            return
        arcs, loops = 0, 0
        for r in range(np.uint64(start), np.uint64(min(start + _ROWS_PER_PIECE, num_rows))):
            fresh = _FRESH * (r + one)
            for p in range(np.uint64(offsets[r]), np.uint64(offsets[r + one])):
                v = np.uint64(targets[p])
                before = max(np.uint64(stamp[v]), fresh)
                stamp[v] = min(before + one, fresh + _AGAIN)
                if before > fresh:
                    new = (
                        2 if before == fresh + one else 1
                    )  # the second arc makes the first a parallel one, too
                    arcs += new
                    loops += new * (v == r)
        found[start // _ROWS_PER_PIECE] = arcs, loops
