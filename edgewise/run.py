"""Run a program on a graph: the one place that joins programs, graphs and engines, and checks that they fit."""

import contextlib
import json
import math
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.engine.contract import AbstractEngine, Outcome
from edgewise.engine.cpu.program import CpuProgram
from edgewise.engine.delivery import Delivery, check_delivery, decide
from edgewise.engine.lowering.attributes import with_attributes
from edgewise.engine.lowering.binding import bind, check_identity, parameter_values
from edgewise.engine.lowering.compiled import check_types, compiled_for
from edgewise.engine.reference import Reference
from edgewise.errors import MemoryLimitError, ProgramError
from edgewise.execution import (
    Chosen,
    Execution,
    Progress,
    admit,
    as_integer,
    as_schedule,
    check_limit,
    choose,
    is_final,
    rest_of,
    stop_if_explained,
    threads_of,
)
from edgewise.explain import is_asked
from edgewise.graph import Graph
from edgewise.graph.checks import check_flags
from edgewise.kernels.cache import kept, program_function
from edgewise.kernels.costs import PROGRAM_ITEM, levels
from edgewise.kernels.door import cuda_door
from edgewise.memory import held, in_turn
from edgewise.program.declarations import refusal
from edgewise.program.declare import VERTEX, Program
from edgewise.program.inspect import specification
from edgewise.program_result import ProgramResult
from edgewise.schedule import Buffered, Pull, Push, Schedule, check_schedule
from edgewise.text import shown

#: A guess at the work of a program, in passes over all vertices and arcs.
_LIKELY_PASSES = 3


def _types(parameters: dict[str, Any]) -> tuple[type, ...]:
    return tuple(type(value) for value in parameters.values())


def _without(parameters: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """The values of a run that are not parameters but arrays for fields."""
    return {name: value for name, value in values.items() if name not in parameters}


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
        self._device, self._in_edges = device, in_edges
        self.spec = specification(program)
        self._schedule = as_schedule(self.spec.name, schedule)
        for name in sorted(self.spec.declared & ProgramResult.own_names()):
            problem = f": this name is taken, for each result has a '{name}' of its own; choose another"
            raise refusal(program, name, problem)
        self._binding = bind(self.spec, graph)
        check_delivery(self.spec, self._schedule)
        self._engines: dict[Any, AbstractEngine] = {}
        self._messages: dict[tuple[type, ...], np.dtype] = {}
        self._deliveries: dict[tuple[np.dtype, bool, bool], Delivery] = {}

    def __call__(
        self,
        *,
        max_supersteps: int | None = None,
        progress: Progress = None,
        memory_limit: float | str | None = None,
        check: bool = False,
        seed: int | None = None,
        **values: Any,
    ) -> ProgramResult:
        """Run the program. ``values`` are its parameters, and arrays for its fields.

        Args:
            max_supersteps: the most supersteps to run; None takes the program's own limit.
            progress: True for a bar on a terminal, or a function of the number of supersteps done.
            memory_limit: bytes that the run may take: see `edgewise.execution.admit`.
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
        memory_limit: float | str | None,
        check: bool,
        seed: int | None,
    ) -> ProgramResult:
        """Run the program with values in a dict; see `__call__`."""
        asked = self.program.max_supersteps if max_supersteps is None else max_supersteps
        limit = as_integer(asked)
        if asked is not None and (limit is None or not 0 <= limit < 2**63):
            raise ProgramError(
                f"max_supersteps is {shown(asked)}; expected None or an integer from 0 to 2**63 - 1"
            )
        check_flags(ProgramError, f"{self.spec.name}: ", check=check)
        values = self._with_seed(values, seed)
        filled = with_attributes(self._binding, values)
        looks_up = memory_limit is None and not is_asked()
        parameters = parameter_values(self._binding, filled, look_up=looks_up)
        chosen = self._choose(limit)
        if check:
            check_schedule(self.spec.name, self._schedule, chosen.on_gpu)
            chosen = Chosen(Schedule(), False, False, ("in plain Python, with everything checked",))

        def engine(parameters: dict[str, Any]) -> AbstractEngine:
            return self._reference(parameters) if check else self._engine(parameters, chosen.on_gpu, limit)

        def memory() -> int:
            if chosen.on_gpu:
                return 0  # known when the program is laid out: see `_carry_out`
            by_id = any(declared.dtype is VERTEX for declared in self.spec.parameters.values())
            looking_up = self.graph.looking_up(()) if by_id else held(0)
            threads = threads_of(self.spec.name, self._schedule)
            running = engine(parameters).running(threads, _without(parameters, filled))
            return in_turn(looking_up, held(running.most)).most

        def carried_out() -> tuple[Execution, Outcome]:
            nonlocal chosen
            admission = admit(
                self.spec.name,
                self.graph,
                chosen,
                progress=progress,
                memory_limit=memory_limit,
                memory=memory,
                deliveries=(Push, Pull, Buffered),
                in_order=memory_limit is not None and not chosen.on_gpu and engine(parameters).in_order,
            )
            chosen.warn_of_cpu(self.spec.name)
            run: Execution | None = None
            try:
                with admission.execution(limit) as run:
                    if not run.on_gpu:
                        stop_if_explained(run, self.graph, admission.most)
                    given = parameters if looks_up else parameter_values(self._binding, filled)
                    return run, self._carry_out(engine(given), run, given, filled, limit)
            except MemoryLimitError as refused:
                if is_final(run, refused):
                    raise
                chosen = chosen.on_cpu(refused)
                try:
                    return carried_out()
                except MemoryLimitError:
                    raise refused from None

        run, outcome = carried_out()
        run.notes.extend(outcome.explanation)
        return self._result(values, run, outcome)

    def _result(self, values: dict[str, Any], run: Execution, outcome: Outcome) -> ProgramResult:
        """The result of a run with these values."""
        return ProgramResult(self, values, run, outcome)

    def carry_out(
        self, run: Execution, values: dict[str, Any], limit: int | None, beside: int = 0
    ) -> Outcome:
        """Carry the program out as part of a run.

        Args:
            run: the run; on a GPU, its limit holds for the GPU's memory that the program takes.
            values: as for a call.
            limit: the largest number of supersteps, or None.
            beside: bytes that the run holds for other things than the program.

        Raises:
            MemoryLimitError: more of the GPU's memory is needed than allowed, or free.
        """
        parameters = parameter_values(self._binding, values)
        engine = self._engine(parameters, run.on_gpu, limit)
        return self._carry_out(engine, run, parameters, values, limit, beside)

    def needing(self, run: Execution, values: dict[str, Any]) -> int:
        """Lay the program out as part of a run on a GPU, and give the bytes that it takes there beside that.

        Args:
            run, values: as for `carry_out`.

        Raises:
            MemoryLimitError: more of the GPU's memory is needed than allowed.
        """
        parameters = parameter_values(self._binding, values)
        engine = self._engine(parameters, run.on_gpu, None)
        return self._laid_out(engine, run, _without(parameters, values), 0)

    def _laid_out(self, engine: AbstractEngine, run: Execution, given: dict[str, Any], beside: int) -> int:
        """Lay the program out for an engine on a GPU; the bytes that it takes there beside that."""
        allowed = rest_of(run.memory_limit, beside)
        try:
            if not engine.is_laid_out(allowed, given):
                with run.laying_out():
                    engine.lay_out(allowed, given)
            needed = engine.running(run.num_threads, given).most
            check_limit(self.spec.name, allowed, needed + engine.held_bytes, where="on the GPU")
        except MemoryLimitError as refused:
            if beside == 0 or math.isinf(refused.needed):
                raise
            # With the bytes of the algorithm that it is part of.
            check_limit(self.spec.name, run.memory_limit, int(refused.needed) + beside, where="on the GPU")
            raise
        return needed

    def _carry_out(
        self,
        engine: AbstractEngine,
        run: Execution,
        parameters: dict[str, Any],
        values: dict[str, Any],
        limit: int | None,
        beside: int = 0,
    ) -> Outcome:
        """Carry the program out by an engine with all parameters given, vertices as indices."""
        given = _without(parameters, values)
        room: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        if run.on_gpu:
            needed = self._laid_out(engine, run, given, beside)
            room = cuda_door().room(self.spec.name, needed)
            stop_if_explained(run, self.graph, needed + beside)
        elif not engine.is_laid_out(run.memory_limit, given):
            with run.laying_out():
                engine.lay_out(run.memory_limit, given)
        with room:
            run.begun = True
            return engine(run, parameters, given, limit)

    @property
    def nbytes(self) -> int:
        """About the bytes that are kept from one run to the next."""
        return sum(engine.memory_kept for engine in self._engines.values())

    def _with_seed(self, values: dict[str, Any], seed: int | None) -> dict[str, Any]:
        """The values of a run with its seed, which is a parameter of each program that draws."""
        if "seed" in values and self.spec.draws:
            raise ProgramError(
                f"{self.spec.name} has no 'seed': give it to the run; expected ew.run(program, graph, seed=...)"
            )
        if seed is None:
            return values
        if self.spec.draws and as_integer(seed) is None:
            raise ProgramError(f"seed is {shown(seed)}; expected an integer")
        if not self.spec.draws and "seed" not in self.spec.declared:
            raise ProgramError(
                f"{self.spec.name} has no 'seed': it draws no random numbers (ew.random); leave it out"
            )
        return {**values, "seed": seed}

    def on(self, graph: Graph) -> "Prepared":
        """The program on another graph."""
        return Prepared(self.program, graph)

    def reference(self, values: dict[str, Any], limit: int | None, *, strict: bool = False) -> Outcome:
        """A run with these values in plain Python, which defines the answer."""
        values = with_attributes(self._binding, values)
        parameters = parameter_values(self._binding, values)
        run = Execution(self._schedule, 1, None)
        return self._carry_out(self._reference(parameters, strict), run, parameters, values, limit)

    def _reference(self, parameters: dict[str, Any], strict: bool = True) -> AbstractEngine:
        return Reference(self._binding, self._message(parameters), strict)

    def _choose(self, limit: int | None) -> Chosen:
        """The device for a run of at most `limit` supersteps."""
        n, m = self.graph.num_vertices, self.graph.num_arcs
        rounds = levels(n, m)
        return choose(
            self.spec.name,
            self.graph,
            self._device,
            self._schedule,
            work=PROGRAM_ITEM * (n + m) * min(_LIKELY_PASSES, rounds if limit is None else limit),
            rounds=rounds if limit is None else min(limit, rounds),
            programmed=True,
        )

    def _engine(self, parameters: dict[str, Any], on_gpu: bool, limit: int | None) -> AbstractEngine:
        """The engine for these parameters, whose types may decide that of messages where no dtype is declared, and for
        runs with a limit of supersteps or without."""
        message = self._message(parameters)
        delivery = self._delivery(message, on_gpu).limited(self.spec.name, limit)
        key = on_gpu, delivery, _types(parameters)
        if key not in self._engines:
            self._engines[key] = self._made(on_gpu, delivery, message)
        return self._engines[key]

    def _message(self, parameters: dict[str, Any]) -> np.dtype:
        """The dtype of messages for these parameters."""
        types = _types(parameters)
        if types not in self._messages:
            self._messages[types] = self._message_dtype(parameters)
        return self._messages[types]

    def _check_current(self) -> None:
        """Refuse to compile a program that has changed since it was read: its code would be kept under the old key."""
        if not self.spec.is_unchanged:
            raise ProgramError(
                f"{self.spec.name} has to be compiled, and its class, or what its functions refer to, has changed "
                "since it was prepared; prepare it again, or declare what changes as ew.parameter"
            )

    def _made(self, on_gpu: bool, delivery: Delivery, message: np.dtype) -> AbstractEngine:
        self._check_current()
        if on_gpu:
            from edgewise.engine.cuda.program import GpuProgram
            from edgewise.kernels.cuda import device as cuda_device
            from edgewise.kernels.cuda import memory as cuda_memory

            if forget_programs not in cuda_memory.spare:
                cuda_memory.spare.append(forget_programs)
            compiled = compiled_for(self.spec, cuda_device.device_function)
            return GpuProgram(compiled, self._binding, message, delivery)
        compiled = compiled_for(self.spec, program_function)
        return CpuProgram(compiled, self._binding, message, delivery)

    def _message_dtype(self, parameters: dict[str, Any]) -> np.dtype:
        """Check the types of the program, once for each version of its source. Returns the dtype of messages."""
        compiled, binding = compiled_for(self.spec, program_function), self._binding
        dtypes = [
            str(dtype)
            for group in (binding.vertex, binding.edge, binding.aggregates)
            for dtype in group.values()
        ]
        kinds = [type(value).__name__ for value in parameters.values()]
        types = json.dumps([dtypes, kinds, str(binding.message)])
        if types not in self.spec.kept:
            self._check_current()
            question = self.spec.key and f"{self.spec.key}\n{types}"
            answer = kept(
                question, __name__, lambda: str(check_types(compiled, binding, parameters)).encode()
            )
            self.spec.kept[types] = binding.message or np.dtype(answer.decode())
        message: np.dtype = self.spec.kept[types]
        check_identity(self.spec, message)
        return message

    def _delivery(self, message: np.dtype, on_gpu: bool) -> Delivery:
        """How messages reach vertices, with the in-edges that there are now."""
        in_edges = self.graph.has_in_edges or self._in_edges
        key = message, on_gpu, in_edges
        if key not in self._deliveries:
            check_schedule(self.spec.name, self._schedule, on_gpu)
            way = decide(self.spec, message, self._schedule, in_edges, on_gpu)
            self._deliveries[key] = way if self._in_edges else way.at_once(self.graph.num_arcs)
        return self._deliveries[key]


def prepare(
    program: type[Program], graph: Graph, *, device: str = "auto", schedule: Schedule | None = None
) -> Prepared:
    """Validate a program, compile it and lay it out for a graph, once for many calls.

    ::

        distances = ew.prepare(SSSP, graph)
        first, second = distances(source=3), distances(source=4)

    The first call compiles and lays the graph out, with in-edges if it may pull. On a CPU, a later call costs less than
    50 µs beyond its work.

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
    memory_limit: float | str | None = None,
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
    instance = instance_of(program)
    prepared = prepared_for(type(instance), graph, device, as_schedule(type(instance).__name__, schedule))
    return prepared.run(
        dict(instance.values),
        max_supersteps=max_supersteps,
        progress=progress,
        memory_limit=memory_limit,
        check=check,
        seed=seed,
    )


def instance_of(program: Any) -> Program:
    """A program with its values, from an instance or a class. Raises ProgramError for anything else."""
    instance = program() if isinstance(program, type) and issubclass(program, Program) else program
    if not isinstance(instance, Program):
        raise ProgramError(
            f"run: got {shown(program)}, expected an instance of a subclass of edgewise.Program"
        )
    return instance


#: The most programs that a graph keeps laid out for later runs; and the most bytes of all, or those of its targets.
KEPT_PROGRAMS, KEPT_BYTES = 4, 1 << 26

_graphs_with_programs: "weakref.WeakSet[Graph]" = weakref.WeakSet()


def prepared_for(
    program: type[Program], graph: Graph, device: Any, schedule: Schedule, in_edges: bool = False,
    make: Callable[..., Prepared] = Prepared,
) -> Prepared:  # fmt: skip
    """A program laid out for a graph by `Prepared`, or a class like it; a graph keeps the last few that are current.

    They refer to the graph by a weak proxy, so a graph that nobody uses any more is freed at once.
    """
    if not isinstance(graph, Graph) or not isinstance(device, str):
        return Prepared(program, graph, device, schedule)  # refuses them
    key, kept_programs = (program, device, schedule, in_edges, make), graph.programs
    prepared: Prepared | None = kept_programs.get(key)
    if prepared is None or not prepared.spec.is_current:
        prepared = make(program, weakref.proxy(graph), device, schedule, in_edges)
        kept_programs.pop(key, None)
        room = max(KEPT_BYTES, 4 * graph.num_arcs)  # those of its targets
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
    """Drop the programs that graphs keep, to free memory."""
    for graph in list(_graphs_with_programs):
        graph.programs.clear()
