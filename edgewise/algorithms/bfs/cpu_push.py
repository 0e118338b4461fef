"""Expand a level of breadth-first search by pushing: each vertex of the frontier looks at its targets."""

from typing import Any

import numpy as np

from edgewise.algorithms.bfs.cpu_state import (
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
from edgewise.algorithms.bfs.direction import ALONE
from edgewise.algorithms.bfs.offers import offered_first
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add
from edgewise.kernels.cpu.team import cancelled, report

#: Vertices of a queue handed out at a time.
_PIECE = 64
#: A level that no vertex has.
_NO_LEVEL = np.uint32(NONE - np.uint32(1))


@inlined
def _expand_directed(
    queue: Any, begin: Any, end: Any, depth: Any, alone: Any, arcs: Any, search: Any, mine: Any, tail: Any
) -> Any:
    """Queue the new targets of vertices, and offer these as parents to all targets on the next level. Returns the tail.

    The lowest offer wins, which is the first in-edge from the level before, as in pulling. The first offer, of
    which there is only one, also queues the target.
    """
    level, parent = search.level, search.parent
    for position in range(np.uint64(begin), np.uint64(end)):
        offer = queue[position]
        u = np.uint64(offer)
        for k in range(np.uint64(arcs.offsets[u]), np.uint64(arcs.offsets[u + ONE])):
            v = np.uint64(arcs.targets[k])
            if level[v] >= depth and offered_first(v, offer, alone, parent):
                level[v] = depth
                mine[tail] = v
                tail += 1
    return tail


@inlined
def _expand_undirected(
    queue: Any,
    begin: Any,
    end: Any,
    depth: Any,
    arcs: Any,
    search: Any,
    candidates: Any,
    mine: Any,
    tail: Any,
) -> Any:
    """Queue the new neighbours of vertices, and give these their parents: the first neighbour on the level before.

    Whether a neighbour is new cannot be predicted on road networks, so no branch depends on it: each is written to the
    next place among the candidates, and the place moves on only after a new one.
    """
    level, parents, held = search.level, search.parent, np.uint64(0)
    before = np.uint32(depth - np.uint32(2)) if depth > np.uint32(1) else _NO_LEVEL
    room = np.uint64(len(candidates))
    for position in range(np.uint64(begin), np.uint64(end)):
        u, parent = np.uint64(queue[position]), NONE
        first, k = np.uint64(arcs.offsets[u]), np.uint64(arcs.offsets[u + ONE])
        while k > first:
            if held == room:
                tail = _queue_new(level, candidates, held, depth, mine, tail)
                held = np.uint64(0)
            for _ in range(min(k - first, room - held)):
                k -= ONE
                v = arcs.targets[k]
                at = level[v]
                candidates[held] = v
                held += np.uint64(at == NONE)
                parent = v if at == before else parent
        parents[u] = parent
    return _queue_new(level, candidates, held, depth, mine, tail)


@inlined
def _queue_new(level: Any, candidates: Any, held: Any, depth: Any, mine: Any, tail: Any) -> Any:
    """Put candidates on the level and into the queue, each once.

    Threads that find a vertex at the same moment write the same level. Both queue it, which costs time and changes
    nothing.
    """
    for i in range(held):
        v = candidates[i]
        mine[tail] = v
        tail += np.int64(level[v] == NONE)
        level[v] = depth
    return tail


@inlined
def _expand(
    thread: Any,
    owner: Any,
    begin: Any,
    end: Any,
    depth: Any,
    alone: Any,
    directed: Any,
    arcs: Any,
    search: Any,
    tail: Any,
) -> Any:
    """Expand a part of the owner's queue into that of this thread. Returns the new tail."""
    queue, mine = search.queues[owner], search.queues[thread]
    if directed:
        return _expand_directed(queue, begin, end, depth, alone, arcs, search, mine, tail)
    return _expand_undirected(queue, begin, end, depth, arcs, search, search.candidates[thread], mine, tail)


@inlined
def _out_edges(offsets: Any, queue: Any, begin: Any, end: Any) -> Any:
    """The number of out-edges of a part of a queue."""
    edges = np.int64(0)
    for position in range(np.uint64(begin), np.uint64(end)):
        edges += degree(np.uint64(queue[position]), offsets)
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
        line = search.board[row, owner]
        end = line[END]
        while not cancelled(control):
            first = atomic_add(line, NEXT, _PIECE)
            if first >= end:
                break
            last = min(first + _PIECE, end)
            tail = _expand(thread, owner, first, last, after, alone, directed, arcs, search, tail)
    post(search.board[1 - row, thread], begin, tail, _out_edges(arcs.offsets, mine, begin, tail))
    return tail


@device_function
def push_alone(
    size: Any, control: Any, limit: Any, directed: Any, arcs: Any, search: Any, row: Any, tail: Any
) -> Any:
    """Expand levels by thread 0 as long as they are small, so that long paths need no barriers."""
    board, mine, depth = search.board, search.queues[0], search.totals[row, DEPTH]
    explored, reached = search.totals[row, EXPLORED], search.totals[row, REACHED]
    level_row, after = row, 1 - row  # others may still be reading the first of these rows
    while True:
        begin = tail
        for owner in range(size):
            line = board[level_row, owner]
            explored += line[EDGES]
            reached += line[END] - line[BEGIN]
            begin_there, end_there = line[BEGIN], line[END]
            tail = _expand(
                0, owner, begin_there, end_there, np.uint32(depth + 1), True, directed, arcs, search, tail
            )
            post(board[after, owner], 0, 0, 0)
        depth, edges, level_row = depth + 1, _out_edges(arcs.offsets, mine, begin, tail), after
        post(board[after, 0], begin, tail, edges)
        report(control, depth)
        if not 0 < tail - begin < ALONE - edges or depth == limit or cancelled(control):
            break
    post_totals(search.totals[after], depth, explored, reached)
    return tail
