"""Cores of graphs: which edges they have, and that what they begin ends exactly."""

import importlib
import itertools

import numpy as np
import pytest
from battery import graphs as battery_graphs
from simulated import simulated

import edgewise as ew
from edgewise.errors import GraphTypeError, ParameterError, ScheduleError

GRAPHS = {
    "skewed": lambda: ew.generate.rmat(10, 8, seed=1, weights=(1, 100)),
    "skewed, floats": lambda: ew.generate.rmat(9, 6, seed=2, weights=(0.0, 1.0)),
    "skewed both ways": lambda: ew.generate.rmat(9, 6, seed=3, directed=False, weights=(1, 30)),
    "edges of no length": lambda: ew.generate.rmat(8, 6, seed=4, weights=(0, 2)),
    "streets": lambda: ew.generate.lattice(20, 25, removed=0.2, one_way=0.3, seed=5, weights=(1, 9)),
    "long sums": lambda: ew.generate.rmat(9, 6, seed=6, weights=(1, 2**31 - 1)),
    "no weights": lambda: ew.generate.rmat(9, 6, seed=7),
    "no weights both ways": lambda: ew.generate.rmat(9, 4, seed=8, directed=False),
    "names": lambda: ew.Graph.from_edges(list("abcdab"), list("bcdafa"), [1, 2, 3, 4, 5, 6], directed=False),
}
SSSP = importlib.import_module("examples.sssp").SSSP
Components = importlib.import_module("examples.components").Components


class Widest(ew.Program):
    """The largest weight that every edge of some path from the source has."""

    source = ew.parameter(ew.VERTEX)
    width = ew.vertex(ew.WEIGHT)
    capacity = ew.edge(ew.WEIGHT, default=1)
    combine = ew.MAX
    asynchronous = True

    @staticmethod
    def initialize(v, state):
        if v == state.source:
            state.width[v] = 1000
            return ew.ACTIVE
        return ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        return min(state.width[edge.source], edge.capacity)

    @staticmethod
    def vertex_compute(v, message, state):
        if message > state.width[v]:
            state.width[v] = message
            return ew.ACTIVE
        return ew.HALT


class Tolls(ew.Program):
    """The least sum of tolls from vertices that begin with a sum of their own, which they keep."""

    toll = ew.edge("float64", init=ew.REQUIRED)
    paid = ew.vertex("float64", init=ew.INFINITY)
    begins = ew.vertex("bool", init=ew.REQUIRED)
    combine = ew.MIN
    asynchronous = True

    @staticmethod
    def initialize(v, state):
        return ew.ACTIVE if state.begins[v] else ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        return state.paid[edge.source] + edge.toll

    @staticmethod
    def vertex_compute(v, message, state):
        if message < state.paid[v]:
            state.paid[v] = message
            return ew.ACTIVE
        return ew.HALT


@pytest.fixture(params=GRAPHS)
def graph(request):
    return GRAPHS[request.param]()


#: Graphs for which programs are compiled once more.
OTHER_KINDS = ("skewed, floats", "no weights", "names")


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.slow] if name in OTHER_KINDS else []) for name in GRAPHS]
)
def graph_of_programs(request):
    return GRAPHS[request.param]()


def sources_of(graph):
    """Some of the user's ids, the first of a vertex that reaches many."""
    return graph.vertices[[int(graph.out_degree.argmax()), 0, graph.num_vertices // 3]].tolist()


def test_a_core_has_the_trees_of_its_sources_and_an_edge_out_of_each_vertex(graph):
    for call in (ew.bfs, ew.sssp):
        core = ew.approx.core_graph(graph, call, num_sources=3, fraction=1)
        assert core.graph.directed == graph.directed
        assert core.graph.vertices.tolist() == graph.vertices.tolist()
        np.testing.assert_array_equal(graph.targets[core.arcs], core.graph.targets)
        np.testing.assert_array_equal(graph.sources[core.arcs], core.graph.sources)
        if graph.weighted:
            np.testing.assert_array_equal(graph.weights[core.arcs], core.graph.weights)
        others = graph.sources != graph.targets
        leads_out = np.bincount(graph.sources[others], minlength=graph.num_vertices) > 0
        np.testing.assert_array_equal(core.graph.out_degree > 0, leads_out)
        assert core.fraction == len(core.arcs) / graph.num_arcs
        degree = graph.out_degree + (graph.in_degree if graph.directed else 0)
        assert degree[core.sources].tolist() == sorted(degree.tolist(), reverse=True)[:3]
        field = "level" if call is ew.bfs else "distance"
        for one, other in ((graph, core.graph), *([] if not graph.directed else [turned(graph, core.graph)])):
            for source in graph.ids_of(core.sources).tolist():
                exact, found = getattr(call(one, source), field), getattr(call(other, source), field)
                reached = call(one, source).parent_index >= 0
                np.testing.assert_array_equal(found[reached], exact[reached])


def turned(*graphs):
    """Graphs with every arc the other way."""
    return [
        ew.Graph.from_edges(each.targets, each.sources, each.weights, num_vertices=each.num_vertices)
        for each in graphs
    ]


def test_a_core_ends_at_the_fraction_that_is_asked_for(graph):
    cores = [ew.approx.core_graph(graph, num_sources=30, fraction=part) for part in (0, 0.2, 1)]
    assert len(cores[0].sources) == 1
    assert len(cores[2].sources) == min(30, graph.num_vertices) or cores[2].fraction == 1
    for fewer, more in itertools.pairwise(cores):
        assert len(fewer.sources) <= len(more.sources) and fewer.fraction <= more.fraction
        assert (fewer.sources == more.sources[: len(fewer.sources)]).all()
    again = ew.approx.core_graph(graph, num_sources=30, fraction=0.2)
    np.testing.assert_array_equal(again.arcs, cores[1].arcs)


def test_paths_and_levels_are_exact_and_what_the_core_gave_is_not_better(graph):
    for call, field in ((ew.sssp, "distance"), (ew.bfs, "level")):
        core = ew.approx.core_graph(graph, call, num_sources=2, fraction=0.1)
        for source in sources_of(graph):
            exact, told = call(graph, source), ew.approx.two_phase(core, call, source)
            result = told.result
            assert type(result) is type(exact) and result.graph is graph and result.source == source
            np.testing.assert_array_equal(getattr(result, field), getattr(exact, field))
            assert getattr(result, field).dtype == getattr(exact, field).dtype
            assert result.verify(graph)
            assert result.seconds > told.of_core.seconds > 0
            reached = (exact.parent_index >= 0) | (np.arange(graph.num_vertices) == graph.index_of(source))
            np.testing.assert_array_equal(told.reached, reached)
            found = getattr(told.of_core, field).astype(np.float64)
            found[told.of_core.parent_index < 0] = np.inf
            found[graph.index_of(source)] = 0
            assert (found[reached] >= getattr(exact, field)[reached]).all()
            assert told.core_share_right == np.mean((found == getattr(exact, field))[reached])


def test_a_search_from_several_sources_is_exact(graph):
    sources = sources_of(graph)
    told = ew.approx.two_phase(ew.approx.core_graph(graph), ew.bfs, source=sources)
    np.testing.assert_array_equal(told.result.level, ew.bfs(graph, sources).level)
    assert told.result.verify(graph)


def test_components_are_exact(graph):
    core = ew.approx.core_graph(graph, num_sources=1, fraction=0)
    if graph.directed:
        with pytest.raises(ParameterError, match="the graph is directed; expected a core of an undirected"):
            ew.approx.two_phase(core, ew.connected_components)
        return
    told = ew.approx.two_phase(core, ew.connected_components)
    exact = ew.connected_components(graph)
    np.testing.assert_array_equal(told.result.component, exact.component)
    assert told.result.num_components == exact.num_components and told.result.verify(graph)
    right = np.mean(ew.connected_components(core.graph).component == exact.component)
    assert told.core_share_right == right


def test_programs_are_exact(graph_of_programs):
    graph = graph_of_programs
    core = ew.approx.core_graph(graph, num_sources=2, fraction=0)
    source = sources_of(graph)[0]
    fits = not graph.weighted or int(graph.weights.max()) * graph.num_vertices < 2**31
    # The sums of the program have the dtype of the weights.
    for program in (SSSP, Widest) if fits else (Widest,):
        told, exact = (
            ew.approx.two_phase(core, program(source=source)),
            ew.run(program(source=source), graph),
        )
        for name, values in exact.fields.items():
            np.testing.assert_array_equal(told.result.fields[name], values)
        assert told.result.verify(graph) and list(told.result.fields) == list(exact.fields)
        assert told.result.supersteps > 0 and 0 < told.core_share_right <= 1
        reached = ew.bfs(graph, source).level >= 0
        if graph.weighted and graph.weights.min() > 0:
            np.testing.assert_array_equal(told.reached, reached)
    if not graph.directed:
        told = ew.approx.two_phase(core, Components)
        np.testing.assert_array_equal(told.result.label, ew.connected_components(graph).component)
        assert told.reached.all()


class Near(ew.Program):
    """Levels up to a limit: vertices there have a level, and halt."""

    source, limit = ew.parameter(ew.VERTEX), ew.parameter("int32")
    level = ew.vertex("int32", init=ew.INFINITY)
    combine = ew.MIN
    asynchronous = True

    @staticmethod
    def initialize(v, state):
        if v == state.source:
            state.level[v] = 0
            return ew.ACTIVE
        return ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        return state.level[edge.source] + 1

    @staticmethod
    def vertex_compute(v, message, state):
        if message < state.level[v]:
            state.level[v] = message
            if message < state.limit:
                return ew.ACTIVE
        return ew.HALT


class Walls(ew.Program):
    """What is seen from vertex 0: walls are, but nothing through them."""

    wall, seen = ew.vertex("bool", init=ew.REQUIRED), ew.vertex("bool")
    combine = ew.MAX
    message = "int32"
    asynchronous = True

    @staticmethod
    def initialize(v, state):
        state.seen[v] = v == 0
        return ew.ACTIVE if v == 0 else ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        return 1

    @staticmethod
    def vertex_compute(v, message, state):
        if state.seen[v]:
            return ew.HALT
        state.seen[v] = True
        return ew.HALT if state.wall[v] else ew.ACTIVE


class Largest(ew.Program):
    """The largest label that comes from vertex 0: others have labels from the beginning, and halt."""

    label = ew.vertex("int64")
    combine = ew.MAX
    asynchronous = True

    @staticmethod
    def initialize(v, state):
        state.label[v] = v
        return ew.ACTIVE if v == 0 else ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        return state.label[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        if message > state.label[v]:
            state.label[v] = message
            return ew.ACTIVE
        return ew.HALT


@pytest.mark.parametrize("seed", range(12))
def test_vertices_that_have_a_value_and_halt_send_nothing(seed):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(2, 40))
    graph = ew.Graph.from_edges(*draw.integers(0, n, (2, int(draw.integers(1, 4 * n)))), num_vertices=n)
    core = ew.approx.core_graph(graph, num_sources=1, fraction=0)
    limit = int(draw.integers(1, 5))
    for program in (Near(source=0, limit=limit), Walls(wall=draw.random(n) < 0.3), Largest()):
        exact, told = ew.run(program, graph), ew.approx.two_phase(core, program)
        for name, values in exact.fields.items():
            np.testing.assert_array_equal(told.result.fields[name], values)
        assert told.result.verify(graph)
        (name,) = set(exact.fields) - {"wall"}
        begun = ew.run(program, graph, max_supersteps=0).fields[name]
        assert told.reached[0]
        assert (told.reached >= (exact.fields[name] != begun)).all()


def test_what_was_reached_are_vertices_that_were_active_or_changed():
    graph = ew.Graph.from_edges([1], [0])
    told = ew.approx.two_phase(ew.approx.core_graph(graph), Largest)
    assert told.result.label.tolist() == [0, 1]
    assert told.reached.tolist() == [True, False]


def test_arrays_for_fields_go_to_both_phases(graph_of_programs):
    graph = graph_of_programs
    draw = np.random.default_rng(9)
    toll, paid = draw.random(graph.num_arcs), np.full(graph.num_vertices, np.inf)
    begins = draw.random(graph.num_vertices) < 0.05
    begins[[1, 2]] = True
    paid[begins] = draw.random(np.count_nonzero(begins))
    core = ew.approx.core_graph(graph, num_sources=1, fraction=0)
    program = Tolls(toll=toll, paid=paid, begins=begins)
    told = ew.approx.two_phase(core, program)
    np.testing.assert_array_equal(told.result.paid, ew.run(program, graph).paid)
    assert told.result.verify(graph)
    np.testing.assert_array_equal(told.of_core.paid[begins] <= paid[begins], True)
    # Vertices that are active at the beginning count as reached, though they keep what they had.
    np.testing.assert_array_equal(told.reached, np.isfinite(told.result.paid))


@pytest.mark.parametrize("name", battery_graphs())
def test_odd_graphs_have_cores(name):
    graph = battery_graphs()[name]
    core = ew.approx.core_graph(graph, num_sources=2)
    assert core.graph.num_vertices == graph.num_vertices
    if graph.num_vertices == 0:
        return
    source = graph.vertices[0].item()
    told = ew.approx.two_phase(core, ew.sssp, source)
    np.testing.assert_array_equal(told.result.distance, ew.sssp(graph, source).distance)
    assert told.result.verify(graph) and told.core_share_right <= 1


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_same_edges_are_found_by_any_number_of_threads(graph, threads, monkeypatch):
    expected = ew.approx.core_graph(graph, num_sources=3, fraction=1).arcs
    monkeypatch.setattr("edgewise.approx.core.best_threads", lambda *_: threads)
    np.testing.assert_array_equal(ew.approx.core_graph(graph, num_sources=3, fraction=1).arcs, expected)


def test_cores_begin_exact_answers_in_the_simulator_within_and_beyond_the_memory():
    pytest.importorskip(
        "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
    )
    assert simulated("simulate_cores.py") == ["one way", "both ways"]


def test_a_row_of_the_benchmark_says_what_was_measured():
    cores = importlib.import_module("benchmarks.cores")
    graph = GRAPHS["skewed"]()
    row = cores.row_of("skewed", graph, ew.sssp, 2, "cpu", "50 MB")
    assert set(row) == set(cores.FIELDS) and row["vertices"] == 1024 and row["device"] == "cpu in 50 MB"
    assert row["core_fraction"] == round(ew.approx.core_graph(graph).fraction, 4)
    assert 0 < row["least_share_right"] <= row["share_right"] <= 1
    assert row["both_ms"] >= row["core_ms"] > 0 and row["exact_ms"] > 0


def test_most_vertices_of_a_skewed_graph_are_right_at_once():
    graph = ew.generate.rmat(14, 16, weights=(1, 100))
    core = ew.approx.core_graph(graph)
    assert core.fraction < 0.2
    for source in np.flatnonzero(graph.out_degree)[[5, 500, 5000]].tolist():
        assert ew.approx.two_phase(core, ew.sssp, source).core_share_right > 0.95


class InSteps(SSSP):
    asynchronous = False


class Adds(SSSP):
    combine = ew.SUM


class Limited(SSSP):
    max_supersteps = 3


class Places(SSSP):
    @staticmethod
    def edge_compute(edge, state):
        return state.distance[edge.source] + edge.index


class Degrees(SSSP):
    @staticmethod
    def edge_compute(edge, state):
        return state.distance[edge.source] + state.out_degree[edge.source]


class Taken(SSSP):
    awake_at_first = ew.vertex("bool")


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (InSteps, "InSteps cannot begin on a core: it is not asynchronous"),
        (Adds, "combines by neither MIN nor MAX"),
        (Limited, "it has max_supersteps"),
        (Places, "it reads edge.index"),
        (Degrees, "it reads state.out_degree"),
        (Taken, "it declares awake_at_first"),
    ],
)
def test_programs_that_a_core_cannot_begin_are_refused(program, problem):
    core = ew.approx.core_graph(GRAPHS["skewed"]())
    with pytest.raises(ParameterError, match=problem):
        ew.approx.two_phase(core, program(source=3))


def test_what_makes_no_sense_is_refused():
    graph = GRAPHS["skewed"]()
    core = ew.approx.core_graph(graph)
    assert "core of <Graph" in repr(core)
    assert "SSSPResult" in repr(ew.approx.two_phase(core, ew.sssp, 3))
    negative = ew.Graph.from_edges([0, 1], [1, 2], [3, -1])
    for call, problem in (
        (lambda: ew.approx.core_graph(graph, ew.pagerank), "expected ew.sssp, ew.bfs or None"),
        (lambda: ew.approx.core_graph(graph, num_sources=0), "num_sources is 0; expected an integer of at"),
        (lambda: ew.approx.core_graph(graph, fraction=1.5), "fraction is 1.5; expected a number from 0 to 1"),
        (lambda: ew.approx.core_graph(negative), "there are negative weights"),
        (lambda: ew.approx.two_phase(graph, ew.sssp, 3), "expected a core"),
        (lambda: ew.approx.two_phase(core, ew.pagerank), "expected ew.bfs, ew.sssp"),
        (lambda: ew.approx.two_phase(core, ew.sssp), "got 0 arguments beside the core; expected its source"),
        (lambda: ew.approx.two_phase(core, ew.bfs, 3, source=3), "got 2 arguments beside the core"),
        (lambda: ew.approx.two_phase(core, ew.bfs, 3, max_depth=2), "ew.bfs got max_depth beside the core"),
        (lambda: ew.approx.two_phase(core, SSSP(source=3), 3), "a program got 1 arguments"),
        (lambda: ew.approx.two_phase(core, SSSP, source=3), r"got source beside .* MyProgram\(source=3\)"),
        (
            lambda: ew.approx.two_phase(ew.approx.core_graph(negative, ew.bfs), ew.sssp, 0),
            "there are negative weights",
        ),
    ):
        with pytest.raises(ParameterError, match=problem):
            call()
    with pytest.raises(GraphTypeError):
        ew.approx.core_graph("graph")
    with pytest.raises(ScheduleError, match="does not run over layers"):
        layout = ew.Layered(roots=[3])
        ew.approx.two_phase(core, ew.sssp, 3, schedule=ew.Schedule(layout=layout))
