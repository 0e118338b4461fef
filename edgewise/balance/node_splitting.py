"""Node splitting (NS): a vertex of more arcs than a bound is split into children, which share its arcs evenly.

A unit is a child, which one lane has. Where vertices gather, each child of a split vertex leaves a part of the message,
and a warp joins these parts in their order. Children are numbered in the order of their vertices. Programs see only
vertices, with their own ids, fields and degrees. A vertex of few arcs has one child. Splitting is done once for a
graph, a bound and a direction.

Reference. Raval et al., "Dynamic Load Balancing Strategies for Graph Applications on GPUs" (section III.B).
"""

from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from edgewise.balance.contract import WHOLE, Bodies, GraphRows, Own, Plan, Strategy, Traversal
from edgewise.kernels.cuda import memory as cuda_memory
from edgewise.kernels.cuda.arguments import Offsets, Uint32s
from edgewise.kernels.cuda.device import WARP, device_function, grid_barrier, lane, num_threads, thread_index
from edgewise.primitives.deal import degree, reserve
from edgewise.schedule import HierarchicalProcessing, NodeSplitting

#: Splitting takes at least this many bytes for each vertex, of which a fifth is kept.
SPLIT_BYTES = 64


class Children(NamedTuple):
    """The children of all vertices, in arrays on the GPU.

    Attributes:
        first: (n + 1,): the children of vertex v are first[v] to first[v + 1] - 1.
        begin: (children + 1,): where a child's arcs begin.
        parent: (children,): the vertex of a child.
        split: how many vertices have several children, followed by these vertices.
    """

    first: Uint32s
    begin: Offsets
    parent: Uint32s
    split: Uint32s


class Splitting(NamedTuple):
    """The arrays of the strategy.

    Attributes:
        out, inward: the children by out-edges, and by in-edges.
        listed: the children of active vertices.
    """

    out: Children
    inward: Children
    listed: Uint32s


def likely_degree(offsets: Any, bins: int) -> int:
    """The bound of section III.B: the upper edge of the range of degrees that has the most vertices, at least 1.

    Args:
        offsets: (n + 1,), on the GPU.
        bins: how many ranges of equal width there are up to the largest degree.
    """
    xp = cuda_memory.cupy()
    degrees = xp.diff(offsets).astype(np.int64)
    largest = int(degrees.max()) if len(degrees) else 0
    if largest == 0:
        return 1
    # Bins are counted from 1. The first one also has the vertices without arcs.
    place = xp.maximum(xp.floor_divide(xp.add(xp.multiply(degrees, bins), largest - 1), largest), 1)
    tallest = int(xp.argmax(xp.bincount(place, minlength=bins + 1)))
    return max(1, -(-tallest * largest // bins))


def bound_of(choice: NodeSplitting | HierarchicalProcessing, rows: GraphRows, inward: bool) -> int:
    """The most arcs of a vertex that a thread has at a time, by out-edges or, inward, by in-edges."""
    if choice.max_degree != "auto":
        return min(choice.max_degree, max(1, rows.num_arcs))
    found: int = rows.kept(inward, "the degrees", 16 * rows.num_vertices, likely_degree, choice.bins)
    return found


def split_vertices(offsets: Any, max_degree: int) -> Children:
    """Split the vertices of more than `max_degree` arcs. `offsets` is on the GPU."""
    xp, n = cuda_memory.cupy(), len(offsets) - 1
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


def make_units(units_of: Any, note: Any, unit: Any, scatter: Any) -> tuple[Any, Any]:
    """The function that lists the units of active vertices, and one that pushes those listed, with a lane for each.

    Args:
        units_of: ``units_of(v, plan)``: the number of the first unit of a vertex, and how many units it has.
        note: ``note(position, number, plan)``: put the unit of a number into the list.
        unit: ``unit(entry, plan)``: the vertex of an entry of the list, and where its arcs begin and end.
        scatter: see `Bodies`.
    """

    @device_function
    def list_units(v, active, counter, run):
        first, count = np.int64(0), np.int64(0)
        if active:
            first, count = units_of(v, run.plan)
        position = reserve(count, run.control, counter)
        for i in range(count):
            note(position + i, first + i, run.plan)
        return degree(v, run.graph.offsets) if active else np.int64(0)

    @device_function
    def push_listed(units, context, run):
        for begin in range(thread_index() - lane(), units, num_threads()):
            i, v, start, end = begin + lane(), np.int64(-1), np.int64(0), np.int64(0)
            if i < units:
                v, start, end = unit(np.int64(run.plan.listed[i]), run.plan)
            scatter(v, start, end, np.int64(1), np.int64(1), context)

    return list_units, push_listed


def make_splitting(bodies: Bodies) -> Traversal:
    """The functions of the strategy."""
    scatter, gather, join = bodies.scatter, bodies.gather, bodies.join

    @device_function
    def unit(c, children):
        """A child's vertex, and where its arcs begin and end."""
        return np.int64(children.parent[c]), np.int64(children.begin[c]), np.int64(children.begin[c + 1])

    @device_function
    def units_of(v, plan):
        return np.int64(plan.out.first[v]), degree(v, plan.out.first)

    @device_function
    def note(position, number, plan):
        plan.listed[position] = number

    @device_function
    def out_unit(c, plan):
        return unit(c, plan.out)

    list_units, push_listed = make_units(units_of, note, out_unit, scatter)

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        push_listed(run.control[counter], context, run)
        return generation

    @device_function
    def pull_all(low, high, generation, context, run):
        children = run.plan.inward
        first, last = np.int64(children.first[low]), np.int64(children.first[high])
        for begin in range(first + thread_index() - lane(), last, num_threads()):
            c, v, start, end, part = begin + lane(), np.int64(-1), np.int64(0), np.int64(0), np.int64(WHOLE)
            if c < last:
                v, start, end = unit(c, children)
                if degree(v, children.first) > 1:
                    part = c
            gather(v, start, end, np.int64(1), np.int64(1), part, context)
        generation = grid_barrier(run.control, generation)
        for i in range(thread_index() // WARP, children.split[0], num_threads() // WARP):
            v = np.int64(children.split[1 + i])
            if low <= v < high:
                join(v, np.int64(children.first[v]), np.int64(children.first[v + 1]), context)
        return generation

    return Traversal(list_units, push_all, pull_all)


@final
class NodeSplittingStrategy(Strategy):
    """Lanes have the children of split vertices."""

    arrays: ClassVar[type] = Splitting

    def __init__(self, choice: NodeSplitting) -> None:
        super().__init__("NodeSplitting")
        self._choice = choice

    def prepare(self, rows: GraphRows, pushes: bool, pulls: bool) -> Plan:
        directions = [(False, "out-edges")] * pushes + [(True, "in-edges")] * pulls
        found = [self._split(rows, *direction) for direction in directions]
        children, notes = [each for each, _ in found], tuple(note for _, note in found)
        listed = len(children[0].parent) if pushes else 0
        parts = len(children[-1].parent) if pulls else 0
        return Plan(Splitting(children[0], children[-1], Own(listed)), rows.offsets, parts, notes)

    def _split(self, rows: GraphRows, inward: bool, what: str) -> tuple[Children, str]:
        """The children of all vertices in one direction, and a note."""
        n, bound = rows.num_vertices, bound_of(self._choice, rows, inward)
        children: Children = rows.kept(inward, "node splitting", SPLIT_BYTES * n, split_vertices, bound)
        count = int(children.split[0])
        note = f"node splitting: {count:,} of {n:,} vertices have more than {bound:,} {what}; they became "
        return children, f"{note}{len(children.parent) - n + count:,}"

    def make(self, bodies: Bodies) -> Traversal:
        return make_splitting(bodies)
