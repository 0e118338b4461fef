"""Shortest paths from one vertex, as a program.

Bellman (1958); the Edge-Vertex form is Algorithm 1 of Zhong et al. (2016).
"""

import edgewise as ew


class SSSP(ew.Program):
    """Distances from one source. Integer weights give integer distances."""

    source = ew.parameter(ew.VERTEX)
    distance = ew.vertex(ew.WEIGHT, init=ew.INFINITY)
    weight = ew.edge(ew.WEIGHT, default=1)
    combine = ew.MIN
    asynchronous = True  # any order of relaxing gives the same distances

    @staticmethod
    def initialize(v, state):
        if v == state.source:
            state.distance[v] = 0
            return ew.ACTIVE
        return ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        return state.distance[edge.source] + edge.weight

    @staticmethod
    def vertex_compute(v, message, state):
        if message < state.distance[v]:
            state.distance[v] = message
            return ew.ACTIVE
        return ew.HALT
