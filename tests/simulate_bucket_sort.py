"""Sort on a GPU that tests/simulator.py pretends, and compare with the sort on the CPU."""

import time

import numpy as np
from numba.cuda.simulator.kernelapi import FakeCUDAModule
from simulator import pretend

from edgewise.layout.bucket_sort import bucket_sort

RANDOM = np.random.default_rng(1)
#: Chunks of 8 keys and 4 warps: the largest of these needs more than one turn of each.
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
#: Buckets, scale, stable or not, threshold.
WAYS = (
    (50, "linear", True, 3),
    (70, "logarithmic", True, 1),
    (9, "logarithmic", False, 1),
)


def main():
    """Print the name of each set of keys whose order is right."""
    pretend()
    from edgewise.layout._bucket_sort_gpu import sort_on_gpu

    # A warp that waits for its turn lets others go on.
    FakeCUDAModule.threadfence_block = lambda self: time.sleep(1e-5)
    for name, given in KEYS.items():
        keys = np.minimum(np.array(given), 2**32 - 1).astype(np.uint32)
        for num_buckets, scale, stable, threshold in WAYS:
            expected = bucket_sort(keys, num_buckets, scale, True, threshold)
            found = sort_on_gpu(keys, num_buckets, scale == "logarithmic", stable, threshold)
            np.testing.assert_array_equal(found[0][found[1]], keys, err_msg=f"{name} {scale}")
            assert sorted(found[1]) == list(range(len(keys)))
            if stable:
                np.testing.assert_array_equal(found, expected, err_msg=f"{name} {scale}")
            else:
                # What does not change when it is sorted by buckets once more is sorted by buckets.
                again = bucket_sort(found[0], num_buckets, scale, True, threshold)
                np.testing.assert_array_equal(again.positions, range(len(keys)), err_msg=f"{name} {scale}")
        print(name, flush=True)


if __name__ == "__main__":
    main()
