"""Merge sort on a GPU, a rival in the reproduction of Zhong et al. 2016 (section 5.5, Figure 11).

It sorts uint32 keys together with their indices in one cooperative launch. A block of threads sorts a tile of 4,096
words, key and index in 64 bits, in shared memory: each thread sorts four in registers, then runs are merged in pairs,
a thread finding its four words of a merged run by a binary search on the run's diagonal. Sorted tiles are merged in
pairs until one run is left. In each pass all blocks have equal shares of the output, and find where a tile of it
begins in the two runs by a search on the diagonal, 32 ways at a time, a warp for each tile. The next tile is loaded
while one is merged.

Reference. Green, McColl, Bader, "GPU Merge Path: A GPU Merging Algorithm", ICS 2012.
"""

import functools
from typing import Annotated, Any, NamedTuple

import numpy as np
from numba import cuda

from edgewise.kernels.cuda.arguments import AtomicInt64s, Elements, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    INT64,
    THREADS,
    WARP,
    WARPS,
    ballot,
    block_barrier,
    block_index,
    block_thread,
    device_function,
    first_bit,
    grid_barrier,
    lane,
    num_blocks,
    numba_type,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import empty, finish, zeros

#: Words that a thread has of a tile, and those of a tile.
ITEMS = 4
TILE = ITEMS * THREADS
#: Where the tiles that a block's warps look for begin, and where the last one ends.
SPLITS = WARPS + 1
TALLIES = 2 * WARPS
WORD = np.dtype(np.uint64)
SHARED_WORD = numba_type(WORD)
#: A word after all others, which fills up the last tile. No key has this index.
LAST = np.uint64(2**64 - 1)
HALF = np.uint64(32)
LOW_HALF = np.uint64(2**32 - 1)


class Pairs(NamedTuple):
    """Keys, and of each the index that it had, in arrays of one length."""

    keys: Uint32s
    indices: Uint32s


class Merging(NamedTuple):
    """What the kernel takes.

    Attributes:
        keys: shape (n,).
        words, other_words: uint64, shape (tiles * TILE,), in turns.
        sorted: shape (n,), to be filled.
        control: one zero, which counts arrivals at the barrier.
        n, tiles: keys and tiles.
    """

    keys: Uint32s
    words: Annotated[Any, Elements(WORD)]
    other_words: Annotated[Any, Elements(WORD)]
    sorted: Pairs
    control: AtomicInt64s
    n: int
    tiles: int


def signature() -> tuple[Any, ...]:
    """The type of the kernel's argument."""
    return (type_of(Merging),)


@device_function
def word_of(key, index):
    """A key and its index in a word."""
    return (np.uint64(key) << HALF) | np.uint64(index)


@device_function
def sorted_four(w0, w1, w2, w3):
    """Four words in order, by a network of five comparisons."""
    w0, w1 = min(w0, w1), max(w0, w1)
    w2, w3 = min(w2, w3), max(w2, w3)
    w0, w2 = min(w0, w2), max(w0, w2)
    w1, w3 = min(w1, w3), max(w1, w3)
    return w0, min(w1, w2), max(w1, w2), w3


@device_function
def put_adjacent(local, w0, w1, w2, w3):
    """Store this thread's four words of a tile side by side."""
    i = ITEMS * block_thread()
    local[np.uint32(i)] = w0
    local[np.uint32(i + 1)] = w1
    local[np.uint32(i + 2)] = w2
    local[np.uint32(i + 3)] = w3


@device_function
def put_strips(local, w0, w1, w2, w3):
    """Store this thread's words of the four strips of a tile."""
    i = block_thread()
    local[np.uint32(i)] = w0
    local[np.uint32(i + THREADS)] = w1
    local[np.uint32(i + 2 * THREADS)] = w2
    local[np.uint32(i + 3 * THREADS)] = w3


@device_function
def first_of(local, a, length_a, b, length_b, d):
    """How many of the first d words of two merged runs in shared memory are the first run's."""
    low, high = np.int32(max(d - length_b, 0)), np.int32(min(d, length_a))
    while low < high:
        middle = np.int32((low + high) >> 1)
        if local[np.uint32(a + middle)] < local[np.uint32(b + d - 1 - middle)]:
            low = np.int32(middle + 1)
        else:
            high = middle
    return low


@device_function
def next_word(local, x, y, i, i_end, j, j_end):
    """The lower of the heads x and y of two runs, at i and j; then the heads and where they are."""
    first = x <= y
    word = x if first else y
    k, end = np.int32((i if first else j) + 1), i_end if first else j_end
    head = local[np.uint32(k)] if k < end else LAST
    return word, head if first else x, y if first else head, k if first else i, j if first else k


@device_function
def merged_four(local, i, i_end, j, j_end):
    """The next four words of two merged runs, which go on at i and j."""
    x = local[np.uint32(i)] if i < i_end else LAST
    y = local[np.uint32(j)] if j < j_end else LAST
    w0, x, y, i, j = next_word(local, x, y, i, i_end, j, j_end)
    w1, x, y, i, j = next_word(local, x, y, i, i_end, j, j_end)
    w2, x, y, i, j = next_word(local, x, y, i, i_end, j, j_end)
    return w0, w1, w2, min(x, y)


@device_function
def sort_tile(local, count):
    """Sort the first words of a tile in shared memory; those that fill the last four up are `LAST`."""
    begin, top = np.int32(ITEMS * block_thread()), np.int32((count + ITEMS - 1) // ITEMS * ITEMS)
    w0, w1, w2, w3 = LAST, LAST, LAST, LAST
    if begin < top:
        w0, w1 = local[np.uint32(begin)], local[np.uint32(begin + 1)]
        w2, w3 = local[np.uint32(begin + 2)], local[np.uint32(begin + 3)]
        w0, w1, w2, w3 = sorted_four(w0, w1, w2, w3)
        put_adjacent(local, w0, w1, w2, w3)
    block_barrier()
    width = np.int32(ITEMS)
    while width < top:
        if begin < top:
            a = np.int32(begin & -(2 * width))
            b, end, d = np.int32(min(a + width, top)), np.int32(min(a + 2 * width, top)), np.int32(begin - a)
            i = first_of(local, a, b - a, b, end - b, d)
            w0, w1, w2, w3 = merged_four(local, np.int32(a + i), b, np.int32(b + d - i), end)
        block_barrier()
        if begin < top:
            put_adjacent(local, w0, w1, w2, w3)
        block_barrier()
        width = np.int32(2 * width)


@device_function
def put_out(outs, p, word):
    """Store the key and the index of a word where they stay."""
    outs.keys[p] = np.uint32(word >> HALF)
    outs.indices[p] = np.uint32(word & LOW_HALF)


@device_function
def strips(local):
    """This thread's words of the four strips of a tile."""
    i = block_thread()
    w0, w1 = local[np.uint32(i)], local[np.uint32(i + THREADS)]
    return w0, w1, local[np.uint32(i + 2 * THREADS)], local[np.uint32(i + 3 * THREADS)]


@device_function
def store_tile(local, begin, n, final, target, outs):
    """Store a tile's words, in the end as keys and indices."""
    w0, w1, w2, w3 = strips(local)
    p = begin + block_thread()
    if not final:
        target[p] = w0
        target[p + THREADS] = w1
        target[p + 2 * THREADS] = w2
        target[p + 3 * THREADS] = w3
        return
    if p < n:
        put_out(outs, p, w0)
    if p + THREADS < n:
        put_out(outs, p + THREADS, w1)
    if p + 2 * THREADS < n:
        put_out(outs, p + 2 * THREADS, w2)
    if p + 3 * THREADS < n:
        put_out(outs, p + 3 * THREADS, w3)


@device_function
def fresh_word(keys, p, n):
    """The p-th key with its index; `LAST` beyond the end."""
    return word_of(keys[p], p) if p < n else LAST


@device_function
def pair_of(begin, run, total):
    """Where the pair of runs begins that a place is in, and how many words its two runs have."""
    pair = begin & -(2 * run)
    length = min(run, total - pair)
    return pair, length, min(run, total - pair - length)


@device_function
def find_split(source, begin, run, total):
    """How many of the words before a place are the first run's. All lanes of the warp take part."""
    pair, length_a, length_b = pair_of(begin, run, total)
    d = begin - pair
    low, high, b = max(d - length_b, np.int64(0)), min(d, length_a), pair + length_a + d - 1
    while high - low > WARP:
        step = (high - low) // (WARP + 1)
        i = low + (lane() + 1) * step - 1
        bits = ballot(source[pair + i] > source[b - i])
        if bits == 0:
            low += WARP * step
        else:
            holder = first_bit(bits)
            low, high = low + holder * step, low + (holder + 1) * step - 1
    i = low + lane()
    bits = ballot(i < high and source[pair + i] > source[b - i])
    return high if bits == 0 else low + first_bit(bits)


@device_function
def parts_of(begin, s, splits, run, total):
    """A tile's words of the two runs: where they begin, and how many are the first run's."""
    pair, length_a, length_b = pair_of(begin, run, total)
    i, d = splits[s], begin - pair
    end = length_a if d + TILE >= length_a + length_b else splits[s + 1]
    return pair + i, pair + length_a + d - i, end - i


@device_function
def fetch(source, i, a, b, length):
    """The i-th word of a tile, before it is merged."""
    return source[(a if i < length else b - length) + i]


@device_function
def merge_tiles(source, target, outs, group, many, run, total, n, local, splits):
    """Merge what falls into some adjacent tiles of the output, of which there are at most as many as warps."""
    warp, me, final = block_thread() // WARP, block_thread(), 2 * run >= total
    for s in range(warp, many + 1, WARPS):
        if (group + s) * TILE < total:
            split = find_split(source, (group + s) * TILE, run, total)
            if lane() == 0:
                splits[s] = split
    block_barrier()
    a, b, length = parts_of(group * TILE, np.int64(0), splits, run, total)
    w0, w1 = fetch(source, me, a, b, length), fetch(source, me + THREADS, a, b, length)
    w2, w3 = (
        fetch(source, me + 2 * THREADS, a, b, length),
        fetch(source, me + 3 * THREADS, a, b, length),
    )
    for s in range(many):
        put_strips(local, w0, w1, w2, w3)
        middle, d = np.int32(length), np.int32(ITEMS * me)
        block_barrier()
        if s + 1 < many:
            a, b, length = parts_of((group + s + 1) * TILE, s + 1, splits, run, total)
            w0, w1 = fetch(source, me, a, b, length), fetch(source, me + THREADS, a, b, length)
            w2, w3 = (
                fetch(source, me + 2 * THREADS, a, b, length),
                fetch(source, me + 3 * THREADS, a, b, length),
            )
        i = first_of(local, 0, middle, middle, TILE - middle, d)
        m0, m1, m2, m3 = merged_four(local, i, middle, np.int32(middle + d - i), np.int32(TILE))
        block_barrier()
        put_adjacent(local, m0, m1, m2, m3)
        block_barrier()
        store_tile(local, (group + s) * TILE, n, final, target, outs)
        block_barrier()


def merge_sort_kernel(it):
    """Sort by merging; see `Merging`."""
    keys, outs, control, n, tiles = it.keys, it.sorted, it.control, it.n, it.tiles
    local = cuda.shared.array(TILE, SHARED_WORD)
    splits = cuda.shared.array(SPLITS, INT64)
    first, last = block_index() * tiles // num_blocks(), (block_index() + 1) * tiles // num_blocks()
    for tile in range(first, last):
        p = tile * TILE + block_thread()
        w0, w1 = fresh_word(keys, p, n), fresh_word(keys, p + THREADS, n)
        w2, w3 = fresh_word(keys, p + 2 * THREADS, n), fresh_word(keys, p + 3 * THREADS, n)
        put_strips(local, w0, w1, w2, w3)
        block_barrier()
        sort_tile(local, TILE)
        store_tile(local, tile * TILE, n, tiles == 1, it.words, outs)
        block_barrier()
    generation, run, total = grid_barrier(control, np.int64(0)), np.int64(TILE), tiles * TILE
    source, target = it.words, it.other_words
    while run < total:
        for group in range(first, last, WARPS):
            many = min(np.int64(WARPS), last - group)
            merge_tiles(source, target, outs, group, many, run, total, n, local, splits)
        generation = grid_barrier(control, generation)
        source, target, run = target, source, 2 * run


@functools.cache
def _merge_kernel() -> Kernel:
    return fixed_kernel(merge_sort_kernel, signature())


def empty_pairs(n: int) -> Pairs:
    """Room for `n` keys and indices on the GPU."""
    return Pairs(empty(n, np.uint32), empty(n, np.uint32))


def merge_sort(keys: Any) -> tuple[Any, Any]:
    """Sort keys with their indices; equal keys by index.

    Args:
        keys: uint32, shape (n,), on the GPU, n < 2**31.

    Returns:
        The sorted keys, and for each the index that it had: uint32, shape (n,), on the GPU.
    """
    n, tiles = len(keys), -(-len(keys) // TILE)
    buffers, found = [empty(tiles * TILE, WORD) for _ in range(2)], empty_pairs(n)
    _merge_kernel().start([Merging(keys, *buffers, found, zeros(1, np.int64), n, tiles)])
    finish()
    return found
