"""Minimum spanning forests on the CPU: the launch of `cpu_grow`, its memory and its cost."""

import numpy as np

from edgewise.algorithms.common.lengths import arcs_of, in_arcs_of
from edgewise.algorithms.mst.cpu_grow import (
    EDGES,
    FOUND_WORDS,
    GIANT,
    LIVE,
    ROOTS,
    ROUNDS,
    forest_bytes,
    grow,
    make_forest,
    sort_edges,
)
from edgewise.execution import Execution
from edgewise.graph import Graph, Made
from edgewise.kernels.cpu.team import run_alone
from edgewise.memory import held, in_turn


def forest(graph: Graph, dtype: np.dtype, run: Execution) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Ends and weights of the forest's edges in order, and the number of rounds."""
    n, rows = graph.num_vertices, arcs_of(graph)
    in_edges = rows
    if graph.directed:
        run.make_in_edges(graph)
        in_edges = in_arcs_of(graph)
    state, found = make_forest(n, dtype), np.zeros(FOUND_WORDS, np.int64)
    found[[GIANT, LIVE, ROOTS]] = -1, n, n
    heaviest = dtype.type(np.inf if dtype.kind == "f" else np.iinfo(dtype).max)
    run.launch(grow, rows, in_edges, graph.directed, heaviest, state, found, work=forest_work(graph))
    count = found[EDGES]
    edges = state.edge_source[:count], state.edge_target[:count], state.edge_weight[:count]
    spare = state.live[0, :count], state.live[1, :count], state.weight[:count]
    run_alone(sort_edges, *edges, np.empty(n + 1, np.int64), spare)
    if found[GIANT] >= 0:
        run.explain(
            "one component had most vertices in the end: it took no edges, the others took those to it"
        )
    source, target, weight = (each.copy() for each in edges)
    return source.view(np.int32), target.view(np.int32), weight, int(found[ROUNDS])


def forest_work(graph: Graph) -> float:
    """About the nanoseconds that one thread takes."""
    return 60 * graph.num_vertices + 8 * graph.num_arcs * (1 + graph.directed)


def forest_memory(graph: Graph, weight: np.dtype) -> int:
    """The memory that a run takes."""
    making = graph.making(Made.IN_EDGES) if graph.directed else graph.making()
    return in_turn(making, held(forest_bytes(graph.num_vertices, weight))).most
