"""Other systems' ways to run over a graph whose arcs lie in the host's memory, built from edgewise's parts.

A superstep lists the active vertices that have arcs, then lets them push along these, or, for PageRank, gathers along
all in-edges. Offsets and what belongs to vertices lie on the GPU. The ways differ in how arcs come there:

`InPlace`
    Kernels read rows in the host's memory, each from a multiple of 128 bytes on. Min et al., "EMOGI", PVLDB 14 (2020).
`Copied`
    Rows are cut into parts that are copied as a whole, while a kernel reads the part before, if they have an active
    vertex. Sengupta et al., "GraphReduce", SC 2015; Zhu et al., "WolfPath", IJPP 2019, copies all of them.
`Compacted`
    The CPU brings the rows of active vertices together, and only these are copied. Sabet, Zhao and Gupta, "Subway",
    EuroSys 2020.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, final

import numpy as np

from benchmarks import beyond_kernels
from benchmarks.beyond_kernels import LINE, Gathering, Listing, Piece, Pushing
from edgewise.graph import csr
from edgewise.kernels.cpu.launch import launch
from edgewise.kernels.cpu.team import claim, team_kernel
from edgewise.kernels.cuda.launch import Kernel
from edgewise.kernels.cuda.memory import (
    copy_of,
    cupy,
    empty,
    finish,
    host_copy,
    pinned,
    receive,
    send,
    zeros,
)
from edgewise.kernels.cuda.placed import place

#: Rows that a thread of the CPU compacts at a time, and about the nanoseconds that a row and an arc take.
_STEP, _ROW_NS, _ARC_NS = 64, 50, 2


@team_kernel(key=None)
def _compact(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    values: Any,
    vertices: Any,
    begin: Any,
    first: Any,
    last: Any,
    compacted: Any,
) -> None:
    """Bring the rows of the vertices from `first` to `last` of a list together."""
    while True:
        start = claim(control, 0, _STEP, last - first)
        if start >= last - first:
            break
        for i in range(first + start, min(first + start + _STEP, last)):
            v, to = np.int64(vertices[i]), np.uint64(begin[i] - begin[first])
            row = np.uint64(offsets[v])
            for k in range(np.uint64(offsets[v + 1]) - row):
                compacted[to + k] = values[row + k]


def cut(offsets: np.ndarray, most: int) -> np.ndarray:
    """Bounds that cut rows into parts of at most this many arcs, or of one row."""
    bounds, rows = [0], len(offsets) - 1
    while bounds[-1] < rows:
        end = min(int(offsets[bounds[-1]]) + most, int(offsets[-1]))
        fits = int(np.searchsorted(offsets, offsets.dtype.type(end), side="right")) - 1
        bounds.append(max(fits, bounds[-1] + 1))
    return np.array(bounds)


@final
class Link:
    """Copies to two slots in turn, in a stream of their own: while one is filled, kernels read the other."""

    def __init__(self) -> None:
        make = cupy().cuda
        self._stream = make.Stream(non_blocking=True)
        self._filled = [make.Event(disable_timing=True) for _ in range(2)]
        self._read = [make.Event(disable_timing=True) for _ in range(2)]

    @contextmanager
    def filling(self, slot: int) -> Iterator[None]:
        """What is sent under it waits for what read the slot, and kernels that are started later wait for it."""
        self._stream.wait_event(self._read[slot])
        with self._stream:
            yield
        self._filled[slot].record(self._stream)
        cupy().cuda.get_current_stream().wait_event(self._filled[slot])

    def was_read(self, slot: int) -> None:
        """The kernels that were started so far are those that read the slot."""
        self._read[slot].record(cupy().cuda.get_current_stream())

    def wait(self, slot: int) -> None:
        """Wait until the slot is filled."""
        self._filled[slot].synchronize()


@final
class Slots:
    """Two buffers on the GPU for as many arcs each, with weights or without."""

    def __init__(self, arcs: int, weighted: bool) -> None:
        self.arcs, self.weighted, self.link = arcs, weighted, Link()
        self.buffers = [[empty(arcs, np.int32) for _ in range(1 + weighted)] for _ in range(2)]
        finish()  # what used this memory before did so in another stream than copies will

    def fill(self, slot: int, columns: list[np.ndarray]) -> int:
        """Start to copy arcs, in columns of locked memory; the bytes."""
        with self.link.filling(slot):
            for buffer, column in zip(self.buffers[slot], columns, strict=True):
                send(buffer[: len(column)], column)
        return sum(column.nbytes for column in columns)


class Way(ABC):
    """How kernels come to the arcs of active vertices.

    Args:
        rows: in the host's memory; weights of int32, or None.
        bounds: where parts of the vertices begin that are listed apart.

    Attributes:
        moved: bytes that came over the link so far.
    """

    def __init__(self, rows: csr.Rows, bounds: np.ndarray) -> None:
        self.rows, self.bounds, self.offsets = rows, bounds, copy_of(rows.offsets)
        self.columns = [rows.targets] if rows.weights is None else [rows.targets, rows.weights]
        heavy = np.flatnonzero(np.diff(rows.offsets) > beyond_kernels.HEAVY)
        self._heavy_bounds = np.searchsorted(heavy, bounds)
        begin = np.zeros((len(bounds) - 1, 3), np.int64)
        begin[:, 0], begin[:, 1] = bounds[:-1], self._heavy_bounds[:-1]
        self._begin = copy_of(begin.ravel())
        self.light, self.heavy = empty(len(rows.offsets), np.uint32), empty(len(heavy) + 1, np.uint32)
        self.moved = 0

    def kernel(self, takes: type) -> Kernel:
        """The kernel that takes this."""
        return beyond_kernels.kernel(takes, np.dtype(f"u{self.rows.offsets.itemsize}"))

    def list_active(self, flags: Any) -> np.ndarray:
        """List the active vertices of all parts: where the two lists end, and the arcs; shape (parts, 3)."""
        counts, kernel = self._begin.copy(), self.kernel(Listing)
        for part, (first, last) in enumerate(pairwise(self.bounds.tolist())):
            given = Listing(self.offsets, flags, self.light, self.heavy, counts, first, last, 3 * part)
            kernel.start([given])
        return host_copy(counts).reshape(-1, 3)

    def piece(self, part: int, counts: np.ndarray, columns: list[Any], base: int, shift: int) -> Piece:
        """The active rows of a part, whose arcs lie in columns."""
        light, heavy, _ = counts[part].tolist()
        first, heavy_first = int(self.bounds[part]), int(self._heavy_bounds[part])
        lists = self.light, self.heavy, self.offsets
        return Piece(
            *lists, columns[0], columns[-1], first, light, heavy_first, heavy, base, shift, compacted=False
        )

    @abstractmethod
    def pieces(self, counts: np.ndarray) -> Iterator[Piece]:
        """The rows of active vertices. A kernel that reads a piece is started before the next one is asked for."""


@final
class InPlace(Way):
    """Kernels read rows where they lie, in the host's memory."""

    def __init__(self, rows: csr.Rows) -> None:
        super().__init__(rows, np.array([0, len(rows.offsets) - 1]))
        self._seen = [place(column, 0) for column in self.columns]

    def pieces(self, counts: np.ndarray) -> Iterator[Piece]:
        self.moved += int(counts[0, 2]) * sum(column.itemsize for column in self.columns)
        shift = self.rows.targets.ctypes.data // self.rows.targets.itemsize % LINE
        yield self.piece(0, counts, self._seen, 0, shift)


@final
class Copied(Way):
    """Parts with active vertices are copied as a whole; all of them where all vertices are active."""

    def __init__(self, rows: csr.Rows, slots: Slots) -> None:
        super().__init__(rows, cut(rows.offsets, slots.arcs))
        self._slots, self._locked = slots, [place(column, 0) for column in self.columns]

    def pieces(self, counts: np.ndarray) -> Iterator[Piece]:
        slots = self._slots
        for turn, part in enumerate(np.flatnonzero(counts[:, 2]).tolist()):
            first, last = (int(self.rows.offsets[bound]) for bound in self.bounds[part : part + 2])
            self.moved += slots.fill(turn % 2, [column[first:last] for column in self.columns])
            yield self.piece(part, counts, slots.buffers[turn % 2], first, 0)
            slots.link.was_read(turn % 2)


@final
class Compacted(Way):
    """The CPU brings the rows of active vertices together in locked memory, and these are copied."""

    def __init__(self, rows: csr.Rows, slots: Slots) -> None:
        super().__init__(rows, np.array([0, len(rows.offsets) - 1]))
        self._slots = slots
        self._vertices = pinned(len(rows.offsets), np.uint32)
        self._starts = pinned(len(rows.offsets), rows.offsets.dtype)
        self._sent = [[pinned(slots.arcs, np.int32) for _ in self.columns] for _ in range(2)]

    def pieces(self, counts: np.ndarray) -> Iterator[Piece]:
        light, heavy, found = counts[0].tolist()
        if found == 0:
            return
        count, slots, vertices, starts = light + heavy, self._slots, self._vertices, self._starts
        listed = cupy().concatenate([self.light[:light], self.heavy[:heavy]])
        begin, vertex = zeros(count + 1, starts.dtype), listed.view(np.int32)
        begin[1:] = cupy().cumsum(self.offsets[vertex + 1] - self.offsets[vertex], dtype=starts.dtype)
        receive(vertices[:count], listed)
        receive(starts[: count + 1], begin)
        finish()
        self.moved += listed.nbytes + begin.nbytes
        for turn, (first, last) in enumerate(pairwise(cut(starts[: count + 1], slots.arcs).tolist())):
            slot, base = turn % 2, int(starts[first])
            arcs = int(starts[last]) - base
            slots.link.wait(slot)
            for column, compacted in zip(self.columns, self._sent[slot], strict=True):
                given = (self.rows.offsets, column, vertices, starts, first, last, compacted)
                launch(_compact, *given, work=_ROW_NS * (last - first) + _ARC_NS * arcs)
            self.moved += slots.fill(slot, [compacted[:arcs] for compacted in self._sent[slot]])
            columns, between = slots.buffers[slot], min(max(light, first), last)
            bounds = first, between, between, last
            yield Piece(listed, listed, begin, columns[0], columns[-1], *bounds, base, 0, compacted=True)
            slots.link.was_read(slot)


def relax(ways: list[Way], value: Any, flags: Any, length: int) -> int:
    """Push values in supersteps until no value is lowered any more.

    Args:
        ways: to the rows along which vertices push.
        value: of vertices, int32 on the GPU; lowered to the least that reaches them.
        flags: of the vertices that are active at first, uint8 on the GPU.
        length: what an arc adds, or `WEIGHTED`.

    Returns:
        The supersteps in which a vertex pushed.
    """
    supersteps, following = 0, zeros(len(flags), np.uint8)
    while True:
        arcs = 0
        for way in ways:
            counts = way.list_active(flags)
            arcs += int(counts[:, 2].sum())
            for piece in way.pieces(counts):
                way.kernel(Pushing).start([Pushing(piece, value, following, length)])
        if arcs == 0:
            return supersteps
        supersteps += 1
        flags, following = following, flags
        following.fill(0)


def rank(way: Way, out_degree: Any, iterations: int, damping: float) -> Any:
    """PageRank over a way to the in-edges: ranks, float32 on the GPU."""
    n, xp = len(out_degree), cupy()
    dangles = out_degree == 0
    scale = xp.where(dangles, 0, xp.divide(1, xp.where(dangles, 1, out_degree))).astype(np.float32)
    ranks, counts = xp.full(n, 1 / n, np.float32), way.list_active(xp.ones(n, np.uint8))
    for _ in range(iterations):
        dangling = float((ranks * dangles).sum(dtype=np.float64))
        share = ranks * scale
        ranks.fill(0)
        for piece in way.pieces(counts):
            way.kernel(Gathering).start([Gathering(piece, share, ranks)])
        ranks *= np.float32(damping)
        ranks += np.float32((1 - damping + damping * dangling) / n)
    return ranks
