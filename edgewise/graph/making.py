"""The host's memory that making an array of a graph takes."""

from enum import Enum

from edgewise.graph import csr
from edgewise.graph.gpu_rows import GpuRows
from edgewise.layout.slots import arranging
from edgewise.memory import Step, held, in_turn


class Made(Enum):
    """What a graph makes on demand on the host, with the name of the attribute that holds it."""

    IN_EDGES = "_in_edges"
    IN_ARCS = "in_arcs"
    OUT_DEGREE = "out_degree"
    IN_DEGREE = "in_degree"
    SLOTS = "slots"


def stored(rows: csr.Rows | GpuRows) -> csr.Rows:
    """Rows where they lie: CuPy arrays if they were built on a GPU, else NumPy arrays."""
    return rows.on_gpu if isinstance(rows, GpuRows) else rows


def making_array(
    array: Made, rows: csr.Rows | GpuRows, num_vertices: int, num_arcs: int, directed: bool
) -> Step:
    """The memory that making an array from rows takes.

    Args:
        array: what is made.
        rows: those of the graph.
        num_vertices, num_arcs, directed: of the graph.
    """
    n, m, of_offset = num_vertices, num_arcs, csr.offset_dtype(num_arcs)().itemsize
    if array in (Made.OUT_DEGREE, Made.IN_DEGREE):
        return Step(4 * n, max(4, of_offset + 4 * (of_offset > 4)) * n)
    if array is Made.IN_EDGES:
        weights = stored(rows).weights
        of_weight = 0 if weights is None else weights.itemsize
        if isinstance(rows, GpuRows):
            return held(of_offset * (n + 1) + (4 + of_weight) * m)
        return csr.transposing(rows.offsets, rows.targets, of_weight)
    if array is Made.SLOTS:
        return Step(of_offset * (n + 1 + m), of_offset * m + arranging(n, of_offset))
    if directed:
        return Step(of_offset * m, csr.transposing(rows.offsets, rows.targets, of_offset - 4).most)
    arcs, by_target = held(of_offset * m), csr.transposing(rows.offsets, rows.targets, of_offset)
    return Step(arcs.kept, in_turn(arcs, by_target, by_target).most)
