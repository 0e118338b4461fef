"""Shortest paths on several ranks: distances in supersteps, then parents from distances, each of which one rank finds.

This is on CPUs; ranks with GPUs have near-far, `edgewise.algorithms.sssp.ranks_cuda`. Each rank has the arcs of its own
vertices, and in a superstep sends along those of vertices whose distance fell; `ranks_cpu` says what it tells others.
At the end ranks tell each other the distances of vertices that were reached. Over in-edges, if all ranks have them,
each then finds the parents of its own vertices. Else it looks at its arcs, and tells each other rank the least parents
that these offer to that one's vertices. Either way it tells all ranks the parents of its own vertices.

With negative weights, a program finds parents itself, as on a GPU.
"""

from typing import Any, Literal

import numpy as np

from edgewise.algorithms.common.lengths import arcs_of, in_arcs_of
from edgewise.algorithms.common.rank_lists import make_lists
from edgewise.algorithms.common.ranks import (
    least_of_offers,
    prepared_on_ranks,
    program_memory,
    tell_chosen,
    told_by_others,
)
from edgewise.algorithms.sssp.asked import Asked
from edgewise.algorithms.sssp.path_tree import attach_rest, attaching, looking_for_cycle, nearer_parents
from edgewise.algorithms.sssp.ranks_cpu import RankPaths, first_parents, relax, take
from edgewise.algorithms.sssp.relaxation import given_for, program_for, signed_paths
from edgewise.algorithms.sssp.weights import is_signed, may_have_orphans, refuse_overflow
from edgewise.engine.distributed.exchange import packed, unpacked
from edgewise.engine.distributed.group import Group, connect
from edgewise.engine.distributed.partition import Ranges, by_arcs
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.memory import Step, held, in_turn
from edgewise.primitives.vertices import NO_VERTEX
from edgewise.schedule import Schedule

_NOTHING = np.empty(0, np.uint8)
_NUMBER = np.dtype(np.uint32)
#: About the nanoseconds of an arc.
_ARC = 5


def shortest_paths(
    graph: Graph, asked: Asked, delta: float | Literal["auto"], run: Execution
) -> tuple[Any, Any, int]:
    """Distances, parents and supersteps on all ranks, as of `cpu.shortest_paths`, or of `cuda.shortest_paths` if the
    run is on a GPU. `delta` is not used on CPUs, nor with negative weights.

    Raises:
        GraphError: a distance is beyond the floats of this dtype.
        NegativeCycleError: a negative cycle can be reached.
    """
    group = connect()
    if is_signed(graph):
        return _signed_paths(graph, asked, run)
    if run.on_gpu:
        from edgewise.algorithms.sssp import ranks_cuda

        return ranks_cuda.shortest_paths(graph, asked, delta, run, group)
    ranges, report = by_arcs(group.rank, group.size, graph.offsets), run.progress
    with group.in_run(), run.telling(None):
        distance, supersteps = _distances(graph, asked, ranges, group, run, report)
        tell_chosen(distance, _reached(distance, asked, ranges, group), asked.unreached, ranges, group)
        if asked.bound_by(distance) == asked.unreached:
            refuse_overflow(graph, asked.sources, distance)
        parent = _parents(graph, asked, distance, ranges, group, run)
    run.explain(
        "supersteps: each rank sends along the arcs of own vertices whose distance fell in the last one"
    )
    asked.cut(distance, parent)
    return distance, parent, supersteps


def paths_memory(graph: Graph, dtype: np.dtype, schedule: Schedule) -> Step:
    """The memory of `shortest_paths`, for distances of this dtype: distances and parents, which are kept; while they
    are found, lists, bitmaps and what ranks tell, at most a distance for each vertex, copied on its way."""
    n = graph.num_vertices
    if is_signed(graph):
        asked = Asked(np.zeros(2, np.int64), dtype, dtype.type(0))
        program, given = program_for(asked, True), given_for(graph, asked, True)
        return in_turn(program_memory(program, graph, schedule, **given), held(looking_for_cycle(n)))
    rest = attaching(n) if may_have_orphans(graph, dtype) else held(0)
    kept = (4 + dtype.itemsize) * n
    return Step(kept, max((28 + 6 * dtype.itemsize) * n, kept + rest.most))


def _signed_paths(graph: Graph, asked: Asked, run: Execution) -> tuple[Any, Any, int]:
    """Distances, parents and supersteps if there are negative weights."""
    search = prepared_on_ranks(program_for(asked, True), graph, run.schedule, run.on_gpu)
    outcome, supersteps = signed_paths(graph, asked, search, run, np.asarray)
    run.notes.extend(outcome.explanation)
    distance, parent = (outcome.vertex_fields[name] for name in ("distance", "parent"))
    refuse_overflow(graph, asked.sources, distance)
    return distance, parent, supersteps


def _distances(
    graph: Graph, asked: Asked, ranges: Ranges, group: Group, run: Execution, report: Any
) -> tuple[np.ndarray, int]:
    """The distances of own vertices, in an array for all, and the number of supersteps, which are reported."""
    own, arcs, supersteps = ranges.own, arcs_of(graph), 0
    state = RankPaths(np.full(graph.num_vertices, asked.unreached, asked.dtype), make_lists(ranges))
    vertices = asked.sources[(asked.sources >= own.start) & (asked.sources < own.stop)].astype(_NUMBER)
    distances = np.zeros(len(vertices), asked.dtype)
    while True:
        run.launch(take, vertices, distances, state, work=_ARC * len(vertices))
        active = state.lists.of(group.rank)
        state.lists.restart()
        work = _ARC * len(active) * max(1, graph.num_arcs // graph.num_vertices)
        run.launch(relax, active, state.best[active], asked.bound, arcs, state, work=work)
        parts = [_told(rank, state, ranges) for rank in range(group.size)]
        received, counts = group.exchange(parts, len(active))
        if sum(counts) == 0:
            return state.best, supersteps
        supersteps += 1
        if report is not None:
            report(supersteps)
        taken = [unpacked(part, own, [asked.dtype]) for part in received if len(part)]
        vertices = np.concatenate([_NOTHING, *(each for each, _ in taken)]).astype(_NUMBER)
        distances = np.concatenate([distances[:0], *(each for _, (each,) in taken)])


def _told(rank: int, state: RankPaths, ranges: Ranges) -> np.ndarray:
    """What another rank is told: of which of its vertices the best distance fell, and these distances."""
    if rank == ranges.rank:
        return _NOTHING
    vertices = state.lists.of(rank)
    return packed(vertices, ranges.of(rank), [state.best[vertices]])


def _reached(distance: np.ndarray, asked: Asked, ranges: Ranges, group: Group) -> np.ndarray:
    """Which vertices were reached, bool, shape (n,), on all ranks, when each knows the distances of its own."""
    reached, own = np.empty(len(distance), np.bool_), ranges.own
    reached[own] = distance[own] != asked.unreached
    for rank, part in enumerate(told_by_others(np.packbits(reached[own]), group)):
        if rank != group.rank:
            of = ranges.of(rank)
            reached[of] = np.unpackbits(part, count=of.stop - of.start)
    return reached


def _parents(
    graph: Graph, asked: Asked, distance: np.ndarray, ranges: Ranges, group: Group, run: Execution
) -> np.ndarray:
    """The parents of all vertices, int32, on all ranks, when these know all distances."""
    own, unreached, arcs = ranges.own, asked.unreached, arcs_of(graph)
    parent = np.full(graph.num_vertices, NO_VERTEX)
    work = 2 * graph.num_arcs / group.size
    if group.total(graph.has_in_edges) == group.size:
        way = own.start, own.stop, graph.directed, in_arcs_of(graph)
        run.launch(first_parents, *way, distance, unreached, parent, work=work)
    else:
        low, high = int(graph.offsets[own.start]), int(graph.offsets[own.stop])
        run.launch(nearer_parents, arcs, low, high, distance, parent, unreached, work=work)
        least_of_offers(parent, ranges, group)
    tell_chosen(parent, distance != unreached, NO_VERTEX, ranges, group)
    if may_have_orphans(graph, asked.dtype):
        attach_rest(arcs, distance, parent, asked.sources, unreached, run)
    return parent.view(np.int32)
