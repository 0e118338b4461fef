"""Betweenness: small graphs that expose bugs, drawn graphs, counts of paths beyond float64, scaling, planted errors."""

import itertools
import random

import battery
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from paths_by_integers import WEIGHTS, dependencies, diamonds, drawn_for_networkx, drawn_graphs, two_ways

import edgewise as ew
from edgewise.algorithms.common.dijkstra import make_heap, settle
from edgewise.algorithms.common.lengths import arcs_of
from edgewise.errors import GraphError, MemoryLimitError, ParameterError, ScheduleError, VerificationError
from edgewise.kernels.cpu.team import Team, cancelled, team_kernel

pytestmark = pytest.mark.usefixtures("threads_even_for_small_graphs")


def check(graph, sources=None, weighted=False):
    chosen = range(graph.num_vertices) if sources is None else sources
    for endpoints in (False, True):
        expected, _ = dependencies(graph, chosen, weighted=weighted, endpoints=endpoints)
        found = [
            ew.betweenness(
                graph,
                sources=sources,
                weighted=weighted,
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
@pytest.mark.parametrize("weighted", [False, True])
def test_small_graphs(name, weighted):
    graph = battery.graphs()[name]
    if weighted and name == "zero weights":
        with pytest.raises(GraphError, match="the weight 0 is not positive"):
            ew.betweenness(graph, weighted=True, device="cpu")
        return
    check(graph, [0, 5, 17] if graph.num_vertices > 100 else None, weighted)


@pytest.mark.more
@settings(max_examples=100, deadline=None)
@given(drawn_graphs)
def test_drawn_graphs(graph):
    check(graph)
    check(graph, weighted=True)


@pytest.mark.more
def test_a_large_drawn_graph_with_weights_of_every_dtype():
    drawn = ew.generate.rmat(11, 8, seed=4)
    weights = np.random.default_rng(4).integers(1, 1000, drawn.num_arcs)
    for dtype in WEIGHTS:
        graph = ew.Graph.from_edges(drawn.sources, drawn.targets, weights.astype(dtype), num_vertices=2048)
        check(graph, [3, 50, 700, 1], weighted=True)


def test_integer_weights_beyond_float64_are_told_apart():
    large = 2**53
    graph = ew.Graph.from_edges([0, 1, 0, 2], [1, 3, 2, 3], np.array([large, 1, large, 2]))
    found = ew.betweenness(graph, weighted=True, normalized=False, device="cpu")
    np.testing.assert_array_equal(found.centrality, [0, 1, 0, 0])
    assert found.verify(graph)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_of_paths_beyond_the_range_of_floats(directed, weighted):
    source, target, n = diamonds(1500)
    weights = 1 + source // 3 % 5 if weighted else None
    graph = ew.Graph.from_edges(source, target, weights, directed=directed, num_vertices=n)
    check(graph, [0, 1, 2000], weighted)


def test_few_paths_beside_very_many():
    source, target, n = diamonds(1200)
    beside = np.arange(n, n + 2399)  # one path as long as the others, from the first vertex to the last
    source = np.concatenate([source, [0], beside])
    target = np.concatenate([target, beside, [n - 1]])
    graph = ew.Graph.from_edges(source, target, np.ones(len(source)), num_vertices=n + 2399)
    check(graph, [0, 3, n])
    check(graph, [0, 3, n], weighted=True)


@pytest.mark.parametrize(("few", "many"), [(2, 64), (64, 2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_paths_count_beside_those_of_the_power_above(few, many, weighted):
    """2**1021 paths and 2**1026: one count has been scaled down once, the other twice."""
    source, target, n = two_ways(1020, few, many)
    graph = ew.Graph.from_edges(source, target, np.ones(len(source)), num_vertices=n)
    check(graph, [0, 1], weighted)


def test_a_lattice_has_finite_values_everywhere():
    graph = ew.generate.lattice(700, 40, directed=False)
    check(graph, [0, 13_999])


def rays(lengths, hub_arcs):
    """The edges of a hub with paths from it, and between their first vertices some that are drawn."""
    drawn, ends = np.random.default_rng(3), [1 + sum(lengths[:i]) for i in range(len(lengths))]
    steps = [
        (0 if i == 0 else first + i - 1, first + i)
        for first, long in zip(ends, lengths, strict=True)
        for i in range(long)
    ]
    return [*steps, *map(tuple, drawn.choice(ends, (hub_arcs, 2)).tolist())]


PULLED = {
    "hubs": lambda: ew.generate.rmat(9, 32, seed=2),  # with parallel edges, loops and vertices without edges
    "a level that is pulled and pushes on": lambda: ew.Graph.from_edges(
        *zip(*rays([1] * 60 + [9] * 4, 900), strict=True)
    ),
    "two components": lambda: ew.Graph.from_edges(
        *zip(*rays([2] * 40, 500), *((a + 100, b + 100) for a, b in rays([1] * 50, 700)), strict=True),
        num_vertices=200,
    ),
    "all beside all": lambda: ew.Graph.from_edges(*np.triu_indices(40, 1)),
}


@pytest.mark.parametrize("name", PULLED)
def test_levels_that_are_pulled_have_the_sums_of_those_that_push(name):
    """Only undirected graphs are pulled over, so the same arcs, directed, are the ones to compare with."""
    graph = PULLED[name]().to_undirected("keep")
    directed = ew.Graph.from_csr(graph.offsets, graph.targets)
    check(graph)
    for how in ({}, {"endpoints": True}, {"targets": graph.vertices[::3].tolist()}):
        found, expected = (
            ew.betweenness(each, device="cpu", normalized=False, **how).dependency
            for each in (graph, directed)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    of_edges = [ew.edge_betweenness(each, device="cpu").dependency for each in (graph, directed)]
    np.testing.assert_array_equal(*of_edges)


def test_levels_are_not_pulled_with_counts_that_are_not_exact():
    """There are 3**40 paths to the end of a chain, and as many times 1 to 300 to what it leads to: sums of these depend
    on their order, which is that of the queue."""
    chain = np.arange(40).repeat(3)
    fan = np.arange(41, 341)
    into = np.random.default_rng(5).permutation(fan.repeat(3))
    source = np.concatenate([chain, np.full(45150, 40), into])
    target = np.concatenate([chain + 1, fan.repeat(fan - 40), 341 + np.arange(900) % 7])
    graph = ew.Graph.from_edges(source, target, directed=False)
    directed = ew.Graph.from_csr(graph.offsets, graph.targets)
    found, expected = (
        ew.betweenness(each, sources=[0], device="cpu").dependency for each in (graph, directed)
    )
    np.testing.assert_array_equal(found, expected)


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


@pytest.mark.parametrize("name", battery.graphs())
@pytest.mark.parametrize("weighted", [False, True])
def test_paths_to_some_vertices(name, weighted):
    graph = battery.graphs()[name]
    n = graph.num_vertices
    if n == 0 or (weighted and name == "zero weights"):
        return
    random = np.random.default_rng(n)
    sources, targets = (random.choice(n, min(n, 9), replace=False) for _ in range(2))
    expected = dependencies(graph, sources, targets=set(targets.tolist()), weighted=weighted)
    for algorithm, sums in zip((ew.betweenness, ew.edge_betweenness), expected, strict=True):
        for threads in (1, 3):
            how = {"weighted": weighted, "device": "cpu", "schedule": ew.Schedule(num_threads=threads)}
            found = algorithm(graph, sources=sources, targets=targets, **how)
            np.testing.assert_allclose(found.dependency, sums, rtol=1e-12, atol=1e-12)
            everywhere = algorithm(graph, sources=sources, targets=range(n), **how)
            np.testing.assert_array_equal(
                everywhere.dependency, algorithm(graph, sources=sources, **how).dependency
            )
        assert found.verify(graph)
        assert everywhere.verify(graph)


@pytest.mark.parametrize("directed", [False, True])
def test_paths_to_some_vertices_are_those_of_networkx(directed):
    for seed in range(6):
        graph, known = drawn_for_networkx(seed, directed)
        draw = random.Random(seed)
        sources, targets = draw.sample(list(known), 4), set(draw.sample(list(known), 5))
        for weight, normalized in itertools.product((None, "weight"), (False, True)):
            expected = nx.betweenness_centrality_subset(known, sources, targets, normalized, weight)
            found = ew.betweenness(
                graph, sources=sources, targets=targets, weighted=weight is not None, normalized=normalized
            )
            np.testing.assert_allclose(
                found.centrality, [expected[v] for v in range(graph.num_vertices)], atol=1e-14
            )


def test_wrong_sums_of_paths_to_some_vertices_are_found():
    graph = battery.graphs()["just over a warp"]
    for algorithm in (ew.betweenness, ew.edge_betweenness):
        some, others = (algorithm(graph, targets=[4, 7, end], device="cpu") for end in (11, 12))
        some.dependency = others.dependency
        with pytest.raises(VerificationError, match="by its paths it has"):
            some.verify(graph)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_values_are_those_of_networkx(directed, seed):
    graph, known = drawn_for_networkx(seed, directed)
    for weight, normalized, endpoints, k in itertools.product(
        (None, "weight"), (False, True), (False, True), (None, 2, 7)
    ):
        options = {"normalized": normalized, "endpoints": endpoints}
        expected = nx.betweenness_centrality(known, k=k, weight=weight, seed=seed, **options)
        # NetworkX draws its sources like this.
        sources = None if k is None else random.Random(seed).sample(list(known), k)
        found = ew.betweenness(graph, sources=sources, weighted=weight is not None, device="cpu", **options)
        np.testing.assert_allclose(
            found.centrality, [expected[v] for v in range(graph.num_vertices)], atol=1e-14
        )


def test_sources_are_drawn_by_a_seed():
    graph = ew.generate.rmat(9, 8, seed=1)
    one, same, other = (ew.betweenness(graph, k=20, seed=seed, device="cpu") for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.centrality, same.centrality)
    assert not np.array_equal(one.centrality, other.centrality)
    assert one.num_sources == one.supersteps == 20
    assert one.verify(graph)


def test_sources_in_a_set_or_an_iterator():
    graph = ew.generate.rmat(7, 8, seed=1)
    listed, *others = (
        ew.betweenness(graph, sources=sources, device="cpu").dependency
        for sources in ([3, 5, 9], {3, 5, 9}, iter([3, 5, 9]))
    )
    for other in others:
        np.testing.assert_allclose(other, listed, rtol=1e-12)


def test_progress_is_that_of_sources():
    seen = []
    graph = ew.generate.rmat(13, 16, seed=1)
    ew.betweenness(graph, k=400, device="cpu", progress=seen.append)
    assert seen == sorted(seen)
    assert all(0 <= done <= 400 for done in seen)


@team_kernel(key=None)
def settle_when_told(thread, size, control, arcs, distance, queue, key, vertex, place, reached):
    while not cancelled(control):
        pass
    reached[0], _ = settle(control, arcs, np.uint64(0), distance, queue, key, vertex, place)


def test_one_search_by_distance_ends_where_the_run_is_cancelled():
    """Without having reached all of the path."""
    n = 3 << 16
    graph = ew.Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.ones(n - 1))
    distance, queue, reached = np.full(n, -1.0), np.empty(n, np.uint32), np.zeros(1, np.int64)
    heap = [array[0] for array in make_heap(n, 1, distance.dtype)]

    def enough(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Team(1).run(
            settle_when_told, arcs_of(graph), distance, queue, *heap, reached, long=True, progress=enough
        )
    assert 0 < reached[0] < n


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


@pytest.mark.parametrize("algorithm", [ew.betweenness, ew.edge_betweenness])
def test_the_verifier_accepts_numbers_of_paths_that_grow_for_long(algorithm):
    """A chain of 200,000 squares, with 2**200,000 paths, of which a vertex has all or half."""
    first = 3 * np.arange(200_000)
    source = np.concatenate([first, first, first + 1, first + 2])
    target = np.concatenate([first + 1, first + 2, first + 3, first + 3])
    graph = ew.Graph.from_edges(source, target)
    assert algorithm(graph, sources=[0], device="cpu").verify(graph)


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        (None, "the graph has no weights"),
        ([1, 0, 2], "the weight 0 is not positive"),
        ([1.0, -0.5, 2.0], "the weight -0.5 is not positive"),
        ([2**62, 1, 1], "could sum to more than int64 holds"),
        ([1e308, 1.0, 1.0], "could sum to more than float64 holds"),
        ([1e20, 1.0, 1.0], "a weight is so small beside a distance"),
    ],
)
def test_weights_that_are_refused(weights, problem):
    graph = ew.Graph.from_edges([0, 1, 2], [1, 2, 0], weights)
    assert ew.betweenness(graph, device="cpu").verify(graph)
    with pytest.raises(GraphError, match=problem):
        ew.betweenness(graph, weighted=True, device="cpu")


def test_memory_limits_how_many_sources_are_added_up_at_a_time():
    graph = ew.generate.rmat(8, 4, seed=1)
    free = ew.betweenness(graph, device="cpu", schedule=ew.Schedule(num_threads=2))
    # The sources, two threads of 20 bytes, and the total, so that there is room for one row, and not quite for two.
    tight = (8 + 2 * 20 + 8 + 8) * graph.num_vertices + 1000
    for limit in (tight, 10 * tight):
        found = ew.betweenness(graph, device="cpu", schedule=ew.Schedule(num_threads=2), memory_limit=limit)
        np.testing.assert_array_equal(found.dependency, free.dependency)
    with pytest.raises(MemoryLimitError, match="betweenness needs"):
        ew.betweenness(graph, device="cpu", schedule=ew.Schedule(num_threads=2), memory_limit=tight - 1001)


def test_refusals():
    graph = ew.Graph.from_edges(["a", "b", "c"], ["b", "c", "a"])
    for arguments, problem in (
        ({"k": 0}, "k is 0; expected an integer from 1 to 3"),
        ({"k": 4}, "k is 4; expected an integer from 1 to 3"),
        ({"k": 1.5}, "k is 1.5"),
        ({"k": True}, "k is True"),
        ({"k": 2, "seed": -1}, "seed is -1; expected an integer of at least 0"),
        ({"k": 2, "seed": None}, "seed is None"),
        ({"k": 2, "seed": "x"}, "seed is 'x'"),
        ({"memory_limit": "1 giga"}, "memory_limit is '1 giga'; expected a number of bytes"),
        ({"k": 1, "sources": ["a"]}, "both k and sources are given"),
        ({"sources": []}, "there are none"),
        ({"sources": ["a", "a"]}, "sources: one is given twice"),
        ({"targets": []}, "targets: there are none"),
        ({"targets": ["a", "a"]}, "targets: one is given twice"),
        ({"targets": ["a"], "endpoints": True}, "both targets and endpoints are given; expected one of them"),
    ):
        with pytest.raises(ParameterError, match=problem):
            ew.betweenness(graph, device="cpu", **arguments)
    with pytest.raises(GraphError):
        ew.betweenness(graph, sources=["d"], device="cpu")
    with pytest.raises(GraphError):
        ew.betweenness(graph, targets=["a", "d"], device="cpu")
    with pytest.raises(ParameterError, match="k is 1; expected none, for there is no vertex"):
        ew.betweenness(ew.Graph.from_edges([], []), k=1, device="cpu")
    with pytest.raises(ScheduleError, match="no manual delivery"):
        ew.betweenness(graph, device="cpu", schedule=ew.Schedule(ew.Pull()))
    with pytest.raises(MemoryLimitError, match="betweenness needs"):
        ew.betweenness(graph, device="cpu", memory_limit=100)


@pytest.mark.parametrize("directed", [True, False])
def test_parallel_arcs_between_two_vertices_pass(directed):
    """No vertex is between others: what is left of the lengths of paths is rounding."""
    for count in (6, 49):
        graph = ew.Graph.from_edges([0] * count, [1] * count, directed=directed)
        assert ew.betweenness(graph, device="cpu").verify(graph)
    drawn = np.random.default_rng(1).integers(0, 5, (2, 300))
    graph = ew.Graph.from_edges(*drawn, directed=directed)
    assert ew.betweenness(graph, device="cpu").verify(graph)
