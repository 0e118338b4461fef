"""The edges of a forest in the order of their ends, on a GPU.

An edge is given at one vertex, which need not be an end of it. It is counted at its lower end. Sums of these counts say
where the edges of each lower end begin. One thread puts the edges of a lower end in order, at most `FEW`. Where a
vertex is the lower end of more, all edges are sorted.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.mst.lightest import weights_of
from edgewise.kernels.cuda.arguments import AtomicInt32s, AtomicInt64s, Int32s, Int64s, Keys, type_of
from edgewise.kernels.cuda.device import (
    SIMULATED,
    atomic_add,
    device_function,
    grid_barrier,
    num_threads,
    thread_index,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import cupy, empty, host_copy, zeros
from edgewise.primitives.ordered_keys import key_dtype
from edgewise.primitives.vertices import LOWER_HALF

#: The ends of no edge.
NO_EDGE = np.int64(2**63 - 1)
#: Edges of one lower end that a thread puts in order.
FEW = 2 if SIMULATED else 32


class Counting(NamedTuple):
    """What `count_kernel` takes.

    Attributes:
        ends: shape (n,): the lower end of each vertex's edge in the upper half, or NO_EDGE.
        counts: shape (n,), zeros.
        places: shape (n,).
        n: vertices.
    """

    ends: Int64s
    counts: AtomicInt32s
    places: Int32s
    n: int


COUNT_TYPES = (type_of(Counting),)


def count_kernel(it: Any) -> None:
    """Count the edges of lower ends; each learns how many were counted there before it."""
    for v in range(thread_index(), it.n, num_threads()):
        if it.ends[v] != NO_EDGE:
            it.places[v] = atomic_add(it.counts, it.ends[v] >> 32, np.int32(1))


class Placing(NamedTuple):
    """What `place_kernel` takes.

    Attributes:
        ends, places, n: see `Counting`.
        keys: shape (n,), of weights.
        upto: shape (n,): how many edges have this lower end or one before it.
        lower, higher, sorted_keys: shape (number of edges,), to be filled.
        control: a zero.
    """

    ends: Int64s
    keys: Keys
    places: Int32s
    upto: Int64s
    lower: Int32s
    higher: Int32s
    sorted_keys: Keys
    control: AtomicInt64s
    n: int


def place_types(weight: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of `place_kernel` for weights of this dtype."""
    return (type_of(Placing, key=key_dtype(weight)),)


def place_kernel(it: Any) -> None:
    """Write edges in the order of their ends."""
    ends, upto, higher, sorted_keys = it.ends, it.upto, it.higher, it.sorted_keys
    for v in range(thread_index(), it.n, num_threads()):
        if ends[v] != NO_EDGE:
            low = ends[v] >> 32
            i = _begin(low, upto) + it.places[v]
            it.lower[i], higher[i], sorted_keys[i] = low, ends[v] & LOWER_HALF, it.keys[v]
    grid_barrier(it.control, np.int64(0))
    for v in range(thread_index(), it.n, num_threads()):
        begin = _begin(v, upto)
        for i in range(begin + 1, upto[v]):
            end, key, k = higher[i], sorted_keys[i], i
            while k > begin and higher[k - 1] > end:
                higher[k], sorted_keys[k] = higher[k - 1], sorted_keys[k - 1]
                k -= 1
            higher[k], sorted_keys[k] = end, key


@device_function
def _begin(v: Any, upto: Any) -> Any:
    """Where the edges of a lower end begin."""
    return upto[v - 1] if v > 0 else np.int64(0)


@functools.cache
def _count_kernel() -> Kernel:
    return fixed_kernel(count_kernel, COUNT_TYPES)


@functools.cache
def _place_kernel(weight: np.dtype) -> Kernel:
    return fixed_kernel(place_kernel, place_types(weight))


class Counted(NamedTuple):
    """Edges whose lower ends were counted.

    Attributes:
        ends, places: see `Counting`.
        upto: see `Placing`.
        totals: int64, shape (2,): how many edges there are, and the most of one lower end.
    """

    ends: Any
    places: Any
    upto: Any
    totals: Any


def count_edges(ends: Any) -> Counted:
    """Count the edges of lower ends, on the GPU, without waiting for it.

    Args:
        ends: int64, shape (n,), n > 0: the ends of each vertex's edge, the lower one in the upper half, or NO_EDGE.
    """
    xp, n = cupy(), len(ends)
    counts, places = zeros(n, np.int32), empty(n, np.int32)
    _count_kernel().start([Counting(ends, counts, places, n)])
    upto = xp.cumsum(counts, dtype=np.int64)
    return Counted(ends, places, upto, xp.stack([upto[-1], counts.max().astype(np.int64)]))


def sorted_edges(counted: Counted, keys: Any, weight: np.dtype) -> tuple[Any, Any, Any]:
    """Lower and higher ends (int32) and weights of edges, on the GPU, in the order of their ends.

    Args:
        counted: from `count_edges`.
        keys: shape (n,), of the weights of each vertex's edge.
        weight: the dtype of these.
    """
    xp, (ends, places, upto, totals) = cupy(), counted
    num_edges, most = host_copy(totals).tolist()
    if most > FEW:
        order = xp.argsort(ends)[:num_edges]
        ends, keys = ends[order], keys[order]
        return (ends >> 32).astype(np.int32), ends.astype(np.int32), weights_of(keys, weight, xp)
    lower, higher = empty(num_edges, np.int32), empty(num_edges, np.int32)
    sorted_keys, control = empty(num_edges, keys.dtype), zeros(1, np.int64)
    given = Placing(ends, keys, places, upto, lower, higher, sorted_keys, control, len(ends))
    _place_kernel(weight).start([given])
    return lower, higher, weights_of(sorted_keys, weight, xp)
