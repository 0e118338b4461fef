"""Bitmaps on a GPU. Bit i of word w, an int64, stands for place 64 w + i.

All lanes of a warp make a word at once, or go over its bits, as many at a time as there are lanes:
``for part in range(0, BITS, WARP)``.
"""

from typing import Any

import numpy as np

from edgewise.kernels.cuda.device import WARP, ballot, count_bits, device_function, lane

#: The bits of a word, and how far a place is shifted for its word.
BITS, SHIFT = 64, 6
#: As many bits as a warp has lanes, and half of a word.
_LANES = (1 << WARP) - 1
_HALF = 0xFFFFFFFF


@device_function
def word_with(flag: Any, word: Any, part: Any) -> Any:
    """A word to which the flags of a warp's lanes are added, from bit `part` on."""
    return word | np.int64(ballot(flag)) << part


@device_function
def lanes_of(word: Any, part: Any) -> Any:
    """The bits of a word from bit `part` on, one for each lane of a warp."""
    return np.uint32((word >> part) & _LANES)


@device_function
def is_of_lane(bits: Any) -> Any:
    """Whether this lane's bit is set."""
    return (np.int64(bits) >> lane()) & 1 != 0


@device_function
def bits_in(word: Any) -> Any:
    """How many bits of a word are set."""
    return count_bits(np.uint32(word & _HALF)) + count_bits(np.uint32((word >> 32) & _HALF))


@device_function
def is_set(bitmap: Any, place: Any) -> Any:
    """Whether a bitmap has the bit of a place."""
    return (np.int64(bitmap[place >> SHIFT]) >> (place & (BITS - 1))) & 1 != 0


@device_function
def bit_of(place: Any) -> Any:
    """A word that has the bit of a place alone."""
    return np.int64(1) << (place & (BITS - 1))


@device_function
def bits_between(w: Any, low: Any, high: Any) -> Any:
    """Word w with the bits of the places from `low` to `high` - 1."""
    first, last = max(low - w * BITS, np.int64(0)), min(high - w * BITS, np.int64(BITS))
    if first >= last:
        return np.int64(0)
    word = np.int64(-1) << first
    if last < BITS:
        word &= ~(np.int64(-1) << last)
    return word


def words_for(length: Any) -> Any:
    """The words of a bitmap of so many bits."""
    return (length + BITS - 1) // BITS
