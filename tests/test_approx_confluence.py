"""The paper's mean as confluence: by hand, and where there are no replicas, what algorithms find."""

import numpy as np
import pytest
from test_approx import GRAPHS

import edgewise as ew
from edgewise.approx.copies import Copies
from edgewise.approx.transformed import Added, Approximate
from edgewise.errors import GraphError, ParameterError, ProgramWarning


def by_hand(weights=(10, 1, 1, 1, 1)):
    """Vertex 2 has both of its arcs, to 3 and 4, in a replica. It is reached in one step by 10, in two by 2."""
    graph = ew.Graph.from_edges([0, 0, 1, 2, 2], [2, 1, 2, 3, 4], np.array(weights), num_vertices=5)
    none = np.empty(0, np.int32)
    copies = Copies(2, np.array([0, 2, 1, 2, 3, 4], np.int32), np.array([-1, 2, -1, -1, -1, -1], np.int32))
    added = Added(none, none, np.empty(0, graph.weight_dtype))
    return Approximate(graph, np.arange(5, dtype=np.int32), added, "coalesce", {}, 0.0, copies=copies)


@pytest.mark.parametrize(
    ("every", "expected"),
    [
        # The replica has 10 and sends it; then the mean of 2 and 10, which it sends, too. Nothing comes again.
        (1, [0, 1, 6, 7, 7]),
        # When the replica gets a value, 2 has come.
        (2, [0, 1, 2, 3, 3]),
        # The replica gets 2 when nothing is under way any more.
        (9, [0, 1, 2, 3, 3]),
        (None, [0, 1, 2, np.inf, np.inf]),
    ],
)
def test_distances_by_hand(every, expected):
    found = ew.approx.mean_confluence(by_hand(), "sssp", 0, every=every)
    np.testing.assert_array_equal(found, expected)


def test_levels_by_hand():
    assert ew.approx.mean_confluence(by_hand(), "bfs", 0).tolist() == [0, 1, 1, 2, 2]
    assert ew.approx.mean_confluence(by_hand(), "bfs", 2).tolist() == [np.inf, np.inf, 0, 1, 1]
    with pytest.warns(ProgramWarning, match="still change after 1 supersteps"):
        found = ew.approx.mean_confluence(by_hand(), "bfs", 0, max_supersteps=1)
    assert found.tolist() == [0, 1, 1, *[np.inf] * 2]


@pytest.mark.parametrize("every", [1, 2, None])
def test_ranks_are_those_of_six_vertices(every):
    """Vertex 5 stands for the replica; 2, 3 and 4 have no arcs of their own."""
    arcs = [(0, 2), (0, 1), (1, 2), (5, 3), (5, 4)]
    degree = [2, 1, 0, 0, 0, 2]
    rank = np.full(6, 1 / 6)
    for step in range(1, 8):
        new = np.full(6, 0.15 / 6 + 0.85 * rank[[2, 3, 4]].sum() / 6)
        for u, v in arcs:
            new[v] += 0.85 * rank[u] / degree[u]
        if every and step % every == 0:
            new[[2, 5]] = new[[2, 5]].mean()
        rank = new
    rank[2] = rank[[2, 5]].mean()
    found = ew.approx.mean_confluence(by_hand(), "pagerank", every=every, max_supersteps=7, tol=0)
    np.testing.assert_allclose(found, rank[:5], rtol=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
def test_without_replicas_answers_are_those_of_the_graph(name):
    graph = GRAPHS[name]()
    made = ew.approx.coalesce(graph, threshold=2)
    source = graph.vertices[graph.out_degree.argmax()]
    levels = ew.bfs(graph, source).level.astype(float)
    levels[levels < 0] = np.inf
    np.testing.assert_array_equal(ew.approx.mean_confluence(made, "bfs", source), levels)
    if graph.weighted:
        exact = ew.sssp(graph, source)
        found = ew.approx.mean_confluence(made, "sssp", source)
        reached = levels < np.inf
        np.testing.assert_allclose(found[reached], exact.distance[reached], rtol=1e-5)
        assert np.isinf(found[~reached]).all()
    ranks = ew.approx.mean_confluence(made, "pagerank", tol=1e-12)
    np.testing.assert_allclose(ranks, ew.pagerank(graph, tol=1e-12).rank, rtol=1e-6)


def test_the_mean_is_never_better_than_what_is_exact():
    graph = GRAPHS["skewed"]()
    made = ew.approx.coalesce(graph, chunk=8, threshold=0.25, extra=3)
    source = int(graph.out_degree.argmax())
    exact, found = ew.sssp(graph, source), ew.approx.mean_confluence(made, "sssp", source)
    reached = ew.bfs(graph, source).level >= 0
    np.testing.assert_array_equal(np.isfinite(found), reached)
    assert (found[reached] >= exact.distance[reached]).all()
    assert (found[reached] > exact.distance[reached]).any()


@pytest.mark.parametrize(
    ("arguments", "options", "problem"),
    [
        (("scc",), {}, "algorithm is 'scc'; expected one of bfs, sssp, pagerank"),
        (("sssp",), {}, "source is None; expected a vertex"),
        (("pagerank", 3), {}, "source is 3; expected a vertex for bfs and sssp, None for pagerank"),
        (("bfs", 3), {"every": 0}, "every is 0; expected an integer of at least 1"),
        (("bfs", 3), {"max_supersteps": 1.5}, "max_supersteps is 1.5"),
        (("pagerank",), {"damping": 2}, "damping is 2; expected a number from 0 to 1"),
        (("pagerank",), {"tol": -1}, "tol is -1"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, options, problem):
    with pytest.raises(ParameterError, match=problem):
        ew.approx.mean_confluence(by_hand(), *arguments, **options)


def test_graphs_and_sources_that_make_no_sense_are_refused():
    for made in (by_hand().graph, ew.approx.normalize_degrees(by_hand().graph)):
        with pytest.raises(ParameterError, match=r"expected the result of approx\.coalesce"):
            ew.approx.mean_confluence(made, "bfs", 0)
    with pytest.raises(GraphError, match="a weight is negative"):
        ew.approx.mean_confluence(by_hand((10, 1, -1, 1, 1)), "sssp", 0)
    with pytest.raises(GraphError, match="expected one vertex"):
        ew.approx.mean_confluence(by_hand(), "bfs", [0, 1])
    with pytest.raises(GraphError):
        ew.approx.mean_confluence(by_hand(), "bfs", 17)


def test_values_that_still_change_are_told():
    made = ew.approx.coalesce(ew.generate.path(30))
    with pytest.warns(ProgramWarning, match="still change after 5 supersteps"):
        found = ew.approx.mean_confluence(made, "bfs", 0, max_supersteps=5)
    assert np.isfinite(found).sum() == 6
    with pytest.raises(ParameterError, match="max_supersteps is 0"):
        ew.approx.mean_confluence(made, "bfs", 0, max_supersteps=0)
