"""Fastest ways along roads whose toll is not too high: a program that reads two attributes of edges.

``Graph.from_pandas(roads, edge_attributes=["minutes", "toll"])`` gives the graph: each field holds the column that has
its name.
"""

import edgewise as ew


class FastestBelowToll(ew.Program):
    """The minutes from one source along roads that cost at most `most` each."""

    source = ew.parameter(ew.VERTEX)
    most = ew.parameter("float64")
    minutes = ew.edge("float64", init=ew.REQUIRED)
    toll = ew.edge("float64", init=ew.REQUIRED)
    time = ew.vertex("float64", init=ew.INFINITY)
    combine = ew.MIN
    asynchronous = True  # any order of relaxing gives the same times

    @staticmethod
    def initialize(v, state):
        if v == state.source:
            state.time[v] = 0
            return ew.ACTIVE
        return ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        if edge.toll <= state.most:
            return state.time[edge.source] + edge.minutes

    @staticmethod
    def vertex_compute(v, message, state):
        if message < state.time[v]:
            state.time[v] = message
            return ew.ACTIVE
        return ew.HALT
