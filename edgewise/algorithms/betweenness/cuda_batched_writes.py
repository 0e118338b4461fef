"""How `cuda_batched` writes the sums of vertices: numbers of paths on the way there, shares on the way back."""

from typing import Any

import numpy as np

from edgewise.algorithms.betweenness.cuda_batch import (
    TOO_LARGE,
    put,
)
from edgewise.algorithms.betweenness.cuda_path_counts import LARGE, LIMIT, SMALL
from edgewise.kernels.cuda.device import (
    HALVES,
    ballot,
    device_function,
    lane,
    shuffle_down,
)
from edgewise.primitives.row_sums import (
    slot_of_lane,
)


def make_write_paths(with_powers: bool) -> Any:
    """A device function for the numbers of paths to a vertex; see `apply` of `make_sums`."""

    @device_function
    def write_paths(leads, v, wanted, paths, power, first, rows, context):
        """Write the numbers of paths to a vertex. A pull also lists the vertex if it is found by them."""
        offsets, batch, state, level, block = context
        found = leads and paths > 0.0
        if found:
            place = np.int64(v) << rows.shift | np.int64(slot_of_lane(rows.shift))
            if with_powers:
                if paths > LARGE:
                    paths *= SMALL
                    power = np.int32(power + 1)
                rows.powers[place] = power
            elif paths > LIMIT:
                state.control[level.words + TOO_LARGE] = 1
            rows.values[place] = paths
        bits = np.int64(ballot(found))
        if level.pulled:
            mine = np.uint32((bits >> first) & ((1 << (1 << rows.shift)) - 1))
            fresh = leads and lane() == first and mine != 0
            if fresh:
                state.masks[level.after + v] = mine
                state.masks[level.reached + v] = np.uint32(batch.full & ~np.uint32(wanted ^ mine))
            put(v, fresh, block, (offsets, state, level, block))

    return write_paths


def make_write_shares(with_powers: bool) -> Any:
    """A device function for the sums of the shares after a vertex; see `apply` of `make_sums`."""

    @device_function
    def write_shares(leads, v, wanted, shares, power, first, rows, context):
        """Add a vertex's dependencies to their sum, and write its shares."""
        totals, ends = context
        slot, dependency = slot_of_lane(rows.shift), 0.0
        if leads and (wanted >> slot) & np.uint32(1) != 0:
            place = np.int64(v) << rows.shift | np.int64(slot)
            paths = rows.values[place]
            dependency = shares * paths
            if with_powers:
                together = power + rows.powers[place]
                rows.powers[place] = np.int32(-rows.powers[place])
                # A vertex has no more paths than those after it; their quotient is less than 2**-500 if this is not 0
                # or -1.
                if together != 0:
                    dependency = dependency * SMALL if together == -1 else 0.0
            rows.values[place] = (1.0 + dependency) / paths
            dependency += ends
        for step in HALVES:
            if step < 1 << rows.shift:
                dependency += shuffle_down(dependency, step)
        if leads and lane() == first:
            totals[v] += dependency

    return write_shares
