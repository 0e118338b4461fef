"""Breadth-first search as a program: levels by messages, and parents made from levels as for the built-in kernel."""

from typing import Any

import numpy as np

from edgewise.algorithms.bfs.cuda import make_parents
from edgewise.algorithms.bfs.levels import BreadthFirst, given_for
from edgewise.algorithms.common.device_graph import graph_on_gpu
from edgewise.algorithms.common.programs import explain, prepared_for
from edgewise.execution import Execution
from edgewise.graph import Graph


def search(graph: Graph, sources: np.ndarray, limit: int, run: Execution) -> tuple[Any, Any, int]:
    """Levels and parents on the GPU, and the number of levels expanded; the arguments are those of `cuda.search`."""
    graph_on_gpu(graph, run)  # makes in-edges, which parents need
    search = prepared_for(BreadthFirst, graph, run)
    outcome = search.carry_out(run, given_for(graph, sources), min(limit, graph.num_vertices))
    explain(run, outcome)
    level, parent = (outcome.vertex_fields[name] for name in ("level", "parent"))
    make_parents(graph, level, parent, run)
    return level, parent, outcome.supersteps
