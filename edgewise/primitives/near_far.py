"""Label-correcting on a GPU with the best first: a near and a far pile, all supersteps in one cooperative launch.

Each vertex has a key, an integer that is only ever lowered. A vertex whose key falls below a threshold is near, and the
next superstep deals with it; one whose key falls otherwise is far. When no vertex is near, the threshold rises, and the
far vertices below it become near. A superstep has one of two forms: few near vertices stay in the blocks that found
them (`edgewise.primitives.block_queues`); many are cut into pieces, which warps take (`edgewise.primitives.deal`).

Functions say what is done with a vertex and with an arc. Shortest paths and asynchronous programs run on this loop.

Reference. Davidson, Baxter, Garland and Owens, "Work-Efficient Parallel GPU Methods for Single-Source Shortest Paths",
IPDPS 2014.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.device import (
    THREADS,
    atomic_add,
    atomic_exchange,
    atomic_min,
    block_index,
    block_size,
    block_thread,
    device_function,
    grid_barrier,
    inlined,
    lane,
    load_fresh,
    num_blocks,
    num_threads,
    thread_index,
    warp_min,
)
from edgewise.kernels.cuda.memory import CANCEL, PROGRESS
from edgewise.primitives.block_queues import (
    ENTRIES,
    LOCAL,
    OTHER,
    clear,
    fits,
    held_in,
    keep,
    make_few,
    target_in_row,
)
from edgewise.primitives.control import TURNS, turns_after
from edgewise.primitives.deal import add_to_total, append, degree, list_pieces, make_deal, make_walk
from edgewise.primitives.endings import CANCELLED, FINISHED, LIMITED
from edgewise.primitives.near_far_piles import (
    DIRECT,
    EDGES,
    ENDED,
    ENDING,
    FAR,
    FORMS,
    LEAST,
    NEAR,
    PIECES,
    RISES,
    SUPERSTEPS,
)
from edgewise.primitives.near_far_rise import FAST, LARGEST, SLOW, adapted_in_kernel
from edgewise.primitives.ordered_keys import key_dtype
from edgewise.primitives.warp_buffers import make_outbox


@device_function
def prepare(n: Any, none: Any, piles: Any, block: Any) -> None:
    """Set all keys to `none`, and clear everything else. A barrier of the grid has to follow."""
    clear(block, piles.control)
    for v in range(thread_index(), n, num_threads()):
        piles.best[v] = none
        piles.stamps[v] = 0
        piles.stamps[n + v] = 0
    if thread_index() == 0:
        for turn in range(TURNS):
            piles.control[LEAST + turn] = LARGEST


class Run(NamedTuple):
    """What stays the same in all supersteps.

    Attributes:
        n, graph: the number of vertices; see `OutEdges`.
        best, stamps, control, most_listed: see `Piles`.
        context: the algorithm's, for its functions.
    """

    n: Any
    graph: Any
    best: Any
    stamps: Any
    control: Any
    most_listed: Any
    context: Any


class Superstep(NamedTuple):
    """What a superstep, or a rise of the threshold, works with.

    Attributes:
        step: the superstep; vertices that it makes near are stamped with the number of the next.
        bucket, threshold: 1 plus the number of rises, and the threshold.
        near, far: the lists of vertices that become near, and of those that become far.
        near_word, edges_word, far_word: words of `control`: the lengths of the lists, and the near vertices' out-edges.
    """

    step: Any
    bucket: Any
    threshold: Any
    near: Any
    far: Any
    near_word: Any
    edges_word: Any
    far_word: Any


@device_function
def _make_near(v: Any, step: Any, run: Any) -> Any:
    """Stamp a vertex as near for the superstep after `step`; whether this thread was first, and so has to list it."""
    return atomic_exchange(run.stamps, v, np.uint32(step + 1)) != step + 1


@device_function
def _make_far(v: Any, now: Any, run: Any) -> Any:
    """Stamp a vertex as far; whether this thread was first, and so has to list it."""
    return atomic_exchange(run.stamps, run.n + v, np.uint32(now.bucket)) != now.bucket


@device_function
def _list_near(v: Any, wanted: Any, context: Any) -> Any:
    """List the near vertices of a warp's lanes; the out-degree of this lane's, or 0."""
    run, now = context
    append(now.near, run.control, now.near_word, v, wanted)
    return degree(v, run.graph.offsets) if wanted else np.int64(0)


@device_function
def _list_far(v: Any, wanted: Any, context: Any) -> Any:
    """List the far vertices of a warp's lanes."""
    run, now = context
    append(now.far, run.control, now.far_word, v, wanted)
    return np.int64(0)


_put_near, _flush_near = make_outbox(0, _list_near)
_put_far, _flush_far = make_outbox(1, _list_far)


@device_function
def _flush(block: Any, run: Any, now: Any) -> Any:
    """List the vertices in the outboxes; the out-degree of this lane's near vertex, or 0."""
    return _flush_near(block, (run, now)) + _flush_far(block, (run, now))


@device_function
def _key_of(v: Any, context: Any) -> Any:
    """The key of a piece's vertex."""
    run, _, _ = context
    return run.best[v]


@device_function
def _always_sends(v: Any, best: Any, step: Any, context: Any) -> Any:
    """Stands for `apply` if there is none; see `make_near_far`."""
    return True


def _make_visit(key_type: Any, message: Any, by_place: bool, target_of: Any) -> Any:
    """A device function that sends along one arc of a piece."""

    @device_function
    def visit(takes, v, key, k, context):
        """Send along one arc. All lanes of the warp take part."""
        run, now, block = context
        is_near, is_far, target = False, False, np.int64(0)
        if takes:
            target = target_of(k, run.graph)
            sends, new = message(v, key, k, target, now.step, run.context)
            if sends and new < run.best[target] and new < atomic_min(run.best, target, key_type(new)):
                if (target if by_place else new) < now.threshold:
                    is_near = _make_near(target, now.step, run)
                else:
                    is_far = _make_far(target, now, run)
        edges = _put_near(target, is_near, block, (run, now))
        return edges, _put_far(target, is_far, block, (run, now))

    return visit


def _make_visit_few(key_type: Any, message: Any, applies: bool, by_place: bool) -> Any:
    """A device function that sends along one arc of a vertex in a block's queue."""

    @device_function
    def visit_few(v, key, k, target, step, queue, block, control, context):
        """Send along one arc."""
        run, now = context
        sends, new = message(v, key, k, target, step, run.context)
        if sends and new < atomic_min(run.best, target, key_type(new)):
            if (target if by_place else new) >= now.threshold:
                slot = atomic_add(block.counts, OTHER, np.uint32(1))
                if slot < THREADS:
                    block.others[slot] = target
                elif _make_far(target, now, run):
                    now.far[atomic_add(control, now.far_word, 1)] = target
            elif (
                (not applies or _make_near(target, step, run))
                and not keep(target, new, 1 - queue, block)
                and (applies or _make_near(target, step, run))
            ):
                now.near[atomic_add(control, now.near_word, 1)] = target
                atomic_add(control, now.edges_word, degree(target, run.graph.offsets))

    return visit_few


def _make_few_supersteps(
    key_type: Any, message: Any, is_current: Any, apply: Any, by_place: bool, target_of: Any
) -> Any:
    """A device function for supersteps with few near vertices; see `make_few`."""

    @device_function
    def is_current_few(v, key, context):
        run, _ = context
        return is_current(v, key, run.best, run.context)

    if apply is None:
        return make_few(_make_visit_few(key_type, message, False, by_place), is_current_few, None, target_of)

    @device_function
    def apply_few(v, step, context):
        run, _ = context
        return apply(v, run.best, step, run.context)

    return make_few(_make_visit_few(key_type, message, True, by_place), is_current_few, apply_few, target_of)


def _make_list_active(apply: Any) -> Any:
    """A device function that cuts near vertices into pieces."""
    sends_now = apply or _always_sends

    @device_function
    def list_active(near, count, pieces, pieces_word, step, run):
        """Update the near vertices. Those that send are cut into pieces, which are listed."""
        for begin in range(thread_index() - lane(), count, num_threads()):
            i, v, sends = begin + lane(), np.int64(0), False
            if i < count:
                v = np.int64(near[i])
                sends = sends_now(v, run.best, step, run.context)
            list_pieces(v, sends, pieces, run.control, pieces_word, run.graph.offsets)

    return list_active


def _make_send_in_order(apply: Any, visit: Any) -> Any:
    """A device function that finds near vertices by their stamps, so that rows are read in order.

    A vertex that gets a better key before it is found is stamped for the next superstep, which deals with it.
    """
    sends_now, applies = apply or _always_sends, apply is not None
    deal = make_deal(visit, applies, not applies)

    @device_function
    def send_in_order(pieces, pieces_word, step, run, now, block):
        """Update the near vertices. Send along the arcs of those that send; rows of more than `DIRECT` arcs are cut
        into pieces, which are listed. The out-edges of vertices that became near."""
        edges, offsets = np.int64(0), run.graph.offsets
        for begin in range(thread_index() - lane(), run.n, num_threads()):
            v, sends, start, count, key = begin + lane(), False, np.int64(0), np.int64(0), np.int64(0)
            if v < run.n and run.stamps[v] == step:
                sends = sends_now(v, run.best, step, run.context)
            if sends:
                start, count, key = np.int64(offsets[v]), degree(v, offsets), np.int64(run.best[v])
            list_pieces(v, count > DIRECT, pieces, run.control, pieces_word, offsets)
            found, _ = deal(v, start, count if count <= DIRECT else np.int64(0), key, (run, now, block))
            edges += found
        return edges

    return send_in_order


def _make_split(waiting: Any, apart: bool) -> Any:
    """A device function that splits the far pile at a threshold. A long one is found by its stamps, if `apart`."""

    @device_function
    def split(far, count, below, least_word, block, now, run):
        """Make far vertices below the threshold near. Those below the last threshold were dealt with, and drop out."""
        edges, least = np.int64(0), LARGEST
        scans = apart and count > run.most_listed
        for begin in range(thread_index() - lane(), run.n if scans else count, num_threads()):
            i, v, is_near, is_far = begin + lane(), np.int64(0), False, False
            if (i < run.n and run.stamps[run.n + i] == now.bucket - 1) if scans else i < count:
                v = np.int64(i) if scans else np.int64(far[i])
                key = np.int64(waiting(v, below, run.best, run.context))
                if below <= key < LARGEST:
                    if key < now.threshold:
                        is_near = _make_near(v, now.step, run)
                    else:
                        is_far = _make_far(v, now, run)
                        least = min(least, key)
            edges += _put_near(v, is_near, block, (run, now)) + _put_far(v, is_far, block, (run, now))
        edges += _flush(block, run, now)
        least = warp_min(least)
        if lane() == 0 and least < LARGEST:
            atomic_min(run.control, least_word, least)
        add_to_total(edges, 0, block.tally, run.control, now.edges_word)

    return split


@device_function
def _load(near: Any, count: Any, block: Any, run: Any) -> None:
    """Fill queue 0 of this block with its share of the near vertices."""
    mine = (count - block_index() + num_blocks() - 1) // num_blocks()
    if block_thread() < mine:
        v = np.int64(near[block_index() + block_thread() * num_blocks()])
        block.queues[block_thread()] = v
        block.keys[block_thread()] = run.best[v]
    if block_thread() == 0:
        block.counts[ENTRIES] = mine


def _make_unload(applies: bool, by_place: bool) -> Any:
    """A device function that lists the vertices in the blocks' queues."""

    @device_function
    def unload(queue, step, block, now, run):
        """List the vertices in a queue of this block, and the far vertices that it kept, if they are still far."""
        for i in range(block_thread(), min(np.int64(block.counts[OTHER]), np.int64(THREADS)), block_size()):
            v = np.int64(block.others[i])
            if (v if by_place else load_fresh(run.best, v)) >= now.threshold and _make_far(v, now, run):
                now.far[atomic_add(run.control, now.far_word, 1)] = v
        edges, held = np.int64(0), held_in(queue, block)
        for begin in range(block_thread() - lane(), held, block_size()):
            i, v, is_near = begin + lane(), np.int64(0), False
            if i < held:
                v = np.int64(block.queues[queue * LOCAL + i])
                is_near = applies or _make_near(v, step, run)
            edges += _list_near(v, is_near, (run, now))
        add_to_total(edges, 0, block.tally, run.control, now.edges_word)

    return unload


@inlined
def _report(step, few_steps, rises, ending, host):
    """Write the facts of a run to the host's array."""
    host[SUPERSTEPS] = step
    host[FORMS] = few_steps
    host[FORMS + 1] = step - few_steps
    host[RISES] = rises
    host[ENDING] = ending


def make_near_far(
    value: np.dtype,
    message: Any,
    waiting: Any,
    rise: Any,
    is_current: Any,
    apply: Any = None,
    apart: bool = False,
    by_place: bool = False,
    target_of: Any = target_in_row,
) -> Any:
    """The loop, a device function. Its functions may use `context` as they like.

    Args:
        value: the dtype that keys stand for.
        message: ``message(v, key, k, target, step, context)``: whether vertex v sends along arc k, and which key.
        waiting: ``waiting(v, below, best, context)``: the key that a far vertex waits with, `LARGEST` for none. A key
            less than `below`, the threshold so far, says that the vertex was dealt with.
        rise: ``rise(below, start, far, count, width, best, block, context)``: the next threshold and the width. All
            threads call it and must get the same result. `start` is the least key that the last rise left far, or
            `below`, the threshold so far, if that is not known. The width is 0 at first; between rises it is doubled or
            halved, by the work since the last one.
        is_current: ``is_current(v, key, best, context)``: whether a vertex that `key` made near is still to be dealt
            with.
        apply: ``apply(v, best, step, context)``: update a near vertex, once in a superstep; whether it sends. Without
            it a near vertex always sends, and may do so several times.
        apart: whether the graph's arcs lie in the host's memory: rows are read in order then if many vertices are near.
        by_place: whether a vertex is near or far by its own number, and not by its key: then those below the threshold
            are near, whatever their keys, and `waiting` gives that number.
        target_of: ``target_of(k, graph)``: the target of an arc, int64.

    Returns:
        ``near_far(n, limit, graph, piles, block, generation, threshold, context)``. All threads call it after
        `prepare`, the listing of the first near or far vertices, and a barrier. `graph` is `OutEdges`. It returns the
        generation of the last barrier.
    """
    key_type, applies = key_dtype(value).type, apply is not None
    visit = _make_visit(key_type, message, by_place, target_of)
    walk = make_walk(visit, applies, None if applies else _key_of)
    few = _make_few_supersteps(key_type, message, is_current, apply, by_place, target_of)
    list_active, split = _make_list_active(apply), _make_split(waiting, apart)
    unload = _make_unload(applies, by_place)
    begin_push = _make_begin_push(list_active, _make_send_in_order(apply, visit) if apart else None)
    return _make_loop(rise, walk, few, begin_push, split, unload)


def _make_begin_push(list_active: Any, send_in_order: Any) -> Any:
    """A device function that begins a superstep of many near vertices; the rest is listed pieces."""
    if send_in_order is None:

        @device_function
        def begin_push(near, found, pieces, pieces_word, step, run, now, block):
            """List the pieces of the near vertices."""
            list_active(near, found, pieces, pieces_word, step, run)
            return np.int64(0)

    else:

        @device_function
        def begin_push(near, found, pieces, pieces_word, step, run, now, block):
            """Send from near vertices in order, or list their pieces; the out-edges of those that became near."""
            if found > run.most_listed:
                return send_in_order(pieces, pieces_word, step, run, now, block)
            list_active(near, found, pieces, pieces_word, step, run)
            return np.int64(0)

    return begin_push


def _make_loop(rise: Any, walk: Any, few: Any, begin_push: Any, split: Any, unload: Any) -> Any:
    """A device function that loops over supersteps and rises of the threshold; see `make_near_far`."""

    @device_function
    def near_far(n, limit, graph, piles, block, generation, threshold, context):
        best, stamps, near_list, other_near, pieces, far_list, other_far, control, host, most_listed = piles
        run = Run(n, graph, best, stamps, control, most_listed, context)
        me, turn, pile, flipped, crossed = thread_index(), np.int64(0), np.int64(0), False, False
        step, bucket, few_steps, rises = np.int64(0), np.int64(1), np.int64(0), np.int64(0)
        width, computed, since, ending = 0.0, np.int64(0), np.int64(0), np.int64(FINISHED)
        while True:
            found, edges = control[NEAR + turn], control[EDGES + turn]
            count, least = control[FAR + pile], control[LEAST + pile]
            if control[ENDED + turn] != 0:
                ending = np.int64(CANCELLED)
                break
            if found > 0 and step == limit:
                ending = np.int64(LIMITED)
                break
            if found == 0 and count == 0:
                break
            following, spare = turns_after(turn)
            if me == 0:
                control[NEAR + spare] = 0
                control[EDGES + spare] = 0
                control[PIECES + spare] = 0
            near, next_near = (other_near, near_list) if flipped else (near_list, other_near)
            far, stay = (other_far, far_list) if crossed else (far_list, other_far)
            near_word, edges_word, far_word = NEAR + following, EDGES + following, FAR + pile
            if found == 0:
                width = adapted_in_kernel(width, computed, step - since, SLOW, FAST)
                computed, since = np.int64(0), step
                below = threshold
                start = least if below <= least < LARGEST else below
                threshold, width = rise(below, start, far, count, width, best, block, context)
                bucket += 1
                rises += 1
                pile, spare = turns_after(pile)
                crossed = not crossed
                if me == 0:
                    control[FAR + spare] = 0
                    control[LEAST + spare] = LARGEST
                now = Superstep(step, bucket, threshold, next_near, stay, near_word, edges_word, FAR + pile)
                split(far, count, below, LEAST + pile, block, now, run)
            elif fits(found, edges):
                clear(block, control)
                _load(near, found, block, run)
                generation = grid_barrier(control, generation)
                now = Superstep(step, bucket, threshold, next_near, far, near_word, edges_word, far_word)
                before = step
                step, queue, total, ends = few(step, limit, graph, block, control, host, (run, now))
                if me == 0 and ends:
                    control[ENDED + following] = 1
                few_steps += step - before
                computed += found + total
                unload(queue, step, block, now, run)
            else:
                step += 1
                computed += found
                if me == 0:
                    host[PROGRESS] = step
                    control[ENDED + following] = host[CANCEL]
                now = Superstep(step, bucket, threshold, next_near, far, near_word, edges_word, far_word)
                edges = begin_push(near, found, pieces, PIECES + turn, step, run, now, block)
                generation = grid_barrier(control, generation)
                more, _ = walk(pieces, control[PIECES + turn], graph.offsets, (run, now, block))
                edges += more + _flush(block, run, now)
                add_to_total(edges, 0, block.tally, control, edges_word)
            generation = grid_barrier(control, generation)
            turn, flipped = following, not flipped
        if me == 0:
            _report(step, few_steps, rises, ending, host)
        return generation

    return near_far
