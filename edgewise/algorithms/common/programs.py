"""The algorithms as programs: how they are carried out where a schedule says more than algorithms' kernels can do.

Their own kernels deal out edges in ways that belong to them; a program runs with every strategy. Answers are the same:
parents are made from finished levels and distances by what the algorithms' kernels make them with, or, where weights
are negative, are part of the program.
"""

import functools
import time
from typing import Any

import numpy as np

from edgewise.algorithms.bfs.cuda import make_parents
from edgewise.algorithms.common.device_graph import graph_on_gpu, laid_out
from edgewise.algorithms.common.lengths import weight_range
from edgewise.algorithms.mst.cuda_contract import contract, plant
from edgewise.algorithms.mst.cuda_forest_edges import count_edges, sorted_edges
from edgewise.algorithms.pagerank import Ranked
from edgewise.algorithms.pagerank.walk import Walk
from edgewise.algorithms.sssp.cpu_path_tree import refuse_cycle
from edgewise.algorithms.sssp.cuda import nearest_parents
from edgewise.engine.cpu.kernel import ENDINGS
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cache import compile_seconds
from edgewise.kernels.cuda.memory import copy_of, cupy, host_copy
from edgewise.program.declare import (
    ACTIVE,
    ANY,
    HALT,
    INFINITY,
    MIN,
    SUM,
    WEIGHT,
    Program,
    aggregator,
    edge,
    parameter,
    vertex,
)
from edgewise.run import Prepared, ProgramResult

#: Supersteps of Bellman-Ford before a negative cycle is looked for; then so many times as many, from the start.
FIRST_LOOK, LOOK_AGAIN = 64, 8


class BreadthFirst(Program):
    """Levels from one source, or from all vertices that are given the level 0. `parent` is filled in afterwards."""

    source = parameter("int64")
    level = vertex("int32", init=-1)
    parent = vertex("int32", init=-1)
    combine = ANY

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        if v == state.source:
            state.level[v] = 0
        return ACTIVE if state.level[v] == 0 else HALT

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        if state.level[edge.target] == -1:
            return True
        return None

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        if message and state.level[v] == -1:
            state.level[v] = state.superstep
            return ACTIVE
        return HALT


class ShortestPaths(Program):
    """Distances over weights of at least 0. `parent` is filled in afterwards."""

    source = parameter("int64")
    distance = vertex(WEIGHT, init=INFINITY)
    parent = vertex("int32", init=-1)
    weight = edge(WEIGHT, default=1)
    combine = MIN

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        if v == state.source:
            state.distance[v] = 0
            return ACTIVE
        return HALT

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.distance[edge.source] + edge.weight

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        if message < state.distance[v]:
            state.distance[v] = message
            return ACTIVE
        return HALT


class BellmanFord(Program):
    """Distances and parents over weights of any sign, as `sssp.cpu_bellman_ford` finds them: two supersteps for each of
    its.

    In odd ones, vertices whose distance fell offer it along their edges. In even ones they offer themselves as parents
    to those that they lowered.
    """

    source = parameter("int64")
    distance = vertex(WEIGHT, init=INFINITY)
    offered = vertex(WEIGHT, init=INFINITY)
    parent = vertex("int32", init=-1)
    fell = vertex("int64", init=-1)  # the last superstep in which the distance did
    weight = edge(WEIGHT)
    combine = MIN

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        if v == state.source:
            state.distance[v] = 0
            state.offered[v] = 0
            state.fell[v] = 0
            return ACTIVE
        return HALT

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        reached = state.distance[edge.source] + edge.weight
        if state.superstep % 2 == 1:
            return reached
        if reached == state.offered[edge.target] and reached < state.distance[edge.target]:
            return edge.source
        return None

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        if state.superstep % 2 == 1:
            if message < state.distance[v]:
                state.offered[v] = message
            return ACTIVE if state.fell[v] == state.superstep - 1 else HALT
        if state.offered[v] < state.distance[v]:
            state.distance[v] = state.offered[v]
            state.parent[v] = int(message)
            state.fell[v] = state.superstep
            return ACTIVE
        return HALT


class Components(Program):
    """The smallest index that a path leads from, where every edge goes both ways."""

    component = vertex("int32")
    combine = MIN
    message = "int32"

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        state.component[v] = v
        return ACTIVE

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.component[edge.source]

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        if message < state.component[v]:
            state.component[v] = message
            return ACTIVE
        return HALT


class LightestEdges(Program):
    """Of each vertex the lightest edge to another component, where every edge goes both ways: of equally heavy ones
    that with the lowest index of the other end. The first superstep finds its weight, the second that end."""

    component = vertex("int32")
    lightest = vertex(WEIGHT, init=INFINITY)
    end = vertex("int32", init=-1)
    weight = edge(WEIGHT, default=1)
    combine = MIN

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        if state.component[edge.source] == state.component[edge.target]:
            return None
        if state.superstep == 1:
            return edge.weight
        if edge.weight == state.lightest[edge.target]:
            return edge.source
        return None

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        if state.superstep == 1:
            state.lightest[v] = message
            return ACTIVE
        if message < state.num_vertices:
            state.end[v] = int(message)
        return HALT


class PageRank(Program):
    """Ranks, as in `pagerank`. Each vertex starts with `begin`, besides the rank that it is given, and has the part
    `even` of all jumps, besides its `jump`. Sums are float64."""

    damping = parameter("float64")
    enough = parameter("float64")
    begin = parameter("float64")
    even = parameter("float64")
    rank = vertex("float64")
    before = vertex("float64")
    share = vertex("float64")
    scale = vertex("float64")
    jump = vertex("float64")
    combine = SUM
    message = "float64"

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        if state.out_degree[v] > 0:
            state.scale[v] = 1.0 / state.out_degree[v]
        state.rank[v] = state.rank[v] + state.begin
        state.share[v] = state.rank[v] * state.scale[v]
        return ACTIVE

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.share[edge.source]

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        spread = 1.0 - state.damping + state.damping * state.dangling
        state.before[v] = state.rank[v]
        state.rank[v] = spread * (state.even + state.jump[v]) + state.damping * message
        state.share[v] = state.rank[v] * state.scale[v]
        return ACTIVE

    @aggregator(SUM)
    @staticmethod
    def dangling(v: Any, state: Any) -> Any:
        return state.rank[v] if state.scale[v] == 0.0 else 0.0

    @aggregator(SUM)
    @staticmethod
    def change(v: Any, state: Any) -> Any:
        return abs(state.rank[v] - state.before[v])

    @staticmethod
    def proceed(state: Any) -> Any:
        return state.enough == 0.0 or state.change > state.enough


class WeightedPageRank(PageRank):
    """Ranks of a walk that follows edges in proportion to their weights; `scale` is given."""

    weight = edge(WEIGHT)

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        state.rank[v] = state.rank[v] + state.begin
        state.share[v] = state.rank[v] * state.scale[v]
        return ACTIVE

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.share[edge.source] * edge.weight


@functools.cache
def paths_program(dtype: np.dtype, negative: bool) -> type[Program]:
    """The program for distances of this dtype."""
    fields = {name: vertex(dtype, init=INFINITY) for name in ("distance", "offered")[: 1 + negative]}
    base = BellmanFord if negative else ShortestPaths
    return type(base.__name__, (base,), {**fields, "message": _wide(dtype) if negative else dtype})


@functools.cache
def edges_program(weight: np.dtype) -> type[Program]:
    """The program for weights of this dtype."""
    wide = _wide(weight)
    return type("LightestEdges", (LightestEdges,), {"lightest": vertex(wide, init=INFINITY), "message": wide})


def _wide(dtype: np.dtype) -> np.dtype:
    """The dtype of messages that are values of a dtype or indices of vertices by turns."""
    return np.dtype(f"{dtype.kind}8")


@functools.cache
def ranks_program(dtype: np.dtype, weighted: bool) -> type[Program]:
    """The program for ranks of this dtype."""
    base = WeightedPageRank if weighted else PageRank
    fields = {name: vertex(dtype) for name in ("rank", "before", "share", "scale", "jump")}
    return type("PageRank", (base,), fields)


def _carry_out(
    program: type[Program],
    graph: Graph,
    run: Execution,
    memory_limit: int | None,
    limit: int | None = None,
    **values: Any,
) -> ProgramResult:
    """Run a program once as part of a run."""
    return call(prepared_for(program, graph, run), run, memory_limit, limit, **values)


def prepared_for(program: type[Program], graph: Graph, run: Execution) -> Prepared:
    """A program to be called as part of a run, by its schedule. Preparing it is laying out."""
    started = time.perf_counter()
    prepared = Prepared(program, graph, "cuda", run.schedule)
    run.layout_seconds += time.perf_counter() - started
    return prepared


def call(
    prepared: Prepared, run: Execution, memory_limit: int | None, limit: int | None = None, **values: Any
) -> ProgramResult:
    """Call a program as part of a run; what is neither running nor compiling is laying out."""
    started, compiled = time.perf_counter(), compile_seconds()
    result = prepared(max_supersteps=limit, progress=run.progress, memory_limit=memory_limit, **values)
    spent = time.perf_counter() - started - (compile_seconds() - compiled)
    run.layout_seconds += max(0.0, spent - result.seconds)
    return result


def tell_schedule(run: Execution, what: str) -> None:
    """Explain what is carried out by what the schedule says."""
    parts = {name: getattr(run.schedule, name) for name in ("delivery", "balance", "layout")}
    told = ", ".join(f"{name} {part}" for name, part in parts.items() if part != "auto")
    run.explain(f"{what} on the GPU: {told}")


def explain(run: Execution, result: ProgramResult) -> None:
    tell_schedule(run, "a program")
    run.notes.extend(result.explain().splitlines())


def search(
    graph: Graph, sources: np.ndarray, limit: int, memory_limit: int | None, run: Execution
) -> tuple[Any, Any, int]:
    """Levels and parents on the GPU, and how many levels were expanded; arguments as of `bfs.cuda.search`."""
    graph_on_gpu(graph, run)  # makes in-edges, which parents need
    given: dict[str, Any] = {"source": int(sources[0])}
    if len(sources) > 1:
        given["level"] = np.full(graph.num_vertices, -1, np.int32)
        given["level"][sources] = 0
    depth = min(limit, graph.num_vertices)
    result = _carry_out(BreadthFirst, graph, run, memory_limit, depth, **given)
    explain(run, result)
    level, parent = result.on_device("level"), result.on_device("parent")
    make_parents(graph, level, parent, run)
    return level, parent, result.supersteps


def shortest_paths(
    graph: Graph, start: int, dtype: np.dtype, memory_limit: int | None, run: Execution
) -> tuple[Any, Any, int, int]:
    """Distances and parents on the GPU, supersteps, and how many vertices were reached but have no parent yet.

    Raises:
        NegativeCycleError: a negative cycle can be reached.
    """
    if weight_range(graph)[0] < 0:
        return *_signed_paths(graph, start, dtype, memory_limit, run), 0
    graph_on_gpu(graph, run)
    program = paths_program(dtype, negative=False)
    result = _carry_out(program, graph, run, memory_limit, source=start)
    explain(run, result)
    distance, parent = result.on_device("distance"), result.on_device("parent")
    orphans = nearest_parents(graph, start, distance, parent, run)
    return distance, parent, result.supersteps, orphans


def _signed_paths(
    graph: Graph, start: int, dtype: np.dtype, memory_limit: int | None, run: Execution
) -> tuple[Any, Any, int]:
    """Distances, parents and supersteps of Bellman-Ford; without a negative cycle it ends within n of them."""
    program, steps = paths_program(dtype, negative=True), FIRST_LOOK
    while True:
        steps = min(steps, graph.num_vertices)
        result = _carry_out(program, graph, run, memory_limit, 2 * steps, source=start)
        if result.ended == ENDINGS[0]:
            break
        refuse_cycle(graph, start, result.parent)
        steps *= LOOK_AGAIN
    run.explain("Bellman-Ford, for there are negative weights: each superstep is two of a program")
    explain(run, result)
    return result.on_device("distance"), result.on_device("parent"), result.supersteps // 2


def components(graph: Graph, memory_limit: int | None, run: Execution) -> tuple[Any, int, int]:
    """Labels on the GPU, the number of components, and supersteps.

    Labels travel along edges, so those of a directed graph are laid out both ways; the graph keeps that.
    """
    both_ways = _both_ways(graph, False, run)
    result = _carry_out(Components, both_ways, run, memory_limit)
    explain(run, result)
    component, xp = result.on_device("component"), cupy()
    return component, int((component == xp.arange(graph.num_vertices)).sum()), result.supersteps


def forest(
    graph: Graph, weight: np.dtype, memory_limit: int | None, run: Execution
) -> tuple[Any, Any, Any, int]:
    """A minimum spanning forest; arguments and result as of `mst.cuda.spanning_forest`.

    Each round is a run of a program, which finds the lightest edges of vertices, and a kernel that joins components by
    them. Edges of a directed graph are laid out both ways; the graph keeps that.
    """
    wide, rounds = _wide(weight), 0
    grown = plant(graph.num_vertices, wide)
    find = prepared_for(edges_program(weight), _both_ways(graph, graph.weighted, run), run)
    while True:
        found = call(find, run, memory_limit, component=host_copy(grown.component))
        if not contract(grown, found.on_device("lightest"), found.on_device("end")):
            break
        rounds += 1
    run.explain(f"{rounds} rounds, each of which is two supersteps of a program")
    explain(run, found)
    source, target, heavy = sorted_edges(count_edges(grown.ends), grown.weight, wide)
    return source, target, heavy.astype(weight), rounds


def _both_ways(graph: Graph, weighted: bool, run: Execution) -> Graph:
    """A graph in which every edge goes both ways, with or without its weights; made once, the graph keeps it."""

    def make() -> Graph:
        ends = copy_of(graph.sources), graph.on_gpu("targets")
        weights = graph.on_gpu("weights") if weighted else None
        return Graph.from_edges(*ends, weights, directed=False, num_vertices=graph.num_vertices)

    if not graph.directed:
        return graph
    made: Graph = laid_out(graph, ("both ways", weighted), make, "laid out the edges both ways", run)
    return made


def rank(
    walk: Walk,
    start: np.ndarray | None,
    dtype: np.dtype,
    enough: float,
    limit: int,
    memory_limit: int | None,
    run: Execution,
) -> Ranked:
    """Ranks on the GPU; arguments as of `pagerank.cuda.rank`."""
    each = 1 / walk.graph.num_vertices
    given = {"rank": start, "jump": walk.jump, "scale": walk.scale if walk.weighted else None}
    result = _carry_out(
        ranks_program(dtype, walk.weighted),
        walk.graph,
        run,
        memory_limit,
        limit,
        damping=walk.damping,
        enough=enough,
        begin=each if start is None else 0.0,
        even=each if walk.jump is None else 0.0,
        **{name: values for name, values in given.items() if values is not None},
    )
    explain(run, result)
    iterations, before = result.supersteps, result.on_device("before")
    residual = result.aggregates["change"] if iterations else 0.0
    return Ranked(
        result.on_device("rank"),
        iterations,
        residual=residual,
        shares=lambda: host_copy(before) * walk.scale.astype(dtype),
    )
