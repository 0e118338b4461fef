"""Kernels of shortest paths on one of several ranks with CPUs; `edgewise.algorithms.sssp.ranks` launches them.

In a superstep a rank sends from its own vertices whose distance fell in the one before. Of a vertex of another rank it
keeps the best distance that it has told of, and tells only of better ones. Vertices send the distance that they had
when the superstep began, as those of a program do; so the number of supersteps depends neither on threads nor on ranks.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.lengths import length
from edgewise.algorithms.common.rank_lists import ONE, RankLists, put
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_min
from edgewise.kernels.cpu.team import claim, team_kernel
from edgewise.primitives.vertices import NO_VERTEX

#: Vertices handed out at a time.
_PIECE = 64


class RankPaths(NamedTuple):
    """The state of a search of n vertices on one rank.

    Attributes:
        best: shape (n,): distances of own vertices; of others, the best that this rank has told of, or will.
        lists: those whose best distance fell in this superstep.
    """

    best: np.ndarray
    lists: RankLists


@device_function
def _lower(v: Any, distance: Any, alone: Any, state: Any) -> None:
    """Offer a vertex a distance; if it falls, the vertex is listed."""
    best = state.best
    if alone:
        falls = distance < best[v]
        best[v] = min(distance, best[v])
    else:
        falls = atomic_min(best, v, distance)
    if falls:
        put(v, alone, state.lists)


@team_kernel
def relax(
    thread: Any, size: Any, control: Any, active: Any, sent: Any, bound: Any, arcs: Any, state: Any
) -> None:
    """Offer the targets of active vertices, uint32, with the distances `sent`, distances of at most `bound`."""
    best, offsets, targets = state.best, arcs.offsets, arcs.targets
    count, alone = len(active), size == 1
    while True:
        start = claim(control, 0, _PIECE, count)
        if start == count:
            return
        for i in range(np.uint64(start), np.uint64(min(start + _PIECE, count))):
            u, distance = np.uint64(active[i]), sent[i]
            for arc in range(np.uint64(offsets[u]), np.uint64(offsets[u + ONE])):
                v = np.uint64(targets[arc])
                offered = best.dtype.type(distance + length(arcs, arc))
                if offered < best[v] and offered <= bound:
                    _lower(v, offered, alone, state)


@team_kernel
def take(thread: Any, size: Any, control: Any, vertices: Any, distances: Any, state: Any) -> None:
    """Take distances of own vertices, uint32, that other ranks tell."""
    told = len(vertices)
    while True:
        start = claim(control, 0, _PIECE, told)
        if start == told:
            return
        for i in range(np.uint64(start), np.uint64(min(start + _PIECE, told))):
            _lower(np.uint64(vertices[i]), distances[i], size == 1, state)


@team_kernel
def first_parents(
    thread: Any,
    size: Any,
    control: Any,
    low: Any,
    high: Any,
    ascending: Any,
    in_arcs: Any,
    distance: Any,
    unreached: Any,
    parent: Any,
) -> None:
    """Give each vertex from `low` to before `high` the lowest source of a tight arc from a smaller distance, as
    `nearer_parents` does, over its in-edges, whose sources may be `ascending`; `parent` (uint32) is all ones."""
    offsets, sources, count = in_arcs.offsets, in_arcs.targets, high - low
    while True:
        start = claim(control, 0, _PIECE, count)
        if start == count:
            return
        for v in range(np.uint64(low + start), np.uint64(low + min(start + _PIECE, count))):
            here, best = distance[v], NO_VERTEX
            if not here < unreached:
                continue
            for arc in range(np.uint64(offsets[v]), np.uint64(offsets[v + ONE])):
                u = sources[arc]
                there = distance[np.uint64(u)]
                if distance.dtype.type(there + length(in_arcs, arc)) == here and there < here:
                    best = min(best, u)
                    if ascending:
                        break
            parent[v] = best
