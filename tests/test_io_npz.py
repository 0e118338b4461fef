"""Archives of NumPy: SciPy's sparse matrices, data sets for learning on graphs, columns of edges."""

import contextlib
import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from io_cases import drawn, edges_of, sorted_edges

from edgewise.errors import EdgewiseError, GraphError, GraphWarning, MemoryLimitError, OutputError, ParseError
from edgewise.graph import Graph
from edgewise.io import read, write

pytestmark = pytest.mark.filterwarnings("ignore:.*which became numbers")


@pytest.fixture
def archive(tmp_path: Path) -> Any:
    """Makes an archive of arrays."""

    def make(**arrays: Any) -> Path:
        np.savez(tmp_path / "a.npz", **arrays)
        return tmp_path / "a.npz"

    return make


def matrix(dtype: str, seed: int = 1) -> Any:
    """A drawn matrix without zeros among its entries."""
    random = np.random.default_rng(seed)
    entries = random.integers(1, 9, (24, 24)) * (random.random((24, 24)) < 0.2)
    return scipy.sparse.coo_array(entries.astype(dtype))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("packed", [True, False])
def test_matrices_of_scipy(tmp_path: Path, form: str, dtype: str, packed: bool) -> None:
    found = matrix(dtype).asformat(form)
    scipy.sparse.save_npz(tmp_path / "a.npz", found, compressed=packed)
    seen: list[int] = []
    graph = read(tmp_path / "a.npz", progress=seen.append)
    expected = Graph.from_scipy(matrix(dtype).tocsr())
    assert graph.directed
    assert graph.num_vertices == 24
    assert sorted_edges(graph) == sorted_edges(expected)
    assert graph.weight_dtype == expected.weight_dtype
    assert seen == sorted(seen)
    assert seen[-1] >= found.data.nbytes
    assert not read(tmp_path / "a.npz", weighted=False).weighted


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [None, "int32", "int64", "float32", "float64"])
def test_written_as_scipy_reads_it_and_read_back(tmp_path: Path, directed: bool, weights: str | None) -> None:
    graph = drawn(directed, weights)
    done: list[int] = []
    write(graph, tmp_path / "a.npz", done.append)
    loaded = scipy.sparse.load_npz(tmp_path / "a.npz")
    assert (loaded != graph.to_scipy()).nnz == 0
    assert loaded.dtype == (bool if weights is None else weights)
    back = read(tmp_path / "a.npz", directed=directed)
    assert back.directed == directed
    assert (back.num_edges, back.weight_dtype) == (graph.num_edges, graph.weight_dtype)
    assert edges_of(back) == edges_of(graph)
    assert done == [graph.num_arcs]


def test_stored_zeros_are_edges_and_those_of_blocks_are_none(tmp_path: Path) -> None:
    stored = scipy.sparse.csr_array(([0, 3], [1, 0], [0, 1, 2]), shape=(2, 2))
    scipy.sparse.save_npz(tmp_path / "a.npz", stored)
    assert edges_of(read(tmp_path / "a.npz")) == [(0, 1, 0), (1, 0, 3)]
    scipy.sparse.save_npz(tmp_path / "a.npz", stored.tobsr((2, 2)))
    assert edges_of(read(tmp_path / "a.npz")) == [(1, 0, 3)]


def test_entries_listed_twice(tmp_path: Path) -> None:
    twice = scipy.sparse.coo_array(([5, 7, 2], ([0, 0, 1], [1, 1, 0])), shape=(3, 3))
    scipy.sparse.save_npz(tmp_path / "a.npz", twice)
    assert edges_of(read(tmp_path / "a.npz")) == [(0, 1, 12), (1, 0, 2)]
    assert edges_of(read(tmp_path / "a.npz", parallel_edges="min")) == [(0, 1, 5), (1, 0, 2)]
    rows = scipy.sparse.csr_array(([5, 7], [1, 1], [0, 2, 2]), shape=(2, 2))
    scipy.sparse.save_npz(tmp_path / "a.npz", rows)
    assert edges_of(read(tmp_path / "a.npz")) == [(0, 1, 5), (0, 1, 7)]


def test_direction(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    symmetric = matrix("int64") + matrix("int64").T
    scipy.sparse.save_npz(path, symmetric)
    graph = read(path, directed=False)
    loops = np.count_nonzero(symmetric.diagonal())
    assert graph.num_edges == (symmetric.nnz + loops) // 2
    assert sorted_edges(graph) == sorted_edges(read(path))
    assert read(path, directed=False, self_loops="drop").num_edges == (symmetric.nnz - loops) // 2
    scipy.sparse.save_npz(path, scipy.sparse.triu(matrix("int64")))
    with pytest.raises(
        ParseError, match=r'is not symmetric, and directed=False .* give parallel_edges="first"'
    ):
        read(path, directed=False)
    upper = scipy.sparse.triu(matrix("int64"))
    assert read(path, directed=False, parallel_edges="first").num_edges == upper.nnz


def test_data_sets_for_learning(archive: Any) -> None:
    rows = matrix("float32").tocsr()
    labels = np.array([None, "a"])
    path = archive(
        adj_data=rows.data,
        adj_indices=rows.indices,
        adj_indptr=rows.indptr,
        adj_shape=rows.shape,
        labels=labels,
    )
    assert edges_of(read(path)) == edges_of(Graph.from_scipy(rows))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64"])
def test_columns_of_edges(archive: Any, dtype: str) -> None:
    ends = np.array([[0, 9, 0], [9, 0, 3]], dtype)
    assert edges_of(read(archive(edge_index=ends))) == [(0, 9), (0, 3), (9, 0)]
    assert read(archive(edge_index=ends)).vertices.tolist() == [0, 3, 9]
    weights = np.array([0.5, 1, 2], np.float32)
    path = archive(edge_index=ends, edge_weight=weights, num_nodes=11)
    assert read(path).num_vertices == 11
    assert edges_of(read(path))[0] == (0, 9, 0.5)
    assert read(path, num_vertices=12, index_base=-1).vertices.tolist() == list(range(-1, 11))
    assert read(path, directed=False, parallel_edges="min", weighted=False).num_edges == 2
    with pytest.raises(GraphError, match="ids in source go from 0 to 9; expected ids from 0 to 3"):
        read(path, num_vertices=4)
    with pytest.raises(ParseError, match="no array edge_weight"):
        read(archive(edge_index=ends), weighted=True)
    with pytest.raises(ParseError, match=r"edge_index has shape \(3, 2\); expected \(2, m\)"):
        read(archive(edge_index=ends.T))
    with pytest.raises(GraphError, match="source has 3, target has 3, weight has 2"):
        read(archive(edge_index=ends, edge_weight=weights[:2]))


def test_features_of_edges_are_left_out_with_a_word(archive: Any) -> None:
    path = archive(edge_index=np.array([[0, 1], [1, 2]]), edge_attr=np.array([0.5, 1]))
    with pytest.warns(GraphWarning, match="has the array edge_attr, which was left out"):
        assert not read(path).weighted
    assert not read(path, weighted=False).weighted


CSR = {
    "format": b"csr",
    "shape": np.array([2, 2]),
    "data": np.array([1.5, 2]),
    "indices": np.array([1, 0]),
    "indptr": np.array([0, 1, 2]),
}
COO = {
    "format": b"coo",
    "shape": np.array([2, 2]),
    "data": np.ones(2),
    "row": np.array([0, 1]),
    "col": np.array([1, 0]),
}
BSR = CSR | {"format": b"bsr", "data": np.ones((2, 1, 1))}
DIA = {"format": b"dia", "shape": np.array([2, 2]), "data": np.ones((1, 2)), "offsets": np.array([0])}


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        (CSR | {"format": b"lil"}, "matrix of format 'lil'; expected csr, csc, coo, bsr, dia"),
        (CSR | {"shape": np.array([2, 3])}, r"shape \(2, 3\); expected a square one"),
        (CSR | {"shape": np.array([2**31, 2**31])}, "at most 2"),
        (CSR | {"shape": np.array([2.0, 2.0])}, "'shape' is float64"),
        (CSR | {"shape": np.array([3, 3])}, "has 3 offsets of 3 rows; expected one more"),
        (CSR | {"indices": np.array([1, 2])}, "is damaged: targets go from 1 to 2; expected 0..1"),
        (CSR | {"indptr": np.array([0, 2, 1])}, "is damaged: offsets must go from 0 to 2"),
        (CSR | {"indices": np.array([1.0, 0.0])}, "the array 'indices' is float64 of shape"),
        (CSR | {"data": np.array([1.5])}, "has 2 entries and 1 values"),
        (CSR | {"data": np.array([1.5, np.nan])}, r"weight\[1\] is nan; expected finite"),
        (CSR | {"data": np.array([1j, 2])}, "'data' is complex128"),
        (CSR | {"data": np.array([1, 2], np.uint32)}, "weight has dtype uint32; expected int32, int64"),
        (CSR | {"data": np.array([{}, None])}, "'data' holds objects of Python, which are never loaded"),
        (
            {name: array for name, array in CSR.items() if name != "indices"},
            "has no array 'indices'; it has data, ",
        ),
        (COO | {"row": np.array([0, 2])}, "ids in source go from 0 to 2; expected ids from 0 to 1"),
        (COO | {"row": np.array([0, -1])}, "ids in source go from -1 to 0"),
        (COO | {"row": np.array([0])}, "has 1 entries and 2 values"),
        (BSR | {"data": np.ones((2, 2, 1))}, "blocks of 2 by 1 in 2 rows of blocks"),
        (BSR | {"indices": np.array([1, 2])}, "targets go from 1 to 2"),
        (
            BSR | {"shape": np.array([0, 0]), "data": np.ones((2, 0, 0))},
            "blocks of 0 by 0 in 2 rows of blocks",
        ),
        (DIA | {"offsets": np.array([0, 0])}, "has 1 diagonals and 2 places"),
        (
            DIA | {"offsets": np.array([2**32 + 1])},
            "diagonals from 4294967297 to 4294967297; expected those of a",
        ),
        (
            {"a": np.arange(3), "b": np.arange(3)},
            r"has the arrays a, b; expected those of scipy.sparse.save_npz",
        ),
    ],
)
def test_what_is_no_graph_is_refused(archive: Any, arrays: dict[str, Any], expected: str) -> None:
    with pytest.raises((ParseError, GraphError), match=expected) as error:
        read(archive(**arrays))
    assert str(archive()) in str(error.value)


def test_diagonals_of_short_floats(archive: Any) -> None:
    path = archive(**(DIA | {"data": np.array([[0.5, 1]], np.float16), "offsets": np.array([1])}))
    assert edges_of(read(path)) == [(0, 1, 1)]


def test_rows_of_nothing_are_counted_before_they_are_made(archive: Any) -> None:
    huge = np.array([2**22, 2**22])
    with pytest.raises(MemoryLimitError, match="at least 67,"):  # not what the finished rows take
        read(archive(**(DIA | {"shape": huge})), memory_limit="2MB")


@pytest.mark.parametrize("option", [{"num_vertices": 2}, {"index_base": 1}, {"columns": (0, 1)}])
def test_options_that_a_matrix_has_not(archive: Any, option: dict[str, Any]) -> None:
    with pytest.raises(ParseError, match=f"has no option {next(iter(option))}"):
        read(archive(**CSR), **option)


def test_truth_values_are_no_weights(archive: Any) -> None:
    path = archive(**(CSR | {"data": np.array([True, True])}))
    assert not read(path).weighted
    with pytest.raises(ParseError, match="has truth values, and no weights"):
        read(path, weighted=True)


def promising(shape: tuple[int, ...], held: bytes, dtype: str = "<f8") -> bytes:
    """The bytes of an array whose header promises a shape."""
    made = io.BytesIO()
    np.lib.format.write_array_header_1_0(made, {"descr": dtype, "fortran_order": False, "shape": shape})
    return made.getvalue() + held


def zipped(path: Path, arrays: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in arrays.items():
            made.writestr(f"{name}.npy", content)
    return path


def test_sizes_are_checked_before_memory_is_taken(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.npz", {"edge_index": promising((2, 2**50), bytes(16), "<i8")})
    with pytest.raises(
        ParseError, match=r"shape \(2, 1125899906842624\) takes .* bytes, and the archive says"
    ):
        read(path)
    path = zipped(tmp_path / "a.npz", {"edge_index": promising((2, -1), b"", "<i8")})
    with pytest.raises(ParseError, match="is damaged"):
        read(path)
    bomb = zipped(tmp_path / "a.npz", {"edge_index": promising((2, 2**20), bytes(2**24), "<i8")})
    assert bomb.stat().st_size < 2**15
    with pytest.raises(MemoryLimitError, match="at least 16,777,216 bytes"):
        read(bomb, memory_limit=2**22)


def test_damaged_archives(tmp_path: Path, archive: Any) -> None:
    path = archive(**CSR)
    content = path.read_bytes()
    for wrong in (content[:-30], content[:200], b"PK\3\4", b"PK\3\4" + bytes(100)):
        path.write_bytes(wrong)
        with pytest.raises(ParseError, match="is truncated or damaged"):
            read(path)
    random = np.random.default_rng(1)
    for _ in range(200):
        changed = bytearray(content)
        changed[random.integers(len(content))] ^= int(random.integers(1, 256))
        path.write_bytes(changed)
        with contextlib.suppress(EdgewiseError):
            read(path)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as made:
        made.writestr("a.txt", "0 1")
    with pytest.raises(ParseError, match=r"holds no arrays; expected an archive as NumPy writes it"):
        read(tmp_path / "b.zip")


def test_recognised_by_content_and_name(archive: Any) -> None:
    path = archive(**CSR)
    for name in ("a.NPZ", "a.bin", "a.txt"):
        assert read(path.rename(path.with_name(name))).num_edges == 2
        path = path.with_name(name)
    assert read(path, format="npz").num_edges == 2


def test_writing_refuses_what_it_has_no_place_for(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no place for what in_edges"):
        write(drawn(True, None), tmp_path / "a.npz", in_edges=True)
    with pytest.raises(OutputError, match="ends in"):
        write(drawn(True, None), tmp_path / "a.npz.gz")
    write(Graph.from_edges([], [], num_vertices=3), tmp_path / "a.npz")
    assert read(tmp_path / "a.npz").num_vertices == 3


def test_edge_attributes_are_lost_with_a_warning(tmp_path: Path) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], edge_attributes={"year": [1, 2]})
    with pytest.warns(GraphWarning, match="without the edge attributes year"):
        write(graph, tmp_path / "a.npz")
    assert read(tmp_path / "a.npz").num_edges == 2


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", ["a.npz", "a.parquet", "a.graphml", "a.sg"])
def test_progress_as_a_bar(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is shown for work of seconds only; here it must do no harm."""
    write(drawn(True, None), tmp_path / name)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert read(tmp_path / name, progress=True).num_edges == 150
    assert read(tmp_path / name, progress=False).num_edges == 150
