"""Parquet: tables of edges as polars and pandas write them, with ids and weights of every kind."""

import sys
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from graph_files import same_graphs
from io_cases import drawn, edges_of, sorted_edges

import edgewise as ew
from edgewise.errors import (
    EdgewiseError,
    GraphError,
    GraphWarning,
    MemoryLimitError,
    MissingDependencyError,
    OutputError,
    ParseError,
)
from edgewise.graph import Graph
from edgewise.io import read, write

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

IDS = {
    "range": np.arange(30),
    "negative": np.arange(30) * 10**12 - 5,
    "int8": np.arange(30).astype(np.int8),
    "uint32": np.arange(30).astype(np.uint32) + np.uint32(2**31),
    "uint64": np.arange(30).astype(np.uint64) + np.uint64(2**63),
    "names": np.array([f"n{k} é" for k in range(30)], object),
}


@pytest.fixture
def table(tmp_path: Path) -> Any:
    """Writes a table of columns."""

    def make(row_group_size: int = 64, **columns: Any) -> Path:
        made = pa.table(columns)
        parquet.write_table(made, tmp_path / "a.parquet", row_group_size=row_group_size)
        return tmp_path / "a.parquet"

    return make


def columns_of(ids: np.ndarray, seed: int = 1) -> tuple[Any, Any]:
    source, target = np.random.default_rng(seed).integers(0, len(ids), (2, 200))
    return tuple(ids[ends].tolist() if ids.dtype == object else ids[ends] for ends in (source, target))


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("weights", [None, "int8", "int32", "int64", "float32", "float64"])
def test_tables_of_polars_and_pandas(tmp_path: Path, kind: str, weights: str | None) -> None:
    source, target = columns_of(IDS[kind])
    columns = {"source": source, "target": target}
    if weights is not None:
        columns["weight"] = np.random.default_rng(2).integers(-9, 9, 200).astype(weights)
    path = tmp_path / "a.parquet"
    expected = Graph.from_edges(source, target, columns.get("weight"))
    pl.DataFrame(columns).write_parquet(path, row_group_size=64)
    assert same_graphs(read(path), expected)
    pd.DataFrame(columns).to_parquet(path)
    assert same_graphs(read(path), expected)
    pd.DataFrame(columns).astype({"source": "category", "target": "category"}).to_parquet(
        path, row_group_size=64
    )
    assert same_graphs(read(path), expected)
    assert same_graphs(
        read(path, directed=False, parallel_edges="first", self_loops="drop"),
        Graph.from_edges(
            source, target, columns.get("weight"), False, parallel_edges="first", self_loops="drop"
        ),
    )


@pytest.mark.parametrize("kind", ["range", "negative", "uint64", "names"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [None, "int32", "float32", "float64"])
def test_written_as_polars_reads_it_and_read_back(
    tmp_path: Path, kind: str, directed: bool, weights: str | None
) -> None:
    weight = None if weights is None else np.arange(200).astype(weights)
    graph = Graph.from_edges(*columns_of(IDS[kind]), weight, directed)
    done: list[int] = []
    write(graph, tmp_path / "a.parquet", done.append)
    assert done[-1] == graph.num_arcs
    rows = pl.read_parquet(tmp_path / "a.parquet")
    assert rows.columns == ["source", "target", "weight"][: 2 if weights is None else 3]
    assert len(rows) == graph.num_edges
    back = read(tmp_path / "a.parquet", directed=directed)
    assert (back.directed, back.num_edges) == (directed, graph.num_edges)
    assert sorted_edges(back) == sorted_edges(graph)
    assert back.weight_dtype == graph.weight_dtype


def test_columns_are_chosen_as_in_csv_files(table: Any) -> None:
    path = table(weight=[1, 2], to=[5, 6], **{"from": [7, 8]}, note=["a", "b"])
    assert edges_of(read(path)) == [(7, 5, 1), (8, 6, 2)]
    assert edges_of(read(path, columns=("to", "from"), weighted=False)) == [(5, 7), (6, 8)]
    assert edges_of(read(path, columns=(0, 1), weighted=False)) == [(1, 5), (2, 6)]
    assert edges_of(read(path, weight_column=0)) == [(7, 5, 1), (8, 6, 2)]
    assert edges_of(read(table(a=[0], b=[1], cost=[0.5]))) == [(0, 1, 0.5)]
    assert edges_of(read(table(a=[0], b=[1], kind=["x"]))) == [(0, 1)]


def test_doubts_are_said(table: Any) -> None:
    with pytest.warns(GraphWarning, match="the numbers in the remaining column, 'age', became"):
        assert read(table(a=[0], b=[1], age=[3])).weighted
    with pytest.warns(GraphWarning, match="numbers in the column 'year', which were left out"):
        assert not read(table(a=[0], b=[1], year=[3])).weighted
    with pytest.warns(GraphWarning, match="of 4 columns, the columns 'c', 'd' were left out"):
        assert not read(table(a=[0], b=[1], c=[3], d=[4])).weighted
    path = table(a=[0], b=[1], year=[3])
    with pytest.warns(GraphWarning, match="'year'"):
        ew.build(path.with_suffix(".edgewise"), path)


@pytest.mark.parametrize(
    ("columns", "options", "expected"),
    [
        ({"a": [0]}, {}, "has 1 columns on the first line of data; expected one with number 1"),
        ({"a": [0], "b": [1]}, {"weighted": True}, "has 2 columns; weighted=True needs a third"),
        ({"a": [0], "b": [1]}, {"columns": ("a", "c")}, "has the columns a, b; there is no column 'c'"),
        ({"a": [0], "b": [1]}, {"columns": (1, "b")}, "sources and targets are both in column 1"),
        ({"a": [0.0], "b": [1]}, {}, "column 'a' is to have ids and is of type double; expected integers or strings"),
        ({"a": [True], "b": [1]}, {}, "'a' is to have ids and is of type bool"),
        ({"a": ["x"], "b": [1]}, {}, "'a' and 'b' one has strings and one has integers"),
        ({"a": [0], "b": [1], "weight": ["x"]}, {}, "'weight' is to have weights and is of type string"),
        ({"a": [0, None], "b": [1, 2]}, {}, "row 1, counted from 0, has no value in the column 'a'"),
        ({"a": ["x", None], "b": ["y", "z"]}, {}, "row 1, counted from 0, has no value in the column 'a'"),
        ({"a": [0] * 70, "b": [1] * 70, "weight": [1.0] * 66 + [None] * 4}, {}, "row 66, .* no value in .* 'weight'"),
        ({"a": [0] * 70, "b": [1] * 70, "weight": [1.0] * 66 + [float("nan")] * 4}, {}, "row 66, .* the weight nan"),
        ({"a": [0], "b": [1], "weight": pa.array([1], pa.uint32())}, {}, "weight has dtype uint32; expected int32"),
        ({"a": [0], "b": [1]}, {"num_vertices": 1}, "ids in target go from 1 to 1; expected ids from 0 to 0"),
        ({"a": [0], "b": [2]}, {"num_vertices": 2, "index_base": 1}, "source go from 0 to 0; expected ids from 1 to 2"),
        ({"a": ["x"], "b": ["y"]}, {"num_vertices": 2}, "num_vertices is given and the ids are names"),
        ({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())}, {}, "has no edges; give num_vertices"),
        ({"a": [0], "b": [1]}, {"names": True}, "is read as parquet, which has no option names"),
    ],
)  # fmt: skip
def test_what_is_refused(table: Any, columns: dict, options: dict, expected: str) -> None:
    for action in (read, lambda path, **how: ew.build(path.with_suffix(".edgewise"), path, **how)):
        with pytest.raises((ParseError, GraphError), match=expected):
            action(table(**columns), **options)
        if "num_vertices" in options:
            break  # building has words of its own


def test_columns_of_one_name(tmp_path: Path) -> None:
    made = pa.table([pa.array([0]), pa.array([1]), pa.array([2])], names=["a", "a", "b"])
    parquet.write_table(made, tmp_path / "a.parquet")
    with pytest.raises(ParseError, match="has two columns 'a'; expected distinct names"):
        read(tmp_path / "a.parquet", weighted=False)


def test_number_of_vertices(table: Any) -> None:
    path = table(a=[1, 2], b=[2, 3])
    assert read(path, num_vertices=6).num_vertices == 6
    based = read(path, num_vertices=4, index_base=1)
    assert based.vertices.tolist() == [1, 2, 3, 4]
    assert edges_of(based) == [(1, 2), (2, 3)]
    empty = table(a=pa.array([], pa.int64()), b=pa.array([], pa.int64()), weight=pa.array([], pa.float32()))
    graph = read(empty, num_vertices=3)
    assert (graph.num_vertices, graph.num_edges, graph.weight_dtype) == (3, 0, np.float32)


@pytest.mark.parametrize("kind", ["range", "uint64", "names"])
@pytest.mark.parametrize(
    "options", [{}, {"directed": False}, {"parallel_edges": "sum"}, {"self_loops": "drop"}]
)
@pytest.mark.filterwarnings("ignore:.*in both directions")
def test_building_makes_the_file_that_reading_and_saving_does(
    table: Any, tmp_path: Path, kind: str, options: dict
) -> None:
    source, target = columns_of(IDS[kind])
    path = table(source=source, target=target, weight=np.arange(200))
    ew.build(tmp_path / "a.edgewise", path, memory_limit="30MB", **options)
    read(path, **options).save(tmp_path / "b.edgewise")
    assert (tmp_path / "a.edgewise").read_bytes() == (tmp_path / "b.edgewise").read_bytes()


def test_building_takes_several_files_of_one_kind(table: Any, tmp_path: Path) -> None:
    first = table(source=["a"], target=["b"]).rename(tmp_path / "first.parquet")
    second = table(source=["b"], target=["c"])
    seen: list[int] = []
    graph = ew.build(tmp_path / "a.edgewise", [first, second], progress=seen.append)
    assert edges_of(graph) == [("a", "b"), ("b", "c")]
    assert seen == [first.stat().st_size, second.stat().st_size]
    text = tmp_path / "a.txt"
    text.write_text("0 1\n")
    with pytest.raises(GraphError, match="some files are tables of Parquet and some are text"):
        ew.build(tmp_path / "b.edgewise", [first, text])
    assert ew.build(tmp_path / "b.edgewise", table(a=[3], b=[4]), num_vertices=3, index_base=2).num_edges == 1
    large = table(a=np.array([2**63 + 5], np.uint64), b=[9])
    with pytest.raises(
        GraphError, match="ids in source go from 9223372036854775813 to 9223372036854775813; expected"
    ):
        ew.build(tmp_path / "b.edgewise", large, num_vertices=3, index_base=2)


def test_progress_and_recognition(table: Any) -> None:
    path = table(a=[0, 1], b=[1, 0])
    seen: list[int] = []
    assert read(path, progress=seen.append).num_edges == 2
    assert seen == [path.stat().st_size]
    for name in ("a.PQ", "a.bin", "a.csv"):
        path = path.rename(path.with_name(name))
        assert read(path).num_edges == 2
    assert read(path, format="parquet").num_edges == 2


def test_memory_limit(table: Any) -> None:
    many = 400_000
    zeros = pa.array(np.zeros(many, np.int64))
    path = table(a=zeros, b=zeros, row_group_size=many)
    assert path.stat().st_size < 5000
    with pytest.raises(MemoryLimitError, match="memory_limit is 3,000,000"):
        read(path, memory_limit=3e6)
    long = table(a=["x" * 10**6] * 3, b=["y", "z", "x"])
    with pytest.raises(MemoryLimitError):
        read(long, memory_limit=500_000)


def test_damaged_files(table: Any) -> None:
    path = table(source=np.arange(50), target=np.arange(50), weight=np.arange(50) / 4)
    content, random = path.read_bytes(), np.random.default_rng(1)
    for wrong in (content[:-9], b"PAR1", b"PAR1" + bytes(60) + b"PAR1", b""):
        path.write_bytes(wrong)
        with pytest.raises(ParseError, match=r"is no Parquet file, or is damaged"):
            read(path)
    refused = 0
    for _ in range(200):
        changed = bytearray(content)
        changed[random.integers(len(content))] ^= int(random.integers(1, 256))
        path.write_bytes(changed)
        try:
            read(path, weighted=True)
        except EdgewiseError:
            refused += 1
    assert refused > 20


def test_without_pyarrow(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = table(a=[0], b=[1])
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for action in (lambda: read(path), lambda: write(drawn(True, None), path)):
        with pytest.raises(MissingDependencyError, match=r"run: pip install 'edgewise\[parquet\]'"):
            action()


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (Graph.from_edges([2**64], [1]), "there are ids beyond 64 bits"),
        (Graph.from_edges(["\ud800"], ["a"]), "the ids cannot stand in Parquet"),
        (Graph.from_edges([], [], num_vertices=3), "a graph without edges cannot stand in this format"),
    ],
)
def test_graphs_that_cannot_be_written(tmp_path: Path, graph: Graph, expected: str) -> None:
    with pytest.raises(OutputError, match=expected):
        write(graph, tmp_path / "a.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rows", [4, 8])
def test_names_beyond_their_dictionary_are_refused(tmp_path, rows):
    """Bits of the header of a page say how many values its dictionary has; pyarrow takes indices as they come."""
    path, letters = tmp_path / "w.parquet", "abcdefghi"
    table = pa.table({"source": list(letters[:-1]), "target": list(letters[1:])})
    plain = {"compression": "none", "write_statistics": False, "store_schema": False}
    parquet.write_table(table, path, row_group_size=rows, **plain)
    whole, edges = path.read_bytes(), list(pairwise(letters))
    refused = 0
    for place, bit in product(range(8, 20), range(8)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        path.write_bytes(damaged)
        try:
            assert list(ew.read(path).edges()) == edges
        except ParseError:
            refused += 1
    assert refused > 20


def test_a_dictionary_with_a_value_twice_is_refused(tmp_path):
    path = tmp_path / "w.parquet"
    parquet.write_table(
        pa.table({"source": list("abcd"), "target": list("efgh")}),
        path,
        compression="none",
        write_statistics=False,
    )
    whole = path.read_bytes()
    at = whole.index(b"\1\0\0\0a") + 4
    path.write_bytes(whole[:at] + b"c" + whole[at + 1 :])
    with pytest.raises(ParseError, match="is damaged: a dictionary of 3 values has none at place 3"):
        ew.read(path)
