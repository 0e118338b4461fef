"""Edges that come in pieces: columns of ids and weights, whatever they are made of."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from edgewise.building.integers import Numbering
from edgewise.building.names import Names
from edgewise.building.sizes import Room
from edgewise.convert.usual_names import is_weight, usual_ends
from edgewise.errors import GraphError
from edgewise.graph.checks import check_lengths
from edgewise.graph.foreign_arrays import lies_on_gpu
from edgewise.graph.gpu_rows import gpu_column
from edgewise.graph.id_columns import as_id_column
from edgewise.graph.ids import Ids
from edgewise.graph.weights import as_weights
from edgewise.io.doubts import ends_problem
from edgewise.kernels.door import cuda_door
from edgewise.text import listed, shown

#: Edges of a piece that are looked at together: of arrays, and of lists and arrays of objects.
_SLICE, _SHORT_SLICE = 2**16, 2**12
_EXPECTED = (
    "expected (source, target), (source, target, weight), or a data frame of two or three columns; one piece, or one "
    "file, goes into a list"
)


class Piece(NamedTuple):
    """Some edges: ids as int32, int64 or uint64, and weights as `as_weights` gives them, or None."""

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None


class ReadAgain(Exception):
    """Edges have to be read once more: those that have come do not count."""


class Edges(Protocol):
    """Edges in pieces, which are read once."""

    @property
    def held_bytes(self) -> int:
        """What names take of memory so far."""

    def __iter__(self) -> Iterator[Piece]:
        """The pieces; names are replaced by their numbers. Raises ReadAgain."""

    def are_names(self) -> bool:
        """Whether the ids are names, as far as edges have been read."""

    def names(self) -> tuple[Ids, Numbering]:
        """The names, after all edges have been read, and what their numbers in the pieces stand for."""

    def whole(self, read: int) -> int | None:
        """About how many edges there are, as `read` edges tell; None if they do not."""


class Columns:
    """Edges that a caller gives as an iterable of columns; see `Edges`."""

    def __init__(self, pieces: Iterable[Any], room: Room) -> None:
        self._pieces, self._names, self._begun = pieces, Names(room), False

    def __iter__(self) -> Iterator[Piece]:
        """The pieces, a few edges at a time.

        Raises:
            GraphError: what is no piece of edges, or not of one kind with those before.
        """
        weighted: bool | None = None
        for number, given in enumerate(self._pieces):
            start = 0
            try:
                columns = _columns_of(given)
                if weighted is not None and weighted != (columns[2] is not None):
                    raise GraphError("some pieces have weights and some have none; expected one of the two")
                weighted = columns[2] is not None
                step = _SHORT_SLICE if any(map(_has_objects, columns)) else _SLICE
                for start in range(0, max(len(columns[0]), 1), step):
                    yield self._piece(
                        *(each if each is None else each[start : start + step] for each in columns)
                    )
            except GraphError as error:
                raise GraphError(f"piece {number}, from its edge {start:,} on: {error}") from None

    def _piece(self, source: Any, target: Any, weight: Any) -> Piece:
        source = as_id_column(source, "source", plain=True)
        target = as_id_column(target, "target", plain=True)
        weight = None if weight is None else as_weights(weight)
        if len(source) == 0:
            return Piece(source, target, weight)
        texts = {column.dtype == object and isinstance(column[0], str) for column in (source, target)}
        if len(texts | {self.are_names()} if self._begun else texts) > 1:
            raise GraphError("some columns hold integers and others strings; expected one kind of ids")
        self._begun = True
        if texts == {True}:
            return Piece(*self._names.number(source, target), weight)
        if object in (source.dtype, target.dtype):
            raise GraphError("there are integer ids beyond 64 bits; expected 64 bits, or strings")
        return Piece(source, target, weight)

    @property
    def held_bytes(self) -> int:
        """What names take of memory so far."""
        return self._names.held_bytes

    def are_names(self) -> bool:
        """Whether the ids are strings."""
        return self._names.held_bytes > 0

    def names(self) -> tuple[Ids, Numbering]:
        """The strings by first appearance."""
        names = self._names.finish()
        return names, Numbering(names.num_vertices)

    def whole(self, read: int) -> int | None:
        """Nobody knows before the end."""
        return None


def _columns_of(given: Any) -> tuple[Any, Any, Any]:
    """The columns of a piece: of sources, of targets, and of weights or None; all of one length."""
    columns = list(given) if isinstance(given, tuple | list) else _of_frame(given)
    if len(columns) not in (2, 3):
        raise GraphError(f"got {len(columns)} columns; {_EXPECTED}")
    source, target, weight = map(_sliceable, [*columns, None][:3])
    check_lengths(source, target, weight)
    return source, target, weight


def _of_frame(frame: Any) -> list[Any]:
    """The columns of a data frame of any library: those with usual names, else in their order."""
    names = getattr(frame, "column_names", None) or getattr(frame, "columns", None)
    if names is None or isinstance(frame, np.ndarray):
        raise GraphError(f"got {shown(frame)}; {_EXPECTED}")
    names = list(map(str, names))
    ends = usual_ends(names)
    problem = None if ends else ends_problem(names)
    if problem:
        raise GraphError(f"got the columns {listed(names)}; {problem}; {_EXPECTED}")
    ends = ends or (0, 1)
    others = [place for place in range(len(names)) if place not in ends]
    weights = [place for place in others if is_weight(names[place])] or others
    if len(names) < 2 or len(weights) > 1:
        raise GraphError(f"got the columns {listed(names)}; {_EXPECTED}")
    return [frame[names[place]] for place in (*ends, *weights)]


def _has_objects(column: Any) -> bool:
    """Whether the entries of a column are objects of Python."""
    return isinstance(column, list | tuple) or (column is not None and column.dtype == object)


def _sliceable(column: Any) -> Any:
    """A column that can be cut and has a length."""
    if column is None or isinstance(column, list | tuple | np.ndarray):
        if isinstance(column, np.ndarray) and column.ndim != 1:
            raise GraphError(
                f"a column has shape {column.shape}; expected one dimension, an entry for each edge"
            )
        return column
    if lies_on_gpu(column):
        return cuda_door().host_copy(gpu_column(column, "a column"))
    return _sliceable(np.asarray(column)) if np.ndim(column) == 1 else _refuse(column)


def _refuse(column: Any) -> Any:
    raise GraphError(f"a column is {shown(column)}; expected an array, an entry for each edge")
