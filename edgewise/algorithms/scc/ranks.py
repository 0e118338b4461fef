"""Strongly connected components on several ranks: both searches by all ranks together, then the rest by each."""

import numpy as np

from edgewise.algorithms.bfs.ranks import find_levels, search_memory
from edgewise.algorithms.scc.cpu import split_by_searches, splitting, start_of
from edgewise.execution import Execution
from edgewise.graph import Graph, Made
from edgewise.memory import Step, held, in_turn
from edgewise.schedule import Schedule


def strong_components(graph: Graph, run: Execution) -> tuple[np.ndarray, int, int]:
    """Labels, the number of components, and levels of both searches, on all ranks."""
    run.make_in_edges(graph)
    start, n = start_of(graph), graph.num_vertices
    (forward, there), (backward, back) = (
        find_levels(way, np.array([start]), n, run) for way in (graph, graph.reverse())
    )
    found = split_by_searches(graph, start, forward.view(np.uint32), backward.view(np.uint32), run)
    return *found, there + back


def strong_components_memory(graph: Graph, schedule: Schedule) -> int:
    """The memory that a run takes."""
    search = search_memory(graph)
    making = graph.making(Made.IN_EDGES, Made.OUT_DEGREE, Made.IN_DEGREE)
    return in_turn(making, search, Step(0, search.most), held(splitting(graph.num_vertices))).most
