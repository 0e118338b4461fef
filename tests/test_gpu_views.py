"""Every view keeps the contract of work on a GPU: `pytest -m gpu`."""

import numpy as np
import pytest

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)

import check_views

pytestmark = pytest.mark.gpu

RANDOM = np.random.default_rng(2)
GRAPHS = {
    "each degree": check_views.DEGREES,
    "low": RANDOM.integers(0, 40, 300_000),
    "with hubs": np.where(RANDOM.random(20_000) < 0.01, 3000, RANDOM.integers(0, 100, 20_000)),
}


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", check_views.NAMES)
def test_every_arc_is_visited_once(name, graph):
    check_views.check(name, GRAPHS[graph])
