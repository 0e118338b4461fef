"""Triangles counted on a GPU: see `edgewise.approx.coefficients`.

Idea. Edges are directed as there, so that each triangle is found at one of its edges, from what the rows of both ends
have in common. The end with the longer row puts it into a table in shared memory; the row of the other end is looked
up there, a lane for each entry. An entry of the table counts its triangles, a lane those of the other end, and a warp
those of the vertex whose row the table has. A step costs a few instructions, whatever is found.

Steps. Rows of at most `SMALL` entries have a warp each, with a table of its own; longer ones have a block, those with
most work first, and are put into the table a piece at a time.

Reference. The shorter of two rows is walked as by Chiba and Nishizeki, SIAM Journal on Computing 14 (1985); for tables
in shared memory, Pandey et al., "Trust: Triangle Counting Reloaded on GPUs", IEEE TPDS 32 (2021).
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.approx.near import Neighbours
from edgewise.graph import Graph
from edgewise.graph.keys_cuda import arc_keys
from edgewise.kernels.cuda.arguments import AtomicInt64s, Int32s, Int64s, type_of
from edgewise.kernels.cuda.device import (
    INT32,
    INT64,
    THREADS,
    UINT32,
    WARP,
    WARPS,
    atomic_add,
    ballot,
    block_barrier,
    block_thread,
    compare_and_swap,
    count_bits,
    cuda,
    device_function,
    first_bit,
    lane,
    shuffle,
    warp_barrier,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import cupy, host_copy, zeros

#: The most entries of a row that a warp puts into a table, and the slots of that.
SMALL, WARP_SLOTS = 32, 128
#: The slots of a block's table, which is that of its warps by turns, and the most entries that are in it at a time.
SLOTS = WARPS * WARP_SLOTS
PIECE = SLOTS // 2
#: The lower half of a key of an arc.
LOW = 0xFFFFFFFF


class Counting(NamedTuple):
    """What the kernel takes.

    Attributes:
        offsets, targets: rows of directed edges.
        begins, others: rows of the vertices whose rows are looked up in that of a vertex.
        large: the vertices whose row has a block.
        control: zeros, shape (2,): how many of these are claimed, and how many of all.
        found: zeros, shape (n,): to be filled with the number of triangles.
        num_large, n: how many there are.
    """

    offsets: Int64s
    targets: Int32s
    begins: Int64s
    others: Int32s
    large: Int32s
    control: AtomicInt64s
    found: AtomicInt64s
    num_large: int
    n: int


def signature() -> tuple[Any, ...]:
    """The types of the kernel's arguments."""
    return (type_of(Counting),)


@device_function
def _slot_of(v: Any, mask: Any) -> Any:
    """Where a vertex is looked for first."""
    return (np.int64(v) * np.int64(0x9E3779B1) >> 20) & mask


@device_function
def _put(v: Any, keys: Any, base: Any, mask: Any) -> None:
    """Put a vertex into a table that has room and does not have it."""
    slot = _slot_of(v, mask)
    while compare_and_swap(keys, base + slot, np.int32(-1), np.int32(v)) != -1:
        slot = (slot + 1) & mask


@device_function
def _meets(v: Any, keys: Any, counts: Any, base: Any, mask: Any) -> Any:
    """Count a vertex that a table has; whether it has it."""
    slot = _slot_of(v, mask)
    key = np.int64(keys[base + slot])
    while key != v and key >= 0:
        slot = (slot + 1) & mask
        key = np.int64(keys[base + slot])
    if key == v:
        atomic_add(counts, base + slot, np.uint32(1))
    return key == v


@device_function
def _slots_for(length: Any) -> Any:
    """How many slots a block's table has for so many entries: a power of two."""
    slots = np.int64(2)
    while slots < min(4 * length, SLOTS):
        slots *= 2
    return slots


@device_function
def _look_up(x: Any, warp: Any, warps: Any, it: Any, keys: Any, counts: Any, base: Any, mask: Any) -> Any:
    """Look up the rows of the others of x in a table; how many entries it has, the same for all lanes. All lanes of the
    warp take part, one of several."""
    total, end = np.int64(0), it.begins[x + 1]
    for begin in range(it.begins[x], end, warps * WARP):
        i = begin + lane() * warps + warp
        y, start, stop, mine = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        if i < end:
            y = np.int64(it.others[i])
            start, stop = it.offsets[y], it.offsets[y + 1]
        waiting = ballot(i < end)
        while waiting != 0:
            holder = first_bit(waiting)
            waiting = np.uint32(waiting & (waiting - np.uint32(1)))
            low, high, hits = shuffle(start, holder), shuffle(stop, holder), np.int64(0)
            for first in range(low, high, WARP):
                there = False
                if first + lane() < high:
                    there = _meets(np.int64(it.targets[first + lane()]), keys, counts, base, mask)
                hits += count_bits(ballot(there))
            if lane() == holder:
                mine = hits
            total += hits
        if mine > 0:
            atomic_add(it.found, y, mine)
    return total


@device_function
def _count_by_block(x: Any, it: Any, keys: Any, counts: Any) -> None:
    """Count the triangles of a vertex, its row a piece at a time. All threads of the block call it."""
    total, end = np.int64(0), it.offsets[x + 1]
    for first in range(it.offsets[x], end, PIECE):
        last = min(first + PIECE, end)
        slots = _slots_for(last - first)
        for slot in range(block_thread(), slots, THREADS):
            keys[slot], counts[slot] = -1, 0
        block_barrier()
        for k in range(first + block_thread(), last, THREADS):
            _put(it.targets[k], keys, np.int64(0), slots - 1)
        block_barrier()
        total += _look_up(
            x, block_thread() // WARP, np.int64(WARPS), it, keys, counts, np.int64(0), slots - 1
        )
        block_barrier()
        for slot in range(block_thread(), slots, THREADS):
            if counts[slot] > 0:
                atomic_add(it.found, np.int64(keys[slot]), np.int64(counts[slot]))
        block_barrier()
    if lane() == 0 and total > 0:
        atomic_add(it.found, x, total)


@device_function
def _count_by_warp(x: Any, it: Any, keys: Any, counts: Any) -> None:
    """Count the triangles of a vertex with a small row. All lanes of the warp call it."""
    base, mask = block_thread() // WARP * WARP_SLOTS, np.int64(WARP_SLOTS - 1)
    for slot in range(base + lane(), base + WARP_SLOTS, WARP):
        keys[slot], counts[slot] = -1, 0
    warp_barrier()
    for k in range(it.offsets[x] + lane(), it.offsets[x + 1], WARP):
        _put(it.targets[k], keys, base, mask)
    warp_barrier()
    total = _look_up(x, np.int64(0), np.int64(1), it, keys, counts, base, mask)
    warp_barrier()
    for slot in range(base + lane(), base + WARP_SLOTS, WARP):
        if counts[slot] > 0:
            atomic_add(it.found, np.int64(keys[slot]), np.int64(counts[slot]))
    warp_barrier()
    if lane() == 0 and total > 0:
        atomic_add(it.found, x, total)


def count_kernel(it):
    """Count triangles; see `Counting`."""
    keys = cuda.shared.array(SLOTS, INT32)
    counts = cuda.shared.array(SLOTS, UINT32)
    claimed = cuda.shared.array(1, INT64)
    at = np.int64(0)
    while at < it.num_large:
        if block_thread() == 0:
            claimed[0] = atomic_add(it.control, 0, 1)
        block_barrier()
        at = claimed[0]
        block_barrier()
        if at < it.num_large:
            _count_by_block(np.int64(it.large[at]), it, keys, counts)
    begin = np.int64(0)
    while begin < it.n:
        if lane() == 0:
            begin = atomic_add(it.control, 1, WARP)
        begin = shuffle(begin, 0)
        v, small = begin + lane(), False
        if v < it.n and it.begins[v] < it.begins[v + 1]:
            small = it.offsets[v + 1] - it.offsets[v] <= SMALL
        waiting = ballot(small)
        while waiting != 0:
            _count_by_warp(begin + first_bit(waiting), it, keys, counts)
            waiting = np.uint32(waiting & (waiting - np.uint32(1)))


@functools.cache
def _kernel() -> Kernel:
    return fixed_kernel(count_kernel, signature())


class Near(NamedTuple):
    """The neighbours of all vertices on the GPU.

    Attributes:
        rows: as `edgewise.approx.near.neighbours` gives them.
        sources: int32: the vertex of each entry.
    """

    rows: Neighbours
    sources: Any


def neighbours_on_gpu(graph: Graph) -> Near:
    """`edgewise.approx.near.neighbours` on the GPU: arcs are sorted as numbers."""
    xp, n = cupy(), graph.num_vertices
    keys = arc_keys(graph.gpu.offsets, graph.gpu.targets)
    if graph.directed:
        keys = xp.concatenate([keys, (keys & LOW) << 32 | keys >> 32])
    keys = keys[keys >> 32 != keys & LOW]
    keys.sort()
    first = xp.ones(len(keys), np.bool_)
    first[1:] = keys[1:] != keys[:-1]
    keys = keys[first]
    offsets = xp.searchsorted(keys, xp.arange(n + 1, dtype=np.int64) << 32)
    sources, targets = (keys >> 32).astype(np.int32), (keys & LOW).astype(np.int32)
    return Near(Neighbours(offsets, targets), sources)


def triangles_on_gpu(near: Near) -> Any:
    """`edgewise.approx.coefficients.triangles` on the GPU, for `neighbours_on_gpu`."""
    xp, (offsets, targets), sources = cupy(), near.rows, near.sources
    degree = xp.diff(offsets).astype(np.int32)
    ahead = _is_less(degree, sources, targets)
    rows = _part(offsets, targets, ahead)
    length = xp.diff(rows.offsets).astype(np.int32)
    # The longer of two rows is put into a table; those that are empty have nothing in common with others.
    other = _is_less(length, targets, sources) & (length[targets] > 0)
    others = _part(offsets, targets, other)
    work = length * xp.diff(others.offsets)
    large = xp.flatnonzero((length > SMALL) & (work > 0)).astype(np.int32)
    large = large[xp.argsort(-work[large], kind="stable")]
    found, n = zeros(len(degree), np.int64), len(degree)
    given = Counting(*rows, *others, large, zeros(2, np.int64), found, len(large), n)
    _kernel().start([given])
    return found


def _is_less(value: Any, one: Any, other: Any) -> Any:
    """Of pairs of vertices, whether the first one has the lower value, or the same and the lower index."""
    first, second = value[one], value[other]
    return (first < second) | ((first == second) & (one < other))


def _part(offsets: Any, targets: Any, kept: Any) -> Neighbours:
    """Those entries of rows that are kept."""
    xp = cupy()
    upto = zeros(len(targets) + 1, np.int64)
    xp.cumsum(kept, dtype=np.int64, out=upto[1:])
    return Neighbours(upto[offsets], targets[kept])


def coefficients_on_gpu(graph: Graph) -> np.ndarray:
    """`edgewise.approx.coefficients.clustering_coefficients` on the GPU; on the host at the end."""
    near = neighbours_on_gpu(graph)
    degree = cupy().diff(near.rows.offsets)
    return host_copy(2 * triangles_on_gpu(near) / cupy().maximum(degree * (degree - 1), 1))
