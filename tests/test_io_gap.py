"""Serialized graphs of the GAP Benchmark Suite, against a reader and a writer of their bytes."""

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from io_cases import drawn, edges_of, sorted_edges

import edgewise as ew
from edgewise.errors import GraphWarning, MemoryLimitError, OutputError, ParseError
from edgewise.graph import Graph
from edgewise.io import read, write

pytestmark = pytest.mark.filterwarnings("ignore:.*which became numbers")


def rows_of(content: bytes, at: int, n: int, m: int, weighted: bool) -> tuple[list[tuple], int]:
    """Rows in a file as (row, neighbour) or (row, neighbour, weight), and where they end."""
    offsets = struct.unpack_from(f"<{n + 1}q", content, at)
    at += 8 * (n + 1)
    arcs = list(
        struct.iter_unpack("<ii" if weighted else "<i", content[at : at + (8 if weighted else 4) * m])
    )
    assert (offsets[0], offsets[-1]) == (0, m)
    rows = [(v, *arc) for v in range(n) for arc in arcs[offsets[v] : offsets[v + 1]]]
    return rows, at + (8 if weighted else 4) * m


def parsed(path: Path) -> tuple[bool, int, list[tuple], list[tuple] | None]:
    """A file as GAP's reader takes it: a graph with a direction or not, its vertices, its rows and its in-rows."""
    content, weighted = path.read_bytes(), path.suffix == ".wsg"
    directed, m, n = struct.unpack_from("<?qq", content)
    rows, at = rows_of(content, 17, n, m, weighted)
    in_rows = None
    if directed:
        in_rows, at = rows_of(content, at, n, m, weighted)
    assert at == len(content)
    return directed, n, rows, in_rows


def packed(
    directed: int, n: int, rows: list[tuple], in_rows: list[tuple] | None = None, m: int | None = None
) -> bytes:
    """The bytes of a file; rows are sorted by their vertex."""
    content = struct.pack("<Bqq", directed, len(rows) if m is None else m, n)
    for side in (rows, *([] if in_rows is None else [in_rows])):
        counts = np.bincount([row[0] for row in side], minlength=n) if side else np.zeros(n, int)
        content += struct.pack(f"<{n + 1}q", 0, *np.cumsum(counts).tolist())
        content += b"".join(struct.pack(f"<{len(row) - 1}i", *row[1:]) for row in side)
    return content


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [None, "int32", "int64"])
def test_written_as_gap_reads_it_and_read_back(tmp_path: Path, directed: bool, weights: str | None) -> None:
    graph = drawn(directed, weights)
    path = tmp_path / ("a.sg" if weights is None else "a.wsg")
    done: list[int] = []
    write(graph, path, done.append)
    found, n, rows, in_rows = parsed(path)
    assert (found, n) == (directed, 40)
    assert sorted(rows) == sorted_edges(graph)
    assert [row[:2] for row in rows] == sorted(row[:2] for row in rows)
    if in_rows is not None:
        assert sorted((v, u, *rest) for u, v, *rest in in_rows) == sorted_edges(graph)
        assert [row[:2] for row in in_rows] == sorted(row[:2] for row in in_rows)
    assert done == sorted(done)
    assert done[-1] == graph.num_arcs
    seen: list[int] = []
    back = read(path, progress=seen.append)
    assert (back.directed, back.num_vertices, back.num_edges) == (directed, 40, graph.num_edges)
    assert edges_of(back) == rows
    assert back.weight_dtype == (None if weights is None else np.int32)
    assert seen[-1] == path.stat().st_size - 17


@pytest.mark.parametrize("m", [0, 1])
@pytest.mark.parametrize("n", [1, 3])
def test_few_vertices_and_edges(tmp_path: Path, n: int, m: int) -> None:
    for directed in (True, False):
        graph = Graph.from_edges([0] * m, [0] * m, directed=directed, num_vertices=n)
        write(graph, tmp_path / "a.sg")
        back = read(tmp_path / "a.sg")
        assert (back.num_vertices, back.num_edges, back.directed) == (n, m, directed)
    empty = Graph.from_edges([], [], np.empty(0, np.int32), num_vertices=n)
    write(empty, tmp_path / "a.wsg")
    assert read(tmp_path / "a.wsg").weighted


def test_options(tmp_path: Path) -> None:
    arcs = [(0, 0, 5), (0, 1, 7), (0, 1, 3), (1, 0, 2), (2, 1, 9)]
    path = tmp_path / "a.wsg"
    path.write_bytes(packed(1, 4, arcs, [(0, 0, 5), (0, 1, 2), (1, 0, 7), (1, 0, 3), (1, 2, 9)]))
    columns = list(zip(*arcs, strict=True))
    assert edges_of(read(path)) == arcs
    assert edges_of(read(path, directed=True)) == arcs
    assert edges_of(read(path, weighted=False)) == [arc[:2] for arc in arcs]
    for how in (
        {"parallel_edges": "min"},
        {"parallel_edges": "sum", "directed": False},
        {"self_loops": "drop"},
    ):
        assert edges_of(read(path, **how)) == edges_of(Graph.from_edges(*columns, num_vertices=4, **how))
    with pytest.warns(GraphWarning, match="lists 1 edges in both directions"):
        assert read(path, directed=False).num_edges == 5
    undirected = tmp_path / "b.wsg"
    undirected.write_bytes(packed(0, 3, [(0, 0, 4), (0, 1, 7), (0, 1, 3), (1, 0, 3), (1, 0, 7)]))
    assert read(undirected).num_edges == 3
    assert edges_of(read(undirected, parallel_edges="sum")) == [(0, 0, 4), (0, 1, 10), (1, 0, 10)]
    assert sorted_edges(read(undirected, self_loops="drop"))[:2] == [(0, 1, 3), (0, 1, 7)]
    both = read(undirected, directed=True)
    assert both.directed
    assert both.num_edges == 5
    assert read(undirected, directed=True, parallel_edges="first").num_edges == 3


def test_format_by_name_tells_weights_by_the_length(tmp_path: Path) -> None:
    for weights in (None, "int32"):
        write(drawn(True, weights), tmp_path / ("a.wsg" if weights else "a.sg"))
        os.rename(tmp_path / ("a.wsg" if weights else "a.sg"), tmp_path / "a.bin")
        assert read(tmp_path / "a.bin", format="gap").weighted == (weights is not None)
    with pytest.raises(ParseError, match="has no option columns"):
        read(tmp_path / "a.bin", format="gap", columns=(0, 1))


SQUARE = [(0, 1), (1, 0)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "begins with a byte 0 or 1 and two sizes"),
        (b"\2" + bytes(40), "no serialized graph of GAP"),
        (struct.pack("<Bqq", 0, -1, 2) + bytes(40), "no serialized graph of GAP"),
        (packed(0, 2, SQUARE)[:-1], "has 48 bytes .* undirected graph of 2 vertices and 2 arcs, which takes 49; it is"),
        (packed(0, 2, SQUARE) + b"x", "has 50 bytes"),
        (struct.pack("<Bqq", 0, 2**62, 2**62), "it is truncated or damaged"),
        (packed(0, 2, [(0, 1, 1), (1, 0, 1)]), "with weights it would be as long; such files are called .wsg"),
        (packed(1, 2, SQUARE), "directed graph .* which takes 81"),
        (packed(0, 2, [(0, 1), (1, 1)]), "says that it is undirected, but not every edge"),
        (packed(1, 2, [(0, 1), (1, 1)], [(1, 0), (1, 0)]), "its in-edges are not those of its out-edges"),
        (packed(0, 2, [(0, 1), (1, 2)]), "targets go from 1 to 2; expected 0..1"),
        (packed(0, 2, [(0, 1), (1, -1)]), "targets go from -1 to 1"),
        (struct.pack("<Bqq4qii", 0, 2, 3, 0, 2, 1, 2, 1, 0), "never fall"),
        (struct.pack("<Bqq3qii", 0, 2, 2, 0, 1, 3, 1, 0), "offsets must go from 0 to 2"),
    ],
)  # fmt: skip
def test_what_is_damaged_is_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "a.sg"
    path.write_bytes(content)
    with pytest.raises(ParseError, match=expected):
        read(path)


def test_weights_of_both_directions_are_compared(tmp_path: Path) -> None:
    path = tmp_path / "a.wsg"
    path.write_bytes(packed(0, 2, [(0, 1, 5), (1, 0, 6)]))
    with pytest.raises(ParseError, match="with one weight"):
        read(path)
    path.write_bytes(packed(1, 2, [(0, 1, 5)], [(1, 0, 6)]))
    with pytest.raises(ParseError, match="in-edges"):
        read(path)


def test_weights_that_are_not_there(tmp_path: Path) -> None:
    write(drawn(True, None), tmp_path / "a.sg")
    with pytest.raises(ParseError, match=r"no weights to read with weighted=True; those of GAP are in .wsg"):
        read(tmp_path / "a.sg", weighted=True)


def test_memory_limit(tmp_path: Path) -> None:
    write(drawn(False, "int32"), tmp_path / "a.wsg")
    with pytest.raises(MemoryLimitError, match="memory_limit is 1,000"):
        read(tmp_path / "a.wsg", memory_limit=1000)
    assert read(tmp_path / "a.wsg", memory_limit="20MB").num_edges == 150


@pytest.mark.parametrize(
    ("weights", "name", "expected"),
    [
        (None, "a.wsg", "has no weights, and a .wsg file of GAP cannot; name the file .sg"),
        ([1], "a.sg", "has weights, and a .sg file of GAP cannot; name the file .wsg"),
        ([0.5], "a.wsg", "weights are float64, and a .wsg file of GAP holds int32"),
        ([2**31], "a.wsg", "weights go from 2147483648 to 2147483648"),
    ],
)
def test_graphs_that_cannot_be_written(tmp_path: Path, weights: Any, name: str, expected: str) -> None:
    with pytest.raises(OutputError, match=expected):
        write(Graph.from_edges([0], [1], weights), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_options_of_other_formats_are_refused(tmp_path: Path) -> None:
    graph = drawn(True, None)
    for option in ("in_edges", "quote_formulas"):
        with pytest.raises(OutputError, match=f"no place for what {option}"):
            write(graph, tmp_path / "a.sg", **{option: True})
    with pytest.raises(OutputError, match=r"ends in '\.gz'"):
        write(graph, tmp_path / "a.sg.gz")


def test_building_takes_no_whole_graphs(tmp_path: Path) -> None:
    write(drawn(True, None), tmp_path / "a.sg")
    with pytest.raises(
        ParseError, match=r"holds a whole graph; expected text or Parquet. edgewise.read reads it"
    ):
        ew.build(tmp_path / "a.edgewise", tmp_path / "a.sg")


def test_missing_files_and_folders(tmp_path: Path) -> None:
    write(drawn(True, None), tmp_path / "web.sg")
    with pytest.raises(ParseError, match=r"there is no file .*wep\.sg; did you mean .*web\.sg"):
        read(tmp_path / "wep.sg")
    (tmp_path / "folder.sg").mkdir()
    with pytest.raises(ParseError, match="is a folder"):
        read(tmp_path / "folder.sg")
    os.mkfifo(tmp_path / "pipe.sg")
    with pytest.raises(ParseError, match="is a pipe or a device; expected a file"):
        read(tmp_path / "pipe.sg")
