"""Sorting by buckets: against a plain definition on the CPU, in numba's simulator, and on a GPU (`pytest -m gpu`)."""

import threading

import numpy as np
import pytest
from simulated import simulated

from edgewise.errors import ScheduleError
from edgewise.layout.bucket_sort import LIMIT, SCALES, bucket_sort

RANDOM = np.random.default_rng(1)
KEYS = {
    "none": [],
    "one": [5],
    "constant": [7] * 50,
    "two": [3, 4],
    "falling": range(99, -1, -1),
    "rising": range(100),
    "ties": RANDOM.integers(0, 5, 300),
    "uniform": RANDOM.integers(0, 1000, 500),
    "any": RANDOM.integers(0, 2**32, 200),
    "skewed": np.minimum(1 / RANDOM.random(400) ** 3, 2**32 - 1),
    "extremes": [0, 2**32 - 1, 1, 2**32 - 2, 2**31, 2**31 - 1, 0, 2**32 - 1],
    "close and large": [2**32 - 3, 2**32 - 1, 2**32 - 2] * 4,
    "one logarithm": [2**31 + 5, 2**31 + 6, 2**31 + 5],
}


def keys_of(name):
    return np.array(KEYS[name]).astype(np.uint32)


def logarithm(key):
    """The leading bit of key + 1, and 26 bits after it."""
    number = key + 1
    leading = number.bit_length() - 1
    return (leading << 26) + ((number - (1 << leading)) << 26 >> leading)


def buckets_by_definition(keys, num_buckets, scale, threshold):
    """The bucket of each key, as a list."""
    keys = keys.tolist()
    if not keys or max(keys) - min(keys) < threshold:
        return [0] * len(keys)
    if scale == "exact":
        return [-key for key in keys]
    scaled = keys if scale == "linear" else [logarithm(key) for key in keys]
    top, span = max(scaled), max(max(scaled) - min(scaled), 1)
    return [(top - value) * (num_buckets - 1) // span for value in scaled]


def check(found, keys, num_buckets, scale, threshold):
    """Check a result in the host's memory."""
    buckets = np.array(buckets_by_definition(keys, num_buckets, scale, threshold), np.int64)
    assert found.keys.dtype == found.positions.dtype == np.uint32
    assert found.keys.shape == found.positions.shape == keys.shape
    order = np.argsort(buckets, kind="stable")
    np.testing.assert_array_equal(found.keys, keys[order])
    np.testing.assert_array_equal(found.positions[order], np.arange(len(keys)))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", KEYS)
def test_keys_are_in_the_order_of_their_buckets(name, scale):
    keys = keys_of(name)
    given = keys.copy()
    for num_buckets in (1, 2, 7, 257, 1000, 70_000, LIMIT):
        for threshold in (1, 2, 100, 2**32):
            found = bucket_sort(keys, num_buckets, scale, threshold)
            check(found, keys, num_buckets, scale, threshold)
    np.testing.assert_array_equal(keys, given)


def test_exact_is_the_order_of_the_keys():
    keys = keys_of("any")
    assert bucket_sort(keys, scale="exact").keys.tolist() == sorted(keys.tolist(), reverse=True)


def test_keys_of_a_logarithmic_bucket_differ_by_about_the_same_factor():
    keys = RANDOM.integers(0, 2**32, 200_000, dtype=np.uint32) >> RANDOM.integers(0, 32, 200_000).astype(
        np.uint32
    )
    buckets = np.array(buckets_by_definition(keys, 100, "logarithmic", 1))
    numbers = keys.astype(float) + 1
    factors = [numbers[buckets == bucket].max() / numbers[buckets == bucket].min() for bucket in range(30)]
    assert 2 ** (32 / 99) * 0.8 < min(factors) <= max(factors) < 2 ** (32 / 99) * 1.2


def test_keys_that_need_no_sorting_are_given_back():
    keys = keys_of("ties")
    assert bucket_sort(keys, threshold=5).keys is keys
    assert bucket_sort(keys, threshold=4).keys is not keys


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2],), "keys is of type list; expected an array"),
        ((np.arange(3),), "keys has dtype int64 and shape .3,.; expected uint32"),
        ((np.zeros((2, 2), np.uint32),), r"shape \(2, 2\)"),
        ((keys_of("two"), 0), "num_buckets is 0; expected an integer from 1 to 1,000,000"),
        ((keys_of("two"), LIMIT + 1), "num_buckets is 1000001"),
        ((keys_of("two"), 2.5), "num_buckets is 2.5"),
        ((keys_of("two"), 10, "log"), "scale is 'log'; expected 'linear'"),
        ((keys_of("two"), 10, "linear", 0), "threshold is 0; expected an integer from 1"),
    ],
)
def test_other_arguments_are_refused(arguments, message):
    with pytest.raises(ScheduleError, match=message):
        bucket_sort(*arguments)


def kernel_module():
    pytest.importorskip(
        "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
    )
    return pytest.importorskip("edgewise.layout.bucket_sort_cuda")


def test_the_kernel_sorts_in_the_simulator():
    kernel_module()
    names = ["one", "constant", "two", "falling", "uniform", "skewed", "extremes", "close and large"]
    assert simulated("simulate_bucket_sort.py") == names


@pytest.mark.parametrize(("logarithmic", "capability"), [(False, (9, 0)), (True, (7, 5))])
def test_the_kernel_compiles(logarithmic, capability):
    module = kernel_module()
    from edgewise.kernels.cuda.compile import compile_kernel

    kernel = module.make_sort_kernel(logarithmic)
    assert b".text.kernel" in compile_kernel(kernel, module.signature(), capability, None)


MILLION = 1_000_000
LARGE = {
    "uniform": lambda: RANDOM.integers(0, 1000, MILLION),
    "all": lambda: RANDOM.integers(0, 2**32, MILLION),
    "skewed": lambda: np.minimum(1 / RANDOM.random(MILLION) ** 1.5, 2**32 - 1),
    "constant": lambda: np.full(MILLION, 9),
    "nearly constant": lambda: RANDOM.random(MILLION) < 1e-4,
    "falling": lambda: np.arange(MILLION)[::-1],
    "rising": lambda: np.arange(MILLION),
    "not a whole chunk": lambda: RANDOM.integers(0, 1000, 300_001),
    "little": lambda: RANDOM.integers(0, 50, 2049),
    "many": lambda: RANDOM.integers(0, 1000, 3 * MILLION + 17),
}


def on_host(found):
    return type(found)(*(values.get() for values in found))


@pytest.mark.gpu
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", [*KEYS, *LARGE])
def test_the_same_order_on_a_gpu(name, scale):
    cupy = pytest.importorskip("cupy")
    keys = LARGE[name]().astype(np.uint32) if name in LARGE else keys_of(name)
    on_gpu = cupy.asarray(keys)
    for num_buckets, threshold in ((1000, 1), (1, 1), (1024, 1), (1025, 1), (30, 2**20)):
        expected = bucket_sort(keys, num_buckets, scale, threshold)
        for _ in range(3):
            found = on_host(bucket_sort(on_gpu, num_buckets, scale, threshold))
            np.testing.assert_array_equal(found.keys, expected.keys)
            np.testing.assert_array_equal(found.positions, expected.positions)
    np.testing.assert_array_equal(on_gpu.get(), keys)


@pytest.mark.gpu
def test_a_view_with_gaps_is_sorted_on_a_gpu():
    cupy = pytest.importorskip("cupy")
    keys = keys_of("uniform")
    expected = bucket_sort(keys[::3])
    np.testing.assert_array_equal(on_host(bucket_sort(cupy.asarray(keys)[::3])), expected)


@pytest.mark.gpu
def test_several_threads_sort_on_streams_of_their_own():
    cupy = pytest.importorskip("cupy")
    wrong = []

    def work(seed):
        keys = np.random.default_rng(seed).integers(0, 1000 * (seed + 1), 200_000 + seed).astype(np.uint32)
        expected = bucket_sort(keys)
        with cupy.cuda.Stream(non_blocking=True):
            on_gpu = cupy.asarray(keys)
            for _ in range(20):
                found = on_host(bucket_sort(on_gpu))
                if any((got != want).any() for got, want in zip(found, expected, strict=True)):
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
