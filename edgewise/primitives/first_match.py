"""The first neighbour for which something holds: one lane looks at a few neighbours, its warp at the rest."""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.kernels.cuda.device import WARP, ballot, device_function, first_bit, lane, shuffle

#: How many arcs one lane looks at.
LOOK_ALONE = 16


def make_find(holds: Callable[..., Any]) -> Any:
    """The device function that searches rows.

    Args:
        holds: ``holds(u, key, context)``: whether it holds for a neighbour u; `key` is that of the vertex.

    Returns:
        ``find(wanted, v, key, offsets, neighbours, context)``, called by all lanes of a warp at once. For lanes with
        `wanted` it returns the first neighbour in the row of v for which it holds, or -1; for others -1.
    """

    @device_function
    def find(wanted, v, key, offsets, neighbours, context):
        start, end, found = np.int64(0), np.int64(0), np.int64(-1)
        if wanted:
            start, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
        alone = min(end, start + LOOK_ALONE)
        for k in range(start, alone):
            u = np.int64(neighbours[k])
            if holds(u, key, context):
                found = u
                break
        rest = ballot(found < 0 and alone < end)
        while rest != 0:
            holder = first_bit(rest)
            first, last, given = shuffle(alone, holder), shuffle(end, holder), shuffle(key, holder)
            while first < last:
                k, u = first + lane(), np.int64(-1)
                if k < last:
                    u = np.int64(neighbours[k])
                hits = ballot(u >= 0 and holds(max(u, np.int64(0)), given, context))
                if hits != 0:
                    u = shuffle(u, first_bit(hits))
                    if lane() == holder:
                        found = u
                    break
                first += WARP
            rest = np.uint32(rest & (rest - np.uint32(1)))
        return found

    return find
