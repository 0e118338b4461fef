"""The host's memory that making an array of a graph takes."""

from typing import Any

from edgewise.graph import csr
from edgewise.graph.gpu_rows import GpuRows
from edgewise.layout.slots import arranging
from edgewise.memory import Step, held, in_turn


def stored(rows: csr.Rows | GpuRows, name: str) -> Any:
    """An array of rows where it lies: a CuPy array if they were built on a GPU, else a NumPy array; or None."""
    return rows.on_gpu[name] if isinstance(rows, GpuRows) else getattr(rows, name)


def making_array(
    name: str, rows: csr.Rows | GpuRows, num_vertices: int, num_arcs: int, directed: bool
) -> Step:
    """The memory that making an array from rows takes.

    Args:
        name: "in_edges", "out_degree", "in_degree", "in_arcs" or "slots"; see `Graph`.
        rows: those of the graph.
        num_vertices, num_arcs, directed: of the graph.
    """
    n, m, of_offset = num_vertices, num_arcs, csr.offset_dtype(num_arcs)().itemsize
    if name.endswith("_degree"):
        return Step(4 * n, max(4, of_offset + 4 * (of_offset > 4)) * n)
    if name == "in_edges":
        weights = stored(rows, "weights")
        of_weight = 0 if weights is None else weights.itemsize
        if isinstance(rows, GpuRows):
            return held(of_offset * (n + 1) + (4 + of_weight) * m)
        return csr.transposing(rows.offsets, rows.targets, of_weight)
    if name == "slots":
        return Step(of_offset * (n + 1 + m), of_offset * m + arranging(n, of_offset))
    if directed:
        return Step(of_offset * m, csr.transposing(rows.offsets, rows.targets, of_offset - 4).most)
    arcs, by_target = held(of_offset * m), csr.transposing(rows.offsets, rows.targets, of_offset)
    return Step(arcs.kept, in_turn(arcs, by_target, by_target).most)
