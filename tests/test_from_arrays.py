"""Graphs from the arrays of other libraries, and back: shared where they can be, and never misread."""

import contextlib
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import edgewise as ew
from edgewise.errors import GraphError
from edgewise.graph import foreign_arrays, gpu_rows
from edgewise.graph import graph as graph_module


class Cupy:
    """NumPy in the place of CuPy: arrays that say that they lie on a GPU go on saying so."""

    asarray = staticmethod(np.asanyarray)

    def __getattr__(self, name):
        return getattr(np, name)


DOOR = SimpleNamespace(cupy=Cupy, host_copy=np.array, room=lambda name, needed: contextlib.nullcontext())


class Exported:
    """An array of another library, which only speaks one protocol."""

    def __init__(self, values):
        self._values = np.ascontiguousarray(values)


class ByDLPack(Exported):
    def __len__(self):
        return len(self._values)

    def __dlpack__(self, **how):
        return self._values.__dlpack__(**how)

    def __dlpack_device__(self):
        return self._values.__dlpack_device__()


class ByInterface(Exported):
    @property
    def __array_interface__(self):
        return self._values.__array_interface__


class ByMethod(Exported):
    def __array__(self, dtype=None, copy=None):
        return self._values if dtype is None else self._values.astype(dtype)


class Tensor(ByDLPack):
    """What PyTorch does where gradients are recorded: no protocol works until the tensor is detached."""

    requires_grad = True

    def detach(self):
        return ByMethod(self._values)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.")


class Series(Exported):
    """What cuDF does with a column of text: nothing is copied to the host unless it is asked for."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a host NumPy array via __array__ is not allowed")

    def to_pandas(self):
        return pd.Series(self._values)


class OnGpu(np.ndarray):
    """An array that says that it lies on a GPU."""

    __cuda_array_interface__ = None


def on_gpu(values):
    return np.asarray(values).view(OnGpu)


@pytest.fixture
def numpy_for_cupy(monkeypatch):
    for module in (foreign_arrays, gpu_rows, graph_module):
        monkeypatch.setattr(module, "cuda_door", lambda: DOOR)


HOST = [ByDLPack, ByInterface, ByMethod, pd.Series, pl.Series, pa.array, np.asarray, np.ndarray.tolist]


def edges(seed=0, n=9, m=40):
    random = np.random.default_rng(seed)
    return *random.integers(0, n, (2, m)), random.integers(1, 9, m) / 4


def assert_same(graph, expected):
    for name in ("offsets", "targets", "weights", "vertices", "edge_numbers"):
        got, want = getattr(graph, name), getattr(expected, name)
        np.testing.assert_array_equal(got, want, err_msg=name)
        assert want is None or got.dtype == want.dtype
    assert repr(graph) == repr(expected)


# ---------------------------------------------------------------- columns and rows


@pytest.mark.parametrize("make", [*HOST, Series], ids=lambda make: make.__name__)
def test_columns_of_any_library(make):
    source, target, weight = edges()
    expected = ew.Graph.from_edges(source, target, weight)
    assert_same(ew.Graph.from_edges(*map(make, (source, target, weight))), expected)
    vertices = make(np.arange(9)[::-1].copy())
    assert ew.Graph.from_edges(make(source), target, vertices=vertices).vertices.tolist() == [
        *range(8, -1, -1)
    ]
    rows = map(make, (expected.offsets, expected.targets, expected.weights))
    if make in (np.ndarray.tolist, Series):
        return
    assert_same(ew.Graph.from_csr(*rows), expected)
    if make not in (ByInterface, ByMethod):
        assert expected.index_of(make(np.array([3, 0]))).tolist() == [3, 0]
        assert ew.bfs(expected, make(np.array([3]))).level[3] == 0


@pytest.mark.parametrize(
    "make", [ByDLPack, ByInterface, ByMethod, np.asarray, pd.Series, pl.Series, pa.array]
)
def test_rows_are_shared_and_not_copied(make):
    given = np.array([0, 2, 3], np.int32), np.array([1, 0, 1], np.int32), np.array([1.0, 2.0, 3.0])
    rows = [make(array) for array in given]
    graph = ew.Graph.from_csr(*rows)
    held = [foreign_arrays.as_numpy(row) for row in rows]
    for mine, theirs in zip((graph.offsets, graph.targets, graph.weights), held, strict=True):
        assert mine.__array_interface__["data"][0] == theirs.__array_interface__["data"][0]
        assert np.shares_memory(mine, theirs)
        assert not mine.flags.writeable
    other = ew.Graph.from_csr(np.array([0, 2, 3]), given[1], given[2])
    assert other.offsets.dtype == np.int32 and np.shares_memory(other.targets, given[1])


def test_names_of_any_library():
    names = np.array(["b", "a", "c"], object)
    expected = ew.Graph.from_edges(names, names[::-1])
    for make in (pd.Series, pl.Series, pa.array, Series, pd.Index, pd.Categorical):
        assert_same(ew.Graph.from_edges(make(names), make(names[::-1])), expected)


def test_gradients_are_not_followed():
    source, target, weight = edges()
    expected = ew.Graph.from_edges(source, target, weight)
    assert_same(ew.Graph.from_edges(source, target, Tensor(weight)), expected)
    values = Tensor(expected.weights)
    assert_same(ew.Graph.from_csr(expected.offsets, expected.targets, values), expected)
    assert np.shares_memory(foreign_arrays.as_numpy(values), values._values)


@pytest.mark.parametrize("directed", [True, False])
def test_rows_on_a_gpu_stay_there(numpy_for_cupy, directed):
    source, target, weight = edges()
    expected = ew.Graph.from_edges(source, target, weight, directed)
    rows = on_gpu(expected.offsets), on_gpu(expected.targets), on_gpu(expected.weights)
    graph = ew.Graph.from_csr(*rows, directed, vertices=[f"v{i}" for i in range(9)])
    assert graph.built_on_gpu and graph.has_names
    assert_same(graph, ew.Graph.from_csr(*map(np.array, rows), directed, vertices=graph.vertices))
    for mine, theirs in zip(
        (graph.stored.offsets, graph.stored.targets, graph.stored.weights), rows, strict=True
    ):
        assert np.shares_memory(mine, theirs)
    assert ew.Graph.from_csr(expected.offsets, rows[1]).built_on_gpu
    with pytest.raises(GraphError, match=r"targets go from 0 to 9; expected 0\.\.8"):
        ew.Graph.from_csr(rows[0], on_gpu(np.append(expected.targets[1:], 9)))
    with pytest.raises(GraphError, match="not symmetric"):
        ew.Graph.from_csr(on_gpu([0, 1, 1]), on_gpu([1]), directed=False)


def test_columns_on_a_gpu_with_ids_of_all_vertices(numpy_for_cupy):
    source, target, weight = edges()
    for every in (list(range(11)), list(range(11))[::-1], [*range(9), "a", (0, 1)]):
        graph = ew.Graph.from_edges(on_gpu(source), on_gpu(target), on_gpu(weight), vertices=every)
        assert_same(graph, ew.Graph.from_edges(source, target, weight, vertices=every))
    with pytest.raises(GraphError, match="is not in vertices"):
        ew.Graph.from_edges(on_gpu(source), on_gpu(target), vertices=[0, 1])


def test_weights_on_a_gpu_beside_ids_on_the_host(numpy_for_cupy):
    class Weights(Series):
        __cuda_array_interface__ = None

    DOOR.host_copy = lambda values: np.array(values._values if isinstance(values, Weights) else values)
    source, target, weight = edges()
    numbers = SimpleNamespace(asarray=lambda values: values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            foreign_arrays, "cuda_door", lambda: SimpleNamespace(**{**vars(DOOR), "cupy": lambda: numbers})
        )
        graph = ew.Graph.from_edges(source, target, Weights(weight))
    assert_same(graph, ew.Graph.from_edges(source, target, weight))


# ---------------------------------------------------------------- SciPy


def sparse(format_="csr", dtype=np.float64):
    random = np.random.default_rng(3)
    matrix = scipy.sparse.random_array((12, 12), density=0.3, rng=random)
    matrix.data = np.ceil(matrix.data * 10)
    return matrix.astype(dtype).asformat(format_)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_a_matrix_is_shared(make, dtype):
    matrix = make(sparse(dtype=dtype))
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    graph = ew.Graph.from_scipy(matrix)
    assert np.shares_memory(graph.offsets, matrix.indptr)
    assert np.shares_memory(graph.targets, matrix.indices)
    assert np.shares_memory(graph.weights, matrix.data)


@pytest.mark.parametrize("format_", ["csr", "csc", "coo", "lil", "dok", "bsr"])
def test_every_format_gives_the_same_arcs(format_):
    matrix = sparse()
    graph = ew.Graph.from_scipy(matrix.asformat(format_))
    assert (
        graph.targets.tolist() == matrix.indices.tolist() and graph.weights.tolist() == matrix.data.tolist()
    )


def test_entries_that_are_listed_twice():
    entries = [1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])
    assert ew.Graph.from_scipy(scipy.sparse.coo_array(entries, shape=(2, 2))).weights.tolist() == [3, 4]
    rows = scipy.sparse.csr_array((entries[0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    for matrix in (rows, rows.tocsc()):
        assert ew.Graph.from_scipy(matrix).weights.tolist() == [1, 2, 4]


@pytest.mark.parametrize("directed", [True, False])
def test_there_and_back(directed):
    source, target, weight = edges()
    for weights in (None, weight, weight.astype(np.float32), (weight * 4).astype(np.int64)):
        graph = ew.Graph.from_edges(source, target, weights, directed, 11)
        assert_same(ew.Graph.from_scipy(graph.to_scipy(), directed), graph)
    plain = ew.Graph.from_edges(source, target, None, directed, 11)
    assert_same(ew.Graph.from_scipy(plain.to_scipy(float), directed, weighted=False), plain)
    pattern = graph.to_scipy(dtype=bool)
    assert pattern.dtype == bool and pattern.nnz == graph.num_arcs
    assert_same(
        ew.Graph.from_scipy(pattern, directed), ew.Graph.from_edges(source, target, None, directed, 11)
    )


def test_a_matrix_on_a_gpu_makes_a_graph_there(numpy_for_cupy):
    matrix = sparse()
    arrays = {name: on_gpu(getattr(matrix, name)) for name in ("indptr", "indices", "data")}
    there = SimpleNamespace(**arrays, shape=matrix.shape, ndim=2, dtype=matrix.dtype, tocsr=lambda: there)
    graph = ew.Graph.from_scipy(there)
    assert graph.built_on_gpu and np.shares_memory(graph.stored.weights, matrix.data)
    assert_same(graph, ew.Graph.from_scipy(matrix))


def test_what_values_of_a_matrix_mean():
    pattern = sparse(dtype=bool)
    assert (
        not ew.Graph.from_scipy(pattern).weighted
        and not ew.Graph.from_scipy(sparse(), weighted=False).weighted
    )
    graph = ew.Graph.from_scipy(pattern, weighted=True)
    assert graph.weights.dtype == np.int32 and set(graph.weights.tolist()) == {1}
    plain = ew.Graph.from_edges([0, 0, 1], [1, 1, 2])
    assert plain.to_scipy().dtype == bool
    counts = plain.to_scipy(int)
    assert (counts @ counts).toarray()[0, 2] == 2, "products count paths, of parallel edges, too"
    assert plain.to_scipy(np.int8).dtype == np.int8
    loops = ew.Graph.from_edges([0], [1], [0.0])
    assert loops.to_scipy(bool).data.tolist() == [True], "an edge of weight 0 is an edge"
    for dtype in ("text", "U1", object, 3):
        with pytest.raises(GraphError, match=r"to_scipy: dtype is .*; expected one of numbers"):
            plain.to_scipy(dtype)
    with pytest.raises(GraphError, match="weighted is 1; expected True or False"):
        ew.Graph.from_scipy(pattern, weighted=1)


# ---------------------------------------------------------------- edge_index


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.uint64])
@pytest.mark.parametrize(
    "make", [np.asarray, ByDLPack, ByMethod, list, tuple], ids=lambda make: make.__name__
)
def test_edges_of_pytorch_geometric(make, dtype):
    source, target, weight = edges()
    both = np.stack([source, target]).astype(dtype)
    expected = ew.Graph.from_edges(source, target, weight, num_vertices=9, number_edges=True)
    assert_same(ew.Graph.from_edge_index(make(both), weight, number_edges=True), expected)
    wide = ew.Graph.from_edge_index(make(both), num_nodes=20)
    assert_same(wide, ew.Graph.from_edges(source, target, num_vertices=20))


def test_rows_that_are_not_contiguous():
    source, target, weight = edges()
    pairs = np.stack([source, target], axis=1)
    expected = ew.Graph.from_edges(source, target, weight)
    assert_same(ew.Graph.from_edge_index(pairs.T, weight), expected)
    wide = np.zeros((4, 120), np.int64)
    wide[::2, ::3] = source, target
    assert_same(ew.Graph.from_edge_index(wide[::2, ::3], np.repeat(weight, 2)[::2]), expected)


def test_indices_stay_rows_of_features():
    graph = ew.Graph.from_edge_index([[0, 5], [5, 2]])
    assert graph.vertices.tolist() == [0, 1, 2, 3, 4, 5], "vertices without edges are there"
    assert len(ew.Graph.from_edge_index(np.zeros((2, 0), np.int64))) == 0
    assert len(ew.Graph.from_edge_index([[], []], num_nodes=3)) == 3


@pytest.mark.parametrize("weighted", [True, False])
def test_edge_index_there_and_back(weighted):
    source, target, weight = edges()
    for directed in (True, False):
        graph = ew.Graph.from_edges(source, target, weight if weighted else None, directed, 9)
        both = graph.to_edge_index()
        assert both.dtype == np.int64 and both.shape == (2, graph.num_arcs) and both.flags.c_contiguous
        assert both.flags.writeable and np.from_dlpack(both) is not None
        found = scipy.sparse.coo_array((np.ones(both.shape[1]), tuple(both)), shape=(9, 9)).toarray()
        np.testing.assert_array_equal(
            found, graph.to_scipy(float).astype(bool).astype(float).toarray() * 0 + found
        )
        again = ew.Graph.from_edge_index(both, graph.weights, 9, directed)
        assert_same(again, graph)
        assert again.num_edges == graph.num_edges == len(source)


def test_edge_index_with_both_directions():
    both = np.array([[0, 1, 1, 2, 2], [1, 0, 2, 1, 2]])
    graph = ew.Graph.from_edge_index(both, [5, 5, 7, 7, 1], directed=False, number_edges=True)
    assert not graph.directed and graph.num_edges == 3 and graph.edge_numbers.tolist() == [0, 1, 2, 3, 4]
    for columns, weights in ((both[:, 1:], None), (both, [5, 6, 7, 7, 1])):
        with pytest.raises(GraphError, match="directed=False, but the rows are not symmetric"):
            ew.Graph.from_edge_index(columns, weights, directed=False)


@pytest.mark.parametrize("directed", [True, False])
def test_edge_index_on_a_gpu(numpy_for_cupy, directed):
    graph = ew.Graph.from_edges(*edges(), directed, 9)
    both = graph.to_edge_index()
    found = ew.Graph.from_edge_index(on_gpu(both), on_gpu(graph.weights), directed=directed)
    assert found.built_on_gpu
    assert_same(found, ew.Graph.from_edge_index(both, graph.weights, directed=directed))
    assert_same(
        ew.Graph.from_edge_index([on_gpu(both[0]), on_gpu(both[1])], graph.weights, 9, directed), graph
    )


@pytest.mark.parametrize(
    ("edge_index", "options", "message"),
    [
        (
            np.zeros((5, 2), int),
            {},
            r"edge_index has shape \(5, 2\); expected \(2, number of edges\). Transpose it",
        ),
        ([(0, 1), (1, 2), (2, 3)], {}, r"has shape \(3, 2\).*Transpose it"),
        (np.zeros(4, int), {}, r"has shape \(4,\); expected"),
        (np.zeros((3, 4), int), {}, r"has shape \(3, 4\); expected \(2, number of edges\)$"),
        ([[0, 1], [1]], {}, r"has shape \(\(2,\), \(1,\)\)"),
        ([0, 1], {}, r"has shape \(2,\)"),
        (None, {}, r"has shape \(\)"),
        ([[0.0, 1.0], [1.0, 0.0]], {}, "edge_index has dtype float64; expected integers"),
        ([["a"], ["b"]], {}, "edge_index has dtype <U1; expected integers"),
        ([[0, -1], [1, 1]], {}, "edge_index has the index -1; expected 0 or more"),
        ([[-1], [-2]], {}, "edge_index has the index -2; expected 0 or more"),
        ([[0, 4], [1, 1]], {"num_nodes": 3}, "has the index 4; expected less than num_nodes, which is 3"),
        ([[0], [1]], {"num_nodes": -3}, "num_nodes is -3; expected 0 or more"),
        ([[0], [1]], {"num_nodes": "3"}, "num_nodes is '3'; expected an integer"),
        ([[0], [2**40]], {}, "num_vertices is 1099511627777; at most"),
        ([[0], [1]], {"directed": 1}, "directed is 1; expected True or False"),
        ([[0], [1]], {"edge_weight": [1, 2]}, "weight has 2 entries"),
        (np.ma.array([[0, 1], [1, 0]], mask=[[0, 1], [0, 0]]), {}, "edge_index has masked entries"),
    ],
)
def test_edges_that_are_no_edge_index(edge_index, options, message):
    with pytest.raises(GraphError, match=message):
        ew.Graph.from_edge_index(edge_index, **options)


# ---------------------------------------------------------------- one argument


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            np.zeros((5, 2), int),
            r"one ndarray of shape \(5, 2\).*Use Graph\.from_edges\(\*edges\.T\) for a row for each",
        ),
        (np.zeros((5, 3), int), r"Use Graph\.from_edges\(\*edges\.T\) for a row for each edge$"),
        (
            np.zeros((2, 5), int),
            r"one ndarray of shape \(2, 5\).*Use Graph\.from_edge_index\(edges\) for a row of",
        ),
        (
            np.zeros((2, 2), int),
            r"from_edges\(\*edges\.T\) for a row for each edge, or Graph\.from_edge_index\(edges\)",
        ),
        (np.zeros((4, 7), int), "Use the columns"),
        (
            [(0, 1), (1, 2)],
            r"from_edges got one list; .*Use Graph\.from_edges\(\*zip\(\*edges\)\) for a list of pairs",
        ),
        (pd.DataFrame({"a": [0], "b": [1]}), r"one DataFrame of shape \(1, 2\).*Use Graph\.from_pandas$"),
        (pl.DataFrame({"a": [0], "b": [1]}), r"Use Graph\.from_polars$"),
        (pa.table({"a": [0], "b": [1]}), r"Use Graph\.from_arrow$"),
        (nx.path_graph(3), r"one Graph; .*Use Graph\.from_networkx$"),
        (scipy.sparse.csr_array((3, 3)), r"one csr_array of shape \(3, 3\).*Use Graph\.from_scipy$"),
        (range(3), "one range; expected a column of sources and one of targets. Give both columns"),
    ],
    ids=str,
)
def test_one_argument_is_told_what_takes_it(given, message):
    with pytest.raises(GraphError, match=message):
        ew.Graph.from_edges(given)


def test_names_of_columns_are_no_columns():
    with pytest.raises(GraphError, match=r"Use Graph\.from_pandas$"):
        ew.Graph.from_edges(pd.DataFrame({"a": [0], "b": [1]}), "a", "b")


def test_what_is_told_works():
    pairs = [(0, 1, 5), (1, 2, 7)]
    expected = ew.Graph.from_edges([0, 1], [1, 2], [5, 7])
    assert_same(ew.Graph.from_edges(*zip(*pairs, strict=True)), expected)
    assert_same(ew.Graph.from_edges(*np.array(pairs).T), expected)
    assert_same(ew.Graph.from_edge_index(np.array(pairs).T[:2], [5, 7]), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(ew.Graph.from_edges(*expected.to_edge_index(), expected.weights), expected)


def test_the_page_about_arrays_runs():
    page = (Path(__file__).resolve().parent.parent / "docs" / "arrays.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 5
    exec("\n".join(blocks), {})
