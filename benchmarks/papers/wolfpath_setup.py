"""What the reproduction of Zhu et al. (2019) compares: graphs, and these put into layers, lists and shards."""

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.gpu import built
from benchmarks.papers import edge_vertex_setup
from benchmarks.papers.load_balancing_setup import Columns, road
from edgewise.graph.layers import GraphInLayers, put_in_layers
from edgewise.kernels.cuda.memory import copy_of, cupy, finish, full, host_copy, most_threads
from edgewise.layout.layers import joined

PROGRAMS = {"BFS": False, "SSSP": True}


def lattice(side: int) -> Columns:
    """A square lattice less 10% of its streets, with weights from 1 to 100, on the GPU."""
    graph = ew.generate.lattice(side, side, removed=0.1, weights=(1, 100))
    assert graph.weights is not None
    ends = (graph.sources, graph.targets, graph.weights)
    return graph.num_vertices, tuple(copy_of(np.asarray(column)) for column in ends)


GRAPHS: dict[str, Callable[[], Columns]] = {
    "Journal": edge_vertex_setup.GRAPHS["Journal"],
    "soc-Epinions1": edge_vertex_setup.GRAPHS["soc-Epinions1"],
    "cnr-2000": edge_vertex_setup.GRAPHS["cnr-2000"],
    "road-NE": lambda: road("road-NE"),
    "lattice": lambda: lattice(2048),
}


def lists_of(made: GraphInLayers, min_arcs: int) -> tuple[np.ndarray, np.ndarray]:
    """The first arc of each list and the end, int64; and of how many layers each list is joined.

    Arcs of vertices that the root does not reach are in no list.

    Args:
        made: the graph in layers.
        min_arcs: the fewest arcs of a list but the last.
    """
    order, offsets = made.order, made.graph.offsets
    places = np.unique(np.minimum(joined(order, offsets, min_arcs), order.begins[-2]))
    return offsets[places].astype(np.int64), np.diff(np.searchsorted(order.begins[:-1], places))


class Case:
    """A graph on the GPU, and what the contenders make of it, each once.

    Attributes:
        name, made: the graph's name; vertices and columns of edges on the GPU.
        graph: built from them; it keeps no layers.
        root: a vertex of the largest out-degree.
    """

    def __init__(self, name: str, made: Columns) -> None:
        self.name, self.made = name, made
        self.graph = built(made[1], made[0])
        degrees = np.diff(self.graph.offsets.astype(np.int64))
        self.root = int(degrees.argmax())

    @functools.cached_property
    def level(self) -> Any:
        """The level of each vertex, int32, on the GPU, by a search that knows no layers."""
        found = ew.bfs(self.graph, self.root, device="cuda")
        assert found.verify(self.graph), "bfs: a wrong answer"
        return found.on_device("level")

    @functools.cached_property
    def distance(self) -> Any:
        """The distance of each vertex, on the GPU, by a run that knows no layers."""
        found = ew.sssp(self.graph, self.root, device="cuda")
        assert found.verify(self.graph), "sssp: a wrong answer"
        return found.on_device("distance")

    def wanted(self, program: str) -> Any:
        """The right answer of a program, int32, on the GPU; 2**31 - 1 for what is not reached."""
        none = np.iinfo(np.int32).max
        if program == "BFS":
            return cupy().where(self.level < 0, none, self.level).astype(np.int32)
        return cupy().minimum(self.distance, none).astype(np.int32)

    @functools.cached_property
    def layers(self) -> GraphInLayers:
        """The graph in layers from the root, made on the GPU."""
        return put_in_layers(self.graph, self.level, np.array([self.root]))

    @property
    def root_place(self) -> int:
        """The place of the root."""
        return int(self.layers.graph.places_of(np.array([self.root]))[0])

    @functools.cached_property
    def edge_list(self) -> dict[str, Any]:
        """The layered edge list, on the GPU: source, target and weight of each arc, in the order of layers."""
        rows, xp = self.layers.graph.stored, cupy()
        arcs = xp.arange(len(rows.targets), dtype=rows.offsets.dtype)
        sources = xp.searchsorted(rows.offsets, arcs, side="right") - 1
        return {"sources": sources.astype(np.uint32), **self.rows}

    @functools.cached_property
    def rows(self) -> dict[str, Any]:
        """The rows in the order of layers, on the GPU."""
        rows = self.layers.graph.stored
        columns = {"offsets": rows.offsets, "weights": rows.weights}
        found = {name: column.astype(np.int32) for name, column in columns.items()}
        return {**found, "targets": rows.targets.astype(np.uint32)}

    @functools.cached_property
    def in_edges(self) -> dict[str, Any]:
        """The in-edges in the order of vertices, on the GPU."""
        rows = self.graph.stored_in_edges
        columns = {"offsets": rows.offsets, "weights": rows.weights}
        found = {name: column.astype(np.int32) for name, column in columns.items()}
        return {**found, "sources": rows.targets.astype(np.uint32)}

    @functools.cached_property
    def shards(self) -> Any:
        """CuSha-like shards with weights."""
        from benchmarks.papers.cusha import make_shards

        source, target, weight = (host_copy(column) for column in self.made[1])
        make_shards(self.made[0], source, target, weight)  # CuPy loads its kernels
        return make_shards(self.made[0], source, target, weight)

    def shards_for(self, program: str) -> Any:
        """The shards for a program: each edge of BFS has weight 1."""
        if program == "SSSP":
            return self.shards
        return dataclasses.replace(self.shards, weight=full(self.shards.num_edges, 1, np.int32))

    @property
    def facts(self) -> dict[str, Any]:
        """The columns of a row that say which graph it is."""
        return {
            "graph": self.name,
            "vertices": self.graph.num_vertices,
            "edges": self.graph.num_arcs,
            "layers": self.layers.order.num_layers,
            "lists": len(lists_of(self.layers, most_threads())[1]),
        }


def transfer_ms(arrays: list[Any]) -> float:
    """Milliseconds in which arrays come from the host's memory to the GPU, the second of two times."""
    on_host = [array if isinstance(array, np.ndarray) else host_copy(array) for array in arrays]
    for _ in range(2):
        finish()
        started = time.perf_counter()
        for array in on_host:
            copy_of(array)
        finish()
    return 1e3 * (time.perf_counter() - started)
