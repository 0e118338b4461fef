"""Which technique, with which knobs, makes a call faster: tried on a sample of the graph.

A sample is the vertices that a breadth-first search finds first, with all edges among them. Those of the last level are
taken in a fixed mixed order, as far as there is room. So degrees inside the ball are those of the graph, and those at
its rim are lower.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise.algorithms.bfs import bfs
from edgewise.algorithms.sssp import sssp
from edgewise.approx.sweeping import LADDERS, Technique, sweep
from edgewise.approx.transformed import Approximate, as_count, as_fraction
from edgewise.errors import GraphError, ParameterError
from edgewise.graph import Graph, check_graph
from edgewise.graph.csr import row_of_arcs
from edgewise.result import Result
from edgewise.text import shown

#: A call counts as faster from here on: medians of the same call differ by as much.
WORTH = 1.05
#: Times of a call that takes fewer seconds differ by more than that by chance.
TOO_SHORT = 1e-3
#: An odd number: its multiples of 64 bits are all vertices in a mixed order.
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Suggestion:
    """A technique with its knobs, and what it did on a sample.

    Attributes:
        technique: the function.
        knobs: the knob that was tried, by its name; the others have their defaults.
        inaccuracy: predicted; the larger one of the differences of values and of what is reached.
        speedup: predicted.
        speedup_by_order: predicted of the new order alone, which is exact.
        added_fraction: added edges of the sample, as a fraction of its edges.
        exact_seconds, seconds: how long the exact call took on the sample, and the approximate one.
    """

    technique: Technique
    knobs: dict[str, Any]
    inaccuracy: float
    speedup: float
    speedup_by_order: float
    added_fraction: float
    exact_seconds: float
    seconds: float

    @property
    def speedup_by_edges(self) -> float:
        """How many times as fast the call is by the added edges, beside the order."""
        return self.speedup / self.speedup_by_order

    def make(self, graph: Graph) -> Approximate:
        """Make the approximate graph."""
        return self.technique(graph, **self.knobs)


@dataclass(frozen=True)
class Suggested:
    """What `suggest` found.

    Attributes:
        best: the fastest that is accurate enough, or None if none is faster than the exact call, or calls are too short
            to tell.
        reason: why it is the best, or why there is none.
        suggestions: all that were tried: those that are accurate enough first, the fastest first among either.
        sample: the graph on which they were tried.
    """

    best: Suggestion | None
    reason: str
    suggestions: tuple[Suggestion, ...]
    sample: Graph


def suggest(
    graph: Graph,
    call: Callable[..., Result],
    *arguments: Any,
    max_inaccuracy: float = 0.05,
    size: int = 1 << 16,
    start: Any = None,
    field: str | None = None,
    repeat: int = 5,
    **options: Any,
) -> Suggested:
    """Try all techniques on a sample of the graph, and say which makes a call faster.

    A sample predicts only roughly: its rim has fewer edges than the graph, and a small graph fits in caches where the
    whole one does not. Evaluate what is suggested on the graph itself (`edgewise.approx.evaluate`) before it is relied
    on. What would be chosen is tried a second time, and the lower one of its speed-ups counts. Nothing is chosen where
    the exact call takes less than a millisecond on the sample, which is too short to tell. If the whole graph is no
    larger than `size`, it is the sample. O(n + m) for the sample, beside the calls.

    Args:
        graph: directed or undirected.
        call, arguments, options: as for `edgewise.approx.evaluate`. Vertices that they name have to be in the sample.
        max_inaccuracy: the most that is accurate enough, from 0 to 1.
        size: the most vertices of the sample, at least 2.
        start: the id from which the sample grows, or a list of ids; None for the source of ``ew.bfs`` and ``ew.sssp``,
            or else the vertex of the largest out-degree.
        field, repeat: as for `edgewise.approx.evaluate`.

    Returns:
        A `Suggested`.

    Raises:
        GraphError: a vertex that is not in the graph, or not in the sample.
        ParameterError: a number out of its range, a graph without vertices, or as `edgewise.approx.evaluate`.
    """
    check_graph("suggest", graph)
    most = as_fraction("suggest: max_inaccuracy", max_inaccuracy)
    size = as_count("suggest: size", size, 2)
    if not callable(call):
        raise ParameterError(f"suggest: call is {shown(call)}; expected one, such as ew.pagerank")
    if graph.num_vertices == 0:
        raise ParameterError("suggest: the graph has no vertices, so there is nothing to try")
    if start is None and call in (bfs, sssp):
        start = arguments[0] if arguments else options.get("source")
    sample = sample_of(graph, size, start)
    found = [
        each
        for technique in LADDERS
        for each in _tried(technique, None, sample, call, arguments, field, repeat, options)
    ]

    def again(each: Suggestion) -> Suggestion:
        """A suggestion with the lower one of its speed-up and that of a second trial."""
        (second,) = _tried(each.technique, each.knobs, sample, call, arguments, field, repeat, options)
        return min(each, second, key=lambda one: one.speedup)

    return _chosen(_confirmed(found, most, again), most, sample, sample is graph)


def _tried(
    technique: Technique,
    knobs: dict[str, Any] | None,
    sample: Graph,
    call: Callable[..., Result],
    arguments: tuple[Any, ...],
    field: str | None,
    repeat: int,
    options: dict[str, Any],
) -> list[Suggestion]:
    """A technique with one value of its knob, or with all of its ladder, on a sample."""
    values = None if knobs is None else tuple(knobs.values())
    try:
        swept = sweep(
            sample, technique, call, *arguments, values=values, field=field, repeat=repeat, **options
        )
    except GraphError as error:
        if "has no vertex" not in str(error):
            raise
        raise GraphError(
            f"suggest: on a sample of {sample.num_vertices:,} vertices, {error}. If the whole graph has it, give it as "
            "start, or take a larger size"
        ) from None
    return [
        Suggestion(
            technique,
            {swept.knob: step.value},
            max(step.inaccuracy, step.reachability),
            step.speedup,
            step.speedup_by_order,
            step.added / max(1, sample.num_edges),
            step.exact_seconds,
            step.seconds,
        )
        for step in swept.steps
    ]


def _confirmed(
    found: list[Suggestion], most: float, again: Callable[[Suggestion], Suggestion]
) -> tuple[Suggestion, ...]:
    """Suggestions in their order, of which the first is tried again if it would be chosen, until one stays the first.

    The fastest of many owes some of its speed-up to chance.
    """
    trials = [(each, False) for each in found]
    while True:
        trials.sort(key=lambda trial: (trial[0].inaccuracy > most, -trial[0].speedup))
        first, is_confirmed = trials[0]
        if is_confirmed or first.inaccuracy > most or first.speedup < WORTH:
            return tuple(each for each, _ in trials)
        trials[0] = again(first), True


def _chosen(found: tuple[Suggestion, ...], most: float, sample: Graph, is_whole: bool) -> Suggested:
    """The best of suggestions in their order, with a reason; `is_whole` says that the sample is the graph."""
    first = found[0]
    if first.inaccuracy > most:
        least = min(each.inaccuracy for each in found)
        reason = f"none is accurate enough: the least inaccuracy is {least:.2%}, and {most:.2%} was asked for"
        return Suggested(None, reason, found, sample)
    faster = np.floor(100 * first.speedup) / 100
    reason = (
        f"{first.technique.__name__} with {first.knobs} is the fastest of those accurate enough: {faster:.2f} times as "
        "fast as the exact call"
    )
    # The exact call was timed for each of them; the least time has the least of chance in it.
    exact, worth = min(each.exact_seconds for each in found), first.speedup >= WORTH
    if exact < TOO_SHORT:
        larger = "" if is_whole else "; take a larger size, or evaluate it on the graph itself"
        reason += (
            f", but in {1e3 * first.seconds:.3f} ms instead of {1e3 * first.exact_seconds:.3f}, and the exact call "
            f"took {1e3 * exact:.3f} ms at least: below {1e3 * TOO_SHORT:g} ms times are too short to tell{larger}"
        )
    elif not worth:
        reason += f", and from {WORTH} on it counts as faster"
    else:
        reason += f", {first.speedup_by_order:.2f} by the new order alone; inaccuracy {first.inaccuracy:.2%}"
    return Suggested(first if worth and exact >= TOO_SHORT else None, reason, found, sample)


def sample_of(graph: Graph, size: int, start: Any = None) -> Graph:
    """The vertices that a search finds first, with all edges among them, in their order and with their ids.

    Args:
        graph: what the sample is of.
        size: the most vertices.
        start: an id, or a list of ids; None for the vertex of the largest out-degree.

    Raises:
        GraphError: a vertex that is not in the graph.
    """
    n = graph.num_vertices
    if start is not None:
        graph.index_of(start)
    if n <= size:
        return graph
    if start is None:
        start = graph.ids_of(np.array([int(graph.out_degree.argmax())])).tolist()[0]
    # Vertices that are not found come last.
    level = bfs(graph, start, device="cpu").level.view(np.uint32)
    mixed = np.arange(n, dtype=np.uint64) * _MIX
    inside = np.zeros(n, np.bool_)
    inside[np.lexsort([mixed, level])[:size]] = True
    place = np.cumsum(inside, dtype=np.int64) - 1
    sources = row_of_arcs(graph.offsets)
    kept = np.flatnonzero(inside[sources] & inside[graph.targets])
    offsets = np.searchsorted(kept, graph.offsets[np.append(inside, True)])
    weights = None if graph.weights is None else graph.weights[kept]
    # Rows of vertices outside of the sample are empty, so the offsets of the others follow each other.
    return Graph.from_csr(
        offsets, place[graph.targets[kept]], weights, graph.directed, graph.vertices[inside]
    )
