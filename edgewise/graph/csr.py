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
from typing import Any, NamedTuple

import numpy as np

from edgewise.errors import GraphError
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.launch import launch, sealed
from edgewise.kernels.cpu.team import available_threads, claim, run_alone, team_kernel
from edgewise.memory import Step

#: Offsets are 32-bit while the number of arcs stays below this.
MAX_SHORT_ARCS = 2**31
#: A bucket has at most 2**16 rows, so that a row within its bucket takes two bytes.
_MAX_BUCKET_BITS = 16
_MAX_BUCKETS = 1024
_ARCS_PER_BUCKET = 2**14
_MAX_BLOCK = 2**20
#: Arrays of the length of the counts that exist at one time while places of blocks are found.
_COUNTS = 5
#: Arcs that are reordered at a time.
_PIECE = 2**16


@dataclass(frozen=True)
class Rows:
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
    source, target = sealed(source), sealed(target)
    weights = None if weights is None else sealed(weights)
    cut = _cut(num_vertices, len(source))
    counts, found = cut.counts(), np.zeros((cut.num_blocks, 2), np.int64)
    edges = (source, target, both_directions, drop_loops, cut.shift, cut.block)
    launch(_count, *edges, num_vertices, counts, found, work=3 * len(source))
    _check_in_range(found[:, 1], source, target, num_vertices)

    places, bounds = _places(counts)
    targets = np.empty(int(bounds[-1]), np.int32)
    rows_in_bucket, moved = _room_for_arcs(len(targets), weights)
    bits, moved_bits = _as_bits(weights), _as_bits(moved)
    mark = np.int32(-1 if mark_reversed else 0)
    launch(_deal, *edges, mark, places, rows_in_bucket, targets, bits, moved_bits, work=3 * len(source))
    offsets = _sort_buckets(num_vertices, bounds, cut.shift, rows_in_bucket, targets, moved_bits)
    loops = 0 if drop_loops else int(found[:, 0].sum())
    return Rows(offsets, targets, moved), loops


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
    num_vertices, cut = len(offsets) - 1, _cut(len(offsets) - 1, len(targets))
    places, bounds = _places(_counts_of(targets, cut))
    rows_in_bucket, moved = _room_for_arcs(len(targets), weights)
    bits, moved_bits = _as_bits(weights), _as_bits(moved)
    arcs = (offsets, targets, cut.shift, cut.block, numbered)
    launch(_deal_back, *arcs, places, rows_in_bucket, ends, bits, moved_bits, work=3 * len(targets))
    in_offsets = _sort_buckets(num_vertices, bounds, cut.shift, rows_in_bucket, ends, moved_bits)
    return Rows(in_offsets, ends, moved)


def transposing(offsets: np.ndarray, targets: np.ndarray, weight_bytes: int) -> Step:
    """The memory that `transpose` takes for weights of `weight_bytes` bytes; finding it reads each target once."""
    num_arcs, num_vertices = len(targets), len(offsets) - 1
    cut = _cut(num_vertices, num_arcs)
    counts = _counts_of(sealed(targets), cut)
    of_arc = targets.itemsize + weight_bytes
    copies = max((copies * longest for _, copies, longest in _sorts(counts.sum(axis=0))), default=0)
    kept = of_arc * num_arcs + np.dtype(offset_dtype(num_arcs)).itemsize * (num_vertices + 1)
    return Step(kept, kept + 2 * num_arcs + of_arc * copies + _COUNTS * counts.nbytes)


def row_of_arcs(offsets: np.ndarray) -> np.ndarray:
    """The row of each arc, int32, shape (num_arcs,)."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))


def _as_bits(weights: np.ndarray | None) -> np.ndarray | None:
    """Weights as integers of the same size, so that one kernel moves weights of any dtype of that size."""
    return None if weights is None else weights.view(f"i{weights.itemsize}")


class _Cut(NamedTuple):
    """How edges are cut into blocks, and rows into buckets.

    Attributes:
        shift: a bucket has ``2**shift`` rows.
        num_buckets, num_blocks: how many there are.
        block: edges in a block.
    """

    shift: int
    num_buckets: int
    num_blocks: int
    block: int

    def counts(self) -> np.ndarray:
        """Zeros for the number of arcs of each block in each bucket."""
        return np.zeros((self.num_blocks, self.num_buckets), np.int64)


def _cut(num_vertices: int, num_edges: int) -> _Cut:
    wanted = min(max(num_edges // _ARCS_PER_BUCKET, 1), _MAX_BUCKETS)
    shift = min(max(((num_vertices - 1) // wanted).bit_length(), 0), _MAX_BUCKET_BITS)
    num_buckets = max(1, ((num_vertices - 1) >> shift) + 1)
    block = max(min(num_edges // 32, _MAX_BLOCK), 32 * num_buckets)
    return _Cut(shift, num_buckets, max(1, -(-num_edges // block)), block)


def _counts_of(targets: np.ndarray, cut: _Cut) -> np.ndarray:
    """The number of targets of each block in each bucket."""
    counts = cut.counts()
    launch(_count_targets, targets, cut.shift, cut.block, counts, work=len(targets))
    return counts


def _places(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first place of each block in each bucket, and the bounds of the buckets."""
    in_order = counts.T.ravel()  # bucket by bucket, and within a bucket block by block
    ends = np.cumsum(in_order)
    places = np.ascontiguousarray((ends - in_order).reshape(counts.shape[::-1]).T)
    return places, np.append(places[0], ends[-1])


def _room_for_arcs(num_arcs: int, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Arrays for each arc's row within its bucket, and for its weight."""
    moved = None if weights is None else np.empty(num_arcs, weights.dtype)
    return np.empty(num_arcs, np.uint16), moved


def _check_in_range(wrong: np.ndarray, source: np.ndarray, target: np.ndarray, num_vertices: int) -> None:
    """Refuse the first edge out of range that a block has found; `wrong` counts edges from 1."""
    places = wrong[wrong > 0]
    if len(places):
        edge = int(places.min()) - 1
        raise GraphError(
            f"edge {edge} joins {source[edge]} and {target[edge]}; num_vertices={num_vertices} allows ids "
            f"from 0 to {num_vertices - 1}. Leave num_vertices out for ids of any size"
        )


def _sort_buckets(
    num_vertices: int,
    bounds: np.ndarray,
    shift: int,
    rows_in_bucket: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None,
) -> np.ndarray:
    """Sort every bucket by row, and return the offsets of all rows."""
    sizes = np.diff(bounds)
    offsets = np.empty(num_vertices + 1, offset_dtype(len(targets)))
    offsets[num_vertices] = len(targets)
    for buckets, copies, longest in _sorts(sizes):
        work = int(sizes[buckets].sum()) + (len(buckets) << shift)
        next_place = np.empty((copies, 1 << shift), np.int64)
        copy = np.empty((copies, longest), targets.dtype)
        weight_copy = None if weights is None else np.empty((copies, longest), weights.dtype)
        arcs = (rows_in_bucket, next_place, copy, weight_copy, offsets, targets, weights)
        if copies == 1:
            run_alone(_sort, buckets, bounds, shift, *arcs)
        else:
            launch(_sort, buckets, bounds, shift, *arcs, work=3 * work)
    return offsets


def _sorts(sizes: np.ndarray) -> Iterator[tuple[np.ndarray, int, int]]:
    """The buckets that are sorted together, the number of threads, and the arcs in the largest bucket.

    A thread copies one bucket at a time. All copies together are never longer than all buckets.
    """
    threads = available_threads()
    large = sizes > max(int(sizes.sum()) // threads, _ARCS_PER_BUCKET)
    for buckets, copies in ((np.flatnonzero(~large), threads), (np.flatnonzero(large), 1)):
        if len(buckets):
            yield buckets, copies, int(sizes[buckets].max())


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
def _count(
    thread: Any,
    size: Any,
    control: Any,
    source: Any,
    target: Any,
    both_directions: Any,
    drop_loops: Any,
    shift: Any,
    block: Any,
    num_vertices: Any,
    counts: Any,
    found: Any,
) -> None:
    """Count the arcs of each block in each bucket. found: each block's self-loops, and its first edge out of range,
    counted from 1."""
    num_blocks = len(counts)
    bits, limit = np.uint64(shift), np.uint64(num_vertices)
    while True:
        b = claim(control, 0, 1, num_blocks)
        if b >= num_blocks:
            return
        count = counts[b]
        loops = 0
        for e in range(np.uint64(b * block), np.uint64(min((b + 1) * block, len(source)))):
            u, v = np.uint64(source[e]), np.uint64(target[e])
            if u >= limit or v >= limit:  # negative ones too: as unsigned numbers they are large
                found[b, 1] = np.int64(e) + 1
                break
            if u == v:
                loops += 1
                if drop_loops:
                    continue
            count[u >> bits] += 1
            if both_directions and u != v:
                count[v >> bits] += 1
        found[b, 0] = loops


@team_kernel
def _deal(
    thread: Any,
    size: Any,
    control: Any,
    source: Any,
    target: Any,
    both_directions: Any,
    drop_loops: Any,
    shift: Any,
    block: Any,
    mark: Any,
    places: Any,
    rows_in_bucket: Any,
    targets: Any,
    weights: Any,
    moved: Any,
) -> None:
    """Move each arc to the next place of its block in its bucket. mark: -1 to complement targets of reversed arcs."""
    num_blocks = len(places)
    bits, mask = np.uint64(shift), np.uint64((1 << shift) - 1)
    one = np.uint64(1)
    while True:
        b = claim(control, 0, 1, num_blocks)
        if b >= num_blocks:
            return
        place = places[b]
        for e in range(np.uint64(b * block), np.uint64(min((b + 1) * block, len(source)))):
            u, v = np.uint64(source[e]), np.uint64(target[e])
            if drop_loops and u == v:
                continue
            p = np.uint64(place[u >> bits])
            place[u >> bits] = np.int64(p + one)
            rows_in_bucket[p] = np.uint16(u & mask)
            targets[p] = np.int32(v)
            if weights is not None:
                moved[p] = weights[e]
            if both_directions and u != v:
                p = np.uint64(place[v >> bits])
                place[v >> bits] = np.int64(p + one)
                rows_in_bucket[p] = np.uint16(v & mask)
                targets[p] = np.int32(u) ^ mark
                if weights is not None:
                    moved[p] = weights[e]


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


@team_kernel
def _sort(
    thread: Any,
    size: Any,
    control: Any,
    buckets: Any,
    bounds: Any,
    shift: Any,
    rows_in_bucket: Any,
    next_places: Any,
    copies: Any,
    weight_copies: Any,
    offsets: Any,
    targets: Any,
    weights: Any,
) -> None:
    """Sort each bucket by row where it lies, and write the offsets of its rows."""
    num_vertices = len(offsets) - 1
    next_place, copy = next_places[thread], copies[thread]
    one = np.uint64(1)
    while True:
        k = claim(control, 0, 1, len(buckets))
        if k >= len(buckets):
            return
        b = buckets[k]
        first, last = np.uint64(bounds[b]), np.uint64(bounds[b + 1])
        first_row = b << shift
        num_rows = np.uint64(min(num_vertices - first_row, 1 << shift))
        for r in range(num_rows):
            next_place[r] = 0
        for p in range(first, last):
            next_place[np.uint64(rows_in_bucket[p])] += 1
            copy[p - first] = targets[p]
            if weights is not None:
                weight_copies[thread, p - first] = weights[p]
        place = np.int64(first)
        for r in range(num_rows):
            length = next_place[r]
            next_place[r] = place
            offsets[np.uint64(first_row) + r] = place
            place += length
        for p in range(first, last):
            row = np.uint64(rows_in_bucket[p])
            q = np.uint64(next_place[row])
            next_place[row] = np.int64(q + one)
            targets[q] = copy[p - first]
            if weights is not None:
                weights[q] = weight_copies[thread, p - first]
