"""The kernels of `benchmarks.beyond_ways`: active vertices are listed, then they push, or sums are gathered.

A row is read by a warp, one of more than `HEAVY` arcs by a block, and from a multiple of 128 bytes on.
"""

import functools
from typing import Annotated, Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import (
    AtomicInt32s,
    AtomicInt64s,
    Elements,
    Offsets,
    Uint8s,
    Uint32s,
    Weights,
    type_of,
)
from edgewise.kernels.cuda.compile import compile_kernel
from edgewise.kernels.cuda.device import (
    FLOAT64,
    WARP,
    WARPS,
    atomic_add,
    atomic_min,
    block_barrier,
    block_index,
    block_size,
    block_thread,
    cuda,
    device_function,
    lane,
    num_blocks,
    num_threads,
    thread_index,
    warp_sum,
)
from edgewise.kernels.cuda.launch import Kernel
from edgewise.kernels.cuda.memory import capability
from edgewise.primitives.deal import append

#: Rows of more arcs are read by blocks; arcs in 128 bytes; what `Pushing.length` is where arcs have weights.
HEAVY, LINE, WEIGHTED = 4096, 32, -1

Float32s = Annotated[Any, Elements(np.float32)]


class Listing(NamedTuple):
    """What `list_kernel` takes.

    Attributes:
        offsets: where rows begin.
        flags: which vertices are active, shape (n,).
        light, heavy: lists of vertices that are active and have arcs: at most `HEAVY` of them, or more.
        counts: from `word` on: where lists go on, and the arcs of all.
        first, last: the part of the vertices.
        word: see `counts`.
    """

    offsets: Offsets
    flags: Uint8s
    light: Uint32s
    heavy: Uint32s
    counts: AtomicInt64s
    first: int
    last: int
    word: int


class Piece(NamedTuple):
    """Rows as kernels read them.

    Attributes:
        light, heavy: lists of the vertices whose rows they are.
        starts: where rows begin: by vertex, or by place in the lists if they are `compacted`.
        targets, weights: of arcs.
        light_first, light_last, heavy_first, heavy_last: parts of the lists.
        base: the arc with which `targets` begins.
        shift: arcs from a multiple of 128 bytes to the beginning of `targets`.
        compacted: see `starts`.
    """

    light: Uint32s
    heavy: Uint32s
    starts: Offsets
    targets: Uint32s
    weights: Weights
    light_first: int
    light_last: int
    heavy_first: int
    heavy_last: int
    base: int
    shift: int
    compacted: bool


class Pushing(NamedTuple):
    """What `push_kernel` takes: rows; a value of each vertex, shape (n,); flags for the next superstep, shape (n,); the
    length of an arc, or `WEIGHTED`."""

    piece: Piece
    value: AtomicInt32s
    flags: Uint8s
    length: int


class Gathering(NamedTuple):
    """What `gather_kernel` takes: rows; what each vertex gives, shape (n,); sums over rows, shape (n,)."""

    piece: Piece
    share: Float32s
    total: Float32s


def list_kernel(it):
    """List the active vertices of a part, and count their arcs."""
    arcs = np.int64(0)
    for begin in range(it.first + thread_index() - lane(), it.last, num_threads()):
        v, degree = begin + lane(), np.int64(0)
        if v < it.last and it.flags[v] != 0:
            degree = np.int64(it.offsets[v + 1]) - np.int64(it.offsets[v])
        arcs += degree
        append(it.light, it.counts, it.word, v, degree > 0 and degree <= HEAVY)
        append(it.heavy, it.counts, it.word + 1, v, degree > HEAVY)
    arcs = warp_sum(arcs)
    if lane() == 0 and arcs > 0:
        atomic_add(it.counts, it.word + 2, arcs)


@device_function
def _bounds(i: Any, v: Any, piece: Any) -> Any:
    """Where a row begins and ends, and where reading it begins."""
    at = i if piece.compacted != 0 else v
    first = np.int64(piece.starts[at]) - piece.base
    end = np.int64(piece.starts[at + 1]) - piece.base
    return first, end, ((first + piece.shift) & -LINE) - piece.shift


@device_function
def _push_row(i: Any, v: Any, thread: Any, threads: Any, it: Any) -> None:
    """Lower the values of a vertex's targets."""
    piece, value = it.piece, it.value
    first, end, begin = _bounds(i, v, piece)
    mine = np.int64(value[v])
    for k in range(begin + thread, end, threads):
        if k >= first:
            target, length = np.int64(piece.targets[k]), it.length
            if length == WEIGHTED:
                length = np.int64(piece.weights[k])
            new = np.int32(mine + length)
            if new < value[target] and new < atomic_min(value, target, new):
                it.flags[target] = np.uint8(1)


def push_kernel(it):
    """Lower the values of targets; those that were lowered are active in the next superstep."""
    piece = it.piece
    for i in range(piece.light_first + thread_index() // WARP, piece.light_last, num_threads() // WARP):
        _push_row(i, np.int64(piece.light[i]), lane(), np.int64(WARP), it)
    for i in range(piece.heavy_first + block_index(), piece.heavy_last, num_blocks()):
        _push_row(i, np.int64(piece.heavy[i]), block_thread(), block_size(), it)


@device_function
def _sum_row(i: Any, v: Any, thread: Any, threads: Any, it: Any) -> Any:
    """The sum of what a vertex's sources give, of those arcs that this thread reads."""
    piece, total = it.piece, np.float64(0.0)
    first, end, begin = _bounds(i, v, piece)
    for k in range(begin + thread, end, threads):
        if k >= first:
            total += np.float64(it.share[np.int64(piece.targets[k])])
    return total


def gather_kernel(it):
    """Add up what sources give."""
    piece = it.piece
    sums = cuda.shared.array(WARPS, FLOAT64)
    for i in range(piece.light_first + thread_index() // WARP, piece.light_last, num_threads() // WARP):
        v = np.int64(piece.light[i])
        total = warp_sum(_sum_row(i, v, lane(), np.int64(WARP), it))
        if lane() == 0:
            it.total[v] = np.float32(total)
    for i in range(piece.heavy_first + block_index(), piece.heavy_last, num_blocks()):
        v = np.int64(piece.heavy[i])
        total = warp_sum(_sum_row(i, v, block_thread(), block_size(), it))
        block_barrier()
        if lane() == 0:
            sums[block_thread() // WARP] = total
        block_barrier()
        if block_thread() == 0:
            total = np.float64(0.0)
            for warp in range(WARPS):
                total += sums[warp]
            it.total[v] = np.float32(total)


#: The kernels by what they take.
KERNELS = {Listing: list_kernel, Pushing: push_kernel, Gathering: gather_kernel}


@functools.cache
def kernel(takes: type, offsets: np.dtype) -> Kernel:
    """The kernel that takes this, for offsets of a dtype. Each process compiles it anew: code on disk may be that of an
    older version of this module."""
    return Kernel(compile_kernel(KERNELS[takes], signature(takes, offsets), capability(), None))


def signature(takes: type, offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the kernel's arguments."""
    return (type_of(takes, offset=offsets, weight=np.dtype(np.int32)),)
