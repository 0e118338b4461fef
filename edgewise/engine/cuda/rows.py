"""A graph's rows on the GPU, as strategies of `edgewise.balance` prepare for them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from edgewise.balance.contract import Rows
from edgewise.graph import Graph
from edgewise.kernels.cuda.memory import room


def rows_of(graph: Graph) -> Rows:
    """What strategies may ask of a graph."""
    offsets = np.dtype(f"u{graph.stored.offsets.itemsize}")
    return Rows(graph.num_vertices, graph.num_arcs, offsets, partial(graph.gpu.kept, _of_offsets))


def _of_offsets(
    graph: Graph, inward: bool, what: str, needed: int, make: Callable[..., Any], *arguments: Any
) -> Any:
    """What a strategy makes of a graph's offsets: see `edgewise.balance.contract.Rows`."""
    offsets = graph.gpu.in_offsets if inward else graph.gpu.offsets
    with room(what, needed):
        return make(offsets, *arguments)
