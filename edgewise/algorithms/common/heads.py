"""The first two neighbours of each vertex, kept on a GPU that has no room for the graph: most searches end at them, so
most rows are never read over the link to the host."""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.algorithms.common.device_graph import GraphOnGpu, laid_out
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.graph.resident import HEADS
from edgewise.kernels.cpu.launch import launch
from edgewise.kernels.cpu.team import claim, team_kernel
from edgewise.kernels.cuda.memory import copy_of
from edgewise.primitives.vertices import NO_VERTEX

#: Vertices that a thread takes at a time, and about the nanoseconds that one takes.
_STEP, _VERTEX_NS = 4096, 20


def heads_for(
    run: Execution, graph: Graph, on_gpu: GraphOnGpu, what: str, make: Callable[..., Any], *arguments: Any
) -> tuple[Any, bool]:
    """The heads that ``make(graph, *arguments)`` gives, `what` in words, and True, if the graph's placement has them;
    else some other array in their place, and False."""
    if graph.placement is None or not graph.placement.heads:
        return on_gpu.targets, False
    return laid_out(run, f"kept the first {what} on the GPU", graph, make, *arguments), True


def in_heads(graph: Graph) -> Any:
    """The first in-neighbours of each vertex, or `NO_VERTEX`: uint32 on the GPU, shape (HEADS * num_vertices,)."""
    rows = graph.in_offsets, graph.in_sources
    return _heads(graph, *rows, *rows)


def any_heads(graph: Graph, in_edges: bool) -> Any:
    """The first out-neighbours of each vertex, or with `in_edges`, if it has none, the first in-neighbours; as
    `in_heads`."""
    rows = graph.offsets, graph.targets
    return _heads(graph, *rows, *((graph.in_offsets, graph.in_sources) if in_edges else rows))


def _heads(graph: Graph, *rows: np.ndarray) -> Any:
    found = np.empty(HEADS * graph.num_vertices, np.uint32)
    launch(_write, *rows, found, work=_VERTEX_NS * graph.num_vertices)
    return copy_of(found)


@team_kernel
def _write(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    neighbours: Any,
    other_offsets: Any,
    other_neighbours: Any,
    heads: Any,
) -> None:
    """Write the first neighbours of a row, or of the other one if it is empty."""
    n = len(offsets) - 1
    while True:
        first = claim(control, 0, _STEP, n)
        if first >= n:
            break
        for v in range(first, min(first + _STEP, n)):
            begin, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
            other = begin == end
            if other:
                begin, end = np.int64(other_offsets[v]), np.int64(other_offsets[v + 1])
            for i in range(HEADS):
                head = NO_VERTEX
                if begin + i < end:
                    head = np.uint32(other_neighbours[begin + i] if other else neighbours[begin + i])
                heads[HEADS * v + i] = head
