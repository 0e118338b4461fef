"""Messages through a message buffer on a GPU: sources write them to slots, and vertices gather over their slots."""

from typing import Any

import numpy as np

from edgewise.engine.cuda.combining import Combining
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.engine.lowering.message_buffer import make_slots
from edgewise.kernels.cuda.device import device_function, num_threads, thread_index, unwrap
from edgewise.layout.contract import PLACES
from edgewise.layout.slots_cuda import row_place
from edgewise.program.declare import Combiner


@device_function
def nothing(first: Any, second: Any) -> None:
    """Do nothing, in place of a function that is not needed."""


@device_function
def _reach_all(n: Any, context: Any) -> None:
    """Note that all vertices get messages, if all send."""
    stamp, everyone, _, run, _ = context
    if everyone:
        for target in range(thread_index(), n, num_threads()):
            run.received[target] = stamp


def make_fill_by_arcs(sent_along: Any, place: Any) -> Any:
    """`fill` of `edgewise.engine.cuda.messages.Messages`, with a thread for each arc.

    Args:
        sent_along, place: see `make_sending`.
    """

    @device_function
    def sent_by(k, context):
        """What the source of arc k sends along it, or None."""
        stamp, everyone, _, run, _ = context
        u = np.int64(run.buffer.maps.source_of[k])
        if everyone or run.work.active[u] == stamp:
            return sent_along(u, k, context)
        return None

    @device_function
    def fill_by_arcs(n, m, context):
        """Fill the slots of all arcs whose sources send. Each thread computes four messages at a time, so that accesses
        overlap."""
        slot_of = context[3].buffer.maps.slot_of
        k, step = thread_index(), num_threads()
        while k + 3 * step < m:
            second, third, fourth = k + step, k + 2 * step, k + 3 * step
            one, two = sent_by(k, context), sent_by(second, context)
            three, four = sent_by(third, context), sent_by(fourth, context)
            place(one, k, np.int64(slot_of[k]), context)
            place(two, second, np.int64(slot_of[second]), context)
            place(three, third, np.int64(slot_of[third]), context)
            place(four, fourth, np.int64(slot_of[fourth]), context)
            k += 4 * step
        while k < m:
            place(sent_by(k, context), k, np.int64(slot_of[k]), context)
            k += step
        _reach_all(n, context)

    return fill_by_arcs


def make_fill_by_slots(sent_along: Any, place: Any) -> Any:
    """The same with a thread for each slot."""

    @device_function
    def sent_into(slot, u, n, context):
        """What source u sends into a slot, or None. u is n if the slot belongs to no arc."""
        stamp, everyone, _, run, _ = context
        if u < n and (everyone or run.work.active[u] == stamp):
            return sent_along(u, np.int64(run.buffer.maps.arc_of[slot]), context)
        return None

    @device_function
    def fill_by_slots(n, m, context):
        """Fill all slots. Each thread computes four messages at a time, so that accesses overlap."""
        _, _, _, run, _ = context
        size, maps = run.layout.numbers[PLACES], run.buffer.maps
        arcs, sources = maps.arc_of, maps.source_of
        slot, step = thread_index(), num_threads()
        while slot + 3 * step < size:
            second, third, fourth = slot + step, slot + 2 * step, slot + 3 * step
            u, v = np.int64(sources[slot]), np.int64(sources[second])
            w, x = np.int64(sources[third]), np.int64(sources[fourth])
            one, two = sent_into(slot, u, n, context), sent_into(second, v, n, context)
            three, four = sent_into(third, w, n, context), sent_into(fourth, x, n, context)
            place(one, np.int64(arcs[slot]), slot, context)
            place(two, np.int64(arcs[second]), second, context)
            place(three, np.int64(arcs[third]), third, context)
            place(four, np.int64(arcs[fourth]), fourth, context)
            slot += 4 * step
        while slot < size:
            sent = sent_into(slot, np.int64(sources[slot]), n, context)
            place(sent, np.int64(arcs[slot]), slot, context)
            slot += step
        _reach_all(n, context)

    return fill_by_slots


def make_sending(
    edge_compute: Any, make_out_edge: Any, put: Any, leave_empty: Any, by_edges: bool
) -> tuple[Any, Any]:
    """`visit` of bodies, and `fill`, for a message buffer.

    Args:
        edge_compute, make_out_edge: of the program and its glue.
        put: ``put(sent, slot, run)``: put what is sent into a slot.
        leave_empty: ``leave_empty(slot, run)``: empty a slot that gets no message in a superstep in which all vertices
            send. Readers do not empty slots in such a superstep.
        by_edges: whether `fill` goes over arcs, not over slots.
    """

    @device_function
    def sent_along(u, k, context):
        """What vertex u sends along arc k, or None."""
        _, _, state, run, _ = context
        return edge_compute(make_out_edge(u, np.int64(run.graph.targets[k]), k, k, run.own), state)

    @device_function
    def place(sent, k, slot, context):
        """Put what is sent along arc k into its slot, if anything is sent."""
        stamp, everyone, _, run, _ = context
        if sent is not None:
            put(sent, slot, run)
            if not everyone:
                run.received[np.int64(run.graph.targets[k])] = stamp
        elif everyone:
            leave_empty(slot, run)

    @device_function
    def visit(takes, v, key, k, context):
        if takes:
            _, _, _, run, _ = context
            place(sent_along(v, k, context), k, np.int64(run.buffer.maps.slot_of[k]), context)
        return np.int64(0), np.int64(0)

    make_fill = make_fill_by_arcs if by_edges else make_fill_by_slots
    return visit, make_fill(sent_along, place)


def make_combined_slots(combining: Combining) -> tuple[Any, Any, Any]:
    """The functions that put a message into a slot, empty a slot, and empty all slots: ``clear(layout, run)``."""
    identity, cast, store = combining.identity, combining.cast, combining.store

    @device_function
    def put_in_slot(sent, slot, run):
        run.buffer.slots[slot] = store(cast(sent * 1))

    @device_function
    def empty_slot(slot, run):
        run.buffer.slots[slot] = identity

    @device_function
    def clear_slots(layout, run):
        for slot in range(thread_index(), layout.numbers[PLACES], num_threads()):
            run.buffer.slots[slot] = identity

    return put_in_slot, empty_slot, clear_slots


def make_gather_slots(combining: Combining) -> Any:
    """The function that gathers over a vertex's slots; see `edgewise.engine.cuda.gathering.make_gather`."""
    identity, merged = combining.identity, combining.merged

    @device_function
    def four_slots(slots, k, step):
        return slots[k], slots[k + step], slots[k + 2 * step], slots[k + 3 * step]

    @device_function
    def merged_four(total, sent):
        one, two, three, four = sent
        return merged(merged(merged(merged(total, one), two), three), four)

    @device_function
    def gather_slots(v, start, end, step, total, got, context):
        """Combine the messages in a vertex's slots with a total, and empty the slots unless all vertices send."""
        stamp, everyone, _, run = context
        slots, k = run.buffer.slots, start
        if everyone:
            # A lane that goes over a row alone waits for its loads, so it has eight on their way at a time.
            while k + 7 * step < end:
                first, second = four_slots(slots, k, step), four_slots(slots, k + 4 * step, step)
                total = merged_four(merged_four(total, first), second)
                k += 8 * step
            if k + 3 * step < end:
                total = merged_four(total, four_slots(slots, k, step))
                k += 4 * step
            while k < end:
                total = merged(total, slots[k])
                k += step
            return total, v >= 0
        if v >= 0 and run.received[v] == stamp:
            while k < end:
                total = merged(total, slots[k])
                slots[k] = identity
                k += step
            return total, True
        return total, False

    return gather_slots


def make_kept_slots(compiled: CompiledProgram, combine: Combiner, message: np.dtype) -> tuple[Any, Any]:
    """For a program that asks for all messages: the functions that put one into a slot, and that compute a vertex.

    The second moves the messages of the vertex to its first slots.
    """
    write, move, compute_all = make_slots(compiled, message, device_function, combine)

    @device_function
    def put(sent, slot, run):
        write(run.buffer.slots, slot, unwrap(sent))
        run.buffer.filled[slot] = 1

    @device_function
    def compute(v, stamp, state, run):
        first, end, step = row_place(np.int64(run.layout.rows[v]), run.layout)
        upto, slots, filled = first, run.buffer.slots, run.buffer.filled
        if run.received[v] == stamp:
            for slot in range(first, end, step):
                if filled[slot] != 0:
                    filled[slot] = 0
                    move(slots, upto, slot)
                    upto += step
        return compute_all(v, slots, first, upto, step, state)

    return put, compute
