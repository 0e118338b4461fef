"""Dijkstra's search by one thread: the vertices in the order of their distances from a source.

Vertices wait in a 4-ary heap, ordered by the tentative distances that stand beside them: the distances of four children
lie in one cache line. A vertex whose distance falls rises in the heap, so there are never more than n entries.

Reference. Johnson, "Priority queues with update and finding minimum spanning trees", Information Processing Letters 4
(1975), for the heap.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.lengths import length
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import cancelled

#: Vertices between two looks at whether the run was cancelled.
_LOOK = 1 << 16
_ONE, _TWO, _FOUR = np.uint64(1), np.uint64(2), np.uint64(4)


class Heap(NamedTuple):
    """The heaps of t threads, or of none.

    Attributes:
        key: shape (t, n): the distance of each entry, in the dtype of distances.
        vertex: uint32, shape (t, n): the vertex of each entry.
        place: uint32, shape (t, n): the entry of each vertex that waits.
    """

    key: np.ndarray
    vertex: np.ndarray
    place: np.ndarray


def make_heap(num_vertices: int, num_threads: int, dtype: np.dtype) -> Heap:
    """Empty heaps for distances of this dtype."""
    each = num_threads, num_vertices
    return Heap(np.empty(each, dtype), np.empty(each, np.uint32), np.empty(each, np.uint32))


@device_function
def _put(key: Any, vertex: Any, place: Any, entry: Any, v: Any, distance: Any) -> None:
    key[entry], vertex[entry], place[v] = distance, v, entry


@device_function
def _rise(key: Any, vertex: Any, place: Any, entry: Any, v: Any, distance: Any) -> None:
    """Put a vertex at an entry, or above it past entries that are farther away, which move down."""
    while entry > 0:
        above = (entry - _ONE) >> _TWO
        if key[above] <= distance:
            break
        _put(key, vertex, place, entry, np.uint64(vertex[above]), key[above])
        entry = above
    _put(key, vertex, place, entry, v, distance)


@device_function
def _sink(key: Any, vertex: Any, place: Any, size: Any, v: Any, distance: Any) -> None:
    """Put a vertex at the first entry, or below it past entries that are nearer, which move up."""
    entry = np.uint64(0)
    while True:
        first = (entry << _TWO) + _ONE
        if first >= size:
            break
        nearest: Any = first
        for other in range(first + _ONE, min(first + _FOUR, size)):
            if key[other] < key[nearest]:
                nearest = other
        if distance <= key[nearest]:
            break
        _put(key, vertex, place, entry, np.uint64(vertex[nearest]), key[nearest])
        entry = nearest
    _put(key, vertex, place, entry, v, distance)


@device_function
def settle(
    control: Any, arcs: Any, source: Any, distance: Any, queue: Any, key: Any, vertex: Any, place: Any
) -> Any:
    """Find distances, and queue the vertices that are reached in the order of these.

    Args:
        arcs: see `common.lengths.WeightedArcs`; weights are at least 0.
        distance: shape (n,): negative everywhere.
        queue: uint32, shape (n,).
        key, vertex, place: the heap of a thread.

    Returns:
        The number of vertices that are reached, and whether each arc from them leads farther: it does not if its weight
        is 0, or if rounding loses it beside a distance. Distances are right then, too.
    """
    zero = distance.dtype.type(0)
    distance[source] = zero
    _put(key, vertex, place, np.uint64(0), source, zero)
    size, reached, grows = np.uint64(1), np.uint64(0), True
    while size > 0:
        v = np.uint64(vertex[0])
        queue[reached] = v
        reached += _ONE
        size -= _ONE
        if size > 0:
            _sink(key, vertex, place, size, np.uint64(vertex[size]), key[size])
        here = distance[v]
        for k in range(np.uint64(arcs.offsets[v]), np.uint64(arcs.offsets[v + _ONE])):
            u, found = np.uint64(arcs.targets[k]), distance.dtype.type(here + length(arcs, k))
            if found <= here:
                grows = False
            if distance[u] < 0:
                distance[u] = found
                _rise(key, vertex, place, size, u, found)
                size += _ONE
            elif found < distance[u]:
                distance[u] = found
                _rise(key, vertex, place, np.uint64(place[u]), u, found)
        if reached % _LOOK == 0 and cancelled(control):
            break
    return reached, grows
