"""Rows from arcs on the disk: buckets are sorted in memory, one after the other, and their rows come in order.

A bucket that does not fit is dealt out again to smaller ones. A bucket of one row needs no sort: its arcs are in the
order of the edges, and pass through in parts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from edgewise.building.scratch import Scratch
from edgewise.building.sizes import Room, Sizes
from edgewise.building.spill import Spill
from edgewise.graph.buckets import as_bits, sort_buckets
from edgewise.graph.csr import Rows, offset_dtype
from edgewise.graph.merge import merge_parallel_arcs


class Sink(Protocol):
    """What takes rows in order."""

    def take(self, first_row: int, rows: Rows, loops: int) -> None:
        """Take rows from `first_row` on, and the number of self-loops that merging has left."""

    def go_on(self, row: int, rows: Rows) -> None:
        """Take more arcs of the row that came last."""


@dataclass(frozen=True)
class Sorting:
    """How rows are made.

    Attributes:
        scratch: for buckets that are dealt out again.
        sizes: what is held in memory.
        room: the memory, for messages.
        num_vertices: of the graph.
        rule: how parallel arcs are merged, or None.
    """

    scratch: Scratch
    sizes: Sizes
    room: Room
    num_vertices: int
    rule: str | None = None

    def sort(self, spill: Spill, sink: Sink, first_row: int = 0) -> None:
        """Hand all rows of a spill to the sink, in order.

        Raises:
            GraphError: a sum of weights that its dtype cannot hold.
            MemoryLimitError: merged arcs of one row that do not fit.
        """
        for first, end in self._groups(spill):
            row = first_row + (first << spill.shift)
            if spill.counts[first:end].sum() <= self.sizes.bucket:
                self._sort_group(spill, first, end, row, sink)
            elif spill.shift:
                self._sort_large(spill, first, row, sink)
            elif self.rule is None:
                self._pass_row(spill, first, row, sink)
            else:
                self._merge_row(spill, first, row, sink)

    def _groups(self, spill: Spill) -> Iterator[tuple[int, int]]:
        """Consecutive buckets that are sorted together: as many as fit, or one."""
        counts, longest, first, held = spill.counts.tolist(), self.sizes.rows >> spill.shift, 0, 0
        for bucket, count in enumerate(counts):
            if bucket > first and (held + count > self.sizes.bucket or bucket - first >= longest):
                yield first, bucket
                first, held = bucket, 0
            held += count
        if spill.num_rows:
            yield first, len(counts)

    def _sort_group(self, spill: Spill, first: int, end: int, first_row: int, sink: Sink) -> None:
        """Sort buckets that fit."""
        dealt = spill.load(first, end)
        num_rows = min(end << spill.shift, spill.num_rows) - (first << spill.shift)
        offsets = np.empty(num_rows + 1, offset_dtype(len(dealt.targets)))
        arcs = (dealt.rows_in_bucket, dealt.targets, as_bits(dealt.weights))
        sort_buckets(dealt.bounds, spill.shift, *arcs, offsets)
        rows, loops = Rows(offsets, dealt.targets, dealt.weights), 0
        del dealt, arcs
        if self.rule is not None:
            rows, loops = self._merged(rows, first_row)
        sink.take(first_row, rows, loops)

    def _sort_large(self, spill: Spill, bucket: int, first_row: int, sink: Sink) -> None:
        """Deal the arcs of a bucket out to smaller ones, and sort these."""
        begin = bucket << spill.shift
        num_rows = min(begin + (1 << spill.shift), spill.num_rows) - begin
        smaller = Spill(self.scratch, num_rows, self.num_vertices, self.sizes)
        for part in spill.parts(bucket, self.sizes.batch):
            smaller.add(*part)
        self.sort(smaller, sink, first_row)
        smaller.close()

    def _pass_row(self, spill: Spill, bucket: int, row: int, sink: Sink) -> None:
        """Hand a long row on in parts."""
        for number, part in enumerate(spill.parts(bucket, self.sizes.batch)):
            rows = _one_row(part.targets, part.weights)
            if number == 0:
                sink.take(row, rows, 0)
            else:
                sink.go_on(row, rows)

    def _merge_row(self, spill: Spill, bucket: int, row: int, sink: Sink) -> None:
        """Merge a long row part by part: what was merged stands before the next part."""
        held, loops, most = _one_row(np.empty(0, np.int32), None), 0, max(self.sizes.bucket // 2, 1)
        for part in spill.parts(bucket, most):
            targets, weights = part.targets, part.weights
            if len(held.targets):
                targets = np.concatenate([held.targets, targets])
                weights = None if weights is None else np.concatenate([held.weights, weights])
            held, loops = self._merged(_one_row(targets, weights), row)
            if len(held.targets) > most:
                self._refuse_row(spill, bucket, most)
        sink.take(row, held, loops)

    def _refuse_row(self, spill: Spill, bucket: int, most: int) -> None:
        """Refuse to merge a row that has more than `most` different targets."""
        count, step = 0, 8 * most
        for begin in range(0, self.num_vertices, step):  # targets of a range of vertices are marked at a time
            marks = np.zeros(step, bool)
            for part in spill.parts(bucket, most):
                marks[part.targets[(part.targets >= begin) & (part.targets < begin + step)] - begin] = True
            count += int(np.count_nonzero(marks))
        least = self.room.limit + self.sizes.more_for(2 * (count + 1))
        raise self.room.refusal(least, f"to merge the parallel edges of a vertex with {count:,} neighbours")

    def _merged(self, rows: Rows, first_row: int) -> tuple[Rows, int]:
        assert self.rule is not None
        return merge_parallel_arcs(rows, self.rule, first_row, self.num_vertices)


def _one_row(targets: np.ndarray, weights: np.ndarray | None) -> Rows:
    return Rows(np.array([0, len(targets)], offset_dtype(len(targets))), targets, weights)
