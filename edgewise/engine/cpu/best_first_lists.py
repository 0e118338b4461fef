"""The lists of an asynchronous program: near and far vertices, now and next, and the lists that a vertex is in.

In kernels ``work`` is a `NearFar`, the rest is as in `edgewise.engine.cpu.shared`.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.cpu.shared import (
    ALONE_EDGES,
    ALONE_LIST,
    FLIP,
    SHARED,
    SUPERSTEP,
    finish_segment,
)
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import MOST_THREADS
from edgewise.kernels.words import CPU_LINE, Allocator
from edgewise.primitives.vertices import NO_VERTEX

#: Words of `shared` behind those of all kernels, a cache line apart: the lengths of the lists near now, near next, far
#: now and far next; and the rank in the sample that the last threshold had, -1 at first.
_WORDS = SHARED.more()
NEAR_NOW, NEAR_NEXT, FAR_NOW, FAR_NEXT, RANK = (_WORDS.take_line() for _ in range(5))
#: The length of `shared`, enough for every kernel.
SHARED_WORDS = _WORDS.size
#: Bits of a vertex in `places`: it has an entry in the far list; it has one in a near list or ring; it got a message
#: since it was computed; it is active from the start and has not sent yet. The other bits are the last `turn` in which
#: it was computed.
FAR, NEAR, MESSAGE, FIRST = np.uint32(1), np.uint32(2), np.uint32(4), np.uint32(8)
_FLAGS, _WORD = 16, 0xFFFFFFFF
#: How many far vertices are sampled to move the threshold, at most.
SAMPLE = 64
#: A thread's ring has room for RING vertices that it made near itself. Before the next barrier it computes vertices of
#: the ring until these and their out-edges reach BUDGET.
RING, BUDGET = 2048, 8192
#: Words of `cursors` for each thread: the ends of its segment of the near list and of the far list (`append`), and how
#: many vertices have left its ring and entered it. Each thread has WORDS of them, whole cache lines.
_CURSORS = Allocator(0, CPU_LINE)
NEAR_CURSOR, FAR_CURSOR, LEFT, ENTERED = (_CURSORS.take(count) for count in (2, 2, 1, 1))
WORDS = _CURSORS.lines_size


class Lists(NamedTuple):
    """The lists by their present use."""

    near: Any
    near_next: Any
    far: Any
    far_next: Any


@device_function
def turn(shared: Any, thread: Any) -> Any:
    """The bits of `places` that a thread sets when it computes a vertex: superstep modulo 65,536, and thread."""
    return np.uint32((shared[SUPERSTEP] * MOST_THREADS + thread) * _FLAGS & _WORD)


@device_function
def is_of_another(bits: Any, mine: Any) -> Any:
    """Whether another thread has computed a vertex in this thread's turn; where supersteps are 65,536 apart, too."""
    return 0 < (bits ^ mine) // _FLAGS < MOST_THREADS


@device_function
def lists(work: Any, shared: Any) -> Any:
    """The `Lists` of a `NearFar`."""
    near, near_next = (work.near, work.other_near) if shared[FLIP] & 1 == 0 else (work.other_near, work.near)
    far, far_next = (work.far, work.other_far) if shared[FLIP] & 2 == 0 else (work.other_far, work.far)
    return Lists(near, near_next, far, far_next)


@device_function
def turn_near(shared: Any) -> None:
    """Make the vertices that got near during a superstep the near list."""
    shared[NEAR_NOW] = shared[NEAR_NEXT]
    shared[NEAR_NEXT] = 0
    shared[FLIP] = shared[FLIP] ^ 1


@device_function
def turn_far(shared: Any) -> None:
    """Make the vertices that sifting has kept the far list."""
    shared[FAR_NOW] = shared[FAR_NEXT]
    shared[FAR_NEXT] = 0
    shared[FLIP] = shared[FLIP] ^ 2


@device_function
def is_short(near: Any, graph: Any, shared: Any) -> Any:
    """Whether thread 0 computes the near list alone; about how many vertices and arcs there are to look at."""
    edges = np.int64(0)
    for position in range(min(shared[NEAR_NOW], shared[ALONE_LIST] + 1)):
        v = np.int64(near[position])
        if v != NO_VERTEX:
            edges += np.int64(graph.offsets[v + 1]) - np.int64(graph.offsets[v])
    if shared[NEAR_NOW] <= shared[ALONE_LIST] and edges <= shared[ALONE_EDGES]:
        return True, shared[NEAR_NOW] + edges
    return False, max(shared[NEAR_NOW] * (1 + graph.m // graph.n), edges)


@device_function
def finish_far(size: Any, far: Any, work: Any) -> None:
    """Finish the segments in which threads have added to the far list since it was sifted."""
    for thread in range(size):
        finish_segment(far, work.cursors, WORDS * thread + FAR_CURSOR)
