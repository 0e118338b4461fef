"""PageRank on a GPU that has no room for the layout of in-edges: it is made on the host, and kernels read it there.

The kernel is that of `cuda`. It reads sources column by column, so what a warp reads lies side by side, and the link to
the host is used nearly as well as by copies. Sources are packed (`edgewise.layout.packed`) unless there are weights.
The number of a vertex is its row: in most graphs vertices of many in-edges have many out-edges, so sources take about
as few bits as by out-degree, no table of numbers is needed, and shares are written in order.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.pagerank.cuda_gather import InEdgeRows, rows_of
from edgewise.algorithms.pagerank.cuda_layout import InEdges
from edgewise.algorithms.pagerank.memory import apart_lists
from edgewise.graph import Graph, csr
from edgewise.graph.resident import part
from edgewise.kernels.cpu.launch import launch
from edgewise.kernels.cpu.team import claim, team_kernel
from edgewise.kernels.cuda.device import WARP, WARPS
from edgewise.kernels.cuda.memory import copy_of
from edgewise.kernels.cuda.placed import place
from edgewise.layout.bucket_sort import inverse
from edgewise.layout.contract import Units
from edgewise.layout.packed import Packed, pack
from edgewise.layout.units import make_units
from edgewise.memory import check_free

#: Units that a thread lays out at a time, and about the nanoseconds that an arc takes.
_STEP, _ARC_NS = 64, 8
#: The host's memory that an arc takes meanwhile: twice its source, and packed ones on the host and where the GPU reads.
_ARC_BYTES = 4 + 4 + 3 + 3
#: Sources in a line of 128 bytes.
_LINE = 32


class Apart(NamedTuple):
    """A layout whose sources and weights lie as the graph's placement says.

    Attributes:
        in_edges: the layout; its vertices lie on the host.
        rows: what the kernel takes of it.
        scale: what ranks are multiplied with.
        order: the vertices of rows once more, where the GPU reads them.
    """

    in_edges: InEdges
    rows: InEdgeRows
    scale: Any
    order: Any


def lay_out_apart(graph: Graph, weighted: bool, dtype: np.dtype) -> Apart:
    """The layout for ranks of this dtype."""
    n = graph.num_vertices
    units = make_units(graph.in_degree.view(np.uint32), group_size=WARP)
    numbers = units.rows
    alone, begin = units.heaviest + units.heavy, _aligned(units)
    sources = np.empty(int(begin[-1]), np.uint32)
    weights = np.empty(len(sources) if weighted else 0, dtype)
    if weighted:
        rows = graph.in_offsets, graph.in_sources.view(np.uint32), graph.in_weights, numbers
    else:
        by_number = _by_numbers(graph, numbers)
        rows = by_number.offsets, by_number.targets.view(np.uint32), weights, numbers[:0]
    work = _ARC_NS * graph.num_arcs
    launch(_fill, *rows, units.vertices, begin, alone, WARP, sources, weights, work=work)
    out: Any = graph.out_degree
    if weighted:
        out = np.bincount(graph.sources, weights=graph.weights, minlength=n)
    scale = np.divide(1, out, out=np.zeros(n), where=out > 0)[units.vertices].astype(dtype)
    packed = None if weighted else _packed(units, begin, sources)
    words, tables = (sources, begin) if packed is None else (packed.words, packed.begin)
    room = _room(graph, apart_lists(graph.num_arcs, dtype.itemsize, weighted))
    share = room / max(1, words.nbytes + weights.nbytes)
    in_edges = InEdges(
        units.vertices,
        copy_of(numbers[:0]),
        copy_of(tables),
        place(words, part(words.nbytes, share)),
        copy_of(sources[:0]),
        units.heaviest,
        units.heavy,
        units.groups,
    )
    if packed is not None:
        packed = packed._replace(places=copy_of(packed.places), widths=copy_of(packed.widths))
    spread = place(weights, part(weights.nbytes, share)) if weighted else copy_of(weights)
    taken = rows_of(in_edges, in_edges.numbers, spread, packed)
    return Apart(in_edges, taken, copy_of(scale), place(units.vertices, 0))


def check_room_apart(graph: Graph, weighted: bool, dtype: np.dtype) -> None:
    """Check that the layout is there, or that the host has room to make it.

    Raises:
        MemoryLimitError: it has none.
    """
    if not graph.gpu.has(lay_out_apart, weighted, dtype):
        check_free("laying in-edges out", (_ARC_BYTES + weighted * dtype.itemsize) * graph.num_arcs)


def _by_numbers(graph: Graph, numbers: np.ndarray) -> csr.Rows:
    """In-edges whose sources are numbers, which ascend in each row: close ones pack best."""
    order = inverse(np, numbers)
    offsets = np.zeros(len(numbers) + 1, graph.offsets.dtype)
    np.cumsum(graph.out_degree[order], out=offsets[1:])
    targets = np.empty(graph.num_arcs, np.int32)
    launch(_copy_rows, graph.offsets, graph.targets, order, offsets, targets, work=2 * graph.num_arcs)
    return csr.transpose(csr.Rows(offsets, targets, None))


@team_kernel
def _copy_rows(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    order: Any,
    begin: Any,
    ordered: Any,
) -> None:
    """Bring rows into another order."""
    while True:
        first = claim(control, 0, _STEP, len(order))
        if first >= len(order):
            break
        for row in range(first, min(first + _STEP, len(order))):
            to = begin[row]
            for k in range(offsets[order[row]], offsets[order[row] + 1]):
                ordered[to] = targets[k]
                to += 1


def _room(graph: Graph, lists: int) -> float:
    """The bytes of the layout that may lie on the GPU, of which at most `lists` were expected."""
    return lists * (1.0 if graph.placement is None else graph.placement.lists)


def _packed(units: Units, begin: np.ndarray, sources: np.ndarray) -> Packed:
    """The sources of each unit packed; of a heaviest row, those of each warp of a block."""
    lines, heaviest = begin // WARP, units.heaviest
    counts = np.diff(lines)
    first = np.concatenate([np.repeat(lines[:heaviest], WARPS), lines[heaviest:-1]])
    step = np.ones(len(first), np.int64)
    count = np.concatenate([np.repeat(counts[:heaviest], WARPS), counts[heaviest:]])
    turns = np.tile(np.arange(WARPS), heaviest)
    first[: len(turns)] += turns
    step[: len(turns)] = WARPS
    count[: len(turns)] = np.maximum(0, -(-(count[: len(turns)] - turns) // WARPS))
    return pack(sources, WARP, first, step, count, len(units.vertices))


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
    numbers: Any,
    vertices: Any,
    begin: Any,
    alone: Any,
    lanes: Any,
    sources: Any,
    weights: Any,
) -> None:
    """Write the numbers of the sources of each unit, and the weights if there are any; an empty place has the number of
    vertices, and the weight 0. `numbers` is empty if sources are numbers already. A group has `lanes` rows."""
    n, units, none = len(vertices), len(begin) - 1, np.uint32(len(vertices))
    while True:
        first = claim(control, 0, _STEP, units)
        if first >= units:
            break
        for unit in range(first, min(first + _STEP, units)):
            row, step, rows = np.int64(unit), np.int64(1), np.int64(1)
            if unit >= alone:
                row, step = alone + (unit - alone) * lanes, np.int64(lanes)
                rows = min(np.int64(lanes), n - row)
            for i in range(rows if unit < alone else lanes):
                k, place = np.int64(0), begin[unit] + i
                end = np.int64(0)
                if i < rows:
                    v = vertices[row + i]
                    k, end = np.int64(in_offsets[v]), np.int64(in_offsets[v + 1])
                while k < end:
                    source = in_sources[k]
                    sources[place] = numbers[source] if len(numbers) > 0 else source
                    if len(weights) > 0:
                        weights[place] = in_weights[k]
                    k += 1
                    place += step
                while place < begin[unit + 1]:
                    sources[place] = none
                    if len(weights) > 0:
                        weights[place] = 0
                    place += step
