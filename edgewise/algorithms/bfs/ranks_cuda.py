"""Breadth-first search on several ranks with GPUs: levels by a program, then parents from levels.

Ranks tell each other the levels of their own vertices. In an undirected graph a rank's arcs are the in-edges of its own
vertices, so it finds their parents as one GPU does, and tells them. In a directed graph its arcs lead to vertices of
all ranks: each finds the least parent that its arcs offer to each vertex, and the least of all ranks is the parent.
"""

import functools
from typing import Any

import numpy as np

from edgewise.algorithms.bfs.cuda import parents_over
from edgewise.algorithms.bfs.levels import BreadthFirst, given_for
from edgewise.algorithms.common.device_graph import GraphOnGpu, offset_dtype
from edgewise.algorithms.common.offers_cuda import Offers, make_offer, signature
from edgewise.algorithms.common.ranks_cuda import joining, run_on_gpus, take_least, tell_own
from edgewise.engine.distributed.group import Group
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.device import device_function
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel

_LEVEL = np.dtype(np.int32)
#: The level of a vertex that was not reached, and so the parent of one that has none.
_NONE = -1


@device_function
def next_level(level: Any, weight: Any) -> Any:
    """The level of a target."""
    return level + weight


@device_function
def one_level(k: Any, weights: Any) -> Any:
    """The length of an arc."""
    return np.int64(1)


_offer = make_offer(next_level, one_level)


def offers_kernel(it):
    """Parents from finished levels over the arcs that are there; see `Offers`."""
    _offer(it)


@functools.cache
def _offers_kernel(offsets: np.dtype) -> Kernel:
    return fixed_kernel(offers_kernel, signature(offsets, None, _LEVEL))


def search(
    graph: Graph, sources: np.ndarray, limit: int, run: Execution, group: Group
) -> tuple[Any, Any, int]:
    """Levels and parents, int32 on the GPU, and the number of levels, on all ranks; the arguments are those of
    `cuda.search`, and the ranks.

    Raises:
        MemoryLimitError: on all ranks, if one of them has no room.
        DistributedError: another rank has ended, or does not answer in time.
    """
    n = graph.num_vertices
    given = given_for(graph, sources)
    outcome, program = run_on_gpus(BreadthFirst, graph, run, given, min(limit, n))
    level, parent = (outcome.vertex_fields[name] for name in ("level", "parent"))
    offsets, targets, _ = program.out_edges()
    rows = GraphOnGpu(offsets, targets, offsets, targets)
    parent[...] = _NONE
    with joining("bfs", n, group) as channel:
        tell_own(level, outcome.ranges, channel)
        if graph.directed:
            offers = Offers(offsets, targets, targets, level, parent.view(np.uint32), n, _NONE)
            _offers_kernel(offset_dtype(rows)).start([offers])
            take_least(offers.parent, group, channel)
        else:
            parents_over(rows, level, parent)
            tell_own(parent, outcome.ranges, channel)
    return level, parent, outcome.supersteps
