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

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise.errors import GraphError
from edgewise.kernels.launch import launch, sealed
from edgewise.kernels.team import available_threads, claim, run_alone, team_kernel

#: Offsets are 32-bit while the number of arcs stays below this.
MAX_SHORT_ARCS = 2**31
#: A bucket has at most 2**16 rows, so that a row within its bucket takes two bytes.
_MAX_BUCKET_BITS = 16
_MAX_BUCKETS = 1024
_ARCS_PER_BUCKET = 2**14
_MAX_BLOCK = 2**20


@dataclass(frozen=True)
class Rows:
    """The arcs of each vertex, one row after another.

    Attributes:
        offsets: int32 or int64, shape (num_vertices + 1,): row v is ``offsets[v]:offsets[v + 1]``.
        targets: int32, shape (num_arcs,).
        weights: None, or of any dtype of 4 or 8 bytes, shape (num_arcs,).
    """

    offsets: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None


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
    shift = _bucket_bits(num_vertices, len(source))
    num_buckets = max(1, ((num_vertices - 1) >> shift) + 1)
    block = max(min(len(source) // 32, _MAX_BLOCK), 32 * num_buckets)
    num_blocks = max(1, -(-len(source) // block))

    counts = np.zeros((num_blocks, num_buckets), np.int64)
    found = np.zeros((num_blocks, 2), np.int64)
    edges = (source, target, both_directions, drop_loops, shift, block)
    launch(_count, *edges, num_vertices, counts, found, work=3 * len(source))
    _check_in_range(found[:, 1], source, target, num_vertices)

    in_order = counts.T.ravel()  # bucket by bucket, and within a bucket block by block
    ends = np.cumsum(in_order)
    num_arcs = int(ends[-1])
    places = np.ascontiguousarray((ends - in_order).reshape(num_buckets, num_blocks).T)
    bounds = np.append(places[0], num_arcs)
    rows_in_bucket = np.empty(num_arcs, np.uint16)
    targets = np.empty(num_arcs, np.int32)
    moved = None if weights is None else np.empty(num_arcs, weights.dtype)
    bits, moved_bits = _as_bits(weights), _as_bits(moved)
    mark = np.int32(-1 if mark_reversed else 0)
    launch(_deal, *edges, mark, places, rows_in_bucket, targets, bits, moved_bits, work=3 * len(source))

    offsets = np.empty(num_vertices + 1, offset_dtype(num_arcs))
    offsets[num_vertices] = num_arcs
    _sort_buckets(bounds, shift, rows_in_bucket, offsets, targets, moved_bits)
    loops = 0 if drop_loops else int(found[:, 0].sum())
    return Rows(offsets, targets, moved), loops


def transpose(rows: Rows) -> Rows:
    """The arcs by target, those of one target in ascending order of sources, parallel ones as before."""
    return build_rows(rows.targets, row_of_arcs(rows.offsets), rows.weights, len(rows.offsets) - 1)[0]


def row_of_arcs(offsets: np.ndarray) -> np.ndarray:
    """The row of each arc, int32, shape (num_arcs,)."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))


def _as_bits(weights: np.ndarray | None) -> np.ndarray | None:
    """Weights as integers of their size: moving them needs no kernel for each dtype."""
    return None if weights is None else weights.view(f"i{weights.itemsize}")


def _bucket_bits(num_vertices: int, num_edges: int) -> int:
    """The number of rows in a bucket, as a power of two."""
    wanted = min(max(num_edges // _ARCS_PER_BUCKET, 1), _MAX_BUCKETS)
    return min(max(((num_vertices - 1) // wanted).bit_length(), 0), _MAX_BUCKET_BITS)


def _check_in_range(wrong: np.ndarray, source: np.ndarray, target: np.ndarray, num_vertices: int) -> None:
    """Refuse the first edge that some block found to be out of range; `wrong` counts edges from 1."""
    places = wrong[wrong > 0]
    if len(places):
        edge = int(places.min()) - 1
        raise GraphError(
            f"edge {edge} joins {source[edge]} and {target[edge]}; num_vertices={num_vertices} allows ids "
            f"from 0 to {num_vertices - 1}. Leave num_vertices out for ids of any size"
        )


def _sort_buckets(
    bounds: np.ndarray,
    shift: int,
    rows_in_bucket: np.ndarray,
    offsets: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None,
) -> None:
    """Sort every bucket by row. All copies together are never longer than the arrays themselves."""
    sizes = np.diff(bounds)
    threads = available_threads()
    large = sizes > max(int(bounds[-1]) // threads, _ARCS_PER_BUCKET)
    for buckets, copies in ((np.flatnonzero(~large), threads), (np.flatnonzero(large), 1)):
        if len(buckets) == 0:
            continue
        shape = (copies, int(sizes[buckets].max()))
        work = int(sizes[buckets].sum()) + (len(buckets) << shift)
        next_place = np.empty((copies, 1 << shift), np.int64)
        copy = np.empty(shape, np.int32)
        weight_copy = None if weights is None else np.empty(shape, weights.dtype)
        args = (
            buckets,
            bounds,
            shift,
            rows_in_bucket,
            next_place,
            copy,
            weight_copy,
            offsets,
            targets,
            weights,
        )
        if copies == 1:
            run_alone(_sort, *args)
        else:
            launch(_sort, *args, work=3 * work)


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
    """Count the arcs of each block for each bucket. found: its loops; its first edge out of range, from 1."""
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
    """Move each arc to the next place that its block has in its bucket. mark: -1 to complement reversed ones."""
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
