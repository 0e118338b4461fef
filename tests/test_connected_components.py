"""Connected components: small graphs that expose bugs, drawn graphs, golden answers, planted errors."""

import battery
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgewise as ew
from edgewise.algorithms.components import connected_components
from edgewise.errors import MemoryLimitError, ScheduleError, VerificationError
from edgewise.graph.csr import Rows

pytestmark = pytest.mark.usefixtures("threads_even_for_small_graphs")


def by_search(graph):
    """Labels by a plain search over neighbours in both directions."""
    neighbours = [set() for _ in range(graph.num_vertices)]
    for u, v in zip(graph.sources.tolist(), graph.targets.tolist(), strict=True):
        neighbours[u].add(v)
        neighbours[v].add(u)
    labels = [-1] * graph.num_vertices
    for root in range(graph.num_vertices):
        waiting = [root] if labels[root] < 0 else []
        while waiting:
            v = waiting.pop()
            if labels[v] < 0:
                labels[v] = root
                waiting.extend(neighbours[v])
    return np.array(labels, np.int32)


def check(graph):
    expected = by_search(graph)
    for threads in (1, 2, 3):
        result = connected_components(graph, schedule=ew.Schedule(num_threads=threads))
        np.testing.assert_array_equal(result.component, expected)
        assert result.component.dtype == np.int32
        assert result.num_components == len(np.unique(expected)) == len(result.sizes)
        assert result.sizes.sum() == graph.num_vertices
        assert result.verify(graph)


@pytest.mark.parametrize("name", battery.graphs())
def test_small_graphs(name):
    check(battery.graphs()[name])


@pytest.mark.parametrize(
    ("edges", "without", "with_in_edges"),
    [
        (120_000, "for without in-edges an arc into it", "arcs inside it were skipped"),
        (25_000, "for without in-edges an arc into it", "too little to look for arcs into it"),
    ],
)
def test_with_and_without_in_edges(edges, without, with_in_edges):
    rng = np.random.default_rng(4)
    graph = ew.Graph.from_edges(*rng.integers(0, 40_000, (2, edges)), num_vertices=40_000)
    assert without in connected_components(graph).explain()
    check(graph)
    assert graph.in_sources.size
    assert with_in_edges in connected_components(graph).explain()
    check(graph)


def test_undirected_graphs_need_no_in_edges():
    graph = ew.generate.lattice(200, 200, 0.1, seed=1, directed=False)
    assert "arcs inside it were skipped" in connected_components(graph).explain()
    check(graph)


def test_a_path_in_any_order():
    order = np.random.default_rng(8).permutation(30_000)
    for path in (order, np.sort(order), np.sort(order)[::-1]):
        check(ew.Graph.from_edges(path[:-1], path[1:], num_vertices=30_000))


def test_long_offsets():
    short = battery.graphs()["undirected"]
    rows = Rows(short.offsets.astype(np.int64), short.targets, None)
    check(ew.Graph(rows, short._ids, False, 0))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    n=battery.sizes(50),
    share=st.floats(0, 3),
    seed=st.integers(0, 2**32),
    directed=st.booleans(),
    columns=st.booleans(),
)
def test_drawn_graphs(n, share, seed, directed, columns):
    edges = np.random.default_rng(seed).integers(0, n, (2, int(n * share)))
    graph = ew.Graph.from_edges(*edges, directed=directed, num_vertices=n)
    if columns:
        graph.make_in_edges()
    check(graph)


def test_the_users_ids_appear_in_the_frame_of_columns():
    graph = ew.Graph.from_edges(["a", "c"], ["b", "d"])
    assert connected_components(graph).columns()["component"].tolist() == [0, 0, 2, 2]


TWO_PATHS = ew.Graph.from_edges([0, 1, 3, 4], [1, 2, 4, 5])


@pytest.mark.parametrize(
    ("labels", "number", "problem"),
    [
        ([0, 0, 0, 0, 0, 0], 1, "vertex 3 has the label 0: no path leads to the vertex that it names"),
        ([0, 0, 2, 3, 3, 3], 3, "vertices 1 and 2 are joined by an arc"),
        ([0, 0, 0, 4, 4, 4], 2, "vertex 3 has the label 4: expected the index of its smallest vertex"),
        ([0, 0, 1, 3, 3, 3], 2, "vertex 2 has the label 1: the vertex that it names has another label"),
        ([0, 0, 0, 3, 3, 3], 3, "num_components is 3; there are 2"),
        ([0, 0, 0, 3, 3], 2, "expected one for each of 6 vertices"),
        ([0, 0, 0, 3, 3, -1], 2, "vertex 5 has the label -1"),
    ],
)
def test_planted_errors_are_rejected(labels, number, problem):
    result = connected_components(TWO_PATHS)
    assert result.verify(TWO_PATHS)
    result.component, result.num_components = np.array(labels, np.int32), number
    with pytest.raises(VerificationError, match=problem):
        result.verify(TWO_PATHS)


def test_deliveries_that_it_does_not_have_are_refused():
    with pytest.raises(ScheduleError, match="write the algorithm as a Program"):
        connected_components(TWO_PATHS, schedule=ew.Schedule(delivery=ew.Pull()))


def test_memory_limit():
    with pytest.raises(MemoryLimitError, match="connected_components needs 32 bytes"):
        connected_components(TWO_PATHS, memory_limit=31)
