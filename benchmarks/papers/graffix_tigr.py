"""Virtual split transformation with a coalesced edge array, as Tigr has it: the second baseline of Singh and Nasre.

A vertex of more edges than a bound is split into children, as `NodeSplitting` does, and each child has a thread. The
children of a vertex take its edges in turns: so the threads of a family, which lie side by side, read edges that lie
side by side. With `NodeSplitting` each child has a run of edges, and its neighbour begins a bound further on.

Reference. Nodehi Sabet, Qiu and Zhao, "Tigr: Transforming Irregular Graphs for GPU-Friendly Graph Processing", ASPLOS
2018.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np

from edgewise.balance.contract import WHOLE, Bodies, GraphRows, Plan, Strategy, Traversal
from edgewise.balance.node_splitting import NodeSplittingStrategy, Splitting
from edgewise.balance.registry import STRATEGIES
from edgewise.kernels.cuda.device import WARP, device_function, grid_barrier, lane, num_threads, thread_index
from edgewise.primitives.deal import degree, reserve
from edgewise.schedule import NodeSplitting

#: The most edges of a virtual vertex; set here.
BOUND = 10


@dataclass(frozen=True)
class Interleaved(NodeSplitting):
    """Vertices with many edges are split into children, which take their edges in turns."""


def make_interleaved(bodies: Bodies) -> Traversal:
    """The functions of the strategy."""
    scatter, gather, join = bodies.scatter, bodies.gather, bodies.join

    @device_function
    def unit(c, children, offsets):
        """A child's vertex, its first edge, the end of the vertex's edges, and how far its edges lie apart."""
        v = np.int64(children.parent[c])
        place = c - np.int64(children.first[v])
        return v, np.int64(offsets[v]) + place, np.int64(offsets[v + 1]), degree(v, children.first)

    @device_function
    def list_units(v, active, counter, run):
        first, count = np.int64(0), np.int64(0)
        if active:
            first, count = np.int64(run.plan.out.first[v]), degree(v, run.plan.out.first)
        position = reserve(count, run.control, counter)
        for i in range(count):
            run.plan.listed[position + i] = first + i
        return degree(v, run.graph.offsets) if active else np.int64(0)

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        units = run.control[counter]
        for begin in range(thread_index() - lane(), units, num_threads()):
            i, v, start, end, step = begin + lane(), np.int64(-1), np.int64(0), np.int64(0), np.int64(1)
            if i < units:
                v, start, end, step = unit(np.int64(run.plan.listed[i]), run.plan.out, run.graph.offsets)
            scatter(v, start, end, step, np.int64(1), context)
        return generation

    @device_function
    def pull_all(low, high, generation, context, run):
        children = run.plan.inward
        first, last = np.int64(children.first[low]), np.int64(children.first[high])
        for begin in range(first + thread_index() - lane(), last, num_threads()):
            c, v, start, end, step = begin + lane(), np.int64(-1), np.int64(0), np.int64(0), np.int64(1)
            part = np.int64(WHOLE)
            if c < last:
                v, start, end, step = unit(c, children, run.graph.in_offsets)
                if step > 1:
                    part = c
            gather(v, start, end, step, np.int64(1), part, context)
        generation = grid_barrier(run.control, generation)
        for i in range(thread_index() // WARP, children.split[0], num_threads() // WARP):
            v = np.int64(children.split[1 + i])
            if low <= v < high:
                join(v, np.int64(children.first[v]), np.int64(children.first[v + 1]), context)
        return generation

    return Traversal(list_units, push_all, pull_all)


@final
class InterleavedStrategy(Strategy):
    """Lanes have the children of split vertices, whose edges lie apart."""

    arrays: ClassVar[type] = Splitting

    def __init__(self, choice: Interleaved) -> None:
        # Code that is kept on the disk does not ask for sources outside of edgewise.
        super().__init__(f"Interleaved {hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}")
        self._children = NodeSplittingStrategy(choice)

    def prepare(self, rows: GraphRows, pushes: bool, pulls: bool) -> Plan:
        return self._children.prepare(rows, pushes, pulls)

    def make(self, bodies: Bodies) -> Traversal:
        return make_interleaved(bodies)


def register() -> None:
    """Have schedules know the choice."""
    registered: Any = STRATEGIES
    registered[Interleaved] = InterleavedStrategy
