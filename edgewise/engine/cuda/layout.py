"""A graph's in-edges laid out on the GPU as a schedule asks for, made once and kept with the graph."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.cuda.arguments import SlotMaps
from edgewise.graph import Graph
from edgewise.kernels.cuda.memory import copy_of, cupy, room
from edgewise.layout.slots import ARC_BYTES, arrange, own_ends
from edgewise.layout.slots_cuda import LayoutArrays, layout_arrays
from edgewise.layout.units import Units
from edgewise.schedule import Layout


class LaidOut(NamedTuple):
    """A layout on the GPU.

    Attributes:
        units: the places of rows.
        rows: these places, as kernels take them.
        maps: which arc a slot belongs to; None if messages are pulled.
        sources: the source of each place's arc; None for a buffer.
        arcs: the arc of each place, if asked for.
        notes: for `Result.explain`.
    """

    units: Units
    rows: LayoutArrays
    maps: SlotMaps | None
    sources: Any
    arcs: Any
    notes: tuple[str, ...]

    @property
    def num_slots(self) -> int:
        """The slots of a buffer; 0 if messages are pulled."""
        return self.units.size if self.maps else 0

    def sizes(self) -> dict[int, int]:
        """The bytes of each array, by its `id`."""
        arrays = (
            each for each in (*self.rows, *(self.maps or ()), self.sources, self.arcs) if each is not None
        )
        return {id(array): array.nbytes for array in arrays}

    def in_order(self, values: Any) -> Any:
        """Values of arcs, in the order of places. Empty places get some value."""
        return values[cupy().minimum(self.arcs, max(len(values) - 1, 0))]


def lay_out(graph: Graph, layout: Layout, buffered: bool, with_arcs: bool) -> LaidOut:
    """The layout of a graph, for slots of a message buffer, or for gathering over in-edges.

    Args:
        layout: the schedule's.
        buffered: whether it is for slots.
        with_arcs: whether to keep the arc of each place, which edge fields need.

    Raises:
        MemoryLimitError: the GPU has no room for it.
    """
    return graph.gpu.kept(_made, layout, buffered, with_arcs)


def _made(graph: Graph, layout: Layout, buffered: bool, with_arcs: bool) -> LaidOut:
    m = graph.num_arcs
    offsets = graph.gpu.offsets
    dtype = np.dtype(f"u{offsets.dtype.itemsize}")
    names = ("sort", "num_buckets", "threshold", "group_size", "split")
    how = {name: getattr(layout, name) for name in names}
    with room("laying in-edges out", ARC_BYTES * m):
        on_cpu, n = layout.made_on == "cpu", graph.num_vertices
        targets = graph.targets if on_cpu else graph.gpu.targets
        units, slots, arcs = arrange(targets, n, dtype, slots=buffered, **how)
        if on_cpu:
            units, slots, arcs = _on_gpu(units), copy_of(slots), copy_of(arcs)
        more = units.size - m
        what = f"{units.groups:,} groups of {units.group_size:,} rows, {units.heaviest + units.heavy:,} by themselves"
        notes = (
            f"laid out on the {layout.made_on.upper()}: {what}; {more / max(m, 1):.2%} more places than edges",
        )
        # An empty place has the number of arcs as its arc, and the number of vertices as its source.
        sources = own_ends(offsets, m + 1)[arcs]
        rows = layout_arrays(units)
        if buffered:
            return LaidOut(units, rows, SlotMaps(slots, arcs, sources), None, None, notes)
        return LaidOut(units, rows, None, sources, arcs if with_arcs else None, notes)


def _on_gpu(units: Units) -> Units:
    names = ("vertices", "rows", "degrees", "begin", "numbers")
    return units._replace(**{name: copy_of(getattr(units, name)) for name in names})
