"""What tests of reading and writing graphs share."""

from edgewise.graph import Graph

MATRIX = "%%MatrixMarket matrix coordinate"


def edges_of(graph: Graph) -> list[tuple]:
    """The arcs in rows, with the user's ids."""
    columns = [graph.ids_of(graph.sources).tolist(), graph.ids_of(graph.targets).tolist()]
    if graph.weights is not None:
        columns.append(graph.weights.tolist())
    return list(zip(*columns, strict=True))
