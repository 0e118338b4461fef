"""Runs by clusters on a GPU: the answers of the CPU. These tests need an NVIDIA GPU: `pytest -m gpu`."""

import numpy as np
import pytest
from test_engines import SSSP, Components, Highest, Least, Widest
from test_gpu_layers import on_gpu
from test_layers import same_search

import edgewise as ew
from edgewise.errors import MemoryLimitError, ScheduleError

pytestmark = pytest.mark.gpu

CLUSTERED = ew.Schedule(balance=ew.Clustered())
GRAPHS = {
    "lattice": lambda: ew.generate.lattice(400, 300, removed=0.1, seed=1, weights=(1, 100)),
    "one way": lambda: ew.generate.lattice(300, 300, removed=0.1, one_way=0.3, seed=2, weights=(1, 100)),
    "both ways": lambda: ew.generate.lattice(250, 250, removed=0.2, seed=3, directed=False, weights=(0, 3)),
    "floats": lambda: ew.generate.lattice(200, 300, seed=4, directed=False, weights=(0.0, 1.0)),
    "skewed": lambda: ew.generate.rmat(14, 8, seed=5, weights=(1, 2**31)),
    "unweighted": lambda: ew.generate.rmat(13, 4, seed=6, directed=False),
    "path": lambda: ew.generate.lattice(50_000, 1, weights=(1, 9)),
    "star": lambda: ew.Graph.from_edges(
        [0] * 70_000, np.arange(1, 70_001), num_vertices=70_010, directed=False
    ),
    "parts": lambda: ew.generate.lattice(300, 300, removed=0.6, seed=7, weights=(1, 5)),
}


@pytest.mark.parametrize("built", ["on the host", "on the GPU"])
@pytest.mark.parametrize("name", GRAPHS)
def test_answers_are_those_of_the_cpu(name, built):
    graph = GRAPHS[name]()
    if built == "on the GPU":
        graph = on_gpu(graph)
    for sources in ([0], [5, 17, 4000]):
        for depth in (None, 40):
            got = ew.bfs(graph, sources, max_depth=depth, device="cuda", schedule=CLUSTERED)
            assert "clusters of at most 2,048" in got.explain()
            expected = ew.bfs(graph, sources, max_depth=depth, device="cpu")
            same_search(got, expected)
            assert got.supersteps == expected.supersteps
        got = ew.sssp(graph, sources[0], device="cuda", schedule=CLUSTERED)
        assert "clusters of at most 2,048" in got.explain()
        expected = ew.sssp(graph, sources[0], device="cpu")
        np.testing.assert_array_equal(got.distance, expected.distance)
        np.testing.assert_array_equal(got.parent_index, expected.parent_index)


def same_end(program, graph, values, **how):
    """A program by clusters ends as on the CPU."""
    got = ew.run(program(**values), graph, device="cuda", **how)
    assert "clusters of at most 2,048" in got.explain()
    expected = ew.run(program(**values), graph, device="cpu")
    for name, wanted in expected.fields.items():
        np.testing.assert_array_equal(got.fields[name], wanted)


@pytest.mark.parametrize("name", GRAPHS)
def test_programs_end_as_on_the_cpu(name):
    graph = GRAPHS[name]()
    random = np.random.default_rng(1)
    same_end(Highest, graph, {}, schedule=CLUSTERED)
    same_end(
        Least, graph, {"value": random.integers(-(10**6), 10**6, graph.num_vertices)}, schedule=CLUSTERED
    )
    if not graph.directed:
        same_end(Components, graph, {}, schedule=CLUSTERED)
    if graph.weighted:
        same_end(Widest, graph, {"source": 7}, schedule=CLUSTERED)
        same_end(SSSP, graph, {"source": 7}, schedule=CLUSTERED)


@pytest.mark.parametrize("name", ["one way", "both ways"])
def test_many_runs_of_programs_end_alike(name):
    graph = GRAPHS[name]()
    prepared = ew.prepare(Widest, graph, device="cuda", schedule=CLUSTERED)
    labels = ew.prepare(Highest, graph, device="cuda", schedule=CLUSTERED)
    width, best = ew.run(Widest(source=3), graph, device="cpu"), ew.run(Highest, graph, device="cpu")
    for _ in range(200):
        np.testing.assert_array_equal(prepared(source=3).fields["width"], width.fields["width"])
        np.testing.assert_array_equal(labels().fields["best"], best.fields["best"])


def test_programs_take_clusters_from_the_second_run_on():
    graph = GRAPHS["lattice"]()
    same_end(SSSP, graph, {"source": 3}, schedule=CLUSTERED)
    fresh = GRAPHS["lattice"]()
    prepared = ew.prepare(SSSP, fresh, device="cuda")
    expected = ew.sssp(fresh, 3, device="cpu").distance
    for wanted in (False, True, True):
        got = prepared(source=3)
        assert ("clusters of at most 2,048" in got.explain()) == wanted
        np.testing.assert_array_equal(got.fields["distance"], expected)
    limited = prepared(source=3, max_supersteps=10**9)
    assert "clusters" not in limited.explain()
    np.testing.assert_array_equal(limited.fields["distance"], expected)
    assert "clusters of at most 2,048" in prepared(source=3).explain()
    told = [ew.run(SSSP(source=3), fresh, device="cuda").explain() for _ in range(2)]
    assert all("clusters of at most 2,048" in each for each in told)
    with pytest.raises(ScheduleError, match="max_supersteps is 10"):
        ew.run(SSSP(source=3), fresh, device="cuda", schedule=CLUSTERED, max_supersteps=10)
    skewed = ew.prepare(Highest, GRAPHS["skewed"](), device="cuda")
    assert not any("clusters" in skewed().explain() for _ in range(3))


def test_components_as_a_program_by_clusters():
    for name in ("both ways", "parts"):
        graph = GRAPHS[name]()
        got = ew.connected_components(graph, device="cuda", schedule=CLUSTERED)
        assert "clusters of at most 2,048" in got.explain()
        expected = ew.connected_components(graph, device="cpu")
        np.testing.assert_array_equal(got.component, expected.component)


def test_parts_that_are_given():
    graph = ew.generate.rmat(14, 8, seed=5, weights=(1, 9))
    made = ew.approx.form_clusters(graph, threshold=0.2)
    assert len(made.clusters) > 1
    for begins in (made.clusters, np.arange(0, made.graph.num_vertices, 1000)):
        schedule = ew.Schedule(balance=ew.Clustered(begins))
        same_end(SSSP, made.graph, {"source": 7}, schedule=schedule)
        got = ew.sssp(made.graph, 7, device="cuda", schedule=schedule)
        np.testing.assert_array_equal(got.distance, ew.sssp(made.graph, 7, device="cpu").distance)
        same_search(
            ew.bfs(made.graph, 7, device="cuda", schedule=schedule), ew.bfs(made.graph, 7, device="cpu")
        )
    with pytest.raises(ScheduleError, match="ends at 20,000"):
        ew.sssp(made.graph, 7, device="cuda", schedule=ew.Schedule(balance=ew.Clustered([0, 20_000])))


def test_many_runs_end_with_the_same_answers():
    graph = GRAPHS["one way"]()
    expected = ew.sssp(graph, 0, device="cpu").distance
    levels = ew.bfs(graph, 0, device="cpu").level
    for _ in range(300):
        np.testing.assert_array_equal(ew.sssp(graph, 0, device="cuda", schedule=CLUSTERED).distance, expected)
        np.testing.assert_array_equal(ew.bfs(graph, 0, device="cuda", schedule=CLUSTERED).level, levels)


def test_they_are_chosen_from_the_second_run_on():
    graph = GRAPHS["lattice"]()
    assert ["clusters" in ew.sssp(graph, 0, device="cuda").explain() for _ in range(3)] == [False, True, True]
    skewed = GRAPHS["skewed"]()
    assert not any("clusters" in ew.sssp(skewed, 0, device="cuda").explain() for _ in range(3))


def test_a_graph_beyond_the_memory_is_refused():
    graph = GRAPHS["lattice"]()
    with pytest.raises(MemoryLimitError, match=r"Clustered\(\)"):
        ew.bfs(graph, 0, device="cuda", schedule=CLUSTERED, memory_limit=24_000_000)
