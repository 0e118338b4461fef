"""A rank on the CPU: phases by a team of threads, over arrays of NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgewise.engine.cpu.arguments import Buffer
from edgewise.engine.cpu.kernel_decide import LIST_ADVANTAGE
from edgewise.engine.cpu.shared import (
    COUNT,
    EDGES,
    FLIP,
    FORM,
    LISTED,
    NEXT,
    RANGE,
    SHARED,
    SIZES,
    TOUCHED,
)
from edgewise.engine.cpu.table import rows_of
from edgewise.engine.cpu.workspace import make_work
from edgewise.engine.distributed.exchange import (
    Shared,
    columns_of,
    joined,
    packed,
    packed_flags,
    placed,
    separated,
    unpacked,
)
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.phases import Phase
from edgewise.engine.distributed.rank import Layout, Rank, places_of
from edgewise.engine.distributed.waiting import Waiting
from edgewise.engine.lowering.accessors import own_array_order
from edgewise.engine.lowering.constants import Constants, written_arrays
from edgewise.engine.lowering.message_buffer import slot_dtypes
from edgewise.execution import Execution
from edgewise.kernels.costs import PROGRAM_ITEM
from edgewise.kernels.cpu.pointers import addresses
from edgewise.primitives.vertices import NO_VERTEX

#: Phases that nothing is shared in.
_BY_ONE_THREAD = (Phase.COMBINE, Phase.TOTAL, Phase.PROCEED)


class CpuRank(Rank):
    """One run on one rank, on the CPU.

    Args:
        laid_out: what is run.
        kernel: the program's.
        run: threads and progress.
        parameters, given: see `AbstractEngine.__call__`.
        constants: what the run only reads.
    """

    def __init__(
        self,
        laid_out: Layout,
        kernel: Any,
        run: Execution,
        parameters: dict[str, Any],
        given: dict[str, Any],
        constants: Constants,
    ) -> None:
        super().__init__(laid_out, run)
        message, kept, self._kernel = self._message, self._spec.keeps_messages, kernel
        self._identity = 0 if kept else self._spec.combine.identity(message)
        partials = places_of(self._parts[-1]).stop
        self._fields = written_arrays(constants, laid_out.binding, parameters, given, partials)
        buffer: Any = _slots(self._m, message, laid_out.slot_of) if kept else ()
        self._work = make_work(self._n, self._identity, message, run.num_threads, buffer)
        self._shared = np.zeros(SHARED.size, np.int64)
        self._shared[LISTED] = -1
        self._shared[RANGE : RANGE + len(SIZES)] = SIZES
        keys, none = own_array_order(self._spec), np.empty(0)
        own = [self._fields.get(key, constants.arrays.get(key, none)) for key in keys]
        self._table = np.concatenate((addresses(own), rows_of(self._arcs), rows_of(self._work)))
        self._supplied, self._listed = constants.supplied, False
        self._constants = constants  # its arrays are at addresses in the table
        self._waiting = Waiting(self._spec, self._group, self._own, self._arcs.offsets, self._work.active)

    def _call(
        self,
        phase: Phase,
        vertices: np.ndarray | None = None,
        values: np.ndarray | None = None,
        *,
        of: slice | None = None,
        step: int = SIZES.places,
        first: int = 0,
        work: float = 0.0,
    ) -> None:
        """Carry out a phase on this rank's vertices, or on others; see `make_kernel`."""
        of = self._own if of is None else of
        dtype = np.dtype(np.int64) if self._message.names else self._message
        kernel: tuple[Any, ...] = (
            self._kernel,
            self._shared,
            int(phase),
            self._table,
            self._n,
            self._m,
            self._superstep,
            of.start,
            of.stop,
            step,
            first,
            np.empty(0, np.uint32) if vertices is None else vertices,
            np.empty(0, dtype) if values is None else values,
            self._supplied,
        )
        if phase in _BY_ONE_THREAD:
            self._run.launch_on(1, *kernel)
        else:
            self._run.launch(*kernel, work=work)

    @property
    def _count(self) -> int:
        return int(self._shared[COUNT])

    def _vote(self, phase: Phase) -> None:
        self._shared[[COUNT, EDGES]] = 0
        self._shared[LISTED] = -1
        self._call(phase, work=PROGRAM_ITEM * (self._own.stop - self._own.start))

    def _recount(self) -> None:
        active = np.flatnonzero(self._is_active(self._own)) + self._own.start
        offsets = self._arcs.offsets
        degrees = offsets[active + 1].astype(np.int64) - offsets[active].astype(np.int64)
        self._shared[[COUNT, EDGES]] = len(active), int(degrees.sum())

    def _hold(self, total: int) -> bool:
        return self._waiting.begin(total)

    def _release(self) -> int:
        total, begun = self._waiting.release(self._superstep + 1, self._best)
        offsets = self._arcs.offsets
        edges = offsets[begun + 1].astype(np.int64) - offsets[begun].astype(np.int64)
        self._shared[[COUNT, EDGES, LISTED]] = len(begun), int(edges.sum()), -1
        return total

    def _best(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the active vertices of each thread, the one with the best first message, and that."""
        threads = self._run.num_threads
        vertices, values = np.full(threads, NO_VERTEX), np.full(threads, self._identity, self._message)
        self._call(Phase.BEST, vertices, values, work=PROGRAM_ITEM * (self._own.stop - self._own.start))
        found = vertices != NO_VERTEX
        return vertices[found], values[found]

    def _push(self) -> int:
        shared, own = self._shared, self._own
        self._superstep += 1
        volume = int(shared[COUNT] + shared[EDGES])
        self._listed = volume * LIST_ADVANTAGE < own.stop - own.start
        if self._listed and shared[LISTED] < 0:
            self._call(Phase.LIST)
            self._next_list()
        self._call(Phase.SEND_LISTED if self._listed else Phase.SEND, work=PROGRAM_ITEM * volume)
        return self._deliver(self._group, range(self._group.size), self._count)

    def _deliver(self, group: Group, ranks: Sequence[int], word: int) -> int:
        """Send messages to the owners of the vertices that got them here, and take those of others.

        Args:
            group, ranks: who speaks, and which ranks of the run these are.
            word: see `Group.exchange`. The sum of all words is returned.
        """
        shared, work, own, ranges = self._shared, self._work, self._own, self._ranges
        if self._listed:
            touched = work.touched[: shared[TOUCHED]]
            touched = touched[touched != NO_VERTEX]
            is_own = (touched >= own.start) & (touched < own.stop)
            elsewhere = np.sort(touched[~is_own])
            mine = touched[is_own]
            work.touched[: len(mine)] = mine
            shared[TOUCHED] = len(mine)
            cut = np.searchsorted(elsewhere, ranges.begins)
            reached = [elsewhere[cut[rank] : cut[rank + 1]] for rank in ranks]
        else:
            reached = [self._reached(rank) for rank in ranks]
        parts = list[np.ndarray]()
        for rank, vertices in zip(ranks, reached, strict=True):
            parts.append(packed(vertices, ranges.of(rank), [work.messages[vertices]]))
            work.messages[vertices] = self._identity
        received, words = group.exchange(parts, word)
        taken = [unpacked(part, own, [self._message]) for part in received]
        vertices = np.concatenate([each for each, _ in taken])
        if len(vertices):
            values = np.concatenate([each for _, (each,) in taken])
            self._call(Phase.COMBINE, vertices.astype(np.uint32), values)
        return sum(words)

    def _reached(self, rank: int) -> np.ndarray:
        """The vertices of another rank that got messages here."""
        if rank == self._group.rank:
            return np.empty(0, np.int64)
        of = self._ranges.of(rank)
        return np.flatnonzero(self._work.received[of] == self._superstep) + of.start

    def _gather(self, total: int) -> None:
        own, count = self._own, int(self._shared[COUNT])
        self._superstep += 1
        self._listed = False
        self._shared[COUNT] = total
        offsets = self._arcs.in_offsets
        arcs = int(offsets[own.stop]) - int(offsets[own.start])
        self._call(Phase.GATHER, work=PROGRAM_ITEM * arcs)
        self._shared[COUNT] = count

    def _compute(self) -> None:
        shared = self._shared
        volume = int(shared[LISTED] + shared[TOUCHED]) if self._listed else self._own.stop - self._own.start
        shared[[COUNT, EDGES]] = 0
        self._call(Phase.COMPUTE_LISTED if self._listed else Phase.COMPUTE, work=PROGRAM_ITEM * volume)
        if self._listed:
            self._next_list()
            shared[FLIP] = 1 - shared[FLIP]
        else:
            shared[LISTED], shared[NEXT], shared[TOUCHED] = -1, 0, 0

    def _next_list(self) -> None:
        """Make the list that was filled that of active vertices."""
        shared = self._shared
        shared[LISTED], shared[NEXT], shared[TOUCHED] = shared[NEXT], 0, 0

    def _active_for(self) -> list[np.ndarray]:
        own = self._own
        sends = self._is_active(own)
        return [packed_flags(sends if wanted is None else sends & wanted, own, []) for wanted in self._wanted]

    def _goes_on(self) -> bool:
        self._call(Phase.PROCEED)
        return bool(self._shared[FORM])

    def _sharing(self, arrays: Sequence[Any], wanted: Sequence[np.ndarray | None]) -> Shared:
        return Shared(arrays, self._own, wanted)

    def _placed(self, part: Any, among: slice) -> Any:
        return placed(part, among, [])[0]

    def _is_active(self, of: slice) -> np.ndarray:
        found: np.ndarray = self._work.active[of] == self._superstep + 1
        return found

    def _is_to_begin(self, of: slice) -> np.ndarray:
        active = self._work.active[of]
        found: np.ndarray = (active == self._superstep + 1) | (self._waiting.flags[of] & (active == 0))
        return found

    def _activate(self, of: slice, places: Any) -> None:
        self._work.active[of][places] = self._superstep + 1

    def _whole(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate([each.view(np.uint8) for each in arrays])

    def _columns(self, part: np.ndarray, count: int, dtypes: Sequence[np.dtype]) -> list[np.ndarray]:
        return columns_of(part, count, dtypes)

    def _exchange(self, told: list[list[np.ndarray]]) -> tuple[list[list[np.ndarray]], list[int]]:
        if len(told) == 1:
            received, counts = self._group.exchange(told[0], self._count)
            return [[part] for part in received], counts
        parts = [joined(of_rank) for of_rank in zip(*told, strict=True)]
        received, counts = self._group.exchange(parts, self._count)
        return [separated(part, len(told)) for part in received], counts

    def _on_host(self, values: np.ndarray) -> np.ndarray:
        return values

    def _from_host(self, values: np.ndarray) -> np.ndarray:
        return values

    def _notes(self) -> tuple[str, ...]:
        return ()


def _slots(m: int, message: np.dtype, slot_of: np.ndarray) -> Buffer:
    """A buffer for messages that are kept. Its arrays are zeros, which take no memory until they are used."""
    return Buffer(slot_of, np.zeros(m, np.uint8), tuple(np.zeros(m, dtype) for dtype in slot_dtypes(message)))
