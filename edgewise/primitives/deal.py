"""Arcs dealt out to the lanes of a warp one by one, and vertices cut into pieces that any warp may take.

The unit of work is a piece: at most `PIECE` arcs of one vertex. A warp takes 32 pieces and adds up their lengths, which
gives their arcs places. Its lanes take adjacent places; place p belongs to the last piece whose places begin at or
before p. Each arc of a listed vertex is taken exactly once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.kernels.cuda.device import (
    HALVES,
    WARP,
    WARPS,
    atomic_add,
    ballot,
    block_barrier,
    block_thread,
    count_bits,
    device_function,
    first_bit,
    lane,
    lanes_before,
    num_threads,
    shuffle,
    thread_index,
    warp_sum,
)
from edgewise.primitives.running_sums import sum_to_lane

#: The most arcs of a piece. A warp goes over 32 pieces in at most 64 steps.
PIECE = 64
#: The most vertices that a lane finds before its warp lists them; see `append_each`.
MOST_EACH = 8
#: How many words a block shares for `add_to_total`.
TALLY_WORDS = 2 * WARPS


def most_pieces(num_vertices: int, num_arcs: int) -> int:
    """An upper bound of the number of pieces of a graph."""
    return num_vertices + num_arcs // PIECE + 1


@device_function
def holder_of(place: Any, upto: Any) -> Any:
    """The lane that holds a place, where `upto` is the end of each lane's places, from `sum_to_lane`."""
    holder = np.int64(0)
    for step in HALVES:
        if shuffle(upto, holder + step - 1) <= place:
            holder += step
    return holder


@device_function
def degree(v: Any, offsets: Any) -> Any:
    """How many arcs a vertex has."""
    return np.int64(offsets[v + 1]) - np.int64(offsets[v])


@device_function
def list_nothing(v: Any, active: Any, counter: Any, run: Any) -> Any:
    """`list_units` of strategies that need no list but that of active vertices: the degree of this lane's, or 0.

    The arguments are those of `edgewise.balance.contract.Traversal.list_units`.
    """
    return degree(v, run.graph.offsets) if active else np.int64(0)


@device_function
def reserve(count: Any, control: Any, counter: Any) -> Any:
    """Make room in a list for `count` entries of this lane; where they begin. All lanes of the warp take part.

    Args:
        count: how many entries this lane has.
        control, counter: the word that counts all entries.
    """
    upto = sum_to_lane(count)
    position = np.int64(0)
    if lane() == WARP - 1 and upto > 0:
        position = atomic_add(control, counter, upto)
    return shuffle(position, WARP - 1) + upto - count


@device_function
def list_arcs(name: Any, arcs: Any, pieces: Any, control: Any, counter: Any) -> None:
    """List the pieces of this lane's `arcs` arcs, each named by `name` in the lower half and its number in the upper.

    All lanes of the warp take part.
    """
    count = (arcs + PIECE - 1) // PIECE
    if ballot(count > 0) != 0:
        position = reserve(count, control, counter)
        for i in range(count):
            pieces[position + i] = np.int64(name) | i << 32


@device_function
def list_pieces(v: Any, wanted: Any, pieces: Any, control: Any, counter: Any, offsets: Any) -> Any:
    """List the pieces of the vertices of lanes with `wanted`. All lanes of the warp take part.

    Args:
        v, wanted: this lane's vertex, and whether to list it.
        pieces: int64: vertex and number of the piece, in the lower and upper half.
        control, counter: the word that counts the pieces.
        offsets: of the graph.

    Returns:
        The degree of this lane's vertex; 0 if it is not listed.
    """
    if ballot(wanted) == 0:
        return np.int64(0)
    arcs = np.int64(0)
    if wanted:
        arcs = degree(v, offsets)
    list_arcs(v, arcs, pieces, control, counter)
    return arcs


@device_function
def arcs_of_piece(piece: Any, offsets: Any) -> Any:
    """The vertex of a piece, its first arc, and how many arcs it has."""
    v = piece & 0xFFFFFFFF
    start = np.int64(offsets[v]) + (piece >> 32) * PIECE
    return v, start, min(np.int64(PIECE), np.int64(offsets[v + 1]) - start)


def make_deal(visit: Callable[..., Any], vertex: bool = True, key: bool = False) -> Any:
    """The function that deals the arcs of a warp's vertices out to its lanes, one by one.

    Args:
        visit: ``visit(takes, v, key, k, context)``, called by all lanes of the warp at once: lanes with `takes` have
            arc k of vertex v. It returns two numbers that are added up.
        vertex, key: whether `visit` uses the vertex, and the key of the vertex; else it is given 0.

    Returns:
        ``deal(v, start, count, key, context)``, called by all lanes of a warp at once, each with the arcs start to
        start + count - 1 of a vertex; the two sums of this lane's visits.
    """
    with_vertex, with_key = vertex, key

    @device_function
    def deal(v, start, count, key, context):
        upto = sum_to_lane(count)
        total, origin = shuffle(upto, WARP - 1), start - upto + count
        first_sum, second_sum = np.int64(0), np.int64(0)
        for first in range(0, total, WARP):
            place, source, given = first + lane(), np.int64(0), np.int64(0)
            holder = holder_of(place, upto)
            k = shuffle(origin, holder) + place
            if with_vertex:
                source = shuffle(v, holder)
            if with_key:
                given = shuffle(key, holder)
            one, two = visit(place < total, source, given, k, context)
            first_sum += one
            second_sum += two
        return first_sum, second_sum

    return deal


def make_deal_ahead(load: Callable[..., Any], visit: Callable[..., Any]) -> Any:
    """`make_deal` for visits that begin with what lies beside an arc: it is read while the arc before is visited.

    Args:
        load: ``load(k, context)``: what lies beside arc k. A lane without an arc reads that of another one.
        visit: as for `make_deal`, with the vertex and its key; in place of the arc it is given what `load` found.
    """

    @device_function
    def deal(v, start, count, key, context):
        first_sum, second_sum, upto = np.int64(0), np.int64(0), sum_to_lane(count)
        total, origin = shuffle(upto, WARP - 1), start - upto + count
        if total == 0:
            return first_sum, second_sum
        place = min(np.int64(lane()), total - 1)
        holder = holder_of(place, upto)
        found = load(shuffle(origin, holder) + place, context)
        for first in range(0, total, WARP):
            source, given = shuffle(v, holder), shuffle(key, holder)
            place = min(np.int64(first + WARP + lane()), total - 1)
            holder = holder_of(place, upto)
            ahead = load(shuffle(origin, holder) + place, context)
            one, two = visit(first + lane() < total, source, given, found, context)
            first_sum += one
            second_sum += two
            found = ahead
        return first_sum, second_sum

    return deal


def make_walk(
    visit: Callable[..., Any],
    vertex: bool = True,
    key: Callable[..., Any] | None = None,
    load: Callable[..., Any] | None = None,
) -> Any:
    """The function that visits every arc of listed pieces.

    Args:
        visit, vertex: as for `make_deal`.
        key: ``key(v, context)``: the key of a piece's vertex, or None if `visit` does not use it.
        load: as for `make_deal_ahead`, if `visit` is one for that.

    Returns:
        ``walk(pieces, count, offsets, context)``, called by all threads; the two sums of this lane's visits.
    """
    has_key, key_of = key is not None, key or degree
    deal = make_deal(visit, vertex, has_key) if load is None else make_deal_ahead(load, visit)

    @device_function
    def walk(pieces, count, offsets, context):
        warp, warps = thread_index() // WARP, num_threads() // WARP
        first_sum, second_sum = np.int64(0), np.int64(0)
        for begin in range(warp, count, warps * WARP):
            i = begin + lane() * warps
            v, start, length, given = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
            if i < count:
                v, start, length = arcs_of_piece(pieces[i], offsets)
                if has_key:
                    given = np.int64(key_of(v, context))
            one, two = deal(v, start, length, given, context)
            first_sum += one
            second_sum += two
        return first_sum, second_sum

    return walk


@device_function
def append(entries: Any, control: Any, counter: Any, v: Any, wanted: Any) -> Any:
    """Add the vertices of lanes with `wanted` to a list. All lanes of the warp take part."""
    bits = ballot(wanted)
    if bits != 0:
        leader, position = first_bit(bits), np.int64(0)
        if lane() == leader:
            position = atomic_add(control, counter, count_bits(bits))
        position = shuffle(position, leader)
        if wanted:
            entries[position + lanes_before(bits)] = np.uint32(v)


@device_function
def place_in_block(count: Any, tally: Any) -> Any:
    """Where what this warp counted begins in what all warps of the block did, one after the other, and how much that
    is in all. All threads of the block take part; `tally` is as for `add_to_total`, of which the first half is used."""
    warp = block_thread() // WARP
    if lane() == 0:
        tally[warp] = count
    block_barrier()
    place, total = np.int64(0), np.int64(0)
    for other in range(WARPS):
        if other == warp:
            place = total
        total += tally[other]
    return place, total


@device_function
def append_each(entries: Any, control: Any, counter: Any, first: Any, found: Any, each: Any) -> None:
    """Add several vertices for each lane to a list, ascending, with one addition to its length for the warp. All lanes
    of the warp take part.

    Args:
        entries, control, counter: the list, and the word that counts its entries.
        first: of the warp's vertices; those of a lane are `WARP` apart.
        found: a bit for each vertex of this lane: whether to add it.
        each: how many vertices a lane has, at most `MOST_EACH`.
    """
    place = reserve(np.int64(count_bits(found)), control, counter)
    place = shuffle(place, 0)
    for i in range(each):
        wanted = (found >> np.uint32(i)) & np.uint32(1) != 0
        bits = ballot(wanted)
        if wanted:
            entries[place + lanes_before(bits)] = np.uint32(first + i * WARP + lane())
        place += count_bits(bits)


@device_function
def add_to_total(value: Any, half: Any, tally: Any, control: Any, word: Any) -> None:
    """Add what the threads of this block counted to a word of `control`.

    `tally` is int64, (TALLY_WORDS,), shared by the block. Two calls with no barrier between them must use different
    halves of it, 0 and 1.
    """
    value = warp_sum(value)
    first = half * WARPS
    if lane() == 0:
        tally[first + block_thread() // WARP] = value
    block_barrier()
    if block_thread() < WARP:
        total = np.int64(0)
        for warp in range(block_thread(), WARPS, WARP):
            total += tally[first + warp]
        total = warp_sum(total)
        if block_thread() == 0 and total != 0:
            atomic_add(control, word, total)
