"""Edge-based (EP): listed edges are handed out to all threads round-robin, whatever their vertices.

Edges are stored with both ends (COO), so a thread reads the source of its edge. The out-edges of active vertices are
listed, not the vertices. Each vertex adds its edges at most once in a superstep, so the list needs no condensing
afterwards. With *work chunking* one atomic operation makes room for the edges of the 32 vertices of a warp, which its
lanes list together; or, as in the paper, for those of one vertex, whose thread lists them; without it, for one edge.

Where all vertices gather, threads have in-edges and combine messages by atomic operations, in any order. So float sums
and users' own combiners are refused.

Reference. Raval et al., "Dynamic Load Balancing Strategies for Graph Applications on GPUs" (sections II.B and IV.D).
"""

from typing import ClassVar, NamedTuple, final

import numpy as np

from edgewise.balance.contract import Bodies, GraphRows, Own, Plan, Strategy, Traversal
from edgewise.kernels.cuda.arguments import Offsets, Uint32s
from edgewise.kernels.cuda.device import atomic_add, device_function, lane, num_threads, thread_index
from edgewise.layout.slots import finding_ends
from edgewise.primitives.deal import degree, make_deal, reserve
from edgewise.schedule import EdgeBased


class Edges(NamedTuple):
    """The arrays of the strategy.

    Attributes:
        sources, targets: the source of each out-edge, and the target of each in-edge.
        listed: out-edges of active vertices.
    """

    sources: Uint32s
    targets: Uint32s
    listed: Offsets


def make_edge_based(chunking: bool | str, bodies: Bodies) -> Traversal:
    """The functions, with or without work chunking, for messages that may be combined in any order."""
    visit, add = bodies.visit, bodies.add
    by_warp, by_vertex = chunking is True, chunking == "vertex"

    @device_function
    def write(takes, v, position, k, edges):
        if takes:
            edges[position + k] = k
        return np.int64(0), np.int64(0)

    deal = make_deal(write, vertex=False, key=True)

    @device_function
    def list_units(v, active, counter, run):
        edges, start, count = run.plan.listed, np.int64(0), np.int64(0)
        if active:
            start, count = np.int64(run.graph.offsets[v]), degree(v, run.graph.offsets)
        if by_warp:
            position = reserve(count, run.control, counter)
            deal(v, start, count, position - start, edges)
        elif by_vertex:
            position = np.int64(0)
            if count > 0:
                position = np.int64(atomic_add(run.control, counter, count))
            for i in range(count):
                edges[position + i] = start + i
        else:
            for k in range(start, start + count):
                edges[atomic_add(run.control, counter, 1)] = k
        return count

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        edges, arcs = run.plan.listed, run.control[counter]
        for begin in range(thread_index() - lane(), arcs, num_threads()):
            i, v, k = begin + lane(), np.int64(0), np.int64(0)
            if i < arcs:
                k = np.int64(edges[i])
                v = np.int64(run.plan.sources[k])
            visit(i < arcs, v, np.int64(0), k, context)
        return generation

    @device_function
    def pull_all(low, high, generation, context, run):
        first, end = np.int64(run.graph.in_offsets[low]), np.int64(run.graph.in_offsets[high])
        for begin in range(first + thread_index() - lane(), end, num_threads()):
            k, v = begin + lane(), np.int64(0)
            if k < end:
                v = np.int64(run.plan.targets[k])
            add(k < end, v, k, context)
        return generation

    return Traversal(list_units, push_all, pull_all)


@final
class EdgeBasedStrategy(Strategy):
    """Edges are listed, with or without work chunking."""

    arrays: ClassVar[type] = Edges
    any_order: ClassVar[bool] = True

    def __init__(self, choice: EdgeBased) -> None:
        super().__init__(str(choice))
        self._chunking = choice.chunking

    def prepare(self, rows: GraphRows, pushes: bool, pulls: bool) -> Plan:
        n, m = rows.num_vertices, rows.num_arcs
        ends = [
            rows.kept(inward, *finding_ends(n, m))
            for inward, used in ((False, pushes), (True, pulls))
            if used
        ]
        return Plan(Edges(ends[0], ends[-1], Own(m if pushes else 0)), rows.offsets)

    def make(self, bodies: Bodies) -> Traversal:
        return make_edge_based(self._chunking, bodies)
