"""Programs over graphs whose vertices are numbered otherwise, in layers or by the rows of a layout: `edgewise.run` and
`edgewise.prepare`, which pass all other runs on.

A program runs on the moved graph, as on any other; what it is given is moved to places, and what it leaves is moved
back. `edgewise.program.movable` says which programs mean the same there.
"""

import dataclasses
import math
import os
import time
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, final

import numpy as np

from edgewise.algorithms.bfs import graph_in_layers, layers_asked
from edgewise.engine.lowering.attributes import with_attributes
from edgewise.engine.lowering.binding import (
    bind,
    initial_edge_value,
    initial_vertex_value,
    parameter_values,
)
from edgewise.errors import MemoryLimitError, ProgramError, ScheduleError
from edgewise.execution import Progress, check_limit
from edgewise.graph import Arrays, Graph, Needs
from edgewise.graph.checks import check_flags
from edgewise.graph.layers import give_up_when_short, making_on_gpu
from edgewise.graph.moved import MovedGraph
from edgewise.kernels.door import cuda_problem
from edgewise.memory import as_bytes
from edgewise.program.declare import VERTEX, WEIGHT, Program
from edgewise.program.inspect import Specification
from edgewise.program.movable import LAYERS, Moved, check_movable
from edgewise.program_result import ProgramResult
from edgewise.run import Prepared, instance_of, prepared_for
from edgewise.run import prepare as prepare_on
from edgewise.run import run as run_on
from edgewise.schedule import Buffered, Layered, Layout, Ranks, Schedule, check_schedule
from edgewise.schedule.layouts import of_renumbered
from edgewise.text import shown

_BY_ROWS = Moved("over vertices that are numbered anew", "np.arange(n)", "leave renumber at False")


class Found(NamedTuple):
    """A moved graph for a run.

    Attributes:
        graph: the moved graph.
        how: where it comes from, for `Result.explain`.
        seconds: the time that it took.
        taken: the bytes of the memory of the run that it takes.
    """

    graph: MovedGraph
    how: str
    seconds: float
    taken: int


class PreparedMoved(ABC):
    """A program validated, compiled and laid out for a moved graph; see `prepare`.

    Args:
        program, graph, device: as for `prepare`.
        schedule: what is asked for beside the order of vertices.
        on_moved: the schedule on the moved graph.
        moved: for messages.
    """

    def __init__(
        self,
        program: type[Program],
        graph: Graph,
        device: str,
        schedule: Schedule,
        on_moved: Schedule,
        moved: Moved,
    ) -> None:
        self._plain = Prepared(program, graph, device, schedule)
        self._binding = bind(self._plain.spec, graph)
        self._device, self._schedule = device, on_moved
        self._moved: tuple[Graph, Prepared] | None = None
        check_movable(self._plain.spec, moved)

    #: Where the memory of a limit is, for messages.
    _where = "beyond the graph"

    @abstractmethod
    def _find(self, memory_limit: Any) -> Found | None:
        """The moved graph for a run with this limit; None if the run cannot be one over it, as the graph's own will
        tell."""

    @property
    def program(self) -> type[Program]:
        """The program."""
        return self._plain.program

    @property
    def graph(self) -> Graph:
        """The graph itself."""
        return self._plain.graph

    @property
    def spec(self) -> Specification:
        """What is known of the program."""
        return self._plain.spec

    @property
    def nbytes(self) -> int:
        """About the bytes that are kept from one run to the next."""
        return self._plain.nbytes + (0 if self._moved is None else self._moved[1].nbytes)

    def on(self, graph: Graph) -> Prepared:
        """The program on another graph, without layers."""
        return self._plain.on(graph)

    def __call__(self, **options: Any) -> ProgramResult:
        """Run the program: see `edgewise.run.Prepared.__call__`."""
        how = {
            name: options.pop(name, None) for name in ("max_supersteps", "progress", "memory_limit", "seed")
        }
        return self.run(options, check=options.pop("check", False), **how)

    def run(self, values: dict[str, Any], *, check: bool, memory_limit: Any, **how: Any) -> ProgramResult:
        """Run the program with values in a dict; see `edgewise.run.Prepared.run`. With `check`, on the graph itself."""
        check_flags(ProgramError, f"{self.spec.name}: ", check=check)
        if check:
            return self._plain.run(values, check=True, memory_limit=memory_limit, **how)
        spec, found = self.spec, self._find(memory_limit)
        if found is None:
            return self._plain.run(values, check=False, memory_limit=memory_limit, **how)
        self.graph.check_unchanged()
        limit = as_bytes(f"{spec.name}: memory_limit", memory_limit)
        filled = with_attributes(self._binding, values)
        moving = self._moving(filled) + found.taken
        started = time.perf_counter()
        try:
            left = None if limit is None else max(0, limit - moving)
            mapped = self._mapped(filled, found.graph)
            moved_in = time.perf_counter() - started
            result = self._on(found.graph).run(mapped, check=False, memory_limit=left, **how)
        except MemoryLimitError as refused:
            if not math.isinf(refused.needed):
                check_limit(spec.name, limit, int(refused.needed) + moving, where=self._where)
            raise
        if found.graph.residents:
            give_up_when_short()
        started = time.perf_counter()
        arrays = {
            name: self._to_vertices(name, result.on_device(name), found.graph)
            for name in (
                *spec.vertex_fields,
                *(each for each in spec.edge_fields if each in spec.edge_writes),
            )
        }
        back = result.of_another(self._plain, values, arrays, found.how)
        back.layout_seconds += found.seconds
        back.seconds += moved_in + time.perf_counter() - started
        return back

    def _on(self, moved: MovedGraph) -> Prepared:
        """The program on the moved graph."""
        if self._moved is None or self._moved[0] is not moved:
            how = self._device, self._schedule
            self._moved = moved, prepared_for(self.program, moved, *how, in_edges=True)
        return self._moved[1]

    def _moving(self, values: dict[str, Any]) -> int:
        """The bytes of what is moved to places and back."""
        spec, graph = self.spec, self.graph
        of_arcs = any(name in spec.edge_fields for name in values) or bool(spec.edge_writes)
        given = sum(getattr(values[name], "nbytes", 0) for name in values if name not in spec.parameters)
        return self._binding.result_bytes + given + 8 * graph.num_arcs * of_arcs

    def _mapped(self, values: dict[str, Any], moved: MovedGraph) -> dict[str, Any]:
        """The values of a run, those that are left out included where they are vertices, for the moved graph."""
        spec, found = self.spec, parameter_values(self._binding, values)
        mapped = {name: self._to_places(name, value, moved) for name, value in values.items()}
        vertices = [name for name, declared in spec.parameters.items() if declared.dtype is VERTEX]
        if not vertices:
            return mapped
        places = moved.places_of(np.array([found[name] for name in vertices], np.int64)).tolist()
        return mapped | dict(zip(vertices, places, strict=True))

    def _to_places(self, name: str, value: Any, moved: MovedGraph) -> Any:
        """A value of the run, for the moved graph."""
        spec, graph, order = self.spec, self.graph, moved.host_order
        if name in spec.parameters:
            return value
        if name in spec.vertex_fields:
            values = initial_vertex_value(self._binding, name, {name: value})
        else:
            values = initial_edge_value(self._binding, name, {name: value}, graph)
        declared: dict[str, Any] = {**spec.vertex_fields, **spec.edge_fields}
        if declared[name].dtype is VERTEX:
            values = np.where(values < 0, -1, order.place[values])
        return values[order.vertices if name in spec.vertex_fields else moved.arcs]

    def _to_vertices(self, name: str, values: Any, moved: MovedGraph) -> Any:
        """An array of the result, for the graph itself."""
        spec, order = self.spec, moved.order
        here: Any = _there
        declared: dict[str, Any] = {**spec.vertex_fields, **spec.edge_fields}
        if isinstance(values, np.ndarray):
            here, order = np.asarray, moved.host_order
        if declared[name].dtype is VERTEX:
            vertices = here(order.vertices)
            values = (values < 0) * -1 + (values >= 0) * vertices[values]
            values = values.astype(vertices.dtype)
        if name in spec.vertex_fields:
            return values[here(order.place)]
        back = values.copy()
        back[here(moved.arcs)] = values
        return back


@final
class PreparedInLayers(PreparedMoved):
    """A program for a graph in layers."""

    def __init__(
        self, program: type[Program], graph: Graph, device: str, asked: Layered, schedule: Schedule
    ) -> None:
        if isinstance(schedule.delivery, Buffered):
            raise ScheduleError(
                f"{program.__name__}: message buffers have slots in the order of vertices, not of layers; leave one of "
                "delivery and layout at 'auto'"
            )
        super().__init__(program, graph, device, schedule, schedule, LAYERS)
        self._asked = asked

    def __repr__(self) -> str:
        return f"<{self.program.__name__} prepared for {self.graph!r} in layers: {self._asked!r}>"

    def _find(self, memory_limit: Any) -> Found:
        found = graph_in_layers(self.spec.name, self.graph, self._asked, self._device, memory_limit)
        return Found(found.made.graph, found.how, found.seconds, found.taken)


@final
class PreparedByRows(PreparedMoved):
    """A program for a graph whose vertices are numbered by the rows of a layout, on a GPU."""

    _where = "on the GPU"

    def __init__(
        self, program: type[Program], graph: Graph, device: str, layout: Layout, schedule: Schedule
    ) -> None:
        plain = dataclasses.replace(schedule, layout=dataclasses.replace(layout, renumber=False))
        check_schedule(program.__name__, plain, on_gpu=True)
        moved = dataclasses.replace(schedule, layout=of_renumbered(layout))
        super().__init__(program, graph, device, plain, moved, _BY_ROWS)
        self._layout, self._asked = layout, schedule

    def __repr__(self) -> str:
        return f"<{self.program.__name__} prepared for {self.graph!r}, numbered anew: {self._layout!r}>"

    def _find(self, memory_limit: Any) -> Found | None:
        on_cpu = self._asked.num_threads is not None or cuda_problem() is not None
        if self._device == "cpu" or (self._device == "auto" and on_cpu):
            check_schedule(self.spec.name, self._asked, on_gpu=False)  # refuses it
        if self._device not in ("auto", "cuda"):
            return None
        from edgewise.engine.cuda.layout import renumbered

        graph, name, started = self.graph, self.spec.name, time.perf_counter()
        arrays, how = Arrays.rows(graph.weighted), "vertices are numbered by their rows"
        if not graph.gpu.has(renumbered, self._layout):
            limit, making = as_bytes(f"{name}: memory_limit", memory_limit), making_on_gpu(graph)
            needed = graph.gpu.sizes(arrays)[0] + making
            if limit is None or needed <= limit:
                graph.gpu.place(name, Needs(arrays, making), limit)
            if graph.placement is not None or (limit is not None and needed > limit):
                raise MemoryLimitError(
                    f"{name}: numbering vertices anew takes {needed:,} bytes on the GPU, the whole graph among them, "
                    "and the run takes more; raise memory_limit, or leave renumber at False"
                )
            graph.gpu.kept(renumbered, self._layout)
            how += f", which took {time.perf_counter() - started:.3g} s"
        made = graph.gpu.kept(renumbered, self._layout)
        spent = time.perf_counter() - started
        reads_weights = any(each.dtype is WEIGHT for each in self.spec.edge_fields.values())
        unread = Arrays.WEIGHTS if graph.weighted and not reads_weights else Arrays(0)
        taken = graph.gpu.there(arrays) + 8 * graph.num_vertices + made.gpu.there(unread)  # the order, too
        return Found(made, f"{how}; the graph keeps them", spent, taken)


def _there(values: Any) -> Any:
    """An array on the GPU."""
    from edgewise.kernels.cuda.memory import copy_of

    return copy_of(values)


def prepare(
    program: type[Program],
    graph: Graph,
    *,
    device: str = "auto",
    schedule: Schedule | None = None,
    distributed: bool = False,
) -> Any:
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
        distributed: whether calls run on all ranks that torchrun has started, together, as of `run`; each rank prepares
            the program, and makes the same calls. They keep no checkpoints.

    Raises:
        ProgramError: the program breaks the contract; the message names function and line.
        GraphError: the program reads weights that the graph does not have.
        DistributedError: as of `run`.
    """
    check_flags(ProgramError, "prepare: ", distributed=distributed)
    if distributed:
        from edgewise.distributed import prepare as prepare_distributed

        return prepare_distributed(program, graph, device=device, schedule=schedule)
    asked, plain = layers_asked(getattr(program, "__name__", "prepare"), schedule)
    if isinstance(program, type) and asked is not None:
        return PreparedInLayers(program, graph, device, asked, plain)
    layout = _numbering_anew(plain)
    if isinstance(program, type) and layout is not None:
        return PreparedByRows(program, graph, device, layout, plain)
    return prepare_on(program, graph, device=device, schedule=plain)


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
    distributed: bool | Ranks = False,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int | None = None,
) -> Any:
    """Run a program on a graph: ``ew.run(SSSP(source=3), graph)``. See `prepare` for many runs on one graph.

    Args:
        program: an instance, or a class all of whose parameters have defaults.
        graph: what to run it on.
        device: "auto", "cpu", or "cuda": see `edgewise.execution.choose`.
        schedule: how to run it; None for the best choice at each superstep.
        max_supersteps, progress, memory_limit, check, seed: as for a call of what `prepare` returns.
        distributed: whether to run on all ranks that torchrun has started, together, each of which makes this call; see
            docs/distributed.md. With device="auto" they are on GPUs if all ranks have one that can be used, and of the
            schedule they take the number of threads alone, which is for CPUs.
            `edgewise.Ranks` in place of True says how the run is divided among them.
        checkpoint: of a distributed run, the folder in which its state is kept while it runs. If that has the state of
            an interrupted run, this one goes on from there.
        every: after how many supersteps the state is kept; 10 if it is left out.

    Returns:
        A `ProgramResult`; of a distributed run a `edgewise.distributed.DistributedResult`, with the values of this
        rank's vertices, whose `gather` gives the whole one.

    Raises:
        ProgramError: the program breaks the contract, or a value is wrong.
        GraphError: a vertex that the graph does not have, or weights that it lacks.
        DistributedError: this process was not started as one of several, another one has ended or does not answer, or
            ranks have different graphs.
        OutputError, ParameterError: checkpoints cannot be kept, what is in the folder is damaged or of another run, or
            `every` is given without a checkpoint.
    """
    how: dict[str, Any] = {"max_supersteps": max_supersteps, "progress": progress, "seed": seed}
    how |= {"memory_limit": memory_limit, "check": check}
    if not isinstance(distributed, bool | np.bool_ | Ranks):
        raise ProgramError(
            f"run: distributed is {shown(distributed)}; expected True, False or ew.Ranks(), which says how a run is "
            "divided among ranks"
        )
    if distributed:
        from edgewise.distributed import run as run_distributed

        how |= {"checkpoint": checkpoint, "every": every}
        ranks = distributed if isinstance(distributed, Ranks) else Ranks()
        return run_distributed(program, graph, ranks=ranks, device=device, schedule=schedule, **how)
    for option, value in (("checkpoint", checkpoint), ("every", every)):
        if value is not None:
            raise ProgramError(
                f"run: {option} is {shown(value)}, and only runs with distributed=True keep their state; leave it out"
            )
    if not isinstance(getattr(schedule, "layout", None), Layered) and _numbering_anew(schedule) is None:
        return run_on(program, graph, device=device, schedule=schedule, **how)
    instance = instance_of(program)
    return prepare(type(instance), graph, device=device, schedule=schedule).run(dict(instance.values), **how)


def _numbering_anew(schedule: Any) -> Layout | None:
    """The layout of a schedule that asks for vertices numbered by rows; None if it does not."""
    layout = getattr(schedule, "layout", None)
    return layout if isinstance(layout, Layout) and layout.renumber else None
