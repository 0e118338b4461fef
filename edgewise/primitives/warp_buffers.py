"""Vertices that lanes find now and then, handed on by a warp when it has one for each lane.

All warps count what they list at one word of memory, which takes some 2 ns for each addition, however many ask. A warp
that looks at arcs finds few vertices at a time: it keeps them in shared memory until it has 32.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.device import (
    WARP,
    ballot,
    block_thread,
    count_bits,
    device_function,
    lane,
    lanes_before,
    warp_barrier,
)
from edgewise.primitives.deal import WARPS

#: Vertices that a warp has room for: less than a warp's are left, and no more than a warp's come at once.
ROOM = 2 * WARP
#: Words of one outbox.
BOX_WORDS = WARPS * ROOM


class Boxes(NamedTuple):
    """Arrays that a block shares for one outbox.

    Attributes:
        boxes: uint32, (BOX_WORDS,): ROOM for each warp.
        held: uint32, (WARPS,): how many there are; zeros at first.
    """

    boxes: Any
    held: Any


def make_outbox(box: int, emit: Callable[..., Any]) -> tuple[Any, Any]:
    """What takes vertices, and what hands on those that are left.

    Args:
        box: the number of this outbox among those of a kernel.
        emit: ``emit(v, wanted, context)``, called by all lanes of a warp at once: hand on the vertices of those lanes
            that want it. It returns a number that is added up.

    Returns:
        ``put(v, wanted, block, context)`` and ``flush(block, context)``, to be called by all lanes of a warp at once:
        what `emit` returned to this lane, or 0. `block` is `Boxes`, or has such arrays for several outboxes. What was
        put is handed on for certain only by the flush.
    """

    @device_function
    def put(v, wanted, block, context):
        bits, result = ballot(wanted), np.int64(0)
        if bits != 0:
            warp = box * WARPS + block_thread() // WARP
            first, count = warp * ROOM, np.int64(block.held[warp])
            if wanted:
                block.boxes[first + count + lanes_before(bits)] = v
            count += count_bits(bits)
            warp_barrier()
            if count >= WARP:
                count -= WARP
                result = emit(np.int64(block.boxes[first + count + lane()]), True, context)
            if lane() == 0:
                block.held[warp] = count
            warp_barrier()
        return result

    @device_function
    def flush(block, context):
        warp, result = box * WARPS + block_thread() // WARP, np.int64(0)
        count = np.int64(block.held[warp])
        warp_barrier()
        if count > 0:
            mine = lane() < count
            v = np.int64(block.boxes[warp * ROOM + lane()]) if mine else np.int64(0)
            result = emit(v, mine, context)
            if lane() == 0:
                block.held[warp] = 0
            warp_barrier()
        return result

    return put, flush
