"""Delta-stepping on the CPU: distances from the nearest source over weights that are not negative.

Meyer and Sanders, "Δ-stepping: a parallelizable shortest path algorithm" (Journal of Algorithms 49, 2003), with the
thread's own buckets of GAP (Beamer, Asanović, Patterson 2015) and the bucket fusion of GraphIt (Zhang et al., CGO
2020): a thread goes on with what it has put into the current bucket itself before it waits for the others.

A superstep empties the lowest bucket. Each thread publishes the chunks of its part of the bucket, works on its own
first, because their vertices lie in its caches, and then on what the others have left. A thread goes on with what it
adds to the bucket as long as that is at most `FUSED` entries; the rest is left for the next superstep. While the bucket
is small, thread 0 works alone, bucket after bucket, with no barrier between.

An entry is worked on if it still has its vertex's distance, so each vertex is worked on once for each distance that
it had at such a time, whatever the number of entries. Distances only fall, and the last is worked on, so at the end no
arc can lower anything. Only the least distances over all paths satisfy that (float addition is monotone, so this holds
for rounded sums from left to right as well); that is why the answer depends neither on threads nor on the order.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.common.lengths import length
from edgewise.algorithms.sssp.cpu_buckets import (
    CHUNK,
    CURRENT,
    LOST,
    NO_BUCKET,
    PUBLISHED,
    SUPERSTEPS,
    chunk_entries,
    clear,
    deal_far,
    give_back,
    next_bucket,
    push,
    rebuild,
    slot_of,
)
from edgewise.algorithms.sssp.cpu_distances import NONE, distance_in, lower, start
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add, atomic_min
from edgewise.kernels.cpu.bits import prefetch
from edgewise.kernels.cpu.team import barrier, cancelled, report, team_kernel
from edgewise.kernels.words import CPU_LINE

#: A bucket of fewer entries is left to thread 0.
ALONE = 256
#: The most entries of its own in the current bucket that a thread goes on with.
FUSED = 1024
#: How many entries ahead of the current one arcs are fetched; offsets are fetched twice as far ahead.
AHEAD = np.uint64(4)

#: Columns of the board: a thread's lowest bucket, its entries there, whether the pool ran out; then the chunks that
#: it published: the first, their number, and the number taken.
LOWEST, ENTRIES, RAN_OUT, FIRST, CHUNKS, TAKEN = (np.uint64(column) for column in range(6))
_ONE = np.uint64(1)


@device_function
def _reach(buckets: Any, position: Any, end: Any, arcs: Any, state: Any) -> None:
    """Fetch what the entries ahead will need: memory answers while the entries before them are worked on."""
    far = position + np.uint64(2) * AHEAD
    if far < end:
        v = np.uint64(buckets.vertex[far])
        prefetch(arcs.offsets, v)
        prefetch(state, v)
    near = position + AHEAD
    if near < end:
        arc = np.uint64(arcs.offsets[np.uint64(buckets.vertex[near])])
        prefetch(arcs.targets, arc)
        prefetch(arcs.weights, arc)


@device_function
def _work_on(
    buckets: Any, thread: Any, current: Any, chunk: Any, entries: Any, arcs: Any, state: Any
) -> None:
    """Offer the targets of a chunk's vertices distances."""
    like = buckets.distance
    position = np.uint64(chunk * CHUNK)
    end = position + np.uint64(entries)
    while position < end:
        _reach(buckets, position, end, arcs, state)
        u, distance = np.uint64(buckets.vertex[position]), like[position]
        position += _ONE
        bound = buckets.bound[np.uint64(0)]  # it falls, so an old one is only too high
        if distance > bound or distance_in(state, u, like) != distance:
            continue
        arc, last = np.uint64(arcs.offsets[u]), np.uint64(arcs.offsets[u + _ONE])
        while arc < last:
            v = np.uint64(arcs.targets[arc])
            offered = like.dtype.type(distance + length(arcs, arc))
            arc += _ONE
            if offered <= bound and lower(state, v, offered, u, distance):
                push(buckets, thread, current, v, offered)
                if v == buckets.target[np.uint64(0)]:
                    atomic_min(buckets.bound, 0, offered)


@device_function
def _empty(
    buckets: Any, thread: Any, control: Any, owner: Any, current: Any, limit: Any, arcs: Any, state: Any
) -> None:
    """Work on an owner's part of the current bucket, and on entries that this adds, while at most `limit` are left."""
    slot = slot_of(current)
    while 0 < buckets.size[owner, slot] <= limit and not cancelled(control):
        left, chunk = buckets.size[owner, slot], buckets.head[owner, slot]
        buckets.size[owner, slot] = 0
        while left > 0 and not cancelled(control):
            entries = chunk_entries(left)
            _work_on(buckets, thread, current, chunk, entries, arcs, state)
            left -= entries
            chunk = give_back(buckets, thread, chunk)


@device_function
def _lowest(buckets: Any, board: Any, size: Any) -> Any:
    """The lowest bucket of all threads, its entries, and whether the pool ran out; all threads read the same."""
    lowest, entries, ran_out = np.int64(NO_BUCKET), np.int64(0), np.int64(0)
    for other in range(np.uint64(size)):
        ran_out |= board[other, RAN_OUT]
        if board[other, LOWEST] < lowest:
            lowest, entries = board[other, LOWEST], np.int64(0)
        if board[other, LOWEST] == lowest:
            entries += board[other, ENTRIES]
    return lowest, entries, ran_out


@device_function
def _post(buckets: Any, board: Any, thread: Any, current: Any) -> None:
    """Tell the others about this thread's buckets."""
    bucket = next_bucket(buckets, thread, current)
    board[thread, LOWEST] = bucket
    board[thread, ENTRIES] = buckets.size[thread, slot_of(bucket)]
    board[thread, RAN_OUT] = buckets.words[LOST]


@device_function
def _alone(buckets: Any, board: Any, control: Any, size: Any, current: Any, arcs: Any, state: Any) -> Any:
    """Empty the buckets of all threads, by thread 0, until one is large, none is left, or the pool runs out."""
    limit = np.int64(NO_BUCKET if size == 1 else 4 * ALONE)
    entries = np.int64(0)
    while current < NO_BUCKET and (entries < ALONE or size == 1) and not cancelled(control):
        for owner in range(np.uint64(size)):
            if buckets.far_least[owner, np.uint64(0)] <= current:
                deal_far(buckets, owner, current, state)
            _empty(buckets, np.uint64(0), control, owner, current, limit, arcs, state)
        buckets.words[SUPERSTEPS] += 1
        report(control, buckets.words[SUPERSTEPS])
        if buckets.words[LOST]:
            return current
        for owner in range(np.uint64(size)):
            _post(buckets, board, owner, current)
        current, entries, _ = _lowest(buckets, board, size)
    return current


@device_function
def _publish(buckets: Any, board: Any, work: Any, thread: Any, current: Any) -> None:
    """List the chunks of a thread's part of the current bucket as work for all."""
    slot = slot_of(current)
    left, chunk = buckets.size[thread, slot], buckets.head[thread, slot]
    buckets.size[thread, slot] = 0
    count = (left + CHUNK - 1) // CHUNK
    place = atomic_add(buckets.words, PUBLISHED, count)
    board[thread, FIRST], board[thread, CHUNKS], board[thread, TAKEN] = place, count, 0
    while left > 0:
        entries = chunk_entries(left)
        work[np.uint64(place)] = chunk * (2 * CHUNK) + entries
        place += 1
        left -= entries
        chunk = buckets.following[np.uint64(chunk)]


@device_function
def _work_together(
    buckets: Any,
    board: Any,
    work: Any,
    thread: Any,
    size: Any,
    control: Any,
    current: Any,
    arcs: Any,
    state: Any,
) -> None:
    """Take published chunks: this thread's own, then the others'."""
    for step in range(size):
        owner = np.uint64((thread + step) % size)
        while not cancelled(control):
            taken = atomic_add(board, owner * CPU_LINE + TAKEN, 1)
            if taken >= board[owner, CHUNKS]:
                break
            listed = work[np.uint64(board[owner, FIRST] + taken)]
            chunk = listed // (2 * CHUNK)
            _work_on(buckets, thread, current, chunk, listed % (2 * CHUNK), arcs, state)
            give_back(buckets, thread, chunk)


@team_kernel
def delta_stepping(
    thread: Any,
    size: Any,
    control: Any,
    arcs: Any,
    state: Any,
    buckets: Any,
    board: Any,
    work: Any,
    sources: Any,
    unreached: Any,
) -> None:
    """Fill `state` with the distances from the nearest source; some beyond the bound may be too long.

    Args:
        arcs: `WeightedArcs`.
        state: from `make_state`; it need not be filled.
        buckets: from `make_buckets`, empty.
        board: int64, shape (threads, CPU_LINE).
        work: int64, shape (chunks,): room for the chunks of one bucket.
        sources: uint64, shape (k,): the indices of the sources, each once.
        unreached: the largest value of the dtype of distances.
    """
    me = np.uint64(thread)
    n, zero = len(state), buckets.distance.dtype.type(0)
    for v in range(np.uint64(n * thread // size), np.uint64(n * (thread + 1) // size)):
        start(state, v, unreached, np.uint64(0))
    current = np.int64(0)
    if barrier(control, size):
        return
    if thread == 0:
        for i in range(np.uint64(len(sources))):
            start(state, sources[i], zero, NONE)
            push(buckets, me, current, sources[i], zero)
    while True:
        _post(buckets, board, me, current)
        if barrier(control, size):
            return
        lowest, entries, ran_out = _lowest(buckets, board, size)
        if ran_out:
            clear(buckets, me)
            if barrier(control, size):
                return
            rebuild(buckets, me, size, current, state, unreached)
            continue
        if lowest == NO_BUCKET:
            return
        current = lowest
        if entries < ALONE or size == 1:
            if barrier(control, size):  # all have read the board
                return
            if thread == 0:
                buckets.words[CURRENT] = _alone(buckets, board, control, size, current, arcs, state)
            if barrier(control, size):
                return
            current = buckets.words[CURRENT]
            continue
        if buckets.far_least[me, np.uint64(0)] <= current:
            deal_far(buckets, me, current, state)
        _publish(buckets, board, work, me, current)
        if barrier(control, size):
            return
        if thread == 0:
            buckets.words[PUBLISHED] = 0
            buckets.words[SUPERSTEPS] += 1
            report(control, buckets.words[SUPERSTEPS])
        _work_together(buckets, board, work, thread, size, control, current, arcs, state)
        _empty(buckets, me, control, me, current, FUSED, arcs, state)
