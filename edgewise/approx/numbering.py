"""Vertices in the order of levels of a search, numbered in turns by their parents: what neighbours in a warp reach at
one time lies side by side.

Roots are vertices that no root before them reaches, those of the largest out-degree first. One search from all of them
gives the levels that the paper gets from a search after the other, each of which lowers some.

Reference. Singh and Nasre (2020), section 2.2.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.graph import Graph
from edgewise.kernels.cpu.launch import INTERRUPTIBLE, launch_on, sealed
from edgewise.kernels.cpu.team import cancelled, team_kernel

#: About the nanoseconds that an arc takes.
_ARC_NS = 20


class Numbering(NamedTuple):
    """Vertices in a new order.

    Attributes:
        order: int32, shape (n,): the vertices, level by level.
        parent: int32, shape (n,): for each place in `order`, that of the vertex which numbered it; -1 for roots.
        begins: int64, shape (levels + 1,): where each level begins, and n.
    """

    order: np.ndarray
    parent: np.ndarray
    begins: np.ndarray


def number_in_turns(graph: Graph) -> Numbering:
    """Number vertices level by level: in turn j, each vertex of a level numbers its j-th neighbour, if none did.

    The roots are level 0, in the order in which they were found. O(n log n + m), on one thread.

    Args:
        graph: the graph; an undirected one has both arcs of an edge.
    """
    n = graph.num_vertices
    by_degree = np.argsort(-graph.out_degree.astype(np.int64), kind="stable").astype(np.int32)
    order, parent, waiting = np.empty(n, np.int32), np.full(n, -1, np.int32), np.empty(n, np.int32)
    begins, count = np.zeros(n + 2, np.int64), np.zeros(1, np.int64)
    reached, numbered = np.zeros((2, n), np.bool_)
    rows = sealed(graph.offsets), sealed(graph.targets)
    given = sealed(by_degree), reached, numbered, waiting, order, parent, begins, count
    launch_on(1, _number, *rows, *given, long=_ARC_NS * graph.num_arcs > INTERRUPTIBLE)
    return Numbering(order, parent, begins[: count[0] + 1].copy())


@team_kernel
def _number(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    by_degree: Any,
    reached: Any,
    numbered: Any,
    waiting: Any,
    order: Any,
    parent: Any,
    begins: Any,
    count: Any,
) -> None:
    """Find the roots, then number level after level; a thread does all."""
    end: Any = np.int64(0)
    for i in range(len(by_degree)):
        root = np.int64(by_degree[i])
        if reached[root]:
            continue
        if cancelled(control):
            return
        reached[root] = True
        numbered[root] = True
        order[end] = root
        end += 1
        waiting[0] = root
        stack: Any = np.int64(1)
        while stack > 0:
            stack -= 1
            v = np.int64(waiting[stack])
            for k in range(offsets[v], offsets[v + 1]):
                t = np.int64(targets[k])
                if not reached[t]:
                    reached[t] = True
                    waiting[stack] = t
                    stack += 1
    begin: Any = np.int64(0)
    levels: Any = np.int64(0)
    while begin < end:
        levels += 1
        begins[levels] = end
        live: Any = end - begin
        for i in range(live):
            waiting[i] = begin + i
        begin = end
        turn: Any = np.int64(0)
        while live > 0:
            if cancelled(control):
                return
            kept: Any = np.int64(0)
            for i in range(live):
                u = np.int64(waiting[i])
                v = np.int64(order[u])
                k = np.int64(offsets[v]) + turn
                if k < offsets[v + 1]:
                    t = np.int64(targets[k])
                    if not numbered[t]:
                        numbered[t] = True
                        order[end] = t
                        parent[end] = u
                        end += 1
                    waiting[kept] = u
                    kept += 1
            live = kept
            turn += 1
    count[0] = levels
