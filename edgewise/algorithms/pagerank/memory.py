"""The memory that PageRank takes on a GPU, in bytes."""

from weakref import WeakKeyDictionary

import numpy as np

from edgewise.graph import Graph
from edgewise.layout.contract import HEAVIEST, HEAVY

#: The rows of a group, which a warp takes; and the warps that take one of the heaviest rows.
_WARP, _WARPS = 32, 32


def places(num_arcs: int) -> int:
    """About how many places a layout has at most: heavy rows begin at multiples of `ALIGNED`, and in a group of sorted
    rows few places stay empty."""
    return num_arcs + num_arcs // 4 + _WARP * HEAVY


_heavy_rows: WeakKeyDictionary[Graph, tuple[int, int]] = WeakKeyDictionary()


def heavy_rows(graph: Graph) -> tuple[int, int]:
    """How many rows of in-edges are left to a warp or a block, and how many of them to a block; counted once."""
    if graph not in _heavy_rows:
        degree = graph.in_degree
        _heavy_rows[graph] = int(np.sum(degree > HEAVY)), int(np.sum(degree > HEAVIEST))
    return _heavy_rows[graph]


def apart_bytes(graph: Graph, of_rank: int, jumps: bool) -> int:
    """The memory of a run whose layout need not lie on the GPU: of each vertex its rank, its scale, two shares and
    perhaps its jump; where units begin, and what blocks of packed sources have."""
    n, (heavy, heaviest) = graph.num_vertices, heavy_rows(graph)
    units = n // _WARP + heavy + _WARPS * heaviest + 2
    blocks = places(graph.num_arcs) // (8 * _WARP) + units
    return n * (4 + jumps) * of_rank + 2 * of_rank + 8 * units + 12 * blocks


def apart_lists(num_arcs: int, of_rank: int, weighted: bool) -> int:
    """The memory of that layout: sources and weights."""
    return (4 + weighted * of_rank) * places(num_arcs)


def in_place_bytes(graph: Graph, of_rank: int, jumps: bool) -> int:
    """The GPU's memory of a run beside in-edges: of each vertex its rank, its scale, two shares and perhaps its jump,
    and where its row begins in 64 bits."""
    wide = 8 if graph.stored.offsets.itemsize < 8 else 0
    return (graph.num_vertices + 1) * ((4 + jumps) * of_rank + wide)
