"""The strategies in numba's simulator. A file of its own, so that it need not wait for the others."""

import pytest
from simulated import simulated

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)


def test_strategies_keep_the_contract_in_the_simulator():
    done = simulated("check_views.py")
    assert len(done) == 25
    assert {"binned", "outbox", "layout", "edge-based", "decomposition", "splitting", "hierarchy"} < set(done)
