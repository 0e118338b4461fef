"""One run of a program on one rank: the loop over supersteps, and what ranks tell each other between their phases."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.contract import Ending
from edgewise.engine.cpu.arguments import Buffer, SizedArcs
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
from edgewise.engine.distributed.checkpoint import Checkpoints
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
from edgewise.engine.distributed.kernel import Phase
from edgewise.engine.distributed.outcome import PartOutcome, arcs_of
from edgewise.engine.distributed.partition import Part, Ranges, blocks_of
from edgewise.engine.distributed.reads import Reads
from edgewise.engine.lowering.accessors import own_array_order
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.constants import Constants
from edgewise.engine.lowering.message_buffer import slot_dtypes
from edgewise.errors import ParameterError
from edgewise.execution import Execution
from edgewise.kernels.costs import PROGRAM_ITEM
from edgewise.kernels.cpu.pointers import addresses
from edgewise.primitives.vertices import NO_VERTEX

#: Phases that nothing is shared in.
_BY_ONE_THREAD = (Phase.COMBINE, Phase.TOTAL, Phase.PROCEED)


#: Stands for how many vertices are active, where that is not known.
UNKNOWN = -1


class Layout(NamedTuple):
    """What a run needs of the program that was laid out for a rank.

    Attributes:
        binding, message: the program on its graph, and the dtype of messages.
        group, ranges: the ranks, and their vertices.
        arcs: the graph.
        slot_of: the slot of each in-edge of the rank, for programs that are given all messages.
        pulls: whether messages are pulled.
        reads: fields that are read at vertices of other ranks.
        wanted: for each rank, which of this rank's vertices are at the other ends of its edges; all of them if None.
        checkpoints: where the state is kept, or None.
    """

    binding: Binding
    message: np.dtype
    group: Group
    ranges: Ranges
    arcs: SizedArcs
    slot_of: np.ndarray
    pulls: bool
    reads: Reads
    wanted: list[np.ndarray | None]
    checkpoints: Checkpoints | None


class Rank:
    """One run on one rank.

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
        binding, message, self._group, self._ranges, self._arcs, slot_of, self._pulls = laid_out[:7]
        self._reads, self._wanted, self._checkpoints = laid_out[7:]
        self._spec, self._run, self._message, self._kernel = binding.spec, run, message, kernel
        self._n, self._m, self._own = self._arcs.n, self._arcs.m, self._ranges.own
        self._parts = self._ranges.parts()
        self._blocks = blocks_of(self._parts)
        kept = self._spec.keeps_messages
        self._identity = 0 if kept else self._spec.combine.identity(message)
        self._fields = self._arrays(binding, parameters, given, constants)
        buffer: Any = _slots(self._m, message, slot_of) if kept else ()
        self._work = make_work(self._n, self._identity, message, run.num_threads, buffer)
        self._shared = np.zeros(SHARED.size, np.int64)
        self._shared[LISTED] = -1
        self._shared[RANGE : RANGE + len(SIZES)] = SIZES
        keys, none = own_array_order(self._spec), np.empty(0)
        own = [self._fields.get(key, constants.arrays.get(key, none)) for key in keys]
        self._table = np.concatenate((addresses(own), rows_of(self._arcs), rows_of(self._work)))
        self._supplied, self._superstep, self._total = constants.supplied, 0, UNKNOWN
        self._constants = constants  # its arrays are at addresses in the table

    def _arrays(
        self, binding: Binding, parameters: dict[str, Any], given: dict[str, Any], constants: Constants
    ) -> dict[tuple[str, str], np.ndarray]:
        """The arrays that the run writes, and its parameters."""
        arrays: dict[tuple[str, str], np.ndarray] = {}
        for name, dtype in binding.vertex.items():
            arrays["vertex", name] = (
                constants.arrays["initial", name].copy() if name in given else np.empty(self._n, dtype)
            )
        for name in binding.spec.edge_writes:
            arrays["edge", name] = constants.arrays["edge", name].copy()
        for name, value in parameters.items():
            arrays["parameter", name] = np.array([value])
        for name, dtype in binding.aggregates.items():
            arrays["aggregate", name] = np.zeros(1, dtype)
            arrays["partial", name] = np.empty(max(1, _places(self._parts[-1]).stop), dtype)
        return arrays

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

    def supersteps(self, limit: int | None, what: str) -> PartOutcome:
        """The loop over supersteps, which all ranks go through together.

        Args:
            limit: the most supersteps, or None.
            what: a digest of all that the state depends on.
        """
        spec = self._spec
        self._begin(what, limit)
        while True:
            at_limit = limit is not None and self._superstep >= limit
            is_known = self._total != UNKNOWN
            pushed = not (self._pulls or at_limit or is_known)  # what is sent says how many were active
            total = self._push() if pushed else self._total if is_known else self._active_vertices()
            if total == 0:
                self._superstep -= pushed
                if not spec.has_resume or self._ask(Phase.RESUME) == 0:
                    return self._outcome(Ending.FINISHED)
                continue
            if at_limit:
                return self._outcome(Ending.LIMITED)
            if self._pulls:
                self._gather(total)
            elif not pushed:
                self._push()
            self._compute()
            self._share()
            if self._run.progress is not None:
                self._run.progress(self._superstep)
            if spec.has_proceed and not self._goes_on():
                return self._outcome(Ending.STOPPED)
            if self._checkpoints and self._superstep % self._checkpoints.every == 0:
                self._checkpoints.write(self._superstep, self._ranges.begins, self._state(self._own))

    @property
    def _count(self) -> int:
        """The active vertices of this rank."""
        return int(self._shared[COUNT])

    def _active_vertices(self) -> int:
        """The active vertices of all ranks, which all of them ask for."""
        return self._group.total(self._count)

    def _begin(self, what: str, limit: int | None) -> None:
        """Set fields, and ask vertices whether they are active; or go on where an interrupted run was."""
        reads, own = self._reads, self._own
        elsewhere = bool(reads.across or reads.anywhere)
        self._call(Phase.FILL, of=slice(0, self._n) if elsewhere else own)
        across = [self._fields["vertex", name] for name in sorted(reads.across)]
        anywhere = [self._fields["vertex", name] for name in sorted(reads.anywhere)]
        found = self._checkpoints.begin(what) if self._checkpoints else None
        if self._checkpoints and found:
            if limit is not None and found.superstep > limit:
                raise ParameterError(
                    f"{self._spec.name}: the checkpoint in {self._checkpoints.folder} is of superstep "
                    f"{found.superstep:,}, and max_supersteps is {limit:,}; allow more, or name another folder"
                )
            self._superstep = found.superstep
            self._checkpoints.restore(found, self._n, self._state, self._take_state)
            self._run.explain(f"went on after superstep {found.superstep:,} from {self._checkpoints.folder}")
        self._across = Shared(across, own, self._wanted)
        nobody = np.zeros(own.stop - own.start, np.bool_)
        to_others = [nobody if rank == self._group.rank else None for rank in range(self._group.size)]
        self._anywhere = Shared(anywhere, own, to_others)
        if not found:
            self._ask(Phase.START)
            return
        own_active = np.flatnonzero(self._work.active[own] == self._superstep + 1) + own.start
        offsets = self._arcs.offsets
        degrees = offsets[own_active + 1].astype(np.int64) - offsets[own_active].astype(np.int64)
        self._shared[[COUNT, EDGES]] = len(own_active), int(degrees.sum())

    def _state(self, of: slice) -> list[np.ndarray]:
        """What a checkpoint has of some vertices and their edges: values, which vertices are active, and aggregates."""
        spec, fields = self._spec, self._fields
        arcs = arcs_of(self._arcs, of, self._pulls)
        found = [fields["vertex", name][of] for name in spec.vertex_fields]
        found += [fields["edge", name][arcs] for name in sorted(spec.edge_writes)]
        found += [fields["aggregate", name] for name in spec.aggregators]
        return [*found, np.packbits(self._work.active[of] == self._superstep + 1)]

    def _take_state(self, of: slice, state: list[np.ndarray]) -> None:
        """Take what a checkpoint has of some vertices."""
        spec, fields, arcs = self._spec, self._fields, arcs_of(self._arcs, of, self._pulls)
        values = iter(state)
        for name in spec.vertex_fields:
            fields["vertex", name][of] = next(values)
        for name in sorted(spec.edge_writes):
            fields["edge", name][arcs] = next(values)
        for name in spec.aggregators:
            fields["aggregate", name][:] = next(values)
        flags = np.unpackbits(next(values), count=of.stop - of.start).view(np.bool_)
        active = np.flatnonzero(flags) + of.start
        if not self._pulls:  # messages for active vertices of other ranks would not be listed
            active = active[(active >= self._own.start) & (active < self._own.stop)]
        self._work.active[active] = self._superstep + 1

    def _ask(self, phase: Phase) -> int:
        """Ask vertices whether they are active; how many are, on all ranks."""
        self._shared[[COUNT, EDGES]] = 0
        self._shared[LISTED] = -1
        self._call(phase, work=PROGRAM_ITEM * (self._own.stop - self._own.start))
        self._share()
        if self._total == UNKNOWN:
            self._total = self._active_vertices()
        return self._total

    def _push(self) -> int:
        """Begin a superstep: send messages. The active vertices of all ranks; if there are none, nothing was done."""
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
        """Begin a superstep: gather messages, from so many active vertices of all ranks."""
        own, count = self._own, int(self._shared[COUNT])
        self._superstep += 1
        self._listed = False
        self._shared[COUNT] = total
        offsets = self._arcs.in_offsets
        arcs = int(offsets[own.stop]) - int(offsets[own.start])
        self._call(Phase.GATHER, work=PROGRAM_ITEM * arcs)
        self._shared[COUNT] = count

    def _compute(self) -> None:
        """Compute the vertices that are active or got a message."""
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

    def _share(self) -> None:
        """Tell other ranks what has changed: values, which vertices are active if messages are pulled, and what
        aggregates are of this rank's vertices. How many vertices are active is known then, if anything was told."""
        group, told, self._total = self._group, list[list[np.ndarray]](), UNKNOWN
        if self._reads.anywhere:
            for rank, part in enumerate(group.exchange(self._anywhere.changes())[0]):
                self._take(self._anywhere, rank, part)
        if self._reads.across:
            told.append(self._across.changes())
        if self._pulls and group.size > 1:
            told.append(self._active_for())
        if self._spec.aggregators:
            told.append([self._folded()] * group.size)
        if not told:
            return
        parts = [joined(of_rank) for of_rank in zip(*told, strict=True)]
        received, counts = group.exchange(parts, self._count)
        for rank, part in enumerate(received):
            pieces = iter(separated(part, len(told)))
            if self._reads.across:
                self._take(self._across, rank, next(pieces))
            if self._pulls and group.size > 1:
                of = self._ranges.of(rank)
                self._work.active[of][placed(next(pieces), of, [])[0]] = self._superstep + 1
            if self._spec.aggregators:
                self._take_folded(rank, next(pieces))
        if self._spec.aggregators:
            self._join_folded()
        self._total = sum(counts)

    def _take(self, told: Shared, rank: int, part: np.ndarray) -> None:
        if rank != self._group.rank:
            told.take(part, self._ranges.of(rank))

    def _active_for(self) -> list[np.ndarray]:
        """For each rank, which vertices are active of those that it gathers from."""
        own = self._own
        sends = self._work.active[own] == self._superstep + 1
        return [packed_flags(sends if wanted is None else sends & wanted, own, []) for wanted in self._wanted]

    def _folded(self) -> np.ndarray:
        """What the aggregates of this rank's parts are, as bytes."""
        mine = self._parts[self._group.rank]
        for part in (part for part in mine if part.results):
            of = slice(part.low, part.high)
            work = PROGRAM_ITEM * (part.high - part.low)
            self._call(Phase.FOLD, of=of, step=part.length, first=part.first, work=work)
        return np.concatenate([each[_places(mine)].view(np.uint8) for each in self._results])

    @property
    def _results(self) -> list[np.ndarray]:
        """The results of parts of all ranks, of each aggregate."""
        return [self._fields["partial", name] for name in self._spec.aggregators]

    def _take_folded(self, rank: int, told: np.ndarray) -> None:
        """Take what the aggregates of a rank's parts are."""
        places, results = _places(self._parts[rank]), self._results
        found = columns_of(told, places.stop - places.start, [each.dtype for each in results])
        for each, values in zip(results, found, strict=True):
            each[places] = values

    def _join_folded(self) -> None:
        """Make aggregates of the results of all parts: first of each block, then of all blocks in their order."""
        for block in self._blocks:
            if block.stop > block.start + 1:
                self._call(Phase.TOTAL, of=block)
        begins = [block.start for block in self._blocks]
        for each in self._results:
            each[: len(begins)] = each[begins]
        self._call(Phase.TOTAL, of=slice(0, len(begins)))

    def _goes_on(self) -> bool:
        """Whether the program says to go on, which it says on all ranks alike."""
        self._call(Phase.PROCEED)
        return bool(self._shared[FORM])

    def _outcome(self, ended: Ending) -> PartOutcome:
        spec, fields, group = self._spec, self._fields, self._group
        if self._checkpoints:
            self._checkpoints.end()
        way = "pull" if self._pulls else "push"
        notes = (
            f"rank {group.rank} of {group.size} has the vertices {self._own.start:,} to {self._own.stop - 1:,}",
            f"ranks {way}",
            f"{group.exchanges:,} exchanges; this rank sent {group.sent_bytes:,} bytes",
        )
        return PartOutcome(
            {name: fields["vertex", name] for name in spec.vertex_fields},
            {name: fields["edge", name] for name in spec.edge_fields if name in spec.edge_writes},
            {name: fields["aggregate", name][0].item() for name in spec.aggregators},
            self._superstep,
            ended,
            notes,
            group=group,
            ranges=self._ranges,
            arcs=self._arcs,
            pulls=self._pulls,
        )


def _places(parts: list[Part]) -> slice:
    """Where the results of one rank's parts are among those of all ranks."""
    return slice(parts[0].first, parts[-1].first + parts[-1].results)


def _slots(m: int, message: np.dtype, slot_of: np.ndarray) -> Buffer:
    """A buffer for messages that are kept. Its arrays are zeros, which take no memory until they are used."""
    return Buffer(slot_of, np.zeros(m, np.uint8), tuple(np.zeros(m, dtype) for dtype in slot_dtypes(message)))
