"""Shortest paths as programs.

For weights of at least 0, parents are made from the final distances, as for the GPU's own kernel. With negative
weights, the program finds parents itself.
"""

import functools
from typing import Any, Literal

import numpy as np

from edgewise.algorithms.common.device_graph import graph_on_gpu
from edgewise.algorithms.common.programs import explain, prepared_for, wide_dtype
from edgewise.algorithms.sssp.asked import Asked
from edgewise.algorithms.sssp.cuda import finished, nearest_parents
from edgewise.algorithms.sssp.path_tree import refuse_cycle
from edgewise.algorithms.sssp.weights import is_signed
from edgewise.engine.contract import Ending
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.memory import host_copy
from edgewise.program.declare import (
    ACTIVE,
    HALT,
    INFINITY,
    MIN,
    WEIGHT,
    Program,
    edge,
    parameter,
    vertex,
)

#: The supersteps of Bellman-Ford after which a negative cycle is looked for, counted from the start; and the factor by
#: which that number grows each time.
FIRST_LOOK, LOOK_AGAIN = 64, 8


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
    """Distances and parents over weights of any sign, by the supersteps of `cpu_bellman_ford`; each takes two here.

    In odd supersteps, vertices whose distance fell offer it along their edges. In even ones they offer themselves as
    parents to those that they lowered.
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


class FromSeveral(ShortestPaths):
    """Distances from the nearest of several vertices, which are given the distance 0, up to a bound."""

    bound = parameter(WEIGHT)

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        return ACTIVE if state.distance[v] == 0 else HALT

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        reached = state.distance[edge.source] + edge.weight
        if reached <= state.bound:
            return reached
        return None


class BellmanFordFromSeveral(BellmanFord):
    """`BellmanFord` from several vertices, which are given zeros in all fields but `parent`."""

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        return ACTIVE if state.fell[v] == 0 else HALT


@functools.cache
def paths_program(dtype: np.dtype, negative: bool, plain: bool = True) -> type[Program]:
    """The program for distances of this dtype; `plain`: from one source, without a bound."""
    fields: dict[str, Any] = {
        name: vertex(dtype, init=INFINITY) for name in ("distance", "offered")[: 1 + negative]
    }
    if plain:
        base: type[Program] = BellmanFord if negative else ShortestPaths
    else:
        base = BellmanFordFromSeveral if negative else FromSeveral
        fields |= {} if negative else {"bound": parameter(dtype)}
    return type(base.__name__, (base,), {**fields, "message": wide_dtype(dtype) if negative else dtype})


def shortest_paths(
    graph: Graph, asked: Asked, delta: float | Literal["auto"], run: Execution
) -> tuple[Any, Any, int]:
    """Distances, parents and supersteps, for weights of any sign; as of `cuda.shortest_paths`. `delta` is not used.

    Raises:
        GraphError: a distance is beyond the floats of this dtype.
        NegativeCycleError: a negative cycle can be reached.
    """
    if is_signed(graph):
        distance, parent, supersteps = _signed_paths(graph, asked, run)
        return *finished(graph, asked, distance, parent, 0, run), supersteps
    graph_on_gpu(graph, run)
    plain = len(asked.sources) == 1 and not asked.is_bounded
    search = prepared_for(paths_program(asked.dtype, False, plain), graph, run)
    given = _given(graph, asked, plain, ("distance",)) | ({} if plain else {"bound": asked.bound.item()})
    outcome = search.carry_out(run, given, None)
    explain(run, outcome)
    distance, parent = (outcome.vertex_fields[name] for name in ("distance", "parent"))
    orphans = nearest_parents(graph, asked, distance, parent, run)
    return *finished(graph, asked, distance, parent, orphans, run), outcome.supersteps


def _given(graph: Graph, asked: Asked, plain: bool, fields: tuple[str, ...]) -> dict[str, Any]:
    """The source, or the fields that are 0 at several sources."""
    if plain:
        return {"source": int(asked.sources[0])}
    given: dict[str, Any] = {"source": 0}
    for name in fields:
        given[name] = np.full(graph.num_vertices, -1 if name == "fell" else asked.unreached)
        given[name][asked.sources] = 0
    return given


def _signed_paths(graph: Graph, asked: Asked, run: Execution) -> tuple[Any, Any, int]:
    """Distances, parents and supersteps of Bellman-Ford; without a negative cycle it ends within n of them."""
    plain = len(asked.sources) == 1
    search, steps = prepared_for(paths_program(asked.dtype, True, plain), graph, run), FIRST_LOOK
    given = _given(graph, asked, plain, ("distance", "offered", "fell"))
    while True:
        steps = min(steps, graph.num_vertices)
        outcome = search.carry_out(run, given, 2 * steps)
        distance, parent = (outcome.vertex_fields[name] for name in ("distance", "parent"))
        if outcome.ended is Ending.FINISHED:
            break
        refuse_cycle(graph, asked.sources, host_copy(parent))
        steps *= LOOK_AGAIN
    run.explain("Bellman-Ford, for there are negative weights: each superstep is two of a program")
    explain(run, outcome)
    return distance, parent, outcome.supersteps // 2
