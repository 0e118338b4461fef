# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Numbers packed into few bits, for kernels that read them over a link: line by line, with a width for each line.

A line is what the lanes of a warp read in one step. Its numbers are stored as differences from the smallest, all in as
many bits as the largest needs, so that each lane finds its own without the others. A block has up to `LINES` lines and
begins with the smallest number of each; blocks lie one after the other, at multiples of `ALIGNED` words. A unit is
a series of blocks.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cpu.launch import launch
from edgewise.kernels.cpu.team import claim, team_kernel

#: Lines of a block, and the words at whose multiples blocks begin: 32 bytes, a sector of a GPU's memory.
LINES, ALIGNED = 8, 8
#: In the byte that has a line's width: whether some places are empty. The largest number of that width stands for them.
HAS_EMPTY = 0x80
#: Units that a thread packs at a time, and about the nanoseconds that a number takes.
_STEP, _NUMBER_NS = 16, 6


class Packed(NamedTuple):
    """Packed numbers, on the host.

    Attributes:
        words: uint32: the blocks.
        begin: int64, (units + 1,): the first block of each unit.
        places: uint32, (blocks,): where a block begins, in multiples of `ALIGNED` words.
        widths: uint64, (blocks,): the width of each line in a byte of its own, the first in the lowest.
    """

    words: np.ndarray
    begin: np.ndarray
    places: np.ndarray
    widths: np.ndarray


def pack(
    values: np.ndarray, lanes: int, first: np.ndarray, step: np.ndarray, count: np.ndarray, empty: int
) -> Packed:
    """Pack numbers.

    Args:
        values: uint32, lines of `lanes` numbers each.
        lanes: how many numbers a line has.
        first, step, count: int64, (units,): the lines of a unit are first, first + step, ...
        empty: the number that stands for an empty place; it is larger than all others.
    """
    begin = np.zeros(len(first) + 1, np.int64)
    np.cumsum(-(-count // LINES), out=begin[1:])
    blocks, lines = int(begin[-1]), (first, step, count, begin)
    widths, sizes = np.zeros(blocks, np.uint64), np.zeros(blocks, np.int64)
    work = _NUMBER_NS * len(values)
    launch(_measure, values, lanes, *lines, np.uint32(empty), widths, sizes, work=work)
    ends = np.cumsum(sizes)
    words = np.zeros(ALIGNED * int(ends[-1]) if blocks else 0, np.uint32)
    places = (ends - sizes).astype(np.uint32)
    launch(_write, values, lanes, *lines, np.uint32(empty), widths, places, words, work=work)
    return Packed(words, begin, places, widths)


@team_kernel
def _measure(
    thread: Any,
    size: Any,
    control: Any,
    values: Any,
    lanes: Any,
    first: Any,
    step: Any,
    count: Any,
    begin: Any,
    empty: Any,
    widths: Any,
    sizes: Any,
) -> None:
    """Find the width of each line, and how many times `ALIGNED` words each block takes."""
    units = len(first)
    while True:
        start = claim(control, 0, _STEP, units)
        if start >= units:
            break
        for unit in range(start, min(start + _STEP, units)):
            for line in range(count[unit]):
                block = begin[unit] + line // LINES
                at = (first[unit] + line * step[unit]) * lanes
                low, high, gaps = empty, np.uint32(0), np.int64(0)
                for i in range(at, at + lanes):
                    if values[i] == empty:
                        gaps = 1
                    else:
                        low, high = min(low, values[i]), max(high, values[i])
                width, rest = np.int64(0), np.int64(0)
                if low != empty:
                    rest = np.int64(high) - np.int64(low) + gaps
                while rest > 0:
                    width, rest = width + 1, rest >> 1
                if gaps > 0 and low != empty:
                    width |= np.int64(HAS_EMPTY)
                widths[block] |= np.uint64(width) << np.uint64(8 * (line % LINES))
                sizes[block] += ((width & (HAS_EMPTY - 1)) * lanes + 31) // 32
            for block in range(begin[unit], begin[unit + 1]):
                sizes[block] = (LINES + sizes[block] + ALIGNED - 1) // ALIGNED


@team_kernel
def _write(
    thread: Any,
    size: Any,
    control: Any,
    values: Any,
    lanes: Any,
    first: Any,
    step: Any,
    count: Any,
    begin: Any,
    empty: Any,
    widths: Any,
    places: Any,
    words: Any,
) -> None:
    """Write the blocks."""
    units = len(first)
    while True:
        start = claim(control, 0, _STEP, units)
        if start >= units:
            break
        for unit in range(start, min(start + _STEP, units)):
            to = np.int64(0)
            for line in range(count[unit]):
                block, place = begin[unit] + line // LINES, line % LINES
                base = ALIGNED * np.int64(places[block])
                if place == 0:
                    to = base + LINES
                    for i in range(LINES):
                        words[base + i] = empty
                at = (first[unit] + line * step[unit]) * lanes
                low = empty
                for i in range(at, at + lanes):
                    low = min(low, values[i])
                words[base + place] = low
                width = np.int64(widths[block] >> np.uint64(8 * place)) & (HAS_EMPTY - 1)
                for lane in range(lanes if width > 0 else 0):
                    code = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
                    if values[at + lane] != empty:
                        code = np.uint64(values[at + lane] - low)
                    bit = width * lane
                    shifted = code << np.uint64(bit & 31)
                    words[to + (bit >> 5)] |= np.uint32(shifted & np.uint64(0xFFFFFFFF))
                    if shifted >> np.uint64(32) != 0:
                        words[to + (bit >> 5) + 1] |= np.uint32(shifted >> np.uint64(32))
                to += (width * lanes + 31) // 32
