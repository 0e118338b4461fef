"""Reading and writing graphs: every format, option, compression, and every kind of broken file."""

import bz2
import fcntl
import gc
import gzip
import lzma
import os
import re
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from edgewise import generate
from edgewise.errors import (
    GraphError,
    GraphWarning,
    MemoryLimitError,
    OutputError,
    ParameterError,
    ParseError,
)
from edgewise.graph import Graph
from edgewise.graph.ids import Ids
from edgewise.io import read, source, write
from edgewise.io.budget import Budget

MATRIX = "%%MatrixMarket matrix coordinate"


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """A file of this text."""

    def make(text: str | bytes, name: str = "graph.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return make


def edges_of(graph: Graph) -> list[tuple]:
    """The arcs in rows, with the user's ids."""
    columns = [graph.ids_of(graph.sources).tolist(), graph.ids_of(graph.targets).tolist()]
    if graph.weights is not None:
        columns.append(graph.weights.tolist())
    return list(zip(*columns, strict=True))


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
        ("a,a\n1,2\n", "graph.csv", {"columns": ("a", "a")}),
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


# ---------------------------------------------------------------- finding the format


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("graph", f"{MATRIX} pattern general\n2 2 1\n2 1\n"),
        ("graph.xyz", "2,1\n"),
        ("graph.xyz", "# a, b\n2\t1\n"),
        ("GRAPH.CSV", "2,1\n"),
        ("v1.2", "2 1\n"),
    ],
)
def test_format_by_looks(file: Any, name: str, text: str) -> None:
    assert edges_of(read(file(text, name))) == [(2, 1)]


@pytest.mark.parametrize(
    ("suffix", "format_name", "package"),
    [
        ("metis", "METIS", "networkit"),
        ("graph", "METIS", "networkit"),
        ("GRAPH.gz", "METIS", "networkit"),
        ("gml", "GML", "networkx"),
        ("graphml.xz", "GraphML", "networkx"),
        ("gexf", "GEXF", "networkx"),
        ("net", "Pajek", "networkx"),
        ("col", "a DIMACS problem", "igraph"),
        ("json", "JSON", "networkx"),
        ("dot", "DOT", "networkx"),
        ("gv", "DOT", "networkx"),
        ("xml", "XML", "networkx"),
    ],
)
def test_suffixes_of_other_formats_are_refused(
    file: Any, suffix: str, format_name: str, package: str
) -> None:
    path = file("3 2\n2 3\n", f"graph.{suffix}")
    with pytest.raises(
        ParseError,
        match=rf"looks like {format_name}.* \(by its suffix\), .*with {package}, or give format=\"edgelist\"",
    ):
        read(path)
    assert edges_of(read(path, format="edgelist")) == [(2, 3), (3, 2)]
    assert read(file(f"{MATRIX} pattern general\n2 2 1\n1 2\n", f"graph.{suffix}")).num_vertices == 2
    assert read(file("p sp 2 1\na 1 2 5\n", f"graph.{suffix}")).weighted


@pytest.mark.parametrize(
    ("line", "format_name"),
    [
        ('<?xml version="1.0"?>', "XML"),
        ('<graphml xmlns="x">', "GraphML"),
        ("<gexf>", "GEXF"),
        ("graph [", "GML"),
        ("# hi\n\ngraph\n[", "GML"),
        ("*Vertices 3", "Pajek"),
        ("*vertices 3", "Pajek"),
        ("{", "JSON"),
        ("[ ", "JSON"),
        ('{"nodes": [', "JSON"),
        ('[{"source": 1,', "JSON"),
        ("[[1, 2], [2, 3]]", "JSON"),
        ("digraph {", "DOT"),
        ("// hi\nstrict graph G {", "DOT"),
        ("p edge 3 2", "a DIMACS problem"),
        ("c hi\nc\np col 3 2", "a DIMACS problem"),
        ("p max 3 2", "a DIMACS problem"),
    ],
)
@pytest.mark.parametrize("name", ["graph.txt", "graph", "graph.csv"])
def test_first_lines_of_other_formats_are_refused(file: Any, line: str, format_name: str, name: str) -> None:
    with pytest.raises(ParseError, match=rf"looks like {format_name}.* \(by its first line\)"):
        read(file(f"{line}\n1 2\n", name))


@pytest.mark.parametrize(
    "text",
    [
        "graph [1]\ngraph theory\n",
        "digraph graph\n",
        "p edge\n",
        "p max 3\n",
        "*a *b\n",
        "{a} {b}\n",
        "[[a]] [[b]]\n",
        "[a] [b]\n",
        "<a> <b>\n",
        "c p\n1 2\n",
        '"graph" {\n',
    ],
)
def test_names_like_first_lines_of_other_formats_stay_names(file: Any, text: str) -> None:
    assert read(file(text)).num_vertices >= 2


def test_format_by_name(file: Any) -> None:
    assert edges_of(read(file("2,1\n"), format="csv")) == [(2, 1)]
    with pytest.raises(ParseError, match="format is 'metis'; expected matrix-market, dimacs, csv, edgelist"):
        read(file("1 2\n"), format="metis")
    with pytest.raises(ParseError, match="read as matrix-market, which has no option delimiter, names"):
        read(file(f"{MATRIX} pattern general\n2 2 0\n", "a.mtx"), names=True, delimiter=",")


@pytest.mark.parametrize(("suffix", "module"), [(".gz", gzip), (".bz2", bz2), (".xz", lzma), ("", gzip)])
def test_compression(tmp_path: Path, suffix: str, module: Any) -> None:
    path = tmp_path / f"graph.csv{suffix}"
    path.write_bytes(module.compress(b"0,1\n" * 1000 + b"5,1\n"))
    graph = read(path)
    assert (graph.num_edges, graph.num_vertices) == (1001, 3)


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
@pytest.mark.filterwarnings("error")
def test_compressed_files_are_closed(tmp_path: Path, module: Any) -> None:
    path = tmp_path / "graph.txt.packed"
    path.write_bytes(module.compress(b"0 1\n" * 10**5))
    assert read(path).num_edges == 10**5
    path.write_bytes(module.compress(b"0 1\n1\n" * 10**5))
    with pytest.raises(ParseError, match="columns"):
        read(path)
    gc.collect()


def test_names_of_columns_say_which_have_ids(file: Any) -> None:
    for text in (
        "weight,source,target\n5,1,2\n",
        "Target,Source,weight\n2,1,5\n",
        "from,weight,to\n1,5,2\n",
        "line,u,v,weight\n7,1,2,5\n",
    ):
        graph = read(file(text, "graph.csv"))
        assert edges_of(graph) == [(1, 2, 5)], text
    assert edges_of(read(file("u,v,from,to\n1,2,3,4\n", "graph.csv"))) == [(1, 2)]
    assert edges_of(read(file("weight,a,b\n1.5,x,y\n", "graph.csv"), columns=("a", "b"))) == [("x", "y", 1.5)]
    for text in ("weight,a,b\n5,1,2\n", "a,Weight,b\nx,1.5,y\n"):
        with pytest.raises(
            ParseError, match=r"calls one of the first two columns a weight.*columns=\(0, 2\)"
        ):
            read(file(text, "graph.csv"))


@pytest.mark.parametrize(
    ("text", "edge"),
    [
        ("id,source,target\n700,1,2\n", (1, 2)),
        ("source,target,Edge ID\n1,2,700\n", (1, 2)),
        (",source,target\n700,1,2\n", (1, 2)),
        ("from,to,Year\na,b,1999\n", ("a", "b")),
        ("u\tv\ttype\n1\t2\t3\n", (1, 2)),
    ],
)
def test_columns_that_are_called_no_weights_are_left_out(file: Any, text: str, edge: tuple) -> None:
    path = file(text, "graph.csv")
    with pytest.warns(GraphWarning, match=r"left out: weight_column='.*weighted=False") as caught:
        assert edges_of(read(path)) == [edge]
    assert caught[0].filename == __file__
    name = str(caught[0].message).split("the column '")[1].split("'")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not read(path, weighted=False).weighted
        assert read(path, weight_column=name).weighted
        assert read(path, weighted=True).weighted


def test_columns_that_are_not_called_weights_are_taken_with_a_warning(file: Any) -> None:
    path = file("source,target,visits\n1,2,5\n", "graph.csv")
    with pytest.warns(
        GraphWarning, match=r"three columns, 'visits', became the weights.*weighted=False; weight_column="
    ):
        assert edges_of(read(path)) == [(1, 2, 5)]
    with pytest.warns(GraphWarning, match="'b', became the weights"):
        assert edges_of(read(file("x a b\n1 2 5\n"), header=True)) == [(1, 2, 5)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert edges_of(read(path, weighted=False)) == [(1, 2)]
        assert edges_of(read(path, weight_column="visits")) == [(1, 2, 5)]
        for name in ("Weight", "w", "COST", "length", "distance", "Capacity", "value"):
            assert edges_of(read(file(f"source,target,{name}\n1,2,5\n", "graph.csv"))) == [(1, 2, 5)]
        assert edges_of(read(file("1,2,5\n", "graph.csv"))) == [(1, 2, 5)]
        assert edges_of(read(file("source,target,id\n1,2,x\n", "graph.csv"))) == [(1, 2)]


@pytest.mark.parametrize(
    "text",
    [
        "source target weight\n1 2 5\n",
        "from to\n1 2\n",
        "# hi\nSRC\tDST\n1\t2\n2\t1\n",
        "id target source\n7 1 2\n",
        "from to\n1 2 5\n",
    ],
)
@pytest.mark.parametrize("name", ["graph.txt", "graph"])
def test_edge_lists_with_names_of_columns_are_refused(file: Any, text: str, name: str) -> None:
    path = file(text, name)
    with pytest.raises(
        ParseError, match=r":[12]: got .* above integers.*header=True .*header=False if these are ids"
    ):
        read(path)


def test_names_of_columns_that_are_ids_in_edge_lists(file: Any) -> None:
    path = file("from to\n1 2\n")
    assert edges_of(read(path, header=True)) == [(1, 2)]
    assert edges_of(read(path, header=False)) == [("from", "to"), ("1", "2")]
    for text in (
        "# Ids: names\nfrom to\n1 2\n",
        "from to\nto x\n",
        "from to\n",
        "from here\n1 2\n",
    ):
        assert "from" in read(file(text)).vertices


@pytest.mark.parametrize(
    "mark", ["NA", "n/a", "null", "None", "?", "-", "", "1,5", "-0,25", ",5", "1.234,5", "2,5e3"]
)
@pytest.mark.parametrize("name", ["graph.txt", "graph.tsv", "graph.csv", "header.csv"])
def test_first_lines_that_do_not_say_if_there_are_weights_are_refused(
    file: Any, mark: str, name: str
) -> None:
    delimiter = {"graph.txt": " ", "graph.tsv": "\t"}.get(name, ";")
    if not mark and delimiter == " ":
        return
    start = "source;target;value\n" if name == "header.csv" else "# hi\n"
    if "," in mark and name == "graph.csv":
        start = "a;b;c\n"
    path = file(start + delimiter.join(["1", "2", mark]) + "\n" + delimiter.join("235") + "\n", name)
    with pytest.raises(
        ParseError, match=rf":2: got '{re.escape(mark)}' where a weight may stand.*weighted=False"
    ):
        read(path)
    assert edges_of(read(path, weighted=False)) == [(1, 2), (2, 3)]


def test_lines_that_end_with_the_delimiter_have_no_weights(file: Any) -> None:
    for text in ("1,2,\n", "1,2,\n2,3,\n"):
        assert read(file(text, "graph.csv")).weights is None


def test_decimal_commas_between_semicolons(file: Any) -> None:
    path = file("1;2;1,5\n2;3;2,5\n", "graph.csv")
    with pytest.raises(ParseError, match=r":1: got '1,5' where a weight may stand; expected a decimal point"):
        read(path)
    assert edges_of(read(path, weighted=False)) == [(1, 2), (2, 3)]
    assert edges_of(read(file("a;b,c\n1;2,5\n", "graph.csv"), header=False)) == [("a;b", "c"), ("1;2", "5")]


def test_labels_are_no_weights_unless_the_second_line_has_a_number(file: Any) -> None:
    for text in (
        "1 2 abc\n2 3 def\n",
        "1 2 abc\n2 3 NA\n",
        "1 2 abc\n2 3 nan\n",
        "1 2 abc\n2 3 x\n3 4 5\n",
        "1 2 a,b\n",
    ):
        assert not read(file(text)).weighted
    assert not read(file("source,target,type\n1,2,-\n2,3,5\n", "graph.csv")).weighted
    with pytest.raises(
        ParseError,
        match=r":3: got the number '5' where the line before has 'abc'.*header=True.*weighted=False",
    ):
        read(file("1 2 abc\n# c\n2 3 5\n"))
    with pytest.raises(ParseError, match=r":3: got the number '0\.5' where the line before has 'abc'"):
        read(file("source,target,value\n1,2,abc\n2,3,0.5\n", "graph.csv"))


def test_names_of_columns_are_cut_in_messages(file: Any) -> None:
    path = file(
        "source,target," + ",".join(f"column{i}" for i in range(1000)) + "\n" + "1," * 1001 + "1\n", "a.csv"
    )
    with pytest.raises(
        ParseError, match=r"the columns source, target, column0, .*\.\.\.; there is no"
    ) as caught:
        read(path, columns=("source", "x"))
    assert len(str(caught.value)) < 500


def test_several_gzip_members(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt.gz"
    path.write_bytes(gzip.compress(b"0 1\n1 ") + gzip.compress(b"2\n"))
    assert edges_of(read(path)) == [(0, 1), (1, 2)]


def test_zstd_is_read_or_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt.zst"
    try:
        from compression import zstd
    except ImportError:
        path.write_bytes(b"\x28\xb5\x2f\xfd....")
        with pytest.raises(ParseError, match=r"zstd, which Python reads from version 3\.14 on"):
            read(path)
    else:
        path.write_bytes(zstd.compress(b"0 1\n"))
        assert edges_of(read(path)) == [(0, 1)]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("0 1\n# c\n1 x\n", {}, r":3: got '1 x'; expected an integer id in column 2.*names=True"),
        ("0 1\n1 2 3\n", {}, ":2: got '1 2 3'; it has 3 columns; expected 2"),
        ("0 1 2\n1 2\n", {}, ":2: got '1 2'; it has 2 columns; expected 3"),
        ("0 1\n1\n", {}, ":2: got '1'; it has 1 columns"),
        ("0 1\n1 2.0\n", {}, ":2: .*expected an integer id in column 2"),
        ("0 1\n1 -\n", {}, ":2: .*expected an integer id"),
        (f"0 1\n{10**20} x\n", {}, ":2: .*expected an integer id in column 2"),
        (f"0 1\n{'9' * 200} x\n", {}, r":2: got '9+\.\.\.'; expected"),
        ("0 1 5\n1 2 x\n", {}, ":2: got '1 2 x'; expected a number as the weight in column 3"),
        ("0 1 5\n1 2 1.5.2\n", {}, "expected a number as the weight"),
        ("0 1 5\n1 2 1e\n", {}, "expected a number as the weight"),
        ("0 1 5\n1 2 1_000\n", {}, "expected a number as the weight"),
        ("0 1 5\n1 2 nan\n", {}, ":2: got '1 2 nan'; expected a finite weight"),
        ("0 1 5\n1 2 -Infinity\n", {}, ":2: .*expected a finite weight"),
        ("0 1 5.0\n1 2 1e400\n", {}, ":2: got '1e400'; expected a finite weight"),
        ("0 1 5\n1 2 9223372036854775808\n", {}, r":2: .*a weight from -2\*\*63 to 2\*\*63 - 1"),
        ("0 1\n1 7\n", {"num_vertices": 5}, ":2: .*expected an id from 0 to 4 in column 2"),
        ("1 1\n0 1\n", {"num_vertices": 5, "index_base": 1}, ":2: .*expected an id from 1 to 5 in column 1"),
        (f"1 1\n1 {10**30}\n", {"num_vertices": 5}, ":2: .*expected an id from 0 to 4 in column 2"),
        ("7\n", {}, "has 1 columns on the first line of data.*delimiter="),
        ("0,1\n", {}, "has 1 columns on the first line"),
        ("0 1\n", {"weighted": True}, "has 2 columns; weighted=True needs a third"),
        ("0 1\n", {"weight_column": 2}, "expected one with number 2"),
        ("0 1\n", {"columns": ("a", "b")}, "has no header; there is no column 'a'"),
        ("a b\n0 1\n", {"columns": ("a", "c"), "header": True}, "the columns a, b; there is no column 'c'"),
        ("# only comments\n", {}, "has no edges; give num_vertices"),
        ("0 1\n", {"delimiter": ", "}, "delimiter is ', '; expected one character"),
        ("0 1\n", {"comments": "é"}, "comments is 'é'; expected"),
        (b"a b\nc \xff\xfe\n", {}, r":2: .*expected text in UTF-8"),
    ],
)  # fmt: skip
def test_broken_edge_lists(file: Any, text: Any, options: dict, message: str) -> None:
    path = file(text)
    with pytest.raises(ParseError, match=message) as caught:
        read(path, **options)
    assert str(path) in str(caught.value) or options


def test_line_numbers_across_blocks(file: Any) -> None:
    lines = ["0 1\n"] * 300
    lines[250] = "0 1 2\n"
    with mock.patch.object(source, "_BLOCK", 40), pytest.raises(ParseError, match=":251: "):
        read(file("".join(lines)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a,b\n"a,b\n', ":2: .*quotes in column 1 are not closed"),
        ("a,b\na,\n", ":2: got 'a,'; expected an id in column 2, got nothing"),
        ("a,b\na,b,\n", "has 3 columns; expected 2"),
        ('0,1\n0,"1\n', ":2: .*quotes in column 2 are not closed"),
        ('a,b\n"a"x,b\n', ":2: .*quotes in column 1 are not closed, or are closed before its end"),
        ("source,target\n1,2,3\n", ":1: the header names 2 columns and the first line of data has 3"),
        ("source,target,weight\n1,2\n", ":1: the header names 3 columns and the first line of data has 2"),
        ("0,1\n0,\n", ":2: .*expected an integer id in column 2"),
    ],
)
def test_broken_csv(file: Any, text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        read(file(text, "graph.csv"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2 2 1\n1 2\n", ":1: got '2 2 1'; expected '%%MatrixMarket matrix coordinate"),
        ("%%MatrixMarket matrix\n2 2 1\n", ":1: got '%%MatrixMarket matrix'; expected"),
        (
            "%%MatrixMarket matrix array real general\n2 2\n",
            ":1: got a matrix that is array; expected coordinate",
        ),
        (
            f"{MATRIX} complex general\n2 2 1\n1 2 1 0\n",
            "that is complex; expected pattern or integer or real",
        ),
        (f"{MATRIX} real skew-symmetric\n2 2 1\n", "skew-symmetric; expected general or symmetric"),
        (f"{MATRIX} real general\n", "has no line 'rows columns entries'"),
        (f"{MATRIX} real general\n2 2\n", ":2: got '2 2'; expected 'rows columns entries'"),
        (f"{MATRIX} real general\n2 2 -1\n", ":2: got '2 2 -1'"),
        (f"{MATRIX} real general\n2 3 1\n1 2 1\n", ":2: the matrix is 2 by 3"),
        (
            f"{MATRIX} real general\n99999999999 99999999999 0\n",
            ":2: .* would need 799,999,999,992 bytes for ids",
        ),
        (f"{MATRIX} real general\n{'9' * 5000} {'9' * 5000} 0\n", r":2: got '9+\.\.\.'; at most 2\*\*31 - 1"),
        (f"{MATRIX} real general\n2 2 2\n1 2 1\n", "declares 2 entries and holds 1"),
        (f"{MATRIX} real general\n2 2 1\n1 2 1\n2 1 1\n", "declares 1 entries and holds 2"),
        (f"{MATRIX} real general\n2 2 1\n1 3 1\n", ":3: got '1 3 1'; expected an id from 1 to 2 in column 2"),
        (f"{MATRIX} real general\n2 2 1\n0 1 1\n", ":3: .*expected an id from 1 to 2 in column 1"),
        (f"{MATRIX} real general\n2 2 1\n1 2\n", ":3: .*2 columns; expected 3"),
        (f"{MATRIX} real general\n2 2 1\n1 2 nan\n", ":3: .*expected a finite weight"),
        (
            f"{MATRIX} integer general\n2 2 2\n1 2 1\n2 1 0.5\n",
            ":4: .*expected an integer as the weight in column 3",
        ),
    ],
)
def test_broken_matrix_market(file: Any, text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        read(file(text, "graph.mtx"))


def test_weights_of_a_pattern_matrix(file: Any) -> None:
    with pytest.raises(ParseError, match="pattern matrix"):
        read(file(f"{MATRIX} pattern general\n2 2 0\n", "a.mtx"), weighted=True)


def test_files_that_are_not_there(tmp_path: Path, file: Any) -> None:
    file("0 1\n", "graph.txt")
    with pytest.raises(ParseError, match=r"no file .*grahp\.txt; did you mean .*graph\.txt\?"):
        read(tmp_path / "grahp.txt")
    with pytest.raises(ParseError, match="there is no folder"):
        read(tmp_path / "nowhere" / "graph.txt")
    with pytest.raises(ParseError, match="is a folder"):
        read(tmp_path)


def test_files_that_are_no_text(file: Any) -> None:
    with pytest.raises(ParseError, match="is empty"):
        read(file(b""))
    with pytest.raises(ParseError, match="is empty"):
        read(file(gzip.compress(b""), "a.txt.gz"))
    with pytest.raises(ParseError, match="binary data; expected text in UTF-8"):
        read(file(bytes(range(256))))
    with pytest.raises(ParseError, match="binary data"):
        read(file("0 1\n".encode("utf-16")))


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_truncated_and_damaged_files(file: Any, module: Any) -> None:
    rng = np.random.default_rng(1)
    text = "".join(f"{u} {v}\n" for u, v in rng.integers(0, 10**6, (20_000, 2)).tolist())
    packed = module.compress(text.encode())
    with pytest.raises(ParseError, match="truncated or damaged"):
        read(file(packed[:-100]))
    with pytest.raises(ParseError, match="truncated or damaged"):
        read(file(packed[: len(packed) // 2] + b"garbage!" * 10 + packed[len(packed) // 2 :]))


def test_options_that_are_refused(file: Any) -> None:
    with pytest.raises(GraphError, match="parallel_edges is 'max'"):
        read(file("0 1\n"), parallel_edges="max")
    with pytest.raises(GraphError, match="num_vertices is -1"):
        read(file("0 1\n"), num_vertices=-1)


# ---------------------------------------------------------------- against plain Python

BLANKS = st.sampled_from([" ", "\t", "  ", " \t "])
NUMBERS = st.one_of(
    st.integers(-(10**18) + 1, 10**18 - 1).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-100, 100, places=6).map(str),
)
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=6)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 10**18 - 1), NUMBERS), min_size=1, max_size=30),
    BLANKS,
    st.sampled_from(["\n", "\r\n", " \n", "\n\n", "\n# c\n"]),
    st.integers(8, 200),
)
@example([(0, 1, "9007199254740993"), (1, 0, "0.5")], " ", "\n", 100)
def test_numbers_against_python(file: Any, edges: list, blank: str, end: str, block: int) -> None:
    text = "".join(f"{u}{blank}{v}{blank}{w}{end}" for u, v, w in edges)
    with mock.patch.object(source, "_BLOCK", block):
        graph = read(file(text))
    whole = all(w.lstrip("-").isdigit() for *_, w in edges)
    number = int if whole else float
    expected = sorted(((u, v, number(w)) for u, v, w in edges), key=lambda edge: edge[0])
    assert edges_of(graph) == expected


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=40), st.integers(8, 200))
def test_names_against_python(file: Any, pairs: list, block: int) -> None:
    text = "".join(f"{a} {b}\n" for a, b in pairs)
    with mock.patch.object(source, "_BLOCK", block):
        graph = read(file(text), names=True, comments="")
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    assert graph.vertices.tolist() == names
    assert edges_of(graph) == sorted(pairs, key=lambda pair: names.index(pair[0]))


# ---------------------------------------------------------------- writing


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [None, (1, 100), (-1.0, 1.0)])
@pytest.mark.parametrize("suffix", [".txt", ".tsv.gz", ".csv", ".csv.gz", ".mtx", ".mtx.gz"])
def test_written_graphs_are_read_again(tmp_path: Path, suffix: str, weights: Any, directed: bool) -> None:
    graph = generate.uniform(50, 400, 3, directed=directed, weights=weights)
    path = tmp_path / f"graph{suffix}"
    seen: list[int] = []
    write(graph, path, progress=seen.append)
    assert seen[-1] == graph.num_arcs
    again = read(path) if ".mtx" in suffix else read(path, directed=directed)
    shift = 1 if ".mtx" in suffix else 0
    assert again.directed == directed
    assert again.num_edges == graph.num_edges
    assert np.array_equal(again.vertices, graph.vertices + shift)
    order, other = (
        np.lexsort((g.weights if g.weighted else g.targets, g.targets, g.sources)) for g in (graph, again)
    )
    assert np.array_equal(graph.targets[order], again.targets[other])
    assert np.array_equal(graph.offsets, again.offsets)
    if graph.weights is not None:
        assert np.array_equal(graph.weights[order], again.weights[other])


def test_written_names_and_short_floats(tmp_path: Path) -> None:
    graph = Graph.from_edges(["a", "b"], ["b", "New York"], np.array([0.1, 2.5], np.float32))
    write(graph, tmp_path / "graph.csv")
    assert (tmp_path / "graph.csv").read_text() == "source,target,weight\na,b,0.1\nb,New York,2.5\n"
    long = Graph.from_edges([10**20], [5])
    write(long, tmp_path / "graph.txt")
    assert edges_of(read(tmp_path / "graph.txt")) == [(10**20, 5)]


def test_vertices_without_edges_are_kept_in_matrix_market(tmp_path: Path) -> None:
    write(generate.path(3), tmp_path / "path.mtx")
    write(Graph.from_edges([], [], num_vertices=4), tmp_path / "none.mtx")
    assert read(tmp_path / "none.mtx").num_vertices == 4
    assert (tmp_path / "path.mtx").read_text() == f"{MATRIX} pattern general\n3 3 2\n1 2\n2 3\n"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    graph = generate.path(3)
    for name, message in (
        ("graph.xyz", "ends in '.xyz'; expected .txt, .tsv, .csv, .mtx"),
        ("graph", "ends in 'no suffix'"),
        ("nowhere/graph.txt", "there is no folder"),
    ):
        with pytest.raises(OutputError, match=message):
            write(graph, tmp_path / name)
    with pytest.raises(OutputError, match="'a b' cannot stand in this format"):
        write(Graph.from_edges(["a b"], ["c"]), tmp_path / "graph.txt")


IDS = st.one_of(
    st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=6, unique=True),
    st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True),
    st.lists(
        st.one_of(
            st.sampled_from(
                ["a", "b", "u", "v", "source", "from", "2", "02", "-7", "c", "p", "nan", "=1", "#", '"']
            ),
            st.text(max_size=4),
            st.text(st.characters(min_codepoint=0, max_codepoint=127), min_size=1, max_size=3),
        ),
        min_size=1,
        max_size=6,
        unique=True,
    ),
)
WEIGHTS = st.sampled_from(
    [
        None,
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(-5, 5).map(float),
    ]
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), IDS, WEIGHTS, st.booleans(), st.sampled_from([".txt", ".tsv", ".csv", ".mtx", ".tsv.gz"]))
def test_what_is_written_is_read_or_refused(
    tmp_path: Path, data: Any, ids: list, weights: Any, directed: bool, suffix: str
) -> None:
    end = st.sampled_from(ids)
    edges = data.draw(st.lists(st.tuples(end, end), max_size=8))
    if not directed:
        edges = list({frozenset(edge): edge for edge in edges}.values())
    values = None
    if weights is not None:
        drawn = data.draw(st.lists(weights, min_size=len(edges), max_size=len(edges)))
        values = np.array(drawn, float if drawn and isinstance(drawn[0], float) else np.int64)
    graph = Graph.from_edges([u for u, _ in edges], [v for _, v in edges], values, directed)
    path = tmp_path / f"graph{suffix}"
    try:
        write(graph, path)
    except OutputError as error:
        assert "use ." in str(error)
        return
    again = read(path, directed=None if suffix == ".mtx" else directed)
    if suffix == ".mtx":
        numbered = Graph(
            graph._rows, Ids(graph.num_vertices, np.arange(1, graph.num_vertices + 1)), directed, 0
        )
        expected = edges_of(numbered)
    else:
        expected = edges_of(graph)
        assert set(again.vertices) == set(graph.vertices)
    assert again.directed == directed
    assert sorted(map(repr, edges_of(again))) == sorted(map(repr, expected))


def test_names_of_digits_come_back(tmp_path: Path) -> None:
    graph = Graph.from_edges(["02", "2", "x"], ["2", "3", "02"])
    for suffix in (".txt", ".tsv"):
        write(graph, tmp_path / f"graph{suffix}")
        assert edges_of(read(tmp_path / f"graph{suffix}")) == [("02", "2"), ("2", "3"), ("x", "02")]
    with pytest.raises(OutputError, match=r"first edge would be read as integers; use \.txt or \.tsv"):
        write(graph, tmp_path / "graph.csv")
    write(Graph.from_edges(["a", "1"], ["b", "2"]), tmp_path / "words.tsv")
    assert read(tmp_path / "words.tsv").num_edges == 2


def test_ids_and_graphs_that_are_not_written(tmp_path: Path) -> None:
    for name in ("a\0b", "a\rb", "a\nb", "\ud800", "", " a", "#a", "a\tb"):
        for suffix in (".txt", ".tsv", ".csv"):
            if name == "a\tb" and suffix == ".csv":
                continue
            with pytest.raises(OutputError, match=r"cannot stand in this format; use \.mtx"):
                write(Graph.from_edges(["x", name], ["y", "z"]), tmp_path / f"graph{suffix}")
    with pytest.raises(OutputError, match="over 4,000 digits"):
        write(Graph.from_edges([10**5000], [1]), tmp_path / "graph.txt")
    with pytest.raises(OutputError, match=r"without edges cannot stand in this format; use \.mtx"):
        write(Graph.from_edges([], [], num_vertices=3), tmp_path / "graph.txt")
    assert list(tmp_path.iterdir()) == []


def test_names_that_spreadsheets_take_for_formulas(tmp_path: Path) -> None:
    graph = Graph.from_edges(["=1+1", "@x"], ["-a", "b"])
    write(graph, tmp_path / "graph.csv")
    assert (tmp_path / "graph.csv").read_text() == "source,target\n=1+1,-a\n@x,b\n"
    write(graph, tmp_path / "graph.csv", quote_formulas=True)
    assert (tmp_path / "graph.csv").read_text() == "source,target\n'=1+1,'-a\n'@x,b\n"
    write(Graph.from_edges([-1], [2]), tmp_path / "graph.csv", quote_formulas=True)
    assert (tmp_path / "graph.csv").read_text() == "source,target\n-1,2\n"


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    path.write_text("before")

    def fail(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(generate.path(3), path, progress=fail)
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph.txt"]


def test_a_path_that_is_none_and_a_number_that_is_none_are_refused(tmp_path):
    with pytest.raises(ParseError, match="path is None; expected the name of a file"):
        read(None)
    (tmp_path / "a.txt").write_text("0 1\n")
    with pytest.raises(GraphError, match="num_vertices is 'x'; expected an integer"):
        read(tmp_path / "a.txt", num_vertices="x")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"directed": "no"}, ParseError, "directed is 'no'; expected True, False or None"),
        ({"header": "false"}, ParseError, "header is 'false'; expected True, False or None"),
        ({"index_base": 10**30, "num_vertices": 3}, ParseError, "expected an integer from"),
        ({"index_base": 10**5000}, ParseError, "index_base is an integer of 16,610 bits"),
        ({"num_vertices": 10**30}, GraphError, r"at most 2\*\*31 - 1 can be had"),
        ({"num_vertices": 10**5000}, GraphError, "num_vertices is an integer of 16,610 bits"),
        ({"num_vertices": 3, "names": True}, GraphError, "the ids are names; leave num_vertices out"),
        ({"parallel_edges": "max"}, GraphError, "parallel_edges is 'max'; expected one of"),
        ({"weight_column": 10**5000}, ParseError, "an integer of 16,610 bits, counted from 0"),
        ({"delimiter": "\n"}, ParseError, "expected one character of ASCII, no quote or line break"),
        ({"memory_limit": "1 giga"}, ParameterError, "memory_limit is '1 giga'; expected a number of bytes"),
        ({"memory_limit": 1.5}, ParameterError, "memory_limit is 1.5; expected a number of bytes"),
        ({"memory_limit": float("inf")}, ParameterError, "memory_limit is inf; expected a number of bytes"),
        (
            {"memory_limit": -5},
            ParameterError,
            "memory_limit is -5; expected a number of bytes of at least 0",
        ),
        ({"progress": 3}, ParseError, "progress is 3; expected a function"),
    ],
)
def test_options_out_of_range(file: Any, options: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read(file("0 1\n"), **options)


def test_numbers_of_vertices_beside_names(file: Any) -> None:
    with pytest.raises(GraphError, match="the ids are names; leave num_vertices out"):
        read(file("a b\n"), num_vertices=3)


def test_integers_that_python_does_not_read(file: Any) -> None:
    path = file(f"{'9' * 5000} 1\n")
    with pytest.raises(ParseError, match=r"has an id of 5,000 digits, too many for an integer.*names=True"):
        read(path)
    assert read(path, names=True).num_vertices == 2


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "/proc/self/mem", "x" * 5000])
def test_paths_that_are_none(path: str) -> None:
    with pytest.raises(ParseError, match="cannot read"):
        read(path)
    with pytest.raises(OutputError, match=r"cannot write|there is no"):
        write(generate.path(3), f"{path}.txt")


@pytest.mark.parametrize("suffix", ["txt", "csv", "mtx"])
def test_weights_in_float32_come_back_as_the_float64_nearest_to_their_text(
    tmp_path: Path, suffix: str
) -> None:
    bits = np.random.default_rng(4).integers(0, 0x7F800000, 10_000).astype(np.uint32)
    weights = np.concatenate(
        [np.array([0.1, 1e-45, 3.4028235e38, 2**24, 0.0], np.float32), bits.view(np.float32)]
    )
    index = np.arange(len(weights))
    write(Graph.from_edges(index, index, weights), tmp_path / f"graph.{suffix}")
    found = read(tmp_path / f"graph.{suffix}").weights
    assert found is not None and found.dtype == np.float64 and found[0] == 0.1
    assert found[0] != weights[0]
    np.testing.assert_array_equal(found.astype(np.float32), weights)


# ---------------------------------------------------------------- memory


def test_sizes_are_refused_before_anything_is_allocated(file: Any) -> None:
    path = file(f"{MATRIX} pattern general\n1000000000 1000000000 1\n1 2\n", "a.mtx")
    tracemalloc.start()
    with pytest.raises(
        MemoryLimitError, match=r"needs at least 12,0.* bytes of memory, .*; memory_limit is 1,000,000,0"
    ):
        read(path, memory_limit=1e9)
    with pytest.raises(MemoryLimitError, match="memory_limit is 100"):
        read(file("0 1\n"), num_vertices=10**9, memory_limit=100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


def test_what_is_free_is_the_limit(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgewise.io.budget.free_memory", lambda: 10)
    with pytest.raises(MemoryLimitError, match=r"10 are free\. Free some"):
        read(file("0 1\n"))
    monkeypatch.setattr("edgewise.io.budget.free_memory", lambda: None)
    assert read(file("0 1\n")).num_edges == 1


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
@pytest.mark.parametrize("line", [b"0 1\n", b"name another\n", b"0123456789"])
def test_little_files_that_become_large_ones(file: Any, module: Any, line: bytes) -> None:
    path = file(module.compress(line * (12 * 10**6 // len(line))))
    tracemalloc.start()
    with pytest.raises(MemoryLimitError, match=r"bytes of memory.*; memory_limit is 20,000,000"):
        read(path, memory_limit=2e7)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.05 * 2e7 + 1e7


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.mtx", "a.gr", "names.txt"])
def test_a_refused_file_takes_little_memory(file: Any, name: str) -> None:
    start, line = {
        "a.txt": ("", "{} {}\n"),
        "a.csv": ("source,target\n", "{},{}\n"),
        "a.mtx": (f"{MATRIX} pattern general\n800000 800000 800000\n", "{} {}\n"),
        "a.gr": ("p sp 800000 800000\n", "a {} {} 1\n"),
        "names.txt": ("", "v{} v{}\n"),
    }[name]
    path = file(start + "".join(line.format(v, v + 1) for v in range(1, 800_000)), name)
    for limit in (0, 10**7, 2 * 10**7):
        tracemalloc.start()
        with pytest.raises(MemoryLimitError, match=f"memory_limit is {limit:,}"):
            read(path, memory_limit=limit)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 1.05 * limit + 1e7


def test_the_graph_of_a_single_block_counts(file: Any) -> None:
    path = file("".join(f"v{v} w{v}\n" for v in range(40_000)))
    limit = 8 * path.stat().st_size + 1  # enough to read its lines
    with pytest.raises(MemoryLimitError, match=f"memory_limit is {limit:,}"):
        read(path, memory_limit=limit)


@pytest.mark.parametrize(
    ("start", "line"), [("", "{} {}\n"), ("source,target,weight\n", "{},{},3\n"), ("", "v{} v{}\n")]
)
@pytest.mark.parametrize("module", [None, gzip])
def test_a_refusal_says_about_what_the_whole_file_needs(
    file: Any, start: str, line: str, module: Any
) -> None:
    text = (start + "".join(line.format(v, v // 2) for v in range(1, 400_000))).encode()
    path, limit, said = file(module.compress(text) if module else text, "a.csv" if start else "a.txt"), 0, []
    graph = None
    while graph is None:
        try:
            graph = read(path, memory_limit=limit)
        except MemoryLimitError as error:
            found = re.search(
                r"at least ([\d,]+) bytes of memory(?:, and about ([\d,]+) for the)?", str(error)
            )
            assert found is not None
            limit = int((found[2] or found[1]).replace(",", ""))
            said.append(limit)
    assert 1 <= len(said) <= 2


@pytest.mark.parametrize("ids", [10**5, 2**31 - 1, 2**60])
@pytest.mark.parametrize(
    "options", [{}, {"directed": False, "self_loops": "drop"}, {"parallel_edges": "sum"}]
)
@pytest.mark.filterwarnings("ignore::edgewise.errors.GraphWarning")
def test_reading_takes_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: int, options: dict
) -> None:
    rng = np.random.default_rng(1)
    path = tmp_path / "graph.txt"
    path.write_text("".join(f"{u} {v} {u % 7}\n" for u, v in rng.integers(0, ids, (100_000, 2)).tolist()))
    read(path, **options)
    said: list[int] = []
    monkeypatch.setattr(source, "_BLOCK", 2**18)
    with mock.patch.object(Budget, "check", lambda self, needed, whole=None: said.append(needed)):
        tracemalloc.start()
        read(path, **options)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak <= 1.05 * max(said) + 1e7
    assert read(path, memory_limit=max(said), **options).num_edges > 0
    with pytest.raises(MemoryLimitError):
        read(path, memory_limit=max(said) - 1, **options)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.txt", "1 " * 10**6, r"a\.txt:1: got '1 1 .*', which has more than 10,000 columns; expected two"),
        ("a.txt", "0 1\n" + "1 " * 10**6, r"a\.txt:2: got '1 1 .*', which has more than 10,000 columns"),
        ("a.csv", "1," * 10**6, r"a\.csv:1: got '1,1,.*', which has more than 10,000 columns"),
        ("a.mtx", f"{MATRIX} pattern general\n" + "1 " * 10**6, "expected 'rows columns entries'"),
        ("a.gr", "p " * 10**6, "expected 'p sp VERTICES ARCS'"),
    ],
)
def test_a_wide_line_is_refused_before_it_is_split(file: Any, name: str, text: str, problem: str) -> None:
    path = file(text + "\n", name)
    tracemalloc.start()
    with pytest.raises(ParseError, match=problem):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 12 * len(text)
    with pytest.raises(MemoryLimitError, match=r"needs at least .* memory_limit is 23,000,000"):
        read(path, memory_limit=23 * 10**6)


def test_tables_may_have_many_columns(file: Any) -> None:
    assert read(file("0,1" + ",2" * 9998 + "\n", "a.csv")).num_edges == 1
    with pytest.raises(ParseError, match="more than 10,000 columns"):
        read(file("0,1" + ",2" * 9999 + "\n", "a.csv"))


@pytest.mark.parametrize("name", ["a" * 2 * 10**6, '""' * 10**6])
def test_a_long_field_in_quotes_takes_little_memory(name: str) -> None:
    """Of the process: the stack of a regular expression is none of Python's memory."""
    code = f"""
import resource, sys
from edgewise.io.table import split_line
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert len(list(split_line('"' + {name[:2]!r} * 10**6 + '",b', ","))) == 2
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""
    taken = int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
    assert taken <= 12 * len(name)


def test_an_xz_file_that_needs_much_memory_to_unpack(file: Any) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**28}]
    path = file(lzma.compress(b"0 1\n", filters=filters), "a.txt.xz")
    with pytest.raises(
        MemoryLimitError,
        match=r"unpacking .*a\.txt\.xz needs at least 268,435,456 bytes of memory; memory_limit is",
    ):
        read(path, memory_limit=1e8)
    delta = [{"id": lzma.FILTER_DELTA, "dist": 4}, filters[0] | {"dict_size": 3 * 2**26}]
    with pytest.raises(MemoryLimitError, match="at least 201,326,592 bytes of memory; memory_limit is 100,"):
        read(file(lzma.compress(b"0 1\n", filters=delta), "b.txt.xz"), memory_limit=1e8)
    assert read(path).num_edges == 1


def test_several_xz_streams(file: Any) -> None:
    parts = [lzma.compress(b"0 1\n1 "), bytes(8), lzma.compress(b"2\n"), bytes(4)]
    assert edges_of(read(file(b"".join(parts)))) == [(0, 1), (1, 2)]
    for broken in (parts[0] + b"garbage!", parts[0] + parts[2][:-5], parts[0][:-1]):
        with pytest.raises(ParseError, match="truncated or damaged"):
            read(file(broken))


def test_memory_that_the_system_does_not_give(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def allocate(*arguments: object, **options: object) -> None:
        raise MemoryError("Unable to allocate 64.0 GiB")

    monkeypatch.setattr("edgewise.io.reading.number_vertices", allocate)
    with pytest.raises(MemoryLimitError, match=r"more memory than the system gives \(Unable to allocate 64"):
        read(file("0 1\n"))


# ---------------------------------------------------------------- places, permissions, what is left


def test_a_replaced_file_keeps_its_permissions_and_its_link(tmp_path: Path) -> None:
    target, link = tmp_path / "there" / "graph.txt", tmp_path / "graph.txt"
    target.parent.mkdir()
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    write(generate.path(3), link)
    assert link.is_symlink() and target.stat().st_mode & 0o777 == 0o640
    assert read(target).num_edges == 2
    target.unlink()
    write(generate.path(4), link)
    assert link.is_symlink() and read(target).num_edges == 3
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    for name, message in (("loop.txt", "cannot write"), ("pipe.txt", "no ordinary file")):
        with pytest.raises(OutputError, match=message):
            write(generate.path(3), tmp_path / name)


def test_a_file_is_as_private_while_it_is_written(tmp_path: Path) -> None:
    path, modes = tmp_path / "graph.txt", []
    path.write_text("before")
    path.chmod(0o600)

    def look(done: int) -> None:
        modes.extend(part.stat().st_mode & 0o777 for part in tmp_path.glob(".*.part"))

    write(generate.path(3), path, progress=look)
    assert modes == [0o600]


def test_what_killed_processes_leave_is_cleared(tmp_path: Path) -> None:
    left, held, young = (tmp_path / f".{'0' * 16}.{number}.1.part" for number in (1, 2, 3))
    other = tmp_path / ".mine.part"
    for path in (left, held, young, other):
        path.write_text("part")
        os.utime(path, (1, 1) if path != young else None)
    with open(held) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write(generate.path(3), tmp_path / "graph.txt")
    assert sorted(tmp_path.iterdir()) == sorted([held, young, other, tmp_path / "graph.txt"])


DIMACS_TEXT = "p sp 3 2\na 1 2 5\na 2 3 7\n"
MARKET_TEXT = "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 5\n2 3 7\n"


@pytest.mark.parametrize("suffix", [".txt", ".edges", ".dat", ""])
@pytest.mark.parametrize(
    "text",
    [DIMACS_TEXT, "c x y z\n" * 20_000 + DIMACS_TEXT, "c two\n" * 20_000 + DIMACS_TEXT, MARKET_TEXT],
    ids=["dimacs", "dimacs after long comments", "dimacs after comments of two words", "matrix market"],
)
def test_first_lines_that_cannot_be_mistaken_say_what_a_file_is(tmp_path, suffix, text):
    path = tmp_path / f"graph{suffix}"
    path.write_text(text)
    graph = read(path)
    assert graph.sources.tolist() == [0, 1] and graph.targets.tolist() == [1, 2]
    assert graph.weights.tolist() == [5, 7] and graph.num_vertices == 3


@pytest.mark.parametrize("text", ["p sp\nsp c\n", "c cat\n" * 20_000 + "p sp\n", "p sp x y\n"])
def test_names_like_those_of_other_formats_stay_names(tmp_path, text):
    path = tmp_path / "graph.txt"
    path.write_text(text)
    assert "p" in read(path).vertices.tolist()


def test_reads_long_edge_lists_of_the_name_c(tmp_path):
    path = tmp_path / "graph"
    path.write_text("c cat\n" * 3_000_000)
    assert read(path).num_edges == 3_000_000


@pytest.mark.parametrize("size", [1, 2, 3, 5, 2**20])
@pytest.mark.parametrize(
    "text",
    [
        "1 2\r3 4\r",
        "1 2\r\n3 4\r\n",
        "1 2\r\r\r3 4",
        "\r1 2\r\n\r3 4\r\n\r",
        "1 2\r\n\r\n3 4",
        "\r\r1 2\n3 4\r",
    ],
)
def test_line_ends_at_the_ends_of_blocks(
    file: Any, monkeypatch: pytest.MonkeyPatch, size: int, text: str
) -> None:
    monkeypatch.setattr(source, "_BLOCK", size)
    monkeypatch.setattr(source, "_HEAD", max(3, size))
    graph = read(file(text.encode()))
    assert edges_of(graph) == [(1, 2), (3, 4)]


def test_a_megabyte_of_carriage_returns_is_read_in_blocks(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path, reads = file(b"1 2\n" + b"\r" * (3 << 19) + b"2 3\n"), []
    read_block = source.TextFile._unpacked

    def counted(self: Any, packed: Any) -> Any:
        unpacked = mock.Mock(wraps=read_block(self, packed))
        unpacked.__enter__ = lambda each: each
        unpacked.__exit__ = lambda each, *error: None
        unpacked.read.side_effect = lambda size: reads.append(size) or mock.DEFAULT
        return unpacked

    monkeypatch.setattr(source.TextFile, "_unpacked", counted)
    assert read(path).num_edges == 2
    assert len(reads) < 100


@pytest.mark.parametrize(
    "start", ["*vertices", "<?xml", "<graphml", "graph", "\xa0<?xml", "{", "digraph", "*Network"]
)
@pytest.mark.parametrize("name", ["a.txt", "a.tsv", "a.csv", "a.tsv.gz"])
@pytest.mark.parametrize("end", ["a", "[", "{"])
def test_names_that_look_like_other_formats_are_read_as_written(
    tmp_path: Path, start: str, end: str, name: str
) -> None:
    graph = Graph.from_edges([start, "b"], [end, "c"])
    write(graph, tmp_path / name)
    assert read(tmp_path / name).vertices.tolist() == graph.vertices.tolist()
