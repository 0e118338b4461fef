"""The kernels of ranks on GPUs give the answers of the reference, in numba's simulator; see tests/simulate_ranks.py
and those beside it."""

import importlib.util

import pytest
from simulated import simulated

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)
#: Ranks of a process speak without PyTorch, and ask it whether it has NCCL. `make test` installs none.
pytestmark = [
    pytest.mark.more,
    pytest.mark.skipif(
        importlib.util.find_spec("torch") is None,
        reason="torch is not installed: pip install 'edgewise[distributed]'",
    ),
]


@pytest.mark.parametrize(
    "names",
    [
        ["bfs", "edge fields", "checkpoints", "refusals", "calls", "no vertices", "connected components"],
        ["warps", "float sums"],
        ["sssp", "components", "pagerank", "logic and aggregates"],
        pytest.param(["float sums", "user combiner", "Widest", "Mirror"], marks=pytest.mark.slow),
        pytest.param(["median", "vote", "spread", "reads through parents"], marks=pytest.mark.slow),
        pytest.param(["other names", "both ends", "every dtype"], marks=pytest.mark.slow),
        pytest.param(["every aggregator", "vertices and attributes", "blocks"], marks=pytest.mark.slow),
        pytest.param(["warps", "vote", "pagerank"], marks=pytest.mark.slow),
        pytest.param(["warps", "user combiner", "median", "connected components"], marks=pytest.mark.slow),
        pytest.param(["edge fields of all kinds"], marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_ranks_agree_with_the_reference(names: list[str]) -> None:
    assert simulated("simulate_ranks.py", *names) == [name for name in names if name != "warps"]


def test_pagerank_agrees_with_that_of_one_process() -> None:
    assert simulated("simulate_ranks_pagerank.py") == ["ranks", "limits", "cpus", "shares"]


def test_pagerank_of_long_rows_agrees_with_that_of_one_process() -> None:
    assert simulated("simulate_ranks_pagerank.py", "warps") == ["warps"]


@pytest.mark.parametrize(
    "names",
    [
        ["topological_order", "core_numbers", "triangles"],
        ["katz", "eigenvector", "hits"],
        ["closeness", "harmonic", "eccentricity"],
        ["scc", "mst"],
    ],
    ids=" ".join,
)
def test_other_algorithms_agree_with_those_of_one_process(names: list[str]) -> None:
    assert simulated("simulate_ranks_programs.py", *names) == names


def test_betweenness_is_that_of_one_gpu_for_each_share_of_the_sources() -> None:
    assert simulated("simulate_ranks_betweenness.py") == ["sums", "errors", "limits"]


def test_searches_and_shortest_paths_agree_with_those_of_one_process() -> None:
    names = ["distances", "special", "errors"]
    assert simulated("simulate_ranks_paths.py", *names) == names


def test_searches_by_both_directions_agree_with_those_of_one_process() -> None:
    names = ["levels", "directions", "deep levels"]
    assert simulated("simulate_ranks_paths.py", *names) == names


def test_searches_and_parents_are_found_by_warps() -> None:
    assert simulated("simulate_ranks_paths.py", "warps") == ["warps"]
