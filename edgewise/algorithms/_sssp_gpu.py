"""Shortest paths over weights of at least 0 on a GPU: one cooperative launch, a near and a far pile.

Vertices whose distance fell below a threshold are near, and their arcs are relaxed in supersteps until none is left;
the others are far. Then the threshold rises by delta, and the far vertices below it become near. A superstep has one
of two forms, as a level of `_bfs_gpu`: few near vertices are kept in the blocks that found them, with their distances,
many are dealt out in pieces.

A distance is an integer that is lowered atomically: floats of at least 0 are ordered as their bits are. Entries that
became stale are dropped where that is seen early; to relax them is only work in vain. Parents are made at the end: of
the in-neighbours that give the distance and are nearer to the source, the one of lowest index, as on the CPU. So
answers depend on no order.

References. Davidson, Baxter, Garland and Owens, "Work-Efficient Parallel GPU Methods for Single-Source Shortest
Paths", IPDPS 2014 (near-far); Meyer and Sanders, Journal of Algorithms 49 (2003).
"""

import functools
from typing import Any

import numpy as np

from edgewise.algorithms._gpu_graph import graph_on_gpu, laid_out
from edgewise.algorithms._lengths import unreached_value
from edgewise.balance.deal import (
    add_to_totals,
    append,
    arcs_of_piece,
    holder_of,
    list_pieces,
    most_pieces,
    sum_to_lane,
)
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.gpu import (
    CANCEL,
    FLOAT64,
    HALVES,
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
    atomic_exchange,
    atomic_min,
    await_arrivals,
    block_barrier,
    block_index,
    block_size,
    block_thread,
    cuda,
    device_function,
    empty,
    fence,
    fixed_kernel,
    float_bits,
    grid_barrier,
    lane,
    load_fresh,
    num_blocks,
    num_threads,
    pointer,
    shuffle,
    shuffle_down,
    signals,
    thread_index,
    tuple_of,
    wait,
    words,
    zeros,
)

#: Words of `control`. Word 0 counts arrivals at the barrier of all, FEW_WORD at that of the form *few*, each in a cache
#: line of its own. PIECES, EDGES and FOUND are of the near vertices, three words in turns; FAR and LEAST of the far
#: ones, two in turns: how many, and the least distance among them. ENDED, three in turns, says that the run is to end.
FEW_WORD, SPILLED, PIECES, EDGES, FOUND, FAR, LEAST, STEP, QUEUE, HUBS, ENDED, ORPHANED = (
    16,
    32,
    33,
    36,
    39,
    42,
    44,
    46,
    47,
    48,
    49,
    52,
)
CONTROL_WORDS = 64
#: Words of the host's array after CANCEL and PROGRESS.
SUPERSTEPS, FORMS, THRESHOLDS, ORPHANS = 2, 3, 5, 6
HOST_WORDS = 8
FORM_NAMES = ("few", "push")
#: Lanes for each entry of a block's queue, entries, the thread that waits for other blocks (it has no entry), and far
#: vertices that a block keeps.
LANES = 8
LOCAL, WAITING, LOCAL_FAR = (THREADS - WARP) // LANES, THREADS - 1, THREADS
FEW_VERTICES, FEW_EDGES, MANY = 6000, 100_000, 64
OVERFLOW, ABORT, MAX_FEW_STEPS = 1 << 20, 1 << 29, 1 << 16
LOOK = 64
#: In-degree from which the arcs of one vertex are shared by a block when parents are made.
HUB = 2048
_BOTH_QUEUES, _TALLY_WORDS, _COUNTS = 2 * LOCAL, 3, 5
#: What a block counts, in 32 bits, for which shared memory has fast atomic operations: entries of the two queues, hubs
#: of the two supersteps, far vertices. Word of the tally after those of `add_to_totals`: what the barrier said.
_ENTRIES, _HUBS, _FAR, _SAID = 0, 2, 4, 2
LARGEST = np.int64(2**63 - 1)


def key_dtype(distance: np.dtype) -> np.dtype:
    """The integers that stand for distances."""
    return np.dtype(f"i{distance.itemsize}")


def signature(offsets: np.dtype, weight: np.dtype, distance: np.dtype) -> tuple[Any, ...]:
    """The types of the kernel's arguments."""
    vertex, word = np.dtype(np.uint32), np.dtype(np.int64)
    return (
        tuple_of([pointer(dtype) for dtype in (offsets, vertex, weight, offsets, vertex, weight)]),
        array(key_dtype(distance)),
        array(vertex),
        array(vertex),
        tuple_of([pointer(word), pointer(word), pointer(vertex), pointer(vertex), pointer(vertex)]),
        array(word),
        pointer(word),
        FLOAT64,
        *[INT64] * 4,
    )


def make_kernel(distance: np.dtype, weighted: bool) -> Any:
    """The kernel for distances of this dtype, with weights or with 1 for each arc."""
    kind, key_type = distance.type, key_dtype(distance).type
    is_float = distance.kind == "f"

    if is_float:
        bits, real = float_bits(distance)

        @device_function
        def plus(key, weight):
            """The key of a distance and a weight's sum."""
            return np.int64(bits(kind(real(key_type(key)) + kind(weight))))

        @device_function
        def raised(key, delta):
            return max(key + 1, np.int64(bits(kind(real(key_type(key)) + kind(delta)))))

    else:

        @device_function
        def plus(key, weight):
            return key + np.int64(weight)

        @device_function
        def raised(key, delta):
            return key + max(np.int64(1), np.int64(delta))

    @device_function
    def weight_of(k, weights):
        return weights[k] if weighted else kind(1)

    @device_function
    def relax_pieces(
        pieces,
        count,
        following,
        far,
        step,
        bucket,
        threshold,
        n,
        graph,
        dist,
        stamps,
        tally,
        control,
        turn,
        which,
    ):
        """Relax the arcs of a list of pieces; list what becomes near or far by that."""
        warp, warps = thread_index() // WARP, num_threads() // WARP
        edges, found = np.int64(0), np.int64(0)
        for begin in range(warp, count, warps * WARP):
            i = begin + lane() * warps
            start, length, key = np.int64(0), np.int64(0), np.int64(0)
            if i < count:
                v, start, length = arcs_of_piece(pieces[i], graph[0])
                key = np.int64(dist[v])
            upto = sum_to_lane(length)
            total, origin = shuffle(upto, WARP - 1), start - upto + length
            for first in range(0, total, WARP):
                place = first + lane()
                holder = holder_of(place, upto)
                k, given = shuffle(origin, holder) + place, shuffle(key, holder)
                near, beyond, target = False, False, np.int64(0)
                if place < total:
                    target = np.int64(graph[1][k])
                    new = plus(given, weight_of(k, graph[2]))
                    if new < dist[target] and new < atomic_min(dist, target, key_type(new)):
                        if new < threshold:
                            near = atomic_exchange(stamps, target, np.uint32(step)) != step
                        else:
                            beyond = atomic_exchange(stamps, n + target, np.uint32(bucket)) != bucket
                edges += list_pieces(target, near, following, control, PIECES + turn, graph[0])
                append(far, control, FAR + which, target, beyond)
                if near:
                    found += 1
        add_to_totals(edges, found, tally, control, EDGES + turn, FOUND + turn)

    @device_function
    def split(
        far, stay, below, threshold, step, bucket, n, graph, dist, stamps, pieces, tally, control, turn, which
    ):
        """Make the far vertices below the threshold near; those below the one before were dealt with."""
        edges, found, least = np.int64(0), np.int64(0), LARGEST
        count = control[FAR + which]
        for begin in range(thread_index() - lane(), count, num_threads()):
            i, v, near, beyond = begin + lane(), np.int64(0), False, False
            if i < count:
                v = np.int64(far[i])
                key = np.int64(dist[v])
                if key >= below:
                    if key < threshold:
                        near = atomic_exchange(stamps, v, np.uint32(step)) != step
                    else:
                        beyond = atomic_exchange(stamps, n + v, np.uint32(bucket)) != bucket
                        least = min(least, key)
            edges += list_pieces(v, near, pieces, control, PIECES + turn, graph[0])
            append(stay, control, FAR + 1 - which, v, beyond)
            if near:
                found += 1
        for lanes in HALVES:
            least = min(least, shuffle_down(least, lanes))
        if lane() == 0 and least < LARGEST:
            atomic_min(control, LEAST + 1 - which, least)
        add_to_totals(edges, found, tally, control, EDGES + turn, FOUND + turn)

    @device_function
    def relax(
        given,
        k,
        target,
        step,
        threshold,
        bucket,
        n,
        graph,
        dist,
        stamps,
        shared,
        cur,
        lists,
        far,
        control,
        which,
    ):
        """In the form *few*: relax one arc."""
        queues, keys, beyond, counts, _ = shared
        new = plus(given, weight_of(k, graph[2]))
        if new < atomic_min(dist, target, key_type(new)):
            if new < threshold:
                slot = atomic_add(counts, _ENTRIES + 1 - cur, np.int32(1))
                if slot < LOCAL:
                    queues[(1 - cur) * LOCAL + slot] = target
                    keys[(1 - cur) * LOCAL + slot] = new
                elif atomic_exchange(stamps, target, np.uint32(step + 1)) != step + 1:
                    lists[4][atomic_add(control, SPILLED, 1)] = target
            else:
                slot = atomic_add(counts, _FAR, np.int32(1))
                if slot < LOCAL_FAR:
                    beyond[slot] = target
                elif atomic_exchange(stamps, n + target, np.uint32(bucket)) != bucket:
                    far[atomic_add(control, FAR + which, 1)] = target

    @device_function
    def few(
        step,
        threshold,
        bucket,
        n,
        graph,
        dist,
        stamps,
        shared,
        hubs,
        hub_keys,
        lists,
        far,
        control,
        host,
        blocks,
        which,
    ):
        """Supersteps while near vertices fit in the blocks' queues. Queue 0 holds those to begin with.

        The supersteps done, and which queue holds the near vertices, are left in `control`.
        """
        queues, keys, beyond, counts, tally = shared
        cur, offsets, targets = np.int64(0), graph[0], graph[1]
        slot, place, said, now = block_thread() // LANES, block_thread() % LANES, np.int64(0), np.int64(0)
        barriers, entered = np.int64(0), step
        while True:
            # While others arrive: the offsets and the first targets of this block's vertices.
            start, end, target, key = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
            if slot < min(counts[_ENTRIES + cur], np.int64(LOCAL)):
                v, key = np.int64(queues[cur * LOCAL + slot]), keys[cur * LOCAL + slot]
                if np.int64(load_fresh(dist, v)) >= key:
                    start, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
                if end - start > MANY:
                    if place == 0:
                        hub = cur * LOCAL + atomic_add(counts, _HUBS + cur, np.int32(1))
                        hubs[hub] = v
                        hub_keys[hub] = key
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
            if step > entered and (news == 0 or news > FEW_VERTICES or step - entered == MAX_FEW_STEPS):
                break
            step += 1
            while start < end:
                relax(
                    key,
                    start,
                    target,
                    step,
                    threshold,
                    bucket,
                    n,
                    graph,
                    dist,
                    stamps,
                    shared,
                    cur,
                    lists,
                    far,
                    control,
                    which,
                )
                start += LANES
                if start < end:
                    target = np.int64(targets[start])
            for i in range(counts[_HUBS + cur]):
                v = np.int64(hubs[cur * LOCAL + i])
                for k in range(np.int64(offsets[v]) + block_thread(), np.int64(offsets[v + 1]), block_size()):
                    relax(
                        hub_keys[cur * LOCAL + i],
                        k,
                        np.int64(targets[k]),
                        step,
                        threshold,
                        bucket,
                        n,
                        graph,
                        dist,
                        stamps,
                        shared,
                        cur,
                        lists,
                        far,
                        control,
                        which,
                    )
            block_barrier()
            barriers += blocks
            cur = 1 - cur
            if block_thread() == WAITING:
                held = counts[_ENTRIES + cur]
                if held > LOCAL:
                    fence()
                    held = np.int64(OVERFLOW)
                if block_index() == 0 and step % LOOK == 0:
                    host[PROGRESS] = step
                    if host[CANCEL] != 0:
                        held = np.int64(ABORT)
                arrive(control, FEW_WORD, held)
        for i in range(block_thread(), min(counts[_FAR], np.int64(LOCAL_FAR)), block_size()):
            v = np.int64(beyond[i])
            is_far = load_fresh(dist, v) >= threshold
            if is_far and atomic_exchange(stamps, n + v, np.uint32(bucket)) != bucket:
                far[atomic_add(control, FAR + which, 1)] = v
        if block_index() == 0 and block_thread() == 0:
            control[STEP] = step
            control[QUEUE] = cur

    @device_function
    def offer_parent(v, mine, k, graph, dist, parent):
        """Take the source of an in-arc for a parent, if it is nearer to the source and gives the distance."""
        u = np.int64(graph[4][k])
        other = np.int64(dist[u])
        if other < mine and plus(other, weight_of(k, graph[5])) == mine:
            atomic_min(parent, v, np.uint32(u))

    @device_function
    def find_parents(n, unreached, graph, dist, parent, hubs, control, generation):
        """Give every reached vertex but the source a parent, if one is nearer."""
        for begin in range(thread_index() - lane(), n, num_threads()):
            v, start, count, mine, hub = begin + lane(), np.int64(0), np.int64(0), np.int64(0), False
            if v < n:
                mine = np.int64(dist[v])
                if mine != unreached:
                    start = np.int64(graph[3][v])
                    count = np.int64(graph[3][v + 1]) - start
                    if count >= HUB:
                        hub, count = True, np.int64(0)
            append(hubs, control, HUBS, v, hub)
            upto = sum_to_lane(count)
            total, origin = shuffle(upto, WARP - 1), start - upto + count
            for first in range(0, total, WARP):
                place = first + lane()
                holder = holder_of(place, upto)
                k, target, given = shuffle(origin, holder) + place, shuffle(v, holder), shuffle(mine, holder)
                if place < total:
                    offer_parent(target, given, k, graph, dist, parent)
        generation = grid_barrier(control, generation)
        for i in range(block_index(), control[HUBS], num_blocks()):
            v = np.int64(hubs[i])
            for k in range(np.int64(graph[3][v]) + block_thread(), np.int64(graph[3][v + 1]), block_size()):
                offer_parent(v, np.int64(dist[v]), k, graph, dist, parent)
        return grid_barrier(control, generation)

    def sssp_kernel(
        graph, dist, parent, stamps, lists, control, host, delta, n, source, unreached, few_blocks
    ):
        """Distances and parents; see the module.

        Args:
            graph: offsets, targets, weights, in_offsets, in_sources, in_weights.
            dist: keys of distances, shape (n,).
            parent: uint32, shape (n,); 2**32 - 1 for none.
            stamps: uint32, shape (2 n,).
            lists: two of pieces, two of far vertices and one of spilled ones.
            control: CONTROL_WORDS zeros.
            host: HOST_WORDS words in the host's memory.
            delta: by how much the threshold rises.
            n, source, unreached, few_blocks: vertices, the source, the key of no distance, blocks of the form *few*.
        """
        queues = cuda.shared.array(_BOTH_QUEUES, UINT32)
        keys = cuda.shared.array(_BOTH_QUEUES, INT64)
        hubs = cuda.shared.array(_BOTH_QUEUES, UINT32)
        hub_keys = cuda.shared.array(_BOTH_QUEUES, INT64)
        beyond = cuda.shared.array(LOCAL_FAR, UINT32)
        tally = cuda.shared.array(_TALLY_WORDS, INT64)
        counts = cuda.shared.array(_COUNTS, INT32)
        shared = (queues, keys, beyond, counts, tally)
        me, generation = thread_index(), np.int64(0)
        if block_thread() < _TALLY_WORDS:
            tally[block_thread()] = 0
        if block_thread() < _COUNTS:
            counts[block_thread()] = 0
        for v in range(me, n, num_threads()):
            dist[v] = 0 if v == source else unreached
            parent[v] = np.uint32(0xFFFFFFFF)
            stamps[v] = 0
            stamps[n + v] = 0
        if me == 0:
            control[LEAST] = LARGEST
            control[LEAST + 1] = LARGEST
        generation = grid_barrier(control, generation)
        if me < WARP:
            degree = list_pieces(source, me == 0, lists[0], control, PIECES, graph[0])
            if me == 0:
                control[EDGES] = degree
                control[FOUND] = 1
        turn, which, flipped, crossed = np.int64(0), np.int64(0), False, False
        step, bucket, few_steps, thresholds = np.int64(0), np.int64(1), np.int64(0), np.int64(0)
        threshold = raised(np.int64(0), delta)
        generation = grid_barrier(control, generation)
        while control[ENDED + turn] == 0:
            edges, found = control[EDGES + turn], control[FOUND + turn]
            pieces, next_pieces = (lists[1], lists[0]) if flipped else (lists[0], lists[1])
            far, stay = (lists[3], lists[2]) if crossed else (lists[2], lists[3])
            if found == 0:
                if control[FAR + which] == 0:
                    break
                below, least = threshold, control[LEAST + which]
                if least >= threshold and least < LARGEST:
                    threshold = max(threshold, least)
                threshold = raised(threshold, delta)
                bucket += 1
                thresholds += 1
                split(
                    far,
                    stay,
                    below,
                    threshold,
                    step + 1,
                    bucket,
                    n,
                    graph,
                    dist,
                    stamps,
                    pieces,
                    tally,
                    control,
                    turn,
                    which,
                )
                generation = grid_barrier(control, generation)
                if me == 0:
                    control[FAR + which] = 0
                    control[LEAST + which] = LARGEST
                which, crossed = 1 - which, not crossed
                generation = grid_barrier(control, generation)
                continue
            following, spare = (turn + 1) % 3, (turn + 2) % 3
            if me == 0:
                control[PIECES + spare] = 0
                control[EDGES + spare] = 0
                control[FOUND + spare] = 0
                host[PROGRESS] = step
                control[ENDED + following] = host[CANCEL]
            count = control[PIECES + turn]
            if found <= FEW_VERTICES and found <= few_blocks * (LOCAL * 3 // 4) and edges <= FEW_EDGES:
                if block_thread() == 0:
                    counts[_ENTRIES] = 0
                    counts[_HUBS] = 0
                    counts[_FAR] = 0
                block_barrier()
                if block_index() < few_blocks:
                    for i in range(
                        block_index() + block_thread() * few_blocks, count, few_blocks * block_size()
                    ):
                        if pieces[i] >> 32 == 0:
                            slot, v = (
                                atomic_add(counts, _ENTRIES, np.int32(1)),
                                np.int64(np.uint32(pieces[i])),
                            )
                            queues[slot] = v
                            keys[slot] = np.int64(dist[v])
                if me == 0:
                    control[SPILLED] = 0
                    control[FEW_WORD] = 0
                generation = grid_barrier(control, generation)
                if block_index() < few_blocks:
                    few(
                        step,
                        threshold,
                        bucket,
                        n,
                        graph,
                        dist,
                        stamps,
                        shared,
                        hubs,
                        hub_keys,
                        lists,
                        far,
                        control,
                        host,
                        few_blocks,
                        which,
                    )
                generation = grid_barrier(control, generation)
                few_steps += control[STEP] - step
                step = control[STEP]
                cur, spilled = control[QUEUE], control[SPILLED]
                edges, found = np.int64(0), np.int64(0)
                held = min(counts[_ENTRIES + cur], np.int64(LOCAL))
                if block_index() >= few_blocks:
                    held = np.int64(0)
                for begin in range(block_thread() - lane(), held, block_size()):
                    i, v, near = begin + lane(), np.int64(0), False
                    if i < held:
                        v = np.int64(queues[cur * LOCAL + i])
                        near = atomic_exchange(stamps, v, np.uint32(step + 1)) != step + 1
                        if near:
                            found += 1
                    edges += list_pieces(v, near, next_pieces, control, PIECES + following, graph[0])
                for begin in range(me - lane(), spilled, num_threads()):
                    i, v = begin + lane(), np.int64(0)
                    if i < spilled:
                        v = np.int64(lists[4][i])
                        found += 1
                    edges += list_pieces(v, i < spilled, next_pieces, control, PIECES + following, graph[0])
                add_to_totals(edges, found, tally, control, EDGES + following, FOUND + following)
            else:
                step += 1
                relax_pieces(
                    pieces,
                    count,
                    next_pieces,
                    far,
                    step + 1,
                    bucket,
                    threshold,
                    n,
                    graph,
                    dist,
                    stamps,
                    tally,
                    control,
                    following,
                    which,
                )
            generation = grid_barrier(control, generation)
            turn, flipped = following, not flipped
        if me == 0:
            host[SUPERSTEPS] = step
            host[FORMS] = few_steps
            host[FORMS + 1] = step - few_steps
            host[THRESHOLDS] = thresholds
        generation = grid_barrier(control, generation)
        generation = find_parents(n, unreached, graph, dist, parent, lists[4], control, generation)
        orphans = np.int64(0)
        for v in range(me, n, num_threads()):
            if v != source and dist[v] != unreached and parent[v] == 0xFFFFFFFF:
                orphans += 1
        for step in HALVES:
            orphans += shuffle_down(orphans, step)
        if lane() == 0 and orphans > 0:
            atomic_add(control, ORPHANED, orphans)
        generation = grid_barrier(control, generation)
        if me == 0:
            host[ORPHANS] = control[ORPHANED]

    return sssp_kernel


@functools.cache
def _kernel(offsets: np.dtype, weight: np.dtype | None, distance: np.dtype) -> Kernel:
    types = signature(offsets, weight or np.dtype(np.int32), distance)
    return fixed_kernel(make_kernel, types, distance, weight is not None)


def shortest_paths(
    graph: Graph, start: int, dtype: np.dtype, delta: float, run: Execution
) -> tuple[Any, Any, int, int]:
    """Distances and parents on the GPU, supersteps, and how many vertices were reached but have no parent.

    Args:
        graph: weights of at least 0.
        start: the source.
        dtype: of distances.
        delta: by how much the threshold rises.
        run: the run that this is.
    """
    n, m = graph.num_vertices, graph.num_arcs
    on_gpu = graph_on_gpu(graph, run)
    lengths = in_lengths = on_gpu.rows[1]
    if graph.weighted:
        lengths, in_lengths = laid_out(
            graph,
            "weights",
            lambda: (graph.on_gpu("weights"), graph.on_gpu("in_weights")),
            "brought the weights to the GPU",
            run,
        )
    kernel = _kernel(on_gpu.offsets, lengths.dtype if graph.weighted else None, dtype)
    dist, parent = empty(n, key_dtype(dtype)), empty(n, np.uint32)
    lists = [empty(most_pieces(n, m), np.int64) for _ in range(2)] + [empty(n, np.uint32) for _ in range(3)]
    control, host, stamps = zeros(CONTROL_WORDS, np.int64), signals(HOST_WORDS), empty(2 * n, np.uint32)
    unreached = np.array([unreached_value(dtype)]).view(dist.dtype)[0]
    kernel.start(
        [
            *on_gpu.rows,
            lengths,
            *on_gpu.columns,
            in_lengths,
            *(words(values) for values in (dist, parent, stamps)),
            *lists,
            words(control),
            host,
            delta,
            n,
            start,
            unreached,
            kernel.blocks,
        ]
    )
    wait(host, run.progress)
    counts = [f"{count} {name}" for count, name in zip(host[FORMS:], FORM_NAMES, strict=False) if count]
    run.explain(
        f"supersteps on the GPU: {', '.join(counts)}; {host[THRESHOLDS]} thresholds {delta:.4g} apart"
    )
    return dist.view(dtype), parent.view(np.int32), int(host[SUPERSTEPS]), int(host[ORPHANS])
