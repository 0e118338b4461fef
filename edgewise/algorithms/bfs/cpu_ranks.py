"""Kernels of a breadth-first search on one of several ranks with CPUs; `edgewise.algorithms.bfs.ranks` launches them.

A rank has the rows and in-edges of its own vertices. It pushes from a list of those in the frontier, and pulls with a
bitmap of all ranks' frontiers. A vertex of another rank that it pushes to is told to that rank, once in a search.

The least vertex that offers itself at a level is the parent, as in `cpu_push`. Where rows have another order, in an
undirected graph, parents of vertices that were pushed to are found when levels are known.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.bfs.cpu_pull import find_parents
from edgewise.algorithms.bfs.cpu_state import LOW_SIX, NONE, ONE, SIX, degree
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add, atomic_load, atomic_or, compare_and_swap
from edgewise.kernels.cpu.bits import lowest_bit
from edgewise.kernels.cpu.team import barrier, claim, team_kernel
from edgewise.kernels.words import CPU_LINE

#: Vertices of a list, and words of a bitmap, handed out at a time.
_PIECE, _WORDS = 64, 64
_ALL = ~np.uint64(0)
#: Words of `found`: the vertices and the out-edges of this rank's part of the next frontier.
COUNT, EDGES = 0, CPU_LINE
FOUND_WORDS = 2 * CPU_LINE


class RankSearch(NamedTuple):
    """The state of a search of n vertices on one rank.

    Attributes:
        level, parent: uint32, shape (n,), `NONE` at first; levels are those of own vertices. Of other vertices, a
            parent is the least that was offered here.
        seen: uint64, a bitmap: of own vertices those that were reached, or that no arc leads to; of others those that
            were told of, or that are known to be reached.
        frontier: uint64, a bitmap of all ranks' frontiers, while pulling.
        bits: uint64: this rank's part of the frontier, from the first word that has an own vertex to the last one,
            while pulling.
        lists: uint32, shape (n,): in the places of a rank's vertices, those of them that were found: the own ones
            level by level, and others that are to be told.
        ends: int64, shape (ranks, CPU_LINE): where each of these lists ends.
        begins: int64, shape (ranks + 1,): the first vertex of each rank, and the number of all.
        found: int64; see `COUNT`.
    """

    level: np.ndarray
    parent: np.ndarray
    seen: np.ndarray
    frontier: np.ndarray
    bits: np.ndarray
    lists: np.ndarray
    ends: np.ndarray
    begins: np.ndarray
    found: np.ndarray


@device_function
def _rank_of(v: Any, begins: Any) -> Any:
    """The rank that has a vertex."""
    low, high = np.int64(0), np.int64(len(begins) - 1)
    while high - low > 1:
        middle = (low + high) // 2
        if begins[middle] <= np.int64(v):
            low = middle
        else:
            high = middle
    return low


@device_function
def _set_bit(bitmap: Any, v: Any, alone: Any) -> None:
    bit = ONE << (v & LOW_SIX)
    if alone:
        bitmap[v >> SIX] |= bit
    else:
        atomic_or(bitmap, v >> SIX, bit)


@device_function
def _offer(v: Any, offer: Any, alone: Any, search: Any) -> None:
    """Offer a vertex a parent; the first offer lists it."""
    if (search.seen[v >> SIX] >> (v & LOW_SIX)) & ONE:
        return
    parent = search.parent
    best = parent[v]
    if alone:
        parent[v] = min(best, offer)
    else:
        while offer < best and not compare_and_swap(parent, v, best, offer):
            best = atomic_load(parent, v)
    if best == NONE:
        rank = _rank_of(v, search.begins)
        search.lists[np.uint64(atomic_add(search.ends, rank * CPU_LINE, 1))] = v


@team_kernel
def push(
    thread: Any, size: Any, control: Any, begin: Any, end: Any, offsets: Any, targets: Any, search: Any
) -> None:
    """Offer the own vertices in a part of the list as parents to their targets."""
    while True:
        first = claim(control, 0, _PIECE, end - begin)
        if first == end - begin:
            return
        for place in range(np.uint64(begin + first), np.uint64(min(begin + first + _PIECE, end))):
            offer = search.lists[place]
            u = np.uint64(offer)
            for k in range(np.uint64(offsets[u]), np.uint64(offsets[u + ONE])):
                _offer(np.uint64(targets[k]), offer, size == 1, search)


@team_kernel
def settle(
    thread: Any,
    size: Any,
    control: Any,
    rank: Any,
    depth: Any,
    begin: Any,
    keeps_parents: Any,
    offsets: Any,
    vertices: Any,
    offers: Any,
    search: Any,
) -> None:
    """Take the own vertices that other ranks have pushed to, and put all that are new on their level.

    Args:
        rank: this rank.
        depth: the level.
        begin: where they begin in the list of own vertices.
        keeps_parents: whether the least offer is the parent.
        offsets: of out-edges.
        vertices, offers: what others tell, uint32; offers are anything if no parents are kept.
    """
    alone, told = size == 1, len(vertices)
    while True:
        start = claim(control, 0, _PIECE, told)
        if start == told:
            break
        for i in range(np.uint64(start), np.uint64(min(start + _PIECE, told))):
            _offer(np.uint64(vertices[i]), offers[i], alone, search)
    if barrier(control, size):
        return
    for other in range(len(search.begins) - 1):
        first = begin if other == rank else search.begins[other]
        count = search.ends[other, 0] - first
        edges = np.int64(0)
        for place in range(
            np.uint64(first + count * thread // size), np.uint64(first + count * (thread + 1) // size)
        ):
            v = np.uint64(search.lists[place])
            _set_bit(search.seen, v, alone)
            if other == rank:
                search.level[v] = depth
                edges += degree(v, offsets)
                if not keeps_parents:
                    search.parent[v] = NONE
        if other == rank:
            atomic_add(search.found, EDGES, edges)


@device_function
def _own_bits(word: Any, low: Any, high: Any) -> Any:
    """The bits of a word of a bitmap that are own vertices."""
    bits, first = _ALL, np.int64(word * 64)
    if first < low:
        bits &= _ALL << np.uint64(low - first)
    if first + 64 > high:
        bits &= _ALL >> np.uint64(first + 64 - high)
    return bits


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
            waiting, reached = ~search.seen[word] & _own_bits(word, low, high), np.uint64(0)
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
                        edges += degree(v, offsets)
                        break
            search.bits[i] = reached
            search.seen[word] |= reached | without
    atomic_add(search.found, COUNT, count)
    atomic_add(search.found, EDGES, edges)


@team_kernel
def make_bits(thread: Any, size: Any, control: Any, begin: Any, end: Any, low: Any, search: Any) -> None:
    """Make this rank's part of the bitmap of the list from `begin` to before `end`, by one thread."""
    search.bits[:] = 0
    for place in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(search.lists[place])
        search.bits[(v >> SIX) - np.uint64(low // 64)] |= ONE << (v & LOW_SIX)


@team_kernel
def make_list(thread: Any, size: Any, control: Any, rank: Any, search: Any) -> None:
    """Make the list of own vertices in the frontier from its bitmap, by one thread."""
    begin, end = search.begins[rank], search.begins[rank]
    for i in range(np.uint64(len(search.bits))):
        bits = search.bits[i]
        while bits:
            search.lists[np.uint64(end)] = (np.uint64(begin // 64) + i << SIX) + lowest_bit(bits)
            bits &= bits - ONE
            end += 1
    search.ends[rank, 0] = end


@team_kernel
def first_parents(thread: Any, size: Any, control: Any, low: Any, high: Any, arcs: Any, search: Any) -> None:
    """Find the parents that own vertices have not got yet, when the levels of all vertices are known."""
    find_parents(control, 0, low, high, arcs, search)
