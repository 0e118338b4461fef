"""What strategies make of a graph beforehand, with NumPy in the place of CuPy."""

import numpy as np
import pytest

from edgewise.layout.slots import own_ends

split = pytest.importorskip(
    "edgewise.balance.node_splitting", reason="numba-cuda is not installed", exc_type=ImportError
)

hierarchical = pytest.importorskip("edgewise.balance.hierarchical", exc_type=ImportError)


@pytest.fixture(autouse=True)
def numpy_for_cupy(monkeypatch):
    monkeypatch.setattr(split.cuda_memory, "cupy", lambda: np)


def offsets_of(degrees):
    return np.concatenate([[0], np.cumsum(degrees)]).astype(np.int32)


@pytest.mark.parametrize(
    ("degrees", "bins", "bound"),
    [
        ([1181, 5, 3, 0, 100, 200, 300], 10, 119),  # the paper's largest degree: 118.1, rounded up
        ([9, 3, 2, 3, 1, 3], 10, 4),  # ranges 0.9 wide; 3 is in the fourth
        ([10, 10, 10, 1], 10, 10),
        ([4, 4, 4], 1, 4),
        ([5] * 7, 3, 5),
        ([0, 0, 0], 10, 1),
        ([], 10, 1),
        ([1], 10, 1),
        ([2, 0, 0, 0], 10, 1),
    ],
)
def test_the_bound_is_the_upper_edge_of_the_tallest_range(degrees, bins, bound):
    assert split.likely_degree(offsets_of(degrees), bins) == bound


@pytest.mark.parametrize("bound", [1, 2, 5, 1000])
def test_children_share_the_arcs_of_their_vertex_evenly(bound):
    degrees = np.random.default_rng(1).integers(0, 30, 200)
    children = split.split_vertices(offsets_of(degrees), bound)
    shares = np.diff(children.begin.astype(np.int64))
    assert shares.max() <= bound
    np.testing.assert_array_equal(np.bincount(children.parent, shares, 200), degrees)
    counts = np.maximum(1, -(-degrees // bound))
    np.testing.assert_array_equal(np.diff(children.first.astype(np.int64)), counts)
    np.testing.assert_array_equal(np.bincount(children.parent), counts)
    assert (np.abs(shares - degrees[children.parent] / counts[children.parent]) < 1).all()
    count, *several = children.split.tolist()
    assert several == np.flatnonzero(counts > 1).tolist()
    assert count == len(several)


def test_a_vertex_of_very_many_arcs_is_split_without_overflow():
    children = split.split_vertices(np.array([0, 3 * 10**9], np.int64), 10**6)
    assert len(children.parent) == 3000
    assert (np.diff(children.begin) == 10**6).all()


def test_each_edge_knows_its_source():
    degrees = np.random.default_rng(2).integers(0, 5, 300)
    found = own_ends(offsets_of(degrees), degrees.sum() + 1)
    assert found.dtype == np.uint32
    np.testing.assert_array_equal(found, np.repeat(np.arange(301), [*degrees, 1]))


@pytest.mark.parametrize("bound", [0, 1, 4, 100])
def test_heavy_vertices_come_by_degree(bound):
    degrees = np.random.default_rng(3).integers(0, 9, 100)
    found = hierarchical.heavy_vertices(offsets_of(degrees), bound)
    expected = sorted(np.flatnonzero(degrees > bound).tolist(), key=lambda v: (-degrees[v], v))
    assert found.tolist() == expected
