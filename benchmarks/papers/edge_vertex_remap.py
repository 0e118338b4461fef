"""Remapping slots at run time, as the paper does, and in place, which it leaves to the future.

edgewise writes messages to their final slots, so nothing of this is in it. Here slots that were filled row by row are
put column by column, group by group: to a second buffer, or in place by way of the memory that a block of threads
shares. That holds a group of rows without the heavy ones (`edgewise.layout.units.HEAVY`).
"""

import functools
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np

from edgewise.kernels.cuda.arguments import pointer
from edgewise.kernels.cuda.device import (
    INT32,
    INT64,
    THREADS,
    block_barrier,
    block_index,
    block_thread,
    cuda,
    num_blocks,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import cupy
from edgewise.layout.slots import arrange
from edgewise.layout.units import HEAVY, Units

#: Rows of a group. Places of the largest one, and groups that a block has at a time: 48 KB.
GROUP = 32
TILE, TILES = HEAVY * GROUP, min(8, THREADS)
WORDS = TILE * TILES
TEAM = THREADS // TILES
#: Launches that are timed together, so that the host does not count.
TOGETHER = 20


def signature() -> tuple[Any, ...]:
    """The types of the kernel's arguments."""
    value = np.dtype(np.int32)
    return pointer(np.dtype(np.int64)), pointer(value), pointer(value), *[INT64] * 3


def remap_kernel(begin, slots, other, first_group, groups, in_place):
    """Put the slots of groups column by column.

    Args:
        begin: see `edgewise.layout.units.Units`.
        slots: int32, row by row: those of a group are its rows, all as long as the longest.
        other: where they go, unless in place.
        first_group, groups: the unit that is the first group, and their number.
        in_place: whether they stay in `slots`.
    """
    tiles = cuda.shared.array(WORDS, INT32)
    team, me = block_thread() // TEAM, block_thread() % TEAM
    tile = team * TILE
    for start in range(block_index() * TILES, groups, num_blocks() * TILES):
        group, first, size = start + team, np.int64(0), np.int64(0)
        if group < groups:
            first = begin[first_group + group]
            size = begin[first_group + group + 1] - first
        longest = size // GROUP
        if in_place != 0:
            for i in range(me, size, TEAM):
                tiles[tile + i] = slots[first + i]
            block_barrier()
            for i in range(me, size, TEAM):
                slots[first + i] = tiles[tile + i % GROUP * longest + i // GROUP]
            block_barrier()
        else:
            for i in range(me, size, TEAM):
                other[first + i] = slots[first + i % GROUP * longest + i // GROUP]


@functools.cache
def _kernel() -> Kernel:
    return fixed_kernel(remap_kernel, signature())


def remapped(units: Units, slots: Any, in_place: bool) -> Any:
    """Start the kernel; the buffer that has the result."""
    alone = units.heaviest + units.heavy
    other = slots[:0] if in_place else slots.copy()
    _kernel().start([units.begin, slots, other, alone, units.groups, in_place])
    return slots if in_place else other


def expected(units: Units, slots: Any) -> Any:
    """The same by indices."""
    xp = cupy()
    alone, place = units.heaviest + units.heavy, xp.arange(units.size)
    unit = xp.searchsorted(units.begin, place, side="right") - 1
    first = units.begin[unit]
    longest, within = (units.begin[unit + 1] - first) // GROUP, place - first
    return xp.where(unit < alone, slots, slots[first + within % GROUP * longest + within // GROUP])


def rows(targets: Any, num_vertices: int, repeat: int) -> Iterator[dict[str, Any]]:
    """What remapping takes each time, and the bytes of its buffers."""
    xp = cupy()
    units, *_ = arrange(targets, num_vertices, "u4", slots=False, arcs=False)
    slots = xp.arange(units.size, dtype=np.int32)
    want = expected(units, slots)
    for name, in_place in (("to a second buffer", False), ("in place", True)):
        right = bool((remapped(units, slots.copy(), in_place) == want).all())
        spent, held, other = [], slots.copy(), slots.copy()
        arguments = [units.begin, held, other, units.heaviest + units.heavy, units.groups, in_place]
        for _ in range(10 * repeat):
            begin, end = xp.cuda.Event(), xp.cuda.Event()
            begin.record()
            for _ in range(TOGETHER):
                _kernel().start(arguments)
            end.record()
            end.synchronize()
            spent.append(xp.cuda.get_elapsed_time(begin, end) / TOGETHER)
        taken = 4 * units.size * (1 if in_place else 2)
        row = {"system": name, "ms": statistics.median(spent), "repeat": len(spent)}
        yield row | {"run_bytes": taken, "right": right}
