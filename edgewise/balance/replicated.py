"""Slots of a table: a lane has each slot, which has some arcs of a vertex, and several may be the same vertex's.

A unit is a slot. Where few vertices send, their slots are listed. Else all slots are gone through in their order, and
those that are listed send: so the lanes of a warp have slots that lie side by side, as the table wants it. Whether a
slot is listed is known from its place in the list, which needs no setting up (Briggs and Torczon, ACM Letters on
Programming Languages and Systems 2, 1993). Where vertices gather, a lane has each.

Reference. Singh and Nasre, "Graffix", ICPP 2020 (section 2).
"""

from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from edgewise.balance.contract import Bodies, GraphRows, Own, Plan, Strategy, Traversal
from edgewise.balance.grouped import make_grouped
from edgewise.balance.mapped import make_pull
from edgewise.balance.node_splitting import make_units
from edgewise.kernels.cuda import memory as cuda_memory
from edgewise.kernels.cuda.arguments import Offsets, Uint32s
from edgewise.kernels.cuda.device import device_function, lane, num_threads, thread_index
from edgewise.primitives.deal import degree
from edgewise.schedule import Replicated

#: Slots are gone through in their order where at least one in this many sends. A table takes at most this many bytes
#: for each slot, and for each vertex.
ALL, SLOT_BYTES, VERTEX_BYTES = 8, 24, 4


class Table(NamedTuple):
    """The slots, in arrays on the GPU.

    Attributes:
        first: (n + 1,): the slots of vertex v that have arcs are slots[first[v]] to slots[first[v + 1] - 1].
        slots: these slots, by their vertices.
        vertex: (s,): the vertex of each slot; of one without arcs, it does not matter.
        begin, end: (s,): where the arcs of each slot begin and end.
        size: (1,): how many slots there are.
    """

    first: Uint32s
    slots: Uint32s
    vertex: Uint32s
    begin: Offsets
    end: Offsets
    size: Uint32s


class Listing(NamedTuple):
    """The arrays of the strategy.

    Attributes:
        table: the slots.
        listed: the slots of active vertices.
        place: the place of each of them in the list.
    """

    table: Table
    listed: Uint32s
    place: Uint32s


def table_of(offsets: Any, choice: Replicated | None) -> Table:
    """The table of a choice, or a slot for each vertex. `offsets` is on the GPU."""
    n = len(offsets) - 1
    if choice is None:
        host = cuda_memory.host_copy(offsets)
        vertex, begin, end = np.arange(n), host[:-1], host[1:]
    else:
        vertex, begin, end = choice.vertex, choice.first, choice.end
    used = np.flatnonzero(begin < end)
    used = used[np.argsort(vertex[used], kind="stable")]
    first = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(vertex[used], minlength=n), out=first[1:])

    def there(values: np.ndarray, dtype: Any = np.uint32) -> Any:
        return cuda_memory.copy_of(values.astype(dtype))

    arcs = there(begin, offsets.dtype), there(end, offsets.dtype)
    return Table(there(first), there(used), there(vertex), arcs[0], arcs[1], there(np.array([len(vertex)])))


def make_replicated(bodies: Bodies) -> Traversal:
    """The functions of the strategy."""
    scatter = bodies.scatter

    @device_function
    def units_of(v, plan):
        return np.int64(plan.table.first[v]), degree(v, plan.table.first)

    @device_function
    def note(position, number, plan):
        slot = np.int64(plan.table.slots[number])
        plan.listed[position] = slot
        plan.place[slot] = position

    @device_function
    def unit(slot, plan):
        table = plan.table
        return np.int64(table.vertex[slot]), np.int64(table.begin[slot]), np.int64(table.end[slot])

    list_units, push_listed = make_units(units_of, note, unit, scatter)

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        units, slots, plan = run.control[counter], np.int64(run.plan.table.size[0]), run.plan
        if units * ALL < slots:
            push_listed(units, context, run)
        else:
            for begin in range(thread_index() - lane(), slots, num_threads()):
                slot, v, start, end = begin + lane(), np.int64(-1), np.int64(0), np.int64(0)
                if slot < slots and plan.table.begin[slot] < plan.table.end[slot]:
                    place = np.int64(plan.place[slot])
                    if place < units and np.int64(plan.listed[place]) == slot:
                        v, start, end = unit(slot, plan)
                scatter(v, start, end, np.int64(1), np.int64(1), context)
        return generation

    return Traversal(list_units, push_all, make_pull(make_grouped(1), bodies.gather))


@final
class ReplicatedStrategy(Strategy):
    """Lanes have the slots of a table; on another graph than that of the table, vertices."""

    arrays: ClassVar[type] = Listing

    def __init__(self, choice: Replicated) -> None:
        super().__init__("Replicated")
        self._choice = choice

    def prepare(self, rows: GraphRows, pushes: bool, pulls: bool) -> Plan:
        choice = self._choice if rows.is_of(self._choice) else None
        num_slots = rows.num_vertices if choice is None else len(choice.vertex)
        needed = SLOT_BYTES * num_slots + VERTEX_BYTES * (rows.num_vertices + 1)
        table: Table = rows.kept(False, "the slots", needed, table_of, choice)
        if choice is None:
            note = "slots: a lane for each vertex, for this graph was made of the one that has slots"
        else:
            note = f"slots: {len(table.slots):,} of {num_slots:,} have edges"
        return Plan(Listing(table, Own(len(table.slots)), Own(num_slots)), rows.offsets, notes=(note,))

    def make(self, bodies: Bodies) -> Traversal:
        return make_replicated(bodies)
