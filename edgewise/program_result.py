"""The result of a run of a program."""

import operator
import sys
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from edgewise.engine.contract import Ending, Outcome
from edgewise.errors import GraphError, ProgramError, VerificationError
from edgewise.execution import Execution
from edgewise.graph import Graph, check_graph
from edgewise.graph.ids import with_none
from edgewise.kernels.door import cuda_door
from edgewise.program.declare import INFINITY, VERTEX, Program
from edgewise.program.inspect import Specification
from edgewise.result import ID_COLUMN, check_count, first_rows, ids_or_none, is_finite
from edgewise.text import shown
from edgewise.vertex_result import VertexResult


class Prepared(Protocol):
    """The part of `edgewise.run.Prepared` that a result uses."""

    program: type[Program]
    graph: Graph
    spec: Specification

    def on(self, graph: Graph) -> "Prepared":
        """The program on another graph."""

    def reference(self, values: dict[str, Any], limit: int | None) -> Outcome:
        """A run with these values in plain Python."""


class ProgramName(NamedTuple):
    """Where the class of a program is found again by a process that has unpickled a result."""

    module: str
    name: str

    @property
    def short_name(self) -> str:
        """The name of the class by itself."""
        return self.name.rpartition(".")[2]

    def find(self) -> type[Program]:
        """The class. Raises ProgramError if it is not there."""
        try:
            found: type[Program] = operator.attrgetter(self.name)(sys.modules[self.module])
        except (KeyError, AttributeError):
            raise ProgramError(
                f"the result was copied or pickled, and its program {self.module}.{self.name} is not here; import the "
                "module first, with the class at its top level"
            ) from None
        return found


class DeclaredField(NamedTuple):
    """What a result shows of the declaration of a vertex field: whether it holds vertices, and whether it begins with
    `INFINITY`."""

    by_id: bool
    unbounded: bool


class ProgramResult(VertexResult):
    """The final state of a program's run. Fields are attributes: ``result.distance``.

    ``result[vertex]`` is a dict of the values of all vertex fields by their names. An integer that is `INFINITY`, in a
    field that was declared to begin so, is None in it and null in frames; so is a `VERTEX` that is none.

    Vertex fields have the shape (num_vertices,), a `VERTEX` field holds indices; edge fields that the program writes
    have the shape (num_arcs,), in CSR order.

    Attributes:
        aggregates: the last value of each aggregator.
        ended: why the run ended.
        phase_seconds: after a run in rounds on a GPU, times by its clock: of "delivering" messages, with its parts
            "sharing" out arcs and "gathering" over the slots of a message buffer, of "computing" vertices, and of the
            whole "kernel"; else empty.
        memory_bytes: after a run on a GPU, the bytes of the "graph", of what the "strategy" (`Schedule.balance`) and
            the "layout" (`Schedule.layout`) made for it, and of the "run" with its results; else empty.
    """

    algorithm = "program"
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
        self._tell_program(prepared, given)

    def _tell_program(self, prepared: "Prepared", given: dict[str, Any]) -> None:
        """Note what ran, and with which values."""
        spec, program = prepared.spec, prepared.program
        self._made: Prepared | None = prepared
        self._make: Any = type(prepared)
        self._given = given
        self._program = ProgramName(program.__module__, program.__qualname__)
        self._declared = {
            name: DeclaredField(each.dtype is VERTEX, each.init is INFINITY)
            for name, each in spec.vertex_fields.items()
        }
        self._written = tuple(name for name in spec.edge_fields if name in spec.edge_writes)
        self._main = next(iter(self._declared), "")

    @property
    def _prepared(self) -> "Prepared":
        """The program for this graph; made anew for a result that was copied or pickled."""
        if self._made is None:
            self._made = self._make(self._program.find(), self.graph)
        return self._made

    def __getstate__(self) -> dict[str, Any]:
        given = {name: _host_value(value) for name, value in self._given.items()}
        return {**super().__getstate__(), "_made": None, "_given": given}

    def of_another(
        self, prepared: "Prepared", given: dict[str, Any], arrays: dict[str, Any], note: str
    ) -> "ProgramResult":
        """This result of a run on a moved graph as that of the graph itself, with these arrays and one note more."""
        found = object.__new__(type(self))
        vars(found).update({name: each for name, each in vars(self).items() if not name.endswith("fields")})
        found.graph = prepared.graph.itself
        found._arrays, found._on_host, found._notes = arrays, {}, (note, *self._notes)
        found._tell_program(prepared, given)
        return found

    @cached_property
    def fields(self) -> dict[str, np.ndarray]:
        """The vertex fields, copied from the GPU if they are there."""
        return {name: self.host_array(name) for name in self._declared}

    @cached_property
    def edge_fields(self) -> dict[str, np.ndarray]:
        """The edge fields that the program writes."""
        return {name: self.host_array(name) for name in self._written}

    def __getattr__(self, name: str) -> Any:
        """A vertex field, edge field or aggregate by its name."""
        arrays, aggregates = self.__dict__.get("_arrays", {}), self.__dict__.get("aggregates", {})
        if name in arrays:
            return self.host_array(name)
        if name in aggregates:
            return aggregates[name]
        raise AttributeError(f"the result has no '{name}'; it has {', '.join((*arrays, *aggregates))}")

    def __dir__(self) -> list[str]:
        """The names of attributes, with those of fields and aggregates."""
        return [*super().__dir__(), *self.__dict__.get("_arrays", {}), *self.__dict__.get("aggregates", {})]

    def __getitem__(self, vertex: Any) -> dict[str, Any]:
        """The values of all vertex fields of one vertex, by their names, as Python objects.

        Raises:
            GraphError: no vertex has this id.
        """
        index = self._index_of(vertex)
        return {
            name: self._as_values(name, values[index : index + 1])[0] for name, values in self.fields.items()
        }

    def to_dict(self, field: str | None = None) -> dict[Any, Any]:
        """The values of a vertex field as Python objects, by the user's ids, in the order of the graph.

        Args:
            field: its name; None for dicts of the values of all fields.

        Raises:
            ParameterError: there is no such field.
        """
        if field is not None:
            return super().to_dict(field)
        names = list(self.fields)
        rows = zip(*(self._as_values(name, values) for name, values in self.fields.items()), strict=True)
        records = (dict(zip(names, row, strict=True)) for row in rows) if names else ({} for _ in self.graph)
        return dict(zip(self.graph.vertices.tolist(), records, strict=True))

    def top_rows(self, count: int = 10) -> dict[str, np.ndarray]:
        """The rows of `table` with the largest finite values in the first vertex field."""
        if not self._main:
            raise ProgramError(
                f"{type(self).__name__}.top: the program has no vertex field, by which rows are chosen"
            )
        return super().top_rows(count)

    def columns(self) -> dict[str, np.ndarray]:
        """The vertex fields; those declared as `VERTEX` in the user's ids."""
        return {
            name: self._ids(name) if self._declared[name].by_id else values
            for name, values in self.fields.items()
        }

    def missing(self) -> dict[str, np.ndarray]:
        """Where a `VERTEX` field has no vertex, an integer field that was declared to begin with `INFINITY` still has
        it, and a float is infinite or NaN."""
        masks = {name: self._is_missing(name, values) for name, values in self.fields.items()}
        return {name: mask for name, mask in masks.items() if mask is not None}

    def _is_missing(self, name: str, values: np.ndarray) -> np.ndarray | None:
        """Which values of a field stand for none; None if it cannot have such."""
        by_id, unbounded = self._declared[name]
        if by_id:
            return values < 0
        if values.dtype.kind == "f" or (unbounded and values.dtype.kind == "i"):
            return ~is_finite(values)
        return None

    def _raw(self, name: str) -> np.ndarray:
        return self.fields[name]

    def _as_values(self, name: str, raw: np.ndarray) -> list[Any]:
        missing = self._is_missing(name, raw)
        if missing is None or raw.dtype.kind == "f":
            return super()._as_values(name, raw)
        values = self.graph.ids_of(raw[~missing]) if self._declared[name].by_id else raw[~missing]
        return list(with_none(values, ~missing))

    def _ids(self, name: str) -> np.ndarray:
        """A `VERTEX` field in the user's ids."""
        indices, n = self.fields[name], self.graph.num_vertices
        if indices.max(initial=-1) >= n:
            place = int(indices.argmax())
            vertex = self._vertices_at(np.array([place])).tolist()[0]
            raise GraphError(
                f"{self._program.short_name}.{name} of vertex {shown(vertex)} is {indices[place]}, which is no vertex: "
                f"indices go from 0 to {n - 1}, and -1 is none. Run the program with check=True, which says where that "
                "is written"
            )
        return ids_or_none(self.graph, indices)

    def _vertices_at(self, places: np.ndarray) -> np.ndarray:
        """The user's ids of the vertices whose values are at some places of the vertex fields."""
        return self.graph.ids_of(places)

    def summary(self) -> dict[str, Any]:
        """The last value of each aggregator, and why the run ``ended``."""
        return {**self.aggregates, "ended": self.ended}

    def verify(self, graph: Graph) -> bool:
        """Run the program again in plain Python and compare fields and aggregates: slow, a microsecond or more for each
        edge visited.

        Floats may differ by rounding (relative 1e-6 for float32, 1e-9 for float64). Asynchronous programs take other
        supersteps than the reference, so only their ends are compared.

        Raises:
            VerificationError: a value differs, and the message names the first; or the graph has another size, or an
                asynchronous program was cut short.
        """
        check_graph(f"{type(self).__name__}.verify", graph)
        if (graph.num_vertices, graph.num_arcs) != (self.graph.num_vertices, self.graph.num_arcs):
            raise VerificationError(f"the result is of {self.graph!r}; got {graph!r}")
        prepared = self._prepared if graph is self.graph else self._prepared.on(graph)
        limit: int | None = self.supersteps
        if prepared.program.asynchronous:
            if self.ended != str(Ending.FINISHED):
                raise VerificationError(
                    f"{prepared.spec.name} is asynchronous and was cut short ({self.ended}): what it had reached "
                    "depends on the order of its work. Run it to its end to verify it"
                )
            limit = None
        expected = prepared.reference(self._given, limit)
        for name, values in expected.vertex_fields.items():
            wrong = _first_different(self.fields[name], values)
            if wrong is not None:
                vertex, got = graph.ids_of([wrong]).tolist()[0], self.fields[name][wrong]
                raise VerificationError(
                    f"{name} of vertex {shown(vertex)} is {got}; the reference has {values[wrong]}"
                )
        for name, values in expected.edge_fields.items():
            wrong = _first_different(self.edge_fields[name], values)
            if wrong is not None:
                got = self.edge_fields[name][wrong]
                raise VerificationError(f"{name} of arc {wrong} is {got}; the reference has {values[wrong]}")
        for name, value in expected.aggregates.items():
            got, right = np.atleast_1d(self.aggregates[name]), np.atleast_1d(value)
            if _first_different(got, right, of_float64=1e-6) is not None:
                raise VerificationError(f"{name} is {self.aggregates[name]}; the reference has {value}")
        return True


class ProgramPart(ProgramResult):
    """The values of some vertices in the final state of a program's run: what is written and shown of them.

    Args:
        prepared, given, run: as for `ProgramResult`.
        outcome: with vertex fields of shape (k,), and no edge fields.
        indices: the vertices, int64, shape (k,).
    """

    def __init__(
        self,
        prepared: "Prepared",
        given: dict[str, Any],
        run: Execution,
        outcome: Outcome,
        indices: np.ndarray,
    ) -> None:
        super().__init__(prepared, given, run, outcome)
        self._indices = indices

    def table(self) -> dict[str, np.ndarray]:
        """The columns of these vertices, after their ids."""
        return {ID_COLUMN: self.graph.ids_of(self._indices), **self.columns()}

    def leading(self, count: int) -> np.ndarray:
        """The places of the rows of `top_rows`, ascending; none without a vertex field, by which rows are chosen."""
        if not self._main:
            return np.empty(0, np.int64)
        return np.sort(first_rows(self.columns()[self._main], check_count(count)))

    def missing_of(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        """See `Result.missing_of`; of these vertices."""
        order = np.argsort(self._indices)
        places = order[np.searchsorted(self._indices, self.graph.index_of(ids), sorter=order)]
        return {name: mask[places] for name, mask in self.missing().items()}

    def _vertices_at(self, places: np.ndarray) -> np.ndarray:
        return self.graph.ids_of(self._indices[places])


def _host_value(value: Any) -> Any:
    """A value of a run, copied from the GPU if it is an array there."""
    return cuda_door().host_copy(value) if hasattr(value, "__cuda_array_interface__") else value


def _first_different(got: np.ndarray, expected: np.ndarray, of_float64: float = 1e-9) -> int | None:
    """The first place where values differ by more than rounding, or None."""
    if got.shape != expected.shape:
        raise VerificationError(f"got an array of shape {got.shape}; expected {expected.shape}")
    tolerance = {"float32": 1e-6, "float64": of_float64}.get(str(expected.dtype), 0.0)
    same = np.isclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    return None if same.all() else int(np.argmin(same))
