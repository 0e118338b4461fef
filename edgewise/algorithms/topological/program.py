"""Topological order as a program."""

from typing import Any

from edgewise.algorithms.common.programs import carried_out
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.program.declare import ACTIVE, HALT, SUM, Program, vertex


class Generations(Program):
    """Generations as in `topological_order`: superstep k takes the vertices that wait for none after k - 1 of them."""

    waiting = vertex("int32")
    generation = vertex("int32")
    combine = SUM
    message = "int32"

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        state.waiting[v] = state.in_degree[v]
        state.generation[v] = -1
        if state.waiting[v] > 0:
            return HALT
        state.generation[v] = 0
        return ACTIVE

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return 1

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        if state.generation[v] >= 0:  # it has let go of its arcs
            return HALT
        state.waiting[v] -= message
        if state.waiting[v] > 0:
            return HALT
        state.generation[v] = state.superstep
        return ACTIVE


def generations(graph: Graph, run: Execution, on_ranks: bool = False) -> tuple[Any, int]:
    """The generation of each vertex on the GPU, or on all ranks, and the supersteps."""
    outcome = carried_out(Generations, graph, run, {}, None, on_ranks)
    return outcome.vertex_fields["generation"], outcome.supersteps
