"""Edges on the disk in the order in which they come, until their ids are known."""

from collections.abc import Iterator

import numpy as np

from edgewise.building.pieces import Piece
from edgewise.building.scratch import Scratch
from edgewise.errors import GraphError
from edgewise.numeric import first_inexact


def unrounded(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Values that become those of another dtype. Raises GraphError for an integer that float64 would round."""
    inexact = first_inexact([values]) if values.dtype == np.int64 and dtype.kind == "f" else None
    if inexact is not None:
        raise GraphError(
            f"the weight {inexact} is an integer, others are floats, and float64 does not hold it exactly; give "
            "integers only, or floats only"
        )
    return values


class _Column:
    """A column on the disk: stretches of one dtype each."""

    def __init__(self, scratch: Scratch) -> None:
        self._file = scratch.file()
        self._dtypes: list[np.dtype] = []
        self._places: list[int] = []
        #: The number of the first entry of each stretch, and of all.
        self._firsts = [0]

    def add(self, values: np.ndarray) -> None:
        """Write values at the end."""
        place = self._file.append(values)
        if not self._dtypes or self._dtypes[-1] != values.dtype:
            self._dtypes.append(values.dtype)
            self._places.append(place)
            self._firsts.append(self._firsts[-1])
        self._firsts[-1] += len(values)

    @property
    def dtype(self) -> np.dtype:
        """The dtype that holds all values; beside uint64 there are no negative ones."""
        kinds = set(self._dtypes) or {np.dtype(np.int32)}
        return np.dtype(np.uint64) if np.dtype(np.uint64) in kinds else np.result_type(*kinds)

    def read(self, start: int, count: int) -> np.ndarray:
        """Entries from `start` on, in the dtype of all. Raises GraphError as `unrounded`."""
        values = np.empty(count, self.dtype)
        stretch = int(np.searchsorted(self._firsts, start, side="right")) - 1
        done = 0
        while done < count:
            dtype, first = self._dtypes[stretch], start + done - self._firsts[stretch]
            end = done + min(count - done, self._firsts[stretch + 1] - start - done)
            place = self._places[stretch] + first * dtype.itemsize
            if dtype == values.dtype:
                self._file.read_into(place, values[done:end])
            else:
                values[done:end] = unrounded(self._file.read(place, dtype, end - done), values.dtype)
            done, stretch = end, stretch + 1
        return values

    def close(self) -> None:
        """Give the space back."""
        self._file.close()


class Spool:
    """Edges in temporary files.

    Attributes:
        num_edges: edges so far.
    """

    def __init__(self, scratch: Scratch, weighted: bool) -> None:
        self._columns = [_Column(scratch) for _ in range(2 + weighted)]
        self.num_edges = 0

    def add(self, piece: Piece) -> None:
        """Write a piece."""
        for column, values in zip(self._columns, piece, strict=False):
            assert values is not None
            column.add(values)
        self.num_edges += len(piece.source)

    def batches(self, most: int) -> Iterator[Piece]:
        """All edges in order, `most` at a time; one batch without edges if there are none."""
        for start in range(0, max(self.num_edges, 1), most):
            count = min(most, self.num_edges - start)
            source, target, *weight = (column.read(start, count) for column in self._columns)
            yield Piece(source, target, weight[0] if weight else None)

    def close(self) -> None:
        """Give the space back."""
        for column in self._columns:
            column.close()
