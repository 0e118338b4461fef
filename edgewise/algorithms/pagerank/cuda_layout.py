"""In-edges laid out for PageRank on a GPU: `edgewise.layout.units`, with sources renumbered.

Vertices are numbered by falling out-degree, so that what most arcs read lies together, and where in- and out-degrees
are alike, what a group writes does, too.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.pagerank.memory import places
from edgewise.kernels.cuda.device import WARP
from edgewise.kernels.cuda.memory import cupy, room, scratch
from edgewise.layout.bucket_sort import bucket_sort
from edgewise.layout.slots import ARC_BYTES, arrange, own_ends
from edgewise.memory import Step


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
