# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Rows in the order of layers, made on a GPU: see `edgewise.layout.layers`.

Vertices are sorted by their layer, which CuPy does by digits. Rows are moved as tiles of arcs of the result, so a
thread has as many arcs to move wherever the rows begin; it finds the row of each by halving among those of its tile.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import (
    AtomicInt64s,
    Int32s,
    Int64s,
    Offsets,
    Uint8s,
    Uint32s,
    Weights,
    type_of,
)
from edgewise.kernels.cuda.device import (
    INT64,
    THREADS,
    atomic_add,
    block_barrier,
    block_index,
    block_thread,
    cuda,
    inlined,
    lane,
    num_blocks,
    warp_sum,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import cupy, empty, finish, host_copy, zeros
from edgewise.layout.layers import Kind, Kinds, Order
from edgewise.primitives.halving import last_not_after

#: Arcs that a thread moves of a tile.
_EACH = 8
_TILE = _EACH * THREADS


class Moving(NamedTuple):
    """What the kernel that moves rows takes.

    Attributes:
        offsets, targets, weights: the rows, in the order of vertices.
        vertices, place: the order.
        moved, to, moved_weights: the rows, in the order of layers, of places; `moved` is given.
        n, m: vertices and arcs.
    """

    offsets: Offsets
    targets: Uint32s
    weights: Weights
    vertices: Int32s
    place: Int32s
    moved: Offsets
    to: Uint32s
    moved_weights: Weights
    n: int
    m: int


class Counting(NamedTuple):
    """What the kernel that counts arcs takes.

    Attributes:
        offsets, targets: the rows, in the order of layers, of places.
        begins: the first place of each layer, that of what no root reaches, and n.
        counts: zeros, one for each kind.
        repeated: zeros; 1 for places to which an arc of their own layer leads.
        num_layers, reached, m: layers, the places in them, the arcs of these.
    """

    offsets: Offsets
    targets: Uint32s
    begins: Int64s
    counts: AtomicInt64s
    repeated: Uint8s
    num_layers: int
    reached: int
    m: int


@inlined
def _rows_of_tile(first: Any, last: Any, offsets: Any, n: Any, bounds: Any) -> Any:
    """The rows of the first arc of a tile and of its last one. All threads of the block call it."""
    if block_thread() == 0:
        bounds[0] = last_not_after(offsets, first, np.int64(0), n)
    if block_thread() == THREADS - 1:
        bounds[1] = last_not_after(offsets, last, np.int64(0), n)
    block_barrier()
    low, high = bounds[0], bounds[1] + 1
    block_barrier()
    return low, high


def make_move(weighted: bool) -> Any:
    """The kernel that moves rows, with weights or without."""

    def move_kernel(it):
        bounds = cuda.shared.array(2, INT64)
        for tile in range(block_index(), (it.m + _TILE - 1) // _TILE, num_blocks()):
            first, end = tile * _TILE, min((tile + 1) * _TILE, it.m)
            low, high = _rows_of_tile(first, end - 1, it.moved, it.n, bounds)
            for arc in range(first + block_thread(), end, THREADS):
                row = last_not_after(it.moved, arc, low, high)
                k = np.int64(it.offsets[it.vertices[row]]) + arc - np.int64(it.moved[row])
                it.to[arc] = it.place[it.targets[k]]
                if weighted:
                    it.moved_weights[arc] = it.weights[k]

    return move_kernel


def count_kernel(it):
    """Count arcs by their kind, and mark repeated vertices."""
    bounds = cuda.shared.array(2, INT64)
    ahead, same, back = np.int64(0), np.int64(0), np.int64(0)
    for tile in range(block_index(), (it.m + _TILE - 1) // _TILE, num_blocks()):
        first, end = tile * _TILE, min((tile + 1) * _TILE, it.m)
        low, high = _rows_of_tile(first, end - 1, it.offsets, it.reached, bounds)
        for arc in range(first + block_thread(), end, THREADS):
            row, target = last_not_after(it.offsets, arc, low, high), np.int64(it.targets[arc])
            layer = last_not_after(it.begins, row, np.int64(0), it.num_layers)
            if target >= it.begins[layer + 1]:  # it leads to the next layer, for these were made just now
                ahead += 1
            elif target < it.begins[layer]:
                back += 1
            else:
                same += 1
                if target != row and it.repeated[target] == 0:
                    it.repeated[target] = 1
    ahead, same, back = warp_sum(ahead), warp_sum(same), warp_sum(back)
    if lane() == 0:
        atomic_add(it.counts, Kind.AHEAD.value, ahead)
        atomic_add(it.counts, Kind.SAME.value, same)
        atomic_add(it.counts, Kind.BACK.value, back)


def move_signature(offsets: np.dtype, weight: np.dtype | None) -> tuple[Any, ...]:
    """The types of the arguments of the kernel that `make_move` makes, for these dtypes."""
    return (type_of(Moving, offset=offsets, weight=weight or np.dtype(np.int32)),)


def count_signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of `count_kernel`."""
    return (type_of(Counting, offset=offsets),)


@functools.cache
def _move_kernel(offsets: np.dtype, weight: np.dtype | None) -> Kernel:
    return fixed_kernel(make_move, move_signature(offsets, weight), weight is not None)


@functools.cache
def _count_kernel(offsets: np.dtype) -> Kernel:
    return fixed_kernel(count_kernel, count_signature(offsets))


def order_on_gpu(level: Any) -> Order:
    """`edgewise.layout.layers.order_of` on the GPU; `begins` is on the host.

    Args:
        level: as there, on the GPU.
    """
    xp, n = cupy(), len(level)
    num_layers = int(level.max()) + 1 if n else 0
    # Unsigned, -1 is the last layer.
    vertices = xp.argsort(level.view(np.uint32), kind="stable").astype(np.int32)
    place = empty(n, np.int32)
    place[vertices] = xp.arange(n, dtype=np.int32)
    found = xp.searchsorted(level.view(np.uint32)[vertices], xp.arange(num_layers + 1, dtype=np.uint32))
    return Order(vertices, place, np.append(host_copy(found), n).astype(np.int64))


def move_rows_on_gpu(order: Order, offsets: Any, targets: Any, weights: Any) -> tuple[Any, Any, Any]:
    """`edgewise.layout.layers.move_rows` on the GPU."""
    xp, n, m = cupy(), len(offsets) - 1, len(targets)
    moved = zeros(n + 1, offsets.dtype)
    xp.cumsum(xp.diff(offsets)[order.vertices], out=moved[1:])
    to = empty(m, np.int32)
    moved_weights = None if weights is None else empty(m, weights.dtype)
    if m:
        given = Moving(
            offsets=offsets,
            targets=targets,
            weights=to if weights is None else weights,
            vertices=order.vertices,
            place=order.place,
            moved=moved,
            to=to,
            moved_weights=to if weights is None else moved_weights,
            n=n,
            m=m,
        )
        dtype = None if weights is None else np.dtype(weights.dtype)
        _move_kernel(np.dtype(f"u{offsets.dtype.itemsize}"), dtype).start([given])
        finish()
    return moved, to, moved_weights


def count_kinds_on_gpu(order: Order, offsets: Any, targets: Any) -> Kinds:
    """`edgewise.layout.layers.count_kinds` for layers that were made on the GPU just now."""
    reached = int(order.begins[-2])
    m, counts = int(offsets[reached]), zeros(len(Kind), np.int64)
    repeated = zeros(len(offsets) - 1, np.uint8)
    if m:
        begins = cupy().asarray(order.begins)
        given = Counting(offsets, targets, begins, counts, repeated, order.num_layers, reached, m)
        _count_kernel(np.dtype(f"u{offsets.dtype.itemsize}")).start([given])
    return Kinds(host_copy(counts), cupy().flatnonzero(repeated).astype(np.int32), 0)
