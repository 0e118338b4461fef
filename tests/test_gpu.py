"""The CUDA engine agrees with the reference. These tests need an NVIDIA GPU: `pytest -m gpu`."""

import numpy as np
import pytest
from replicated import balance_for, name_of, replicated
from test_engines import (
    GRAPHS,
    PROGRAMS,
    SSSP,
    Chain,
    Components,
    Helped,
    Highest,
    LateMirror,
    Loop,
    Mirror,
    OutWeight,
    Widest,
    assert_same,
)

import edgewise as ew
from edgewise.graph.gpu_rows import GpuRows
from edgewise.run import Prepared

pytestmark = pytest.mark.gpu

DELIVERIES = {"auto": "auto", "push": ew.Push(), "pull": ew.Pull()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_delivery_agrees_with_the_reference(name):
    program, values = PROGRAMS[name]
    for graph_name, graph in GRAPHS.items():
        if "source" in values and graph.num_vertices == 0:
            continue
        if program is Components:
            graph = ew.Graph.from_edges(
                graph.sources, graph.targets, directed=False, num_vertices=graph.num_vertices
            )
        expected = Prepared(program, graph).reference(values, program.max_supersteps)
        for delivery_name, delivery in DELIVERIES.items():
            prepared = Prepared(program, graph, "cuda", ew.Schedule(delivery=delivery))
            try:
                for _ in range(2):  # the second run works in what the first one left
                    assert_same(prepared(**values), expected, program.asynchronous)
            except AssertionError as error:
                raise AssertionError(f"{name} on '{graph_name}', {delivery_name}: {error}") from error


LARGE = {
    "lattice": lambda: ew.generate.lattice(120, 150, seed=3, weights=(0, 20)),
    "hubs": lambda: ew.generate.rmat(14, 24, seed=5, weights=(0, 20)),
}


@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("name", PROGRAMS)
def test_large_graphs_agree_with_the_cpu(name, kind):
    program, values = PROGRAMS[name]
    graph = LARGE[kind]()
    expected = Prepared(program, graph, "cpu")(**values)
    for delivery in DELIVERIES.values():
        result = Prepared(program, graph, "cuda", ew.Schedule(delivery=delivery))(**values)
        for field, want in expected.fields.items():
            tolerance = {"float32": 1e-4, "float64": 1e-9}.get(str(want.dtype), 0)
            np.testing.assert_allclose(result.fields[field], want, rtol=tolerance, atol=1e-12, err_msg=field)
        for field, want in expected.edge_fields.items():
            np.testing.assert_array_equal(result.edge_fields[field], want, err_msg=field)
        if not program.asynchronous:
            assert result.supersteps == expected.supersteps


BALANCES = (
    ew.ThreadMapped(),
    ew.WarpMapped(),
    ew.WarpMapped(4),
    ew.BlockMapped(),
    ew.Binned(),
    ew.EdgeBased(),
    ew.EdgeBased(chunking=False),
    ew.EdgeBased(chunking="vertex"),
    ew.WorkloadDecomposition(),
    ew.MergePath(),
    ew.NodeSplitting(),
    ew.NodeSplitting(5),
    ew.HierarchicalProcessing(),
    ew.HierarchicalProcessing(9, depth=3),
    replicated,
)


#: Programs whose combiner needs the order of messages.
IN_ORDER = ("pagerank", "float sums", "user combiner")


@pytest.mark.parametrize("balance", BALANCES, ids=name_of)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_strategy_agrees_with_the_cpu(name, balance):
    program, values = PROGRAMS[name]
    if isinstance(balance, ew.EdgeBased) and name in IN_ORDER:
        with pytest.raises(ew.errors.ScheduleError, match="EdgeBased"):
            Prepared(program, LARGE["hubs"](), "cuda", ew.Schedule(balance=balance))(**values)
        return
    for graph in (LARGE["hubs"](), ew.generate.star(5000, weights=(1, 9))):
        expected = Prepared(program, graph, "cpu")(**values)
        for delivery in (ew.Push(), ew.Pull()):
            schedule = ew.Schedule(delivery, balance=balance_for(graph, balance))
            result = Prepared(program, graph, "cuda", schedule)(**values)
            for field, want in expected.fields.items():
                tolerance = {"float32": 1e-4, "float64": 1e-9}.get(str(want.dtype), 0)
                np.testing.assert_allclose(result.fields[field], want, rtol=tolerance, atol=1e-12)
            for field, want in expected.edge_fields.items():
                np.testing.assert_array_equal(result.edge_fields[field], want, err_msg=field)
            if not program.asynchronous:
                assert result.supersteps == expected.supersteps


@pytest.mark.parametrize("kind", ["lattice", "hubs", "path"])
def test_the_best_of_floats_of_both_signs(kind):
    graph = LARGE[kind]() if kind in LARGE else ew.generate.path(3000)
    weight = np.random.default_rng(1).normal(0, 100, graph.num_arcs)
    expected = Prepared(Widest, graph, "cpu")(source=1, weight=weight).width
    for schedule in (
        ew.Schedule(),
        ew.Schedule(ew.Push(), balance=ew.ThreadMapped()),
        ew.Schedule(ew.Pull()),
    ):
        prepared = Prepared(Widest, graph, "cuda", schedule)
        for _ in range(3):
            result = prepared(source=1, weight=weight)
            assert ("thresholds" in result.explain()) == (schedule == ew.Schedule())
            np.testing.assert_array_equal(result.width, expected)


@pytest.mark.parametrize("kind", LARGE)
def test_labels_spread_best_first(kind):
    graph = LARGE[kind]()
    graph = ew.Graph.from_edges(graph.sources, graph.targets, directed=False, num_vertices=graph.num_vertices)
    result = Prepared(Components, graph, "cuda")()
    np.testing.assert_array_equal(result.label, ew.connected_components(graph, device="cpu").component)


@pytest.mark.parametrize("program", [Chain, Loop, Helped, Mirror, LateMirror, Highest])
def test_programs_that_trap_an_engine(program):
    graph = ew.generate.uniform(3000, 20_000, seed=1)
    expected = Prepared(program, graph).reference({}, None).vertex_fields
    for delivery in DELIVERIES.values():
        result = Prepared(program, graph, "cuda", ew.Schedule(delivery=delivery))()
        for field, want in expected.items():
            np.testing.assert_array_equal(result.fields[field], want)


def test_float_sums_are_the_same_each_time():
    program, values = PROGRAMS["pagerank"]
    graph = ew.generate.rmat(14, 24, seed=5)
    prepared = Prepared(program, graph, "cuda")
    first = prepared(**values).rank.tobytes()
    assert all(prepared(**values).rank.tobytes() == first for _ in range(5))


def test_a_limit_and_arrays_for_fields():
    graph = LARGE["lattice"]()
    prepared = Prepared(SSSP, graph, "cuda")
    whole = prepared(source=0)
    cut = prepared(source=0, max_supersteps=5)
    assert (cut.supersteps, cut.ended) == (5, "max_supersteps was reached")
    np.testing.assert_array_equal(prepared(source=0).distance, whole.distance)
    weight = np.arange(graph.num_arcs, dtype=graph.weights.dtype) % 7
    np.testing.assert_array_equal(
        prepared(source=0, weight=weight).distance,
        Prepared(SSSP, graph, "cpu")(source=0, weight=weight).distance,
    )


def test_an_exception_in_progress_ends_the_run():
    """What Ctrl-C does, too: the kernel leaves at its next superstep, and the GPU can be used again."""

    class Endless(ew.Program):
        x = ew.vertex("int64")
        combine = ew.SUM

        @staticmethod
        def edge_compute(edge, state):
            return state.x[edge.source] % 7

        @staticmethod
        def vertex_compute(v, message, state):
            state.x[v] = message
            return ew.ACTIVE

    def stop(done):
        raise KeyboardInterrupt

    graph = ew.generate.uniform(3000, 20_000, seed=1)
    prepared = Prepared(Endless, graph, "cuda")
    with pytest.raises(KeyboardInterrupt):
        prepared(progress=stop)
    assert prepared(max_supersteps=10).supersteps == 10


def test_a_run_says_what_it_cost():
    program, values = PROGRAMS["sssp"]
    graph = LARGE["hubs"]()
    costs = {}
    for balance in (ew.ThreadMapped(), ew.WorkloadDecomposition(), ew.EdgeBased()):
        result = Prepared(program, graph, "cuda", ew.Schedule(ew.Push(), balance=balance))(**values)
        phases = result.phase_seconds
        assert 0 <= phases["sharing"] <= phases["delivering"] < phases["kernel"] < result.seconds
        assert 0 < phases["computing"] < phases["kernel"]
        assert (phases["sharing"] > 0) == (balance == ew.WorkloadDecomposition())
        costs[type(balance)] = result.memory_bytes
    assert len({each["graph"] for each in costs.values()}) == 1
    assert costs[ew.ThreadMapped]["strategy"] == 0
    assert costs[ew.EdgeBased]["strategy"] == 4 * graph.num_arcs
    assert costs[ew.EdgeBased]["run"] - costs[ew.ThreadMapped]["run"] == 4 * graph.num_arcs
    assert Prepared(program, graph, "cuda")(**values).phase_seconds == {}  # best first, not in rounds


@pytest.mark.parametrize("name", ["sssp", "float sums"])
def test_the_arcs_of_a_graph_built_on_the_gpu_stay_there(name):
    import cupy

    program, values = PROGRAMS[name]
    made = LARGE["hubs"]()
    columns = [cupy.asarray(column) for column in (made.sources, made.targets, made.weights)]
    expected = Prepared(program, made, "cpu")(**values)
    for delivery in DELIVERIES.values():
        graph = ew.Graph.from_edges(*columns, num_vertices=made.num_vertices)
        result = Prepared(program, graph, "cuda", ew.Schedule(delivery=delivery))(**values)
        for rows in (graph._rows, *([graph._in_edges] if graph.has_in_edges else [])):
            assert isinstance(rows, GpuRows)
            assert not {"targets", "weights"} & vars(rows).keys()
        for field, want in expected.fields.items():
            np.testing.assert_allclose(result.fields[field], want, rtol=1e-4)


def test_automatic_gathers_in_shares_where_a_vertex_has_more_than_one():
    program, values = PROGRAMS["edge fields"]
    for graph, how in ((ew.generate.star(70_000), "in equal shares"), (LARGE["lattice"](), "by degree")):
        graph = ew.Graph.from_edges(graph.targets, graph.sources, num_vertices=graph.num_vertices)
        graph.make_in_edges()
        result = Prepared(program, graph, "cuda")(**values)
        assert f"gathering {how}" in result.explain()
        np.testing.assert_array_equal(result.flow, Prepared(program, graph, "cpu")(**values).flow)


def test_what_is_only_gathered_lies_in_a_layout():
    graph = ew.generate.star(70_000)
    graph = ew.Graph.from_edges(graph.targets, graph.sources, num_vertices=graph.num_vertices)
    result = ew.prepare(OutWeight, graph, device="cuda")()
    assert "1 by themselves" in result.explain()
    assert not graph.has_in_edges
    # The CPU adds 70,000 floats one after the other, which is what differs.
    np.testing.assert_allclose(result.total, Prepared(OutWeight, graph, "cpu")().total, rtol=5e-3)


def test_one_edge_whose_row_is_not_the_first():
    """A field with one value for all edges and one with a value for each are told apart where there is one edge."""
    graph = ew.Graph.from_edges([3], [2], [4], num_vertices=4)
    for schedule in (ew.Schedule(), ew.Schedule(ew.Pull()), ew.Schedule(ew.Buffered())):
        result = Prepared(OutWeight, graph, "cuda", schedule)()
        np.testing.assert_array_equal(result.total, Prepared(OutWeight, graph, "cpu")().total)


def test_automatic_pushes_in_shares_where_a_vertex_has_many_edges():
    program, values = PROGRAMS["bfs"]
    for graph, how in (
        (ew.generate.star(70_000), "1 push from a list, 1 push from a list in equal shares;"),
        (LARGE["lattice"](), " push from a list;"),
    ):
        for number in range(2):  # with in-edges, too
            result = Prepared(program, graph, "cuda")(**values)
            assert how in result.explain().replace("\n", ";"), number
            np.testing.assert_array_equal(result.level, Prepared(program, graph, "cpu")(**values).level)
            graph.make_in_edges()
