"""Buckets of consecutive rows: arcs are dealt out to them, and each is then sorted by row where it lies.

See `edgewise.graph.csr` for the idea. Dealing and sorting are apart, for arcs may lie on a disk in between.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from edgewise.errors import GraphError
from edgewise.kernels.cpu.launch import launch, sealed
from edgewise.kernels.cpu.team import available_threads, claim, run_alone, team_kernel

#: A bucket has at most 2**16 rows, so that a row within its bucket takes two bytes.
MAX_BUCKET_BITS = 16
_MAX_BUCKETS = 1024
_ARCS_PER_BUCKET = 2**14
_MAX_BLOCK = 2**20


def as_bits(weights: np.ndarray | None) -> np.ndarray | None:
    """Weights as integers of the same size, so that one kernel moves weights of any dtype of that size."""
    return None if weights is None else weights.view(f"i{weights.itemsize}")


class Cut(NamedTuple):
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


def cut_for(num_rows: int, num_edges: int) -> Cut:
    """A cut into buckets that fit a cache."""
    wanted = min(max(num_edges // _ARCS_PER_BUCKET, 1), _MAX_BUCKETS)
    return cut_by(min(max(((num_rows - 1) // wanted).bit_length(), 0), MAX_BUCKET_BITS), num_rows, num_edges)


def cut_by(shift: int, num_rows: int, num_edges: int) -> Cut:
    """A cut into buckets of ``2**shift`` rows."""
    num_buckets = max(1, ((num_rows - 1) >> shift) + 1)
    block = max(min(num_edges // 32, _MAX_BLOCK), 32 * num_buckets)
    return Cut(shift, num_buckets, max(1, -(-num_edges // block)), block)


class Dealt(NamedTuple):
    """Arcs in their buckets, in the order of the edges.

    Attributes:
        bounds: where each bucket begins, and the number of arcs, int64, shape (num_buckets + 1,).
        rows_in_bucket: the row of each arc, counted from the first of its bucket, uint16, shape (num_arcs,).
        targets: int32, shape (num_arcs,).
        weights: None, or shape (num_arcs,).
        num_loops: self-loops among the arcs.
    """

    bounds: np.ndarray
    rows_in_bucket: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None
    num_loops: int


def deal(
    cut: Cut,
    source: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None,
    num_vertices: int,
    *,
    both_directions: bool = False,
    drop_loops: bool = False,
    mark_reversed: bool = False,
) -> Dealt:
    """Deal the arcs out to buckets of rows. The arguments are those of `edgewise.graph.csr.build_rows`.

    Raises:
        GraphError: an index out of range.
    """
    source, target = sealed(source), sealed(target)
    weights = None if weights is None else sealed(weights)
    counts, found = cut.counts(), np.zeros((cut.num_blocks, 2), np.int64)
    edges = (source, target, both_directions, drop_loops, cut.shift, cut.block)
    launch(_count, *edges, num_vertices, counts, found, work=3 * len(source))
    _check_in_range(found[:, 1], source, target, num_vertices)

    places, bounds = places_of(counts)
    targets = np.empty(int(bounds[-1]), np.int32)
    rows_in_bucket, moved = room_for_arcs(len(targets), weights)
    mark = np.int32(-1 if mark_reversed else 0)
    arcs = (rows_in_bucket, targets, as_bits(weights), as_bits(moved))
    launch(_deal, *edges, mark, places, *arcs, work=3 * len(source))
    loops = 0 if drop_loops else int(found[:, 0].sum())
    return Dealt(bounds, rows_in_bucket, targets, moved, loops)


def places_of(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first place of each block in each bucket, and the bounds of the buckets."""
    in_order = counts.T.ravel()  # bucket by bucket, and within a bucket block by block
    ends = np.cumsum(in_order)
    places = np.ascontiguousarray((ends - in_order).reshape(counts.shape[::-1]).T)
    return places, np.append(places[0], ends[-1])


def room_for_arcs(num_arcs: int, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
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


def sort_buckets(
    bounds: np.ndarray,
    shift: int,
    rows_in_bucket: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None,
    offsets: np.ndarray,
) -> None:
    """Sort every bucket by row where it lies, and fill in the offsets of all rows.

    Args:
        bounds, rows_in_bucket, targets, weights: as in `Dealt`; weights as integers of their size.
        shift: a bucket has ``2**shift`` rows.
        offsets: shape (num_rows + 1,).
    """
    sizes = np.diff(bounds)
    offsets[-1] = len(targets)
    for buckets, copies, longest in sorts(sizes):
        work = int(sizes[buckets].sum()) + (len(buckets) << shift)
        next_place = np.empty((copies, 1 << shift), np.int64)
        copy = np.empty((copies, longest), targets.dtype)
        weight_copy = None if weights is None else np.empty((copies, longest), weights.dtype)
        arcs = (rows_in_bucket, next_place, copy, weight_copy, offsets, targets, weights)
        if copies == 1:
            run_alone(_sort, buckets, bounds, shift, *arcs)
        else:
            launch(_sort, buckets, bounds, shift, *arcs, work=3 * work)


def sorts(sizes: np.ndarray) -> Iterator[tuple[np.ndarray, int, int]]:
    """The buckets that are sorted together, the number of threads, and the arcs in the largest bucket.

    A thread copies one bucket at a time. All copies together are never longer than all buckets.
    """
    threads = available_threads()
    large = sizes > max(int(sizes.sum()) // threads, _ARCS_PER_BUCKET)
    for buckets, copies in ((np.flatnonzero(~large), threads), (np.flatnonzero(large), 1)):
        if len(buckets):
            yield buckets, copies, int(sizes[buckets].max())


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
