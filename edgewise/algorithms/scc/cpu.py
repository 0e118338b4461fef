"""Strongly connected components on the CPU: two searches and the launch of `cpu_split`, their memory and their cost."""

import numpy as np

from edgewise.algorithms.bfs.cpu import arcs_both_ways, levels_from, levels_memory, search_work
from edgewise.algorithms.scc.cpu_split import (
    ALONE,
    BOTH,
    COMPONENTS,
    FOUND_WORDS,
    LOWEST,
    depth_bytes,
    make_depth,
    split,
)
from edgewise.execution import Execution, threads_of
from edgewise.graph import Graph, Made
from edgewise.memory import Step, held, in_turn
from edgewise.schedule import Schedule
from edgewise.text import shown


def strong_components(graph: Graph, run: Execution) -> tuple[np.ndarray, int, int]:
    """Labels, the number of components, and levels of both searches."""
    n = graph.num_vertices
    if n == 0:
        return np.empty(0, np.int32), 0, 0
    run.make_in_edges(graph)
    start, arcs = start_of(graph), arcs_both_ways(graph)
    forward, there = levels_from(start, arcs, run)
    backward, back = levels_from(start, arcs.reversed(), run)
    return *split_by_searches(graph, start, forward, backward, run), there + back


def start_of(graph: Graph) -> int:
    """The vertex from which both searches begin: one with many arcs in and out."""
    return int(np.argmax(np.minimum(graph.out_degree, graph.in_degree)))


def split_by_searches(
    graph: Graph, start: int, forward: np.ndarray, backward: np.ndarray, run: Execution
) -> tuple[np.ndarray, int]:
    """Labels and the number of components, when both searches have ended.

    Args:
        graph: with in-edges.
        start: the vertex from which they began.
        forward, backward: their levels, uint32, shape (n,); the largest integer for vertices that were not reached.
        run: the run.
    """
    n, arcs = graph.num_vertices, arcs_both_ways(graph)
    component, found = np.empty(n, np.uint32), np.zeros(FOUND_WORDS, np.int64)
    found[LOWEST] = n
    run.launch(
        split, arcs, forward, backward, make_depth(n), component, found, work=5 * n + graph.num_arcs // 3
    )
    rest, name = n - found[BOTH] - found[ALONE], graph.ids_of(np.array([start])).tolist()[0]
    run.explain(
        f"{found[BOTH]:,} of {n:,} vertices are in the component of vertex {shown(name)}, "
        f"which two searches found; {found[ALONE]:,} are alone by their arcs; {rest:,} went to a depth-first search"
    )
    return component.view(np.int32), int(found[COMPONENTS])


def strong_components_work(graph: Graph) -> float:
    """About the nanoseconds that one thread takes."""
    return 2 * search_work(graph.num_vertices, graph.num_arcs)


def strong_components_memory(graph: Graph, schedule: Schedule) -> int:
    """The memory that a run takes."""
    n = graph.num_vertices
    search = levels_memory(n, threads_of("scc", schedule))
    making = graph.making(Made.IN_EDGES, Made.OUT_DEGREE, Made.IN_DEGREE)
    return in_turn(making, Step(0, 4 * n), search, search, held(splitting(n))).most


def splitting(num_vertices: int) -> int:
    """The memory that `split_by_searches` takes."""
    return 4 * num_vertices + depth_bytes(num_vertices)
