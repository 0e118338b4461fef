"""What tests of reading and writing graphs share."""

import numpy as np

from edgewise.graph import Graph

MATRIX = "%%MatrixMarket matrix coordinate"


def edges_of(graph: Graph) -> list[tuple]:
    """The arcs in rows, with the user's ids."""
    columns = [graph.ids_of(graph.sources).tolist(), graph.ids_of(graph.targets).tolist()]
    if graph.weights is not None:
        columns.append(graph.weights.tolist())
    return list(zip(*columns, strict=True))


def sorted_edges(graph: Graph) -> list[tuple]:
    """The arcs with the user's ids, sorted."""
    return sorted(edges_of(graph))


def drawn(directed: bool, weights: str | None, seed: int = 1, num_vertices: int = 40) -> Graph:
    """A drawn graph with self-loops, parallel edges and vertices without edges; `weights` is their dtype."""
    random = np.random.default_rng(seed)
    source, target = random.integers(0, num_vertices - 5, (2, 150))
    weight = None if weights is None else random.integers(-50, 50, 150).astype(weights)
    if weights is not None and weights.startswith("f"):
        weight = weight / np.dtype(weights).type(8)
    return Graph.from_edges(source, target, weight, directed, num_vertices)
