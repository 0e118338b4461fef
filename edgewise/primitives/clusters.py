# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Label-correcting on a GPU by clusters: a block keeps the keys of a cluster's vertices in shared memory.

Each vertex has a key, which is only ever lowered: by the key of a neighbour and the arc between them. A block visits a
cluster (`edgewise.layout.clusters`): it lowers the keys of the cluster's vertices, step by step, until none falls any
more. After every few steps it lowers those across the border, wakes the clusters where one falls, and reads its own
ones again if it was woken. Blocks wait for no others (`edgewise.primitives.cluster_queue`): each takes the cluster that
was woken with the least key, and holds it as long as there are enough blocks.

Within a cluster vertices look at their in-neighbours, the first `SLOTS` of which are in registers, so no atomic
operation is needed; and a warp looks only after one of the warps that it looks at has lowered a key. Keys in memory are
lowered by atomic operations, so none is lost if others lower it meanwhile; a cluster is woken after that, and stops to
wait before its keys are read.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import Elements, Int32s, Uint32s, Weights
from edgewise.kernels.cuda.device import (
    HALVES,
    WARP,
    atomic_add,
    atomic_min,
    ballot,
    block_barrier,
    block_index,
    block_thread,
    device_function,
    fence,
    grid_barrier,
    inlined,
    lane,
    load_now,
    shuffle,
    shuffle_down,
    thread_index,
)
from edgewise.kernels.cuda.memory import PROGRESS
from edgewise.primitives.cluster_queue import (
    BLOCK,
    ENDED,
    IDLE,
    OPEN,
    OVER,
    VISITED,
    VISITS,
    WANTED,
    give_up,
    look,
    rest,
    take,
    wake,
)
from edgewise.primitives.deal import degree
from edgewise.primitives.near_far_rise import LARGEST

_WARPS = BLOCK // WARP
#: The most vertices of a cluster: four for each thread. Those of a warp lie together.
MOST = 4 * BLOCK
_OF_WARP = 4 * WARP
#: How many words the warps of a block have to say that they lowered a key.
LOWERED = 2 * _WARPS
#: How many in-neighbours of a vertex are in registers.
SLOTS = 4
#: After how many steps within a cluster others are told of it, and it is told of others. Of 2 to 32, 6 to 10 were the
#: fastest on lattices and roads.
MEET = 8

Uint16s = Annotated[Any, Elements(np.uint16)]
Uint64s = Annotated[Any, Elements(np.uint64)]


class ClusterRows(NamedTuple):
    """The arcs of a graph by the clusters of their ends. A vertex is told by its place; within its cluster, by its
    number there.

    Attributes:
        begins: the first place of each cluster, and the end of the last one.
        near: (n,): the numbers of the first `SLOTS` in-neighbours in the same cluster, 16 bits each, from the lowest
            on; its own where there are fewer.
        lengths: (SLOTS * n,): the weights of these arcs, first those of all first ones.
        extra_begins: (n + 1,): where the other arcs to each place from its own cluster begin.
        extra, extra_lengths: the numbers of their sources, and their weights.
        border_begins: where the arcs out of each cluster begin, and the end of the last ones.
        border, border_to, border_cluster, border_lengths: the number of the source, the place and the cluster of the
            target, the weight.
        num_clusters: how many clusters there are.
    """

    begins: Int32s
    near: Uint64s
    lengths: Weights
    extra_begins: Int32s
    extra: Uint16s
    extra_lengths: Weights
    border_begins: Int32s
    border: Uint16s
    border_to: Uint32s
    border_cluster: Uint32s
    border_lengths: Weights
    num_clusters: int


@inlined
def send(key: Any, p: Any, c: Any, it: Any) -> None:
    """Lower the key of a place in cluster c, and wake the cluster if that is less than what the place had."""
    if key < atomic_min(it.best, p, key):
        fence()
        if atomic_min(it.pending, c, np.int64(key)) == LARGEST:
            atomic_add(it.control, OPEN, 1)
            if load_now(it.taken, c) == 0:
                atomic_add(it.control, WANTED, 1)


class _Vertex(NamedTuple):
    """What is done with a vertex of a cluster: device functions, see `_make_vertex`."""

    load: Any
    looks_at: Any
    fresh: Any
    absorb: Any
    lower: Any
    write: Any


@inlined
def _all_bits(bits: Any) -> Any:
    """The bits that any lane of the warp has."""
    bits = np.int32(bits)
    for lanes in HALVES:
        bits = np.int32(bits | shuffle_down(bits, lanes))
    return np.uint32(shuffle(bits, 0))


@inlined
def _lowering(turn: Any, shared: Any) -> Any:
    """The bits of the warps that have lowered a key. All lanes call it."""
    if _WARPS <= WARP:
        mine = np.uint32(lane())
        return ballot(
            mine < _WARPS and shared.lowered[np.uint32(turn + min(mine, np.uint32(_WARPS - 1)))] != 0
        )
    bits = np.uint32(0)
    for warp in range(_WARPS):
        if shared.lowered[turn + warp] != 0:
            bits |= np.uint32(1) << np.uint32(warp)
    return bits


@inlined
def _bit_of(number: Any) -> Any:
    """The bit of the warp that has a vertex, by its number."""
    return np.uint32(1) << np.uint32(number // _OF_WARP)


def _make_vertex(value: np.dtype, short: np.dtype, plus: Any, weight_of: Any) -> _Vertex:
    """What is done with a vertex; see `make_visits`."""
    wide, narrow, nothing = value.type, short.type, short.type(np.iinfo(value).max)

    @inlined
    def load(number, begin, count, n, rows):
        """The arcs of a vertex that are kept in registers: the numbers of its neighbours, and the weights; then how
        many more it has. No load waits for another one, so those of several vertices overlap."""
        mine, p = np.int64(number) < count, np.int64(0)
        a, b, c, d, more = number, number, number, number, np.int64(0)
        if mine:
            p = begin + np.int64(number)
            near = rows.near[p]
            a, b = np.uint32(near & np.uint64(0xFFFF)), np.uint32((near >> np.uint64(16)) & np.uint64(0xFFFF))
            c, d = np.uint32((near >> np.uint64(32)) & np.uint64(0xFFFF)), np.uint32(near >> np.uint64(48))
            more = degree(p, rows.extra_begins)
        lengths = (
            weight_of(p, rows.lengths),
            weight_of(n + p, rows.lengths),
            weight_of(2 * n + p, rows.lengths),
            weight_of(3 * n + p, rows.lengths),
        )
        return (a, b, c, d), lengths, more

    @inlined
    def looks_at(number, near, begin, count, more, rows):
        """The bits of the warps that a vertex looks at."""
        a, b, c, d = near
        bits = _bit_of(a) | _bit_of(b) | _bit_of(c) | _bit_of(d)
        if more and np.int64(number) < count:
            p = begin + np.int64(number)
            for k in range(np.int64(rows.extra_begins[p]), np.int64(rows.extra_begins[p + 1])):
                bits |= _bit_of(rows.extra[k])
        return bits

    @inlined
    def fresh(number, begin, count, it):
        """The key of a vertex in memory."""
        key = nothing
        if np.int64(number) < count:
            key = narrow(load_now(it.best, begin + np.int64(number)))
        return key

    @inlined
    def absorb(number, key, new, shared):
        """The less of a vertex's keys, which is shared if it is the new one."""
        if new < key:
            shared.keys[number] = new
        return min(key, new)

    @inlined
    def lower(number, key, near, lengths, more, begin, count, rows, shared):
        """The key of a vertex, lowered over its arcs."""
        a, b, c, d = near
        e, f, g, h = lengths
        keys = shared.keys
        one, two = min(key, plus(keys[a], e)), plus(keys[b], f)
        three, four = plus(keys[c], g), plus(keys[d], h)
        least = min(min(one, two), min(three, four))
        if more and np.int64(number) < count:
            p = begin + np.int64(number)
            for k in range(np.int64(rows.extra_begins[p]), np.int64(rows.extra_begins[p + 1])):
                least = min(least, plus(keys[np.uint32(rows.extra[k])], weight_of(k, rows.extra_lengths)))
        if least < key:
            keys[number] = least
        return least

    @inlined
    def write(number, key, written, begin, it):
        """Write a key that is less than what was written."""
        if key < written:
            atomic_min(it.best, begin + np.int64(number), wide(key))
        return key

    return _Vertex(load, looks_at, fresh, absorb, lower, write)


def _make_border(value: np.dtype, short: np.dtype, plus: Any, weight_of: Any) -> tuple[Any, Any]:
    """Device functions that load an arc across the border for each thread, and that lower the keys there; see
    `make_visits`."""
    wide, narrow = value.type, short.type

    @inlined
    def arc_of(k, end, rows):
        """An arc across the border: the number of its source, the place and the cluster of its target, its weight; an
        arc that leads nowhere from `end` on."""
        source, p, c, weight = np.uint32(0), np.int64(0), np.int64(-1), weight_of(0, rows.lengths)
        if k < end:
            source, p, c = (
                np.uint32(rows.border[k]),
                np.int64(rows.border_to[k]),
                np.int64(rows.border_cluster[k]),
            )
            weight = weight_of(k, rows.border_lengths)
        return source, p, c, weight

    @inlined
    def cross(arc, sent, first, end, rows, it, shared):
        """Lower keys over the arc of this thread, if that of its source has fallen since it was `sent`, and over those
        that no thread has for its own; the key of the source."""
        source, p, c, weight = arc
        key = shared.keys[source]
        if c >= 0 and key < sent:
            send(wide(plus(key, weight)), p, c, it)
        for k in range(first + BLOCK + block_thread(), end, BLOCK):
            other, p, c, weight = arc_of(k, end, rows)
            new = wide(plus(shared.keys[other], weight))
            if narrow(new) < narrow(load_now(it.best, p)):
                send(new, p, c, it)
        return key

    return arc_of, cross


def _make_visit(nothing: Any, vertex: _Vertex, arc_of: Any, cross: Any) -> Any:
    """A device function that visits a cluster."""
    load, looks_at, fresh, absorb, lower, write = vertex

    @inlined
    def visit(c, n, rows, it, shared):
        """Visit a cluster until none of its keys falls any more, and its block is needed elsewhere or all is over."""
        begin = np.int64(rows.begins[c])
        count, warp = np.int64(rows.begins[c + 1]) - begin, np.uint32(block_thread() // WARP)
        i = np.uint32(warp * np.uint32(_OF_WARP) + np.uint32(lane()))
        j, k, m = np.uint32(i + WARP), np.uint32(i + 2 * WARP), np.uint32(i + 3 * WARP)
        first, end = np.int64(rows.border_begins[c]), np.int64(rows.border_begins[c + 1])
        at_i, at_j = fresh(i, begin, count, it), fresh(j, begin, count, it)
        at_k, at_m = fresh(k, begin, count, it), fresh(m, begin, count, it)
        near_i, lengths_i, more_i = load(i, begin, count, n, rows)
        near_j, lengths_j, more_j = load(j, begin, count, n, rows)
        near_k, lengths_k, more_k = load(k, begin, count, n, rows)
        near_m, lengths_m, more_m = load(m, begin, count, n, rows)
        arc, sent = arc_of(first + block_thread(), end, rows), nothing
        old_i, old_j, old_k, old_m = at_i, at_j, at_k, at_m
        shared.keys[i], shared.keys[j], shared.keys[k], shared.keys[m] = at_i, at_j, at_k, at_m
        if lane() == 0:
            shared.lowered[warp] = np.uint32(1)
        block_barrier()
        more = ballot(more_i + more_j + more_k + more_m > 0) != 0
        one = looks_at(i, near_i, begin, count, more, rows) | looks_at(j, near_j, begin, count, more, rows)
        two = looks_at(k, near_k, begin, count, more, rows) | looks_at(m, near_m, begin, count, more, rows)
        watched, turn, looks = _all_bits(one | two), np.uint32(0), np.int64(0)
        while True:
            settled, waiting, ended = False, LARGEST, np.int64(0)
            if block_thread() == 0:
                waiting, ended = load_now(it.pending, c), load_now(it.control, ENDED)
            for _ in range(MEET):
                lowering, falls = _lowering(turn, shared), False
                if lowering == 0:
                    settled = True
                    break
                turn = np.uint32(_WARPS - turn)
                if lowering & watched != 0:
                    new_i = lower(i, at_i, near_i, lengths_i, more, begin, count, rows, shared)
                    new_j = lower(j, at_j, near_j, lengths_j, more, begin, count, rows, shared)
                    new_k = lower(k, at_k, near_k, lengths_k, more, begin, count, rows, shared)
                    new_m = lower(m, at_m, near_m, lengths_m, more, begin, count, rows, shared)
                    falls = new_i < at_i or new_j < at_j or new_k < at_k or new_m < at_m
                    at_i, at_j, at_k, at_m = new_i, new_j, new_k, new_m
                falls = ballot(falls) != 0
                if lane() == 0:
                    shared.lowered[np.uint32(turn + warp)] = np.uint32(falls)
                block_barrier()
            old_i, old_j = write(i, at_i, old_i, begin, it), write(j, at_j, old_j, begin, it)
            old_k, old_m = write(k, at_k, old_k, begin, it), write(m, at_m, old_m, begin, it)
            if block_thread() == 0:
                looks = look(looks, it)
                woken = waiting < LARGEST and wake(c, -1, it)
                shared.chosen[0] = OVER if ended != 0 else np.int64(woken)
            sent = cross(arc, sent, first, end, rows, it, shared)
            block_barrier()
            if settled and shared.chosen[0] == 0:
                block_barrier()
                if block_thread() == 0:
                    shared.chosen[0] = np.int64(rest(c, it))
                block_barrier()
            if shared.chosen[0] > 0:
                new_i, new_j = fresh(i, begin, count, it), fresh(j, begin, count, it)
                new_k, new_m = fresh(k, begin, count, it), fresh(m, begin, count, it)
                new_i, new_j = absorb(i, at_i, new_i, shared), absorb(j, at_j, new_j, shared)
                new_k, new_m = absorb(k, at_k, new_k, shared), absorb(m, at_m, new_m, shared)
                falls = new_i < at_i or new_j < at_j or new_k < at_k or new_m < at_m
                at_i, at_j, at_k, at_m = new_i, new_j, new_k, new_m
                old_i, old_j, old_k, old_m = (
                    min(old_i, new_i),
                    min(old_j, new_j),
                    min(old_k, new_k),
                    min(old_m, new_m),
                )
                falls = ballot(falls) != 0
                if lane() == 0 and falls:
                    shared.lowered[np.uint32(turn + warp)] = np.uint32(1)
            elif settled or shared.chosen[0] == OVER:
                break
            block_barrier()

    return visit


def make_visits(value: np.dtype, short: np.dtype, plus: Any, weight_of: Any) -> Any:
    """The loop, a device function.

    Args:
        value: the dtype of keys in memory.
        short: the dtype of keys in shared memory, in the same order and of the same size.
        plus: ``plus(key, weight)``: the key at the end of an arc, in this dtype; no less than `key`.
        weight_of: ``weight_of(k, weights)``: the weight of an arc.

    Returns:
        ``visits(n, rows, it, shared, generation)``, of `ClusterRows`, `Visits` and `Shared`. All threads call it after
        keys were set, the first clusters woken, and a barrier. It returns the generation of the last barrier.
    """
    nothing, how = short.type(np.iinfo(value).max), (value, short, plus, weight_of)
    return make_loop(_make_visit(nothing, _make_vertex(*how), *_make_border(*how)))


def make_loop(visit: Any) -> Any:
    """The loop over visits, a device function like that of `make_visits`.

    Args:
        visit: ``visit(c, n, rows, it, shared)``: visit cluster c. All threads of a block call it.
    """

    @device_function
    def visits(n, rows, it, shared, generation):
        control, visited, is_idle = it.control, np.int64(0), False
        while True:
            c = take(rows, it, shared)
            if c == OVER:
                break
            if c < 0:
                if not is_idle and block_thread() == 0:
                    atomic_add(control, IDLE, 1)
                is_idle = True
                continue
            if is_idle and block_thread() == 0:
                atomic_add(control, IDLE, -1)
            is_idle = False
            visit(c, n, rows, it, shared)
            visited += 1
            fence()
            block_barrier()
            if block_thread() == 0:
                give_up(c, it)
                if block_index() == 0:
                    it.host[PROGRESS] = visited
        if block_thread() == 0:
            atomic_add(control, VISITS, visited)
        generation = grid_barrier(control, generation)
        if thread_index() == 0:
            it.host[VISITED] = control[VISITS]
        return generation

    return visits
