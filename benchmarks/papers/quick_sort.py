"""Quicksort on a GPU, a rival in the reproduction of Zhong et al. 2016 (section 5.5, Figure 11).

It sorts uint32 keys together with their indices in one cooperative launch. Sequences of more than a tile are parted
around a pivot by many blocks: a first pass counts what is smaller, equal and larger in each piece, and reserves room
for it in the sequence; a second one moves it there, what is equal to where it stays. What is left is sorted by a
block each, as `merge_sort` sorts a tile. As in the reference there are two phases. The pivot is the median of 32
keys, where the reference takes the middle between least and largest, and a block sorts a short sequence by merging,
where the reference goes on with quicksort and ends with a bitonic sort.

Reference. Cederman and Tsigas, "GPU-Quicksort: A Practical Quicksort Algorithm for Graphics Processors", ACM Journal
of Experimental Algorithmics 14 (2009).
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from benchmarks.papers.merge_sort import (
    LAST,
    SHARED_WORD,
    TALLIES,
    TILE,
    Pairs,
    empty_pairs,
    put_out,
    put_strips,
    sort_tile,
    word_of,
)
from edgewise.kernels.cuda.arguments import AtomicInt32s, AtomicInt64s, Int32s, Int64s, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    HALVES,
    INT64,
    THREADS,
    WARP,
    WARPS,
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
    shuffle,
    shuffle_down,
    thread_index,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import empty, finish, zeros
from edgewise.primitives.control import TURNS, control_words

#: Words of quicksort's `control`: sequences and pieces of a level, in turns; short sequences, and those taken.
CONTROL = control_words()
SEQUENCES, PIECES = CONTROL.take_line(TURNS), CONTROL.take(TURNS)
SHORT, TAKEN = CONTROL.take_line(), CONTROL.take_line()
#: Bits of a piece's sequence, below those of its length, below those of its beginning. Of a short sequence, the bits of
#: its beginning are below those of its length, below those of its place: 0 is the input, 1 and 2 the buffers.
SEQUENCE_BITS, BEGIN_BITS, LENGTH_BITS = 19, 32, 16
#: Counts of what is smaller, equal and larger, in one word.
COUNT_BITS = 20
COUNT = 2**COUNT_BITS - 1


class Lists(NamedTuple):
    """What is parted: sequences and pieces of two levels by turns, and short sequences.

    Attributes:
        bounds: of sequences, shape (4 * most,).
        pivots: of sequences, shape (2 * most,).
        pieces: shape (2 * most,), see `BEGIN_BITS`.
        bases: of the pieces of one level: where room was reserved for what is smaller, equal and larger, (3 * most,).
        shorts: short sequences, shape (n,), see `BEGIN_BITS`.
    """

    bounds: Int64s
    pivots: Uint32s
    pieces: Int64s
    bases: Int32s
    shorts: Int64s


class Parting(NamedTuple):
    """What the kernel takes.

    Attributes:
        keys: shape (n,).
        pairs, other_pairs: of the levels by turns, shape (n,).
        sorted: shape (n,), to be filled.
        lists: see there.
        counts: of sequences of two levels by turns, what is smaller, equal and larger, (6 * most,).
        control: zeros, see `CONTROL`.
        n, most: keys; how many sequences and pieces a level has at most.
    """

    keys: Uint32s
    pairs: Pairs
    other_pairs: Pairs
    sorted: Pairs
    lists: Lists
    counts: AtomicInt32s
    control: AtomicInt64s
    n: int
    most: int


def signature() -> tuple[Any, ...]:
    """The type of the kernel's argument."""
    return (type_of(Parting),)


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
        lists, counts, control: see `Parting`.
    """
    length = end - begin
    if length > TILE:
        many, s, p = (length + TILE - 1) // TILE, np.int64(0), np.int64(0)
        pivot = median_of_sample(keys, begin, length)
        if lane() == 0:
            s = atomic_add(control, SEQUENCES + level % TURNS, 1)
            p = atomic_add(control, PIECES + level % TURNS, many)
            at = (level & 1) * most + s
            lists.bounds[2 * at] = begin
            lists.bounds[2 * at + 1] = end
            lists.pivots[at] = np.uint32(pivot)
            for which in range(3):
                counts[3 * at + which] = 0
        s, p = shuffle(s, 0), shuffle(p, 0)
        for i in range(lane(), many, WARP):
            start = begin + i * TILE
            here = min(end - start, np.int64(TILE))
            lists.pieces[(level & 1) * most + p + i] = (start << BEGIN_BITS) | (here << SEQUENCE_BITS) | s
    elif length > 0 and lane() == 0:
        i = atomic_add(control, SHORT, 1)
        lists.shorts[i] = (place << (BEGIN_BITS + LENGTH_BITS)) | (length << BEGIN_BITS) | begin


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
def count_pieces(keys, many, here, lists, counts, tally):
    """Count what is in each piece, and reserve room in its sequence. The next piece is loaded while one is counted."""
    pivots, pieces, bases = lists.pivots, lists.pieces, lists.bases
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
        outs.keys[equal + rank] = key
        outs.indices[equal + rank] = value
    elif shift >= 0:
        p = (smaller if shift == 0 else larger) + rank
        target.keys[p] = key
        target.indices[p] = value


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
def move_pieces(source, fresh, target, outs, many, here, lists, counts, tally):
    """Move what is in each piece to the room reserved for it. The next piece is loaded while one is moved."""
    bounds, pivots, pieces, bases = lists.bounds, lists.pivots, lists.pieces, lists.bases
    p, turn, warp = block_index(), np.int64(0), block_thread() // WARP
    piece, after = piece_at(pieces, here, p, many), piece_at(pieces, here, p + num_blocks(), many)
    pivot, k0, k1, k2, k3 = load_piece(piece, here, pivots, source.keys)
    v0, v1, v2, v3 = load_values(piece, source.indices, fresh)
    while p < many:
        following, after = after, piece_at(pieces, here, p + 2 * num_blocks(), many)
        next_pivot, n0, n1, n2, n3 = load_piece(following, here, pivots, source.keys)
        m0, m1, m2, m3 = load_values(following, source.indices, fresh)
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
def sort_shorts(it, local, taken):
    """Sort all short sequences, a block each."""
    control, outs, pairs, other_pairs = it.control, it.sorted, it.pairs, it.other_pairs
    i, many, me = block_index(), control[SHORT], block_thread()
    while i < many:
        short = it.lists.shorts[i]
        if me == 0:
            taken[0] = num_blocks() + atomic_add(control, TAKEN, 1)
        begin, place = short & (2**BEGIN_BITS - 1), short >> (BEGIN_BITS + LENGTH_BITS)
        length, fresh = short >> BEGIN_BITS & (2**LENGTH_BITS - 1), place == 0
        from_keys = it.keys if fresh else (pairs.keys if place == 1 else other_pairs.keys)
        from_values = pairs.indices if place == 1 else other_pairs.indices
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


def quick_sort_kernel(it):
    """Sort by parting sequences; see `Parting`."""
    keys, lists, counts, control, n, most = it.keys, it.lists, it.counts, it.control, it.n, it.most
    local = cuda.shared.array(TILE, SHARED_WORD)
    tally = cuda.shared.array(TALLIES, INT64)
    taken = cuda.shared.array(1, INT64)
    warp, warps, level = thread_index() // WARP, num_threads() // WARP, np.int64(0)
    if warp == 0:
        add_sequence(np.int64(0), n, np.int64(0), keys, level, most, lists, counts, control)
    generation = grid_barrier(control, np.int64(0))
    many = control[PIECES]
    while many > 0:
        here = (level & 1) * most
        if thread_index() == 0:
            control[SEQUENCES + (level + 2) % TURNS] = 0
            control[PIECES + (level + 2) % TURNS] = 0
        source, target = it.other_pairs, it.pairs
        if level & 1:
            source, target = it.pairs, it.other_pairs
        elif level == 0:
            source = Pairs(keys, it.other_pairs.indices)
        count_pieces(source.keys, many, here, lists, counts, tally)
        generation = grid_barrier(control, generation)
        fresh = level == 0
        move_pieces(source, fresh, target, it.sorted, many, here, lists, counts, tally)
        generation = grid_barrier(control, generation)
        level += 1
        place = 2 - (level & 1)
        for s in range(warp, control[SEQUENCES + (level - 1) % TURNS], warps):
            begin, end = lists.bounds[2 * (here + s)], lists.bounds[2 * (here + s) + 1]
            at = 3 * (here + s)
            middle, rest = begin + counts[at], end - counts[at + 2]
            add_sequence(begin, middle, place, target[0], level, most, lists, counts, control)
            add_sequence(rest, end, place, target[0], level, most, lists, counts, control)
        generation = grid_barrier(control, generation)
        many = control[PIECES + level % TURNS]
    sort_shorts(it, local, taken)


@functools.cache
def _quick_kernel() -> Kernel:
    return fixed_kernel(quick_sort_kernel, signature())


def quick_sort(keys: Any) -> tuple[Any, Any]:
    """Sort keys with their indices; equal keys in any order.

    Args:
        keys: uint32, shape (n,), on the GPU, n < 2**31.

    Returns:
        The sorted keys, and for each the index that it had: uint32, shape (n,), on the GPU.
    """
    n, most = len(keys), 2 * (len(keys) // TILE + 1)
    lists = Lists(
        bounds=empty(4 * most, np.int64),
        pivots=empty(2 * most, np.uint32),
        pieces=empty(2 * most, np.int64),
        bases=empty(3 * most, np.int32),
        shorts=empty(n, np.int64),
    )
    pairs, other_pairs, found = empty_pairs(n), empty_pairs(n), empty_pairs(n)
    counts, control = empty(6 * most, np.int32), zeros(CONTROL.size, np.int64)
    _quick_kernel().start([Parting(keys, pairs, other_pairs, found, lists, counts, control, n, most)])
    finish()
    return found
