"""A check of core numbers that finds none: in O(n + m), by the given numbers and an order of elimination.

Lower bound. Each vertex must have at least as many edges as its number says to vertices whose numbers are no lower:
then the vertices of a number of at least k are a subgraph in which all have k edges.

Upper bound. Vertices are eliminated by their numbers, the lowest first; among those of one number, whoever has no more
edges than that to others that are not yet eliminated. If all can be eliminated, the numbers are not too low: of any
subgraph, the vertex that is eliminated first has all its edges there to vertices after it, so no subgraph in which all
have k edges has a vertex with a number below k (Matula and Beck 1983).
"""

from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import expect_each, expect_integers
from edgewise.errors import VerificationError
from edgewise.graph import Graph
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.launch import unsigned
from edgewise.kernels.cpu.team import run_alone, team_kernel

_ONE = np.uint64(1)


@team_kernel
def _count_not_lower(
    thread: Any, size: Any, control: Any, offsets: Any, targets: Any, core: Any, count: Any
) -> None:
    """Add to each vertex the number of its edges to other vertices with numbers that are no lower; by one thread."""
    for v in range(np.uint64(len(core))):
        for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
            u = np.uint64(targets[k])
            count[v] += np.int64(u != v and core[u] >= core[v])


@device_function
def _release(
    offsets: Any, targets: Any, v: Any, core: Any, count: Any, waiting: Any, last: Any, eliminated: Any
) -> Any:
    """Eliminate the neighbours of the same number that have no more edges than that left. The end of the queue."""
    for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
        u = np.uint64(targets[k])
        if core[u] == core[v] and not eliminated[u]:
            count[u] -= 1
            if count[u] <= core[u]:
                eliminated[u] = True
                waiting[last] = u
                last += 1
    return last


@team_kernel
def _eliminate(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    in_offsets: Any,
    in_sources: Any,
    core: Any,
    count: Any,
    waiting: Any,
    eliminated: Any,
) -> None:
    """Eliminate whoever has no more edges than its number to vertices that come later; by one thread.

    Numbers of others do not matter for the order: edges to lower ones are not counted from the beginning.
    """
    last = np.int64(0)
    for i in range(len(core)):
        if count[i] <= core[i]:
            eliminated[i] = True
            waiting[last] = i
            last += 1
    first = np.int64(0)
    while first < last:
        v = np.uint64(waiting[first])
        first += 1
        last = _release(offsets, targets, v, core, count, waiting, last, eliminated)
        if len(in_sources):
            last = _release(in_offsets, in_sources, v, core, count, waiting, last, eliminated)


def verify_core_numbers(graph: Graph, core: np.ndarray) -> bool:
    """Check core numbers against the graph; the in-edges of a directed graph are made if there are none.

    Args:
        graph: the graph, n vertices.
        core: integers, shape (n,).

    Raises:
        VerificationError: naming the first vertex that is wrong.
    """
    n = graph.num_vertices
    expect_integers(core=core)
    if core.shape != (n,):
        raise VerificationError(f"got {core.shape} core numbers, expected one for each of {n:,} vertices")
    rows = unsigned(graph.offsets), unsigned(graph.targets)
    in_edges = rows[0][:0], rows[1][:0]
    core, count = np.ascontiguousarray(core, np.int64), np.zeros(n, np.int64)
    run_alone(_count_not_lower, *rows, core, count)
    if graph.directed:
        in_edges = unsigned(graph.in_offsets), unsigned(graph.in_sources)
        run_alone(_count_not_lower, *in_edges, core, count)
    expect_each(core >= 0, graph, "core number", core, "expected one of at least 0")
    expect_each(
        count >= core, graph, "core number", core, "it has fewer edges to vertices whose numbers are no lower"
    )
    eliminated = np.zeros(n, np.bool_)
    run_alone(_eliminate, *rows, *in_edges, core, count, np.empty(n, np.uint32), eliminated)
    expect_each(
        eliminated, graph, "core number", core, "it is in a subgraph in which all vertices have more edges"
    )
    return True
