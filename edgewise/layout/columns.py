"""In-edges laid out for gathering on a GPU: rows sorted by degree, groups of 32 column by column, sources renumbered.

Lane i of a warp walks row i of a group, and step j of the walk reads 32 arcs that lie side by side (the column-major
remap of Zhong et al. 2016, section 4). Rows of a group have about the same length, since they are sorted; short ones
are filled up with arcs from a vertex that does not exist. Rows of more than `HEAVY` arcs stay as they are, for a warp
or a block each.

Vertices are numbered by falling out-degree, so that what most arcs read lies together, and where in- and out-degrees
are alike, what a group writes does, too.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.gpu import (
    INT64,
    WARP,
    Kernel,
    fixed_kernel,
    lane,
    num_threads,
    pointer,
    thread_index,
    tuple_of,
)
from edgewise.kernels.gpu_host import cupy, room

#: In-degrees above which a row is left to a warp, and to a block.
HEAVY, HEAVIEST = 48, 2048


class Columns(NamedTuple):
    """The layout, in arrays on the GPU. Units are the heaviest rows, the heavy ones, then groups of 32 rows.

    Attributes:
        vertices: uint32, (n,): the vertex of each row.
        numbers: uint32, (n,): the number of that vertex.
        begin: int64, (units + 1,): where a unit's arcs begin.
        sources: uint32, (begin[-1],): numbers of the arcs' sources; n for an arc that fills a group up.
        arcs: uint32, (begin[-1],): the arcs' places among the graph's in-edges, if asked for; 0 for one that fills up.
        heaviest, heavy, groups: how many units there are of each kind.
    """

    vertices: Any
    numbers: Any
    begin: Any
    sources: Any
    arcs: Any
    heaviest: int
    heavy: int
    groups: int


def fill_signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of `fill_kernel` for graphs with offsets of this dtype."""
    vertex, word = np.dtype(np.uint32), np.dtype(np.int64)
    return (
        tuple_of([pointer(offsets), pointer(vertex)]),
        tuple_of([pointer(vertex), pointer(vertex), pointer(word), pointer(vertex), pointer(vertex)]),
        *[INT64] * 4,
    )


def fill_kernel(graph, layout, n, heavy, units, with_arcs):
    """Write the arcs of all units, a warp to each.

    Args:
        graph: in_offsets, in_sources.
        layout: vertices of rows, numbers of vertices, begin, sources, arcs.
        n, heavy, units: vertices, units of one row, units.
        with_arcs: whether arcs are wanted.
    """
    vertices, number, begin, sources, arcs = layout
    for unit in range(thread_index() // WARP, units, num_threads() // WARP):
        to, upto = begin[unit], begin[unit + 1]
        row, first, step = unit, lane(), np.int64(WARP)
        place = to + lane()
        if unit >= heavy:
            row, first, step = heavy + (unit - heavy) * WARP + lane(), np.int64(0), np.int64(1)
        k, end = np.int64(0), np.int64(0)
        if row < n:
            v = np.int64(vertices[row])
            k, end = np.int64(graph[0][v]) + first, np.int64(graph[0][v + 1])
        while place < upto:
            if k < end:
                sources[place] = number[np.int64(graph[1][k])]
                if with_arcs != 0:
                    arcs[place] = k
            else:
                sources[place] = n
                if with_arcs != 0:
                    arcs[place] = 0
            place += WARP
            k += step


@functools.cache
def _kernel(offsets: np.dtype) -> Kernel:
    return fixed_kernel(fill_kernel, fill_signature(offsets))


def make_columns(in_offsets: Any, in_sources: Any, out_degree: Any, with_arcs: bool) -> Columns:
    """Lay in-edges out.

    Args:
        in_offsets, in_sources: the graph's columns on the GPU.
        out_degree: shape (n,), on the GPU.
        with_arcs: whether to keep which in-edge each arc is, as weights need it.

    Raises:
        MemoryLimitError: the GPU has no room for them.
    """
    xp, n = cupy(), len(out_degree)
    in_degree = in_offsets[1:].astype(np.int64) - in_offsets[:-1]
    vertices = _by_falling(in_degree)
    number = xp.empty(n, np.uint32)
    number[_by_falling(out_degree)] = xp.arange(n, dtype=np.uint32)
    degree = in_degree[vertices]
    # An operator with a number goes through NumPy, for which CuPy loads its special functions: 0.3 s in a new process.
    heaviest, heavy = (int(xp.count_nonzero(xp.greater(degree, bound))) for bound in (HEAVIEST, HEAVY))
    lengths = xp.concatenate([degree[:heavy], xp.multiply(degree[heavy::WARP], WARP)])
    begin = xp.zeros(len(lengths) + 1, np.int64)
    xp.cumsum(lengths, out=begin[1:])
    size = int(begin[-1])
    with room("laying in-edges out", 4 * size * (1 + with_arcs)):
        sources, arcs = xp.empty(size, np.uint32), xp.empty(size if with_arcs else 0, np.uint32)
    kernel = _kernel(np.dtype(f"u{in_offsets.dtype.itemsize}"))
    arrays = (in_offsets, in_sources, vertices, number, begin, sources, arcs)
    kernel.start([*arrays, n, heavy, len(lengths), with_arcs])
    return Columns(
        vertices, number[vertices], begin, sources, arcs, heaviest, heavy - heaviest, len(lengths) - heavy
    )


def _by_falling(degree: Any) -> Any:
    """Vertices by falling degree, then by index."""
    return cupy().argsort(-degree, kind="stable").astype(np.uint32)
