"""Programs that run on several processes: one of each on every rank that torchrun has started."""

import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edgewise.engine.contract import AbstractEngine, Outcome
from edgewise.engine.delivery import Delivery
from edgewise.engine.distributed.checkpoint import Checkpoints
from edgewise.engine.distributed.exchange import columns_of
from edgewise.engine.distributed.group import Group, connect, ranks_here, telling_errors
from edgewise.engine.distributed.outcome import PartOutcome
from edgewise.engine.distributed.partition import Ranges
from edgewise.engine.distributed.program import DistributedProgram
from edgewise.engine.distributed.writing import write_by_ranks
from edgewise.engine.lowering.compiled import compiled_for
from edgewise.errors import DeviceError, DistributedError, ParameterError, ProgramError, ScheduleError
from edgewise.execution import Chosen, Execution, as_schedule
from edgewise.graph import Graph, check_graph
from edgewise.graph.likeness import digest_of_graph
from edgewise.kernels.cache import program_function
from edgewise.kernels.cpu.team import available_threads
from edgewise.kernels.door import cuda_door, cuda_problem
from edgewise.program.declare import Program
from edgewise.program_result import ProgramPart, ProgramResult
from edgewise.result import check_count
from edgewise.run import Prepared, forget_programs, instance_of, prepared_for
from edgewise.schedule import Ranks, Schedule
from edgewise.text import shown

#: What users call devices, each told to other ranks by its place.
_DEVICES = ("cpu", "auto", "cuda")
#: The supersteps between two checkpoints, if nothing is said.
EVERY = 10
#: What a result has beside what each result has: no vertex field may have such a name.
_OWN_NAMES = {"group_rank", "group_size", "vertices", "sent_bytes", "gather", "write", "leading"}


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
        self._number = outcome.group.runs
        self._prepared, self._values, self._run, self._outcome = prepared, values, run, outcome
        self._on_host = dict[str, np.ndarray]()

    @property
    def seconds(self) -> float:
        """How long the run took, without compiling and laying out."""
        return self._run.seconds

    @property
    def fields(self) -> dict[str, np.ndarray]:
        """The vertex fields of this rank's vertices, by name."""
        return {name: self._of_own(name) for name in self._outcome.vertex_fields}

    def __getattr__(self, name: str) -> np.ndarray:
        outcome = vars(self).get("_outcome")
        if outcome is None or name not in outcome.vertex_fields:
            raise AttributeError(
                f"the result of a distributed run has no '{name}', but the values of this rank's vertices; gather() "
                "gives the whole result, on each rank"
            )
        return self._of_own(name)

    def _of_own(self, name: str) -> np.ndarray:
        """A field of this rank's vertices; it is copied from the GPU when it is first asked for."""
        if name not in self._on_host:
            self._on_host[name] = self._outcome.of_own(name)
        return self._on_host[name]

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
            DistributedError: ranks call something else, or of another run; another rank has ended, or does not answer
                in time.
        """
        with telling_errors():
            self._check_same("gather")
            return ProgramResult(self._prepared, self._values, self._run, self._outcome.gather())

    def write(
        self, path: Any, *, quote_formulas: bool = False, progress: Callable[[int], None] | None = None
    ) -> None:
        """Write the values of all vertices to a file, the one that ``edgewise run --output`` writes in one process:
        whole or not at all. Each rank writes the rows of its vertices. All ranks have to call it.

        Args:
            path: ends in .csv, .tsv, .json (an array of records) or .jsonl (a record on each line), in a folder that
                all ranks share.
            quote_formulas: put an apostrophe before names that a program for spreadsheets would take for formulas.
            progress: a function of the number of rows that this rank has written.

        Warns:
            GraphWarning: on one rank, of names that a program for spreadsheets would take for formulas.

        Raises:
            OutputError: on all ranks, if one of them cannot write, or not in this format.
            GraphError: a `VERTEX` field has a value that is no vertex.
            DistributedError: ranks name other files, call something else, or of another run; another rank has ended,
                or does not answer in time.
        """
        if not isinstance(path, str | os.PathLike):
            raise ParameterError(f"write: path is {shown(path)}; expected the name of a file")
        with telling_errors():
            self._check_same("write")
            part = self._part()
            report = progress or (lambda done: None)
            write_by_ranks(
                Path(path),
                part.table(),
                part.missing(),
                self._outcome.group,
                report,
                quote_formulas=quote_formulas,
            )

    def leading(self, count: int) -> ProgramPart:
        """The result of the vertices that the `top_rows` of the whole result have, at most `count`, on each rank. All
        ranks have to call it.

        Raises:
            ParameterError: the count is not an integer of at least 0.
            DistributedError: as for `gather`; ranks ask for another count.
        """
        with telling_errors():
            self._check_same(f"leading({shown(count)})")
            part, group, first = self._part(), self._outcome.group, self.vertices.start
            places = part.leading(count) if check_count(count) else np.empty(0, np.int64)
            own = [places + first, *(values[places] for values in part.fields.values())]
            dtypes, size = [each.dtype for each in own], sum(each.itemsize for each in own)
            told = np.concatenate([np.ascontiguousarray(each).view(np.uint8) for each in own])
            parts = [columns_of(each, len(each) // size, dtypes) for each in group.everywhere(told)[0]]
            indices, *columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
            return self._of_some(dict(zip(part.fields, columns, strict=True)), indices)

    def __reduce__(self) -> Any:
        raise DistributedError(
            "the result of a distributed run has the values of one rank's vertices, and cannot be pickled or copied; "
            "gather() gives the whole result, which can"
        )

    def _check_same(self, call: str) -> None:
        """Refuse a call that other ranks do not make on the result of the same run; all ranks call it."""
        group = self._outcome.group
        rank = group.differing(f"{call} of run {self._number}".encode())
        if rank is not None:
            raise DistributedError(
                f"{call}: rank {rank} calls something else than rank {group.rank}, or on the result of another run; "
                "expected the same call on all ranks, on the results of the same run"
            )

    def _part(self) -> ProgramPart:
        """What this rank has, as a result."""
        own = self.vertices
        return self._of_some(self.fields, np.arange(own.start, own.stop))

    def _of_some(self, fields: dict[str, np.ndarray], indices: np.ndarray) -> ProgramPart:
        """The result of some vertices."""
        run = self._outcome
        some = Outcome(fields, {}, run.aggregates, run.supersteps, run.ended, run.notes)
        return ProgramPart(self._prepared, self._values, self._run, some, indices)


def _choice(device: str, schedule: Schedule) -> Chosen:
    """Where a rank runs: on its GPU, unless the device is "cpu"; what "auto" means is decided before."""
    if device == "cpu":
        return Chosen(schedule, False, False)
    notes = ("on a GPU, for each rank has one",) if device == "auto" else ()
    return Chosen(schedule, True, False, notes, is_free=device == "auto")


class PreparedAlone(Prepared):
    """A program validated, compiled and laid out for the only rank, which runs it as if there were no ranks.

    Args:
        program, graph, schedule, in_edges: as for `edgewise.run.Prepared`.
        device: "cpu", "cuda", or "auto" for a GPU unless it has no room on one of the ranks.

    Attributes:
        checkpoints: where the state of the next run is kept, or None.
    """

    #: How runs are divided among the ranks.
    asked = Ranks()

    def __init__(
        self,
        program: type[Program],
        graph: Graph,
        device: str = "auto",
        schedule: Schedule | None = None,
        in_edges: bool = False,
    ) -> None:
        super().__init__(program, graph, device, schedule, in_edges)
        self.checkpoints: Checkpoints | None = None
        taken = sorted(_OWN_NAMES & set(self.spec.vertex_fields))
        if taken:
            raise DistributedError(
                f"{self.spec.name} has a vertex field {taken[0]!r}; this name is taken, for each result of a "
                f"distributed run has a {taken[0]!r} of its own; choose another"
            )

    def run(self, values: dict[str, Any], *, check: bool, **how: Any) -> Any:
        """Run the program with values in a dict; see `edgewise.run.Prepared.run`. All ranks call it."""
        with telling_errors():
            _refuse_check(self.spec.name, check)
            return super().run(values, check=check, **how)

    def _choose(self, limit: int | None) -> Chosen:
        return _choice(self._device, self._schedule)

    def _result(self, values: dict[str, Any], run: Execution, outcome: Outcome) -> Any:
        ranges = Ranges(0, [0, self.graph.num_vertices])
        whole = PartOutcome(**vars(outcome), group=connect(), ranges=ranges, arcs=None, pulls=False)
        return DistributedResult(self, values, run, whole)


class PreparedRank(PreparedAlone):
    """A program validated, compiled and laid out for one rank of several."""

    def _made(self, on_gpu: bool, delivery: Delivery, message: np.dtype) -> AbstractEngine:
        self._check_current()
        if not on_gpu:
            compiled = compiled_for(self.spec, program_function)
            return DistributedProgram(compiled, self._binding, message, connect(), self.asked)
        from edgewise.engine.distributed.program_cuda import DistributedGpuProgram
        from edgewise.kernels.cuda import device as cuda_device
        from edgewise.kernels.cuda import memory as cuda_memory

        if forget_programs not in cuda_memory.spare:
            cuda_memory.spare.append(forget_programs)
        compiled = compiled_for(self.spec, cuda_device.device_function)
        return DistributedGpuProgram(compiled, self._binding, message, connect())

    def _carry_out(self, engine: Any, *how: Any, **more: Any) -> Outcome:
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


def _threads_of_rank() -> int:
    """The threads of one rank, where the ranks of a machine share its processors."""
    return max(1, available_threads() // ranks_here())


def run(
    program: Program | type[Program],
    graph: Graph,
    *,
    ranks: Ranks,
    device: str,
    schedule: Schedule | None,
    checkpoint: Any = None,
    every: Any = None,
    **how: Any,
) -> DistributedResult:
    """Run a program on all ranks together; see `edgewise.run`."""
    with telling_errors():
        instance = instance_of(program)
        name = type(instance).__name__
        if every is not None and checkpoint is None:
            raise ParameterError(
                f"{name}: every is {shown(every)}, the supersteps between two checkpoints, and there is no checkpoint; "
                'expected checkpoint="folder" beside it, or neither'
            )
        _refuse_check(name, how["check"])
        check_graph(name, graph)
        if ranks.grid is True and device == "cuda":
            raise DistributedError(
                f"{name}: grid is True, and device is 'cuda'; ranks in a grid are on CPUs: expected 'cpu', or "
                "grid='auto'"
            )
        group, on_gpu = ranks_for(name, graph, device, schedule, takes_gpus=ranks.grid is not True)
        kinds = {each.asked: each for each in (PreparedRank, PreparedInGrid, PreparedWithoutGrid)}
        is_alone = group.size == 1 and checkpoint is None
        make = PreparedAlone if is_alone else kinds[ranks]
        prepared: Any = prepared_for(
            type(instance), graph, device if on_gpu else "cpu", schedule_of_rank(name, schedule), make=make
        )
        kept = None
        if checkpoint is not None:
            kept = Checkpoints(checkpoint, EVERY if every is None else every, group, name)
        prepared.checkpoints = kept
        try:
            found: DistributedResult = prepared.run(dict(instance.values), **how)
        finally:
            prepared.checkpoints = None
            if kept is not None:
                kept.let_go()
        return found


def prepare(program: Any, graph: Graph, *, device: str, schedule: Schedule | None) -> "PreparedAlone":
    """Prepare a program on all ranks together; see `edgewise.prepare`."""
    with telling_errors():
        if not (isinstance(program, type) and issubclass(program, Program)):
            raise ProgramError(
                f"prepare: got {shown(program)}, expected a subclass of edgewise.Program itself"
            )
        name = program.__name__
        check_graph(name, graph)
        group, on_gpu = ranks_for(name, graph, device, schedule)
        make = PreparedAlone if group.size == 1 else PreparedRank
        return make(
            program, graph, device if on_gpu else "cpu", schedule_of_rank(name, schedule), in_edges=True
        )


def _refuse_check(name: str, check: Any) -> None:
    """Refuse what checks every index. Raises DistributedError."""
    if check:
        raise DistributedError(
            f"{name}: check=True is for a run by one process; leave distributed out, or check a small graph before"
        )


def ranks_for(
    name: str, graph: Graph, device: Any, schedule: Any, takes_gpus: bool = True
) -> tuple[Group, bool]:
    """The ranks that carry out a run on a graph together, and whether each does so on a GPU.

    They do if "cuda" is asked for, or if "auto" is, no number of threads is, and each rank has a GPU that can be used.
    Those of one machine take its GPUs in turns.

    Args:
        name, graph, device, schedule: what runs, on what, where and how.
        takes_gpus: whether "auto" may mean GPUs.

    Raises:
        DistributedError: another device; devices, or graphs, that differ between ranks; and as `connect`.
        DeviceError: "cuda", and a rank has no GPU that can be used.
    """
    if not isinstance(device, str) or device not in _DEVICES:
        raise DistributedError(f"{name}: device is {shown(device)}; expected 'auto', 'cpu' or 'cuda'")
    threads, group = as_schedule(name, schedule).num_threads, connect()
    asks = device == "cuda" or (device == "auto" and threads is None and takes_gpus)
    problem = cuda_problem() if asks else "not asked for"
    told = _check_same_graph(name, graph, group, 2 * _DEVICES.index(device) + (problem is None))
    for rank, word in enumerate(told):
        if _DEVICES[word // 2] != device:
            raise DistributedError(
                f"{name}: device is {device!r} on rank {group.rank}, and {_DEVICES[word // 2]!r} on rank {rank}; "
                "expected the same call on all ranks"
            )
    without = [rank for rank, word in enumerate(told) if word % 2 == 0]
    if device == "cuda" and without:
        why = f"device='cuda': {problem}" if problem else "look at its own error"
        raise DeviceError(f"{name}: rank {without[0]} has no GPU that can be used; {why}")
    if not without and group.size > 1:
        text = os.environ.get("LOCAL_RANK", "0")
        cuda_door().use_device(int(text) if text.isdigit() else 0)
    return group, not without


def schedule_of_rank(name: str, schedule: Any, deliveries: tuple[type, ...] = ()) -> Schedule:
    """The schedule of one rank.

    Args:
        name, schedule: what runs, and what is asked for.
        deliveries: the forms of delivery that can be asked for.

    Raises:
        ScheduleError: more than a number of threads and one of these is asked for.
    """
    asked = as_schedule(name, schedule)
    is_given = isinstance(asked.delivery, deliveries) or asked.delivery == "auto"
    if not is_given or (asked.balance, asked.layout) != ("auto", "auto"):
        possible = "".join(f", or delivery={kind.__name__}()" for kind in deliveries)
        raise ScheduleError(
            f"{name}: got {asked}; a distributed run decides by itself how messages go: expected num_threads alone"
            f"{possible}"
        )
    return asked if asked.num_threads else replace(asked, num_threads=_threads_of_rank())


def _check_same_graph(name: str, graph: Graph, group: Group, word: int) -> list[int]:
    """Refuse calls and graphs that differ between ranks, graphs by digests of all that they hold. What word each rank
    told beside that is returned."""
    call, n, m = name.encode(), graph.num_vertices, graph.num_arcs
    content = digest_of_graph(graph, in_edges=True) if group.size > 1 else b""
    head = np.array([zlib.crc32(call), n, m], np.int64).tobytes()
    own = head + content + call
    parts, words = group.everywhere(np.frombuffer(own, np.uint8), word)
    for rank, part in enumerate(parts):
        told = part.tobytes()
        other = told[len(head) + len(content) :]
        if other != call:
            is_name = bool(other) and zlib.crc32(other) == int.from_bytes(told[:8], "little")
            what = other.decode(errors="replace") if is_name else "something else"
            raise DistributedError(
                f"{name}: rank {rank} calls {what}, and rank {group.rank} {name}; expected the same call on all ranks"
            )
        if told != own:
            vertices, arcs = np.frombuffer(told[8 : len(head)], np.int64).tolist()
            what = (
                f"of {vertices:,} and {arcs:,}"
                if (vertices, arcs) != (n, m)
                else "of other arcs, weights or ids, or in a file where this one is not"
            )
            raise DistributedError(
                f"{name}: rank {group.rank} has a graph of {n:,} vertices and {m:,} arcs, and rank {rank} another one, "
                f"{what}; expected the same on all ranks, read from the same file"
            )
    return words
