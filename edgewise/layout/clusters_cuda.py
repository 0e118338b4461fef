"""Clusters of a graph, grown on a GPU: see `edgewise.layout.clusters`."""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import AtomicInt64s, Int32s, Int64s, Offsets, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    atomic_add,
    atomic_min,
    ballot,
    count_bits,
    device_function,
    first_bit,
    grid_barrier,
    inlined,
    lane,
    lanes_before,
    num_threads,
    shuffle,
    thread_index,
    warp_sum,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import cupy, empty, finish, host_copy, zeros
from edgewise.layout.clusters import CELL, Cells, Clusters, gather_cells
from edgewise.primitives.control import TURNS, control_words, turns_after
from edgewise.primitives.deal import append, degree, make_deal

#: Words of `control`: how many seeds there are; in turns, how many vertices a level has found.
CONTROL = control_words()
SEEDS, FOUND = CONTROL.take(), CONTROL.take_line(TURNS)
#: The mark of a vertex that no seed has reached: more than any other.
UNMARKED = 2**62


class Growing(NamedTuple):
    """What the kernel takes.

    Attributes:
        offsets, targets, in_offsets, in_sources: the graph; out-edges twice if it is undirected.
        mark: (n,): the level at which a seed's search found a vertex, and the seed, in the upper and the lower half.
        front, other_front: (n,): the vertices of a level, and those of the next.
        control: zeros, see `CONTROL`.
        n: vertices.
    """

    offsets: Offsets
    targets: Uint32s
    in_offsets: Offsets
    in_sources: Uint32s
    mark: AtomicInt64s
    front: Uint32s
    other_front: Uint32s
    control: AtomicInt64s
    n: int


@device_function
def _mixed(v: Any) -> Any:
    """A number of 32 bits that looks drawn at random, another one for each vertex.

    Shifts and constants are near those of "lowbias32" of Wellons' hash prospector, here below 2**31, so that no product
    passes 63 bits.
    """
    x = (v * 0x9E3779B1) & 0xFFFFFFFF
    x = ((x ^ (x >> 16)) * 0x21F0AAAD) & 0xFFFFFFFF
    x = ((x ^ (x >> 15)) * 0x735A2D97) & 0xFFFFFFFF
    return x ^ (x >> 15)


@device_function
def _offer(takes: Any, v: Any, mark: Any, k: Any, context: Any) -> Any:
    """Mark the end of one arc; all lanes of a warp call it."""
    ends, it, following, front = context
    fresh, u = False, np.int64(0)
    if takes:
        u = np.int64(ends[k])
        fresh = it.mark[u] > mark and atomic_min(it.mark, u, mark) == UNMARKED
    append(front, it.control, FOUND + following, u, fresh)
    return np.int64(0), np.int64(0)


@device_function
def _is_first(v: Any, offsets: Any, ends: Any, mark: Any) -> Any:
    """Whether none of a vertex's unmarked neighbours in one row has a lesser mixed number."""
    mine = _mixed(v)
    for k in range(np.int64(offsets[v]), np.int64(offsets[v + 1])):
        u = np.int64(ends[k])
        if mark[u] == UNMARKED and _mixed(u) < mine:
            return False
    return True


_spread = make_deal(_offer, vertex=False, key=True)


def make_grow(directed: bool) -> Any:
    """The kernel that marks all vertices of at least one arc."""

    @device_function
    def grow(turn, generation, it):
        """Search from the vertices of the front, level by level, until no more are found."""
        control, flipped = it.control, False
        while control[FOUND + turn] > 0:
            following, spare = turns_after(turn)
            if thread_index() == 0:
                control[FOUND + spare] = 0
            front, next_front = (it.other_front, it.front) if flipped else (it.front, it.other_front)
            count = control[FOUND + turn]
            for begin in range(thread_index() - lane(), count, num_threads()):
                i, v, mark = begin + lane(), np.int64(0), np.int64(0)
                start, arcs, in_start, in_arcs = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
                if i < count:
                    v = np.int64(front[i])
                    mark = it.mark[v] + (np.int64(1) << 32)
                    start, arcs = np.int64(it.offsets[v]), degree(v, it.offsets)
                    if directed:
                        in_start, in_arcs = np.int64(it.in_offsets[v]), degree(v, it.in_offsets)
                _spread(v, start, arcs, mark, (it.targets, it, following, next_front))
                if directed:
                    _spread(v, in_start, in_arcs, mark, (it.in_sources, it, following, next_front))
            generation = grid_barrier(control, generation)
            turn, flipped = following, not flipped
        return turn, generation

    @inlined
    def has_arcs(v, it):
        found = degree(v, it.offsets) > 0
        return found or (directed and degree(v, it.in_offsets) > 0)

    def grow_kernel(it):
        generation, control = np.int64(0), it.control
        for begin in range(thread_index() - lane(), it.n, num_threads()):
            v, starts = begin + lane(), False
            if v < it.n:
                starts = _mixed(v) * CELL < (np.int64(1) << 32) and has_arcs(v, it)
                it.mark[v] = v if starts else UNMARKED
            append(it.front, control, FOUND, v, starts)
        generation = grid_barrier(control, generation)
        turn, generation = grow(np.int64(0), generation, it)
        # Parts of the graph without a seed: vertices that come before all of their neighbours are seeds.
        for begin in range(thread_index() - lane(), it.n, num_threads()):
            v, starts = begin + lane(), False
            if v < it.n and it.mark[v] == UNMARKED and has_arcs(v, it):
                starts = _is_first(v, it.offsets, it.targets, it.mark)
                if directed and starts:
                    starts = _is_first(v, it.in_offsets, it.in_sources, it.mark)
            append(it.front, control, SEEDS, v, starts)
        generation = grid_barrier(control, generation)
        count = control[SEEDS]
        for i in range(thread_index(), count, num_threads()):
            it.mark[np.int64(it.front[i])] = np.int64(it.front[i])
        if thread_index() == 0:
            control[FOUND + turn] = count
        generation = grid_barrier(control, generation)
        grow(turn, generation, it)

    return grow_kernel


def grow_signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of the kernel that `make_grow` makes, for offsets of this dtype."""
    return (type_of(Growing, offset=offsets),)


@functools.cache
def _grow_kernel(offsets: np.dtype, directed: bool) -> Kernel:
    return fixed_kernel(make_grow, grow_signature(offsets), directed)


class Linking(NamedTuple):
    """What the kernel takes that finds out which cells are neighbours.

    Attributes:
        offsets, targets: out-edges.
        cell: (n,): the cell of each vertex, or -1.
        size: (cells,): zeros; how many vertices each has.
        links: an entry for each arc that leaves its cell: both cells, one in the upper half.
        control: zeros, see `CONTROL`: FOUND counts the links.
        n: vertices.
    """

    offsets: Offsets
    targets: Uint32s
    cell: Int32s
    size: AtomicInt64s
    links: Int64s
    control: AtomicInt64s
    n: int


def make_link(lists: bool) -> Any:
    """The kernel that counts links and sizes, or, if it `lists`, lists the links."""

    @device_function
    def link(takes, v, mine, k, it):
        """Look at one arc; all lanes of a warp call it."""
        leaves, other = False, np.int64(0)
        if takes:
            other = np.int64(it.cell[np.int64(it.targets[k])])
            leaves = other != mine
        bits = ballot(leaves)
        if lists and bits != 0:
            leader, position = first_bit(bits), np.int64(0)
            if lane() == leader:
                position = atomic_add(it.control, FOUND, count_bits(bits))
            position = shuffle(position, leader)
            if leaves:
                it.links[position + lanes_before(bits)] = mine << 32 | other
        return np.int64(leaves), np.int64(0)

    link_all = make_deal(link, vertex=False, key=True)

    def link_kernel(it):
        found = np.int64(0)
        for begin in range(thread_index() - lane(), it.n, num_threads()):
            v, mine, start, arcs = begin + lane(), np.int64(0), np.int64(0), np.int64(0)
            if v < it.n and it.cell[v] >= 0:
                mine, start, arcs = np.int64(it.cell[v]), np.int64(it.offsets[v]), degree(v, it.offsets)
                if not lists:
                    atomic_add(it.size, mine, 1)
            more, _ = link_all(v, start, arcs, mine, it)
            found += more
        if not lists:
            found = warp_sum(found)
            if lane() == 0 and found > 0:
                atomic_add(it.control, FOUND, found)

    return link_kernel


def link_signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of the kernels that `make_link` makes, for offsets of this dtype."""
    return (type_of(Linking, offset=offsets),)


@functools.cache
def _link_kernel(offsets: np.dtype, lists: bool) -> Kernel:
    return fixed_kernel(make_link, link_signature(offsets), lists)


def grow_clusters(
    offsets: Any, targets: Any, in_offsets: Any, in_sources: Any, directed: bool, most: int
) -> Clusters:
    """The clusters of a graph of at least one vertex, on the GPU.

    Args:
        offsets, targets, in_offsets, in_sources: the graph; the same twice if it is not `directed`.
        directed: whether in-edges are others than out-edges.
        most: the most vertices of a cluster.
    """
    xp, n = cupy(), len(offsets) - 1
    unsigned = np.dtype(f"u{offsets.dtype.itemsize}")
    mark, control = empty(n, np.int64), zeros(CONTROL.size, np.int64)
    given = Growing(
        offsets, targets, in_offsets, in_sources, mark, empty(n, np.uint32), empty(n, np.uint32), control, n
    )
    _grow_kernel(unsigned, directed).start([given])
    seed = mark.view(np.int32)[::2]
    is_seed = xp.equal(mark, xp.arange(n))
    number = xp.cumsum(is_seed, dtype=np.int32)
    cell = xp.where(xp.equal(mark, UNMARKED), -1, number[seed] - 1).astype(np.int32)
    num_cells = int(number[-1])
    size, control = zeros(max(num_cells, 1), np.int64), zeros(CONTROL.size, np.int64)
    linking = Linking(offsets, targets, cell, size, mark, control, n)
    _link_kernel(unsigned, False).start([linking])
    links, control = empty(max(int(control[FOUND]), 1), np.int64), zeros(CONTROL.size, np.int64)
    _link_kernel(unsigned, True).start([linking._replace(links=links, control=control)])
    links = links[: int(control[FOUND])]
    if directed:
        links = xp.concatenate(
            [links, links.view(np.int32).reshape(-1, 2)[:, ::-1].copy().view(np.int64).ravel()]
        )
    ordered, begins = gather_cells(_cells(links, host_copy(size)[:num_cells]), most)
    rank = np.empty(num_cells + 1, np.int32)
    rank[ordered], rank[-1] = np.arange(num_cells), num_cells
    order = xp.argsort(xp.asarray(rank)[cell], kind="stable").astype(np.int32)
    place = empty(n, np.int32)
    place[order] = xp.arange(n, dtype=np.int32)
    finish()
    return Clusters(order, place, xp.asarray(begins))


def _cells(links: Any, size: np.ndarray) -> Cells:
    """Cells from their links, one for each arc."""
    xp = cupy()
    links.sort()
    differs = xp.concatenate([xp.ones(min(len(links), 1), bool), xp.not_equal(links[1:], links[:-1])])
    begins = xp.flatnonzero(differs)
    found = links[begins]
    arcs = host_copy(xp.diff(begins, append=len(links)).astype(np.int32))
    first = xp.searchsorted(found, xp.left_shift(xp.arange(len(size) + 1, dtype=np.int64), 32))
    neighbour = host_copy(xp.ascontiguousarray(found.view(np.int32)[::2]))
    return Cells(size, host_copy(first).astype(np.int64), neighbour, arcs)
