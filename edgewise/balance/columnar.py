"""A lane for each row of a layout of in-edges (`edgewise.layout.units`); a warp or a block for each heavy row.

Sources or slots lie in the order of the layout, so the lanes of a warp read adjacent places: a column of a group at a
time, or places of a heavy row.

Reference. Zhong et al., "Optimizing Graph Processing on GPUs", TPDS 2016, section 4.2.
"""

from typing import Any

import numpy as np

from edgewise.balance.contract import WHOLE
from edgewise.kernels.cuda.device import (
    WARP,
    block_index,
    block_size,
    block_thread,
    device_function,
    lane,
    num_blocks,
    num_threads,
    thread_index,
)
from edgewise.layout.contract import HEAVIEST_UNITS, HEAVY_UNITS
from edgewise.layout.slots_cuda import row_place


def make_walk(body: Any) -> Any:
    """The function that goes over the rows low to high - 1 of ``run.layout``.

    Args:
        body: ``body(v, first, end, step, lanes, context)``, see `gather` of `edgewise.balance.contract.Bodies`; two
            numbers, of which each thread adds up its own.
    """

    @device_function
    def walk(low, high, context, run):
        layout, one, other = run.layout, np.int64(0), np.int64(0)
        heaviest = layout.numbers[HEAVIEST_UNITS]
        alone = heaviest + layout.numbers[HEAVY_UNITS]
        warp, warps = thread_index() // WARP, num_threads() // WARP
        # One loop serves the three kinds of units, so that the code holds the body once.
        for kind in range(0 if alone > 0 else 2, 3):
            begin, upto = low + block_index(), min(heaviest, high)
            stride, lanes, place = num_blocks(), block_size(), block_thread()
            if kind == 1:
                begin, upto = max(low, heaviest) + warp, min(alone, high)
                stride, lanes, place = warps, np.int64(WARP), lane()
            elif kind == 2:
                begin, upto = max(low, alone) + warp * WARP, high
                stride, lanes, place = warps * WARP, np.int64(1), np.int64(0)
            for unit in range(begin, upto, stride):
                row, v, first, end, step = np.int64(unit), np.int64(-1), np.int64(0), np.int64(0), lanes
                if kind == 2:
                    row += lane()
                if row < high:
                    v = np.int64(layout.vertices[row])
                    first, end, step = row_place(row, layout)
                    if kind < 2:
                        first, step = first + place, lanes
                found = body(v, first, end, step, lanes, context)
                one, other = one + found[0], other + found[1]
        return one, other

    return walk


def make_columnar(gather: Any) -> Any:
    """``pull_all`` of a strategy, see `edgewise.balance.contract`, over the rows low to high - 1 of ``run.layout``."""

    @device_function
    def gather_row(v, first, end, step, lanes, context):
        gather(v, first, end, step, lanes, np.int64(WHOLE), context)
        return np.int64(0), np.int64(0)

    walk = make_walk(gather_row)

    @device_function
    def pull_all(low, high, generation, context, run):
        walk(low, high, context, run)
        return generation

    return pull_all
