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
#: No in-degree is above this.
_NEVER = 2**32 - 1


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
        numbers: int64, (4,): heaviest, heavy, group_size and size, where the rest lies.
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
    numbers: Any


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
    if xp is np:
        measure = _measured
    else:
        from edgewise.layout._slots_gpu import measured as measure
    bounds = (HEAVIEST, HEAVY) if split else (_NEVER, _NEVER)
    found = measure(degrees, rows, group_size, *bounds)
    if found is None:
        kind = xp.greater(degrees, HEAVIEST).astype(np.uint8) + xp.greater(degrees, HEAVY)
        order = xp.concatenate([xp.flatnonzero(xp.equal(kind, which)) for which in (2, 1, 0)])
        degrees, rows = degrees[order], _inverse(xp, order)[rows]
        found = measure(degrees, rows, group_size, *bounds)
        assert found is not None, "heavy rows come first now"
    vertices, begin, heaviest, alone = found
    heavy, groups, size = alone - heaviest, len(begin) - 1 - alone, int(begin[-1])
    numbers = xp.asarray(np.array([heaviest, heavy, group_size, size]))
    return Units(vertices, rows, degrees, begin, heaviest, heavy, groups, group_size, size, numbers)


def _inverse(xp: Any, order: Any) -> Any:
    """Where each number stands in a permutation, uint32."""
    found = xp.empty(len(order), np.uint32)
    found[order] = xp.arange(len(order), dtype=np.uint32)
    return found


def _measured(
    degrees: np.ndarray, rows: np.ndarray, group_size: int, heaviest_over: int, heavy_over: int
) -> tuple[np.ndarray, np.ndarray, int, int] | None:
    """The vertex of each row, where units begin, how many rows are among the heaviest, and how many are left alone.

    Sorted rows have the heavy ones first; None if they do not, since they were left as they are, or fell into few
    buckets.
    """
    n = len(degrees)
    heaviest, alone = (int(np.count_nonzero(degrees > bound)) for bound in (heaviest_over, heavy_over))
    if np.any(degrees[:heaviest] <= heaviest_over) or np.any(degrees[:alone] <= heavy_over):
        return None
    groups = -(-(n - alone) // group_size)
    longest = np.zeros(groups * group_size, np.int64)
    longest[: n - alone] = degrees[alone:]
    begin = np.zeros(alone + groups + 1, np.int64)
    begin[1 : alone + 1] = -(-degrees[:alone].astype(np.int64) // ALIGNED) * ALIGNED
    begin[alone + 1 :] = longest.reshape(groups, group_size).max(axis=1, initial=0) * group_size
    np.cumsum(begin, out=begin)
    return _inverse(np, rows), begin, heaviest, alone


def row_places(units: Units) -> tuple[np.ndarray, np.ndarray]:
    """Of each vertex, on the host: its first place, int64, (n,), and how far the next one is, int32, (n,)."""
    alone, size = units.heaviest + units.heavy, units.group_size
    row = units.rows.astype(np.int64)
    group, within = np.divmod(np.maximum(row - alone, 0), size)
    first = units.begin[np.where(row < alone, row, alone + group)] + within
    return first, np.where(row < alone, 1, size).astype(np.int32)
