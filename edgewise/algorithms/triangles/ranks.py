"""Triangles on several ranks: each gives all vertices their places, counts the triangles of its share of those in the
middle, and adds up what all have counted."""

import numpy as np

from edgewise.algorithms.common.ranks import refusing_together, sum_of_ranks
from edgewise.algorithms.triangles import cpu
from edgewise.algorithms.triangles.memory import gpu_bytes
from edgewise.engine.distributed.group import connect
from edgewise.execution import Execution, check_limit, stop_if_explained
from edgewise.graph import Arrays, Graph, Needs
from edgewise.memory import held, in_turn
from edgewise.schedule import Schedule


def triangles(graph: Graph, run: Execution) -> tuple[np.ndarray, np.ndarray]:
    """The triangles through each vertex, int64, and its number of neighbours, int32, on all ranks."""
    group = connect()
    with group.in_run():
        found = cpu.triangles(graph, run, group.rank, group.size)
    run.explain("this rank counted the triangles of its share of the vertices in the middle")
    through, degree = (sum_of_ranks(values, group) for values in found)
    return through, degree


def triangles_memory_of_rank(graph: Graph, schedule: Schedule) -> int:
    """The memory that a run takes on one of several ranks: at the end, sums of all and what ranks tell each other."""
    return max(cpu.triangles_memory(graph, schedule), graph.making().most + 4 * 12 * graph.num_vertices)


def triangles_on_gpus(graph: Graph, run: Execution) -> tuple[np.ndarray, np.ndarray]:
    """`triangles` on all ranks, each with a GPU, which has all edges.

    Raises:
        MemoryLimitError: the GPU of a rank has no room.
    """
    from edgewise.algorithms.triangles import cuda
    from edgewise.kernels.cuda.memory import host_copy, room

    group, beside, name = connect(), gpu_bytes(graph), "triangles"
    with refusing_together(group):
        making = graph.gpu.place(name, Needs(Arrays.ROWS, beside), run.memory_limit)
        needed = in_turn(making, held(beside)).most
        check_limit(name, run.memory_limit, needed, where="on the GPU")
        with room(name, needed):
            pass
    stop_if_explained(run, graph, needed)
    run.begun = True
    with refusing_together(group), room(name, 0):
        found = [host_copy(values) for values in cuda.triangles(graph, run, group.rank, group.size)]
    run.explain("this rank counted the triangles of its share of the edges")
    through, degree = (sum_of_ranks(values, group) for values in found)
    return through, degree
