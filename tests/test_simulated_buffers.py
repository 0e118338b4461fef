"""Message buffers and layouts in numba's simulator. A file of its own, so that it need not wait for the others."""

import pytest
from simulated import simulated

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)
pytestmark = pytest.mark.more


def test_buffers_and_layouts_give_the_right_answers_in_the_simulator():
    assert simulated("simulate_buffers.py") == ["slots", "buffers"]
