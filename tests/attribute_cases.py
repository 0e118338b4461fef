"""A program with two edge attributes, its answer by plain Python, and graphs for it."""

import numpy as np

import edgewise as ew

#: Schedules that lay a run out in every way that a CPU has.
SCHEDULES = {
    "automatic": ew.Schedule(),
    "pull": ew.Schedule(ew.Pull()),
    "push": ew.Schedule(ew.Push()),
    "buffered": ew.Schedule(ew.Buffered()),
    "layered": ew.Schedule(layout=ew.Layered([0])),
}


class Cheapest(ew.Program):
    """The least toll of an edge of some capacity at each vertex, and the number of such edges into it."""

    toll = ew.edge("float64", init=ew.REQUIRED)
    capacity = ew.edge("int64")
    least = ew.vertex("float64", init=ew.INFINITY)
    wanted = ew.parameter(default=2)
    combine = ew.MIN
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        if edge.capacity >= state.wanted:
            return edge.toll

    @staticmethod
    def vertex_compute(v, message, state):
        state.least[v] = message
        return ew.HALT


def drawn(seed=1, n=30, m=150):
    """Columns of edges: sources, targets, tolls and capacities."""
    draw = np.random.default_rng(seed)
    source, target = draw.integers(0, n, (2, m))
    return source, target, draw.random(m), draw.integers(0, 6, m).astype(np.int32)


def graph_of(directed, columns=None, **how):
    """The graph of these columns, or of drawn ones, with 30 vertices."""
    source, target, toll, capacity = drawn() if columns is None else columns
    attributes = {"toll": toll, "capacity": capacity}
    return ew.Graph.from_edges(source, target, None, directed, 30, edge_attributes=attributes, **how)


def cheapest(directed, columns=None, n=30, wanted=2):
    """The answer of `Cheapest` for these edges."""
    least = np.full(n, np.inf)
    for u, v, toll, capacity in zip(*(drawn() if columns is None else columns), strict=True):
        if capacity >= wanted:
            least[v] = min(least[v], toll)
            least[u] = least[u] if directed else min(least[u], toll)
    return least
