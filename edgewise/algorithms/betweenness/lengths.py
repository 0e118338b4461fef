"""Lengths of arcs for betweenness: 1, or their weights, which must be positive and not get lost in a sum."""

import numpy as np

from edgewise.algorithms.common.lengths import WeightedArcs, arcs_of, sum_dtype, weight_range
from edgewise.algorithms.common.weighted import uses_weights
from edgewise.errors import GraphError
from edgewise.graph import Graph


def exact_dtype(name: str, graph: Graph, weighted: bool) -> np.dtype:
    """The dtype of distances: int32 by numbers of arcs, int64 or float64 by weights.

    Args:
        name: what runs, for messages.
        graph: the graph.
        weighted: whether the lengths of arcs are their weights.

    Raises:
        GraphError: there are no weights, one is not positive, or their sums could be too large.
    """
    if not uses_weights(name, graph, weighted, by_itself=False):
        return np.dtype(np.int32)
    least, _ = weight_range(graph)
    if not least > 0:
        raise GraphError(
            f"{name}: the weight {least} is not positive; expected weights above 0, since a cycle of length 0 makes "
            "infinitely many shortest paths"
        )
    return sum_dtype(name, graph)


def arcs_for(graph: Graph, weighted: bool) -> WeightedArcs:
    """The arcs, with their weights as lengths, or all of length 1."""
    arcs = arcs_of(graph)
    return arcs if weighted else arcs._replace(weights=np.empty(0, np.int32))


def in_arcs_to_pull(graph: Graph) -> WeightedArcs:
    """The in-edges of an undirected graph, without their weights. Of a directed graph none, and no offsets: whether it
    has in-edges shall not change a bit of a sum."""
    arcs = arcs_for(graph, weighted=False)
    return arcs._replace(offsets=arcs.offsets[:0], targets=arcs.targets[:0]) if graph.directed else arcs


class WeightLost(Exception):
    """A weight is lost beside a distance when it is added to it."""


def refusal_of_weights(name: str) -> GraphError:
    """The error for a weight that was lost."""
    return GraphError(
        f"{name}: a weight is so small beside a distance that their sum is that distance in float64; expected "
        "weights that each make a path longer. Scale and round them to integers, or leave such arcs out"
    )
