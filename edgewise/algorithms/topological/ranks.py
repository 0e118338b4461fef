"""Topological order on several ranks, on CPUs or GPUs: the program of one GPU."""

from typing import Any

from edgewise.algorithms.common.ranks import program_memory
from edgewise.algorithms.topological import program
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.schedule import Schedule


def generations(graph: Graph, run: Execution) -> tuple[Any, int]:
    """The generation of each vertex, and the supersteps, on all ranks."""
    return program.generations(graph, run, on_ranks=True)


def generations_memory_of_rank(graph: Graph, schedule: Schedule) -> int:
    """The memory that a run takes on one of several ranks on CPUs."""
    return program_memory(program.Generations, graph, schedule).most
