"""Core numbers as a program, of a graph in which each edge leads both ways."""

from typing import Any

from edgewise.program.declare import ACTIVE, HALT, MAX, MIN, SUM, Program, aggregator, vertex


class Peeling(Program):
    """Core numbers as in `core_numbers`: `core` begins with the edges of each vertex, and is what is left of them.

    Vertices with the fewest edges left are taken away, then those that have no more than these had after that, until
    there are none; that is a level. Loops are not among the edges that `core` begins with.
    """

    core = vertex("int32")
    taken = vertex("bool")
    combine = SUM
    message = "int32"

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        return HALT

    @staticmethod
    def resume(v: Any, state: Any) -> Any:
        if state.taken[v] or state.core[v] > state.least:
            return HALT
        state.taken[v] = True
        return ACTIVE

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return None if state.taken[edge.target] else 1

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        if state.taken[v]:
            return HALT
        state.core[v] -= message
        if state.core[v] > state.level:
            return HALT
        state.core[v] = state.level
        state.taken[v] = True
        return ACTIVE

    @aggregator(MIN, "int32")
    @staticmethod
    def least(v: Any, state: Any) -> Any:
        return state.num_vertices if state.taken[v] else state.core[v]

    @aggregator(MAX, "int32")
    @staticmethod
    def level(v: Any, state: Any) -> Any:
        return state.core[v] if state.taken[v] else 0
