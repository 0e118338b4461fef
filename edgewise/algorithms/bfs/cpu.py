"""Breadth-first search on the CPU: the launch of `cpu_traverse`, its memory and its cost."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.bfs.cpu_layers import by_vertices, find_parents, read_levels, rows_of
from edgewise.algorithms.bfs.cpu_pull import first_parents
from edgewise.algorithms.bfs.cpu_state import (
    DIRECTION,
    FROM_LEVEL,
    FRONTIER_EDGES,
    LEVELS,
    LOGGED,
    SCANNED,
    STATE,
    WANTS_IN_EDGES,
    make_search,
    searching,
)
from edgewise.algorithms.bfs.cpu_traverse import traverse
from edgewise.algorithms.bfs.direction import forced_direction
from edgewise.execution import Execution, rest_of, threads_of
from edgewise.graph import Graph, Made
from edgewise.graph.layers import GraphInLayers
from edgewise.kernels.costs import levels
from edgewise.kernels.cpu.launch import unsigned
from edgewise.memory import Step, held, in_turn
from edgewise.primitives.direction import AUTO, PULL, PUSH
from edgewise.primitives.vertices import NO_VERTEX
from edgewise.schedule import Pull, Schedule


class ArcsBothWays(NamedTuple):
    """The out-edges and in-edges of a graph, unsigned; in-edges are empty if it has none yet."""

    offsets: np.ndarray
    targets: np.ndarray
    in_offsets: np.ndarray
    in_sources: np.ndarray

    def reversed(self) -> "ArcsBothWays":
        """The arcs of the graph with every arc the other way."""
        return ArcsBothWays(self.in_offsets, self.in_sources, self.offsets, self.targets)


def arcs_both_ways(graph: Graph) -> ArcsBothWays:
    """The graph as the kernel takes it; in-edges are not made for this."""
    rows = graph.offsets, graph.targets
    in_edges = (graph.in_offsets, graph.in_sources) if graph.has_in_edges else (rows[0][:0], rows[1][:0])
    return ArcsBothWays(*(unsigned(array) for array in (*rows, *in_edges)))


def search(
    graph: Graph, sources: np.ndarray, limit: int, run: Execution
) -> tuple[np.ndarray, np.ndarray, int]:
    """Levels, parents and the number of levels."""
    state = make_search(graph.num_vertices, run.num_threads)
    forced = direction = forced_direction(run.schedule)
    room = rest_of(run.memory_limit, sources.nbytes)
    if forced == AUTO and room is not None and room < _memory_to_pull(graph, run.schedule).most:
        run.explain("pushed throughout: memory_limit leaves no room for the in-edges that pulling needs")
        direction = PUSH
    work, rounds = search_cost(graph)
    settings = state, sources, limit, graph.directed, direction
    run.launch(traverse, arcs_both_ways(graph), *settings, work=work, rounds=rounds)
    if state.status[STATE] == WANTS_IN_EDGES:
        run.make_in_edges(graph, "made the in-edges for pulling")
        run.launch(traverse, arcs_both_ways(graph), *settings, work=work, rounds=rounds)
    levels = int(state.status[LEVELS])
    explain_levels(run, state.log[: state.status[LOGGED]], levels, direction)
    return state.level.view(np.int32), state.parent.view(np.int32), levels


def search_layers(
    made: GraphInLayers, places: np.ndarray | None, limit: int, run: Execution
) -> tuple[np.ndarray, np.ndarray, int]:
    """`search` over a graph in layers, by vertices; from its roots if no places of sources are given."""
    graph, order, n, levels = made.graph, made.order, made.graph.num_vertices, 0
    if places is None:
        level = np.empty(n, np.int32)
        run.launch(read_levels, order.begins, limit, level, work=n)
    else:
        level, parent, levels = search(graph, places, limit, run)
        del parent
    rows = rows_of(made)
    work = layers_work(graph)
    parent = np.full(n, NO_VERTEX)
    run.launch(find_parents, *rows, level, parent, work=work)
    level_of, parent_of = np.empty(n, np.int32), np.empty(n, np.uint32)
    run.launch(by_vertices, rows[-1], level, parent, level_of, parent_of, work=4 * n)
    return level_of, parent_of.view(np.int32), levels


def find_missing_parents(arcs: ArcsBothWays, of: slice, found: Any, run: Execution) -> None:
    """Find the parents that vertices `of` a range have not got yet, when the levels of all vertices are known.

    Args:
        arcs, of: the arcs, and the vertices; in-edges of others are not looked at.
        found: has levels and parents of all vertices, uint32, as `level` and `parent`.
        run: the run that this is part of.
    """
    count = int(arcs.in_offsets[of.stop]) - int(arcs.in_offsets[of.start])
    run.launch(first_parents, of.start, of.stop, arcs, found, work=4.0 * (of.stop - of.start) + 1.5 * count)


def layers_work(graph: Graph) -> float:
    """About the nanoseconds that one thread takes to find parents in layers."""
    return 4.0 * graph.num_vertices + 1.5 * graph.num_arcs


def layers_memory(graph: Graph, schedule: Schedule, from_roots: bool) -> Step:
    """The memory of `search_layers`, for the moved graph."""
    arrays = held(16 * graph.num_vertices)
    return arrays if from_roots else in_turn(search_memory(graph, schedule), arrays)


def levels_from(source: int, arcs: ArcsBothWays, run: Execution) -> tuple[np.ndarray, int]:
    """The levels from one vertex of a directed graph with in-edges, uint32, and the number of levels."""
    n = len(arcs.offsets) - 1
    state = make_search(n, run.num_threads)
    work, rounds = search_work(n, len(arcs.targets)), levels(n, len(arcs.targets))
    run.launch(traverse, arcs, state, np.array([source]), n, True, AUTO, work=work, rounds=rounds)
    return state.level, int(state.status[LEVELS])


def levels_memory(num_vertices: int, num_threads: int) -> Step:
    """The memory of `levels_from`."""
    return searching(num_vertices, num_threads)


def search_work(num_vertices: int, num_arcs: int) -> float:
    """About the nanoseconds that one thread takes: pulling skips most arcs of a graph with many for each vertex."""
    return 6 * num_vertices + 4 * min(num_arcs, 6 * num_vertices) + 0.2 * num_arcs


def search_cost(graph: Graph) -> tuple[float, float]:
    """About the nanoseconds that one thread takes, and how often all threads wait for each other."""
    n, m = graph.num_vertices, graph.num_arcs
    return search_work(n, m), levels(n, m)


def search_memory(graph: Graph, schedule: Schedule) -> Step:
    """The memory of a search; if it may push, it makes in-edges only if there is room."""
    if isinstance(schedule.delivery, Pull):
        return _memory_to_pull(graph, schedule)
    return in_turn(graph.making(), searching(graph.num_vertices, threads_of("bfs", schedule)))


def _memory_to_pull(graph: Graph, schedule: Schedule) -> Step:
    """The memory of a search that makes in-edges on the way."""
    search = searching(graph.num_vertices, threads_of("bfs", schedule))
    return in_turn(held(search.most), graph.making(Made.IN_EDGES))


def explain_levels(run: Execution, log: np.ndarray, levels: int, forced: int) -> None:
    """Explain each run of levels in one direction by a line.

    Args:
        run: the run.
        log: int64, shape (lines, 4); see `cpu_state`.
        levels: how many there were.
        forced: a direction that all levels had to take, or AUTO.
    """
    ends = np.append(log[1:, FROM_LEVEL] - 1, levels)
    for line, end in zip(log, ends, strict=False):  # no line at all if max_depth is 0
        first, direction = line[FROM_LEVEL], "pull" if line[DIRECTION] == PULL else "push"
        among = f"level {first}" if first == end else f"levels {first}-{end}"
        if forced != AUTO:
            run.explain(f"{among}: {direction} (as the schedule says)")
        else:
            edges, scanned = f"{line[FRONTIER_EDGES]:,}", f"{line[SCANNED]:,}"
            reason = f"{edges} edges leave level {first - 1}, pulling would look at about {scanned}"
            run.explain(f"{among}: {direction} ({reason})")
