"""Strongly connected components: small graphs that expose bugs, drawn graphs, long ones, planted errors."""

import battery
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgewise as ew
from edgewise.errors import MemoryLimitError, ScheduleError, VerificationError

pytestmark = pytest.mark.usefixtures("threads_even_for_small_graphs")


def by_two_searches(graph):
    """Labels by Kosaraju and Sharir: against the arcs, from vertices in the reverse order in which they are left."""
    n, out, into = graph.num_vertices, {}, {}
    for u, v in zip(graph.sources.tolist(), graph.targets.tolist(), strict=True):
        out.setdefault(u, []).append(v)
        into.setdefault(v, []).append(u)
    left, seen = [], set()
    for root in range(n):
        path = [] if root in seen else [(root, iter(out.get(root, ())))]
        seen.add(root)
        while path:
            v, arcs = path[-1]
            following = next((u for u in arcs if u not in seen), None)
            if following is None:
                left.append(v)
                path.pop()
            else:
                seen.add(following)
                path.append((following, iter(out.get(following, ()))))
    labels = np.full(n, -1, np.int32)
    for root in reversed(left):
        members, waiting = set(), [root] if labels[root] < 0 else []
        while waiting:
            v = waiting.pop()
            if labels[v] < 0 and v not in members:
                members.add(v)
                waiting.extend(into.get(v, ()))
        labels[list(members)] = min(members, default=-1)
    return labels


def check(graph, expected):
    for threads in (1, 2, 3):
        result = ew.scc(graph, device="cpu", schedule=ew.Schedule(num_threads=threads))
        np.testing.assert_array_equal(result.component, expected)
        assert result.component.dtype == np.int32
        assert result.num_components == len(np.unique(expected)) == len(result.sizes)
        assert result.verify(graph)


@pytest.mark.parametrize("name", battery.graphs())
def test_small_graphs(name):
    graph = battery.graphs()[name]
    check(graph, by_two_searches(graph))


@settings(max_examples=150, deadline=None)
@given(n=battery.sizes(30), share=st.floats(0, 3), seed=st.integers(0, 2**32))
def test_drawn_graphs(n, share, seed):
    edges = np.random.default_rng(seed).integers(0, n, (2, int(n * share)))
    graph = ew.Graph.from_edges(*edges, num_vertices=n)
    check(graph, by_two_searches(graph))


def test_edges_of_an_undirected_graph_go_both_ways():
    graph = ew.generate.lattice(20, 20, 0.5, seed=1, directed=False)
    result = ew.scc(graph, device="cpu")
    np.testing.assert_array_equal(result.component, ew.connected_components(graph, device="cpu").component)
    assert result.verify(graph)


LONG = 300_000


@pytest.mark.parametrize("closed", [False, True])
def test_long_paths_and_cycles_take_linear_time(closed):
    order = np.random.default_rng(1).permutation(LONG)
    ends = (order, np.roll(order, -1)) if closed else (order[:-1], order[1:])
    graph = ew.Graph.from_edges(*ends, num_vertices=LONG)
    result = ew.scc(graph, device="cpu")
    assert result.num_components == (1 if closed else LONG)
    assert result.verify(graph)


def test_most_of_a_chain_of_cycles_is_left_to_the_depth_first_search():
    v = np.arange(LONG)
    last = v % 6 == 5
    source = np.concatenate([v, v[last][:-1]])
    target = np.concatenate([np.where(last, v - 5, v + 1), v[last][:-1] + 1])
    graph = ew.Graph.from_edges(source, target, num_vertices=LONG)
    result = ew.scc(graph, device="cpu")
    np.testing.assert_array_equal(result.component, v - v % 6)
    assert result.verify(graph)
    assert f"{LONG - 6:,} went to a depth-first search" in result.explain()


def test_most_vertices_of_a_skewed_graph_are_in_one_component_or_alone():
    graph = ew.generate.rmat(12, 8, seed=1)
    result = ew.scc(graph, device="cpu")
    assert result.verify(graph)
    alone = np.count_nonzero(np.bincount(result.component) == 1)
    assert f"{result.sizes[0]:,} of 4,096 vertices are in the component" in result.explain()
    assert result.sizes[0] + alone > 4000
    assert result.layout_seconds > 0 and "made the in-edges" in result.explain()


def test_the_verifier_finds_planted_errors():
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (5, 4)]
    graph = ew.Graph.from_edges(*np.array(edges).T, num_vertices=6)
    for labels, count, problem in (
        ([0, 0, 0, 3, 3, 5], 4, "num_components is 4"),
        ([0, 0, 0, 0, 0, 5], 2, "vertex 3 has the label 0: no path inside that component leads to"),
        ([0, 0, 0, 3, 3, 3], 2, "vertex 5 has the label 3: no path inside that component leads from"),
        ([0, 0, 0, 3, 4, 5], 4, "the component of vertex 3 is on a cycle of 2 or fewer components"),
        ([0, 1, 2, 3, 3, 5], 5, "the component of vertex 0 is on a cycle"),
        ([0, 0, 0, 4, 4, 5], 3, "vertex 3 has the label 4: expected the index of its smallest"),
        ([0, 0, 0, 3, 3], 3, "expected one for each of 6 vertices"),
    ):
        result = ew.scc(graph, device="cpu")
        assert result.verify(graph)
        result.component = np.array(labels, np.int32)
        result.num_components = count
        with pytest.raises(VerificationError, match=problem):
            result.verify(graph)


def test_refusals():
    graph = ew.generate.rmat(8, 4, seed=1)
    with pytest.raises(ScheduleError, match="no manual delivery"):
        ew.scc(graph, device="cpu", schedule=ew.Schedule(ew.Push()))
    with pytest.raises(MemoryLimitError, match="scc needs"):
        ew.scc(graph, device="cpu", memory_limit=100)


def test_what_becomes_of_vertices_is_told():
    graph = ew.Graph.from_edges([0, 1, 2, 2, 4, 5, 5], [1, 2, 0, 4, 5, 4, 3])
    told = ew.scc(graph, device="cpu").explain()
    assert "3 of 6 vertices are in the component of vertex 0" in told
    assert "1 are alone by their arcs; 2 went to a depth-first search" in told
