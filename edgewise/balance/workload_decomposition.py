"""Workload decomposition (WD) and merge path: arcs in equal blocks, one for each warp, wherever vertices begin and end.

Places are numbered: the arcs of the first listed vertex, those of the second, and so on; with merge path each vertex
has one place more, before its arcs, so that vertices count as work, too. A scan of the degrees says where each
vertex's
places end: of all vertices, the offsets are that scan. A warp looks for the first vertex of its block of places, and
goes over 32 vertices at a time.

The scan of a list is made in parts, one for each block of threads, which the threads of a grid add up on their way: one
barrier more than without a scan.

Where vertices gather, one that is shared by several warps has its first share as its message, and the others as parts,
one for each warp, which are joined in their order after a barrier. What is summed up with what depends on the number of
warps, not on timing.

References. Raval et al., "Dynamic Load Balancing Strategies for Graph Applications on GPUs" (section III.A; there a
block of edges is a thread's, here a warp's, whose lanes read adjacent arcs). Merrill and Garland, "Merge-based
Parallel Sparse Matrix-Vector Multiplication", SC 2016.
"""

from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from edgewise.balance.binned import make_by_degree
from edgewise.balance.contract import SHARING_NS, WHOLE, Bodies, Own, Plan, Rows, Strategy, Traversal
from edgewise.kernels.cuda import memory as cuda_memory
from edgewise.kernels.cuda.arguments import Int64s
from edgewise.kernels.cuda.device import (
    THREADS,
    WARP,
    ballot,
    block_barrier,
    block_index,
    block_size,
    block_thread,
    clock_ns,
    device_function,
    first_bit,
    grid_barrier,
    lane,
    num_blocks,
    num_threads,
    shuffle,
    thread_index,
)
from edgewise.primitives.deal import WARPS, degree, list_nothing, make_deal, sum_to_lane
from edgewise.schedule import MergePath, WorkloadDecomposition

#: Places that a warp has at least.
LEAST = 32


class Scan(NamedTuple):
    """The arrays of a scan of the degrees of listed vertices; they are empty where nothing is scanned.

    Attributes:
        upto: after the last place of a vertex, among those of its chunk.
        totals: the places of each chunk.
    """

    upto: Int64s
    totals: Int64s


class Scanned(NamedTuple):
    """The arrays of the strategy."""

    scan: Scan


def scan_arrays(num_vertices: int, scans: bool) -> Scan:
    """What stands for the arrays of a scan in a plan; `scans`: whether there is one."""
    lengths = (num_vertices, cuda_memory.most_threads() // THREADS) if scans else (0, 0)
    return Scan(*map(Own, lengths))


def num_shared_parts(pulls: bool) -> int:
    """The most parts of vertices: one for each warp, if it gathers."""
    return cuda_memory.most_threads() // WARP if pulls else 0


@device_function
def _sum_in_block(value: Any, tally: Any) -> Any:
    """The sum of the values of this thread and of those before it in the block, and that of all."""
    upto = sum_to_lane(value)
    warp, before, total = block_thread() // WARP, np.int64(0), np.int64(0)
    if lane() == WARP - 1:
        tally[warp] = upto
    block_barrier()
    for first in range(0, WARPS, WARP):
        mine = tally[first + lane()]
        sums = total + sum_to_lane(mine)
        if first <= warp < first + WARP:
            before = shuffle(sums - mine, warp - first)
        total = shuffle(sums, WARP - 1)
    block_barrier()
    return before + upto, total


@device_function
def chunk_of(count: Any) -> Any:
    """How many listed vertices a block of threads scans, of those that have any."""
    return max((count + num_blocks() - 1) // num_blocks(), np.int64(THREADS))


@device_function
def chunks_of(count: Any) -> Any:
    """How many blocks of threads have listed vertices to scan."""
    size = chunk_of(count)
    return (count + size - 1) // size


@device_function
def _find_chunk(place: Any, totals: Any, chunks: Any) -> Any:
    """The chunk that has a place, and the places before it. All lanes of the warp take part."""
    before = np.int64(0)
    for first in range(0, chunks, WARP):
        mine = totals[first + lane()] if first + lane() < chunks else np.int64(0)
        upto = before + sum_to_lane(mine)
        bits = ballot(upto > place)
        if bits != 0:
            holder = first_bit(bits)
            return first + holder, shuffle(upto - mine, holder)
        before = shuffle(upto, WARP - 1)
    return chunks, before


def make_scan(cost: int) -> Any:
    """What scans the degrees of listed vertices, to be called by all threads of the grid.

    Args:
        cost: places of a vertex besides its arcs.

    Returns:
        ``scan(vertices, count, offsets, skip, generation, run, scans)``, without the first `skip` arcs of each; the
        generation afterwards.
    """

    @device_function
    def scan(vertices, count, offsets, skip, generation, run, scans):
        began = clock_ns()
        size, total, upto = chunk_of(count), np.int64(0), scans.upto
        begin = block_index() * size
        end = min(begin + size, count)
        for first in range(begin, end, block_size()):
            i, places = first + block_thread(), np.int64(0)
            if i < end:
                places = cost + max(degree(np.int64(vertices[i]), offsets) - skip, np.int64(0))
            here, all_here = _sum_in_block(places, run.tally)
            if i < end:
                upto[i] = total + here
            total += all_here
        if block_thread() == 0:
            scans.totals[block_index()] = total
        generation = grid_barrier(run.control, generation)
        if thread_index() == 0:
            run.control[SHARING_NS] += clock_ns() - began
        return generation

    return scan


def make_find(listed: bool, cost: int) -> tuple[Any, Any]:
    """What says where a vertex's places end, and what finds the vertex that has a place; see `make_share`."""

    @device_function
    def end_of(i, base, offsets, scans):
        """After the last place of a vertex."""
        if listed:
            return base + scans.upto[i]
        return np.int64(offsets[i + 1]) + cost * (i + 1)

    @device_function
    def find(place, low, high, base, offsets, scans):
        """The first of the vertices low to high that ends after a place. All lanes of the warp take part."""
        while high - low > WARP:
            step = (high - low) // (WARP + 1)
            bits = ballot(end_of(low + (lane() + 1) * step - 1, base, offsets, scans) > place)
            if bits == 0:
                low += WARP * step
            else:
                holder = first_bit(bits)
                high, low = low + (holder + 1) * step, low + holder * step
        bits = ballot(low + lane() < high and end_of(low + lane(), base, offsets, scans) > place)
        return low + first_bit(bits)

    return end_of, find


def make_share(listed: bool, cost: int, take: Any) -> Any:
    """What gives each warp its block of places.

    Args:
        listed: whether vertices are listed, and their degrees scanned, or all.
        cost: places of a vertex besides its arcs.
        take: ``take(v, first, end, begins, ends, warp, context)``, called by all lanes of a warp at once: arcs first to
            end of a lane's vertex, of which this share has all if `begins` and `ends`; v = -1 where there are none.

    Returns:
        ``share(vertices, count, offsets, skip, scans, context)``, to be called by all threads of the grid: the vertex
        that begins and does not end in this warp's share, or -1, and after whose last share it ends.
    """
    end_of, find = make_find(listed, cost)

    @device_function
    def share(vertices, count, offsets, skip, scans, context):
        total = np.int64(0)
        if listed:
            for i in range(lane(), chunks_of(count), WARP):
                total += scans.totals[i]
            total = shuffle(sum_to_lane(total), WARP - 1)
        else:
            total = np.int64(offsets[count]) + cost * count
        warp, warps = thread_index() // WARP, min(num_threads() // WARP, (total + LEAST - 1) // LEAST)
        tail, tail_end = np.int64(-1), np.int64(0)
        if warp >= warps:
            return tail, tail_end
        begin, stop = warp * total // warps, (warp + 1) * total // warps
        size, chunk, base, high = count, np.int64(0), np.int64(0), count
        if listed:
            size = chunk_of(count)
            chunk, base = _find_chunk(begin, scans.totals, chunks_of(count))
            high = min((chunk + 1) * size, count)
        i = find(begin, chunk * size, high, base, offsets, scans)
        while True:
            j, v, start, end, upper = i + lane(), np.int64(0), np.int64(0), np.int64(0), stop
            if j < high:
                v = np.int64(vertices[j]) if listed else j
                start, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
                if listed:
                    start = min(start + skip, end)
                upper = end_of(j, base, offsets, scans)
            place = upper - (end - start)
            first, last = max(start, start + begin - place), min(end, start + stop - place)
            if first >= last:
                v, last = np.int64(-1), first
            take(v, first, last, first == start, last == end, warp, context)
            if v >= 0 and first == start and last < end:
                tail, tail_end = v, (upper * warps + total - 1) // total
            i += WARP
            if shuffle(upper, WARP - 1) >= stop and (i < high or not listed):
                break
            if i >= high:
                base += scans.totals[chunk] if listed else np.int64(0)
                chunk += 1
                i, high = chunk * size, min((chunk + 1) * size, count)
                if i >= count or base >= stop:
                    break
        bits = ballot(tail >= 0)
        if bits != 0:
            holder = first_bit(bits)
            tail, tail_end = shuffle(tail, holder), shuffle(tail_end, holder)
        return tail, tail_end

    return share


def make_decomposed_push(cost: int, bodies: Bodies) -> Any:
    """What sends along the out-edges of listed vertices, without the first so many of each.

    Returns:
        ``push(listed, count, skip, generation, context, run, scans)``.
    """
    visit = bodies.visit
    deal = make_deal(visit)

    @device_function
    def take(v, first, end, begins, ends, warp, context):
        deal(v, first, end - first, np.int64(0), context)

    scan, share = make_scan(cost), make_share(True, cost, take)

    @device_function
    def push(listed, count, skip, generation, context, run, scans):
        generation = scan(listed, count, run.graph.offsets, skip, generation, run, scans)
        share(listed, count, run.graph.offsets, skip, scans, context)
        return generation

    return push


def make_decomposed_pull(listed: bool, cost: int, whole: int, bodies: Bodies) -> Any:
    """What gathers over the in-edges of vertices, listed or all, without the first so many of each.

    Args:
        whole: what a unit is that is no part: `WHOLE`, or `MORE` if messages are to be added to.

    Returns:
        ``pull(vertices, count, skip, generation, context, run, scans)``.
    """
    gather, join = bodies.gather, bodies.join
    by_degree = make_by_degree(gather)

    @device_function
    def take(v, first, end, begins, ends, warp, context):
        by_degree(v, first, end, np.int64(whole) if begins else warp, context)

    scan, share = make_scan(cost), make_share(listed, cost, take)

    @device_function
    def pull(vertices, count, skip, generation, context, run, scans):
        if listed:
            generation = scan(vertices, count, run.graph.in_offsets, skip, generation, run, scans)
        tail, end = share(vertices, count, run.graph.in_offsets, skip, scans, context)
        generation = grid_barrier(run.control, generation)
        if tail >= 0:
            join(tail, thread_index() // WARP + 1, end, context)
        return generation

    return pull


def make_decomposed(cost: int, bodies: Bodies) -> Traversal:
    """The functions: workload decomposition without a cost of vertices, merge path with one."""
    push, pull = make_decomposed_push(cost, bodies), make_decomposed_pull(False, cost, WHOLE, bodies)

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        return push(listed, count, np.int64(0), generation, context, run, run.plan.scan)

    @device_function
    def pull_all(n, generation, context, run):
        return pull(
            run.graph.in_sources,
            n,
            np.int64(0),
            generation,
            context,
            run,
            run.plan.scan,
        )

    return Traversal(list_nothing, push_all, pull_all)


@final
class DecomposedStrategy(Strategy):
    """Warps have equal blocks of places.

    Args:
        choice: for workload decomposition, or for merge path.
        cost: places of a vertex besides its arcs.
    """

    arrays: ClassVar[type] = Scanned

    def __init__(self, choice: WorkloadDecomposition | MergePath, cost: int) -> None:
        super().__init__(str(choice))
        self._cost = cost

    def prepare(self, rows: Rows, pushes: bool, pulls: bool) -> Plan:
        arrays = Scanned(scan_arrays(rows.num_vertices, pushes))
        return Plan(arrays, rows.offsets, num_shared_parts(pulls))

    def make(self, bodies: Bodies) -> Traversal:
        return make_decomposed(self._cost, bodies)
