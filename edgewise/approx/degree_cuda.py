"""Degrees normalised on a GPU: see `edgewise.approx.degree`.

A warp looks at the paths of a vertex, a lane at each, in the order of rows: of 32 paths, those whose ends were not seen
are kept, of several with one end the first. A vertex has a table of what was seen, in the GPU's memory.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.approx.sums_cuda import make_sum_fits
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import (
    AtomicInt32s,
    AtomicInt64s,
    Int32s,
    Int64s,
    Offsets,
    Uint32s,
    Weights,
    type_of,
)
from edgewise.kernels.cuda.device import (
    WARP,
    atomic_add,
    ballot,
    compare_and_swap,
    count_bits,
    device_function,
    first_bit,
    lane,
    lanes_before,
    shuffle,
    warp_barrier,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import cupy, empty, full, host_copy, zeros
from edgewise.primitives.deal import holder_of
from edgewise.primitives.running_sums import sum_to_lane

#: The most slots of tables that there are at a time, if those of one vertex are no more.
MOST_SLOTS = 2**27


class Finding(NamedTuple):
    """What the kernel takes. Arrays of weights may be any of their dtype where there are none.

    Attributes:
        offsets, targets, weights: the graph's rows.
        sources: vertices that look for edges.
        begins: where the edges of each one begin, and the end of the last one's.
        tables: where the table of each one begins, a power of two, and the end of the last one's.
        seen: these tables, all -1.
        found: how many edges each one finds, to be filled.
        to, lengths: the edges, to be filled.
        control: zero, shape (1,): how many vertices are claimed.
        paths: how many paths are looked at for each edge that is wanted.
        num_sources: how many vertices there are.
    """

    offsets: Offsets
    targets: Uint32s
    weights: Weights
    sources: Int32s
    begins: Int64s
    tables: Int64s
    seen: AtomicInt32s
    found: Int64s
    to: Int32s
    lengths: Weights
    control: AtomicInt64s
    paths: int
    num_sources: int


@device_function
def _is_new(v: Any, seen: Any, base: Any, mask: Any) -> Any:
    """Put a vertex into a table, which has room; whether it was not there."""
    slot = (np.int64(v) * np.int64(0x9E3779B1) >> 7) & mask
    old = compare_and_swap(seen, base + slot, np.int32(-1), np.int32(v))
    while old not in (-1, v):
        slot = (slot + 1) & mask
        old = compare_and_swap(seen, base + slot, np.int32(-1), np.int32(v))
    return old == -1


@device_function
def _is_first(v: Any, takes: Any, inserted: Any) -> Any:
    """Whether this lane is the first one of those that take a vertex which one of them has put into the table.

    All lanes of the warp take part."""
    waiting, first = ballot(inserted), False
    while waiting != 0:
        common = shuffle(v, first_bit(waiting))
        waiting = np.uint32(waiting & (waiting - np.uint32(1)))
        if first_bit(ballot(takes and v == common)) == lane():
            first = True
    return first


def make_find(dtype: np.dtype | None) -> Any:
    """The kernel that finds edges, for weights of a dtype or for none."""
    weighted, sum_fits = dtype is not None, make_sum_fits(dtype or np.dtype(np.int32))

    @device_function
    def find(i, it):
        """Find the edges of a vertex; all lanes of a warp call it."""
        u, at, end = np.int64(it.sources[i]), it.begins[i], it.begins[i + 1]
        base, mask = it.tables[i], it.tables[i + 1] - it.tables[i] - 1
        row, row_end = np.int64(it.offsets[u]), np.int64(it.offsets[u + 1])
        if lane() == 0:
            _is_new(u, it.seen, base, mask)
        for k in range(row + lane(), row_end, WARP):
            _is_new(np.int64(it.targets[k]), it.seen, base, mask)
        warp_barrier()
        left, first = it.paths * (end - at), row
        while first < row_end and at < end and left > 0:
            start, count = np.int64(0), np.int64(0)
            if first + lane() < row_end:
                x = np.int64(it.targets[first + lane()])
                start = np.int64(it.offsets[x])
                count = np.int64(it.offsets[x + 1]) - start
            upto = sum_to_lane(count)
            total, origin, done = shuffle(upto, WARP - 1), start - upto + count, np.int64(0)
            while done < total and at < end and left > 0:
                place = done + lane()
                holder = holder_of(place, upto)
                j, w = shuffle(origin, holder) + place, np.int64(-1)
                takes, inserted = place < total and lane() < left, False
                if takes:
                    w = np.int64(it.targets[j])
                    if weighted:
                        takes = sum_fits(it.weights[first + holder], it.weights[j])
                if takes:
                    inserted = _is_new(w, it.seen, base, mask)
                is_first = _is_first(w, takes, inserted)
                firsts = ballot(is_first)
                to = at + lanes_before(firsts)
                if is_first and to < end:
                    it.to[to] = w
                    if weighted:
                        it.lengths[to] = it.weights[first + holder] + it.weights[j]
                at = min(end, at + count_bits(firsts))
                left -= min(np.int64(WARP), total - done)
                done += WARP
            first += WARP
        if lane() == 0:
            it.found[i] = at - it.begins[i]

    def find_kernel(it):
        i = np.int64(0)
        while i < it.num_sources:
            if lane() == 0:
                i = atomic_add(it.control, 0, 1)
            i = shuffle(i, 0)
            if i < it.num_sources:
                find(i, it)

    return find_kernel


def signature(offsets: np.dtype, weight: np.dtype | None) -> tuple[Any, ...]:
    """The types of the kernel's arguments for these dtypes."""
    return (type_of(Finding, offset=offsets, weight=weight or np.dtype(np.int32)),)


@functools.cache
def _kernel(offsets: np.dtype, weight: np.dtype | None) -> Kernel:
    return fixed_kernel(make_find, signature(offsets, weight), weight)


class Edges(NamedTuple):
    """Edges on the GPU; see `edgewise.approx.transformed.Added`."""

    sources: Any
    targets: Any
    weights: Any


def order_on_gpu(degree: Any) -> Any:
    """`edgewise.approx.degree.order_by_degree` on the GPU."""
    xp = cupy()
    bucket = xp.frexp(degree.astype(np.float64))[1]
    return xp.argsort((-bucket).astype(np.int8), kind="stable").astype(np.int32)


def wanted_on_gpu(degree: Any, threshold: float, fill: float, warp: int) -> Any:
    """`edgewise.approx.degree.edges_wanted` on the GPU."""
    xp, n = cupy(), len(degree)
    warp = min(warp, n)
    padded = zeros(-(-n // warp) * warp, np.int64)
    padded[:n] = degree
    largest = xp.repeat(padded.reshape(-1, warp).max(axis=1), warp)[:n]
    short = 1 - degree / xp.maximum(largest, 1)
    missing = xp.floor(fill * largest + 1e-9).astype(np.int64) - degree
    return xp.where((short > 0) & (short <= threshold + 1e-12) & (missing > 0), missing, 0)


def normalized_on_gpu(
    graph: Graph, threshold: float, fill: float, warp: int, most: int, paths: int, at_a_time: int
) -> tuple[np.ndarray, tuple[Any, Any, Any]]:
    """The new order of vertices, and sources, targets and weights of the added edges, made on the GPU; on the host.

    Args:
        graph: the graph, which has arcs.
        threshold, fill, warp: see `edgewise.approx.degree.normalize_degrees`.
        most: how many edges there may be of all.
        paths: how many paths are looked at for each edge that is wanted.
        at_a_time: how many edges are looked for at a time, at least.
    """
    degree = cupy().diff(graph.gpu.offsets).astype(np.int64)
    order = order_on_gpu(degree)
    wanted = wanted_on_gpu(degree[order], threshold, fill, warp)
    added = _two_steps_away(graph, degree, order, wanted, most, paths, at_a_time)
    sources, targets = host_copy(added.sources), host_copy(added.targets)
    return host_copy(order), (sources, targets, host_copy(added.weights) if graph.weighted else None)


def _two_steps_away(
    graph: Graph, degree: Any, order: Any, wanted: Any, most: int, paths: int, at_a_time: int
) -> Edges:
    """`edgewise.approx.degree.two_steps_away` on the GPU."""
    xp = cupy()
    chosen = xp.flatnonzero(wanted)
    sources, wanted = order[chosen], xp.minimum(wanted[chosen], most)
    # Tables have room for twice of what is put there. A warp may put more there at the end, which must not fill them.
    entries = degree[sources] + wanted + 1
    room = xp.maximum(2 * entries, entries + WARP + 1)
    slots = 1 << xp.frexp((room - 1).astype(np.float64))[1].astype(np.int64)
    edges_upto, slots_upto = _sums(wanted), _sums(slots)
    found, first = (
        Edges(*(empty(0, each) for each in (np.int32, np.int32, graph.weight_dtype or np.int32))),
        0,
    )
    while first < len(sources) and len(found.sources) < most:
        ends = (
            xp.searchsorted(upto, upto[first : first + 1] + most_of, side="right")
            for upto, most_of in ((edges_upto, max(most, at_a_time)), (slots_upto, MOST_SLOTS))
        )
        last = max(first + 1, min(int(each[0]) for each in ends) - 1)
        begins, tables = (upto[first : last + 1] - upto[first] for upto in (edges_upto, slots_upto))
        more = _found(graph, sources[first:last], begins, tables, paths)
        found, first = _cut(found, more, graph.directed, most), last
    return found


def _sums(values: Any) -> Any:
    """Where ranges of these lengths begin, and the end of the last one, int64."""
    upto = zeros(len(values) + 1, np.int64)
    cupy().cumsum(values, out=upto[1:])
    return upto


def _found(graph: Graph, sources: Any, begins: Any, tables: Any, paths: int) -> Edges:
    """Edges from some vertices, as many as each of them wants, or as there are."""
    xp, weight, num_edges = cupy(), graph.weight_dtype, int(begins[-1])
    to, found = empty(num_edges, np.int32), zeros(len(sources), np.int64)
    lengths = to if weight is None else empty(num_edges, weight)
    offsets = graph.gpu.offsets
    given = Finding(
        offsets=offsets,
        targets=graph.gpu.targets,
        weights=to if weight is None else graph.gpu.weights,
        sources=sources,
        begins=begins,
        tables=tables,
        seen=full(int(tables[-1]), -1, np.int32),
        found=found,
        to=to,
        lengths=lengths,
        control=zeros(1, np.int64),
        paths=paths,
        num_sources=len(sources),
    )
    _kernel(np.dtype(f"u{offsets.dtype.itemsize}"), weight).start([given])
    places = xp.arange(num_edges)
    source = xp.searchsorted(begins, places, side="right") - 1
    kept = places - begins[source] < found[source]
    return Edges(sources[source[kept]], to[kept], lengths[kept])


def _cut(one: Edges, other: Edges, directed: bool, most: int) -> Edges:
    """`edgewise.approx.transformed.cut` for edges one after the other, on the GPU."""
    xp = cupy()
    joined = Edges(*(xp.concatenate(both) for both in zip(one, other, strict=True)))
    if not directed:
        low, high = xp.minimum(*joined[:2]).astype(np.int64), xp.maximum(*joined[:2])
        keys = low << 32 | high
        order = xp.argsort(keys, kind="stable")
        keys, is_first = keys[order], xp.ones(len(keys), np.bool_)
        is_first[1:] = keys[1:] != keys[:-1]
        first = xp.sort(order[is_first])
        joined = Edges(*(each[first] for each in joined))
    return Edges(*(each[:most] for each in joined))
