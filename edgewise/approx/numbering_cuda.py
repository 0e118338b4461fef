"""Vertices numbered in turns on a GPU: see `edgewise.approx.numbering`.

Roots. A vertex is a root if none that comes before it reaches it. So each vertex takes over the first place of all that
lead to it, again and again; roots are those that keep their own. Vertices whose place has changed go on.

Levels. Whoever numbers a vertex does so in the turn that its place in his row tells. So of all numbers that a turn and
a place make, a vertex takes the least, which an atomic operation keeps; a level is sorted by these numbers.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.approx.numbering import Numbering
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import (
    AtomicInt32s,
    AtomicInt64s,
    Int32s,
    Offsets,
    Uint8s,
    Uint32s,
    type_of,
)
from edgewise.kernels.cuda.device import UINT32, atomic_min, cuda, device_function
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import cupy, empty, full, zeros
from edgewise.primitives.by_degree import SCRATCH, make_binned

#: The most rounds of either part: graphs with more levels are numbered on the host, where a level costs nothing.
MOST_ROUNDS = 300
#: More than any number of a turn and a place.
_NO_NUMBER = 2**63 - 1


class Spreading(NamedTuple):
    """What the kernel that finds roots takes.

    Attributes:
        offsets, targets: the graph's rows.
        active: the vertices that go on.
        place: the first place of what leads to each vertex.
        changed: zeros; 1 for vertices whose place has changed.
        num_active: how many go on.
    """

    offsets: Offsets
    targets: Uint32s
    active: Int32s
    place: AtomicInt32s
    changed: Uint8s
    num_active: int


class Levels(NamedTuple):
    """What the kernel that numbers a level takes.

    Attributes:
        offsets, targets: the graph's rows.
        level: the vertices of the level before.
        place: of each of them in the new order.
        numbers: the least turn and place of each vertex, the turn in the upper half; -1 if it is in a level already.
        changed: zeros; 1 for vertices of the next level.
        num_vertices: how many are in the level before.
    """

    offsets: Offsets
    targets: Uint32s
    level: Int32s
    place: Int32s
    numbers: AtomicInt64s
    changed: Uint8s
    num_vertices: int


@device_function
def _spread(v: Any, first: Any, end: Any, step: Any, lanes: Any, it: Any) -> None:
    """Hand the place of a vertex on along this lane's arcs."""
    for k in range(first, end, step):
        t, place = np.int64(it.targets[k]), it.place[v]
        if place < it.place[t] and atomic_min(it.place, t, place) > place:
            it.changed[t] = 1


@device_function
def _number(v: Any, first: Any, end: Any, step: Any, lanes: Any, it: Any) -> None:
    """Offer numbers to the targets of this lane's arcs."""
    for k in range(first, end, step):
        t = np.int64(it.targets[k])
        number = (k - np.int64(it.offsets[v])) << 32 | np.int64(it.place[v])
        if number < it.numbers[t]:
            atomic_min(it.numbers, t, number)
            it.changed[t] = 1


_spread_all, _number_all = make_binned(_spread, True), make_binned(_number, True)


def spread_kernel(it):
    """A round of finding roots; see `Spreading`."""
    scratch = cuda.shared.array(SCRATCH, UINT32)
    _spread_all(it.active, np.int64(0), it.num_active, it.offsets, scratch, it)


def number_kernel(it):
    """The numbers of a level; see `Levels`."""
    scratch = cuda.shared.array(SCRATCH, UINT32)
    _number_all(it.level, np.int64(0), it.num_vertices, it.offsets, scratch, it)


def signature(kind: type, offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of a kernel that takes a `Spreading` or `Levels`, for offsets of this dtype."""
    return (type_of(kind, offset=offsets),)


@functools.cache
def _kernel(kind: type, offsets: np.dtype) -> Kernel:
    kernel = spread_kernel if kind is Spreading else number_kernel
    return fixed_kernel(kernel, signature(kind, offsets))


def number_on_gpu(graph: Graph) -> Numbering | None:
    """`edgewise.approx.numbering.number_in_turns` on the GPU; `begins` is on the host.

    Args:
        graph: the graph.

    Returns:
        The vertices in their new order, or None for a graph of many levels.
    """
    xp, n = cupy(), graph.num_vertices
    offsets, targets = graph.gpu.offsets, graph.gpu.targets
    kind, changed = np.dtype(f"u{offsets.dtype.itemsize}"), zeros(n, np.uint8)
    roots = _roots(offsets, targets, changed, kind)
    if roots is None:
        return None
    order, parent, place = empty(n, np.int32), full(n, -1, np.int32), empty(n, np.int32)
    numbers = full(n, _NO_NUMBER, np.int64)
    level, begins, made = roots, [0], 0
    while len(level):
        if len(begins) > MOST_ROUNDS:
            return None
        begin, made = made, made + len(level)
        order[begin:made] = level
        place[level] = xp.arange(begin, made, dtype=np.int32)
        numbers[level] = -1
        begins.append(made)
        given = Levels(offsets, targets, level, place, numbers, changed, len(level))
        _kernel(Levels, kind).start([given])
        found = xp.flatnonzero(changed)
        changed[found] = 0
        sought = numbers[found]
        by_number = xp.argsort(sought, kind="stable")
        level = found[by_number].astype(np.int32)
        parent[made : made + len(level)] = sought[by_number] & 0xFFFFFFFF
    return Numbering(order, parent, np.array(begins, np.int64))


def _roots(offsets: Any, targets: Any, changed: Any, kind: np.dtype) -> Any:
    """Vertices that none before them reaches, those of the largest out-degree first; None after too many rounds."""
    xp, n = cupy(), len(offsets) - 1
    by_degree = xp.argsort(-xp.diff(offsets), kind="stable").astype(np.int32)
    every = xp.arange(n, dtype=np.int32)
    place = empty(n, np.int32)
    place[by_degree] = every
    active, rounds = every, 0
    while len(active):
        if rounds == MOST_ROUNDS:
            return None
        rounds += 1
        given = Spreading(offsets, targets, active, place, changed, len(active))
        _kernel(Spreading, kind).start([given])
        active = xp.flatnonzero(changed).astype(np.int32)
        changed[active] = 0
    return by_degree[place[by_degree] == every]
