"""Distances in arcs and numbers of shortest paths from one source, on a thread of the CPU.

A breadth-first search counts while it searches: each vertex of a level adds its count to those of the vertices that
its arcs lead to. Where the vertices that are not reached yet have fewer in-edges than a level has arcs, they pull
instead: each adds up the counts of its in-neighbors of that level. So the levels with most of the arcs of a graph with
hubs are not read over. A level is pulled only while counts are exact integers, so that both ways find the same counts.
After a search by weights, paths are counted in the order of distances.

On a lattice the number of shortest paths doubles about every other level, and leaves the range of float64 after a
thousand. It is ``count * 2**(512 * power)``; powers are not used until a count has grown large. Scaling by powers of
two is exact. A quotient of counts is taken for 0 only if their powers differ by two or more: it is less than 2**-500.

Reference. Brandes, "A faster algorithm for betweenness centrality", Journal of Mathematical Sociology 25 (2001);
Beamer, Asanovic, Patterson, "Direction-optimizing breadth-first search", SC 2012, for levels that are pulled.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.common.lengths import length
from edgewise.kernels.cache import device_function, inlined_function
from edgewise.kernels.cpu.team import cancelled

#: Counts without powers may grow up to _LIMIT, counts with powers up to _LARGE; they are then scaled by SMALL.
_LIMIT, _LARGE, SMALL = 2.0**900, 2.0**512, 2.0**-512
#: Sums of counts up to this are exact in any order.
_EXACT = 2.0**53
#: A level is pulled only if the one before has at least a _FEW-th as many vertices as are not reached. In the time of
#: an arc, _SCANNED vertices are scanned.
_FEW, _SCANNED = np.uint64(8), np.uint64(4)
#: Vertices between two looks at whether the run was cancelled.
_LOOK = 1 << 16

_ONE = np.uint64(1)


@inlined_function
def _add(count: Any, power: Any, u: Any, paths: Any, paths_power: Any) -> None:
    """Add a number of paths to that of a vertex."""
    if power[u] == paths_power:
        count[u] += paths
    elif power[u] < paths_power:
        count[u] = paths + (count[u] * SMALL if power[u] + 1 == paths_power else 0.0)
        power[u] = paths_power
    elif power[u] == paths_power + 1:
        count[u] += paths * SMALL


@inlined_function
def _scale(count: Any, power: Any, v: Any) -> None:
    """Scale the count of a vertex down."""
    count[v] *= SMALL
    power[v] += 1


@device_function
def _begin_powers(count: Any, power: Any, queue: Any, end: Any) -> None:
    """Scale down what has grown large among the first vertices of the queue, which have no powers yet."""
    for i in range(end):
        if count[queue[i]] > _LARGE:
            _scale(count, power, queue[i])


@inlined_function
def _pull_pays(in_arcs: Any, arcs: Any, distance: Any, count: Any, queue: Any, begin: Any, end: Any) -> Any:
    """Whether the vertices that are not reached yet have fewer in-edges than a level has arcs, while counts are exact.

    The level is that of the vertices in the queue from `begin` to before `end`. Levels of few vertices, or of few arcs
    beside a scan of all vertices, are not looked at further.
    """
    num_vertices = np.uint64(len(distance))
    if len(in_arcs.offsets) == 0 or _FEW * (end - begin) < num_vertices - end:
        return False
    ahead, paths = np.uint64(0), 0.0
    for i in range(begin, end):
        v = np.uint64(queue[i])
        degree = np.uint64(arcs.offsets[v + _ONE]) - np.uint64(arcs.offsets[v])
        ahead += degree
        paths += count[v] * degree
    scan = num_vertices // _SCANNED
    if paths > _EXACT or ahead <= scan:
        return False
    left = np.uint64(0)
    for u in range(num_vertices):
        if distance[u] < 0:
            left += np.uint64(in_arcs.offsets[u + _ONE]) - np.uint64(in_arcs.offsets[u])
    return left + scan < ahead


@inlined_function
def _pull_level(
    in_arcs: Any, here: Any, after: Any, distance: Any, count: Any, power: Any, queue: Any, tail: Any
) -> Any:
    """Reach the next level from its vertices: each adds up the paths to its in-neighbors of the level before.

    Returns:
        The number of vertices in the queue; new ones are in the order of their indices.
    """
    for u in range(np.uint64(len(distance))):
        if distance[u] < 0:
            paths = 0.0
            for k in range(np.uint64(in_arcs.offsets[u]), np.uint64(in_arcs.offsets[u + _ONE])):
                v = np.uint64(in_arcs.targets[k])
                if distance[v] == here:
                    paths += count[v]
            if paths > 0.0:
                distance[u], count[u], power[u], queue[tail] = after, paths, 0, u
                tail += _ONE
    return tail


@inlined_function
def search_and_count(
    control: Any,
    arcs: Any,
    in_arcs: Any,
    source: Any,
    distance: Any,
    count: Any,
    power: Any,
    queue: Any,
) -> Any:
    """Find distances in arcs and numbers of shortest paths, and queue the vertices that are reached in their order.

    Returns:
        The number of vertices that are reached, and whether some have powers; where in the queue the first levels that
        were pulled one after the other begin and end, twice 0 without any.
    """
    distance[source], count[source], power[source], queue[0] = 0, 1.0, 0, source
    head, tail, with_powers = np.uint64(0), np.uint64(1), False
    pulled, pulled_end = np.uint64(0), np.uint64(0)
    while head < tail and tail < np.uint64(len(distance)):
        here, end = distance[queue[head]], tail
        after = distance.dtype.type(here + 1)
        if not with_powers and _pull_pays(in_arcs, arcs, distance, count, queue, head, end):
            tail, head = _pull_level(in_arcs, here, after, distance, count, power, queue, tail), end
            if pulled == 0:
                pulled = pulled_end = end
            if pulled_end == end:
                pulled_end = tail
        while head < end:
            v = np.uint64(queue[head])
            head += _ONE
            if with_powers and count[v] > _LARGE:
                _scale(count, power, v)
            elif count[v] > _LIMIT:
                with_powers = True
                _begin_powers(count, power, queue, tail)
            paths, paths_power = count[v], power[v]
            for k in range(np.uint64(arcs.offsets[v]), np.uint64(arcs.offsets[v + _ONE])):
                u = np.uint64(arcs.targets[k])
                if distance[u] < 0:
                    distance[u], count[u], power[u], queue[tail] = after, paths, paths_power, u
                    tail += _ONE
                elif distance[u] == after:
                    if with_powers:
                        _add(count, power, u, paths, paths_power)
                    else:
                        count[u] += paths
            if head % _LOOK == 0 and cancelled(control):
                return tail, with_powers, pulled, pulled_end
    return tail, with_powers, pulled, pulled_end


@inlined_function
def count_in_order(
    control: Any,
    arcs: Any,
    source: Any,
    distance: Any,
    count: Any,
    power: Any,
    queue: Any,
    reached: Any,
) -> Any:
    """Count the shortest paths to the vertices in the queue. Returns whether some have powers."""
    for i in range(reached):
        count[queue[i]], power[queue[i]] = 0.0, 0
    count[source], with_powers = 1.0, False
    for i in range(reached):
        v = np.uint64(queue[i])
        if with_powers and count[v] > _LARGE:
            _scale(count, power, v)
        elif count[v] > _LIMIT:
            with_powers = True
            _begin_powers(count, power, queue, reached)
        for k in range(np.uint64(arcs.offsets[v]), np.uint64(arcs.offsets[v + _ONE])):
            u = np.uint64(arcs.targets[k])
            if distance[u] == distance.dtype.type(distance[v] + length(arcs, k)):
                if with_powers:
                    _add(count, power, u, count[v], power[v])
                else:
                    count[u] += count[v]
        if i % _LOOK == 0 and cancelled(control):
            break
    return with_powers
