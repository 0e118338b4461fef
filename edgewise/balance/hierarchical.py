"""Hierarchical processing (HP): in a sub-iteration a thread has a bounded number of arcs of one vertex.

The vertices that have arcs left after a sub-iteration are the list of the next. A list that is shorter than a block of
threads goes to workload decomposition, and so does what is left after the last sub-iteration. The bound on arcs is that
of node splitting.

Where all vertices gather, the same ones always have arcs left after the first sub-iteration. These are sorted once by
falling degree, and each later list is a prefix of theirs. What a vertex has gathered so far is stored as its message.

Reference. Raval et al., "Dynamic Load Balancing Strategies for Graph Applications on GPUs" (section III.C).
"""

from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from edgewise.balance.contract import MORE, WHOLE, Bodies, GraphRows, Own, Plan, Strategy, Traversal
from edgewise.balance.node_splitting import bound_of
from edgewise.balance.workload_decomposition import (
    BEYOND,
    Scan,
    Taken,
    make_decomposed_pull,
    make_decomposed_push,
    num_shared_parts,
    scan_arrays,
    taken_arcs,
)
from edgewise.kernels.cuda import memory as cuda_memory
from edgewise.kernels.cuda.arguments import Int64s, Uint32s
from edgewise.kernels.cuda.device import (
    THREADS,
    block_size,
    device_function,
    grid_barrier,
    lane,
    num_threads,
    thread_index,
)
from edgewise.primitives.control import TURNS, turns_after
from edgewise.primitives.deal import append, degree, list_nothing
from edgewise.schedule import HierarchicalProcessing

#: Words of the array of bounds: the most out-edges and in-edges of a vertex in a sub-iteration, sub-iterations,
#: and how many vertices have more in-edges. IN is 0 if all vertices together are a short list, or DEPTH is 0.
OUT, IN, DEPTH, HEAVY = range(4)
#: DEPTH, if the number of sub-iterations has no bound.
NO_LIMIT = np.iinfo(np.int64).max


class Sublists(NamedTuple):
    """The arrays of the strategy.

    Attributes:
        bounds: see `OUT` and the words after it.
        heavy: vertices with more in-edges than a sub-iteration takes, see `heavy_vertices`.
        even, odd: the lists that sub-iterations of even and odd numbers make.
        scan: for what goes to workload decomposition.
    """

    bounds: Int64s
    heavy: Uint32s
    even: Uint32s
    odd: Uint32s
    scan: Scan


def heavy_vertices(offsets: Any, bound: int) -> Any:
    """The vertices of more arcs than a bound, uint32, by falling degree. `offsets` is on the GPU."""
    xp = cuda_memory.cupy()
    degrees = xp.diff(offsets).astype(np.int64)
    heavy = xp.flatnonzero(xp.greater(degrees, bound))
    return heavy[xp.argsort(xp.negative(degrees[heavy]), kind="stable")].astype(np.uint32)


def make_hierarchical(bodies: Bodies) -> Traversal:
    """The functions of the strategy."""
    scatter, gather = bodies.scatter, bodies.gather
    push_rest = make_decomposed_push(0, bodies)
    pull_rest = make_decomposed_pull(True, 0, MORE, bodies)

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        most, depth = run.plan.bounds[OUT], run.plan.bounds[DEPTH]
        offsets, control, done, step, vertices = (
            run.graph.offsets,
            run.control,
            np.int64(0),
            np.int64(0),
            listed,
        )
        while count >= block_size() and step < depth:
            following = run.plan.even if step % 2 == 0 else run.plan.odd
            for begin in range(thread_index() - lane(), count, num_threads()):
                i, v, start, end = begin + lane(), np.int64(-1), np.int64(0), np.int64(0)
                if i < count:
                    v = np.int64(vertices[i])
                    start, end = np.int64(offsets[v]) + done, np.int64(offsets[v + 1])
                left = end - start > most
                scatter(v, start, start + most if left else end, np.int64(1), np.int64(1), context)
                append(following, control, counter + step % TURNS, v, left)
            if thread_index() == 0:
                control[counter + turns_after(step)[0]] = 0
            generation = grid_barrier(control, generation)
            count, vertices = control[counter + step % TURNS], following
            done += most
            step += 1
        if count > 0:
            taken = Taken(np.int64(0), np.int64(BEYOND), done)
            generation = push_rest(vertices, count, taken, generation, context, run, run.plan.scan)
        return generation

    @device_function
    def pull_all(low, high, generation, context, run):
        bounds, heavy, offsets = run.plan.bounds, run.plan.heavy, run.graph.in_offsets
        most, depth, count = bounds[IN], bounds[DEPTH], bounds[HEAVY]
        for begin in range(low + thread_index() - lane(), high, num_threads()):
            v, start, end = begin + lane(), np.int64(0), np.int64(0)
            if v < high:
                start, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
            else:
                v = np.int64(-1)
            last = min(end, start + most)
            gather(v, start, last, np.int64(1), np.int64(1), np.int64(WHOLE), context)
        generation = grid_barrier(run.control, generation)
        done, step = most, np.int64(1)
        while count >= block_size() and step < depth:
            taken = Taken(low, high, done)
            for begin in range(thread_index() - lane(), count, num_threads()):
                i, v, start, end = begin + lane(), np.int64(-1), np.int64(0), np.int64(0)
                if i < count:
                    v = np.int64(heavy[i])
                    start, end = taken_arcs(v, offsets, taken)
                last = min(end, start + most)
                gather(v, start, last, np.int64(1), np.int64(1), np.int64(MORE), context)
            done += most
            step += 1
            few, many = np.int64(0), count
            while few < many:
                middle = (few + many) // 2
                if degree(np.int64(heavy[middle]), offsets) > done:
                    few = middle + 1
                else:
                    many = middle
            count = few
            generation = grid_barrier(run.control, generation)
        if count > 0:
            taken = Taken(low, high, done)
            generation = pull_rest(heavy, count, taken, generation, context, run, run.plan.scan)
        return generation

    return Traversal(list_nothing, push_all, pull_all)


@final
class HierarchicalStrategy(Strategy):
    """In a sub-iteration a thread has a bounded number of arcs of one vertex."""

    arrays: ClassVar[type] = Sublists

    def __init__(self, choice: HierarchicalProcessing) -> None:
        super().__init__("HierarchicalProcessing")
        self._choice = choice

    def prepare(self, rows: GraphRows, pushes: bool, pulls: bool) -> Plan:
        n, depth = rows.num_vertices, self._choice.depth
        out = bound_of(self._choice, rows, inward=False) if pushes else 0
        inward, heavy = 0, cuda_memory.empty(0, np.uint32)
        if pulls:
            inward = bound_of(self._choice, rows, inward=True) if n >= THREADS and depth != 0 else 0
            heavy = rows.kept(True, "listing heavy vertices", 24 * n, heavy_vertices, inward)
        numbers = [out, inward, NO_LIMIT if depth is None else min(depth, NO_LIMIT), len(heavy)]
        bounds = cuda_memory.copy_of(np.array(numbers, np.int64))
        listed = Own(n if pushes else 0)
        notes = [
            f"hierarchical processing: at most {bound:,} {what} in a sub-iteration"
            for bound, what in ((out, "out-edges"), (inward, "in-edges"))
            if bound
        ]
        notes.append(f"hierarchical processing: lists of fewer than {THREADS:,} are decomposed")
        arrays = Sublists(bounds, heavy, listed, listed, scan_arrays(n, True))
        return Plan(arrays, rows.offsets, num_shared_parts(pulls), tuple(notes))

    def make(self, bodies: Bodies) -> Traversal:
        return make_hierarchical(bodies)
