"""Minimum spanning forests on several ranks: each finds that of its own arcs, and these are joined two by two.

An edge that is not in the forest of some of the edges is the heaviest on a cycle of these, so it is in no forest of all
(the red rule). So the forest of the forests of two ranks is that of all arcs of both; ties are broken as everywhere.
"""

import numpy as np

from edgewise.algorithms.common.ranks import join_edges, joining_rounds, own_part
from edgewise.algorithms.mst import cpu
from edgewise.engine.distributed.group import connect
from edgewise.execution import Execution
from edgewise.graph import Graph


def forest(graph: Graph, dtype: np.dtype, run: Execution) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Ends and weights of the forest's edges in order, and the number of rounds, on all ranks."""
    group, n = connect(), graph.num_vertices

    def forest_of(part: Graph) -> tuple[np.ndarray, ...]:
        told = len(run.notes)
        part.make_in_edges()
        *edges, _ = cpu.forest(part, dtype, run)
        del run.notes[told:]  # of a part of the graph, or of forests
        return tuple(edges)

    def joined(source: np.ndarray, target: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, ...]:
        weights = weight if graph.weighted else None
        return forest_of(Graph.from_edges(source, target, weights, num_vertices=n))

    source, target, weight = join_edges(forest_of(own_part(graph, group, weighted=True)), joined, group)
    rounds = joining_rounds(group)
    run.explain(f"each rank found the forest of its own arcs; {rounds:,} rounds joined them")
    return source, target, weight, 1 + rounds
