"""A program on several ranks: each has a range of vertices and computes these.

A rank *pushes* along the out-edges of its active vertices if messages are combined in any order. Messages for one
vertex are combined here first; those for vertices of other ranks go to these, which join them in the order of ranks.
Else it *pulls*: it gathers over the in-edges of its vertices in their order, as one rank would, so that sums of floats
are the same, bit for bit. For that, ranks tell others which vertices are active, and the values that edges read.

After vertices were computed, ranks tell each other the values that functions read elsewhere
(`edgewise.engine.distributed.reads`), those that have changed and only to ranks that read them. Aggregates are folded
in blocks as by one rank; all ranks have all blocks, and join them in one order.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from edgewise.engine.contract import AbstractEngine, Ending, Outcome
from edgewise.engine.cpu.arguments import Buffer, SizedArcs, Work
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
from edgewise.engine.cpu.workspace import make_work, workspace_bytes
from edgewise.engine.distributed.exchange import Shared, packed, unpacked
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.kernel import Phase, make_kernel
from edgewise.engine.distributed.partition import Part, Ranges, blocks_of, by_arcs
from edgewise.engine.distributed.reads import reads_elsewhere
from edgewise.engine.lowering.accessors import own_array_order
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.engine.lowering.constants import Constants, constant_arrays, laying_out, made_for, taking
from edgewise.engine.lowering.message_buffer import slot_dtypes
from edgewise.execution import Execution
from edgewise.graph import Made
from edgewise.kernels.costs import PROGRAM_ITEM
from edgewise.kernels.cpu.pointers import address, addresses
from edgewise.memory import Step, held, in_turn
from edgewise.primitives.vertices import NO_VERTEX

#: Phases that nothing is shared in.
_BY_ONE_THREAD = (Phase.COMBINE, Phase.TOTAL, Phase.PROCEED)


@final
class DistributedProgram(AbstractEngine):
    """A program compiled for one rank of several. All ranks make the same calls.

    Args:
        compiled: the program's functions.
        binding: the program on its graph, which is the same on all ranks.
        message: the dtype of messages.
        group: the ranks.
    """

    memory_kept = 0

    def __init__(self, compiled: CompiledProgram, binding: Binding, message: np.dtype, group: Group) -> None:
        spec, graph = binding.spec, binding.graph
        self._compiled, self._binding, self._message, self.group = compiled, binding, message, group
        self.pulls = spec.keeps_messages or spec.combine.ordered(message)
        offsets = graph.in_offsets if self.pulls else graph.offsets
        self.ranges: Ranges = by_arcs(group.rank, group.size, offsets)
        self._kind = ("distributed kernel", self.pulls, str(message), binding.dtypes)
        self._row = {key: i for i, key in enumerate(own_array_order(spec))}
        self._laid_out = False

    def is_laid_out(self, limit: int | None, given: dict[str, Any]) -> bool:
        return self._laid_out

    def lay_out(self, limit: int | None, given: dict[str, Any]) -> None:
        spec, graph = self._binding.spec, self._binding.graph
        in_offsets, in_sources, in_arcs = graph.offsets, graph.targets, graph.offsets
        if self.pulls:
            in_offsets, in_sources = graph.in_offsets, graph.in_sources
            in_arcs = graph.in_arcs if spec.needs_arc_index else in_arcs
        self._arcs = SizedArcs(
            graph.num_vertices, graph.num_arcs, graph.offsets, graph.targets, in_offsets, in_sources, in_arcs
        )
        self._constants = constant_arrays(self._binding, {}, self.pulls, graph)
        self._laid_out = True

    def running(self, num_threads: int, given: dict[str, Any]) -> Step:
        binding, graph = self._binding, self._binding.graph
        made = made_for(binding, given, self.pulls)
        work = workspace_bytes(binding, self._message, num_threads, binding.spec.keeps_messages, False)
        steps: list[Step] = [graph.making(*made)] if made else []
        steps += [laying_out(binding), taking(binding, given, self.pulls)]
        return in_turn(*steps, held(binding.result_bytes + work), held(graph.making(Made.OUT_DEGREE).most))

    def kernel(self, parameters: dict[str, Any], uniform: frozenset[str]) -> Any:
        """The kernel for these types of parameters and these uniform edge fields."""
        kind = (*self._kind, uniform, *(type(value) for value in parameters.values()))
        kept = self._binding.spec.kept
        if kind not in kept:
            kept[kind] = make_kernel(
                self._compiled, self._binding, self._message, parameters, uniform, self.pulls
            )
        return kept[kind]

    def __call__(
        self, run: Execution, parameters: dict[str, Any], given: dict[str, Any], limit: int | None
    ) -> Outcome:
        constants = (
            constant_arrays(self._binding, given, self.pulls, self._binding.graph, self._constants)
            if given
            else self._constants
        )
        rank = _Rank(self, run, parameters, given, constants)
        return rank.supersteps(limit)


class _Rank:
    """One run on one rank.

    Args:
        engine: what is run.
        run: threads and progress.
        parameters, given: see `AbstractEngine.__call__`.
        constants: what the run only reads.
    """

    def __init__(
        self,
        engine: DistributedProgram,
        run: Execution,
        parameters: dict[str, Any],
        given: dict[str, Any],
        constants: Constants,
    ) -> None:
        binding, message = engine._binding, engine._message
        self._spec, self._group, self._ranges, self._pulls = (
            binding.spec,
            engine.group,
            engine.ranges,
            engine.pulls,
        )
        self._run, self._message, self._arcs = run, message, engine._arcs
        self._n, self._m, self._own = self._arcs.n, self._arcs.m, self._ranges.own
        self._parts = self._ranges.parts()
        self._blocks = blocks_of(self._parts)
        kept = self._spec.keeps_messages
        self._identity = 0 if kept else self._spec.combine.identity(message)
        self._fields = self._arrays(binding, parameters, given, constants)
        self._work = _work(self._n, self._m, self._identity, message, run.num_threads, kept)
        self._shared = np.zeros(SHARED.size, np.int64)
        self._shared[LISTED] = -1
        self._shared[RANGE : RANGE + len(SIZES)] = SIZES
        none = np.empty(0)
        table = addresses(constants.arrays.get(key, none) for key in engine._row)
        for key, array in self._fields.items():
            table[engine._row[key]] = address(array)
        self._table = np.concatenate((table, rows_of(self._arcs), rows_of(self._work)))
        self._kernel = engine.kernel(parameters, constants.uniform)
        self._supplied, self._superstep = constants.supplied, 0
        self._reads = reads_elsewhere(self._spec, "target" if self._pulls else "source")
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

    def supersteps(self, limit: int | None) -> "PartOutcome":
        """The loop over supersteps, which all ranks go through together."""
        spec = self._spec
        self._begin()
        while True:
            at_limit = limit is not None and self._superstep >= limit
            delivered = not (self._pulls or at_limit)
            total = self._push() if delivered else self._group.total(self._count)
            if total == 0:
                self._superstep -= delivered
                if not spec.has_resume or self._ask(Phase.RESUME) == 0:
                    return self._outcome(Ending.FINISHED)
                continue
            if at_limit:
                return self._outcome(Ending.LIMITED)
            if not delivered:
                self._gather(total)
            self._compute()
            self._tell()
            self._fold()
            if self._run.progress is not None:
                self._run.progress(self._superstep)
            if spec.has_proceed and not self._goes_on():
                return self._outcome(Ending.STOPPED)

    @property
    def _count(self) -> int:
        """The active vertices of this rank."""
        return int(self._shared[COUNT])

    def _begin(self) -> None:
        """Set fields, and ask vertices whether they are active."""
        reads, own = self._reads, self._own
        elsewhere = bool(reads.across or reads.anywhere)
        self._call(Phase.FILL, of=slice(0, self._n) if elsewhere else own)
        across = [self._fields["vertex", name] for name in sorted(reads.across)]
        anywhere = [self._fields["vertex", name] for name in sorted(reads.anywhere)]
        wanted: list[np.ndarray | None] = [None] * self._group.size
        self._wanted = self._wanted_by() if across or self._pulls else wanted
        self._across = Shared(across, own, self._wanted)
        self._anywhere = Shared(anywhere, own, wanted)
        self._ask(Phase.START)

    def _wanted_by(self) -> list[np.ndarray | None]:
        """For each rank, which of this rank's vertices are at the other ends of its edges."""
        arcs, own, ranges = self._arcs, self._own, self._ranges
        offsets, ends = (arcs.in_offsets, arcs.in_sources) if self._pulls else (arcs.offsets, arcs.targets)
        mine = np.unique(ends[int(offsets[own.start]) : int(offsets[own.stop])])
        cut = np.searchsorted(mine, ranges.begins)
        parts = [
            packed(mine[cut[rank] : cut[rank + 1]], ranges.of(rank), []) for rank in range(self._group.size)
        ]
        flags = list[np.ndarray | None]()
        for part in self._group.exchange(parts)[0]:
            wanted = np.zeros(own.stop - own.start, np.bool_)
            wanted[unpacked(part, own, [])[0] - own.start] = True
            flags.append(wanted)
        return flags

    def _ask(self, phase: Phase) -> int:
        """Ask vertices whether they are active; how many are, on all ranks."""
        self._shared[[COUNT, EDGES]] = 0
        self._shared[LISTED] = -1
        self._call(phase, work=PROGRAM_ITEM * (self._own.stop - self._own.start))
        self._tell()
        self._fold()
        return self._group.total(self._count)

    def _push(self) -> int:
        """Begin a superstep: send messages. The active vertices of all ranks; if there are none, nothing was done."""
        shared, work, own, ranges = self._shared, self._work, self._own, self._ranges
        self._superstep += 1
        volume = int(shared[COUNT] + shared[EDGES])
        self._listed = volume * LIST_ADVANTAGE < own.stop - own.start
        if self._listed and shared[LISTED] < 0:
            self._call(Phase.LIST)
            self._next_list()
        self._call(Phase.SEND_LISTED if self._listed else Phase.SEND, work=PROGRAM_ITEM * volume)
        if self._listed:
            touched = work.touched[: shared[TOUCHED]]
            touched = touched[touched != NO_VERTEX]
            is_own = (touched >= own.start) & (touched < own.stop)
            elsewhere = np.sort(touched[~is_own])
            mine = touched[is_own]
            work.touched[: len(mine)] = mine
            shared[TOUCHED] = len(mine)
            cut = np.searchsorted(elsewhere, ranges.begins)
            reached = [elsewhere[cut[rank] : cut[rank + 1]] for rank in range(self._group.size)]
        else:
            reached = [self._reached(rank) for rank in range(self._group.size)]
        parts = list[np.ndarray]()
        for rank, vertices in enumerate(reached):
            parts.append(packed(vertices, ranges.of(rank), [work.messages[vertices]]))
            work.messages[vertices] = self._identity
        received, counts = self._group.exchange(parts, self._count)
        taken = [unpacked(part, own, [self._message]) for part in received]
        vertices = np.concatenate([each for each, _ in taken])
        if len(vertices):
            values = np.concatenate([each for _, (each,) in taken])
            self._call(Phase.COMBINE, vertices.astype(np.uint32), values)
        return sum(counts)

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

    def _tell(self) -> None:
        """Tell other ranks what has changed: which vertices are active if messages are pulled, and values."""
        if self._reads.anywhere:
            for rank, part in enumerate(self._group.exchange(self._anywhere.changes())[0]):
                self._take(self._anywhere, rank, part)
        if self._reads.across:
            for rank, part in enumerate(self._group.exchange(self._across.changes())[0]):
                self._take(self._across, rank, part)
        if self._pulls:
            own, active, stamp = self._own, self._work.active, self._superstep + 1
            sends = active[own] == stamp
            parts = [
                packed(np.flatnonzero(sends & wanted) + own.start, own, [])
                for wanted in self._wanted
                if wanted is not None
            ]
            for rank, part in enumerate(self._group.exchange(parts)[0]):
                if rank != self._group.rank:
                    active[unpacked(part, self._ranges.of(rank), [])[0]] = stamp

    def _take(self, told: Shared, rank: int, part: np.ndarray) -> None:
        if rank != self._group.rank:
            told.take(part, self._ranges.of(rank))

    def _fold(self) -> None:
        """Evaluate aggregates over the vertices of all ranks."""
        if not self._spec.aggregators:
            return
        mine = self._parts[self._group.rank]
        for part in (part for part in mine if part.results):
            of = slice(part.low, part.high)
            work = PROGRAM_ITEM * (part.high - part.low)
            self._call(Phase.FOLD, of=of, step=part.length, first=part.first, work=work)
        results = [self._fields["partial", name] for name in self._spec.aggregators]
        own = np.concatenate([each[_places(mine)].view(np.uint8) for each in results])
        for parts, told in zip(self._parts, self._group.everywhere(own)[0], strict=True):
            places, begin = _places(parts), 0
            for each in results:
                end = begin + each.itemsize * (places.stop - places.start)
                each[places] = told[begin:end].copy().view(each.dtype)
                begin = end
        for block in self._blocks:
            if block.stop > block.start + 1:
                self._call(Phase.TOTAL, of=block)
        begins = [block.start for block in self._blocks]
        for each in results:
            each[: len(begins)] = each[begins]
        self._call(Phase.TOTAL, of=slice(0, len(begins)))

    def _goes_on(self) -> bool:
        """Whether the program says to go on, which it says on all ranks alike."""
        self._call(Phase.PROCEED)
        return bool(self._shared[FORM])

    def _outcome(self, ended: Ending) -> "PartOutcome":
        spec, fields, group = self._spec, self._fields, self._group
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


@dataclass(frozen=True, eq=False)
class PartOutcome(Outcome):
    """The final state of a run on one rank: fields have values for the rank's own vertices and edges.

    Attributes:
        group, ranges: the ranks, and their vertices.
        arcs: the graph.
        pulls: whether a rank's edges are the in-edges of its vertices.
    """

    group: Any = None
    ranges: Any = None
    arcs: Any = None
    pulls: bool = False

    def gather(self) -> Outcome:
        """The state of the whole run, on each rank. All ranks call it."""
        vertex = {name: self._whole(values, self.ranges.of) for name, values in self.vertex_fields.items()}
        edge = {name: self._whole(values, self._arcs_of) for name, values in self.edge_fields.items()}
        return Outcome(vertex, edge, self.aggregates, self.supersteps, self.ended, self.notes)

    def _arcs_of(self, rank: int) -> Any:
        """The arcs of a rank."""
        own = self.ranges.of(rank)
        if self.pulls:
            first, end = int(self.arcs.in_offsets[own.start]), int(self.arcs.in_offsets[own.stop])
            return self.arcs.in_arcs[first:end]
        return slice(int(self.arcs.offsets[own.start]), int(self.arcs.offsets[own.stop]))

    def _whole(self, values: np.ndarray, of: Any) -> np.ndarray:
        found = np.empty_like(values)
        own = np.ascontiguousarray(values[of(self.group.rank)])
        for rank, part in enumerate(self.group.everywhere(own.view(np.uint8))[0]):
            found[of(rank)] = part.copy().view(values.dtype)
        return found


def _places(parts: list[Part]) -> slice:
    """Where the results of one rank's parts are among those of all ranks."""
    return slice(parts[0].first, parts[-1].first + parts[-1].results)


def _work(n: int, m: int, identity: Any, message: np.dtype, num_threads: int, kept: bool) -> Work:
    """The arrays that a rank works in. Slots for kept messages are zeros, which take no memory until they are used."""
    buffer: Any = ()
    if kept:
        slots = tuple(np.zeros(m, dtype) for dtype in slot_dtypes(message))
        buffer = Buffer(np.zeros(1, np.uint32), np.zeros(m, np.uint8), slots)
    return make_work(n, identity, message, num_threads, buffer)
