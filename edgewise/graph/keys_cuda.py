"""Keys of arcs, made on the GPU: 64-bit integers with the target in the upper half and the source in the lower."""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import Int64s, Offsets, Uint32s, type_of
from edgewise.kernels.cuda.device import UINT32, cuda, device_function
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import empty
from edgewise.primitives.by_degree import SCRATCH, make_binned


class Keys(NamedTuple):
    """The kernel's arguments.

    Attributes:
        offsets, targets: the graph's rows.
        keys: shape (m,), to be filled.
        n: vertices.
    """

    offsets: Offsets
    targets: Uint32s
    keys: Int64s
    n: int


def signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the kernel's arguments for graphs with offsets of this dtype."""
    return (type_of(Keys, offset=offsets),)


@device_function
def _write(v: Any, first: Any, end: Any, step: Any, lanes: Any, context: Any) -> None:
    """Write the keys of this lane's arcs of a vertex."""
    targets, keys = context
    for k in range(first, end, step):
        keys[k] = np.int64(targets[k]) << 32 | v


_write_all = make_binned(_write, False)


def keys_kernel(it):
    """The key of each arc; see `Keys`."""
    scratch = cuda.shared.array(SCRATCH, UINT32)
    _write_all(it.targets, np.int64(0), it.n, it.offsets, scratch, (it.targets, it.keys))


@functools.cache
def _kernel(offsets: np.dtype) -> Kernel:
    return fixed_kernel(keys_kernel, signature(offsets))


def arc_keys(offsets: Any, targets: Any) -> Any:
    """The keys of all arcs, int64, shape (m,), from rows on the GPU; written on the current stream."""
    keys = empty(len(targets), np.int64)
    _kernel(np.dtype(f"u{offsets.dtype.itemsize}")).start([Keys(offsets, targets, keys, len(offsets) - 1)])
    return keys
