"""Expand a level of breadth-first search by pulling: each unreached vertex looks for a parent in the frontier."""

from typing import Any

import numpy as np

from edgewise.algorithms.bfs.cpu_state import LOW_SIX, NONE, ONE, SIX, degree, post
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.bits import lowest_bit
from edgewise.kernels.cpu.team import claim, team_kernel

#: Words of a bitmap, and vertices, handed out at a time.
_WORDS, _VERTICES = 64, 4096


@device_function
def make_bitmaps(thread: Any, size: Any, depth: Any, search: Any, row: Any) -> None:
    """Make the bitmaps of visited vertices and of the frontier from the levels."""
    level, n, words = search.level, len(search.level), len(search.visited)
    for word in range(words * thread // size, words * (thread + 1) // size):
        first = np.uint64(word * 64)
        visited, frontier = np.uint64(0), np.uint64(0)
        for bit in range(np.uint64(min(64, n - word * 64))):
            at = level[first + bit]
            visited |= np.uint64(at != NONE) << bit
            frontier |= np.uint64(at == np.uint32(depth)) << bit
        if first + np.uint64(64) > n:
            visited |= ~np.uint64(0) << np.uint64(n - word * 64)  # there are no vertices to look for a parent
        search.visited[word] = visited
        search.bitmaps[row, word] = frontier


@device_function
def make_queues(thread: Any, size: Any, arcs: Any, search: Any, row: Any) -> Any:
    """Make the queues of the frontier from its bitmap, a range for each thread. Returns the tail of this thread's."""
    queue, frontier = search.queues[thread], search.bitmaps[row]
    words, tail, edges = len(frontier), np.int64(0), np.int64(0)
    for word in range(words * thread // size, words * (thread + 1) // size):
        bits = frontier[word]
        while bits:
            v = np.uint64(word * 64) + lowest_bit(bits)
            bits &= bits - ONE
            queue[tail] = v
            tail += 1
            edges += degree(v, arcs.offsets)
    post(search.board[1 - row, thread], 0, tail, edges)
    return tail


@device_function
def pull(thread: Any, control: Any, depth: Any, arcs: Any, search: Any, row: Any) -> None:
    """Make the source of each unreached vertex's first in-edge from the frontier its parent, if there is one.

    Threads take ranges of whole words, so no two write the same word. The number of vertices found is posted as if
    they stood in a queue.
    """
    frontier, found, visited = search.bitmaps[row], search.bitmaps[1 - row], search.visited
    words, after = len(visited), np.uint32(depth + 1)
    count, edges = np.int64(0), np.int64(0)
    while True:
        start = claim(control, row, _WORDS, words)
        if start == words:
            break
        for word in range(np.uint64(start), np.uint64(min(start + _WORDS, words))):
            waiting, reached = ~visited[word], np.uint64(0)
            while waiting:
                bit = lowest_bit(waiting)
                waiting &= waiting - ONE
                v = (word << SIX) + bit
                for k in range(np.uint64(arcs.in_offsets[v]), np.uint64(arcs.in_offsets[v + ONE])):
                    u = np.uint64(arcs.in_sources[k])
                    if (frontier[u >> SIX] >> (u & LOW_SIX)) & ONE:
                        search.level[v] = after
                        search.parent[v] = u
                        reached |= ONE << bit
                        count += 1
                        edges += degree(v, arcs.offsets)
                        break
            found[word] = reached
            visited[word] |= reached
    post(search.board[1 - row, thread], 0, count, edges)


@device_function
def find_parents(control: Any, slot: Any, low: Any, high: Any, arcs: Any, search: Any) -> None:
    """Give each vertex from `low` to before `high` without a parent its parent: the source of its first in-edge from
    the level before."""
    level, parent, n = search.level, search.parent, high - low
    while True:
        start = claim(control, slot, _VERTICES, n)
        if start == n:
            break
        for v in range(np.uint64(low + start), np.uint64(low + min(start + _VERTICES, n))):
            if parent[v] == NONE and level[v] != NONE and level[v] != 0:
                before = np.uint32(level[v] - np.uint32(1))
                for k in range(np.uint64(arcs.in_offsets[v]), np.uint64(arcs.in_offsets[v + ONE])):
                    if level[arcs.in_sources[k]] == before:
                        parent[v] = arcs.in_sources[k]
                        break


@team_kernel
def first_parents(thread: Any, size: Any, control: Any, low: Any, high: Any, arcs: Any, search: Any) -> None:
    """`find_parents` by a launch of its own; `search` has `level` and `parent`."""
    find_parents(control, 0, low, high, arcs, search)
