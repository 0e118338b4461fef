"""A graph's in-edges laid out on the GPU as a schedule asks for, made once and kept with the graph."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.cuda.arguments import SlotMaps
from edgewise.graph import Graph, csr
from edgewise.graph.attributes import in_order
from edgewise.graph.layers import making_on_gpu
from edgewise.graph.moved import MovedGraph, moved_graph
from edgewise.kernels.cuda.memory import copy_of, cupy, fits, room
from edgewise.layout.hub_cuda import hub_degree
from edgewise.layout.layers import Order
from edgewise.layout.layers_cuda import move_rows_on_gpu
from edgewise.layout.slots import ARC_BYTES, arrange, finding_ends, own_ends
from edgewise.layout.slots_cuda import LayoutArrays, layout_arrays
from edgewise.layout.units import Units, make_units
from edgewise.memory import check_free, free_memory
from edgewise.schedule import Layout

#: The fewest and the most arcs of a sample.
_FEWEST, _MOST = 1 << 20, 1 << 26
#: The bytes of `LaidOut.rows` for each vertex, of which one more counts for the last word of `begin` and for `numbers`.
_VERTEX_BYTES = 20


class LaidOut(NamedTuple):
    """A layout on the GPU. Arrays with a value for each arc or place may lie in the host's memory.

    Attributes:
        units: the places of rows.
        rows: these places, as kernels take them.
        maps: which arc a slot belongs to; None if messages are pulled.
        sources: the source of each place's arc; None for a buffer.
        arcs: the arc of each place, if asked for.
        order: these arcs on the host, if the graph does not fit on the GPU: edge fields are brought into order there.
        notes: for `Result.explain`.
    """

    units: Units
    rows: LayoutArrays
    maps: SlotMaps | None
    sources: Any
    arcs: Any
    order: np.ndarray | None
    notes: tuple[str, ...]

    @property
    def num_slots(self) -> int:
        """The slots of a buffer; 0 if messages are pulled."""
        return self.units.size if self.maps else 0

    @property
    def arrays(self) -> list[Any]:
        """All arrays on the GPU."""
        every = (*self.rows, *(self.maps or ()), self.sources, self.arcs)
        return [each for each in every if each is not None]

    def in_order(self, values: Any) -> Any:
        """Values of arcs, in the order of places. Empty places get some value."""
        return values[cupy().minimum(self.arcs, max(len(values) - 1, 0))]


def lay_out(graph: Graph, layout: Layout, buffered: bool, with_arcs: bool, by_edges: bool = False) -> LaidOut:
    """The layout of a graph, for slots of a message buffer, or for gathering over in-edges.

    Args:
        layout: the schedule's.
        buffered: whether it is for slots.
        with_arcs: whether to keep the arc of each place, which edge fields need.
        by_edges: whether edges write to slots where many send, so that slots need not know their edges.

    Raises:
        MemoryLimitError: the GPU has no room for it, or the host has none to make it.
    """
    return graph.gpu.kept(_made, layout, buffered, with_arcs, by_edges)


def is_laid_out(graph: Graph, layout: Layout, with_arcs: bool) -> bool:
    """Whether a graph has that layout for gathering already."""
    return graph.gpu.has(_made, layout, False, with_arcs, False)


def renumbered(graph: Graph, layout: Layout) -> MovedGraph:
    """The graph whose vertices are numbered by the rows of a layout, on the GPU.

    Args:
        graph: one that lies on the GPU as a whole.
        layout: the schedule's.

    Raises:
        MemoryLimitError: the GPU has no room for it, or the host has none to make it.
    """
    n, gpu = graph.num_vertices, graph.gpu
    with room("numbering vertices anew", making_on_gpu(graph)):
        if layout.made_on == "cpu":
            units = _on_gpu(make_units(graph.in_degree.view(np.uint32), **_how(layout)))
        else:
            units = make_units(_in_degrees(graph), **_how(layout))
        order = Order(units.vertices.view(np.int32), units.rows.view(np.int32), np.array([0, n, n]))
        rows = csr.Rows(*move_rows_on_gpu(order, gpu.offsets, gpu.targets, gpu.weights))
    moved = moved_graph(graph, order, rows, on_gpu=True)
    moved.gpu.know_in_degrees(units.degrees.view(np.int32))
    return moved


def _in_degrees(graph: Graph) -> Any:
    """The in-degrees on the GPU, uint32; counted there if there are no in-edges, whose offsets tell them."""
    if graph.num_arcs == 0:
        return cupy().zeros(graph.num_vertices, np.uint32)
    if graph.directed and not graph.has_in_edges:
        return cupy().bincount(graph.gpu.targets, minlength=graph.num_vertices).astype(np.uint32)
    return graph.gpu.in_degree.view(np.uint32)


def has_short_rows(graph: Graph, bound: int) -> bool:
    """Whether no vertex has more in-edges than that; where in-degrees are not known, as far as a sample of arcs tells.

    Args:
        graph: one that lies on the GPU as a whole, or has in-edges.
        bound: the most in-edges.
    """
    n, m = graph.num_vertices, graph.num_arcs
    if m > bound * n:
        return False
    if not m:
        return True
    if not graph.built_on_gpu:
        return int(graph.in_degree.max()) <= bound
    if graph.has_in_edges or not graph.directed:
        return int(graph.gpu.in_degree.max()) <= bound
    with room("a sample of arcs", 4 * n + m):
        return hub_degree(graph.gpu.targets, n, _sampled(m)) <= bound


def _sampled(num_arcs: int) -> int:
    """How many arcs a sample has."""
    return min(num_arcs, max(_FEWEST, min(num_arcs >> 6, _MOST)))


def has_room(graph: Graph, layout: Layout, limit: int | None) -> bool:
    """Whether there is room to make a layout: on the GPU, of whose memory a run may take `limit` bytes, or what is free
    if that is None; or on the host."""
    needed = ARC_BYTES * graph.num_arcs
    on_gpu = layout.made_on == "gpu" and (fits(needed) if limit is None else needed <= limit)
    return on_gpu or host_has_room(graph)


def host_has_room(graph: Graph) -> bool:
    """Whether the host has room to make a layout."""
    free = free_memory()
    return free is None or _host_bytes(graph) <= free


def _host_bytes(graph: Graph) -> int:
    """The host's memory that it takes to make a layout there: slots, arcs, the ends of arcs, and these in order."""
    return (2 * graph.stored.offsets.itemsize + 4 + 4) * graph.num_arcs


def num_places(graph: Graph, layout: Layout) -> int:
    """The places of a layout, counted on the host."""
    return make_units(graph.in_degree.view(np.uint32), **_how(layout)).size


def rows_bytes(num_vertices: int) -> int:
    """The most memory that the places of rows take on the GPU."""
    return _VERTEX_BYTES * (num_vertices + 2)


def places_bytes(graph: Graph, places: int, buffered: bool, with_arcs: bool, by_edges: bool) -> list[int]:
    """The bytes of each array of a layout with a value for each arc or place."""
    arc = graph.stored.offsets.itemsize
    if by_edges:
        return [arc * graph.num_arcs, 4 * graph.num_arcs]
    if buffered:
        return [arc * graph.num_arcs, arc * places, 4 * places]
    return [4 * places, arc * places] if with_arcs else [4 * places]


def _how(layout: Layout) -> dict[str, Any]:
    names = ("sort", "num_buckets", "threshold", "group_size", "split")
    return {name: getattr(layout, name) for name in names}


def _made(graph: Graph, layout: Layout, buffered: bool, with_arcs: bool, by_edges: bool) -> LaidOut:
    m, fits = graph.num_arcs, graph.placement is None
    on_gpu = layout.made_on == "gpu" and fits
    with room("laying in-edges out", ARC_BYTES * m * on_gpu):
        make = _made_on_gpu if on_gpu else _made_on_host
        units, slots, arcs, sources = make(graph, layout, buffered, by_edges)
        more = units.size - m
        what = f"{units.groups:,} groups of {units.group_size:,} rows, {units.heaviest + units.heavy:,} by themselves"
        where = "GPU" if on_gpu else "CPU"
        notes = (f"laid out on the {where}: {what}; {more / max(m, 1):.2%} more places than edges",)
        order = arcs if with_arcs and not (buffered or fits) else None
        if buffered or with_arcs:
            slots, arcs = graph.gpu.placed(slots), graph.gpu.placed(arcs)
        sources, rows = graph.gpu.placed(sources), layout_arrays(units)
        if buffered:
            return LaidOut(units, rows, SlotMaps(slots, arcs, sources), None, None, None, notes)
        return LaidOut(units, rows, None, sources, arcs if with_arcs else None, order, notes)


def _made_on_gpu(graph: Graph, layout: Layout, buffered: bool, by_edges: bool) -> tuple[Units, Any, Any, Any]:
    """The places of rows, the slot of each arc, and of each place the arc and its source. An empty place has the number
    of arcs as its arc, and the number of vertices as its source. With `by_edges`, no arcs, and the source of each arc.
    """
    offsets = graph.gpu.offsets
    dtype = np.dtype(f"u{offsets.dtype.itemsize}")
    made = arrange(
        graph.gpu.targets, graph.num_vertices, dtype, slots=buffered, arcs=not by_edges, **_how(layout)
    )
    if by_edges:
        return *made, graph.gpu.of_offsets(False, *finding_ends(graph.num_vertices, graph.num_arcs))
    return *made, own_ends(offsets, graph.num_arcs + 1)[made[-1]]


def _made_on_host(
    graph: Graph, layout: Layout, buffered: bool, by_edges: bool
) -> tuple[Units, Any, Any, Any]:
    """What `_made_on_gpu` gives, with the places of rows on the GPU and the others on the host."""
    n, dtype = graph.num_vertices, np.dtype(f"u{graph.offsets.itemsize}")
    check_free("laying in-edges out", _host_bytes(graph))
    units, slots, arcs = arrange(graph.targets, n, dtype, slots=buffered, arcs=not by_edges, **_how(layout))
    if by_edges and graph.placement is None:
        return (
            _on_gpu(units),
            slots,
            arcs,
            graph.gpu.of_offsets(False, *finding_ends(graph.num_vertices, graph.num_arcs)),
        )
    if by_edges:
        return _on_gpu(units), slots, arcs, graph.sources.view(np.uint32)
    ends = np.full(graph.num_arcs + 1, n, np.uint32)
    ends[:-1] = csr.row_of_arcs(graph.offsets)
    return _on_gpu(units), slots, arcs, in_order(ends, arcs)


def _on_gpu(units: Units) -> Units:
    names = ("vertices", "rows", "degrees", "begin", "numbers")
    return units._replace(**{name: copy_of(getattr(units, name)) for name in names})
