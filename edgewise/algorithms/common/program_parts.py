"""Programs that algorithms share: each adds what is its own."""

from typing import Any

from edgewise.program.declare import (
    ACTIVE,
    HALT,
    INFINITY,
    MIN,
    SUM,
    WEIGHT,
    Program,
    aggregator,
    edge,
    parameter,
    vertex,
)


class Distances(Program):
    """Distances from a source, over weights of at least 0."""

    source = parameter("int64")
    distance = vertex(WEIGHT, init=INFINITY)
    weight = edge(WEIGHT, default=1)
    combine = MIN

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        if v == state.source:
            state.distance[v] = 0
            return ACTIVE
        return HALT

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.distance[edge.source] + edge.weight

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        if message < state.distance[v]:
            state.distance[v] = message
            return ACTIVE
        return HALT


class Iterating(Program):
    """Values by power iteration, and those `before`; all vertices send in each superstep, and float64 sums arrive."""

    enough = parameter("float64")
    value = vertex("float64")
    before = vertex("float64")
    combine = SUM
    message = "float64"

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        return ACTIVE

    @aggregator(SUM)
    @staticmethod
    def change(v: Any, state: Any) -> Any:
        return abs(state.value[v] - state.before[v])
