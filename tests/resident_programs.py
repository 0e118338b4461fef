"""Programs whose memory is measured: fields of vertices and edges, given and written, and messages that are kept."""

from bfs import BFS  # noqa: F401
from pagerank import PageRank  # noqa: F401
from sssp import SSSP  # noqa: F401

import edgewise as ew


class Traffic(ew.Program):
    """Edge fields that are written."""

    used = ew.edge("int32")
    last = ew.edge("int64", init=-1)
    flow = ew.vertex("int64", init=1)
    combine = ew.SUM
    max_supersteps = 3

    @staticmethod
    def edge_compute(edge, state):
        state.used[edge.index] = edge.used + 1
        state.last[edge.index] = state.superstep
        return state.flow[edge.source] % 1000 + edge.index

    @staticmethod
    def vertex_compute(v, message, state):
        state.flow[v] = (state.flow[v] + message) % 100003
        return ew.ACTIVE


class Given(ew.Program):
    """A field of vertices and one of edges that are given, and an aggregate."""

    value = ew.vertex("float64", init=ew.REQUIRED)
    factor = ew.edge("float64", init=ew.REQUIRED)
    combine = ew.SUM
    max_supersteps = 3

    @staticmethod
    def edge_compute(edge, state):
        return edge.factor * state.value[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message / (1 + state.in_degree[v])
        return ew.ACTIVE

    @ew.aggregator(ew.MAX)
    @staticmethod
    def largest(v, state):
        return state.value[v]


class Median(ew.Program):
    """All messages of a vertex, of two fields."""

    value = ew.vertex("float64")
    combine = ew.MESSAGES
    message = ew.fields(number="int32", weight="float64")
    max_supersteps = 2

    @staticmethod
    def initialize(v, state):
        state.value[v] = v % 17
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        return edge.source, state.value[edge.source]

    @staticmethod
    def vertex_compute(v, messages, state):
        if len(messages.weight) > 0:
            state.value[v] = messages.weight[len(messages.weight) // 2] + messages.number[0] % 3
        return ew.ACTIVE


class Tolls(ew.Program):
    """Weights that are written, and fields of other kinds that may be given: edges that are looked at by their index,
    and a vertex for each vertex."""

    toll = ew.edge(ew.WEIGHT, default=1)
    extra = ew.edge("float32", init=0.5)
    cost = ew.vertex("float32")
    nearest = ew.vertex(ew.VERTEX, init=-1)
    open = ew.vertex("bool", init=True)
    combine = ew.MAX
    max_supersteps = 3

    @staticmethod
    def edge_compute(edge, state):
        state.toll[edge.index] = edge.toll + 1
        return state.cost[edge.source] + state.extra[edge.index]

    @staticmethod
    def vertex_compute(v, message, state):
        state.cost[v] = message
        state.nearest[v] = v if state.open[v] else -1
        return ew.ACTIVE


class Start(ew.Program):
    """A vertex that is given by its id."""

    source = ew.parameter(ew.VERTEX)
    reached = ew.vertex("bool")
    combine = ew.ANY

    @staticmethod
    def initialize(v, state):
        return v == state.source

    @staticmethod
    def edge_compute(edge, state):
        return True

    @staticmethod
    def vertex_compute(v, message, state):
        if state.reached[v]:
            return ew.HALT
        state.reached[v] = True
        return ew.ACTIVE
