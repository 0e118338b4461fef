"""The kernel behind `edgewise.layout.slots.arrange`."""

import functools
from typing import Any

import numpy as np

from edgewise.kernels.gpu import INT64, Kernel, fixed_kernel, num_threads, pointer, thread_index


def slots_signature(made: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of `slots_kernel` for slots or arcs of this dtype."""
    word, vertex, step = (np.dtype(kind) for kind in (np.int64, np.uint32, np.int32))
    arrays = (pointer(word), pointer(vertex), pointer(word), pointer(step), pointer(made), pointer(made))
    return *arrays, *[INT64] * 3


def slots_kernel(order, by_target, base, step, slot_of, arc_of, m, slots, arcs):
    """Write the slot of each arc, and the arc of each slot.

    Args:
        order, by_target: arcs sorted by target, and their targets.
        base, step: for each vertex: arc i in that order has the slot ``base + i * step``.
        slot_of, arc_of: what is written.
        m, slots, arcs: the number of arcs; which of the two are wanted.
    """
    for i in range(thread_index(), m, num_threads()):
        arc, v = order[i], np.int64(by_target[i])
        slot = base[v] + i * np.int64(step[v])
        if arcs != 0:
            arc_of[slot] = arc
        if slots != 0:
            slot_of[arc] = slot


@functools.cache
def _kernel(made: np.dtype) -> Kernel:
    return fixed_kernel(slots_kernel, slots_signature(made))


def write_slots(order: Any, by_target: Any, base: Any, step: Any, slot_of: Any, arc_of: Any) -> None:
    """Start the kernel on the current stream; see `slots_kernel`. An empty array is not wanted."""
    arrays = (order, by_target, base, step, slot_of, arc_of)
    _kernel(slot_of.dtype).start([*arrays, len(order), len(slot_of) > 0, len(arc_of) > 0])
