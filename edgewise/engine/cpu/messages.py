"""How messages reach a vertex on the CPU: combined as they come, or through a message buffer.

Combined messages lie in one array, which holds the identity where a vertex has none. In a buffer each arc has a slot of
its own, so no two threads write to one slot, whatever the combiner is.
"""

from typing import NamedTuple

import numpy as np

from edgewise.engine.lowering.accessors import DeviceFunction, cast_and_identity
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.engine.lowering.message_buffer import make_slots
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import compare_and_swap, no_vectors, unwrap
from edgewise.kernels.cpu.pointers import array_at


class Messages(NamedTuple):
    """Compiled functions.

    Attributes:
        hand_over: ``hand_over(target, k, sent, alone, work)``: deliver what was sent along arc k.
        compute: ``compute(v, stamp, state, graph, work)``: call vertex_compute with the messages of v and remove them.
    """

    hand_over: DeviceFunction
    compute: DeviceFunction


def make_combined(
    compiled: CompiledProgram, binding: Binding, message: np.dtype, combine: DeviceFunction
) -> Messages:
    """Messages combined with compare-and-swap."""
    vertex_compute = compiled.functions["vertex_compute"]
    cast, identity = cast_and_identity(message, binding.spec.combine, device_function)

    @device_function
    def hand_over(target, k, sent, alone, work):
        messages, value = work.messages, cast(unwrap(sent))
        while True:
            old = messages[target]
            new = cast(combine(old, value))
            if alone:
                messages[target] = new
                break
            if new == old or compare_and_swap(messages, target, old, new):
                break

    @device_function
    def compute(v, stamp, state, graph, work):
        messages = work.messages
        incoming = messages[v]
        messages[v] = identity
        no_vectors()
        return vertex_compute(v, incoming, state)

    return Messages(hand_over, compute)


def make_buffered(
    compiled: CompiledProgram, binding: Binding, message: np.dtype, combine: DeviceFunction
) -> Messages:
    """Messages in the slots of a `edgewise.engine.cpu.arguments.Buffer`."""
    vertex_compute = compiled.functions["vertex_compute"]
    view = "array_at(slots[{}], first, end)"
    write, move, compute_all = make_slots(
        compiled, message, device_function, binding.spec.combine, view, array_at=array_at
    )
    kept = binding.spec.keeps_messages

    @device_function
    def hand_over(target, k, sent, alone, work):
        slot_of, filled, slots = work.buffer
        slot = np.int64(slot_of[k])
        write(slots, slot, unwrap(sent))
        if kept:
            filled[slot] = 1

    if kept:

        @device_function
        def compute(v, stamp, state, graph, work):
            _, filled, slots = work.buffer
            first = np.int64(graph.in_offsets[v])
            end = first
            if work.received[v] == stamp:
                for k in range(first, np.int64(graph.in_offsets[v + 1])):
                    if filled[k] != 0:
                        filled[k] = 0
                        move(slots, end, k)
                        end += 1
            no_vectors()
            return compute_all(v, slots, first, end, 1, state)

    else:
        cast, identity = cast_and_identity(message, binding.spec.combine, device_function)

        @device_function
        def compute(v, stamp, state, graph, work):
            (slots,), total = work.buffer.slots, identity
            if work.received[v] == stamp:
                for k in range(np.int64(graph.in_offsets[v]), np.int64(graph.in_offsets[v + 1])):
                    total = cast(combine(total, slots[k]))
                    slots[k] = identity
            no_vectors()
            return vertex_compute(v, total, state)

    return Messages(hand_over, compute)
