"""Core numbers on several ranks, on CPUs or GPUs: a program."""

from typing import Any

import numpy as np

from edgewise.algorithms.common.programs import both_ways, carried_out
from edgewise.algorithms.common.ranks import program_memory
from edgewise.algorithms.core_numbers.program import Peeling
from edgewise.execution import Execution
from edgewise.graph import Graph, Made
from edgewise.graph.csr import building
from edgewise.memory import Step, held, in_turn
from edgewise.schedule import Schedule

_NOTHING = np.empty(0, np.int32)


def core_numbers(graph: Graph, run: Execution) -> tuple[Any, int]:
    """The core numbers, int32, and how many different ones there are, on all ranks."""
    with run.laying_out():
        degree = _edges_to_others(graph)
        both = both_ways(graph, False, on_gpu=False) if graph.directed else graph
    outcome = carried_out(Peeling, both, run, {"core": degree}, None, on_ranks=True)
    core = outcome.vertex_fields["core"]
    return core, len(np.unique(core))


def core_numbers_memory_of_rank(graph: Graph, schedule: Schedule) -> int:
    """The memory that a run takes on one of several ranks on CPUs."""
    n, m, degrees = graph.num_vertices, graph.num_arcs, held(4 * graph.num_vertices)
    steps = [graph.making(Made.OUT_DEGREE, *[Made.IN_DEGREE] * graph.directed), degrees]
    if graph.directed:
        rows = 8 * (n + 1) + 12 * m
        steps.append(Step(rows, rows + building(n, m, None, False)))
    return in_turn(*steps, program_memory(Peeling, graph, schedule, core=_NOTHING)).most


def _edges_to_others(graph: Graph) -> np.ndarray:
    """The edges of each vertex that are no loops, int32."""
    degree = graph.out_degree + (graph.in_degree if graph.directed else 0)
    if graph.directed or 2 * graph.num_edges > graph.num_arcs:
        loops = graph.sources[graph.sources == graph.targets]
        degree -= np.bincount(loops, minlength=graph.num_vertices).astype(degree.dtype) << graph.directed
    return degree.astype(np.int32, copy=False)
