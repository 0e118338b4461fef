"""The CPU engine agrees with the reference: every program, graph, delivery and number of threads."""

import sys
from pathlib import Path

import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import VerificationError
from edgewise.run import Prepared

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
sys.path.insert(0, str(Path(__file__).parent))

import battery
from bfs import BFS
from components import Components
from k_core import KCore
from pagerank import PageRank
from sssp import SSSP

GRAPHS = battery.graphs()


class OutWeight(ew.Program):
    """Sums of floats that push and pull: each vertex once sends its index times the weight."""

    total = ew.vertex("float32")
    seen = ew.vertex("int64")
    weight = ew.edge(ew.WEIGHT, default=1)
    combine = ew.SUM
    message = "float32"

    @staticmethod
    def edge_compute(edge, state):
        return 0.1 * edge.weight * (edge.source % 7)

    @staticmethod
    def vertex_compute(v, message, state):
        state.total[v] = state.total[v] + message
        state.seen[v] = state.superstep
        return state.superstep < 3 and v % 2 == 0


class Traffic(ew.Program):
    """Edge fields that are written: how often an arc was used, and by which superstep last."""

    used = ew.edge("int32")
    last = ew.edge("int64", init=-1)
    flow = ew.vertex("int64", init=1)
    combine = ew.SUM

    @staticmethod
    def initialize(v, state):
        return v % 3 == 0

    @staticmethod
    def edge_compute(edge, state):
        state.used[edge.index] = edge.used + 1
        state.last[edge.index] = state.superstep
        if edge.index % 4 == 3:
            return None
        return state.flow[edge.source] % 1000 + edge.index

    @staticmethod
    def vertex_compute(v, message, state):
        state.flow[v] = (state.flow[v] + message) % 100003
        return state.superstep < 4


def last_two_digits(a, b):
    return (a + b) % 100


class Digits(ew.Program):
    """A combiner of the user's own, and a helper that is plain Python."""

    value = ew.vertex("int32", init=7)
    combine = ew.combiner(last_two_digits, identity=0)
    max_supersteps = 5

    @staticmethod
    def edge_compute(edge, state):
        return last_two_digits(state.value[edge.source], edge.target)

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message
        return v % 5 != 4


class Logic(ew.Program):
    """ALL, MAX and PRODUCT aggregates, and a run that proceed ends."""

    open = ew.vertex("bool", init=True)
    steps = ew.vertex("float64")
    combine = ew.ALL

    @staticmethod
    def initialize(v, state):
        state.open[v] = v % 4 != 1
        return True

    @staticmethod
    def edge_compute(edge, state):
        return state.open[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        state.open[v] = message
        state.steps[v] = state.steps[v] + state.count
        return True

    @ew.aggregator(ew.SUM, "int64")
    @staticmethod
    def count(v, state):
        return 1 if state.open[v] else 0

    @ew.aggregator(ew.MAX, "int32")
    @staticmethod
    def largest(v, state):
        return v if state.open[v] else -5

    @staticmethod
    def proceed(state):
        return state.superstep < 6 and state.count > 0


class Phases(ew.Program):
    """Vertices resume as an aggregate says that is read everywhere, and all functions draw."""

    value = ew.vertex("float64")
    phase = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 12

    @staticmethod
    def initialize(v, state):
        state.value[v] = ew.random.normal(v, state)
        return ew.random(v, state) < 0.3

    @staticmethod
    def resume(v, state):
        state.phase[v] += 1
        return state.phase[v] < 3 and ew.random.integers(v, state, 0, 10) < 5 + state.phases % 3

    @staticmethod
    def edge_compute(edge, state):
        return ew.random.integers(edge.index, state, -100, 100)

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] += 0.5 * message + 0.25 * state.phases
        return ew.random.uniform(v, state) < 0.4

    @ew.aggregator(ew.SUM, "int64")
    @staticmethod
    def phases(v, state):
        return state.phase[v] + ew.random.integers(v, state, 0, 2)


PROGRAMS = {
    "bfs": (BFS, {"source": 0}),
    "sssp": (SSSP, {"source": 0}),
    "pagerank": (PageRank, {"tol": 1e-4}),
    "components": (Components, {}),
    "float sums": (OutWeight, {}),
    "edge fields": (Traffic, {}),
    "user combiner": (Digits, {}),
    "logic and aggregates": (Logic, {}),
    "core numbers": (KCore, {}),
    "phases and random numbers": (Phases, {}),
}


def assert_same(result, expected, asynchronous):
    """Fields equal to the reference; floats within rounding."""
    for name, values in expected.vertex_fields.items():
        got = result.fields[name]
        assert got.dtype == values.dtype
        tolerance = {"float32": 1e-5, "float64": 1e-12}.get(str(values.dtype), 0)
        np.testing.assert_allclose(got, values, rtol=tolerance, atol=tolerance, err_msg=name)
    for name, values in expected.edge_fields.items():
        np.testing.assert_array_equal(result.edge_fields[name], values, err_msg=name)
    if not asynchronous:
        assert result.supersteps == expected.supersteps
        assert result.ended == str(expected.ended)
        for name, value in expected.aggregates.items():
            assert result.aggregates[name] == pytest.approx(value, rel=1e-12)


def forms(graph):
    """How a search by two threads that push divided its supersteps."""
    source = int(graph.out_degree.argmax())
    return Prepared(BFS, graph, schedule=battery.SCHEDULES["push"])(source=source).explain()


def test_small_graphs_are_divided_between_threads(small_pieces):
    """What the tests below rely on."""
    for name, graph in GRAPHS.items():
        if graph.num_vertices > 0 and graph.out_degree.max() >= 3:
            assert "all vertices" in forms(graph) or "from a list" in forms(graph), name


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_schedule_agrees_with_the_reference(name, small_pieces):
    program, values = PROGRAMS[name]
    for graph_name, graph in GRAPHS.items():
        if "source" in values and graph.num_vertices == 0:
            continue
        if program is Components:
            graph = ew.Graph.from_edges(
                graph.sources, graph.targets, directed=False, num_vertices=graph.num_vertices
            )
        expected = None
        for schedule_name, schedule in battery.SCHEDULES.items():
            prepared = Prepared(program, graph, schedule=schedule)
            if expected is None:
                expected = prepared.reference(values, program.max_supersteps)
            try:
                assert_same(prepared(**values), expected, program.asynchronous)
            except AssertionError as error:
                raise AssertionError(f"{name} on '{graph_name}', {schedule_name}: {error}") from error


class Least(ew.Program):
    """The least value that reaches a vertex. What a vertex will send falls while it waits for its turn."""

    value = ew.vertex("int64")
    combine = ew.MIN
    asynchronous = True

    @staticmethod
    def edge_compute(edge, state):
        return min(state.value[edge.source], state.value[edge.target])

    @staticmethod
    def vertex_compute(v, message, state):
        if message < state.value[v]:
            state.value[v] = message
            return ew.ACTIVE
        return ew.HALT


class Widest(ew.Program):
    """The widest path from one source: by MAX, over floats on both sides of 0."""

    source = ew.parameter(ew.VERTEX)
    width = ew.vertex("float64", init=float("-inf"))
    weight = ew.edge("float64")
    combine = ew.MAX
    asynchronous = True

    @staticmethod
    def initialize(v, state):
        if v == state.source:
            state.width[v] = 1e9
            return ew.ACTIVE
        return ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        return min(state.width[edge.source], edge.weight)

    @staticmethod
    def vertex_compute(v, message, state):
        if message > state.width[v]:
            state.width[v] = message
            return ew.ACTIVE
        return ew.HALT


class Highest(ew.Program):
    """The largest index that can reach a vertex: an asynchronous program that combines by MAX."""

    best = ew.vertex("int64", init=-1)
    combine = ew.MAX
    asynchronous = True

    @staticmethod
    def initialize(v, state):
        state.best[v] = v
        return True

    @staticmethod
    def edge_compute(edge, state):
        return state.best[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        if message > state.best[v]:
            state.best[v] = message
            return True
        return False


#: Long thin frontiers; hubs that make more vertices near at once than a thread's ring holds.
GRAPH_KINDS = {
    "lattice": lambda: ew.generate.lattice(120, 150, seed=3, weights=(0, 20)),
    "hubs": lambda: ew.generate.rmat(14, 24, seed=5, weights=(0, 20)),
}


def test_the_end_of_an_asynchronous_program_is_verified_whatever_its_supersteps():
    drawn = ew.generate.rmat(9, 4, seed=3)
    graph = ew.Graph.from_edges(drawn.sources, drawn.targets, directed=False, num_vertices=512)
    result = ew.run(Components, graph, device="cpu")
    assert result.supersteps < Prepared(Components, graph).reference({}, None).supersteps
    assert result.verify(graph)
    result.fields["label"][7] += 1
    with pytest.raises(VerificationError, match="label of vertex 7"):
        result.verify(graph)
    path = ew.Graph.from_edges(np.arange(50_000), np.arange(1, 50_001), directed=False)
    with pytest.raises(VerificationError, match="cut short"):
        ew.run(Components, path, device="cpu", max_supersteps=1).verify(path)


@pytest.mark.parametrize("program", [SSSP, Highest], ids=lambda program: program.__name__)
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("kind", GRAPH_KINDS)
def test_best_first_reaches_the_same_end_on_large_lists(program, kind, threads):
    """Lists long enough to be shared, thresholds that move, vertices that go near and far many times."""
    graph = GRAPH_KINDS[kind]()
    values = {"source": int(graph.out_degree.argmax())} if program is SSSP else {}
    prepared = Prepared(program, graph, schedule=ew.Schedule(num_threads=threads))
    result = prepared(**values)
    in_rounds = Prepared(program, graph, schedule=ew.Schedule(delivery=ew.Pull()))(**values)
    name = "distance" if program is SSSP else "best"
    np.testing.assert_array_equal(result.fields[name], in_rounds.fields[name])
    assert prepared(**values).fields[name].tobytes() == result.fields[name].tobytes()


class Spread(ew.Program):
    """How many vertices a search has reached, as every one of them sees it."""

    reached = ew.vertex("bool")
    seen = ew.vertex("int64")
    combine = ew.ANY

    @staticmethod
    def initialize(v, state):
        state.reached[v] = v % 50 == 0
        return v == 0

    @staticmethod
    def edge_compute(edge, state):
        return True

    @staticmethod
    def vertex_compute(v, message, state):
        state.seen[v] = state.count
        state.reached[v] = True
        return message

    @ew.aggregator(ew.SUM, "int64")
    @staticmethod
    def count(v, state):
        return 1 if state.reached[v] else 0


def test_an_aggregate_is_folded_once_where_the_active_vertices_are_listed():
    path = np.arange(19_999)
    result = ew.run(Spread(), ew.Graph.from_edges(path, path + 1), device="cpu", max_supersteps=3)
    assert result.seen[:4].tolist() == [400, 401, 402, 402]


def test_supersteps_are_pulled_as_long_as_most_vertices_send():
    """Each of these, for the active vertices of the one before and their arcs are counted anew."""
    graph = ew.generate.uniform(2000, 40_000, seed=1)
    graph.make_in_edges()
    told = ew.run(Digits(), graph, device="cpu", schedule=ew.Schedule(num_threads=2)).explain()
    assert "supersteps: 5 pull over all vertices" in told.splitlines()


@pytest.mark.parametrize("threads", [1, 2, pytest.param(None, marks=pytest.mark.gpu)])
@pytest.mark.parametrize("kind", GRAPH_KINDS)
def test_a_limit_leaves_nothing_behind_for_the_next_run(kind, threads):
    """Near vertices are left, and far ones have been listed meanwhile, whichever superstep is the last."""
    graph = GRAPH_KINDS[kind]()
    source = int(graph.out_degree.argmax())
    device = "cpu" if threads else "cuda"
    prepared = Prepared(SSSP, graph, device, ew.Schedule(num_threads=threads))
    whole = prepared(source=source)
    for limit in (1, 2, 5):
        cut = prepared(source=source, max_supersteps=limit)
        assert cut.supersteps == limit
        assert cut.ended == "max_supersteps was reached"
        np.testing.assert_array_equal(prepared(source=source).distance, whole.distance)


class Chain(ew.Program):
    """Reads through an index that only active vertices have set."""

    next = ew.vertex("int64", init=2**62)
    found = ew.vertex("bool")
    combine = ew.ANY

    @staticmethod
    def initialize(v, state):
        if v % 3 == 0:
            state.next[v] = 0
        return v % 3 == 0

    @staticmethod
    def edge_compute(edge, state):
        return state.next[state.next[edge.source]] == 0

    @staticmethod
    def vertex_compute(v, message, state):
        state.found[v] = message
        return ew.HALT


class Loop(Chain):
    """The same, with a loop that ends for active vertices only."""

    @staticmethod
    def edge_compute(edge, state):
        steps = 0
        while state.next[edge.source] != 0:
            steps += 1
        return steps == 0


class Helped(Chain):
    """The same, with a function called."""

    @staticmethod
    def edge_compute(edge, state):
        return last_two_digits(state.next[edge.source], 0) == 0


class Mirror(ew.Program):
    """Reads another vertex's field while it is initialised."""

    start = ew.vertex("int64", init=7)
    seen = ew.vertex("int64")
    combine = ew.MIN

    @staticmethod
    def initialize(v, state):
        state.seen[v] = state.start[state.num_vertices - 1 - v]
        return ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        return state.seen[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        return ew.HALT


class LateMirror(Mirror):
    asynchronous = True
