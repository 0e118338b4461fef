"""Graphs whose vertices are those of another one, numbered otherwise: its rows in another order."""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgewise.graph import csr
from edgewise.graph.file_rows import FileRows
from edgewise.graph.gpu_rows import GpuRows
from edgewise.graph.graph import Graph
from edgewise.graph.ids import Ids
from edgewise.kernels.cpu.launch import sealed
from edgewise.kernels.door import cuda_door
from edgewise.layout.layers import Order, move_rows


@dataclass(frozen=True)
class MovedRows(csr.Rows):
    """Rows in the host's memory.

    Attributes:
        make_in_edges: makes their in-edges, in the order of arcs that the graph's own have.
    """

    make_in_edges: Callable[[], csr.Rows]

    def sealed(self) -> "MovedRows":
        """These rows, read-only."""
        weights = None if self.weights is None else sealed(self.weights)
        return MovedRows(sealed(self.offsets), sealed(self.targets), weights, self.make_in_edges)


class MovedGpuRows(GpuRows):
    """Rows on the GPU; `make_in_edges` as for `MovedRows`."""

    def __init__(self, rows: csr.Rows, make_in_edges: Callable[[], csr.Rows]) -> None:
        super().__init__(rows.offsets, rows.targets, rows.weights)
        self._make = make_in_edges

    def transposed(self) -> GpuRows:
        """The in-edges."""
        rows = self._make()
        return GpuRows(rows.offsets, rows.targets, rows.weights)


class MovedGraph(Graph):
    """A graph whose vertices are the places of another one's.

    Attributes:
        order: the order; NumPy arrays, or CuPy arrays if it was made on a GPU.
        has_right_weights: whether weights in a file were compared with those of the graph.
    """

    has_right_weights = False

    def __init__(self, rows: Any, order: Order, graph: Graph) -> None:
        loops = 0 if graph.directed else 2 * graph.num_edges - graph.num_arcs
        super().__init__(rows, Ids(graph.num_vertices), graph.directed, loops, graph.num_arcs)
        self.order, self._original = order, weakref.ref(graph.itself)

    @property
    def original(self) -> Graph:
        """The graph whose vertices have these places; it keeps this one."""
        found = self._original()
        assert found is not None
        return found

    def places_of(self, vertices: np.ndarray) -> np.ndarray:
        """The places of some vertices, int64, on the host."""
        places = self.order.place[vertices]
        return (places if isinstance(places, np.ndarray) else cuda_door().host_copy(places)).astype(np.int64)

    @property
    def host_order(self) -> Order:
        """The order as NumPy arrays."""
        vertices, place, begins = self.order
        if isinstance(vertices, np.ndarray):
            return self.order
        return Order(cuda_door().host_copy(vertices), cuda_door().host_copy(place), begins)

    @cached_property
    def arcs(self) -> np.ndarray:
        """For each arc, its index in the original graph, of the dtype of offsets."""
        graph = self.original
        numbers = np.arange(graph.num_arcs, dtype=graph.offsets.dtype)
        return self._moved(graph.offsets, graph.targets, numbers)

    @cached_property
    def in_arcs(self) -> np.ndarray:
        """See `Graph.in_arcs`: in-edges are in the order that they have in the original graph."""
        if not self.directed:
            return sealed(csr.twin_arcs(self.offsets, self.targets))
        graph, index = self.original, np.empty_like(self.arcs)
        index[self.arcs] = np.arange(len(index), dtype=index.dtype)
        return sealed(index[self._moved(graph.in_offsets, graph.in_sources, graph.in_arcs)])

    def _moved(self, offsets: np.ndarray, ends: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Values of arcs of the original graph in the order of moved rows."""
        moved = move_rows(self.host_order, offsets, ends, values)[2]
        assert moved is not None
        return moved


def moved_graph(graph: Graph, order: Order, rows: Any, on_gpu: bool) -> MovedGraph:
    """The graph whose vertices are places; its in-edges are made from those of the graph, whose order of arcs they
    keep.

    Args:
        graph: the graph.
        order: which vertex is at which place.
        rows: the moved rows, in a file, on the GPU or in the host's memory.
        on_gpu: whether they, and the order, are on the GPU.
    """
    original = weakref.ref(graph.itself)

    def make_in_edges() -> csr.Rows:
        there: Graph = original()  # type: ignore[assignment]  # it keeps what is made here
        if not on_gpu:
            inward = there.stored_in_edges
            return csr.Rows(*move_rows(order, inward.offsets, inward.targets, inward.weights))
        from edgewise.layout.layers_cuda import move_rows_on_gpu

        gpu = there.gpu
        return csr.Rows(*move_rows_on_gpu(order, gpu.in_offsets, gpu.in_sources, gpu.in_weights))

    held_rows: Any = rows
    if isinstance(rows, FileRows):
        rows.make_in_edges = make_in_edges
    elif on_gpu:
        held_rows = MovedGpuRows(rows, make_in_edges)
    else:
        held_rows = MovedRows(rows.offsets, rows.targets, rows.weights, make_in_edges)
    return MovedGraph(held_rows, order, graph)
