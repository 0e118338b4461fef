"""The algorithms as programs on a GPU give what they give on the CPU. These tests need a GPU: `pytest -m gpu`."""

import functools

import numpy as np
import pytest
from gpu_cases import FOREST, LARGE, SMALL, as_program, chain_of_cycles, graphs, same
from replicated import balance_for, name_of
from test_gpu import BALANCES

import edgewise as ew
from edgewise.errors import NegativeCycleError, ScheduleError

pytestmark = pytest.mark.gpu


def forest(graph, **options):
    """The minimum spanning forest of any graph."""
    return ew.mst(graph, symmetrize=True, **options)


#: Arrays in which an algorithm that runs as a program gives what it gives on the CPU.
EXACT = {
    ew.bfs: ("level", "parent_index", "supersteps"),
    ew.sssp: ("distance", "parent_index"),
    ew.connected_components: ("component", "num_components"),
    forest: FOREST,
    ew.scc: ("component", "num_components"),
    ew.pagerank: ("iterations", "converged"),
}
#: Large graphs on which components, too, have few supersteps.
BALANCED = ("star", "lattice", "hubs")


@functools.cache
def on_the_cpu(algorithm, name):
    """A graph by its name, and an algorithm's result on the CPU."""
    graph = LARGE[name]() if name in LARGE else SMALL[name]
    arguments = (0,) if algorithm in (ew.bfs, ew.sssp) else ()
    return graph, arguments, algorithm(graph, *arguments, device="cpu")


@pytest.mark.parametrize("balance", BALANCES, ids=name_of)
@pytest.mark.parametrize("algorithm", EXACT, ids=lambda algorithm: algorithm.__name__)
def test_every_algorithm_runs_with_every_strategy(algorithm, balance):
    if algorithm is ew.pagerank and isinstance(balance, ew.EdgeBased):
        with pytest.raises(ScheduleError, match="EdgeBased"):
            ew.pagerank(SMALL["heavy row"], device="cuda", schedule=ew.Schedule(balance=balance))
        return
    for name in (*(name for name, graph in SMALL.items() if graph.num_vertices), *BALANCED):
        graph, arguments, expected = on_the_cpu(algorithm, name)
        got = as_program(algorithm, graph, *arguments, balance=balance_for(graph, balance))
        same(name, got, expected, *EXACT[algorithm])
        if algorithm is ew.pagerank:
            np.testing.assert_allclose(got.rank, expected.rank, rtol=1e-9, err_msg=name)
            assert got.residual == pytest.approx(expected.residual, rel=1e-6, abs=1e-12), name


KINDS = pytest.mark.parametrize("balance", [ew.WarpMapped(8), ew.NodeSplitting()], ids=str)


@KINDS
@pytest.mark.parametrize("algorithm", [ew.bfs, ew.sssp], ids=lambda algorithm: algorithm.__name__)
def test_paths_over_kinds_of_graphs(algorithm, balance):
    """Weights of every dtype and none, both directions, deliveries."""
    for name, graph in graphs():
        expected = algorithm(graph, 0, device="cpu")
        for delivery in ("auto", ew.Push(), ew.Pull()):
            got = as_program(algorithm, graph, 0, balance=balance, delivery=delivery)
            same(name, got, expected, *EXACT[algorithm])
            if algorithm is ew.sssp:
                assert got.distance.dtype == expected.distance.dtype


@KINDS
@pytest.mark.parametrize(
    "algorithm", [ew.connected_components, ew.scc], ids=lambda algorithm: algorithm.__name__
)
def test_components_of_kinds_of_graphs(algorithm, balance):
    for name, graph in graphs():
        got = as_program(algorithm, graph, balance=balance)
        same(name, got, algorithm(graph, device="cpu"), *EXACT[algorithm])


@KINDS
@pytest.mark.parametrize("delivery", ["auto", ew.Push(), ew.Pull(), ew.Buffered()], ids=str)
def test_forests_of_kinds_of_graphs(balance, delivery):
    for name, graph in graphs():
        got = as_program(forest, graph, balance=balance, delivery=delivery)
        expected = forest(graph, device="cpu")
        same(name, got, expected, *FOREST)
        assert got.weight.dtype == expected.weight.dtype


@pytest.mark.parametrize("delivery", ["auto", ew.Push(), ew.Pull()], ids=str)
def test_strong_components_as_programs(delivery):
    """Also where the rest after two searches takes several rounds."""
    graphs = {
        "cycles": chain_of_cycles(3, 300, np.random.default_rng(6).permutation(900)),
        "falling cycles": chain_of_cycles(2, 300, np.arange(600)[::-1]),
        "sparse": ew.generate.uniform(20_000, 26_000, seed=1),
        "one-way streets": LARGE["one-way streets"](),
    }
    for name, graph in graphs.items():
        got = as_program(ew.scc, graph, balance=ew.MergePath(), delivery=delivery)
        same(name, got, ew.scc(graph, device="cpu"), "component", "num_components")
    got = ew.scc(graph, device="cuda", schedule=ew.Schedule(ew.Buffered()))
    same("buffered", got, ew.scc(graph, device="cpu"), "component", "num_components")


def test_bfs_as_a_program_from_several_sources_and_to_a_depth():
    graph = LARGE["lattice"]()
    for depth in (0, 1, 7, 200):
        options = {"source": [5, 70_000, 5, 119_999], "max_depth": depth}
        got = as_program(ew.bfs, graph, balance=ew.MergePath(), **options)
        same(depth, got, ew.bfs(graph, device="cpu", **options), "level", "parent_index", "supersteps")


@pytest.mark.parametrize("balance", ["auto", ew.ThreadMapped(), ew.WorkloadDecomposition()], ids=str)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_negative_weights_as_a_program(dtype, balance):
    """Also over paths of more vertices than a first look for negative cycles lets through."""
    hubs = LARGE["hubs"]()
    height = np.random.default_rng(2).integers(0, 50, hubs.num_vertices)
    weights = (hubs.weights + height[hubs.sources] - height[hubs.targets]).astype(dtype)
    graph = ew.Graph.from_edges(hubs.sources, hubs.targets, weights, num_vertices=hubs.num_vertices)
    path = ew.Graph.from_edges(range(700), range(1, 701), np.full(700, -2, dtype))
    for name, made in (("hubs", graph), ("path", path)):
        got = as_program(ew.sssp, made, 0, balance=balance)
        same(name, got, ew.sssp(made, 0, device="cpu"), "distance", "parent_index", "supersteps")
        assert got.distance.dtype == dtype and "a program on the GPU" in got.explain()
    ends = np.arange(3000)
    cycle = ew.Graph.from_edges([*ends, 3000], [*ends + 1, 2990], np.array([1] * 3000 + [-11], dtype))
    with pytest.raises(NegativeCycleError, match="is on a cycle of negative weight"):
        as_program(ew.sssp, cycle, 0, balance=balance)


@pytest.mark.parametrize("balance", [ew.WarpMapped(), ew.MergePath()], ids=str)
def test_pagerank_as_a_program_with_all_its_options(balance):
    for name in ("hubs", "sparse"):
        graph = LARGE[name]()
        n = graph.num_vertices
        jump, start = np.arange(n) % 5, np.arange(n) % 3
        for options in (
            {"personalization": jump, "weighted": True, "start": start, "tol": 1e-9},
            {"start": start, "damping": 0.5},
            {"tol": 0, "max_iterations": 7},
            {"max_iterations": 0},
        ):
            got = as_program(ew.pagerank, graph, balance=balance, **options)
            expected = ew.pagerank(graph, device="cpu", **options)
            same(name, got, expected, "iterations", "converged")
            np.testing.assert_allclose(got.rank, expected.rank, rtol=1e-9, atol=1e-15, err_msg=name)
            assert got.residual == pytest.approx(expected.residual, rel=1e-6, abs=1e-12)
        options = {"tol": 0, "max_iterations": 20, "dtype": np.float32}
        got = as_program(ew.pagerank, graph, balance=balance, **options)
        expected = ew.pagerank(graph, device="cpu", **options)
        assert got.rank.dtype == np.float32
        assert np.abs(got.rank.astype(float) - expected.rank).sum() <= 3e-6
    with pytest.raises(ScheduleError, match="delivery is Push"):
        as_program(ew.pagerank, graph, balance=balance, delivery=ew.Push())


@pytest.mark.parametrize("threshold", [0.25, 0.6])
@pytest.mark.parametrize("name", ["lattice", "hubs"])
def test_replicas_send_for_their_vertices(name, threshold):
    """Runs by slots, on graphs with replicas: as on the CPU, which has none."""
    made = ew.approx.coalesce(LARGE[name](), threshold=threshold, extra=2)
    assert made.copies.num_replicas > 0
    for algorithm, arrays in EXACT.items():
        arguments = (0,) if algorithm in (ew.bfs, ew.sssp) else ()
        got = as_program(algorithm, made.graph, *arguments, balance=made.balance)
        expected = algorithm(made.graph, *arguments, device="cpu")
        same(name, got, expected, *arrays)
    pushed = as_program(ew.sssp, made.graph, 0, balance=made.balance, delivery=ew.Push())
    np.testing.assert_array_equal(pushed.distance, ew.sssp(made.graph, 0, device="cpu").distance)
    told = ew.approx.evaluate(
        made,
        lambda graph: ew.sssp(
            graph,
            graph.vertices.min(),
            device="cuda",
            schedule=made.schedule if graph is made.graph else None,
        ),
        repeat=1,
    )
    assert told.difference.is_exact
    with pytest.raises(ScheduleError, match="made for another graph than"):
        ew.bfs(made.original, 0, device="cuda", schedule=made.schedule)


@pytest.mark.parametrize("algorithm", [ew.closeness, ew.harmonic, ew.eccentricity])
def test_sums_of_distances(algorithm):
    for name, graph in SMALL.items():
        if graph.num_vertices == 0:
            continue
        some = graph.ids_of(np.unique([0, graph.num_vertices // 2])).tolist()
        for options in ({}, {"vertices": some}, {"vertices": some, "weighted": graph.weighted}):
            got, expected = (algorithm(graph, device=device, **options) for device in ("cuda", "cpu"))
            same(name, got, expected, "reached", "distance_sum", "farthest")
            np.testing.assert_allclose(got.reciprocal_sum, expected.reciprocal_sum, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("algorithm", [ew.eigenvector, ew.katz, ew.hits])
def test_power_iterations(algorithm, weighted):
    for name, graph in SMALL.items():
        options = {"weighted": weighted and graph.weighted, "max_iterations": 20}
        options |= {"alpha": 1e-4} if algorithm is ew.katz else {}
        got, expected = (algorithm(graph, device=device, **options) for device in ("cuda", "cpu"))
        same(name, got, expected, "iterations", "converged")
        for column in expected.columns():
            ours, theirs = getattr(got, column), getattr(expected, column)
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-300, err_msg=name)
        assert got.verify(graph)
