"""Bellman-Ford in supersteps: distances from the nearest source over weights of any sign.

Bellman, "On a routing problem" (1958); Moore (1959) for the queue. In each superstep the vertices whose distance fell
in the one before offer it along their arcs. All read the distances of the step before, so after step k a vertex has
the least weight of a walk of at most k arcs, its parent is the lowest index that gave it that, and the answer does not
depend on threads. Without a negative cycle no distance falls in step n.

If a distance falls in step n, the parents contain a cycle (Cherkassky and Goldberg, "Negative-cycle detection
algorithms", Mathematical Programming 85, 1999): else each distance would be that of a path of parents, at most n - 1
arcs long, and there would have been nothing to lower. A cycle of parents is always a negative cycle, and it mostly
appears soon, so the driver stops to look for one after 1, 2, 4, 8... supersteps and after n.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.sssp.path_tree import looking_for_cycle
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add, atomic_min, compare_and_swap
from edgewise.kernels.cpu.team import barrier, claim, report, rewind, team_kernel
from edgewise.kernels.words import CPU_LINE, Allocator
from edgewise.memory import Step
from edgewise.primitives.vertices import NO_VERTEX

_PIECE = 64
_ONE = np.uint64(1)
#: Words: the superstep, the number of vertices in the queue and in the next one.
_WORDS = Allocator(0, CPU_LINE)
STEP, QUEUED, FOUND = (_WORDS.take_line() for _ in range(3))


class BellmanFordState(NamedTuple):
    """The state of Bellman-Ford between supersteps.

    Attributes:
        distance: shape (n,): distances after the last superstep.
        offered: as `distance`: the least distance that was offered; equal to `distance` between supersteps.
        parent: uint32, shape (n,).
        queued_in: int64, shape (n,): the last superstep that put a vertex into a queue.
        queues: uint32, shape (2, n): the vertices that fell in the last superstep, and those of this one.
        words: int64.
    """

    distance: np.ndarray
    offered: np.ndarray
    parent: np.ndarray
    queued_in: np.ndarray
    queues: np.ndarray
    words: np.ndarray


def make_search(num_vertices: int, sources: np.ndarray, unreached: Any) -> BellmanFordState:
    """The state before the first superstep; each of the sources is given once."""
    distance = np.full(num_vertices, unreached)
    distance[sources] = 0
    queues = np.empty((2, num_vertices), np.uint32)
    queues[0, : len(sources)] = sources
    words = np.zeros(_WORDS.lines_size, np.int64)
    words[QUEUED] = len(sources)
    parent = np.full(num_vertices, NO_VERTEX)
    return BellmanFordState(
        distance, distance.copy(), parent, np.zeros(num_vertices, np.int64), queues, words
    )


def searching(num_vertices: int, dtype: np.dtype) -> Step:
    """The memory that a search takes for distances of this dtype, with that to look for a cycle; distances and parents
    are kept."""
    state = num_vertices * (2 * dtype.itemsize + 4 + 8 + 8)
    return Step(num_vertices * (dtype.itemsize + 4), state + looking_for_cycle(num_vertices))


@device_function
def _offer(arcs: Any, search: Any, u: Any, step: Any) -> None:
    """Offer a vertex's distance along its arcs, and queue the targets that it lowers."""
    distance = search.distance[u]
    for arc in range(np.uint64(arcs.offsets[u]), np.uint64(arcs.offsets[u + _ONE])):
        v = np.uint64(arcs.targets[arc])
        if atomic_min(search.offered, v, search.distance.dtype.type(distance + arcs.weights[arc])):
            old = search.queued_in[v]
            if old < step and compare_and_swap(search.queued_in, v, old, step):
                search.queues[np.uint64(step & 1), np.uint64(atomic_add(search.words, FOUND, 1))] = v
                search.parent[v] = NO_VERTEX


@device_function
def _become_parent(arcs: Any, search: Any, u: Any) -> None:
    """Make a vertex the parent of those that it lowered, unless one of lower index gave them an equal distance."""
    distance = search.distance[u]
    for arc in range(np.uint64(arcs.offsets[u]), np.uint64(arcs.offsets[u + _ONE])):
        v = np.uint64(arcs.targets[arc])
        offered = search.distance.dtype.type(distance + arcs.weights[arc])
        if offered == search.offered[v] and offered < search.distance[v]:
            atomic_min(search.parent, v, np.uint32(u))


@team_kernel
def bellman_ford(thread: Any, size: Any, control: Any, arcs: Any, search: Any, until: Any) -> None:
    """Run supersteps up to number `until`, as long as distances fall."""
    words = search.words
    step, queued = words[STEP], words[QUEUED]
    while step < until and queued > 0:
        step += 1
        queue, following = search.queues[(step - 1) & 1], search.queues[step & 1]
        while True:
            start = claim(control, 0, _PIECE, queued)
            if start == queued:
                break
            for place in range(np.uint64(start), np.uint64(min(start + _PIECE, queued))):
                _offer(arcs, search, np.uint64(queue[place]), step)
        if barrier(control, size):
            return
        while True:
            start = claim(control, 1, _PIECE, queued)
            if start == queued:
                break
            for place in range(np.uint64(start), np.uint64(min(start + _PIECE, queued))):
                _become_parent(arcs, search, np.uint64(queue[place]))
        if barrier(control, size):
            return
        queued = words[FOUND]
        for place in range(np.uint64(queued * thread // size), np.uint64(queued * (thread + 1) // size)):
            v = np.uint64(following[place])
            search.distance[v] = search.offered[v]
        if barrier(control, size):
            return
        if thread == 0:
            words[STEP], words[QUEUED], words[FOUND] = step, queued, 0
            rewind(control, 0)
            rewind(control, 1)
            report(control, step)
        if barrier(control, size):
            return
