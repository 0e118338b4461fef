"""Rows sorted by weight, from which shortest paths beyond the GPU's memory are found."""

import numpy as np
import pytest
from simulated import simulated

import edgewise as ew

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)


def weights_of(dtype, count):
    """Weights of up to 8 bits, of up to 23, or floats; a sixth of them are 0, and floats are -0.0, too."""
    drawn = np.random.default_rng(3).integers(0, 6, count)
    if dtype == "float32":
        return (drawn * np.where(np.arange(count) % 2, 0.37, 1e-30) * np.where(drawn == 0, -1, 1)).astype(
            dtype
        )
    return (drawn * (50 if dtype == "int32" else 70001)).astype(dtype)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_rows_are_sorted_by_weight(dtype):
    from edgewise.algorithms.sssp.cuda_rows import _sorted

    drawn = ew.generate.rmat(9, 12, seed=1)
    weights = weights_of(dtype, drawn.num_arcs)
    heaviest = weights.max(keepdims=True)
    bits = int(heaviest.view(np.int32)[0] if dtype == "float32" else heaviest[0]).bit_length()
    arcs, floors = _sorted(drawn.offsets, drawn.targets, weights, bits)
    words = np.maximum(weights.view(np.int32) if dtype == "float32" else weights, 0).astype(np.int64)
    words = words << 32 | drawn.targets
    for v, (begin, end) in enumerate(zip(drawn.offsets, drawn.offsets[1:], strict=False)):
        row = arcs[begin:end]
        np.testing.assert_array_equal(np.sort(row), np.sort(words[begin:end]))
        assert np.all(np.diff(row >> 32) >= 0)
        assert floors[v] == (row[0] >> 32 >> max(0, bits - 8) if end > begin else 255)
    assert np.diff(drawn.offsets).max() > 100


def test_paths_over_sorted_rows_are_right_in_the_simulator():
    assert simulated("simulate_sorted_rows.py") == ["drawn", "far"]
