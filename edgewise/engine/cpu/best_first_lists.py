"""The lists of an asynchronous program: near and far vertices, of now and of next, and where a vertex stands.

Arrays in kernels are as in `edgewise.engine.cpu.shared`, but ``work`` is (messages, places, far list, near list, other
near list, other far list, cursors, thresholds, rings).
"""

from typing import Any

import numpy as np

from edgewise.engine.cpu.shared import (
    ALONE_EDGES,
    ALONE_LIST,
    COUNT,
    EDGES,
    FLIP,
    LISTED,
    NEXT,
    NO_VERTEX,
    TOUCHED,
    finish_segment,
)
from edgewise.kernels.cache import device_function

#: Lengths of the lists, in the words that the other kernel uses for its own: near now and next, far now and next; and
#: the rank in the sample that the last threshold had, which is -1 at first.
NEAR_NOW, NEAR_NEXT, FAR_NOW, FAR_NEXT, RANK = COUNT, NEXT, EDGES, TOUCHED, LISTED
#: Bits of a vertex's place: it has an entry in the far list; it has one in a near list; it got a message since it was
#: computed; it is active from the start and has not sent yet.
FAR, NEAR, MESSAGE, FIRST = np.uint32(1), np.uint32(2), np.uint32(4), np.uint32(8)
#: The far ones that are sampled to move the threshold.
SAMPLE = 64
#: A thread's ring: room for so many vertices that it made near itself; before the next barrier it computes them until
#: they and their out-edges are so many.
RING, BUDGET = 2048, 8192
#: Words of `cursors` for each thread: the ends of its segment of the near list and of the far list (`append`), and how
#: many vertices have left its ring and entered it.
WORDS, NEAR_CURSOR, FAR_CURSOR, LEFT, ENTERED = 8, 0, 2, 4, 5


@device_function
def lists(work: Any, shared: Any) -> Any:
    """The lists by their present use: near now, near next, far now, far next."""
    near, near_next = (work[3], work[4]) if shared[FLIP] & 1 == 0 else (work[4], work[3])
    far, far_next = (work[2], work[5]) if shared[FLIP] & 2 == 0 else (work[5], work[2])
    return near, near_next, far, far_next


@device_function
def turn_near(shared: Any) -> None:
    """What got near during a superstep becomes the near list."""
    shared[NEAR_NOW] = shared[NEAR_NEXT]
    shared[NEAR_NEXT] = 0
    shared[FLIP] = shared[FLIP] ^ 1


@device_function
def turn_far(shared: Any) -> None:
    """What the sifting of the far list has kept becomes the far list."""
    shared[FAR_NOW] = shared[FAR_NEXT]
    shared[FAR_NEXT] = 0
    shared[FLIP] = shared[FLIP] ^ 2


@device_function
def is_short(near: Any, graph: Any, shared: Any) -> Any:
    """Whether thread 0 computes the near list faster alone; what there is to do then."""
    edges = np.int64(0)
    for position in range(min(shared[NEAR_NOW], shared[ALONE_LIST] + 1)):
        v = np.int64(near[position])
        if v != NO_VERTEX:
            edges += np.int64(graph[2][v + 1]) - np.int64(graph[2][v])
    if shared[NEAR_NOW] <= shared[ALONE_LIST] and edges <= shared[ALONE_EDGES]:
        return True, shared[NEAR_NOW] + edges
    return False, max(shared[NEAR_NOW] * (1 + graph[1] // graph[0]), edges)


@device_function
def finish_far(size: Any, far: Any, work: Any) -> None:
    """Finish what threads have added to the far list since it was last sifted."""
    for thread in range(size):
        finish_segment(far, work[6], WORDS * thread + FAR_CURSOR)
