"""A graph's arrays on the GPU: each is copied or made there once, and stays as long as the graph."""

from collections.abc import Callable
from enum import Flag, auto
from typing import Any, TypeVar, final

import numpy as np

from edgewise.graph import gpu_rows
from edgewise.kernels.door import cuda_door
from edgewise.memory import Step

_Kept = TypeVar("_Kept")


class Arrays(Flag):
    """Sets of a graph's arrays that runs on a GPU read."""

    OFFSETS = auto()
    TARGETS = auto()
    WEIGHTS = auto()
    IN_OFFSETS = auto()
    IN_SOURCES = auto()
    IN_WEIGHTS = auto()
    ROWS = OFFSETS | TARGETS
    IN_EDGES = IN_OFFSETS | IN_SOURCES
    BOTH_WAYS = ROWS | IN_EDGES

    @classmethod
    def rows(cls, weighted: bool) -> "Arrays":
        """Out-edges, with weights if asked for."""
        return cls.ROWS | cls.WEIGHTS if weighted else cls.ROWS

    @classmethod
    def both_ways(cls, weighted: bool) -> "Arrays":
        """Out-edges and in-edges, with weights if asked for."""
        return cls.BOTH_WAYS | cls.WEIGHTS | cls.IN_WEIGHTS if weighted else cls.BOTH_WAYS


@final
class Resident:
    """A graph's arrays as CuPy arrays, under the names that they have in the graph; `in_arcs` are made on the host.

    It holds the graph, which has the cache: so it is made anew each time, and no cycle keeps the graph in memory.
    Reading an array raises MemoryLimitError if the GPU has no room for it.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    offsets = property(lambda self: self._there(self._graph.stored.offsets))
    targets = property(lambda self: self._there(self._graph.stored.targets))
    weights = property(lambda self: self._there(self._graph.stored.weights))
    in_offsets = property(lambda self: self._there(self._graph.stored_in_edges.offsets))
    in_sources = property(lambda self: self._there(self._graph.stored_in_edges.targets))
    in_weights = property(lambda self: self._there(self._graph.stored_in_edges.weights))
    in_arcs = property(lambda self: self._copied(self._graph.in_arcs))

    @property
    def out_degree(self) -> Any:
        """The number of arcs out of each vertex."""
        graph = self._graph
        return self.kept(_row_lengths, False) if graph.built_on_gpu else self._copied(graph.out_degree)

    @property
    def in_degree(self) -> Any:
        """The number of arcs into each vertex."""
        graph = self._graph
        if not graph.directed:
            return self.out_degree
        return self.kept(_row_lengths, True) if graph.built_on_gpu else self._copied(graph.in_degree)

    def making(self, arrays: Arrays) -> Step:
        """The GPU's memory that it takes to copy or make those arrays that are not there yet."""
        graph, rows = self._graph, self._graph.stored
        unmade = Arrays(0) if graph.has_in_edges else arrays & (Arrays.IN_EDGES | Arrays.IN_WEIGHTS)
        in_edges = graph.stored_in_edges if graph.has_in_edges else rows  # of the same size
        places = [(each, name) for each in (rows, in_edges) for name in ("offsets", "targets", "weights")]
        wanted = [  # only these: arrays of files are read when they are asked for
            (array, getattr(each, name))
            for array, (each, name) in zip(Arrays, places, strict=True)
            if array in arrays
        ]
        missing = {
            array if array in unmade else id(values): values.nbytes
            for array, values in wanted
            if array in unmade or not (graph.built_on_gpu or id(values) in graph.residents)
        }
        kept, sorted_there = sum(missing.values()), bool(unmade) and graph.built_on_gpu
        return Step(kept, kept + sorted_there * gpu_rows.ARC_BYTES * graph.num_arcs)

    def kept(self, make: Callable[..., _Kept], *arguments: Any) -> _Kept:
        """The result of ``make(graph, *arguments)``, which lies on the GPU: made once, kept as long as the graph."""
        made: _Kept = self._held((make, *arguments), lambda: make(self._graph, *arguments))
        return made

    def has(self, make: Callable[..., Any], *arguments: Any) -> bool:
        """Whether that result is `kept` already."""
        return (make, *arguments) in self._graph.residents

    def _held(self, key: Any, make: Callable[[], Any]) -> Any:
        held = self._graph.residents
        return held[key] if key in held else held.setdefault(key, make())

    def _there(self, values: Any) -> Any:
        """An array of rows, copied unless the graph was built on the GPU."""
        return values if values is None or self._graph.built_on_gpu else self._copied(values)

    def _copied(self, values: np.ndarray) -> Any:
        """The copy of an array of the host, which is kept with it: its `id` is the key."""

        def copy() -> tuple[Any, Any]:
            with cuda_door().room("the graph's copy", values.nbytes):
                return values, cuda_door().copy_of(values)

        return self._held(id(values), copy)[1]


def _row_lengths(graph: Any, inward: bool) -> Any:
    """The number of arcs in each row of out-edges or, inward, of in-edges."""
    offsets = (graph.stored_in_edges if inward else graph.stored).offsets
    return (offsets[1:] - offsets[:-1]).astype(np.int32)
