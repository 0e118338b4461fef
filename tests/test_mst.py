"""Minimum spanning forests: graphs that expose bugs, drawn graphs, ties, weights of every kind, planted errors."""

import battery
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgewise as ew
from edgewise.errors import GraphError, MemoryLimitError, ScheduleError, VerificationError
from edgewise.graph.csr import Rows
from edgewise.graph.ids import Ids

pytestmark = pytest.mark.usefixtures("threads_even_for_small_graphs")


def by_kruskal(graph):
    """Edges (lower end, higher end, weight) by Kruskal (1956): in the order of weights, then of ends."""
    weights = [1] * graph.num_arcs if graph.weights is None else graph.weights.tolist()
    arcs = zip(weights, graph.sources.tolist(), graph.targets.tolist(), strict=True)
    root, found = list(range(graph.num_vertices)), []
    for weight, low, high in sorted((w, min(u, v), max(u, v)) for w, u, v in arcs):
        ends = []
        for v in (low, high):
            while root[v] != v:
                root[v] = root[root[v]]
                v = root[v]
            ends.append(v)
        if ends[0] != ends[1]:
            root[ends[0]] = ends[1]
            found.append((low, high, weight))
    return sorted(found)


def check(graph):
    expected = by_kruskal(graph)
    for threads in (1, 2, 3):
        schedule = ew.Schedule(num_threads=threads)
        result = ew.mst(graph, symmetrize=graph.directed, device="cpu", schedule=schedule)
        edges = zip(
            result.source_index.tolist(), result.target_index.tolist(), result.weight.tolist(), strict=True
        )
        assert list(edges) == expected
        assert result.num_edges == len(expected)
        assert result.total_weight == sum(weight for *_, weight in expected)
        assert result.num_components == graph.num_vertices - len(expected)
        assert result.weight.dtype == (np.int32 if graph.weights is None else graph.weights.dtype)
        assert result.verify(graph)


@pytest.mark.parametrize("name", battery.graphs())
def test_small_graphs(name):
    check(battery.graphs()[name])


@settings(max_examples=150, deadline=None)
@given(
    n=battery.sizes(30),
    share=st.floats(0, 3),
    seed=st.integers(0, 2**32),
    directed=st.booleans(),
    dtype=st.sampled_from([None, "int32", "int64", "float32", "float64"]),
)
def test_drawn_graphs(n, share, seed, directed, dtype):
    rng, weights = np.random.default_rng(seed), None
    source, target = rng.integers(0, n, (2, int(n * share)))
    if dtype is not None:
        weights = (rng.integers(0, 5, len(source)) / (2 if dtype.startswith("float") else 1)).astype(dtype)
    check(ew.Graph.from_edges(source, target, weights, directed=directed, num_vertices=n))


def test_negative_and_very_large_weights_are_exact():
    huge = 2**62
    source, target = [0, 1, 2, 0, 3], [1, 2, 3, 3, 4]
    for weights, total in (
        (np.array([huge, huge + 1, huge + 2, huge + 3, -huge]), 2 * huge + 3),
        (np.array([2**63 - 1, 2**63 - 2, 2**63 - 3, 2**63 - 4, 1]), 3 * 2**63 - 8),
        (np.array([1e16, 1.0, -1e16, 2.0, -0.5]), 0.5 - 1e16 + 2.0),
    ):
        graph = ew.Graph.from_edges(source, target, weights, directed=False)
        result = ew.mst(graph, device="cpu")
        assert result.total_weight == total
        assert result.verify(graph)


@pytest.mark.parametrize(
    ("weights", "total"),
    [
        ([2**63 - 1, -(2**63), 1], 0),
        ([2**54 + 2, 1 - 2**54], 3),
        ([1e16, 1.0, -1e16], 1.0),
        ([1.0, 1e100, 1.0, -1e100], 2.0),
        ([1e308, 1e308, -1e308], 1e308),
        ([1e308, 1e308], np.inf),
        ([-1e308, -1e308, -1e308], -np.inf),
    ],
)
def test_totals_of_weights_that_cancel_each_other(weights, total):
    n = len(weights) + 1
    graph = ew.Graph.from_edges(range(n - 1), range(1, n), np.array(weights), directed=False)
    result = ew.mst(graph, device="cpu")
    assert result.total_weight == total
    assert result.verify(graph)


@pytest.mark.parametrize(
    ("weights", "total"), [([1.0, 2.0], 3.00002), ([1e-9, 2e-9], 7e-9), ([1e-300] * 2, 0.0)]
)
def test_the_verifier_refuses_totals_that_are_nearly_right(weights, total):
    graph = ew.Graph.from_edges([0, 1], [1, 2], weights, directed=False)
    result = ew.mst(graph, device="cpu")
    result.total_weight = total
    with pytest.raises(VerificationError, match="the total weight is"):
        result.verify(graph)


def test_ids_and_the_frame_are_of_edges():
    graph = ew.Graph.from_edges(["c", "a", "b"], ["a", "b", "c"], np.array([3, 1, 2]), directed=False)
    result = ew.mst(graph, device="cpu")
    assert result.to_frame()["weight"].to_list() == result.weight.tolist()
    pairs = {frozenset(pair) for pair in zip(result.source.tolist(), result.target.tolist(), strict=True)}
    assert pairs == {frozenset("ab"), frozenset("bc")}


@pytest.mark.parametrize("falling", [False, True])
def test_long_paths_take_few_rounds_and_no_long_way(falling):
    n = 300_000
    weights = np.arange(n - 1)[:: -1 if falling else 1]
    graph = ew.Graph.from_edges(np.arange(n - 1), np.arange(1, n), weights, directed=False)
    result = ew.mst(graph, device="cpu")
    assert result.num_edges == n - 1
    assert result.supersteps < 3
    assert result.verify(graph)


def test_weights_that_differ_by_direction_make_no_run_endless():
    """As those of a file that is written to during the run: three vertices whose lightest edges are a circle."""
    targets, weights = np.array([1, 2, 0, 2, 0, 1], np.int32), np.array([1, 3, 3, 1, 1, 3])
    rows = Rows(np.array([0, 2, 4, 6], np.int32), targets, weights)
    assert ew.mst(ew.Graph(rows, Ids(3), False, 0), device="cpu").supersteps < 10


def test_larger_graphs_take_the_ways_that_small_ones_do_not():
    for graph in (
        ew.generate.rmat(13, 8, seed=1, weights=(0, 30)),
        ew.generate.lattice(150, 150, seed=1, directed=False, weights=(0, 5)),
    ):
        check(graph)
        result = ew.mst(graph, symmetrize=True, device="cpu")
        assert "one component had most vertices" in result.explain()


def test_the_verifier_finds_planted_errors():
    edges, weights = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5)], np.array([1, 2, 3, 4, 5])
    graph = ew.Graph.from_edges(*np.array(edges).T, weights, directed=False, num_vertices=6)
    right = ([0, 1, 2, 4], [1, 2, 3, 5], [1, 2, 3, 5])
    for found, total, problem in (
        (right, 12, "the total weight is 12"),
        (
            ([0, 1, 2], [1, 2, 3], [1, 2, 3]),
            6,
            "the edge of 4 and 5 is in the graph, but the forest does not join",
        ),
        (
            ([0, 1, 0, 4], [1, 2, 3, 5], [1, 2, 4, 5]),
            12,
            "the edge of 2 and 3 is lighter than the heaviest edge",
        ),
        (([0, 1, 2, 0, 4], [1, 2, 3, 3, 5], [1, 2, 3, 4, 5]), 15, "the edge of 0 and 3 closes a cycle"),
        (
            ([0, 1, 2, 4], [1, 2, 3, 5], [1, 2, 2, 5]),
            10,
            "the edge of 2 and 3 of the forest is not in the graph",
        ),
        (
            ([0, 1, 1, 4], [1, 2, 3, 5], [1, 2, 3, 5]),
            11,
            "the edge of 1 and 3 of the forest is not in the graph",
        ),
        (([0, 1, 2, 4], [1, 2, 3, 6], [1, 2, 3, 5]), 11, "an edge ends at a vertex that is not there"),
        (([0, 1, 2], [1, 2, 3, 5], [1, 2, 3, 5]), 11, "got 3 sources, 4 targets"),
    ):
        result = ew.mst(graph, device="cpu")
        assert result.verify(graph)
        result.total_weight = total
        result.source_index, result.target_index, result.weight = (np.array(each, np.int32) for each in found)
        with pytest.raises(VerificationError, match=problem):
            result.verify(graph)


def test_refusals():
    directed = ew.generate.rmat(8, 4, seed=1)
    with pytest.raises(
        GraphError, match="the graph is directed; a spanning forest is that of an undirected one"
    ):
        ew.mst(directed, device="cpu")
    with pytest.raises(ScheduleError, match="no manual delivery"):
        ew.mst(directed, symmetrize=True, device="cpu", schedule=ew.Schedule(ew.Pull()))
    with pytest.raises(MemoryLimitError, match="mst needs"):
        ew.mst(directed, symmetrize=True, device="cpu", memory_limit=100)
