# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""The lightest arc of each of many pieces of rows on a GPU, found by the lanes of warps side by side.

A row is the out-edges of a vertex or, from row n on, its in-edges. Piece v of the first n is vertex v with up to
`PIECE` arcs of each of its rows. The other arcs of longer rows are in more pieces, of up to `PIECE` arcs, which are
listed: a word has the row in its lower half, and the number of the piece within the row in its upper half. So rows of
any length are dealt out evenly, and short ones need no list.

A warp has a piece in each lane. Where all are short, each lane goes over the arcs of its own, a few at once, without
branches, so that their loads overlap. Else the lanes go over all their arcs side by side, as in
`edgewise.primitives.deal`. Lanes with arcs of one piece lie next to each other: a scan of minima that stops where a
piece begins leaves each piece's lightest arc in its last lane, where the lane that has the piece takes it. So there is
no atomic operation.

Arcs of one vertex are in a strict order by their weight, then by the vertex at their other end. Weights are compared by
keys, integers of as many bits in the same order.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.device import (
    HALVES,
    SIMULATED,
    WARP,
    ballot,
    device_function,
    lane,
    num_threads,
    shuffle,
    shuffle_up,
    thread_index,
)
from edgewise.primitives.deal import PIECE, arcs_of_piece, degree, holder_of, reserve
from edgewise.primitives.ordered_keys import key_dtype, make_keys
from edgewise.primitives.running_sums import sum_to_lane
from edgewise.primitives.vertices import LOWER_HALF

#: No other end of an arc: before all, which no arc was found for yet, and after all.
NOT_YET, NOBODY = np.int32(-1), np.int32(2**31 - 1)
#: Arcs up to which a piece is short.
SHORT = 6 if SIMULATED else 16


def make_key(weight: np.dtype) -> Any:
    """A device function from a weight to its key. -0.0 has the key of 0.0."""
    ordered, *_ = make_keys(weight, True)
    kind, key = weight.type, key_dtype(weight).type

    @device_function
    def key_of(value):
        return key(ordered(kind(0) if value == 0 else kind(value)))

    return key_of


def weights_of(keys: Any, weight: np.dtype, xp: Any) -> Any:
    """The weights of an array of keys, by CuPy or NumPy."""
    if weight.kind != "f":
        return keys
    return xp.where(keys < 0, keys ^ np.iinfo(keys.dtype).max, keys).astype(keys.dtype).view(weight)


def most_longer(num_arcs: int) -> int:
    """How many pieces there are at most besides the first ones of rows."""
    return num_arcs // PIECE


@device_function
def list_longer(num_rows: Any, n: Any, graph: Any, longer: Any, control: Any, counter: Any) -> None:
    """List the pieces besides the first ones, by all threads of the grid.

    Args:
        num_rows, n, graph: see `vertex_of` and `arcs_of`.
        longer: int64, shape (most_longer(arcs of all rows),).
        control, counter: the word that counts them.
    """
    for begin in range(thread_index() - lane(), num_rows, num_threads()):
        row, more = begin + lane(), np.int64(0)
        if row < num_rows:
            arcs = degree(row, graph.offsets) if row < n else degree(row - n, graph.in_offsets)
            more = max(np.int64(0), (arcs - 1) // PIECE)
        if ballot(more > 0) != 0:
            position = reserve(more, control, counter)
            for i in range(more):
                longer[position + i] = row | (i + 1) << 32


@device_function
def vertex_of(p: Any, n: Any, longer: Any) -> Any:
    """The vertex that a piece belongs to."""
    if p < n:
        return np.int64(p)
    row = longer[p - n] & LOWER_HALF
    return row if row < n else row - n


class PieceArcs(NamedTuple):
    """Arcs of a piece: `out_length` out-edges from `out_start` on, and likewise in-edges."""

    out_start: Any
    out_length: Any
    in_start: Any
    in_length: Any


@device_function
def no_arcs() -> Any:
    """Those of no piece."""
    return PieceArcs(np.int64(0), np.int64(0), np.int64(0), np.int64(0))


@device_function
def arcs_of(p: Any, n: Any, num_rows: Any, longer: Any, graph: Any) -> Any:
    """The arcs of a piece where there are n or 2 n rows."""
    nothing = np.int64(0)
    if p < n:
        _, start, length = arcs_of_piece(np.int64(p), graph.offsets)
        if num_rows == n:
            return PieceArcs(start, length, nothing, nothing)
        _, in_start, in_length = arcs_of_piece(np.int64(p), graph.in_offsets)
        return PieceArcs(start, length, in_start, in_length)
    piece = np.int64(longer[p - n])
    if (piece & LOWER_HALF) < n:
        _, start, length = arcs_of_piece(piece, graph.offsets)
        return PieceArcs(start, length, nothing, nothing)
    _, start, length = arcs_of_piece(piece - n, graph.in_offsets)
    return PieceArcs(nothing, nothing, start, length)


@device_function
def comes_before(key: Any, end: Any, other_key: Any, other_end: Any) -> Any:
    """Whether an arc comes before another one of its vertex."""
    return (key < other_key) | ((key == other_key) & (end < other_end))


@device_function
def _first_of(one: Any, other: Any) -> Any:
    """The one of two arcs that comes before the other."""
    (key, end), (other_key, other_end) = one, other
    before = comes_before(key, end, other_key, other_end)
    return (key if before else other_key), (end if before else other_end)


def _make_by_lane(arc: Any, heaviest: Any) -> Any:
    """A device function with which each lane goes over the arcs of its own piece."""

    @device_function
    def candidate(key, end, mine, low_key, low_end, looks, component):
        """An arc as `by_lane` takes it: as it is, or as none if it is not after the lowest or does not lead out."""
        follows = comes_before(low_key, low_end, key, end)
        # An arc that need not be asked where it leads asks for vertex 0, as others do.
        leads_out = (component[end if follows & (looks != 0) else 0] != mine) | (looks == 0)
        taken = follows & leads_out
        return (key if taken else heaviest), (end if taken else NOBODY)

    @device_function
    def by_lane(start, length, best_key, best_end, mine, key, end, looks, component, others, weights):
        """The better one of (best_key, best_end) and what `lightest` gives for `length` arcs from `start` on. It takes
        four arcs at once, the last one again where they are fewer."""
        last, best, given = start + length - 1, (best_key, best_end), (mine, key, end, looks, component)
        for k in range(start, start + length, 4):
            one, two = arc(k, others, weights), arc(min(k + 1, last), others, weights)
            three, four = arc(min(k + 2, last), others, weights), arc(min(k + 3, last), others, weights)
            one, two = candidate(*one, *given), candidate(*two, *given)
            three, four = candidate(*three, *given), candidate(*four, *given)
            best = _first_of(best, _first_of(_first_of(one, two), _first_of(three, four)))
        return best

    return by_lane


def _make_side_by_side(arc: Any, heaviest: Any) -> Any:
    """A device function with which the lanes of a warp go over the arcs of all their pieces."""

    @device_function
    def side_by_side(start, length, best_key, best_end, mine, key, end, looks, component, others, weights):
        """The same as `by_lane`, for the pieces of all lanes at once."""
        upto = sum_to_lane(length)
        begin, total = upto - length, shuffle(upto, WARP - 1)
        origin = start - begin
        for first in range(0, total, WARP):
            place = first + lane()
            holder = holder_of(place, upto)
            k, since = shuffle(origin, holder) + place, shuffle(begin, holder)
            low_key, low_end = shuffle(key, holder), shuffle(end, holder)
            high_key, high_end = shuffle(best_key, holder), shuffle(best_end, holder)
            here = shuffle(mine, holder)
            found_key, found_end = heaviest, NOBODY
            if place < total:
                its_key, its_end = arc(k, others, weights)
                between = comes_before(its_key, its_end, high_key, high_end) and comes_before(
                    low_key, low_end, its_key, its_end
                )
                # Where an arc leads is asked last: that is a look anywhere in memory.
                if between and (looks == 0 or component[its_end] != here):
                    found_key, found_end = its_key, its_end
            for step in HALVES[::-1]:
                other_key, other_end = shuffle_up(found_key, step), shuffle_up(found_end, step)
                if place - step >= max(since, first) and comes_before(
                    other_key, other_end, found_key, found_end
                ):
                    found_key, found_end = other_key, other_end
            last = min(upto, first + WARP) - 1
            its_lane = (last - first) & (WARP - 1)
            other_key, other_end = shuffle(found_key, its_lane), shuffle(found_end, its_lane)
            if last >= max(begin, first) and comes_before(other_key, other_end, best_key, best_end):
                best_key, best_end = other_key, other_end
        return best_key, best_end

    return side_by_side


def make_lightest(weight: np.dtype, weighted: bool) -> Any:
    """What finds the lightest arcs, for weights of a dtype, or with the weight 1 for each arc.

    Returns:
        ``lightest(arcs, mine, key, end, looks, component, graph)``, to be called by all lanes of a warp at once: key
        and other end of the first of the lane's `PieceArcs` after (key, end), in their order; (the largest key, NOBODY)
        if there is none. If `looks` is not 0, arcs to vertices whose component is the lane's, `mine`, are left out.
    """
    key_of, key_type = make_key(weight), key_dtype(weight).type
    heaviest = key_type(np.iinfo(key_type).max)

    @device_function
    def arc(k, others, weights):
        """Key and other end of an arc."""
        return (key_of(weights[k]) if weighted else key_type(1)), np.int32(others[k])

    by_lane, side_by_side = _make_by_lane(arc, heaviest), _make_side_by_side(arc, heaviest)

    @device_function
    def lightest(arcs, mine, key, end, looks, component, graph):
        given, out = (mine, key, end, looks, component), (graph.targets, graph.weights)
        into = (graph.in_sources, graph.in_weights)
        out_start, out_length, in_start, in_length = arcs
        if ballot(out_length + in_length > SHORT) == 0:
            best_key, best_end = by_lane(out_start, out_length, heaviest, NOBODY, *given, *out)
            return by_lane(in_start, in_length, best_key, best_end, *given, *into)
        best_key, best_end = side_by_side(out_start, out_length, heaviest, NOBODY, *given, *out)
        return side_by_side(in_start, in_length, best_key, best_end, *given, *into)

    return lightest
