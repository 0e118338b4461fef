"""Betweenness of edges: small and drawn graphs, beside NetworkX, counts of paths beyond float64, planted errors."""

import itertools
import random

import battery
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from paths_by_integers import WEIGHTS, dependencies, diamonds, drawn_for_networkx, drawn_graphs

import edgewise as ew
from edgewise.errors import GraphError, MemoryLimitError, ParameterError, ScheduleError, VerificationError

pytestmark = pytest.mark.usefixtures("threads_even_for_small_graphs")


def check(graph, sources=None, weighted=False):
    chosen = range(graph.num_vertices) if sources is None else sources
    _, expected = dependencies(graph, chosen, weighted=weighted)
    found = [
        ew.edge_betweenness(
            graph,
            sources=sources,
            weighted=weighted,
            device="cpu",
            schedule=ew.Schedule(num_threads=threads),
        )
        for threads in (1, 2, 3)
    ]
    for result in found:
        np.testing.assert_allclose(result.dependency, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(result.dependency, found[0].dependency)
    assert found[0].verify(graph)
    # What comes into a vertex goes on, but for the paths that end there: one for each source that reaches it.
    coming = np.bincount(graph.targets, found[0].dependency, minlength=graph.num_vertices)
    through = ew.betweenness(graph, sources=sources, weighted=weighted, device="cpu").dependency
    ending = sum((ew.bfs(graph, source, device="cpu").level > 0 for source in chosen), np.zeros(1))
    np.testing.assert_allclose(coming, through + ending, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", battery.graphs())
@pytest.mark.parametrize("weighted", [False, True])
def test_small_graphs(name, weighted):
    graph = battery.graphs()[name]
    if not (weighted and name == "zero weights"):
        check(graph, [0, 5, 17] if graph.num_vertices > 100 else None, weighted)


@pytest.mark.more
@settings(max_examples=60, deadline=None)
@given(drawn_graphs)
def test_drawn_graphs(graph):
    check(graph)
    check(graph, weighted=True)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_values_are_those_of_networkx(directed, seed):
    graph, known = drawn_for_networkx(seed, directed)
    for weight, normalized, k in itertools.product((None, "weight"), (False, True), (None, 1, 2, 7, 12)):
        expected = nx.edge_betweenness_centrality(known, k=k, weight=weight, seed=seed, normalized=normalized)
        # NetworkX draws its sources like this.
        sources = None if k is None else random.Random(seed).sample(list(known), k)
        found = ew.edge_betweenness(
            graph, sources=sources, weighted=weight is not None, normalized=normalized, device="cpu"
        )
        values = dict(
            zip(
                zip(found.source_index.tolist(), found.target_index.tolist(), strict=True),
                found.centrality,
                strict=True,
            )
        )
        assert values == {
            ends if directed else tuple(sorted(ends)): pytest.approx(value, abs=1e-14)
            for ends, value in expected.items()
        }


def test_edges_and_their_columns():
    edges = [("b", "a"), ("a", "a"), ("b", "c"), ("c", "b"), ("c", "d")]
    directed = ew.Graph.from_edges(*zip(*edges, strict=True))
    found = ew.edge_betweenness(directed, normalized=False, device="cpu")
    assert [*found.table()] == ["source", "target", "centrality"]
    rows = sorted(zip(*(column.tolist() for column in found.columns().values()), strict=True))
    # From b, paths go to a, c and d; from c to b, a and d.
    assert rows == [("a", "a", 0), ("b", "a", 2), ("b", "c", 2), ("c", "b", 2), ("c", "d", 2)]
    undirected = ew.Graph.from_edges(*zip(*edges, strict=True), directed=False)
    found = ew.edge_betweenness(undirected, normalized=False, device="cpu")
    rows = sorted(zip(*(column.tolist() for column in found.columns().values()), strict=True))
    # Two edges join b and c: each has half of the four pairs that they part.
    assert rows == [("a", "a", 0), ("b", "a", 3), ("b", "c", 2), ("b", "c", 2), ("c", "d", 3)]
    assert len(found.centrality) == undirected.num_edges == 5
    assert found.dependency.shape == (undirected.num_arcs,)


def test_parallel_edges_of_unequal_weight():
    graph = ew.Graph.from_edges([0, 0, 1, 1], [1, 1, 0, 2], [2, 1, 1, 5], directed=False)
    found = ew.edge_betweenness(graph, weighted=True, normalized=False, device="cpu")
    values = dict(
        zip(zip(found.target_index, graph.weights[found._arcs], strict=True), found.centrality, strict=True)
    )
    assert values == {(1, 2): 0, (1, 1): 1, (2, 5): 2}
    assert found.verify(graph)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_of_paths_beyond_the_range_of_floats(directed, weighted):
    source, target, n = diamonds(1500)
    weights = 1 + source // 3 % 5 if weighted else None
    graph = ew.Graph.from_edges(source, target, weights, directed=directed, num_vertices=n)
    check(graph, [0, 1, 2000], weighted)


def test_weights_of_every_dtype_on_a_larger_graph():
    drawn = ew.generate.rmat(11, 8, seed=4)
    weights = np.random.default_rng(4).integers(1, 1000, drawn.num_arcs)
    for dtype in WEIGHTS:
        graph = ew.Graph.from_edges(drawn.sources, drawn.targets, weights.astype(dtype), num_vertices=2048)
        check(graph, [3, 50, 700, 1], weighted=True)


def test_memory_limits_how_many_sources_are_added_up_at_a_time():
    graph, schedule = ew.generate.rmat(8, 4, seed=1), ew.Schedule(num_threads=2)
    free = ew.edge_betweenness(graph, device="cpu", schedule=schedule)
    # The sources and two threads of 20 bytes, and of each arc the sum and one row.
    tight = (8 + 2 * 20) * graph.num_vertices + 2 * 8 * graph.num_arcs
    for limit in (tight, tight + 12 * graph.num_arcs, 10 * tight):
        found = ew.edge_betweenness(graph, device="cpu", schedule=schedule, memory_limit=limit)
        np.testing.assert_array_equal(found.dependency, free.dependency)
    with pytest.raises(MemoryLimitError, match="edge_betweenness needs"):
        ew.edge_betweenness(graph, device="cpu", schedule=schedule, memory_limit=tight - 1)


def test_sources_are_drawn_as_for_vertices():
    graph = ew.generate.rmat(9, 8, seed=1)
    one = ew.edge_betweenness(graph, k=20, seed=3, device="cpu")
    on_vertices = ew.betweenness(graph, k=20, seed=3, device="cpu")
    assert one.num_sources == one.supersteps == 20
    assert one._sources.tolist() == on_vertices._sources.tolist()


def test_the_verifier_finds_planted_errors():
    graph = ew.generate.rmat(8, 6, seed=3)
    result = ew.edge_betweenness(graph, device="cpu")
    assert result.verify(graph)
    right = result.dependency.copy()
    for change, problem in (
        (lambda values: values * 1.001, "the arc from .* to .* has .*, by its paths it has"),
        (lambda values: values[::-1].copy(), "by its paths it has"),
        (lambda values: np.where(np.arange(len(values)) == 3, np.nan, values), "has nan"),
        (lambda values: values[:-1], f"expected one for each of {graph.num_arcs} arcs"),
    ):
        result.dependency = change(right)
        with pytest.raises(VerificationError, match=problem):
            result.verify(graph)


def test_refusals():
    graph = ew.Graph.from_edges(["a", "b", "c"], ["b", "c", "a"], [1, 2, 0])
    for arguments, problem in (
        ({"k": 4}, "edge_betweenness: k is 4; expected an integer from 1 to 3"),
        ({"k": 1, "sources": ["a"]}, "edge_betweenness: both k and sources are given"),
        ({"sources": ["a", "a"]}, "edge_betweenness: sources: one is given twice"),
    ):
        with pytest.raises(ParameterError, match=problem):
            ew.edge_betweenness(graph, device="cpu", **arguments)
    with pytest.raises(GraphError, match="edge_betweenness: the weight 0 is not positive"):
        ew.edge_betweenness(graph, weighted=True, device="cpu")
    with pytest.raises(GraphError):
        ew.edge_betweenness(graph, sources=["d"], device="cpu")
    with pytest.raises(ScheduleError, match="no manual delivery"):
        ew.edge_betweenness(graph, device="cpu", schedule=ew.Schedule(ew.Pull()))
