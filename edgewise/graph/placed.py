"""A graph among vertices that a caller lists: those of the graph, in another order, and others without edges."""

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph.csr import Rows
from edgewise.graph.given_ids import places_among
from edgewise.graph.graph import Graph
from edgewise.graph.ids import Ids
from edgewise.graph.ordering import rows_in_order
from edgewise.text import shown


def placing(graph: Graph) -> int:
    """The bytes that `placed` takes, both graphs included."""
    of_arc = 4 + (0 if graph.weight_dtype is None else graph.weight_dtype.itemsize)
    return 2 * of_arc * graph.num_arcs


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
    others = np.setdiff1d(np.arange(ids.num_vertices, dtype=np.int32), places)
    vertices = np.empty(ids.num_vertices, np.int32)
    vertices[np.concatenate([places, others])] = np.arange(ids.num_vertices, dtype=np.int32)
    offsets = np.append(graph.offsets, np.full(len(others), graph.num_arcs, graph.offsets.dtype))
    rows = rows_in_order(vertices, Rows(offsets, graph.targets, graph.weights))
    loops = 0 if graph.directed else 2 * graph.num_edges - graph.num_arcs
    return Graph(rows, ids, graph.directed, loops)
