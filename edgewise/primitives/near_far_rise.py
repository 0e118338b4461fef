"""How the threshold of `near_far` rises without a parameter."""

import math
from typing import Any

import numpy as np

from edgewise.kernels.cuda.device import block_barrier, block_thread, device_function, inlined
from edgewise.primitives.block_queues import LOCAL

LOWEST, LARGEST = np.int64(-(2**63)), np.int64(2**63 - 1)
#: How many far vertices are sampled to set the width.
SAMPLE = min(64, LOCAL)
#: The width doubles if the supersteps since the last rise had fewer than SLOW vertices in the mean, and halves if they
#: had more than FAST.
SLOW, FAST = 1000, 4000


def adapted(width: Any, computed: Any, supersteps: Any, slow: Any, fast: Any) -> Any:
    """The next width, by the mean number of vertices in the supersteps since the last rise."""
    if computed < slow * supersteps:
        width *= 2.0
    elif computed > fast * supersteps:
        width *= 0.5
    return width


#: The same in kernels.
adapted_in_kernel = inlined(adapted)


def make_rise(waiting: Any, real: Any, whole: Any) -> Any:
    """`rise` of `edgewise.primitives.near_far.make_near_far`, without a parameter: the width adapts to the work.

    At first only vertices with the least key get near. The first width is the distance from the least key of a sample
    of far vertices to the median of the sample.

    Args:
        waiting: as for `make_near_far`.
        real: ``real(key)``: a float64 that rises with the key.
        whole: ``whole(x)``: the key of a finite float64.
    """

    @device_function
    def measure(below, far, count, best, block, context):
        """The distance from the least key of a sample to the median, or 0. All blocks look at the same sample."""
        me, sample = block_thread(), block.keys
        wanted = min(count, np.int64(SAMPLE))
        if me < SAMPLE:
            key = LARGEST
            if me < wanted:
                v = np.int64(far[me * count // wanted])
                key = np.int64(waiting(v, below, best, context))
            sample[me] = key if key >= below else LARGEST
        if me == 0:
            sample[SAMPLE] = LARGEST
        block_barrier()
        lowest, rank, known = LARGEST, np.int64(0), np.int64(0)
        mine = sample[min(me, np.int64(SAMPLE - 1))]
        for i in range(SAMPLE):
            other = sample[i]
            lowest = min(lowest, other)
            known += other < LARGEST
            rank += other < mine or (other == mine and i < me)
        if me < SAMPLE and rank == known // 2 and mine < LARGEST:
            sample[SAMPLE] = mine
        block_barrier()
        width = 0.0
        if lowest < LARGEST:
            width = real(sample[SAMPLE]) - real(lowest)
        return width if 0.0 < width < math.inf else 0.0

    @device_function
    def rise(below, start, far, count, width, best, block, context):
        if below == LOWEST:
            return start + 1, width
        if width == 0.0:
            width = measure(below, far, count, best, block, context)
        reached = real(start) + width
        if -math.inf < reached < math.inf:
            start = max(start, whole(reached))
        return min(start, LARGEST - 1) + 1, width

    return rise
