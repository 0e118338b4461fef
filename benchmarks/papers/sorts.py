"""Comparison sorts on a GPU, as rivals in the reproduction of Zhong et al. 2016 (section 5.5, Figure 11).

Both sort uint32 keys together with their indices, each in one cooperative launch. A block of threads sorts a tile of
4,096 words, key and index in 64 bits, in shared memory: each thread sorts four in registers, then runs are merged in
pairs, a thread finding its four words of a merged run by a binary search on the run's diagonal.

Merge sort. Sorted tiles are merged in pairs until one run is left. In each pass all blocks have equal shares of the
output, and find where a tile of it begins in the two runs by a search on the diagonal, 32 ways at a time, a warp for
each tile. The next tile is loaded while one is merged.

Quicksort. Sequences of more than a tile are parted around a pivot by many blocks: a first pass counts what is smaller,
equal and larger in each piece, and reserves room for it in the sequence; a second one moves it there, what is equal to
where it stays. What is left is sorted by a block each. As in the reference there are two phases. The pivot is the
median of 32 keys, where the reference takes the middle between least and largest, and a block sorts a short sequence by
merging, where the reference goes on with quicksort and ends with a bitonic sort.

References. Green, McColl, Bader, "GPU Merge Path: A GPU Merging Algorithm", ICS 2012. Cederman and Tsigas,
"GPU-Quicksort: A Practical Quicksort Algorithm for Graphics Processors", ACM Journal of Experimental Algorithmics 14
(2009).
"""

import functools
from typing import Any

import numpy as np
from numba import cuda

from edgewise.kernels.cuda.arguments import array, pointer, tuple_of, words
from edgewise.kernels.cuda.device import (
    HALVES,
    INT64,
    THREADS,
    WARP,
    atomic_add,
    ballot,
    block_barrier,
    block_index,
    block_thread,
    count_bits,
    device_function,
    first_bit,
    grid_barrier,
    lane,
    lanes_before,
    num_blocks,
    num_threads,
    numba_type,
    shuffle,
    shuffle_down,
    thread_index,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import empty, finish, zeros

#: Words that a thread has of a tile, and those of a tile.
ITEMS = 4
TILE = ITEMS * THREADS
WARPS = THREADS // WARP
#: Where the tiles that a block's warps look for begin, and where the last one ends.
SPLITS = WARPS + 1
TALLIES = 2 * WARPS
WORD = np.dtype(np.uint64)
SHARED_WORD = numba_type(WORD)
#: A word after all others, which fills up the last tile. No key has this index.
LAST = np.uint64(2**64 - 1)
HALF = np.uint64(32)
LOW_HALF = np.uint64(2**32 - 1)


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
    outs[0][p] = np.uint32(word >> HALF)
    outs[1][p] = np.uint32(word & LOW_HALF)


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


def merge_sort_kernel(keys, buffers, outs, control, n, tiles):
    """Sort by merging.

    Args:
        keys: uint32, (n,).
        buffers: two of uint64, (tiles * TILE,).
        outs: uint32, (n,), for the sorted keys and their indices.
        control: one zero, which counts arrivals at the barrier.
        n, tiles: keys and tiles.
    """
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
        store_tile(local, tile * TILE, n, tiles == 1, buffers[0], outs)
        block_barrier()
    generation, run, total = grid_barrier(control, np.int64(0)), np.int64(TILE), tiles * TILE
    source, target = buffers[0], buffers[1]
    while run < total:
        for group in range(first, last, WARPS):
            many = min(np.int64(WARPS), last - group)
            merge_tiles(source, target, outs, group, many, run, total, n, local, splits)
        generation = grid_barrier(control, generation)
        source, target, run = target, source, 2 * run


_INDEX, _SIGNED = pointer(np.dtype(np.uint32)), pointer(np.dtype(np.int64))
#: The types of the arguments of `merge_sort_kernel`.
MERGE_TYPES = (
    _INDEX,
    tuple_of([pointer(WORD)] * 2),
    tuple_of([_INDEX] * 2),
    array(np.dtype(np.int64)),
    INT64,
    INT64,
)


@functools.cache
def _merge_kernel() -> Kernel:
    return fixed_kernel(merge_sort_kernel, MERGE_TYPES)


def merge_sort(keys: Any) -> tuple[Any, Any]:
    """Sort keys with their indices; equal keys by index.

    Args:
        keys: uint32, shape (n,), on the GPU, n < 2**31.

    Returns:
        The sorted keys, and for each the index that it had: uint32, shape (n,), on the GPU.
    """
    n, tiles = len(keys), -(-len(keys) // TILE)
    buffers, outs = [empty(tiles * TILE, WORD) for _ in range(2)], [empty(n, np.uint32) for _ in range(2)]
    _merge_kernel().start([keys, *buffers, *outs, words(zeros(1, np.int64)), n, tiles])
    finish()
    return outs[0], outs[1]


#: Words of quicksort's `control`: word 0 counts arrivals at the barrier; sequences and pieces of a level, of three by
#: turns; short sequences, and those that were taken.
SEQUENCES, PIECES, SHORT, TAKEN = 16, 19, 32, 48
QUICK_WORDS = 64
#: Bits of a piece's sequence, below those of its length, below those of its beginning. Of a short sequence, the bits of
#: its beginning are below those of its length, below those of its place: 0 is the input, 1 and 2 the buffers.
SEQUENCE_BITS, BEGIN_BITS, LENGTH_BITS = 19, 32, 16
#: Counts of what is smaller, equal and larger, in one word.
COUNT_BITS = 20
COUNT = 2**COUNT_BITS - 1


@device_function
def median_of_sample(keys, begin, length):
    """The median of 32 keys that are spread over a sequence. All lanes of the warp take part."""
    key = np.int64(keys[begin + (2 * lane() + 1) * length // (2 * WARP)])
    rank = 0
    for other in range(WARP):
        value = shuffle(key, other)
        if value < key or (value == key and other < lane()):
            rank += 1
    return shuffle(key, first_bit(ballot(rank == WARP // 2)))


@device_function
def add_sequence(begin, end, place, keys, level, most, lists, counts, control):
    """List a sequence: to be parted in a level, or to be sorted. All lanes of the warp take part.

    Args:
        begin, end, place: where it is: see `BEGIN_BITS`.
        keys: of that place.
        level: the level that parts it.
        most: how many sequences and pieces a level has at most.
        lists, counts, control: see `quick_sort_kernel`.
    """
    bounds, pivots, pieces, _, shorts = lists
    length = end - begin
    if length > TILE:
        many, s, p = (length + TILE - 1) // TILE, np.int64(0), np.int64(0)
        pivot = median_of_sample(keys, begin, length)
        if lane() == 0:
            s = atomic_add(control, SEQUENCES + level % 3, 1)
            p = atomic_add(control, PIECES + level % 3, many)
            at = (level & 1) * most + s
            bounds[2 * at] = begin
            bounds[2 * at + 1] = end
            pivots[at] = np.uint32(pivot)
            for which in range(3):
                counts[3 * at + which] = 0
        s, p = shuffle(s, 0), shuffle(p, 0)
        for i in range(lane(), many, WARP):
            start = begin + i * TILE
            here = min(end - start, np.int64(TILE))
            pieces[(level & 1) * most + p + i] = (start << BEGIN_BITS) | (here << SEQUENCE_BITS) | s
    elif length > 0 and lane() == 0:
        i = atomic_add(control, SHORT, 1)
        shorts[i] = (place << (BEGIN_BITS + LENGTH_BITS)) | (length << BEGIN_BITS) | begin


@device_function
def unpacked(piece):
    """A piece's sequence, its length, and where it begins."""
    low = piece & (2**BEGIN_BITS - 1)
    return low & (2**SEQUENCE_BITS - 1), low >> SEQUENCE_BITS, piece >> BEGIN_BITS


@device_function
def piece_at(pieces, here, p, many):
    """The p-th piece; one without keys beyond the last."""
    return pieces[here + p] if p < many else np.int64(0)


@device_function
def strip_of(values, begin, length, strip):
    """This thread's element of a strip of a piece; 0 beyond its end."""
    i = strip * THREADS + block_thread()
    return values[begin + i] if i < length else np.uint32(0)


@device_function
def load_piece(piece, here, pivots, keys):
    """The pivot of a piece's sequence, and this thread's four keys."""
    s, length, begin = unpacked(piece)
    k0, k1 = strip_of(keys, begin, length, 0), strip_of(keys, begin, length, 1)
    k2, k3 = strip_of(keys, begin, length, 2), strip_of(keys, begin, length, 3)
    return pivots[here + s], k0, k1, k2, k3


@device_function
def class_of(key, pivot, length, strip):
    """The shift of the count of a key, smaller, equal or larger; -1 beyond the end of the piece."""
    if strip * THREADS + block_thread() >= length:
        return np.int32(-1)
    return np.int32(0 if key < pivot else (COUNT_BITS if key == pivot else 2 * COUNT_BITS))


@device_function
def one_of(shift):
    """One key of a class, as a count."""
    return np.int64(1) << np.int64(shift) if shift >= 0 else np.int64(0)


@device_function
def sum_of_tallies(tally, begin, end):
    """The sum of some warps' counts, on lane 0. All lanes of the warp take part."""
    total = np.int64(0)
    for warp in range(begin + lane(), end, WARP):
        total += tally[warp]
    for step in HALVES:
        total += shuffle_down(total, step)
    return total


@device_function
def count_pieces(keys, many, here, pivots, pieces, bases, counts, tally):
    """Count what is in each piece, and reserve room in its sequence. The next piece is loaded while one is counted."""
    p, turn, warp = block_index(), np.int64(0), block_thread() // WARP
    piece, after = piece_at(pieces, here, p, many), piece_at(pieces, here, p + num_blocks(), many)
    pivot, k0, k1, k2, k3 = load_piece(piece, here, pivots, keys)
    while p < many:
        following, after = after, piece_at(pieces, here, p + 2 * num_blocks(), many)
        next_pivot, n0, n1, n2, n3 = load_piece(following, here, pivots, keys)
        s, length, _ = unpacked(piece)
        count = one_of(class_of(k0, pivot, length, 0)) + one_of(class_of(k1, pivot, length, 1))
        count += one_of(class_of(k2, pivot, length, 2)) + one_of(class_of(k3, pivot, length, 3))
        for step in HALVES:
            count += shuffle_down(count, step)
        if lane() == 0:
            tally[turn + warp] = count
        block_barrier()
        if warp == 0:
            count = sum_of_tallies(tally, turn, turn + WARPS)
            if lane() == 0:
                at = 3 * (here + s)
                smaller = atomic_add(counts, at, np.int32(count & COUNT))
                equal = atomic_add(counts, at + 1, np.int32(count >> COUNT_BITS & COUNT))
                larger = atomic_add(counts, at + 2, np.int32(count >> 2 * COUNT_BITS))
                bases[3 * p] = smaller
                bases[3 * p + 1] = equal
                bases[3 * p + 2] = larger
        piece, pivot, k0, k1, k2, k3 = following, next_pivot, n0, n1, n2, n3
        p += num_blocks()
        turn = WARPS - turn


@device_function
def rank_in_warp(shift, so_far):
    """How many keys of the warp are of this key's class and before it; the counts of all with this strip."""
    smaller, equal = ballot(shift == 0), ballot(shift == COUNT_BITS)
    larger = ballot(shift == 2 * COUNT_BITS)
    mine = smaller if shift == 0 else (equal if shift == COUNT_BITS else larger)
    rank = np.int32((so_far >> max(shift, 0) & COUNT) + lanes_before(mine))
    added = count_bits(smaller) + (count_bits(equal) << COUNT_BITS) + (count_bits(larger) << 2 * COUNT_BITS)
    return rank, so_far + added


@device_function
def move(key, value, shift, rank, smaller, equal, larger, target, outs):
    """Put a key into its part of the sequence, at its rank."""
    if shift == COUNT_BITS:
        outs[0][equal + rank] = key
        outs[1][equal + rank] = value
    elif shift >= 0:
        p = (smaller if shift == 0 else larger) + rank
        target[0][p] = key
        target[1][p] = value


@device_function
def value_strip(values, begin, length, strip, fresh):
    """This thread's value of a strip: in the input, keys have their indices."""
    if fresh:
        return np.uint32(begin + strip * THREADS + block_thread())
    return strip_of(values, begin, length, strip)


@device_function
def load_values(piece, values, fresh):
    """This thread's four values of a piece."""
    _, length, begin = unpacked(piece)
    v0, v1 = value_strip(values, begin, length, 0, fresh), value_strip(values, begin, length, 1, fresh)
    v2, v3 = value_strip(values, begin, length, 2, fresh), value_strip(values, begin, length, 3, fresh)
    return v0, v1, v2, v3


@device_function
def move_pieces(source, fresh, target, outs, many, here, bounds, pivots, pieces, bases, counts, tally):
    """Move what is in each piece to the room reserved for it. The next piece is loaded while one is moved."""
    p, turn, warp = block_index(), np.int64(0), block_thread() // WARP
    piece, after = piece_at(pieces, here, p, many), piece_at(pieces, here, p + num_blocks(), many)
    pivot, k0, k1, k2, k3 = load_piece(piece, here, pivots, source[0])
    v0, v1, v2, v3 = load_values(piece, source[1], fresh)
    while p < many:
        following, after = after, piece_at(pieces, here, p + 2 * num_blocks(), many)
        next_pivot, n0, n1, n2, n3 = load_piece(following, here, pivots, source[0])
        m0, m1, m2, m3 = load_values(following, source[1], fresh)
        s, length, _ = unpacked(piece)
        at, begin, end = here + s, bounds[2 * (here + s)], bounds[2 * (here + s) + 1]
        smaller, equal, larger = begin + bases[3 * p], bases[3 * p + 1], bases[3 * p + 2]
        equal, larger = begin + counts[3 * at] + equal, end - counts[3 * at + 2] + larger
        c0, c1 = class_of(k0, pivot, length, 0), class_of(k1, pivot, length, 1)
        c2, c3 = class_of(k2, pivot, length, 2), class_of(k3, pivot, length, 3)
        r0, count = rank_in_warp(c0, np.int64(0))
        r1, count = rank_in_warp(c1, count)
        r2, count = rank_in_warp(c2, count)
        r3, count = rank_in_warp(c3, count)
        if lane() == 0:
            tally[turn + warp] = count
        block_barrier()
        before = shuffle(sum_of_tallies(tally, turn, turn + warp), 0)
        smaller += before & COUNT
        equal += before >> COUNT_BITS & COUNT
        larger += before >> 2 * COUNT_BITS
        move(k0, v0, c0, r0, smaller, equal, larger, target, outs)
        move(k1, v1, c1, r1, smaller, equal, larger, target, outs)
        move(k2, v2, c2, r2, smaller, equal, larger, target, outs)
        move(k3, v3, c3, r3, smaller, equal, larger, target, outs)
        piece, pivot, k0, k1, k2, k3 = following, next_pivot, n0, n1, n2, n3
        v0, v1, v2, v3 = m0, m1, m2, m3
        p += num_blocks()
        turn = WARPS - turn


@device_function
def short_word(keys, values, fresh, begin, length, i):
    """The i-th word of a short sequence; `LAST` beyond its end."""
    if i >= length:
        return LAST
    return word_of(keys[begin + i], np.uint32(begin + i) if fresh else values[begin + i])


@device_function
def sort_shorts(keys, buffers, outs, shorts, control, local, taken):
    """Sort all short sequences, a block each."""
    i, many, me = block_index(), control[SHORT], block_thread()
    while i < many:
        short = shorts[i]
        if me == 0:
            taken[0] = num_blocks() + atomic_add(control, TAKEN, 1)
        begin, place = short & (2**BEGIN_BITS - 1), short >> (BEGIN_BITS + LENGTH_BITS)
        length, fresh = short >> BEGIN_BITS & (2**LENGTH_BITS - 1), place == 0
        from_keys = keys if fresh else (buffers[0] if place == 1 else buffers[2])
        from_values = buffers[1] if place == 1 else buffers[3]
        w0 = short_word(from_keys, from_values, fresh, begin, length, me)
        w1 = short_word(from_keys, from_values, fresh, begin, length, me + THREADS)
        w2 = short_word(from_keys, from_values, fresh, begin, length, me + 2 * THREADS)
        w3 = short_word(from_keys, from_values, fresh, begin, length, me + 3 * THREADS)
        put_strips(local, w0, w1, w2, w3)
        block_barrier()
        sort_tile(local, length)
        for k in range(me, length, THREADS):
            put_out(outs, begin + k, local[np.uint32(k)])
        i = taken[0]
        block_barrier()


def quick_sort_kernel(keys, buffers, outs, lists, counts, control, n, most):
    """Sort by parting sequences.

    Args:
        keys: uint32, (n,).
        buffers: uint32, (n,): keys and values, twice.
        outs: uint32, (n,), for the sorted keys and their indices.
        lists: of two levels by turns: sequences' bounds, int64, (4 * most,), and pivots, uint32, (2 * most,); pieces,
            int64, (2 * most,). Of one level: bases of pieces, int32, (3 * most,). Short sequences, int64, (n,).
        counts: of sequences of two levels by turns: what is smaller, equal and larger; int32, (6 * most,).
        control: QUICK_WORDS zeros.
        n, most: keys; how many sequences and pieces a level has at most.
    """
    local = cuda.shared.array(TILE, SHARED_WORD)
    tally = cuda.shared.array(TALLIES, INT64)
    taken = cuda.shared.array(1, INT64)
    bounds, pivots, pieces, bases, shorts = lists
    warp, warps, level = thread_index() // WARP, num_threads() // WARP, np.int64(0)
    if warp == 0:
        add_sequence(np.int64(0), n, np.int64(0), keys, level, most, lists, counts, control)
    generation = grid_barrier(control, np.int64(0))
    many = control[PIECES]
    while many > 0:
        here = (level & 1) * most
        if thread_index() == 0:
            control[SEQUENCES + (level + 2) % 3] = 0
            control[PIECES + (level + 2) % 3] = 0
        source, target = (buffers[2], buffers[3]), (buffers[0], buffers[1])
        if level & 1:
            source, target = (buffers[0], buffers[1]), (buffers[2], buffers[3])
        elif level == 0:
            source = (keys, buffers[3])
        count_pieces(source[0], many, here, pivots, pieces, bases, counts, tally)
        generation = grid_barrier(control, generation)
        fresh = level == 0
        move_pieces(source, fresh, target, outs, many, here, bounds, pivots, pieces, bases, counts, tally)
        generation = grid_barrier(control, generation)
        level += 1
        place = 2 - (level & 1)
        for s in range(warp, control[SEQUENCES + (level - 1) % 3], warps):
            begin, end, at = bounds[2 * (here + s)], bounds[2 * (here + s) + 1], 3 * (here + s)
            middle, rest = begin + counts[at], end - counts[at + 2]
            add_sequence(begin, middle, place, target[0], level, most, lists, counts, control)
            add_sequence(rest, end, place, target[0], level, most, lists, counts, control)
        generation = grid_barrier(control, generation)
        many = control[PIECES + level % 3]
    sort_shorts(keys, buffers, outs, shorts, control, local, taken)


#: The types of the arguments of `quick_sort_kernel`.
QUICK_TYPES = (
    _INDEX,
    tuple_of([_INDEX] * 4),
    tuple_of([_INDEX] * 2),
    tuple_of([_SIGNED, _INDEX, _SIGNED, pointer(np.dtype(np.int32)), _SIGNED]),
    array(np.dtype(np.int32)),
    array(np.dtype(np.int64)),
    INT64,
    INT64,
)


@functools.cache
def _quick_kernel() -> Kernel:
    return fixed_kernel(quick_sort_kernel, QUICK_TYPES)


def quick_sort(keys: Any) -> tuple[Any, Any]:
    """Sort keys with their indices; equal keys in any order.

    Args:
        keys: uint32, shape (n,), on the GPU, n < 2**31.

    Returns:
        The sorted keys, and for each the index that it had: uint32, shape (n,), on the GPU.
    """
    n, most = len(keys), 2 * (len(keys) // TILE + 1)
    buffers, outs = [empty(n, np.uint32) for _ in range(4)], [empty(n, np.uint32) for _ in range(2)]
    lists = [
        empty(4 * most, np.int64),
        empty(2 * most, np.uint32),
        empty(2 * most, np.int64),
        empty(3 * most, np.int32),
        empty(n, np.int64),
    ]
    control = zeros(QUICK_WORDS, np.int64)
    counts = empty(6 * most, np.int32)
    _quick_kernel().start([keys, *buffers, *outs, *lists, words(counts), words(control), n, most])
    finish()
    return outs[0], outs[1]
