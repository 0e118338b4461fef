"""Whether what `edge_vertex` measured gave right answers."""

from typing import Any

import numpy as np

#: By how much ranks may differ: each relatively, and all together, of a sum of 1. A thread that adds 18,235 floats one
#: by one, the longest row of cnr-2000, may not be held to less: 50 iterations by float32 sums in two orders differ by
#: 4.7e-4 for a vertex and 3.3e-5 in all there (NumPy), on uniform edges by 4.5e-7 and 5.4e-8.
EACH_RANK, ALL_RANKS = 1e-3, 1e-4


def same(found: Any, want: Any) -> bool:
    """Whether two results agree, floats, which are ranks, but for rounding."""
    if found.shape != want.shape:
        return False
    if want.dtype.kind != "f":
        return bool((found == want).all())
    apart = abs(found.astype(np.float64) - want)
    return bool((apart <= EACH_RANK * abs(want)).all()) and float(apart.sum()) <= ALL_RANKS * float(
        want.sum()
    )


def least_of_each(labels: Any) -> Any:
    """For each vertex the least one that has its label, on the GPU."""
    import cupy
    import cupyx

    least, vertices = cupy.full(len(labels), len(labels), np.int32), cupy.arange(len(labels), dtype=np.int32)
    cupyx.scatter_min(least, labels, vertices)
    return least[labels]


def is_sorted(name: str, found: Any, keys: Any) -> bool:
    """Whether a sort's result is one; buckets have to be those of the CPU, in its order. All is checked on the host."""
    from edgewise.layout.bucket_sort import bucket_sort

    given = on_host(keys)
    if name == "extremes":
        return tuple(found) == (int(given.min()), int(given.max()))
    parts = [on_host(part) for part in found]
    if name in ("merge", "quick", "radix"):
        by_key, order = parts
        if not (len(by_key) == len(given) and is_permutation(order, len(given))):
            return False
        return bool((by_key[1:] >= by_key[:-1]).all() and (given[order] == by_key).all())
    expected = bucket_sort(given, scale="linear" if name == "approximate" else name)
    return all(np.array_equal(part, want) for part, want in zip(parts, expected, strict=True))


def is_permutation(order: np.ndarray, count: int) -> bool:
    """Whether each number below `count` is there once."""
    if len(order) != count or (count and not 0 <= int(order.min()) <= int(order.max()) < count):
        return False
    there = np.zeros(count, bool)
    there[order] = True
    return bool(there.all())


def on_host(array: Any) -> np.ndarray:
    """An array of NumPy, copied from the GPU if it lies there."""
    return array if isinstance(array, np.ndarray) else array.get()
