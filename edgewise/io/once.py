"""The edges of a graph as files list them: the arcs, or each edge of an undirected graph once; some at a time."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from edgewise.graph import Graph
from edgewise.graph.csr import rows_in_pieces

#: Arcs, or vertices, that are written at a time: a fraction of a second of work between two looks at Ctrl-C.
CHUNK = 1 << 17


class Some(NamedTuple):
    """Some edges, as indices of vertices; and the number of arcs up to here."""

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    done: int


def edges_once(graph: Graph, step: int = CHUNK, arcs: bool = False) -> Iterator[Some]:
    """All edges, from `step` arcs at a time; those of an undirected graph from their end of larger index, or in both
    directions if `arcs` are wanted."""
    for part, source in rows_in_pieces(graph.offsets, step):
        target = graph.targets[part]
        kept = slice(None) if graph.directed or arcs else source >= target
        weight = None if graph.weights is None else graph.weights[part][kept]
        yield Some(source[kept], target[kept], weight, part.stop)
