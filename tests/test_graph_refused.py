"""Graphs: columns, options, rows and matrices that are refused."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from test_graph import WEIGHT_DTYPES

from edgewise.errors import GraphError
from edgewise.graph import Graph


def refuses(message: str, *args: Any, **options: Any) -> None:
    with pytest.raises(GraphError, match=message):
        Graph.from_edges(*args, **options)


def test_columns_that_are_refused() -> None:
    refuses("source has dtype float64.*astype", np.array([0.0, 1.0]), [1, 0])
    refuses("target has dtype bool", [1, 0], np.array([True, False]))
    refuses(r"dtype complex128.*Convert it with \.astype\(str\)", np.array([1j]), [0])
    refuses(r"source has shape \(2, 2\)", np.zeros((2, 2), int), [0, 1])
    refuses(r"source\[0\] is \[0, 1\]; ids of type list cannot be hashed", [[0, 1], [1, 2]], [0, 1])
    refuses("source has 2, target has 1 entries", [0, 1], [1])
    refuses("weight has 3 entries", [0, 1], [1, 0], [1, 2, 3])
    refuses(r"source\[1\] is None: a value is missing", ["a", None], ["b", "c"])


def test_ids_out_of_range() -> None:
    refuses("edge 1 joins 1 and 3; num_vertices=3 allows ids from 0 to 2", [0, 1], [1, 3], num_vertices=3)
    refuses("edge 0 joins -1 and 0", [-1], [0], num_vertices=3)
    refuses("edge 0 joins 0 and 0", [0], [0], num_vertices=0)
    refuses("edge 1 joins 1 and 4294967296", [0, 1], [1, 2**32], num_vertices=3)
    refuses("ids go up to 9223372036854775808", np.array([2**63], np.uint64), [0], num_vertices=3)
    refuses("ids go up to 100000000000000000000", [10**20], [0], num_vertices=3)
    refuses("ids are strings; leave num_vertices out", ["a"], ["b"], num_vertices=3)
    source = np.zeros(100_000, np.int64)
    source[[70_000, 99_999]] = 9
    refuses("edge 70000 joins 9 and 0", source, np.zeros_like(source), num_vertices=9)


@pytest.mark.parametrize("num_vertices", [-1, 1.5, "3", True, 2**31])
def test_num_vertices_that_are_refused(num_vertices: Any) -> None:
    refuses("num_vertices is|would have 2,147,483,648 vertices", [0], [0], num_vertices=num_vertices)


@pytest.mark.parametrize("dtype", ["u4", "u8", "c16", "U", "O", "M8[s]"])
def test_weight_dtypes_that_are_refused(dtype: str) -> None:
    refuses("weight has dtype .*; expected int32", [0], [1], np.array([1]).astype(dtype))


def test_advice_on_weights_that_are_refused() -> None:
    for weights in ([None, 0.5], np.array([0.5, None])):
        refuses(
            "weight has dtype object.*It has None: drop such edges first, or fill them",
            [0, 1],
            [1, 0],
            weights,
        )
    for weights in ([2**70], ["3"]):
        refuses(r"Convert it with np\.array\(values, np\.float64\)$", [0], [1], weights)
        assert Graph.from_edges([0], [1], np.array(weights, np.float64)).weighted
    refuses(r"Convert it with \.astype\(np\.float64\)", [0], [1], np.array(["3"]))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_that_are_not_finite(wrong: float, dtype: Any) -> None:
    refuses(r"weight\[2\] is -?(nan|inf)", [0, 1, 2], [1, 2, 0], np.array([1, 2, wrong], dtype))
    refuses(r"weight has shape \(1, 1\)", [0], [1], np.ones((1, 1)))


@pytest.mark.parametrize("dtype", WEIGHT_DTYPES)
def test_sums_that_do_not_fit(dtype: Any) -> None:
    info = np.iinfo(dtype) if np.dtype(dtype).kind == "i" else np.finfo(dtype)
    for value in (info.max, info.min):
        weight = np.array([1, value, value], dtype)
        refuses(
            f"index 1 and 2 add up to more than {np.dtype(dtype)}",
            [0, 1, 1],
            [1, 2, 2],
            weight,
            parallel_edges="sum",
        )
        assert Graph.from_edges([0, 1, 1], [1, 2, 2], weight, parallel_edges="min").num_edges == 2


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_the_largest_sums_that_fit(dtype: Any) -> None:
    info = np.iinfo(dtype)
    for last, step in ((info.max, 1), (info.min, -1)):
        weight = np.array([last - step, step], dtype)
        graph = Graph.from_edges([0, 0], [1, 1], weight, parallel_edges="sum")
        assert graph.weights is not None
        assert graph.weights.tolist() == [last]
        refuses("add up to more", [0, 0], [1, 1], np.array([last, step], dtype), parallel_edges="sum")


def test_options_that_are_refused() -> None:
    refuses("parallel_edges is 'max'; expected one of 'keep', 'min'", [0], [1], parallel_edges="max")
    refuses("self_loops is False; expected one of 'keep', 'drop'", [0], [1], self_loops=False)


def test_vertices_that_are_not_there() -> None:
    plain = Graph.from_edges([0, 1], [1, 0])
    named = Graph.from_edges(["a"], ["b"])
    gaps = Graph.from_edges([5], [9])
    none = Graph.from_edges([], [])
    for graph, vertex, message in (
        (plain, 2, r"no vertex 2; its ids are the integers 0..1"),
        (plain, -1, "no vertex -1"),
        (plain, "0", "no vertex '0'"),
        (plain, True, "no vertex True"),
        (plain, 0.0, r"no vertex 0\.0"),
        (plain, None, "no vertex None"),
        (plain, np.array([0, 5]), "no vertex 5"),
        (plain, [0, 7], "no vertex 7"),
        (named, "c", "no vertex 'c'; its 2 ids are such as 'a', 'b'"),
        (named, 0, "no vertex 0"),
        (gaps, 6, "no vertex 6; its 2 ids are such as 5, 9"),
        (gaps, 10**30, "no vertex 1000000000000000000000000000000"),
        (none, 0, "no vertex 0; it has no vertices"),
    ):
        with pytest.raises(GraphError, match=message):
            graph.index_of(vertex)
    for indices in ([-1], [2], [0.0]):
        with pytest.raises(GraphError, match=r"expected indices from 0 to 1"):
            plain.ids_of(indices)


@pytest.mark.parametrize(
    ("offsets", "targets", "options", "message"),
    [
        ([[0]], [0], {}, "offsets is int64 of shape"),
        ([], [], {}, "offsets must go from 0 to 0"),
        ([1, 1], [0], {}, "offsets must go from 0 to 1"),
        ([0, 2], [0], {}, "offsets must go from 0 to 1"),
        ([0, 2, 1, 3], [0, 1, 2], {}, "never fall"),
        ([0, 1], [1], {}, r"targets go from 1 to 1; expected 0\.\.0"),
        ([0, 1], [-1], {}, "targets go from -1"),
        (np.array([0, 2, 1, 3], np.uint32), [0, 1, 2], {}, "never fall"),
        ([0.0, 1.0], [0], {}, "offsets is float64"),
        ([0, 1], [[0]], {}, r"targets is int64 of shape \(1, 1\)"),
        ([0, 1], [0], {"weights": [1, 2]}, "weights has 2 entries"),
        ([0, 1], [0], {"vertices": ["a", "b"]}, "vertices has 2 ids"),
        ([0, 1, 1], [0], {"vertices": ["a", "a"]}, "same id twice"),
        ([0, 1, 1], [1], {"directed": False}, "not symmetric"),
        ([0, 1, 2], [1, 0], {"directed": False, "weights": [1, 2]}, "not symmetric"),
    ],
)
def test_rows_that_are_refused(offsets: list, targets: list, options: dict, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Graph.from_csr(offsets, targets, **options)


def test_matrices_that_are_refused() -> None:
    with pytest.raises(GraphError, match="got ndarray"):
        Graph.from_scipy(np.eye(3))
    with pytest.raises(GraphError, match="expected a square one"):
        Graph.from_scipy(scipy.sparse.csr_array((2, 3)))
    with pytest.raises(GraphError, match="dtype complex128"):
        Graph.from_scipy(scipy.sparse.csr_array(np.eye(2, dtype=complex)))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("parallel_edges", ["keep", "first", "min", "sum"])
@pytest.mark.parametrize("self_loops", ["keep", "drop"])
def test_arcs_know_the_edge_that_they_are_of(directed: bool, parallel_edges: str, self_loops: str) -> None:
    source = np.array(["d", "a", "b", "a", "c", "b", "a", "d"])
    target = np.array(["a", "b", "a", "b", "c", "d", "c", "a"])
    options = {"directed": directed, "parallel_edges": parallel_edges, "self_loops": self_loops}
    weight = np.arange(8.0) * 3
    graph = Graph.from_edges(source, target, weight, number_edges=True, **options)
    numbers = graph.edge_numbers
    assert numbers.shape == (graph.num_arcs,) and len(set(numbers.tolist())) == graph.num_edges
    ends = [graph.ids_of(graph.sources), graph.ids_of(graph.targets)]
    for u, v, edge in zip(*ends, numbers, strict=True):
        assert (u, v) == (source[edge], target[edge]) or (
            not directed and (v, u) == (source[edge], target[edge])
        )
    if parallel_edges in ("keep", "first"):
        np.testing.assert_array_equal(graph.weights, weight[numbers])
    assert Graph.from_edges(source, target).edge_numbers is None
    assert graph.as_directed().edge_numbers is numbers


def test_masked_arrays_are_refused():
    masked = np.ma.array([0, 1, 2], mask=[0, 1, 0])
    plain = np.ma.array([0, 1, 2])
    assert Graph.from_edges(plain, plain, plain).num_edges == 3
    for columns, name in (
        ((masked, plain), "source"),
        ((plain, masked), "target"),
        ((plain, plain, masked), "weight"),
    ):
        with pytest.raises(GraphError, match=f"{name} has masked entries; expected a value in each place"):
            Graph.from_edges(*columns)
    with pytest.raises(GraphError, match="targets has masked entries"):
        Graph.from_csr([0, 3], masked)


def test_integers_that_python_does_not_write():
    graph = Graph.from_edges([10**5000], [1])
    with pytest.raises(GraphError, match="no vertex an integer of 16,613 bits; its 2 ids are such as 1, an"):
        graph.index_of(10**5001)
    with pytest.raises(GraphError, match="the ids go up to an integer of 16,610 bits"):
        Graph.from_edges([10**5000], [1], num_vertices=3)
