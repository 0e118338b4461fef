"""Approximate, then exact: a query is solved on the core of a graph, and what that gives is refined over all edges.

Result. The exact answer, and what the core alone gave.

Idea. Values of the core are those of real paths, so none is better than the exact one. All vertices that have a value
send it along all their edges once; from then on a vertex sends again when its value gets better. Most have the exact
value from the beginning, so there is little more to do than to look at each edge once.

Why it is exact. Say that messages are combined by MIN. In an asynchronous program messages may come late, and nothing
else is asked of the order of the work. A run on the core, followed by one over all edges that begins with all vertices
that have ever been active, is a run of the program on the graph in which messages along edges outside of the core come
late; those along edges of the core come twice, and the second is no better than the first. So it ends as any other
run does. Integers are the same; so are floats, as the least, over all paths, of sums rounded from left to right.

Reference. Jiang et al. (2024). What they do besides, to spare vertices in the second phase, is left out.
"""

import ast
import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from edgewise.algorithms.bfs import BFSResult, bfs
from edgewise.algorithms.common.lengths import distance_dtype, unreached_value, weight_range
from edgewise.algorithms.components import ComponentsResult, connected_components
from edgewise.algorithms.sssp import SSSPResult, ask, sssp
from edgewise.algorithms.sssp.cpu import parents_by_level, parents_of
from edgewise.approx.core import Core, distances
from edgewise.errors import ParameterError, ScheduleError
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cpu.team import available_threads
from edgewise.program.declare import (
    ACTIVE,
    HALT,
    MIN,
    REQUIRED,
    WEIGHT,
    Program,
    edge,
    vertex,
)
from edgewise.program.inspect import Specification, specification
from edgewise.program.source import UserFunction, rewritten
from edgewise.program_result import ProgramResult
from edgewise.result import Result
from edgewise.run import Prepared, instance_of, run
from edgewise.schedule import Clustered, Layered, Schedule
from edgewise.text import listed, shown

#: What a program sees of a graph that its core has otherwise.
_OF_ALL_EDGES = ("superstep", "num_arcs", "out_degree", "in_degree")
#: The field of programs made here that says which vertices are active at the beginning, or ever were; and a variable.
_AWAKE, _RETURNED = "awake_at_first", "returned_by_user"


@dataclass(frozen=True, eq=False, repr=False)
class Refined:
    """An exact answer that was found by way of a core.

    Attributes:
        result: as of the same call on the whole graph: its `supersteps` are those of the refinement, its `seconds`
            those of both phases.
        of_core: the result of the first phase. That of a program has a field more, which tells what was ever active.
        fields: the names of the values that both have, each an array with one for each vertex.
        reached: bool, shape (n,): which vertices the answer reaches. Of a program, these are the vertices that were
            ever active, or have another value than after the program's `initialize`.
    """

    result: Any
    of_core: Any
    fields: tuple[str, ...]
    reached: np.ndarray

    @property
    def core_share_right(self) -> float:
        """Which part of the vertices that are reached had their exact values after the first phase; 1 if none is."""
        right = self.reached.copy()
        for name in self.fields:
            exact, found = getattr(self.result, name), getattr(self.of_core, name)
            if name == "distance" and isinstance(self.result, SSSPResult):
                found = _in_dtype(found, exact.dtype)
            right &= exact == found
        reached = int(np.count_nonzero(self.reached))
        return float(np.count_nonzero(right)) / reached if reached else 1.0

    def __repr__(self) -> str:
        return f"<refined: {self.result!r}>"


def two_phase(
    core: Core,
    call: Callable[..., Result] | Program | type[Program],
    *arguments: Any,
    device: str = "auto",
    schedule: Schedule | None = None,
    memory_limit: float | str | None = None,
    **options: Any,
) -> Refined:
    """Solve a query on the core of a graph, and refine what that gives over all edges to the exact answer.

    On a GPU a core lies in its memory where the graph may not. The refinement reads the edges as any run of a program
    on a graph beyond the GPU's memory does. Parents are found on the CPU. O(n + m), if the core gives most vertices
    their exact value; else as the program of the call.

    Args:
        core: of the graph that is asked about.
        call: ``ew.bfs``, ``ew.sssp``, ``ew.connected_components``, or a program whose messages are combined by MIN or
            MAX, and that says ``asynchronous = True``: its end may not depend on when messages come.
        arguments, options: the source of ``ew.bfs`` or ``ew.sssp``, or ``source=...``; nothing else has any.
        device, schedule, memory_limit: of both phases: see `choose` and `admit` in `edgewise.execution`. A limit is one
            for each.

    Returns:
        A `Refined`, whose `result` is of the class that the call gives, by the vertices of the graph.

    Raises:
        ParameterError: no core, another call, negative weights, components of a directed graph, or a program that a
            core cannot begin: one that is not asynchronous, has aggregates, proceed, resume, edge fields that it writes
            or a limit of supersteps, or reads supersteps, degrees, the number of arcs, or the index of an edge.
        ScheduleError: a layout in layers, or clusters; or as the call itself.
        ProgramError, GraphError, MemoryLimitError: as the call itself, on the core or on the graph.
    """
    if not isinstance(core, Core):
        raise ParameterError(f"two_phase got {shown(core)}; expected a core: ew.approx.core_graph(graph)")
    if isinstance(getattr(schedule, "layout", None), Layered):
        raise ScheduleError("two_phase: a refinement does not run over layers; leave layout at 'auto'")
    if isinstance(getattr(schedule, "balance", None), Clustered):
        raise ScheduleError(
            "two_phase: balance is Clustered(), for which all of a graph has to lie on the GPU, where a core gains "
            "nothing; leave balance at 'auto'"
        )
    how: dict[str, Any] = {"device": device, "schedule": schedule, "memory_limit": memory_limit}
    if isinstance(call, Program) or (isinstance(call, type) and issubclass(call, Program)):
        _arguments("a program", (), arguments, options)
        return _of_program(core, instance_of(call), how)
    algorithms: tuple[tuple[Any, str, tuple[str, ...], Callable[..., Refined]], ...] = (
        (sssp, "ew.sssp", ("source",), _paths),
        (bfs, "ew.bfs", ("source",), _levels),
        (connected_components, "ew.connected_components", (), _components),
    )
    for known, name, names, refined in algorithms:
        if call is known:
            return refined(core, *_arguments(name, names, arguments, options), how)
    raise ParameterError(
        f"two_phase: call is {shown(call)}; expected ew.bfs, ew.sssp, ew.connected_components or a program"
    )


def _arguments(
    name: str, names: tuple[str, ...], given: tuple[Any, ...], options: dict[str, Any]
) -> tuple[Any, ...]:
    """The arguments of a call, by their names or not. Raises ParameterError for too few, too many, or others."""
    expected = "its source alone" if names else "none; a program has its values, MyProgram(source=3)"
    others = [each for each in options if each not in names]
    if others:
        raise ParameterError(f"two_phase: {name} got {listed(others)} beside the core; expected {expected}")
    if len(given) + len(options) != len(names):
        raise ParameterError(
            f"two_phase: {name} got {len(given) + len(options)} arguments beside the core; expected {expected}"
        )
    return (*given, *options.values())


class Labels(Program):
    """Labels that begin as the least index of a part of each component."""

    value = vertex("int32", init=REQUIRED)
    awake_at_first = vertex("bool", init=REQUIRED)
    combine = MIN
    message: ClassVar[Any] = "int32"
    asynchronous = True

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        return ACTIVE if state.awake_at_first[v] else HALT

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.value[edge.source]

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        if message < state.value[v]:
            state.value[v] = message
            return ACTIVE
        return HALT


class Steps(Labels):
    """Levels that begin as those of some paths."""

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.value[edge.source] + 1


class Lengths(Labels):
    """Distances that begin as those of some paths."""

    value = vertex(WEIGHT, init=REQUIRED)
    weight = edge(WEIGHT)
    message: ClassVar[Any] = WEIGHT

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.value[edge.source] + edge.weight


class WideLengths(Lengths):
    """Distances over weights of int32 whose sums may pass it."""

    value = vertex("int64", init=REQUIRED)
    message = "int64"


def _paths(core: Core, source: Any, how: dict[str, Any]) -> Refined:
    """Shortest paths by way of a core."""
    graph = core.original
    if weight_range(graph)[0] < 0:
        raise ParameterError("two_phase: there are negative weights; expected weights of at least 0")
    dtype = distance_dtype(graph)
    first = sssp(core.graph, source, **how)
    program = Steps if not graph.weighted else Lengths if graph.weight_dtype == dtype else WideLengths
    begun, unreached = _in_dtype(first.distance, dtype), unreached_value(dtype)
    distance, execution, supersteps = _refined(graph, program, begun, begun != unreached, first, how)
    asked = ask("two_phase", graph, source, None, unreached)
    parent = _timed(execution, parents_of, graph, asked, distance, execution)
    result = SSSPResult(graph, execution, source, (distance, parent, supersteps))
    return Refined(result, first, ("distance",), distance != unreached)


def _levels(core: Core, source: Any, how: dict[str, Any]) -> Refined:
    """A breadth-first search by way of a core."""
    graph, first = core.original, bfs(core.graph, source, **how)
    begun, awake = distances(first.level), first.level >= 0
    found, execution, supersteps = _refined(graph, Steps, begun, awake, first, how)
    parent = _timed(execution, parents_by_level, graph, found, execution)
    reached = found != unreached_value(found.dtype)
    level = np.where(reached, found, np.int32(-1))
    result = BFSResult(graph, execution, (level, parent, supersteps), source, None)
    return Refined(result, first, ("level",), reached)


def _components(core: Core, how: dict[str, Any]) -> Refined:
    """Connected components by way of a core."""
    graph = core.original
    if graph.directed:
        raise ParameterError(
            "two_phase: labels of components go along edges both ways, and the graph is directed; expected a core of "
            "an undirected graph: Graph.from_edges(sources, targets, directed=False)"
        )
    first = connected_components(core.graph, **how)
    everywhere = np.ones(graph.num_vertices, np.bool_)
    found, execution, supersteps = _refined(graph, Labels, first.component, everywhere, first, how)
    number = int(np.count_nonzero(found == np.arange(graph.num_vertices)))
    result = ComponentsResult(graph, execution, (found, number, supersteps))
    return Refined(result, first, ("component",), everywhere)


def _refined(
    graph: Graph,
    program: type[Program],
    begun: np.ndarray,
    awake: np.ndarray,
    first: Result,
    how: dict[str, Any],
) -> tuple[np.ndarray, Execution, int]:
    """The second phase of an algorithm: values, both phases as one run, and the supersteps of the second."""
    second = run(program(value=begun, awake_at_first=awake), graph, **how)
    execution = Execution(Schedule(), available_threads(), None, notes=[_note(first), *second._notes])
    execution.seconds = first.seconds + second.seconds
    execution.compile_seconds = first.compile_seconds + second.compile_seconds
    execution.layout_seconds = first.layout_seconds + second.layout_seconds
    return second.fields["value"], execution, second.supersteps


def _note(first: Result) -> str:
    """What is told of the first phase."""
    return (
        f"began with the values of a core of {first.graph.num_edges:,} edges, found in {first.seconds:.3g} s"
    )


def _timed(execution: Execution, call: Callable[..., Any], *arguments: Any) -> Any:
    """What a call gives; its time is part of the run."""
    started = time.perf_counter()
    found = call(*arguments)
    execution.seconds += time.perf_counter() - started
    return found


def _in_dtype(distance: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Distances in the dtype of the whole graph's, which may be wider than that of a core's."""
    reached = distance != unreached_value(distance.dtype)
    return np.where(reached, distance, unreached_value(dtype)).astype(dtype)


def _of_program(core: Core, program: Program, how: dict[str, Any]) -> Refined:
    """A program by way of a core."""
    kind, graph, given = type(program), core.original, dict(program.values)
    spec = specification(kind)
    _check_program(spec)
    on_core = {name: _on_core(core, name, value, spec) for name, value in given.items()}
    marked = {
        name: staticmethod(rewritten(_marking(spec.functions[name]), spec.functions[name]))
        for name in ("initialize", "vertex_compute")
    }
    noting = type(kind.__name__, (kind,), {_AWAKE: vertex("bool"), **marked})
    first = run(noting(**on_core), core.graph, **how)
    before = run(kind(**on_core), core.graph, max_supersteps=0, **how).fields
    members = {_AWAKE: vertex("bool", init=REQUIRED), **marked, "initialize": staticmethod(Labels.initialize)}
    again = type(kind.__name__, (kind,), members)
    values = {name: value for name, value in given.items() if name not in spec.vertex_fields}
    second = run(again(**values, **first.fields), graph, **how)
    arrays = {name: second.on_device(name) for name in spec.vertex_fields}
    result = second.of_another(Prepared(kind, graph), given, arrays, _note(first))
    result.seconds += first.seconds
    result.compile_seconds += first.compile_seconds
    result.layout_seconds += first.layout_seconds
    return Refined(result, first, tuple(spec.vertex_fields), second.fields[_AWAKE] | _changed(result, before))


def _marking(function: UserFunction) -> ast.FunctionDef:
    """The definition of a function of a vertex and the state that also notes for which vertices it returns ACTIVE."""
    v, *_, state = function.arguments
    note = ast.parse(f"if {_RETURNED}:\n    {state}.{_AWAKE}[{v}] = True").body[0]

    class Noting(ast.NodeTransformer):
        """Has each return note what it returns."""

        def visit_Return(self, node: ast.Return) -> Any:
            if node.value is None:
                return node
            keep = ast.Assign([ast.Name(_RETURNED, ast.Store())], node.value)
            made = [keep, copy.deepcopy(note), ast.Return(ast.Name(_RETURNED, ast.Load()))]
            for each in made:
                for part in ast.walk(each):
                    ast.copy_location(part, node)
            return made

    tree: ast.FunctionDef = Noting().visit(copy.deepcopy(function.tree))
    return tree


def _check_program(spec: Specification) -> None:
    """Refuse a program that a core cannot begin. Raises ParameterError."""
    problem = ""
    if not spec.best_first:
        problem = (
            "it is not asynchronous, combines by neither MIN nor MAX, or has aggregates, proceed, resume or edge "
            "fields that it writes"
        )
    elif spec.program.max_supersteps is not None:
        problem = "it has max_supersteps, and what is reached by then depends on the order of the work"
    elif of_all := sorted(spec.state_reads & set(_OF_ALL_EDGES)):
        problem = f"it reads {listed(f'state.{name}' for name in of_all)}, which a core has otherwise"
    elif "index" in spec.edge_reads:
        problem = "it reads edge.index, which a core has otherwise"
    elif _AWAKE in spec.declared:
        problem = f"it declares {_AWAKE}, a name that is needed here"
    if problem:
        raise ParameterError(
            f"two_phase: {spec.name} cannot begin on a core: {problem}; expected a program of MIN or MAX whose end "
            "does not depend on when messages come (asynchronous = True). Run it by ew.run"
        )


def _on_core(core: Core, name: str, value: Any, spec: Specification) -> Any:
    """A value of a run for the core: of an array for arcs, what is of its arcs."""
    if name not in spec.edge_fields or np.shape(value) != (core.original.num_arcs,):
        return value
    return np.asarray(value)[core.arcs]


def _changed(result: ProgramResult, before: dict[str, Any]) -> np.ndarray:
    """Which vertices have other values than before a run, bool, shape (n,)."""
    changed = np.zeros(result.graph.num_vertices, np.bool_)
    for name, value in before.items():
        # NaN is no other value than NaN.
        now = result.fields[name]
        changed |= (now != value) & ((now == now) | (value == value))
    return changed
