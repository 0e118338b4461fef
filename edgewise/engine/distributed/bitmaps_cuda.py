# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Bitmaps of the elements of an array on a GPU that have a value, or have changed, and the places of bits as a list.

A warp makes a word at a time (`edgewise.primitives.bitmaps`). To list places in ascending order, each warp
has words in a row: it counts their bits first, and so all know where their places begin in the list.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import AtomicInt64s, Int64s, Keys, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    INT64,
    WARP,
    WARPS,
    atomic_add,
    ballot,
    block_index,
    block_thread,
    count_bits,
    cuda,
    device_function,
    first_bit,
    grid_barrier,
    lane,
    lanes_before,
    num_blocks,
    num_threads,
    shuffle,
    thread_index,
    warp_sum,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import empty, host_copy, zeros
from edgewise.primitives.bitmaps import BITS, bits_in, is_of_lane, lanes_of, word_with, words_for
from edgewise.primitives.deal import place_in_block
from edgewise.primitives.running_sums import sum_to_lane

_num_words = device_function(words_for)
#: Words of `Listing.control`, behind that of the barrier.
_ALL_BITS, _LAST = 1, 2


class Marking(NamedTuple):
    """What `mark_kernel` takes.

    Attributes:
        values: shape (n,).
        bits: one for each value that is equal to `value`, shape (number of words,); overwritten.
        count: a zero, to which their number is added.
        n: how many values there are.
        value: see `bits`.
    """

    values: Keys
    bits: Int64s
    count: AtomicInt64s
    n: int
    value: int


class Changing(NamedTuple):
    """What `change_kernel` takes.

    Attributes:
        values, told: shape (n,), unsigned; `told` is made equal to `values`.
        bits: one for each value that differs, shape (number of words,).
        n: how many values there are.
        anew: whether `bits` is overwritten; else bits are added.
    """

    values: Keys
    told: Keys
    bits: Int64s
    n: int
    anew: bool


class Selecting(NamedTuple):
    """What `select_kernel` takes.

    Attributes:
        bits, wanted: bitmaps, shape (words,).
        kept: what is in both; overwritten.
        count: a zero, to which their number is added.
        words: the length of the bitmaps.
    """

    bits: Int64s
    wanted: Int64s
    kept: Int64s
    count: AtomicInt64s
    words: int


class Listing(NamedTuple):
    """What `list_kernel` takes.

    Attributes:
        bits: a bitmap, shape (words,).
        counts: shape (blocks,), for the bits of each block's words.
        control: zeros: for the barrier; for the number of all bits that are set; and for the last word of the bitmap.
        places: of bits, ascending; those that do not fit are left out.
        words, number: the lengths of `bits` and `places`.
    """

    bits: Int64s
    counts: Int64s
    control: AtomicInt64s
    places: Uint32s
    words: int
    number: int


def mark_kernel(it):
    """Make a bitmap; see `Marking`."""
    count = np.int64(0)
    for w in range(thread_index() // WARP, _num_words(it.n), num_threads() // WARP):
        word = np.int64(0)
        for part in range(0, BITS, WARP):
            i = w * BITS + part + lane()
            word = word_with(i < it.n and it.values[i] == it.value, word, part)
        if lane() == 0:
            it.bits[w] = word
        count += bits_in(word)
    if lane() == 0 and count > 0:
        atomic_add(it.count, 0, count)


def change_kernel(it):
    """Note what has changed; see `Changing`."""
    for w in range(thread_index() // WARP, _num_words(it.n), num_threads() // WARP):
        word = np.int64(0)
        for part in range(0, BITS, WARP):
            i, differs = w * BITS + part + lane(), False
            if i < it.n:
                value = it.values[i]
                if value != it.told[i]:
                    it.told[i] = value
                    differs = True
            word = word_with(differs, word, part)
        if lane() == 0:
            if it.anew == 0:
                word |= np.int64(it.bits[w])
            it.bits[w] = word


def select_kernel(it):
    """Keep the bits of both bitmaps; see `Selecting`."""
    count = np.int64(0)
    for w in range(thread_index(), it.words, num_threads()):
        word = np.int64(it.bits[w]) & np.int64(it.wanted[w])
        it.kept[w] = word
        count += bits_in(word)
    count = warp_sum(count)
    if lane() == 0 and count > 0:
        atomic_add(it.count, 0, count)


def list_kernel(it):
    """List the places of bits; see `Listing`."""
    tally = cuda.shared.array(WARPS, INT64)
    warp, count = block_thread() // WARP, np.int64(0)
    each = (it.words + num_blocks() * WARPS - 1) // (num_blocks() * WARPS)
    first = (block_index() * WARPS + warp) * each
    last = min(it.words, first + each)
    for w in range(first + lane(), last, WARP):
        count += bits_in(it.bits[w])
    place, total = place_in_block(warp_sum(count), tally)
    if block_thread() == 0:
        it.counts[block_index()] = total
        atomic_add(it.control, _ALL_BITS, total)
        if block_index() == 0 and it.words > 0:
            it.control[_LAST] = it.bits[it.words - 1]
    grid_barrier(it.control, np.int64(0))
    before = np.int64(0)
    for block in range(lane(), block_index(), WARP):
        before += it.counts[block]
    place += shuffle(warp_sum(before), 0)
    for begin in range(first, last, WARP):
        w, word = begin + lane(), np.int64(0)
        if w < last:
            word = np.int64(it.bits[w])
        upto = sum_to_lane(bits_in(word))
        _list_words(w, word, place + upto - bits_in(word), it)
        place += shuffle(upto, WARP - 1)


@device_function
def _list_words(w: Any, word: Any, place: Any, it: Any) -> None:
    """List the places of the bits of this lane's word, from `place` on. All lanes of the warp take part."""
    rest = ballot(word != 0)
    while rest != 0:
        holder = first_bit(rest)
        given, at, first = shuffle(word, holder), shuffle(place, holder), shuffle(w, holder) * BITS
        for part in range(0, BITS, WARP):
            bits = lanes_of(given, part)
            own = at + lanes_before(bits)
            if is_of_lane(bits) and own < it.number:
                it.places[own] = np.uint32(first + part + lane())
            at += count_bits(bits)
        rest = np.uint32(rest & (rest - np.uint32(1)))


def marking_types(dtype: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of `mark_kernel` for values of this dtype."""
    return (type_of(Marking, key=dtype),)


def changing_types(dtype: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of `change_kernel` for values of this dtype."""
    return (type_of(Changing, key=dtype),)


SELECTING, LISTING = (type_of(Selecting),), (type_of(Listing),)


@functools.cache
def _marking(dtype: np.dtype) -> Kernel:
    return fixed_kernel(mark_kernel, marking_types(dtype))


@functools.cache
def _changing(dtype: np.dtype) -> Kernel:
    return fixed_kernel(change_kernel, changing_types(dtype))


@functools.cache
def _selecting() -> Kernel:
    return fixed_kernel(select_kernel, SELECTING)


@functools.cache
def _listing() -> Kernel:
    return fixed_kernel(list_kernel, LISTING)


class Marks(NamedTuple):
    """Which elements of an array have a value.

    Attributes:
        bits: int64 on the GPU, a bit for each element.
        count: how many of them are set.
        length: of the array.
    """

    bits: Any
    count: int
    length: int

    def places(self) -> Any:
        """Those of the bits that are set, uint32 on the GPU, ascending."""
        return places_of(self.bits, self.count)


def marked(rows: Sequence[Any], value: int) -> list[Marks]:
    """Which elements of arrays are equal to a value. The host waits once for all of them.

    Args:
        rows: uint8 or uint32, on the GPU.
        value: which one.
    """
    counts = zeros(max(1, len(rows)), np.int64)
    found = [bits_equal(row, value, counts[i : i + 1]) for i, row in enumerate(rows)]
    numbers = host_copy(counts).tolist()
    return [Marks(bits, count, len(row)) for row, bits, count in zip(rows, found, numbers, strict=False)]


def bits_equal(row: Any, value: int, count: Any = None) -> Any:
    """A bit for each element of an array that is equal to a value; see `Marking`.

    Args:
        row: uint8 or uint32, on the GPU.
        value: which one.
        count: a zero, int64, shape (1,), on the GPU, to which the number of bits is added.
    """
    bits, counted = empty(words_for(len(row)), np.int64), zeros(1, np.int64) if count is None else count
    if len(row):
        kernel = _marking(row.dtype)
        kernel.start([Marking(row, bits, counted, len(row), value)], _blocks(kernel, len(bits)))
    return bits


def changed(arrays: Sequence[Any], told: Sequence[Any]) -> Any:
    """A bit for each place where one of the arrays differs from what was told of it, which is made equal to it.

    Args:
        arrays, told: unsigned integers on the GPU, pairs of one dtype; all of one length, and at least one pair.
    """
    length = len(told[0])
    bits = empty(words_for(length), np.int64)
    for i, (values, known) in enumerate(zip(arrays, told, strict=True)):
        if length:
            kernel = _changing(known.dtype)
            kernel.start([Changing(values, known, bits, length, i == 0)], _blocks(kernel, len(bits)))
    return bits


def among(bits: Any, length: int, wanted: Sequence[Any]) -> list[Marks]:
    """The bits of a bitmap of so many places that each of others has, too. The host waits once for all of them."""
    counts, found = zeros(max(1, len(wanted)), np.int64), [empty(len(bits), np.int64) for _ in wanted]
    for i, (which, kept) in enumerate(zip(wanted, found, strict=True)):
        if length:
            kernel, words = _selecting(), len(bits)
            passed = Selecting(bits, which, kept, counts[i : i + 1], words)
            kernel.start([passed], _blocks(kernel, -(-words // WARP)))
    numbers = host_copy(counts).tolist()
    return [Marks(kept, count, length) for kept, count in zip(found, numbers, strict=False)]


def places_of(bits: Any, count: int) -> Any:
    """The places of the first `count` bits that are set, uint32 on the GPU, ascending."""
    return _listed(bits, count)[0]


def checked_places_of(bits: Any, count: int, length: int) -> Any:
    """`places_of` a bitmap of so many places, or None if other than `count` bits are set, or one that has no place.
    The host waits once."""
    places, control = _listed(bits, count)
    _, found, last = host_copy(control).tolist()
    in_last = length - BITS * (len(bits) - 1)
    return places if found == count and (in_last == BITS or last >> in_last == 0) else None


def _listed(bits: Any, count: int) -> tuple[Any, Any]:
    """What `list_kernel` lists, and its `control`."""
    places, kernel = empty(count, np.uint32), _listing()
    blocks = _blocks(kernel, -(-len(bits) // WARP))
    counts, control = empty(blocks, np.int64), zeros(3, np.int64)
    kernel.start([Listing(bits, counts, control, places, len(bits), count)], blocks)
    return places, control


def _blocks(kernel: Kernel, warps: int) -> int:
    """The blocks to start for so many warps."""
    return min(kernel.blocks, -(-max(1, warps) * WARP // kernel.threads))
