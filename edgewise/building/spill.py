"""Arcs on the disk, by buckets of rows: dealt out in batches, read bucket by bucket.

A batch of edges is dealt out in memory as `edgewise.graph.buckets` does it, and written at once, from front to back.
So a bucket lies in as many parts as there are batches, and the parts in the order of the batches are its arcs in the
order of the edges.
"""

from bisect import insort
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from edgewise.building.scratch import Scratch
from edgewise.building.sizes import Sizes
from edgewise.building.spool import unrounded
from edgewise.graph.buckets import Cut, Dealt, cut_by, deal


class _Batch(NamedTuple):
    """Where a batch lies in the file: the first byte of the bounds of its buckets, in arcs, and of each column; its
    buckets, from `first` to before `end`; and which of several sources of edges it is from."""

    bounds: int
    rows: int
    targets: int
    weights: int
    dtype: np.dtype | None
    first: int
    end: int
    source: int


class Part(NamedTuple):
    """Some arcs of a bucket: their rows within it, their targets, and their weights or None."""

    rows: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None


class Stretch(NamedTuple):
    """Arcs of consecutive buckets, the first of which has this number: where the arcs of each bucket begin, and end,
    int64; and as in `Part`."""

    first: int
    bounds: np.ndarray
    rows: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None


class Spill:
    """Arcs of consecutive rows.

    Attributes:
        num_rows: the number of rows.
        num_vertices: of the graph.
        shift: a bucket has ``2**shift`` of them.
        num_arcs: arcs so far.
        counts: arcs of each bucket so far, int64, shape (num_buckets,).
        dtype: of the weights: that which holds those of all batches, or None.
    """

    def __init__(
        self, scratch: Scratch, num_rows: int, num_vertices: int, sizes: Sizes, shift: int | None = None
    ) -> None:
        self.num_rows, self.num_vertices = num_rows, num_vertices
        self.shift = sizes.shift_for(num_rows) if shift is None else shift
        self.num_arcs = 0
        self.dtype: np.dtype | None = None
        self._file = scratch.file()
        self._batches: list[_Batch] = []
        self.counts = np.zeros(self._cut(0).num_buckets, np.int64)

    def _cut(self, num_edges: int) -> Cut:
        return cut_by(self.shift, self.num_rows, num_edges)

    def add(
        self,
        source: np.ndarray,
        target: np.ndarray,
        weights: np.ndarray | None,
        both_directions: bool = False,
        drop_loops: bool = False,
    ) -> int:
        """Write a batch of edges, and return the number of its self-loops.

        Args:
            source: rows, counted from the first, shape (k,).
            target: vertices, shape (k,).
            weights: None, or shape (k,).
            both_directions, drop_loops: as in `edgewise.graph.csr.build_rows`.
        """
        dealt = deal(
            self._cut(len(source)),
            source,
            target,
            weights,
            self.num_vertices,
            both_directions=both_directions,
            drop_loops=drop_loops,
        )
        self.add_dealt(Stretch(0, dealt.bounds, dealt.rows_in_bucket, dealt.targets, dealt.weights))
        return dealt.num_loops

    def add_dealt(self, arcs: Stretch, source: int = 0) -> None:
        """Write a batch of arcs that are in buckets already.

        Args:
            arcs: in the order of the edges within each bucket.
            source: edges from one source come before those from a higher one, whenever they are added.
        """
        first, end = arcs.first, arcs.first + len(arcs.bounds) - 1
        self.counts[first:end] += np.diff(arcs.bounds)
        self.num_arcs += len(arcs.targets)
        dtype = None if arcs.weights is None else arcs.weights.dtype
        if dtype is not None:
            self.dtype = dtype if self.dtype is None else np.result_type(self.dtype, dtype)
        columns = (
            self._file.append(arcs.bounds),
            self._file.append(arcs.rows),
            self._file.append(arcs.targets),
        )
        at = 0 if arcs.weights is None else self._file.append(arcs.weights)
        batch = _Batch(*columns, at, dtype, first, end, source)
        insort(self._batches, batch, key=lambda each: each.source)

    def _bounds(self, batch: _Batch, first: int, end: int) -> np.ndarray:
        """Where the buckets from `first` to `end` begin in a batch, and where the last one ends."""
        place = batch.bounds + 8 * (first - batch.first)
        return self._file.read(place, np.dtype(np.int64), end - first + 1)

    def load(self, first: int, end: int) -> Dealt:
        """The arcs of the buckets from `first` to `end`, each bucket's in the order of the edges."""
        bounds = np.append(0, np.cumsum(self.counts[first:end]))
        num_arcs = int(bounds[-1])
        rows, targets = np.empty(num_arcs, np.uint16), np.empty(num_arcs, np.int32)
        weights = None if self.dtype is None else np.empty(num_arcs, self.dtype)
        free = bounds[:-1].copy()
        for batch in self._batches:
            low, high = max(first, batch.first), min(end, batch.end)
            if low >= high:
                continue
            places, free_here = self._bounds(batch, low, high), free[low - first : high - first]
            lengths = np.diff(places)
            for bucket in np.flatnonzero(lengths).tolist():
                here = slice(int(free_here[bucket]), int(free_here[bucket] + lengths[bucket]))
                begin = int(places[bucket])
                into = None if weights is None else weights[here]
                self._read(batch, begin, rows[here], targets[here], into)
            free_here += lengths
        return Dealt(bounds, rows, targets, weights, 0)

    def stretches(self, first: int, end: int, most: int) -> Iterator[Stretch]:
        """The arcs of the buckets from `first` to `end`, at most `most` at a time, in order."""
        ends = np.cumsum(self.counts[:end])
        while first < end:
            before = int(ends[first - 1]) if first else 0
            after = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
            if self.counts[first] > most:
                for part in self.parts(first, most):
                    yield Stretch(first, np.array([0, len(part.targets)], np.int64), *part)
            elif ends[after - 1] > before:
                dealt = self.load(first, after)
                yield Stretch(first, dealt.bounds, dealt.rows_in_bucket, dealt.targets, dealt.weights)
            first = after

    def parts(self, bucket: int, most: int) -> Iterator[Part]:
        """The arcs of a bucket in the order of the edges, at most `most` at a time."""
        for batch in self._batches:
            if not batch.first <= bucket < batch.end:
                continue
            begin, end = self._bounds(batch, bucket, bucket + 1).tolist()
            for start in range(begin, end, most):
                count = min(most, end - start)
                rows, targets = np.empty(count, np.uint16), np.empty(count, np.int32)
                weights = None if self.dtype is None else np.empty(count, self.dtype)
                self._read(batch, start, rows, targets, weights)
                yield Part(rows, targets, weights)

    def _read(
        self, batch: _Batch, begin: int, rows: np.ndarray, targets: np.ndarray, weights: np.ndarray | None
    ) -> None:
        """Read arcs of a batch from the arc `begin` on. Raises GraphError for integers that float64 would round."""
        self._file.read_into(batch.rows + begin * rows.itemsize, rows)
        self._file.read_into(batch.targets + begin * targets.itemsize, targets)
        if weights is not None:
            assert batch.dtype is not None
            place = batch.weights + begin * batch.dtype.itemsize
            if batch.dtype == weights.dtype:
                self._file.read_into(place, weights)
            else:
                weights[:] = unrounded(self._file.read(place, batch.dtype, len(weights)), weights.dtype)

    def close(self) -> None:
        """Give the space back."""
        self._batches.clear()
        self._file.close()
