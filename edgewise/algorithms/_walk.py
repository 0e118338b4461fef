"""The random walk that PageRank ranks: where it jumps to, and how a vertex divides its rank among its arcs."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from edgewise.errors import ParameterError
from edgewise.graph import Graph


class Walk:
    """The random walk on a graph.

    Attributes:
        jump: the jump distribution, shape (n,), float64, or None for the uniform one.
        scale: what a vertex's rank is multiplied with for one arc (of weight 1): 0 without out-arcs; float64, (n,).
    """

    def __init__(self, graph: Graph, damping: float, jump: np.ndarray | None, weighted: bool) -> None:
        self.graph, self.damping, self.jump, self.weighted = graph, damping, jump, weighted

    @cached_property
    def scale(self) -> np.ndarray:
        graph = self.graph
        if self.weighted:
            out = np.bincount(graph.sources, weights=graph.weights, minlength=graph.num_vertices)
        else:
            out = graph.out_degree
        return np.divide(1.0, out, out=np.zeros(graph.num_vertices), where=out > 0)


def distribution(graph: Graph, name: str, given: Mapping[Any, float] | np.ndarray) -> np.ndarray:
    """A distribution over the vertices, float64, shape (n,), that sums to 1."""
    values = np.zeros(graph.num_vertices)
    if isinstance(given, Mapping):
        numbers = np.asarray(list(given.values()))
        if len(given) and numbers.dtype.kind not in "biuf":
            raise ParameterError(
                f"pagerank: {name} has the values {list(given.values())!r}; expected numbers"
            )
        values[graph.index_of(list(given))] = numbers
    else:
        array = np.asarray(given)
        if array.shape != values.shape or array.dtype.kind not in "biuf":
            raise ParameterError(
                f"pagerank: {name} is an array of {array.dtype} and shape {array.shape}; expected numbers of shape "
                f"{values.shape}, or a dictionary by id"
            )
        values[:] = array
    if not np.isfinite(values).all() or (values < 0).any():
        raise ParameterError(f"pagerank: {name} has negative, NaN or infinite values; expected none")
    total = values.sum()
    if total == 0 and graph.num_vertices:
        raise ParameterError(f"pagerank: {name} sums to 0; expected a positive value for at least one vertex")
    return values / total if graph.num_vertices else values
