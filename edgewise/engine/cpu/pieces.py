"""Pieces of a graph that are equal work, whatever the degrees. The CPU's threads take them in phases over all arcs.

A vertex ``v`` takes a place for each of its arcs, ``k + v`` for arc ``k``, and one for itself after them. So the
``n + m`` places are in the order of vertices, and those of ``v`` begin at ``offsets[v] + v``. A piece is a range of
places. A search in the offsets finds its vertices, so pieces take no memory (merge path; Merrill and Garland 2016,
section 3).

There are two uses of a piece, which may rely on this for any offsets and any length of pieces:

*whole vertices*
    each vertex begins in exactly one piece, and no more vertices begin in a piece than it has places. All of a
    vertex's arcs belong to the piece that it begins in, so the last vertex of a piece may reach beyond it.
*arcs*
    each arc lies in exactly one piece, so the arcs of one vertex may be divided between threads. A piece has no more
    arcs than places.
"""

from typing import Any

import numpy as np

from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import claim


@device_function
def _first_vertex(offsets: Any, low: Any, high: Any, place: Any) -> Any:
    """The first vertex v with low <= v < high that begins at `place` or after it; `high` if there is none."""
    while low < high:
        middle = (low + high) // 2
        if np.int64(offsets[middle]) + middle < place:
            low = middle + 1
        else:
            high = middle
    return low


@device_function
def claim_piece(control: Any, slot: Any, step: Any, offsets: Any, n: Any, m: Any) -> Any:
    """Claim the next piece of ``step`` places, with `edgewise.kernels.cpu.team.claim`.

    Returns:
        (first, last, start, stop): the piece has the places ``start`` to ``stop - 1``, and the vertices ``first`` to
        ``last - 1`` begin in it. ``start == stop`` if nothing is left or the run was cancelled.

        For whole vertices, take ``range(first, last)``. For arcs, take ``range(max(first - 1, 0), last)``, since the
        vertex before the first may reach into the piece; of each vertex ``v`` take its arcs ``k`` with
        ``start - v <= k < stop - v``.
    """
    start = claim(control, slot, step, n + m)
    stop = min(n + m, start + step)
    first = _first_vertex(offsets, np.int64(0), n, start)
    last = _first_vertex(offsets, first, min(n, first + step), stop)
    return first, last, start, stop


@device_function
def claim_piece_within(control: Any, slot: Any, step: Any, offsets: Any, low: Any, high: Any) -> Any:
    """As `claim_piece`, of the vertices v with low <= v < high alone and their arcs.

    For arcs, take ``range(max(first - 1, low), last)``.
    """
    begin = np.int64(offsets[low]) + low
    end = np.int64(offsets[high]) + high
    start = begin + claim(control, slot, step, end - begin)
    stop = min(end, start + step)
    first = _first_vertex(offsets, low, high, start)
    last = _first_vertex(offsets, first, min(high, first + step), stop)
    return first, last, start, stop
