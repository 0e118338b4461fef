"""Reading graphs: what format a file has, what its first lines say, how it is compressed."""

import bz2
import gc
import gzip
import lzma
import re
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from io_cases import MATRIX, edges_of

from edgewise.errors import (
    GraphWarning,
    ParseError,
)
from edgewise.graph import Graph
from edgewise.io import read, source, write


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
        ("GML.gz", "GML", "networkx"),
        ("gml", "GML", "networkx"),
        ("gexf.xz", "GEXF", "networkx"),
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
        ('# hi\n<graphml xmlns="x">', "GraphML"),
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
    with pytest.raises(
        ParseError,
        match="format is 'gml'; expected matrix-market, dimacs, tntp, metis, adjacency, adjlist, konect, csv, edgelist",
    ):
        read(file("1 2\n"), format="gml")
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


@pytest.mark.filterwarnings("ignore:.* left out")
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
    with pytest.raises(ParseError, match="none beside the ids is called like weights; weight_column="):
        read(path, weighted=True)


def test_columns_that_are_not_called_weights_are_taken_with_a_warning(file: Any) -> None:
    path = file("source,target,visits\n1,2,5\n", "graph.csv")
    with pytest.warns(
        GraphWarning, match=r"remaining column, 'visits', became the weights.*weighted=False; weight_column="
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


@pytest.mark.filterwarnings("ignore:.* left out")
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
@pytest.mark.filterwarnings("ignore:.* left out")
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
