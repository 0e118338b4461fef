"""What Borůvka's rounds take of a GPU's memory."""

import numpy as np


def rounds_bytes(num_vertices: int, num_arcs: int, weight: np.dtype) -> int:
    """For each vertex its component and edge; for each piece its lightest arc; for each edge in the end, that it is
    sorted, and what it is turned into. Each arc is counted from both of its ends."""
    longer = num_arcs // 64
    of_pieces = (num_vertices + longer) * (8 + weight.itemsize) + 8 * longer
    return num_vertices * (68 + 5 * weight.itemsize) + of_pieces


def joining_bytes(num_vertices: int) -> int:
    """What is left of that where a program finds the lightest edges."""
    return rounds_bytes(num_vertices, 0, np.dtype(np.int64))
