"""Approximate graphs made in numba's simulator. A file of its own, so that it need not wait for the others."""

import pytest
from simulated import simulated

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)
COMPARED = ("coefficients", "rows", "degrees", "clusters", "coalesce")


@pytest.mark.parametrize("compared", COMPARED)
@pytest.mark.parametrize(
    "warps",
    [
        pytest.param((), id="warps of one lane"),
        pytest.param(("warps",), id="warps of several lanes", marks=pytest.mark.slow),
    ],
)
def test_the_same_graphs_are_made_in_the_simulator(compared, warps):
    agreed = simulated("simulate_approx.py", compared, *warps)
    assert {"skewed", "skewed, floats", "skewed both ways", "streets", "no edges"} <= set(agreed)
    assert {"parallel edges", "self-loops", "isolated vertices", "no vertices", "star out"} <= set(agreed)
