"""A graph that a file holds as a whole, with the direction, parallel edges and self-loops that the caller asks for."""

from dataclasses import replace

import numpy as np

from edgewise.graph import Graph
from edgewise.io.budget import Budget, bytes_of_graph
from edgewise.io.lines import Edges
from edgewise.io.options import ReadOptions
from edgewise.io.reading import make_graph


def as_asked(graph: Graph, options: ReadOptions, budget: Budget) -> tuple[Graph, int]:
    """The graph that `read` returns for a file that holds this one; its ids are 0..n-1. Counts as `make_graph` does.

    An undirected graph has each edge once, and with directed=True two arcs of each; each arc of a directed one becomes
    an edge with directed=False.

    Raises:
        MemoryLimitError: the graph that is asked for does not fit beside the one of the file.
    """
    undirected = options.directed is False or not graph.directed
    mirrored = 0
    if options.parallel_edges != "keep" or options.self_loops != "keep" or undirected == graph.directed:
        columns = 8 * graph.num_edges
        weights = 0 if graph.weights is None else graph.weights.itemsize * graph.num_edges
        wanted = replace(options, directed=not undirected, num_vertices=graph.num_vertices, index_base=None)
        budget.check(graph.nbytes + bytes_of_graph(columns, weights, graph.num_edges, wanted))
        graph, mirrored = make_graph(_edges_once(graph), wanted, budget, integers=True)
    return graph.as_directed() if options.directed else graph, mirrored


def _edges_once(graph: Graph) -> Edges:
    """All edges; those of an undirected graph from their end of larger index."""
    if graph.directed:
        return Edges(graph.sources, graph.targets, graph.weights)
    once = np.flatnonzero(graph.sources >= graph.targets)
    weights = None if graph.weights is None else graph.weights[once]
    return Edges(graph.sources[once], graph.targets[once], weights)
