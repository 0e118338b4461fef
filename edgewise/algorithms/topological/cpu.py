"""Topological order on the CPU: the launch of `cpu_generations`, its memory and its cost."""

import numpy as np

from edgewise.algorithms.topological.cpu_generations import (
    GENERATIONS,
    find_generations,
    make_taking,
    taking_bytes,
)
from edgewise.execution import Execution, threads_of
from edgewise.graph import Graph, Made
from edgewise.kernels.costs import levels
from edgewise.kernels.cpu.launch import unsigned
from edgewise.memory import held, in_turn
from edgewise.schedule import Schedule


def generations(graph: Graph, run: Execution) -> tuple[np.ndarray, int]:
    """The generation of each vertex, int32, and how many there are."""
    if graph.num_vertices == 0:
        return np.empty(0, np.int32), 0
    rows = unsigned(graph.offsets), unsigned(graph.targets)
    state = make_taking(graph.in_degree, run.num_threads)
    work, rounds = generations_work(graph), generations_rounds(graph)
    run.launch(find_generations, *rows, state, work=work, rounds=rounds)
    return state.generation, int(state.words[GENERATIONS])


def generations_work(graph: Graph) -> float:
    """About the nanoseconds that one thread takes."""
    return 8 * graph.num_vertices + 4 * graph.num_arcs


def generations_rounds(graph: Graph) -> float:
    """A guess at how often all threads wait for each other."""
    return 2 * levels(graph.num_vertices, graph.num_arcs)


def generations_memory(graph: Graph, schedule: Schedule) -> int:
    """The memory that a run takes."""
    threads = threads_of("topological_order", schedule)
    return in_turn(graph.making(Made.IN_DEGREE), held(taking_bytes(graph.num_vertices, threads))).most
