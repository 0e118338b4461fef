"""A graph's rows on the GPU, as strategies of `edgewise.balance` prepare for them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.balance.contract import Rows
from edgewise.graph import Graph
from edgewise.kernels.cuda.memory import room


def rows_of(graph: Graph) -> Rows:
    """What strategies may ask of a graph."""

    def kept(inward: bool, key: tuple[Any, ...], needed: int, make: Callable[[Any], Any]) -> Any:
        def made() -> Any:
            offsets = graph.gpu.in_offsets if inward else graph.gpu.offsets
            with room(key[0], needed):
                return make(offsets)

        return graph.gpu.kept((*key, inward), made)

    offsets = np.dtype(f"u{graph.stored.offsets.itemsize}")
    return Rows(graph.num_vertices, graph.num_arcs, offsets, kept)
