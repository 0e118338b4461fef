"""Betweenness on a GPU gives what it gives on the CPU. These tests need an NVIDIA GPU: `pytest -m gpu`."""

import battery
import numpy as np
import pytest
from replicated import balance_for, name_of
from simulate_betweenness import squares
from test_gpu import BALANCES

import edgewise as ew
from edgewise.errors import MemoryLimitError, ScheduleError

pytestmark = pytest.mark.gpu

SMALL = {name: graph for name, graph in battery.graphs().items() if graph.num_vertices}
#: Levels that are pushed and pulled; rows that part of a warp takes, a warp and a block; counts that need powers.
LARGE = {
    "R-MAT": lambda: ew.generate.rmat(15, 16, seed=1, directed=False),
    "directed R-MAT": lambda: ew.generate.rmat(15, 16, seed=2),
    "uniform": lambda: ew.generate.uniform(30_000, 300_000, seed=3, directed=False),
    "sparse": lambda: ew.generate.uniform(50_000, 45_000, seed=4),
    "lattice": lambda: ew.generate.lattice(300, 300, seed=5, directed=False),
    "one-way streets": lambda: ew.generate.lattice(120, 120, one_way=0.3, seed=6),
    "path": lambda: ew.generate.path(3000, directed=False),
    "star": lambda: ew.generate.star(100_000, directed=False),
}


def both(
    graph,
    sources=None,
    tolerance=1e-11,
    memory_limit=None,
    algorithm=ew.betweenness,
    checkpoint=None,
    **options,
):
    """Compare the sums of dependencies on the GPU with those of the CPU, which has no limit and no checkpoint; the
    result on the GPU."""
    there = {"memory_limit": memory_limit, "checkpoint": checkpoint}
    got = algorithm(graph, sources=sources, device="cuda", **there, **options)
    expected = algorithm(graph, sources=sources, device="cpu", **options)
    assert "GPU" in got.explain()
    np.testing.assert_allclose(got.dependency, expected.dependency, rtol=tolerance, atol=1e-9)
    np.testing.assert_allclose(got.centrality, expected.centrality, rtol=tolerance, atol=1e-12)
    return got


@pytest.mark.parametrize("name", SMALL)
def test_small_graphs(name):
    graph = SMALL[name]
    n, ends = graph.num_vertices, (graph.sources, graph.targets)
    for given in (graph, ew.Graph.from_edges(*ends, directed=False, num_vertices=n)):
        sources = None if n < 300 else np.arange(0, n, 41)
        for endpoints in (False, True):
            assert both(given, sources, endpoints=endpoints).verify(given)


def test_drawn_graphs():
    for seed in range(60):
        random = np.random.default_rng(seed)
        n = int(random.integers(1, 400))
        ends = random.integers(0, n, (2, int(random.integers(0, 5 * n))))
        graph = ew.Graph.from_edges(*ends, directed=bool(seed % 2), num_vertices=n)
        both(graph, k=int(random.integers(1, n + 1)), endpoints=bool(seed % 3), normalized=bool(seed % 5))


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("count", [1, 5, 16, 75])
def test_large_graphs(name, count):
    graph = LARGE[name]()
    sources = np.random.default_rng(count).choice(graph.num_vertices, count, replace=False)
    assert both(graph, sources, endpoints=count == 5).verify(graph)


def test_the_same_call_gives_the_same_bits():
    for name in ("R-MAT", "directed R-MAT", "lattice"):
        graph = LARGE[name]()
        first = ew.betweenness(graph, k=40, device="cuda").dependency.tobytes()
        assert all(ew.betweenness(graph, k=40, device="cuda").dependency.tobytes() == first for _ in range(5))


@pytest.mark.parametrize("sources", [[0], [0, 3, 1000], list(range(0, 3700, 100))], ids=len)
def test_counts_of_paths_beyond_the_range_of_floats(sources):
    graph = squares(1200, 4)
    result = both(graph, sources)
    assert "powers" in result.explain()
    assert result.verify(graph)


def test_counts_of_paths_that_leave_the_range_for_some_batches_only():
    """The last sources come first: few paths lead from them to the end of the chain."""
    graph = squares(1200, 2)
    told = both(graph, list(range(3599, 0, -40))).explain()
    assert "32 at a time" in told
    assert "58 sources had powers" in told


def test_a_chain_in_which_counts_just_need_no_powers():
    result = both(squares(1900, 1), [0, 5])
    assert "powers" not in result.explain()


def test_few_sources_at_a_time_where_memory_is_limited():
    graph = LARGE["R-MAT"]()
    for limit, told in ((None, "32 at a time"), (6_000_000, "4 at a time"), (2_200_000, " 1 at a time")):
        assert told in both(graph, k=40, memory_limit=limit).explain()
    with pytest.raises(MemoryLimitError, match="betweenness needs"):
        ew.betweenness(graph, k=40, device="cuda", memory_limit=1_000_000)


def test_progress_and_interruptions():
    graph = ew.generate.lattice(500, 500, directed=False)
    seen = []
    ew.betweenness(graph, k=320, device="cuda", progress=seen.append)
    assert seen == sorted(seen)
    assert all(0 <= done <= 320 for done in seen)

    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ew.betweenness(graph, device="cuda", progress=stop)
    both(graph, [0, 7])


@pytest.mark.parametrize("balance", BALANCES, ids=name_of)
def test_as_a_program_with_every_strategy(balance):
    if isinstance(balance, ew.EdgeBased):
        with pytest.raises(ScheduleError, match="EdgeBased"):
            ew.betweenness(SMALL["heavy row"], device="cuda", schedule=ew.Schedule(balance=balance))
        return
    graphs = [*SMALL.values(), *(LARGE[name]() for name in ("R-MAT", "directed R-MAT", "one-way streets"))]
    for graph in graphs:
        n = graph.num_vertices
        schedule = ew.Schedule(balance=balance_for(graph, balance))
        sources = sorted({0, n // 2, n - 1})
        got = ew.betweenness(graph, sources=sources, endpoints=n % 2 == 0, device="cuda", schedule=schedule)
        expected = ew.betweenness(graph, sources=sources, endpoints=n % 2 == 0, device="cpu")
        assert f"balance {schedule.balance}" in got.explain()
        np.testing.assert_allclose(got.dependency, expected.dependency, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "schedule",
    [
        ew.Schedule(ew.Buffered()),
        ew.Schedule(layout=ew.Layout()),
        ew.Schedule(ew.Pull(), balance=ew.MergePath()),
    ],
    ids=str,
)
def test_as_a_program_with_counts_of_paths_beyond_the_range_of_floats(schedule):
    graph = squares(1200, 4)
    got, expected = (
        ew.betweenness(graph, sources=[0, 3], device=device, schedule=given)
        for device, given in (("cuda", schedule), ("cpu", None))
    )
    np.testing.assert_allclose(got.dependency, expected.dependency, rtol=1e-9, atol=1e-9)
