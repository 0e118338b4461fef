"""Slots of threads: a vertex has one of its own, and a replica of it one more, with those arcs that lead to one chunk.

Vertices stay as they are, and have one state. Slots say only which thread sends along which arcs; so where all slots
send into the messages of their targets, what vertices compute is exact, whatever is replicated.

Reference. Singh and Nasre (2020), section 2, where replicas are vertices.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.graph.csr import Rows, offset_dtype
from edgewise.kernels.costs import best_threads
from edgewise.kernels.cpu.launch import INTERRUPTIBLE, launch_on, sealed
from edgewise.kernels.cpu.team import available_threads, claim, team_kernel

#: Vertices that a thread takes at a time, and about the nanoseconds that an arc takes.
_STEP, _ARC_NS = 16, 8


class Copies(NamedTuple):
    """Slots, in chunks of one size; a chunk has vertices, replicas of others, and slots that are not used.

    Attributes:
        chunk: how many slots a chunk has.
        vertex: int32, shape (s,): the vertex of each slot, -1 for none. The vertices' own slots come in their order.
        to: int32, shape (s,): of a replica, the chunk to whose vertices its arcs lead; -1 for other slots. A vertex has
            at most one replica for a chunk, and its own slot has the arcs that its replicas do not have.
    """

    chunk: int
    vertex: np.ndarray
    to: np.ndarray

    @property
    def num_replicas(self) -> int:
        """How many replicas there are."""
        return int(np.count_nonzero(self.to >= 0))


class Slots(NamedTuple):
    """Rows in the order of slots: the arcs of a vertex's own slot, then those of its replicas by their slots.

    Attributes:
        rows: the rows.
        first, end: of the dtype of offsets, shape (s,): the arcs of each slot; 0 and 0 for one that is not used.
    """

    rows: Rows
    first: np.ndarray
    end: np.ndarray


def in_slots(rows: Rows, copies: Copies) -> Slots:
    """Put the arcs of each slot side by side; they stay in their order. O(n + m).

    Args:
        rows: of a graph.
        copies: its slots.
    """
    offsets, targets, weights = rows.offsets, rows.targets, rows.weights
    n, own = len(offsets) - 1, np.flatnonzero((copies.vertex >= 0) & (copies.to < 0))
    first, end = np.zeros((2, len(copies.vertex)), offset_dtype(len(targets)))
    first[own], end[own] = offsets[:-1], offsets[1:]
    replicas = np.flatnonzero(copies.to >= 0)
    if len(replicas) == 0:
        return Slots(rows, first, end)
    replicas = replicas[np.argsort(copies.vertex[replicas], kind="stable")]
    upto = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(copies.vertex[replicas], minlength=n), out=upto[1:])
    split = np.flatnonzero(np.diff(upto)).astype(np.int32)
    bits = None if weights is None else weights.view(f"i{weights.itemsize}")
    moved, moved_bits = targets.copy(), None if bits is None else bits.copy()
    work = _ARC_NS * int(np.diff(offsets)[split].sum(dtype=np.int64))
    threads = best_threads(work, available_threads())
    it = Arranging(
        sealed(offsets),
        sealed((own // copies.chunk).astype(np.int32)),
        sealed(upto),
        sealed(replicas),
        sealed(copies.to),
        sealed(own),
        parts=np.full((threads, len(copies.to) // copies.chunk), -1, np.int32),
        places=np.empty((threads, int(np.diff(upto).max()) + 2), np.int64),
        first=first,
        end=end,
    )
    read = sealed(split), sealed(targets), None if bits is None else sealed(bits)
    launch_on(threads, _arrange, it, *read, moved, moved_bits, long=work > INTERRUPTIBLE)
    moved_weights = None if moved_bits is None or weights is None else moved_bits.view(weights.dtype)
    return Slots(Rows(offsets, moved, moved_weights), first, end)


class Arranging(NamedTuple):
    """What rows are arranged by.

    Attributes:
        offsets: of the rows.
        chunks: the chunk of each vertex, int32.
        upto: int64, shape (n + 1,): the replicas of vertex v are ``replicas[upto[v]:upto[v + 1]]``.
        replicas, own: the slots of replicas, by their vertices, and of the vertices.
        to: see `Copies`.
        parts: of each thread: for each chunk, which replica of a vertex leads there, or -1; -1 between two vertices.
        places: of each thread: where the parts of a row are, that of the own slot first.
        first, end: see `Slots`.
    """

    offsets: np.ndarray
    chunks: np.ndarray
    upto: np.ndarray
    replicas: np.ndarray
    to: np.ndarray
    own: np.ndarray
    parts: np.ndarray
    places: np.ndarray
    first: np.ndarray
    end: np.ndarray


@team_kernel
def _arrange(
    thread: Any,
    size: Any,
    control: Any,
    it: Any,
    split: Any,
    targets: Any,
    weights: Any,
    moved: Any,
    moved_weights: Any,
) -> None:
    """Arrange the rows of vertices that have replicas."""
    parts, place = it.parts[thread], it.places[thread]
    while True:
        at = claim(control, 0, _STEP, len(split))
        if at >= len(split):
            return
        for i in range(at, min(at + _STEP, len(split))):
            v = np.int64(split[i])
            begin, stop = np.int64(it.offsets[v]), np.int64(it.offsets[v + 1])
            replicas = it.replicas[it.upto[v] : it.upto[v + 1]]
            count = len(replicas)
            for r in range(count):
                parts[it.to[replicas[r]]] = r
            # Counts of parts lie one place behind, so that their sums are where parts begin.
            place[: count + 2] = 0
            for k in range(begin, stop):
                place[parts[it.chunks[targets[k]]] + 2] += 1
            place[0] = begin
            for p in range(1, count + 2):
                place[p] += place[p - 1]
            it.first[it.own[v]], it.end[it.own[v]] = place[0], place[1]
            for r in range(count):
                it.first[replicas[r]], it.end[replicas[r]] = place[r + 1], place[r + 2]
            for k in range(begin, stop):
                p = parts[it.chunks[targets[k]]] + 1
                moved[place[p]] = targets[k]
                if weights is not None:
                    moved_weights[place[p]] = weights[k]
                place[p] += 1
            for r in range(count):
                parts[it.to[replicas[r]]] = -1
