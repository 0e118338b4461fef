"""Outboxes: a warp keeps the vertices that its lanes find, and hands them on when it has one for each lane.

All warps count what they list in one word of memory, where additions take some 2 ns each, one after the other. A warp
that looks at arcs finds few vertices at a time, so it keeps them in shared memory until it has 32.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.device import (
    WARP,
    WARPS,
    ballot,
    block_thread,
    count_bits,
    device_function,
    lane,
    lanes_before,
    warp_barrier,
)

#: How many vertices an outbox holds for a warp: fewer than WARP are left, and at most WARP come at once.
ROOM = 2 * WARP
#: How many words an outbox has.
BOX_WORDS = WARPS * ROOM


class Boxes(NamedTuple):
    """Arrays that a block shares for one outbox.

    Attributes:
        boxes: uint32, (BOX_WORDS,): ROOM for each warp.
        held: uint32, (WARPS,): how many vertices each warp has; zeros at first.
    """

    boxes: Any
    held: Any


def make_outbox(box: int, emit: Callable[..., Any]) -> tuple[Any, Any]:
    """The functions that put vertices into an outbox, and that hand on those that are left.

    Args:
        box: the number of this outbox in the kernel.
        emit: ``emit(v, wanted, context)``, called by all lanes of a warp at once: hand on the vertices of lanes with
            `wanted`. It returns a number.

    Returns:
        ``put(v, wanted, block, context)`` and ``flush(block, context)``, called by all lanes of a warp at once. Both
        return what `emit` returned to this lane, or 0 if they did not call it. `block` is `Boxes`, or has such arrays
        for several outboxes. All vertices have been handed on only after `flush`.
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
