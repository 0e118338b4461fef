"""Runs by clusters in numba's simulator. A file of its own, so that it need not wait for the others."""

import pytest
from simulated import simulated

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)


@pytest.mark.more
def test_runs_by_clusters_give_the_same_answers_in_the_simulator():
    assert simulated("simulate_clusters.py") == ["as on the CPU"]


@pytest.mark.slow
def test_runs_by_clusters_give_the_same_answers_with_warps_of_several_lanes():
    assert simulated("simulate_clusters.py", "warps") == ["as on the CPU"]
