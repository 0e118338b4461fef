"""Programs over graphs in layers give the answers that they give without; others are refused, with the line."""

import importlib
import re
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import GraphError, MemoryLimitError, ProgramError, ScheduleError

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

from bfs import BFS
from components import Components
from greedy_coloring import GreedyColoring
from k_core import KCore
from pagerank import PageRank
from sssp import SSSP
from test_layers import GRAPHS, layered

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


class Parents(ew.Program):
    """A tree of a search: vertices in fields, parameters, variables and comparisons; edge fields read and written."""

    root = ew.parameter(ew.VERTEX)
    toll = ew.edge("int32", init=ew.REQUIRED)
    paid = ew.edge("int64", init=-5)
    start = ew.vertex("int32", init=ew.REQUIRED)
    friend = ew.vertex(ew.VERTEX, init=ew.REQUIRED)
    own = ew.vertex(ew.VERTEX, init=-1)
    cost = ew.vertex("int64", init=ew.INFINITY)
    same = ew.vertex("int32")
    combine = ew.MIN

    @staticmethod
    def initialize(v, state):
        own = v
        state.own[v] = own
        if v == state.root:
            state.cost[v] = state.start[v]
            return ew.ACTIVE
        return ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        target = edge.target
        if target == edge.source or state.friend[edge.source] == target:
            return None
        state.paid[edge.index] = state.paid[edge.index] + edge.toll
        return state.cost[edge.source] + edge.toll + state.out_degree[edge.target]

    @staticmethod
    def vertex_compute(v, message, state):
        if state.friend[v] != -1 and state.own[v] == v:
            state.same[v] += 1
        if message < state.cost[v]:
            state.cost[v] = message
            return ew.ACTIVE
        return ew.HALT

    @ew.aggregator(ew.SUM, "int64")
    @staticmethod
    def reached(v, state):
        return 1 if state.same[v] > 0 else 0


def values_for(graph):
    """Values for `Parents` on a graph."""
    random, n = np.random.default_rng(4), graph.num_vertices
    return {
        "root": 2,
        "toll": random.integers(1, 9, graph.num_arcs).astype(np.int32),
        "start": random.integers(0, 5, n).astype(np.int32),
        "friend": random.integers(-1, n, n).astype(np.int32),
    }


def same(got, expected, tolerance=0.0):
    assert got.ended == expected.ended
    for name, values in {**expected.fields, **expected.edge_fields}.items():
        np.testing.assert_allclose(getattr(got, name), values, rtol=tolerance, atol=tolerance, err_msg=name)
        assert getattr(got, name).dtype == values.dtype
    for name, value in expected.aggregates.items():
        np.testing.assert_allclose(got.aggregates[name], value, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("delivery", ["auto", ew.Push(), ew.Pull()], ids=str)
@pytest.mark.parametrize("name", GRAPHS)
def test_programs_give_the_same_answers(name, delivery, device):
    graph = GRAPHS[name]()
    programs = {
        "bfs": BFS(source=2),
        "sssp": SSSP(source=2),
        "parents": Parents(**values_for(graph)),
    }
    if delivery != ew.Push():
        programs |= {"pagerank": PageRank(), "k-core": KCore()}
    for kind, program in programs.items():
        if kind == "k-core" and graph.directed:
            continue
        schedule = ew.Schedule(layout=ew.Layered([2, 7]), delivery=delivery)
        got = ew.run(program, graph, schedule=schedule, device=device)
        assert "layer" in got.explain()
        plain = ew.Schedule(delivery=delivery)
        same(got, ew.run(program, graph, device="cpu", schedule=plain), 1e-9 if kind == "pagerank" else 0.0)
        assert got.graph is graph and got.verify(graph)


def test_what_is_prepared_runs_many_times():
    graph = GRAPHS["streets"]()
    distances = ew.prepare(SSSP, graph, schedule=layered(0))
    for source in (0, 5, 5):
        same(distances(source=source), ew.run(SSSP(source=source), graph))
    assert distances(source=3, max_supersteps=2).supersteps == 2
    assert distances(source=3, check=True).fields.keys() == {"distance"}


def test_ids_of_the_user_stay_theirs():
    graph = ew.Graph.from_edges(["d", "a", "c"], ["a", "c", "b"])
    values = {"toll": [1, 2, 3], "start": [0] * 4, "friend": [-1] * 4}
    got = ew.run(Parents(root="a", **values), graph, schedule=ew.Schedule(layout=ew.Layered("d")))
    assert got.table()["own"].tolist() == got.table()["vertex"].tolist() == ["d", "a", "c", "b"]
    with pytest.raises(GraphError, match="'x'"):
        ew.run(Parents(root="x", **values), graph, schedule=ew.Schedule(layout=ew.Layered("d")))


def changed(function, base=BFS):
    """A program whose `edge_compute` is another function."""
    return type("Changed", (base,), {"edge_compute": staticmethod(function)})(source=0)


def sends_source(edge, state):
    return edge.source


def compares_order(edge, state):
    if edge.source < edge.target:
        return True
    return None


def adds(edge, state):
    last = edge.target + 1
    return last > 3


def sends_arc(edge, state):
    return edge.index > 2


def two_meanings(edge, state):
    u = edge.target
    if state.level[u] > 2:
        u = 3
    return state.level[u] == 0


def compares_number(edge, state):
    return edge.target == 3


@pytest.mark.parametrize(
    ("function", "shown"),
    [
        (sends_source, "edge.source is used as a number"),
        (compares_order, "edge.source is used as a number"),
        (adds, "edge.target is used as a number"),
        (sends_arc, "edge.index is used as a number"),
        (two_meanings, "edge.target is used as a number"),
        (compares_number, "edge.target is used as a number"),
    ],
)
def test_programs_that_mean_something_else_in_another_order_are_refused(function, shown):
    graph = GRAPHS["streets"]()
    line = function.__code__.co_firstlineno
    with pytest.raises(ProgramError, match=shown) as refused:
        ew.run(changed(function), graph, schedule=layered(0))
    (number,) = [int(word.rstrip(":")) for word in str(refused.value).split() if word.rstrip(":").isdigit()][
        :1
    ]
    assert line < number <= line + 5 and "edge_compute in test_layers_programs.py" in str(refused.value)


class StartsAsVertex(BFS):
    nearest = ew.vertex(ew.VERTEX, init=0)


class StoresNumber(BFS):
    nearest = ew.vertex(ew.VERTEX, init=-1)

    @staticmethod
    def initialize(v, state):
        state.nearest[v] = 3
        return ew.ACTIVE


class Draws(BFS):
    @staticmethod
    def initialize(v, state):
        return ew.random(v, state) < 0.5


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        (Components, "is used as a number"),
        (GreedyColoring, "asks for all messages"),
        (Draws, "draws random numbers"),
        (StartsAsVertex, "nearest begins as the index 0"),
        (StoresNumber, "3 is stored as a vertex"),
    ],
)
def test_programs_that_depend_on_numbers_are_refused(program, shown):
    with pytest.raises(ProgramError, match=shown):
        ew.prepare(program, GRAPHS["both ways"](), schedule=layered(0))


def test_schedules_and_limits_that_do_not_fit_are_refused():
    graph = GRAPHS["streets"]()
    with pytest.raises(ScheduleError, match="message buffers have slots in the order of vertices"):
        ew.run(BFS(source=0), graph, schedule=ew.Schedule(layout=ew.Layered(0), delivery=ew.Buffered()))
    with pytest.raises(ProgramError, match="has no 'sauce'"):
        ew.prepare(BFS, graph, schedule=layered(0))(sauce=1)
    ew.run(BFS(source=0), graph, schedule=layered(0))
    with pytest.raises(MemoryLimitError) as refused:
        ew.run(BFS(source=0), graph, schedule=layered(0), memory_limit=1)
    needed = int(refused.value.needed)
    ew.run(BFS(source=0), graph, schedule=layered(0), memory_limit=needed)
    with pytest.raises(MemoryLimitError):
        ew.run(BFS(source=0), graph, schedule=layered(0), memory_limit=needed - 1)


class Given(BFS):
    """What other programs begin with: numbers of vertices, and a vertex by default."""

    root = ew.parameter(ew.VERTEX, default=3)
    k = ew.parameter("int64", default=7)
    own = ew.vertex(ew.VERTEX, init=-1)
    friend = ew.edge(ew.VERTEX, init=-1)
    toll = ew.edge("int64", init=7)
    x = ew.vertex("int64")
    given = ew.vertex("int64", init=ew.REQUIRED)
    combine = ew.MIN
    max_supersteps = 2

    @staticmethod
    def initialize(v, state):
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        return state.given[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        if v == state.root:
            u = v
            w = u
            state.own[v] = w
            state.x[v] = state.given[w] + state.given[state.root]
        return ew.HALT


def test_vertices_that_are_given_by_default_are_moved():
    graph = ew.generate.rmat(6, 3, seed=3)
    program = Given(source=0, given=np.random.default_rng(0).integers(0, 1000, graph.num_vertices))
    got, expected = ew.run(program, graph, schedule=layered(5, 9, 40)), ew.run(program, graph)
    same(got, expected)
    assert got.own[3] == 3 and got.verify(graph)


#: A file of a program whose `vertex_compute` does something else.
NUMBERS = """
import edgewise as ew
from test_layers_programs import Given


class Numbers(Given):
    @staticmethod
    def vertex_compute(v, message, state):
        {}
        return ew.HALT
"""


@pytest.mark.parametrize(
    "body",
    [
        ["state.x[v] = state.given[0]"],
        ["state.x[v] = state.given[state.k]"],
        ["for u in range(3):", "    state.x[v] = state.given[u]"],
        ["state.x[v] = state.given[message % state.num_vertices]"],
        ["state.x[v] = state.given[state.x[v]]"],
        ["state.own[v] += 1"],
        ["state.own[v] = state.root", "state.own[v] *= 0"],
        ["state.own[v], y = 3, 4"],
        ["for state.own[v] in range(4):", "    pass"],
        ["state.own[v] = state.x[v]"],
        ["u = v", "u += 1", "state.x[v] = state.given[u]"],
        ["state.x[v] = min(v, 3)"],
        ["state.x[v] = state.toll[v]"],
        ["u = -1", "state.x[v] = state.given[u]"],
        ["u = 3 if state.x[v] > 2 else v", "state.x[v] = state.given[u]"],
        ["state.own[v] = v if state.x[v] > 2 else 3"],
        ["u = w = v", "state.x[v] = state.given[u]"],
        ["u, w = v, state.root", "state.x[v] = state.given[u]"],
    ],
    ids=str,
)
def test_numbers_in_the_place_of_vertices_are_refused(body, tmp_path, monkeypatch):
    name = f"numbers{zlib.crc32(str(body).encode())}"
    (tmp_path / f"{name}.py").write_text(NUMBERS.format("\n        ".join(body)))
    monkeypatch.syspath_prepend(tmp_path)
    program = importlib.import_module(name).Numbers
    graph = GRAPHS["streets"]()
    with pytest.raises(ProgramError, match=f"vertex_compute in {name}.py, line"):
        ew.prepare(program, graph, schedule=layered(0))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("state.toll[edge.source]", "edge.source is a vertex, and toll has values of edges"),
        ("state.toll[edge.target]", "edge.target is a vertex, and toll has values of edges"),
        ("state.given[edge.index]", "edge.index is an edge, and given has values of vertices"),
        ("state.out_degree[edge.index]", "edge.index is an edge, and out_degree has values of vertices"),
    ],
)
def test_an_index_of_the_other_kind_of_array_is_refused(value, shown, tmp_path, monkeypatch):
    name = f"mixed{zlib.crc32(value.encode())}"
    text = NUMBERS.replace("vertex_compute(v, message, state)", "edge_compute(edge, state)")
    (tmp_path / f"{name}.py").write_text(text.replace("return ew.HALT", "return 1").format(f"return {value}"))
    monkeypatch.syspath_prepend(tmp_path)
    program = importlib.import_module(name).Numbers
    with pytest.raises(ProgramError, match=re.escape(shown)):
        ew.prepare(program, GRAPHS["streets"](), schedule=layered(0))


class Kept(Given):
    """Vertices in variables that may be -1, and chosen between."""

    @staticmethod
    def vertex_compute(v, message, state):
        u = -1
        if message > 500:
            u = state.root
        w = v if state.given[v] > 300 else state.root
        state.own[v] = u if message > 400 else -1
        if u != -1:
            state.x[v] = state.given[u] + 1
        state.x[v] += state.given[w]
        return ew.HALT


@pytest.mark.parametrize("name", GRAPHS)
def test_vertices_that_are_kept_or_chosen_are_moved(name):
    graph = GRAPHS[name]()
    program = Kept(source=0, given=np.random.default_rng(0).integers(0, 1000, graph.num_vertices))
    got, expected = ew.run(program, graph, schedule=layered(5, 9)), ew.run(program, graph)
    same(got, expected)
    assert set(expected.own) == {-1, 3} and got.verify(graph)


class BeginsAtVertex(Given):
    friend = ew.edge(ew.VERTEX, init=0)


class BeginsAtNumber(Given):
    own = ew.vertex(ew.VERTEX, init=np.int64(0))


@pytest.mark.parametrize("program", [BeginsAtVertex, BeginsAtNumber])
def test_fields_that_begin_as_a_vertex_are_refused(program):
    with pytest.raises(ProgramError, match="begins as the index 0; over layers it may begin as -1"):
        ew.prepare(program, GRAPHS["streets"](), schedule=layered(0))


def test_options_are_those_of_runs_without_layers():
    graph = GRAPHS["streets"]()
    with pytest.raises(TypeError, match=r"run\(\) got an unexpected keyword argument 'foo'"):
        ew.run(BFS(source=0), graph, schedule=layered(0), foo=3)
    with pytest.raises(ProgramError, match="check is 0; expected True or False"):
        ew.run(BFS(source=0), graph, schedule=layered(0), check=0)
    with pytest.raises(ProgramError, match="got an instance of BFS, expected the class"):
        ew.prepare(BFS(source=0), graph, schedule=layered(0))
    with pytest.raises(ProgramError, match=r"BFS\(source=\[0, 1\]\): expected one vertex"):
        ew.run(BFS(source=[0, 1]), graph, schedule=layered(0))
    with pytest.raises(ScheduleError, match="BFS: runs in layers have no balance"):
        ew.run(BFS(source=0), graph, schedule=ew.Schedule(layout=ew.Layered(0), balance=ew.MergePath()))
    prepared = ew.prepare(BFS, graph, schedule=layered(0))
    prepared(source=0)
    assert (prepared.program, prepared.graph) == (BFS, graph) and prepared.nbytes > 0
    assert prepared.on(graph)(source=0).verify(graph)
