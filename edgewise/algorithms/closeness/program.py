"""Sums of distances by programs on a GPU.

All vertices without weights: a program with 63 searches at a time, a bit for each, that go along the arcs that lead
away from their sources. Each vertex adds up what comes to it, so a pass over all sources gives the sums of distances to
each vertex; those from it come from the graph with all arcs turned round. Else one search after the other.
"""

import functools
from typing import Any

import numpy as np

from edgewise.algorithms.bfs.program import BreadthFirst
from edgewise.algorithms.closeness.job import Found, Job, found_by_levels, make_found, refusal_of_sum
from edgewise.algorithms.common.lengths import unreached_value
from edgewise.algorithms.common.program_parts import Distances
from edgewise.algorithms.common.programs import explain, prepared_for, turned_round
from edgewise.engine.contract import Outcome
from edgewise.execution import Execution
from edgewise.kernels.cuda.memory import host_copy
from edgewise.program.declare import (
    ACTIVE,
    HALT,
    INFINITY,
    Program,
    combiner,
    parameter,
    vertex,
)
from edgewise.run import Prepared

#: The bits of a signed word but for that of the sign.
LANES = 63


def _either(a: Any, b: Any) -> Any:
    """The bits of both."""
    return a | b


class Searches(Program):
    """Breadth-first searches from the 63 vertices from `first` on, and for each vertex what their distances to it sum
    up to."""

    first = parameter("int64")
    seen = vertex("int64")
    visits = vertex("int64")
    reached = vertex("int64")
    total = vertex("int64")
    reciprocals = vertex("float64")
    farthest = vertex("int32")
    combine = combiner(_either, identity=0)
    message = "int64"

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        if v < state.first or v >= state.first + 63:
            return HALT
        state.visits[v] = 1 << (v - state.first)
        state.seen[v] = state.visits[v]
        return ACTIVE

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.visits[edge.source]

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        bits = message & ~state.seen[v]
        state.visits[v] = bits
        state.seen[v] = state.seen[v] | bits
        number = 0
        while bits != 0:
            bits = bits & (bits - 1)
            number += 1
        if number > 0:
            state.reached[v] = state.reached[v] + number
            state.total[v] = state.total[v] + number * state.superstep
            state.reciprocals[v] = state.reciprocals[v] + number / state.superstep
            state.farthest[v] = state.superstep
        return ACTIVE if number > 0 else HALT


@functools.cache
def lengths_program(dtype: np.dtype) -> type[Program]:
    """The program for distances of this dtype."""
    fields = {"distance": vertex(dtype, init=INFINITY), "message": dtype}
    return type("Distances", (Distances,), fields)


def are_all(job: Job, sources: np.ndarray) -> bool:
    """Whether searches from all vertices go together."""
    return not job.weighted and len(sources) == job.graph.num_vertices


def sum_distances(job: Job, sources: np.ndarray, run: Execution, rank: int = 0, ranks: int = 1) -> Found:
    """What is found for each source, in their order, on the host; of `reciprocals` see `harmonic`.

    Of several ranks, where sources are all vertices, what one of them finds over searches from its share of them.

    Raises:
        GraphError: a sum of distances is more than int64 holds.
    """
    all_at_once, graph = are_all(job, sources), job.graph
    if graph.directed and job.inward != all_at_once:
        graph = turned_round(graph, job.weighted, run)
    program = Searches if all_at_once else lengths_program(job.dtype) if job.weighted else BreadthFirst
    prepared = prepared_for(program, graph, run)
    if all_at_once:
        return _of_all(prepared, sources, run, range(LANES * rank, len(sources), LANES * ranks))
    return _of_each(job, prepared, sources, run)


def _of_all(prepared: Prepared, sources: np.ndarray, run: Execution, firsts: range) -> Found:
    """The sums of all vertices, made by themselves, over searches from the vertices from each of `firsts` on."""
    found: Any = None
    for first in firsts:
        outcome = _carried_out(prepared, run, first, first=first)
        new = Found(*(outcome.vertex_fields[name] for name in Found._fields))
        if found is None:
            found = new
        else:
            for sums, more in zip(found[:3], new[:3], strict=True):
                sums += more
            farther = new.farthest > found.farthest
            found.farthest[farther] = new.farthest[farther]
    explain(run, outcome)
    return Found(*(host_copy(values)[sources] for values in found))


def _of_each(job: Job, prepared: Prepared, sources: np.ndarray, run: Execution) -> Found:
    """The sums of each source by a search from it."""
    found = make_found(len(sources), job.dtype)
    for i, source in enumerate(sources.tolist()):
        outcome = _carried_out(prepared, run, i, source=source)
        if job.weighted:
            distance = host_copy(outcome.vertex_fields["distance"])
            distance[source] = unreached_value(job.dtype)
            sums = _by_lengths(job, distance)
        else:
            sums = found_by_levels(host_copy(outcome.vertex_fields["level"]))
        for values, value in zip(found, sums, strict=True):
            values[i] = value
    explain(run, outcome)
    return found


def _carried_out(prepared: Prepared, run: Execution, done: int, **given: Any) -> Outcome:
    """Carry one program out, and tell how many vertices are done."""
    if run.progress is not None:
        run.progress(done)
    with run.telling(None):  # its progress counts supersteps
        return prepared.carry_out(run, given, None)


def _by_lengths(job: Job, distance: np.ndarray) -> Found:
    """What the distances from a source to other vertices sum up to, in their order, as on the CPU."""
    unreached = unreached_value(job.dtype)
    ordered = np.sort(distance[distance != unreached])
    if len(ordered) == 0:
        return Found(0, 0, 0.0, 0)
    if job.dtype.kind == "i":
        total: Any = (int((ordered >> 32).sum()) << 32) + int((ordered & 0xFFFFFFFF).sum())
        if total > np.iinfo(np.int64).max:
            raise refusal_of_sum(job.name)
    else:
        total = np.cumsum(ordered)[-1]
    positive = ordered[ordered > 0]
    reciprocals = np.cumsum(1.0 / positive)[-1] if len(positive) else 0.0
    return Found(len(ordered), total, reciprocals, ordered[-1])
