"""Direction-optimising traversal: all levels inside one kernel, each by the cheaper of pushing and pulling."""

from typing import Any

import numpy as np

from edgewise.algorithms.bfs.cpu_pull import find_parents, make_bitmaps, make_queues, pull
from edgewise.algorithms.bfs.cpu_push import push, push_alone
from edgewise.algorithms.bfs.cpu_state import (
    BEGIN,
    DEPTH,
    DIRECTION,
    DONE,
    EDGES,
    END,
    EXPLORED,
    FRESH,
    FROM_LEVEL,
    FRONTIER_EDGES,
    LEVELS,
    LOGGED,
    NONE,
    REACHED,
    SCANNED,
    STATE,
    STEP,
    WANTS_IN_EDGES,
    degree,
    post,
    post_totals,
)
from edgewise.algorithms.bfs.direction import ALONE, compare
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import barrier, report, rewind, team_kernel
from edgewise.primitives.direction import AUTO, PULL, PUSH

#: A slot of `claim` that levels do not use; they use 0 and 1 in turns.
_LAST_SLOT = 2
_compare = device_function(compare)


@device_function
def _forget(thread: Any, size: Any, level: Any, parent: Any) -> None:
    """Mark this thread's share of the vertices as unreached."""
    n = len(level)
    first, end = n * thread // size, n * (thread + 1) // size
    for v in range(first, end):
        level[v] = NONE
    for v in range(first, end):
        parent[v] = NONE


@device_function
def _queue_sources(arcs: Any, search: Any, sources: Any) -> Any:
    """Put the sources on level 0 and into the queue of thread 0. Returns its tail."""
    tail, edges = np.int64(0), np.int64(0)
    for i in range(len(sources)):
        source = np.uint64(sources[i])
        if search.level[source] == NONE:
            search.level[source] = 0
            search.queues[0, tail] = source
            tail += 1
            edges += degree(source, arcs.offsets)
    post(search.board[0, 0], 0, tail, edges)
    return tail


@device_function
def _frontier(board: Any, row: Any, size: Any) -> Any:
    """The number of vertices in the frontier, and of edges that leave it."""
    count, edges = np.int64(0), np.int64(0)
    for thread in range(size):
        count += board[row, thread, END] - board[row, thread, BEGIN]
        edges += board[row, thread, EDGES]
    return count, edges


@device_function
def _log(search: Any, depth: Any, direction: Any, edges: Any, scanned: Any) -> None:
    """Log that a new direction begins, and why. When the log is full, its last line is overwritten."""
    line = min(search.status[LOGGED], len(search.log) - 1)
    search.log[line, FROM_LEVEL] = depth + 1
    search.log[line, DIRECTION] = direction
    search.log[line, FRONTIER_EDGES] = edges
    search.log[line, SCANNED] = scanned
    search.status[LOGGED] = line + 1


@team_kernel
def traverse(
    thread: Any,
    size: Any,
    control: Any,
    arcs: Any,
    search: Any,
    sources: Any,
    limit: Any,
    directed: Any,
    forced: Any,
) -> None:
    """Find the level and the parent of every vertex within `limit` levels of the sources.

    It ends early, with the state WANTS_IN_EDGES, if it is to pull and there are no in-edges yet; called again with
    in-edges, it goes on where it was.
    """
    board, totals, status = search.board, search.totals, search.status
    n, m, has_in_edges = len(search.level), len(arcs.targets), len(arcs.in_offsets) > 0
    tail, step, pulling = np.int64(0), status[STEP], False
    if status[STATE] == FRESH:
        _forget(thread, size, search.level, search.parent)
        if barrier(control, size):
            return
        if thread == 0:
            tail = _queue_sources(arcs, search, sources)
        if barrier(control, size):
            return
    while True:
        row = step & 1
        depth, explored, reached = totals[row, DEPTH], totals[row, EXPLORED], totals[row, REACHED]
        count, edges = _frontier(board, row, size)
        if count == 0 or depth == limit:
            break
        scanned, pull_is_cheaper = _compare(n, edges, m - explored, n - reached - count, pulling)
        wants_pull = forced == PULL or (forced == AUTO and pull_is_cheaper)
        if wants_pull and not has_in_edges:
            break
        if thread == 0:
            report(control, depth)
            rewind(control, 1 - row)
            if wants_pull != pulling or status[LOGGED] == 0:
                _log(search, depth, PULL if wants_pull else PUSH, edges, scanned)
        if pulling and not wants_pull:
            tail = make_queues(thread, size, arcs, search, row)
            if thread == 0:
                post_totals(totals[1 - row], depth, explored, reached)
        else:
            if thread == 0:
                post_totals(totals[1 - row], depth + 1, explored + edges, reached + count)
            if wants_pull:
                if not pulling:
                    make_bitmaps(thread, size, depth, search, row)
                    if barrier(control, size):
                        return
                pull(thread, control, depth, arcs, search, row)
            elif count + edges >= ALONE:
                tail = push(thread, size, control, depth, directed, arcs, search, row, tail)
            elif thread == 0:
                tail = push_alone(size, control, limit, directed, arcs, search, row, tail)
        pulling = wants_pull
        if barrier(control, size):
            return
        step += 1
    if barrier(control, size):
        return
    finished = count == 0 or depth == limit
    if thread == 0:
        status[STATE] = DONE if finished else WANTS_IN_EDGES
        status[STEP] = step
        status[LEVELS] = depth
    if finished and not directed:
        find_parents(control, _LAST_SLOT, 0, n, arcs, search)
