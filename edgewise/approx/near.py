"""The neighbours of vertices in a graph that is taken as undirected and simple."""

from typing import NamedTuple

import numpy as np

from edgewise.graph import Graph


class Neighbours(NamedTuple):
    """A graph as undirected and simple: rows of neighbours, ascending; on the GPU if they were found there.

    Attributes:
        offsets: int64, shape (n + 1,).
        targets: int32.
    """

    offsets: np.ndarray
    targets: np.ndarray

    @property
    def degree(self) -> np.ndarray:
        """How many neighbours each vertex has, int64."""
        return np.diff(self.offsets)


def neighbours(graph: Graph) -> Neighbours:
    """The neighbours of all vertices. O(m log m)."""
    ends = graph.sources, graph.targets
    keys = (
        np.concatenate([keys_of_arcs(*ends), keys_of_arcs(*ends[::-1])])
        if graph.directed
        else keys_of_arcs(*ends)
    )
    keys = keys[keys >> 32 != keys & 0xFFFFFFFF]
    keys.sort()
    keys = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
    return rows_of(keys >> 32, (keys & 0xFFFFFFFF).astype(np.int32), graph.num_vertices)


def keys_of_arcs(sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Arcs as numbers that are in the order of their sources, then their targets."""
    return sources.astype(np.int64) << 32 | targets


class Arcs(NamedTuple):
    """Arcs in the order of their sources, then their targets, parallel ones in the order of the graph.

    Attributes:
        keys: int64, ascending: the source's bits above the target.
        weights: of these arcs, or None.
    """

    keys: np.ndarray
    weights: np.ndarray | None


def arcs_in_order(graph: Graph) -> Arcs:
    """All arcs. O(m log m)."""
    keys = keys_of_arcs(graph.sources, graph.targets)
    order = np.argsort(keys, kind="stable")
    return Arcs(keys[order], None if graph.weights is None else graph.weights[order])


def rows_of(sources: np.ndarray, targets: np.ndarray, num_vertices: int) -> Neighbours:
    """Rows of arcs that are in the order of their sources."""
    offsets = np.zeros(num_vertices + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=num_vertices), out=offsets[1:])
    return Neighbours(offsets, np.ascontiguousarray(targets))
