"""The direction of a search: what a schedule asks for, and on CPUs what each way costs.

The choice. Pushing looks at the F edges that leave the frontier. Pulling looks at in-edges of the U unreached
vertices; of the R edges that leave unreached vertices and the frontier, F leave the frontier, so each vertex meets
one after about R / F in-edges, and all of them look at U * R / F, never more than R. Measured on social networks,
web graphs and generated ones this is right within a factor of two at nearly every level that matters; the fixed
thresholds of Beamer et al. (section V) pull up to ten times more on graphs whose frontier grows slowly.
"""

from typing import Any

import numpy as np

from edgewise.primitives.direction import AUTO, PULL, PUSH
from edgewise.schedule import Pull, Push, Schedule

#: Rough nanoseconds for an edge pushed, an in-edge looked at, an unreached vertex, a vertex of new bitmaps. A pushed
#: edge reads a level anywhere in memory, a pulled edge a bit in the cache.
PUSHED, PULLED, WAITING, BITMAPS = 6, 1, 2, 1
#: Frontiers of fewer vertices and edges are pushed from at once, by one thread: two barriers would cost as much.
ALONE = 1000


def forced_direction(schedule: Schedule) -> int:
    """The direction of all levels that a schedule asks for, or AUTO."""
    return {Push: PUSH, Pull: PULL}.get(type(schedule.delivery), AUTO)


def compare(n: Any, edges: Any, left: Any, unreached: Any, pulling: Any) -> Any:
    """The number of in-edges that a pull would look at, and whether that is cheaper than to push. Kernels compile it.

    Args:
        n: the number of vertices.
        edges: those that leave the frontier.
        left: those that leave the frontier and unreached vertices.
        unreached: the vertices that are neither in the frontier nor before it.
        pulling: whether the level before was pulled, so that there are bitmaps.
    """
    scanned = min(left, np.int64(unreached * (left / max(edges, 1))))
    cost = PULLED * scanned + WAITING * unreached + (0 if pulling else BITMAPS * n)
    return scanned, cost < PUSHED * edges
