"""Programs beyond the GPU's memory in numba's simulator. A file of its own, so that it need not wait for the others."""

import pytest
from simulated import simulated

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)


@pytest.mark.parametrize(
    "layouts",
    [pytest.param(("few",), marks=pytest.mark.more), pytest.param((), marks=pytest.mark.slow, id="all")],
)
def test_programs_give_the_same_answers_with_little_memory_in_the_simulator(layouts):
    names = ["float sums", "edge fields", "reads", "sssp", "widest", "median", "vote", "spread"]
    assert simulated("simulate_beyond.py", *layouts) == names
