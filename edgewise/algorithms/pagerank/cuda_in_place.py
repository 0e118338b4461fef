# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""PageRank on a GPU over in-edges as they lie, where not even the host has room to lay them out.

A group is the rows of 32 vertices of adjacent indices, whose sources lie side by side. A warp reads them line by line,
puts what the sources give into shared memory, and each lane adds up its own row's. So the link is used as by copies,
however short rows are. The number of a vertex is its index.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.pagerank.cuda_gather import Gathering, InEdgeRows
from edgewise.graph import Graph
from edgewise.kernels.cuda.device import (
    WARP,
    block_thread,
    device_function,
    lane,
    load_once,
    shuffle,
    warp_barrier,
)
from edgewise.kernels.cuda.memory import copy_of, empty
from edgewise.kernels.cuda.placed import after_line

#: The sources that a warp reads at a time: four lines, whose reads overlap.
ROUND = 4 * WARP
#: How many scales are made at a time.
_PIECE = 1 << 22


def make_gathering_in_place(nothing: Any) -> Gathering:
    """Over the sources of rows of adjacent vertices; `box` has `ROUND` shares for each warp."""

    @device_function
    def bounds(unit, units, it):
        row = np.int64(unit) * WARP + lane()
        if unit < units and row < it.n:
            first = np.int64(it.rows.begin[row])
            return first, np.int32(np.int64(it.rows.begin[row + 1]) - first)
        return np.int64(it.rows.begin[it.n]), np.int32(0)

    @device_function
    def row_bounds(row, it):
        return np.int64(0), np.int32(0)

    @device_function
    def gather(first, left, step, it, shares, box):
        sources, none, last = it.rows.sources, np.uint32(it.n), first + left
        corner = block_thread() // WARP * ROUND
        begin, end, total = shuffle(first, 0), shuffle(last, WARP - 1), 0.0
        after = np.int64(it.rows.places[0])
        for at in range((begin + after) // WARP * WARP - after, end, ROUND):
            k = at + lane()
            u0 = load_once(sources, k) if begin <= k < end else none
            u1 = load_once(sources, k + WARP) if k + WARP < end else none
            u2 = load_once(sources, k + 2 * WARP) if k + 2 * WARP < end else none
            u3 = load_once(sources, k + 3 * WARP) if k + 3 * WARP < end else none
            place = corner + lane()
            box[place] = shares[u0]
            box[place + WARP] = shares[u1]
            box[place + 2 * WARP] = shares[u2]
            box[place + 3 * WARP] = shares[u3]
            warp_barrier()
            for mine in range(max(first, at), min(last, at + ROUND)):
                total += np.float64(box[corner + mine - at])
            warp_barrier()
        return total

    return Gathering(bounds, row_bounds, gather)


def rows_in_place(graph: Graph, dtype: np.dtype) -> tuple[InEdgeRows, Any]:
    """What the kernel takes of in-edges, and scales of this dtype."""
    gpu, nothing = graph.gpu, copy_of(np.empty(0, np.uint32))
    begin = gpu.in_offsets
    if begin.dtype.itemsize < 8:
        begin = begin.astype(np.int64)
    taken = InEdgeRows(
        vertices=nothing,
        numbers=nothing,
        begin=begin,
        sources=gpu.in_sources,
        places=copy_of(np.array([after_line(gpu.in_sources)], np.uint32)),
        widths=nothing,
        weights=nothing,
    )
    scale = empty(graph.num_vertices, dtype)
    for first in range(0, graph.num_vertices, _PIECE):
        out = graph.out_degree[first : first + _PIECE]
        piece = np.divide(1, out, out=np.zeros(len(out)), where=out > 0)
        scale[first : first + _PIECE] = copy_of(piece.astype(dtype))
    return taken, scale
