"""The arrays of Brandes' accumulation on a GPU, and its steps that add up no numbers of paths or shares.

See `cuda_batched`.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import AtomicInt64s, AtomicUint32s, Float64s, Int32s, Int64s, Uint32s
from edgewise.kernels.cuda.device import (
    WARP,
    atomic_add,
    atomic_or,
    ballot,
    block_barrier,
    block_size,
    block_thread,
    count_bits,
    device_function,
    grid_barrier,
    lane,
    num_threads,
    thread_index,
)
from edgewise.kernels.cuda.memory import CANCEL
from edgewise.kernels.words import LINE, Allocator
from edgewise.primitives.control import LOOK, TURNS, control_words, host_words, turns_after
from edgewise.primitives.deal import degree, make_deal, reserve
from edgewise.primitives.row_sums import LONG, list_long, take_long
from edgewise.primitives.running_sums import sum_to_lane
from edgewise.primitives.warp_buffers import make_outbox

#: What a block counts: out-edges of vertices found, and in-edges of those that some source had not reached.
EDGES, UNFINISHED, COUNTS = 0, 1, 2
#: A pass over vertices has a set of words of `control`: long rows listed and taken; vertices found; what blocks count;
#: whether a count has grown too large, and whether the host asked for the end; long rows of out-edges listed and taken.
_SET = Allocator(0)
LONG_ROWS, FOUND, COUNTED = _SET.take(2), _SET.take(), _SET.take(COUNTS)
TOO_LARGE, ENDED, LONG_OUT_ROWS = _SET.take(), _SET.take(), _SET.take(2)
#: Sets are used in turns: for this pass, the next, which is set to 0 meanwhile, and the last, which may still be read.
#: Behind them, vertices that each source has reached; whether a weight was lost beside a distance.
CONTROL = control_words()
SETS = CONTROL.take_line(TURNS * LINE)
REACHED, LOST = CONTROL.take(WARP), CONTROL.take()
#: Words of the host's array: sources that are done; levels of either form; where the batch after these was stopped: its
#: deepest level, out-edges of that, in-edges of vertices that some source had not reached.
HOST = host_words()
DONE, FORMS, KNOWN = HOST.take(), HOST.take(2), HOST.take(3)


class State(NamedTuple):
    """Arrays of a run with b sources at a time.

    Attributes:
        masks: (4 n,): of three levels in turns, bits of the sources that have a vertex there; then of the
            sources that have reached it.
        listed, listed_masks: (n b,): the vertices of each level, and of which sources they are.
        starts: (n + 2,): where levels begin in these.
        totals: (n,): sums of dependencies.
        control, host: zeros, see `CONTROL`, and words in the host's memory, see `HOST`.
    """

    masks: AtomicUint32s
    listed: Uint32s
    listed_masks: Uint32s
    starts: Int64s
    totals: Float64s
    control: AtomicInt64s
    host: Int64s


class Numbers(NamedTuple):
    """Numbers of paths, then shares, of b sources at a time.

    Attributes:
        values: (n b,).
        powers: the same, if there are any.
        long_rows: room for long rows, (m // LONG + 1,).
    """

    values: Float64s
    powers: Int32s
    long_rows: Int64s


class Batch(NamedTuple):
    """What is done at a time.

    Attributes:
        n, m: vertices and arcs.
        shift: vertices have values for 1 << shift sources.
        done: how many sources were done before.
        used: how many sources there are.
        full: a mask of all of them.
        has_long: whether there are long rows.
        ends: what a vertex has for a path that ends at it.
    """

    n: Any
    m: Any
    shift: Any
    done: Any
    used: Any
    full: Any
    has_long: Any
    ends: Any


class Block(NamedTuple):
    """What a block shares.

    Attributes:
        boxes, held: see `edgewise.primitives.warp_buffers`.
        counts: int64, (COUNTS,).
        sums, powers, taken: see `edgewise.primitives.row_sums.Worklist`.
    """

    boxes: Any
    held: Any
    counts: Any
    sums: Any
    powers: Any
    taken: Any


class Level(NamedTuple):
    """What is known of the next level.

    Attributes:
        words: the first of the pass's words of `control`.
        after, reached: where the masks of that level, and of what was reached, begin.
        tail: how many vertices were listed before.
        pulled: whether its vertices are found in this pass.
    """

    words: Any
    after: Any
    reached: Any
    tail: Any
    pulled: Any


@device_function
def add_to_count(value: Any, which: Any, block: Any) -> None:
    """Add the values of a warp's lanes to what the block counts."""
    value = sum_to_lane(value)
    if lane() == WARP - 1 and value > 0:
        atomic_add(block.counts, which, value)


@device_function
def hand_in_counts(here: Any, block: Any, control: Any) -> None:
    """Add what this block counted to the words of the pass. A barrier of all has to follow."""
    block_barrier()
    for i in range(block_thread(), COUNTS, block_size()):
        if block.counts[i] > 0:
            atomic_add(control, here + COUNTED + i, block.counts[i])
        block.counts[i] = 0


@device_function
def _list_found(v: Any, wanted: Any, context: Any) -> Any:
    """List vertices of the level after, with the masks that they have by now, and count their out-edges."""
    offsets, state, level, block = context
    place, edges = level.tail + reserve(np.int64(wanted), state.control, level.words + FOUND), np.int64(0)
    if wanted:
        state.listed[place] = np.uint32(v)
        state.listed_masks[place] = state.masks[level.after + v]
        edges = degree(v, offsets)
    add_to_count(edges, EDGES, block)
    return np.int64(0)


put, flush = make_outbox(0, _list_found)


@device_function
def _discover(takes: Any, v: Any, mask: Any, k: Any, context: Any) -> Any:
    """Look along one arc of the level, lanes of a warp at once."""
    offsets, targets, state, level, block = context
    fresh, target = False, np.int64(0)
    if takes:
        target = np.int64(targets[k])
        place = level.after + target
        new = mask & ~(np.int64(state.masks[level.reached + target]) | np.int64(state.masks[place]))
        if new != 0:
            fresh = atomic_or(state.masks, place, np.uint32(new)) == 0
    put(target, fresh, block, (offsets, state, level, block))
    return np.int64(0), np.int64(0)


_discover_all = make_deal(_discover, vertex=False, key=True)


@device_function
def push(begin: Any, end: Any, graph: Any, state: Any, level: Any, worklist: Any, block: Any) -> None:
    """Look along the arcs of listed vertices. Long rows go to the worklist."""
    offsets, context = graph.offsets, (graph.offsets, graph.targets, state, level, block)
    warp, warps = thread_index() // WARP, num_threads() // WARP
    for first in range(begin + warp, end, warps * WARP):
        i, v, start, count, mask = first + lane() * warps, np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        if i < end:
            v, mask = np.int64(state.listed[i]), np.int64(state.listed_masks[i])
            start, count = np.int64(offsets[v]), degree(v, offsets)
        is_long = count > LONG
        list_long(v, mask, is_long, worklist)
        if is_long:
            count = np.int64(0)
        _discover_all(v, start, count, mask, context)


@device_function
def push_long(graph: Any, state: Any, level: Any, worklist: Any, block: Any) -> None:
    """Look along the arcs of long rows. A block takes one row at a time."""
    offsets, context = graph.offsets, (graph.offsets, graph.targets, state, level, block)
    count, i = worklist.control[worklist.word], take_long(worklist)
    while i < count:
        v, mask = worklist.rows[i] & 0xFFFFFFFF, np.int64(np.uint32(worklist.rows[i] >> 32))
        end = np.int64(offsets[v + 1])
        for first in range(np.int64(offsets[v]), end, block_size()):
            k = first + block_thread()
            _discover(k < end, v, mask, k, context)
        i = take_long(worklist)


@device_function
def forget(n: Any, depth: Any, deepest: Any, state: Any) -> None:
    """Set the masks of a level to 0, if there is such a level."""
    if depth >= 0 and depth <= deepest:
        masks = depth % TURNS * n
        for i in range(state.starts[depth] + thread_index(), state.starts[depth + 1], num_threads()):
            state.masks[masks + np.int64(state.listed[i])] = 0


@device_function
def next_pass(passes: Any, state: Any) -> Any:
    """Set up the words of a pass; its number, and where its words begin."""
    passes += 1
    here, control = SETS + passes % TURNS * LINE, state.control
    if thread_index() == 0:
        for i in range(LINE):
            control[SETS + turns_after(passes)[0] * LINE + i] = 0
        if passes % LOOK == 0:
            control[here + ENDED] = state.host[CANCEL]
    return passes, here


@device_function
def begin_batch(batch: Any, state: Any, values: Any, sources: Any, first_count: Any, generation: Any) -> Any:
    """Set up a batch: its sources are the first level, with `first_count` paths each."""
    me, n = thread_index(), batch.n
    for i in range(me, 4 * n, num_threads()):
        state.masks[i] = 0
    if me < WARP:
        state.control[REACHED + me] = 0
    generation = grid_barrier(state.control, generation)
    if me < batch.used:
        source, mask = sources[batch.done + me], np.uint32(np.int64(1) << me)
        state.masks[source] = mask
        state.masks[3 * n + source] = mask
        state.listed[me] = np.uint32(source)
        state.listed_masks[me] = mask
        values[source << batch.shift | me] = first_count
    if me == 0:
        state.starts[0] = 0
        state.starts[1] = batch.used
    return grid_barrier(state.control, generation)


@device_function
def add_ends(batch: Any, state: Any, sources: Any, generation: Any) -> Any:
    """Give each source of the batch the paths that begin at it."""
    me, n, reached = thread_index(), batch.n, np.int64(0)
    for first in range(me - lane(), n, num_threads()):
        v, mask = first + lane(), np.uint32(0)
        if v < n:
            mask = state.masks[3 * n + v]
        for slot in range(batch.used):
            found = count_bits(ballot((mask >> np.uint32(slot)) & np.uint32(1) != 0))
            if lane() == slot:
                reached += found
    if lane() < batch.used and reached > 0:
        atomic_add(state.control, REACHED + lane(), reached)
    generation = grid_barrier(state.control, generation)
    if me < batch.used:
        state.totals[sources[batch.done + me]] += np.float64(state.control[REACHED + me] - 1)
    return grid_barrier(state.control, generation)


def has_long_rows(graph: Graph) -> bool:
    """Whether some vertex has more than `LONG` out-edges or in-edges, which a block takes."""
    both = graph.gpu.offsets, graph.gpu.in_offsets
    return any(bool((offsets[1:] - offsets[:-1] > LONG).any()) for offsets in both)
