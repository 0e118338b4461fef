"""Breadth-first searches from many vertices at once on the CPU: a bit for each search, `LANES` of them a thread.

Each vertex has a few words of bits: which searches have seen it, which visit it at this level, and which will at the
next. One look at an arc takes all searches along it that visit its end. A level is pushed along the arcs of the
vertices that are visited, or, if these are many, pulled: each vertex looks at those before it until every search that
still goes on has seen it.

For each search the vertices of a level are counted: bits are added up in bytes, eight to a word, for up to 255
vertices, and then as integers. Numbers of vertices, sums of distances, and sums of reciprocals follow from these
counts, level by level, so they do not depend on which searches go together, or on which thread.

Searches that begin near each other visit vertices at nearly the same levels, so those go together.

Reference. Then, Kaufmann, Chirigati, Hoang-Vu, Pham, Kemper, Neumann and Vo, "The More the Merrier: Efficient
Multi-Source Graph Traversal", PVLDB 8(4), 2014.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cache import device_function, inlined_function
from edgewise.kernels.cpu.team import cancelled, claim, report, team_kernel

#: Words of bits for each vertex: a vector register of 256 bits; and the searches that they have room for.
WORDS = 4
LANES = 64 * WORDS
#: The arcs of the visited vertices, times this, from which on a level is pulled if there are fewer in all.
_PULL = 3
#: How often bytes may count before one overflows.
_MOST_ADDED = 255
_BYTES = np.uint64(0x0101010101010101)
_NO_BITS, _ONE = np.uint64(0), np.uint64(1)


class Searches(NamedTuple):
    """The state of t threads, n vertices.

    Attributes:
        seen, visits, after: uint64, shape (t, n, WORDS): the searches that have seen a vertex, that visit it at this
            level, and at the next.
        queue, found: uint32, shape (t, n): the vertices that are visited at this level, and at the next.
        goes_on: uint64, shape (t, WORDS): the searches that found a vertex at this level.
        word: uint64, shape (t, WORDS): those of one vertex.
        added: uint64, shape (t, 8, WORDS): bits as bytes: byte i of ``added[b, w]`` counts bit ``8 * i + b``.
        counted: int64, shape (t, LANES): the vertices that each search found at this level.
    """

    seen: np.ndarray
    visits: np.ndarray
    after: np.ndarray
    queue: np.ndarray
    found: np.ndarray
    goes_on: np.ndarray
    word: np.ndarray
    added: np.ndarray
    counted: np.ndarray


def searches_bytes(num_vertices: int) -> int:
    """The memory of one thread."""
    return num_vertices * (3 * 8 * WORDS + 2 * 4) + 8 * (10 * WORDS + LANES)


def make_searches(num_vertices: int, threads: int) -> Searches:
    """The state of threads before their first searches."""
    seen, visits, after = (np.empty((threads, num_vertices, WORDS), np.uint64) for _ in range(3))
    queue, found = (np.empty((threads, num_vertices), np.uint32) for _ in range(2))
    goes_on, word = (np.empty((threads, WORDS), np.uint64) for _ in range(2))
    added, counted = np.zeros((threads, 8, WORDS), np.uint64), np.zeros((threads, LANES), np.int64)
    return Searches(seen, visits, after, queue, found, goes_on, word, added, counted)


@device_function
def _add_up(added: Any, counted: Any) -> None:
    """Add the counts in bytes to those in integers, and set them to 0."""
    for b in range(8):
        for w in range(WORDS):
            bytes_of_word = added[b, w]
            for i in range(8):
                counted[64 * w + 8 * i + b] += np.int64((bytes_of_word >> np.uint64(8 * i)) & np.uint64(255))
            added[b, w] = _NO_BITS


@inlined_function
def _begin(arcs: Any, sources: Any, first: Any, count: Any, state: Any, t: Any) -> Any:
    """Visit the sources. Returns the number of visited vertices and of their arcs."""
    seen, visits, queue, goes_on = state.seen[t], state.visits[t], state.queue[t], state.goes_on[t]
    seen[:] = _NO_BITS
    visits[:] = _NO_BITS
    state.after[t][:] = _NO_BITS
    goes_on[:] = _NO_BITS
    size, width = np.uint64(0), np.uint64(0)
    for i in range(count):
        s, w, bit = np.uint64(sources[first + i]), i >> 6, _ONE << np.uint64(i & 63)
        seen[s, w] = visits[s, w] = bit | seen[s, w]
        goes_on[w] |= bit
        queue[size] = s
        size += _ONE
        width += np.uint64(arcs.offsets[s + _ONE]) - np.uint64(arcs.offsets[s])
    return size, width


@inlined_function
def _push(arcs: Any, size: Any, state: Any, t: Any) -> Any:
    """Take searches along the arcs of the visited vertices. Returns the number of vertices that are found."""
    seen, visits, after, found, number = (
        state.seen[t],
        state.visits[t],
        state.after[t],
        state.found[t],
        size - size,
    )
    for i in range(size):
        v = np.uint64(state.queue[t, i])
        for k in range(np.uint64(arcs.offsets[v]), np.uint64(arcs.offsets[v + _ONE])):
            u = np.uint64(arcs.targets[k])
            new, before = _NO_BITS, _NO_BITS
            for w in range(WORDS):
                come, there = visits[v, w] & ~seen[u, w], after[u, w]
                new |= come
                before |= there
                after[u, w] = there | come
            if new != _NO_BITS and before == _NO_BITS:
                found[number] = u
                number += _ONE
    return number


@inlined_function
def _pull(arcs: Any, state: Any, t: Any) -> Any:
    """Have each vertex look for searches at the vertices before it. Returns the number of vertices that are found."""
    seen, visits, after, found = state.seen[t], state.visits[t], state.after[t], state.found[t]
    goes_on, word, number = state.goes_on[t], state.word[t], np.uint64(0)
    for v in range(np.uint64(len(found))):
        missing = _NO_BITS
        for w in range(WORDS):
            word[w] = seen[v, w]
            missing |= goes_on[w] & ~word[w]
        if missing == _NO_BITS:
            continue
        for k in range(np.uint64(arcs.in_offsets[v]), np.uint64(arcs.in_offsets[v + _ONE])):
            u, missing = np.uint64(arcs.in_sources[k]), _NO_BITS
            for w in range(WORDS):
                word[w] |= visits[u, w]
                missing |= goes_on[w] & ~word[w]
            if missing == _NO_BITS:
                break
        new = _NO_BITS
        for w in range(WORDS):
            after[v, w] = word[w] & ~seen[v, w]
            new |= after[v, w]
        if new != _NO_BITS:
            found[number] = v
            number += _ONE
    return number


@inlined_function
def _turn_to_found(arcs: Any, size: Any, number: Any, state: Any, t: Any) -> Any:
    """Visit the vertices that are found in place of the others, and count them. Returns the number of their arcs."""
    seen, visits, after, queue = state.seen[t], state.visits[t], state.after[t], state.queue[t]
    word, added, width, adds = state.word[t], state.added[t], np.uint64(0), 0
    for i in range(size):
        for w in range(WORDS):
            visits[queue[i], w] = _NO_BITS
    for i in range(number):
        v = np.uint64(state.found[t, i])
        queue[i] = v
        width += np.uint64(arcs.offsets[v + _ONE]) - np.uint64(arcs.offsets[v])
        for w in range(WORDS):
            word[w] = after[v, w]
            seen[v, w] |= word[w]
            visits[v, w] = word[w]
            after[v, w] = _NO_BITS
        for b in range(8):
            for w in range(WORDS):
                added[b, w] += (word[w] >> np.uint64(b)) & _BYTES
        adds += 1
        if adds == _MOST_ADDED:
            _add_up(added, state.counted[t])
            adds = 0
    _add_up(added, state.counted[t])
    return width


@inlined_function
def _note(first: Any, count: Any, level: Any, state: Any, t: Any, out: Any) -> None:
    """Add the vertices of a level to what is found; a search that found none has ended."""
    for i in range(count):
        number = state.counted[t, i]
        state.counted[t, i] = 0
        if number == 0:
            state.goes_on[t, i >> 6] &= ~(_ONE << np.uint64(i & 63))
        else:
            out.reached[first + i] += number
            out.total[first + i] += number * level
            out.reciprocals[first + i] += number / level
            out.farthest[first + i] = level


@team_kernel
def search_all(
    thread: Any,
    size: Any,
    control: Any,
    arcs: Any,
    sources: Any,
    lanes: Any,
    state: Any,
    out: Any,
) -> None:
    """Search from all sources, `lanes` at a time; threads beyond those that the state is for do nothing.

    Args:
        arcs: the arcs that searches go along, both ways: see `bfs.cpu.ArcsBothWays`.
        sources: int64, shape (k,), all different.
        lanes: at most `LANES`.
        state: see `Searches`.
        out: see `job.Found`; zeros.
    """
    if thread >= len(state.seen):
        return
    while True:
        first = claim(control, 0, lanes, len(sources))
        if first == len(sources):
            return
        if thread == 0:
            report(control, first)
        count, level = min(lanes, len(sources) - first), 0
        visited, width = _begin(arcs, sources, first, count, state, thread)
        while visited > 0 and not cancelled(control):
            level += 1
            if width * np.uint64(_PULL) > np.uint64(len(arcs.targets)):
                number = _pull(arcs, state, thread)
            else:
                number = _push(arcs, visited, state, thread)
            width = _turn_to_found(arcs, visited, number, state, thread)
            _note(first, count, level, state, thread, out)
            visited = number


@team_kernel
def order_by_groups(
    thread: Any, size: Any, control: Any, arcs: Any, lanes: Any, is_listed: Any, order: Any
) -> None:
    """List all vertices so that each `lanes` of them in turn are near each other, by one thread: groups grow
    breadth-first.

    Args:
        arcs: as for `search_all`.
        lanes: the size of a group.
        is_listed: bool, shape (n,), False.
        order: int64, shape (n,).
    """
    listed, next_seed, n = 0, 0, len(order)
    while listed < n:
        end, head = min(listed + lanes, n), listed
        while listed < end:
            if head == listed:
                while is_listed[next_seed]:
                    next_seed += 1
                order[listed], is_listed[next_seed] = next_seed, True
                listed += 1
            v = np.uint64(order[head])
            head += 1
            for k in range(np.uint64(arcs.offsets[v]), np.uint64(arcs.offsets[v + _ONE])):
                u = np.uint64(arcs.targets[k])
                if not is_listed[u] and listed < end:
                    order[listed], is_listed[u] = u, True
                    listed += 1
