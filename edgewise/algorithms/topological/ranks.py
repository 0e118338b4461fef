"""Topological order on several ranks, on CPUs or GPUs: the program of one GPU."""

from typing import Any

from edgewise.algorithms.common.ranks import prepared_on_ranks, program_memory
from edgewise.algorithms.topological.program import Generations
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.schedule import Schedule


def generations(graph: Graph, run: Execution) -> tuple[Any, int]:
    """The generation of each vertex, and the supersteps, on all ranks."""
    outcome = prepared_on_ranks(Generations, graph, run.schedule, run.on_gpu).carry_out(run, {}, None)
    run.notes.extend(outcome.explanation)
    return outcome.vertex_fields["generation"], outcome.supersteps


def generations_memory_of_rank(graph: Graph, schedule: Schedule) -> int:
    """The memory that a run takes on one of several ranks on CPUs."""
    return program_memory(Generations, graph, schedule).most
