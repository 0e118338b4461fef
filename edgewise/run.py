"""Run a program on a graph: the one place that joins programs, graphs and engines and refuses what cannot be."""

import json
import time
import weakref
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from edgewise.engine import reference
from edgewise.engine.contract import Ending, Outcome
from edgewise.engine.cpu.program import CpuProgram, first_running
from edgewise.engine.delivery import Delivery, check_delivery, decide
from edgewise.engine.lowering.binding import bind, check_identity, parameter_values
from edgewise.engine.lowering.compiled import check_types, compiled_for
from edgewise.errors import GraphError, ProgramError, VerificationError
from edgewise.execution import (
    Chosen,
    Execution,
    Progress,
    as_integer,
    as_schedule,
    check_schedule,
    choose,
    execution,
    refuse_early,
    threads_of,
)
from edgewise.graph import Graph
from edgewise.graph.checks import check_flags
from edgewise.kernels.cache import kept, program_function
from edgewise.kernels.costs import PROGRAM_ITEM, levels
from edgewise.memory import held, in_turn
from edgewise.program.declarations import refusal
from edgewise.program.declare import VERTEX, Program
from edgewise.program.inspect import specification
from edgewise.result import Result, ids_or_none
from edgewise.schedule import Buffered, Pull, Push, Schedule
from edgewise.text import shown


class ProgramResult(Result):
    """The final state of a program's run. Fields are attributes: ``result.distance``.

    Vertex fields have the shape (num_vertices,), a `VERTEX` field holds indices; edge fields that the program writes
    have the shape (num_arcs,), in CSR order.

    Attributes:
        aggregates: the last value of each aggregator.
        ended: why the run ended.
        phase_seconds: of a run in rounds on a GPU, by its clock: "delivering" messages, of that "sharing" out arcs
            before and "gathering" over the slots of a message buffer, "computing" vertices, and the whole "kernel";
            else empty.
        memory_bytes: on a GPU: of the "graph", of what the "strategy" (`Schedule.balance`) and the "layout"
            (`Schedule.layout`) made for it, and of the "run", its results included; else empty.
    """

    aggregates: dict[str, Any]
    ended: str
    phase_seconds: dict[str, float]
    memory_bytes: dict[str, int]

    def __init__(self, prepared: "Prepared", given: dict[str, Any], run: Execution, outcome: Outcome) -> None:
        arrays = {**outcome.vertex_fields, **outcome.edge_fields}
        super().__init__(prepared.graph.itself, run, outcome.supersteps, arrays)
        self.aggregates = outcome.aggregates
        self.ended = str(outcome.ended)
        self.phase_seconds = outcome.phase_seconds
        self.memory_bytes = outcome.memory_bytes
        self._prepared, self._given = prepared, given

    @cached_property
    def fields(self) -> dict[str, np.ndarray]:
        """The vertex fields, copied from the GPU if they are there."""
        return {name: self.host_array(name) for name in self._prepared.found.vertex_fields}

    @cached_property
    def edge_fields(self) -> dict[str, np.ndarray]:
        """The edge fields that the program writes."""
        found = self._prepared.found
        return {name: self.host_array(name) for name in found.edge_fields if name in found.edge_writes}

    def __getattr__(self, name: str) -> Any:
        """A vertex field, edge field or aggregate by its name."""
        arrays, aggregates = self.__dict__.get("_arrays", {}), self.__dict__.get("aggregates", {})
        if name in arrays:
            return self.host_array(name)
        if name in aggregates:
            return aggregates[name]
        raise AttributeError(f"the result has no '{name}'; it has {', '.join((*arrays, *aggregates))}")

    def columns(self) -> dict[str, np.ndarray]:
        """The vertex fields; those declared as `VERTEX` in the user's ids."""
        declared = self._prepared.found.vertex_fields
        return {
            name: self._ids(name) if declared[name].dtype is VERTEX else values
            for name, values in self.fields.items()
        }

    def _ids(self, name: str) -> np.ndarray:
        """A `VERTEX` field in the user's ids."""
        indices, n = self.fields[name], self.graph.num_vertices
        if indices.max(initial=-1) >= n:
            v = int(indices.argmax())
            vertex = self.graph.vertices[[v]].tolist()[0]
            raise GraphError(
                f"{self._prepared.found.name}.{name} of vertex {shown(vertex)} is {indices[v]}, which is no vertex: "
                f"indices go from 0 to {n - 1}, and -1 is none. Run the program with check=True, which says where that "
                "is written"
            )
        return ids_or_none(self.graph, indices)

    def verify(self, graph: Graph) -> bool:
        """Run the same program in plain Python and compare: slow, a microsecond or more for each edge visited.

        Floats may differ by rounding (relative 1e-6 for float32, 1e-9 for float64). Asynchronous programs take other
        supersteps than the reference, so only their ends are compared.

        Raises:
            VerificationError: naming the first vertex that differs; or an asynchronous program was cut short.
        """
        prepared = self._prepared if graph is self.graph else Prepared(self._prepared.program, graph)
        limit: int | None = self.supersteps
        if prepared.program.asynchronous:
            if self.ended != str(Ending.FINISHED):
                raise VerificationError(
                    f"{prepared.found.name} is asynchronous and was cut short ({self.ended}): what it had reached "
                    "depends on the order of its work. Run it to its end to verify it"
                )
            limit = None
        expected = prepared.reference(self._given, limit)
        for name, values in expected.vertex_fields.items():
            got = self.fields[name]
            tolerance = {"float32": 1e-6, "float64": 1e-9}.get(str(values.dtype), 0.0)
            same = np.isclose(got, values, rtol=tolerance, atol=tolerance, equal_nan=True)
            if not same.all():
                v = int(np.argmin(same))
                raise VerificationError(
                    f"{name} of vertex {graph.ids_of(np.array([v]))[0]} is {got[v]}; the reference has {values[v]}"
                )
        return True


class _Compiled(NamedTuple):
    """A program for parameters of some types: its engine, the dtype of messages, and whether it is one for a GPU."""

    engine: Any
    message: np.dtype
    on_gpu: bool


#: How often a program is likely to look at all vertices and arcs, or as often as at all.
_LIKELY_PASSES = 3


def _types(parameters: dict[str, Any]) -> tuple[type, ...]:
    return tuple(type(value) for value in parameters.values())


class Prepared:
    """A program validated, compiled and laid out for one graph; see `prepare`."""

    def __init__(
        self,
        program: type[Program],
        graph: Graph,
        device: str = "auto",
        schedule: Schedule | None = None,
        in_edges: bool = False,
    ) -> None:
        if not isinstance(graph, Graph):
            raise ProgramError(f"got {shown(graph)} for the graph, expected an edgewise.Graph")
        check_flags(ProgramError, "prepare: ", in_edges=in_edges)
        self.program, self.graph = program, graph
        self._schedule = as_schedule(program.__name__, schedule)
        self._device, self._in_edges = device, in_edges
        self.found = specification(program)
        for name in sorted(self.found.declared & ProgramResult.own_names()):
            problem = f": this name is taken, for each result has a '{name}' of its own; choose another"
            raise refusal(program, name, problem)
        self._binding = bind(self.found, graph)
        check_delivery(self.found, self._schedule)
        self._compiled: dict[Any, _Compiled] = {}
        self._messages: dict[tuple[type, ...], np.dtype] = {}
        #: Seconds that the last layout of the graph for this program took: in-edges, copies, what a strategy needs.
        self.layout_seconds = 0.0

    def __call__(
        self,
        *,
        max_supersteps: int | None = None,
        progress: Progress = None,
        memory_limit: int | None = None,
        check: bool = False,
        seed: int | None = None,
        **values: Any,
    ) -> ProgramResult:
        """Run the program. ``values`` are its parameters, and arrays for its fields.

        Args:
            max_supersteps: end after so many; None takes the program's own limit.
            progress: True for a bar on a terminal, or a function of the number of supersteps done.
            memory_limit: bytes that the run may take beyond what there is: results, arrays to work in, and in-edges and
                the like that it makes for the graph. On a GPU, only the first two count: what is made once for the
                graph (in-edges, copies, a strategy's arrays) is refused only where the GPU has no room for it.
            check: run in plain Python, with every index, write and overflow checked; slow.
            seed: of ``ew.random``, an integer of 64 bits; 0 if left out.

        Raises:
            ProgramError: a value that is missing, unknown or of the wrong kind; a seed where nothing is random; with
                ``check``, what a function may not do.
            MemoryLimitError: more memory is needed than allowed.
        """
        return self.run(
            values,
            max_supersteps=max_supersteps,
            progress=progress,
            memory_limit=memory_limit,
            check=check,
            seed=seed,
        )

    def run(
        self,
        values: dict[str, Any],
        *,
        max_supersteps: int | None,
        progress: Progress,
        memory_limit: int | None,
        check: bool,
        seed: int | None,
    ) -> ProgramResult:
        """The same with the values in a dict."""
        asked = self.program.max_supersteps if max_supersteps is None else max_supersteps
        limit = as_integer(asked)
        if asked is not None and (limit is None or not 0 <= limit < 2**63):
            raise ProgramError(
                f"max_supersteps is {shown(asked)}; expected None or an integer from 0 to 2**63 - 1"
            )
        check_flags(ProgramError, f"{self.found.name}: ", check=check)
        values = self._with_seed(values, seed)
        parameters = parameter_values(self._binding, values, look_up=memory_limit is None)
        given = {name: value for name, value in values.items() if name not in parameters}
        chosen = self._choose(limit)
        engine: Any = None
        if check:
            check_schedule(self.found.name, self._schedule, chosen.on_gpu)
            chosen = Chosen(Schedule(), False, False, ("in plain Python, with everything checked",))
        looking_up = held(0)

        def memory_needed() -> int:
            return in_turn(looking_up, held(self._needed(parameters, given, check))).most

        if memory_limit is not None:
            if any(declared.dtype is VERTEX for declared in self.found.parameters.values()):
                looking_up = self.graph.looking_up(())
            refuse_early(self.found.name, chosen, memory_limit, memory_needed)
            parameters = parameter_values(self._binding, values)
        if not check:
            engine = self._compile(parameters, chosen.on_gpu).engine
        with execution(
            self.found.name,
            chosen,
            progress=progress,
            memory_limit=memory_limit,
            memory_needed=memory_needed,
            total=limit,
            deliveries=(Push, Pull, Buffered),
            gpu_memory=lambda: engine.memory_needed,
        ) as run:
            outcome: Outcome = (
                engine(run, parameters, given, limit)
                if engine
                else self.reference(values, limit, strict=True)
            )
        run.notes.extend((*outcome.notes, f"ended after {outcome.supersteps} supersteps: {outcome.ended}"))
        return ProgramResult(self, values, run, outcome)

    @property
    def nbytes(self) -> int:
        """About what is kept from one run to the next."""
        return sum(compiled.engine.memory_kept for compiled in self._compiled.values())

    def _needed(self, parameters: dict[str, Any], given: dict[str, Any], checked: bool) -> int:
        """The memory that a run on the CPU takes, in plain Python where everything is checked."""
        message, threads = self._message(parameters), threads_of(self.found.name, self._schedule)
        if checked:
            return reference.running(self._binding, given).most
        delivery = self._delivery(message, on_gpu=False)
        compiled = self._compiled.get((False, delivery, _types(parameters)))
        if compiled is not None:
            return compiled.engine.running(threads, given).most
        return first_running(self._binding, message, delivery, threads, given).most

    def _with_seed(self, values: dict[str, Any], seed: int | None) -> dict[str, Any]:
        """The values of a run with its seed, which is one of the parameters of a program that draws."""
        if "seed" in values and self.found.draws:
            raise ProgramError(
                f"{self.found.name} has no 'seed': give it to the run; expected ew.run(program, graph, seed=...)"
            )
        if seed is None:
            return values
        if self.found.draws and as_integer(seed) is None:
            raise ProgramError(f"seed is {shown(seed)}; expected an integer")
        if not self.found.draws and "seed" not in self.found.declared:
            raise ProgramError(
                f"{self.found.name} has no 'seed': it draws no random numbers (ew.random); leave it out"
            )
        return {**values, "seed": seed}

    def reference(self, values: dict[str, Any], limit: int | None, *, strict: bool = False) -> Outcome:
        """The same run in plain Python, which defines the answer."""
        parameters = parameter_values(self._binding, values)
        engine = reference.Reference(self._binding, self._message(parameters), strict)
        return engine(Execution(self._schedule, 1, None), parameters, values, limit)

    def _choose(self, limit: int | None) -> Chosen:
        """Where a run of at most so many supersteps goes."""
        n, m = self.graph.num_vertices, self.graph.num_arcs
        rounds = levels(n, m)
        return choose(
            self.found.name,
            self.graph,
            self._device,
            self._schedule,
            work=PROGRAM_ITEM * (n + m) * min(_LIKELY_PASSES, rounds if limit is None else limit),
            rounds=rounds if limit is None else min(limit, rounds),
            programmed=True,
        )

    def _compile(self, parameters: dict[str, Any], on_gpu: bool) -> "_Compiled":
        """The engine for these parameters: those without a declared dtype may change the types of messages."""
        message = self._message(parameters)
        delivery = self._delivery(message, on_gpu)
        key = on_gpu, delivery, _types(parameters)
        if key not in self._compiled:
            self._compiled[key] = self._made(on_gpu, delivery, message)
        return self._compiled[key]

    def _message(self, parameters: dict[str, Any]) -> np.dtype:
        """The dtype of messages for these parameters."""
        types = _types(parameters)
        if types not in self._messages:
            self._messages[types] = self._message_dtype(parameters)
        return self._messages[types]

    def _check_current(self) -> None:
        """Refuse to compile what has changed since it was read: its code would be kept under the key of what it was."""
        if not self.found.is_unchanged:
            raise ProgramError(
                f"{self.found.name} has to be compiled, and its class, or what its functions refer to, has changed "
                "since it was prepared; prepare it again, or declare what changes as ew.parameter"
            )

    def _made(self, on_gpu: bool, delivery: Delivery, message: np.dtype) -> "_Compiled":
        self._check_current()
        started = time.perf_counter()
        engine: Any
        if on_gpu:
            from edgewise.engine.cuda.program import GpuProgram
            from edgewise.kernels.cuda import device as cuda_device
            from edgewise.kernels.cuda import memory as cuda_memory

            if forget_programs not in cuda_memory.spare:
                cuda_memory.spare.append(forget_programs)
            compiled = compiled_for(self.found, cuda_device.device_function)
            engine = GpuProgram(compiled, self._binding, message, delivery)
            cuda_memory.finish()
        else:
            compiled = compiled_for(self.found, program_function)
            engine = CpuProgram(compiled, self._binding, message, delivery)
        self.layout_seconds += time.perf_counter() - started
        return _Compiled(engine, message, on_gpu)

    def _message_dtype(self, parameters: dict[str, Any]) -> np.dtype:
        """Check the types of the program, once for each version of its source; the dtype of messages."""
        compiled, binding = compiled_for(self.found, program_function), self._binding
        dtypes = [
            str(dtype)
            for group in (binding.vertex, binding.edge, binding.aggregates)
            for dtype in group.values()
        ]
        kinds = [type(value).__name__ for value in parameters.values()]
        types = json.dumps([dtypes, kinds, str(binding.message)])
        if types not in self.found.kept:
            self._check_current()
            question = self.found.key and f"{self.found.key}\n{types}"
            answer = kept(
                question, __name__, lambda: str(check_types(compiled, binding, parameters)).encode()
            )
            self.found.kept[types] = binding.message or np.dtype(answer.decode())
        message: np.dtype = self.found.kept[types]
        check_identity(self.found, message)
        return message

    def _delivery(self, message: np.dtype, on_gpu: bool) -> Delivery:
        """How messages reach vertices, with the in-edges that there are now."""
        check_schedule(self.found.name, self._schedule, on_gpu)
        in_edges = self.graph.has_in_edges or self._in_edges
        return decide(self.found, message, self._schedule, in_edges, on_gpu)


def prepare(
    program: type[Program], graph: Graph, *, device: str = "auto", schedule: Schedule | None = None
) -> Prepared:
    """Validate a program, compile it and lay it out for a graph, once for many calls.

    ::

        distances = ew.prepare(SSSP, graph)
        first, second = distances(source=3), distances(source=4)

    The first call compiles and lays the graph out, with in-edges where it may pull. On a CPU, a later one costs less
    than 50 µs beyond its work.

    Args:
        program: a subclass of `Program`.
        graph: what to run it on.
        device: "auto", "cpu", or "cuda": see `edgewise.execution.choose`.
        schedule: how to run it; None for the best choice at each superstep.

    Raises:
        ProgramError: the program breaks the contract; the message names function and line.
        GraphError: the program reads weights that the graph does not have.
    """
    if isinstance(program, Program):
        raise ProgramError(f"prepare: got an instance of {type(program).__name__}, expected the class")
    return Prepared(program, graph, device, schedule, in_edges=True)


def run(
    program: Program | type[Program],
    graph: Graph,
    *,
    device: str = "auto",
    schedule: Schedule | None = None,
    max_supersteps: int | None = None,
    progress: Progress = None,
    memory_limit: int | None = None,
    check: bool = False,
    seed: int | None = None,
) -> ProgramResult:
    """Run a program on a graph: ``ew.run(SSSP(source=3), graph)``. See `prepare` for many runs on one graph.

    Args:
        program: an instance, or a class all of whose parameters have defaults.
        graph: what to run it on.
        device: "auto", "cpu", or "cuda": see `edgewise.execution.choose`.
        schedule: how to run it; None for the best choice at each superstep.
        max_supersteps, progress, memory_limit, check, seed: as for a call of what `prepare` returns.

    Raises:
        ProgramError: the program breaks the contract, or a value is wrong.
        GraphError: a vertex that the graph does not have, or weights that it lacks.
    """
    instance = program() if isinstance(program, type) and issubclass(program, Program) else program
    if not isinstance(instance, Program):
        raise ProgramError(
            f"run: got {shown(program)}, expected an instance of a subclass of edgewise.Program"
        )
    prepared = _prepared_for(type(instance), graph, device, as_schedule(type(instance).__name__, schedule))
    return prepared.run(
        dict(instance.values),
        max_supersteps=max_supersteps,
        progress=progress,
        memory_limit=memory_limit,
        check=check,
        seed=seed,
    )


#: Programs that a graph keeps laid out for further runs; together they take no more than the graph, or this.
KEPT_PROGRAMS, KEPT_BYTES = 4, 1 << 26

_graphs_with_programs: "weakref.WeakSet[Graph]" = weakref.WeakSet()


def _prepared_for(program: type[Program], graph: Graph, device: Any, schedule: Schedule) -> Prepared:
    """A program laid out for a graph, which keeps the last few while they are current.

    What is kept knows the graph by a weak proxy, so that a graph that nobody uses any more goes at once.
    """
    if not isinstance(graph, Graph) or not isinstance(device, str):
        return Prepared(program, graph, device, schedule)  # refuses them
    key, kept_programs = (program, device, schedule), graph.programs
    prepared: Prepared | None = kept_programs.get(key)
    if prepared is None or not prepared.found.is_current:
        prepared = Prepared(program, weakref.proxy(graph), device, schedule)
        kept_programs.pop(key, None)
        room = max(KEPT_BYTES, graph.stored("targets").nbytes)
        while (
            len(kept_programs) >= KEPT_PROGRAMS or sum(each.nbytes for each in kept_programs.values()) > room
        ):
            kept_programs.popitem(last=False)
        kept_programs[key] = prepared
        _graphs_with_programs.add(graph)
    else:
        kept_programs.move_to_end(key)
    return prepared


def forget_programs() -> None:
    """Give back what graphs keep of programs, for the sake of memory."""
    for graph in list(_graphs_with_programs):
        graph.programs.clear()
