"""Core numbers on the CPU: the launch of `cpu_peel`, its memory and its cost."""

import numpy as np

from edgewise.algorithms.core_numbers.cpu_peel import LEVELS, Edges, make_peeling, peel, peeling_bytes
from edgewise.execution import Execution, threads_of
from edgewise.graph import Graph, Made
from edgewise.kernels.cpu.launch import unsigned
from edgewise.memory import held, in_turn
from edgewise.schedule import Schedule


def core_numbers(graph: Graph, run: Execution) -> tuple[np.ndarray, int]:
    """The core numbers, int32, and how many different ones there are."""
    if graph.num_vertices == 0:
        return np.empty(0, np.int32), 0
    rows = (unsigned(graph.offsets), unsigned(graph.targets))
    in_edges = (rows[0][:0], rows[1][:0])
    if graph.directed:
        run.make_in_edges(graph)
        in_edges = (unsigned(graph.in_offsets), unsigned(graph.in_sources))
    loops = graph.directed or 2 * graph.num_edges > graph.num_arcs
    state = make_peeling(graph.num_vertices, run.num_threads)
    edges, work = Edges(*rows, *in_edges), core_numbers_work(graph)
    run.launch(peel, edges, graph.directed, loops, state, work=work, rounds=ROUNDS)
    return state.core, int(state.words[LEVELS])


#: A guess at how often all threads wait for each other.
ROUNDS = 100


def core_numbers_work(graph: Graph) -> float:
    """About the nanoseconds that one thread takes."""
    return 12 * graph.num_vertices + 4 * graph.num_arcs * (1 + graph.directed)


def core_numbers_memory(graph: Graph, schedule: Schedule) -> int:
    """The memory that a run takes."""
    making = graph.making(Made.IN_EDGES) if graph.directed else graph.making()
    threads = threads_of("core_numbers", schedule)
    return in_turn(making, held(peeling_bytes(graph.num_vertices, threads))).most
