"""The one meaning of ``weighted=`` in all algorithms: True, False, or None for what the algorithm does by itself."""

from typing import Any

import numpy as np

from edgewise.errors import GraphError, ParameterError
from edgewise.graph import Graph
from edgewise.graph.csr import Rows
from edgewise.text import shown


def uses_weights(name: str, graph: Graph, weighted: Any, by_itself: bool) -> bool:
    """Whether a call looks at the weights of its graph.

    Args:
        name: what runs, for messages.
        graph: the graph.
        weighted: True demands weights, False ignores them, and None leaves it to the algorithm.
        by_itself: what the algorithm does then.

    Raises:
        ParameterError: `weighted` is none of these.
        GraphError: it is True, and the graph has no weights.
    """
    if weighted is None:
        return by_itself
    if not isinstance(weighted, bool | np.bool_):
        raise ParameterError(f"{name}: weighted is {shown(weighted)}; expected True, False or None")
    if weighted and not graph.weighted:
        raise GraphError(
            f"{name}: weighted=True, but the graph has no weights; read it with weights, or leave it out"
        )
    return bool(weighted)


def without_weights(graph: Graph) -> Graph:
    """A graph of the same edges without weights, which shares arrays; one without weights is its own."""
    if not graph.weighted:
        return graph
    loops = 0 if graph.directed else 2 * graph.num_edges - graph.num_arcs
    return Graph(Rows(graph.offsets, graph.targets, None), graph._ids, graph.directed, loops)
