"""The tentative distances of delta-stepping, which threads lower at the same time.

Distances of 32 bits are packed with their parents: ``state[v]`` is a uint64 with the bits of the distance above and
the parent's index below. Distances are not negative, so these words order as the distances do (floats too), and one
compare-and-swap lowers a distance, or lowers the parent among those that give the same distance. When the distances
are final, each vertex has met all its parents, and the lowest index has stayed: the parents do not depend on threads
either.

Distances of 64 bits are not packed: ``state`` is the array of distances, and parents are found afterwards.

An arc of length zero offers no parent, for such parents can form a cycle; see `path_tree`.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from edgewise.kernels.cache import KERNEL_OPTIONS, device_function
from edgewise.kernels.cpu.atomics import compare_and_swap
from edgewise.kernels.cpu.team import team_kernel
from edgewise.primitives.vertices import NO_VERTEX

#: The parent of a vertex that has none; -1 as int32.
NONE = np.uint64(NO_VERTEX)
_HALF = np.uint64(32)


def make_state(num_vertices: int, dtype: Any) -> np.ndarray:
    """An array for distances of this dtype, with parents if these have 32 bits; shape (n,)."""
    packed = np.dtype(dtype).itemsize == 4
    return np.empty(num_vertices, np.uint64 if packed else dtype)


def _bits(distance: Any) -> Any:
    """The bits of a distance of 32 bits as the lower half of a uint64."""


@overload(_bits, strict=False, jit_options=KERNEL_OPTIONS)
def _bits_typed(distance: Any) -> Any:
    if distance == types.float32:
        return lambda distance: np.uint64(np.float32(distance).view(np.uint32))
    return lambda distance: np.uint64(np.uint32(distance))


def distance_in(state: Any, v: Any, like: Any) -> Any:
    """The distance of a vertex, in the dtype of the array `like`. For kernels."""


@overload(distance_in, strict=False, jit_options=KERNEL_OPTIONS)
def _distance_in_typed(state: Any, v: Any, like: Any) -> Any:
    if state.dtype != types.uint64:
        return lambda state, v, like: state[v]
    if like.dtype == types.float32:
        return lambda state, v, like: np.uint32(state[v] >> _HALF).view(np.float32)
    return lambda state, v, like: np.int32(state[v] >> _HALF)


def start(state: Any, v: Any, distance: Any, parent: Any) -> None:
    """Store a distance, and a parent if the state has room for it. For kernels."""


@overload(start, strict=False, jit_options=KERNEL_OPTIONS)
def _start_typed(state: Any, v: Any, distance: Any, parent: Any) -> Any:
    def packed(state: Any, v: Any, distance: Any, parent: Any) -> None:
        state[v] = _bits(distance) << _HALF | parent

    def alone(state: Any, v: Any, distance: Any, parent: Any) -> None:
        state[v] = distance

    return packed if state.dtype == types.uint64 else alone


def lower(state: Any, v: Any, distance: Any, parent: Any, parent_distance: Any) -> Any:
    """Offer a vertex a distance and the parent that gives it. True if that lowered its distance. For kernels."""


@overload(lower, strict=False, jit_options=KERNEL_OPTIONS)
def _lower_typed(state: Any, v: Any, distance: Any, parent: Any, parent_distance: Any) -> Any:
    return _lower_packed if state.dtype == types.uint64 else _lower_alone


def _lower_packed(state: Any, v: Any, distance: Any, parent: Any, parent_distance: Any) -> Any:
    above = _bits(distance) << _HALF
    old = state[v]
    if above | parent >= old:
        return False
    offered = above | (parent if distance > parent_distance else NONE)
    while offered < old:
        if compare_and_swap(state, v, old, offered):
            return above < old & ~NONE
        old = state[v]
    return False


def _lower_alone(state: Any, v: Any, distance: Any, parent: Any, parent_distance: Any) -> Any:
    old = state[v]
    while distance < old:
        if compare_and_swap(state, v, old, distance):
            return True
        old = state[v]
    return False


@device_function
def parent_in(word: Any) -> Any:
    """The parent in a packed word, as uint32."""
    return np.uint32(word & NONE)


@team_kernel
def unpack(
    thread: Any,
    size: Any,
    control: Any,
    state: Any,
    like: Any,
    unreached: Any,
    beyond: Any,
    distance: Any,
    parent: Any,
) -> None:
    """Split packed words into distances and parents (uint32).

    Args:
        state: words with distances of the dtype of `like`; `unreached` stands for none.
        distance: of that dtype, or a wider integer; `beyond` stands for none.
    """
    n = len(state)
    for v in range(np.uint64(n * thread // size), np.uint64(n * (thread + 1) // size)):
        found = distance_in(state, v, like)
        distance[v] = found
        parent[v] = parent_in(state[v])
        if found == unreached:
            distance[v] = beyond
            parent[v] = NONE
