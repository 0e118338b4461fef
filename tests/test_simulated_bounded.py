"""Shortest paths within bounds in numba's simulator. A file of its own, so that it need not wait for the others."""

import pytest
from simulated import simulated

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)


@pytest.mark.more
def test_paths_from_several_sources_and_within_bounds_give_the_same_answers_in_the_simulator():
    assert simulated("simulate_bounded.py") == ["as on the CPU"]
