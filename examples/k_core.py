"""Core numbers, as a program. Matula and Beck, "Smallest-last ordering and clustering", J. ACM 30(3), 1983."""

import edgewise as ew


class KCore(ew.Program):
    """The largest k for which a vertex belongs to a subgraph in which all have at least k neighbours.

    For an undirected graph without self-loops. Vertices of the least degree left are taken away, which may leave others
    with no more than that, until all those are gone; only then does the degree that is asked for rise.
    """

    degree = ew.vertex("int32")
    core = ew.vertex("int32")  # the degree that is asked for, until the vertex is taken away
    removed = ew.vertex("bool")
    combine = ew.SUM
    message = "int32"

    @staticmethod
    def initialize(v, state):
        state.degree[v] = state.out_degree[v]
        return ew.HALT

    @staticmethod
    def resume(v, state):  # nobody is being taken away: the degree rises to the least one left
        if state.removed[v]:
            return ew.HALT
        state.core[v] = state.least
        state.removed[v] = state.degree[v] <= state.least
        return state.removed[v]

    @staticmethod
    def edge_compute(edge, state):  # from a vertex that was taken away
        return None if state.removed[edge.target] else 1

    @staticmethod
    def vertex_compute(v, message, state):
        if state.removed[v]:
            return ew.HALT
        state.degree[v] -= message
        state.removed[v] = state.degree[v] <= state.core[v]
        return state.removed[v]

    @ew.aggregator(ew.MIN, "int32")
    @staticmethod
    def least(v, state):
        return state.num_vertices if state.removed[v] else state.degree[v]
