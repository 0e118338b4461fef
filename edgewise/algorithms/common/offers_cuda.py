# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Parents on a GPU from the arcs of some vertices: each vertex offers itself to the targets that it leads to.

A target that is reached from a vertex over an arc as soon as it is reached at all takes the least such vertex. Arcs are
dealt out in runs of equal length, wherever rows begin, so no hub keeps others waiting.

Most arcs offer nothing, and to find that out of each takes a look at its target's distance, wherever that lies. So a
mark of 4 bits is made of each distance first. Most of these are in the GPU's cache, and of the arcs that offer nothing
one in 16 looks any further.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import (
    AtomicInt64s,
    AtomicUint32s,
    Keys,
    Offsets,
    Uint32s,
    Weights,
    type_of,
)
from edgewise.kernels.cuda.device import (
    WARP,
    atomic_min,
    device_function,
    grid_barrier,
    lane,
    num_threads,
    shuffle,
    thread_index,
)
from edgewise.kernels.cuda.memory import empty, zeros
from edgewise.primitives.deal import make_deal_ahead
from edgewise.primitives.halving import last_not_after
from edgewise.primitives.ordered_keys import key_dtype

#: How many arcs a warp takes at a time.
ARCS = 2048
#: The bits of a mark, and the vertices whose marks are in a word of 32 bits.
_BITS, _IN_WORD = 4, 8
#: Knuth's factor for hashes of 32 bits: 2**32 over the golden ratio.
_FACTOR = 0x9E3779B1


class Offers(NamedTuple):
    """What kernels take.

    Attributes:
        offsets: of the arcs that are there, shape (n + 1,); rows may be empty.
        targets: of these arcs.
        weights: of these arcs, or another array if each has length 1.
        dist: the keys of distances, shape (n,).
        parent: shape (n,); 2**32 - 1 before, and after for none.
        marks: for each distance, see the module; overwritten.
        control: a zero, for the barrier.
        n, unreached: vertices, and the key of no distance.
    """

    offsets: Offsets
    targets: Uint32s
    weights: Weights
    dist: Keys
    parent: AtomicUint32s
    marks: Uint32s
    control: AtomicInt64s
    n: int
    unreached: int


def offers_of(offsets: Any, targets: Any, weights: Any, dist: Any, parent: Any, unreached: int) -> Offers:
    """What kernels take, see there; arrays on the GPU."""
    n = len(dist)
    marks = empty(-(-n // _IN_WORD), np.uint32)
    return Offers(offsets, targets, weights, dist, parent, marks, zeros(1, np.int64), n, unreached)


@device_function
def _mark_of(key: Any) -> Any:
    """The mark of a distance with this key."""
    word = np.uint32((key ^ (key >> 32)) & 0xFFFFFFFF)
    return np.uint32(np.uint64(word) * np.uint64(_FACTOR) & np.uint64(0xFFFFFFFF)) >> np.uint32(32 - _BITS)


@device_function
def _make_marks(it: Any) -> None:
    """Make the marks of all distances."""
    for place in range(thread_index(), (it.n + _IN_WORD - 1) // _IN_WORD, num_threads()):
        word = np.uint32(0)
        for i in range(_IN_WORD):
            v = place * _IN_WORD + i
            if v < it.n:
                word = np.uint32(word | _mark_of(np.int64(it.dist[v])) << np.uint32(_BITS * i))
        it.marks[place] = word


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
    def load(k, it):
        """The target and the length of arc k."""
        return np.int64(it.targets[k]), weight_of(k, it.weights)

    @device_function
    def offer_arc(takes, u, mine, found, it):
        """Offer u, at a distance with the key `mine`, to the target of an arc."""
        v, weight = found
        if takes:
            reached = plus(mine, weight)
            is_nearer = mine < reached and reached != it.unreached
            mark = it.marks[v // _IN_WORD] >> np.uint32(v % _IN_WORD * _BITS) & np.uint32((1 << _BITS) - 1)
            offers = is_nearer and mark == _mark_of(reached) and np.int64(it.dist[v]) == reached
            if offers and np.uint32(u) < it.parent[v]:
                atomic_min(it.parent, v, np.uint32(u))
        return np.int64(0), np.int64(0)

    offer_all = make_deal_ahead(load, offer_arc)

    @device_function
    def offer(it):
        _make_marks(it)
        grid_barrier(it.control, np.int64(0))
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
