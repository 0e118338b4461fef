"""The user's vertex ids, of any kind, and the indices 0..n-1 that stand for them inside."""

import operator
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgewise.errors import EdgewiseError, GraphError
from edgewise.memory import Step, held, in_turn
from edgewise.numeric import is_integer_type
from edgewise.text import shown

#: Bytes of an id that is an object, in the dictionary of ids, while that is made from a list.
POSITION_BYTES = 8 + 32 + 90

_KINDS = "expected integers, or strings"


def check_not_masked(column: Any, name: str, error: type[EdgewiseError] = GraphError) -> None:
    """Raise this error for an array with masked entries: these are neither ids nor numbers."""
    if "numpy.ma" in sys.modules and np.ma.is_masked(column):
        raise error(
            f"{name} has masked entries; expected a value in each place. Drop such entries first, or fill them"
        )


def as_array(values: Any, name: str, error: type[EdgewiseError] = GraphError, arrays: Any = np) -> Any:
    """Values as an array of NumPy or, as `arrays`, of CuPy; nested lists of different lengths, say, are none. Raises
    this error."""
    check_not_masked(values, name, error)
    try:
        return arrays.asarray(values)
    except (ValueError, TypeError, OverflowError):
        raise error(f"{name} is {shown(values)}; expected numbers in one dimension") from None


def is_sequence(ids: Any) -> bool:
    """Whether these are several ids, not one."""
    return (
        isinstance(ids, list | tuple | range)
        or (isinstance(ids, np.ndarray) and ids.ndim > 0)
        or _is_series(ids)
    )


def _is_series(ids: Any) -> bool:
    """Whether this is a column of a data frame, or an index of pandas."""
    return hasattr(ids, "to_numpy") and hasattr(ids, "__len__")


def as_id_column(column: Any, name: str) -> np.ndarray:
    """A column of ids as one of four kinds of array.

    Args:
        column: an array, a sequence, or a column of a data frame.
        name: what to call it in messages.

    Returns:
        One-dimensional int32, int64 or uint64 (then with a value beyond int64), or objects that are all
        Python strings or all Python integers (then with a value beyond uint64 or int64).

    Raises:
        GraphError: not one-dimensional, or ids that are neither integers nor strings.
    """
    check_not_masked(column, name)
    if isinstance(column, list | tuple):  # np.asarray would turn [1, "a"] into strings and 2**64 into a float
        array = np.fromiter(column, dtype=object, count=len(column))
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
        wanted = "np.int64" if array.dtype.kind in "bf" else "str"
        raise GraphError(
            f"{name} has dtype {array.dtype}; {_KINDS}{advice}. Convert it with .astype({wanted})"
        )
    return _narrowed(np.ascontiguousarray(array))


def _narrowed(array: np.ndarray) -> np.ndarray:
    """Integers as int32 or int64, or uint64 where a value needs it, in the machine's order of bytes."""
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype == np.uint64:
        return array if array.max() > np.iinfo(np.int64).max else array.view(np.int64)
    return array.astype(np.int32 if np.can_cast(array.dtype, np.int32) else np.int64, copy=False)


def _from_objects(values: list[Any], name: str) -> np.ndarray:
    """Python objects that are all integers, or all strings, as an array of them."""
    kinds = set(map(type, values))
    if all(is_integer_type(kind) for kind in kinds):
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


#: Indices of vertices are int32.
MAX_VERTICES = 2**31 - 1


@dataclass(frozen=True)
class Ids:
    """Vertex ids in index order.

    Attributes:
        num_vertices: the number of ids, below 2**31.
        given: None where the ids are 0..n-1; else int64 or uint64, or Python integers or strings as objects,
            shape (num_vertices,), all distinct.
    """

    num_vertices: int
    given: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.num_vertices > MAX_VERTICES:
            raise GraphError(
                f"the graph would have {self.num_vertices:,} vertices; at most 2**31 - 1 can be had"
            )

    @cached_property
    def array(self) -> np.ndarray:
        """The ids, shape (num_vertices,), read-only."""
        array = np.arange(self.num_vertices, dtype=np.int64) if self.given is None else self.given.view()
        array.flags.writeable = False
        return array

    def of(self, indices: np.ndarray) -> np.ndarray:
        """The ids of an array of indices of vertices."""
        return indices.astype(np.int64) if self.given is None else self.given[indices]

    @cached_property
    def _position(self) -> dict[Any, int]:
        """The index of each id that is an object."""
        assert self.given is not None
        return {given: index for index, given in enumerate(self.given.tolist())}

    @cached_property
    def _ascending(self) -> np.ndarray:
        """The indices in ascending order of their integer ids."""
        assert self.given is not None
        return np.argsort(self.given)

    def index_of(self, vertex: Any) -> int:
        """The index of one id. Raises GraphError if no vertex has it."""
        if isinstance(vertex, np.ndarray):
            check_not_masked(vertex, "the vertex")
        if isinstance(vertex, str):
            index = self._position.get(vertex, -1) if self._are_objects else -1
        elif isinstance(vertex, bool | np.bool_) or not hasattr(vertex, "__index__"):
            index = -1
        else:
            try:
                index = self._index_of_integer(operator.index(vertex))
            except TypeError:  # an array of several, say
                index = -1
        if index < 0:
            raise self._unknown(vertex)
        return index

    def _index_of_integer(self, vertex: int) -> int:
        """The index of an integer id, or -1."""
        if self.given is None:
            return vertex if 0 <= vertex < self.num_vertices else -1
        if self._are_objects:
            return self._position.get(vertex, -1)
        order = self._ascending
        if self.num_vertices == 0 or not self.given[order[0]] <= vertex <= self.given[order[-1]]:
            return -1
        sought = self.given.dtype.type(vertex)  # an int beside uint64 makes float64 of both
        index = int(order[np.searchsorted(self.given, sought, sorter=order)])
        return index if self.given[index] == vertex else -1

    def indices_of(self, ids: Any) -> np.ndarray:
        """The index of each id of a sequence, int64. Raises GraphError for the first that no vertex has."""
        if _is_series(ids):
            ids = ids.to_numpy()
        if isinstance(ids, np.ndarray):
            check_not_masked(ids, "the array of vertices")
            if ids.ndim != 1:
                raise GraphError(
                    f"the array of vertices has shape {ids.shape}; expected one dimension, an id for each vertex. "
                    "Flatten it with .ravel()"
                )
            ids = np.asarray(ids)
        if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu" and self.given is None:
            wrong = np.flatnonzero((ids < 0) | (ids >= self.num_vertices))
            if len(wrong):
                raise self._unknown(ids[wrong[0]])
            return ids.astype(np.int64)
        return np.fromiter(map(self.index_of, ids), np.int64, len(ids))

    def looking_up(self, ids: Any) -> Step:
        """The memory that looking up an id, or a sequence of ids, takes: the ids, if they were not read yet, what is
        kept for later look-ups, and an array of indices."""
        count = len(ids) if is_sequence(ids) else 1
        kept = 0
        if self._are_objects:
            kept = POSITION_BYTES * self.num_vertices * ("_position" not in vars(self))
        elif not self._are_indices:
            kept = 8 * self.num_vertices * ("_ascending" not in vars(self))
        return in_turn(self.reading(), held(kept), held(8 * count))

    def reading(self) -> Step:
        """The memory that reading the ids takes, pages included, if they are in a file and were not read yet."""
        return held(0)

    @property
    def are_names(self) -> bool:
        """Whether the ids are strings."""
        return self._are_objects and self.num_vertices > 0 and isinstance(self.array[0], str)

    @property
    def _are_objects(self) -> bool:
        return self.given is not None and self.given.dtype == object

    @property
    def _are_indices(self) -> bool:
        return self.given is None

    def _unknown(self, vertex: Any) -> GraphError:
        if self.num_vertices == 0:
            known = "it has no vertices"
        elif self.given is None:
            known = f"its ids are the integers 0..{self.num_vertices - 1}"
        else:
            some = ", ".join(map(shown, self.given[:3].tolist()))
            known = f"its {self.num_vertices:,} ids are such as {some}"
        wanted = vertex.item() if isinstance(vertex, np.generic) else vertex
        return GraphError(f"the graph has no vertex {shown(wanted)}; {known}")


def named_ids(names: list[Any]) -> Ids:
    """Ids that are Python objects, in index order."""
    ids = np.empty(len(names), dtype=object)
    ids[:] = names
    return Ids(len(names), ids)
