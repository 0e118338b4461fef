"""The arrays of a file from rows that come in order."""

from dataclasses import dataclass

import numpy as np

from edgewise.building.spill import Spill
from edgewise.graph.csr import Rows, offset_dtype
from edgewise.graph.file_writer import GraphWriter


@dataclass
class Counted:
    """Counts arcs that are left, before there is a file for them.

    Attributes:
        num_arcs, num_loops: arcs, and self-loops among them, so far.
    """

    num_arcs: int = 0
    num_loops: int = 0

    def take(self, first_row: int, rows: Rows, loops: int) -> None:
        """Count the arcs of rows."""
        self.num_arcs += len(rows.targets)
        self.num_loops += loops

    def go_on(self, row: int, rows: Rows) -> None:
        """Count more arcs of a row."""
        self.num_arcs += len(rows.targets)


class Written:
    """Writes rows to a file, and deals their arcs out by target.

    Args:
        writer: of the file.
        names: of the arrays of offsets, targets and weights.
        num_arcs: of the graph.
        onward: takes the arcs by target, as many as a batch has at a time, or None.
        batch: arcs in a batch.
        before: arcs of rows that are written elsewhere, before these.
    """

    def __init__(
        self,
        writer: GraphWriter,
        names: tuple[str, str, str],
        num_arcs: int,
        onward: Spill | None,
        batch: int,
        before: int = 0,
    ) -> None:
        self._writer, self._names, self._dtype = writer, names, np.dtype(offset_dtype(num_arcs))
        self._onward, self._batch = onward, batch
        self._arcs = before

    def take(self, first_row: int, rows: Rows, loops: int) -> None:
        """Write rows from `first_row` on."""
        for start in range(0, len(rows.offsets) - 1, self._batch):
            part = rows.offsets[start : min(start + self._batch, len(rows.offsets) - 1)]
            begins = np.add(part, self._arcs, dtype=self._dtype, casting="unsafe")
            self._writer.write(self._names[0], first_row + start, begins)
        self._write(first_row, rows)

    def go_on(self, row: int, rows: Rows) -> None:
        """Write more arcs of a row."""
        self._write(row, rows)

    def _write(self, first_row: int, rows: Rows) -> None:
        """Write the arcs of rows, and deal them out."""
        self._writer.write(self._names[1], self._arcs, rows.targets)
        if rows.weights is not None:
            self._writer.write(self._names[2], self._arcs, rows.weights)
        self._arcs += len(rows.targets)
        if self._onward is not None:
            for start in range(0, len(rows.targets), self._batch):
                part = slice(start, min(start + self._batch, len(rows.targets)))
                weights = None if rows.weights is None else rows.weights[part]
                self._onward.add(rows.targets[part], _rows_of(rows.offsets, part, first_row), weights)

    def finish(self, num_vertices: int) -> None:
        """Write the last offset."""
        self._writer.write(self._names[0], num_vertices, np.array([self._arcs], self._dtype))


def _rows_of(offsets: np.ndarray, part: slice, first_row: int) -> np.ndarray:
    """The row of each arc from `part.start` to `part.stop`, int32."""
    first = int(np.searchsorted(offsets, part.start, side="right")) - 1
    end = int(np.searchsorted(offsets, part.stop, side="left"))
    bounds = np.clip(offsets[first : end + 1], part.start, part.stop)
    return np.repeat(np.arange(first_row + first, first_row + end, dtype=np.int32), np.diff(bounds))
