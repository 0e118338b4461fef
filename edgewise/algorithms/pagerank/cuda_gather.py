# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""How PageRank on a GPU adds up what the sources of a row give: over plain or over packed sources.

Packed sources ascend by their numbers, so sums have another order than over plain ones; both are always the same.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from edgewise.algorithms.pagerank.cuda_layout import InEdges
from edgewise.kernels.cache import DeviceFunction
from edgewise.kernels.cuda.arguments import Elements, Int64s, Uint32s
from edgewise.kernels.cuda.device import WARP, WARPS, block_thread, device_function, lane, load_once
from edgewise.layout.packed import Packed
from edgewise.layout.packed_cuda import UNPACK_WORDS, make_unpack_all

Reals = Annotated[Any, Elements("rank")]


class InEdgeRows(NamedTuple):
    """The layout, see `InEdges`, and weights in its order.

    Attributes:
        vertices, numbers: see `InEdges`.
        begin: where units begin: the first place, or of packed sources the first block. Of these, a heaviest row is as
            many units as a block has warps.
        sources: numbers of sources, plain or packed.
        places, widths: of packed sources, see `edgewise.layout.packed`; else any arrays. Of sources read in place,
            ``places[0]`` says how many elements the first one lies after the beginning of a line of memory.
        weights: empty if all arcs count alike.
    """

    vertices: Uint32s
    numbers: Uint32s
    begin: Int64s
    sources: Uint32s
    places: Uint32s
    widths: Annotated[Any, Elements(np.uint64)]
    weights: Reals


def rows_of(in_edges: InEdges, vertices: Any, weights: Any, packed: Packed | None = None) -> InEdgeRows:
    """What the kernel takes of a layout; `vertices` is any array if it lies apart."""
    begin, words = in_edges.begin, in_edges.sources
    places, widths = (words, words) if packed is None else (packed.places, packed.widths)
    return InEdgeRows(vertices, in_edges.numbers, begin, words, places, widths, weights)


class Blocks(NamedTuple):
    """Packed sources, as `edgewise.layout.packed_cuda` takes them."""

    words: Any
    places: Any
    widths: Any


class Gathering(NamedTuple):
    """Device functions that find and add up what belongs to a row.

    Attributes:
        bounds: ``bounds(unit, units, it)``: where a unit begins for this lane, and how much there is from there;
            nothing beyond the last unit.
        row_bounds: ``row_bounds(row, it)``: the same for one of the heaviest rows and this thread of a block.
        gather: ``gather(first, left, step, it, shares, box)``: what this lane, or this thread, adds up. All lanes of a
            warp call it.
    """

    bounds: DeviceFunction
    row_bounds: DeviceFunction
    gather: DeviceFunction


@device_function
def _bounds(unit: Any, units: Any, it: Any) -> Any:
    begin = it.rows.begin
    if unit < units:
        first = begin[unit] + lane()
        return first, np.int32(begin[unit + 1] - first)
    return np.int64(0), np.int32(0)


@device_function
def _row_bounds(row: Any, it: Any) -> Any:
    first = it.rows.begin[row] + block_thread()
    return first, np.int32(it.rows.begin[row + 1] - first)


def make_gathering(nothing: Any, weighted: bool) -> Gathering:
    """Over plain sources; shares are multiplied with weights if there are any."""

    @device_function
    def gather(first, left, step, it, shares, box):
        """The sum over arcs first, first + step, ... of the next `left`, eight at a time, so that accesses overlap."""
        sources, weights = it.rows.sources, it.rows.weights
        total, none, k = nothing, np.uint32(it.n), first
        while left > 0:
            u0 = load_once(sources, k)
            u1 = load_once(sources, k + step) if step < left else none
            u2 = load_once(sources, k + 2 * step) if 2 * step < left else none
            u3 = load_once(sources, k + 3 * step) if 3 * step < left else none
            u4 = load_once(sources, k + 4 * step) if 4 * step < left else none
            u5 = load_once(sources, k + 5 * step) if 5 * step < left else none
            u6 = load_once(sources, k + 6 * step) if 6 * step < left else none
            u7 = load_once(sources, k + 7 * step) if 7 * step < left else none
            if weighted:
                last = left - 1
                a = shares[u0] * weights[k] + shares[u1] * weights[k + min(step, last)]
                b = (
                    shares[u2] * weights[k + min(2 * step, last)]
                    + shares[u3] * weights[k + min(3 * step, last)]
                )
                c = (
                    shares[u4] * weights[k + min(4 * step, last)]
                    + shares[u5] * weights[k + min(5 * step, last)]
                )
                d = (
                    shares[u6] * weights[k + min(6 * step, last)]
                    + shares[u7] * weights[k + min(7 * step, last)]
                )
                total += (a + b) + (c + d)
            else:
                a, b = shares[u0] + shares[u1], shares[u2] + shares[u3]
                c, d = shares[u4] + shares[u5], shares[u6] + shares[u7]
                total += (a + b) + (c + d)
            k += 8 * step
            left = np.int32(left - 8 * step)
        return total

    return Gathering(_bounds, _row_bounds, gather)


@device_function
def _unit_blocks(unit: Any, units: Any, it: Any) -> Any:
    begin = it.rows.begin
    if unit < units:
        first = begin[it.heaviest * (WARPS - 1) + unit]
        return first, np.int32(begin[it.heaviest * (WARPS - 1) + unit + 1] - first)
    return np.int64(0), np.int32(0)


@device_function
def _row_blocks(row: Any, it: Any) -> Any:
    unit = row * WARPS + block_thread() // WARP
    first = it.rows.begin[unit]
    return first, np.int32(it.rows.begin[unit + 1] - first)


@device_function
def _add_eight(u0: Any, u1: Any, u2: Any, u3: Any, u4: Any, u5: Any, u6: Any, u7: Any, shares: Any) -> Any:
    a, b = shares[u0] + shares[u1], shares[u2] + shares[u3]
    c, d = shares[u4] + shares[u5], shares[u6] + shares[u7]
    return (a + b) + (c + d)


_unpack_all = make_unpack_all(_add_eight)


def make_unpacking(nothing: Any) -> Gathering:
    """Over packed sources."""

    @device_function
    def gather(first, left, step, it, shares, box):
        rows = it.rows
        blocks = Blocks(rows.sources, rows.places, rows.widths)
        corner = block_thread() // WARP * UNPACK_WORDS
        return _unpack_all(nothing, first, np.int64(left), blocks, it.n, box, corner, shares)

    return Gathering(_unit_blocks, _row_blocks, gather)
