"""Lengths of arcs and of paths: the arrays that kernels read, and a dtype that no path overflows."""

import functools
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph import Graph, reading_once
from edgewise.kernels.cache import device_function


class WeightedArcs(NamedTuple):
    """The rows of a graph: unsigned offsets and targets, and weights; no weights if every arc has length 1."""

    offsets: np.ndarray
    targets: np.ndarray
    weights: np.ndarray


@device_function
def length(arcs: Any, arc: Any) -> Any:
    """The length of an arc, in the dtype of weights."""
    return arcs.weights[arc] if len(arcs.weights) else arcs.weights.dtype.type(1)


def arcs_of(graph: Graph) -> WeightedArcs:
    """The arcs of a graph as kernels read them."""
    return _arcs(graph.offsets, graph.targets, graph.weights)


def in_arcs_of(graph: Graph) -> WeightedArcs:
    """The in-edges as `WeightedArcs`, with sources in the place of targets."""
    return _arcs(graph.in_offsets, graph.in_sources, graph.in_weights)


def _arcs(offsets: np.ndarray, ends: np.ndarray, weights: np.ndarray | None) -> WeightedArcs:
    unsigned = offsets.view(f"u{offsets.itemsize}"), ends.view(np.uint32)
    return WeightedArcs(*unsigned, np.empty(0, np.int32) if weights is None else weights)


_weight_ranges: WeakKeyDictionary[Graph, tuple[Any, Any]] = WeakKeyDictionary()


def weight_range(graph: Graph) -> tuple[Any, Any]:
    """The smallest and the largest weight as Python numbers, found once for each graph."""
    if graph not in _weight_ranges:
        if not graph.weighted or graph.num_arcs == 0:
            _weight_ranges[graph] = (1, 1)
        else:
            with reading_once(graph):
                weights = graph.stored.weights
                _weight_ranges[graph] = (weights.min().item(), weights.max().item())
    return _weight_ranges[graph]


def distance_dtype(graph: Graph) -> np.dtype:
    """The dtype of the weights, or int64 if n weights could sum to more; int32 without weights.

    Raises:
        GraphError: not even int64 holds n times the largest weight.
    """
    given = graph.weight_dtype
    if given is None:
        return np.dtype(np.int32)
    if given.kind == "f":
        return given
    heaviest = max(map(abs, weight_range(graph)))
    for dtype in (given, np.dtype(np.int64)):
        if heaviest * graph.num_vertices < np.iinfo(dtype).max:
            return dtype
    raise GraphError(
        f"weights up to {heaviest:,} on {graph.num_vertices:,} vertices could sum to more than int64 holds; "
        "scale them down, or convert them with .astype(np.float64)"
    )


def sum_dtype(name: str, graph: Graph) -> np.dtype:
    """The dtype of distances by weights as wide as they come: int64, or float64.

    Args:
        name: what runs, for messages.
        graph: a graph with weights of at least 0.

    Raises:
        GraphError: a distance could be more than that holds.
    """
    if distance_dtype(graph).kind == "i":
        return np.dtype(np.int64)
    heaviest = weight_range(graph)[1]
    if heaviest * graph.num_vertices == np.inf:
        raise GraphError(
            f"{name}: weights up to {heaviest} could sum to more than float64 holds; scale them down"
        )
    return np.dtype(np.float64)


@functools.cache
def unreached_value(dtype: np.dtype) -> Any:
    """The distance of a vertex that was not reached, as a NumPy scalar: inf, or the largest integer."""
    return dtype.type(np.inf if dtype.kind == "f" else np.iinfo(dtype).max)


def wide_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of messages that are by turns values of a dtype and indices of vertices."""
    return np.dtype(f"{dtype.kind}8")
