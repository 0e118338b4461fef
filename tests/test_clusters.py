"""Clusters on the host: how cells are gathered, and where they are refused."""

import itertools

import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import ScheduleError
from edgewise.layout.clusters import Cells, gather_cells, joined_parts


def cells_of(size, links):
    """Cells from their sizes and triples of two cells and the number of arcs, each way once."""
    arcs = {(a, b): count for one, other, count in links for a, b in ((one, other), (other, one))}
    keys = sorted(arcs)
    first = np.searchsorted([a for a, _ in keys], np.arange(len(size) + 1))
    neighbour, counts = (
        np.array([b for _, b in keys], np.int32),
        np.array([arcs[key] for key in keys], np.int32),
    )
    return Cells(np.array(size, np.int64), first.astype(np.int64), neighbour, counts)


def gathered(size, links, most):
    """The cells of each cluster, and where clusters begin."""
    order, begins = gather_cells(cells_of(size, links), most)
    ends = np.cumsum(np.array(size)[order])
    parts = np.searchsorted(begins, ends, side="left") - 1
    return [order[parts == part].tolist() for part in range(len(begins) - 1)], begins.tolist()


def test_the_cell_with_most_arcs_to_the_cluster_comes_next():
    # Cell 0 is joined to 1 by one arc and to 2 by five; 2 and 3 belong together, too.
    clusters, begins = gathered([4, 4, 4, 4], [(0, 1, 1), (0, 2, 5), (2, 3, 2), (1, 3, 1)], 8)
    assert clusters == [[0, 2], [1, 3]]
    assert begins == [0, 8, 16]


def test_arcs_to_cells_in_no_cluster_count_against_a_cell():
    # Both 1 and 2 have two arcs to 0, but 1 has three to others.
    clusters, _ = gathered([2, 2, 2, 2, 2], [(0, 1, 2), (0, 2, 2), (1, 3, 3), (2, 4, 1)], 4)
    assert clusters[0] == [0, 2]


def test_a_cell_larger_than_a_cluster_is_cut():
    _, begins = gathered([10, 3], [(0, 1, 1)], 4)
    assert begins == [0, 4, 8, 10, 13]


def test_small_parts_share_a_cluster():
    clusters, _ = gathered([1, 1, 1, 1], [], 8)
    assert clusters == [[0, 1, 2, 3]]


def test_no_cells_make_no_clusters():
    order, begins = gather_cells(cells_of([], []), 8)
    assert len(order) == 0
    assert begins.tolist() == [0]


@pytest.mark.parametrize("seed", range(20))
def test_all_cells_are_in_clusters_that_are_not_too_large(seed):
    random = np.random.default_rng(seed)
    count, most = 60, 50
    size = random.integers(1, 30, count)
    pairs = {
        tuple(sorted(pair)) for pair in random.integers(0, count, (150, 2)).tolist() if pair[0] != pair[1]
    }
    order, begins = gather_cells(
        cells_of(size, [(*pair, int(random.integers(1, 9))) for pair in pairs]), most
    )
    np.testing.assert_array_equal(np.sort(order), np.arange(count))
    sizes = np.diff(begins)
    assert begins[0] == 0
    assert begins[-1] == size.sum()
    assert sizes.min() >= 1
    assert sizes.max() <= most
    # No cell that fits in a cluster is cut.
    ends = np.cumsum(size[order])
    assert not any(
        ((begins > end - length) & (begins < end)).any()
        for end, length in zip(ends, size[order], strict=True)
    )


@pytest.mark.parametrize("seed", range(20))
def test_parts_side_by_side_share_clusters(seed):
    random = np.random.default_rng(seed)
    n, most = 500, 40
    begins = np.sort(random.integers(0, n, 60))
    found = joined_parts(begins, n, most)
    sizes, bounds = np.diff(found), {0, n, *begins.tolist()}
    assert (found[0], found[-1]) == (0, n)
    assert 0 < sizes.min() <= sizes.max() <= most
    for begin, end in itertools.pairwise(found.tolist()):
        # It ends where a part does, the last one for which there is room; or inside a part of more than that.
        later = [bound for bound in bounds if begin < bound <= begin + most]
        assert end == (max(later) if later else begin + most)
    assert joined_parts(np.zeros(0, np.int64), n, most).tolist() == [*range(0, n, most), n]
    assert joined_parts(np.zeros(0, np.int64), 0, most).tolist() == [0]


def test_parts_are_checked_and_compared():
    made = ew.Clustered([0, 3, 3, 9])
    assert made == ew.Clustered(np.array([0, 3, 3, 9], np.uint8))
    assert hash(made) == hash(ew.Clustered((0, 3, 3, 9)))
    assert made != ew.Clustered()
    assert ew.Clustered() == ew.Clustered(None)
    assert (repr(made), repr(ew.Clustered())) == ("Clustered(3 parts)", "Clustered()")
    assert repr(ew.Clustered([])) == "Clustered(0 parts)"
    for wrong in ([0.5, 2], [[1, 2]], [[1], [2, 3]], "auto", 7, [True, False]):
        with pytest.raises(ScheduleError, match="expected integers, or None"):
            ew.Clustered(wrong)
    for wrong in ([3, 2], [-1, 4], [0, 2**31], np.array([0, 2**63], np.uint64)):
        with pytest.raises(ScheduleError, match="not ascending from at least 0"):
            ew.Clustered(wrong)


def test_clusters_need_a_gpu_a_search_and_no_delivery():
    graph = ew.generate.lattice(4, 4, weights=(1, 9))
    schedule = ew.Schedule(balance=ew.Clustered())
    for run in (ew.bfs, ew.sssp):
        with pytest.raises(ScheduleError, match="this run is on the CPU"):
            run(graph, 0, device="cpu", schedule=schedule)
    for run in (lambda **how: ew.bfs(graph, 0, **how), lambda **how: ew.pagerank(graph, **how)):
        with pytest.raises(ScheduleError):
            run(device="cpu", schedule=ew.Schedule(balance=ew.Clustered(), delivery=ew.Push()))
