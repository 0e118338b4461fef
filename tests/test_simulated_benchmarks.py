"""The ways beyond a GPU's memory that `benchmarks.beyond` compares, in numba's simulator, and compiled."""

import numpy as np
import pytest
from simulated import simulated

compiling = pytest.importorskip(
    "edgewise.kernels.cuda.compile", reason="numba-cuda is not installed", exc_type=ImportError
)

GRAPHS = ["hub", "hub of in-edges", "random", "no arcs"]
ALGORITHMS = ["bfs", "components", "sssp", "pagerank"]
WAYS = ["in memory", "limit", "arcs on the host", "zero-copy", "copied parts", "compacted"]
LEFT_OUT = ["arcs on the host, pagerank", "compacted, pagerank"]


@pytest.mark.more
def test_every_way_gives_the_right_answers_in_the_simulator():
    rows = [f"{way}, {algorithm}" for way in WAYS for algorithm in ALGORITHMS]
    assert simulated("simulate_ways.py") == GRAPHS + [row for row in rows if row not in LEFT_OUT]


@pytest.mark.more
def test_ways_give_the_right_answers_with_warps_of_several_lanes():
    assert simulated("simulate_ways.py", "warps") == GRAPHS


@pytest.mark.parametrize("offsets", [np.uint32, np.uint64])
def test_kernels_of_the_ways_compile(offsets):
    from benchmarks.beyond_kernels import KERNELS, signature

    for takes, kernel in KERNELS.items():
        code = compiling.compile_kernel(kernel, signature(takes, np.dtype(offsets)), (9, 0), None)
        assert b".text.kernel" in code
