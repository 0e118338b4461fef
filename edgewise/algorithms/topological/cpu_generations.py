"""The taking of vertices on the CPU, generation by generation.

`waiting` holds how many arcs into each vertex are left. Threads lower it by atomic additions: the one that lowers it to
0 puts the vertex into the queue, so each is there once. A generation is a part of the queue, in any order.

Generations of few vertices are carried out by one thread while the others wait: a barrier takes longer.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add
from edgewise.kernels.cpu.team import barrier, cancelled, claim, report, rewind, team_kernel
from edgewise.kernels.words import CPU_LINE, Allocator

#: Vertices handed out at a time: of all, and of a generation.
_PIECE, _WAVE = 1024, 64
#: The most vertices of a generation that one thread takes by itself.
_FEW = 256
#: Vertices that each thread keeps before it puts them into the queue.
OWN = 64
#: Vertices that one thread takes between two looks at whether the run was cancelled.
_LOOK = 1024
#: Words of the state: the end of the queue, on a line of its own; where a generation begins and ends that is for all
#: threads, how many generations there are, and whether one is for all.
_WORDS = Allocator(0, CPU_LINE)
TAIL = _WORDS.take_line()
HEAD, END, GENERATIONS, FOR_ALL = (_WORDS.take() for _ in range(4))
WORDS = _WORDS.lines_size

_ONE = np.uint64(1)


class Taking(NamedTuple):
    """The state of t threads on n vertices.

    Attributes:
        waiting: int32, shape (n,): the arcs into each vertex that are left.
        generation: int32, shape (n,): -1 until it is known.
        queue: uint32, shape (n,): the vertices that are taken, by generation.
        own: uint32, shape (t, OWN): vertices that a thread has found.
        words: int64, see `WORDS`.
    """

    waiting: np.ndarray
    generation: np.ndarray
    queue: np.ndarray
    own: np.ndarray
    words: np.ndarray


def make_taking(in_degree: np.ndarray, num_threads: int) -> Taking:
    """A state for `find_generations`."""
    n = len(in_degree)
    own, words = np.empty((num_threads, OWN), np.uint32), np.zeros(WORDS, np.int64)
    return Taking(in_degree.astype(np.int32), np.full(n, -1, np.int32), np.empty(n, np.uint32), own, words)


def taking_bytes(num_vertices: int, num_threads: int) -> int:
    """The memory of a state."""
    return 12 * num_vertices + 4 * OWN * num_threads + 8 * WORDS


@device_function
def _keep(v: Any, number: Any, count: Any, thread: Any, state: Any) -> Any:
    """Note the generation of a vertex, and keep the vertex. How many this thread keeps."""
    own = state.own[thread]
    state.generation[v] = number
    if count == OWN:
        count = _put(count, thread, state)
    own[count] = v
    return count + 1


@device_function
def _put(count: Any, thread: Any, state: Any) -> Any:
    """Put what this thread keeps into the queue. How many it keeps: none."""
    tail = atomic_add(state.words, TAIL, count)
    for i in range(count):
        state.queue[tail + i] = state.own[thread, i]
    return np.int64(0)


@device_function
def _begin(thread: Any, control: Any, state: Any) -> None:
    """The first generation: vertices that wait for none."""
    n, count = len(state.waiting), np.int64(0)
    while True:
        start = claim(control, 0, _PIECE, n)
        if start == n:
            break
        for v in range(start, min(start + _PIECE, n)):
            if state.waiting[v] == 0:
                count = _keep(v, 0, count, thread, state)
    _put(count, thread, state)


@device_function
def _lead(control: Any, size: Any, offsets: Any, targets: Any, state: Any) -> Any:
    """Take the vertices of small generations by one thread. Whether a generation is left, which is for all."""
    words, queue, waiting = state.words, state.queue, state.waiting
    head, end = words[END], words[TAIL]
    while head < end and not cancelled(control):
        words[GENERATIONS] += 1
        report(control, words[GENERATIONS])
        if size > 1 and end - head > _FEW:
            words[HEAD], words[END] = head, end
            return 1
        tail = end
        for i in range(head, end):
            if i % _LOOK == 0 and cancelled(control):
                return 0
            v = np.uint64(queue[i])
            for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
                u = np.uint64(targets[k])
                waiting[u] -= np.int32(1)
                if waiting[u] == 0:
                    state.generation[u] = words[GENERATIONS]
                    queue[tail] = u
                    tail += 1
        head, end = end, tail
        words[TAIL] = tail
    return 0


@device_function
def _take(thread: Any, control: Any, offsets: Any, targets: Any, state: Any) -> None:
    """Take the vertices of a generation by all threads."""
    words, count = state.words, np.int64(0)
    head, length, number = words[HEAD], words[END] - words[HEAD], words[GENERATIONS]
    while True:
        start = claim(control, 0, _WAVE, length)
        if start == length:
            break
        for i in range(start, min(start + _WAVE, length)):
            v = np.uint64(state.queue[head + i])
            for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
                u = np.uint64(targets[k])
                if atomic_add(state.waiting, u, np.int32(-1)) == 1:
                    count = _keep(u, number, count, thread, state)
    _put(count, thread, state)


@team_kernel
def find_generations(thread: Any, size: Any, control: Any, offsets: Any, targets: Any, state: Any) -> None:
    """Find the generation of each vertex.

    Args:
        offsets, targets: the rows, unsigned.
        state: from `make_taking`, for at least `size` threads.
    """
    _begin(thread, control, state)
    if barrier(control, size):
        return
    while True:
        if thread == 0:
            rewind(control, 0)
            state.words[FOR_ALL] = _lead(control, size, offsets, targets, state)
        if barrier(control, size) or state.words[FOR_ALL] == 0:
            return
        _take(thread, control, offsets, targets, state)
        if barrier(control, size):
            return
