# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Parents on a GPU from the arcs of some vertices: each vertex offers itself to the targets that it leads to.

A target that is reached from a vertex over an arc as soon as it is reached at all takes the least such vertex. Arcs are
dealt out in runs of equal length, wherever rows begin, so no hub keeps others waiting.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import AtomicUint32s, Keys, Offsets, Uint32s, Weights, type_of
from edgewise.kernels.cuda.device import (
    WARP,
    atomic_min,
    device_function,
    lane,
    num_threads,
    shuffle,
    thread_index,
)
from edgewise.primitives.deal import make_deal
from edgewise.primitives.halving import last_not_after
from edgewise.primitives.ordered_keys import key_dtype

#: How many arcs a warp takes at a time.
ARCS = 2048


class Offers(NamedTuple):
    """What kernels take.

    Attributes:
        offsets: of the arcs that are there, shape (n + 1,); rows may be empty.
        targets: of these arcs.
        weights: of these arcs, or another array if each has length 1.
        dist: the keys of distances, shape (n,).
        parent: shape (n,); 2**32 - 1 before, and after for none.
        n, unreached: vertices, and the key of no distance.
    """

    offsets: Offsets
    targets: Uint32s
    weights: Weights
    dist: Keys
    parent: AtomicUint32s
    n: int
    unreached: int


def signature(offsets: np.dtype, weight: np.dtype | None, distance: np.dtype) -> tuple[Any, ...]:
    """The type of a kernel's argument for offsets, weights (None without) and distances of these dtypes."""
    return (type_of(Offers, offset=offsets, weight=weight or np.dtype(np.int32), key=key_dtype(distance)),)


def make_offer(plus: Callable[..., Any], weight_of: Callable[..., Any]) -> Any:
    """The device function that makes parents from finished distances; see `Offers`.

    Args:
        plus: ``plus(key, weight)``: the key of a distance and a weight's sum.
        weight_of: ``weight_of(k, weights)``: the length of arc k.
    """

    @device_function
    def offer_arc(takes, u, mine, k, it):
        """Offer u, at a distance with the key `mine`, to the target of its arc k."""
        if takes:
            v, reached = np.int64(it.targets[k]), plus(mine, weight_of(k, it.weights))
            is_nearer = mine < reached and reached != it.unreached
            if is_nearer and np.int64(it.dist[v]) == reached and np.uint32(u) < it.parent[v]:
                atomic_min(it.parent, v, np.uint32(u))
        return np.int64(0), np.int64(0)

    offer_all = make_deal(offer_arc, vertex=True, key=True)

    @device_function
    def offer(it):
        n, m = np.int64(it.n), np.int64(it.offsets[it.n])
        warp, warps = thread_index() // WARP, num_threads() // WARP
        for begin in range(warp * ARCS, m, warps * ARCS):
            k, end = np.int64(begin), min(np.int64(begin) + ARCS, m)
            first = last_not_after(it.offsets, k, np.int64(0), n)
            while k < end:
                v, start, upto, mine = first + lane(), end, end, np.int64(it.unreached)
                if v < n:
                    start = max(np.int64(it.offsets[v]), k)
                    upto = min(np.int64(it.offsets[v + 1]), end)
                    mine = np.int64(it.dist[v])
                count = np.int64(0)
                if mine != it.unreached and start < upto:
                    count = upto - start
                offer_all(v, start, count, mine, it)
                done = shuffle(upto, WARP - 1)
                if done > k:
                    first += WARP
                else:  # a whole warp of vertices without arcs: there may be many of them
                    first = last_not_after(it.offsets, k, np.int64(0), n)
                k = done

    return offer
