"""Levels on ranks with GPUs, told in as few bytes as hold the deepest."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.ranks_cuda import tell_own
from edgewise.engine.distributed.channel import Channel
from edgewise.engine.distributed.partition import Ranges
from edgewise.kernels.cuda.arguments import Int32s, Keys, type_of
from edgewise.kernels.cuda.device import INT32, WARP, cuda, lane
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import empty
from edgewise.primitives.ahead import AHEAD, first_place, read_ahead, stride


class Levels(NamedTuple):
    """What the kernels take.

    Attributes:
        level: shape (n,).
        told: the same in fewer bytes, shape (n,).
        low, high: which vertices, from `low` to `high` - 1.
    """

    level: Int32s
    told: Keys
    low: int
    high: int


def signature(told: np.dtype) -> tuple[Any, ...]:
    """The type of the argument of kernels for levels that are told in this dtype."""
    return (type_of(Levels, key=told),)


def shorten_kernel(it):
    """Write levels in few bytes; see `Levels`."""
    held = cuda.local.array(AHEAD, INT32)
    for first in range(first_place(it.low), it.high, stride()):
        read_ahead(first, it.high, it.level, held)
        for i in range(AHEAD):
            v = first + i * WARP + lane()
            if v < it.high:
                it.told[v] = held[i]


def lengthen_kernel(it):
    """Read levels of few bytes; see `Levels`."""
    held = cuda.local.array(AHEAD, INT32)
    for first in range(first_place(it.low), it.high, stride()):
        read_ahead(first, it.high, it.told, held)
        for i in range(AHEAD):
            v = first + i * WARP + lane()
            if v < it.high:
                it.level[v] = held[i]


@functools.cache
def _kernel(function: Any, told: np.dtype) -> Kernel:
    return fixed_kernel(function, signature(told))


def tell_levels(level: Any, deepest: int, ranges: Ranges, channel: Channel) -> Callable[[], None]:
    """Start to fill in the levels of all vertices, of which each rank has those of its own; what waits for that, as
    `tell_own` says.

    Args:
        level: on the GPU, int32, shape (n,), at most `deepest`, and -1 for none.
        deepest, ranges, channel: see there.
    """
    dtype, own, n = np.min_scalar_type(-1 - deepest), ranges.own, len(level)
    if dtype.itemsize == level.itemsize or len(ranges.begins) == 2:
        return tell_own(level, ranges, channel)
    told = empty(n, dtype)
    _kernel(shorten_kernel, dtype).start([Levels(level, told, own.start, own.stop)])
    wait = tell_own(told, ranges, channel)
    for low, high in ((0, own.start), (own.stop, n)):
        _kernel(lengthen_kernel, dtype).start([Levels(level, told, low, high)])
    return wait
