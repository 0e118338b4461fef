"""The memory that Borůvka's rounds take on a GPU, in bytes."""

import numpy as np


def rounds_bytes(num_vertices: int, num_arcs: int, weight: np.dtype) -> int:
    """The memory of each vertex's component and edge, of each piece's lightest arc, and in the end of each edge's
    sorting and result. Each arc is counted from both of its ends."""
    longer = num_arcs // 64
    of_pieces = (num_vertices + longer) * (8 + weight.itemsize) + 8 * longer
    return num_vertices * (68 + 5 * weight.itemsize) + of_pieces


def joining_bytes(num_vertices: int) -> int:
    """The memory of the rounds if a program finds the lightest edges."""
    return rounds_bytes(num_vertices, 0, np.dtype(np.int64))
