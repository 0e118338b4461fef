"""Breadth-first levels from one vertex, as a program."""

import edgewise as ew


class BFS(ew.Program):
    """The number of arcs on a shortest path from one source; -1 where there is none."""

    source = ew.parameter(ew.VERTEX)
    level = ew.vertex("int32", init=-1)
    combine = ew.ANY

    @staticmethod
    def initialize(v, state):
        if v == state.source:
            state.level[v] = 0
            return ew.ACTIVE
        return ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        if state.level[edge.target] == -1:
            return True
        return None

    @staticmethod
    def vertex_compute(v, message, state):
        if message and state.level[v] == -1:
            state.level[v] = state.superstep
            return ew.ACTIVE
        return ew.HALT
