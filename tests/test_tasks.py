"""What the command line can run by name, and how its parameters are read."""

from pathlib import Path
from textwrap import dedent

import pytest

import edgewise as ew
from edgewise.algorithms.bfs import BFSResult
from edgewise.cli import tasks
from edgewise.cli.tasks import find_task, left_by_ids, literal, parse_parameters, parse_settings, vertex_id
from edgewise.errors import GraphError, MemoryLimitError, ProgramError
from edgewise.graph import VertexId

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

PROGRAM = '''
import edgewise as ew
from helper import LIMIT


class Hops(ew.Program):
    """How many supersteps away a vertex is, up to a limit."""

    start = ew.parameter(ew.VERTEX)
    limit = ew.parameter("int64", default=LIMIT)
    hops = ew.vertex("int64", init=-1)
    combine = ew.MIN

    @staticmethod
    def initialize(v, state):
        if v == state.start:
            state.hops[v] = 0
            return ew.ACTIVE
        return ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        return state.hops[edge.source] + 1

    @staticmethod
    def vertex_compute(v, message, state):
        if state.hops[v] == -1 and message <= state.limit:
            state.hops[v] = message
            return ew.ACTIVE
        return ew.HALT
'''


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("LIMIT = 3\n")
    (tmp_path / "hops.py").write_text(PROGRAM)
    return tmp_path / "hops.py"


@pytest.fixture
def path() -> ew.Graph:
    return ew.Graph.from_edges(["a", "b", "c", "d", "e"], ["b", "c", "d", "e", "f"])


@pytest.mark.parametrize("suffix", [":Hops", ":", ""])
def test_a_program_of_the_user(program: Path, path: ew.Graph, suffix: str) -> None:
    task = find_task(f"{program}{suffix}")
    assert task.parameters == ("limit", "start", "max_supersteps", "check", "seed")
    assert task.required == task.vertices == ("start",)
    result = task.function(path, **task.arguments(path, {"start": "b"}))
    assert result.hops.tolist() == [-1, 0, 1, 2, 3, -1]
    result = task.function(path, **task.arguments(path, {"start": "b", "limit": "9", "max_supersteps": "2"}))
    assert result.hops.tolist() == [-1, 0, 1, 2, -1, -1]


@pytest.mark.parametrize("name", ["bfs.py", "sssp.py", "pagerank.py", "components.py"])
def test_examples_are_found(name: str) -> None:
    assert find_task(str(EXAMPLES / name)).name in ("BFS", "SSSP", "PageRank", "Components")


@pytest.mark.parametrize(
    ("content", "spec", "message"),
    [
        (None, "missing.py:Hops", "there is no file .*missing.py; expected my_program.py:MyProgram"),
        ("x = 1\n", "p.py:Hops", "p.py has no program 'Hops'; .* are: none"),
        (PROGRAM, "p.py:Hop", "p.py has no program 'Hop'; .* are: Hops"),
        (PROGRAM + "class Other(Hops): pass", "p.py", "p.py has no single program; .* are: Hops, Other"),
        ("x = = 1\n", "p.py:Hops", "p.py:1: SyntaxError: invalid syntax"),
        (
            "y = 1\nx = y.nothing\n",
            "p.py:Hops",
            "p.py:2: AttributeError: 'int' object has no attribute 'nothing'",
        ),
        (
            "import no_such_package\n",
            "p.py:Hops",
            "p.py:1: ModuleNotFoundError: No module named 'no_such_package'",
        ),
        ("x = 1\n", "p.txt:Hops", "p.txt is no Python file"),
    ],
)
def test_programs_that_cannot_be_found(tmp_path: Path, content: str | None, spec: str, message: str) -> None:
    (tmp_path / "helper.py").write_text("LIMIT = 3\n")
    if content is not None:
        (tmp_path / spec.partition(":")[0]).write_text(content)
    with pytest.raises(ProgramError, match=message):
        find_task(str(tmp_path / spec))


def test_an_unknown_algorithm_lists_those_that_exist() -> None:
    known = list(tasks.algorithms())
    assert {"bfs", "components", "pagerank"} <= set(known)
    with pytest.raises(ProgramError, match=f"no algorithm 'pagerang'; there are {', '.join(known)}\\. "):
        find_task("pagerang")


def test_settings_are_names_and_values() -> None:
    assert parse_parameters(["damping=0.9", "text=a=b"], ["7"]) == {
        "source": "7",
        "damping": "0.9",
        "text": "a=b",
    }
    for wrong in ("damping", "=1", "a b=1"):
        with pytest.raises(ProgramError, match=r"--read .*; expected NAME=VALUE"):
            parse_settings("--read", [wrong])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("1e-9", 1e-9),
        ("True", True),
        ("None", None),
        ("{'a': 1}", {"a": 1}),
        ("float32", "float32"),
    ],
)
def test_values_are_python_literals_or_text(text: str, value: object) -> None:
    assert literal(text) == value and type(literal(text)) is type(value)


def test_vertices_are_named_as_in_the_graph(path: ew.Graph) -> None:
    assert vertex_id(path, "c") == "c"
    numbers = ew.Graph.from_edges([10**21, 5], [7, 7])
    assert vertex_id(numbers, str(10**21)) == 10**21
    plain = ew.Graph.from_edges([0, 1], [1, 2])
    assert vertex_id(plain, "2") == 2
    for graph, text in ((numbers, "b"), (plain, "x"), (plain, "")):
        with pytest.raises(GraphError, match=f"the graph has no vertex '{text}'; its ids are integers"):
            vertex_id(graph, text)


def test_vertices_are_looked_up_by_what_runs_within_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ids of a file are not read to tell names from integers."""
    names = [f"place{number}" for number in range(50_000)]
    ew.Graph.from_edges(names[1:], names[:-1]).save(tmp_path / "places.edgewise")
    graph = ew.load(tmp_path / "places.edgewise")
    task = find_task("bfs")
    values = task.arguments(graph, {"source": "place7"})
    assert values == {"source": "place7"} and graph.reading_ids().most > 10**7
    with pytest.raises(MemoryLimitError, match="bfs needs"):
        task.function(graph, **values, memory_limit=10**7)
    assert graph.reading_ids().most > 10**7, "the ids were read"
    with pytest.raises(MemoryLimitError, match="bfs: reading the ids of vertices needs"):
        left_by_ids(graph, "bfs", 10**7, "cpu")
    left = left_by_ids(graph, "bfs", 10**8, "cpu")
    assert left is not None and left < 10**8 - 50_000 * 72 and graph.reading_ids() == (0, 0)
    assert left_by_ids(graph, "bfs", 10**8, "cpu") == 10**8 and left_by_ids(graph, "bfs", None, "cpu") is None
    assert task.function(graph, **values, memory_limit=left).level.max() == 7
    monkeypatch.setattr(tasks, "cuda_problem", lambda: None)
    again = ew.load(tmp_path / "places.edgewise")
    assert left_by_ids(again, "bfs", 10**7, "auto") == 10**7, "that is a limit for a GPU"


def test_a_program_that_draws_takes_a_seed(tmp_path: Path, path: ew.Graph) -> None:
    (tmp_path / "chance.py").write_text(
        dedent("""
        import edgewise as ew

        class Chance(ew.Program):
            number = ew.vertex("float64")
            combine = ew.SUM

            def initialize(v, state):
                state.number[v] = ew.random(v, state)
                return False

            def edge_compute(edge, state):
                return None

            def vertex_compute(v, message, state):
                return False
        """)
    )
    task = find_task(str(tmp_path / "chance.py"))
    first, again, other = (
        task.function(path, **task.arguments(path, {"seed": seed, "check": "True"})).number.tolist()
        for seed in ("1", "1", "2")
    )
    assert first == again != other


def test_vertices_are_told_by_their_annotation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by the name of the parameter."""

    def reach(graph: ew.Graph, origin: VertexId, steps: int = 3) -> BFSResult:
        return ew.bfs(graph, origin, max_depth=steps)

    monkeypatch.setattr(tasks, "algorithms", lambda: {"reach": reach})
    task = find_task("reach")
    graph = ew.Graph.from_edges(["1", "2"], ["2", "3"])
    assert task.vertices == ("origin",) and task.required == ("origin",)
    assert task.arguments(graph, {"origin": "1", "steps": "1"}) == {"origin": "1", "steps": 1}
    assert task.function(graph, **task.arguments(graph, {"origin": "1"})).level.tolist() == [0, 1, 2]
