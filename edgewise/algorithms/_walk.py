"""The random walk that PageRank ranks: where it jumps to, and how a vertex divides its rank among its arcs."""

from collections.abc import Mapping
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from edgewise.algorithms._lengths import weight_range
from edgewise.errors import ParameterError
from edgewise.graph import Graph

#: Sums of weights up to this, and down to one over this, leave room in float32 for what is computed with them.
_EXTREME = 2.0**64


class Walk:
    """The random walk on a graph.

    Attributes:
        graph: the graph; its weights are those given, or, where sums of these could leave float32, such that the
            heaviest arc from each vertex has the weight 1.
        jump: the jump distribution, shape (n,), float64, or None for the uniform one.
        scale: what a vertex's rank is multiplied with for one arc (of weight 1): 0 without out-arcs; float64, (n,).
    """

    def __init__(self, graph: Graph, damping: float, jump: np.ndarray | None, weighted: bool) -> None:
        self.graph = _with_moderate_weights(graph) if weighted else graph
        self.damping, self.jump, self.weighted = damping, jump, weighted

    @cached_property
    def scale(self) -> np.ndarray:
        graph = self.graph
        if self.weighted:
            out = np.bincount(graph.sources, weights=graph.weights, minlength=graph.num_vertices)
        else:
            out = graph.out_degree
        return np.divide(1.0, out, out=np.zeros(graph.num_vertices), where=out > 0)


def _with_moderate_weights(graph: Graph) -> Graph:
    """The graph, or one of the same walk: only ratios of the weights of a vertex's arcs count."""
    least, heaviest = weight_range(graph)
    if least >= 1 / _EXTREME and heaviest * graph.num_arcs <= _EXTREME:
        return graph
    assert graph.weights is not None
    weights, most = graph.weights.astype(np.float64), np.zeros(graph.num_vertices)
    np.maximum.at(most, graph.sources, weights)
    most[most == 0] = 1.0
    if most.min() >= 1 / _EXTREME and most.max() * graph.num_arcs <= _EXTREME:
        return graph
    return Graph.from_csr(
        graph.offsets, graph.targets, weights / most[graph.sources], vertices=graph.vertices
    )


def distribution(graph: Graph, name: str, given: Mapping[Any, float] | np.ndarray) -> np.ndarray:
    """A distribution over the vertices, float64, shape (n,), that sums to 1."""
    values = np.zeros(graph.num_vertices)
    if isinstance(given, Mapping):
        values[graph.index_of(list(given))] = _as_floats(name, list(given.values()))
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
    most = values.max(initial=0.0)
    if most == 0 and graph.num_vertices:
        raise ParameterError(f"pagerank: {name} sums to 0; expected a positive value for at least one vertex")
    values /= most or 1.0  # so that no sum overflows
    return values / (values.sum() or 1.0)


def _as_floats(name: str, values: list[Any]) -> np.ndarray:
    """Numbers of any kind, integers of any size among them, as float64."""
    if not all(isinstance(value, Real | np.bool_) for value in values):
        raise ParameterError(f"pagerank: {name} has the values {values!r}; expected numbers")
    try:
        return np.array([float(value) for value in values])
    except OverflowError:
        raise ParameterError(f"pagerank: {name} has a value beyond float64; scale its values down") from None
