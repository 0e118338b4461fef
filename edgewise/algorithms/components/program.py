"""Connected components as a program."""

from typing import Any

from edgewise.algorithms.common.programs import explain, prepared_for, with_both_ways
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.memory import cupy
from edgewise.program.declare import ACTIVE, HALT, MIN, Program, vertex


class Components(Program):
    """For each vertex the smallest index from which a path leads to it, if every edge goes both ways."""

    component = vertex("int32")
    combine = MIN
    message = "int32"
    asynchronous = True  # any order gives the same labels; only runs by clusters have one of their own

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


def components(graph: Graph, run: Execution) -> tuple[Any, int, int]:
    """Labels on the GPU, the number of components, and supersteps.

    Labels travel along edges, so the edges of a directed graph are laid out both ways; the graph keeps that.
    """
    search = prepared_for(Components, with_both_ways(graph, False, run), run)
    outcome = search.carry_out(run, {}, None)
    explain(run, outcome)
    component = outcome.vertex_fields["component"]
    return component, int((component == cupy().arange(graph.num_vertices)).sum()), outcome.supersteps
