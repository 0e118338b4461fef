"""Shortest paths on several ranks: distances by a program, then parents from distances, each rank looking at its arcs.

This is on CPUs; ranks with GPUs have near-far, `edgewise.algorithms.sssp.ranks_cuda`. With negative weights, the
program finds parents itself, as on a GPU.
"""

from typing import Any, Literal

import numpy as np

from edgewise.algorithms.common.ranks import least_of_ranks, prepared_on_ranks, program_memory, share_of
from edgewise.algorithms.sssp.asked import Asked
from edgewise.algorithms.sssp.cpu import parents_of
from edgewise.algorithms.sssp.path_tree import attaching, looking_for_cycle
from edgewise.algorithms.sssp.relaxation import given_for, program_for, signed_paths
from edgewise.algorithms.sssp.weights import is_signed, may_have_orphans, refuse_overflow
from edgewise.engine.distributed.group import connect
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.memory import Step, held, in_turn
from edgewise.schedule import Schedule


def shortest_paths(
    graph: Graph, asked: Asked, delta: float | Literal["auto"], run: Execution
) -> tuple[Any, Any, int]:
    """Distances, parents and supersteps on all ranks, as of `cpu.shortest_paths`, or of `cuda.shortest_paths` if the
    run is on a GPU. `delta` is not used on CPUs, nor with negative weights.

    Raises:
        GraphError: a distance is beyond the floats of this dtype.
        NegativeCycleError: a negative cycle can be reached.
    """
    signed, group = is_signed(graph), connect()
    if run.on_gpu and not signed:
        from edgewise.algorithms.sssp import ranks_cuda

        return ranks_cuda.shortest_paths(graph, asked, delta, run, group)
    search = prepared_on_ranks(program_for(asked, signed), graph, run.schedule, run.on_gpu)
    if signed:
        outcome, supersteps = signed_paths(graph, asked, search, run, np.asarray)
    else:
        outcome = search.carry_out(run, given_for(graph, asked, signed), None)
        supersteps = outcome.supersteps
    run.notes.extend(outcome.explanation)
    distance, parent = (outcome.vertex_fields[name] for name in ("distance", "parent"))
    if signed:
        refuse_overflow(graph, asked.sources, distance)
        return distance, parent, supersteps
    arcs = share_of(graph.num_arcs, group)
    parent = parents_of(graph, asked, distance, run, arcs, lambda parents: least_of_ranks(parents, group))
    asked.cut(distance, parent)
    return distance, parent, supersteps


def paths_memory(graph: Graph, dtype: np.dtype, schedule: Schedule) -> Step:
    """The memory of `shortest_paths`, for distances of this dtype."""
    n, signed = graph.num_vertices, is_signed(graph)
    asked = Asked(np.zeros(2, np.int64), dtype, dtype.type(0))
    searching = program_memory(program_for(asked, signed), graph, schedule, **given_for(graph, asked, signed))
    parents = in_turn(held(16 * n), attaching(n)) if may_have_orphans(graph, dtype) else held(16 * n)
    return in_turn(searching, held(looking_for_cycle(n)) if signed else parents)
