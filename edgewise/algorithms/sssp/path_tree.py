"""Parents for final distances: the lowest index is taken, and arcs that add nothing make no cycles.

An arc (u, v) of weight w is tight if distance[u] + w is distance[v]; every parent is the source of a tight arc. Parents
at smaller distances lead to ever smaller distances and cannot form a cycle. Arcs of weight 0 (and float weights that
are lost in rounding) join equal distances, and can form one. So a vertex takes, of its tight arcs from smaller
distances, the one with the lowest source. Only a vertex without such an arc is attached to one of equal distance that
is placed already, in rounds outwards from the placed vertices; of the candidates of a round it takes the lowest.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.common.lengths import length
from edgewise.errors import NegativeCycleError
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.graph.csr import row_of
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add, atomic_min, compare_and_swap
from edgewise.kernels.cpu.team import barrier, claim, rewind, team_kernel
from edgewise.memory import Step
from edgewise.primitives.vertices import NO_VERTEX
from edgewise.text import listed, shown

_ONE = np.uint64(1)
#: The parent of a vertex that has none; -1 as int32.
#: Vertices, and arcs, that a thread takes at a time.
_VERTICES, _ARCS = 64, 16_384
#: In `level`: a vertex that needs no parent, and one that waits for one; later, the round in which it found one.
PLACED, WAITING = 0, -1


@team_kernel
def nearer_parents(
    thread: Any,
    size: Any,
    control: Any,
    arcs: Any,
    low: Any,
    high: Any,
    distance: Any,
    parent: Any,
    unreached: Any,
) -> None:
    """Give each vertex the lowest source of a tight arc from a smaller distance, of the arcs from `low` to before
    `high`; `parent` (uint32) is all ones."""
    num_arcs = high - low
    while True:
        start = claim(control, 0, _ARCS, num_arcs)
        if start == num_arcs:
            return
        arc, end = np.uint64(low + start), np.uint64(low + min(start + _ARCS, num_arcs))
        u = row_of(arcs.offsets, arc)
        while arc < end:
            last = min(np.uint64(arcs.offsets[u + _ONE]), end)
            if distance[u] < unreached:
                while arc < last:
                    v = np.uint64(arcs.targets[arc])
                    found = distance.dtype.type(distance[u] + length(arcs, arc))
                    if distance[v] == found and distance[u] < found < unreached and np.uint32(u) < parent[v]:
                        atomic_min(parent, v, np.uint32(u))
                    arc += _ONE
            arc = last
            u += _ONE


@team_kernel
def attach(
    thread: Any,
    size: Any,
    control: Any,
    arcs: Any,
    distance: Any,
    parent: Any,
    level: Any,
    order: Any,
    tail: Any,
) -> None:
    """Find parents for vertices that only arcs of length zero reach.

    Args:
        parent: uint32.
        level: int32, `PLACED` or `WAITING`.
        order: uint32, shape (n,): the placed vertices, then room for those that find their place.
        tail: int64, shape (1,): the number of vertices in `order`.
    """
    begin, end, turn = np.int64(0), tail[0], np.int32(PLACED + 1)
    if barrier(control, size):  # all have read the tail
        return
    while begin < end:
        while True:
            start = begin + claim(control, 0, _VERTICES, end - begin)
            if start == end:
                break
            for place in range(np.uint64(start), np.uint64(min(start + _VERTICES, end))):
                _attach_targets(arcs, distance, parent, level, order, tail, np.uint64(order[place]), turn)
        if barrier(control, size):
            return
        begin, end, turn = end, tail[0], np.int32(turn + 1)
        if thread == 0:
            rewind(control, 0)
        if barrier(control, size):
            return


@device_function
def _attach_targets(
    arcs: Any, distance: Any, parent: Any, level: Any, order: Any, tail: Any, u: Any, turn: Any
) -> None:
    """Offer a vertex as parent to the waiting targets of its tight arcs."""
    for arc in range(np.uint64(arcs.offsets[u]), np.uint64(arcs.offsets[u + _ONE])):
        v = np.uint64(arcs.targets[arc])
        if level[v] == PLACED or distance[v] != distance.dtype.type(distance[u] + length(arcs, arc)):
            continue
        if level[v] == WAITING and compare_and_swap(level, v, np.int32(WAITING), turn):
            order[np.uint64(atomic_add(tail, 0, 1))] = v
        if level[v] == turn:
            atomic_min(parent, v, np.uint32(u))


def attach_rest(
    arcs: Any, distance: np.ndarray, parent: np.ndarray, sources: np.ndarray, unreached: Any, run: Execution
) -> None:
    """Find parents for vertices that only arcs of length zero reach, if there are any."""
    placed = parent != NO_VERTEX
    placed[sources] = True
    reached = distance != unreached
    if np.count_nonzero(placed) == np.count_nonzero(reached):
        return
    level = np.where(reached & ~placed, np.int32(WAITING), np.int32(PLACED))
    order = np.empty(len(parent), np.uint32)
    tail = np.array([np.count_nonzero(placed)])
    order[: tail[0]] = np.flatnonzero(placed)
    run.launch(attach, arcs, distance, parent, level, order, tail, work=3 * len(arcs.targets))


def attaching(num_vertices: int) -> Step:
    """The memory that `attach_rest` takes: marks of placed vertices, of reached ones and of both, levels, the order,
    and the indices that make it."""
    return Step(0, num_vertices * (4 * 1 + 4 + 4 + 8))


@team_kernel
def mark_targets(
    thread: Any, size: Any, control: Any, offsets: Any, targets: Any, chosen: Any, marked: Any
) -> None:
    """Mark the targets of chosen vertices, by one thread."""
    for v in range(np.uint64(len(chosen))):
        if chosen[v]:
            for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
                marked[np.uint64(targets[k])] = True


def looking_for_cycle(num_vertices: int) -> int:
    """The memory that `first_on_cycle` takes: the ends of walks, those of walks twice as long, and these as indices."""
    return 18 * num_vertices


def first_on_cycle(parent: np.ndarray) -> int | None:
    """The lowest vertex on a cycle of parents (-1 for none), or None; O(n log n).

    After 2**k >= n steps along the parents a walk has come to the end of its chain, or is on a cycle.
    """
    n = len(parent)
    following = np.append(np.where(parent < 0, n, parent), n)
    for _ in range(n.bit_length()):
        following = following[following]
    on_cycle = following[following < n]
    return int(on_cycle.min()) if len(on_cycle) else None


def named_sources(graph: Graph, sources: np.ndarray) -> str:
    """The ids of sources, for a message."""
    return listed(map(shown, graph.ids_of(sources[:100]).tolist()))


def refuse_cycle(graph: Graph, sources: np.ndarray, parent: np.ndarray) -> None:
    """Refuse a cycle of parents, which has a negative weight while distances still fall.

    Raises:
        NegativeCycleError: naming a vertex on the cycle.
    """
    cycle = first_on_cycle(parent)
    if cycle is not None:
        (on_cycle,) = graph.ids_of(np.array([cycle])).tolist()
        raise NegativeCycleError(
            f"sssp: vertex {shown(on_cycle)} is on a cycle of negative weight that can be reached from "
            f"{named_sources(graph, sources)}, so there are no shortest paths. Make its weights positive, or drop an "
            "edge of it"
        )
