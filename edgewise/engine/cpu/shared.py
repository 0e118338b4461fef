"""What the threads of one run share on the CPU: words that they agree on, and lists of vertices that all of them write.

In kernels ``graph`` is (n, m, `GRAPH_ARRAYS`), ``work`` is `WORK_ARRAYS` (both stand in `edgewise.engine.cpu.table`),
``own`` the program's own arrays, ``shared`` the words below. A vertex is active in a superstep, or got a message in it,
if its stamp equals the superstep's.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.contract import Ending
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add

#: Words of the array `shared`, a cache line apart: what the threads of one run agree on. COUNT and EDGES are the
#: active vertices and their out-edges; LISTED is the length of their list, or -1 where there is none.
#: RESUMED says whether vertices were asked to resume since the last superstep. SPENT is how many vertices and arcs have
#: been looked at, AHEAD_WORK how many the next superstep will look at.
COUNT, EDGES, LISTED, NEXT, TOUCHED, FLIP, FORM, SUPERSTEP, ENDED, RESUMED, SPENT, AHEAD_WORK = range(
    0, 96, 8
)
#: The number of supersteps carried out in each form follows.
FORMS = 96
#: Then `Sizes`, which the host sets.
RANGE, PIECE, ALONE_WORK, ALONE_LIST, ALONE_EDGES, ALONE_FAR = range(FORMS + 8, FORMS + 14)
SHARED_WORDS = FORMS + 16
ALONE, PUSH_LIST, PUSH_ALL, PULL_ALL, MAKE_LIST, RESUME = range(6)
FORM_NAMES = ("by one thread alone", "push from a list", "push over all vertices", "pull over all vertices")
#: The kernel has spent its budget: called again, it goes on where it was.
GO_ON = len(Ending)

#: List entries that a thread reserves at a time, and the mark of an entry it did not use.
SEGMENT = 64
NO_VERTEX = np.uint32(0xFFFFFFFF)


class Sizes(NamedTuple):
    """How much a thread is given at a time, and how little is left to thread 0; as the words from RANGE on.

    Attributes:
        vertices: vertices handed out at a time in phases over all vertices that look at no arcs.
        places: the length of a piece (`edgewise.engine.cpu.pieces`). A search for one costs 0.5 µs, a piece of a
            program that does little for an arc takes 40 µs.
        alone: a frontier of fewer active vertices and edges is left to thread 0: two barriers would cost as much.
        alone_list, alone_edges: near lists of no more vertices, with no more out-edges, are left to thread 0.
        alone_far: far lists of no more entries, too.
    """

    vertices: int = 1024
    places: int = 16384
    alone: int = 1500
    alone_list: int = 256
    alone_edges: int = 4096
    alone_far: int = 1024


SIZES = Sizes()


@device_function
def append(entries: Any, cursors: Any, cursor: Any, shared: Any, counter: Any, v: Any) -> None:
    """Add a vertex to a list that all threads write, in segments reserved by one atomic addition."""
    position = cursors[cursor]
    if position == cursors[cursor + 1]:
        position = atomic_add(shared, counter, SEGMENT)
        cursors[cursor + 1] = position + SEGMENT
    entries[position] = np.uint32(v)
    cursors[cursor] = position + 1


@device_function
def finish_segment(entries: Any, cursors: Any, cursor: Any) -> None:
    """Mark what is left of a thread's segment as unused."""
    for position in range(cursors[cursor], cursors[cursor + 1]):
        entries[position] = NO_VERTEX
    cursors[cursor] = 0
    cursors[cursor + 1] = 0
