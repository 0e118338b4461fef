"""What the threads of one run share on the CPU: words that they agree on, and lists of vertices that all of them fill.

In kernels ``own``, ``graph`` and ``work`` are those of a `edgewise.engine.cpu.arguments.Table`, ``shared`` is the words
below. A vertex is active in a superstep, or got a message in it, if its stamp equals the superstep's.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add
from edgewise.kernels.words import CPU_LINE, Allocator
from edgewise.primitives.endings import CANCELLED
from edgewise.primitives.vertices import NO_VERTEX

#: Words of the array `shared`, a cache line apart: what the threads of one run agree on. COUNT and EDGES are the
#: active vertices and their out-edges; LISTED is the length of their list, or -1 where there is none.
#: RESUMED says whether vertices were asked to resume since the last superstep. SPENT is how many vertices and arcs have
#: been looked at, AHEAD_WORK how many the next superstep will look at.
SHARED = Allocator(0, CPU_LINE)
COUNT, EDGES, LISTED, NEXT, TOUCHED, FLIP, FORM, SUPERSTEP, ENDED, RESUMED, SPENT, AHEAD_WORK = (
    SHARED.take_line() for _ in range(12)
)
ALONE, PUSH_LIST, PUSH_ALL, PULL_ALL, MAKE_LIST, RESUME = range(6)
#: The first word of the counts of supersteps by form.
FORMS = SHARED.take_line(RESUME + 1)
#: The words of `Sizes`, which the host sets.
RANGE, PIECE, ALONE_WORK, ALONE_LIST, ALONE_EDGES, ALONE_FAR = (SHARED.take() for _ in range(6))
FORM_NAMES = ("by one thread alone", "push from a list", "push over all vertices", "pull over all vertices")
#: Why a kernel returned: its budget is spent. Called again, it goes on where it was.
GO_ON = CANCELLED + 1

#: How many list entries a thread reserves at a time. One that it did not use is NO_VERTEX.
SEGMENT = 64


class Sizes(NamedTuple):
    """How much a thread is given at a time, and how little is left to thread 0; as the words from RANGE on.

    Attributes:
        vertices: how many vertices a thread takes at a time in phases over all vertices that look at no arcs.
        places: the length of a piece (`edgewise.engine.cpu.pieces`). To find one takes 0.5 µs; its arcs take 40 µs if a
            program does little for each.
        alone: thread 0 takes a frontier with fewer active vertices and out-edges together: two barriers take as long.
        alone_list, alone_edges: thread 0 takes near lists of at most this many vertices, with at most this many
            out-edges.
        alone_far: thread 0 takes far lists of at most this many entries.
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
    """Add a vertex to a list that all threads fill. Each reserves a segment by one atomic addition."""
    position = cursors[cursor]
    if position == cursors[cursor + 1]:
        position = atomic_add(shared, counter, SEGMENT)
        cursors[cursor + 1] = position + SEGMENT
    entries[position] = np.uint32(v)
    cursors[cursor] = position + 1


@device_function
def finish_segment(entries: Any, cursors: Any, cursor: Any) -> None:
    """Mark the rest of a thread's segment as unused, and give the segment up."""
    for position in range(cursors[cursor], cursors[cursor + 1]):
        entries[position] = NO_VERTEX
    cursors[cursor] = 0
    cursors[cursor + 1] = 0
