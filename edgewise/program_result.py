"""The result of a run of a program."""

from copy import copy
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from edgewise.engine.contract import Ending, Outcome
from edgewise.errors import GraphError, VerificationError
from edgewise.execution import Execution
from edgewise.graph import Graph, check_graph
from edgewise.program.declare import VERTEX, Program
from edgewise.program.inspect import Specification
from edgewise.result import Result, ids_or_none, is_finite
from edgewise.text import shown


class Prepared(Protocol):
    """The part of `edgewise.run.Prepared` that a result uses."""

    program: type[Program]
    graph: Graph
    spec: Specification

    def on(self, graph: Graph) -> "Prepared":
        """The program on another graph."""

    def reference(self, values: dict[str, Any], limit: int | None) -> Outcome:
        """A run with these values in plain Python."""


class ProgramResult(Result):
    """The final state of a program's run. Fields are attributes: ``result.distance``.

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
        self._prepared, self._given = prepared, given

    def of_another(
        self, prepared: "Prepared", given: dict[str, Any], arrays: dict[str, Any], note: str
    ) -> "ProgramResult":
        """This result of a run on a moved graph as that of the graph itself, with these arrays and one note more."""
        found = copy(self)
        for name in ("fields", "edge_fields"):
            vars(found).pop(name, None)
        found.graph = prepared.graph.itself
        found._arrays, found._on_host, found._notes = arrays, {}, (note, *self._notes)
        found._prepared, found._given = prepared, given
        return found

    @cached_property
    def fields(self) -> dict[str, np.ndarray]:
        """The vertex fields, copied from the GPU if they are there."""
        return {name: self.host_array(name) for name in self._prepared.spec.vertex_fields}

    @cached_property
    def edge_fields(self) -> dict[str, np.ndarray]:
        """The edge fields that the program writes."""
        spec = self._prepared.spec
        return {name: self.host_array(name) for name in spec.edge_fields if name in spec.edge_writes}

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
        declared = self._prepared.spec.vertex_fields
        return {
            name: self._ids(name) if declared[name].dtype is VERTEX else values
            for name, values in self.fields.items()
        }

    def missing(self) -> dict[str, np.ndarray]:
        """Where a field declared as `VERTEX` has none, and where another one is infinite or NaN."""
        declared = self._prepared.spec.vertex_fields
        return {
            name: values < 0 if declared[name].dtype is VERTEX else ~is_finite(values)
            for name, values in self.fields.items()
        }

    def _ids(self, name: str) -> np.ndarray:
        """A `VERTEX` field in the user's ids."""
        indices, n = self.fields[name], self.graph.num_vertices
        if indices.max(initial=-1) >= n:
            v = int(indices.argmax())
            vertex = self.graph.vertices[[v]].tolist()[0]
            raise GraphError(
                f"{self._prepared.spec.name}.{name} of vertex {shown(vertex)} is {indices[v]}, which is no vertex: "
                f"indices go from 0 to {n - 1}, and -1 is none. Run the program with check=True, which says where that "
                "is written"
            )
        return ids_or_none(self.graph, indices)

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


def _first_different(got: np.ndarray, expected: np.ndarray, of_float64: float = 1e-9) -> int | None:
    """The first place where values differ by more than rounding, or None."""
    if got.shape != expected.shape:
        raise VerificationError(f"got an array of shape {got.shape}; expected {expected.shape}")
    tolerance = {"float32": 1e-6, "float64": of_float64}.get(str(expected.dtype), 0.0)
    same = np.isclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    return None if same.all() else int(np.argmin(same))
