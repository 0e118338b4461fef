"""The algorithms in numba's simulator. A file of its own, so that it need not wait for the others."""

import pytest
from simulated import simulated

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)
pytestmark = pytest.mark.more


@pytest.mark.parametrize(
    "arguments",
    [pytest.param((), id="warps of one lane"), pytest.param(("warps",), id="warps of several lanes")],
)
def test_algorithms_give_the_right_answers_in_the_simulator(arguments):
    graphs = ["one vertex", "star out", "many to one", "path", "random", "apart", "both ways", "loops"]
    assert simulated("simulate_algorithms.py", *arguments) == graphs
