"""Programs that run on several processes: one of each on every rank that torchrun has started."""

import os
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from edgewise.engine.contract import AbstractEngine, Outcome
from edgewise.engine.delivery import Delivery
from edgewise.engine.distributed.checkpoint import Checkpoints
from edgewise.engine.distributed.group import Group, connect
from edgewise.engine.distributed.outcome import PartOutcome
from edgewise.engine.distributed.partition import Ranges
from edgewise.engine.distributed.program import DistributedProgram
from edgewise.engine.lowering.compiled import compiled_for
from edgewise.errors import DistributedError, ScheduleError
from edgewise.execution import Chosen, Execution, as_schedule, choose
from edgewise.graph import Graph, check_graph
from edgewise.kernels.cache import program_function
from edgewise.kernels.cpu.team import available_threads
from edgewise.program.declare import Program
from edgewise.program_result import ProgramResult
from edgewise.run import Prepared, instance_of, prepared_for
from edgewise.schedule import Ranks, Schedule
from edgewise.text import shown

#: The supersteps between two checkpoints, if nothing is said.
EVERY = 10
#: What a result has beside what each result has: no vertex field may have such a name.
_OWN_NAMES = {"group_rank", "group_size", "vertices", "sent_bytes", "gather"}


class DistributedResult:
    """The final state of a program's run on one rank. Vertex fields are attributes: ``result.distance`` has the values
    of this rank's vertices alone.

    Attributes:
        graph: the graph.
        vertices: the indices of this rank's vertices, a slice.
        group_rank, group_size: which rank this is, of how many.
        aggregates: the last value of each aggregator, the same on all ranks.
        supersteps: how many were run.
        ended: why the run ended.
        sent_bytes: what this rank sent to others in all runs so far.
    """

    def __init__(
        self, prepared: Prepared, values: dict[str, Any], run: Execution, outcome: PartOutcome
    ) -> None:
        self.graph, self.vertices = prepared.graph.itself, outcome.ranges.own
        self.group_rank, self.group_size = outcome.group.rank, outcome.group.size
        self.aggregates, self.supersteps = outcome.aggregates, outcome.supersteps
        self.ended, self.sent_bytes = str(outcome.ended), outcome.group.sent_bytes
        self._prepared, self._values, self._run, self._outcome = prepared, values, run, outcome

    @property
    def seconds(self) -> float:
        """How long the run took, without compiling and laying out."""
        return self._run.seconds

    @property
    def fields(self) -> dict[str, np.ndarray]:
        """The vertex fields of this rank's vertices, by name."""
        return {name: values[self.vertices] for name, values in self._outcome.vertex_fields.items()}

    def __getattr__(self, name: str) -> np.ndarray:
        outcome = vars(self).get("_outcome")
        if outcome is None or name not in outcome.vertex_fields:
            raise AttributeError(
                f"the result of a distributed run has no '{name}', but the values of this rank's vertices; gather() "
                "gives the whole result, on each rank"
            )
        found: np.ndarray = outcome.vertex_fields[name][self.vertices]
        return found

    def __dir__(self) -> Iterator[str]:
        return iter(sorted({*super().__dir__(), *self._outcome.vertex_fields}))

    def __repr__(self) -> str:
        own, fields = self.vertices, ", ".join(self._outcome.vertex_fields)
        return (
            f"<DistributedResult: {fields} of the vertices {own.start:,} to {own.stop - 1:,}, rank {self.group_rank} "
            f"of {self.group_size}; gather() gives all>"
        )

    def explain(self) -> str:
        """How the run was carried out, a line for each decision."""
        return "\n".join(self._run.notes)

    def gather(self) -> ProgramResult:
        """The result of the whole run, on each rank. All ranks have to call it.

        Raises:
            DistributedError: another rank has ended, or does not answer in time.
        """
        return ProgramResult(self._prepared, self._values, self._run, self._outcome.gather())


class PreparedRank(Prepared):
    """A program validated, compiled and laid out for one rank of several.

    Args:
        program, graph, device, schedule, in_edges: as for `edgewise.run.Prepared`.
    """

    #: How runs are divided among the ranks.
    asked = Ranks()

    def __init__(
        self, program: type[Program], graph: Graph, device: str, schedule: Schedule, in_edges: bool = False
    ) -> None:
        super().__init__(program, graph, device, schedule, in_edges)
        self.checkpoints: Checkpoints | None = None

    def _choose(self, limit: int | None) -> Chosen:
        return choose(self.spec.name, self.graph, "cpu", self._schedule, work=0, rounds=1, programmed=True)

    def _made(self, on_gpu: bool, delivery: Delivery, message: np.dtype) -> AbstractEngine:
        self._check_current()
        compiled = compiled_for(self.spec, program_function)
        return DistributedProgram(compiled, self._binding, message, connect(), self.asked)

    def _carry_out(self, engine: AbstractEngine, *how: Any, **more: Any) -> Outcome:
        if isinstance(engine, DistributedProgram):
            engine.checkpoints = self.checkpoints
        return super()._carry_out(engine, *how, **more)

    def _result(self, values: dict[str, Any], run: Execution, outcome: Outcome) -> Any:
        return DistributedResult(self, values, run, outcome) if isinstance(outcome, PartOutcome) else None


class PreparedInGrid(PreparedRank):
    """As `PreparedRank`, in a grid of ranks."""

    asked = Ranks(grid=True)


class PreparedWithoutGrid(PreparedRank):
    """As `PreparedRank`, of ranks that have the arcs of their vertices."""

    asked = Ranks(grid=False)


class PreparedAlone(Prepared):
    """A program validated, compiled and laid out for the only rank, which runs it as if there were no ranks."""

    def _result(self, values: dict[str, Any], run: Execution, outcome: Outcome) -> Any:
        ranges = Ranges(0, [0, self.graph.num_vertices])
        whole = PartOutcome(**vars(outcome), group=connect(), ranges=ranges, arcs=None, pulls=False)
        return DistributedResult(self, values, run, whole)


def _threads_of_rank() -> int:
    """The threads of one rank, where the ranks of a machine share its processors."""
    text = os.environ.get("LOCAL_WORLD_SIZE", "1")
    here = int(text) if text.isdigit() and int(text) > 0 else 1
    return max(1, available_threads() // here)


def run(
    program: Program | type[Program],
    graph: Graph,
    *,
    ranks: Ranks,
    device: str,
    schedule: Schedule | None,
    checkpoint: Any = None,
    every: int = EVERY,
    **how: Any,
) -> DistributedResult:
    """Run a program on all ranks together; see `edgewise.run`."""
    instance = instance_of(program)
    name = type(instance).__name__
    if how["check"]:
        raise DistributedError(
            f"{name}: check=True is for a run by one process; leave distributed out, or check a small graph before"
        )
    check_graph(name, graph)
    group = ranks_for(name, graph, device)
    kinds = {each.asked: each for each in (PreparedRank, PreparedInGrid, PreparedWithoutGrid)}
    is_alone = group.size == 1 and checkpoint is None
    make = PreparedAlone if is_alone else kinds[ranks]
    prepared: Any = prepared_for(type(instance), graph, "cpu", schedule_of_rank(name, schedule), make=make)
    taken = sorted(_OWN_NAMES & set(prepared.spec.vertex_fields))
    if taken:
        raise DistributedError(
            f"{name} has a vertex field {taken[0]!r}; this name is taken, for each result of a distributed run has a "
            f"{taken[0]!r} of its own; choose another"
        )
    prepared.checkpoints = None if checkpoint is None else Checkpoints(checkpoint, every, group, name)
    found: DistributedResult = prepared.run(dict(instance.values), **how)
    return found


def ranks_for(name: str, graph: Graph, device: Any) -> Group:
    """The ranks that carry out a run on a graph together.

    Raises:
        DistributedError: another device than the CPU, or graphs that differ between ranks; and as `connect`.
    """
    if not isinstance(device, str) or device not in ("auto", "cpu"):
        raise DistributedError(
            f"{name}: device is {shown(device)}; distributed runs are on CPUs so far: expected 'cpu'"
        )
    group = connect()
    _check_same_graph(name, graph, group)
    return group


def schedule_of_rank(name: str, schedule: Any) -> Schedule:
    """The schedule of one rank. Raises ScheduleError if more than a number of threads is asked for."""
    asked = as_schedule(name, schedule)
    if (asked.delivery, asked.balance, asked.layout) != ("auto", "auto", "auto"):
        raise ScheduleError(
            f"{name}: got {asked}; a distributed run decides by itself how messages go: expected num_threads alone"
        )
    return asked if asked.num_threads else replace(asked, num_threads=_threads_of_rank())


def _check_same_graph(name: str, graph: Graph, group: Group) -> None:
    """Refuse graphs that differ between ranks, as far as a look at them tells."""
    n, m = graph.num_vertices, graph.num_arcs
    rows = np.linspace(0, n, min(n + 1, 1024)).astype(np.int64)
    arcs = np.linspace(0, max(0, m - 1), min(m, 1024)).astype(np.int64)
    weighed = np.ones(len(arcs)) if graph.weights is None else graph.weights[arcs]
    some = graph.offsets[rows], graph.targets[arcs], weighed.astype(np.float64).view(np.int64)
    call = zlib.crc32(name.encode())
    seen = np.concatenate([[call, n, m, graph.weighted], *some]).astype(np.int64)
    for rank, told in enumerate(group.everywhere(seen.view(np.uint8))[0]):
        other = told[: len(told) // 8 * 8].view(np.int64)
        if len(other) < 4 or other[0] != call:
            raise DistributedError(
                f"{name}: rank {rank} calls something else than rank {group.rank}; expected the same call on all ranks"
            )
        if len(other) != len(seen) or (other != seen).any():
            what = (
                f"of {other[1]:,} and {other[2]:,}"
                if (other[1], other[2]) != (n, m)
                else "of other arcs or weights"
            )
            raise DistributedError(
                f"{name}: rank {group.rank} has a graph of {n:,} vertices and {m:,} arcs, and rank {rank} another one, "
                f"{what}; expected the same on all ranks, read from the same file"
            )
