"""Levels on ranks with GPUs, told in as few bytes as hold the deepest."""

import functools
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.ranks_cuda import tell_own
from edgewise.engine.distributed.channel import Channel
from edgewise.engine.distributed.partition import Ranges
from edgewise.kernels.cuda.arguments import Elements, type_of
from edgewise.kernels.cuda.device import INT32, WARP, cuda, lane
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import empty
from edgewise.primitives.ahead import AHEAD, first_place, read_ahead, stride


class Copying(NamedTuple):
    """What `copy_kernel` takes.

    Attributes:
        values, copy: shape (n,), of two dtypes.
        low, high: which of them, from `low` to `high` - 1.
    """

    values: Annotated[Any, Elements("values")]
    copy: Annotated[Any, Elements("copy")]
    low: int
    high: int


def signature(values: np.dtype, copy: np.dtype) -> tuple[Any, ...]:
    """The type of the argument of `copy_kernel` for these dtypes."""
    return (type_of(Copying, values=values, copy=copy),)


def copy_kernel(it):
    """Copy integers to another dtype, which holds them; see `Copying`."""
    held = cuda.local.array(AHEAD, INT32)
    for first in range(first_place(it.low), it.high, stride()):
        read_ahead(first, it.high, it.values, held)
        for i in range(AHEAD):
            v = first + i * WARP + lane()
            if v < it.high:
                it.copy[v] = held[i]


@functools.cache
def _kernel(values: np.dtype, copy: np.dtype) -> Kernel:
    return fixed_kernel(copy_kernel, signature(values, copy))


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
    _kernel(level.dtype, dtype).start([Copying(level, told, own.start, own.stop)])
    wait = tell_own(told, ranges, channel)
    for low, high in ((0, own.start), (own.stop, n)):
        _kernel(dtype, level.dtype).start([Copying(told, level, low, high)])
    return wait
