"""What a program does with arcs on a GPU: the bodies that strategies of `edgewise.balance` are made for.

Combiners that depend on the order, and those that the GPU has no atomic operation for, are
only gathered: the lanes' parts are combined in a fixed order, so the sums do not depend on timing.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.balance.contract import MORE, Bodies
from edgewise.engine.cuda.arguments import has_keys, kept_dtype, stored_identity
from edgewise.engine.delivery import stops_early
from edgewise.engine.lowering.accessors import make_cast
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.engine.lowering.message_buffer import make_slots
from edgewise.kernels.cuda.device import (
    HALVES,
    WARP,
    atomic_add,
    atomic_exchange,
    atomic_max,
    atomic_min,
    ballot,
    block_barrier,
    block_size,
    block_thread,
    device_function,
    lane,
    num_threads,
    shuffle_down,
    thread_index,
    unwrap,
)
from edgewise.layout.contract import PLACES
from edgewise.layout.slots_cuda import row_place
from edgewise.primitives.deal import append
from edgewise.primitives.ordered_keys import key_dtype, make_keys
from edgewise.primitives.warp_buffers import make_outbox


class Messages(NamedTuple):
    """What a kernel does with messages.

    Attributes:
        bodies: for strategies; the context of what is sent is (stamp, everyone, state, run, turn), of what is gathered
            (stamp, everyone, state, run), where `everyone` says that all vertices send.
        flush: ``flush(boxes, (run, turn))``: hand on what was found last.
        fill: ``fill(n, context)``, with the context of what is sent: write what is sent into all slots.
        clear: ``clear(layout, run)``: put the combiner's identity into all slots of a buffer.
        compute: ``compute(v, stamp, state, run)``: vertex_compute with what a vertex got, which is taken away.
    """

    bodies: Bodies
    flush: Any
    fill: Any
    clear: Any
    compute: Any


def make_scatter(visit: Any) -> Any:
    """What sends along the out-edges of a unit, by a function that sends along one arc."""

    @device_function
    def scatter(v, first, end, step, lanes, context):
        while ballot(first < end) != 0:
            visit(first < end, v, np.int64(0), first, context)
            first += step

    return scatter


@device_function
def _nothing(first: Any, second: Any) -> None:
    """For what is not needed."""


def make_sending(edge_compute: Any, make_out_edge: Any, put: Any, leave_empty: Any) -> tuple[Any, Any]:
    """`visit` of bodies, and `fill`, for a message buffer.

    Args:
        edge_compute, make_out_edge: of the program and its glue.
        put: ``put(sent, slot, run)``: put what is sent into a slot.
        leave_empty: ``leave_empty(slot, run)``: nothing came where all vertices send. Slots are not emptied then when
            they are read.
    """

    @device_function
    def sent_along(u, k, context):
        """What vertex u sends along an arc."""
        _, _, state, run, _ = context
        return edge_compute(make_out_edge(u, np.int64(run.graph.targets[k]), k, k, run.own), state)

    @device_function
    def place(sent, k, slot, context):
        """Put what is sent along an arc into its slot."""
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

    @device_function
    def sent_into(slot, u, n, context):
        """What is sent into a slot by its source, which is n if the slot stays empty."""
        stamp, everyone, _, run, _ = context
        if u < n and (everyone or run.work.active[u] == stamp):
            return sent_along(u, np.int64(run.buffer.maps.arc_of[slot]), context)
        return None

    @device_function
    def fill(n, context):
        """Fill four slots at a time, as `gather` has four edges."""
        stamp, everyone, _, run, _ = context
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
        if everyone:
            for target in range(thread_index(), n, step):
                run.received[target] = stamp

    return visit, fill


def make_kept_messages(compiled: CompiledProgram, binding: Binding, message: np.dtype, glue: Any) -> Messages:
    """The bodies of a program that is given all messages: those of a vertex are put side by side when it is computed.

    The arguments are those of `make_messages`.
    """
    edge_compute, make_out_edge = compiled.functions["edge_compute"], glue.make_out_edge
    write, move, compute_all = make_slots(compiled, message, device_function, binding.found.combine)

    @device_function
    def put(sent, slot, run):
        write(run.buffer.slots, slot, unwrap(sent))
        run.buffer.filled[slot] = 1

    visit, fill = make_sending(edge_compute, make_out_edge, put, _nothing)

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

    bodies = Bodies(visit, make_scatter(visit), None, None, None)
    return Messages(bodies, _nothing, fill, _nothing, compute)


def make_messages(
    compiled: CompiledProgram, binding: Binding, message: np.dtype, glue: Any, touched: int, buffered: bool
) -> Messages:
    """The bodies of one program for given dtypes.

    Args:
        compiled, binding, message: as for the kernel.
        glue: its functions that read fields.
        touched: the first of the words of `control` that count vertices that were halted and got a message.
        buffered: whether messages go through a buffer.
    """
    if binding.found.keeps_messages:
        return make_kept_messages(compiled, binding, message, glue)
    found, functions = binding.found, compiled.functions
    make_out_edge, make_in_edge = glue.make_out_edge, glue.make_in_edge
    edge_compute, vertex_compute = functions["edge_compute"], functions["vertex_compute"]
    combine = functions.get("combine") or device_function(found.combine.function)
    name, keyed = found.combine.name, has_keys(found.combine, message)
    kept_as = kept_dtype(message)
    cast, store = (make_cast(dtype, device_function, found.combine) for dtype in (message, kept_as))
    identity, nothing = kept_as.type(found.combine.identity(message)), stored_identity(found.combine, message)
    needs_arcs, harmless = found.needs_arc_index, found.edge_compute_is_harmless
    absorbing = name == "ANY"
    can_stop = stops_early(found, message)

    @device_function
    def as_it_is(value):
        return value

    encoded = decoded = as_it_is
    if keyed:
        key_of, decoded, _, _ = make_keys(message, name == "MIN")
        key_type = key_dtype(message).type

        @device_function
        def encoded(value):
            return key_type(key_of(value))

        @device_function
        def combine_at(messages, target, value):
            """Not a number is never better."""
            if value == value:
                atomic_min(messages, target, encoded(value))

    elif name == "MIN":
        combine_at = atomic_min
    elif name == "MAX":
        combine_at = atomic_max
    elif name == "SUM":
        combine_at = atomic_add
    else:

        @device_function
        def combine_at(messages, target, value):
            """ANY and ALL: whoever has the deciding value writes it, and all write the same."""
            if (value != 0) == absorbing:
                messages[target] = value

    @device_function
    def send(u, k, target, stamp, state, run):
        """Send along one arc; whether its target is halted and got its first message by that."""
        sent = edge_compute(make_out_edge(u, target, k, k, run.own), state)
        if sent is not None:
            combine_at(run.messages, target, store(cast(sent * 1)))
            if run.received[target] != stamp:
                first = atomic_exchange(run.received, target, np.uint32(stamp)) != stamp
                return first and run.work.active[target] != stamp
        return False

    @device_function
    def list_touched(v, wanted, context):
        """List vertices that got a first message."""
        run, turn = context
        append(run.work.touched, run.control, touched + turn, v, wanted)
        return np.int64(0)

    put, flush = make_outbox(0, list_touched)

    @device_function
    def visit(takes, v, key, k, context):
        """Send along one arc, lanes of a warp at once; list the target if it is halted and got its first message."""
        stamp, _, state, run, turn = context
        first, target = False, np.int64(0)
        if takes:
            target = np.int64(run.graph.targets[k])
            first = send(v, k, target, stamp, state, run)
        return put(target, first, run.boxes, (run, turn)), np.int64(0)

    @device_function
    def put_in_slot(sent, slot, run):
        run.buffer.slots[slot] = store(cast(sent * 1))

    @device_function
    def empty_slot(slot, run):
        run.buffer.slots[slot] = identity

    @device_function
    def along(u, v, k, state, run):
        """What is sent along one in-edge."""
        arc = np.int64(run.graph.in_arcs[k]) if needs_arcs else np.int64(0)
        return edge_compute(make_in_edge(u, v, k, arc, run.own), state)

    @device_function
    def merged(total, other):
        """Two totals combined, in this order."""
        return store(cast(combine(cast(total), cast(other))))

    @device_function
    def combined(total, got, sent):
        """A total with one message more, if there is one."""
        if sent is not None:
            return merged(total, sent * 1), True
        return total, got

    @device_function
    def gather(v, start, end, step, total, got, context):
        """Combine the messages along in-edges of one vertex with a total; (the total, whether there was one).

        Where all vertices send, what is sent along four edges is fetched before it is combined: a lane that waits for
        one after the other waits four times as long.
        """
        stamp, everyone, state, run = context
        sources, k = run.graph.in_sources, start
        if everyone and not can_stop:
            while k + 3 * step < end:
                second, third, fourth = k + step, k + 2 * step, k + 3 * step
                one = along(np.int64(sources[k]), v, k, state, run)
                two = along(np.int64(sources[second]), v, second, state, run)
                three = along(np.int64(sources[third]), v, third, state, run)
                four = along(np.int64(sources[fourth]), v, fourth, state, run)
                total, got = combined(total, got, one)
                total, got = combined(total, got, two)
                total, got = combined(total, got, three)
                total, got = combined(total, got, four)
                k += 4 * step
        while k < end:
            u = np.int64(sources[k])
            sends = everyone or run.work.active[u] == stamp
            if harmless or sends:
                sent = along(u, v, k, state, run)
                if sends:
                    total, got = combined(total, got, sent)
                    if can_stop and got and (total != 0) == absorbing:
                        break
            k += step
        return total, got

    @device_function
    def four_slots(slots, k, step):
        return slots[k], slots[k + step], slots[k + 2 * step], slots[k + 3 * step]

    @device_function
    def merged_four(total, sent):
        one, two, three, four = sent
        return merged(merged(merged(merged(total, one), two), three), four)

    @device_function
    def gather_slots(v, start, end, step, total, got, context):
        """Combine the messages in slots of one vertex with a total, as `gather`; empty the slots."""
        stamp, everyone, _, run = context
        slots, k = run.buffer.slots, start
        if everyone:
            # A row that one lane goes over alone takes as long as its loads do: eight are on their way at a time.
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

    fill = _nothing
    if buffered:
        gather, flush = gather_slots, _nothing
        visit, fill = make_sending(edge_compute, make_out_edge, put_in_slot, empty_slot)

    @device_function
    def sum_lanes(total, lanes):
        """The parts of so many adjacent lanes combined, at the first of them."""
        for step in HALVES:
            if step < lanes:
                total = merged(total, shuffle_down(total, step))
        return total

    @device_function
    def deliver(v, total, stamp, run):
        """Store the message that a vertex gathered."""
        run.messages[v] = encoded(total)
        run.received[v] = stamp

    @device_function
    def begun(v, stamp, run):
        """What a vertex has got so far; (the total, whether there is one)."""
        total, got = identity, run.received[v] == stamp
        if got:
            total = store(cast(decoded(run.messages[v])))
        return total, got

    @device_function
    def gather_unit(v, first, end, step, lanes, part, context):
        """Gather over the in-edges of a unit; store the message of its vertex, or what becomes a part of it."""
        stamp, _, _, run = context
        place, total, got = np.int64(0) if lanes == 1 else lane() % lanes, identity, False
        if part == MORE and v >= 0 and place == 0:
            total, got = begun(v, stamp, run)
        total, got = gather(v, first, end, step, total, got, context)
        leads = v >= 0
        if lanes > 1:
            bits, total = ballot(got), sum_lanes(total, lanes)
            ours = np.uint32(bits >> np.uint32(lane() - place)) & np.uint32(
                0xFFFFFFFF >> (WARP - min(lanes, np.int64(WARP)))
            )
            got, leads = ours != 0, leads and place == 0
        if lanes > WARP:
            if lane() == 0:
                run.totals[block_thread() // WARP], run.flags[block_thread() // WARP] = total, got
            block_barrier()
            leads = block_thread() == 0
            if leads:
                for warp in range(1, block_size() // WARP):
                    total = merged(total, run.totals[warp])
                    got = got or run.flags[warp] != 0
            block_barrier()
        if leads and part >= 0:
            run.parts.totals[part], run.parts.found[part] = total, got
        elif leads and got:
            deliver(v, total, stamp, run)

    @device_function
    def join_parts(v, first, end, context):
        """Combine the parts of a vertex's message, lanes of a warp at once."""
        stamp, _, _, run = context
        total, got = begun(v, stamp, run)
        for begin in range(first, end, WARP):
            part, one, has = begin + lane(), identity, False
            if part < end and run.parts.found[part] != 0:
                one, has = run.parts.totals[part], True
            bits, one = ballot(has), sum_lanes(one, WARP)
            if bits != 0:
                total, got = merged(total, one), True
        if lane() == 0 and got:
            deliver(v, total, stamp, run)

    @device_function
    def add(takes, v, k, context):
        """Send along one in-edge by an atomic operation. All vertices are computed next."""
        stamp, everyone, state, run = context
        if takes:
            u = np.int64(run.graph.in_sources[k])
            if everyone or run.work.active[u] == stamp:
                sent = along(u, v, k, state, run)
                if sent is not None:
                    combine_at(run.messages, v, store(cast(sent * 1)))
                    run.received[v] = stamp

    @device_function
    def clear_slots(layout, run):
        for slot in range(thread_index(), layout.numbers[PLACES], num_threads()):
            run.buffer.slots[slot] = identity

    @device_function
    def compute(v, stamp, state, run):
        incoming = identity
        if run.received[v] == stamp:
            incoming = decoded(run.messages[v])
            run.messages[v] = nothing
        return vertex_compute(v, cast(incoming), state)

    bodies = Bodies(visit, make_scatter(visit), gather_unit, join_parts, add)
    return Messages(bodies, flush, fill, clear_slots if buffered else _nothing, compute)
