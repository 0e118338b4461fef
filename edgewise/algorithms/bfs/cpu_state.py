"""The state that the threads of a breadth-first search share, and how they tell each other about a level.

The array of levels is what counts; queues and bitmaps describe one level, and are made anew when the direction changes.

Queues. Each thread keeps the vertices that it finds in a queue of its own. It expands them itself at the next
level, for they lie in its caches, and then takes pieces of what others have left. The part of a queue that belongs
to the current level is posted on the board.

Board and totals. They have two rows in turns, one for the level that is expanded and one for the next, so that one
barrier for each level is enough: all threads read the same row and come to the same decision.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cache import device_function
from edgewise.kernels.words import CPU_LINE
from edgewise.memory import LARGE_PAGE, Step
from edgewise.primitives.vertices import NO_VERTEX

#: For code of the innermost loops: a call with all its arrays would cost more than the work.
inlined = functools.partial(device_function, forceinline=True)

#: Levels and parents are int32 with -1 for none; kernels see the same bits unsigned.
NONE = NO_VERTEX
ONE, SIX, LOW_SIX = np.uint64(1), np.uint64(6), np.uint64(63)

#: Fields of a thread's line on the board: the part of its queue, how far that was handed out, its out-edges.
BEGIN, END, NEXT, EDGES = range(4)
#: Fields of totals: the level that is expanded, and the out-edges and vertices of the levels before it.
DEPTH, EXPLORED, REACHED = range(3)
#: Fields of status: how the kernel ended, its step and level at the end, and the number of lines in the log.
STATE, STEP, LEVELS, LOGGED = range(4)
FRESH, DONE, WANTS_IN_EDGES = range(3)
#: Fields of a line in the log, one for each run of levels in one direction: where it began, and why.
FROM_LEVEL, DIRECTION, FRONTIER_EDGES, SCANNED = range(4)

_LOG_LINES, _CANDIDATES = 64, 1024
#: Entries of 4 bytes in a page of memory.
_PAGE = 1024


class SearchState(NamedTuple):
    """The state of a search of n vertices by t threads.

    Attributes:
        level, parent: uint32, shape (n,).
        queues: uint32, shape (t, n + 1): a thread never queues a vertex twice, and may write one entry too many.
        candidates: uint32, shape (t, c): vertices that may be new.
        visited: uint64, shape (w,): a bit for each vertex; kept while pulling.
        bitmaps: uint64, shape (2, w): the frontier and the next one, in turns.
        board: int64, shape (2, t, CPU_LINE).
        totals: int64, shape (2, CPU_LINE).
        status: int64, shape (CPU_LINE,).
        log: int64, shape (lines, 4).
    """

    level: np.ndarray
    parent: np.ndarray
    queues: np.ndarray
    candidates: np.ndarray
    visited: np.ndarray
    bitmaps: np.ndarray
    board: np.ndarray
    totals: np.ndarray
    status: np.ndarray
    log: np.ndarray


def make_search(num_vertices: int, num_threads: int) -> SearchState:
    """A search that has not begun. The kernel fills the other arrays."""
    words = -(-num_vertices // 64)
    return SearchState(
        level=_empty_at(num_vertices, _PAGE // 3),
        parent=_empty_at(num_vertices, 2 * _PAGE // 3),
        queues=np.empty((num_threads, num_vertices + 1), np.uint32),
        candidates=np.empty((num_threads, _CANDIDATES), np.uint32),
        visited=np.empty(words, np.uint64),
        bitmaps=np.empty((2, words), np.uint64),
        board=np.zeros((2, num_threads, CPU_LINE), np.int64),
        totals=np.zeros((2, CPU_LINE), np.int64),
        status=np.zeros(CPU_LINE, np.int64),
        log=np.zeros((_LOG_LINES, 4), np.int64),
    )


def _empty_at(length: int, place: int) -> np.ndarray:
    """A uint32 array that begins at a given place in its page of memory.

    Otherwise large arrays all begin at the same place of a page, so the entries of one vertex compete for one set of
    the caches, and a load waits for stores that look like stores to its address: 10% slower on a lattice.
    """
    room = np.empty(length + _PAGE, np.uint32)
    start = (place - room.ctypes.data // room.itemsize) % _PAGE
    return room[start : start + length]


def searching(num_vertices: int, num_threads: int) -> Step:
    """The memory that a search writes to, of which levels are kept; the queues of all threads together hold each vertex
    about once, and each begins in a page of its own."""
    of_thread = min(4 * (num_vertices + 1), LARGE_PAGE) + 4 * _CANDIDATES + 2 * 8 * CPU_LINE
    level = 4 * (num_vertices + _PAGE)
    return Step(level, 3 * level + num_vertices * 3 // 8 + num_threads * of_thread)


@inlined
def degree(v: Any, offsets: Any) -> Any:
    """The number of arcs in the row of a vertex."""
    return np.int64(offsets[v + ONE]) - np.int64(offsets[v])


@inlined
def post(line: Any, begin: Any, end: Any, edges: Any) -> None:
    """Tell all threads which part of a queue belongs to the next level, and its out-edges."""
    line[BEGIN] = begin
    line[END] = end
    line[NEXT] = begin
    line[EDGES] = edges


@inlined
def post_totals(totals: Any, depth: Any, explored: Any, reached: Any) -> None:
    """Tell all threads what precedes the next level."""
    totals[DEPTH] = depth
    totals[EXPLORED] = explored
    totals[REACHED] = reached
