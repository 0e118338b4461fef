"""Sums over rows whose arcs carry several values each: a lane for each value, a team of lanes for each row.

Every vertex has a power of two of adjacent values, at most as many as a warp has lanes, and a mask that says which of
them count now. Each lane of a team looks at the mask of one neighbour. Then groups of lanes, one lane for each value,
go over the neighbours that have wanted values; what a group reads is in one or two cache lines. Part of a warp takes a
row of few arcs, a warp takes a row of at most `LONG`, and a block takes a longer one.

The place of an arc in its row decides which group adds it up, and sums of groups are added in a fixed order. So the
same call gives the same sums.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.device import (
    HALVES,
    SIMULATED,
    WARP,
    WARPS,
    atomic_add,
    ballot,
    block_barrier,
    block_size,
    block_thread,
    device_function,
    first_bit,
    lane,
    load_once,
    shuffle,
    shuffle_down,
)
from edgewise.primitives.deal import reserve
from edgewise.primitives.vertices import HUB

#: A row of more than LONG arcs is taken by a block. A row is taken by part of a warp if it has at most FEW arcs, or at
#: most as many as a vertex has values.
LONG, FEW = (16, 1) if SIMULATED else (HUB, 8)
#: How many words a block shares to add up the sums of its warps.
SHARED_SUMS = WARPS * WARP
_LOG_WARP = WARP.bit_length() - 1
_LOG_FEW = FEW.bit_length() - 1


class SummedRows(NamedTuple):
    """Rows, and what their neighbours have.

    Attributes:
        offsets, neighbours: of the rows.
        masks, now: a uint32 array, and uint64: the mask of vertex v is at now + v. Sums of terms do not use them.
        values, powers: float64 and int32: those of v begin at v << shift. Sums without powers do not use the latter.
        shift: each vertex has 1 << shift values.
    """

    offsets: Any
    neighbours: Any
    masks: Any
    now: Any
    values: Any
    powers: Any
    shift: Any


class Worklist(NamedTuple):
    """The worklist of long rows, and what a block shares to add them up.

    Attributes:
        rows: int64: vertex and mask of what is wanted, in the lower and upper half.
        control, word: an int64 array, and the index of the first of two words: how many rows are on the worklist, and
            how many blocks have taken.
        sums, powers: float64 and int32, (SHARED_SUMS,), shared by the block.
        taken: int64, (1,), shared by the block.
    """

    rows: Any
    control: Any
    word: Any
    sums: Any
    powers: Any
    taken: Any


@device_function
def slot_of_lane(shift: Any) -> Any:
    """The index of the value of a vertex that this lane adds up."""
    return np.uint32(lane() & ((1 << shift) - 1))


@device_function
def _small(shift: Any) -> Any:
    """The base-2 logarithm of the size of the smallest team."""
    return min(max(shift, np.int64(_LOG_FEW)), np.int64(_LOG_WARP))


@device_function
def turn_of_lane(shift: Any) -> Any:
    """Which of a warp's rows this lane takes. Consecutive rows go to different teams."""
    small = _small(shift)
    return (lane() & ((1 << small) - 1)) << (_LOG_WARP - small) | lane() >> small


@device_function
def _places(team: Any, shift: Any) -> Any:
    """The arcs of a step of a team that this lane's group adds up, as bits of the lanes that look at them."""
    groups = team >> shift
    bits, step = np.int64(1), groups
    while step < team:
        bits |= bits << step
        step += step
    return np.uint32(bits << ((lane() & -team) + ((lane() & (team - 1)) >> shift)))


@device_function
def list_long(v: Any, wanted: Any, is_long: Any, worklist: Any) -> None:
    """Put the rows of lanes with `is_long` on the worklist. All lanes of the warp take part."""
    if ballot(is_long) != 0:
        place = reserve(np.int64(is_long), worklist.control, worklist.word)
        if is_long:
            worklist.rows[place] = np.int64(v) | np.int64(wanted) << 32


@device_function
def take_long(worklist: Any) -> Any:
    """The index of the block's next row on the worklist. If no row is left, it is at least their number."""
    block_barrier()
    if block_thread() == 0:
        worklist.taken[0] = atomic_add(worklist.control, worklist.word + 1, 1)
    block_barrier()
    return worklist.taken[0]


@device_function
def _without_lowest(bits: Any) -> Any:
    """The bits without the lowest one that is set."""
    return np.uint32(np.int64(bits) & (np.int64(bits) - 1))


def _make_value_of(has_powers: bool) -> Any:
    """A device function that reads the value of a neighbour, and its power where values have powers."""

    @device_function
    def value_of(bits, u, found, slot, rows):
        """This lane's value of the lowest neighbour in `bits`, and its power; 0 if that value does not count."""
        holder = first_bit(bits) & (WARP - 1)
        vertex, mask = shuffle(np.int32(u), holder), np.uint32(shuffle(found, holder))
        value, power = 0.0, np.int32(0)
        if bits != 0 and (mask >> slot) & np.uint32(1) != 0:
            place = np.int64(vertex) << rows.shift | np.int64(slot)
            value = rows.values[place]
            if has_powers:
                power = rows.powers[place]
        return value, power

    return value_of


def _make_add_neighbours(has_powers: bool, plus: Any) -> Any:
    """A device function that adds up the values of a row's neighbours."""
    value_of = _make_value_of(has_powers)

    @device_function
    def add_up_neighbours(v, k, end, step, wanted, places, rows, context):
        """The sum, for this lane's value, of its group's arcs of a row; k is the first arc that this lane looks at."""
        slot, total, power = slot_of_lane(rows.shift), 0.0, np.int32(0)
        while ballot(k < end) != 0:
            u, found = np.uint32(0), np.int32(0)
            if k < end:
                u = load_once(rows.neighbours, k)
                found = np.int32(rows.masks[rows.now + np.uint64(u)] & wanted)
            bits = np.uint32(ballot(found != 0) & places)
            # Four neighbours at a time, so that accesses overlap.
            while ballot(bits != 0) != 0:
                a, p = value_of(bits, u, found, slot, rows)
                bits = _without_lowest(bits)
                b, q = value_of(bits, u, found, slot, rows)
                bits = _without_lowest(bits)
                c, r = value_of(bits, u, found, slot, rows)
                bits = _without_lowest(bits)
                d, s = value_of(bits, u, found, slot, rows)
                bits = _without_lowest(bits)
                total, power = plus(total, power, a, p)
                total, power = plus(total, power, b, q)
                total, power = plus(total, power, c, r)
                total, power = plus(total, power, d, s)
            k += step
        return total, power

    return add_up_neighbours


def _make_add_terms(plus: Any, term: Any) -> Any:
    """A device function that adds up the terms of a row's arcs."""

    @device_function
    def add_up_terms(v, k, end, step, wanted, places, rows, context):
        """The sum of this lane's arcs of a row; k is the first of them."""
        total, power = 0.0, np.int32(0)
        while k < end:
            value, its_power = term(v, k, context)
            total, power = plus(total, power, value, its_power)
            k += step
        return total, power

    return add_up_terms


def _make_add_groups(has_powers: bool, plus: Any) -> Any:
    """A device function that adds up the sums of a team's groups."""

    @device_function
    def add_groups(total, power, team, shift):
        """The sum over the groups of a team, in its first lanes."""
        for step in HALVES:
            if 1 << shift <= step and step < team:
                other, its_power = shuffle_down(total, step), np.int32(0)
                if has_powers:
                    its_power = shuffle_down(power, step)
                total, power = plus(total, power, other, its_power)
        return total, power

    return add_groups


def _make_add_up(add_up_row: Any, add_groups: Any, apply: Any) -> Any:
    """A device function that adds up rows that are not long; see `make_sums`."""

    @device_function
    def take_rows(team, takes, v, start, length, wanted, rows, context):
        """Add up the rows of lanes that take part. The team of a lane takes its row."""
        first, place = lane() & -team, lane() & (team - 1)
        places = _places(team, rows.shift)
        bits = np.uint32(ballot(takes) & (((1 << team) - 1) << first))
        while ballot(bits != 0) != 0:
            holder, active = first_bit(bits) & (WARP - 1), bits != 0
            row, k, arcs = shuffle(v, holder), shuffle(start, holder), shuffle(length, holder)
            end = k + arcs if active else k
            needed = np.uint32(shuffle(np.int32(wanted), holder))
            total, power = add_up_row(row, k + place, end, team, needed, places, rows, context)
            total, power = add_groups(total, power, team, rows.shift)
            apply(active and place < 1 << rows.shift, row, needed, total, power, first, rows, context)
            bits = _without_lowest(bits)

    @device_function
    def add_up(v, start, length, wanted, takes, rows, worklist, context):
        is_long = takes and length > LONG
        list_long(v, wanted, is_long, worklist)
        takes = takes and not is_long
        row, arcs = np.int32(v), np.int32(length)
        small = np.int64(1) << _small(rows.shift)
        is_short = takes and length <= small
        take_rows(small, is_short, row, start, arcs, wanted, rows, context)
        take_rows(np.int64(WARP), takes and not is_short, row, start, arcs, wanted, rows, context)

    return add_up


def _make_add_up_long(plus: Any, add_up_row: Any, add_groups: Any, apply: Any) -> Any:
    """A device function that adds up long rows; see `make_sums`."""

    @device_function
    def add_up_long(rows, worklist, context):
        places, slot = _places(np.int64(WARP), rows.shift), np.int64(slot_of_lane(rows.shift))
        leads, mine = lane() < 1 << rows.shift, block_thread() // WARP * WARP + slot
        count, i = worklist.control[worklist.word], take_long(worklist)
        while i < count:
            v, wanted = worklist.rows[i] & 0xFFFFFFFF, np.uint32(worklist.rows[i] >> 32)
            k, end = np.int64(rows.offsets[v]) + block_thread(), np.int64(rows.offsets[v + 1])
            total, power = add_up_row(np.int32(v), k, end, block_size(), wanted, places, rows, context)
            total, power = add_groups(total, power, np.int64(WARP), rows.shift)
            if leads:
                worklist.sums[mine] = total
                worklist.powers[mine] = power
            block_barrier()
            if block_thread() < WARP:
                total, power = 0.0, np.int32(0)
                for warp in range(WARPS):
                    place = warp * WARP + slot
                    total, power = plus(total, power, worklist.sums[place], worklist.powers[place])
                apply(leads, np.int32(v), wanted, total, power, np.int64(0), rows, context)
            i = take_long(worklist)

    return add_up_long


def make_sums(
    has_powers: bool,
    plus: Callable[..., Any],
    apply: Callable[..., Any],
    term: Callable[..., Any] | None = None,
) -> tuple[Any, Any]:
    """Device functions that add up rows.

    Args:
        has_powers: whether values have powers; without them all powers are 0.
        plus: ``plus(a, p, b, q)``: the sum of two values with powers, and its power.
        apply: ``apply(leads, v, wanted, total, power, first, rows, context)``: use the sum of row v. All lanes of a
            warp call it at once; a lane with `leads` has the sum of its slot's values. `wanted` is the mask of wanted
            values of the row, `first` the first lane of its team.
        term: ``term(v, k, context)``: what arc k of vertex v adds, and its power, if vertices have one value each. It
            is called once for each arc. Without it, an arc adds the wanted values of the neighbour.

    Returns:
        ``add_up(v, start, length, wanted, takes, rows, worklist, context)`` adds up the rows of lanes with `takes`:
        `length` arcs from `start` on. All lanes of a warp call it at once. Long rows are put on the worklist.
        ``add_up_long(rows, worklist, context)`` adds up the rows on the worklist. All threads call it, after a barrier.
    """

    add_up_row = _make_add_neighbours(has_powers, plus) if term is None else _make_add_terms(plus, term)
    add_groups = _make_add_groups(has_powers, plus)
    long = _make_add_up_long(plus, add_up_row, add_groups, apply)
    return _make_add_up(add_up_row, add_groups, apply), long
