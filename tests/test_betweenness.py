"""Betweenness: small graphs that expose bugs, drawn graphs, counts of paths beyond float64, scaling, planted errors."""

from collections import deque

import battery
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgewise as ew
from edgewise.errors import GraphError, MemoryLimitError, ParameterError, ScheduleError, VerificationError
from edgewise.kernels import launch


@pytest.fixture(autouse=True, scope="module")
def _threads_even_for_small_graphs():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "SMALL_WORK", 0)
        yield


def by_integers(graph, sources, endpoints=False):
    """Sums of dependencies, with counts of shortest paths as Python integers, which have no largest."""
    n, out = graph.num_vertices, {}
    for u, v in zip(graph.sources.tolist(), graph.targets.tolist(), strict=True):
        out.setdefault(u, []).append(v)
    total = np.zeros(n)
    for source in sources:
        level, count, order, waiting = {source: 0}, {source: 1}, [], deque([source])
        while waiting:
            v = waiting.popleft()
            order.append(v)
            for u in out.get(v, ()):
                if u not in level:
                    level[u], count[u] = level[v] + 1, 0
                    waiting.append(u)
                if level[u] == level[v] + 1:
                    count[u] += count[v]
        dependency = dict.fromkeys(order, 0.0)
        for v in reversed(order):
            for u in out.get(v, ()):
                if level[u] == level[v] + 1:
                    dependency[v] += count[v] / count[u] * (1 + dependency[u])
            if v != source:
                total[v] += dependency[v] + endpoints
        if endpoints:
            total[source] += len(order) - 1
    return total


def check(graph, sources=None):
    chosen = range(graph.num_vertices) if sources is None else sources
    for endpoints in (False, True):
        expected = by_integers(graph, chosen, endpoints)
        found = [
            ew.betweenness(
                graph,
                sources=sources,
                endpoints=endpoints,
                device="cpu",
                schedule=ew.Schedule(num_threads=threads),
            )
            for threads in (1, 2, 3)
        ]
        for result in found:
            np.testing.assert_allclose(result.dependency, expected, rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(result.dependency, found[0].dependency)
        assert found[0].verify(graph)


@pytest.mark.parametrize("name", battery.graphs())
def test_small_graphs(name):
    graph = battery.graphs()[name]
    check(graph, [0, 5, 17] if graph.num_vertices > 100 else None)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 20), st.booleans(), st.data())
def test_drawn_graphs(n, directed, data):
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    edges = np.array(data.draw(st.lists(ends, max_size=3 * n)), np.int64).reshape(-1, 2)
    check(ew.Graph.from_edges(*edges.T, directed=directed, num_vertices=n))


def diamonds(count):
    """A chain of squares, each of which doubles the number of shortest paths; square i begins at vertex 3 i."""
    first = 3 * np.arange(count)
    source = np.concatenate([first, first, first + 1, first + 2])
    target = np.concatenate([first + 1, first + 2, first + 3, first + 3])
    return source, target, 3 * count + 1


@pytest.mark.parametrize("directed", [True, False])
def test_counts_of_paths_beyond_the_range_of_floats(directed):
    source, target, n = diamonds(1500)
    graph = ew.Graph.from_edges(source, target, directed=directed, num_vertices=n)
    check(graph, [0, 1, 2000])


def test_few_paths_beside_very_many():
    source, target, n = diamonds(1200)
    beside = np.arange(n, n + 2399)  # one path as long as the others, from the first vertex to the last
    source = np.concatenate([source, [0], beside])
    target = np.concatenate([target, beside, [n - 1]])
    graph = ew.Graph.from_edges(source, target, num_vertices=n + 2399)
    check(graph, [0, 3, n])


def test_a_lattice_has_finite_values_everywhere():
    graph = ew.generate.lattice(700, 40, directed=False)
    check(graph, [0, 13_999])


def test_how_values_are_scaled():
    path = ew.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], directed=False)
    for normalized, endpoints, expected in (
        (True, False, np.array([0, 3, 4, 3, 0]) / 6),
        (False, False, np.array([0, 3, 4, 3, 0])),
        (True, True, np.array([4, 7, 8, 7, 4]) / 10),
        (False, True, np.array([4, 7, 8, 7, 4])),
    ):
        found = ew.betweenness(path, normalized=normalized, endpoints=endpoints, device="cpu")
        np.testing.assert_allclose(found.centrality, expected)
        same = ew.betweenness(path, k=5, normalized=normalized, endpoints=endpoints, device="cpu")
        np.testing.assert_allclose(same.centrality, expected)
    some = ew.betweenness(path, sources=[1, 3], normalized=False, device="cpu")
    np.testing.assert_array_equal(some.dependency, [0, 1, 4, 1, 0])
    # Two sources stand for four others, or for a source itself one does; each pair counts once.
    np.testing.assert_allclose(some.centrality, np.array([0, 1 * 4, 4 * 2, 1 * 4, 0]) / 2)
    one_way = ew.Graph.from_edges([0, 1], [1, 2])
    np.testing.assert_allclose(ew.betweenness(one_way, device="cpu").centrality, [0, 0.5, 0])
    np.testing.assert_allclose(ew.betweenness(one_way, normalized=False, device="cpu").centrality, [0, 1, 0])


def test_sources_are_drawn_by_a_seed():
    graph = ew.generate.rmat(9, 8, seed=1)
    one, same, other = (ew.betweenness(graph, k=20, seed=seed, device="cpu") for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.centrality, same.centrality)
    assert not np.array_equal(one.centrality, other.centrality)
    assert one.num_sources == one.supersteps == 20
    assert one.verify(graph)


def test_progress_is_that_of_sources():
    seen = []
    graph = ew.generate.rmat(13, 16, seed=1)
    ew.betweenness(graph, k=400, device="cpu", progress=seen.append)
    assert seen == sorted(seen)
    assert all(0 <= done <= 400 for done in seen)


def test_the_verifier_finds_planted_errors():
    graph = ew.generate.rmat(8, 6, seed=3)
    result = ew.betweenness(graph, device="cpu")
    assert result.verify(graph)
    right = result.dependency.copy()
    for change, problem in (
        (lambda values: values * 1.001, "by its paths it has"),
        (lambda values: values[::-1].copy(), "by its paths it has"),
        (lambda values: np.where(np.arange(len(values)) == 3, np.nan, values), "vertex 3 has nan"),
        (lambda values: values[:-1], "expected one for each of 256 vertices"),
    ):
        result.dependency = change(right)
        with pytest.raises(VerificationError, match=problem):
            result.verify(graph)


def test_refusals():
    graph = ew.Graph.from_edges(["a", "b", "c"], ["b", "c", "a"])
    for arguments, problem in (
        ({"k": 0}, "k is 0; expected an integer from 1 to 3"),
        ({"k": 4}, "k is 4; expected an integer from 1 to 3"),
        ({"k": 1.5}, "k is 1.5"),
        ({"k": 1, "sources": ["a"]}, "both k and sources are given"),
        ({"sources": []}, "there are none"),
        ({"sources": ["a", "a"]}, "one is given twice"),
    ):
        with pytest.raises(ParameterError, match=problem):
            ew.betweenness(graph, device="cpu", **arguments)
    with pytest.raises(GraphError):
        ew.betweenness(graph, sources=["d"], device="cpu")
    with pytest.raises(ScheduleError, match="no manual delivery"):
        ew.betweenness(graph, device="cpu", schedule=ew.Schedule(ew.Pull()))
    with pytest.raises(MemoryLimitError, match="betweenness needs"):
        ew.betweenness(graph, device="cpu", memory_limit=100)
