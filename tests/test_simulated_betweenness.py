"""Betweenness in numba's simulator. A file of its own, so that it need not wait for the others."""

import pytest
from simulated import simulated

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)
pytestmark = pytest.mark.more

GRAPHS = ["one vertex", "path", "star", "loops and parallel arcs", "two parts", "directed", "undirected"]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((), marks=pytest.mark.slow, id="warps of one lane"),
        pytest.param(("warps",), id="warps of several lanes"),
    ],
)
def test_betweenness_gives_the_right_answers_in_the_simulator(arguments):
    assert simulated("simulate_betweenness.py", *arguments) == GRAPHS


def test_betweenness_by_weights_and_of_edges_gives_the_right_answers_in_the_simulator():
    assert simulated("simulate_weighted_betweenness.py") == GRAPHS
