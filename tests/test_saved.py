"""Results in files: right ones pass, and an error planted anywhere is found."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import edgewise as ew
from edgewise.cli.app import app
from edgewise.cli.tasks import find_algorithm
from edgewise.errors import EdgewiseError, ParseError, VerificationError
from edgewise.io.columns import read_columns, write_columns

#: Two ways to d, a vertex that nothing leads to, and a component of its own.
EDGES = [
    ("a", "b", 1),
    ("b", "c", 1),
    ("a", "c", 5),
    ("c", "d", 0),
    ("d", "b", 2),
    ("e", "a", 1),
    ("x", "y", 1),
]


def named(weight_type: type = int) -> ew.Graph:
    source, target, weight = zip(*EDGES, strict=True)
    return ew.Graph.from_edges(list(source), list(target), np.array(weight, dtype=weight_type))


def numbered() -> ew.Graph:
    source, target, weight = zip(*EDGES, strict=True)
    numbers = {name: 10 * (index + 1) for index, name in enumerate("abcdexy")}
    return ew.Graph.from_edges([numbers[s] for s in source], [numbers[t] for t in target], np.array(weight))


def with_minus_one() -> ew.Graph:
    source, target, weight = zip(*EDGES, strict=True)
    numbers = {name: index - 1 for index, name in enumerate("bacdexy")}
    return ew.Graph.from_edges([numbers[s] for s in source], [numbers[t] for t in target], np.array(weight))


GRAPHS = {
    "named": (named(), "a"),
    "floats": (named(float), "a"),
    "numbered": (numbered(), 10),
    "with -1": (with_minus_one(), 0),
}


def columns_of(algorithm: str, graph: ew.Graph, source: object, folder: Path) -> dict[str, list[str]]:
    """The result of an algorithm as text, rows in another order than that of the vertices."""
    result = {
        "bfs": lambda: ew.bfs(graph, source),
        "sssp": lambda: ew.sssp(graph, source),
        "pagerank": lambda: ew.pagerank(graph, tol=1e-14, max_iterations=1000),
        "components": lambda: ew.connected_components(graph),
        "scc": lambda: ew.scc(graph),
    }[algorithm]()
    write_columns(folder / "out.csv", {"vertex": graph.vertices, **result.columns()})
    return {name: texts[::-1] for name, texts in read_columns(folder / "out.csv").items()}


def verify_saved(algorithm: str, graph: ew.Graph, columns: dict, given: dict) -> bool:
    return find_algorithm(algorithm).result.verify_columns(graph, columns, **given)


def given(algorithm: str, source: object) -> dict[str, object]:
    return {"pagerank": {"tol": 1e-14}, "components": {}, "scc": {}}.get(algorithm, {"source": source})


@pytest.mark.parametrize("algorithm", ["bfs", "sssp", "pagerank", "components", "scc"])
@pytest.mark.parametrize("kind", GRAPHS)
def test_right_results_pass(tmp_path: Path, algorithm: str, kind: str) -> None:
    graph, source = GRAPHS[kind]
    columns = columns_of(algorithm, graph, source, tmp_path)
    assert [len(texts) for texts in columns.values()] == [graph.num_vertices] * len(columns)
    assert verify_saved(algorithm, graph, columns, given(algorithm, source))


def test_no_vertex_is_none_where_minus_one_is_a_vertex() -> None:
    parent = ew.bfs(with_minus_one(), 0).parent
    assert parent.tolist() == [0, None, 0, 1, None, None, None]


@pytest.mark.parametrize(
    ("algorithm", "column", "vertex", "value"),
    [
        ("bfs", "level", "d", "1"),
        ("bfs", "level", "e", "1"),
        ("bfs", "parent", "d", "b"),
        ("bfs", "parent", "d", ""),
        ("sssp", "distance", "d", "1"),
        ("sssp", "distance", "c", "5"),
        ("sssp", "distance", "d", str(2**63 - 1)),
        ("sssp", "parent", "c", "a"),
        ("pagerank", "rank", "d", "0.2"),
        ("components", "component", "x", "0"),
        ("components", "component", "d", "3"),
        ("scc", "component", "x", "0"),
        ("scc", "component", "d", "0"),
    ],
)
def test_planted_errors_are_found(
    tmp_path: Path, algorithm: str, column: str, vertex: str, value: str
) -> None:
    graph, source = GRAPHS["named"]
    columns = columns_of(algorithm, graph, source, tmp_path)
    columns[column][columns["vertex"].index(vertex)] = value
    with pytest.raises(VerificationError):
        verify_saved(algorithm, graph, columns, given(algorithm, source))


def test_a_rank_off_by_a_millionth(tmp_path: Path) -> None:
    graph, _ = GRAPHS["named"]
    columns = columns_of("pagerank", graph, None, tmp_path)
    for row, change in ((0, 1e-6), (1, -1e-6)):
        columns["rank"][row] = repr(float(columns["rank"][row]) + change)
    with pytest.raises(VerificationError, match="one more iteration"):
        verify_saved("pagerank", graph, columns, {"tol": 1e-14})
    with pytest.raises(VerificationError):  # right ranks, but of another walk
        verify_saved(
            "pagerank", graph, columns_of("pagerank", graph, None, tmp_path), {"damping": 0.5, "tol": 1e-9}
        )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda c: c.pop("level"), ParseError, "no column 'level'; it has vertex, parent"),
        (lambda c: c.pop("vertex"), ParseError, "no column 'vertex'; it has level, parent"),
        (lambda c: c["level"].__setitem__(0, "two"), ParseError, "column 'level': .*two.*; expected numbers"),
        (
            lambda c: c["vertex"].__setitem__(0, "zz"),
            VerificationError,
            "not of this graph: .* no vertex 'zz'",
        ),
        (
            lambda c: c["parent"].__setitem__(0, "zz"),
            VerificationError,
            "not of this graph: .* no vertex 'zz'",
        ),
        (lambda c: c["vertex"].__setitem__(0, "a"), VerificationError, "7 rows for 6 vertices"),
        (lambda c: [texts.pop() for texts in c.values()], VerificationError, "6 rows for 6 vertices"),
    ],
)
def test_results_of_something_else(tmp_path: Path, change, error: type[EdgewiseError], message: str) -> None:
    graph, source = GRAPHS["named"]
    columns = columns_of("bfs", graph, source, tmp_path)
    change(columns)
    with pytest.raises(error, match=message):
        verify_saved("bfs", graph, columns, {"source": source})


def test_from_the_command_line(tmp_path: Path) -> None:
    graph, output = tmp_path / "graph.tsv", tmp_path / "out.csv"
    graph.write_text("".join(f"{s}\t{t}\t{w}\n" for s, t, w in EDGES))

    def invoke(*words: object) -> tuple[int, str]:
        result = CliRunner().invoke(app, [str(word) for word in words])
        return result.exit_code, result.output

    assert invoke("run", "sssp", graph, "--source", "a", "--output", output)[0] == 0
    code, text = invoke("verify", "sssp", graph, output, "--source", "a")
    assert code == 0 and "passes the verifier of sssp" in text
    code, text = invoke("verify", "sssp", graph, output, "--source", "b")
    assert code == 2 and text.startswith("edgewise: error: vertex 'b' with distance 1: expected 0")
    code, text = invoke("verify", "sssp", graph, output)
    assert code == 2 and "sssp needs source" in text
    code, text = invoke("verify", "betweenness", graph, output)
    assert code == 2 and "files of betweenness cannot be verified: its verifier looks" in text
    code, text = invoke("verify", "my.py:P", graph, output)
    assert code == 2 and "there is no algorithm 'my.py:P'" in text
