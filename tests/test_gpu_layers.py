"""Graphs in layers on a GPU, and beyond its memory. These tests need an NVIDIA GPU: `pytest -m gpu`."""

import functools
import re
import weakref

import numpy as np
import pytest
from test_gpu_beyond import least
from test_layers import layered, same_search

import edgewise as ew
from edgewise.graph.layers import drop_layers, kept_in_layers, put_in_layers
from edgewise.kernels.door import cuda_door

pytestmark = pytest.mark.gpu

GRAPHS = {
    "lattice": lambda: ew.generate.lattice(300, 200, removed=0.1, seed=1, weights=(1, 100)),
    "both ways": lambda: ew.generate.lattice(150, 150, removed=0.2, seed=2, directed=False, weights=(0, 3)),
    "skewed": lambda: ew.generate.rmat(15, 8, seed=3, weights=(0.0, 1.0)),
    "large weights": lambda: ew.generate.rmat(13, 4, seed=4, weights=(1, 2**31)),
    "unweighted": lambda: ew.generate.rmat(14, 8, seed=5, directed=False),
    "star": lambda: ew.Graph.from_edges([0] * 70_000, np.arange(1, 70_001), num_vertices=70_001),
}


def on_gpu(graph):
    """The graph, built on the GPU."""
    cupy = pytest.importorskip("cupy")
    once = slice(None) if graph.directed else graph.sources <= graph.targets
    columns = [graph.sources[once], graph.targets[once]]
    columns += [] if graph.weights is None else [graph.weights[once]]
    source, target, *weight = map(cupy.asarray, columns)
    return ew.Graph.from_edges(
        source, target, *weight, directed=graph.directed, num_vertices=graph.num_vertices
    )


@pytest.mark.parametrize("built", ["on the host", "on the GPU"])
@pytest.mark.parametrize("name", GRAPHS)
def test_answers_are_those_without_layers(name, built):
    graph = GRAPHS[name]()
    if built == "on the GPU":
        graph = on_gpu(graph)
    roots, other = [0, 5], 17
    for sources in (roots, [other], [other, 3]):
        for depth in (None, 3):
            expected = ew.bfs(graph, sources, max_depth=depth, device="cpu")
            got = ew.bfs(graph, sources, max_depth=depth, device="cuda", schedule=layered(*roots))
            assert "layer" in got.explain()
            same_search(got, expected)
    for source in (0, other):
        expected = ew.sssp(graph, source, device="cpu")
        for edges in (1, 5000, None):
            schedule = layered(0, min_edges=edges)
            got = ew.sssp(graph, source, device="cuda", schedule=schedule)
            assert "swept" in got.explain()
            np.testing.assert_array_equal(got.distance, expected.distance)
            np.testing.assert_array_equal(got.parent_index, expected.parent_index)


@pytest.mark.parametrize("name", GRAPHS)
def test_layers_made_on_the_gpu_are_those_made_on_the_host(name):
    there = on_gpu(GRAPHS[name]())
    here = ew.Graph.from_csr(there.offsets, there.targets, there.weights, directed=there.directed)
    roots = np.array([0, 9])
    level = ew.bfs(here, roots.tolist()).level
    one, other = put_in_layers(there, level, roots), put_in_layers(here, level, roots)
    for mine, its in zip(one.order, other.order, strict=True):
        np.testing.assert_array_equal(mine.get() if hasattr(mine, "get") else mine, its)
    for array in ("offsets", "targets", "weights", "in_offsets", "in_sources", "in_weights"):
        np.testing.assert_array_equal(getattr(one.graph, array), getattr(other.graph, array))
    assert one.kinds.counts.tolist() == other.kinds.counts.tolist()
    np.testing.assert_array_equal(one.kinds.repeated.get(), other.kinds.repeated)


def test_searches_from_roots_read_their_levels_by_themselves():
    graph = GRAPHS["lattice"]()
    searched = ew.bfs(graph, 7, device="cuda")
    assert "levels on the GPU" in searched.explain()
    ew.sssp(graph, 3, device="cuda", schedule=layered(7))
    assert kept_in_layers(graph, np.array([7])) is not None
    read = ew.bfs(graph, 7, device="cuda")
    assert "which the graph keeps" in read.explain() and "levels on the GPU" not in read.explain()
    assert read.supersteps == 0
    same_search(read, searched)
    drop_layers(graph)
    assert "levels on the GPU" in ew.bfs(graph, 7, device="cuda").explain()


@pytest.mark.parametrize("make", [lambda graph: graph, on_gpu], ids=["from the host", "built there"])
def test_layers_on_a_gpu_are_given_up_when_its_memory_is_short(make):
    cuda_memory, graph, other = cuda_door(), make(GRAPHS["lattice"]()), GRAPHS["lattice"]()
    first = ew.bfs(graph, 7, device="cuda", schedule=layered(7))
    ew.bfs(other, 7, device="cpu", schedule=layered(7))
    assert kept_in_layers(graph, np.array([7])) is not None
    moved = weakref.ref(kept_in_layers(graph, np.array([7])).graph)
    assert not cuda_memory.fits(2**60)
    assert kept_in_layers(graph, np.array([7])) is None
    assert kept_in_layers(other, np.array([7])) is not None
    assert moved() is None
    same_search(ew.bfs(graph, 7, device="cuda", schedule=layered(7)), first)


def test_a_file_beside_the_graph_is_found_by_itself(tmp_path):
    GRAPHS["lattice"]().save(tmp_path / "g.edgewise")
    first = ew.bfs(ew.load(tmp_path / "g.edgewise"), 7, device="cuda", schedule=layered(7, file="beside"))
    graph = ew.load(tmp_path / "g.edgewise")
    runs = [ew.bfs(graph, 7, device="cuda") for _ in range(30)]
    taken = ["layers" in run.explain() for run in runs]
    assert not taken[0] and taken[-1] and taken == sorted(taken)
    assert sum("read from" in run.explain() for run in runs) == 1
    for run in runs:
        same_search(run, first)


def test_arcs_that_all_lead_ahead_need_one_sweep():
    layers, width = 200, 40
    places = np.arange(layers * width).reshape(layers, width)
    source, target = places[:-1].repeat(2), np.roll(places, 1, axis=1)[1:].repeat(2)
    target[::2] = places[1:].ravel()
    weights = np.random.default_rng(1).integers(1, 100, len(source))
    graph = ew.Graph.from_edges(source, target, weights, num_vertices=layers * width)
    got = ew.sssp(graph, 3, device="cuda", schedule=layered(*range(width)))
    assert "one sweep is enough" in got.explain() and got.supersteps <= layers
    np.testing.assert_array_equal(got.distance, ew.sssp(graph, 3, device="cpu").distance)


@pytest.mark.parametrize("name", ["lattice", "both ways", "unweighted"])
def test_runs_over_layers_beyond_the_memory_give_the_same_answers(name):
    calls = {
        "bfs": lambda graph, **how: ew.bfs(graph, 7, schedule=layered(7), **how),
        "sssp": lambda graph, **how: ew.sssp(graph, 3, schedule=layered(7), **how),
    }
    for call in calls.values():
        graph = GRAPHS[name]()
        expected = call(graph, device="cpu")
        got = call(graph, device="cuda", memory_limit=least(call, graph))
        for array in ("level", "distance", "parent_index"):
            if hasattr(expected, array):
                np.testing.assert_array_equal(getattr(got, array), getattr(expected, array))


@pytest.mark.parametrize("weights", [(1, 100), (1, 2**31), (0.0, 1.0), None], ids=str)
def test_rows_of_lists_come_ahead_of_the_sweeps_wherever_they_lie(weights):
    graph = ew.generate.lattice(1500, 1000, removed=0.1, seed=3, weights=weights)
    expected = ew.sssp(graph, 0, device="cuda")
    lowest = least(layered_from_0, graph)
    for more in (0, 0, 2**25 + 2**23, 2**25 + 2**23):  # all arcs lie on the host, or a part of them
        got = layered_from_0(graph, device="cuda", memory_limit=lowest + more)
        assert "read from the host's memory" in got.explain()
        brought, late = re.search(r"([\d,]+) arcs brought .*, ([\d,]+) of them", got.explain()).groups()
        assert 0 < int(brought.replace(",", "")) <= graph.num_arcs
        assert int(late.replace(",", "")) <= int(brought.replace(",", ""))
        np.testing.assert_array_equal(got.distance, expected.distance)
        np.testing.assert_array_equal(got.parent_index, expected.parent_index)


def test_deep_layers_at_hand_are_swept_beyond_the_memory_unasked():
    graph = ew.generate.lattice(600, 500, removed=0.1, seed=4, weights=(1, 100))
    expected = ew.sssp(graph, 0, device="cuda", schedule=layered(0))
    limit = max(least(functools.partial(ew.sssp, source=0), graph), least(layered_from_0, graph))
    for source, swept in ((0, True), (1, False)):
        got = ew.sssp(graph, source, device="cuda", memory_limit=limit)
        assert ("swept" in got.explain()) == swept
        assert got.verify(graph)
    np.testing.assert_array_equal(
        ew.sssp(graph, 0, device="cuda", memory_limit=limit).distance, expected.distance
    )
    assert "swept" not in ew.sssp(graph, 0, device="cuda").explain()


def layered_from_0(graph, **how):
    """Shortest paths over layers from their root."""
    return ew.sssp(graph, 0, schedule=layered(0), **how)
