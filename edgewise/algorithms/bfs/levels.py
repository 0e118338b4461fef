"""Levels of a breadth-first search as a program, for GPUs."""

from typing import Any

import numpy as np

from edgewise.graph import Graph
from edgewise.program.declare import ACTIVE, ANY, HALT, Program, parameter, vertex


class BreadthFirst(Program):
    """Levels from one source, or from all vertices that are given the level 0. `parent` is filled in afterwards."""

    source = parameter("int64")
    level = vertex("int32", init=-1)
    parent = vertex("int32", init=-1)
    combine = ANY

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        if v == state.source:
            state.level[v] = 0
        return ACTIVE if state.level[v] == 0 else HALT

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        if state.level[edge.target] == -1:
            return True
        return None

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        if message and state.level[v] == -1:
            state.level[v] = state.superstep
            return ACTIVE
        return HALT


def given_for(graph: Graph, sources: np.ndarray) -> dict[str, Any]:
    """The values of a run from these sources."""
    given: dict[str, Any] = {"source": int(sources[0])}
    if len(sources) > 1:
        given["level"] = np.full(graph.num_vertices, -1, np.int32)
        given["level"][sources] = 0
    return given
