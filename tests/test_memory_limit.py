"""A run takes no more resident memory than edgewise says that it needs, and what it says is enough."""

import os

import numpy as np
import pytest
from resident import CLEAR, Case, is_within, measured, measured_apart
from resident_cases import CASES
from resident_programs import Start
from resident_reading import LINES

import edgewise as ew
from edgewise.errors import MemoryLimitError, ParameterError
from edgewise.graph import Made
from edgewise.memory import Step, _left_to_group, as_bytes, held, in_turn

on_linux = pytest.mark.skipif(not os.access(CLEAR, os.W_OK), reason="the peak is told by Linux only")

#: What makes in-edges, copies of weights, and arrays beside those of the result.
FEW = (
    "bfs pull, plain",
    "scc, plain",
    "mst, plain weights=float64",
    "weighted pagerank, plain weights=int64",
    "pagerank from, many",
    "program given pull, plain",
    "given as they are given by pull, plain undirected",
    "tolls with gaps given by push, plain",
)


def check(case: Case) -> None:
    found = measured(case)
    taken = f"took {found.peak:,} bytes of the {found.needed:,} that it said, and {found.later:,} of {found.again:,}"
    assert found.is_within, f"{taken}: {case}"
    assert 0 < found.again <= found.needed


@on_linux
@pytest.mark.parametrize("name", FEW)
def test_resident_memory_stays_within_what_was_said(name):
    check(CASES[name])


@on_linux
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name not in FEW])
def test_resident_memory_stays_within_what_was_said_of_all(name):
    check(CASES[name])


@on_linux
@pytest.mark.parametrize("kind", LINES)
def test_reading_stays_within_its_limit(kind):
    """Whether it is refused or not; and what a refusal says is soon enough."""
    measured = measured_apart("resident_reading.py", kind)
    assert len(measured) <= 4
    assert is_within(measured), measured


def needed(call) -> int:
    with pytest.raises(MemoryLimitError) as refused:
        call(memory_limit=0)
    return int(str(refused.value).split(" needs ")[1].split()[0].replace(",", ""))


@pytest.mark.parametrize(
    "call",
    [
        lambda graph, **options: ew.pagerank(graph, device="cpu", **options),
        lambda graph, **options: ew.scc(graph, device="cpu", **options),
        lambda graph, **options: ew.mst(graph, symmetrize=True, device="cpu", **options),
        lambda graph, **options: ew.bfs(
            graph, 0, device="cpu", schedule=ew.Schedule(delivery=ew.Pull()), **options
        ),
    ],
)
def test_in_edges_count_for_the_call_that_makes_them(call):
    graph = ew.generate.uniform(500, 8000, seed=1)
    first = needed(lambda **options: call(graph, **options))
    assert not graph.has_in_edges, "a refused call makes nothing"
    with pytest.raises(MemoryLimitError):
        call(graph, memory_limit=first - 1)
    call(graph, memory_limit=first)
    assert graph.has_in_edges
    later = needed(lambda **options: call(graph, **options))
    assert later <= first - 4 * graph.num_arcs


def test_what_is_given_counts():
    graph = ew.generate.uniform(500, 8000, seed=1)
    ranks, ids = np.ones(500), dict.fromkeys(range(400), 1.0)
    plain, started, both, by_id = (
        needed(lambda given=given, **options: ew.pagerank(graph, device="cpu", **given, **options))
        for given in ({}, {"start": ranks}, {"start": ranks, "personalization": ranks}, {"start": ids})
    )
    assert plain + 8 * 500 <= started <= by_id and started + 8 * 500 <= both


def test_ids_that_are_looked_up_count():
    names = [f"town {v}" for v in range(300)]
    graph = ew.Graph.from_edges(names, names[1:] + names[:1])
    first = needed(lambda **options: ew.bfs(graph, "town 7", device="cpu", **options))
    graph.index_of("town 7")  # the graph keeps what this makes
    assert first > 100 * 300 + needed(lambda **options: ew.bfs(graph, "town 7", device="cpu", **options))


@pytest.mark.parametrize("name, of_id", [("town {}".format, 100), (lambda v: 7 * v, 8)])
def test_ids_of_a_distribution_that_are_looked_up_count_once(name, of_id):
    names = [name(v) for v in range(3000)]
    graph = ew.Graph.from_edges(names, names[1:] + names[:1])
    given = {"start": {names[0]: 1.0}, "personalization": {names[1]: 1.0}}
    first = needed(lambda **options: ew.pagerank(graph, device="cpu", **given, **options))
    graph.index_of(names[0])
    later = needed(lambda **options: ew.pagerank(graph, device="cpu", **given, **options))
    made = graph.making(Made.IN_EDGES).most
    assert of_id * 3000 <= first - later <= 140 * 3000 + made


@pytest.mark.parametrize("limit", [-5, -1e9, np.int64(-1)])
@pytest.mark.parametrize(
    "call",
    [
        lambda graph, limit: ew.bfs(graph, 0, memory_limit=limit),
        lambda graph, limit: ew.pagerank(graph, memory_limit=limit),
        lambda graph, limit: ew.betweenness(graph, k=2, memory_limit=limit),
        lambda graph, limit: ew.run(Start(source=0), graph, memory_limit=limit),
        lambda graph, limit: ew.prepare(Start, graph)(source=0, memory_limit=limit),
    ],
)
def test_negative_limits(call, limit):
    graph = ew.generate.path(5)
    with pytest.raises(
        ParameterError, match=r"memory_limit is .*-.*; expected a number of bytes of at least 0"
    ):
        call(graph, limit)


@pytest.mark.parametrize("details, left", [("anon 5\ninactive_file 30\n", 90), ("anon 5\n", 60), ("", 60)])
def test_what_is_left_to_a_container(tmp_path, details, left):
    numbers = {"most": "100\n", "used": "40\n", "details": details}
    for name, text in numbers.items():
        (tmp_path / name).write_text(text)
    assert _left_to_group(*(str(tmp_path / name) for name in numbers), "inactive_file") == left
    (tmp_path / "details").unlink()
    assert _left_to_group(*(str(tmp_path / name) for name in numbers), "inactive_file") == 60
    (tmp_path / "most").write_text("max\n")
    assert _left_to_group(*(str(tmp_path / name) for name in numbers), "inactive_file") is None


def test_steps_in_turn():
    assert in_turn() == Step(0, 0)
    assert in_turn(held(5), Step(1, 20), held(3)) == Step(9, 25)


def names():
    """A path of vertices with names."""
    numbers = range(50)
    return ew.Graph.from_edges([f"v{i}" for i in numbers], [f"v{i + 1}" for i in numbers])


@pytest.mark.parametrize("algorithm", [ew.bfs, ew.sssp], ids=lambda algorithm: algorithm.__name__)
def test_a_refusal_looks_nothing_up(algorithm):
    graph = names()
    with pytest.raises(MemoryLimitError):
        algorithm(graph, "v0", device="cpu", memory_limit=0)
    assert "_position" not in vars(graph._ids)


@pytest.mark.parametrize(
    "algorithm", [ew.betweenness, ew.edge_betweenness], ids=lambda algorithm: algorithm.__name__
)
def test_a_refusal_looks_no_list_of_sources_up(algorithm):
    graph = names()
    with pytest.raises(MemoryLimitError):
        algorithm(graph, sources=["v0", "v1"], device="cpu", memory_limit=0)
    assert "_position" not in vars(graph._ids)


@pytest.mark.parametrize("option", ["personalization", "start"])
def test_a_refusal_looks_no_given_ranks_up(option):
    graph = names()
    with pytest.raises(MemoryLimitError):
        ew.pagerank(graph, **{option: {"v0": 1.0}}, device="cpu", memory_limit=0)
    assert "_position" not in vars(graph._ids)


def test_a_program_counts_what_looking_its_vertex_up_takes():
    graph, needed = names(), []
    for _ in range(2):
        with pytest.raises(MemoryLimitError) as error:
            ew.run(Start(source="v0"), graph, device="cpu", memory_limit=0)
        needed.append(int(str(error.value).split()[2].replace(",", "")))
        assert ("_position" in vars(graph._ids)) == (len(needed) == 2)
        graph.index_of("v0")
    assert needed[0] - needed[1] == 130 * graph.num_vertices


class Worth(ew.Program):
    """What neighbours are worth, from values that may be given."""

    value = ew.vertex("float64", init=1.0)
    share = ew.parameter(default=0.5)
    combine = ew.SUM
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return state.share * state.value[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message
        return ew.HALT


@pytest.mark.parametrize("values", [{}, {"share": True}, {"share": 2}])
def test_an_array_of_the_right_dtype_takes_nothing(values):
    graph = ew.generate.uniform(500, 8000, seed=1)
    push = ew.Schedule(delivery=ew.Push())

    def asked(**given) -> int:
        return needed(lambda **options: ew.run(Worth(**given), graph, device="cpu", schedule=push, **options))

    assert asked(**values, value=np.ones(500)) == asked(**values)
    assert asked(**values, value=np.ones(500, np.float32)) == asked(**values) + 8 * 500
    result = ew.run(Worth(**values), graph, device="cpu", schedule=push)
    expected = float(values.get("share", 0.5)) * np.bincount(graph.targets, minlength=500)
    np.testing.assert_allclose(result.value, expected)


@pytest.mark.parametrize(
    "text, size",
    [
        ("5", 5),
        ("4e9", 4 * 10**9),
        ("500MB", 5 * 10**8),
        ("1.5 kB", 1500),
        ("2GiB", 2**31),
        (" 3 tib ", 3 * 2**40),
    ],
)
def test_limits_as_text(text, size):
    assert as_bytes("memory_limit", text) == size


@pytest.mark.parametrize("text", ["", "MB", "5 PS", "-5", "1.2.3", "5 5", "1e999", "nan", "0.5", "5MBs", "²"])
def test_texts_that_are_no_limits(text):
    with pytest.raises(
        ParameterError, match=r"memory_limit is .*; expected a number of bytes of at least 0, such as"
    ):
        as_bytes("memory_limit", text)
