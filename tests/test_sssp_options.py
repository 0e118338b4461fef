"""Shortest paths from several sources, to a target, up to a distance, and by numbers of edges; against NetworkX."""

import functools
import math
import operator

import networkx as nx
import numpy as np
import pytest

import edgewise as ew
from edgewise.algorithms.sssp.asked import as_bound
from edgewise.errors import GraphError, ParameterError, ScheduleError, VerificationError
from edgewise.io.columns import read_columns, write_columns

KINDS = {
    "int32": lambda rng, m: rng.integers(0, 5, m, dtype=np.int32),
    "int64": lambda rng, m: rng.integers(0, 2**36, m),
    "far int32": lambda rng, m: rng.integers(1, 2**28, m, dtype=np.int32),
    "float32": lambda rng, m: rng.integers(0, 4, m).astype(np.float32) / 4,
    "float64": lambda rng, m: np.where(rng.random(m) < 0.2, 0.0, rng.random(m)),
    "none": lambda rng, m: None,
}
THREADS = (None, ew.Schedule(num_threads=1), ew.Schedule(num_threads=3))


def drawn(kind, seed, directed):
    """A graph with parallel edges, loops and vertices that are not reached, and the same in NetworkX."""
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, 40, (2, 75))
    weights = KINDS[kind](rng, 75)
    graph = ew.Graph.from_edges(source, target, weights, directed=directed, num_vertices=40)
    other = nx.MultiDiGraph() if directed else nx.MultiGraph()
    other.add_nodes_from(range(40))
    each = [1] * 75 if weights is None else weights.tolist()
    other.add_weighted_edges_from(zip(source.tolist(), target.tolist(), each, strict=True))
    return graph, other


def distances(result):
    """The distances of the vertices that were reached."""
    return {v: d for v, d in result.to_dict().items() if d is not None and d < math.inf}


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_options_give_what_dijkstra_gives(kind, directed, tmp_path):
    for seed in range(4):
        graph, other = drawn(kind, seed, directed)
        sources = np.random.default_rng(seed).choice(40, seed + 1).tolist()
        how = {"schedule": THREADS[seed % 3], "device": "cpu"}
        all_of_them = nx.multi_source_dijkstra_path_length(other, set(sources))
        result = ew.sssp(graph, sources, **how)
        assert distances(result) == all_of_them and result.source == sources and result.verify(graph)
        assert all(result[s] == 0 and result.path_to(s) == [s] for s in sources)
        for v in range(40):
            path = result.path_to(v)
            assert (path is None) == (v not in all_of_them)
            if path:
                lengths = [min(e["weight"] for e in other[a][b].values()) for a, b in nx.utils.pairwise(path)]
                assert path[0] in sources and path[-1] == v
                # One after the other: sum() of Python 3.12 rounds once, at the end.
                assert functools.reduce(operator.add, lengths, 0) == result[v]
        bound = sorted(all_of_them.values())[len(all_of_them) // 2]
        for limit in (0, bound, float(bound) * 1.01, math.inf):
            within = ew.sssp(graph, sources, max_distance=limit, **how)
            assert distances(within) == {v: d for v, d in all_of_them.items() if d <= limit}
            assert within.verify(graph) and within.max_distance == limit
        for target in np.random.default_rng(seed).choice(40, 5).tolist():
            until = ew.sssp(graph, sources, target=target, **how)
            most = all_of_them.get(target, math.inf)
            assert distances(until) == {v: d for v, d in all_of_them.items() if d <= most}
            assert until.verify(graph) and until.target == target
            both = ew.sssp(graph, sources, target=target, max_distance=bound, delta=1e-3, **how)
            assert distances(both) == {v: d for v, d in all_of_them.items() if d <= min(most, bound)}
            write_columns(tmp_path / "r.csv", both.table())
            given = {"source": sources, "target": target, "max_distance": bound}
            assert type(both).verify_columns(graph, read_columns(tmp_path / "r.csv"), **given)


@pytest.mark.parametrize("weights", [(1, 100), None])
def test_teams_stop_early_with_right_answers(weights):
    graph = ew.generate.uniform(30_000, 120_000, seed=3, directed=True, weights=weights)
    full = ew.sssp(graph, [5, 6], device="cpu")
    unreached = np.iinfo(full.distance.dtype).max
    for threads in (1, 4):
        schedule = ew.Schedule(num_threads=threads)
        for target in (5, 77, 12_345):
            result = ew.sssp(graph, [5, 6], target=target, device="cpu", schedule=schedule)
            near = full.distance <= full.distance[target]
            np.testing.assert_array_equal(result.distance, np.where(near, full.distance, unreached))
            np.testing.assert_array_equal(result.parent_index, np.where(near, full.parent_index, -1))
            assert result.verify(graph)


def test_work_is_saved():
    path = ew.generate.path(5000, weights=(3, 9))
    every, near = (ew.sssp(path, 0, target=t, delta=1, device="cpu").supersteps for t in (4999, 10))
    within = ew.sssp(path, 0, max_distance=60, delta=1, device="cpu").supersteps
    assert near < every / 50 and within < every / 50


@pytest.mark.parametrize("directed", [True, False])
def test_without_weights_lengths_are_numbers_of_edges(directed, tmp_path):
    for seed in range(4):
        graph, other = drawn("float64", seed, directed)
        hops = nx.multi_source_dijkstra_path_length(other, {1, 2}, weight=lambda *_: 1)
        result = ew.sssp(graph, [1, 2], weighted=False, device="cpu")
        assert result.distance.dtype == np.int32 and not result.weighted
        assert distances(result) == hops and result.verify(graph)
        two = ew.sssp(graph, [1, 2], weighted=False, max_distance=2.5, device="cpu")
        assert distances(two) == {v: d for v, d in hops.items() if d <= 2} and two.verify(graph)
        target = max(hops, key=hops.__getitem__) if seed else 1
        until = ew.sssp(graph, [1, 2], weighted=False, target=target, device="cpu")
        assert distances(until) == {v: d for v, d in hops.items() if d <= hops[target]}
        assert until.verify(graph)
        write_columns(tmp_path / "r.csv", until.table())
        given = {"source": [1, 2], "target": target, "weighted": False}
        assert type(until).verify_columns(graph, read_columns(tmp_path / "r.csv"), **given)
    unweighted, _ = drawn("none", 1, directed)
    np.testing.assert_array_equal(
        ew.sssp(unweighted, 3, weighted=False).distance, ew.sssp(unweighted, 3).distance
    )


def test_negative_weights_from_several_sources():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        ends = np.sort(rng.integers(0, 30, (2, 70)), axis=0)  # without cycles, but for loops
        weights = np.where(ends[0] == ends[1], 1, rng.integers(-3, 6, 70))
        graph = ew.Graph.from_edges(*ends, weights, num_vertices=30)
        singly = np.array([ew.sssp(graph, s, device="cpu").distance for s in (0, 4, 9)])
        result = ew.sssp(graph, [0, 4, 9], device="cpu")
        np.testing.assert_array_equal(result.distance, singly.min(axis=0))
        assert result.verify(graph)
        with pytest.raises(ParameterError, match=r"negative weights.*leave target and max_distance out"):
            ew.sssp(graph, 0, target=4)
        assert ew.sssp(graph, 0, target=4, weighted=False).verify(graph)


def test_names_and_layers():
    graph = ew.Graph.from_edges(["a", "b", "d", "c"], ["b", "c", "c", "e"], [1.5, 2.0, 1.0, 4.0])
    layered = ew.Schedule(layout=ew.Layered(roots=["a"]))
    for how in ({}, {"schedule": layered}):
        result = ew.sssp(graph, ["d", "a"], target="c", device="cpu", **how)
        assert result.to_dict() == {"a": 0.0, "b": math.inf, "d": 0.0, "c": 1.0, "e": math.inf}
        assert result.path_to("c") == ["d", "c"] and result.path_to("e") is None
        assert result.reached.tolist() == [True, False, True, True, False] and result.verify(graph)
    hops = ew.sssp(graph, ["a"], weighted=False, schedule=layered, device="cpu")
    assert hops.to_dict() == {"a": 0, "b": 1, "d": None, "c": 2, "e": 3} and hops.source == ["a"]


@pytest.mark.parametrize("several", [list, tuple, set, frozenset, iter, np.array])
def test_several_sources_are_given_in_any_way(several):
    graph = ew.generate.path(9, weights=(1, 4))
    for call in (ew.sssp, ew.bfs):
        result, expected = call(graph, several([4, 0, 7, 4])), call(graph, [0, 4, 7])
        assert result.to_dict() == expected.to_dict() and result.verify(graph)
        assert sorted(set(result.source)) == [0, 4, 7]
    with pytest.raises(GraphError, match="no vertex 99"):
        ew.sssp(graph, {1, 99})


def test_a_bound_of_minus_zero_is_zero():
    bound = as_bound("sssp: max_distance", -0.0, np.dtype(np.float32))
    assert bound == 0 and not np.signbit(bound)


def test_cycles_of_length_zero_do_not_loop():
    graph = ew.Graph.from_edges([0, 1, 2, 2], [1, 2, 1, 3], [0.0, 0.0, 0.0, 1.0])
    result = ew.sssp(graph, 0, max_distance=0)
    assert result.path_to(2) == [0, 1, 2] and result.path_to(3) is None
    result.parent_index[:3] = [-1, 2, 1]
    with pytest.raises(VerificationError, match="leads round in a circle from 2"):
        result.path_to(2)


def test_changed_answers_within_bounds_are_rejected():
    graph = ew.generate.path(6, weights=(2, 3))
    for change in ({2: 10}, {3: 8}, {1: 1}, {1: np.iinfo(np.int32).max}):
        result = ew.sssp(graph, 0, target=2)
        assert result.verify(graph)
        for index, distance in change.items():
            result.distance[index] = distance
        with pytest.raises(VerificationError):
            result.verify(graph)
    result = ew.sssp(graph, 0, max_distance=3)
    result.max_distance = 1000
    with pytest.raises(VerificationError, match="an edge"):
        result.verify(graph)


@pytest.mark.parametrize(
    ("given", "error", "problem"),
    [
        (
            {"max_distance": -1},
            ParameterError,
            "max_distance is -1; expected a number of at least 0, or None",
        ),
        ({"max_distance": "3"}, ParameterError, "max_distance is '3'"),
        ({"max_distance": math.nan}, ParameterError, "max_distance is nan"),
        ({"target": 99}, GraphError, "no vertex 99"),
        ({"target": [1, 2]}, ParameterError, r"target is \[1, 2\]; expected one vertex"),
        ({"source": []}, ParameterError, "the list of sources is empty"),
        ({"source": [1, 99]}, GraphError, "no vertex 99"),
        ({"weighted": True}, GraphError, "sssp: weighted=True, but the graph has no weights"),
        ({"weighted": 2}, ParameterError, "weighted is 2; expected True, False or None"),
    ],
)
def test_options_that_are_none_are_refused(given, error, problem):
    with pytest.raises(error, match=problem):
        ew.sssp(ew.generate.path(5), **{"source": 0, **given})


def test_bounds_of_every_dtype():
    for dtype in (np.int32, np.int64, np.float32, np.float64):
        graph = ew.Graph.from_edges([0, 1], [1, 2], np.array([1, 2], dtype))
        for bound, reached in ((0.5, 1), (1, 2), (1.5, 2), (2**80, 3), (math.inf, 3)):
            assert ew.sssp(graph, 0, max_distance=bound).num_reached == reached
    tenth = ew.Graph.from_edges([0], [1], np.array([0.1], np.float32))
    assert ew.sssp(tenth, 0, max_distance=0.1).num_reached == 2


def test_several_sources_do_not_pull():
    with pytest.raises(ScheduleError):
        ew.sssp(ew.generate.path(5, weights=(1, 2)), [0, 1], schedule=ew.Schedule(delivery=ew.Pull()))
