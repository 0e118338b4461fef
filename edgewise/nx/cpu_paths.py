"""Shortest paths by one core in the order of NetworkX: vertices as its heaps give them, paths as it finds them."""

from typing import Any

import numpy as np

from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import cancelled, claim, team_kernel

#: Vertices between two looks at whether the run was cancelled.
_LOOK = 1 << 14
_ZERO, _ONE, _TWO, _FOUR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(4)
#: How `relax_in_turn` ends: all distances are known, a negative cycle was found, or its room for lists is too small.
DONE, NEGATIVE, TOO_SMALL = 0, 1, 2


@team_kernel
def order_by_distance(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    lengths: Any,
    distance: Any,
    group: Any,
    place: Any,
    order: Any,
    parent: Any,
    arc: Any,
) -> None:
    """The order in which Dijkstra's search takes vertices from its heap, of known distances.

    Equal distances are taken in the order in which they were put there. So each vertex, in its turn, appends those to
    which it gives their distance first to the group of vertices of that distance.

    Args:
        lengths, distance: of arcs and of vertices, of one dtype.
        group: int32, shape (n,): the place of each vertex's distance among the different ones; -1 if not reached.
        place: int64: of each group where its next vertex goes in `order`.
        order: int32, shape (reached,): the sources, and then all vertices that were reached.
        parent: int32, shape (n,): -1, of sources the source; then the vertex that gives each its distance first.
        arc: int64, shape (n,): the arc from it.
    """
    for i in range(np.uint64(len(order))):
        v = np.uint64(order[i])
        for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
            u = np.uint64(targets[k])
            if parent[u] < 0 and group[u] >= 0 and distance[v] + lengths[k] == distance[u]:
                g = np.uint64(group[u])
                order[np.uint64(place[g])] = u
                place[g] += 1
                parent[u], arc[u] = v, k
        if i % _LOOK == 0 and cancelled(control):
            return


@device_function
def _is_before(keys: Any, turns: Any, side: Any, a: Any, b: Any) -> Any:
    """Whether entry a of a heap leaves it before entry b."""
    if keys[side, a] != keys[side, b]:
        return keys[side, a] < keys[side, b]
    return turns[side, a] < turns[side, b]


@device_function
def _swap(keys: Any, turns: Any, vertices: Any, side: Any, a: Any, b: Any) -> None:
    keys[side, a], keys[side, b] = keys[side, b], keys[side, a]
    turns[side, a], turns[side, b] = turns[side, b], turns[side, a]
    vertices[side, a], vertices[side, b] = vertices[side, b], vertices[side, a]


@device_function
def _rise(keys: Any, turns: Any, vertices: Any, side: Any, entry: Any) -> None:
    """Bring a new last entry of a binary heap to its place."""
    while entry > 0:
        above = (entry - _ONE) >> _ONE
        if not _is_before(keys, turns, side, entry, above):
            break
        _swap(keys, turns, vertices, side, entry, above)
        entry = above


@device_function
def _sink(keys: Any, turns: Any, vertices: Any, side: Any, count: Any) -> None:
    """Bring a new first entry of a binary heap to its place."""
    entry = _ZERO
    while True:
        least: Any = entry
        first = (entry << _ONE) + _ONE
        for below in range(first, min(first + np.uint64(2), count)):
            if _is_before(keys, turns, side, below, least):
                least = below
        if least == entry:
            break
        _swap(keys, turns, vertices, side, entry, least)
        entry = least


@team_kernel
def search_both_ways_by_length(
    thread: Any,
    size: Any,
    control: Any,
    out_offsets: Any,
    out_targets: Any,
    out_lengths: Any,
    in_offsets: Any,
    in_sources: Any,
    in_lengths: Any,
    keys: Any,
    turns: Any,
    vertices: Any,
    seen: Any,
    step: Any,
    done: Any,
    meeting: Any,
    total: Any,
) -> None:
    """Dijkstra's searches from a source and, against the arcs, from a target, in turn.

    A vertex that waits several times is passed over later, but that is a turn, too.

    Args:
        out_offsets, out_targets, out_lengths: the rows of successors.
        in_offsets, in_sources, in_lengths: the rows of predecessors.
        keys, turns, vertices: shape (2, m + 1): the heaps of both searches, with their starts: distances, when each was
            put there (int64), vertices (int32).
        seen: shape (2, n): the least distance yet of each vertex from both starts.
        step: int32, shape (2, n): -1, of the starts themselves; then the next vertex on the path to each start.
        done: uint8, shape (2, n): 0; 1 if the distance of a vertex is final.
        meeting: int64, shape (1,): -1; then the vertex where the shortest path found meets.
        total: shape (1,): its length.
    """
    offsets, targets, lengths = (
        (out_offsets, in_offsets),
        (out_targets, in_sources),
        (out_lengths, in_lengths),
    )
    counts, turn, side = (_ONE, _ONE), np.int64(2), np.uint64(1)
    while counts[0] > 0 and counts[1] > 0:
        side = _ONE - side
        here, v, count = keys[side, 0], np.uint64(vertices[side, 0]), counts[side] - _ONE
        _swap(keys, turns, vertices, side, _ZERO, count)
        _sink(keys, turns, vertices, side, count)
        if not done[side, v]:
            done[side, v] = 1
            if done[_ONE - side, v]:
                return
            for k in range(np.uint64(offsets[side][v]), np.uint64(offsets[side][v + _ONE])):
                u = np.uint64(targets[side][k])
                found = here + lengths[side][k]
                if not done[side, u] and (step[side, u] < 0 or found < seen[side, u]):
                    seen[side, u], step[side, u] = found, v
                    keys[side, count], turns[side, count], vertices[side, count] = found, turn, u
                    _rise(keys, turns, vertices, side, count)
                    count += _ONE
                    turn += 1
                    if step[_ONE - side, u] >= 0:
                        both = found + seen[_ONE - side, u]
                        if meeting[0] < 0 or total[0] > both:
                            total[0], meeting[0] = both, u
        counts = (count, counts[1]) if side == 0 else (counts[0], count)
        if cancelled(control):
            return
    meeting[0] = -1


@device_function
def _put(heap: Any, entry: Any, v: Any, key: Any, turn: Any) -> None:
    keys, turns, vertices, place = heap
    keys[entry], turns[entry], vertices[entry], place[v] = key, turn, v, entry


@device_function
def _put_or_above(heap: Any, entry: Any, v: Any, key: Any, turn: Any) -> None:
    """Put a vertex, whose turn is the latest, at an entry or above it, past entries that are farther away."""
    keys, turns, vertices, _ = heap
    while entry > 0:
        above = (entry - _ONE) >> _TWO
        if keys[above] <= key:
            break
        _put(heap, entry, np.uint64(vertices[above]), keys[above], turns[above])
        entry = above
    _put(heap, entry, v, key, turn)


@device_function
def _put_or_below(heap: Any, count: Any, v: Any, key: Any, turn: Any) -> None:
    """Put a vertex at the first entry or below it, past entries that leave the heap before it."""
    keys, turns, vertices, _ = heap
    entry = _ZERO
    while True:
        first = (entry << _TWO) + _ONE
        if first >= count:
            break
        next_one: Any = first
        for other in range(first + _ONE, min(first + _FOUR, count)):
            if keys[other] < keys[next_one] or (
                keys[other] == keys[next_one] and turns[other] < turns[next_one]
            ):
                next_one = other
        if key < keys[next_one] or (key == keys[next_one] and turn < turns[next_one]):
            break
        _put(heap, entry, np.uint64(vertices[next_one]), keys[next_one], turns[next_one])
        entry = next_one
    _put(heap, entry, v, key, turn)


@team_kernel
def search_each_by_length(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    lengths: Any,
    sources: Any,
    target: Any,
    most: Any,
    keys: Any,
    turns: Any,
    vertices: Any,
    places: Any,
    distances: Any,
    orders: Any,
    parents: Any,
    arcs: Any,
    reached: Any,
) -> None:
    """Dijkstra's search from each of k sources, each by one of t threads.

    A vertex waits once: where its distance falls, it rises in the heap and has a new turn, as if it were put there
    again. NetworkX passes over what it had put there before.

    Args:
        lengths: at least 0.
        sources: int64, shape (k,).
        target: a vertex at which each search ends, or -1.
        most: after so many arcs a search is given up.
        keys, turns, vertices, places: shape (t, n): a heap for each thread, of four children: distances, when each was
            put there (int64), vertices (int32), and the entry of each vertex that waits (uint32).
        distances: shape (k, n): of each vertex from each source, if it was reached.
        orders: int32, shape (k, n): the vertices that were reached, as they are taken from the heap.
        parents: int32, shape (k, n): -1, of sources the source; then the vertex that gives each its distance first.
        arcs: int64, shape (k, n): the arc from it; of sources -1.
        reached: int64, shape (k,): how many vertices were; 0 if the search was given up.
    """
    if thread >= len(keys):
        return
    heap = keys[thread], turns[thread], vertices[thread], places[thread]
    while True:
        i = claim(control, 0, 1, len(sources))
        if i == len(sources):
            return
        distance, order, parent, arc = distances[i], orders[i], parents[i], arcs[i]
        source, count, turn, number, looked = np.uint64(sources[i]), _ONE, np.int64(1), _ZERO, np.int64(0)
        _put(heap, _ZERO, source, distance.dtype.type(0), np.int64(0))
        distance[source], parent[source], arc[source] = 0, source, -1
        while count > 0:
            here, v, count = heap[0][0], np.uint64(heap[2][0]), count - _ONE
            if count > 0:
                _put_or_below(heap, count, np.uint64(heap[2][count]), heap[0][count], heap[1][count])
            if number % np.uint64(_LOOK) == 0 and cancelled(control):
                return
            order[number] = v
            number += _ONE
            if np.int64(v) == target:
                break
            looked += np.int64(offsets[v + _ONE]) - np.int64(offsets[v])
            if looked > most:
                number = _ZERO
                break
            for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
                u = np.uint64(targets[k])
                found = here + lengths[k]
                if parent[u] < 0:
                    _put_or_above(heap, count, u, found, turn)
                    count += _ONE
                elif found < distance[u]:
                    _put_or_above(heap, np.uint64(heap[3][u]), u, found, turn)
                else:
                    continue
                distance[u], parent[u], arc[u] = found, v, k
                turn += 1
        reached[i] = number


@device_function
def _none_waits(u: Any, first: Any, before: Any, following: Any, waits: Any) -> Any:
    """Whether no vertex of a list waits."""
    entry = first[u]
    while entry >= 0:
        if waits[np.uint64(before[np.uint64(entry)])]:
            return False
        entry = following[np.uint64(entry)]
    return True


@team_kernel
def relax_in_turn(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    lengths: Any,
    distance: Any,
    order: Any,
    parent: Any,
    arc: Any,
    queue: Any,
    waits: Any,
    times: Any,
    first: Any,
    last: Any,
    before: Any,
    following: Any,
    found: Any,
) -> None:
    """Bellman and Ford's distances from a source by a queue, where a vertex is passed over while one before it waits.

    Args:
        distance: shape (n,): 0 at the source.
        order: int32, shape (n,): the source, and then the vertices as they are first reached.
        parent, arc: int32 and int64, shape (n,): -1, of the source the source; then the vertex and the arc that gave
            each its distance first.
        queue: int32, shape (n,): the source, in a ring.
        waits: uint8, shape (n,): 1 for the source, which waits.
        times: int64, shape (n,): 0; how often each came into the queue.
        first, last: int64, shape (n,): -1; the list of vertices that give each vertex its distance, in entries of
        before, following: int32 and int64: such a vertex, and the next entry or -1.
        found: int64, shape (2,): how it ends (`DONE` and the others), and the number of vertices reached.
    """
    n, head, waiting, used, reached = np.uint64(len(order)), _ZERO, _ONE, _ZERO, _ONE
    while waiting > 0:
        v = np.uint64(queue[head])
        head, waiting = (head + _ONE) % n, waiting - _ONE
        waits[v] = 0
        if not _none_waits(v, first, before, following, waits):
            continue
        if cancelled(control):
            return
        for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
            u = np.uint64(targets[k])
            new = distance[v] + lengths[k]
            nearer = parent[u] < 0 or new < distance[u]
            if not nearer and new != distance[u]:
                continue
            if used == len(before):
                found[0] = TOO_SMALL
                return
            before[used], following[used] = v, -1
            if nearer:
                if not waits[u]:
                    queue[(head + waiting) % n] = u
                    waiting, waits[u], times[u] = waiting + _ONE, 1, times[u] + 1
                    if times[u] == n:
                        found[0] = NEGATIVE
                        return
                if parent[u] < 0:
                    order[reached] = u
                    reached += _ONE
                distance[u], parent[u], arc[u], first[u] = new, v, k, used
            elif first[u] < 0:
                first[u] = used
            else:
                following[np.uint64(last[u])] = used
            last[u] = used
            used += _ONE
    found[0], found[1] = DONE, reached
