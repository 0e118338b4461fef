"""The peeling of core numbers on the CPU: levels, and in each level waves of vertices that are taken away.

On level k all vertices with k edges left are taken away, which may leave others with k edges; these go, too. A list of
the vertices that are left is scanned once on each level that takes one away, and once more to skip levels that take
none; whoever is gone leaves the list. So all scans together look at a vertex about twice for each level up to its core
number, which is at most its degree: they take O(n + m).

`core` holds the edges that each vertex has left. Threads lower it by atomic additions: the one that lowers it to k
takes the vertex, and those that would lower it further add again what they took, so that k stays, the core number.

Levels with few vertices are carried out by one thread while the others wait: a barrier takes longer. A thread takes
away vertices that it has found by itself as long as there are few, the rest goes into a queue for all.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add, atomic_min
from edgewise.kernels.cpu.team import barrier, cancelled, claim, report, rewind, team_kernel
from edgewise.kernels.words import CPU_LINE, Allocator

#: Vertices handed out at a time: of a list, and of the queue.
_PIECE, _WAVE = 1024, 16
#: The most vertices of a wave, and of the list, that one thread takes by itself.
_FEW, _SHORT = 256, 16384
#: Vertices that each thread keeps for itself.
OWN = 64
#: Vertices that one thread takes between two looks at whether the run was cancelled.
_LOOK = 1024
_LARGEST = np.iinfo(np.int32).max
#: Words of the state. Lines of their own: the end of the queue; how many vertices a scan has kept; the least degree
#: among these. Then what one thread says to all: where a wave begins and ends, where the queue ended before the level,
#: the length and the side of the list, the level, the number of levels that took vertices, and what comes next.
_WORDS = Allocator(0, CPU_LINE)
TAIL, KEPT, LEAST, HEAD = (_WORDS.take_line() for _ in range(4))
END, BEGAN, LEFT, SIDE, LEVEL, LEVELS, NEXT = (_WORDS.take() for _ in range(7))
WORDS = _WORDS.lines_size
#: What comes next.
_DONE, _SCAN, _TAKE = range(3)

_ONE = np.uint64(1)


class Edges(NamedTuple):
    """The ends of edges at each vertex: out-edges, and the in-edges of a directed graph, both unsigned.

    Attributes:
        offsets, targets: the rows.
        in_offsets, in_sources: the in-edges of a directed graph; else empty.
    """

    offsets: np.ndarray
    targets: np.ndarray
    in_offsets: np.ndarray
    in_sources: np.ndarray


class Peeling(NamedTuple):
    """The state of t threads on n vertices.

    Attributes:
        core: int32, shape (n,): the edges left; at last the core numbers.
        queue: uint32, shape (n + 1,): vertices that are to be taken away.
        left: uint32, shape (2, n): a list of the vertices that are left, and room for the next one.
        own: uint32, shape (t, OWN): vertices that a thread takes away itself.
        words: int64, see `WORDS`.
    """

    core: np.ndarray
    queue: np.ndarray
    left: np.ndarray
    own: np.ndarray
    words: np.ndarray


def make_peeling(num_vertices: int, num_threads: int) -> Peeling:
    """A state for `peel`."""
    n, words = num_vertices, np.zeros(WORDS, np.int64)
    words[LEAST] = _LARGEST
    own = np.empty((num_threads, OWN), np.uint32)
    return Peeling(np.empty(n, np.int32), np.empty(n + 1, np.uint32), np.empty((2, n), np.uint32), own, words)


def peeling_bytes(num_vertices: int, num_threads: int) -> int:
    """The memory of a state."""
    return 16 * num_vertices + 4 + 4 * OWN * num_threads + 8 * WORDS


@device_function
def _count(control: Any, edges: Any, directed: Any, loops: Any, state: Any) -> None:
    """Count the edges of each vertex to others, and list all vertices."""
    n, least = len(state.core), np.int64(_LARGEST)
    while True:
        start = claim(control, 0, _PIECE, n)
        if start == n:
            break
        for v in range(np.uint64(start), np.uint64(min(start + _PIECE, n))):
            first, end = np.uint64(edges.offsets[v]), np.uint64(edges.offsets[v + _ONE])
            degree = np.int64(end - first)
            if loops:
                for k in range(first, end):
                    degree -= np.int64(edges.targets[k] == v) << np.int64(directed)
            if directed:
                degree += np.int64(edges.in_offsets[v + _ONE]) - np.int64(edges.in_offsets[v])
            state.core[v] = degree
            state.left[0, v] = v
            least = min(least, degree)
    atomic_min(state.words, LEAST, least)


@device_function
def _lower_alone(offsets: Any, targets: Any, v: Any, level: Any, core: Any, queue: Any, tail: Any) -> Any:
    """Take a vertex away from its neighbours, if no other thread does so. The end of the queue."""
    for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
        u = np.uint64(targets[k])
        degree = core[u]
        if degree > level:
            core[u] = degree - np.int32(1)
            queue[tail] = u
            tail += np.int64(degree == level + 1)
    return tail


@device_function
def _scan_alone(state: Any) -> None:
    """Put the vertices of this level into the queue, and keep those of higher degrees in the list."""
    core, queue, words = state.core, state.queue, state.words
    left, level = state.left[words[SIDE]], words[LEVEL]
    kept, tail, least = np.int64(0), words[TAIL], np.int64(_LARGEST)
    for i in range(words[LEFT]):
        v = left[i]
        degree = np.int64(core[v])
        if degree > level:
            left[kept] = v
            kept += 1
            least = min(least, degree)
        elif degree == level:
            queue[tail] = v
            tail += 1
    words[LEFT], words[TAIL], words[LEAST] = kept, tail, least


@device_function
def _take_alone(control: Any, size: Any, edges: Any, directed: Any, state: Any) -> Any:
    """Take away the vertices of the queue; True if it got too long for one thread of several."""
    words, queue, core = state.words, state.queue, state.core
    head, tail, level, looked = words[END], words[TAIL], words[LEVEL], 0
    while head < tail:
        looked += 1
        if (size > 1 and tail - head > _FEW) or (looked % _LOOK == 0 and cancelled(control)):
            break
        v = np.uint64(queue[head])
        head += 1
        tail = _lower_alone(edges.offsets, edges.targets, v, level, core, queue, tail)
        if directed:
            tail = _lower_alone(edges.in_offsets, edges.in_sources, v, level, core, queue, tail)
    words[END], words[TAIL] = head, tail
    return head < tail


@device_function
def _lead(control: Any, size: Any, edges: Any, directed: Any, state: Any) -> Any:
    """Carry out by one thread what is too little for several, and say what comes next."""
    words = state.words
    if words[NEXT] == _SCAN:
        words[LEFT], words[SIDE] = words[KEPT], 1 - words[SIDE]
    while not cancelled(control):
        if _take_alone(control, size, edges, directed, state):
            words[HEAD], words[END] = words[END], words[TAIL]
            return _TAKE
        if words[TAIL] > words[BEGAN]:
            words[LEVEL] += 1
            words[LEVELS] += 1
            report(control, words[LEVELS])
        else:  # the scan found none, so no degree has changed since
            words[LEVEL] = words[LEAST]
        if words[LEFT] == 0:
            return _DONE
        words[BEGAN] = words[TAIL]
        if size > 1 and words[LEFT] > _SHORT:
            words[KEPT], words[LEAST] = 0, _LARGEST
            return _SCAN
        _scan_alone(state)
    return _DONE


@device_function
def _scan(control: Any, state: Any) -> None:
    """The work of `_scan_alone`, by all threads; those of higher degrees go into the other list."""
    core, queue, words = state.core, state.queue, state.words
    left, other = state.left[words[SIDE]], state.left[1 - words[SIDE]]
    level, length, least = words[LEVEL], words[LEFT], np.int64(_LARGEST)
    while True:
        start = claim(control, 0, _PIECE, length)
        if start == length:
            break
        end, above, found = min(start + _PIECE, length), np.int64(0), np.int64(0)
        for i in range(start, end):
            degree = np.int64(core[left[i]])
            above += np.int64(degree > level)
            found += np.int64(degree == level)
        kept, tail = atomic_add(words, KEPT, above), atomic_add(words, TAIL, found)
        for i in range(start, end):
            v = left[i]
            degree = np.int64(core[v])
            if degree > level:
                other[kept] = v
                kept += 1
                least = min(least, degree)
            elif degree == level:
                queue[tail] = v
                tail += 1
    atomic_min(words, LEAST, least)


@device_function
def _lower(offsets: Any, targets: Any, v: Any, level: Any, thread: Any, count: Any, state: Any) -> Any:
    """Take a vertex away from its neighbours. How many vertices this thread keeps for itself."""
    core, own = state.core, state.own[thread]
    for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
        u = np.uint64(targets[k])
        if core[u] > level:
            before = np.int64(atomic_add(core, u, np.int32(-1)))
            if before <= level:
                atomic_add(core, u, np.int32(1))
            elif before == level + 1:
                if count == OWN:
                    tail = atomic_add(state.words, TAIL, OWN)
                    for i in range(OWN):
                        state.queue[tail + i] = own[i]
                    count = 0
                own[count] = u
                count += 1
    return count


@device_function
def _take(thread: Any, control: Any, edges: Any, directed: Any, state: Any) -> None:
    """Take away the vertices of a wave, and those that follow, as far as this thread keeps them for itself."""
    words, own, count = state.words, state.own[thread], np.int64(0)
    head, level = words[HEAD], words[LEVEL]
    length = words[END] - head
    while True:
        start = claim(control, 0, _WAVE, length)
        if start == length:
            return
        i, end = start, min(start + _WAVE, length)
        while i < end or count > 0:
            if count > 0:
                count -= 1
                v = np.uint64(own[count])
            else:
                v = np.uint64(state.queue[head + i])
                i += 1
            count = _lower(edges.offsets, edges.targets, v, level, thread, count, state)
            if directed:
                count = _lower(edges.in_offsets, edges.in_sources, v, level, thread, count, state)


@team_kernel
def peel(thread: Any, size: Any, control: Any, edges: Any, directed: Any, loops: Any, state: Any) -> None:
    """Find the core number of each vertex.

    Args:
        edges: see `Edges`; there is at least one vertex.
        directed: whether there are in-edges beside out-edges.
        loops: whether there may be loops.
        state: from `make_peeling`, for at least `size` threads.
    """
    words = state.words
    _count(control, edges, directed, loops, state)
    if barrier(control, size):
        return
    if thread == 0:
        words[LEFT] = len(state.core)
    while True:
        if thread == 0:
            rewind(control, 0)
            words[NEXT] = _lead(control, size, edges, directed, state)
        if barrier(control, size) or words[NEXT] == _DONE:
            return
        if words[NEXT] == _SCAN:
            _scan(control, state)
        else:
            _take(thread, control, edges, directed, state)
        if barrier(control, size):
            return
