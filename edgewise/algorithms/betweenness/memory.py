"""The memory that betweenness takes on a GPU, and beside its own on one of several ranks, in bytes."""

#: The most sources that a GPU does at a time without weights: the lanes of a warp.
MOST_SOURCES = 32
#: For each sum, what a rank sends and receives, with the copies of that, and the sums of all ranks.
RANK_BYTES = 5 * 8


def batch_bytes(num_vertices: int, num_arcs: int, sources: int) -> int:
    """The memory of a run on a GPU that does `sources` sources at a time."""
    return num_vertices * (40 + 20 * sources) + num_arcs // 256


def source_bytes(num_vertices: int, num_arcs: int, num_sums: int) -> int:
    """The memory of a run on a GPU that does one source after the other, for `num_sums` sums."""
    return 76 * num_vertices + 9 * num_arcs // 64 + 8 * num_sums


def widest(num_vertices: int, num_arcs: int, num_sources: int, room: int) -> int:
    """How many of `num_sources` sources a GPU does at a time in `room` bytes: a power of two up to `MOST_SOURCES`, at
    least 1."""
    width = MOST_SOURCES
    while width > 1 and (width >= 2 * num_sources or batch_bytes(num_vertices, num_arcs, width) > room):
        width //= 2
    return width


def batch_beside(
    num_vertices: int, num_arcs: int, num_sources: int, room: int, graph: int, least: int
) -> int:
    """The memory of a run beside a graph that is put where there is room: `graph` bytes of it if all of it shall lie on
    the GPU, at least `least`. A graph that is read from the host's memory is read once for each batch, so the graph
    lies on the GPU only if that leaves room for many sources."""
    for taken, enough in ((graph, MOST_SOURCES // 4), (least, 1)):
        width = widest(num_vertices, num_arcs, num_sources, room - taken)
        if 2 * width > min(num_sources, enough):
            break
    return batch_bytes(num_vertices, num_arcs, width)
