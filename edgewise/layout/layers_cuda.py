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
    device_function,
    inlined,
    lane,
    num_blocks,
    warp_sum,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import cupy, empty, finish, host_copy, zeros
from edgewise.layout.layers import Kind, Kinds, Order
from edgewise.primitives.halving import last_not_after

#: Arcs that a thread moves of a tile, and a block.
_EACH = 8
TILE = _EACH * THREADS


class Moving(NamedTuple):
    """What the kernel that moves rows takes. Arrays that it does not use may be any of their dtype.

    Attributes:
        offsets, targets, weights: the rows, in the order of vertices.
        vertices, place: the order.
        moved, to, moved_weights: the rows, in the order of layers, of places; `moved` is given.
        begins: the first place of each layer, that of what no root reaches, and n.
        counts: zeros, one for each kind.
        repeated: zeros; 1 for places to which an arc of their own layer leads.
        num_layers, n, m: layers, vertices and arcs.
    """

    offsets: Offsets
    targets: Uint32s
    weights: Weights
    vertices: Int32s
    place: Int32s
    moved: Offsets
    to: Uint32s
    moved_weights: Weights
    begins: Int64s
    counts: AtomicInt64s
    repeated: Uint8s
    num_layers: int
    n: int
    m: int


@inlined
def range_of_tile(first: Any, last: Any, values: Any, low: Any, high: Any, bounds: Any) -> Any:
    """Between which places of ascending values two numbers lie, the last place not counted. All threads of the block
    call it."""
    if block_thread() == 0:
        bounds[0] = last_not_after(values, first, low, high)
    if block_thread() == THREADS - 1:
        bounds[1] = last_not_after(values, last, low, high)
    block_barrier()
    begin, end = bounds[0], bounds[1] + 1
    block_barrier()
    return begin, end


@device_function
def _kind_of(row: Any, target: Any, layer: Any, it: Any) -> Any:
    """Whether an arc out of a layer leads ahead, to the same layer, or back, as three numbers; layers were made just
    now, so that none leads beyond the next one."""
    if layer == it.num_layers:  # no root reaches it
        return np.int64(0), np.int64(0), np.int64(0)
    if target >= it.begins[layer + 1]:
        return np.int64(1), np.int64(0), np.int64(0)
    if target < it.begins[layer]:
        return np.int64(0), np.int64(0), np.int64(1)
    if target != row and it.repeated[target] == 0:
        it.repeated[target] = 1
    return np.int64(0), np.int64(1), np.int64(0)


def make_move(weighted: bool, counts: bool) -> Any:
    """The kernel that moves rows, with weights or without. It may count arcs by their kind, and mark repeated
    vertices."""

    def move_kernel(it):
        bounds = cuda.shared.array(2, INT64)
        ahead, same, back = np.int64(0), np.int64(0), np.int64(0)
        for tile in range(block_index(), (it.m + TILE - 1) // TILE, num_blocks()):
            first, end = tile * TILE, min((tile + 1) * TILE, it.m)
            low, high = range_of_tile(first, end - 1, it.moved, np.int64(0), it.n, bounds)
            if counts:
                layers = np.int64(0), it.num_layers + 1
                low_layer, high_layer = range_of_tile(low, high - 1, it.begins, layers[0], layers[1], bounds)
            for arc in range(first + block_thread(), end, THREADS):
                row = last_not_after(it.moved, arc, low, high)
                k = np.int64(it.offsets[it.vertices[row]]) + arc - np.int64(it.moved[row])
                target = it.place[it.targets[k]]
                it.to[arc] = target
                if weighted:
                    it.moved_weights[arc] = it.weights[k]
                if counts:
                    layer = last_not_after(it.begins, row, low_layer, high_layer)
                    kind = _kind_of(row, np.int64(target), layer, it)
                    ahead, same, back = ahead + kind[0], same + kind[1], back + kind[2]
        if counts:
            ahead, same, back = warp_sum(ahead), warp_sum(same), warp_sum(back)
            if lane() == 0:
                atomic_add(it.counts, Kind.AHEAD.value, ahead)
                atomic_add(it.counts, Kind.SAME.value, same)
                atomic_add(it.counts, Kind.BACK.value, back)

    return move_kernel


def move_signature(offsets: np.dtype, weight: np.dtype | None) -> tuple[Any, ...]:
    """The types of the arguments of the kernel that `make_move` makes, for these dtypes."""
    return (type_of(Moving, offset=offsets, weight=weight or np.dtype(np.int32)),)


@functools.cache
def _move_kernel(offsets: np.dtype, weight: np.dtype | None, counts: bool) -> Kernel:
    return fixed_kernel(make_move, move_signature(offsets, weight), weight is not None, counts)


def order_on_gpu(level: Any) -> Order:
    """`edgewise.layout.layers.order_of` on the GPU; `begins` is on the host.

    Args:
        level: as there, on the GPU.
    """
    xp, n = cupy(), len(level)
    num_layers = int(level.max()) + 1 if n else 0
    # Unsigned, -1 is the last layer. Short keys have fewer digits to sort by.
    key = level.astype(np.min_scalar_type(num_layers))
    vertices = xp.argsort(key, kind="stable").astype(np.int32)
    place = empty(n, np.int32)
    place[vertices] = xp.arange(n, dtype=np.int32)
    found = xp.searchsorted(key[vertices], xp.arange(num_layers + 1).astype(key.dtype))
    return Order(vertices, place, np.append(host_copy(found), n).astype(np.int64))


def move_rows_on_gpu(order: Order, offsets: Any, targets: Any, weights: Any) -> tuple[Any, Any, Any]:
    """`edgewise.layout.layers.move_rows` on the GPU."""
    rows = _moved(order, offsets, targets, weights, None)
    finish()
    return rows


def rows_and_kinds_on_gpu(
    order: Order, offsets: Any, targets: Any, weights: Any
) -> tuple[tuple[Any, Any, Any], Kinds]:
    """`edgewise.layout.layers.move_rows` and `count_kinds` on the GPU, for layers that were made just now."""
    found = zeros(len(Kind), np.int64), zeros(len(offsets) - 1, np.uint8)
    rows = _moved(order, offsets, targets, weights, found)
    return rows, Kinds(host_copy(found[0]), cupy().flatnonzero(found[1]).astype(np.int32), 0)


def _moved(order: Order, offsets: Any, targets: Any, weights: Any, found: Any) -> tuple[Any, Any, Any]:
    """The moved rows. `found`: where arcs are counted and repeated vertices marked, or None."""
    xp, n, m = cupy(), len(offsets) - 1, len(targets)
    moved = zeros(n + 1, offsets.dtype)
    xp.cumsum(xp.diff(offsets)[order.vertices], out=moved[1:])
    to = empty(m, np.int32)
    moved_weights = None if weights is None else empty(m, weights.dtype)
    if m:
        counts, repeated = found or (zeros(1, np.int64), zeros(1, np.uint8))
        given = Moving(
            offsets=offsets,
            targets=targets,
            weights=to if weights is None else weights,
            vertices=order.vertices,
            place=order.place,
            moved=moved,
            to=to,
            moved_weights=to if weights is None else moved_weights,
            begins=xp.asarray(order.begins),
            counts=counts,
            repeated=repeated,
            num_layers=order.num_layers,
            n=n,
            m=m,
        )
        dtype = None if weights is None else np.dtype(weights.dtype)
        _move_kernel(np.dtype(f"u{offsets.dtype.itemsize}"), dtype, found is not None).start([given])
    return moved, to, moved_weights
