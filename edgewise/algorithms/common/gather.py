"""Sums over the in-edges of each vertex, by blocks of vertices, in a fixed order: see `pagerank.cpu_iterate`."""

from typing import Any

import numpy as np

from edgewise.kernels.cache import device_function

#: The vertices that a thread takes at a time: their values stay in the first-level cache. Sums are made of blocks.
BLOCK = 1024
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@device_function
def gather_block(
    offsets: Any, sources: Any, weights: Any, values: Any, first: Any, last: Any, gathered: Any
) -> None:
    """Sum the values of the in-neighbours of each vertex of a block, times the weights of the arcs.

    Args:
        offsets, sources: the in-edges, unsigned.
        weights: those of the arcs, of any dtype; empty if all are 1.
        values: shape (n + 1,); the last one is 0.
        first, last: the block.
        gathered: shape (n,) or more: written from `first` to before `last`.
    """
    if len(weights):
        _gather_weighted(offsets, sources, weights, values, first, last, gathered)
    else:
        _gather_plain(offsets, sources, values, first, last, gathered)


@device_function
def _gather_plain(offsets: Any, sources: Any, values: Any, first: Any, last: Any, gathered: Any) -> None:
    """Sum up side by side in four sums; the last arcs are padded to four.

    A single sum would wait for each addition; processors could not predict the end of a loop over the last arcs.
    """
    num_arcs, nobody = np.uint64(len(sources)), np.uint64(len(values) - 1)
    arc = np.uint64(offsets[first])
    for v in range(first, last):
        end = np.uint64(offsets[v + _ONE])
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        while arc + _FOUR < end:
            a += np.float64(values[np.uint64(sources[arc])])
            b += np.float64(values[np.uint64(sources[arc + _ONE])])
            c += np.float64(values[np.uint64(sources[arc + _TWO])])
            d += np.float64(values[np.uint64(sources[arc + _THREE])])
            arc += _FOUR
        if arc + _FOUR <= num_arcs:
            i, j = np.uint64(sources[arc]), np.uint64(sources[arc + _ONE])
            k, m = np.uint64(sources[arc + _TWO]), np.uint64(sources[arc + _THREE])
            a += np.float64(values[i if arc < end else nobody])
            b += np.float64(values[j if arc + _ONE < end else nobody])
            c += np.float64(values[k if arc + _TWO < end else nobody])
            d += np.float64(values[m if arc + _THREE < end else nobody])
        else:
            for rest in range(arc, end):
                a += np.float64(values[np.uint64(sources[rest])])
        arc = end
        gathered[v] = (a + b) + (c + d)


@device_function
def _gather_weighted(
    offsets: Any, sources: Any, weights: Any, values: Any, first: Any, last: Any, gathered: Any
) -> None:
    """Sum up in the order of arcs."""
    arc = np.uint64(offsets[first])
    for v in range(first, last):
        end, total = np.uint64(offsets[v + _ONE]), 0.0
        while arc < end:
            total += np.float64(values[np.uint64(sources[arc])]) * np.float64(weights[arc])
            arc += _ONE
        gathered[v] = total
