# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Kernels of a breadth-first search on several ranks with GPUs; `edgewise.algorithms.bfs.ranks_cuda` starts them.

The frontier is a bitmap. *Pushing* marks the targets of a rank's own frontier in a bitmap of all vertices, and what is
new in it goes to the owners, which set the level of those that they had not reached. *Pulling* lets each unreached own
vertex look for its first in-neighbour in the frontier, of which each rank has told the others its own part.

Bitmaps of ranks are sent with a few words behind them, which say how large the frontier of a rank is. A rank whose
frontier has few arcs pushes before it knows those of others. If that was too early, for all ranks pull then, nothing
is lost: what it has marked is found by pulling, too.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import GraphOnGpu
from edgewise.kernels.cuda.arguments import AtomicInt64s, Int32s, Int64s, type_of
from edgewise.kernels.cuda.device import (
    INT64,
    UINT32,
    WARP,
    WARPS,
    atomic_or,
    ballot,
    block_size,
    block_thread,
    cuda,
    device_function,
    first_bit,
    grid_barrier,
    inlined,
    lane,
    num_threads,
    shuffle,
    thread_index,
)
from edgewise.kernels.words import Allocator
from edgewise.primitives.bitmaps import (
    BITS,
    SHIFT,
    bit_of,
    bits_between,
    is_of_lane,
    is_set,
    lanes_of,
    word_with,
    words_for,
)
from edgewise.primitives.block_queues import FEW_EDGES
from edgewise.primitives.control import control_words
from edgewise.primitives.deal import TALLY_WORDS, add_to_total, degree, list_pieces, make_walk
from edgewise.primitives.direction import SEARCH_RATIO, pays_to_pull
from edgewise.primitives.first_match import make_find
from edgewise.primitives.warp_buffers import BOX_WORDS, Boxes, make_outbox

#: Words of `control`: PIECES, FOUND and EDGES are the pieces, the vertices and the out-edges of this rank's frontier.
#: The frontier is on the level DEPTH, and those before it have EXPLORED out-edges on all ranks.
_CONTROL = control_words()
PIECES, FOUND, EDGES, DEPTH, EXPLORED = (_CONTROL.take() for _ in range(5))
CONTROL_WORDS = _CONTROL.size
#: Words behind the bitmap that a rank sends: the vertices and the out-edges of its frontier, whether it waits for a
#: decision before it pushes, and DEPTH and EXPLORED.
_TOLD = Allocator(0)
TOLD_FOUND, TOLD_EDGES, TOLD_WAITS, TOLD_DEPTH, TOLD_EXPLORED = (_TOLD.take() for _ in range(5))
TOLD_WORDS = _TOLD.size
#: Words of 32 bits of a block that pushes: boxes, and a count for each of its warps.
_BLOCK_WORDS = BOX_WORDS + WARPS
#: What `push_kernel` does: begin with the sources; take what ranks have marked, and push; push, as was decided.
BEGIN, GO_ON, PUSH = range(3)
#: How often the threads of either kernel wait for each other.
PUSH_BARRIERS, PULL_BARRIERS = 4, 2
_pays_to_pull, _num_words = inlined(pays_to_pull), device_function(words_for)


class Searching(NamedTuple):
    """What the kernels take.

    Attributes:
        graph: this rank's rows and in-edges; other rows are empty.
        level, parent: shape (n,); those of own vertices are -1 at first, and set where they are found by pulling.
        reached: a bitmap: of own vertices those that were reached or marked, of others those that were marked here.
        kept: a bitmap: of own vertices those that were reached, or that no arc leads to; of others those that were
            told to be marked.
        frontier: a bitmap, of all ranks.
        slots: for each rank a part of a bitmap, from the first word that has a vertex of it to the last one, and
            TOLD_WORDS: what is marked of its vertices, or its frontier. This rank's own frontier stays here.
        got: for each rank what it has marked of this one's vertices, with the words that it told, shape
            (num_ranks, words + TOLD_WORDS).
        places: for each rank the first word of its vertices, how many there are, and where its part of `slots` begins.
        sources: vertices.
        pieces: a list, for the own frontier.
        control: see there.
        n, m: vertices and arcs of the graph.
        num_ranks, rank: the ranks, and which this is.
        low, high: the own vertices, from `low` to `high` - 1.
        num_sources, limit: sources, and the highest level wanted.
        may_pull: whether in-edges are there, on all ranks.
        step: of `push_kernel`.
        turn: how often the threads have waited for each other before.
    """

    graph: GraphOnGpu
    level: Int32s
    parent: Int32s
    reached: AtomicInt64s
    kept: Int64s
    frontier: Int64s
    slots: Int64s
    got: Int64s
    places: Int64s
    sources: Int64s
    pieces: Int64s
    control: AtomicInt64s
    n: int
    m: int
    num_ranks: int
    rank: int
    low: int
    high: int
    num_sources: int
    limit: int
    may_pull: bool
    step: int
    turn: int


def signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the kernels' arguments for graphs with offsets of this dtype."""
    return (type_of(Searching, offset=offsets),)


@device_function
def _words_of(rank: Any, it: Any) -> Any:
    """The first word of a rank's vertices, how many there are, and where its part of `slots` begins."""
    return it.places[3 * rank], it.places[3 * rank + 1], it.places[3 * rank + 2]


@device_function
def _told_in_slots(rank: Any, it: Any) -> Any:
    """Where the words are that a rank told, in `slots`."""
    _, words, begin = _words_of(rank, it)
    return begin + words


@device_function
def _told_in_got(rank: Any, it: Any) -> Any:
    """Where the words are that a rank told, in `got`."""
    _, words, _ = _words_of(it.rank, it)
    return rank * (words + TOLD_WORDS) + words


@device_function
def _write_told(told: Any, place: Any, found: Any, edges: Any, waits: Any, depth: Any, explored: Any) -> None:
    """Write what a rank tells."""
    told[place + TOLD_FOUND] = found
    told[place + TOLD_EDGES] = edges
    told[place + TOLD_WAITS] = waits
    told[place + TOLD_DEPTH] = depth
    told[place + TOLD_EXPLORED] = explored


@device_function
def _count(edges: Any, found: Any, tally: Any, control: Any) -> None:
    """Add what the threads of this block found to the frontier's totals."""
    add_to_total(edges, 0, tally, control, EDGES)
    add_to_total(found, 1, tally, control, FOUND)


@device_function
def _mark(takes: Any, v: Any, key: Any, k: Any, context: Any) -> Any:
    """Mark the target of one arc of the frontier."""
    targets, reached = context
    if takes:
        target = np.int64(targets[k])
        if not is_set(reached, target):
            atomic_or(reached, target >> SHIFT, bit_of(target))
    return np.int64(0), np.int64(0)


_push = make_walk(_mark, vertex=False)


@device_function
def _list_found(v: Any, wanted: Any, it: Any) -> Any:
    """List the pieces of vertices of the frontier."""
    return list_pieces(v, wanted, it.pieces, it.control, PIECES, it.graph.offsets)


_put, _flush = make_outbox(0, _list_found)


@device_function
def _is_in(u: Any, key: Any, frontier: Any) -> Any:
    return is_set(frontier, u)


_find = make_find(_is_in)


@device_function
def _taken(w: Any, i: Any, it: Any) -> Any:
    """The vertices of word w, the i-th of the own ones, that are reached now: they were marked, and not reached yet."""
    _, words, _ = _words_of(it.rank, it)
    marked = np.int64(it.reached[w])
    for rank in range(it.num_ranks):
        if rank != it.rank:
            marked |= it.got[rank * (words + TOLD_WORDS) + i]
    fresh = marked & ~it.kept[w] & bits_between(w, it.low, it.high)
    it.kept[w] |= fresh
    it.reached[w] |= fresh
    return fresh


@device_function
def _settle(depth: Any, it: Any) -> Any:
    """Set the level of own vertices that are reached now, the frontier; its out-edges, and how many this thread saw."""
    first, words, slot = _words_of(it.rank, it)
    edges, found = np.int64(0), np.int64(0)
    for begin in range(thread_index() - lane(), words, num_threads()):
        i, fresh = begin + lane(), np.int64(0)
        if i < words:
            fresh = _taken(first + i, i, it)
            it.slots[slot + i] = fresh
        rest = ballot(fresh != 0)
        while rest != 0:
            holder = first_bit(rest)
            word = shuffle(fresh, holder)
            for part in range(0, BITS, WARP):
                if is_of_lane(lanes_of(word, part)):
                    v = (first + begin + holder) * BITS + part + lane()
                    it.level[v] = depth
                    if depth == 1 and it.num_sources == 1:  # a hub has many in-neighbours before the source
                        it.parent[v] = it.sources[0]
                    found += 1
                    edges += degree(v, it.graph.offsets)
            rest = np.uint32(rest & (rest - np.uint32(1)))
    return edges, found


@device_function
def _list_frontier(boxes: Any, it: Any) -> None:
    """List the pieces of the own frontier."""
    first, words, slot = _words_of(it.rank, it)
    for begin in range(thread_index() - lane(), words, num_threads()):
        i, fresh = begin + lane(), np.int64(0)
        if i < words:
            fresh = np.int64(it.slots[slot + i])
        rest = ballot(fresh != 0)
        while rest != 0:
            holder = first_bit(rest)
            word = shuffle(fresh, holder)
            for part in range(0, BITS, WARP):
                v = (first + begin + holder) * BITS + part + lane()
                _put(v, is_of_lane(lanes_of(word, part)), boxes, it)
            rest = np.uint32(rest & (rest - np.uint32(1)))
    _flush(boxes, it)


@device_function
def _hand_over(it: Any) -> None:
    """Put what is marked of vertices of other ranks, and was not told yet, into their slots."""
    for w in range(thread_index(), _num_words(it.n), num_threads()):
        others = ~bits_between(w, it.low, it.high)
        if others != 0:
            fresh = np.int64(it.reached[w]) & ~it.kept[w] & others
            if fresh != 0:
                it.kept[w] |= fresh
            for rank in range(it.num_ranks):
                first, words, slot = _words_of(rank, it)
                if rank != it.rank and first <= w < first + words:
                    it.slots[slot + w - first] = fresh


@device_function
def _would_wait(edges: Any, explored: Any, it: Any) -> Any:
    """Whether a frontier is to be pushed only if all ranks decide so: pulling would pay if all had as many arcs."""
    total = edges * it.num_ranks
    pays = total > FEW_EDGES and _pays_to_pull(total, it.m - explored - total, SEARCH_RATIO)
    return it.may_pull != 0 and pays


def push_kernel(it):
    """Take what ranks have marked, and push from the frontier that this makes; see `Searching`."""
    words_of_32 = cuda.shared.array(_BLOCK_WORDS, UINT32)
    tally = cuda.shared.array(TALLY_WORDS, INT64)
    boxes = Boxes(words_of_32[:BOX_WORDS], words_of_32[BOX_WORDS:])
    me, control, turn = thread_index(), it.control, it.turn
    for i in range(block_thread(), WARPS, block_size()):
        boxes.held[i] = 0
    depth, explored = np.int64(control[DEPTH]), np.int64(control[EXPLORED])
    waited = it.slots[_told_in_slots(it.rank, it) + TOLD_WAITS] != 0
    settles = it.step == BEGIN
    if it.step == GO_ON:
        total, waiting = np.int64(0), np.int64(0)
        for rank in range(it.num_ranks):
            told = _told_in_got(rank, it)
            total += it.got[told + TOLD_FOUND]
            waiting += it.got[told + TOLD_WAITS]
            explored += it.got[told + TOLD_EDGES]
        settles = total != 0 and waiting == 0
        depth += 1
    if it.step == BEGIN:
        for i in range(me, it.num_sources, num_threads()):
            atomic_or(it.reached, it.sources[i] >> SHIFT, bit_of(it.sources[i]))
    if me == 0:
        control[PIECES] = 0
        if settles:
            control[FOUND] = 0
            control[EDGES] = 0
    turn = grid_barrier(control, turn)
    if settles:
        edges, found = _settle(depth, it)
        _count(edges, found, tally, control)
    turn = grid_barrier(control, turn)
    waits = depth >= it.limit or _would_wait(control[EDGES], explored, it)
    pushes = settles and not waits
    if it.step == PUSH:
        waits, pushes = False, waited
    if pushes:
        _list_frontier(boxes, it)
    turn = grid_barrier(control, turn)
    if pushes:
        _push(it.pieces, control[PIECES], it.graph.offsets, (it.graph.targets, it.reached))
    turn = grid_barrier(control, turn)
    if pushes:
        _hand_over(it)
    if settles or it.step == PUSH:
        found, edges, word = control[FOUND], control[EDGES], np.int64(waits)
        for rank in range(me, it.num_ranks, num_threads()):
            _write_told(it.slots, _told_in_slots(rank, it), found, edges, word, depth, explored)
        if me == 0:
            _write_told(it.got, _told_in_got(it.rank, it), found, edges, word, depth, explored)
            control[DEPTH] = depth
            control[EXPLORED] = explored


@device_function
def _join_frontier(it: Any) -> None:
    """Make the frontier of the parts that ranks told."""
    for w in range(thread_index(), _num_words(it.n), num_threads()):
        word = np.int64(0)
        for rank in range(it.num_ranks):
            first, words, slot = _words_of(rank, it)
            if first <= w < first + words:
                word |= it.slots[slot + w - first]
        it.frontier[w] = word
        it.reached[w] |= word


@device_function
def _pull(depth: Any, it: Any) -> Any:
    """Let each unreached own vertex look for a parent in the frontier; out-edges and number of those that found one.

    Vertices without in-edges are not looked at again.
    """
    first, words, slot = _words_of(it.rank, it)
    in_offsets, edges, found = it.graph.in_offsets, np.int64(0), np.int64(0)
    for i in range(thread_index() // WARP, words, num_threads() // WARP):
        w, fresh, alone = first + i, np.int64(0), np.int64(0)
        left = ~it.kept[w] & bits_between(w, it.low, it.high)
        for part in range(0, BITS, WARP):
            bits = lanes_of(left, part)
            if bits != 0:
                v, wanted = w * BITS + part + lane(), is_of_lane(bits)
                u = _find(wanted, v, np.int64(0), in_offsets, it.graph.in_sources, it.frontier)
                if u >= 0:
                    it.level[v] = depth
                    it.parent[v] = u
                    found += 1
                    edges += degree(v, it.graph.offsets)
                fresh = word_with(u >= 0, fresh, part)
                alone = word_with(wanted and degree(v, in_offsets) == 0, alone, part)
        if lane() == 0:
            it.slots[slot + i] = fresh
            if fresh | alone != 0:
                it.kept[w] |= fresh | alone
                it.reached[w] |= fresh
    return edges, found


def pull_kernel(it):
    """Pull from the frontier, of which `slots` has the parts of all ranks; see `Searching`."""
    tally = cuda.shared.array(TALLY_WORDS, INT64)
    me, control, turn = thread_index(), it.control, it.turn
    depth, explored = control[DEPTH] + 1, np.int64(control[EXPLORED])
    for rank in range(it.num_ranks):
        explored += it.slots[_told_in_slots(rank, it) + TOLD_EDGES]
    _join_frontier(it)
    if me == 0:
        control[FOUND] = 0
        control[EDGES] = 0
    turn = grid_barrier(control, turn)
    edges, found = _pull(depth, it)
    _count(edges, found, tally, control)
    turn = grid_barrier(control, turn)
    if me == 0:
        place, waits = _told_in_slots(it.rank, it), np.int64(1)
        _write_told(it.slots, place, control[FOUND], control[EDGES], waits, depth, explored)
        control[DEPTH] = depth
        control[EXPLORED] = explored
