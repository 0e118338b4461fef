"""Layouts in kernels: the place of a row, and the kernel behind `edgewise.layout.slots.arrange`."""

import functools
from typing import Any

import numpy as np

from edgewise.kernels.gpu import (
    INT64,
    Kernel,
    device_function,
    fixed_kernel,
    num_threads,
    pointer,
    thread_index,
    tuple_of,
)
from edgewise.kernels.gpu_host import copy_of
from edgewise.layout.units import Units


def layout_types() -> list[Any]:
    """The types of a layout's arrays: vertices, rows, degrees and begin of `edgewise.layout.units.Units`, and an array
    of its heaviest, heavy, group_size and size."""
    vertex, word = np.dtype(np.uint32), np.dtype(np.int64)
    return [pointer(vertex)] * 3 + [pointer(word)] * 2


def layout_arrays(units: Units) -> tuple[Any, ...]:
    """A layout's arrays on the GPU, as `layout_types` has them."""
    numbers = np.array([units.heaviest, units.heavy, units.group_size, units.size], np.int64)
    return units.vertices, units.rows, units.degrees, units.begin, copy_of(numbers)


@device_function
def row_place(row: Any, layout: Any) -> Any:
    """Where a row's places begin, where they end, and how far they are apart."""
    alone, size = layout[4][0] + layout[4][1], layout[4][2]
    degree = np.int64(layout[2][row])
    if row < alone:
        first = layout[3][row]
        return first, first + degree, np.int64(1)
    group = (row - alone) // size
    first = layout[3][alone + group] + (row - alone) - group * size
    return first, first + degree * size, size


def slots_signature(made: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of `slots_kernel` for slots or arcs of this dtype."""
    word, vertex = np.dtype(np.int64), np.dtype(np.uint32)
    arrays = (pointer(word), pointer(vertex), pointer(word), tuple_of(layout_types()))
    return *arrays, pointer(made), pointer(made), *[INT64] * 3


def slots_kernel(order, by_target, begins, layout, slot_of, arc_of, m, slots, arcs):
    """Write the slot of each arc, and the arc of each slot.

    Args:
        order, by_target: arcs sorted by target, and their targets.
        begins: where the arcs of each vertex begin in that order.
        layout: see `layout_types`.
        slot_of, arc_of: what is written.
        m, slots, arcs: the number of arcs; which of the two are wanted.
    """
    for i in range(thread_index(), m, num_threads()):
        arc, v = order[i], np.int64(by_target[i])
        first, _, step = row_place(np.int64(layout[1][v]), layout)
        slot = first + (i - begins[v]) * step
        if arcs != 0:
            arc_of[slot] = arc
        if slots != 0:
            slot_of[arc] = slot


@functools.cache
def _kernel(made: np.dtype) -> Kernel:
    return fixed_kernel(slots_kernel, slots_signature(made))


def write_slots(order: Any, by_target: Any, begins: Any, units: Units, slot_of: Any, arc_of: Any) -> None:
    """Start the kernel on the current stream; see `slots_kernel`. An empty array is not wanted."""
    arrays = (order, by_target, begins, *layout_arrays(units), slot_of, arc_of)
    _kernel(slot_of.dtype).start([*arrays, len(order), len(slot_of) > 0, len(arc_of) > 0])
