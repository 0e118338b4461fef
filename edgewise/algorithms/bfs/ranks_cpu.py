"""Kernels of a breadth-first search on one of several ranks with CPUs; `edgewise.algorithms.bfs.ranks` launches them.

A rank has the rows and in-edges of its own vertices. It pushes from a list of those in the frontier, and pulls with a
bitmap of all ranks' frontiers. A vertex of another rank that it pushes to is told to that rank, once in a search.

The least vertex that offers itself at a level is the parent, as in `cpu_push`. Where rows have another order, in an
undirected graph, parents of vertices that were pushed to are found when levels are known.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.bfs.offers import offered_first
from edgewise.algorithms.common.rank_lists import LOW_SIX, ONE, SIX, RankLists, bits_between, put
from edgewise.kernels.cache import device_function, inlined_function
from edgewise.kernels.cpu.atomics import atomic_add, atomic_or
from edgewise.kernels.cpu.bits import lowest_bit
from edgewise.kernels.cpu.team import claim, team_kernel
from edgewise.kernels.words import CPU_LINE
from edgewise.primitives.vertices import NO_VERTEX

#: Vertices of a list, and words of a bitmap, handed out at a time.
_PIECE, _WORDS = 64, 64
#: Words of `found`: the vertices and the out-edges of this rank's part of the next frontier.
COUNT, EDGES = 0, CPU_LINE
FOUND_WORDS = 2 * CPU_LINE


class RankSearch(NamedTuple):
    """The state of a search of n vertices on one rank.

    Attributes:
        level, parent: uint32, shape (n,), `NO_VERTEX` at first; levels are those of own vertices. Of other vertices, a
            parent is the least that was offered here.
        seen: uint64, a bitmap: of own vertices those that were reached, or that no arc leads to; of others those that
            were told of, or that are known to be reached.
        frontier: uint64, a bitmap of all ranks' frontiers, while pulling.
        bits: uint64: this rank's part of the frontier, in the words that have own vertices, while pulling.
        lists: those that were pushed to at this level.
        found: int64; see `COUNT`.
    """

    level: np.ndarray
    parent: np.ndarray
    seen: np.ndarray
    frontier: np.ndarray
    bits: np.ndarray
    lists: RankLists
    found: np.ndarray


@inlined_function
def _is_seen(v: Any, seen: Any) -> Any:
    return (seen[v >> SIX] >> (v & LOW_SIX)) & ONE


@inlined_function
def _degree(v: Any, offsets: Any) -> Any:
    return np.int64(offsets[v + ONE]) - np.int64(offsets[v])


@device_function
def _offer(v: Any, offer: Any, alone: Any, search: Any) -> None:
    """Offer a vertex that is not seen a parent; the first offer lists it."""
    if offered_first(v, offer, alone, search.parent):
        put(v, alone, search.lists)


@team_kernel
def push(
    thread: Any, size: Any, control: Any, frontier: Any, offsets: Any, targets: Any, search: Any
) -> None:
    """Offer the own vertices in the frontier, uint32, as parents to their targets."""
    seen, count = search.seen, len(frontier)
    while True:
        start = claim(control, 0, _PIECE, count)
        if start == count:
            return
        for i in range(np.uint64(start), np.uint64(min(start + _PIECE, count))):
            u = np.uint64(frontier[i])
            for k in range(np.uint64(offsets[u]), np.uint64(offsets[u + ONE])):
                v = np.uint64(targets[k])
                if not _is_seen(v, seen):
                    _offer(v, frontier[i], size == 1, search)


@team_kernel
def take(thread: Any, size: Any, control: Any, vertices: Any, offers: Any, search: Any) -> None:
    """Take what other ranks have pushed to, own vertices and the parents that they are offered, uint32."""
    told = len(vertices)
    while True:
        start = claim(control, 0, _PIECE, told)
        if start == told:
            return
        for i in range(np.uint64(start), np.uint64(min(start + _PIECE, told))):
            v = np.uint64(vertices[i])
            if not _is_seen(v, search.seen):
                _offer(v, offers[i], size == 1, search)


@team_kernel
def settle(
    thread: Any,
    size: Any,
    control: Any,
    vertices: Any,
    is_own: Any,
    keeps_parents: Any,
    depth: Any,
    offsets: Any,
    search: Any,
) -> None:
    """Note vertices that were pushed to as seen, and put own ones on their level.

    Args:
        vertices: uint32.
        is_own: whether they are own vertices.
        keeps_parents: whether the least offer is the parent.
        depth: the level.
        offsets: of out-edges.
        search: see `RankSearch`.
    """
    edges, count = np.int64(0), len(vertices)
    for i in range(np.uint64(count * thread // size), np.uint64(count * (thread + 1) // size)):
        v = np.uint64(vertices[i])
        bit = ONE << (v & LOW_SIX)
        if size == 1:
            search.seen[v >> SIX] |= bit
        else:
            atomic_or(search.seen, v >> SIX, bit)
        if is_own:
            search.level[v] = depth
            edges += _degree(v, offsets)
            if not keeps_parents:
                search.parent[v] = NO_VERTEX
    atomic_add(search.found, EDGES, edges)


@team_kernel
def pull(
    thread: Any,
    size: Any,
    control: Any,
    low: Any,
    high: Any,
    depth: Any,
    offsets: Any,
    in_offsets: Any,
    in_sources: Any,
    search: Any,
) -> None:
    """Let each unreached own vertex, of `low` to before `high`, look for its first in-neighbour in the frontier.

    Those found are on level `depth`, and their bits are the next frontier's. A vertex without in-edges is not looked
    at again.
    """
    frontier, begin, words = search.frontier, low // 64, len(search.bits)
    count, edges = np.int64(0), np.int64(0)
    while True:
        start = claim(control, 0, _WORDS, words)
        if start == words:
            break
        for i in range(np.uint64(start), np.uint64(min(start + _WORDS, words))):
            word = np.uint64(begin) + i
            waiting, reached = ~search.seen[word] & bits_between(word, low, high), np.uint64(0)
            without = np.uint64(0)
            while waiting:
                bit = lowest_bit(waiting)
                waiting &= waiting - ONE
                v = (word << SIX) + bit
                first, end = np.uint64(in_offsets[v]), np.uint64(in_offsets[v + ONE])
                without |= np.uint64(first == end) << bit
                for k in range(first, end):
                    u = np.uint64(in_sources[k])
                    if (frontier[u >> SIX] >> (u & LOW_SIX)) & ONE:
                        search.level[v] = depth
                        search.parent[v] = u
                        reached |= ONE << bit
                        count += 1
                        edges += _degree(v, offsets)
                        break
            search.bits[i] = reached
            search.seen[word] |= reached | without
    atomic_add(search.found, COUNT, count)
    atomic_add(search.found, EDGES, edges)


@team_kernel
def make_bits(thread: Any, size: Any, control: Any, frontier: Any, first: Any, search: Any) -> None:
    """Make this rank's part of the bitmap of the frontier, uint32, from its word `first` on; by one thread."""
    search.bits[:] = 0
    for i in range(np.uint64(len(frontier))):
        v = np.uint64(frontier[i])
        search.bits[(v >> SIX) - np.uint64(first)] |= ONE << (v & LOW_SIX)
