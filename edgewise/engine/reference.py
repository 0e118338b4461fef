"""The definition: a program carried out in plain Python, one edge and one vertex at a time.

Every other engine is compared with this one. ``check=True`` runs it, too: each index is checked, each write must go to
the vertex or edge at hand, and each problem is reported with function, line, and vertex or edge.
"""

import traceback
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, final

import numpy as np

from edgewise.engine.contract import AbstractEngine, Ending, Outcome
from edgewise.engine.endless import Watch
from edgewise.engine.lowering.binding import Binding, giving, initial_edge_value, initial_vertex_value
from edgewise.engine.lowering.compiled import compiled_for, edge_names, tuple_class
from edgewise.engine.overflow import as_compiled
from edgewise.errors import ProgramError, ProgramWarning, warn
from edgewise.execution import Execution
from edgewise.graph import Made
from edgewise.kernels.cache import program_function
from edgewise.memory import Step, held, in_turn
from edgewise.program.declare import VERTEX, Combiner
from edgewise.program.helpers import helpers_of
from edgewise.program.source import UserFunction
from edgewise.text import shown

#: The memory of a vertex in the lists, sets and dictionaries of a superstep, and of a message that is not combined.
_VERTEX_BYTES, _MESSAGE_BYTES = 400, 200


class _Problem(Exception):
    """A function did what it may not. It becomes a ProgramError that names the place."""


def cast(value: Any, dtype: np.dtype, *, strict: bool = False) -> Any:
    """A value in its declared dtype, as a Python scalar. Every engine casts by this rule.

    Integers wrap (an error if ``strict``), floats are rounded, bool is ``value != 0``.
    """
    if dtype.kind == "b":
        return bool(value != 0)
    if dtype.kind == "f":
        return float(dtype.type(value))
    half = 1 << (8 * dtype.itemsize - 1)
    wrapped = (int(value) + half) % (2 * half) - half
    if strict and wrapped != value:
        raise _Problem(f"{shown(value)} does not fit {dtype}")
    return wrapped


def as_combined(value: Any, combine: Combiner, dtype: np.dtype) -> Any:
    """A value as it is combined: where a combiner has one zero, -0.0 becomes 0.0."""
    return value + 0.0 if combine.has_one_zero(dtype) else value


class _Field:
    """An array that checks its indices, gives Python scalars and casts what is stored."""

    def __init__(self, name: str, values: np.ndarray, strict: bool) -> None:
        self.name, self.values, self.strict = name, values, strict
        #: How many vertices there are, if the values are vertices.
        self.vertices: int | None = None
        self.own: int | None = None
        self.written = False

    def _checked(self, index: Any) -> int:
        if isinstance(index, bool) or not isinstance(index, int):
            raise _Problem(f"{self.name}[{shown(index)}]: expected an integer index")
        if not 0 <= index < len(self.values):
            raise _Problem(f"{self.name}[{shown(index)}]: out of range, expected 0 to {len(self.values) - 1}")
        return index

    def __getitem__(self, index: Any) -> Any:
        return self.values[self._checked(index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if self._checked(index) != self.own:
            raise _Problem(f"{self.name}[{shown(index)}] may not be written here; only [{self.own}]")
        if self.strict and self.vertices is not None and not -1 <= value < self.vertices:
            raise _Problem(
                f"{self.name}[{shown(index)}] = {shown(value)}: no vertex; expected an index from 0 to "
                f"{self.vertices - 1}, or -1 for none"
            )
        self.written = True
        self.values[index] = cast(value, self.values.dtype, strict=self.strict)


class _State(SimpleNamespace):
    """What functions see as ``state``."""

    def __getattr__(self, name: str) -> Any:
        """An aggregate that is read in superstep 1, before anything was computed. Warns once."""
        if name not in self._early:
            raise AttributeError(f"the state has no '{name}'")
        value, fields = self._early[name]
        setattr(self, name, value)
        warn(
            f"state.{name} is read in superstep {self.superstep}, where {' and '.join(fields)}, of which it is made, "
            "is as it began: what superstep k writes is in an aggregate from superstep k + 1 on. Ask for "
            "state.superstep > 1 first; or, if this start is meant, write it in initialize",
            ProgramWarning,
        )
        return value


class _Messages:
    """The messages of a vertex: an array that gives Python scalars and casts what is stored."""

    def __init__(self, values: Any, dtype: np.dtype, strict: bool) -> None:
        self.values, self.strict = np.asarray(values, dtype), strict

    def __len__(self) -> int:
        return len(self.values)

    def __getattr__(self, name: str) -> Any:
        raise _Problem(f"messages have no '{name}'; use len(...), an index, a slice or a for loop")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _Messages(self.values[index], self.values.dtype, self.strict)
        return self.values[index].item()

    def __setitem__(self, index: int, value: Any) -> None:
        self.values[index] = cast(value, self.values.dtype, strict=self.strict)


@final
class Reference(AbstractEngine):
    """A program carried out as the contract says. Errors name function, line, and vertex or edge.

    Args:
        binding: the program on its graph.
        message: the dtype of messages.
        strict: report integers that do not fit their dtype instead of wrapping them.
    """

    memory_kept = 0

    def __init__(self, binding: Binding, message: np.dtype, strict: bool = False) -> None:
        self._binding, self._message, self._strict = binding, message, strict

    def is_laid_out(self, limit: int | None, given: dict[str, Any]) -> bool:
        """Nothing is shared."""
        return True

    def lay_out(self, limit: int | None, given: dict[str, Any]) -> None:
        """Nothing is shared."""

    def running(self, num_threads: int, given: dict[str, Any]) -> Step:
        """About how much memory a run takes: arrays of fields, and Python objects for vertices and messages."""
        binding, spec, graph = self._binding, self._binding.spec, self._binding.graph
        fields = graph.num_arcs * sum(dtype.itemsize for dtype in binding.edge.values())
        fields += graph.num_vertices * sum(dtype.itemsize for dtype in binding.vertex.values())
        steps = [giving(binding, name, given) for name in given]
        objects = _VERTEX_BYTES * graph.num_vertices + _MESSAGE_BYTES * graph.num_arcs * spec.keeps_messages
        return in_turn(graph.making(Made.OUT_DEGREE, Made.IN_DEGREE), *steps, held(fields + objects))

    def __call__(
        self, run: Execution, parameters: dict[str, Any], given: dict[str, Any], limit: int | None
    ) -> Outcome:
        started = _Run(self._binding, self._message, parameters, given, self._strict)
        return started.supersteps(limit, run.progress)


class _Run:
    def __init__(
        self,
        binding: Binding,
        message: np.dtype,
        parameters: dict[str, Any],
        given: dict[str, Any],
        strict: bool,
    ) -> None:
        self.spec, self.graph, self.message, self.strict = binding.spec, binding.graph, message, strict
        self.aggregate_dtypes = binding.aggregates
        self.functions = dict(self.spec.functions)
        made: dict[Any, Any] = {}
        anew = compiled_for(self.spec, program_function).anew
        for name, function in self.functions.items():
            self.functions[name] = replace(function, function=as_compiled(function, strict, made, anew))
        n, m = self.graph.num_vertices, self.graph.num_arcs
        self.vertex_fields = {
            name: _filled(name, initial_vertex_value(binding, name, given), n, dtype, strict)
            for name, dtype in binding.vertex.items()
        }
        self.edge_fields = {
            name: _filled(name, initial_edge_value(binding, name, given, self.graph), m, dtype, strict)
            for name, dtype in binding.edge.items()
        }
        declared: dict[str, Any] = {**self.spec.vertex_fields, **self.spec.edge_fields}
        for field in (*self.vertex_fields.values(), *self.edge_fields.values()):
            field.vertices = n if declared[field.name].dtype is VERTEX else None
        self.state = _State(
            **self.vertex_fields,
            **self.edge_fields,
            **parameters,
            **dict.fromkeys(binding.aggregates),
            num_vertices=n,
            num_arcs=m,
            superstep=0,
            _early={},
            out_degree=_Field("out_degree", self.graph.out_degree, strict),
            in_degree=_Field("in_degree", self.graph.in_degree, strict),
        )
        self.edge_class = tuple_class("Edge", edge_names(self.spec))
        combine, identity = self.spec.combine.function, self.spec.combine.identity(message)
        self.combine: Callable[[Any, Any], Any] = combine
        self.identity = None if self.spec.keeps_messages else cast(identity, message)
        self.messages_class = tuple_class("Messages", self.spec.message_fields)
        self.aggregates: dict[str, Any] = {}
        self.given = set(given)

    def supersteps(self, limit: int | None, progress: Callable[[int], None] | None) -> Outcome:
        """The loop over supersteps."""
        active = [v for v in range(self.graph.num_vertices) if self.at_vertex("initialize", v)]
        self.aggregate()
        written = [*self.vertex_fields.values(), *self.edge_fields.values()]
        if limit is None:
            progress = Watch(
                self.spec.name,
                lambda: [field.values for field in written],
                lambda done: len(active),
                progress,
            )
        while active := active or self.resumed():
            if progress is not None:
                progress(self.state.superstep)
            if limit is not None and self.state.superstep >= limit:
                return self.outcome(Ending.LIMITED)
            self.state.superstep += 1
            if self.strict and self.state.superstep == 1:
                self.hide_early()
            received = self.deliver(active)
            touched = sorted(set(active) | set(received))
            active = [v for v in touched if self.at_vertex("vertex_compute", v, self.incoming(received, v))]
            self.aggregate()
            if not self.call(self.functions["proceed"], "", self.state):
                return self.outcome(Ending.STOPPED)
        return self.outcome(Ending.FINISHED)

    def resumed(self) -> list[int]:
        """Call resume for all vertices, when none is active; the active ones then."""
        if not self.spec.has_resume:
            return []
        active = [v for v in range(self.graph.num_vertices) if self.at_vertex("resume", v)]
        self.aggregate()
        return active

    def incoming(self, received: dict[int, Any], v: int) -> Any:
        """What vertex_compute is given: the combined message, or arrays of all messages."""
        if not self.spec.keeps_messages:
            return received.get(v, self.identity)
        messages = received.get(v, [])
        if self.message.names is None:
            return _Messages(messages, self.message, self.strict)
        return self.messages_class(
            *(
                _Messages([sent[i] for sent in messages], self.message[name], self.strict)
                for i, name in enumerate(self.message.names)
            )
        )

    def deliver(self, active: list[int]) -> dict[int, Any]:
        """Call edge_compute for every arc out of an active vertex; the messages by target, combined or in a list."""
        received: dict[int, Any] = {}
        function, offsets, targets = (
            self.functions["edge_compute"],
            self.graph.offsets,
            self.graph.targets,
        )
        for source in active:
            for arc in range(int(offsets[source]), int(offsets[source + 1])):
                target = int(targets[arc])
                values = {"source": source, "target": target, "index": arc}
                edge = self.edge_class(
                    *(
                        values[name] if name in values else self.edge_fields[name][arc]
                        for name in self.edge_class._fields
                    )
                )
                for field in self.edge_fields.values():
                    field.own = arc
                where = f"edge {source} -> {target}"
                sent = self.call(function, where, edge, self.state)
                if sent is not None:
                    sent = self.cast_message(function, where, sent)
                    if self.spec.keeps_messages:
                        received.setdefault(target, []).append(sent)
                        continue
                    before = received.get(target, self.identity)
                    combined = self.call(self.combiner_function, where, before, sent)
                    what = "the combined message becomes"
                    combined = self.cast(function, where, combined, self.message, what)
                    if self.strict and target not in received:
                        self.check_neutral(where, sent, combined)
                    received[target] = combined
        return received

    def check_neutral(self, where: str, sent: Any, combined: Any) -> None:
        """Refuse a combiner whose identity changes a message."""
        function = self.functions.get("combine")
        both_nan = combined != combined and sent != sent
        if isinstance(function, UserFunction) and combined != sent and not both_nan:
            raise ProgramError(
                f"{function.where()}: {where}: of the identity {shown(self.identity)} and the message {shown(sent)} it "
                f"makes {shown(combined)}; expected {shown(sent)}. Give ew.combiner an identity that leaves each "
                "message as it is"
            )

    @property
    def combiner_function(self) -> Any:
        """The combiner as a function of the program, or the plain one of a named combiner."""
        return self.functions.get("combine", self.combine)

    def at_vertex(self, name: str, v: int, *message: Any) -> bool:
        """Call initialize, vertex_compute or resume, which may write at index v; whether the vertex is active."""
        for field in self.vertex_fields.values():
            field.own = v
        return bool(self.call(self.functions[name], f"vertex {v}", v, *message, self.state))

    def aggregate(self) -> None:
        """Evaluate every aggregator over all vertices, then make the values visible together."""
        for name, declared in self.spec.aggregators.items():
            dtype, function = self.aggregate_dtypes[name], self.functions[name]
            total = cast(declared.combine.identity(dtype), dtype)
            for v in range(self.graph.num_vertices):
                value = self.call(function, f"vertex {v}", v, self.state)
                value = as_combined(self.cast(function, f"vertex {v}", value, dtype), declared.combine, dtype)
                what = f"the aggregate {name} of {declared.combine.name}"
                total = self.cast(
                    function, f"vertex {v}", declared.combine.function(total, value), dtype, f"{what} becomes"
                )
            self.aggregates[name] = total
        vars(self.state).update(self.aggregates)

    def hide_early(self) -> None:
        """Make an aggregate warn when it is read, until its next evaluation, if nothing has set the fields it reads."""
        set_now = {name for name, field in self.vertex_fields.items() if field.written} | self.given
        for name in self.aggregates:
            fields = self.spec.aggregate_reads.get(name, set()) & self.spec.vertex_writes
            if fields and not fields & set_now:
                self.state._early[name] = vars(self.state).pop(name), sorted(fields)

    def cast_message(self, function: UserFunction, where: str, sent: Any) -> Any:
        """Cast a message, or each of its fields."""
        names = self.message.names
        if names is None:
            return as_combined(
                self.cast(function, where, sent, self.message), self.spec.combine, self.message
            )
        return tuple(
            self.cast(function, where, value, self.message[name])
            for name, value in zip(names, sent, strict=True)
        )

    def cast(
        self, function: UserFunction, where: str, value: Any, dtype: np.dtype, what: str = "it returned"
    ) -> Any:
        """Cast what a function returned, or a value made of it."""
        try:
            return cast(value, dtype, strict=self.strict)
        except (_Problem, TypeError, ValueError, OverflowError) as error:
            raise ProgramError(f"{function.where()}: {where}: {what} {shown(value)}: {error}") from None

    def call(self, function: Any, where: str, *arguments: Any) -> Any:
        """Call a user's function. Errors name function, line, and vertex or edge."""
        if not isinstance(function, UserFunction):
            return function(*arguments)
        try:
            return function.function(*arguments)
        except Exception as error:
            kind = "" if isinstance(error, _Problem) else f"{type(error).__name__}: "
            lines = [
                (frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)
            ]
            own = next((line for file, line in reversed(lines) if function.has(file, line)), None)
            inside = [
                helper.where(line - helper.first_line + 1)
                for file, line in lines
                for helper in helpers_of(self.spec.functions.get(function.name, function))
                if helper.has(file, line)
            ]
            place = function.where() if own is None else function.where(own - function.first_line + 1)
            helper = f"in {inside[-1]}: " if inside else ""
            raise ProgramError(f"{place}: {where}: {helper}{kind}{error}") from None

    def outcome(self, ended: Ending) -> Outcome:
        """The state as arrays."""
        return Outcome(
            {name: field.values for name, field in self.vertex_fields.items()},
            {name: self.edge_fields[name].values for name in self.spec.edge_writes},
            self.aggregates,
            self.state.superstep,
            ended,
        )


def _filled(name: str, value: Any, length: int, dtype: np.dtype, strict: bool) -> _Field:
    """A field with its initial value: a copy of an array, or one value everywhere."""
    values = np.empty(length, dtype)
    values[:] = value
    return _Field(name, values, strict)
