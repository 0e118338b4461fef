"""Merge parallel arcs: within each row, one arc for each target, at the place of the first.

Each row goes through a hash table of its own targets, at least twice as long as the row; for most rows it lies in the
first-level cache. Where it would be longer than the number of vertices, the table has one place for each vertex
instead. O(n + m) expected; beyond the merged rows, each thread needs a table for the longest row.
"""

from typing import Any

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph.csr import Rows, offset_dtype
from edgewise.kernels.cpu.launch import launch, sealed
from edgewise.kernels.cpu.team import available_threads, claim, team_kernel

_ROWS_PER_PIECE = 512
_KEEP_FIRST, _KEEP_SMALLEST, _ADD = 0, 1, 2
_RULES = {"first": _KEEP_FIRST, "min": _KEEP_SMALLEST, "sum": _ADD}
#: 2**64 divided by the golden ratio: neighbours go to places far apart (Knuth, vol. 3, section 6.4).
_GOLDEN = 0x9E3779B97F4A7C15


def merge_parallel_arcs(
    rows: Rows, rule: str, first_row: int = 0, num_vertices: int | None = None
) -> tuple[Rows, int]:
    """Rows without parallel arcs, and the number of self-loops in them. The given arrays are used up.

    Args:
        rows: rows; each keeps its order, a merged arc stands where its first one stood.
        rule: the weight of a merged arc: that of the "first", the smallest ("min"), or all added ("sum", in
            the order of the row). Without weights these do not differ.
        first_row: the vertex that the first row is of.
        num_vertices: targets are below it; by default, there is a row for each vertex.

    Raises:
        GraphError: a sum that does not fit the dtype of the weights.
    """
    num_rows = len(rows.offsets) - 1
    num_vertices = num_rows if num_vertices is None else num_vertices
    tables = np.empty((available_threads(), _table_length(rows, num_vertices)), np.int32)
    lengths = np.empty(num_rows, np.int64)
    found = np.full((num_rows + _ROWS_PER_PIECE - 1) // _ROWS_PER_PIECE * 2, -1, np.int64).reshape(-1, 2)
    offsets = sealed(rows.offsets)
    work = 6 * len(rows.targets)
    limits = _limits(rows.weights)
    arcs = (offsets, rows.targets, rows.weights)
    how = (_RULES[rule], limits, first_row, num_vertices)
    launch(_merge, *arcs, *how, tables, lengths, found, work=work)
    overflown = found[found[:, 1] >= 0, 1]
    if len(overflown):
        _refuse_sum(rows, int(overflown[0]), first_row)
    num_arcs = int(lengths.sum())
    merged_offsets = np.zeros(num_rows + 1, offset_dtype(num_arcs))
    np.cumsum(lengths, out=merged_offsets[1:])
    targets = np.empty(num_arcs, np.int32)
    weights = None if rows.weights is None else np.empty(num_arcs, rows.weights.dtype)
    launch(_close_gaps, offsets, merged_offsets, rows.targets, rows.weights, targets, weights, work=work)
    return Rows(merged_offsets, targets, weights), int(found[:, 0].sum())


def merging(rows: Rows) -> int:
    """An upper bound on the memory that `merge_parallel_arcs` takes."""
    tables = 4 * available_threads() * _table_length(rows, len(rows.offsets) - 1)
    return tables + 2 * 8 * len(rows.offsets) + rows.nbytes


def _table_length(rows: Rows, num_vertices: int) -> int:
    """The length of a table that is long enough for every row."""
    return table_length(int(np.diff(rows.offsets).max(initial=0)), num_vertices)


def table_length(longest: int, num_vertices: int) -> int:
    """The length of a table that is long enough for a row of `longest` arcs."""
    return min(1 << max(1, (2 * longest - 1).bit_length()), max(num_vertices, 1))


def _limits(weights: np.ndarray | None) -> np.ndarray | None:
    """The smallest and the largest finite weight, shape (2,)."""
    if weights is None:
        return None
    info = np.iinfo(weights.dtype) if weights.dtype.kind == "i" else np.finfo(weights.dtype)
    return np.array([info.min, info.max], weights.dtype)


def _refuse_sum(rows: Rows, arc: int, first_row: int) -> None:
    assert rows.weights is not None
    source = first_row + int(np.searchsorted(rows.offsets, arc, side="right")) - 1
    target = int(rows.targets[arc])
    raise GraphError(
        f"the weights of the parallel edges between the vertices of index {source} and {target} add up to "
        f"more than {rows.weights.dtype} holds; give them as int64 or float64, or merge by 'min' or 'first'"
    )


@team_kernel
def _merge(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    weights: Any,
    rule: Any,
    limits: Any,
    first_row: Any,
    num_vertices: Any,
    tables: Any,
    lengths: Any,
    found: Any,
) -> None:
    """Merge each row into its front. found: for each piece of rows, its self-loops, and an arc whose sum overflows."""
    num_rows = len(lengths)
    table = tables[thread]
    golden, one = np.uint64(_GOLDEN), np.uint64(1)
    while True:
        start = claim(control, 0, _ROWS_PER_PIECE, num_rows)
        if start >= num_rows:
            return
        loops = 0
        for r in range(np.uint64(start), np.uint64(min(start + _ROWS_PER_PIECE, num_rows))):
            first, last = np.uint64(offsets[r]), np.uint64(offsets[r + one])
            bits = np.uint64(1)
            while (one << bits) < np.uint64(2) * (last - first):
                bits += one
            is_short = (one << bits) < num_vertices
            mask = (one << bits) - one
            for i in range((one << bits) if is_short else np.uint64(num_vertices)):
                table[i] = -1
            kept = first
            for p in range(first, last):
                slot = np.uint64(targets[p])
                if is_short:
                    slot = (slot * golden) >> (np.uint64(64) - bits)
                while table[slot] >= 0 and targets[first + np.uint64(table[slot])] != targets[p]:
                    slot = (slot + one) & mask
                if table[slot] < 0:
                    table[slot] = np.int32(kept - first)
                    targets[kept] = targets[p]
                    if weights is not None:
                        weights[kept] = weights[p]
                    loops += np.uint64(targets[p]) == r + np.uint64(first_row)
                    kept += one
                elif weights is not None:
                    q = first + np.uint64(table[slot])
                    x, y = weights[q], weights[p]
                    if rule == _KEEP_SMALLEST and y < x:
                        weights[q] = y
                    if rule == _ADD:
                        if (x > 0 and y > limits[1] - x) or (x < 0 and y < limits[0] - x):
                            found[start // _ROWS_PER_PIECE, 1] = np.int64(q)
                        weights[q] = x + y
            lengths[r] = np.int64(kept - first)
        found[start // _ROWS_PER_PIECE, 0] = loops


@team_kernel
def _close_gaps(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    merged_offsets: Any,
    targets: Any,
    weights: Any,
    merged_targets: Any,
    merged_weights: Any,
) -> None:
    """Copy the front of each row to its place among the merged rows."""
    num_rows = len(offsets) - 1
    one = np.uint64(1)
    while True:
        start = claim(control, 0, _ROWS_PER_PIECE, num_rows)
        if start >= num_rows:
            return
        for r in range(np.uint64(start), np.uint64(min(start + _ROWS_PER_PIECE, num_rows))):
            shift = np.uint64(offsets[r]) - np.uint64(merged_offsets[r])
            for p in range(np.uint64(merged_offsets[r]), np.uint64(merged_offsets[r + one])):
                merged_targets[p] = targets[p + shift]
                if weights is not None:
                    merged_weights[p] = weights[p + shift]
