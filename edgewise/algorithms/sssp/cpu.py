"""Shortest paths on the CPU: the launches of `cpu_delta_stepping` or `cpu_bellman_ford`, their memory and cost."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from edgewise.algorithms.common.lengths import arcs_of, unreached_value, weight_range
from edgewise.algorithms.sssp.asked import Asked
from edgewise.algorithms.sssp.cpu_bellman_ford import QUEUED, STEP, bellman_ford, make_search, searching
from edgewise.algorithms.sssp.cpu_buckets import (
    MAX_BUCKETS,
    REBUILDS,
    SUPERSTEPS,
    bucket_chunks,
    bytes_of_buckets,
    make_buckets,
)
from edgewise.algorithms.sssp.cpu_delta_stepping import delta_stepping
from edgewise.algorithms.sssp.cpu_distances import NONE, make_state, unpack
from edgewise.algorithms.sssp.path_tree import attach_rest, attaching, nearer_parents, refuse_cycle
from edgewise.algorithms.sssp.weights import (
    auto_delta,
    is_signed,
    may_have_orphans,
    may_overflow,
    refuse_overflow,
)
from edgewise.execution import Execution, threads_of
from edgewise.graph import Graph
from edgewise.graph.layers import GraphInLayers
from edgewise.kernels.costs import levels
from edgewise.kernels.words import CPU_LINE
from edgewise.memory import Step, held, in_turn
from edgewise.schedule import Schedule

#: Distances, parents and supersteps.
Paths = tuple[np.ndarray, np.ndarray, int]


def shortest_paths(graph: Graph, asked: Asked, delta: float | Literal["auto"], run: Execution) -> Paths:
    """Distances, parents and supersteps.

    Args:
        graph: the graph.
        asked: what is asked for; without bounds if there are negative weights.
        delta: the width of buckets, if no weight is negative.
        run: the run that this is.

    Raises:
        GraphError: a distance is beyond the floats of this dtype.
        NegativeCycleError: a negative cycle can be reached.
    """
    if is_signed(graph):
        found = _by_bellman_ford(graph, asked, run)
    else:
        found = _by_delta_stepping(graph, asked, auto_delta(graph) if delta == "auto" else delta, run)
    distance, _, _ = found
    if asked.bound_by(distance) == asked.unreached:
        refuse_overflow(graph, asked.sources, distance)
    return found


def paths_in_layers(
    made: GraphInLayers,
    graph: Graph,
    asked: Asked,
    delta: float | Literal["auto"],
    min_arcs: int | None,
    run: Execution,
) -> Paths:
    """`shortest_paths` over a graph in layers: distances by places, which are written by vertices; then parents.

    Args:
        made: the graph in layers.
        graph: the graph itself, with weights of at least 0.
        asked, delta, run: as for `shortest_paths`.
        min_arcs: for a GPU.

    Raises:
        GraphError: a distance is beyond the floats of this dtype.
    """
    target = None if asked.target is None else int(made.order.place[asked.target])
    by_places = asked._replace(sources=np.sort(made.graph.places_of(asked.sources)), target=target)
    by_place, _, supersteps = shortest_paths(made.graph, by_places, delta, run)
    distance = by_place[made.order.place]
    del by_place
    return distance, parents_of(graph, asked, distance, run), supersteps


def parents_of(
    graph: Graph,
    asked: Asked,
    distance: np.ndarray,
    run: Execution,
    among: slice | None = None,
    join: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Parents for final distances, int32, shape (n,); -1 for sources and for vertices that were not reached.

    Args:
        graph: with weights of at least 0.
        asked: what was asked for.
        distance: shape (n,), of the dtype of `distance_dtype`.
        run: the run that this is part of.
        among: the arcs that are looked at, on one rank of several; else all are.
        join: gives the parents of all ranks for those that these arcs tell, uint32.

    Raises:
        GraphError: a distance is beyond the floats of this dtype.
    """
    if asked.bound_by(distance) == asked.unreached:
        refuse_overflow(graph, asked.sources, distance)
    parent, unreached = np.full(graph.num_vertices, NONE, np.uint32), asked.unreached
    arcs, among = arcs_of(graph), among or slice(0, graph.num_arcs)
    low, high = among.start, among.stop
    run.launch(nearer_parents, arcs, low, high, distance, parent, unreached, work=2 * (high - low))
    if join is not None:
        parent = join(parent)
    if may_have_orphans(graph, distance.dtype):
        attach_rest(arcs, distance, parent, asked.sources, unreached, run)
    return parent.view(np.int32)


def parents_by_level(graph: Graph, level: np.ndarray, run: Execution) -> np.ndarray:
    """Parents for final levels, int32, shape (n,), as `parents_of` for edges of length 1.

    Args:
        graph: its weights are not looked at.
        level: int32, shape (n,); the largest integer for vertices that were not reached.
        run: the run that this is part of.
    """
    parent, arcs = np.full(graph.num_vertices, NONE, np.uint32), arcs_of(graph)
    arcs = arcs._replace(weights=np.empty(0, np.int32))
    unreached, m = unreached_value(level.dtype), graph.num_arcs
    run.launch(nearer_parents, arcs, 0, m, level, parent, unreached, work=2 * m)
    return parent.view(np.int32)


def layers_memory(moved: Graph, dtype: np.dtype, schedule: Schedule) -> Step:
    """The memory that `paths_in_layers` takes."""
    n = moved.num_vertices
    rest = attaching(n) if may_have_orphans(moved, dtype) else held(0)
    return in_turn(paths_memory(moved, dtype, schedule), held((4 + dtype.itemsize) * n), rest)


def paths_work(graph: Graph) -> float:
    """About the nanoseconds that one thread takes."""
    return 35 * graph.num_vertices + 4.5 * graph.num_arcs


def paths_memory(graph: Graph, dtype: np.dtype, schedule: Schedule) -> Step:
    """The memory that a run takes."""
    n = graph.num_vertices
    if is_signed(graph):
        found = searching(n, dtype)
    else:
        inner, threads = _inner_dtype(graph, dtype), threads_of("sssp", schedule)
        paths = n * (4 + dtype.itemsize * (make_state(0, inner).dtype != dtype))
        buckets = n * make_state(0, inner).itemsize + bytes_of_buckets(n, threads, inner)
        rest = attaching(n) if may_have_orphans(graph, dtype) else held(0)
        found = Step((4 + dtype.itemsize) * n, max(paths + buckets, (4 + dtype.itemsize) * n + rest.most))
    overflow = Step(0, 4 * n) if may_overflow(graph, dtype) else held(0)
    return in_turn(graph.making(), found, overflow)


def _inner_dtype(graph: Graph, dtype: np.dtype) -> np.dtype:
    """The dtype of distances during the search: int32 if they fit, since these take less memory."""
    short = dtype == np.int64 and weight_range(graph)[1] * graph.num_vertices < np.iinfo(np.int32).max
    return np.dtype(np.int32) if short else dtype


def _by_delta_stepping(graph: Graph, asked: Asked, delta: float, run: Execution) -> Paths:
    """Distances, parents and supersteps, if no weight is negative."""
    dtype, beyond = asked.dtype, asked.unreached
    n, work, arcs, heaviest = graph.num_vertices, paths_work(graph), arcs_of(graph), weight_range(graph)[1]
    delta = max(delta, heaviest * n / MAX_BUCKETS)
    run.explain(f"delta-stepping with buckets of width {delta:.4g}")
    inner = _inner_dtype(graph, dtype)
    state, parent, unreached = make_state(n, inner), np.empty(n, np.uint32), unreached_value(inner)
    target = NONE if asked.target is None else asked.target
    buckets = make_buckets(n, run.num_threads, inner, delta, min(asked.bound, unreached), target)
    board = np.zeros((run.num_threads, CPU_LINE), np.int64)
    listed = np.empty(bucket_chunks(n, run.num_threads), np.int64)
    run.launch(
        delta_stepping,
        arcs,
        state,
        buckets,
        board,
        listed,
        asked.sources.view(np.uint64),
        unreached,
        work=work,
        rounds=levels(n, graph.num_arcs),
    )
    words = buckets.words
    del buckets, listed
    if state.dtype == dtype:
        distance = state
        parent.fill(NONE)
        asked.cut(distance, parent.view(np.int32))
        m = graph.num_arcs
        run.launch(nearer_parents, arcs, 0, m, distance, parent, unreached, work=2 * m)
    else:
        distance = np.empty(n, dtype)
        run.launch(unpack, state, np.empty(0, inner), unreached, beyond, distance, parent, work=2 * n)
        asked.cut(distance, parent.view(np.int32))
    del state
    if may_have_orphans(graph, dtype):
        attach_rest(arcs, distance, parent, asked.sources, beyond, run)
    if words[REBUILDS]:
        run.explain(f"buckets made anew {words[REBUILDS]} times, when the room for entries was used up")
    return distance, parent.view(np.int32), int(words[SUPERSTEPS])


def _by_bellman_ford(graph: Graph, asked: Asked, run: Execution) -> Paths:
    """Distances, parents and supersteps with weights of any sign."""
    run.explain("Bellman-Ford, for there are negative weights")
    search, until = make_search(graph.num_vertices, asked.sources, asked.unreached), 1
    parent = search.parent.view(np.int32)
    while search.words[QUEUED]:
        run.launch(bellman_ford, arcs_of(graph), search, np.int64(until), work=paths_work(graph))
        if search.words[QUEUED]:
            refuse_cycle(graph, asked.sources, parent)
        until = min(2 * until, graph.num_vertices)
    return search.distance, parent, int(search.words[STEP])
