"""A minimum spanning forest as a program: it finds the lightest edges of vertices, and a kernel joins by them."""

import functools
from typing import Any

import numpy as np

from edgewise.algorithms.common.lengths import wide_dtype
from edgewise.algorithms.common.programs import explain, prepared_with, with_both_ways
from edgewise.algorithms.mst.forest_edges import count_edges, sorted_edges
from edgewise.algorithms.mst.memory import joining_bytes
from edgewise.algorithms.mst.program_contract import contract, plant
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.memory import copy_of, host_copy
from edgewise.program.declare import (
    ACTIVE,
    HALT,
    INFINITY,
    MIN,
    WEIGHT,
    Program,
    edge,
    vertex,
)


class LightestEdges(Program):
    """For each vertex the lightest edge to another component, if every edge goes both ways; of equally heavy edges, the
    one whose other end has the lowest index. The first superstep finds the weight, the second that end."""

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


@functools.cache
def edges_program(weight: np.dtype) -> type[Program]:
    """The program for weights of this dtype."""
    wide = wide_dtype(weight)
    return type("LightestEdges", (LightestEdges,), {"lightest": vertex(wide, init=INFINITY), "message": wide})


def forest_on_ranks(graph: Graph, weight: np.dtype, run: Execution) -> tuple[Any, Any, Any, int]:
    """`forest` on the GPUs of all ranks."""
    return forest(graph, weight, run, on_ranks=True)


def forest(
    graph: Graph, weight: np.dtype, run: Execution, on_ranks: bool = False
) -> tuple[Any, Any, Any, int]:
    """A minimum spanning forest; arguments and result are those of `cuda.spanning_forest`.

    In each round a run of the program finds the lightest edges of vertices, and a kernel joins components by them.
    Edges of a directed graph are laid out both ways; the graph keeps that. On ranks the program runs on all of them,
    and each joins all components for itself.
    """
    wide, rounds, n = wide_dtype(weight), 0, graph.num_vertices
    grown = plant(n, wide)
    both = with_both_ways(graph, graph.weighted, run, on_ranks)
    find = prepared_with(edges_program(weight), both, run, on_ranks)
    while True:
        found = find.carry_out(run, {"component": host_copy(grown.component)}, None, joining_bytes(n))
        lightest, end = (found.vertex_fields[name] for name in ("lightest", "end"))
        if on_ranks:
            lightest, end = copy_of(lightest), copy_of(end)
        if not contract(grown, lightest, end):
            break
        rounds += 1
    run.explain(f"{rounds} rounds, each of which is two supersteps of a program")
    explain(run, found)
    source, target, heavy = sorted_edges(count_edges(grown.ends), grown.weight, wide)
    return source, target, heavy.astype(weight), rounds
