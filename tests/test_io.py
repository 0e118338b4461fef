"""Reading graphs: edge lists, CSV and TSV, road graphs and Matrix Market."""

from typing import Any
from unittest import mock

import numpy as np
import pytest
from io_cases import MATRIX, edges_of

from edgewise.errors import (
    ParseError,
)
from edgewise.io import read, source

pytestmark = pytest.mark.filterwarnings("ignore:.*which became numbers")

# ---------------------------------------------------------------- edge lists


def test_edge_list(file: Any) -> None:
    graph = read(file("# Nodes: 3\n% more\n\n1 2\n 2\t30 \r\n30   1\n"))
    assert edges_of(graph) == [(1, 2), (2, 30), (30, 1)]
    assert graph.directed
    assert not graph.weighted


def test_last_line_without_a_break(file: Any) -> None:
    assert edges_of(read(file("0 1\n1 0"))) == [(0, 1), (1, 0)]
    assert edges_of(read(file("0 1"))) == [(0, 1)]


@pytest.mark.parametrize("mark", ["\f", "\x85", "\u2028", "\x1c"])
def test_only_line_feeds_end_lines(file: Any, mark: str) -> None:
    assert edges_of(read(file(f"# a{mark}b c d\n1 2\n"))) == [(1, 2)]
    assert edges_of(read(file(f"a{mark}b c\r\nc d\r\n"))) == [(f"a{mark}b", "c"), ("c", "d")]
    assert edges_of(read(file(f"source,target\na{mark}b,c\n", "a.csv"))) == [(f"a{mark}b", "c")]
    assert read(file(f"{MATRIX} pattern general\n% a{mark}b\n2 2 1\n1 2\n", "a.mtx")).num_edges == 1


def test_byte_order_mark(file: Any) -> None:
    assert edges_of(read(file("\ufeff0 1\n1 0\n".encode()))) == [(0, 1), (1, 0)]
    assert read(file(f"\ufeff{MATRIX} pattern general\n2 2 1\n1 2\n".encode(), "a.mtx")).num_edges == 1


@pytest.mark.parametrize(
    ("text", "dtype", "weights"),
    [
        ("0 1 5\n1 0 -7\n", np.int64, [5, -7]),
        ("0 1 5\n1 0 7.5\n", np.float64, [5.0, 7.5]),
        ("0 1 0.5\n1 0 7\n", np.float64, [0.5, 7.0]),
        ("0 1 999999999999999999\n1 0 +3\n", np.int64, [999999999999999999, 3]),
        (f"0 1 {2**63 - 1}\n1 0 {-(2**63)}\n", np.int64, [2**63 - 1, -(2**63)]),
        ("0 1 1e3\n1 0 .5\n", np.float64, [1000.0, 0.5]),
        ("0 1 1e22\n1 0 1e23\n", np.float64, [1e22, 1e23]),
        ("0 1 7e24\n1 0 123456789e-22\n", np.float64, [7e24, 123456789e-22]),
        ("0 1 3e-23\n1 0 9007199254740991e-22\n", np.float64, [3e-23, 9007199254740991e-22]),
        ("0 1 9007199254740993.0\n1 0 7e-24\n", np.float64, [9007199254740992.0, 7e-24]),
        ("0 1 0.1234567890123456789\n1 0 -1.5E-300\n", np.float64, [0.12345678901234568, -1.5e-300]),
    ],
)
def test_weights(file: Any, text: str, dtype: Any, weights: list) -> None:
    graph = read(file(text))
    assert graph.weights is not None
    assert graph.weights.dtype == dtype
    assert graph.weights.tolist() == weights


def test_a_late_fraction_makes_all_weights_floats(file: Any) -> None:
    lines = [f"{i} {i + 1} {i}\n" for i in range(100)]
    lines[70] = "70 71 70.5\n"
    with mock.patch.object(source, "_BLOCK", 64):
        graph = read(file("".join(lines)))
    assert graph.weights is not None
    assert graph.weights.tolist() == [70.5 if i == 70 else float(i) for i in range(100)]


@pytest.mark.parametrize(
    ("text", "options", "weights"),
    [
        ("0 1 5\n", {"weighted": False}, None),
        ("0 1 5\n", {"weighted": True}, [5]),
        ("0 1 x\n", {}, None),
        ("0 1 5 6\n", {}, None),
        ("0 1 5 6\n", {"weight_column": 3}, [6]),
        ("0 1 5 6\n", {"weighted": True}, [5]),
        ("5 0 1\n", {"columns": (1, 2)}, [5]),
        ("5 0 1\n", {"columns": (1, 2), "weighted": False}, None),
    ],
)
@pytest.mark.filterwarnings("ignore:.* left out")
def test_which_column_has_the_weights(file: Any, text: str, options: dict, weights: list | None) -> None:
    graph = read(file(text), **options)
    assert (graph.weights if weights is None else graph.weights.tolist()) == weights
    assert edges_of(graph)[0][:2] == (0, 1)


def test_names(file: Any) -> None:
    graph = read(file("# who\tneeds\nzsh libc6\nbash\tlibc6\n2048 zsh\n"))
    assert graph.vertices.tolist() == ["zsh", "libc6", "bash", "2048"]
    assert edges_of(graph) == [("zsh", "libc6"), ("bash", "libc6"), ("2048", "zsh")]
    assert read(file("1 2\n2 x\n"), names=True).vertices.tolist() == ["1", "2", "x"]
    assert read(file("é ü\n")).vertices.tolist() == ["é", "ü"]


def test_many_names_of_any_length(file: Any) -> None:
    """The tables of names grow many times, and some hash to the same place."""
    names = [f"{'x' * (i % 97)}{i}" for i in range(20_000)] + ["y" * 100_000]
    text = "".join(f"{a} {b}\n" for a, b in zip(names, reversed(names), strict=True))
    graph = read(file(text))
    assert sorted(graph.vertices) == sorted(names)
    assert edges_of(graph)[:3] == [(names[0], names[-1]), (names[-1], names[0]), (names[1], names[-2])]


def test_integers_of_any_length(file: Any) -> None:
    long = 10**20
    graph = read(file(f"7 {long}\n{long} 007\n-{long} 123456789012345678\n"))
    assert graph.vertices.tolist() == [-long, 7, 123456789012345678, long]
    assert edges_of(graph) == [(-long, 123456789012345678), (7, long), (long, 7)]
    graph = read(file(f"{2**63} 1\n"))
    assert graph.vertices.tolist() == [1, 2**63]
    assert read(file(f"-{2**63} 1\n")).vertices.tolist() == [-(2**63), 1]


def test_number_of_vertices_and_index_base(file: Any) -> None:
    path = file("1 2\n3 1\n")
    assert read(path, num_vertices=5).vertices.tolist() == [0, 1, 2, 3, 4]
    based = read(path, num_vertices=4, index_base=1)
    assert based.vertices.tolist() == [1, 2, 3, 4]
    assert edges_of(based) == [(1, 2), (3, 1)]
    assert read(file("# no edges\n"), num_vertices=3).num_vertices == 3
    assert read(file("source,target", "graph.csv"), num_vertices=3).num_vertices == 3


def test_options_of_graphs(file: Any) -> None:
    path = file("0 1 5\n1 0 3\n1 1 2\n")
    graph = read(path, directed=False, parallel_edges="sum", self_loops="drop")
    assert (graph.num_edges, graph.weights.tolist()) == (1, [8, 8])


def test_progress(file: Any) -> None:
    text, seen = "0 1\n" * 100, []
    with mock.patch.object(source, "_BLOCK", 50):
        read(file(text), progress=seen.append)
    assert seen == sorted(seen)
    assert len(seen) > 5
    assert seen[-1] == len(text)


# ---------------------------------------------------------------- CSV and TSV


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n2,0\n",
        "a,b\n0,1\n2,0\n",
        "0;1\n2;0\n",
        "0\t1\n2\t0\n",
        "0|1\n2|0\n",
        "0 1\n2 0\n",
        " 0 , 1 \r\n2 ,0\r\n",
        '"0","1"\n"2",0\n',
        "Source,Target\n0,1\n2,0\n",
        "# a,b\n0,1\n\n2,0\n",
    ],
)
def test_csv(file: Any, text: str) -> None:
    assert edges_of(read(file(text, "graph.csv"))) == [(0, 1), (2, 0)]


def test_csv_with_a_header_of_names(file: Any) -> None:
    text = "id,from,to,weight\n7,a,b,1.5\n8,b,c,2.5\n"
    graph = read(file(text, "graph.csv"), columns=("from", "to"), header=True)
    assert edges_of(graph) == [("a", "b", 1.5), ("b", "c", 2.5)]
    unweighted = read(file(text, "graph.csv"), columns=("from", "to"), header=True, weighted=False)
    assert edges_of(unweighted) == [("a", "b"), ("b", "c")]
    by_name = read(file(text, "graph.csv"), columns=("to", "from"), header=True, weight_column="id")
    assert edges_of(by_name) == [("b", "a", 7), ("c", "b", 8)]
    assert edges_of(read(file("a,b\nc,d\n", "x.csv"), header=False)) == [("a", "b"), ("c", "d")]
    assert edges_of(read(file("a,b\nc,d\n", "x.csv"), header=True)) == [("c", "d")]


def test_quotes(file: Any) -> None:
    graph = read(file('"a, b","say ""hi"""\n" c ",d\n', "graph.csv"))
    assert graph.vertices.tolist() == ["a, b", 'say "hi"', " c ", "d"]


def test_tabs_keep_spaces_in_names(file: Any) -> None:
    graph = read(file("New York\tLos Angeles\n", "graph.tsv"))
    assert graph.vertices.tolist() == ["New York", "Los Angeles"]


def test_delimiter_and_comments_by_option(file: Any) -> None:
    path = file("// hi\n0:1\n1:2\n")
    assert edges_of(read(path, delimiter=":", comments="/")) == [(0, 1), (1, 2)]
    assert read(file("#a b\n"), comments="").vertices.tolist() == ["#a", "b"]


def test_sources_and_targets_of_one_column_are_refused(file: Any) -> None:
    for text, name, options in (
        ("7\n" * 9, "graph.txt", {"columns": (0, 0)}),
        ("1 2\n", "graph.txt", {"columns": (1, 1)}),
        ("a,b\n1,2\n", "graph.csv", {"columns": ("a", "a")}),
    ):
        with pytest.raises(ParseError, match="sources and targets are both in column"):
            read(file(text, name), **options)
    with pytest.raises(ParseError, match="column 1, counted from 0, has ids; expected another for weights"):
        read(file("1 2 3\n"), weight_column=1)


def test_carriage_returns_end_lines(file: Any) -> None:
    assert edges_of(read(file("# a\r1 2\r2 3\r"))) == [(1, 2), (2, 3)]
    assert edges_of(read(file("1 2\r3 4\n5 6\r\n"))) == [(1, 2), (3, 4), (5, 6)]
    with mock.patch.object(source, "_BLOCK", 4), mock.patch.object(source, "_HEAD", 4):
        assert edges_of(read(file("1 2\r\n3 4\r\n5 6\r7 8"))) == [(1, 2), (3, 4), (5, 6), (7, 8)]


@pytest.mark.parametrize("name", ["graph.txt", "graph.csv", "graph.xyz"])
def test_comments_of_any_length(file: Any, name: str) -> None:
    comments = "# a comment of forty characters, as it is\n" * 4_000
    delimiter = " " if name.endswith("txt") else ","
    assert edges_of(read(file(f"{comments}a{delimiter}b\nb{delimiter}c\n", name))) == [("a", "b"), ("b", "c")]
    matrix = f"{MATRIX} pattern general\n{comments.replace('#', '%')}2 2 1\n1 2\n"
    assert read(file(matrix, "graph.mtx")).num_edges == 1
    assert read(file(f"{'x' * 200_000} y\n")).num_edges == 1


def test_road_graphs_of_dimacs(file: Any) -> None:
    text = "p sp 4 2\na 1 2 5\na 3 1 -6\n"
    for content, name in ((text, "a.gr"), ("c hi\nc\n" + text, "a.gr"), (text, "a.xyz")):
        graph = read(file(content, name))
        assert edges_of(graph) == [(1, 2, 5), (3, 1, -6)]
        assert graph.vertices.tolist() == [1, 2, 3, 4]
    assert not read(file(text, "a.gr"), weighted=False).weighted
    for broken, message in (
        ("1 2\n", ":1: got '1 2'; expected 'p sp VERTICES ARCS'"),
        ("p sp 4 2\na 1 2 5\n", "declares 2 entries and holds 1"),
        ("p sp 4 1\na 1 5 5\n", ":2: .*expected an id from 1 to 4 in column 3"),
        ("p sp 4 1\na 1 2\n", ":2: .*3 columns; expected 4"),
        ("c\n", "has no line 'p sp VERTICES ARCS'"),
    ):
        with pytest.raises(ParseError, match=message):
            read(file(broken, "a.gr"))


@pytest.mark.parametrize("problem", ["tw", "td", "ds", "cep"])
def test_graphs_of_pace(file: Any, problem: str) -> None:
    text = f"c hi\np {problem} 4 3\n1 2\nc\n3 1\n2 3\n"
    for name in ("a.gr", "a.xyz"):
        graph = read(file(text, name))
        assert edges_of(graph) == [(1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2)]
        assert not (graph.directed or graph.weighted) and graph.vertices.tolist() == [1, 2, 3, 4]
    both = read(file(text, "a.gr"), directed=True)
    assert both.directed and both.num_edges == 6
    for broken, options, message in (
        (text, {"weighted": True}, "is a graph of PACE; it has no weights"),
        (f"p {problem} 4 3\n1 2\n", {}, "declares 3 entries and holds 1"),
        (f"p {problem} 4 1\n1 5\n", {}, ":2: .*expected an id from 1 to 4"),
        (f"p {problem} 4 1\n1 2 7\n", {}, ":2: .*3 columns; expected 2"),
        (
            f"p {problem} 4\n",
            {},
            r":1: got 'p .* 4'; expected 'p sp VERTICES ARCS', or 'p tw VERTICES EDGES'",
        ),
        (f"p {problem} 4 -1\n", {}, ":1: got"),
        ("p col 4 1\n1 2\n", {}, ":1: got 'p col 4 1'; expected 'p sp VERTICES ARCS'"),
    ):
        with pytest.raises(ParseError, match=message):
            read(file(broken, "a.gr"), **options)


# ---------------------------------------------------------------- Matrix Market


def test_matrix_market(file: Any) -> None:
    text = f"{MATRIX} integer general\n% hi\n\n 4 4 3\n1 2 5\n3 1 -6\n2 2 7\n"
    graph = read(file(text, "a.mtx"))
    assert edges_of(graph) == [(1, 2, 5), (2, 2, 7), (3, 1, -6)]
    assert graph.vertices.tolist() == [1, 2, 3, 4]
    assert graph.directed
    assert graph.weights is not None
    assert graph.weights.dtype == np.int64


def test_symmetric_matrix_market(file: Any) -> None:
    path = file(f"{MATRIX.lower()} real Symmetric\n3 3 3\n2 1 5\n3 1 6\n3 3 1e0\n", "a.mtx")
    graph = read(path)
    assert not graph.directed
    assert (graph.num_edges, graph.num_arcs) == (3, 5)
    assert edges_of(graph) == [(1, 2, 5.0), (1, 3, 6.0), (2, 1, 5.0), (3, 1, 6.0), (3, 3, 1.0)]
    assert not read(path, weighted=False).weighted
    assert read(path, directed=True).num_arcs == 5
    assert read(path, directed=True).directed


def test_empty_matrix_market(file: Any) -> None:
    assert read(file(f"{MATRIX} pattern general\n5 5 0\n", "a.mtx")).num_vertices == 5
    assert read(file(f"{MATRIX} pattern general\n0 0 0\n", "a.mtx")).num_vertices == 0
