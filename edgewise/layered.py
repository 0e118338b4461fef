"""Programs over graphs in layers: `edgewise.run` and `edgewise.prepare`, which pass all other runs on.

A program runs on the moved graph, as on any other; what it is given is moved to places, and what it leaves is moved
back. `edgewise.program.movable` says which programs mean the same there.
"""

import functools
import time
from typing import Any

import numpy as np

from edgewise.algorithms.bfs import graph_in_layers, layers_asked
from edgewise.engine.lowering.binding import bind, initial_edge_value, initial_vertex_value
from edgewise.errors import MemoryLimitError, ScheduleError
from edgewise.execution import check_limit
from edgewise.graph import Graph
from edgewise.graph.layers import GraphInLayers
from edgewise.memory import as_bytes
from edgewise.program.declare import VERTEX, Program
from edgewise.program.movable import check_movable
from edgewise.program_result import ProgramResult
from edgewise.run import Prepared, instance_of
from edgewise.run import prepare as prepare_on
from edgewise.run import run as run_on
from edgewise.schedule import Buffered, Layered, Schedule


class PreparedInLayers:
    """A program validated, compiled and laid out for a graph in layers; see `prepare`."""

    def __init__(
        self, program: type[Program], graph: Graph, device: str, asked: Layered, schedule: Schedule
    ) -> None:
        if isinstance(schedule.delivery, Buffered):
            raise ScheduleError(
                f"{program.__name__}: message buffers have slots in the order of vertices, not of layers; leave one of "
                "delivery and layout at 'auto'"
            )
        self._plain = Prepared(program, graph, device, schedule)
        self._binding = bind(self._plain.spec, graph)
        self._device, self._asked, self._schedule = device, asked, schedule
        self._moved: tuple[Graph, Prepared] | None = None
        check_movable(self._plain.spec)

    def __call__(self, **options: Any) -> ProgramResult:
        """Run the program: see `edgewise.run.Prepared.__call__`."""
        how = {
            name: options.pop(name, None) for name in ("max_supersteps", "progress", "memory_limit", "seed")
        }
        return self.run(options, check=options.pop("check", False), **how)

    def run(self, values: dict[str, Any], *, check: bool, memory_limit: Any, **how: Any) -> ProgramResult:
        """Run the program with values in a dict; see `edgewise.run.Prepared.run`. With `check`, on the graph itself."""
        if check:
            return self._plain.run(values, check=True, memory_limit=memory_limit, **how)
        spec, graph = self._plain.spec, self._plain.graph
        found = graph_in_layers(spec.name, graph, self._asked, self._device, memory_limit)
        limit, moving = as_bytes(f"{spec.name}: memory_limit", memory_limit), self._moving(values)
        started = time.perf_counter()
        try:
            left = None if limit is None else max(0, limit - moving)
            mapped = {name: self._to_places(name, value, found.made) for name, value in values.items()}
            moved_in = time.perf_counter() - started
            result = self._on(found.made).run(mapped, check=False, memory_limit=left, **how)
        except MemoryLimitError as refused:
            check_limit(spec.name, limit, int(refused.needed) + moving)
            raise
        started = time.perf_counter()
        arrays = {
            name: self._to_vertices(name, result.on_device(name), found.made)
            for name in (
                *spec.vertex_fields,
                *(each for each in spec.edge_fields if each in spec.edge_writes),
            )
        }
        back = result.of_another(self._plain, values, arrays, found.how)
        back.layout_seconds += found.seconds
        back.seconds += moved_in + time.perf_counter() - started
        return back

    def _on(self, made: GraphInLayers) -> Prepared:
        """The program on the moved graph."""
        if self._moved is None or self._moved[0] is not made.graph:
            program = self._plain.program
            prepared = Prepared(program, made.graph, self._device, self._schedule, in_edges=True)
            self._moved = made.graph, prepared
        return self._moved[1]

    def _moving(self, values: dict[str, Any]) -> int:
        """The bytes of what is moved to places and back."""
        spec, graph = self._plain.spec, self._plain.graph
        of_arcs = any(name in spec.edge_fields for name in values) or bool(spec.edge_writes)
        given = sum(np.asarray(values[name]).nbytes for name in values if name not in spec.parameters)
        return self._binding.result_bytes + given + 8 * graph.num_arcs * of_arcs

    def _to_places(self, name: str, value: Any, made: GraphInLayers) -> Any:
        """A value of the run, for the moved graph."""
        spec, graph, order = self._plain.spec, self._plain.graph, made.order
        if name in spec.parameters:
            if spec.parameters[name].dtype is not VERTEX:
                return value
            found = graph.index_of(value)
            return found if np.ndim(found) else int(made.places_of(np.array([found]))[0])
        declared: dict[str, Any] = {**spec.vertex_fields, **spec.edge_fields}
        if name not in declared:
            return value  # which the run refuses
        if name in spec.vertex_fields:
            values = initial_vertex_value(self._binding, name, {name: value})
        else:
            values = initial_edge_value(self._binding, name, {name: value}, graph)
        if declared[name].dtype is VERTEX:
            values = np.where(values < 0, -1, _on_host(order.place)[values])
        index = _on_host(order.vertices) if name in spec.vertex_fields else made.graph.arcs
        return values[index]

    def _to_vertices(self, name: str, values: Any, made: GraphInLayers) -> Any:
        """An array of the result, for the graph itself."""
        spec, order = self._plain.spec, made.order
        declared: dict[str, Any] = {**spec.vertex_fields, **spec.edge_fields}
        here = (lambda each: _on_host(each)) if isinstance(values, np.ndarray) else _there
        if declared[name].dtype is VERTEX:
            vertices = here(order.vertices)
            values = (values < 0) * -1 + (values >= 0) * vertices[values]
            values = values.astype(vertices.dtype)
        if name in spec.vertex_fields:
            return values[here(order.place)]
        moved = values.copy()
        moved[here(made.graph.arcs)] = values
        return moved


def _on_host(values: Any) -> np.ndarray:
    found: np.ndarray = values if isinstance(values, np.ndarray) else values.get()
    return found


def _there(values: Any) -> Any:
    from edgewise.kernels.cuda.memory import copy_of

    return copy_of(values)


@functools.wraps(prepare_on)
def prepare(
    program: type[Program], graph: Graph, *, device: str = "auto", schedule: Schedule | None = None
) -> Any:
    asked, plain = layers_asked(getattr(program, "__name__", "prepare"), schedule)
    if asked is None:
        return prepare_on(program, graph, device=device, schedule=schedule)
    return PreparedInLayers(program, graph, device, asked, plain)


@functools.wraps(run_on)
def run(program: Any, graph: Graph, **options: Any) -> ProgramResult:
    asked, plain = layers_asked("run", options.get("schedule"))
    if asked is None:
        return run_on(program, graph, **options)
    instance = instance_of(program)
    options.pop("schedule")
    prepared = PreparedInLayers(type(instance), graph, options.pop("device", "auto"), asked, plain)
    how = {"max_supersteps": None, "progress": None, "memory_limit": None, "check": False, "seed": None}
    return prepared.run(dict(instance.values), **{**how, **options})
