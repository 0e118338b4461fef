"""Few vertices kept in the blocks that found them, each in a queue in shared memory.

A superstep then takes a short chain of memory accesses and one wait for the other blocks; no list is written, counted
and read by all blocks. In a 64-bit word, the lower half counts the blocks that have arrived, and the upper half the
vertices that they found. Two such words take turns. While a block waits, it fetches the offsets and first targets of
its own vertices.

Each arc of a queued vertex is visited exactly once: `LANES` lanes visit those of a vertex with at most `MANY`, and the
whole block visits others. A block whose queue is full lists further vertices for all blocks. That ends this form, and
so do too many vertices.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.device import (
    THREADS,
    WARP,
    WARPS,
    arrive,
    atomic_add,
    await_arrivals,
    block_barrier,
    block_index,
    block_size,
    block_thread,
    device_function,
    fence,
    inlined,
    lane,
    num_blocks,
    shuffle,
    warp_barrier,
)
from edgewise.kernels.cuda.memory import CANCEL, PROGRESS
from edgewise.kernels.words import LINE, Allocator
from edgewise.primitives.control import LOOK, control_words
from edgewise.primitives.deal import TALLY_WORDS
from edgewise.primitives.warp_buffers import BOX_WORDS

#: This form takes at most FEW_VERTICES vertices with at most FEW_EDGES out-edges. A whole block takes the arcs of a
#: vertex with more than MANY. As a hub would keep its block busy, edges <= HUB_EDGES + MANY * vertices must hold, too.
FEW_VERTICES, FEW_EDGES, MANY, HUB_EDGES = 6000, 100_000, 64, 4096
#: The lanes of each entry of a queue; the entries of a queue; the thread that waits for other blocks and has no entry.
LANES = min(8, WARP)
LOCAL, WAITING = (THREADS - WARP) // LANES, THREADS - 1
BOTH_QUEUES = 2 * LOCAL
#: The words with which `control` begins in every kernel with these queues. Two words, each in a cache line of its own,
#: take turns to count arrivals. So a block that waits for one reads it before arrivals two supersteps later change it.
FEW_CONTROL = control_words()
_ARRIVED = FEW_CONTROL.take_line(LINE + 1)
#: This form ends after at most MAX_STEPS supersteps, so that its words do not overflow.
MAX_STEPS = 1 << 16
#: What a block adds to the upper half of a word where its queue overflows, and where the run is to end.
OVERFLOW, ABORT = 1 << 20, 1 << 29
#: Indices of `counts`: entries of the two queues, hubs of the two supersteps, and one that `visit` may use. They have
#: 32 bits, for which shared memory has fast atomic operations.
_COUNTS = Allocator(0)
ENTRIES, HUBS, OTHER = _COUNTS.take(2), _COUNTS.take(2), _COUNTS.take()
COUNTS = _COUNTS.size
#: How many outboxes a block has.
BOXES = 2
#: How many words of 32 and 64 bits a block shares, see `share`.
WORDS = 2 * BOTH_QUEUES + THREADS + BOXES * (BOX_WORDS + WARPS) + COUNTS
LONG_WORDS = 2 * BOTH_QUEUES + TALLY_WORDS + 1


class Block(NamedTuple):
    """Arrays that a block shares.

    Attributes:
        queues, keys: uint32 and int64, (BOTH_QUEUES,): vertices of this superstep and the next, and their keys.
        hubs, hub_keys: uint32 and int64, (BOTH_QUEUES,): those of them with many arcs.
        others: uint32, (THREADS,): for `visit`.
        boxes, held: see `edgewise.primitives.warp_buffers`.
        counts: uint32, (COUNTS,).
        tally: int64, (TALLY_WORDS + 1,): words for `add_to_total`, and the word of arrivals as last read.
    """

    queues: Any
    keys: Any
    hubs: Any
    hub_keys: Any
    others: Any
    boxes: Any
    held: Any
    counts: Any
    tally: Any


@device_function
def share(words: Any, long_words: Any) -> Any:
    """`Block`, made of two shared arrays: uint32, (WORDS,), and int64, (LONG_WORDS,)."""
    others = 2 * BOTH_QUEUES
    boxes = others + THREADS
    held = boxes + BOXES * BOX_WORDS
    counts = held + BOXES * WARPS
    return Block(
        words[:BOTH_QUEUES],
        long_words[:BOTH_QUEUES],
        words[BOTH_QUEUES:others],
        long_words[BOTH_QUEUES : 2 * BOTH_QUEUES],
        words[others:boxes],
        words[boxes:held],
        words[held:counts],
        words[counts:],
        long_words[2 * BOTH_QUEUES :],
    )


@device_function
def clear(block: Any, control: Any) -> None:
    """Empty the queues and the outboxes, and set the words of arrivals to 0. A barrier of the grid has to follow."""
    for i in range(block_thread(), COUNTS, block_size()):
        block.counts[i] = 0
    for i in range(block_thread(), BOXES * WARPS, block_size()):
        block.held[i] = 0
    if block_index() == 0 and block_thread() == 0:
        control[_ARRIVED] = 0
        control[_ARRIVED + LINE] = 0
    block_barrier()


@device_function
def fits(found: Any, edges: Any) -> Any:
    """Whether `found` vertices with `edges` out-edges are few."""
    vertices, arcs = num_blocks() * (LOCAL * 3 // 4), HUB_EDGES + MANY * found
    return found <= min(np.int64(FEW_VERTICES), vertices) and edges <= min(np.int64(FEW_EDGES), arcs)


@device_function
def keep(v: Any, key: Any, queue: Any, block: Any) -> Any:
    """Put a vertex into a queue of this block; whether the queue had room."""
    slot = atomic_add(block.counts, ENTRIES + queue, np.uint32(1))
    if slot < LOCAL:
        block.queues[queue * LOCAL + slot] = v
        block.keys[queue * LOCAL + slot] = key
        return True
    return False


@device_function
def _keep_hub(v: Any, key: Any, queue: Any, block: Any) -> None:
    """Leave a vertex of this superstep with many arcs to the whole block."""
    slot = queue * LOCAL + atomic_add(block.counts, HUBS + queue, np.uint32(1))
    block.hubs[slot] = v
    block.hub_keys[slot] = key


@device_function
def _word(done: Any) -> Any:
    """The word that counts arrivals after `done` supersteps."""
    return _ARRIVED + (done & 1) * LINE


@device_function
def held_in(queue: Any, block: Any) -> Any:
    """How many vertices a queue holds."""
    return min(np.int64(block.counts[ENTRIES + queue]), np.int64(LOCAL))


def _make_waits(applies: bool) -> tuple[Any, Any]:
    """Device functions that the waiting thread calls at the begin and at the end of a superstep.

    With `applies`, a block sees in a superstep what others wrote in the last one.
    """

    @inlined
    def await_others(done, before, queue, block, control):
        """Wait until all blocks have done `done` supersteps. Empty the queue that this superstep fills."""
        arrivals = (done + 1) // 2 * num_blocks()
        block.tally[TALLY_WORDS] = await_arrivals(control, _word(done), before, arrivals)
        if applies:
            fence()
        block.counts[ENTRIES + 1 - queue] = 0
        block.counts[HUBS + 1 - queue] = 0

    @inlined
    def say_done(step, done, queue, block, control, host):
        """Tell other blocks that this one has done a superstep, and how many vertices its queue holds."""
        held = np.int64(block.counts[ENTRIES + queue])
        if held > LOCAL:
            held = np.int64(OVERFLOW)
        if block_index() == 0 and step % LOOK == 0:
            host[PROGRESS] = step
            if host[CANCEL] != 0:
                held = np.int64(ABORT)
        if applies:
            fence()
        arrive(control, _word(done), held)

    return await_others, say_done


@device_function
def target_in_row(k: Any, graph: Any) -> Any:
    """The target of an arc."""
    return np.int64(graph.targets[k])


def make_few(
    visit: Callable[..., Any],
    is_current: Callable[..., Any],
    apply: Callable[..., Any] | None = None,
    target_of: Callable[..., Any] = target_in_row,
) -> Any:
    """The device function for supersteps with few vertices. Its functions may use `context` as they like.

    Args:
        visit: ``visit(v, key, k, target, step, queue, block, control, context)``: visit arc k of a queued vertex; it
            gives vertices that it finds to `keep`.
        is_current: ``is_current(v, key, context)``: whether an entry is still of use. It is called before other blocks
            have arrived.
        apply: ``apply(v, step, context)``: whether to visit the arcs of an entry. It is called once for each entry,
            after all blocks have arrived. What it writes is seen by this block's visits, and by all in the next
            superstep.
        target_of: ``target_of(k, graph)``: the target of an arc, int64.

    Returns:
        ``few(step, last, graph, block, control, host, context)``. All threads call it after `clear`, with queue 0
        filled; `step` is the last superstep that was done, `last` the limit or -1. It returns the last superstep that
        it did; the queue with which the next begins; how many vertices it dealt with beside the first; whether the host
        asked for the end.
    """
    applies, is_active = apply is not None, apply or is_current
    await_others, say_done = _make_waits(applies)

    @device_function
    def few(step, last, graph, block, control, host, context):
        offsets, counts = graph.offsets, block.counts
        slot, place = block_thread() // LANES, block_thread() % LANES
        queue, entered, before, other, total = np.int64(0), step, np.int64(0), np.int64(0), np.int64(0)
        while True:
            start, end, target, v, key = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
            holds, is_hub = slot < held_in(queue, block), False
            if holds:
                v, key = np.int64(block.queues[queue * LOCAL + slot]), block.keys[queue * LOCAL + slot]
                holds = is_current(v, key, context)
            if holds:
                start, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
                is_hub = bool(end - start > MANY)
                if is_hub:
                    if not applies and place == 0:
                        _keep_hub(v, key, queue, block)
                    start = end
                start += place
                if start < end:
                    target = target_of(start, graph)
            done = step - entered
            if block_thread() == WAITING:
                await_others(done, before, queue, block, control)
            block_barrier()
            said = block.tally[TALLY_WORDS]
            found = (said >> 32) - (before >> 32)
            before, other = other, said
            if step > entered and (found == 0 or found > FEW_VERTICES or done == MAX_STEPS):
                break
            if step == last:
                break
            step += 1
            total += found
            if applies:
                active = np.int64(0)
                if holds and place == 0 and is_active(v, step, context):
                    active = np.int64(1)
                    if is_hub:
                        _keep_hub(v, key, queue, block)
                if shuffle(active, lane() - place) == 0:
                    start = end
                warp_barrier()
                block_barrier()
            while start < end:
                visit(v, key, start, target, step, queue, block, control, context)
                start += LANES
                if start < end:
                    target = target_of(start, graph)
            for i in range(counts[HUBS + queue]):
                v, key = np.int64(block.hubs[queue * LOCAL + i]), block.hub_keys[queue * LOCAL + i]
                for k in range(np.int64(offsets[v]) + block_thread(), np.int64(offsets[v + 1]), block_size()):
                    visit(v, key, k, target_of(k, graph), step, queue, block, control, context)
            block_barrier()
            queue = 1 - queue
            if block_thread() == WAITING:
                say_done(step, step - entered, queue, block, control, host)
        return step, queue, total, found >= ABORT

    return few
