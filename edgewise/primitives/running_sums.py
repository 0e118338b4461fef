"""Running sums: over the lanes of a warp, and over the threads of a block."""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.kernels.cuda.device import (
    HALVES,
    WARP,
    WARPS,
    block_barrier,
    block_thread,
    device_function,
    lane,
    shuffle,
    shuffle_up,
)


def make_running_sums(dtype: np.dtype) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Device functions for integers of this dtype.

    Returns:
        ``sum_to_lane(value)``, for all lanes of a warp: the sum of the values of this lane and of those before it.
        ``sums_in_block(value, tally)``, for all threads of a block: the sum of the values of the threads before this
        one, that with its own value, and the sum of all. `tally`: WARPS words that the block shares.
    """
    # Lanes exchange signed integers only.
    kind, exchanged = dtype.type, np.dtype(f"i{dtype.itemsize}").type

    @device_function
    def sum_to_lane(value):
        for step in HALVES[::-1]:
            before = kind(shuffle_up(exchanged(value), step))
            if lane() >= step:
                value = kind(value + before)
        return value

    @device_function
    def sums_in_block(value, tally):
        upto, warp, before, total = sum_to_lane(value), block_thread() // WARP, kind(0), kind(0)
        if lane() == WARP - 1:
            tally[warp] = upto
        block_barrier()
        for first in range(0, WARPS, WARP):
            mine = tally[first + lane()]
            sums = kind(total + sum_to_lane(mine))
            if first <= warp < first + WARP:
                before = kind(shuffle(exchanged(sums - mine), warp - first))
            total = kind(shuffle(exchanged(sums), WARP - 1))
        block_barrier()
        return kind(before + upto - value), kind(before + upto), total

    return sum_to_lane, sums_in_block


sum_to_lane, sums_in_block = make_running_sums(np.dtype(np.int64))
