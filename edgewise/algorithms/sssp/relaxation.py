"""Shortest paths as programs, for GPUs, and with negative weights for several ranks.

For weights of at least 0, parents are made from the final distances. With negative weights, the program finds parents
itself.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.algorithms.common.lengths import wide_dtype
from edgewise.algorithms.common.program_parts import Distances
from edgewise.algorithms.sssp.asked import Asked
from edgewise.algorithms.sssp.path_tree import refuse_cycle
from edgewise.engine.contract import Ending, Outcome
from edgewise.execution import Execution
from edgewise.graph import Graph
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
from edgewise.run import Prepared

#: The supersteps of Bellman-Ford after which a negative cycle is looked for, counted from the start; and the factor by
#: which that number grows each time.
FIRST_LOOK, LOOK_AGAIN = 64, 8


class ShortestPaths(Distances):
    """Distances over weights of at least 0. `parent` is filled in afterwards."""

    parent = vertex("int32", init=-1)


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


def is_plain(asked: Asked, negative: bool) -> bool:
    """Whether paths are asked for that the programs for one source without a bound find."""
    return len(asked.sources) == 1 and (negative or not asked.is_bounded)


def program_for(asked: Asked, negative: bool) -> type[Program]:
    """The program for what is asked for."""
    return paths_program(asked.dtype, negative, is_plain(asked, negative))


def given_for(graph: Graph, asked: Asked, negative: bool) -> dict[str, Any]:
    """The values of its run: the source, or the fields that are 0 at several sources, and the bound."""
    if is_plain(asked, negative):
        return {"source": int(asked.sources[0])}
    given: dict[str, Any] = {"source": 0}
    if not negative:
        given["bound"] = asked.bound.item()
    for name in ("distance", "offered", "fell") if negative else ("distance",):
        given[name] = np.full(graph.num_vertices, -1 if name == "fell" else asked.unreached)
        given[name][asked.sources] = 0
    return given


def signed_paths(
    graph: Graph,
    asked: Asked,
    search: Prepared,
    run: Execution,
    on_host: Callable[[Any], np.ndarray],
) -> tuple[Outcome, int]:
    """The outcome of Bellman-Ford, which without a negative cycle ends within n supersteps, and their number.

    Args:
        graph, asked: the graph, and what is asked for.
        search: the program for it.
        run: the run that it is part of.
        on_host: gives a field as an array on the host.

    Raises:
        NegativeCycleError: a negative cycle can be reached.
    """
    steps, given = FIRST_LOOK, given_for(graph, asked, True)
    while True:
        steps = min(steps, graph.num_vertices)
        outcome = search.carry_out(run, given, 2 * steps)
        if outcome.ended is Ending.FINISHED:
            break
        refuse_cycle(graph, asked.sources, on_host(outcome.vertex_fields["parent"]))
        steps *= LOOK_AGAIN
    run.explain("Bellman-Ford, for there are negative weights: each superstep is two of a program")
    return outcome, outcome.supersteps // 2
