"""A graph among vertices that a caller lists: those of the graph, in another order, and others without edges."""

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph.csr import Rows, offset_dtype
from edgewise.graph.given_ids import places_among
from edgewise.graph.graph import Graph
from edgewise.graph.ids import Ids
from edgewise.text import shown

#: Bytes of an arc while it is placed, beyond those of both graphs.
_ARC_BYTES = 24


def placing(graph: Graph) -> int:
    """The bytes that `placed` takes, both graphs included."""
    of_arc = 4 + (0 if graph.weight_dtype is None else graph.weight_dtype.itemsize)
    return (2 * of_arc + _ARC_BYTES) * graph.num_arcs


def placed(graph: Graph, ids: Ids) -> Graph:
    """The graph with these vertices, in this order; the arcs of each stay in theirs. O(n + m).

    Raises:
        GraphError: a vertex of the graph is not among them.
    """
    places = places_among(graph.vertices, ids)
    if (places < 0).any():
        missing = graph.vertices[[int(np.argmax(places < 0))]].tolist()[0]
        raise GraphError(
            f"there are edges of {shown(missing)}, which is not in vertices. Add it there, or leave vertices out"
        )
    degrees = np.zeros(ids.num_vertices + 1, np.int64)
    degrees[places + 1] = np.diff(graph.offsets)
    offsets = np.cumsum(degrees)
    moved = np.repeat(offsets[places] - graph.offsets[:-1], np.diff(graph.offsets)) + np.arange(
        graph.num_arcs
    )
    targets = np.empty(graph.num_arcs, np.int32)
    targets[moved] = places[graph.targets]
    weights = None
    if graph.weights is not None:
        weights = np.empty_like(graph.weights)
        weights[moved] = graph.weights
    rows = Rows(offsets.astype(offset_dtype(graph.num_arcs)), targets, weights)
    loops = 0 if graph.directed else 2 * graph.num_edges - graph.num_arcs
    return Graph(rows, ids, graph.directed, loops)
