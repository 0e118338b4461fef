"""Workload decomposition (WD) and merge path: each warp has an equal block of arcs, wherever vertices begin and end.

Places are numbered: the arcs of the first listed vertex, those of the second, and so on. With merge path each vertex
has one place more, before its arcs, so that vertices count as work, too. A scan of the degrees says where each vertex's
places end; for all vertices, the offsets are that scan. A warp searches for the first vertex of its block of places,
and goes over 32 vertices at a time.

Each block of threads scans a chunk of a list. Warps add up the totals of chunks as they need them, so a scan takes one
barrier.

Where several warps gather over one vertex, the first stores its share as the message, and each of the others stores a
part. The parts are joined in their order after a barrier. So the order of sums depends on the number of warps, not on
timing.

References. Raval et al., "Dynamic Load Balancing Strategies for Graph Applications on GPUs" (section III.A; there a
block of edges is a thread's, here a warp's, whose lanes read adjacent arcs). Merrill and Garland, "Merge-based
Parallel Sparse Matrix-Vector Multiplication", SC 2016.
"""

from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from edgewise.balance.contract import SHARING_NS, WHOLE, Bodies, GraphRows, Own, Plan, Strategy, Traversal
from edgewise.kernels.cuda import memory as cuda_memory
from edgewise.kernels.cuda.arguments import Int64s
from edgewise.kernels.cuda.device import (
    THREADS,
    WARP,
    ballot,
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
from edgewise.primitives.by_degree import make_by_degree
from edgewise.primitives.deal import list_nothing, make_deal
from edgewise.primitives.running_sums import sum_to_lane, sums_in_block
from edgewise.schedule import MergePath, WorkloadDecomposition

#: The fewest places that a warp has. Fewer warps take part if there are too few.
LEAST = 32
#: Above all vertices.
BEYOND = np.iinfo(np.int64).max


class Scan(NamedTuple):
    """The arrays of a scan of the degrees of listed vertices; they are empty where nothing is scanned.

    Attributes:
        upto: of each listed vertex, where its places end, counted from the begin of its chunk.
        totals: how many places each chunk has.
    """

    upto: Int64s
    totals: Int64s


class Scanned(NamedTuple):
    """The arrays of the strategy."""

    scan: Scan


class Taken(NamedTuple):
    """Which arcs are shared out: those of the vertices low to high - 1, but for the first `skip` of each."""

    low: Any
    high: Any
    skip: Any


def scan_arrays(num_vertices: int, scans: bool) -> Scan:
    """The arrays of a scan, as they stand in a plan; `scans`: whether there is one."""
    lengths = (num_vertices, cuda_memory.most_threads() // THREADS) if scans else (0, 0)
    return Scan(*map(Own, lengths))


def num_shared_parts(pulls: bool) -> int:
    """The most parts that there are: one for each warp, if vertices gather."""
    return cuda_memory.most_threads() // WARP if pulls else 0


@device_function
def chunk_of(count: Any) -> Any:
    """How many listed vertices a chunk has; the last chunk may have fewer."""
    return max((count + num_blocks() - 1) // num_blocks(), np.int64(THREADS))


@device_function
def chunks_of(count: Any) -> Any:
    """How many chunks there are."""
    size = chunk_of(count)
    return (count + size - 1) // size


@device_function
def _find_chunk(place: Any, totals: Any, chunks: Any) -> Any:
    """The chunk that has a place, and how many places are before the chunk. All lanes of the warp take part."""
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


@device_function
def taken_arcs(v: Any, offsets: Any, taken: Any) -> Any:
    """Where those arcs of a vertex that are shared out begin and end."""
    end = np.int64(offsets[v + 1])
    start = min(np.int64(offsets[v]) + taken.skip, end)
    return start if taken.low <= v < taken.high else end, end


def make_scan(cost: int) -> Any:
    """The function that scans the degrees of listed vertices.

    Args:
        cost: places of a vertex besides its arcs.

    Returns:
        ``scan(vertices, count, offsets, taken, generation, run, scans)``, called by all threads of the grid, with
        `Taken`. It returns the generation afterwards.
    """

    @device_function
    def scan(vertices, count, offsets, taken, generation, run, scans):
        began = clock_ns()
        size, total, upto = chunk_of(count), np.int64(0), scans.upto
        begin = block_index() * size
        end = min(begin + size, count)
        for here in range(begin, end, block_size()):
            i, places = here + block_thread(), np.int64(0)
            if i < end:
                first, last = taken_arcs(np.int64(vertices[i]), offsets, taken)
                places = cost + last - first
            _, places, all_places = sums_in_block(places, run.tally)
            if i < end:
                upto[i] = total + places
            total += all_places
        if block_thread() == 0:
            scans.totals[block_index()] = total
        generation = grid_barrier(run.control, generation)
        if thread_index() == 0:
            run.control[SHARING_NS] += clock_ns() - began
        return generation

    return scan


def make_find(listed: bool, cost: int) -> tuple[Any, Any]:
    """The functions that say where a vertex's places end, and that find the vertex of a place; see `make_share`."""

    @device_function
    def end_of(i, base, offsets, scans):
        """Where the places of a vertex end."""
        return base + (scans.upto[i] if listed else np.int64(offsets[i + 1]) + cost * (i + 1))

    @device_function
    def find(place, low, high, base, offsets, scans):
        """The first i with low <= i < high whose places end after `place`. All lanes of the warp take part."""
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
    """The function that gives each warp its block of places.

    Args:
        listed: whether vertices are listed and their degrees scanned.
        cost: places of a vertex besides its arcs.
        take: ``take(v, first, end, begins, ends, warp, context)``, called by all lanes of a warp at once with the arcs
            first to end - 1 of a lane's vertex. `begins` and `ends` say whether these include its first and its last
            arc. v is -1 if the lane has none.

    Returns:
        ``share(vertices, count, offsets, taken, scans, context)``, called by all threads of the grid, with `Taken`, for
        ``vertices[:count]`` if they are listed, else for all vertices of the range. It returns the vertex that begins
        but does not end in this warp's share, or -1, and 1 plus the number of the warp with the last share of that
        vertex.
    """
    end_of, find = make_find(listed, cost)

    @device_function
    def share(vertices, count, offsets, taken, scans, context):
        total, base, low, end = np.int64(0), np.int64(0), np.int64(0), count
        if listed:
            for i in range(lane(), chunks_of(count), WARP):
                total += scans.totals[i]
            total = shuffle(sum_to_lane(total), WARP - 1)
        else:
            low, end = taken.low, taken.high
            base = -(np.int64(offsets[low]) + cost * low)
            total = base + np.int64(offsets[end]) + cost * end
        warp, warps = thread_index() // WARP, min(num_threads() // WARP, (total + LEAST - 1) // LEAST)
        tail, tail_end = np.int64(-1), np.int64(0)
        if warp >= warps:
            return tail, tail_end
        begin, stop = warp * total // warps, (warp + 1) * total // warps
        size, chunk, high = chunk_of(count), np.int64(0), end
        if listed:
            chunk, base = _find_chunk(begin, scans.totals, chunks_of(count))
            low, high = chunk * size, min((chunk + 1) * size, count)
        i = find(begin, low, high, base, offsets, scans)
        while True:
            j, v, start, last, upper = i + lane(), np.int64(0), np.int64(0), np.int64(0), stop
            if j < high:
                v = np.int64(vertices[j]) if listed else j
                if listed:
                    start, last = taken_arcs(v, offsets, taken)
                else:
                    start, last = np.int64(offsets[v]), np.int64(offsets[v + 1])
                upper = end_of(j, base, offsets, scans)
            place = upper - (last - start)
            first, end_here = max(start, start + begin - place), min(last, start + stop - place)
            if first >= end_here:
                v, end_here = np.int64(-1), first
            take(v, first, end_here, first == start, end_here == last, warp, context)
            if v >= 0 and first == start and end_here < last:
                tail, tail_end = v, (upper * warps + total - 1) // total
            i += WARP
            if shuffle(upper, WARP - 1) >= stop and (i < high or not listed):
                break
            if i >= high:
                if not listed:
                    break
                base += scans.totals[chunk]
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
    """The function that sends along the out-edges of listed vertices.

    Returns:
        ``push(listed, count, taken, generation, context, run, scans)``, with `Taken`, which returns the generation
        afterwards.
    """
    visit = bodies.visit
    deal = make_deal(visit)

    @device_function
    def take(v, first, end, begins, ends, warp, context):
        deal(v, first, end - first, np.int64(0), context)

    scan, share = make_scan(cost), make_share(True, cost, take)

    @device_function
    def push(listed, count, taken, generation, context, run, scans):
        generation = scan(listed, count, run.graph.offsets, taken, generation, run, scans)
        share(listed, count, run.graph.offsets, taken, scans, context)
        return generation

    return push


def make_decomposed_pull(listed: bool, cost: int, whole: int, bodies: Bodies) -> Any:
    """The function that gathers over the in-edges of vertices, of a list or of a range.

    Args:
        whole: what a unit is that is no part: `WHOLE`, or `MORE` to add to messages.

    Returns:
        ``pull(vertices, count, taken, generation, context, run, scans)``, with `Taken`, for ``vertices[:count]`` if
        they are listed; it returns the generation afterwards.
    """
    gather, join = bodies.gather, bodies.join
    by_degree = make_by_degree(gather)

    @device_function
    def take(v, first, end, begins, ends, warp, context):
        by_degree(v, first, end, np.int64(whole) if begins else warp, context)

    scan, share = make_scan(cost), make_share(listed, cost, take)

    @device_function
    def pull(vertices, count, taken, generation, context, run, scans):
        if listed:
            generation = scan(vertices, count, run.graph.in_offsets, taken, generation, run, scans)
        tail, end = share(vertices, count, run.graph.in_offsets, taken, scans, context)
        generation = grid_barrier(run.control, generation)
        if tail >= 0:
            join(tail, thread_index() // WARP + 1, end, context)
        return generation

    return pull


def make_decomposed(cost: int, bodies: Bodies) -> Traversal:
    """The functions of the strategy: workload decomposition if `cost` is 0, merge path if it is 1."""
    push, pull = make_decomposed_push(cost, bodies), make_decomposed_pull(False, cost, WHOLE, bodies)

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        taken = Taken(np.int64(0), np.int64(BEYOND), np.int64(0))
        return push(listed, count, taken, generation, context, run, run.plan.scan)

    @device_function
    def pull_all(low, high, generation, context, run):
        taken = Taken(low, high, np.int64(0))
        return pull(run.graph.in_sources, high, taken, generation, context, run, run.plan.scan)

    return Traversal(list_nothing, push_all, pull_all)


@final
class DecomposedStrategy(Strategy):
    """Warps have equal blocks of places.

    Args:
        choice: the schedule's.
        cost: places of a vertex besides its arcs.
    """

    arrays: ClassVar[type] = Scanned

    def __init__(self, choice: WorkloadDecomposition | MergePath, cost: int) -> None:
        super().__init__(str(choice))
        self._cost = cost

    def prepare(self, rows: GraphRows, pushes: bool, pulls: bool) -> Plan:
        arrays = Scanned(scan_arrays(rows.num_vertices, pushes))
        return Plan(arrays, rows.offsets, num_shared_parts(pulls))

    def make(self, bodies: Bodies) -> Traversal:
        return make_decomposed(self._cost, bodies)
