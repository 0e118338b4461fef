"""From the user's ids to indices 0..n-1: by a map where they are dense, else by a hash table.

Integers beyond 64 bits, strings and ids of all other kinds go through a Python dictionary.
"""

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from edgewise.errors import GraphError, GraphWarning, warn
from edgewise.graph.any_ids import AnyIds
from edgewise.graph.ids import Ids, named_ids, objects
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.launch import launch, sealed
from edgewise.kernels.cpu.team import claim, run_alone, team_kernel
from edgewise.kernels.mixing import mix64
from edgewise.text import shown

#: Edges that a thread takes at a time.
_PIECE = 2**18
#: The shortest map and hash table.
_SHORT_MAP, _SHORT_TABLE = 2**12, 2**12
#: Bytes of a place of the table, with the search for places that are taken; and of an edge: both ids in 64 bits and
#: both indices.
_PLACE_BYTES, _COLUMN_BYTES = 20, 24


def number_vertices(
    source: np.ndarray,
    target: np.ndarray,
    num_vertices: int | None,
    check_room: Callable[[int], None] | None = None,
) -> tuple[np.ndarray, np.ndarray, Ids]:
    """Give every vertex its index. O(m) expected, and O(k log k) for k distinct ids.

    Args:
        source, target: what `as_id_column` returns, of one length.
        num_vertices: with it, the ids are 0..num_vertices-1 and the columns are returned as they are; whoever
            builds the rows checks the range. Without it, the vertices are the ids that occur, integers in
            ascending order and all others by first appearance (source before target, edge by edge).
        check_room: called with the bytes that a hash table of ids will need, before it is made.

    Returns:
        Both columns as indices (int32 or int64) and the ids.

    Raises:
        GraphError: ids that cannot be 0..num_vertices-1.

    Warns:
        GraphWarning: an integer and text of the same digits are both ids.
    """
    source, target = _of_one_dtype(source, target)
    if num_vertices is not None:
        _check_short(source, target, num_vertices)
        return source, target, Ids(num_vertices)
    if source.dtype == object:
        return _number_objects(source, target)
    if len(source) == 0:
        return source, target, Ids(0)
    if source.dtype != np.uint64:
        numbered = _number_dense(source, target)
        if numbered is not None:
            return numbered
    return _number_sparse(source, target, check_room or (lambda needed: None))


def _of_one_dtype(source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both columns with the dtype that holds all their ids exactly."""
    dtypes = {source.dtype, target.dtype}
    if len(dtypes) == 1:
        return source, target
    if np.dtype(object) in dtypes:
        return source.astype(object), target.astype(object)
    if np.dtype(np.uint64) in dtypes:
        signed = source if target.dtype == np.uint64 else target
        wide = np.dtype(object if signed.min(initial=0) < 0 else np.uint64)
        return source.astype(wide, copy=False), target.astype(wide, copy=False)
    return source.astype(np.int64, copy=False), target.astype(np.int64, copy=False)


def _check_short(source: np.ndarray, target: np.ndarray, num_vertices: int) -> None:
    """Refuse ids that no number of vertices allows: all but integers of int64. Both columns have one dtype."""
    if source.dtype not in (np.uint64, object):
        return
    for other in chain(source.tolist(), target.tolist()):
        if type(other) is not int:
            kind = "strings" if isinstance(other, str) else f"such as {shown(other)}"
            raise GraphError(f"num_vertices is given and the ids are {kind}; leave num_vertices out")
    largest = max(int(column.max()) for column in (source, target))
    raise GraphError(
        f"the ids go up to {shown(largest)}; num_vertices={num_vertices} allows ids from 0 to {num_vertices - 1}. "
        "Leave num_vertices out for ids of any size"
    )


def _number_objects(source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, Ids]:
    """Number ids of any kind through a dictionary."""
    both = np.empty(2 * len(source), dtype=object)
    both[0::2], both[1::2] = source, target
    listed = both.tolist()
    ordered = list(dict.fromkeys(listed))
    kinds = set(map(type, ordered))
    if kinds == {int}:
        ordered.sort()
    position = {vertex: index for index, vertex in enumerate(ordered)}
    indices = np.fromiter(map(position.__getitem__, listed), np.int32, len(listed))
    if {int, str} <= kinds:
        _warn_of_digits(position)
    plain = kinds in (set(), {int}, {str})
    ids = named_ids(ordered) if plain else AnyIds(len(ordered), objects(ordered))
    return np.ascontiguousarray(indices[0::2]), np.ascontiguousarray(indices[1::2]), ids


def _warn_of_digits(position: dict[Any, int]) -> None:
    """Warn of an integer that is an id as text, too: they are rarely meant to be two vertices."""
    for text in position:
        if isinstance(text, str) and len(text) < 20 and text.isdecimal() and int(text) in position:
            return warn(
                f"the ids {int(text)} and {text!r} are two vertices: an integer and a string. If they are meant to be "
                "one, convert the columns to one kind",
                GraphWarning,
            )


def _number_dense(source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, Ids] | None:
    """Number integers by a map of those that occur. None if one is negative or beyond the map."""
    seen = np.zeros(max(2 * len(source), _SHORT_MAP), np.uint8)
    largest = np.zeros(-(-len(source) // _PIECE), np.uint64)
    columns = (sealed(source), sealed(target))
    launch(_mark, *columns, seen, largest, work=2 * len(source))
    num_ids = int(largest.max()) + 1
    if num_ids > len(seen):
        return None
    seen = seen[:num_ids]
    if seen.all():
        return source, target, Ids(num_ids)
    ids = np.flatnonzero(seen)
    index = np.cumsum(seen, dtype=np.int32)
    index -= 1
    numbered = np.empty((2, len(source)), np.int32)
    launch(_look_up, *columns, index, *numbered, work=5 * len(source))
    return numbered[0], numbered[1], Ids(len(ids), ids)


def _number_sparse(
    source: np.ndarray, target: np.ndarray, check_room: Callable[[int], None]
) -> tuple[np.ndarray, np.ndarray, Ids]:
    """Number integers of any size through a hash table that doubles whenever it is half full.

    A place of the table has an id and its number, counted from 1, side by side in one cache line.
    """
    dtype = np.uint64 if source.dtype == np.uint64 else np.int64
    columns = [sealed(column.astype(dtype, copy=False).view(np.uint64)) for column in (source, target)]
    table, num_ids = np.zeros((_SHORT_TABLE, 2), np.uint64), np.zeros(1, np.int64)
    for column in columns:
        for start in range(0, len(column), _PIECE):
            piece, done = column[start : start + _PIECE], np.zeros(1, np.int64)
            while done[0] < len(piece):
                run_alone(_insert, piece, done, table, num_ids)
                if 2 * num_ids[0] >= len(table):
                    ids, length = _ids_in(table), 2 * len(table)
                    del table  # before the next one is made
                    check_room(_PLACE_BYTES * length + 3 * ids.nbytes + _COLUMN_BYTES * len(source))
                    table = _table_of(ids, length)
    ids, length = np.sort(_ids_in(table).view(dtype)), len(table)
    del table
    table = _table_of(ids.view(np.uint64), length)
    numbered = np.empty((2, len(source)), np.int32)
    launch(_find, *columns, sealed(table), *numbered, work=5 * len(source))
    return numbered[0], numbered[1], Ids(len(ids), ids)


def _ids_in(table: np.ndarray) -> np.ndarray:
    return table[table[:, 1] > 0, 0]


def _table_of(ids: np.ndarray, length: int) -> np.ndarray:
    """A hash table of this length that numbers ids in their order."""
    table = np.zeros((length, 2), np.uint64)
    run_alone(_insert, sealed(ids), np.zeros(1, np.int64), table, np.zeros(1, np.int64))
    return table


@team_kernel
def _mark(thread: Any, size: Any, control: Any, source: Any, target: Any, seen: Any, largest: Any) -> None:
    """Mark the ids that lie within the map. largest: the largest id of each piece; negative ids count as very large."""
    limit = np.uint64(len(seen))
    while True:
        start = claim(control, 0, _PIECE, len(source))
        if start >= len(source):
            return
        top = np.uint64(0)
        for e in range(np.uint64(start), np.uint64(min(start + _PIECE, len(source)))):
            u, v = np.uint64(source[e]), np.uint64(target[e])
            top = max(top, u, v)
            if u < limit and not seen[u]:  # a store would take the cache line from the other threads
                seen[u] = 1
            if v < limit and not seen[v]:
                seen[v] = 1
        largest[start // _PIECE] = top


@team_kernel
def _look_up(
    thread: Any, size: Any, control: Any, source: Any, target: Any, index: Any, sources: Any, targets: Any
) -> None:
    """Replace each id by its index."""
    while True:
        start = claim(control, 0, _PIECE, len(source))
        if start >= len(source):
            return
        for e in range(np.uint64(start), np.uint64(min(start + _PIECE, len(source)))):
            sources[e] = index[np.uint64(source[e])]
            targets[e] = index[np.uint64(target[e])]


@device_function
def _slot_of(key: Any, table: Any) -> Any:
    """Where an id is in the hash table, or the free place where it belongs. Lengths are powers of two."""
    mask = np.uint64(len(table) - 1)
    slot = mix64(key) & mask
    while table[slot, 1] > 0 and table[slot, 0] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@team_kernel
def _insert(thread: Any, size: Any, control: Any, ids: Any, done: Any, table: Any, num_ids: Any) -> None:
    """Insert ids from ``ids[done[0]]`` on, and number new ones in order, until the table is half full."""
    for e in range(np.uint64(done[0]), np.uint64(len(ids))):
        slot = _slot_of(ids[e], table)
        if table[slot, 1] == 0:
            if 2 * num_ids[0] >= len(table):
                done[0] = np.int64(e)
                return
            num_ids[0] += 1
            table[slot, 0], table[slot, 1] = ids[e], np.uint64(num_ids[0])
    done[0] = len(ids)


@team_kernel
def _find(
    thread: Any,
    size: Any,
    control: Any,
    source: Any,
    target: Any,
    table: Any,
    sources: Any,
    targets: Any,
) -> None:
    """Replace each id by its number in the hash table, from 0."""
    while True:
        start = claim(control, 0, _PIECE, len(source))
        if start >= len(source):
            return
        for e in range(np.uint64(start), np.uint64(min(start + _PIECE, len(source)))):
            u, v = table[_slot_of(source[e], table), 1], table[_slot_of(target[e], table), 1]
            sources[e], targets[e] = np.int32(u - np.uint64(1)), np.int32(v - np.uint64(1))
