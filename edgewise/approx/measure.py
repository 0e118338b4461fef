"""What an approximate graph gains, and what it costs in exactness: a call on it and on the graph it is made of."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edgewise.approx.transformed import Approximate
from edgewise.errors import ParameterError
from edgewise.graph import Graph
from edgewise.numeric import is_integer
from edgewise.result import Result
from edgewise.text import shown

#: What is compared of the results of algorithms: a value for each vertex, or one number.
_OF_VERTICES = {"bfs": "level", "sssp": "distance", "pagerank": "rank", "betweenness": "centrality"}
_NUMBERS = {"scc": "num_components", "components": "num_components", "mst": "total_weight"}
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
            `arguments` and `options`, which may be ids, but not arrays in the order of vertices.
        arguments, options: the others of the call.
        field: the name of what is compared of the result, a number for each vertex, or one; None for what an algorithm
            is for.
        repeat: how often each is timed, after one call that is not.

    Returns:
        An `Evaluation`.

    Raises:
        ParameterError: no approximate graph or no call; a result without such values, or with some that depend on how
            vertices are numbered: indices, labels, and what is drawn at random; or a repeat that is not an integer of
            at least 1.
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

    def timed(graph: Graph) -> tuple[np.ndarray, str, float]:
        """What is compared of the first result, its name, and the median of the others' seconds; no result is kept."""
        first = call(graph, *arguments, **options)
        if getattr(first, "graph", graph) is not graph:
            raise ParameterError(
                f"evaluate: the call ran on {shown(first.graph)}, and not on the graph that it was given, which is its "
                "first argument"
            )
        name = _name_of(first, field)
        times = (call(graph, *arguments, **options).seconds for _ in range(repeat))
        return _given(first, name), name, statistics.median(times)

    wanted, name, exact_seconds = timed(made.original)
    _, _, renumbered_seconds = timed(made.renumbered)
    given, _, seconds = timed(made.graph)
    values = made.in_order(given) if np.ndim(given) else given
    difference = compare(_finite(wanted, name), _finite(values, name))
    same = np.array_equal(wanted, values, equal_nan=wanted.dtype.kind == "f")
    return Evaluation(
        exact_seconds,
        renumbered_seconds,
        seconds,
        made.seconds,
        made.extra_space,
        made.num_added,
        difference._replace(is_exact=bool(same)),
    )


def _name_of(result: Result, field: str | None) -> str:
    """The name of what is compared of a result.

    Raises:
        ParameterError: it has nothing to compare, or what has another meaning where vertices are numbered otherwise.
    """
    algorithm, known = getattr(result, "algorithm", None), {**_OF_VERTICES, **_NUMBERS}
    if field is None and algorithm not in known:
        raise ParameterError(
            f"evaluate got {shown(result)}; expected the result of one of {', '.join(sorted(known))}, or a field"
        )
    prepared = getattr(result, "_prepared", None)
    if prepared is not None and prepared.spec.draws:
        raise ParameterError(
            "evaluate: a program that draws random numbers draws others for vertices in another order"
        )
    name = known[str(algorithm)] if field is None else field
    if name == "component" or name.endswith(("_index", "seconds")):
        raise ParameterError(f"evaluate: {shown(name)} has indices or times, whose differences mean nothing")
    return name


def _given(result: Result, name: str) -> np.ndarray:
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


def _finite(given: np.ndarray, name: str) -> np.ndarray:
    """The values as float64, shape (n,) or (1,); NaN for vertices that were not reached."""
    found = np.atleast_1d(given).astype(np.float64)
    if name == "level":
        found[np.atleast_1d(given) < 0] = np.nan
    elif name == "distance" and given.dtype.kind == "i":
        found[np.atleast_1d(given) == np.iinfo(given.dtype).max] = np.nan
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
