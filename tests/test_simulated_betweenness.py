"""Betweenness in numba's simulator. A file of its own, so that it need not wait for the others."""

import pytest
from simulated import simulated

pytest.importorskip("edgewise.kernels.gpu", reason="numba-cuda is not installed", exc_type=ImportError)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((), marks=pytest.mark.slow, id="warps of one lane"),
        pytest.param(("warps",), id="warps of several lanes"),
    ],
)
def test_betweenness_gives_the_right_answers_in_the_simulator(arguments):
    graphs = ["one vertex", "path", "star", "loops and parallel arcs", "two parts", "directed", "undirected"]
    assert simulated("simulate_betweenness.py", *arguments) == graphs
