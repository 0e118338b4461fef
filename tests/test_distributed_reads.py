"""Which fields a program is seen to read at vertices of other ranks. One that is missed would be a wrong answer."""

import importlib.util
import textwrap
from pathlib import Path

import pytest

import edgewise as ew
from edgewise.engine.distributed.reads import reads_elsewhere
from edgewise.errors import DistributedError, ProgramError
from edgewise.program.inspect import Specification, inspect_program

BODIES = {
    "initialize": "return True",
    "edge_compute": "return 1",
    "vertex_compute": "return False",
    "resume": "return False",
    "proceed": "return True",
    "total": "return 1",
}
ARGUMENTS = {"edge_compute": "edge, state", "vertex_compute": "v, message, state", "proceed": "state"}


def program(folder: Path, changed: dict[str, str], renamed: dict[str, str] | None = None) -> type[ew.Program]:
    """A program in a file, with these bodies of functions, and these names for parameters."""
    text = """
import edgewise as ew

def twice(u):
    return u * 2

class P(ew.Program):
    x = ew.vertex("int64")
    y = ew.vertex("float64")
    p = ew.vertex(ew.VERTEX)
    used = ew.edge("int32")
    length = ew.edge("int32", init=1)
    root = ew.parameter(ew.VERTEX, default=0)
    combine = ew.SUM
"""
    for name, body in {**BODIES, **changed}.items():
        decorator = '    @ew.aggregator(ew.SUM, "int64")\n' if name == "total" else ""
        arguments = (renamed or {}).get(name, ARGUMENTS.get(name, "v, state"))
        text += f"\n{decorator}    @staticmethod\n    def {name}({arguments}):\n"
        text += textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8) + "\n"
    path = folder / "reads_program.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("reads_program", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: type[ew.Program] = module.P
    return found


def found(spec: Specification, own_end: str) -> tuple[str, str]:
    """The fields read across edges, and those read anywhere, as two texts."""
    reads = reads_elsewhere(spec, own_end)
    return "".join(sorted(reads.across)), "".join(sorted(reads.anywhere))


#: Function, body, what is read across edges and anywhere by ranks that own sources, and by those that own targets.
CASES = [
    ("edge_compute", "return state.x[edge.source]", ("", ""), ("x", "")),
    ("edge_compute", "return state.x[edge.target]", ("x", ""), ("", "")),
    ("edge_compute", "return state.x[edge.target] + state.y[edge.source]", ("x", ""), ("y", "")),
    ("edge_compute", "return state.x[edge.target] + state.x[edge.source]", ("x", ""), ("x", "")),
    ("edge_compute", "u = edge.source\nreturn state.x[u]", ("", "x"), ("", "x")),
    ("edge_compute", "return state.x[edge.source + 0]", ("", "x"), ("", "x")),
    ("edge_compute", "return state.x[0]", ("", "x"), ("", "x")),
    ("edge_compute", "return state.x[state.root]", ("", "x"), ("", "x")),
    ("edge_compute", "return state.x[state.p[edge.source]]", ("", "x"), ("p", "x")),
    ("edge_compute", "return state.x[state.p[state.p[edge.target]]]", ("", "px"), ("", "px")),
    ("edge_compute", "u, w = edge.target, 2\nreturn state.x[u]", ("", "x"), ("", "x")),
    ("edge_compute", "return 1 if state.x[edge.target] > 0 else state.y[edge.source]", ("x", ""), ("y", "")),
    ("edge_compute", "n = 0\nfor i in range(3):\n    n += state.x[i]\nreturn n", ("", "x"), ("", "x")),
    ("edge_compute", "return twice(state.x[edge.target])", ("x", ""), ("", "")),
    ("edge_compute", "return state.x[twice(edge.target)]", ("", "x"), ("", "x")),
    ("edge_compute", "return state.x[edge.index]", ("", "x"), ("", "x")),
    ("edge_compute", "return state.out_degree[edge.target] + state.length[edge.index]", ("", ""), ("", "")),
    ("edge_compute", "state.used[edge.index] = state.x[edge.target]\nreturn 1", ("x", ""), ("", "")),
    ("edge_compute", "state.used[edge.index] += state.used[edge.index]\nreturn 1", ("", ""), ("", "")),
    ("vertex_compute", "return state.x[v] > 0", ("", ""), ("", "")),
    ("vertex_compute", "state.x[v] += state.x[v]\nreturn True", ("", ""), ("", "")),
    ("vertex_compute", "state.x[v], state.y[v] = 1, state.p[0]\nreturn True", ("", "p"), ("", "p")),
    ("vertex_compute", "u = v\nstate.x[v] = state.y[u]\nreturn True", ("", "y"), ("", "y")),
    ("vertex_compute", "state.x[v] = state.y[-1]\nreturn True", ("", "y"), ("", "y")),
    ("vertex_compute", "state.x[v] = state.y[state.p[v]]\nreturn True", ("", "y"), ("", "y")),
    ("vertex_compute", "state.p[v] = state.x[message]\nreturn True", ("", "x"), ("", "x")),
    ("vertex_compute", "while state.x[v + 1] > 0:\n    return False\nreturn True", ("", "x"), ("", "x")),
    ("vertex_compute", "return not (state.x[v] < 1 < state.y[v - 0])", ("", "y"), ("", "y")),
    ("vertex_compute", "return state.x[(v)] > 0", ("", ""), ("", "")),
    ("vertex_compute", "return state.x[v if v else 0] > 0", ("", "x"), ("", "x")),
    ("initialize", "state.x[v] = state.y[state.num_vertices - 1 - v]\nreturn True", ("", "y"), ("", "y")),
    ("initialize", "state.x[v] = v\nreturn True", ("", ""), ("", "")),
    ("resume", "state.x[v] = state.p[state.root]\nreturn True", ("", "p"), ("", "p")),
    ("total", "return state.x[v]", ("", ""), ("", "")),
    ("total", "return state.x[(v + 1) % state.num_vertices]", ("", "x"), ("", "x")),
    ("proceed", "return state.x[0] < 3", ("", "x"), ("", "x")),
    ("proceed", "v = 0\nreturn state.x[v] < state.total", ("", "x"), ("", "x")),
    ("proceed", "return state.p[state.root] > 0", ("", "p"), ("", "p")),
]


@pytest.mark.parametrize(("function", "body", "pushing", "pulling"), CASES)
def test_what_is_read_elsewhere(
    function: str, body: str, pushing: tuple, pulling: tuple, tmp_path: Path
) -> None:
    spec = inspect_program(program(tmp_path, {function: body}))
    assert found(spec, "source") == pushing
    assert found(spec, "target") == pulling


def test_other_names_for_the_state_the_edge_and_the_vertex(tmp_path: Path) -> None:
    bodies = {
        "edge_compute": "return s.x[e.target] + s.y[e.source]",
        "vertex_compute": "s.x[u] = s.p[0]\nreturn True",
        "total": "return state.x[vertex]",
    }
    renamed = {"edge_compute": "e, s", "vertex_compute": "u, message, s", "total": "vertex, state"}
    spec = inspect_program(program(tmp_path, bodies, renamed))
    assert found(spec, "source") == ("x", "p")
    assert found(spec, "target") == ("y", "p")


def test_a_field_that_is_read_both_ways_is_told_to_all(tmp_path: Path) -> None:
    bodies = {"edge_compute": "return state.x[edge.target]", "vertex_compute": "return state.x[v - v] > 0"}
    assert found(inspect_program(program(tmp_path, bodies)), "source") == ("", "x")


@pytest.mark.parametrize(
    ("function", "body"),
    [
        ("edge_compute", "s = state\nreturn s.x[0]"),
        ("edge_compute", "x = state.x\nreturn x[0]"),
        ("edge_compute", "e = edge\nreturn state.x[e.target]"),
        ("edge_compute", "edge = state.p\nreturn 1"),
        ("edge_compute", "return len(state.x)"),
        ("edge_compute", "return state.x[(u := edge.target)]"),
        ("edge_compute", "return twice(state)"),
        ("edge_compute", "return sum(state.x[i] for i in range(3))"),
        ("edge_compute", "for edge in range(3):\n    pass\nreturn 1"),
        ("vertex_compute", "v = state.p[v]\nreturn state.x[v] > 0"),
        ("vertex_compute", "v += 1\nreturn state.x[v] > 0"),
        ("vertex_compute", "for v in range(3):\n    pass\nreturn state.x[v] > 0"),
        ("vertex_compute", "v, w = 1, 2\nreturn state.x[v] > 0"),
        ("vertex_compute", "del v\nreturn True"),
        ("vertex_compute", "state.x[0] = 1\nreturn True"),
        ("vertex_compute", "state.x[v] = state.x[0]\nreturn True"),
        ("vertex_compute", "state.x[0] += 1\nreturn True"),
        ("vertex_compute", "import os as v\nreturn True"),
        ("proceed", "state.x[0] = 1\nreturn True"),
    ],
)
def test_what_could_hide_a_read_is_refused_for_all_programs(function: str, body: str, tmp_path: Path) -> None:
    with pytest.raises(ProgramError):
        inspect_program(program(tmp_path, {function: body}))


@pytest.mark.parametrize("pattern", ["v", "0 | 1 as v", "int() as v"])
def test_a_pattern_may_name_another_vertex(pattern: str, tmp_path: Path) -> None:
    """Where programs may have such a pattern at all."""
    body = f"match state.p[v]:\n    case {pattern}:\n        pass\nreturn state.x[v] > 0"
    try:
        spec = inspect_program(program(tmp_path, {"vertex_compute": body}))
    except ProgramError:
        return
    assert "x" in found(spec, "source")[1]


@pytest.mark.parametrize("function", ["vertex_compute", "resume", "total", "proceed"])
def test_written_edge_fields_are_refused_where_vertices_read_them(function: str, tmp_path: Path) -> None:
    writes = "state.used[edge.index] += 1\nreturn 1"
    reads = inspect_program(program(tmp_path, {"edge_compute": writes, function: "return state.used[0] > 0"}))
    with pytest.raises(
        DistributedError, match=rf"{function} in .*state.used is read here and written in edge_compute"
    ):
        reads_elsewhere(reads, "source")
    constant = inspect_program(program(tmp_path, {function: "return state.used[0] > 0"}))
    assert found(constant, "source") == ("", "")
