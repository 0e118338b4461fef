"""Sorting numbers approximately, largest first: by the bucket that each one falls into.

Rows that a warp walks together should be about equally long, and for that buckets do as well as an order (Zhong et
al. 2016, section 4.1). With t the largest and b the smallest of the numbers s(key), a key goes to bucket

    (t - s(key)) * (num_buckets - 1) // (t - b)

Linear buckets have s(key) = key, as in the paper (its Listing 1, in 64 bits). There a few large keys leave all others
in the last two buckets. Logarithmic buckets have s(key) = 2**26 * (e + x / 2**e - 1), rounded down, where x = key + 1
and e is the number of x's leading bit: that is the logarithm to base 2, with straight lines between the powers of 2.
The keys of such a bucket differ by about the same factor everywhere.

On a GPU of compute capability 8.0 or newer that takes one launch, and the host does not wait for it: see
`edgewise.layout.bucket_sort_cuda`.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.errors import ScheduleError
from edgewise.kernels.door import cuda_door
from edgewise.numeric import is_integer
from edgewise.text import shown

SCALES = ("linear", "logarithmic", "exact")
#: The most buckets that are allowed.
LIMIT = 1_000_000
#: Memory that a sort by bucket numbers takes for each key: two results, numbers of 64 bits by turns, and their order.
SORT_BYTES = 40

_UINT32 = np.dtype(np.uint32)


class Sorted(NamedTuple):
    """Sorted keys, on the host or the GPU as the given ones.

    Attributes:
        keys: uint32, (n,): the keys in their new order; the given array itself if none changed its place.
        positions: uint32, (n,): from old to new places: ``keys[positions[i]]`` is key i of the given ones.
    """

    keys: Any
    positions: Any


def bucket_sort(keys: Any, num_buckets: int = 1000, scale: str = "linear", threshold: int = 1) -> Sorted:
    """Sort numbers by falling buckets, in time O(n + num_buckets). Keys of one bucket keep their order.

    Args:
        keys: uint32, (n,), a NumPy or CuPy array, not changed. On a GPU it is sorted on the current stream.
        num_buckets: from 1 to 1,000,000.
        scale: how keys go to buckets: "linear" or "logarithmic"; or "exact" to sort them fully and stably.
        threshold: where the largest and the smallest key differ by less, all keys stay where they are.

    Raises:
        ScheduleError: an argument that is none of these.
        MemoryLimitError: the GPU has no room for the result.
        DeviceError: the keys are on a GPU that cannot be used.
    """
    on_gpu = _check(keys, num_buckets, scale, threshold)
    if not on_gpu:
        return _by_argsort(np, keys, num_buckets, scale, threshold)
    xp = cuda_door().cupy()
    if len(keys) and scale != "exact":
        from edgewise.layout import bucket_sort_cuda as gpu

        if gpu.can_sort(num_buckets, keys.device.id):
            keys = keys if keys.flags.c_contiguous else xp.ascontiguousarray(keys)
            return Sorted(*gpu.sort_on_gpu(keys, num_buckets, scale == "logarithmic", threshold))
    with cuda_door().room("sorting", SORT_BYTES * len(keys)):
        return _by_argsort(xp, keys, num_buckets, scale, threshold)


def _check(keys: Any, num_buckets: Any, scale: Any, threshold: Any) -> bool:
    """Refuse what is no such argument; whether keys are on a GPU."""
    on_gpu = hasattr(type(keys), "__cuda_array_interface__") and not isinstance(keys, np.ndarray)
    if not on_gpu and not isinstance(keys, np.ndarray):
        raise ScheduleError(
            f"keys is of type {type(keys).__name__}; expected an array of uint32 by NumPy or CuPy"
        )
    if isinstance(keys, np.ndarray) and np.ma.is_masked(keys):
        raise ScheduleError("keys has masked entries; expected a key in each place. Drop such entries first")
    if keys.dtype != _UINT32 or keys.ndim != 1 or len(keys) >= 2**32:
        raise ScheduleError(
            f"keys has dtype {keys.dtype} and shape {keys.shape}; expected uint32, one dimension, less than 2**32 keys"
        )
    if not isinstance(scale, str) or scale not in SCALES:
        raise ScheduleError(f"scale is {shown(scale)}; expected 'linear', 'logarithmic' or 'exact'")
    for name, value, most in (("num_buckets", num_buckets, LIMIT), ("threshold", threshold, 2**32)):
        if not (is_integer(value) and 1 <= value <= most):
            raise ScheduleError(f"{name} is {shown(value)}; expected an integer from 1 to {most:,}")
    return on_gpu


def _by_argsort(xp: Any, keys: Any, num_buckets: int, scale: str, threshold: int) -> Sorted:
    """Sort by the number of the bucket. Numbers of 16 bits are sorted faster than larger ones."""
    largest, least = (int(keys.max()), int(keys.min())) if len(keys) else (0, 0)
    if largest - least < threshold:
        return Sorted(keys, xp.arange(len(keys), dtype=np.uint32))
    if scale == "exact":
        numbers, last = xp.subtract(np.uint32(largest), keys), largest - least
    else:
        numbers, last = _buckets(xp, keys, num_buckets, scale), num_buckets - 1
    order = xp.argsort(numbers.astype(np.min_scalar_type(last)), kind="stable")
    return Sorted(keys[order], inverse(xp, order))


def inverse(xp: Any, order: Any) -> Any:
    """Where each number stands in a permutation, uint32; `xp`: NumPy or CuPy, whichever it is of."""
    found = xp.empty(len(order), np.uint32)
    found[order] = xp.arange(len(order), dtype=np.uint32)
    return found


def _buckets(xp: Any, keys: Any, num_buckets: int, scale: str) -> Any:
    """The bucket of each key, int64, (n,)."""
    scaled = _logarithms(xp, keys) if scale == "logarithmic" else keys.astype(np.int64)
    below = scaled.max() - scaled
    return xp.multiply(below, num_buckets - 1) // xp.maximum(below.max(), 1)


def _logarithms(xp: Any, keys: Any) -> Any:
    """Of each key, s(key) of logarithmic buckets, and a constant: the upper bits of key + 1 as a float of 64 bits."""
    return xp.right_shift(xp.add(keys, 1.0, dtype=np.float64).view(np.int64), 26)
