"""Compressed sparse rows: built from edges, transposed, expanded. Indices only, no ids."""

from dataclasses import dataclass

import numpy as np

#: Offsets are 32-bit while the number of arcs stays below this.
MAX_SHORT_ARCS = 2**31


@dataclass(frozen=True)
class Rows:
    """The arcs of each vertex, one row after another.

    Attributes:
        offsets: int32 or int64, shape (num_vertices + 1,): row v is ``offsets[v]:offsets[v + 1]``.
        targets: shape (num_arcs,).
        weights: None, or shape (num_arcs,).
    """

    offsets: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None


def offset_dtype(num_arcs: int) -> type:
    """int32 while it can hold every offset, else int64."""
    return np.int32 if num_arcs < MAX_SHORT_ARCS else np.int64


def build_rows(keys: np.ndarray, values: np.ndarray, weights: np.ndarray | None, num_vertices: int) -> Rows:
    """Rows of values by key, each row in the order of the input."""
    order = np.argsort(keys, kind="stable")
    counts = np.bincount(keys, minlength=num_vertices)
    offsets = np.zeros(num_vertices + 1, offset_dtype(len(keys)))
    np.cumsum(counts, out=offsets[1:])
    return Rows(offsets, values[order].astype(np.int32), None if weights is None else weights[order])


def row_of_arcs(offsets: np.ndarray) -> np.ndarray:
    """The row of each arc, int32, shape (num_arcs,)."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
