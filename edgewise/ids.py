"""The user's vertex ids, of any kind, and the indices 0..n-1 that stand for them inside."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgewise.errors import GraphError

_KINDS = "expected integers, or strings"


def as_id_column(column: Any, name: str) -> np.ndarray:
    """A column of ids as one of four kinds of array.

    Args:
        column: an array, a sequence, or a column of a data frame.
        name: what to call it in messages.

    Returns:
        One-dimensional int32, int64 or uint64 (then with a value beyond int64), or objects that are all Python
        strings or all Python integers (then with a value beyond uint64 or int64).

    Raises:
        GraphError: not one-dimensional, or ids that are neither integers nor strings.
    """
    if isinstance(column, list | tuple):  # np.asarray would turn [1, "a"] into strings and 2**64 into a float
        array = np.empty(len(column), dtype=object)
        array[:] = column
    else:
        array = np.asarray(column)
    if array.ndim != 1:
        raise GraphError(f"{name} has shape {array.shape}; expected one dimension, an id for each edge")
    if array.dtype.kind in "UT":
        array = array.astype(object)
    if array.dtype == object:
        return _from_objects(array.tolist(), name)
    if len(array) == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        advice = "; missing values make floats of integers" if array.dtype.kind == "f" else ""
        raise GraphError(f"{name} has dtype {array.dtype}; {_KINDS}{advice}. Convert it with .astype(np.int64)")
    return _narrowed(array)


def _narrowed(array: np.ndarray) -> np.ndarray:
    """Integers as int32 or int64, or uint64 where a value needs it."""
    if array.dtype == np.uint64:
        return array if array.max() > np.iinfo(np.int64).max else array.view(np.int64)
    return array.astype(np.int32 if np.can_cast(array.dtype, np.int32) else np.int64, copy=False)


def _from_objects(values: list[Any], name: str) -> np.ndarray:
    """Python objects as integers where they all are, or as strings where they all are."""
    kinds = set(map(type, values))
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        values = list(map(int, values))
        for dtype in (np.int64, np.uint64):
            try:
                return np.array(values, dtype=dtype)
            except OverflowError:
                continue
    elif all(issubclass(kind, str) for kind in kinds):
        values = list(map(str, values))
    else:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise GraphError(f"{name} holds ids of type {names}; {_KINDS}, and no missing or mixed values")
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@dataclass(frozen=True)
class Ids:
    """Vertex ids in index order.

    Attributes:
        num_vertices: how many.
        given: None where the ids are 0..n-1; else int64 or uint64 in ascending order, or Python integers or
            strings as objects, shape (num_vertices,).
    """

    num_vertices: int
    given: np.ndarray | None = None

    @cached_property
    def array(self) -> np.ndarray:
        """The ids, shape (num_vertices,), read-only."""
        array = np.arange(self.num_vertices, dtype=np.int64) if self.given is None else self.given.view()
        array.flags.writeable = False
        return array

    @cached_property
    def _position(self) -> dict[Any, int]:
        assert self.given is not None
        return {id: index for index, id in enumerate(self.given.tolist())}

    def index_of(self, id: Any) -> int:
        """The index of one id. Raises GraphError if no vertex has it."""
        if isinstance(id, str):
            index = self._position.get(id, -1) if self._named else -1
        else:
            try:
                number = operator.index(id)
            except TypeError:
                raise self._unknown(id) from None
            if self.given is None:
                index = number if 0 <= number < self.num_vertices else -1
            else:
                index = self._position.get(number, -1)
        if index < 0 or isinstance(id, bool):
            raise self._unknown(id)
        return index

    def indices_of(self, ids: Iterable[Any]) -> np.ndarray:
        """The index of each id, int64. Raises GraphError for the first one that no vertex has."""
        if self.given is None and isinstance(ids, np.ndarray) and ids.dtype.kind in "iu":
            wrong = np.flatnonzero((ids < 0) | (ids >= self.num_vertices))
            if len(wrong):
                raise self._unknown(ids[wrong[0]])
            return ids.astype(np.int64)
        return np.array([self.index_of(id) for id in ids], dtype=np.int64)

    @property
    def _named(self) -> bool:
        return self.given is not None and self.given.dtype == object

    def _unknown(self, id: Any) -> GraphError:
        if self.num_vertices == 0:
            known = "it has no vertices"
        elif self.given is None:
            known = f"its ids are the integers 0..{self.num_vertices - 1}"
        else:
            some = ", ".join(map(repr, self.given[:3].tolist()))
            known = f"its {self.num_vertices:,} ids are such as {some}"
        shown = repr(id.item() if isinstance(id, np.generic) else id)
        return GraphError(f"the graph has no vertex {shown}; {known}")


def number_vertices(
    source: np.ndarray, target: np.ndarray, num_vertices: int | None
) -> tuple[np.ndarray, np.ndarray, Ids]:
    """Give every vertex its index.

    Args:
        source, target: what `as_id_column` returns, of one length.
        num_vertices: with it, the ids are 0..num_vertices-1; without, the vertices are the ids that occur,
            integers in ascending order and strings by first appearance (source before target, edge by edge).

    Returns:
        Both columns as indices (int32 or int64) and the ids.

    Raises:
        GraphError: an id out of range, or integers in one column and strings in the other.
    """
    if len(source) and _is_text(source) != _is_text(target):
        raise GraphError("one column holds integers and the other strings; expected the same kind in both")
    if num_vertices is not None:
        return _in_range(source, "source", num_vertices), _in_range(target, "target", num_vertices), Ids(num_vertices)
    if source.dtype == object or target.dtype == object or source.dtype != target.dtype:
        return _number_objects(source, target)
    ids = np.union1d(source, target)
    if len(ids) and ids[0] == 0 and ids[-1] == len(ids) - 1:
        return source, target, Ids(len(ids))
    return np.searchsorted(ids, source), np.searchsorted(ids, target), Ids(len(ids), ids)


def _is_text(column: np.ndarray) -> bool:
    return column.dtype == object and isinstance(column[0], str)


def _in_range(column: np.ndarray, name: str, num_vertices: int) -> np.ndarray:
    if _is_text(column):
        raise GraphError(f"num_vertices is given and {name} holds strings; leave num_vertices out")
    wrong = np.flatnonzero((column < 0) | (column >= num_vertices))
    if len(wrong):
        at = int(wrong[0])
        raise GraphError(
            f"{name}[{at}] is {column[at]}; num_vertices={num_vertices} allows 0..{num_vertices - 1}. "
            "Leave num_vertices out for ids of any size"
        )
    return column


def _number_objects(source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, Ids]:
    """Number strings or large integers through a dictionary."""
    both = np.empty(2 * len(source), dtype=object)
    both[0::2], both[1::2] = source, target
    listed = both.tolist()
    ordered = list(dict.fromkeys(listed))
    if ordered and not isinstance(ordered[0], str):
        ordered.sort()
    position = {id: index for index, id in enumerate(ordered)}
    indices = np.fromiter(map(position.__getitem__, listed), np.int32, len(listed))
    ids = np.empty(len(ordered), dtype=object)
    ids[:] = ordered
    return indices[0::2], indices[1::2], Ids(len(ordered), ids)
