"""Distances by weights from many vertices on the CPU: Dijkstra's search from each by one thread, and their sums.

Sums are made in the order in which a search reaches vertices, so they do not depend on threads.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.dijkstra import Heap, make_heap, settle
from edgewise.kernels.cache import inlined_function
from edgewise.kernels.cpu.team import claim, report, team_kernel

_LARGEST = np.int64(np.iinfo(np.int64).max)


class LengthSearches(NamedTuple):
    """The state of t threads, n vertices.

    Attributes:
        distance: int64 or float64, shape (t, n): -1 between sources.
        queue: uint32, shape (t, n): vertices in the order of distances.
        heap: the heaps of t threads.
        too_large: int64, shape (1,): 1 once a sum is more than int64 holds; others are of no use then.
    """

    distance: np.ndarray
    queue: np.ndarray
    heap: Heap
    too_large: np.ndarray


def length_searches_bytes(num_vertices: int) -> int:
    """The memory of one thread."""
    return num_vertices * (2 * 8 + 3 * 4)


def make_length_searches(num_vertices: int, threads: int, dtype: np.dtype) -> LengthSearches:
    """The state of threads before their first searches."""
    each = threads, num_vertices
    heap = make_heap(num_vertices, threads, dtype)
    return LengthSearches(np.full(each, -1, dtype), np.empty(each, np.uint32), heap, np.zeros(1, np.int64))


@inlined_function
def _sum_up(distance: Any, queue: Any, reached: Any, i: Any, state: Any, out: Any) -> None:
    """Sum up the distances of the vertices that were reached, and forget them; the first is the source itself."""
    total, reciprocals, farthest = out.total[i], 0.0, distance[queue[0]]
    for place in range(reached):
        v = np.uint64(queue[place])
        here = distance[v]
        distance[v] = -1
        if distance.dtype.kind == "i" and total > _LARGEST - here:
            state.too_large[0] = 1
        total += here
        farthest = here
        if here > 0:
            reciprocals += 1.0 / np.float64(here)
    out.reached[i], out.total[i] = np.int64(reached) - 1, total
    out.reciprocals[i], out.farthest[i] = reciprocals, farthest


@team_kernel
def measure_all(thread: Any, size: Any, control: Any, arcs: Any, sources: Any, state: Any, out: Any) -> None:
    """Search from all sources; threads beyond those that the state is for do nothing.

    Args:
        arcs: the arcs that searches go along: see `common.lengths.WeightedArcs`.
        sources: int64, shape (k,).
        state: see `LengthSearches`.
        out: see `job.Found`; zeros.
    """
    if thread >= len(state.queue):
        return
    distance, queue, heap = state.distance[thread], state.queue[thread], state.heap
    while True:
        i = claim(control, 0, 1, len(sources))
        if i == len(sources) or state.too_large[0] != 0:
            return
        if thread == 0:
            report(control, i)
        reached, _ = settle(
            control,
            arcs,
            np.uint64(sources[i]),
            distance,
            queue,
            heap.key[thread],
            heap.vertex[thread],
            heap.place[thread],
        )
        _sum_up(distance, queue, reached, i, state, out)
