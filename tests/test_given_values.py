"""Values that programs are given, and bounds of random numbers: what does not fit is refused."""

import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import GraphError, ParameterError, ProgramError, ScheduleError

RING = ew.Graph.from_edges([0, 1, 2], [1, 2, 0])


class Given(ew.Program):
    small = ew.vertex("int32", init=0)
    wide = ew.vertex("int64", init=0)
    short = ew.vertex("float32", init=0)
    other = ew.vertex(ew.VERTEX, init=0)
    flag = ew.vertex("bool", init=False)
    each = ew.edge("int32", init=0)
    combine, message, max_supersteps = ew.SUM, "int64", 1

    @staticmethod
    def edge_compute(edge, state):
        return state.each[edge.index]

    @staticmethod
    def vertex_compute(v, message, state):
        return ew.HALT


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"small": [1, 2**31, 0]}, r"Given\(small=...\): got 2147483648 at \[1\], expected int32"),
        ({"small": [1, 2, -(2**31) - 1]}, r"got -2147483649 at \[2\], expected int32"),
        ({"wide": np.array([2**63, 0, 0], np.uint64)}, r"got 9223372036854775808 at \[0\], expected int64"),
        ({"each": [0, 2**33, 0]}, r"got 8589934592 at \[1\], expected int32"),
        ({"short": [0.0, 1e300, np.inf]}, r"got 1e\+300 at \[1\], expected float32"),
        (
            {"wide": np.ma.array([1, 2, 3], mask=[1, 0, 0])},
            "has masked entries; expected a value in each place",
        ),
        ({"wide": [[1], [2, 3], [4]]}, r"got rows of different lengths, expected an array of shape \(3,\)"),
        ({"flag": [0, 1, 2]}, r"Given\(flag=...\): got 2 at \[2\], expected True or False, or 1 or 0"),
        ({"flag": [0, -1, 0]}, r"got -1 at \[1\], expected True or False"),
        ({"flag": [0.0, 1.0, 1.0]}, "got an array of float64, expected bool"),
        ({"other": [0, 3, 0]}, r"got 3 at \[1\], expected indices from 0 to 2, or -1 for none"),
        ({"other": [-2, 0, 0]}, r"got -2 at \[0\], expected indices"),
        ({"other": {0: 1, 1: 2, 2: 0}}, "got a dict, expected an array of shape .* given by their indices"),
        ({"other": ["a", "b", "c"]}, r"expected int32; vertices are given by their indices, graph.index_of"),
    ],
)
def test_arrays_that_do_not_fit_their_field(values, problem, check):
    with pytest.raises(ProgramError, match=problem):
        ew.run(Given(**values), RING, check=check, device="cpu")


def test_labelled_values_are_taken_in_the_order_of_their_ids_or_refused():
    pandas = pytest.importorskip("pandas")
    graph = ew.Graph.from_edges(["a", "b", "c"], ["b", "c", "a"])
    by_id, expected = {"c": 3, "a": 1, "b": 2}, [1, 2, 3]
    series = pandas.Series(by_id)
    assert ew.run(Given(wide=by_id), graph, device="cpu").wide.tolist() == expected
    for fitting in (series.reindex(graph.vertices), pandas.Series(expected)):
        assert ew.run(Given(wide=fitting), graph, device="cpu").wide.tolist() == expected
        assert ew.pagerank(graph, start=fitting, max_iterations=0).rank.tolist() == [1 / 6, 1 / 3, 1 / 2]
    with pytest.raises(
        ProgramError, match=r"Given\(wide=...\) is a Series whose index is neither .*\.reindex\(graph"
    ):
        ew.run(Given(wide=series), graph, device="cpu")
    with pytest.raises(ParameterError, match="pagerank: personalization is a Series whose index is neither"):
        ew.pagerank(graph, personalization=series)
    for wrong, problem in (
        ({"a": 1, "b": 2}, "got values of 2 ids, and none for 'c'; expected one for each of the 3 vertices"),
        ({**by_id, "d": 4}, "got values of 4 ids, and one for 'd', which is no vertex"),
    ):
        with pytest.raises(ProgramError, match=problem):
            ew.run(Given(wide=wrong), graph, device="cpu")
    with pytest.raises(ProgramError, match=r"got a dict, expected .* indices, graph.index_of"):
        ew.run(Given(other=by_id), graph, device="cpu")
    with pytest.raises(
        ProgramError, match=r"got a Series, whose rows are those of a table of edges.*edge_attributes="
    ):
        ew.run(Given(each=pandas.Series([1, 2, 3])), graph, device="cpu")


def test_arrays_that_fit_their_field():
    values = {
        "small": np.array([2**31 - 1, -(2**31), 0]),
        "wide": np.array([2**63 - 1, 0, 0], np.uint64),
        "short": [0.1, np.inf, np.nan],
        "other": np.array([-1, 2, 0], np.int64),
        "flag": np.array([1, 0, 1], np.uint8),
    }
    found = ew.run(Given(**values), RING, device="cpu")
    for name, given in values.items():
        np.testing.assert_array_equal(getattr(found, name), np.asarray(given, getattr(found, name).dtype))


class OfInEdges(Given):
    @staticmethod
    def edge_compute(edge, state):
        return edge.each

    @staticmethod
    def vertex_compute(v, message, state):
        state.wide[v] = message
        return ew.HALT


@pytest.mark.parametrize("delivery", [ew.Push(), ew.Pull()])
def test_values_of_very_many_edges_stay_with_their_edges(delivery):
    """They are put in the order of in-edges 65,536 at a time."""
    graph = ew.generate.uniform(3000, 150_000, seed=1)
    each = np.random.default_rng(1).integers(0, 1000, graph.num_arcs)
    found = ew.run(OfInEdges(each=each), graph, device="cpu", schedule=ew.Schedule(delivery))
    np.testing.assert_array_equal(found.wide, np.bincount(graph.targets, each, graph.num_vertices))


@pytest.mark.parametrize("directed", ["no", "False", 0, None])
def test_directed_is_true_or_false(directed):
    with pytest.raises(GraphError, match=r"directed is .*; expected True or False"):
        ew.Graph.from_edges([0, 1], [1, 2], directed=directed)


class Early(Given):
    early = ew.vertex("int64", init=3)


def test_a_field_called_early_is_one_like_others():
    np.testing.assert_array_equal(ew.run(Early(), RING, check=True, device="cpu").early, [3, 3, 3])


class OfAnother(Given):
    @ew.aggregator(ew.SUM)
    @staticmethod
    def total(v, state):
        return state.wide[v]

    @ew.aggregator(ew.SUM)
    @staticmethod
    def difference(v, state):
        return state.wide[v] - state.total


class Swapped(Given):
    @staticmethod
    @ew.aggregator(ew.SUM)
    def total(v, state):
        return state.wide[v]


class Itself(Given):
    self = ew.parameter("int64", default=1)


class NoNumber(Given):
    @staticmethod
    def vertex_compute(v, message, state):
        state.wide[v] = ew.random.integers(v, state, 5, 5)
        return ew.HALT


class HalfBounds(Given):
    @staticmethod
    def vertex_compute(v, message, state):
        state.short[v] = ew.random.integers(v, state, 0, state.short[v] + 5.5)
        return ew.HALT


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (OfAnother, "state.total may not be read here: all aggregates are evaluated at the same time"),
        (Swapped, "Swapped.total: write @ew.aggregator.* above @staticmethod"),
        (Itself, "Itself.self: this name is taken"),
        (NoNumber, "expected integers low and high"),
        (HalfBounds, "draw_integers|float64"),
    ],
)
def test_programs_that_are_refused(program, problem):
    with pytest.raises(ProgramError, match=problem):
        ew.run(program(), RING, device="cpu")


class InMatch(Given):
    """Counts how often a number in [0, 1) is below 0.8 before one is not."""

    @staticmethod
    def vertex_compute(v, message, state):
        n = 0
        match v % 2:
            case 0:
                while n < 50 and ew.random(v, state) < 0.8:
                    n += 1
            case _:
                n = -1
        state.wide[v] = n
        return ew.HALT


def test_numbers_drawn_in_a_match_differ():
    graph = ew.generate.lattice(20, 20)
    counts = ew.run(InMatch(), graph, seed=3, device="cpu").wide
    np.testing.assert_array_equal(counts, ew.run(InMatch(), graph, seed=3, check=True, device="cpu").wide)
    assert np.all(counts[1::2] == -1)
    assert 3 < counts[::2].mean() < 5
    assert counts.max() < 50


def test_only_so_many_functions_draw():
    made = {f"a{i}": ew.aggregator(ew.SUM)(_draw) for i in range(16)}
    with pytest.raises(ProgramError, match="only the first 16 functions of a program can draw"):
        ew.run(type("Many", (Given,), made)(), RING, device="cpu")


def _draw(v, state):
    return ew.random(v, state)


def test_a_delivery_is_an_object():
    with pytest.raises(ScheduleError, match=r"delivery is 'push'; expected 'auto', Push\(\)"):
        ew.run(Given(), RING, device="cpu", schedule=ew.Schedule(delivery="push"))
