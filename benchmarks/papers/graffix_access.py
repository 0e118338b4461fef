"""What the threads of a warp have to do and to read, by the order of a graph's vertices and by its edges.

A thread has a vertex, and 32 vertices that follow each other are a warp's. The warp takes as many steps as the largest
of their degrees, and in a step each lane that still has an edge reads four bytes of the vertex at its other end. All
numbers are counted from the rows, so they are those of a superstep in which all vertices take part.
"""

from typing import NamedTuple

import numpy as np

import edgewise as ew

WARP = 32
#: How many values of four bytes a sector has, the least that is read.
SECTOR = 8


class Access(NamedTuple):
    """Of a warp's steps.

    Attributes:
        lane_fill: the fraction of lanes that have an edge.
        sectors: how many sectors of 32 bytes are read for an edge: 1 if no two lanes read the same one in a step.
        largest: the largest degree.
        beside: how many lanes have an edge, in the mean of the steps of a warp that has a vertex of this degree.
    """

    lane_fill: float
    sectors: float
    largest: int
    beside: float


def access(offsets: np.ndarray, ends: np.ndarray) -> Access:
    """What the rows of a graph ask of warps.

    Args:
        offsets: where rows begin, shape (n + 1,).
        ends: the vertices at the other ends, shape (m,).
    """
    degrees = np.diff(offsets).astype(np.int64)
    n, m = len(degrees), len(ends)
    if m == 0:
        return Access(1.0, 0.0, 0, 0.0)
    firsts = np.arange(0, n, WARP)
    longest, sums = np.maximum.reduceat(degrees, firsts), np.add.reduceat(degrees, firsts)
    begins = np.concatenate([[0], np.cumsum(longest)])
    step = np.arange(m) - np.repeat(offsets[:-1].astype(np.int64), degrees)
    step += np.repeat(begins[np.arange(n) // WARP], degrees)
    read = np.sort(step * (n // SECTOR + 1) + ends // SECTOR)
    distinct = 1 + int(np.count_nonzero(read[1:] != read[:-1]))
    most = int(longest.argmax())
    beside = sums[most] / longest[most]
    return Access(m / (WARP * int(begins[-1])), distinct / m, int(longest[most]), float(beside))


def columns_of(graph: ew.Graph) -> dict[str, float]:
    """The columns of rows: by out-edges, and by in-edges."""
    out, inward = access(graph.offsets, graph.targets), access(graph.in_offsets, graph.in_sources)
    return {"max_degree": out.largest, "in_max_degree": inward.largest} | {
        f"{side}{name}": getattr(each, name)
        for side, each in (("", out), ("in_", inward))
        for name in ("lane_fill", "sectors", "beside")
    }
