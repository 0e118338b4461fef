"""Breadth-first search on a GPU: one cooperative launch, three forms of a level.

*few*
    A frontier of few vertices is kept in the blocks that found it, each in a queue in shared memory. A level is then a
    chain of two accesses to memory: the exchange on the level of a target, and the barrier. The barrier's one word
    counts arrivals in its lower half and found vertices in its upper half; while it is waited for, offsets and first
    targets of the vertices found are fetched. A block whose queue is full lists what it finds for all, which ends
    this form.
*push*
    Pieces of vertices are dealt out to warps, arc by arc to their lanes: see `edgewise.balance.deal`.
*pull*
    Each unreached vertex looks for its first in-neighbour in the frontier: one lane looks at a few, its warp at the
    rest.

Levels are written by compare-and-swap, so each vertex is found once. Parents are made at the end, where pulling did
not find them: the first in-neighbour one level up, as on the CPU. So answers depend on no order.

References. Beamer, Asanovic and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012; one launch for all
levels as in Hong, Oguntebi and Olukotun, PACT 2011, and LonestarGPU.
"""

import functools
from typing import Any

import numpy as np

from edgewise.algorithms._gpu_graph import graph_on_gpu, graph_types
from edgewise.balance.deal import (
    add_to_totals,
    arcs_of_piece,
    degree,
    holder_of,
    list_pieces,
    most_pieces,
    sum_to_lane,
)
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.gpu import (
    CANCEL,
    INT32,
    INT64,
    PROGRESS,
    THREADS,
    UINT32,
    WARP,
    Kernel,
    array,
    arrive,
    atomic_add,
    await_arrivals,
    ballot,
    block_barrier,
    block_index,
    block_size,
    block_thread,
    compare_and_swap,
    cuda,
    device_function,
    empty,
    fence,
    first_bit,
    fixed_kernel,
    grid_barrier,
    lane,
    num_threads,
    pinned,
    pointer,
    shuffle,
    signals,
    thread_index,
    tuple_of,
    wait,
    words,
    zeros,
)

AUTO, PUSH, PULL = range(3)
#: Words of `control`. Word 0 counts arrivals at the barrier of all, FEW_WORD at that of the form *few*,
#: each in a cache line of its own; DEPTH and QUEUE are what that form ends with.
#: ENDED, three words in turns, says that the run is to end. PIECES, EDGES and FOUND are the pieces, the out-edges and
#: the vertices of a frontier, each with three words in turns.
FEW_WORD, SPILLED, PIECES, EDGES, FOUND, DEPTH, QUEUE, ENDED = 16, 32, 33, 36, 39, 42, 43, 44
CONTROL_WORDS = 48
#: Words of the host's array after CANCEL and PROGRESS.
LEVELS, FORMS = 2, 3
HOST_WORDS = 8
FORM_NAMES = ("few", "push", "pull")

#: Lanes for each entry of a block's queue, entries, and the thread that waits for other blocks: it has no entry.
LANES = 8
LOCAL, WAITING = (THREADS - WARP) // LANES, THREADS - 1
#: Vertices and out-edges up to which a frontier is kept in the blocks, and the degree from which the whole block
#: takes part in one vertex.
FEW_VERTICES, FEW_EDGES, MANY = 6000, 100_000, 64
#: Levels after which that form ends anyway, so that its word does not overflow.
MAX_FEW_LEVELS = 1 << 16
#: What a block adds to the upper half of FEW_WORD where its queue overflows, and where the run is to end.
OVERFLOW, ABORT = 1 << 20, 1 << 29
#: In-arcs that one lane looks at.
LOOK_ALONE = 16
LOOK = 64
#: An arc that is pushed costs as much as so many that are pulled.
PULL_ADVANTAGE = 14


def signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the kernel's arguments for graphs with offsets of this dtype."""
    vertex, word = np.dtype(np.uint32), np.dtype(np.int64)
    return (
        graph_types(offsets),
        array(np.dtype(np.int32)),
        pointer(np.dtype(np.int32)),
        tuple_of([pointer(word), pointer(word), pointer(vertex)]),
        pointer(np.dtype(np.int64)),
        array(word),
        pointer(word),
        *[INT64] * 6,
    )


_BOTH_QUEUES, _TALLY_WORDS, _COUNTS = 2 * LOCAL, 3, 4
#: What a block counts, in 32 bits, for which shared memory has fast atomic operations: entries of the two queues, hubs
#: of the two levels. Word of the tally after the two of `add_to_totals`: what the barrier said.
_ENTRIES, _HUBS, _SAID = 0, 2, 2


@device_function
def _claim(target: Any, depth: Any, level: Any) -> Any:
    """Whether this thread is the one that gives a vertex its level."""
    return compare_and_swap(level, target, np.int32(-1), np.int32(depth)) == -1


@device_function
def _push(
    pieces: Any,
    count: Any,
    following: Any,
    depth: Any,
    graph: Any,
    level: Any,
    tally: Any,
    control: Any,
    turn: Any,
) -> Any:
    """Expand a list of pieces; list the pieces of what is found."""
    warp, warps = thread_index() // WARP, num_threads() // WARP
    edges, found = np.int64(0), np.int64(0)
    for begin in range(warp, count, warps * WARP):
        i = begin + lane() * warps
        start, length = np.int64(0), np.int64(0)
        if i < count:
            _, start, length = arcs_of_piece(pieces[i], graph[0])
        upto = sum_to_lane(length)
        total, origin = shuffle(upto, WARP - 1), start - upto + length
        for first in range(0, total, WARP):
            place = first + lane()
            k = shuffle(origin, holder_of(place, upto)) + place
            fresh, target = False, np.int64(0)
            if place < total:
                target = np.int64(graph[1][k])
                fresh = level[target] == -1 and _claim(target, depth, level)
            edges += list_pieces(target, fresh, following, control, PIECES + turn, graph[0])
            if fresh:
                found += 1
    add_to_totals(edges, found, tally, control, EDGES + turn, FOUND + turn)


@device_function
def _find_parent(wanted: Any, v: Any, depth: Any, graph: Any, level: Any) -> Any:
    """The first in-neighbour on a level, or -1, for the vertices of those lanes that want it. All lanes take part."""
    start, end, parent = np.int64(0), np.int64(0), np.int64(-1)
    if wanted:
        start, end = np.int64(graph[2][v]), np.int64(graph[2][v + 1])
    alone = min(end, start + LOOK_ALONE)
    for k in range(start, alone):
        u = np.int64(graph[3][k])
        if level[u] == depth:
            parent = u
            break
    rest = ballot(parent < 0 and alone < end)
    while rest != 0:
        holder = first_bit(rest)
        first, last, sought = shuffle(alone, holder), shuffle(end, holder), shuffle(depth, holder)
        while first < last:
            k, u = first + lane(), np.int64(-1)
            if k < last:
                u = np.int64(graph[3][k])
            hits = ballot(u >= 0 and level[max(u, np.int64(0))] == sought)
            if hits != 0:
                u = shuffle(u, first_bit(hits))
                if lane() == holder:
                    parent = u
                break
            first += WARP
        rest = np.uint32(rest & (rest - np.uint32(1)))
    return parent


@device_function
def _pull(
    n: Any, depth: Any, graph: Any, level: Any, parent: Any, tally: Any, control: Any, turn: Any
) -> Any:
    """Let every unreached vertex look for a parent in the frontier."""
    edges, found = np.int64(0), np.int64(0)
    for begin in range(thread_index() - lane(), n, num_threads()):
        v = begin + lane()
        u = _find_parent(v < n and level[min(v, n - 1)] == -1, v, depth - 1, graph, level)
        if u >= 0:
            level[v] = depth
            parent[v] = u
            found += 1
            edges += degree(v, graph[0])
    add_to_totals(edges, found, tally, control, EDGES + turn, FOUND + turn)


@device_function
def _found(
    target: Any, level: Any, depth: Any, queues: Any, counts: Any, cur: Any, spill: Any, control: Any
) -> Any:
    """In the form *few*: look at one arc's target and queue it if it is new."""
    if _claim(target, depth, level):
        slot = atomic_add(counts, _ENTRIES + 1 - cur, np.int32(1))
        if slot < LOCAL:
            queues[(1 - cur) * LOCAL + slot] = target
        else:
            spill[atomic_add(control, SPILLED, 1)] = target


@device_function
def _few(
    depth: Any,
    limit: Any,
    graph: Any,
    level: Any,
    spill: Any,
    queues: Any,
    hubs: Any,
    counts: Any,
    tally: Any,
    control: Any,
    host: Any,
    blocks: Any,
) -> Any:
    """Expand levels while their vertices fit in the blocks' queues. Queue 0 holds the frontier to begin with.

    The depth reached, and which queue holds the frontier, are left in `control`.
    """
    cur, offsets, targets = np.int64(0), graph[0], graph[1]
    slot, place, said, now = block_thread() // LANES, block_thread() % LANES, np.int64(0), np.int64(0)
    barriers, entered = np.int64(0), depth
    while True:
        # While others arrive: the offsets and the first targets of what this block found.
        start, end, target = np.int64(0), np.int64(0), np.int64(0)
        if slot < min(counts[_ENTRIES + cur], np.int64(LOCAL)):
            v = np.int64(queues[cur * LOCAL + slot])
            start, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
            if end - start > MANY:
                if place == 0:
                    hubs[cur * LOCAL + atomic_add(counts, _HUBS + cur, np.int32(1))] = v
                start = end
            start += place
            if start < end:
                target = np.int64(targets[start])
        if block_thread() == WAITING:
            now = await_arrivals(control, FEW_WORD, said, barriers)
            tally[_SAID] = now
            counts[_ENTRIES + 1 - cur] = 0
            counts[_HUBS + 1 - cur] = 0
        block_barrier()
        now = tally[_SAID]
        news = (now >> 32) - (said >> 32)
        said = now
        if depth > entered and (news == 0 or news > FEW_VERTICES or depth - entered == MAX_FEW_LEVELS):
            break
        if depth == limit:
            break
        depth += 1
        while start < end:
            _found(target, level, depth, queues, counts, cur, spill, control)
            start += LANES
            if start < end:
                target = np.int64(targets[start])
        for i in range(counts[_HUBS + cur]):
            v = np.int64(hubs[cur * LOCAL + i])
            for k in range(np.int64(offsets[v]) + block_thread(), np.int64(offsets[v + 1]), block_size()):
                _found(np.int64(targets[k]), level, depth, queues, counts, cur, spill, control)
        block_barrier()
        barriers += blocks
        cur = 1 - cur
        if block_thread() == WAITING:
            held = counts[_ENTRIES + cur]
            if held > LOCAL:
                fence()
                held = np.int64(OVERFLOW)
            if block_index() == 0 and depth % LOOK == 0:
                host[PROGRESS] = depth
                if host[CANCEL] != 0:
                    held = np.int64(ABORT)
            arrive(control, FEW_WORD, held)
    if block_index() == 0 and block_thread() == 0:
        control[DEPTH] = depth
        control[QUEUE] = cur


def bfs_kernel(
    graph, level, parent, lists, sources, control, host, n, m, num_sources, limit, forced, few_blocks
):
    """Levels and parents from sources; see the module.

    Args:
        graph: offsets, targets, in_offsets, in_sources.
        level, parent: int32, shape (n,).
        lists: two of pieces, shape (n + m / PIECE + 1,), one of vertices, shape (n,).
        sources: different vertices.
        control: CONTROL_WORDS zeros.
        host: HOST_WORDS words in the host's memory; LEVELS and FORMS are results.
        n, m, num_sources, limit: vertices, arcs, sources, the highest level wanted.
        forced: AUTO, or the form of all levels.
    """
    queues = cuda.shared.array(_BOTH_QUEUES, UINT32)
    hubs = cuda.shared.array(_BOTH_QUEUES, UINT32)
    tally = cuda.shared.array(_TALLY_WORDS, INT64)
    counts = cuda.shared.array(_COUNTS, INT32)
    me, generation = thread_index(), np.int64(0)
    if block_thread() < _TALLY_WORDS:
        tally[block_thread()] = 0
    if block_thread() < _COUNTS:
        counts[block_thread()] = 0
    for v in range(me, n, num_threads()):
        level[v] = -1
        parent[v] = -1
    generation = grid_barrier(control, generation)
    depth, turn, listed, flipped, explored = np.int64(0), np.int64(0), True, False, np.int64(0)
    few_levels, pushed, pulled = np.int64(0), np.int64(0), np.int64(0)
    edges, found = np.int64(0), np.int64(0)
    for begin in range(me - lane(), num_sources, num_threads()):
        i, v = begin + lane(), np.int64(0)
        if i < num_sources:
            v = sources[i]
            level[v] = 0
            found += 1
        edges += list_pieces(v, i < num_sources, lists[0], control, PIECES, graph[0])
    add_to_totals(edges, found, tally, control, EDGES + turn, FOUND + turn)
    generation = grid_barrier(control, generation)
    while True:
        edges, found = control[EDGES + turn], control[FOUND + turn]
        if found == 0 or depth == limit or control[ENDED + turn] != 0:
            break
        explored += edges
        following, spare = (turn + 1) % 3, (turn + 2) % 3
        pull = forced == PULL
        if forced == AUTO:
            pull = edges * PULL_ADVANTAGE > m - explored and edges > FEW_EDGES
        few = (
            not pull
            and found <= FEW_VERTICES
            and found <= few_blocks * (LOCAL * 3 // 4)
            and edges <= FEW_EDGES
        )
        pieces, next_pieces = (lists[1], lists[0]) if flipped else (lists[0], lists[1])
        if not pull and not listed:
            for begin in range(me - lane(), n, num_threads()):
                v = begin + lane()
                list_pieces(
                    v, v < n and level[min(v, n - 1)] == depth, pieces, control, PIECES + turn, graph[0]
                )
            generation = grid_barrier(control, generation)
        if me == 0:
            control[PIECES + spare] = 0
            control[EDGES + spare] = 0
            control[FOUND + spare] = 0
            host[PROGRESS] = depth
            control[ENDED + following] = host[CANCEL]
        if few:
            count = control[PIECES + turn]
            if block_thread() == 0:
                counts[_ENTRIES] = 0
                counts[_HUBS] = 0
            block_barrier()
            if block_index() < few_blocks:
                for i in range(block_index() + block_thread() * few_blocks, count, few_blocks * block_size()):
                    if pieces[i] >> 32 == 0:
                        queues[atomic_add(counts, _ENTRIES, np.int32(1))] = np.uint32(pieces[i])
            if me == 0:
                control[SPILLED] = 0
                control[FEW_WORD] = 0
            generation = grid_barrier(control, generation)
            if block_index() < few_blocks:
                _few(
                    depth,
                    limit,
                    graph,
                    level,
                    lists[2],
                    queues,
                    hubs,
                    counts,
                    tally,
                    control,
                    host,
                    few_blocks,
                )
            generation = grid_barrier(control, generation)
            few_levels += control[DEPTH] - depth
            depth, cur = control[DEPTH], control[QUEUE]
            edges, found = np.int64(0), np.int64(0)
            held, spilled = min(counts[_ENTRIES + cur], np.int64(LOCAL)), control[SPILLED]
            for begin in range(block_thread() - lane(), held, block_size()):
                i, v = begin + lane(), np.int64(0)
                if i < held:
                    v = np.int64(queues[cur * LOCAL + i])
                    found += 1
                edges += list_pieces(v, i < held, next_pieces, control, PIECES + following, graph[0])
            for begin in range(me - lane(), spilled, num_threads()):
                i, v = begin + lane(), np.int64(0)
                if i < spilled:
                    v = np.int64(lists[2][i])
                    found += 1
                edges += list_pieces(v, i < spilled, next_pieces, control, PIECES + following, graph[0])
            add_to_totals(edges, found, tally, control, EDGES + following, FOUND + following)
            listed = True
        elif pull:
            depth += 1
            pulled += 1
            _pull(n, depth, graph, level, parent, tally, control, following)
            listed = False
        else:
            depth += 1
            pushed += 1
            _push(pieces, control[PIECES + turn], next_pieces, depth, graph, level, tally, control, following)
            listed = True
        generation = grid_barrier(control, generation)
        turn, flipped = following, not flipped
    if me == 0:
        host[LEVELS] = depth
        host[FORMS] = few_levels
        host[FORMS + 1] = pushed
        host[FORMS + 2] = pulled
    generation = grid_barrier(control, generation)
    for begin in range(me - lane(), n, num_threads()):
        v, reached = begin + lane(), np.int64(-1)
        if v < n:
            reached = np.int64(level[v])
        u = _find_parent(reached > 0 and parent[min(v, n - 1)] < 0, v, reached - 1, graph, level)
        if u >= 0:
            parent[v] = u


@functools.cache
def _kernel(offsets: np.dtype) -> Kernel:
    return fixed_kernel(bfs_kernel, signature(offsets))


def search(
    graph: Graph, sources: np.ndarray, limit: int, forced: int, run: Execution
) -> tuple[Any, Any, int]:
    """Levels and parents, int32 on the GPU, and how many levels were expanded.

    Args:
        graph: in-edges are made if it has none.
        sources: int64, at least one vertex, all different.
        limit: the highest level looked for.
        forced: AUTO, or the form of all levels.
        run: the run that this is.
    """
    n, m = graph.num_vertices, graph.num_arcs
    on_gpu = graph_on_gpu(graph, run)
    kernel, count = _kernel(on_gpu.offsets), len(sources)
    level, parent = empty(n, np.int32), empty(n, np.int32)
    lists = [empty(most_pieces(n, m), np.int64) for _ in range(2)] + [empty(n, np.uint32)]
    control, host, seen = zeros(CONTROL_WORDS, np.int64), signals(HOST_WORDS), pinned(count, np.int64)
    seen[:] = sources
    kernel.start(
        [
            *on_gpu.rows,
            *on_gpu.columns,
            words(level),
            parent,
            *lists,
            seen,
            words(control),
            host,
            n,
            m,
            count,
            min(limit, n),
            forced,
            kernel.blocks,
        ]
    )
    wait(host, run.progress)
    counts = [f"{count} {name}" for count, name in zip(host[FORMS:], FORM_NAMES, strict=False) if count]
    run.explain(f"levels on the GPU: {', '.join(counts) or 'none'}")
    return level, parent, int(host[LEVELS])
