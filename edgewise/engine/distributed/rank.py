"""One run of a program on one rank: the loop over supersteps, and what ranks tell each other between their phases.

The loop is that of every form of a rank. A form carries out the phases and holds the arrays: on the CPU
(`edgewise.engine.distributed.rank_cpu`) or on a GPU (`edgewise.engine.distributed.rank_cuda`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.contract import Ending
from edgewise.engine.cpu.arguments import SizedArcs
from edgewise.engine.distributed.checkpoint import Checkpoints, Digests
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.outcome import PartOutcome, arcs_of
from edgewise.engine.distributed.partition import Part, Ranges, blocks_of
from edgewise.engine.distributed.phases import Phase
from edgewise.engine.distributed.reads import Reads
from edgewise.engine.distributed.watch import RanksWatch
from edgewise.engine.lowering.binding import Binding
from edgewise.errors import ParameterError
from edgewise.execution import Execution
from edgewise.kernels.costs import PROGRAM_ITEM

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


class Rank(ABC):
    """One run on one rank.

    Forms set `_fields`, the arrays that the run writes, by kind and name: with a value for each vertex of the graph, or
    for each arc, or for each result of an aggregate.

    Args:
        laid_out: what is run.
        run: threads and progress.
    """

    _fields: dict[tuple[str, str], Any]

    def __init__(self, laid_out: Layout, run: Execution) -> None:
        binding, message, self._group, self._ranges, self._arcs, _, self._pulls = laid_out[:7]
        self._reads, self._wanted, self._checkpoints = laid_out[7:]
        self._spec, self._run, self._message = binding.spec, run, message
        self._n, self._m, self._own = self._arcs.n, self._arcs.m, self._ranges.own
        self._parts = self._ranges.parts()
        if binding.spec.aggregators:
            begins, self._in_several = blocks_of(self._parts)
            self._blocks = self._from_host(begins)
        self._superstep, self._total = 0, UNKNOWN
        #: What ranks had exchanged before.
        self._before = self._group.exchanges, self._group.sent_bytes

    @property
    @abstractmethod
    def _count(self) -> int:
        """The active vertices of this rank."""

    @abstractmethod
    def _call(
        self, phase: Phase, *, of: slice | None = None, step: int = 1, first: int = 0, work: float = 0.0
    ) -> None:
        """Carry out a phase that folds or fills, on this rank's vertices, or on others; see `Phase`."""

    @abstractmethod
    def _vote(self, phase: Phase) -> None:
        """Ask this rank's vertices whether they are active, and count them."""

    @abstractmethod
    def _recount(self) -> None:
        """Count the active vertices of this rank, which are those of a checkpoint."""

    @abstractmethod
    def _hold(self, total: int) -> bool:
        """Whether vertices that are active at first, so many on all ranks, wait until they are released."""

    @abstractmethod
    def _release(self) -> int:
        """Let vertices begin that wait; how many do, on all ranks."""

    @abstractmethod
    def _push(self) -> int:
        """Begin a superstep: send messages. The active vertices of all ranks; if there are none, nothing was done."""

    @abstractmethod
    def _gather(self, total: int) -> None:
        """Begin a superstep: gather messages, from so many active vertices of all ranks."""

    @abstractmethod
    def _compute(self) -> None:
        """Compute the vertices that are active or got a message, and count those that are active then."""

    @abstractmethod
    def _goes_on(self) -> bool:
        """Whether the program says to go on, which it says on all ranks alike."""

    @abstractmethod
    def _sharing(self, arrays: Sequence[Any], wanted: Sequence[np.ndarray | None]) -> Any:
        """What tells others of changes in arrays, as `edgewise.engine.distributed.exchange.Shared` does."""

    @abstractmethod
    def _active_for(self) -> list[Any]:
        """For each rank, which vertices are active of those that it gathers from."""

    @abstractmethod
    def _placed(self, part: Any, among: slice) -> Any:
        """The vertices of a part without values, as an index of an array of those `among`."""

    @abstractmethod
    def _is_active(self, of: slice) -> Any:
        """Which of some vertices are active next, a flag for each."""

    @abstractmethod
    def _is_to_begin(self, of: slice) -> Any:
        """Which of some vertices are active next, or wait, a flag for each."""

    @abstractmethod
    def _activate(self, of: slice, places: Any) -> None:
        """Note that these of some vertices are active next."""

    @abstractmethod
    def _whole(self, arrays: Sequence[Any]) -> Any:
        """All values of arrays as a part."""

    @abstractmethod
    def _columns(self, part: Any, count: int, dtypes: Sequence[np.dtype]) -> Sequence[Any]:
        """The arrays of which `_whole` made a part."""

    @abstractmethod
    def _exchange(self, told: list[list[Any]]) -> tuple[list[list[Any]], list[int]]:
        """Send each rank its parts.

        Args:
            told: lists with a part for each rank.

        Returns:
            For each rank, the parts that it sent to this one; and the active vertices of each rank.
        """

    @abstractmethod
    def _on_host(self, values: Any) -> np.ndarray:
        """An array as one of the host's."""

    @abstractmethod
    def _from_host(self, values: np.ndarray) -> Any:
        """An array of the host's, where this form has its own."""

    @abstractmethod
    def _notes(self) -> tuple[str, ...]:
        """What `explain` tells of this form."""

    def supersteps(self, limit: int | None, what: Digests) -> PartOutcome:
        """The loop over supersteps, which all ranks go through together.

        Args:
            limit: the most supersteps, or None.
            what: digests of all that the state depends on.
        """
        spec = self._spec
        watch = (
            RanksWatch(spec.name, self._group, lambda: map(self._on_host, self._written(self._own)))
            if limit is None
            else None
        )
        self._begin(what, limit)
        while True:
            at_limit = limit is not None and self._superstep >= limit
            is_known = self._total != UNKNOWN
            pushed = not (self._pulls or at_limit or is_known)  # what is sent says how many were active
            total = self._push() if pushed else self._total if is_known else self._active_vertices()
            if total == 0:
                self._superstep -= pushed
                self._total = self._ask(Phase.RESUME) if spec.has_resume else self._release()
                if self._total == 0:
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
            if watch is not None:
                watch(self._superstep, self._count)
            if spec.has_proceed and not self._goes_on():
                return self._outcome(Ending.STOPPED)
            if self._checkpoints and self._superstep % self._checkpoints.every == 0:
                self._checkpoints.write(self._superstep, self._ranges.begins, self._state(self._own))

    def _active_vertices(self) -> int:
        """The active vertices of all ranks, which all of them ask for."""
        return self._group.total(self._count)

    def _begin(self, what: Digests, limit: int | None) -> None:
        """Set fields, and ask vertices whether they are active; or go on where an interrupted run was."""
        reads, own = self._reads, self._own
        elsewhere = bool(reads.across or reads.anywhere)
        self._call(Phase.FILL, of=slice(0, self._n) if elsewhere else own)
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
        if reads.across:
            across = [self._fields["vertex", name] for name in sorted(reads.across)]
            self._across = self._sharing(across, self._wanted)
        if reads.anywhere:
            nobody = np.zeros(own.stop - own.start, np.bool_)
            to_others = [nobody if rank == self._group.rank else None for rank in range(self._group.size)]
            anywhere = [self._fields["vertex", name] for name in sorted(reads.anywhere)]
            self._anywhere = self._sharing(anywhere, to_others)
        if found:
            self._recount()
        else:
            total = self._ask(Phase.START)
            # With a limit, none waits: there might be no supersteps left for it.
            if limit is None and self._hold(total):
                self._total = self._release()

    def _written(self, of: slice) -> list[Any]:
        """What functions write of some vertices and their edges."""
        spec, fields, arcs = self._spec, self._fields, self._arcs_of(of)
        found = [fields["vertex", name][of] for name in spec.vertex_fields]
        return found + [fields["edge", name][arcs] for name in sorted(spec.edge_writes)]

    def _state(self, of: slice) -> list[np.ndarray]:
        """What a checkpoint has of some vertices and their edges: values, which vertices are active, and aggregates."""
        found = [*self._written(of), *(self._fields["aggregate", name] for name in self._spec.aggregators)]
        return [*map(self._on_host, found), np.packbits(self._on_host(self._is_to_begin(of)))]

    def _arcs_of(self, of: slice) -> Any:
        """The arcs of a rank with some vertices, as an index of this form's arrays."""
        found = arcs_of(self._arcs, of, self._pulls)
        return self._from_host(found) if isinstance(found, np.ndarray) else found

    def _take_state(self, of: slice, state: list[np.ndarray]) -> None:
        """Take what a checkpoint has of some vertices."""
        spec, fields, arcs = self._spec, self._fields, self._arcs_of(of)
        values = map(self._from_host, state[:-1])
        for name in spec.vertex_fields:
            fields["vertex", name][of] = next(values)
        for name in sorted(spec.edge_writes):
            fields["edge", name][arcs] = next(values)
        for name in spec.aggregators:
            fields["aggregate", name][:] = next(values)
        flags, own = np.unpackbits(state[-1], count=of.stop - of.start).view(np.bool_), self._own
        if not self._pulls:  # messages for active vertices of other ranks would not be listed
            flags[: max(0, own.start - of.start)] = False
            flags[max(0, own.stop - of.start) :] = False
        self._activate(of, self._from_host(flags))

    def _ask(self, phase: Phase) -> int:
        """Ask vertices whether they are active; how many are, on all ranks."""
        self._vote(phase)
        self._share()
        if self._total == UNKNOWN:
            self._total = self._active_vertices()
        return self._total

    def _share(self) -> None:
        """Tell other ranks what has changed: values, which vertices are active if messages are pulled, and what
        aggregates are of this rank's vertices. How many vertices are active is known then, if anything was told."""
        told, self._total = list[list[Any]](), UNKNOWN
        if self._reads.anywhere:
            for rank, (part,) in enumerate(self._exchange([self._anywhere.changes()])[0]):
                self._take(self._anywhere, rank, part)
        tells_active = self._pulls and self._group.size > 1
        if self._reads.across:
            told.append(self._across.changes())
        if tells_active:
            told.append(self._active_for())
        if self._spec.aggregators:
            told.append([self._folded()] * self._group.size)
        if not told:
            return
        received, counts = self._exchange(told)
        for rank, parts in enumerate(received):
            pieces = iter(parts)
            if self._reads.across:
                self._take(self._across, rank, next(pieces))
            if tells_active:
                of = self._ranges.of(rank)
                self._activate(of, self._placed(next(pieces), of))
            if self._spec.aggregators:
                self._take_folded(rank, next(pieces))
        if self._spec.aggregators:
            self._join_folded()
        self._total = sum(counts)

    def _take(self, told: Any, rank: int, part: Any) -> None:
        if rank != self._group.rank:
            told.take(part, self._ranges.of(rank))

    def _folded(self) -> Any:
        """What the aggregates of this rank's parts are, to be told."""
        mine = self._parts[self._group.rank]
        for part in (part for part in mine if part.results):
            of = slice(part.low, part.high)
            work = PROGRAM_ITEM * (part.high - part.low)
            self._call(Phase.FOLD, of=of, step=part.length, first=part.first, work=work)
        return self._whole([each[places_of(mine)] for each in self._results])

    @property
    def _results(self) -> list[Any]:
        """The results of parts of all ranks, of each aggregate."""
        return [self._fields["partial", name] for name in self._spec.aggregators]

    def _take_folded(self, rank: int, told: Any) -> None:
        """Take what the aggregates of a rank's parts are."""
        places, results = places_of(self._parts[rank]), self._results
        found = self._columns(told, places.stop - places.start, [each.dtype for each in results])
        for each, values in zip(results, found, strict=True):
            each[places] = values

    def _join_folded(self) -> None:
        """Make aggregates of the results of all parts: first of each block, then of all blocks."""
        for block in self._in_several:
            self._call(Phase.TOTAL, of=block)
        for each in self._results:
            each[: len(self._blocks)] = each[self._blocks]
        self._join_blocks(len(self._blocks))

    def _join_blocks(self, count: int) -> None:
        """Make aggregates of the first results, one for each block, in their order."""
        self._call(Phase.TOTAL, of=slice(0, count))

    def _outcome(self, ended: Ending) -> PartOutcome:
        spec, fields, group = self._spec, self._fields, self._group
        if self._checkpoints:
            self._checkpoints.end()
        way = "pull" if self._pulls else "push"
        exchanges, sent = group.exchanges - self._before[0], group.sent_bytes - self._before[1]
        notes = (
            f"rank {group.rank} of {group.size} has the vertices {self._own.start:,} to {self._own.stop - 1:,}",
            f"ranks {way}",
            *self._notes(),
            f"{exchanges:,} exchanges; this rank sent {sent:,} bytes",
        )
        return PartOutcome(
            {name: fields["vertex", name] for name in spec.vertex_fields},
            {
                name: self._on_host(fields["edge", name])
                for name in spec.edge_fields
                if name in spec.edge_writes
            },
            {name: fields["aggregate", name][0].item() for name in spec.aggregators},
            self._superstep,
            ended,
            notes,
            group=group,
            ranges=self._ranges,
            arcs=self._arcs,
            pulls=self._pulls,
        )


def places_of(parts: list[Part]) -> slice:
    """Where the results of one rank's parts are among those of all ranks."""
    return slice(parts[0].first, parts[-1].first + parts[-1].results)
