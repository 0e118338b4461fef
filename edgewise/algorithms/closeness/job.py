"""A call to sum up distances, and what is found, as every form has them."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.lengths import sum_dtype, weight_range
from edgewise.errors import GraphError
from edgewise.graph import Graph


class Job(NamedTuple):
    """A call to sum up distances.

    Attributes:
        name: what runs, for messages.
        graph: the graph.
        weighted: whether the lengths of arcs are their weights.
        inward: whether distances are those to the vertices that are asked for, else those from them.
        dtype: that of distances: int32 without weights, else int64 or float64.
    """

    name: str
    graph: Graph
    weighted: bool
    inward: bool
    dtype: np.dtype

    @property
    def turned(self) -> bool:
        """Whether searches go against the arcs."""
        return self.inward and self.graph.directed

    def work(self, number: int) -> float:
        """About the nanoseconds that one CPU thread takes for `number` vertices."""
        n, m = self.graph.num_vertices, self.graph.num_arcs
        return number * (60 * n + 15 * m if self.weighted else 0.5 * n + 0.05 * m)


class Found(NamedTuple):
    """What is found for each of k vertices, over the other vertices that its search reaches.

    Attributes:
        reached: int64, shape (k,): their number.
        total: int64, or float64 by float weights, shape (k,): the sum of distances.
        reciprocals: float64, shape (k,): the sum of 1 / distance, over distances that are not 0.
        farthest: the largest distance, shape (k,), of the job's dtype.
    """

    reached: Any
    total: Any
    reciprocals: Any
    farthest: Any


def make_found(number: int, dtype: np.dtype) -> Found:
    """Zeros for `number` vertices and distances of a dtype."""
    total = np.zeros(number, np.float64 if dtype.kind == "f" else np.int64)
    return Found(np.zeros(number, np.int64), total, np.zeros(number), np.zeros(number, dtype))


def found_by_levels(level: np.ndarray) -> Found:
    """What the levels from a source sum up to, level by level: numbers, in place of arrays."""
    counts = np.bincount(level[level > 0], minlength=2)[1:]
    levels = np.arange(1, len(counts) + 1)
    reached = counts.sum()
    farthest = len(counts) if reached else 0
    return Found(reached, (counts * levels).sum(), np.cumsum(counts / levels)[-1], farthest)


def lengths_dtype(name: str, graph: Graph, weighted: bool) -> np.dtype:
    """The dtype of distances.

    Raises:
        GraphError: a weight is negative, or their sums could be too large.
    """
    if not weighted:
        return np.dtype(np.int32)
    least = weight_range(graph)[0]
    if least < 0:
        raise GraphError(
            f"{name}: the weight {least} is negative; expected weights of at least 0, the lengths of edges"
        )
    return sum_dtype(name, graph)


def refusal_of_sum(name: str) -> GraphError:
    """The error for a sum of distances that int64 does not hold."""
    return GraphError(
        f"{name}: the distances of a vertex sum to more than int64 holds; scale the weights down, or convert them with "
        ".astype(np.float64)"
    )
