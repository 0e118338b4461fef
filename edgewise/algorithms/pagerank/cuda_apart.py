"""PageRank on a GPU that has no room for the layout of in-edges: it is made on the host, and kernels read it there.

The kernel is that of `cuda`. It reads sources column by column, so what a warp reads lies side by side, and the link to
the host is used nearly as well as by copies. Beside ranks, the GPU has two numbers for each vertex.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import laid_out
from edgewise.algorithms.pagerank.cuda import iterate
from edgewise.algorithms.pagerank.cuda_layout import InEdges
from edgewise.algorithms.pagerank.walk import Ranked, Walk
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.graph.resident import part
from edgewise.kernels.cpu.launch import launch
from edgewise.kernels.cpu.team import claim, team_kernel
from edgewise.kernels.cuda.device import WARP
from edgewise.kernels.cuda.memory import copy_of
from edgewise.kernels.cuda.placed import place
from edgewise.layout.bucket_sort import bucket_sort
from edgewise.layout.contract import Units
from edgewise.layout.units import make_units

#: Units that a thread lays out at a time, and about the nanoseconds that an arc takes.
_STEP, _ARC_NS = 64, 8
#: Sources in a line of 128 bytes.
_LINE = 32


class _Apart(NamedTuple):
    """A layout whose sources and weights lie as the graph's placement says, and what ranks are multiplied with."""

    in_edges: InEdges
    scale: Any
    weights: Any


def rank(
    walk: Walk, start: np.ndarray | None, dtype: np.dtype, enough: float, limit: int, run: Execution
) -> Ranked:
    """Iterate on the GPU; the arguments are those of `cuda.rank`."""
    what = "laid in-edges out in the host's memory"
    made = laid_out(run, what, walk.graph, _apart, walk.weighted, dtype)
    return iterate(walk, made.in_edges, made.scale, made.weights, start, enough, limit, run)


def _apart(graph: Graph, weighted: bool, dtype: np.dtype) -> _Apart:
    n = graph.num_vertices
    units = make_units(graph.in_degree.view(np.uint32), group_size=WARP)
    _, numbers = bucket_sort(graph.out_degree.view(np.uint32), scale="exact")
    alone, begin = units.heaviest + units.heavy, _aligned(units)
    sources = np.empty(int(begin[-1]), np.uint32)
    weights = np.empty(len(sources) if weighted else 0, dtype)
    in_weights = graph.in_weights if weighted else weights
    rows = graph.in_offsets, graph.in_sources.view(np.uint32), in_weights
    how = units.vertices, begin, alone, numbers
    launch(_fill, *rows, *how, sources, weights, work=_ARC_NS * graph.num_arcs)
    out: Any = graph.out_degree
    if weighted:
        out = np.bincount(graph.sources, weights=graph.weights, minlength=n)
    scale = np.divide(1, out, out=np.zeros(n), where=out > 0)[units.vertices].astype(dtype)
    share = 1.0 if graph.placement is None else graph.placement.lists
    placed = [place(values, part(values.nbytes, share)) for values in (sources, weights)]
    in_edges = InEdges(
        units.vertices,
        copy_of(numbers[units.vertices]),
        copy_of(begin),
        placed[0],
        copy_of(sources[:0]),
        units.heaviest,
        units.heavy,
        units.groups,
    )
    return _Apart(in_edges, copy_of(scale), placed[1])


def _aligned(units: Units) -> np.ndarray:
    """Where units begin if each row that a warp or a block reads begins with a line of 128 bytes, which the link to the
    host takes in one request."""
    sizes, alone = np.diff(units.begin), units.heaviest + units.heavy
    sizes[:alone] = -(-sizes[:alone] // _LINE) * _LINE
    return np.concatenate([[0], np.cumsum(sizes)])


@team_kernel
def _fill(
    thread: Any,
    size: Any,
    control: Any,
    in_offsets: Any,
    in_sources: Any,
    in_weights: Any,
    vertices: Any,
    begin: Any,
    alone: Any,
    numbers: Any,
    sources: Any,
    weights: Any,
) -> None:
    """Write the numbers of the sources of each unit, and the weights if there are any; an empty place has the number of
    vertices, and the weight 0."""
    n, units, none = len(vertices), len(begin) - 1, np.uint32(len(vertices))
    while True:
        first = claim(control, 0, _STEP, units)
        if first >= units:
            break
        for unit in range(first, min(first + _STEP, units)):
            row, step, rows = np.int64(unit), np.int64(1), np.int64(1)
            if unit >= alone:
                row, step = alone + (unit - alone) * WARP, np.int64(WARP)
                rows = min(np.int64(WARP), n - row)
            for i in range(rows if step == 1 else WARP):
                k, place = np.int64(0), begin[unit] + i
                end = np.int64(0)
                if i < rows:
                    v = vertices[row + i]
                    k, end = np.int64(in_offsets[v]), np.int64(in_offsets[v + 1])
                while k < end:
                    sources[place] = numbers[in_sources[k]]
                    if len(weights) > 0:
                        weights[place] = in_weights[k]
                    k += 1
                    place += step
                while place < begin[unit + 1]:
                    sources[place] = none
                    if len(weights) > 0:
                        weights[place] = 0
                    place += step
