"""Rows of in-edges, or of slots for messages, in an order and in groups that suit a warp.

Vertices are sorted by in-degree, so that neighbouring rows have about the same length, and put into groups. A group of
32 lies column by column: lane i of a warp walks row i, and step j of the walk reads 32 places that lie side by side
(the column-major remap of Zhong et al. 2016, section 4.2). Short rows of a group leave places empty. Rows of more than
`HEAVY` places may be left out of groups, for a warp or a block each.

Arrays are those of NumPy or CuPy, and results lie where the degrees do.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.layout.bucket_sort import bucket_sort

#: In-degrees above which a row is left to a warp, and to a block.
HEAVY, HEAVIEST = 48, 2048
#: Heavy rows begin at multiples of so many places: 32 bytes of values of four bytes, a sector of a GPU's memory.
ALIGNED = 8


class Units(NamedTuple):
    """The places of rows. Units are the heaviest rows, the heavy ones, then groups of `group_size` rows.

    Attributes:
        vertices: uint32, (n,): the vertex of each row.
        rows: uint32, (n,): the row of each vertex.
        degrees: uint32, (n,): how many places of each row are taken.
        begin: int64, (units + 1,): where a unit's places begin.
        heaviest, heavy, groups: how many units there are of each kind.
        group_size: rows in a group; the last may have fewer, and has as many places.
        size: all places.
    """

    vertices: Any
    rows: Any
    degrees: Any
    begin: Any
    heaviest: int
    heavy: int
    groups: int
    group_size: int
    size: int


def array_module(array: Any) -> Any:
    """NumPy or CuPy, where an array lies."""
    if isinstance(array, np.ndarray):
        return np
    from edgewise.kernels.gpu_host import cupy

    return cupy()


def make_units(
    degree: Any,
    sort: str | None = "logarithmic",
    num_buckets: int = 1000,
    threshold: int = 1,
    group_size: int = 32,
    split: bool = True,
) -> Units:
    """Sort rows and give them their places.

    Args:
        degree: uint32, (n,).
        sort: "exact", "linear" or "logarithmic", see `bucket_sort`, or None to leave vertices in their order.
        num_buckets, threshold: see `bucket_sort`.
        group_size: rows in a group; 1 leaves the places of a row together.
        split: whether heavy rows are left out of groups. They come first then, heaviest before heavy.
    """
    xp, n = array_module(degree), len(degree)
    if sort is None:
        degrees, rows = degree, xp.arange(n, dtype=np.uint32)
    else:
        degrees, rows = bucket_sort(degree, num_buckets, sort, threshold)
    vertices = xp.empty(n, np.uint32)
    vertices[rows] = xp.arange(n, dtype=np.uint32)
    heaviest = alone = 0
    if split:
        # An operator with a number goes through NumPy, for which CuPy loads its special functions: 0.3 s in a process.
        heaviest, alone = (int(xp.count_nonzero(xp.greater(degrees, bound))) for bound in (HEAVIEST, HEAVY))
        # Sorted rows have the heavy ones first, but not if they were left as they are, or fell into few buckets.
        if any(
            count and int(degrees[:count].min()) <= bound
            for count, bound in ((alone, HEAVY), (heaviest, HEAVIEST))
        ):
            kind = xp.greater(degrees, HEAVIEST).astype(np.uint8) + xp.greater(degrees, HEAVY)
            order = xp.concatenate([xp.flatnonzero(xp.equal(kind, which)) for which in (2, 1, 0)])
            vertices, degrees = vertices[order], degrees[order]
            rows[vertices] = xp.arange(n, dtype=np.uint32)
    groups = -(-(n - alone) // group_size)
    longest = xp.zeros(groups * group_size, np.uint32)
    longest[: n - alone] = degrees[alone:]
    longest = longest.reshape(groups, group_size).max(axis=1) if group_size > 1 else longest
    begin = xp.zeros(alone + groups + 1, np.int64)
    begin[1 : alone + 1] = xp.multiply(
        xp.floor_divide(xp.add(degrees[:alone], ALIGNED - 1), ALIGNED), ALIGNED
    )
    begin[alone + 1 :] = xp.multiply(longest.astype(np.int64), group_size)
    xp.cumsum(begin, out=begin)
    return Units(
        vertices, rows, degrees, begin, heaviest, alone - heaviest, groups, group_size, int(begin[-1])
    )


def row_places(units: Units) -> tuple[np.ndarray, np.ndarray]:
    """Of each vertex, on the host: its first place, int64, (n,), and how far the next one is, int32, (n,)."""
    alone, size = units.heaviest + units.heavy, units.group_size
    row = units.rows.astype(np.int64)
    group, within = np.divmod(np.maximum(row - alone, 0), size)
    first = units.begin[np.where(row < alone, row, alone + group)] + within
    return first, np.where(row < alone, 1, size).astype(np.int32)
