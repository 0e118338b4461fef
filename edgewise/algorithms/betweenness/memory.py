"""The memory that betweenness takes on a GPU, in bytes."""


def batch_bytes(num_vertices: int, num_arcs: int, sources: int) -> int:
    """The memory of a run on a GPU that does `sources` sources at a time."""
    return num_vertices * (40 + 20 * sources) + num_arcs // 256


def source_bytes(num_vertices: int, num_arcs: int, num_sums: int) -> int:
    """The memory of a run on a GPU that does one source after the other, for `num_sums` sums."""
    return 76 * num_vertices + 9 * num_arcs // 64 + 8 * num_sums
