"""What vertices of a rank with a GPU gather: messages along their in-edges."""

from typing import Any

import numpy as np

from edgewise.engine.cuda.combining import Combining
from edgewise.engine.cuda.gathering import make_gather, make_receiving
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.engine.lowering.message_buffer import make_slots
from edgewise.kernels.cuda.device import (
    WARP,
    ballot,
    device_function,
    first_bit,
    lane,
    num_threads,
    shuffle,
    thread_index,
    unwrap,
)

#: A warp gathers over a row with at least LONG in-edges.
LONG = 64


def make_gathering(by_lane: Any, by_warp: Any) -> Any:
    """The function that gathers over the in-edges of a range of vertices: ``deliver(it, state, run)``.

    Args:
        by_lane: ``by_lane(v, start, end, context)``: gather over a short row.
        by_warp: the same over a long row, called by all lanes of a warp at once.
    """

    @device_function
    def deliver(it, state, run):
        offsets, context = run.graph.in_offsets, (it.superstep, it.everyone != 0, state, run)
        for i in range(thread_index() // WARP, it.number, num_threads() // WARP):
            u = np.int64(it.work.long[i])
            by_warp(u, np.int64(offsets[u]), np.int64(offsets[u + 1]), context)
        for v in range(it.low + thread_index(), it.high, num_threads()):
            start, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
            if start < end < start + LONG:
                by_lane(v, start, end, context)

    return deliver


def make_combined_rows(along: Any, harmless: bool, combining: Combining, in_order: bool) -> tuple[Any, Any]:
    """`by_lane` and `by_warp` of `make_gathering`, which combine messages.

    Args:
        along, harmless, combining: as for `edgewise.engine.cuda.gathering.make_gather`.
        in_order: whether messages of a long row are combined in the order of in-edges. Else each lane combines every
            32nd, and their totals are combined: in one order, too, which is that of the row alone.
    """
    identity, cast, store, merged = combining.identity, combining.cast, combining.store, combining.merged
    sum_lanes = combining.sum_lanes
    gather, (put, _) = make_gather(along, harmless, False, combining), make_receiving(combining)

    @device_function
    def by_lane(v, start, end, context):
        stamp, _, _, run = context
        total, got = gather(v, start, end, np.int64(1), identity, False, context)
        if got:
            put(v, total, stamp, run)

    @device_function
    def message_of(v, k, end, context):
        """What is sent along in-edge k, and whether anything is."""
        stamp, everyone, state, run = context
        if k < end:
            u = np.int64(run.graph.in_sources[k])
            if everyone or run.work.active[u] == stamp:
                sent = along(u, v, k, state, run)
                if sent is not None:
                    return store(cast(sent * 1)), True
        return identity, False

    if in_order:

        @device_function
        def taken(total, got, one, has):
            """The messages of all lanes combined with a total, in the order of lanes."""
            bits = ballot(has)
            got = got or bits != 0
            while bits != 0:
                total = merged(total, shuffle(one, first_bit(bits)))
                bits = np.uint32(bits & (bits - np.uint32(1)))
            return total, got

        @device_function
        def of_all(total, got):
            """What all lanes have got."""
            return total, got

    else:

        @device_function
        def taken(total, got, one, has):
            """A message of this lane combined with its total."""
            return (merged(total, one), True) if has else (total, got)

        @device_function
        def of_all(total, got):
            """What all lanes have got, on the first one."""
            return sum_lanes(total, WARP), ballot(got) != 0

    @device_function
    def by_warp(v, start, end, context):
        stamp, _, _, run = context
        total, got, k = identity, False, start + lane()
        for _ in range(
            start, end, 4 * WARP
        ):  # four messages of a lane at a time, so that their loads overlap
            one, has_one = message_of(v, k, end, context)
            two, has_two = message_of(v, k + WARP, end, context)
            three, has_three = message_of(v, k + 2 * WARP, end, context)
            four, has_four = message_of(v, k + 3 * WARP, end, context)
            total, got = taken(total, got, one, has_one)
            total, got = taken(total, got, two, has_two)
            total, got = taken(total, got, three, has_three)
            total, got = taken(total, got, four, has_four)
            k += 4 * WARP
        total, got = of_all(total, got)
        if lane() == 0 and got:
            put(v, total, stamp, run)

    return by_lane, by_warp


def make_kept_rows(compiled: CompiledProgram, binding: Binding, message: np.dtype, along: Any) -> Any:
    """`by_lane` and `by_warp` of `make_gathering`, which keep all messages, and the function that computes a vertex."""
    write, move, compute_all = make_slots(compiled, message, device_function, binding.spec.combine)

    @device_function
    def gather(v, first, end, step, context):
        stamp, everyone, state, run = context
        for k in range(first, end, step):
            u = np.int64(run.graph.in_sources[k])
            if everyone or run.work.active[u] == stamp:
                sent = along(u, v, k, state, run)
                if sent is not None:
                    slot = np.int64(run.buffer.slot_of[k])
                    write(run.buffer.slots, slot, unwrap(sent))
                    run.buffer.filled[slot] = 1
                    run.received[v] = stamp

    @device_function
    def by_lane(v, start, end, context):
        gather(v, start, end, np.int64(1), context)

    @device_function
    def by_warp(v, start, end, context):
        gather(v, start + lane(), end, np.int64(WARP), context)

    @device_function
    def compute(v, stamp, state, run):
        """Call vertex_compute with the messages of a vertex, moved to its first slots."""
        first, slots, filled = np.int64(run.graph.in_offsets[v]), run.buffer.slots, run.buffer.filled
        upto = first
        if run.received[v] == stamp:
            for slot in range(first, np.int64(run.graph.in_offsets[v + 1])):
                if filled[slot] != 0:
                    filled[slot] = 0
                    move(slots, upto, slot)
                    upto += 1
        return compute_all(v, slots, first, upto, np.int64(1), state)

    return by_lane, by_warp, compute
