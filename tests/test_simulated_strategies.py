"""The strategies in numba's simulator. A file of its own, so that it need not wait for the others."""

import pytest
from simulated import simulated

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)

import check_views


def test_strategies_keep_the_contract_in_the_simulator():
    assert simulated("check_views.py") == list(check_views.NAMES)
