"""Node splitting (NS): a vertex of more arcs than a bound is split into children, which share its arcs evenly.

A unit is a child, which one lane has. Children are numbered in the order of their vertices and know them: programs see
vertices only, with the ids, fields and degrees that they had. A vertex of few arcs is its own only child. Splitting is
done once for a graph, a bound and a direction.

Reference. Raval et al., "Dynamic Load Balancing Strategies for Graph Applications on GPUs" (section III.B).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.balance.deal import degree, reserve
from edgewise.kernels import gpu_host
from edgewise.kernels.gpu import (
    WARP,
    device_function,
    grid_barrier,
    lane,
    num_threads,
    pointer,
    thread_index,
)

#: Memory that splitting takes for each vertex, at least, of which a fifth stays.
SPLIT_BYTES = 64
#: A unit that is all of a vertex is no part of it.
WHOLE = -1


class Children(NamedTuple):
    """The children of all vertices, in arrays on the GPU, and the order in which a kernel's argument holds them.

    Attributes:
        first: uint32, (n + 1,): the children of vertex v are first[v] to first[v + 1].
        begin: offsets' dtype, (children + 1,): where a child's arcs begin.
        parent: uint32, (children,): the vertex of a child.
        split: uint32: how many vertices have several, and then these.
    """

    first: Any
    begin: Any
    parent: Any
    split: Any


def children_types(offsets: np.dtype) -> list[Any]:
    """The types of the arrays of `Children` for graphs with offsets of this dtype."""
    vertex = np.dtype(np.uint32)
    return [pointer(vertex), pointer(offsets), pointer(vertex), pointer(vertex)]


def likely_degree(offsets: Any, bins: int) -> int:
    """The bound of section III.B: the upper edge of the range of degrees that has most vertices, at least 1.

    Args:
        offsets: on the GPU.
        bins: ranges of equal width up to the largest degree.
    """
    xp = gpu_host.cupy()
    degrees = xp.diff(offsets).astype(np.int64)
    largest = int(degrees.max()) if len(degrees) else 0
    if largest == 0:
        return 1
    # Bins are counted from 1; the first has the vertices without arcs, too.
    place = xp.maximum(xp.floor_divide(xp.add(xp.multiply(degrees, bins), largest - 1), largest), 1)
    tallest = int(xp.argmax(xp.bincount(place, minlength=bins + 1)))
    return max(1, -(-tallest * largest // bins))


def split_vertices(offsets: Any, max_degree: int) -> Children:
    """Split the vertices of more than `max_degree` arcs. `offsets` is on the GPU."""
    xp, n = gpu_host.cupy(), len(offsets) - 1
    degrees = xp.diff(offsets).astype(np.int64)
    count = xp.maximum(xp.floor_divide(xp.add(degrees, max_degree - 1), max_degree), 1)
    first = xp.zeros(n + 1, np.int64)
    xp.cumsum(count, out=first[1:])
    child = xp.arange(int(first[-1]))
    parent = xp.subtract(xp.searchsorted(first, child, side="right"), 1)
    begin = xp.empty(len(child) + 1, offsets.dtype)
    begin[:-1] = offsets[parent] + (child - first[parent]) * degrees[parent] // count[parent]
    begin[-1:] = offsets[-1:]
    several = xp.flatnonzero(xp.greater(count, 1))
    split = xp.concatenate([xp.asarray([len(several)]), several])
    return Children(first.astype(np.uint32), begin, parent.astype(np.uint32), split.astype(np.uint32))


@device_function
def list_children(v: Any, wanted: Any, units: Any, control: Any, counter: Any, children: Any) -> None:
    """List the children of the vertices of those lanes that want it. All lanes of the warp take part."""
    first, count = np.int64(0), np.int64(0)
    if wanted:
        first = np.int64(children.first[v])
        count = np.int64(children.first[v + 1]) - first
    position = reserve(count, control, counter)
    for i in range(count):
        units[position + i] = first + i


def make_split_push(body: Callable[..., Any]) -> Any:
    """What visits the arcs of listed children: ``each(units, count, children, context)``, called by all threads.

    The body is that of `edgewise.balance`.
    """

    @device_function
    def each(units, count, children, context):
        for begin in range(thread_index() - lane(), count, num_threads()):
            i, v, start, end = begin + lane(), np.int64(-1), np.int64(0), np.int64(0)
            if i < count:
                c = units[i]
                v, start, end = (
                    np.int64(children.parent[c]),
                    np.int64(children.begin[c]),
                    np.int64(children.begin[c + 1]),
                )
            body(v, start, end, np.int64(1), np.int64(1), context)

    return each


def make_split_pull(body: Callable[..., Any], join: Callable[..., Any]) -> Any:
    """What gathers over the arcs of all vertices, child by child.

    Args:
        body: ``body(v, first, end, part, context)``, for arcs first to end of vertex v, called by all lanes of a warp
            at once, with v = -1 where there are none. They are the part of that number, or `WHOLE`.
        join: ``join(v, first, end, context)``, called by all lanes of a warp at once, for a vertex whose parts are
            first to end, after all parts were gathered.

    Returns:
        ``each(n, children, control, generation, context)``, called by all threads; it returns what the last barrier
        returned.
    """

    @device_function
    def each(n, children, control, generation, context):
        count = np.int64(children.first[n])
        for begin in range(thread_index() - lane(), count, num_threads()):
            c, v, start, end, part = begin + lane(), np.int64(-1), np.int64(0), np.int64(0), np.int64(WHOLE)
            if c < count:
                v, start, end = (
                    np.int64(children.parent[c]),
                    np.int64(children.begin[c]),
                    np.int64(children.begin[c + 1]),
                )
                if degree(v, children.first) > 1:
                    part = c
            body(v, start, end, part, context)
        generation = grid_barrier(control, generation)
        for i in range(thread_index() // WARP, children.split[0], num_threads() // WARP):
            v = np.int64(children.split[1 + i])
            join(v, np.int64(children.first[v]), np.int64(children.first[v + 1]), context)
        return generation

    return each
