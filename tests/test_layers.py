"""Graphs in layers: every arc is there, answers are those without layers, files are reused, made anew or refused."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from battery import graphs

import edgewise as ew
from edgewise.errors import (
    MemoryLimitError,
    ParameterError,
    ScheduleError,
)
from edgewise.graph.layers import drop_layers, kept_in_layers, put_in_layers
from edgewise.layout.layers import Order, joined

GRAPHS = {
    "streets": lambda: ew.generate.lattice(12, 15, removed=0.2, one_way=0.3, seed=1, weights=(1, 9)),
    "both ways": lambda: ew.generate.lattice(10, 10, removed=0.3, seed=2, directed=False, weights=(0, 3)),
    "skewed": lambda: ew.generate.rmat(8, 4, seed=3, weights=(0.0, 1.0)),
    "sparse": lambda: ew.generate.rmat(7, 1, seed=4),
    "skewed both ways": lambda: ew.generate.rmat(7, 3, seed=5, directed=False),
}


def layered(*roots, **options):
    """A schedule for layers from these roots."""
    return ew.Schedule(layout=ew.Layered(list(roots), **options))


def in_layers(graph, *roots):
    """A graph in layers, made directly."""
    return put_in_layers(graph, ew.bfs(graph, list(roots)).level, np.unique(roots))


@pytest.fixture(params=GRAPHS)
def graph(request):
    return GRAPHS[request.param]()


def same_search(got, expected):
    np.testing.assert_array_equal(got.level, expected.level)
    np.testing.assert_array_equal(got.parent_index, expected.parent_index)


def test_layers_hold_every_arc_and_say_its_kind(graph):
    made, level = in_layers(graph, 0, 1), ew.bfs(graph, [0, 1]).level
    vertices, place, begins = made.order
    np.testing.assert_array_equal(place[vertices], np.arange(graph.num_vertices))
    for layer, (begin, end) in enumerate(pairwise(begins[:-1])):
        np.testing.assert_array_equal(vertices[begin:end], np.flatnonzero(level == layer))
    np.testing.assert_array_equal(vertices[begins[-2] :], np.flatnonzero(level < 0))
    moved = made.graph
    for p, v in enumerate(vertices):
        row, arcs = (slice(*offsets[i : i + 2]) for offsets, i in ((graph.offsets, v), (moved.offsets, p)))
        np.testing.assert_array_equal(vertices[moved.targets[arcs]], graph.targets[row])
        if graph.weighted:
            np.testing.assert_array_equal(moved.weights[arcs], graph.weights[row])
    sources = graph.sources[level[graph.sources] >= 0]
    targets = graph.targets[level[graph.sources] >= 0]
    steps = level[targets] - level[sources]
    assert made.kinds.counts.tolist() == [np.sum(steps == 1), np.sum(steps == 0), np.sum(steps < 0), 0]
    assert made.kinds.lost == 0
    repeated = np.unique(place[targets[(steps == 0) & (targets != sources)]])
    np.testing.assert_array_equal(made.kinds.repeated, repeated)
    assert made.is_ordered == bool((steps == 1).all())


def moved_rows(graph):
    """The row of each in-edge."""
    return np.repeat(np.arange(graph.num_vertices), np.diff(graph.in_offsets))


def test_in_edges_keep_their_order():
    for name in ("streets", "both ways"):
        graph = GRAPHS[name]()
        made = in_layers(graph, 0)
        vertices, moved = made.order.vertices, made.graph
        for p, v in enumerate(vertices):
            row = graph.in_sources[graph.in_offsets[v] : graph.in_offsets[v + 1]]
            arcs = moved.in_sources[moved.in_offsets[p] : moved.in_offsets[p + 1]]
            np.testing.assert_array_equal(vertices[arcs], row)
        np.testing.assert_array_equal(moved.targets[moved.in_arcs], moved_rows(moved))
        np.testing.assert_array_equal(moved.sources[moved.in_arcs], moved.in_sources)
        if graph.weighted:
            np.testing.assert_array_equal(moved.weights[moved.in_arcs], moved.in_weights)


def test_lists_are_joined_until_they_have_enough_arcs(graph):
    made = in_layers(graph, 0)
    offsets, begins = made.graph.offsets, made.order.begins
    for least in (1, 7, 50, 10**9):
        lists = joined(made.order, offsets, least)
        assert lists[0] == 0 and lists[-1] == graph.num_vertices and set(lists) <= set(begins)
        arcs = np.diff(offsets[lists])
        assert (arcs[:-1] >= least).all()
        for first, end in pairwise(lists[:-1]):
            last = begins[np.searchsorted(begins, end) - 1]  # the list without its last layer is too short
            assert last == first or offsets[last] - offsets[first] < least


@pytest.mark.parametrize("delivery", ["auto", ew.Push(), ew.Pull()])
def test_searches_over_layers_are_those_without(graph, delivery):
    random = np.random.default_rng(1)
    for _ in range(4):
        roots, others = (random.integers(0, graph.num_vertices, 2).tolist() for _ in range(2))
        schedule = ew.Schedule(layout=ew.Layered(roots), delivery=delivery)
        for sources in (roots, others):
            for depth in (None, 0, 2):
                got = ew.bfs(graph, sources, max_depth=depth, schedule=schedule)
                same_search(got, ew.bfs(GRAPHS_AS[graph], sources, max_depth=depth))
                assert got.verify(graph)
        assert ew.bfs(graph, roots, schedule=schedule).supersteps == 0


class _Fresh(dict):
    """Copies of graphs that keep no layers."""

    def __missing__(self, graph):
        copy = ew.Graph.from_csr(graph.offsets, graph.targets, graph.weights, directed=graph.directed)
        return self.setdefault(graph, copy)


GRAPHS_AS = _Fresh()


def test_shortest_paths_over_layers_are_those_without(graph):
    random = np.random.default_rng(2)
    for _ in range(4):
        root, other = random.integers(0, graph.num_vertices, 2).tolist()
        for source in (root, other):
            got = ew.sssp(graph, source, schedule=layered(root))
            expected = ew.sssp(GRAPHS_AS[graph], source)
            np.testing.assert_array_equal(got.distance, expected.distance)
            np.testing.assert_array_equal(got.parent_index, expected.parent_index)
            assert got.verify(graph)


@pytest.mark.parametrize("name", [name for name, each in graphs().items() if each.num_vertices])
def test_odd_graphs_have_layers(name):
    graph = graphs()[name]
    got = ew.bfs(graph, graph.vertices[0], schedule=ew.Schedule(layout=ew.Layered(graph.vertices[0])))
    same_search(got, ew.bfs(GRAPHS_AS[graph], 0))


def test_ids_of_the_user_are_roots():
    graph = ew.Graph.from_edges(["a", "b", "c"], ["b", "c", "a"])
    got = ew.bfs(graph, "b", schedule=ew.Schedule(layout=ew.Layered("b")))
    assert dict(zip(got.graph.vertices, got.level.tolist(), strict=True)) == {"a": 2, "b": 0, "c": 1}


def test_layers_are_made_once_and_go_with_the_graph():
    graph = GRAPHS["streets"]()
    assert "made in" in ew.bfs(graph, 0, schedule=layered(0)).explain()
    again = ew.bfs(graph, 0, schedule=layered(0))
    assert "which the graph keeps" in again.explain() and again.layout_seconds == 0
    made = kept_in_layers(graph, np.array([0]))
    assert kept_in_layers(graph, np.array([1])) is None
    drop_layers(graph)
    assert kept_in_layers(graph, np.array([0])) is None
    assert made.nbytes > graph.nbytes


def test_a_limit_holds_for_making_layers():
    graph = ew.generate.lattice(100, 100, weights=(1, 9))
    with pytest.raises(MemoryLimitError) as refused:
        ew.bfs(graph, 0, schedule=layered(0), memory_limit=1000, device="cpu")
    needed = int(refused.value.needed)
    ew.bfs(graph, 0, schedule=layered(0), memory_limit=needed, device="cpu")
    drop_layers(graph)
    with pytest.raises(MemoryLimitError, match="making layers"):
        ew.bfs(graph, 0, schedule=layered(0), memory_limit=needed - 1, device="cpu")


def test_layered_copies_its_roots_and_can_be_compared_and_written():
    roots = np.array([3, 5])
    asked = ew.Layered(roots, min_edges=np.int64(4))
    roots[:] = 7
    assert asked.roots.tolist() == [3, 5]
    assert asked == ew.Layered([3, 5], min_edges=4) == ew.Layered((3, 5), min_edges=4)
    assert hash(asked) == hash(ew.Layered([3, 5], min_edges=4)) and asked != ew.Layered([3, 5])
    assert asked != "another" and ew.Layered("a") != ew.Layered(["a"])
    assert pickle.loads(pickle.dumps(ew.Schedule(layout=asked))) == ew.Schedule(layout=asked)
    assert repr(ew.Layered(3)) == "Layered(roots=3)"
    assert repr(ew.Layered([3], "beside", 4)) == "Layered(roots=(3,), file='beside', min_edges=4)"
    assert len(repr(ew.Layered(range(10**5)))) < 300


def test_columns_of_data_frames_are_roots_and_sources(graph):
    pandas = pytest.importorskip("pandas")
    sources = pandas.Series([3, 5], index=[8, 9])
    got = ew.bfs(graph, sources, schedule=ew.Schedule(layout=ew.Layered(sources)))
    same_search(got, ew.bfs(graph, [3, 5]))


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        ({"roots": 0, "file": 3}, ScheduleError, "file is 3; expected the name of a file"),
        ({"roots": 0, "file": ""}, ScheduleError, "file is ''; expected the name of a file"),
        ({"roots": 0, "min_edges": 0}, ScheduleError, "min_edges is 0; expected an integer of at least 1"),
        ({"roots": 0, "min_edges": 2.5}, ScheduleError, "min_edges is 2.5; expected an integer"),
        ({"roots": 0, "file": "beside"}, ScheduleError, "a graph that edgewise.load has opened"),
        ({"roots": []}, ParameterError, "the list of roots is empty"),
        ({"roots": 10**6}, ew.errors.GraphError, "1000000"),
    ],
)
def test_layers_that_make_no_sense_are_refused(options, error, problem):
    with pytest.raises(error, match=problem):
        ew.bfs(GRAPHS["streets"](), 0, schedule=ew.Schedule(layout=ew.Layered(**options)))


def test_runs_that_have_no_layers_say_so():
    graph, schedule = GRAPHS["streets"](), layered(0)
    with pytest.raises(ScheduleError, match="only bfs, sssp and programs run over"):
        ew.pagerank(graph, schedule=schedule)
    with pytest.raises(ScheduleError, match="runs in layers have no balance"):
        ew.bfs(graph, 0, schedule=ew.Schedule(layout=ew.Layered(0), balance=ew.MergePath()))
    with pytest.raises(ScheduleError, match="Buffered"):
        ew.bfs(graph, 0, schedule=ew.Schedule(layout=ew.Layered(0), delivery=ew.Buffered()))
    signed = ew.Graph.from_csr(graph.offsets, graph.targets, graph.weights - 5)
    with pytest.raises(ScheduleError, match="negative weights, which do not run over layers"):
        ew.sssp(signed, 0, schedule=schedule)
    with pytest.raises(ScheduleError, match="makes layers is not explained"):
        ew.explain(ew.bfs, GRAPHS["streets"](), 0, schedule=schedule)


@pytest.mark.parametrize("min_arcs", [1, 4, 2**31 - 1, 2**31, 2**63, 2**70])
def test_lists_are_joined_whatever_their_length(min_arcs):
    begins, n = np.array([0, 1, 3, 7, 10, 12]), 12
    order = Order(np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32), begins)
    offsets = (np.arange(n + 1) * 10**8).astype(np.int32)
    offsets[-1] = 1_300_000_000
    found = joined(order, offsets, min_arcs)
    assert found.tolist() == ([0, 1, 3, 7, 10, 12] if min_arcs < 10**8 else [0, 12])
    assert joined(order, offsets, 500_000_000).tolist() == [0, 7, 12]
