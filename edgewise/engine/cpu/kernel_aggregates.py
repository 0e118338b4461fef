"""Aggregates: vertices are folded in blocks of a fixed length, then the blocks in their order."""

from typing import NamedTuple

from edgewise.engine.lowering.accessors import DeviceFunction, Glue
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import barrier, claim

#: Vertices whose aggregates are folded together. It fixes the order of float sums.
BLOCK = 4096


class Aggregates(NamedTuple):
    """Compiled functions.

    Attributes:
        fold_alone: one thread folds the vertices of all blocks.
        fold_aggregates: each thread folds the vertices of its share of the blocks.
        total: one thread folds the blocks into the aggregates.
        fold_late: all threads do all of this, for aggregates that are evaluated only when vertices resume and at the
            end.
    """

    fold_alone: DeviceFunction
    fold_aggregates: DeviceFunction
    total: DeviceFunction
    fold_late: DeviceFunction


def make_aggregates(glue: Glue) -> Aggregates:
    """The functions that evaluate aggregates."""
    make_state, fold_vertices = glue.make_state, glue.fold_vertices
    fold_parts, set_aggregates = glue.fold_parts, glue.set_aggregates

    @device_function
    def fold_alone(state, n, own):
        for block in range((n + BLOCK - 1) // BLOCK):
            fold_vertices(block, block * BLOCK, min(n, (block + 1) * BLOCK), 1, state, own)

    @device_function
    def fold_aggregates(control, state, n, own):
        blocks = (n + BLOCK - 1) // BLOCK
        while True:
            block = claim(control, 3, 1, blocks)
            if block >= blocks:
                return
            fold_vertices(block, block * BLOCK, min(n, (block + 1) * BLOCK), 1, state, own)

    @device_function
    def total(n, own):
        fold_parts(0, (n + BLOCK - 1) // BLOCK, 1, own)
        set_aggregates(own)

    @device_function
    def fold_late(control, thread, size, n, m, own, superstep):
        """True if the run was cancelled."""
        fold_aggregates(control, make_state(own, n, m, superstep), n, own)
        if barrier(control, size):
            return True
        if thread == 0:
            total(n, own)
        return False

    return Aggregates(fold_alone, fold_aggregates, total, fold_late)
