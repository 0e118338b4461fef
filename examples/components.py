"""Connected components of an undirected graph, as a program.

Each vertex takes the smallest label among its neighbours until nothing changes (HCC; Zhong et al. 2016, section
5). Labels travel along arcs only, so the graph has to be undirected.
"""

import edgewise as ew


class Components(ew.Program):
    """The index of the smallest vertex of each vertex's component."""

    label = ew.vertex(ew.VERTEX)
    combine = ew.MIN
    message = ew.VERTEX
    asynchronous = True

    @staticmethod
    def initialize(v, state):
        state.label[v] = v
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        return state.label[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        if message < state.label[v]:
            state.label[v] = message
            return ew.ACTIVE
        return ew.HALT
