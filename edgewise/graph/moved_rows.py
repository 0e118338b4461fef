"""Rows in another order of the vertices than the graph that they are of."""

from collections.abc import Callable
from dataclasses import dataclass

from edgewise.graph import csr
from edgewise.graph.gpu_rows import GpuRows
from edgewise.kernels.cpu.launch import sealed


@dataclass(frozen=True)
class MovedRows(csr.Rows):
    """Rows in the host's memory.

    Attributes:
        make_in_edges: makes their in-edges, in the order of arcs that the graph's own have.
    """

    make_in_edges: Callable[[], csr.Rows]

    def sealed(self) -> "MovedRows":
        """These rows, read-only."""
        weights = None if self.weights is None else sealed(self.weights)
        return MovedRows(sealed(self.offsets), sealed(self.targets), weights, self.make_in_edges)


class MovedGpuRows(GpuRows):
    """Rows on the GPU; `make_in_edges` as for `MovedRows`."""

    def __init__(self, rows: csr.Rows, make_in_edges: Callable[[], csr.Rows]) -> None:
        super().__init__(rows.offsets, rows.targets, rows.weights)
        self._make = make_in_edges

    def transposed(self) -> GpuRows:
        """The in-edges."""
        rows = self._make()
        return GpuRows(rows.offsets, rows.targets, rows.weights)
