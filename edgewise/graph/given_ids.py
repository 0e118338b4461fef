"""Ids that a caller lists in the order of the indices, and edges among them."""

from typing import Any

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph.any_ids import AnyIds
from edgewise.graph.id_columns import as_id_column
from edgewise.graph.ids import Ids
from edgewise.graph.numbering import number_vertices
from edgewise.text import shown


def ids_in_order(vertices: Any, num_vertices: int | None = None) -> Ids:
    """The given ids, which must be distinct, and as many as there are vertices if that is known; copied."""
    if isinstance(vertices, set | frozenset):
        raise GraphError("vertices is a set, which has no order; expected a list, or another sequence")
    column = as_id_column(vertices, "vertices")
    n = len(column)
    if num_vertices not in (None, n):
        raise GraphError(f"vertices has {n:,} ids; offsets are for {num_vertices:,} vertices")
    if column.dtype == object:
        listed = column.tolist()
        if len(set(listed)) < n:
            _refuse_double(listed)
    elif not _ascends(column):
        in_order = np.sort(column)
        if (in_order[1:] == in_order[:-1]).any():
            _refuse_double(column.tolist())
    return _as_ids(column)


def distinct_ids(found: np.ndarray) -> Ids:
    """The ids that `Ids.of` found for distinct vertices, in this order, as those of a graph, which keeps the array."""
    return _as_ids(as_id_column(found, "vertices"), copy=False)


def _as_ids(column: np.ndarray, *, copy: bool = True) -> Ids:
    """A column of distinct ids as ids; integers are copied, or without `copy` only where their dtype changes."""
    n = len(column)
    if column.dtype == object:
        kinds = set(map(type, column.tolist()))
        return Ids(n, column) if kinds in ({str}, {int}) else AnyIds(n, column)
    if n == 0 or (column[0] == 0 and column[-1] == n - 1 and _ascends(column)):
        return Ids(n)
    return Ids(n, column.astype(np.int64 if column.dtype == np.int32 else column.dtype, copy=copy))


def _ascends(column: np.ndarray) -> bool:
    """Whether each integer is larger than the one before it."""
    return bool((column[1:] > column[:-1]).all())


def given_ids(vertices: Any, num_vertices: int | None) -> Ids | None:
    """The ids that a caller lists for `Graph.from_edges`, or None."""
    if vertices is None:
        return None
    if num_vertices is not None:
        raise GraphError("both vertices and num_vertices are given; expected one of them")
    return ids_in_order(vertices)


def _refuse_double(ids: list[Any]) -> None:
    """Refuse the first id that stands there twice."""
    first: dict[Any, int] = {}
    for row, each in enumerate(ids):
        before = first.setdefault(each, row)
        if before != row:
            raise GraphError(
                f"vertices has the same id twice, {shown(each)} at {before} and at {row}; expected distinct ids"
            )


def number_among(source: np.ndarray, target: np.ndarray, ids: Ids) -> tuple[np.ndarray, np.ndarray]:
    """Both columns, as `as_id_column` gives them, as indices among these ids.

    Raises:
        GraphError: an edge with an id that is not among them.
    """
    columns = source, target
    if ids.given is None and all(_are_indices(column, ids.num_vertices) for column in columns):
        return columns
    source, target, found = number_vertices(source, target, None)
    places = places_among(found.array, ids)
    if (places < 0).any():
        edge = int(np.argmax((places[source] < 0) | (places[target] < 0)))
        ends = found.of(np.array([source[edge], target[edge]])).tolist()
        other = ends[0] if places[source[edge]] < 0 else ends[1]
        raise GraphError(
            f"edge {edge} joins {shown(ends[0])} and {shown(ends[1])}; {shown(other)} is not in vertices. Add it "
            "there, or leave vertices out"
        )
    return places[source], places[target]


def _are_indices(column: np.ndarray, num_vertices: int) -> bool:
    """Whether a column holds integers from 0 to n-1, of a dtype that rows are built from."""
    return column.dtype in (np.int32, np.int64) and (
        not len(column) or bool(0 <= column.min() <= column.max() < num_vertices)
    )


def places_among(column: np.ndarray, ids: Ids) -> np.ndarray:
    """The index of each of these distinct ids among others, int32; -1 where there is none."""
    if ids.array.dtype == column.dtype != object:
        order = np.argsort(ids.array)
        at = np.searchsorted(ids.array, column, sorter=order)
        at[at == len(order)] = 0
        places = order[at] if len(order) else np.full(len(column), -1)
        places = np.where(ids.of(places) == column, places, -1) if len(order) else places
        return places.astype(np.int32)
    position = {each: index for index, each in enumerate(ids.array.tolist())}
    return np.fromiter((position.get(each, -1) for each in column.tolist()), np.int32, len(column))
