"""Packed numbers on a GPU: see `edgewise.layout.packed`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.kernels.cuda.device import (
    UINT32,
    WARP,
    cuda,
    device_function,
    lane,
    load_once,
    warp_barrier,
)
from edgewise.layout.packed import ALIGNED, HAS_EMPTY, LINES

#: The words that each warp shares to unpack a block.
UNPACK_WORDS = LINES * (1 + (32 * WARP + 31) // 32) + ALIGNED
#: The most steps in which a warp reads a block, a word for each lane.
_STEPS = (UNPACK_WORDS - ALIGNED + 2 * (WARP - 1)) // WARP
_ALL, _LOW = np.uint64(0xFFFFFFFF), np.uint64(HAS_EMPTY - 1)


@device_function
def _width(widths: Any, line: Any) -> Any:
    """The bits of each number in a line."""
    return np.int64((widths >> np.uint64(8 * line)) & _LOW)


@device_function
def _words(width: Any) -> Any:
    """The words that a line takes."""
    return (width * WARP + 31) >> 5


@device_function
def fetch(block: Any, blocks: Any, box: Any, corner: Any) -> Any:
    """Bring a block into a warp's words of shared memory, from `corner` on. All its lanes call it; the widths.

    Args:
        block: its number.
        blocks: has the arrays `words`, `places` and `widths`.
        box: shared words, `UNPACK_WORDS` for each warp.
        corner: where those of this warp begin.
    """
    widths, size = blocks.widths[block], np.int64(LINES)
    for line in range(LINES):
        size += _words(_width(widths, line))
    at = np.int64(blocks.places[block]) * ALIGNED
    # Each step reads one line of memory, wherever the block begins: one request on the link to the host. All are made
    # before the first word is used, so the link has enough to do.
    first, held = lane() - at % WARP, cuda.local.array(_STEPS, UINT32)
    for step in range(_STEPS):
        i = first + step * WARP
        held[step] = load_once(blocks.words, at + i) if 0 <= i < size else np.uint32(0)
    warp_barrier()
    for step in range(_STEPS):
        i = first + step * WARP
        if 0 <= i < size:
            box[corner + i] = held[step]
    warp_barrier()
    return widths


@device_function
def unpack(widths: Any, line: Any, at: Any, empty: Any, box: Any, corner: Any) -> Any:
    """This lane's number of a line of the block that was fetched, whose words begin at `at`; `empty` for none."""
    width, low = _width(widths, line), box[corner + line]
    bit = width * lane()
    word = at + (bit >> 5)
    pair = np.uint64(box[word]) | np.uint64(box[word + 1]) << np.uint64(32)
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    code = (pair >> np.uint64(bit & 31)) & mask
    if code == mask and (widths >> np.uint64(8 * line)) & np.uint64(HAS_EMPTY) != 0:
        return np.uint32(empty)
    return np.uint32(np.uint64(low) + code)


def make_unpack_all(use: Callable[..., Any]) -> Any:
    """The device function that unpacks blocks.

    Args:
        use: ``use(u0, ..., u7, context)``: what this lane makes of its eight numbers of a block.

    Returns:
        ``unpack_all(nothing, first, count, blocks, empty, box, corner, context)``: the sum of that over `count` blocks
        from `first` on. Lines that a block does not have give `empty`.
    """

    @device_function
    def unpack_all(nothing, first, count, blocks, empty, box, corner, context):
        total = nothing
        for block in range(first, first + count):
            widths = fetch(block, blocks, box, corner)
            at = corner + LINES
            u0 = unpack(widths, 0, at, empty, box, corner)
            at += _words(_width(widths, 0))
            u1 = unpack(widths, 1, at, empty, box, corner)
            at += _words(_width(widths, 1))
            u2 = unpack(widths, 2, at, empty, box, corner)
            at += _words(_width(widths, 2))
            u3 = unpack(widths, 3, at, empty, box, corner)
            at += _words(_width(widths, 3))
            u4 = unpack(widths, 4, at, empty, box, corner)
            at += _words(_width(widths, 4))
            u5 = unpack(widths, 5, at, empty, box, corner)
            at += _words(_width(widths, 5))
            u6 = unpack(widths, 6, at, empty, box, corner)
            at += _words(_width(widths, 6))
            u7 = unpack(widths, 7, at, empty, box, corner)
            total += use(u0, u1, u2, u3, u4, u5, u6, u7, context)
        return total

    return unpack_all
