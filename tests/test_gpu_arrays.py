"""Graphs by arrays of CuPy and tensors of PyTorch that lie on a GPU. These tests need an NVIDIA GPU."""

import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import GraphError

pytestmark = pytest.mark.gpu

LIBRARIES = ("cupy", "torch")


def on_gpu(library, values):
    """A copy on the GPU."""
    module = pytest.importorskip(library)
    return module.asarray(values) if library == "cupy" else module.as_tensor(np.array(values), device="cuda")


def edges():
    random = np.random.default_rng(0)
    return random.integers(0, 900, 4000), random.integers(0, 900, 4000), random.integers(1, 9, 4000)


def assert_same(graph, expected):
    for name in ("offsets", "targets", "weights", "vertices"):
        np.testing.assert_array_equal(getattr(graph, name), getattr(expected, name), err_msg=name)
    assert graph.directed == expected.directed
    for device in ("cpu", "cuda"):
        got, wanted = (ew.sssp(each, each.vertices[0], device=device) for each in (graph, expected))
        np.testing.assert_array_equal(got.distance, wanted.distance)
        assert got.verify(expected)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("library", LIBRARIES)
def test_columns(library, directed):
    columns = edges()
    graph = ew.Graph.from_edges(*(on_gpu(library, column) for column in columns), directed)
    assert graph.built_on_gpu
    assert_same(graph, ew.Graph.from_edges(*columns, directed))


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_with_ids_of_all_vertices_or_weights_alone_there(library):
    columns = edges()
    there = [on_gpu(library, column) for column in columns]
    every = np.arange(950)[::-1]
    wanted = ew.Graph.from_edges(*columns, vertices=every)
    assert_same(ew.Graph.from_edges(*there, vertices=every), wanted)
    assert_same(ew.Graph.from_edges(*columns[:2], there[2]), ew.Graph.from_edges(*columns))
    with pytest.raises(GraphError, match="is not in vertices"):
        ew.Graph.from_edges(*there, vertices=[0, 1])


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("library", LIBRARIES)
def test_rows_stay_where_they_are(library, directed):
    expected = ew.Graph.from_edges(*edges(), directed)
    rows = [on_gpu(library, each) for each in (expected.offsets, expected.targets, expected.weights)]
    graph = ew.Graph.from_csr(*rows, directed)
    assert graph.built_on_gpu
    where = [each.data.ptr if library == "cupy" else each.data_ptr() for each in rows]
    assert [each.data.ptr for each in (graph.gpu.offsets, graph.gpu.targets, graph.gpu.weights)] == where
    assert_same(graph, ew.Graph.from_csr(expected.offsets, expected.targets, expected.weights, directed))
    with pytest.raises(GraphError, match="targets go from"):
        ew.Graph.from_csr(rows[0], on_gpu(library, np.append(expected.targets[1:], 10**6)))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("library", LIBRARIES)
def test_edge_index(library, directed):
    expected = ew.Graph.from_edges(*edges(), directed, num_vertices=950)
    both = expected.to_edge_index()
    graph = ew.Graph.from_edge_index(
        on_gpu(library, both), on_gpu(library, expected.weights), 950, directed=directed
    )
    assert graph.built_on_gpu
    assert_same(graph, expected)


def test_a_sparse_matrix():
    there = pytest.importorskip("cupyx.scipy.sparse")
    matrix = ew.Graph.from_edges(*edges(), num_vertices=950, parallel_edges="min").to_scipy(float)
    matrix.sort_indices()
    graph = ew.Graph.from_scipy(there.csr_matrix(matrix))
    assert graph.built_on_gpu
    assert_same(graph, ew.Graph.from_scipy(matrix))


def test_results_are_given_back_on_the_gpu_and_taken_by_both_libraries():
    torch = pytest.importorskip("torch")
    graph = ew.Graph.from_edges(*(on_gpu("cupy", column) for column in edges()))
    result = ew.bfs(graph, 0, device="cuda")
    levels = result.on_device("level")
    np.testing.assert_array_equal(torch.as_tensor(levels, device="cuda").cpu().numpy(), result.level)
    assert result[5] == result.level[5] and result.path_to(0) == [0]
