"""What an approximate graph gains, and what it costs in exactness: a call on it and on the graph it is made of."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edgewise.approx.comparable import name_of
from edgewise.approx.transformed import Approximate
from edgewise.errors import ParameterError
from edgewise.graph import Graph
from edgewise.numeric import is_integer
from edgewise.result import Result
from edgewise.text import shown

#: The largest inaccuracy that comes from rounding, and from when ranks count as converged; and that of sums that are 0.
_SAME, _ROUNDING = 1e-3, 1e-13
#: How many of the first vertices are compared.
_TOP = 100


class Difference(NamedTuple):
    """How much values differ from the exact ones. They are finite for vertices that were reached.

    Attributes:
        inaccuracy: the mean absolute difference, divided by the mean absolute exact value, over vertices for which both
            values are finite; 1 if all exact values are 0, and others are not.
        largest_error: the largest absolute difference of them.
        rank_correlation: Spearman's, of them; NaN where all values are one.
        top_overlap: which fraction of the 100 largest exact values of these vertices, or of the larger half if there
            are fewer than 200, is among as many of the largest others; NaN for fewer than two.
        reachability: for which fraction of the vertices only one value is finite.
        is_exact: whether all values are the same.
    """

    inaccuracy: float
    largest_error: float
    rank_correlation: float
    top_overlap: float
    reachability: float
    is_exact: bool


@dataclass(frozen=True)
class Evaluation:
    """A call on an approximate graph beside the same call on the graph that it was made of.

    Attributes:
        exact_seconds, renumbered_seconds, seconds: medians of `Result.seconds` on the graph itself, in the new order
            without added edges, and with them.
        preprocessing_seconds: how long making the graph took.
        extra_space: the bytes of added edges and of slots, as a fraction of the graph's.
        added: how many edges were added.
        difference: of the values that are compared: levels, distances, ranks, centralities; or of one number, how many
            components there are, or the weight of a forest.
    """

    exact_seconds: float
    renumbered_seconds: float
    seconds: float
    preprocessing_seconds: float
    extra_space: float
    added: int
    difference: Difference

    @property
    def speedup(self) -> float:
        """How many times as fast the approximate call is."""
        return self.exact_seconds / self.seconds

    @property
    def speedup_by_order(self) -> float:
        """How many times as fast the call is by the new order alone, which is exact."""
        return self.exact_seconds / self.renumbered_seconds


class _Found(NamedTuple):
    """What is compared of a call on a graph.

    Attributes:
        name: the field.
        values: as they are, in the order of the graph that was given.
        finite: the values as float64, NaN for what was not reached.
    """

    name: str
    values: np.ndarray
    finite: np.ndarray


def evaluate(
    made: Approximate,
    call: Callable[..., Result],
    *arguments: Any,
    field: str | None = None,
    repeat: int = 5,
    **options: Any,
) -> Evaluation:
    """Run a call on an approximate graph and on the one that it was made of, and compare times and answers.

    Args:
        made: the approximate graph.
        call: an algorithm, such as ``ew.pagerank``, or a function that runs a program; it gets a graph, then
            `arguments` and `options`, which may be ids, but not arrays in the order of vertices. It is called with
            three graphs, whose vertices are numbered otherwise. A program takes ids by parameters of ``ew.VERTEX``,
            and values for vertices or edges in the order of that graph.
        arguments, options: the others of the call.
        field: the name of what is compared of the result, a number for each vertex, or one; None for what an algorithm
            is for.
        repeat: how often each is timed, after one call that is not; the graphs take turns.

    Returns:
        An `Evaluation`.

    Raises:
        ParameterError: no approximate graph or no call; a result without such values, or with some that depend on how
            vertices are numbered: vertices, labels, and what is drawn at random; a call that gives other values where
            vertices are only numbered otherwise; or a repeat that is not an integer of at least 1.
        ProgramError: a program whose answers depend on how vertices are numbered, with the line.
    """
    if not isinstance(made, Approximate) or not callable(call):
        raise ParameterError(
            f"evaluate got {shown(made)} and {shown(call)}; expected an Approximate and a call, such as ew.pagerank"
        )
    if options.get("k") is not None:
        raise ParameterError(
            "evaluate: k draws other sources where vertices are numbered otherwise; give their ids: sources=[...]"
        )
    if not is_integer(repeat) or repeat < 1:
        raise ParameterError(f"evaluate: repeat is {shown(repeat)}; expected an integer of at least 1")

    def found_on(graph: Graph) -> _Found:
        """What a call finds on a graph; no result is kept."""
        first = call(graph, *arguments, **options)
        if getattr(first, "graph", graph) is not graph:
            raise ParameterError(
                f"evaluate: the call ran on {shown(first.graph)}, and not on the graph that it was given, which is its "
                "first argument"
            )
        name = name_of(first, field)
        values = _values(first, name)
        if np.ndim(values) and graph is not made.original:
            values = made.in_order(values)
        is_level = name == "level" and getattr(first, "algorithm", None) == "bfs"
        return _Found(name, values, _finite(values, is_level))

    exact, renumbered = found_on(made.original), found_on(made.renumbered)
    _check_same(exact, renumbered)
    found = found_on(made.graph)
    same = np.array_equal(exact.values, found.values, equal_nan=exact.values.dtype.kind == "f")
    graphs = made.original, made.renumbered, made.graph
    turns = [[call(graph, *arguments, **options).seconds for graph in graphs] for _ in range(repeat)]
    exact_seconds, by_order, seconds = (statistics.median(each) for each in zip(*turns, strict=True))
    return Evaluation(
        exact_seconds,
        by_order,
        seconds,
        made.seconds,
        made.extra_space,
        made.num_added,
        compare(exact.finite, found.finite)._replace(is_exact=bool(same)),
    )


def _check_same(exact: _Found, renumbered: _Found) -> None:
    """Refuse a call that gives other values where vertices are only numbered otherwise.

    Raises:
        ParameterError: with what may be the reason.
    """
    if np.ndim(exact.values) == 0 or len(exact.values) == 0:
        return
    here, there = np.isfinite(exact.finite), np.isfinite(renumbered.finite)
    both = here & there
    off = np.abs(exact.finite[both] - renumbered.finite[both]).mean() if both.any() else 0.0
    most = _SAME * np.abs(exact.finite[both]).mean() + _ROUNDING if both.any() else 0.0
    if off > most or np.mean(here != there) > _SAME:
        raise ParameterError(
            f"evaluate: {exact.name} is another one where vertices are only numbered otherwise, by {off:.3g} on "
            "average: the call depends on their numbers. Give it ids; give values for vertices in the order of the "
            "graph that it gets, values[made.original.index_of(graph.vertices)]; draw nothing"
        )


def _values(result: Result, name: str) -> np.ndarray:
    """What is compared of a result as it is: shape (n,), or a number. Raises ParameterError."""
    try:
        found = np.asarray(getattr(result, name))
        found.astype(np.float64)
    except (AttributeError, TypeError, ValueError):
        raise ParameterError(f"evaluate: {shown(result)} has no numbers by the name {shown(name)}") from None
    if found.shape not in ((), (result.graph.num_vertices,)):
        raise ParameterError(
            f"evaluate: {name} has the shape {found.shape}; expected a number, or one for each vertex"
        )
    return found


def _finite(given: np.ndarray, is_level: bool) -> np.ndarray:
    """The values as float64, shape (n,) or (1,); NaN for vertices that were not reached: levels below 0, and integers
    that are ``ew.INFINITY``, or ``-ew.INFINITY``, in their dtype."""
    given = np.atleast_1d(given)
    found = given.astype(np.float64)
    if given.dtype.kind == "i":
        limits = np.iinfo(given.dtype)
        found[(given == limits.max) | (given == limits.min) | (is_level & (given < 0))] = np.nan
    return found


def compare(exact: np.ndarray, found: np.ndarray) -> Difference:
    """How much values differ.

    Args:
        exact, found: float64, of one shape; NaN for what is not finite.
    """
    from scipy.stats import spearmanr  # which takes long to load

    finite = np.isfinite(exact) & np.isfinite(found)
    ours, theirs = found[finite], exact[finite]
    differences, mean = np.abs(ours - theirs), float(np.abs(theirs).mean()) if len(theirs) else 0.0
    differ = len(ours) > 1 and np.ptp(ours) > 0 and np.ptp(theirs) > 0
    top = min(_TOP, len(ours) // 2)
    of_both = [set(np.argsort(-each, kind="stable")[:top]) for each in (theirs, ours)]
    return Difference(
        inaccuracy=float(differences.mean()) / mean if mean > 0 else float(differences.max(initial=0) > 0),
        largest_error=float(differences.max(initial=0)),
        rank_correlation=float(spearmanr(ours, theirs).statistic) if differ else float("nan"),
        top_overlap=len(of_both[0] & of_both[1]) / top if top else float("nan"),
        reachability=float(np.mean(np.isfinite(exact) != np.isfinite(found))) if len(exact) else 0.0,
        is_exact=bool(np.array_equal(exact, found, equal_nan=True)),
    )
