"""Which place each arc has in a layout of in-edges, computed once for a graph.

The arcs into a vertex are numbered in the order of their sources. The place of an arc follows from this number, from
where the vertex's row begins, and from how far apart the places of the row are. In a message buffer the place is the
slot that the arc's message goes to (Zhong et al. 2016, sections 3.2.4 and 4.2). The paper copies the contents of the
buffer to these places; here messages are written there at once.
"""

from typing import Any

import numpy as np

from edgewise.errors import ScheduleError
from edgewise.kernels.cpu.team import run_alone, team_kernel
from edgewise.layout.units import Units, array_module, first_places, make_units

#: Memory that arranging takes on a GPU for each arc beside what it makes: the arcs' order, their targets in that order,
#: and what sorting works in.
ARC_BYTES = 32
#: Finding the ends of arcs takes at most this many bytes for each arc, of which half is kept, and for each vertex.
_ENDS_BYTES, _ENDS_VERTEX_BYTES = 8, 48


def finding_ends(num_vertices: int, num_arcs: int) -> tuple[Any, ...]:
    """What `edgewise.graph.resident.Resident.of_offsets` takes to make `own_ends` of a graph."""
    needed = _ENDS_BYTES * num_arcs + _ENDS_VERTEX_BYTES * (num_vertices + 1)
    return "the sources of edges", needed, own_ends, num_arcs


def own_ends(offsets: Any, num_arcs: int) -> Any:
    """The vertex whose row each arc is in, uint32, shape (num_arcs,); where rows lie, on the host or the GPU.

    The first arc of each row holds how far its vertex is from that of the row before; a prefix sum does the rest.

    Args:
        offsets: of the rows, shape (n + 1,).
        num_arcs: how many arcs; those after all of the rows' have vertex n.
    """
    xp = array_module(offsets)
    bounds = xp.append(offsets, offsets.dtype.type(num_arcs))
    rows = xp.flatnonzero(bounds[1:] != bounds[:-1])
    steps = xp.zeros(num_arcs, np.uint32)
    steps[bounds[rows]] = xp.diff(rows, prepend=0)
    return xp.cumsum(steps, dtype=np.uint32, out=steps)


@team_kernel
def _count(thread: Any, size: Any, control: Any, targets: Any, degree: Any) -> None:
    for k in range(len(targets)):
        degree[np.uint32(targets[k])] += np.uint32(1)


@team_kernel
def _number(
    thread: Any,
    size: Any,
    control: Any,
    targets: Any,
    following: Any,
    rows: Any,
    alone: Any,
    group_size: Any,
    slot_of: Any,
    arc_of: Any,
) -> None:
    """Write the slot of each arc, and the arc of each slot, if its array is not empty.

    Two loops are faster than one: writing at random places holds up what is known only from another such place.

    Args:
        following: each vertex's first slot, which is overwritten by the next one.
        rows, alone, group_size: the row of each vertex; that of the first in a group; and its size.
    """
    for k in range(len(targets)):
        v = np.uint32(targets[k])
        slot = np.uint64(following[v])
        following[v] = slot + np.uint64(1 if group_size == 1 or rows[v] < alone else group_size)
        slot_of[k] = slot
    for k in range(min(len(targets), len(arc_of))):
        arc_of[slot_of[k]] = k


def degrees_of(targets: np.ndarray, num_vertices: int) -> np.ndarray:
    """The in-degree of each vertex, uint32, counted on a CPU by one thread."""
    degree = np.zeros(num_vertices, np.uint32)
    run_alone(_count, targets, degree)
    return degree


def arrange(
    targets: Any, num_vertices: int, dtype: Any, *, slots: bool = True, arcs: bool = True, **how: Any
) -> tuple[Units, Any, Any]:
    """Lay in-edges out, from a graph's targets alone.

    Args:
        targets: int32, shape (m,), of NumPy or CuPy: that is where it is done, on a CPU by one thread, and where the
            results lie.
        num_vertices: of the graph.
        dtype: of slots and arcs: uint32, or uint64 where they need it.
        slots, arcs: which of the two to make.
        how: see `make_units`.

    Returns:
        The places of rows; the slot of each arc, shape (m,); and the arc of each slot, shape (units.size,), which is m
        for a slot that stays empty. What was not asked for is empty.

    Raises:
        ScheduleError: the layout has more places than the dtype can number.
    """
    if isinstance(targets, np.ndarray):
        units = make_units(degrees_of(targets, num_vertices), **how)
        _check_size(units, dtype)
        slot_of = np.empty(len(targets), dtype)
        arc_of = np.empty(units.size if arcs else 0, dtype)
        if units.size > len(targets):
            arc_of.fill(len(targets))
        rows = units.rows, units.heaviest + units.heavy, units.group_size
        run_alone(_number, targets, first_places(units, dtype), *rows, slot_of, arc_of)
        return units, slot_of if slots else slot_of[:0], arc_of
    return _arrange_on_gpu(targets, num_vertices, np.dtype(dtype), slots, arcs, how)


def arranging(num_vertices: int, of_place: int) -> int:
    """The memory that `arrange` takes on a CPU beside slots and arcs, if vertices stay in their order: degrees, rows,
    vertices, where units begin, and the first places, which have `of_place` bytes each."""
    return (3 * 4 + 8 + of_place) * (num_vertices + 1)


def _check_size(units: Units, dtype: Any) -> None:
    """Refuse more places than can be numbered: nearly all of them are empty then."""
    most = np.iinfo(dtype).max
    if units.size >= most:
        raise ScheduleError(
            f"the layout has {units.size:,} places for {int(units.degrees.sum()):,} edges; expected less than "
            f"{most:,}. Sort vertices, or make groups smaller"
        )


def _arrange_on_gpu(
    targets: Any, num_vertices: int, dtype: np.dtype, slots: bool, arcs: bool, how: dict[str, Any]
) -> tuple[Units, Any, Any]:
    from edgewise.kernels.cuda.memory import cupy
    from edgewise.layout.slots_cuda import write_slots

    xp, m = cupy(), len(targets)
    order = xp.argsort(targets.view(np.uint32), kind="stable")
    by_target = targets[order]
    begins = xp.searchsorted(by_target, xp.arange(num_vertices + 1, dtype=np.int32))
    units = make_units(xp.subtract(begins[1:], begins[:-1], dtype=np.uint32, casting="unsafe"), **how)
    _check_size(units, dtype)
    slot_of = xp.empty(m if slots else 0, dtype)
    arc_of = xp.full(units.size if arcs else 0, m, dtype)
    write_slots(order, by_target, begins, units, slot_of, arc_of)
    return units, slot_of, arc_of
