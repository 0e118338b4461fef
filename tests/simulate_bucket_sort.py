"""Sort on a GPU that tests/simulator.py pretends, and compare with the sort on the CPU."""

import numpy as np
from simulator import pretend

from edgewise.layout.bucket_sort import bucket_sort

RANDOM = np.random.default_rng(1)
#: Tiles of 32 keys.
KEYS = {
    "one": [7],
    "constant": [3] * 11,
    "two": [5, 4],
    "falling": range(33, 0, -1),
    "uniform": RANDOM.integers(0, 1000, 70),
    "skewed": 1 / RANDOM.random(35) ** 3,
    "extremes": [2**32 - 1, 0, 2**32 - 2, 2**31 + 5, 2**31 + 6, 1, 2**32 - 1, 0, 2**31, 9],
    "close and large": [2**32 - 3, 2**32 - 1, 2**32 - 2] * 3,
}
#: Buckets, of which there are at most as many as threads; scale, threshold.
WAYS = ((4, "linear", 3), (3, "logarithmic", 1), (1, "linear", 1))


def main():
    """Print the name of each set of keys whose order is right."""
    pretend()
    from edgewise.layout import bucket_sort_cuda as gpu

    gpu._user = lambda: ()
    assert gpu.can_sort(4, 0) and not gpu.can_sort(5, 0)
    gpu._has_memory.cache_clear()
    gpu.capability = lambda: (7, 5)
    assert not gpu.can_sort(4, 0)
    for name, given in KEYS.items():
        keys = np.minimum(np.array(given), 2**32 - 1).astype(np.uint32)
        for num_buckets, scale, threshold in WAYS:
            expected = bucket_sort(keys, num_buckets, scale, threshold)
            # The first call leaves the workspace to the second one as it was.
            for _ in range(2):
                found = gpu.sort_on_gpu(keys, num_buckets, scale == "logarithmic", threshold)
                np.testing.assert_array_equal(found, expected, err_msg=f"{name} {scale}")
        print(name, flush=True)


if __name__ == "__main__":
    main()
