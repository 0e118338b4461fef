"""Graphs built on a GPU, with NumPy in the place of CuPy; tests/test_gpu_algorithms.py builds them on a GPU."""

import contextlib
import copy
import sys
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import edgewise as ew
from edgewise.algorithms.common.lengths import distance_dtype, weight_range
from edgewise.errors import GraphError
from edgewise.graph import file_save, foreign_arrays, gpu_rows, resident
from edgewise.graph import graph as graph_module
from edgewise.kernels.cuda import placed

DOOR = SimpleNamespace(
    cupy=lambda: np,
    host_copy=np.array,
    copy_of=np.array,
    room=lambda name, needed: contextlib.nullcontext(),
)


def arc_keys(offsets, targets):
    """What the kernel of `edgewise.graph.keys_cuda` writes."""
    sources = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return targets.astype(np.int64) << 32 | sources


class OnGpu(np.ndarray):
    """An array that says that it lies on a GPU."""

    __cuda_array_interface__ = None


def on_gpu(values):
    return np.asarray(values).view(OnGpu)


@pytest.fixture(autouse=True)
def numpy_for_cupy(monkeypatch):
    for module in (file_save, foreign_arrays, gpu_rows, graph_module, resident):
        monkeypatch.setattr(module, "cuda_door", lambda: DOOR)
    monkeypatch.setitem(sys.modules, "edgewise.graph.keys_cuda", SimpleNamespace(arc_keys=arc_keys))
    monkeypatch.setattr(placed, "place", lambda values, on_gpu: np.array(values))


def assert_same(graph, expected):
    for name in (
        "offsets",
        "targets",
        "in_offsets",
        "in_sources",
        "weights",
        "in_weights",
        "vertices",
        "in_arcs",
    ):
        got, want = getattr(graph, name), getattr(expected, name)
        np.testing.assert_array_equal(got, want, err_msg=name)
        if want is not None:
            assert got.dtype == want.dtype, name
    for name in ("num_vertices", "num_arcs", "num_edges", "directed", "weighted"):
        assert getattr(graph, name) == getattr(expected, name)
    assert repr(graph) == repr(expected)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("self_loops", ["keep", "drop"])
@pytest.mark.parametrize("parallel_edges", ["keep", "min"])
@pytest.mark.parametrize("weight", [None, np.int32, np.int64, np.float32, np.float64, np.int8])
def test_the_same_graph_as_on_the_host(directed, self_loops, parallel_edges, weight):
    random = np.random.default_rng(1)
    for n, m in ((1, 0), (1, 3), (7, 40), (300, 900)):
        source, target = random.integers(0, n, (2, m))
        weights = None if weight is None else random.integers(0, 9, m).astype(weight)
        for count in (n, n + 5, None):
            options = {"parallel_edges": parallel_edges, "self_loops": self_loops}
            graph = ew.Graph.from_edges(
                on_gpu(source),
                on_gpu(target),
                None if weights is None else on_gpu(weights),
                directed,
                count,
                **options,
            )
            assert_same(graph, ew.Graph.from_edges(source, target, weights, directed, count, **options))


def test_ids_of_any_size_are_numbered_in_ascending_order():
    ids = np.array([5, -3, 2**40, 5, 7], np.int64)
    graph = ew.Graph.from_edges(on_gpu(ids[:-1]), on_gpu(ids[1:]))
    assert graph.vertices.tolist() == [-3, 5, 7, 2**40]
    assert_same(graph, ew.Graph.from_edges(ids[:-1], ids[1:]))


def test_ids_beyond_int64_stay_what_they_are():
    ids = np.array([2**63 + 5, 3, 2**64 - 1], np.uint64)
    graph = ew.Graph.from_edges(on_gpu(ids[:-1]), on_gpu(ids[1:]))
    assert graph.vertices.tolist() == [3, 2**63 + 5, 2**64 - 1]
    assert_same(graph, ew.Graph.from_edges(ids[:-1], ids[1:]))


def test_what_lies_on_the_gpu_is_given_back_as_it_is():
    graph = ew.Graph.from_edges(on_gpu([1, 0, 1]), on_gpu([0, 1, 1]), on_gpu([1.5, 2.5, 3.5]))
    assert graph.gpu.targets is graph.gpu.targets
    assert graph.gpu.in_sources.tolist() == [1, 0, 1]
    assert graph.gpu.in_weights.tolist() == [1.5, 2.5, 3.5]
    assert graph.as_directed().gpu.weights.tolist() == [2.5, 1.5, 3.5]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0, 9], [1, 1]), "edge 1 joins 9 and 1; num_vertices=5 allows ids from 0 to 4"),
        (([0, -1], [1, 1]), "edge 1 joins -1 and 1"),
        (([0.5], [1]), "source has dtype float64; expected integers"),
        (([[0]], [[1]]), "source has shape .*expected one dimension"),
        (([0], [1, 2]), "source has 1, target has 2 entries"),
        (([0], [1], [np.nan]), r"weight\[0\] is nan; expected finite numbers"),
        (([0], [1], ["x"]), "weight has dtype"),
    ],
)
def test_bad_columns_are_refused(columns, message):
    with pytest.raises(GraphError, match=message):
        ew.Graph.from_edges(*map(on_gpu, columns), num_vertices=5)


@pytest.mark.parametrize(("dtype", "count"), [(np.int8, 300), (np.int16, 70_000), (np.int64, 5)])
def test_negative_ids_are_refused_however_small_their_dtype(dtype, count):
    good, bad = (on_gpu(np.array(ids, dtype)) for ids in ([0, 1], [1, -1]))
    for columns in ((good, bad), (bad, good)):
        with pytest.raises(GraphError, match="edge 1 joins"):
            ew.Graph.from_edges(*columns, num_vertices=count)


def test_what_weights_are_like_is_asked_on_the_gpu(monkeypatch):
    def host_copy(values):
        raise AssertionError("copied to the host")

    graph = ew.Graph.from_edges(on_gpu([0, 1]), on_gpu([1, 2]), on_gpu([5, 7]), num_vertices=3)
    monkeypatch.setattr(DOOR, "host_copy", host_copy)
    assert "int64 weights" in repr(graph)
    assert weight_range(graph) == (5, 7)
    assert distance_dtype(graph) == np.int64


@pytest.mark.parametrize("directed", [True, False])
def test_a_graph_is_saved_from_there_in_pieces(directed, tmp_path, monkeypatch):
    copied = []
    monkeypatch.setattr(DOOR, "host_copy", lambda values: copied.append(values.nbytes) or np.array(values))
    monkeypatch.setattr(file_save, "_PIECE", 256)
    source, target = np.random.default_rng(1).integers(0, 50, (2, 300))
    weights = source / 3
    graph = ew.Graph.from_edges(on_gpu(source), on_gpu(target), on_gpu(weights), directed, 50)
    graph.save(tmp_path / "g", in_edges=True)
    assert max(copied) == 256
    assert "targets" not in vars(graph._rows), "no copy of the whole stays on the host"
    assert_same(ew.load(tmp_path / "g"), ew.Graph.from_edges(source, target, weights, directed, 50))


def test_arrays_of_a_file_are_copied_there_when_they_are_asked_for(tmp_path):
    ew.Graph.from_edges([0, 1, 2], [1, 2, 0], [1.5, 2.5, 3.5]).save(tmp_path / "g", in_edges=True)
    graph = ew.load(tmp_path / "g")
    assert graph.gpu.making(resident.Arrays.ROWS).kept == 4 * 4 + 3 * 4
    assert "_weights" not in vars(graph._rows), "weights were not read for it"
    assert graph.gpu.targets is graph.gpu.targets
    assert graph.gpu.in_weights.tolist() == [3.5, 1.5, 2.5]
    assert graph.gpu.making(resident.Arrays.IN_WEIGHTS | resident.Arrays.ROWS).kept == 4 * 4


def test_arrays_there_go_with_their_graph():
    graph = ew.Graph.from_edges([0, 1], [1, 0])
    copies = graph.gpu.offsets, graph.gpu.in_sources
    assert copy.copy(graph).gpu.offsets is not copies[0]
    gone = weakref.ref(graph)
    del graph
    assert gone() is None
    assert ew.Graph.from_edges([0, 1], [1, 0]).gpu.targets.tolist() == [1, 0]
