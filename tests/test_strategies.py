"""Strategies and the choices that they stand for; what they make of a graph, with NumPy in the place of CuPy."""

from typing import get_args

import numpy as np
import pytest
from replicated import replicated

import edgewise as ew
from edgewise import schedule
from edgewise.layout.slots import own_ends

split = pytest.importorskip(
    "edgewise.balance.node_splitting", reason="numba-cuda is not installed", exc_type=ImportError
)

hierarchical, contract, registry = (
    pytest.importorskip(f"edgewise.balance.{name}", exc_type=ImportError)
    for name in ("hierarchical", "contract", "registry")
)
check_views = pytest.importorskip("check_views", exc_type=ImportError)


@pytest.fixture(autouse=True)
def numpy_for_cupy(monkeypatch):
    monkeypatch.setattr(split.cuda_memory, "cupy", lambda: np)


#: A graph for choices that belong to one.
GRAPH = ew.generate.uniform(40, 300, seed=4)


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
    assert own_ends(offsets_of(degrees[:0]), 2).tolist() == [0, 0]


@pytest.mark.parametrize("bound", [0, 1, 4, 100])
def test_heavy_vertices_come_by_degree(bound):
    degrees = np.random.default_rng(3).integers(0, 9, 100)
    found = hierarchical.heavy_vertices(offsets_of(degrees), bound)
    expected = sorted(np.flatnonzero(degrees > bound).tolist(), key=lambda v: (-degrees[v], v))
    assert found.tolist() == expected


def choices():
    """A choice of each kind."""
    of_graph = replicated(GRAPH)
    return [of_graph if kind is schedule.Replicated else kind() for kind in get_args(schedule.View)]


def test_every_choice_of_a_schedule_has_a_strategy():
    for choice in ("auto", *choices()):
        strategy = registry.strategy_of(choice)
        assert isinstance(strategy, contract.Strategy)
        assert strategy.any_order == isinstance(choice, schedule.EdgeBased)


def test_the_contract_is_checked_for_every_strategy():
    given = check_views.STRATEGIES.values()
    checked = {schedule.Replicated if each is replicated else type(each) for each in given}
    assert checked == {str, *get_args(schedule.View)} == set(registry.STRATEGIES)
    assert len(set(check_views.NAMES)) == len(check_views.NAMES)


def test_code_depends_on_lanes_and_chunking_and_not_on_bounds():
    keys = [registry.strategy_of(choice).code_key for choice in choices()]
    assert len(set(keys)) == len(keys)
    for one, other, same in (
        (schedule.NodeSplitting(), schedule.NodeSplitting(3), True),
        (schedule.HierarchicalProcessing(), schedule.HierarchicalProcessing(3, depth=2), True),
        (schedule.WarpMapped(8), schedule.WarpMapped(16), False),
        (schedule.EdgeBased(), schedule.EdgeBased(chunking=False), False),
    ):
        assert (registry.strategy_of(one).code_key == registry.strategy_of(other).code_key) == same


def test_a_run_has_arrays_of_its_own_as_the_strategy_declares_them():
    children = split.Children(*(np.zeros(3, dtype) for dtype in (np.uint32, np.uint64, np.uint32, np.uint32)))
    plan = contract.Plan(split.Splitting(children, children, contract.Own(5)), np.dtype(np.uint64))
    assert plan.nbytes() == 20
    assert plan.shared_nbytes() == 3 * (4 + 8 + 4 + 4)
    found = plan.of_run(np.ones)
    assert found.out.begin is children.begin
    assert (found.listed.shape, found.listed.dtype) == ((5,), np.uint32)
    scan = hierarchical.Scan(contract.Own(4), contract.Own(2))
    sublists = hierarchical.Sublists(children.begin, children.first, contract.Own(0), contract.Own(0), scan)
    found = contract.Plan(sublists, np.dtype(np.uint32)).of_run(np.ones)
    assert (found.scan.upto.shape, found.scan.upto.dtype) == ((4,), np.int64)
