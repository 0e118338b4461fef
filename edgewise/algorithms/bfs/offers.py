"""Parents that are offered to vertices while a search pushes on CPUs."""

from typing import Any

from edgewise.kernels.cache import inlined_function
from edgewise.kernels.cpu.atomics import atomic_load, compare_and_swap
from edgewise.primitives.vertices import NO_VERTEX


@inlined_function
def offered_first(v: Any, offer: Any, alone: Any, parent: Any) -> Any:
    """Offer a vertex a parent, uint32, of which the least is kept; whether it is the first offer.

    Args:
        v: the vertex, uint64.
        offer: the parent.
        alone: whether one thread alone offers.
        parent: uint32, `NO_VERTEX` of vertices without an offer.
    """
    best = parent[v]
    if alone:
        parent[v] = min(best, offer)
    else:
        while offer < best and not compare_and_swap(parent, v, best, offer):
            best = atomic_load(parent, v)
    return best == NO_VERTEX
