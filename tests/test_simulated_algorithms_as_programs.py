"""The algorithms as programs in numba's simulator. A file of its own, so that it need not wait for the others."""

import pytest
from simulated import simulated

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)
pytestmark = pytest.mark.more


def test_algorithms_as_programs_give_the_right_answers_in_the_simulator():
    assert simulated("simulate_algorithms.py", "programs") == ["star out", "random", "both ways"]
