"""The arrays that runs of a program on the CPU work in."""

from typing import Any

import numpy as np

from edgewise.engine.cpu.arguments import Buffer, NearFar, Work
from edgewise.engine.cpu.best_first_lists import RING, SAMPLE, WORDS
from edgewise.engine.cpu.shared import SEGMENT
from edgewise.engine.cpu.table import rows_of
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.message_buffer import slot_dtypes
from edgewise.kernels.words import CPU_LINE


class Workspace:
    """The arrays that a run works in, kept between runs.

    Attributes:
        work: the arrays.
        num_threads: how many threads they suffice for.
        base: the stamp of superstep 0 of the next run.
        table: their part of the table.
    """

    def __init__(self, work: Work | NearFar, num_threads: int) -> None:
        self.work, self.num_threads, self.base = work, num_threads, 0
        self.table = rows_of(work)

    def active(self, superstep: int) -> int:
        """How many vertices have been active in this superstep of the present run or later; for a `Work`."""
        assert isinstance(self.work, Work)
        return int(np.count_nonzero(self.work.active >= self.base + superstep))


def make_work(num_vertices: int, identity: Any, message: np.dtype, num_threads: int, buffer: Any) -> Work:
    """The arrays of supersteps. `buffer` is a `Buffer`, or an empty tuple."""
    room = _room(num_vertices, num_threads)
    return Work(
        messages=np.full(0 if buffer else num_vertices, identity, message),
        received=np.zeros(num_vertices, np.uint32),
        active=np.zeros(num_vertices, np.uint32),
        frontier=np.empty(room, np.uint32),
        other_frontier=np.empty(room, np.uint32),
        touched=np.empty(room, np.uint32),
        cursors=np.zeros(CPU_LINE * num_threads, np.int64),
        buffer=buffer,
    )


def make_near_far(num_vertices: int, message: np.dtype, num_threads: int) -> NearFar:
    """The arrays of an asynchronous program, which a run fills."""
    room = _room(num_vertices, num_threads)
    return NearFar(
        messages=np.empty(num_vertices, message),
        places=np.empty(num_vertices, np.uint32),
        near=np.empty(room, np.uint32),
        other_near=np.empty(room, np.uint32),
        far=np.empty(room, np.uint32),
        other_far=np.empty(room, np.uint32),
        cursors=np.zeros(WORDS * num_threads, np.int64),
        thresholds=np.empty(SAMPLE + 2, message),
        rings=np.empty(num_threads * RING, np.uint32),
    )


def make_buffer(num_arcs: int, identity: Any, message: np.dtype, slot_of: np.ndarray, kept: bool) -> Buffer:
    """A message buffer without messages; `kept` says whether messages are kept instead of combined."""
    slots = tuple(np.full(num_arcs, identity, dtype) for dtype in slot_dtypes(message))
    return Buffer(slot_of, np.zeros(num_arcs if kept else 0, np.uint8), slots)


def workspace_bytes(
    binding: Binding, message: np.dtype, num_threads: int, buffered: bool, best_first: bool
) -> int:
    """The memory that a workspace takes."""
    n, m, spec = binding.graph.num_vertices, binding.graph.num_arcs, binding.spec
    of_vertices = n * (5 * 4 + message.itemsize * (not buffered))
    of_arcs = m * (message.itemsize + spec.keeps_messages) * buffered
    return of_vertices + of_arcs + 4 * num_threads * (8 * SEGMENT + RING * best_first)


def _room(num_vertices: int, num_threads: int) -> int:
    """The length of a list. A vertex is in a list once. Each thread leaves the rest of a segment unused, and does so
    twice in a far list that is sifted and then added to."""
    return num_vertices + 2 * num_threads * SEGMENT
