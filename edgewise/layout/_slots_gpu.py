"""The kernel behind `edgewise.layout.slots.arrange`."""

import functools
from typing import Any

import numpy as np

from edgewise.kernels.gpu import INT64, Kernel, fixed_kernel, num_threads, pointer, thread_index


def slots_signature(made: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of `slots_kernel` for slots or arcs of this dtype."""
    word, vertex, step = (np.dtype(kind) for kind in (np.int64, np.uint32, np.int32))
    return pointer(word), pointer(vertex), pointer(word), pointer(step), pointer(made), INT64, INT64


def slots_kernel(order, by_target, base, step, made, m, by_slot):
    """Write the slot of each arc, or the arc of each slot.

    Args:
        order, by_target: arcs sorted by target, and their targets.
        base, step: for each vertex: arc i in that order has the slot ``base + i * step``.
        made: what is written.
        m, by_slot: the number of arcs; whether arcs are written by slots.
    """
    for i in range(thread_index(), m, num_threads()):
        arc, v = order[i], np.int64(by_target[i])
        slot = base[v] + i * np.int64(step[v])
        if by_slot != 0:
            made[slot] = arc
        else:
            made[arc] = slot


@functools.cache
def _kernel(made: np.dtype) -> Kernel:
    return fixed_kernel(slots_kernel, slots_signature(made))


def write_slots(order: Any, by_target: Any, base: Any, step: Any, made: Any, by_slot: bool) -> None:
    """Start the kernel on the current stream; see `slots_kernel`."""
    _kernel(made.dtype).start([order, by_target, base, step, made, len(order), by_slot])
