"""In-edges laid out for PageRank on a GPU: `edgewise.layout.units`, with sources renumbered.

Vertices are numbered by falling out-degree, so that the shares that most arcs read lie together. In graphs whose
vertices have about as many out-edges as in-edges, the shares that a group of rows writes lie together, too.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.pagerank.memory import places
from edgewise.graph import Graph
from edgewise.kernels.cuda.device import WARP
from edgewise.kernels.cuda.memory import copy_of, cupy, room, scratch
from edgewise.layout.bucket_sort import bucket_sort
from edgewise.layout.slots import ARC_BYTES, arrange, own_ends
from edgewise.memory import Step, held, in_turn


class InEdges(NamedTuple):
    """The layout, in arrays on the GPU. Units are the heaviest rows, the heavy ones, then groups of a warp's rows.

    Attributes:
        vertices: uint32, (n,): the vertex of each row.
        numbers: uint32, (n,): the number of that vertex.
        begin: int64, (units + 1,): where a unit's places begin.
        sources: uint32, (begin[-1],): numbers of the arcs' sources; n for a place that stays empty.
        arcs: (begin[-1],), if asked for: the arc of each place; the number of arcs for a place that stays empty.
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


def making_in_edges(num_vertices: int, num_arcs: int, of_arc: int) -> Step:
    """The GPU's memory that `make_in_edges` takes, if an arc is kept in `of_arc` bytes."""
    kept = (4 + of_arc) * places(num_arcs) + (2 * 4 + 1) * num_vertices
    return Step(kept, kept + ARC_BYTES * num_arcs + 12 * num_vertices)


def make_in_edges(offsets: Any, targets: Any, with_arcs: bool) -> InEdges:
    """Lay in-edges out, from a graph's rows on the GPU; `with_arcs`: keep which arc is where, as weights need it.

    Raises:
        MemoryLimitError: the GPU has no room for them.
    """
    size = ARC_BYTES * len(targets)
    with room("laying in-edges out", size), scratch(size) as outside:
        return _in_edges(offsets, targets, with_arcs, outside)


def _in_edges(offsets: Any, targets: Any, with_arcs: bool, outside: Any) -> InEdges:
    xp, n, m = cupy(), len(offsets) - 1, len(targets)
    units, _, arcs = arrange(targets, n, f"u{offsets.dtype.itemsize}", slots=False, group_size=WARP)
    _, numbers = bucket_sort((offsets[1:] - offsets[:-1]).astype(np.uint32), scale="exact")
    # The arc of an empty place comes after all others; so does its source.
    ends = xp.concatenate([numbers, xp.full(1, n, np.uint32)])[own_ends(offsets, m + 1)]
    with outside():
        return InEdges(
            units.vertices.copy(),
            numbers[units.vertices],
            units.begin.copy(),
            ends[arcs],
            (arcs if with_arcs else arcs[:0]).copy(),
            units.heaviest,
            units.heavy,
            units.groups,
        )


def running(graph: Graph, dtype: np.dtype, weighted: bool, anew: bool) -> Step:
    """The GPU's memory that a run takes beside the graph's rows: its in-edges laid out and what belongs to them, unless
    they are there and it is not `anew`, and six arrays of ranks."""
    n, m, of_rank = graph.num_vertices, graph.num_arcs, dtype.itemsize
    steps: list[Step] = []
    if anew or not graph.gpu.has(in_edges_of, weighted):
        steps.append(making_in_edges(n, m, graph.stored.offsets.itemsize * weighted))
    if anew or not graph.gpu.has(scale_of, weighted, dtype):
        weights = of_rank * places(m) * weighted
        # Weights twice, sources, and both as `bincount` takes them.
        of_arcs = m * weighted * (2 * of_rank + 4 + 8 + 8)
        steps.append(Step(of_rank * n + weights, of_rank * n + weights + of_arcs + 40 * n))
    return in_turn(*steps, held(6 * of_rank * (n + 1)))


def in_edges_of(graph: Graph, weighted: bool) -> InEdges:
    """In-edges laid out on the GPU, as `make_in_edges`."""
    return make_in_edges(graph.gpu.offsets, graph.gpu.targets, weighted)


def scale_of(graph: Graph, weighted: bool, dtype: np.dtype) -> tuple[Any, Any]:
    """What a rank is multiplied with for one arc (of weight 1), by rows; weights by arcs of the layout."""
    xp, in_edges = cupy(), graph.gpu.kept(in_edges_of, weighted)
    if weighted:
        weights = xp.concatenate([graph.gpu.weights.astype(dtype), xp.zeros(1, dtype)])[in_edges.arcs]
        out = xp.bincount(
            copy_of(graph.sources), weights=copy_of(graph.weights), minlength=graph.num_vertices
        )
    else:
        weights, out = xp.empty(0, dtype), graph.gpu.out_degree
    out = out[in_edges.vertices].astype(np.float64)
    gives = xp.greater(out, 0)
    return xp.where(gives, xp.divide(1, xp.where(gives, out, 1)), 0).astype(dtype), weights
