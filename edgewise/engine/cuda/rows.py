"""A graph's rows on the GPU, as strategies of `edgewise.balance` prepare for them."""

import numpy as np

from edgewise.balance.contract import GraphRows
from edgewise.graph import Graph


def rows_of(graph: Graph) -> GraphRows:
    """What strategies may ask of a graph."""
    offsets = np.dtype(f"u{graph.stored.offsets.itemsize}")
    return GraphRows(
        graph.num_vertices,
        graph.num_arcs,
        offsets,
        graph.gpu.of_offsets,
        lambda choice: bool(choice.is_of(graph)),
    )
