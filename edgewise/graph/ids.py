"""The user's vertex ids that are integers or strings, and the indices 0..n-1 that stand for them inside."""

import operator
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgewise.errors import EdgewiseError, GraphError, OutputError
from edgewise.graph.foreign_arrays import as_numpy
from edgewise.kernels.cpu.launch import Sealed
from edgewise.memory import Step, held, in_turn
from edgewise.text import shown

#: Bytes of an id that is an object, in the dictionary of ids, while that is made from a list.
POSITION_BYTES = 8 + 32 + 90


def check_not_masked(column: Any, name: str, error: type[EdgewiseError] = GraphError) -> None:
    """Raise this error for an array with masked entries: these are neither ids nor numbers."""
    if "numpy.ma" in sys.modules and np.ma.is_masked(column):
        row = int(np.argmax(np.ma.getmaskarray(column)))
        raise error(
            f"{name} has masked entries; expected a value in each place. The first is at row {row}: drop such entries "
            "first, or fill them"
        )


def as_array(values: Any, name: str, error: type[EdgewiseError] = GraphError, arrays: Any = np) -> Any:
    """Values as an array of NumPy or, as `arrays`, of CuPy; nested lists of different lengths, say, are none. Raises
    this error."""
    check_not_masked(values, name, error)
    try:
        return as_numpy(values) if arrays is np else arrays.asarray(values)
    except EdgewiseError as problem:
        raise error(f"{name}: {problem}") from None
    except (ValueError, TypeError, OverflowError):
        raise error(f"{name} is {shown(values)}; expected numbers in one dimension") from None


def is_sequence(ids: Any) -> bool:
    """Whether these are several ids, not one."""
    return isinstance(ids, list | tuple | range) or is_column(ids) or _is_array(ids)


def _is_array(ids: Any) -> bool:
    """Whether this is an array of any library that has a dimension."""
    known = (
        isinstance(ids, np.ndarray) or hasattr(ids, "__dlpack__") or hasattr(ids, "__cuda_array_interface__")
    )
    return known and bool(getattr(ids, "ndim", 1))


def is_column(ids: Any) -> bool:
    """Whether this is a column of a data frame, or an index of pandas."""
    return hasattr(ids, "to_numpy") and hasattr(ids, "__len__")


#: Indices of vertices are int32.
MAX_VERTICES = 2**31 - 1


@dataclass(frozen=True)
class Ids(Sealed):
    """Vertex ids in index order: integers or strings. `edgewise.graph.any_ids.AnyIds` are of other kinds.

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

    def may_be_one(self, vertex: Any) -> bool:
        """Whether this can be the id of one vertex; else it is a sequence of ids."""
        return not is_sequence(vertex)

    def is_one(self, vertex: Any) -> bool:
        """Whether `Graph.index_of` takes this for the id of one vertex, not for a sequence of ids."""
        return not is_sequence(vertex)

    def index_of(self, vertex: Any) -> int:
        """The index of one id. Raises GraphError if no vertex has it."""
        if isinstance(vertex, np.ndarray):
            check_not_masked(vertex, "the vertex")
        if isinstance(vertex, str):
            index = self._position.get(vertex, -1) if self.are_objects else -1
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
        if self.are_objects:
            return self._position.get(vertex, -1)
        order = self._ascending
        if self.num_vertices == 0 or not self.given[order[0]] <= vertex <= self.given[order[-1]]:
            return -1
        sought = self.given.dtype.type(vertex)  # an int beside uint64 makes float64 of both
        index = int(order[np.searchsorted(self.given, sought, sorter=order)])
        return index if self.given[index] == vertex else -1

    def indices_of(self, ids: Any) -> np.ndarray:
        """The index of each id of a sequence, int64. Raises GraphError for the first that no vertex has."""
        if is_column(ids):
            ids = ids.to_numpy()
        elif _is_array(ids):
            check_not_masked(ids, "the array of vertices")
            ids = as_numpy(ids)
        if isinstance(ids, np.ndarray) and ids.ndim != 1:
            advice = "Flatten it with .ravel()" if self.are_plain else "Give tuples as a list of them"
            raise GraphError(
                f"the array of vertices has shape {ids.shape}; expected one dimension, an id for each vertex. "
                f"{advice}"
            )
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
        if self.are_objects:
            kept = POSITION_BYTES * self.num_vertices * ("_position" not in vars(self))
        elif not self._are_indices:
            kept = 8 * self.num_vertices * ("_ascending" not in vars(self))
        return in_turn(self.reading(), held(kept), held(8 * count))

    def reading(self) -> Step:
        """The memory that reading the ids takes, pages included, if they are in a file and were not read yet."""
        return held(0)

    @property
    def are_plain(self) -> bool:
        """Whether the ids are integers or strings, which files can hold."""
        return True

    @property
    def are_names(self) -> bool:
        """Whether the ids are strings."""
        return self.are_objects and self.num_vertices > 0 and isinstance(self.array[0], str)

    @property
    def are_objects(self) -> bool:
        """Whether the ids are Python objects: strings, integers beyond 64 bits, or others; none is read for it."""
        return self.given is not None and self.given.dtype == object

    @property
    def _are_indices(self) -> bool:
        return self.given is None

    def some(self) -> str:
        """The first ids, for a message."""
        return ", ".join(map(shown, self.array[:3].tolist()))

    def _unknown(self, vertex: Any) -> GraphError:
        if self.num_vertices == 0:
            known = "it has no vertices"
        elif self.given is None:
            known = f"its ids are the integers 0..{self.num_vertices - 1}"
        else:
            known = f"its {self.num_vertices:,} ids are such as {self.some()}"
        wanted = vertex.item() if isinstance(vertex, np.generic) else vertex
        return GraphError(f"the graph has no vertex {shown(wanted)}; {known}")


def named_ids(names: list[Any]) -> Ids:
    """Ids that are strings, or integers of any size, in index order."""
    return Ids(len(names), objects(names))


def check_plain(ids: Ids) -> None:
    """Refuse ids that are neither integers alone nor strings alone, which a file does not hold. Raises OutputError."""
    if not ids.are_plain:
        raise OutputError(
            f"the graph has ids such as {ids.some()}; the file holds integers only, or strings only. Save a graph with "
            "indices for ids, Graph.from_csr(graph.offsets, graph.targets, graph.weights, graph.directed), and keep "
            "graph.vertices apart; or write a format without ids, such as .mtx"
        )


def objects(values: Any) -> np.ndarray:
    """Python objects, of which there is a number, as an array of them: of one dimension even if they are sequences."""
    return np.fromiter(values, dtype=object, count=len(values))


def with_none(values: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Values as Python objects in the places that have one, by a mask, and None in the others."""
    whole = np.full(len(there), None, object)
    whole[there] = values
    return whole
