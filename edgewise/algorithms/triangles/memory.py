"""The memory that triangles take on a GPU, in bytes."""

from edgewise.graph import Graph


def gpu_bytes(graph: Graph) -> int:
    """The memory of ranks and of what is found, and of edges as numbers with both ends, two copies of them among it:
    they are sorted, and those that stand there twice are dropped."""
    return 48 * graph.num_vertices + 26 * (graph.num_arcs // 2) + 1024
