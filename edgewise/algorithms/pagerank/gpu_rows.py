"""The in-edges of one rank's vertices, laid out on its GPU for PageRank on several ranks.

Shares of all vertices lie in a region for each rank: that of this rank comes first, and rank 0 after the last one. In
its region a rank's vertices are in the order of falling out-degrees, as in `cuda_layout`; after them come a share of 0,
which empty places read, and the sums of the rank. So a region is sent as it lies. Vertices without out-edges give no
share: those of this rank lie before its region, which begins with the last few of them, and those of other ranks have
no place of their own.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.pagerank.cuda import InEdgeRows, InEdges, rows_of
from edgewise.algorithms.pagerank.memory import places
from edgewise.algorithms.pagerank.walk import Walk
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.partition import by_arcs
from edgewise.errors import MemoryLimitError
from edgewise.graph import Graph
from edgewise.kernels.cuda.device import WARP
from edgewise.kernels.cuda.memory import copy_of, cupy, empty, fits, room, scratch
from edgewise.layout.bucket_sort import SORT_BYTES, bucket_sort
from edgewise.layout.slots import ARC_BYTES, arrange, own_ends
from edgewise.memory import Step, held, in_turn

#: The sums of a rank, int64: what its ranks changed and its dangling rank, each in fixed point; and their bytes, of
#: which a region has a multiple.
SUMS = 4
_LINE = 8 * SUMS


class RankRows(NamedTuple):
    """What a rank has on its GPU.

    Attributes:
        begins: the first vertex of each rank, and the number of all.
        regions: where what each rank sends lies, in elements.
        numbers: uint32, (n,): where the share of each vertex lies; of other ranks' vertices without out-edges, a share
            of 0.
        in_edges, rows: the layout of this rank's rows, whose vertices count from its first.
        scale: by rows: what a rank is multiplied with for one arc (of weight 1).
    """

    begins: list[int]
    regions: list[slice]
    numbers: Any
    in_edges: InEdges
    rows: InEdgeRows
    scale: Any

    def own(self, rank: int) -> slice:
        """The vertices of a rank."""
        return slice(self.begins[rank], self.begins[rank + 1])


def lay_out(graph: Graph, weighted: bool, dtype: np.dtype, rank: int, size: int) -> RankRows:
    """Lay out the in-edges of this rank's vertices for ranks of this dtype. The graph has its in-edges.

    Raises:
        MemoryLimitError: the GPU has no room for them.
    """
    begins = by_arcs(rank, size, graph.in_offsets).begins
    own, of_ranks = slice(begins[rank], begins[rank + 1]), list(pairwise(begins))
    giving = [int(np.count_nonzero(graph.out_degree[low:high])) for low, high in of_ranks]
    alone = [high - low - gives for (low, high), gives in zip(of_ranks, giving, strict=True)]
    regions, first = _regions(giving, alone, rank, dtype.itemsize)
    low, high = int(graph.in_offsets[own.start]), int(graph.in_offsets[own.stop])
    making = _making(graph.num_vertices, own.stop - own.start, high - low, dtype.itemsize, weighted)
    with room("laying in-edges out", making.most), scratch(making.most) as outside:
        numbers = _numbers(graph, begins, giving, first, rank)
        offsets = copy_of(graph.in_offsets[own.start : own.stop + 1] - low)
        in_edges, weights = _in_edges(
            graph, offsets, slice(low, high), numbers, own, weighted, dtype, outside
        )
        with outside():
            scale = copy_of(Walk(graph, 0.0, None, weighted).scale[own])[in_edges.vertices].astype(dtype)
            rows = rows_of(in_edges, in_edges.vertices, weights)
            return RankRows(begins, regions, numbers.copy(), in_edges, rows, scale)


def _in_edges(
    graph: Graph,
    offsets: Any,
    arcs: slice,
    numbers: Any,
    own: slice,
    weighted: bool,
    dtype: np.dtype,
    outside: Any,
) -> tuple[InEdges, Any]:
    """The layout of the rows of some vertices, and weights in its order. The arcs of a row stay in their order."""
    xp, n = cupy(), own.stop - own.start
    num_arcs = arcs.stop - arcs.start
    targets = (own_ends(offsets, num_arcs) if num_arcs else empty(0, np.uint32)).view(np.int32)
    units, _, placed = arrange(targets, n, f"u{offsets.dtype.itemsize}", slots=False, group_size=WARP)
    del targets
    ends = xp.concatenate([numbers[copy_of(graph.in_sources[arcs])], xp.full(1, n, np.uint32)])
    with outside():
        weights = xp.empty(0, dtype)
        if weighted:
            of_arcs: Any = graph.in_weights
            weights = xp.concatenate([copy_of(of_arcs[arcs]).astype(dtype), xp.zeros(1, dtype)])[placed]
        in_edges = InEdges(
            units.vertices.copy(),
            numbers[own][units.vertices],
            units.begin.copy(),
            ends[placed],
            placed[:0].copy(),
            units.heaviest,
            units.heavy,
            units.groups,
        )
    return in_edges, weights


def _numbers(graph: Graph, begins: list[int], giving: list[int], first: list[int], rank: int) -> Any:
    """Where the share of each vertex lies; arguments as for `_regions`, and where the first share of each rank lies."""
    numbers, nothing = empty(graph.num_vertices, np.uint32), np.uint32(begins[rank + 1] - begins[rank])
    for other, (low, high) in enumerate(pairwise(begins)):
        if low < high:
            degrees, gives = copy_of(graph.out_degree[low:high].astype(np.uint32)), np.uint32(giving[other])
            place = bucket_sort(degrees, scale="exact").positions
            without = place - gives if other == rank else nothing
            numbers[low:high] = cupy().where(place < gives, place + np.uint32(first[other]), without)
    return numbers


def _regions(giving: list[int], alone: list[int], rank: int, of_rank: int) -> tuple[list[slice], list[int]]:
    """The region of each rank, and where its first share lies.

    Args:
        giving, alone: how many vertices of each rank have out-edges, and how many have none.
        rank: this one.
        of_rank: the bytes of a share.
    """
    size, line = len(giving), _LINE // of_rank
    regions, first, at = [slice(0, 0)] * size, [0] * size, alone[rank] // line * line
    for other in (*range(rank, size), *range(rank)):
        before = alone[other] % line
        length = -(-(before + giving[other] + 1) // line) * line + line
        regions[other], first[other], at = slice(at, at + length), at + before, at + length
    return regions, first


def _making(num_vertices: int, own: int, arcs: int, of_rank: int, weighted: bool) -> Step:
    """The GPU's memory that `lay_out` takes: for rows, and while these are sorted, or numbers of vertices are."""
    kept = (4 + weighted * of_rank) * places(arcs) + (3 * 4 + of_rank) * own + 4 * num_vertices
    # Beside what sorting takes: sources, their numbers, and weights twice.
    sorting = (ARC_BYTES + 8 + weighted * (8 + of_rank)) * arcs + (12 + SORT_BYTES) * own
    return Step(kept, kept + max(sorting, SORT_BYTES * num_vertices) + 4 * num_vertices)


def running(graph: Graph, dtype: np.dtype, weighted: bool, size: int, is_there: bool = False) -> Step:
    """The GPU's memory that a run takes on that of so many ranks that takes most, beside the layout if that `is_there`;
    for a graph without in-edges, about."""
    n, m, of_rank = graph.num_vertices, graph.num_arcs, dtype.itemsize
    each = (n + m) // size + 1
    parts = [(min(n, each), min(m, each))]
    if graph.has_in_edges:
        offsets = graph.in_offsets
        begins = by_arcs(0, size, offsets).begins
        parts = [(high - low, int(offsets[high]) - int(offsets[low])) for low, high in pairwise(begins)]
    # Two arrays of shares, at most of all vertices, with the ends of regions; the result; and ranks and jumps of own
    # vertices, twice meanwhile.
    steps = []
    for own, arcs in parts:
        run = held(of_rank * (3 * n + 4 * own) + 2 * size * 4 * _LINE)
        steps.append(run if is_there else in_turn(_making(n, own, arcs, of_rank, weighted), run))
    return max(steps, key=lambda step: step.most)


def check_room_on_ranks(
    graph: Graph, dtype: np.dtype, weighted: bool, group: Group, limit: int | None
) -> int:
    """The GPU's memory that a run takes on a rank, if all ranks have that.

    Args:
        graph, dtype, weighted: what is ranked, and how.
        group: the ranks.
        limit: the bytes that a rank may take, or None.

    Raises:
        MemoryLimitError: on all ranks, if one of them has less, or its limit is less.
    """
    is_there = limit is None and graph.gpu.has(lay_out, weighted, dtype, group.rank, group.size)
    needed = running(graph, dtype, weighted, group.size, is_there).most
    has_room = fits(needed) if limit is None else needed <= limit
    refused = None
    if not has_room:
        refused = MemoryLimitError(
            f"pagerank needs {needed:,} bytes on the GPU of each rank, and this one has less, or its memory_limit is "
            "less. Raise memory_limit, free some memory, take more ranks, or run on CPUs with device='cpu'"
        )
        refused.needed = needed
    group.refuse_together(refused)
    return needed
