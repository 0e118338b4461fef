"""Breadth-first search as a program: levels by messages, and parents made from levels as for the built-in kernel."""

from typing import Any

import numpy as np

from edgewise.algorithms.bfs.cuda import make_parents
from edgewise.algorithms.common.device_graph import graph_on_gpu
from edgewise.algorithms.common.programs import explain, prepared_for
from edgewise.execution import Execution
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


def search(graph: Graph, sources: np.ndarray, limit: int, run: Execution) -> tuple[Any, Any, int]:
    """Levels and parents on the GPU, and the number of levels expanded; the arguments are those of `cuda.search`."""
    graph_on_gpu(graph, run)  # makes in-edges, which parents need
    given: dict[str, Any] = {"source": int(sources[0])}
    if len(sources) > 1:
        given["level"] = np.full(graph.num_vertices, -1, np.int32)
        given["level"][sources] = 0
    search = prepared_for(BreadthFirst, graph, run)
    outcome = search.carry_out(run, given, min(limit, graph.num_vertices))
    explain(run, outcome)
    level, parent = (outcome.vertex_fields[name] for name in ("level", "parent"))
    make_parents(graph, level, parent, run)
    return level, parent, outcome.supersteps
