"""Searches by one core in the order of NetworkX: vertices as they are first seen, neighbours in the order of rows."""

from typing import Any

import numpy as np

from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import cancelled, team_kernel

#: Vertices between two looks at whether the run was cancelled.
_LOOK = 1 << 14
_ONE = np.uint64(1)
#: What `component` has for a vertex whose strong component is not complete.
_OPEN = -1


@team_kernel
def search_levels(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    limit: Any,
    order: Any,
    parent: Any,
    starts: Any,
    found: Any,
) -> None:
    """Breadth-first search.

    Args:
        limit: the highest level to look for.
        order: int32, shape (n,): first the sources, then the vertices in the order in which they are reached.
        parent: int32, shape (n,): -1, of sources the source; then the vertex from which each was reached.
        starts: int64, shape (n + 2,): where each level begins in `order`; after the last, where that ends.
        found: int64, shape (2,): the numbers of vertices reached, first that of sources, and of levels.
    """
    begin, reached, level = np.uint64(0), np.uint64(found[0]), np.int64(0)
    starts[0] = 0
    while begin < reached:
        end = reached
        level += 1
        starts[level] = end
        if level > limit:
            break
        for place in range(begin, end):
            v = np.uint64(order[place])
            for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
                u = np.uint64(targets[k])
                if parent[u] < 0:
                    parent[u] = v
                    order[reached] = u
                    reached += _ONE
            if place % _LOOK == 0 and cancelled(control):
                return
        begin = end
    found[0], found[1] = reached, level


@device_function
def _expand(
    queue: Any, begin: Any, end: Any, offsets: Any, targets: Any, step: Any, other: Any, found: Any
) -> Any:
    """Expand the frontier of one of two searches, which lies in its queue. Returns where the queue ends then.

    Args:
        step: the vertex from which this search came to each, -1 for none; `other`: that of the other one.
        found: where the vertex is written at which they meet; that ends the search.
    """
    for place in range(begin, end):
        v = np.uint64(queue[place])
        for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
            u = np.uint64(targets[k])
            if step[u] < 0:
                step[u] = v
                queue[end] = u
                end += _ONE
            if other[u] >= 0:
                found[0] = u
                return end
    return end


@team_kernel
def search_both_ways(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    in_offsets: Any,
    in_sources: Any,
    queues: Any,
    before: Any,
    after: Any,
    found: Any,
) -> None:
    """Breadth-first searches from a source and, against the arcs, from a target, the smaller frontier first.

    Args:
        queues: int32, shape (2, n): of each search, first its start.
        before, after: int32, shape (n,): -1, of the start of each search itself; then the vertex before each on the
            path from the source, and the vertex after each on the path to the target.
        found: int64, shape (1,): -1; then the vertex where they meet.
    """
    begin, end, begin_back, end_back = np.uint64(0), _ONE, np.uint64(0), _ONE
    while begin < end and begin_back < end_back:
        if end - begin <= end_back - begin_back:
            begin, end = end, _expand(queues[0], begin, end, offsets, targets, before, after, found)
        else:
            begin_back, end_back = (
                end_back,
                _expand(queues[1], begin_back, end_back, in_offsets, in_sources, after, before, found),
            )
        if found[0] >= 0 or cancelled(control):
            return


@team_kernel
def search_strong_components(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    first: Any,
    low: Any,
    path: Any,
    following: Any,
    waiting: Any,
    component: Any,
    found: Any,
) -> None:
    """Strong components, numbered in the order in which Tarjan's depth-first search completes them.

    Args:
        first: int32, shape (n,): 0; then the number of each vertex in the order of visits, from 1 on.
        low: int32, shape (n,): the lowest number that each vertex is known to reach.
        path, following: int32 and int64, shape (n,): the vertices of the path, and the next arc of each vertex.
        waiting: int32, shape (n,): the vertices whose component is not complete, in the order of visits.
        component: int32, shape (n,): -1; then the number of each vertex's component.
        found: int64, shape (1,): the number of components.
    """
    number, count, queued, length = np.int32(0), np.int32(0), np.uint64(0), np.uint64(0)
    for root in range(np.uint64(len(first))):
        if first[root] != 0:
            continue
        path[0], length = root, _ONE
        while length > 0:
            v = np.uint64(path[length - _ONE])
            if first[v] == 0:
                number += np.int32(1)
                first[v], low[v], following[v] = number, number, offsets[v]
                waiting[queued] = v
                queued += _ONE
                if number % _LOOK == 0 and cancelled(control):
                    return
            deeper = False
            for k in range(np.uint64(following[v]), np.uint64(offsets[v + _ONE])):
                u = np.uint64(targets[k])
                if first[u] == 0:
                    following[v], path[length], deeper = k, u, True
                    length += _ONE
                    break
                if component[u] == _OPEN:
                    low[v] = min(low[v], low[u])
            if deeper:
                continue
            length -= _ONE
            if low[v] == first[v]:
                while component[v] == _OPEN:
                    queued -= _ONE
                    component[np.uint64(waiting[queued])] = count
                count += np.int32(1)
    found[0] = count
