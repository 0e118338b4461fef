"""Graphs: against a model of plain dictionaries, and by their named properties."""

import contextlib
import copy
import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgewise.errors import GraphError
from edgewise.graph import Graph, buckets, csr, numbering
from edgewise.kernels.cpu import launch

WEIGHT_DTYPES = (np.int32, np.int64, np.float32, np.float64)


@contextlib.contextmanager
def tiny_pieces(threads: int = 2, arcs_per_bucket: int = 3, short_arcs: int = 2**31) -> Iterator[None]:
    """Make small graphs go through many blocks, buckets and threads, or have 64-bit offsets."""
    with (
        mock.patch.dict("os.environ", EDGEWISE_NUM_THREADS=str(threads)),
        mock.patch.object(buckets, "_ARCS_PER_BUCKET", arcs_per_bucket),
        mock.patch.object(csr, "MAX_SHORT_ARCS", short_arcs),
        mock.patch.object(launch, "best_threads", lambda work, most, rounds=1: most),
        mock.patch.object(numbering, "_SHORT_TABLE", 4),
        mock.patch.object(numbering, "_SHORT_MAP", 16),
    ):
        yield


# ---------------------------------------------------------------- the model

ID_KINDS = {
    "dense": st.integers(0, 12),
    "gaps": st.integers(0, 12).map(lambda x: x * 2 + 1),
    "sparse": st.integers(0, 12).map(lambda x: (x - 6) * 10**15),
    "unsigned": st.integers(0, 12).map(lambda x: 2**63 + x),
    "long": st.integers(0, 12).map(lambda x: (x - 6) * 10**20),
    "names": st.integers(0, 12).map(lambda x: f"vertex {x}"),
}


@st.composite
def drawn_edges(draw: Any) -> dict[str, Any]:
    """Edges of some kind of id, with or without weights, and the options of a graph."""
    kind = draw(st.sampled_from(sorted(ID_KINDS)))
    ids = ID_KINDS[kind]
    edges = draw(st.lists(st.tuples(ids, ids, st.integers(-3, 3)), max_size=60))
    return {
        "edges": edges,
        "weight_dtype": draw(st.sampled_from([None, *WEIGHT_DTYPES])),
        "directed": draw(st.booleans()),
        "num_vertices": draw(st.sampled_from([None, 13])) if kind == "dense" else None,
        "parallel_edges": draw(st.sampled_from(["keep", "min", "sum", "first"])),
        "self_loops": draw(st.sampled_from(["keep", "drop"])),
        "threads": draw(st.sampled_from([1, 2, 3])),
        "short_arcs": draw(st.sampled_from([2**31, 4])),
    }


def model_vertices(edges: list, num_vertices: int | None) -> list:
    if num_vertices is not None:
        return list(range(num_vertices))
    found = list(dict.fromkeys(end for u, v, _ in edges for end in (u, v)))
    return found if found and isinstance(found[0], str) else sorted(found)


def model_rows(edges: list, vertices: list, directed: bool, parallel_edges: str, self_loops: str) -> list:
    """The rows as lists of [target, weight], built one arc at a time."""
    index = {vertex: i for i, vertex in enumerate(vertices)}
    rows: list[list] = [[] for _ in vertices]

    def add(u: int, v: int, weight: int) -> None:
        same = [arc for arc in rows[u] if arc[0] == v]
        if parallel_edges == "keep" or not same:
            rows[u].append([v, weight])
        elif parallel_edges == "min":
            same[0][1] = min(same[0][1], weight)
        elif parallel_edges == "sum":
            same[0][1] += weight

    for source, target, weight in edges:
        u, v = index[source], index[target]
        if u == v and self_loops == "drop":
            continue
        add(u, v, weight)
        if not directed and u != v:
            add(v, u, weight)
    return rows


def check_against_model(graph: Graph, rows: list, drawn: dict[str, Any]) -> None:
    n, arcs = len(rows), [(u, v, w) for u, row in enumerate(rows) for v, w in row]
    loops = sum(u == v for u, v, _ in arcs)
    assert graph.num_vertices == n
    assert graph.num_arcs == len(arcs)
    assert graph.num_edges == (len(arcs) if drawn["directed"] else (len(arcs) + loops) // 2)
    assert graph.offsets.dtype == (np.int32 if len(arcs) < drawn["short_arcs"] else np.int64)
    assert graph.offsets.tolist() == np.cumsum([0, *map(len, rows)]).tolist()
    assert list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)) == [a[:2] for a in arcs]
    assert graph.out_degree.tolist() == [len(row) for row in rows]
    assert graph.in_degree.tolist() == [sum(v == x for _, v, _ in arcs) for x in range(n)]
    assert (graph.weights is None) == (drawn["weight_dtype"] is None)
    if graph.weights is not None:
        assert graph.weights.dtype == drawn["weight_dtype"]
        assert graph.weights.tolist() == [w for *_, w in arcs]


def check_columns(graph: Graph) -> None:
    """The arcs by target are the arcs, in the stated order, and `in_arcs` says which is which."""
    entered = np.repeat(np.arange(graph.num_vertices), np.diff(graph.in_offsets))
    assert np.array_equal(graph.sources[graph.in_arcs], graph.in_sources)
    assert np.array_equal(graph.targets[graph.in_arcs], entered)
    assert sorted(graph.in_arcs.tolist()) == list(range(graph.num_arcs))
    if graph.weights is not None:
        assert np.array_equal(graph.weights[graph.in_arcs], graph.in_weights)
    if graph.directed:
        assert np.array_equal(np.lexsort((graph.in_arcs, graph.in_sources, entered)), np.arange(len(entered)))
    else:
        assert graph.in_sources is graph.targets


@pytest.mark.more
@settings(max_examples=150, deadline=None)
@given(drawn_edges())
@example(
    {
        "edges": [("a", "a", 1), ("a", "a", 2), ("a", "b", 3), ("b", "a", -3)],
        "weight_dtype": np.int32,
        "directed": False,
        "num_vertices": None,
        "parallel_edges": "keep",
        "self_loops": "keep",
        "threads": 3,
        "short_arcs": 4,
    }
)
def test_graph_agrees_with_model(drawn: dict[str, Any]) -> None:
    edges, dtype = drawn["edges"], drawn["weight_dtype"]
    vertices = model_vertices(edges, drawn["num_vertices"])
    weight = None if dtype is None else np.array([w for *_, w in edges], dtype)
    with tiny_pieces(drawn["threads"], short_arcs=drawn["short_arcs"]):
        graph = Graph.from_edges(
            [u for u, _, _ in edges],
            [v for _, v, _ in edges],
            weight,
            drawn["directed"],
            drawn["num_vertices"],
            parallel_edges=drawn["parallel_edges"],
            self_loops=drawn["self_loops"],
        )
        options = (drawn["directed"], drawn["parallel_edges"], drawn["self_loops"])
        check_against_model(graph, model_rows(edges, vertices, *options), drawn)
        check_columns(graph)
    assert graph.vertices.tolist() == vertices
    assert graph.index_of(vertices).tolist() == list(range(len(vertices)))
    assert graph.ids_of(np.arange(len(vertices))).tolist() == vertices


# ---------------------------------------------------------------- size and threads


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("weight_dtype", [None, np.float32, np.int64])
def test_many_edges(threads: int, weight_dtype: Any) -> None:
    """Several blocks, buckets and a bucket that is longer than a thread's share."""
    rng = np.random.default_rng(7)
    n, m = 5000, 200_000
    source, target = rng.integers(0, n, (2, m))
    source[: m // 2] = 17
    weight = None if weight_dtype is None else rng.integers(0, 100, m).astype(weight_dtype)
    order = np.argsort(source, kind="stable")
    with mock.patch.dict("os.environ", EDGEWISE_NUM_THREADS=str(threads)):
        graph = Graph.from_edges(source, target, weight, num_vertices=n)
        check_columns(graph)
    assert np.array_equal(np.diff(graph.offsets), np.bincount(source, minlength=n))
    assert np.array_equal(graph.targets, target[order])
    if weight is not None:
        assert np.array_equal(graph.weights, weight[order])


@pytest.mark.parametrize("weight_dtype", [None, np.float32, np.float64])
@pytest.mark.parametrize("num_vertices", [None, 2**15])
def test_building_takes_little_memory(weight_dtype: Any, num_vertices: int | None) -> None:
    """At most twice the finished graph beyond the input, for integer ids without gaps."""
    source, target = np.random.default_rng(1).integers(0, 2**15, (2, 2**20))
    weight = None if weight_dtype is None else np.ones(len(source), weight_dtype)
    Graph.from_edges(source, target, weight, num_vertices=num_vertices)  # compiles
    tracemalloc.start()
    graph = Graph.from_edges(source, target, weight, num_vertices=num_vertices)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 2 * graph.nbytes


def test_many_distinct_ids() -> None:
    rng = np.random.default_rng(8)
    ids = np.unique(rng.integers(-(2**62), 2**62, 30_000))
    source, target = rng.integers(0, len(ids), (2, 100_000))
    graph = Graph.from_edges(ids[source], ids[target])
    used = np.unique(np.concatenate([source, target]))
    assert np.array_equal(graph.vertices, ids[used])
    assert np.array_equal(np.sort(graph.vertices[graph.targets]), np.sort(ids[target]))


def test_merging_in_many_rows_and_a_long_one() -> None:
    rng = np.random.default_rng(9)
    n, m = 2000, 100_000
    source, target = rng.integers(0, n, (2, m))
    source[: m // 2] = 3
    weight = rng.integers(1, 100, m)
    graph = Graph.from_edges(source, target, weight, num_vertices=n, parallel_edges="sum")
    expected = scipy.sparse.coo_array((weight, (source, target)), shape=(n, n)).tocsr()
    assert abs(graph.to_scipy() - expected).nnz == 0
    assert graph.num_arcs == expected.nnz


# ---------------------------------------------------------------- columns of all kinds


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">i8", ">u8"])
def test_integer_dtypes(dtype: str) -> None:
    source, target = np.array([0, 1, 100], dtype), np.array([1, 2, 0], dtype)
    assert Graph.from_edges(source, target).vertices.tolist() == [0, 1, 2, 100]
    assert Graph.from_edges(source, target, num_vertices=101).targets.tolist() == [1, 2, 0]


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "u1", "u2", ">u2", "e"])
def test_dtypes_of_weights_that_are_widened(dtype: str) -> None:
    weights = Graph.from_edges([0, 1], [1, 2], np.array([0, 1], dtype)).weights
    assert weights is not None
    assert (weights.dtype, weights.tolist()) == (np.float32 if dtype == "e" else np.int32, [0, 1])


@pytest.mark.parametrize("dtype", ["U", "O", "T"])
def test_string_dtypes(dtype: str) -> None:
    if dtype == "T" and not hasattr(np.dtypes, "StringDType"):
        pytest.skip("this NumPy has no StringDType")
    graph = Graph.from_edges(np.array(["ab", "b"], dtype), np.array(["c", "ab"], dtype))
    assert graph.vertices.tolist() == ["ab", "c", "b"]
    assert all(type(name) is str for name in graph.vertices)
    assert graph.index_of(np.array(["b", "c"])).tolist() == [2, 1]


def test_ids_of_mixed_widths() -> None:
    graph = Graph.from_edges(np.array([2**63], np.uint64), np.array([5]))
    assert graph.vertices.tolist() == [5, 2**63]
    graph = Graph.from_edges(np.array([2**63], np.uint64), np.array([-5]))
    assert graph.vertices.tolist() == [-5, 2**63]
    assert graph.index_of(2**63) == 1
    assert Graph.from_edges(np.array([7], np.int32), np.array([2**40])).vertices.tolist() == [7, 2**40]


def test_large_ids_that_float64_does_not_tell_apart() -> None:
    ids = np.array([2**62, 2**62 + 1, 2**62 + 2, 2**63 + 1], np.uint64)
    graph = Graph.from_edges(ids, np.roll(ids, 1))
    assert [graph.index_of(int(vertex)) for vertex in ids] == graph.index_of(ids).tolist() == [0, 1, 2, 3]


def test_views_and_read_only_columns() -> None:
    pairs = np.array([[0, 1, 5], [1, 2, 6], [2, 0, 7]])
    pairs.flags.writeable = False
    graph = Graph.from_edges(pairs[:, 0], pairs[:, 1], pairs[:, 2])
    assert graph.targets.tolist() == [1, 2, 0]
    assert graph.weights is not None
    assert graph.weights.tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    ("given_dtype", "kept"),
    [
        ("?", "i4"),
        ("i1", "i4"),
        ("i2", "i4"),
        ("f2", "f4"),
        ("i4", "i4"),
        ("i8", "i8"),
        ("f4", "f4"),
        (">f8", "f8"),
    ],
)
def test_weight_dtypes(given_dtype: str, kept: str) -> None:
    graph = Graph.from_edges([0, 1], [1, 0], np.array([1, 0], given_dtype))
    assert graph.weights is not None
    assert graph.weights.dtype == np.dtype(kept)
    assert graph.weights.tolist() == [1, 0]


def test_long_integer_weights_stay_exact() -> None:
    weights = [2**62 + 1, -(2**62) - 1, 0]
    graph = Graph.from_edges([2, 1, 0], [0, 0, 0], weights)
    assert graph.weights is not None
    assert graph.weights.tolist() == weights[::-1]


# ---------------------------------------------------------------- small graphs


@pytest.mark.parametrize("num_vertices", [None, 0, 3])
@pytest.mark.parametrize("directed", [True, False])
def test_no_edges(num_vertices: int | None, directed: bool) -> None:
    graph = Graph.from_edges([], [], [], directed, num_vertices)
    n = num_vertices or 0
    assert (graph.num_vertices, graph.num_edges, graph.num_arcs) == (n, 0, 0)
    assert graph.offsets.tolist() == [0] * (n + 1)
    assert graph.in_offsets.tolist() == [0] * (n + 1)
    assert graph.vertices.tolist() == list(range(n))
    assert graph.in_arcs.tolist() == graph.sources.tolist() == graph.in_sources.tolist() == []
    assert graph.ids_of([]).tolist() == []
    assert Graph.from_edges([], [], parallel_edges="sum", num_vertices=num_vertices).num_vertices == n


def test_undirected_graph_stores_both_arcs_and_loops_once() -> None:
    graph = Graph.from_edges([0, 1, 1], [1, 1, 2], [5, 6, 7], directed=False)
    assert graph.num_edges == 3
    assert graph.num_arcs == 5
    assert graph.targets.tolist() == [1, 0, 1, 2, 1]
    assert graph.in_offsets is graph.offsets
    assert graph.in_weights is graph.weights


def test_both_directions_in_a_file_are_one_edge_when_merged() -> None:
    graph = Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1], [4, 3, 2, 9], False, parallel_edges="min")
    assert graph.num_edges == 2
    assert graph.weights is not None
    assert graph.weights.tolist() == [3, 3, 2, 2]


def test_arrays_are_read_only_and_input_is_not_changed() -> None:
    source, target, weight = np.array([1, 0]), np.array([0, 1]), np.array([1.0, 2.0])
    graph = Graph.from_edges(source, target, weight, num_vertices=2)
    names = "offsets targets weights sources vertices out_degree in_offsets in_sources in_weights in_arcs"
    for name in names.split():
        with pytest.raises(ValueError, match="read-only"):
            getattr(graph, name)[0] = 1
    source[0] = weight[0] = 7
    assert graph.targets.tolist() == [1, 0]
    assert graph.weights is not None
    assert graph.weights.tolist() == [2.0, 1.0]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64])
def test_listed_ids_are_copied(dtype: type) -> None:
    ids = np.array([7, 5, 6], dtype)
    graphs = [
        Graph.from_edges([5, 6], [6, 7], vertices=ids),
        Graph.from_csr([0, 0, 1, 2], [2, 0], vertices=ids),
    ]
    ids[0] = 6
    assert [graph.vertices.tolist() for graph in graphs] == [[7, 5, 6]] * 2


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda graph: pickle.loads(pickle.dumps(graph))]
)
def test_copies_are_read_only_as_well(copied: Callable[[Graph], Graph]) -> None:
    columns = [3, 4], [4, 9], [1.0, 2.0]
    graph = Graph.from_edges(*columns, edge_attributes={"toll": [5, 6]})
    graph.make_in_edges()
    assert len(graph.vertices) == 3  # kept from now on
    for each in (copied(graph), copied(graph).reverse()):
        arrays = [each.offsets, each.targets, each.weights, each.vertices, each.edge_numbers, each.in_sources]
        arrays += [each.edge_attributes["toll"], each.arc_attribute("toll")]
        assert not any(array.flags.writeable for array in arrays if array is not None)


def test_repr_and_memory() -> None:
    graph = Graph.from_edges(["a", "b"], ["b", "c"], [1.5, 2.5], directed=False)
    assert repr(graph) == "<Graph: 3 vertices, 2 edges, undirected, float64 weights>"
    html = graph._repr_html_()
    for fact in ("<th>vertices</th><td>3</td>", "<th>weights</th><td>float64</td>", "<td>no</td>"):
        assert fact in html
    graph = Graph.from_edges([0, 1], [1, 0], num_vertices=2)
    assert graph.nbytes == 4 * 3 + 4 * 2
    assert graph.in_degree.tolist() == [1, 1]
    assert not graph.has_in_edges
    assert graph.nbytes == 4 * 3 + 4 * 2 + 4 * 2
    graph.make_in_edges()
    assert graph.nbytes == 2 * (4 * 3 + 4 * 2) + 4 * 2


def test_in_edges_are_made_once() -> None:
    graph = Graph.from_edges([0, 1], [1, 0])
    assert not graph.has_in_edges
    assert graph.in_sources is graph.in_sources
    assert graph.has_in_edges


# ---------------------------------------------------------------- SciPy and rows


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int32, np.int64, np.float32, np.float64])
def test_scipy_there_and_back(dtype: Any) -> None:
    matrix = scipy.sparse.random_array((20, 20), density=0.2, rng=np.random.default_rng(3), dtype=np.float64)
    matrix.data = np.ceil(matrix.data * 10)
    matrix = matrix.astype(dtype)
    graph = Graph.from_scipy(matrix)
    assert graph.weighted == (dtype is not np.bool_)
    assert (graph.to_scipy() != matrix).nnz == 0


def test_symmetric_matrix_is_an_undirected_graph() -> None:
    matrix = scipy.sparse.coo_array(([1.0, 1.0, 5.0], ([0, 1, 2], [1, 0, 2])), shape=(4, 4))
    graph = Graph.from_scipy(matrix, directed=False, vertices=["a", "b", "c", "d"])
    assert (graph.num_edges, graph.num_arcs, graph.num_vertices) == (2, 3, 4)
    assert graph.vertices.tolist() == ["a", "b", "c", "d"]
    check_columns(graph)


def test_undirected_graph_as_directed() -> None:
    graph = Graph.from_edges(["a", "b", "c"], ["b", "c", "c"], [1, 2, 3], directed=False)
    both = graph.as_directed()
    assert both.directed
    assert (both.num_edges, both.num_arcs) == (5, 5)
    assert both.targets is not graph.targets
    assert np.shares_memory(both.targets, graph.targets)
    assert both.vertices.tolist() == ["a", "b", "c"]
    assert both.as_directed() is both
    check_columns(both)


def test_to_scipy_gives_arrays_of_its_own() -> None:
    graph = Graph.from_edges([0, 1], [1, 0], [1, 2])
    matrix = graph.to_scipy()
    matrix.data[0] = 9
    matrix.indices[0] = 0
    assert graph.targets.tolist() == [1, 0]
    assert graph.weights is not None
    assert graph.weights.tolist() == [1, 2]


def test_rows_with_ids_in_any_order() -> None:
    graph = Graph.from_csr([0, 1, 2, 2], [1, 2], vertices=[30, 10, 20])
    assert graph.index_of([10, 20, 30]).tolist() == [1, 2, 0]
    assert graph.index_of(range(10, 31, 10)).tolist() == [1, 2, 0]
    assert graph.ids_of(graph.targets).tolist() == [10, 20]
    with pytest.raises(GraphError, match="no vertex 15"):
        graph.index_of(15)
    assert Graph.from_csr([0, 0, 0], [], vertices=[0, 1]).vertices.dtype == np.int64
