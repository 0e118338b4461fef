"""Rows in the order of breadth-first layers: the layered edge list, as compressed rows.

A layer is the vertices at one distance from the roots. The vertices of the first layer come first, then those of the
next, each layer's in the order of their indices, and last those that no root reaches. From here on a vertex is its
place in that order. So the rows of a layer, and those of the next one, lie side by side, and the places of both ends of
an arc tell its kind: it goes ahead to the next layer, stays in its layer, or goes back to a layer before. No arc is
left out. (The paper's algorithm drops arcs back, and those of a second parent.) The order of arcs in a row stays, too.

A vertex to which an arc of its own layer leads is marked as repeated. The paper has it once more in the next layer, for
its value may have changed since; here sweeps walk its row again whenever it has.

Memory. The paper keeps source and target of each arc, 2 m words. Here sources are compressed: places of a layer are
consecutive, and one offset says where a row begins. With the vertex at each place, that makes m + 2 n words, beside
m + n of the rows themselves, and one for each repeated vertex; and the place of each vertex is kept beside them.

Reference. Zhu et al., "WolfPath: Accelerating Iterative Traversing-Based Graph Processing on GPU", International
Journal of Parallel Programming 47 (2019), sections 3.1 and 3.2.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cpu.atomics import atomic_add
from edgewise.kernels.cpu.launch import launch, sealed
from edgewise.kernels.cpu.team import claim, run_alone, team_kernel

#: Of rows that lie in the host's memory, the most arcs of the last lists that a run on a GPU keeps there, and of those
#: to come, which arrive in pieces.
RING_ARCS, STAGE_ARCS, STAGE_PIECES = 2**20, 2**19, 4
#: Places whose rows a thread moves at a time, and about the nanoseconds that an arc takes.
_STEP, _ARC_NS = 2**10, 4


class Kind(IntEnum):
    """Where an arc of a vertex that the roots reach leads: to the next layer, into its own, to one before; beyond the
    next one, where there are none."""

    AHEAD = 0
    SAME = 1
    BACK = 2
    BEYOND = 3


class Order(NamedTuple):
    """Vertices in the order of layers.

    Attributes:
        vertices: int32, shape (n,): the vertex at each place.
        place: int32, shape (n,): the place of each vertex.
        begins: int64, shape (num_layers + 2,): the first place of each layer, that of what no root reaches, and n.
    """

    vertices: Any
    place: Any
    begins: np.ndarray

    @property
    def num_layers(self) -> int:
        """How many layers the roots reach, 0 if there are no roots."""
        return len(self.begins) - 2


def order_of(level: np.ndarray) -> Order:
    """Vertices in the order of layers. O(n).

    Args:
        level: int32, shape (n,): the layer of each vertex, from 0 on without gaps; -1 where no root reaches it.
    """
    n, num_layers = len(level), int(level.max(initial=-1)) + 1
    begins, vertices, place = np.zeros(num_layers + 2, np.int64), np.empty(n, np.int32), np.empty(n, np.int32)
    run_alone(_sort, sealed(level), begins, np.zeros_like(begins), vertices, place)
    return Order(sealed(vertices), sealed(place), sealed(begins))


def move_rows(
    order: Order, offsets: np.ndarray, targets: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows in the order of layers, of places: offsets, targets and weights. O(n + m).

    Args:
        order: the order.
        offsets, targets, weights: the rows in the order of vertices, see `edgewise.graph.csr.Rows`.
    """
    n = len(offsets) - 1
    moved = np.zeros(n + 1, offsets.dtype)
    np.cumsum(np.diff(offsets)[order.vertices], out=moved[1:])
    to = np.empty(len(targets), np.int32)
    bits = None if weights is None else sealed(weights.view(f"i{weights.itemsize}"))
    moved_bits = None if bits is None else np.empty_like(bits)
    rows = (sealed(offsets), sealed(targets), bits, order.vertices, order.place)
    launch(_move, *rows, moved, to, moved_bits, work=_ARC_NS * (n + len(targets)))
    moved_weights = None if weights is None or moved_bits is None else moved_bits.view(weights.dtype)
    return moved, to, moved_weights


class Kinds(NamedTuple):
    """What is known of the arcs of layers.

    Attributes:
        counts: how many arcs of each `Kind` there are, int64, shape (4,).
        repeated: int32: the places, ascending, to which an arc of their own layer leads; on the GPU if the rows are.
        lost: how many places behind the first layer have no arc from the layer before: none, if these are layers.
    """

    counts: np.ndarray
    repeated: Any
    lost: int


def count_kinds(order: Order, offsets: np.ndarray, targets: np.ndarray) -> Kinds:
    """Look at all arcs of the layers.

    Args:
        order: the order.
        offsets, targets: the moved rows.
    """
    n, counts = len(offsets) - 1, np.zeros(len(Kind), np.int64)
    repeated, reached = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    rows = sealed(offsets), sealed(targets), order.begins
    launch(_count, *rows, counts, repeated, reached, work=len(targets))
    behind = reached[order.begins[min(1, order.num_layers)] : order.begins[-2]]
    return Kinds(counts, np.flatnonzero(repeated).astype(np.int32), int(np.count_nonzero(behind == 0)))


def joined(order: Order, offsets: Any, min_arcs: int) -> np.ndarray:
    """Join consecutive layers to lists of at least so many arcs, but the last; the first place of each list, and n.

    Reference: section 4.3.

    Args:
        order: the order.
        offsets: of the moved rows, where they lie.
        min_arcs: at least 1.
    """
    begins = order.begins[order.begins < order.begins[-1]]
    arcs, ends, at = np.append(offsets[begins], offsets[-1:]).astype(np.int64), [], 0
    min_arcs = min(min_arcs, int(arcs[-1]) + 1)
    while at < len(begins):
        ends.append(at)
        at = int(np.searchsorted(arcs, arcs[at] + min_arcs))
    return np.append(begins[ends], order.begins[-1])


def ring_arcs(num_arcs: int) -> int:
    """How many arcs of the last lists a run on a GPU keeps there, a power of two."""
    return 1 << (max(1, min(num_arcs, RING_ARCS)) - 1).bit_length()


def stage_arcs(num_arcs: int) -> int:
    """How many arcs of the lists to come a run on a GPU has there, a power of two."""
    return 1 << (max(1, min(num_arcs, STAGE_ARCS)) - 1).bit_length()


@team_kernel
def _sort(
    thread: Any,
    size: Any,
    control: Any,
    level: Any,
    begins: Any,
    following: Any,
    vertices: Any,
    place: Any,
) -> None:
    """Sort vertices by layer, stable, those without one last; `begins` and `following` are zeros."""
    last = len(begins) - 2
    for v in range(len(level)):
        layer: Any = np.int64(level[v])
        if layer >= 0 and layer < last:
            begins[layer + 1] += 1
    for i in range(1, last + 1):
        begins[i] += begins[i - 1]
        following[i] = begins[i]
    begins[last + 1] = len(level)
    for v in range(len(level)):
        layer = np.int64(level[v])
        if layer < 0:
            layer = last
        at = following[layer]
        following[layer] = at + 1
        vertices[at] = v
        place[v] = at


@team_kernel
def _move(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    weights: Any,
    vertices: Any,
    place: Any,
    moved: Any,
    to: Any,
    moved_weights: Any,
) -> None:
    """Write the row of each place."""
    n = len(vertices)
    while True:
        start = claim(control, 0, _STEP, n)
        if start >= n:
            return
        for p in range(np.uint64(start), np.uint64(min(start + _STEP, n))):
            v, at = np.uint64(vertices[p]), np.uint64(moved[p])
            for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + np.uint64(1)])):
                to[at] = place[np.uint64(targets[k])]
                if weights is not None:
                    moved_weights[at] = weights[k]
                at += np.uint64(1)


@team_kernel
def _count(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    begins: Any,
    counts: Any,
    repeated: Any,
    reached: Any,
) -> None:
    """Count arcs by their kind; mark repeated places, and those reached from the layer before. Layers are claimed."""
    num_layers = len(begins) - 2
    while True:
        layer = claim(control, 0, 1, num_layers)
        if layer >= num_layers:
            return
        begin, end, next_end = begins[layer], begins[layer + 1], begins[layer + 1]
        if layer + 1 < num_layers:
            next_end = begins[layer + 2]
        ahead, same, back, beyond = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        for p in range(np.uint64(begin), np.uint64(end)):
            for k in range(np.uint64(offsets[p]), np.uint64(offsets[p + np.uint64(1)])):
                target = np.int64(targets[k])
                if target >= next_end:
                    beyond += 1
                elif target >= end:
                    ahead += 1
                    reached[target] = 1
                elif target < begin:
                    back += 1
                else:
                    same += 1
                    if target != np.int64(p):
                        repeated[target] = 1
        atomic_add(counts, 0, ahead)
        atomic_add(counts, 1, same)
        atomic_add(counts, 2, back)
        atomic_add(counts, 3, beyond)
