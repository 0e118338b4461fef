"""Layouts of in-edges, on the CPU: every arc has a place of its own, rows have theirs, groups lie column by column."""

import numpy as np
import pytest
from test_engines import GRAPHS

import edgewise as ew
from edgewise.layout import units as units_module
from edgewise.layout.slots import arrange
from edgewise.layout.units import ALIGNED, first_places

LAYOUTS = {
    "exact": {"sort": "exact"},
    "left alone": {},
    "row-major": {"sort": None, "group_size": 1, "split": False},
    "row-major, sorted": {"sort": "linear", "threshold": 1, "group_size": 1, "split": False},
    "unsorted": {"sort": None, "split": False},
    "the paper's": {"sort": "linear", "threshold": 1, "split": False},
    "linear, heavy apart": {"sort": "linear", "num_buckets": 3, "group_size": 7},
    "logarithmic": {"sort": "logarithmic", "num_buckets": 10, "group_size": 4},
}


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch):
    """Small graphs have heavy rows, too."""
    monkeypatch.setattr(units_module, "HEAVY", 9)
    monkeypatch.setattr(units_module, "HEAVIEST", 40)


@pytest.mark.parametrize("how", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("name", GRAPHS)
def test_every_arc_has_a_place_of_its_own_in_its_row(name, how):
    graph = GRAPHS[name]
    n, m = graph.num_vertices, graph.num_arcs
    units, slots, arcs = arrange(graph.targets, n, np.uint32, **how)
    degree = np.bincount(graph.targets, minlength=n)
    np.testing.assert_array_equal(np.sort(units.vertices), np.arange(n))
    np.testing.assert_array_equal(units.vertices[units.rows], np.arange(n))
    np.testing.assert_array_equal(units.degrees, degree[units.vertices])
    assert len(np.unique(slots)) == m
    first = first_places(units, np.int64)
    step = np.where(units.rows < units.heaviest + units.heavy, 1, units.group_size)
    order = np.argsort(graph.targets, kind="stable")
    rank = np.arange(m) - (np.cumsum(degree) - degree)[graph.targets[order]]
    expected = first[graph.targets[order]] + rank * step[graph.targets[order]]
    np.testing.assert_array_equal(slots[order], expected)
    assert np.all(slots < units.size)
    assert units.size == units.begin[-1]
    assert len(arcs) == units.size
    np.testing.assert_array_equal(arcs[slots], np.arange(m))
    assert np.count_nonzero(arcs == m) == units.size - m


@pytest.mark.parametrize("how", LAYOUTS.values(), ids=LAYOUTS)
def test_rows_of_a_group_lie_side_by_side(how):
    graph = ew.generate.rmat(9, 8, seed=3)
    units, *_ = arrange(graph.targets, graph.num_vertices, np.uint32, **how)
    alone, size = units.heaviest + units.heavy, units.group_size
    first = first_places(units, np.int64)[units.vertices]
    assert np.all(first[:alone] % ALIGNED == 0)
    grouped = np.arange(graph.num_vertices - alone)
    np.testing.assert_array_equal(first[alone:], units.begin[alone + grouped // size] + grouped % size)
    degrees = np.zeros(units.groups * size, int)
    degrees[: len(grouped)] = units.degrees[alone:]
    np.testing.assert_array_equal(
        np.diff(units.begin[alone:]), degrees.reshape(units.groups, size).max(axis=1) * size
    )
    assert alone == (np.count_nonzero(units.degrees > 9) if how.get("split", True) else 0)
    if alone:
        heaviest, heavy, rest = np.split(units.degrees, [units.heaviest, alone])
        assert heaviest.min() > 40 >= heavy.max() and heavy.min() > 9 >= rest.max()


def test_layouts_of_too_many_places_are_refused():
    with pytest.raises(ew.errors.ScheduleError, match="4,404,019,200 places for 4,200 edges"):
        arrange(np.zeros(4200, np.int32), 2**20, np.uint32, sort=None, group_size=2**20, split=False)


def test_sorting_makes_groups_full():
    graph = ew.generate.rmat(14, 16, (0.45, 0.15, 0.15, 0.25), seed=3)
    extra = {}
    for name in ("unsorted", "the paper's", "exact"):
        units, *_ = arrange(graph.targets, graph.num_vertices, np.uint32, **LAYOUTS[name])
        extra[name] = units.size / graph.num_arcs - 1
    assert extra["unsorted"] > 1
    assert extra["the paper's"] < 0.03


def test_vertices_stay_in_their_order_where_degrees_hardly_differ():
    graph = ew.generate.lattice(30, 30)
    for threshold, sorted_too in ((1, True), (5, False)):
        units, *_ = arrange(graph.targets, graph.num_vertices, np.uint32, threshold=threshold)
        assert (not np.array_equal(units.vertices, np.arange(graph.num_vertices))) == sorted_too


def test_slots_are_kept_with_the_graph():
    for graph in (GRAPHS["undirected"], ew.generate.rmat(8, 4, seed=1)):
        offsets, slots = graph.slots
        assert graph.slots[1] is slots
        np.testing.assert_array_equal(
            np.diff(offsets), np.bincount(graph.targets, minlength=graph.num_vertices)
        )
        np.testing.assert_array_equal(graph.targets[np.argsort(slots)], np.sort(graph.targets))
        assert slots.dtype == np.uint32
