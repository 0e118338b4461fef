"""Compressed sparse rows, built from edges in two passes over memory that the caches can hold.

Idea. A plain counting sort writes each arc to a random place. Here the arcs are first dealt out to about
1,024 buckets of consecutive rows, into the place of the bucket in the finished arrays, so that each bucket is
written from front to back; then each bucket, which now fits a cache, is sorted by row where it lies, through
a copy of that bucket alone. Beyond the finished rows this needs two bytes for each arc and a bucket for each
thread.

Order. Blocks of the input are counted first, so every block knows its place in every bucket: the rows hold
their arcs in the order of the input, whatever the number of threads.

This is the distribution step of Satish, Harris, Garland, "Designing Efficient Sorting Algorithms for Manycore
GPUs" (IPDPS 2009), section 4, with rows for digits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise.graph.buckets import (
    Cut,
    as_bits,
    cut_for,
    deal,
    places_of,
    room_for_arcs,
    sort_buckets,
    sorts,
)
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.launch import Sealed, launch, sealed
from edgewise.kernels.cpu.team import claim, team_kernel
from edgewise.memory import Step

#: Offsets are 32-bit while the number of arcs stays below this.
MAX_SHORT_ARCS = 2**31
#: Arrays of the length of the counts that exist at one time while places of blocks are found.
_COUNTS = 5
#: Arcs that are reordered at a time.
_PIECE = 2**16


@dataclass(frozen=True)
class Rows(Sealed):
    """The arcs of each vertex, one row after another; NumPy arrays, or CuPy arrays in `edgewise.graph.gpu_rows`.

    Attributes:
        offsets: int32 or int64, shape (num_vertices + 1,): row v is ``offsets[v]:offsets[v + 1]``.
        targets: int32, shape (num_arcs,).
        weights: None, or of any dtype of 4 or 8 bytes, shape (num_arcs,).
    """

    offsets: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        weights = 0 if self.weights is None else self.weights.nbytes
        return self.offsets.nbytes + self.targets.nbytes + weights

    def sealed(self) -> "Rows":
        """These rows, read-only."""
        weights = None if self.weights is None else sealed(self.weights)
        return Rows(sealed(self.offsets), sealed(self.targets), weights)


def row_lengths(offsets: np.ndarray) -> np.ndarray:
    """The number of arcs in each row, int32, read-only."""
    return sealed(np.diff(offsets).astype(np.int32, copy=False))


def offset_dtype(num_arcs: int) -> type[np.signedinteger]:
    """int32 while it can hold every offset, else int64."""
    return np.int32 if num_arcs < MAX_SHORT_ARCS else np.int64


def build_rows(
    source: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None,
    num_vertices: int,
    *,
    both_directions: bool = False,
    drop_loops: bool = False,
    mark_reversed: bool = False,
) -> tuple[Rows, int]:
    """Rows of the targets of each source, each in the order of the input. O(n + m).

    Args:
        source, target: indices, int32 or int64, shape (m,).
        weights: None, or shape (m,).
        num_vertices: indices must be below it.
        both_directions: put each edge into the rows of both its ends, a self-loop once.
        drop_loops: leave out edges from a vertex to itself.
        mark_reversed: of both directions, store the target v of the second as ~v, which is negative, until
            `count_mirrored` restores it.

    Returns:
        The rows, and the number of self-loops in them.

    Raises:
        GraphError: an index out of range.
    """
    cut = cut_for(num_vertices, len(source))
    dealt = deal(
        cut,
        source,
        target,
        weights,
        num_vertices,
        both_directions=both_directions,
        drop_loops=drop_loops,
        mark_reversed=mark_reversed,
    )
    offsets = np.empty(num_vertices + 1, offset_dtype(len(dealt.targets)))
    sort_buckets(*dealt[:1], cut.shift, *dealt[1:3], as_bits(dealt.weights), offsets)
    return Rows(offsets, dealt.targets, dealt.weights), dealt.num_loops


def building(
    num_vertices: int, num_edges: int, weights: np.ndarray | None, directed: bool, merges: bool = False
) -> int:
    """The least memory that building rows and merging parallel arcs take beyond the columns of edges."""
    of_arc = 4 + 2 + (0 if weights is None else weights.itemsize)
    return (4 + 12 * merges) * num_vertices + (1 if directed else 2) * of_arc * num_edges


def transpose(rows: Rows) -> Rows:
    """The in-edges: arcs sorted by target, then by source; parallel arcs keep their order."""
    sources = np.empty(len(rows.targets), np.int32)
    return _by_target(rows, sources, numbered=False)


def arcs_by_target(offsets: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The indices of the arcs, sorted by target and then by index, of the dtype of offsets."""
    arcs = np.empty(len(targets), offset_dtype(len(targets)))
    return _by_target(Rows(offsets, targets, None), arcs, numbered=True).targets


def twin_arcs(offsets: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The index of each arc's reverse, in rows that have every arc both ways; of the dtype of offsets.

    The k-th arc from u to v is the twin of the k-th from v to u: both sort by (u, v), one mirrored.
    """
    arcs = np.arange(len(targets), dtype=offsets.dtype)
    by_target = transpose(Rows(offsets, targets, arcs))
    places, twins = transpose(by_target).weights, by_target.weights
    assert places is not None and twins is not None
    for start in range(0, len(arcs), _PIECE):  # NumPy makes wider integers of places first
        piece = slice(start, start + _PIECE)
        arcs[places[piece]] = twins[piece]
    return arcs


def _by_target(rows: Rows, ends: np.ndarray, numbered: bool) -> Rows:
    """The arcs by target. `ends` is filled with their sources or, if `numbered`, with their indices."""
    offsets, targets = sealed(rows.offsets), sealed(rows.targets)
    weights = None if rows.weights is None else sealed(rows.weights)
    cut = cut_for(len(offsets) - 1, len(targets))
    places, bounds = places_of(_counts_of(targets, cut))
    rows_in_bucket, moved = room_for_arcs(len(targets), weights)
    bits, moved_bits = as_bits(weights), as_bits(moved)
    arcs = (offsets, targets, cut.shift, cut.block, numbered)
    launch(_deal_back, *arcs, places, rows_in_bucket, ends, bits, moved_bits, work=3 * len(targets))
    in_offsets = np.empty(len(offsets), offset_dtype(len(targets)))
    sort_buckets(bounds, cut.shift, rows_in_bucket, ends, moved_bits, in_offsets)
    return Rows(in_offsets, ends, moved)


def transposing(offsets: np.ndarray, targets: np.ndarray, weight_bytes: int) -> Step:
    """The memory that `transpose` takes for weights of `weight_bytes` bytes; finding it reads each target once."""
    num_arcs, num_vertices = len(targets), len(offsets) - 1
    cut = cut_for(num_vertices, num_arcs)
    counts = _counts_of(sealed(targets), cut)
    of_arc = targets.itemsize + weight_bytes
    copies = max((copies * longest for _, copies, longest in sorts(counts.sum(axis=0))), default=0)
    kept = of_arc * num_arcs + np.dtype(offset_dtype(num_arcs)).itemsize * (num_vertices + 1)
    return Step(kept, kept + 2 * num_arcs + of_arc * copies + _COUNTS * counts.nbytes)


def row_of_arcs(offsets: np.ndarray) -> np.ndarray:
    """The row of each arc, int32, shape (num_arcs,)."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))


def row_of_some(offsets: np.ndarray, arcs: np.ndarray) -> np.ndarray:
    """The rows of some arcs, with little memory beside."""
    return np.searchsorted(offsets, arcs.astype(offsets.dtype, copy=False), side="right") - 1


def rows_in_pieces(offsets: np.ndarray, step: int) -> Iterator[tuple[slice, np.ndarray]]:
    """All arcs, `step` at a time: where they are, and their rows, with little memory beside."""
    for begin in range(0, int(offsets[-1]), step):
        arcs = np.arange(begin, min(begin + step, int(offsets[-1])), dtype=offsets.dtype)
        yield slice(begin, begin + len(arcs)), row_of_some(offsets, arcs)


def _counts_of(targets: np.ndarray, cut: Cut) -> np.ndarray:
    """The number of targets of each block in each bucket."""
    counts = cut.counts()
    launch(_count_targets, targets, cut.shift, cut.block, counts, work=len(targets))
    return counts


@device_function
def row_of(offsets: Any, arc: Any) -> Any:
    """The vertex whose row an arc is in. For kernels; rows are not empty."""
    low, high, one = np.uint64(0), np.uint64(len(offsets) - 1), np.uint64(1)
    while low + one < high:
        middle = (low + high) >> one
        if np.uint64(offsets[middle]) <= arc:
            low = middle
        else:
            high = middle
    return low


@team_kernel
def _count_targets(
    thread: Any, size: Any, control: Any, targets: Any, shift: Any, block: Any, counts: Any
) -> None:
    """Count the targets of each block in each bucket."""
    bits = np.uint64(shift)
    while True:
        b = claim(control, 0, 1, len(counts))
        if b >= len(counts):
            return
        count = counts[b]
        for k in range(np.uint64(b * block), np.uint64(min((b + 1) * block, len(targets)))):
            count[np.uint64(targets[k]) >> bits] += 1


@team_kernel
def _deal_back(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    shift: Any,
    block: Any,
    numbered: Any,
    places: Any,
    rows_in_bucket: Any,
    ends: Any,
    weights: Any,
    moved: Any,
) -> None:
    """Move each arc's source or index to the next place of its block in the bucket of its target."""
    num_blocks = len(places)
    bits, mask = np.uint64(shift), np.uint64((1 << shift) - 1)
    one = np.uint64(1)
    while True:
        b = claim(control, 0, 1, num_blocks)
        if b >= num_blocks:
            return
        place = places[b]
        k, end = np.uint64(b * block), np.uint64(min((b + 1) * block, len(targets)))
        row = row_of(offsets, k)
        while k < end:
            last = min(np.uint64(offsets[row + one]), end)
            while k < last:
                v = np.uint64(targets[k])
                p = np.uint64(place[v >> bits])
                place[v >> bits] = np.int64(p + one)
                rows_in_bucket[p] = np.uint16(v & mask)
                ends[p] = np.int64(k if numbered else row)
                if weights is not None:
                    moved[p] = weights[k]
                k += one
            row += one
