"""The mean as confluence, to make the paper's inaccuracies again: each copy of a vertex has a state of its own.

In the paper a replica is a vertex, with the arcs that it took and without in-edges; now and then all copies of a vertex
get the mean of their values. A value that has fallen for one of them then rises again, and who sent it does not send it
another time: so distances come out too long, and ranks wrong. Runs on ``made.graph`` have one state for each vertex and
are not like that: use them.

An infinite value says that nothing has come yet. The mean of all values would be infinite then, and keep replicas from
ever sending; so it is that of the finite ones.

Reference. Singh and Nasre (2020), section 2.4.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.numbers import as_float
from edgewise.approx.transformed import Approximate, as_count, as_fraction
from edgewise.errors import GraphError, ParameterError, ProgramWarning, warn
from edgewise.text import shown

_ALGORITHMS = ("bfs", "sssp", "pagerank")


def mean_confluence(
    made: Approximate,
    algorithm: str,
    source: Any = None,
    *,
    every: int | None = 1,
    max_supersteps: int = 1000,
    damping: float = 0.85,
    tol: float = 1e-6,
) -> np.ndarray:
    """Run an algorithm as the paper does: copies have states of their own, and get their mean. On the CPU, in NumPy.

    Levels and distances are Bellman-Ford's with a frontier: copies send whose value has changed. Ranks are those of
    the graph with copies as vertices, which are divided by the copy's own number of arcs: they need not add up to 1.
    O(m) for each superstep.

    Args:
        made: the result of `coalesce`.
        algorithm: "bfs", "sssp" or "pagerank".
        source: the user's id of the vertex from which levels and distances are; all its copies begin with 0.
        every: after how many supersteps copies get their mean; None for once, at the end.
        max_supersteps: how many there are at most, at least 1; a `ProgramWarning` tells of values that still change.
        damping, tol: of PageRank, which ends when ranks change by at most `tol` in all.

    Returns:
        The mean of each vertex's copies, float64, shape (n,), in the order of the vertices of ``made.original``;
        infinity for those that are not reached.

    Raises:
        ParameterError: no slots, another algorithm, no source or one too many, or a number that is none.
        GraphError: negative weights, or a source that is no vertex.
    """
    if not isinstance(made, Approximate) or made.copies is None:
        raise ParameterError(f"mean_confluence got {shown(made)}; expected the result of approx.coalesce")
    if algorithm not in _ALGORITHMS:
        raise ParameterError(
            f"mean_confluence: algorithm is {shown(algorithm)}; expected one of {', '.join(_ALGORITHMS)}"
        )
    if (source is None) != (algorithm == "pagerank"):
        raise ParameterError(
            f"mean_confluence: source is {shown(source)}; expected a vertex for bfs and sssp, None for pagerank"
        )
    every = None if every is None else as_count("mean_confluence: every", every, 1)
    most = as_count("mean_confluence: max_supersteps", max_supersteps, 1)
    damping = as_fraction("mean_confluence: damping", damping)
    tol = as_float("mean_confluence: tol", tol, "a number of at least 0")
    copied = _copied(made)
    if algorithm == "pagerank":
        return made.in_order(_ranks(copied, damping, tol, every, most))
    length = np.ones(len(copied.slot))
    if algorithm == "sssp" and made.graph.weights is not None:
        length = made.graph.weights[copied.arcs].astype(np.float64)
    if length.min(initial=0) < 0:
        raise GraphError("mean_confluence: a weight is negative; expected weights of at least 0")
    index = made.graph.index_of(source)
    if not isinstance(index, int):
        raise GraphError(f"mean_confluence: source is {shown(source)}; expected one vertex")
    return made.in_order(_distances(copied, length, index, every, most))


class Copied(NamedTuple):
    """A graph with copies as vertices.

    Attributes:
        vertex: int64, shape (c,): the vertex of each copy.
        own: int64, shape (n,): the copy of each vertex into which its in-edges lead.
        degree: int64, shape (c,): how many arcs each copy has.
        arcs: int64, shape (m,): arcs by their targets.
        slot: int64, shape (m,): the copies from which these lead.
        begins, targets: where the arcs to each vertex begin that has some, and these vertices.
    """

    vertex: np.ndarray
    own: np.ndarray
    degree: np.ndarray
    arcs: np.ndarray
    slot: np.ndarray
    begins: np.ndarray
    targets: np.ndarray

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Values of copies with the mean of a vertex's finite ones in their place."""
        finite, n = np.isfinite(values), len(self.own)
        low = np.full(n, np.inf)
        np.minimum.at(low, self.vertex, values)
        with np.errstate(invalid="ignore"):  # infinity less infinity
            above = np.where(finite, values - low[self.vertex], 0)
        count = np.bincount(self.vertex[finite], minlength=n)
        # From the least value up: the mean of equal values is that value.
        mean: np.ndarray = low + np.bincount(self.vertex, above, n) / np.maximum(count, 1)
        return mean[self.vertex]


def _copied(made: Approximate) -> Copied:
    """The graph with copies as vertices."""
    table, graph = made.balance, made.graph
    used = np.flatnonzero(table.vertex >= 0)
    degree = (table.end - table.first)[used].astype(np.int64)
    by_arcs = np.argsort(table.first[used], kind="stable")
    copy_of_arc = np.repeat(by_arcs, degree[by_arcs])
    assert made.copies is not None
    own = np.flatnonzero(made.copies.to[used] < 0)
    arcs = np.argsort(graph.targets, kind="stable")
    targets = graph.targets[arcs]
    begins = np.flatnonzero(np.append(True, targets[1:] != targets[:-1])[: len(targets)])
    vertex = table.vertex[used].astype(np.int64)
    return Copied(vertex, own, degree, arcs, copy_of_arc[arcs], begins, targets[begins])


def _distances(copied: Copied, length: np.ndarray, source: int, every: int | None, most: int) -> np.ndarray:
    """The distance of each vertex."""
    value = np.where(copied.vertex == source, 0.0, np.inf)
    changed, step, into = np.isfinite(value), 0, copied.own[copied.targets]
    while step < most and changed.any():
        step, before = step + 1, value
        sent = np.where(changed[copied.slot], value[copied.slot] + length, np.inf)
        value = value.copy()
        if len(into):
            value[into] = np.minimum(value[into], np.minimum.reduceat(sent, copied.begins))
        changed = value != before
        if every is not None and (step % every == 0 or not changed.any()):
            value = copied.mean(value)
            changed = value != before
    if changed.any():
        _warn_of_end(most)
    return copied.mean(value)[copied.own]


def _warn_of_end(most: int) -> None:
    """Warn that values were still changing."""
    warn(
        f"mean_confluence: values still change after {most:,} supersteps, and what is not reached yet has none; raise "
        "max_supersteps",
        ProgramWarning,
    )


def _ranks(copied: Copied, damping: float, tol: float, every: int | None, most: int) -> np.ndarray:
    """The rank of each vertex."""
    count = len(copied.vertex)
    value, step, moved = np.full(count, 1 / max(count, 1)), 0, np.inf
    into, sends = copied.own[copied.targets], copied.degree > 0
    while step < most and moved > tol:
        step += 1
        share = np.where(sends, value / np.maximum(copied.degree, 1), 0)
        came = np.zeros(count)
        if len(into):
            came[into] = np.add.reduceat(share[copied.slot], copied.begins)
        new = (1 - damping + damping * value[~sends].sum()) / max(count, 1) + damping * came
        if every is not None and step % every == 0:
            new = copied.mean(new)
        moved, value = float(np.abs(new - value).sum()), new
    return copied.mean(value)[copied.own]
