# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Shortest paths on a GPU that has no room for the graph: few arcs are read, from rows sorted by weight.

Vertices are settled in ranges of distances, one after the other. Within a range, a vertex that came nearer sends along
the beginning of its row only: up to the arcs that lead beyond the range. When no distance in the range falls any more,
the other arcs follow, once: either its vertices send along all theirs, or all vertices beyond the range look back
along the beginnings of their in-edges' rows, as far as an arc may still bring them nearer; whichever has fewer arcs.
On graphs with hubs most arcs are never read: a hub's heavy arcs lead to vertices that are settled.

Where few arcs leave the near vertices they send along all at once, and a range in which little was done makes the next
ones wider. A vertex has one word: its distance above its parent, so that the least word is the nearest, with the
parent of lowest index. Near vertices are found by their stamps, so that rows are read in order, unless they are few.

Reference. Chakaravarthy, Checconi, Murali, Petrini and Sabharwal, "Scalable Single Source Shortest Path Algorithms for
Massively Parallel Systems", IPDPS 2014 (short and long edges, pruning by pulling, hybridization).
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import lists
from edgewise.algorithms.sssp.cuda_reading import (
    ARCS,
    CONTROL,
    ENDED,
    ENTERING,
    LEAST,
    LEAVING,
    NEAR,
    OF_NEAR,
    OF_OTHERS,
    OF_RANGE,
    ORPHANED,
    PIECES,
    TOO_FAR,
    Search,
    Superstep,
    farthest,
    flush_near,
    make_read,
    make_visits,
    most_long_pieces,
    put_near,
)
from edgewise.algorithms.sssp.cuda_rows import SortedRows
from edgewise.algorithms.sssp.cuda_sums import make_sums
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import type_of
from edgewise.kernels.cuda.device import (
    INT64,
    UINT32,
    WARPS,
    atomic_add,
    atomic_min,
    block_size,
    block_thread,
    cuda,
    device_function,
    grid_barrier,
    lane,
    num_threads,
    thread_index,
    warp_min,
    warp_sum,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import CANCEL, PROGRESS, empty, signals, wait, zeros
from edgewise.primitives.block_queues import BOXES, LONG_WORDS, WORDS, share
from edgewise.primitives.control import TURNS, host_words, turns_after
from edgewise.primitives.deal import add_to_total, degree
from edgewise.primitives.near_far_piles import SCAN
from edgewise.primitives.near_far_rise import LARGEST
from edgewise.primitives.ordered_keys import key_dtype
from edgewise.primitives.vertices import LOWER_HALF, NO_VERTEX

#: Words of the host's array, see `Found`.
HOST = host_words()
SUPERSTEPS, RANGES, PUSHED, PULLED = (HOST.take() for _ in range(4))
ORPHANS, BEYOND = HOST.take(), HOST.take()
#: Near vertices have few arcs if `MANY` times as many are fewer than the graph's; so has a range.
MANY = 64


@device_function
def _measure(it: Any, now: Any, block: Any) -> None:
    """Count the arcs out of the range, and those into all vertices beyond it."""
    leaving, entering = np.int64(0), np.int64(0)
    for v in range(thread_index(), it.n, num_threads()):
        key = it.best[v] >> 32
        if key >= now.high:
            entering += degree(v, it.rows.in_offsets)
        elif key >= now.low:
            leaving += degree(v, it.rows.offsets)
    add_to_total(leaving, 0, block.tally, it.control, LEAVING + now.turn)
    add_to_total(entering, 1, block.tally, it.control, ENTERING + now.turn)


@device_function
def _find_least(none: Any, it: Any, now: Any) -> None:
    """Find the least distance beyond the range."""
    least = LARGEST
    for v in range(thread_index(), it.n, num_threads()):
        key = it.best[v] >> 32
        if now.high <= key < none:
            least = min(least, key)
    least = warp_min(least)
    if lane() == 0 and least < LARGEST:
        atomic_min(it.control, LEAST + now.turn, least)


@device_function
def _list_range(it: Any, now: Any, block: Any) -> Any:
    """Make the vertices near whose distances are in the range; this lane's share of their arcs."""
    arcs = np.int64(0)
    for begin in range(thread_index() - lane(), it.n, num_threads()):
        v, is_near = begin + lane(), False
        if v < it.n:
            is_near = now.low <= it.best[v] >> 32 < now.high
            if is_near:
                it.stamps[v] = np.uint32(now.step + 1)
        arcs += put_near(v, is_near, block, (it, now))
    return arcs


@device_function
def _end(none: Any, it: Any) -> None:
    """Write distances and parents from words; count the vertices that only arcs of length 0 reach."""
    orphans = np.int64(0)
    for v in range(thread_index(), it.n, num_threads()):
        word = it.best[v]
        key, parent = word >> 32, word & LOWER_HALF
        it.distance[v] = key if key < none else np.int64(it.unreached)
        it.stamps[v] = np.uint32(parent)
        orphans += key < none and parent == np.int64(NO_VERTEX) and v != it.source
    orphans = warp_sum(orphans)
    if lane() == 0 and orphans > 0:
        atomic_add(it.control, ORPHANED, orphans)


@device_function
def _begin(none: Any, it: Any, block: Any) -> Any:
    """Set everything to the state before the first superstep."""
    for i in range(block_thread(), BOXES * WARPS, block_size()):
        block.held[i] = 0
    for v in range(thread_index(), it.n, num_threads()):
        it.best[v] = none << 32 | np.int64(NO_VERTEX)
        it.stamps[v] = 0
    generation = grid_barrier(it.control, np.int64(0))
    if thread_index() == 0:
        it.best[it.source] = np.int64(NO_VERTEX)
        it.stamps[it.source] = 1
        it.near[0] = it.source
        it.control[NEAR] = 1
        it.control[ARCS] = degree(it.source, it.rows.offsets)
        for turn in range(TURNS):
            it.control[LEAST + turn] = LARGEST
    return grid_barrier(it.control, generation)


def _make_following(distance: np.dtype) -> tuple[Any, Any]:
    """Device functions: ``send_all(whose, found, cut, generation, it, now, block)`` sends from some vertices, and
    ``settle_others(generation, it, now, block)`` follows the arcs that lead out of the range."""
    all_arcs = np.int64(farthest(distance) + 1)
    send, look_back = make_visits(distance)
    push, push_long = make_read(*send)
    pull, pull_long = make_read(*look_back)

    @device_function
    def send_all(whose, found, cut, generation, it, now, block):
        """Send from some vertices, and count the arcs of those that became near."""
        rows = it.rows
        arcs = push(whose, found, rows.offsets, rows.arcs, rows.floors, cut, it, now, block)
        generation = grid_barrier(it.control, generation)
        arcs += push_long(rows.offsets, rows.arcs, cut, it, now, block)
        arcs += flush_near(block, (it, now))
        add_to_total(arcs, 0, block.tally, it.control, ARCS + now.following)
        return generation

    @device_function
    def settle_others(generation, it, now, block):
        """Follow the arcs that lead out of the range; whether by looking back."""
        rows, control = it.rows, it.control
        _measure(it, now, block)
        generation = grid_barrier(control, generation)
        looks_back = control[ENTERING + now.turn] < control[LEAVING + now.turn]
        if looks_back:
            nobody, offsets, arcs = np.int64(0), rows.in_offsets, rows.in_arcs
            pull(OF_OTHERS, nobody, offsets, arcs, rows.in_floors, all_arcs, it, now, block)
            generation = grid_barrier(control, generation)
            pull_long(rows.in_offsets, rows.in_arcs, all_arcs, it, now, block)
        else:
            generation = send_all(OF_RANGE, np.int64(0), all_arcs, generation, it, now, block)
        return generation, looks_back

    return send_all, settle_others


def make_kernel(distance: np.dtype) -> Any:
    """The kernel for distances of this dtype."""
    none, all_arcs = np.int64(farthest(distance)), np.int64(farthest(distance) + 1)
    send_all, settle_others = _make_following(distance)
    _, higher, _ = make_sums(np.dtype(np.float32) if distance.kind == "f" else np.dtype(np.int64), True)

    @device_function
    def raised(key, width):
        return min(higher(key, width), none)

    def apart_kernel(it):
        """Distances and parents; see the module, and `Search`."""
        words_of_32 = cuda.shared.array(WORDS, UINT32)
        words_of_64 = cuda.shared.array(LONG_WORDS, INT64)
        block, control, me = share(words_of_32, words_of_64), it.control, thread_index()
        generation = _begin(none, it, block)
        turn, step, ranges, pushed, pulled = np.int64(0), np.int64(0), np.int64(1), np.int64(0), np.int64(0)
        low, high, width = np.int64(0), raised(np.int64(0), it.width), it.width
        flipped, shortened, done = False, False, np.int64(0)
        while control[ENDED + turn] == 0:
            found, arcs = control[NEAR + turn], control[ARCS + turn]
            following, spare = turns_after(turn)
            if me == 0:
                for first in (NEAR, ARCS, ENDED, PIECES, LEAVING, ENTERING):
                    control[first + spare] = 0
                control[LEAST + spare] = LARGEST
            near, next_near = (it.other_near, it.near) if flipped else (it.near, it.other_near)
            if found > 0:
                step += 1
                done += arcs
                many = arcs * MANY > it.m
                if many:
                    shortened, width, high = True, it.width, min(high, raised(low, it.width))
                if me == 0:
                    it.host[PROGRESS] = step
                    control[ENDED + following] = it.host[CANCEL]
                now = Superstep(step, low, high, near, next_near, turn, following)
                generation = send_all(OF_NEAR, found, high if many else all_arcs, generation, it, now, block)
            elif shortened:
                now = Superstep(step, low, high, near, next_near, turn, following)
                generation, looked_back = settle_others(generation, it, now, block)
                shortened = False
                pulled += looked_back
                pushed += not looked_back
            else:
                now = Superstep(step, low, high, near, next_near, turn, following)
                _find_least(none, it, now)
                # No thread visits an arc before the barrier, so all read the same.
                too_far = control[TOO_FAR] != 0
                generation = grid_barrier(control, generation)
                low = control[LEAST + turn]
                if too_far or low == LARGEST:
                    break
                width = width * 2.0 if done * MANY < it.m else it.width
                high, done = raised(low, width), np.int64(0)
                ranges += 1
                now = Superstep(step, low, high, near, next_near, turn, following)
                arcs = _list_range(it, now, block) + flush_near(block, (it, now))
                add_to_total(arcs, 0, block.tally, control, ARCS + following)
            generation = grid_barrier(control, generation)
            turn, flipped = following, not flipped
        generation = grid_barrier(control, generation)
        _end(none, it)
        generation = grid_barrier(control, generation)
        if me == 0:
            it.host[SUPERSTEPS], it.host[RANGES] = step, ranges
            it.host[PUSHED], it.host[PULLED] = pushed, pulled
            it.host[ORPHANS], it.host[BEYOND] = control[ORPHANED], control[TOO_FAR]

    return apart_kernel


def signature(offsets: np.dtype, distance: np.dtype) -> tuple[Any, ...]:
    """The type of the kernel's argument for distances of this dtype."""
    return (type_of(Search, offset=offsets, key=key_dtype(distance)),)


@functools.cache
def _kernel(offsets: np.dtype, distance: np.dtype) -> Kernel:
    return fixed_kernel(make_kernel, signature(offsets, distance), distance)


class Found(NamedTuple):
    """What a run tells beside distances and parents.

    Attributes:
        supersteps, ranges: how many there were.
        pushed, pulled: how often arcs out of a range were followed from it, and by looking back.
        orphans: the number of vertices that were reached but have no parent: only arcs of length 0 lead there.
        too_far: whether a distance is too long for this kernel; then there are no answers.
    """

    supersteps: int
    ranges: int
    pushed: int
    pulled: int
    orphans: int
    too_far: int


def search(
    graph: Graph, rows: SortedRows, start: int, dtype: np.dtype, width: float, unreached: int, run: Execution
) -> tuple[Any, Any, Found]:
    """Distances, parents and what the run tells; the arrays are on the GPU, shape (n,).

    Args:
        graph, rows: see `edgewise.algorithms.sssp.cuda_rows.suit`.
        start: the source.
        dtype: of distances.
        width: of the first range.
        unreached: the key of no distance.
        run: the run that this is.
    """
    n, m = graph.num_vertices, graph.num_arcs
    most_listed = max(1, n // SCAN)
    best, stamps = empty(n, np.int64), empty(n, np.uint32)
    distance = best if dtype.itemsize == 8 else empty(n, key_dtype(dtype))
    host = signals(HOST.size)
    with lists(graph, (most_long_pieces(m), np.int64)) as (pieces,):
        given = Search(
            rows=rows,
            best=best,
            stamps=stamps,
            near=empty(most_listed, np.uint32),
            other_near=empty(most_listed, np.uint32),
            pieces=pieces,
            distance=distance,
            control=zeros(CONTROL.size, np.int64),
            host=host,
            width=width,
            n=n,
            m=m,
            source=start,
            most_listed=most_listed,
            unreached=unreached,
        )
        _kernel(np.dtype(f"u{rows.offsets.dtype.itemsize}"), dtype).start([given])
        wait(host, run.progress)
    return distance.view(dtype), stamps.view(np.int32), Found(*host[SUPERSTEPS : BEYOND + 1].tolist())
