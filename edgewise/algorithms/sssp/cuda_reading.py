# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Reading rows that are sorted by weight, as far as arcs are wanted: what `cuda_apart` does with vertices and arcs.

A warp takes the rows of 32 vertices, first their first lines of 128 bytes, then twice as much of those of which more is
wanted, and so on. Over the link to the host a line takes the same time, however much of it is used.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.sssp.cuda_rows import SortedRows
from edgewise.algorithms.sssp.cuda_sums import make_sums
from edgewise.kernels.cuda.arguments import AtomicInt64s, AtomicUint32s, Int64s, Keys, Uint32s
from edgewise.kernels.cuda.device import (
    WARP,
    atomic_add,
    atomic_exchange,
    atomic_min,
    ballot,
    block_thread,
    count_bits,
    device_function,
    first_bit,
    float_bits,
    lane,
    lanes_before,
    num_threads,
    shuffle,
    thread_index,
    warp_barrier,
)
from edgewise.primitives.control import TURNS, control_words
from edgewise.primitives.deal import PIECE, degree, holder_of, list_arcs
from edgewise.primitives.near_far_piles import DIRECT
from edgewise.primitives.running_sums import sum_to_lane
from edgewise.primitives.vertices import LOWER_HALF, NO_VERTEX
from edgewise.primitives.warp_buffers import make_outbox

#: Words of `control`. These take turns: near vertices and their arcs; whether the run is to end; long pieces of rows;
#: the least distance beyond the range; arcs out of the range, and into all beyond it.
CONTROL = control_words()
NEAR = CONTROL.take_line(TURNS)
ARCS, ENDED, PIECES, LEAST, LEAVING, ENTERING = (CONTROL.take(TURNS) for _ in range(6))
ORPHANED, TOO_FAR = CONTROL.take(), CONTROL.take()
#: Which vertices' rows are read: near ones, those in the range, or those beyond it.
OF_NEAR, OF_RANGE, OF_OTHERS = 0, 1, 2
#: The arcs of a line of 128 bytes. First a row's first line is read, then twice as much in each step.
_LINE = 16
#: A piece of a long row has PIECE * _LONGER arcs.
_LONGER = 16


class Search(NamedTuple):
    """What the kernel takes.

    Attributes:
        rows: the graph.
        best: shape (n,): a vertex's distance, as a key, above its parent.
        stamps: shape (n,): the last superstep for which a vertex was near; at the end, parents.
        near, other_near: shape (most_listed,): one is read while the other is filled.
        pieces: see `most_long_pieces`.
        distance: shape (n,); it may be `best`.
        control, host: zeros, see `CONTROL`, and `cuda_apart.HOST`.
        width: of the first range.
        n, m, source: of the graph.
        most_listed: of more near vertices no list is read, but the stamps of all vertices.
        unreached: the key of no distance.
    """

    rows: SortedRows
    best: AtomicInt64s
    stamps: AtomicUint32s
    near: Uint32s
    other_near: Uint32s
    pieces: Int64s
    distance: Keys
    control: AtomicInt64s
    host: Int64s
    width: float
    n: int
    m: int
    source: int
    most_listed: int
    unreached: int


class Superstep(NamedTuple):
    """What a superstep works with.

    Attributes:
        step: vertices that it makes near are stamped with the number of the next.
        low, high: the range of distances.
        near: the list that is read.
        next_near: the list that is filled.
        turn, following: of words of `control`.
    """

    step: Any
    low: Any
    high: Any
    near: Any
    next_near: Any
    turn: Any
    following: Any


def most_long_pieces(num_arcs: int) -> int:
    """An upper bound of the number of pieces of rows of more than `DIRECT` arcs."""
    return num_arcs // DIRECT + num_arcs // (PIECE * _LONGER) + 1


def farthest(distance: np.dtype) -> int:
    """The key of no distance while the kernel runs: infinity, or the largest of 31 bits."""
    return int(np.float32(np.inf).view(np.int32)) if distance.kind == "f" else 2**31 - 1


@device_function
def _list_near(v: Any, wanted: Any, context: Any) -> Any:
    """List the near vertices of a warp's lanes while there is room, and count them; this lane's arcs, or 0."""
    it, now = context
    bits = ballot(wanted)
    if bits != 0:
        leader, position = first_bit(bits), np.int64(0)
        if lane() == leader:
            position = atomic_add(it.control, NEAR + now.following, count_bits(bits))
        position = shuffle(position, leader) + lanes_before(bits)
        if wanted and position < it.most_listed:
            now.next_near[position] = np.uint32(v)
    return degree(v, it.rows.offsets) if wanted else np.int64(0)


put_near, flush_near = make_outbox(0, _list_near)


def make_begin_of_rows(visit: Any) -> Any:
    """The function that visits the beginnings of a warp's rows, each as far as its arcs go.

    Args:
        visit: ``visit(takes, v, key, k, context)``, called by all lanes of a warp: whether arcs after this one are
            wanted, too, and a number that is added up.

    Returns:
        ``begin_of_rows(v, start, count, key, block, context)``, called by all lanes of a warp, each with the arcs of
        one vertex; the sum of this lane's visits.
    """

    @device_function
    def begin_of_rows(v, start, count, key, block, context):
        total, done, me = np.int64(0), np.int64(0), block_thread()
        # To the end of a line, at least half a line away.
        taken = min(count, (start + _LINE // 2 + _LINE - 1) // _LINE * _LINE - start)
        while ballot(taken > 0) != 0:
            upto = sum_to_lane(taken)
            places, origin, end = shuffle(upto, WARP - 1), start + done - upto + taken, start + done + taken
            block.others[me] = 0
            warp_barrier()
            for first in range(0, places, WARP):
                place = first + lane()
                holder = holder_of(place, upto)
                k, last = shuffle(origin, holder) + place, shuffle(end, holder) - 1
                takes = place < places
                goes_on, one = visit(takes, shuffle(v, holder), shuffle(key, holder), k, context)
                total += one
                if takes and goes_on and k == last:
                    block.others[me - lane() + holder] = 1
            warp_barrier()
            done += taken
            taken = (
                min(count - done, (done + _LINE - 1) // _LINE * _LINE)
                if block.others[me] != 0
                else np.int64(0)
            )
        return total

    return begin_of_rows


def make_read(visit: Any, goes_on: Any) -> Any:
    """The functions that visit rows, and pieces of long rows that the first one listed.

    Args:
        visit: as for `make_begin_of_rows`; its context is ``(arcs, cut, it, now, block)``.
        goes_on: ``goes_on(key, word, cut, low)``: whether arcs of a row are wanted from a weight on, given as a word.
    """
    begin_of_rows = make_begin_of_rows(visit)

    @device_function
    def read(whose, found, offsets, arcs, floors, cut, it, now, block):
        """Visit the rows of some vertices. `found`: how many are near."""
        total, listed = np.int64(0), whose == OF_NEAR and found <= it.most_listed
        for begin in range(thread_index() - lane(), found if listed else it.n, num_threads()):
            i, v, start, count, key, wanted = (
                begin + lane(),
                np.int64(0),
                np.int64(0),
                np.int64(0),
                np.int64(0),
                False,
            )
            if listed:
                if i < found:
                    v = np.int64(now.near[i])
                    key = it.best[v] >> 32
                    wanted = key < now.high
            elif i < it.n:
                v = np.int64(i)
                key = it.best[v] >> 32
                if whose == OF_NEAR:
                    wanted = it.stamps[v] == now.step and key < now.high
                elif whose == OF_RANGE:
                    wanted = now.low <= key < now.high
                else:
                    wanted = key >= now.high
            if wanted and goes_on(key, np.int64(floors[v]) << it.rows.shift << 32, cut, now.low):
                start, count = np.int64(offsets[v]), degree(v, offsets)
            longer = (count + _LONGER - 1) // _LONGER if count > DIRECT else np.int64(0)
            list_arcs(v, longer, it.pieces, it.control, PIECES + now.turn)
            count = np.int64(0) if count > DIRECT else count
            total += begin_of_rows(v, start, count, key, block, (arcs, cut, it, now, block))
        return total

    @device_function
    def read_long(offsets, arcs, cut, it, now, block):
        """Visit the pieces of long rows."""
        total, length, pieces = np.int64(0), np.int64(PIECE * _LONGER), it.control[PIECES + now.turn]
        warp, warps = thread_index() // WARP, num_threads() // WARP
        for begin in range(warp, pieces, warps * WARP):
            i, v, start, count, key = (
                begin + lane() * warps,
                np.int64(0),
                np.int64(0),
                np.int64(0),
                np.int64(0),
            )
            if i < pieces:
                piece = it.pieces[i]
                v = piece & LOWER_HALF
                start = np.int64(offsets[v]) + (piece >> 32) * length
                count = min(length, np.int64(offsets[v + 1]) - start)
                key = it.best[v] >> 32
            total += begin_of_rows(v, start, count, key, block, (arcs, cut, it, now, block))
        return total

    return read, read_long


def make_visits(distance: np.dtype) -> tuple[Any, Any]:
    """Device functions that visit one arc, and say whether further ones are wanted, see `make_read`: to send along it,
    and to look back along it."""
    is_float, none = distance.kind == "f", np.int64(farthest(distance))
    plus, _, _ = make_sums(np.dtype(np.float32) if is_float else np.dtype(np.int64), True)
    if is_float:
        _, real = float_bits(np.dtype(np.float32))

        @device_function
        def sum_of(key, word):
            """The key of the distance at an arc's end."""
            return plus(key, real(np.int32(word >> 32)))

    else:

        @device_function
        def sum_of(key, word):
            return min(plus(key, word >> 32), none)

    @device_function
    def offered(new, key, v):
        """The word that a vertex offers. It is no parent of one that is as near as itself."""
        return new << 32 | (v if new != key else np.int64(NO_VERTEX))

    @device_function
    def is_below(key, word, cut, low):
        return sum_of(key, word) < cut

    @device_function
    def may_improve(key, word, cut, low):
        return sum_of(low, word) <= key

    @device_function
    def send(takes, v, key, k, context):
        arcs, cut, it, now, block = context
        goes_on, is_near, target = False, False, np.int64(0)
        if takes:
            word = arcs[k]
            target, new = word & LOWER_HALF, sum_of(key, word)
            goes_on = is_below(key, word, cut, now.low)
            if not is_float and new >= none:
                it.control[TOO_FAR] = 1
            if goes_on and new < none:
                mine = offered(new, key, v)
                if mine < it.best[target]:
                    before = atomic_min(it.best, target, mine)
                    if new < before >> 32 and new < now.high:
                        is_near = atomic_exchange(it.stamps, target, np.uint32(now.step + 1)) != now.step + 1
        return goes_on, put_near(target, is_near, block, (it, now))

    @device_function
    def look_back(takes, v, key, k, context):
        arcs, cut, it, now, _ = context
        goes_on = False
        if takes:
            word = arcs[k]
            goes_on = may_improve(key, word, cut, now.low)
            if goes_on:
                u = word & LOWER_HALF
                other = it.best[u] >> 32
                if other < now.high:
                    new = sum_of(other, word)
                    if not is_float and new >= none:
                        it.control[TOO_FAR] = 1
                    mine = offered(new, other, u)
                    if new < none and mine < it.best[v]:
                        atomic_min(it.best, v, mine)
        return goes_on, np.int64(0)

    return (send, is_below), (look_back, may_improve)
