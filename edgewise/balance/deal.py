"""Arcs dealt out to the lanes of a warp one by one, and vertices cut into pieces that any warp may take.

The unit of work is a piece: at most `PIECE` arcs of one vertex. A warp takes 32 pieces, adds up their lengths, and its
lanes go over all their arcs side by side: place p belongs to the piece whose arcs begin at or before p. Each arc of a
listed vertex is taken exactly once.
"""

from typing import Any

import numpy as np

from edgewise.kernels.gpu import (
    HALVES,
    WARP,
    atomic_add,
    ballot,
    block_barrier,
    block_thread,
    count_bits,
    device_function,
    first_bit,
    lane,
    lanes_before,
    shuffle,
    shuffle_down,
    shuffle_up,
)

#: Arcs of a piece. A warp goes over 32 pieces in at most 64 steps.
PIECE = 64


def most_pieces(num_vertices: int, num_arcs: int) -> int:
    """How many pieces a graph has at most."""
    return num_vertices + num_arcs // PIECE + 1


@device_function
def sum_to_lane(value: Any) -> Any:
    """The sum of the values of this lane and of those before it."""
    for step in HALVES[::-1]:
        before = shuffle_up(value, step)
        if lane() >= step:
            value += before
    return value


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
def list_pieces(v: Any, wanted: Any, pieces: Any, control: Any, counter: Any, offsets: Any) -> Any:
    """List the pieces of the vertices of those lanes that want it. All lanes of the warp take part.

    Args:
        v, wanted: this lane's vertex, and whether it is to be listed.
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
    count = (arcs + PIECE - 1) // PIECE
    upto = sum_to_lane(count)
    position = np.int64(0)
    if lane() == WARP - 1 and upto > 0:
        position = atomic_add(control, counter, upto)
    position = shuffle(position, WARP - 1) + upto - count
    for i in range(count):
        pieces[position + i] = np.int64(v) | i << 32
    return arcs


@device_function
def arcs_of_piece(piece: Any, offsets: Any) -> Any:
    """The vertex of a piece, where its arcs begin, and how many they are."""
    v = piece & 0xFFFFFFFF
    start = np.int64(offsets[v]) + (piece >> 32) * PIECE
    return v, start, min(np.int64(PIECE), np.int64(offsets[v + 1]) - start)


@device_function
def append(entries: Any, control: Any, counter: Any, v: Any, wanted: Any) -> Any:
    """Add vertices to a list, one of each lane that wants it. All lanes of the warp take part."""
    bits = ballot(wanted)
    if bits != 0:
        leader, position = first_bit(bits), np.int64(0)
        if lane() == leader:
            position = atomic_add(control, counter, count_bits(bits))
        position = shuffle(position, leader)
        if wanted:
            entries[position + lanes_before(bits)] = np.uint32(v)


@device_function
def add_to_totals(edges: Any, found: Any, tally: Any, control: Any, edges_word: Any, found_word: Any) -> None:
    """Add what the threads of this block counted to two words of `control`.

    `tally` is an array that the block shares; its words 0 and 1 are 0 before and after.
    """
    for step in HALVES:
        edges += shuffle_down(edges, step)
        found += shuffle_down(found, step)
    if lane() == 0 and found > 0:
        atomic_add(tally, 0, edges)
        atomic_add(tally, 1, found)
    block_barrier()
    if block_thread() == 0 and tally[1] > 0:
        atomic_add(control, edges_word, tally[0])
        atomic_add(control, found_word, tally[1])
        tally[0] = 0
        tally[1] = 0
