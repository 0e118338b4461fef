"""Expand a level of breadth-first search by pushing: each vertex of the frontier looks at its targets."""

from typing import Any

import numpy as np

from edgewise.algorithms._bfs_state import (
    BEGIN,
    DEPTH,
    EDGES,
    END,
    EXPLORED,
    NEXT,
    NONE,
    ONE,
    REACHED,
    degree,
    inlined,
    post,
    post_totals,
)
from edgewise.kernels.atomics import atomic_add, atomic_load, compare_and_swap
from edgewise.kernels.cache import device_function
from edgewise.kernels.team import cancelled, report

#: Vertices of a queue handed out at a time.
_PIECE = 64
#: Frontiers of fewer vertices and edges are expanded by thread 0 alone: two barriers would cost as much.
ALONE = 1000
#: A level that no vertex has.
_NO_LEVEL = np.uint32(NONE - np.uint32(1))


@inlined
def _expand_directed(u: Any, depth: Any, alone: Any, arcs: Any, search: Any, queue: Any, tail: Any) -> Any:
    """Queue the new targets of u, and offer u as a parent to all targets in the next level; the new tail.

    The lowest offer wins, which is the first in-edge from the level before, as in pulling. The first offer, of
    which there is only one, also queues the target.
    """
    level, parent, offer = search.level, search.parent, np.uint32(u)
    for k in range(np.uint64(arcs.offsets[u]), np.uint64(arcs.offsets[u + ONE])):
        v = np.uint64(arcs.targets[k])
        if level[v] >= depth:
            best = parent[v]
            if alone:
                parent[v] = min(best, offer)
            else:
                while offer < best and not compare_and_swap(parent, v, best, offer):
                    best = atomic_load(parent, v)
            if best == NONE:
                level[v] = depth
                queue[tail] = v
                tail += 1
    return tail


@inlined
def _expand_undirected(u: Any, depth: Any, arcs: Any, search: Any, queue: Any, tail: Any) -> Any:
    """Queue the new neighbours of u, and give u its parent: the first neighbour in the level before.

    Whether a neighbour is new cannot be predicted on road networks, so no branch depends on it. Threads that find
    the same vertex at the same moment write the same level; both queue it, which costs time and changes nothing.
    """
    level, parent = search.level, NONE
    before = np.uint32(depth - np.uint32(2)) if depth > np.uint32(1) else _NO_LEVEL
    first, k = np.uint64(arcs.offsets[u]), np.uint64(arcs.offsets[u + ONE])
    while k > first:
        k -= ONE
        v = arcs.targets[k]
        seen = level[v]
        queue[tail] = v
        tail += np.int64(seen == NONE)
        level[v] = min(seen, depth)
        parent = v if seen == before else parent
    search.parent[u] = parent
    return tail


@inlined
def _expand(
    queue: Any,
    begin: Any,
    end: Any,
    depth: Any,
    alone: Any,
    directed: Any,
    arcs: Any,
    search: Any,
    mine: Any,
    tail: Any,
) -> Any:
    """Expand a part of a queue into another one; the new tail."""
    for position in range(np.uint64(begin), np.uint64(end)):
        u = np.uint64(queue[position])
        if directed:
            tail = _expand_directed(u, depth, alone, arcs, search, mine, tail)
        else:
            tail = _expand_undirected(u, depth, arcs, search, mine, tail)
    return tail


@inlined
def _out_edges(offsets: Any, queue: Any, begin: Any, end: Any) -> Any:
    """The out-edges of a part of a queue."""
    edges = np.int64(0)
    for position in range(np.uint64(begin), np.uint64(end)):
        edges += degree(offsets, np.uint64(queue[position]))
    return edges


@device_function
def push(
    thread: Any,
    size: Any,
    control: Any,
    depth: Any,
    directed: Any,
    arcs: Any,
    search: Any,
    row: Any,
    tail: Any,
) -> Any:
    """Expand a level by all threads: from this thread's own queue, then from what others have left."""
    mine, begin, alone = search.queues[thread], tail, size == 1
    after = np.uint32(depth + 1)
    for i in range(size):
        owner = (thread + i) % size
        queue, line = search.queues[owner], search.board[row, owner]
        end = line[END]
        while not cancelled(control):
            first = atomic_add(line, NEXT, _PIECE)
            if first >= end:
                break
            tail = _expand(
                queue, first, min(first + _PIECE, end), after, alone, directed, arcs, search, mine, tail
            )
    post(search.board[1 - row, thread], begin, tail, _out_edges(arcs.offsets, mine, begin, tail))
    return tail


@device_function
def push_alone(
    size: Any, control: Any, limit: Any, directed: Any, arcs: Any, search: Any, row: Any, tail: Any
) -> Any:
    """Expand levels by thread 0 as long as they are small: long paths need no barriers at all."""
    board, mine, depth = search.board, search.queues[0], search.totals[row, DEPTH]
    explored, reached = search.totals[row, EXPLORED], search.totals[row, REACHED]
    level_row, after = row, 1 - row  # others may still be reading the first of these rows
    while True:
        begin = tail
        for owner in range(size):
            line, queue = board[level_row, owner], search.queues[owner]
            explored += line[EDGES]
            reached += line[END] - line[BEGIN]
            tail = _expand(
                queue, line[BEGIN], line[END], np.uint32(depth + 1), True, directed, arcs, search, mine, tail
            )
            post(board[after, owner], 0, 0, 0)
        depth, edges, level_row = depth + 1, _out_edges(arcs.offsets, mine, begin, tail), after
        post(board[after, 0], begin, tail, edges)
        report(control, depth)
        if not 0 < tail - begin < ALONE - edges or depth == limit or cancelled(control):
            break
    post_totals(search.totals[after], depth, explored, reached)
    return tail
