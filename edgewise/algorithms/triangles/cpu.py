"""Triangles on the CPU: the launch of `cpu_count`, its memory and its cost."""

import numpy as np

from edgewise.algorithms.triangles.cpu_count import count, counting_bytes, make_counting
from edgewise.execution import Execution, threads_of
from edgewise.graph import Graph
from edgewise.graph.csr import offset_dtype
from edgewise.kernels.cpu.launch import unsigned
from edgewise.memory import held, in_turn
from edgewise.schedule import Schedule

#: About how often all threads wait for each other.
ROUNDS = 10


def triangles(graph: Graph, run: Execution, rank: int = 0, ranks: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The triangles through each vertex, int64, and its number of neighbours, int32; of several ranks, what one of them
    counts, which sums up to these."""
    n = graph.num_vertices
    if n == 0:
        return np.empty(0, np.int64), np.empty(0, np.int32)
    offsets, targets = (unsigned(each) for each in (graph.offsets, graph.targets))
    state = make_counting(n, graph.num_arcs, _begins(graph), run.num_threads)
    run.launch(count, offsets, targets, rank, ranks, state, work=triangles_work(graph), rounds=ROUNDS)
    return state.triangles, state.degree


def triangles_work(graph: Graph) -> float:
    """About the nanoseconds that one thread takes."""
    return 10 * graph.num_vertices + 15 * graph.num_arcs


def triangles_memory(graph: Graph, schedule: Schedule) -> int:
    """The memory that a run takes."""
    threads = threads_of("triangles", schedule)
    size = counting_bytes(graph.num_vertices, graph.num_arcs, _begins(graph), threads)
    return in_turn(graph.making(), held(size)).most


def _begins(graph: Graph) -> np.dtype:
    """The dtype of where rows begin."""
    return np.dtype(f"u{offset_dtype(graph.num_arcs)().itemsize}")
