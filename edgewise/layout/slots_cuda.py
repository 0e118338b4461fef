"""Layouts in kernels: the place of a row, and the kernels behind `make_units` and `edgewise.layout.slots.arrange`."""

import functools
from typing import Annotated, Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import AtomicInt64s, Elements, Int64s, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    atomic_add,
    device_function,
    grid_barrier,
    lane,
    num_threads,
    thread_index,
    warp_sum,
    warp_sums,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import cupy, empty, host_copy, zeros
from edgewise.layout.contract import ALIGNED, HEAVIEST_UNITS, HEAVY_UNITS, ROWS_OF_GROUP, Units
from edgewise.primitives.control import control_words


class LayoutArrays(NamedTuple):
    """The arrays of `edgewise.layout.units.Units` that kernels take."""

    vertices: Uint32s
    rows: Uint32s
    degrees: Uint32s
    begin: Int64s
    numbers: Int64s


def layout_arrays(units: Units) -> LayoutArrays:
    """A layout's arrays on the GPU."""
    return LayoutArrays(units.vertices, units.rows, units.degrees, units.begin, units.numbers)


@device_function
def row_place(row: Any, layout: Any) -> Any:
    """Where a row's places begin, where they end, and how far they are apart."""
    alone, size = layout.numbers[HEAVIEST_UNITS] + layout.numbers[HEAVY_UNITS], layout.numbers[ROWS_OF_GROUP]
    degree = np.int64(layout.degrees[row])
    if row < alone:
        first = layout.begin[row]
        return first, first + degree, np.int64(1)
    group = (row - alone) // size
    first = layout.begin[alone + group] + (row - alone) - group * size
    return first, first + degree * size, size


#: Words of `control` for `measure_kernel`: `numbers` of `edgewise.layout.units.Units`; rows that are left alone;
#: whether they do not come first.
_CONTROL = control_words()
_HEAVIEST, _HEAVY, _GROUP_SIZE, _SIZE, _ALONE, _DISORDER = (_CONTROL.take() for _ in range(6))


class Measuring(NamedTuple):
    """What `measure_kernel` takes.

    Attributes:
        degrees, rows: see `edgewise.layout.units.Units`.
        vertices: what is written; see there.
        lengths: (n + 1,), zeros: of unit i in word i + 1.
        control: zeros, see `_CONTROL`.
        n, group_size: rows, and those of a group.
        heaviest_over, heavy_over: bounds of degrees.
    """

    degrees: Uint32s
    rows: Uint32s
    vertices: Uint32s
    lengths: Int64s
    control: AtomicInt64s
    n: int
    group_size: int
    heaviest_over: int
    heavy_over: int


def measure_signature() -> tuple[Any, ...]:
    """The types of the arguments of `measure_kernel`."""
    return (type_of(Measuring),)


def measure_kernel(it):
    """Invert rows, and write how many places each unit has; see `Measuring`."""
    degrees, lengths, control, n = it.degrees, it.lengths, it.control, it.n
    group_size, heaviest_over, heavy_over = it.group_size, it.heaviest_over, it.heavy_over
    heaviest, alone = np.int64(0), np.int64(0)
    for i in range(thread_index(), n, num_threads()):
        it.vertices[it.rows[i]] = i
        heaviest += 1 if degrees[i] > heaviest_over else 0
        alone += 1 if degrees[i] > heavy_over else 0
    heaviest, alone = warp_sums(heaviest, alone)
    if lane() == 0 and alone != 0:
        atomic_add(control, _HEAVIEST, heaviest)
        atomic_add(control, _ALONE, alone)
    grid_barrier(control, np.int64(0))
    heaviest, alone, size = control[_HEAVIEST], control[_ALONE], np.int64(0)
    for row in range(thread_index(), alone, num_threads()):
        degree = np.int64(degrees[row])
        length = (degree + ALIGNED - 1) // ALIGNED * ALIGNED
        lengths[row + 1] = length
        size += length
        if degree <= (heaviest_over if row < heaviest else heavy_over):
            control[_DISORDER] = 1
    for group in range(thread_index(), (n - alone + group_size - 1) // group_size, num_threads()):
        first, longest = alone + group * group_size, np.int64(0)
        for row in range(first, min(first + group_size, n)):
            longest = max(longest, np.int64(degrees[row]))
        lengths[alone + group + 1] = longest * group_size
        size += longest * group_size
    size = warp_sum(size)
    if lane() == 0 and size != 0:
        atomic_add(control, _SIZE, size)
    if thread_index() == 0:
        control[_HEAVY] = alone - heaviest
        control[_GROUP_SIZE] = group_size


@functools.cache
def _measure() -> Kernel:
    return fixed_kernel(measure_kernel, measure_signature())


def measured(
    degrees: Any, rows: Any, group_size: int, heaviest_over: int, heavy_over: int
) -> tuple[Any, Any, Any, list[int]] | None:
    """What `edgewise.layout.units` measures on the CPU, in arrays on the GPU."""
    n = len(degrees)
    vertices, begin, control = empty(n, np.uint32), zeros(n + 1, np.int64), zeros(_CONTROL.size, np.int64)
    over = heaviest_over, heavy_over
    _measure().start([Measuring(degrees, rows, vertices, begin, control, n, group_size, *over)])
    cupy().cumsum(begin, out=begin)
    *numbers, alone, disorder = host_copy(control)[_HEAVIEST:].tolist()
    if disorder:
        return None
    # A copy, since all of it is longer by far.
    begin = begin[: alone - (alone - n) // group_size + 1].copy()
    return vertices, begin, control[_HEAVIEST:_ALONE], numbers


class Slots(NamedTuple):
    """What `slots_kernel` takes.

    Attributes:
        order, by_target: arcs sorted by target, and their targets.
        begins: where the arcs of each vertex begin in that order.
        layout: see there.
        slot_of, arc_of: what is written, of the dtype "made".
        m, slots, arcs: the number of arcs; which of the two are wanted.
    """

    order: Int64s
    by_target: Uint32s
    begins: Int64s
    layout: LayoutArrays
    slot_of: Annotated[Any, Elements("made")]
    arc_of: Annotated[Any, Elements("made")]
    m: int
    slots: bool
    arcs: bool


def slots_signature(made: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of `slots_kernel` for slots or arcs of this dtype."""
    return (type_of(Slots, made=made),)


def slots_kernel(it):
    """Write the slot of each arc, and the arc of each slot; see `Slots`."""
    for i in range(thread_index(), it.m, num_threads()):
        arc, v = it.order[i], np.int64(it.by_target[i])
        first, _, step = row_place(np.int64(it.layout.rows[v]), it.layout)
        slot = first + (i - it.begins[v]) * step
        if it.arcs != 0:
            it.arc_of[slot] = arc
        if it.slots != 0:
            it.slot_of[arc] = slot


@functools.cache
def _kernel(made: np.dtype) -> Kernel:
    return fixed_kernel(slots_kernel, slots_signature(made))


def write_slots(order: Any, by_target: Any, begins: Any, units: Units, slot_of: Any, arc_of: Any) -> None:
    """Start the kernel on the current stream; see `Slots`. An empty array is not wanted."""
    arrays = (order, by_target, begins, layout_arrays(units), slot_of, arc_of)
    _kernel(slot_of.dtype).start([Slots(*arrays, len(order), len(slot_of) > 0, len(arc_of) > 0)])
