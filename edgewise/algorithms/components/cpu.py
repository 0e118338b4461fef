"""Connected components on the CPU: the launch of `cpu_connect`, its memory and its cost."""

import numpy as np

from edgewise.algorithms.common.largest import SAMPLE
from edgewise.algorithms.components.cpu_connect import FOUND_WORDS, PASSES, ROOTS, SAMPLED, SKIPPED, connect
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cpu.launch import unsigned
from edgewise.memory import Step, held, in_turn


def components(graph: Graph, run: Execution) -> tuple[np.ndarray, int, int]:
    """Labels, the number of components and of passes."""
    inside = _words_inside(graph)
    label, found = np.empty(graph.num_vertices, np.uint32), np.zeros(FOUND_WORDS, np.int64)
    if len(label):
        rows = (unsigned(graph.offsets), unsigned(graph.targets))
        in_edges = (rows[0][:0], rows[1][:0])
        if graph.directed and graph.has_in_edges:
            in_edges = (unsigned(graph.in_offsets), unsigned(graph.in_sources))
        bits = np.empty(inside, np.uint64)
        run.launch(connect, *rows, *in_edges, graph.directed, label, bits, found, work=components_work(graph))
        _explain(graph, run, found)
    return label.view(np.int32), int(found[ROOTS]), int(found[PASSES])


def components_work(graph: Graph) -> float:
    """About the nanoseconds that one thread takes."""
    return 10 * graph.num_vertices + graph.num_arcs


def components_memory(graph: Graph) -> Step:
    """The memory that a run takes."""
    return in_turn(graph.making(), held(4 * graph.num_vertices + 8 * _words_inside(graph)))


def _words_inside(graph: Graph) -> int:
    """The words of a bitmap of vertices, which only directed graphs need."""
    return -(-graph.num_vertices // 64) if graph.directed else 0


def _explain(graph: Graph, run: Execution, found: np.ndarray) -> None:
    """Explain what was done about the largest component, and why."""
    share = f"{found[SAMPLED] / SAMPLE:.0%} of a sample was in one component"
    if found[SKIPPED]:
        run.explain(f"{share}: arcs inside it were skipped")
    elif graph.has_in_edges:
        run.explain(
            f"{share}: too little to look for arcs into it from their targets, so all arcs were looked at"
        )
    else:
        run.explain(
            f"{share}: all arcs were looked at, for without in-edges an arc into it is seen only here"
        )
