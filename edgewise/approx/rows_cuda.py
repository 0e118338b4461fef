"""Rows in a new order with more arcs, made on a GPU: see `edgewise.approx.transformed`; and the arcs of slots, see
`edgewise.approx.copies`.

Each arc of the result is written once, by tiles, as in `edgewise.layout.layers_cuda`: its place in its row tells
whether it is one of the row's own, which come first, or an added one.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.approx.copies import Copies, Slots
from edgewise.approx.where import room_beside
from edgewise.graph import Graph
from edgewise.graph.csr import Rows, offset_dtype
from edgewise.graph.given_ids import distinct_ids
from edgewise.graph.gpu_rows import GpuRows
from edgewise.kernels.cuda.arguments import Int32s, Int64s, Offsets, Uint32s, Weights, type_of
from edgewise.kernels.cuda.device import INT64, THREADS, block_index, block_thread, cuda, num_blocks
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import copy_of, cupy, empty, host_copy, zeros
from edgewise.layout.layers_cuda import TILE, range_of_tile
from edgewise.primitives.halving import last_not_after


class Merging(NamedTuple):
    """What the kernel takes. Arrays of weights may be any of their dtype where there are none.

    Attributes:
        offsets, targets, weights: the rows, in the order of vertices.
        vertices, place: the vertex at each place, and the place of each vertex.
        more, ends, lengths: rows of the added arcs by places: where each begins, targets, which are places, and
            weights.
        begins: where the rows of the result begin.
        to, its_weights: the result, to be filled.
        n, m: vertices, and arcs of the result.
    """

    offsets: Offsets
    targets: Uint32s
    weights: Weights
    vertices: Int32s
    place: Int32s
    more: Int64s
    ends: Int32s
    lengths: Weights
    begins: Int64s
    to: Int32s
    its_weights: Weights
    n: int
    m: int


def make_merge(weighted: bool) -> Any:
    """The kernel that writes rows, with weights or without."""

    def merge_kernel(it):
        bounds = cuda.shared.array(2, INT64)
        for tile in range(block_index(), (it.m + TILE - 1) // TILE, num_blocks()):
            first, end = tile * TILE, min((tile + 1) * TILE, it.m)
            low, high = range_of_tile(first, end - 1, it.begins, np.int64(0), it.n, bounds)
            for arc in range(first + block_thread(), end, THREADS):
                row = last_not_after(it.begins, arc, low, high)
                v, k = np.int64(it.vertices[row]), arc - it.begins[row]
                begin, stop = np.int64(it.offsets[v]), np.int64(it.offsets[v + 1])
                if k < stop - begin:
                    it.to[arc] = it.place[it.targets[begin + k]]
                    if weighted:
                        it.its_weights[arc] = it.weights[begin + k]
                else:
                    added = it.more[row] + k - (stop - begin)
                    it.to[arc] = it.ends[added]
                    if weighted:
                        it.its_weights[arc] = it.lengths[added]

    return merge_kernel


def signature(offsets: np.dtype, weight: np.dtype | None) -> tuple[Any, ...]:
    """The types of the kernel's arguments for these dtypes."""
    return (type_of(Merging, offset=offsets, weight=weight or np.dtype(np.int32)),)


@functools.cache
def _kernel(offsets: np.dtype, weight: np.dtype | None) -> Kernel:
    return fixed_kernel(make_merge, signature(offsets, weight), weight is not None)


def made_on_gpu(
    name: str, graph: Graph, order: np.ndarray, added: Any, copies: Copies | None
) -> tuple[Graph, Slots | None]:
    """A graph in another order with more edges, built on the GPU, and the arcs of its slots, on the host.

    Args:
        name: what makes it, for messages.
        graph: the graph.
        order: its vertices in their new order, int32.
        added: the edges, see `edgewise.approx.transformed.Added`.
        copies: the slots, or None.

    Raises:
        MemoryLimitError: the GPU has no room.
    """
    n, more = graph.num_vertices, len(added.sources) * (1 if graph.directed else 2)
    of_arc = 4 + (0 if graph.weight_dtype is None else graph.weight_dtype.itemsize)
    needed = 64 * n + of_arc * (graph.num_arcs + more) + 64 * more
    needed += 0 if copies is None else 64 * len(copies.vertex) + of_arc * (graph.num_arcs + more)
    with room_beside(name, graph, needed):
        rows, slots = _rows(graph, copy_of(order), added), None
        if copies is not None:
            slots = slots_on_gpu(rows, copies)
            rows = slots.rows
    loops = 0 if graph.directed else 2 * graph.num_edges - graph.num_arcs
    there = GpuRows(rows.offsets, rows.targets, rows.weights)
    ids = distinct_ids(graph.ids_of(order))
    return Graph(there, ids, graph.directed, loops, len(rows.targets)), slots


def _rows(graph: Graph, order: Any, added: Any) -> Rows:
    """`edgewise.approx.transformed._rows` on the GPU."""
    xp, n = cupy(), graph.num_vertices
    offsets, weighted = graph.gpu.offsets, graph.weight_dtype is not None
    place = empty(n, np.int32)
    place[order] = xp.arange(n, dtype=np.int32)
    sources, targets = (place[copy_of(each)] for each in (added.sources, added.targets))
    lengths: Any = copy_of(added.weights) if weighted else None
    if not graph.directed:
        sources, targets = xp.concatenate([sources, targets]), xp.concatenate([targets, sources])
        lengths = xp.concatenate([lengths, lengths]) if weighted else None
    by_source = xp.argsort(sources, kind="stable")
    more = xp.searchsorted(sources[by_source], xp.arange(n + 1, dtype=np.int32))
    begins: Any = zeros(n + 1, np.int64)
    xp.cumsum(xp.diff(offsets)[order], dtype=np.int64, out=begins[1:])
    begins += more
    m = graph.num_arcs + len(sources)
    to = empty(m, np.int32)
    its_weights = empty(m, graph.weight_dtype) if weighted else to
    given = Merging(
        offsets=offsets,
        targets=graph.gpu.targets,
        weights=graph.gpu.weights if weighted else to,
        vertices=order,
        place=place,
        more=more.astype(np.int64),
        ends=targets[by_source],
        lengths=lengths[by_source] if weighted else to,
        begins=begins,
        to=to,
        its_weights=its_weights,
        n=n,
        m=m,
    )
    _kernel(np.dtype(f"u{offsets.dtype.itemsize}"), graph.weight_dtype).start([given])
    return Rows(begins.astype(offset_dtype(m)), to, its_weights if weighted else None)


def slots_on_gpu(rows: Rows, copies: Copies) -> Slots:
    """`edgewise.approx.copies.in_slots` on the GPU: the arcs of vertices that have replicas are sorted by their slots.

    Args:
        rows: on the GPU.
        copies: the slots.

    Returns:
        The rows, on the GPU, and the arcs of slots, on the host.
    """
    xp, offsets = cupy(), rows.offsets
    vertex, to = copy_of(copies.vertex), copy_of(copies.to)
    own = xp.flatnonzero((vertex >= 0) & (to < 0))
    first, end = zeros(len(vertex), offsets.dtype), zeros(len(vertex), offsets.dtype)
    first[own], end[own] = offsets[:-1], offsets[1:]
    replicas = xp.flatnonzero(to >= 0)
    if len(replicas):
        # By vertices, and those of one by their slots.
        replicas = replicas[xp.argsort(vertex[replicas], kind="stable")]
        rows = _sorted_by_slots(rows, own, replicas, vertex, to, copies.chunk, first, end)
    return Slots(rows, host_copy(first), host_copy(end))


def _sorted_by_slots(
    rows: Rows, own: Any, replicas: Any, vertex: Any, to: Any, chunk: int, first: Any, end: Any
) -> Rows:
    """The rows with the arcs of vertices that have replicas in the order of slots; sets where these begin and end."""
    xp, offsets, of = cupy(), rows.offsets, vertex[replicas]
    is_new = xp.ones(len(of), np.bool_)
    is_new[1:] = of[1:] != of[:-1]
    split = of[is_new]
    row_of_replica = xp.cumsum(is_new) - 1
    upto = zeros(len(split) + 1, np.int64)
    xp.cumsum(xp.diff(offsets)[split], dtype=np.int64, out=upto[1:])
    places = xp.arange(int(upto[-1]))
    row = xp.searchsorted(upto, places, side="right") - 1
    arcs = offsets[split].astype(np.int64)[row] + places - upto[row]
    # Which replica of its vertex an arc belongs to: that which leads to the chunk of its target, or none.
    keys = row_of_replica << 32 | to[replicas]
    by_key = xp.argsort(keys, kind="stable")
    wanted = row << 32 | own[rows.targets[arcs]] // chunk
    found = xp.minimum(xp.searchsorted(keys[by_key], wanted), len(keys) - 1)
    part = xp.where(keys[by_key][found] == wanted, by_key[found] + 1, 0)
    order = xp.argsort(row << 32 | part, kind="stable")
    parts = (row << 32 | part)[order]
    of_replica = row_of_replica << 32 | xp.arange(1, len(keys) + 1)
    begin_of_row = offsets[split].astype(np.int64)[row_of_replica] - upto[row_of_replica]
    first[replicas] = begin_of_row + xp.searchsorted(parts, of_replica)
    end[replicas] = begin_of_row + xp.searchsorted(parts, of_replica, side="right")
    # An own slot ends where the first replica's begins.
    end[own[split]] = first[replicas[is_new]]
    targets, weights = rows.targets.copy(), None if rows.weights is None else rows.weights.copy()
    targets[arcs] = rows.targets[arcs[order]]
    if weights is not None:
        weights[arcs] = rows.weights[arcs[order]]  # type: ignore[index]
    return Rows(offsets, targets, weights)
