"""Rows of in-edges, or of slots for messages, in an order and in groups that suit a warp.

Vertices are sorted by in-degree, so that neighbouring rows have about the same length, and put into groups. A group of
32 lies column by column: lane i of a warp walks row i, and step j of the walk reads 32 places that lie side by side
(the column-major remap of Zhong et al. 2016, section 4.2). Short rows of a group leave places empty. Rows of more than
`HEAVY` places may be left out of groups, for a warp or a block each.

Arrays are those of NumPy or CuPy, and results lie where the degrees do.
"""

from typing import Any

import numpy as np

from edgewise.kernels.cpu.team import run_alone, team_kernel
from edgewise.layout.bucket_sort import bucket_sort, inverse
from edgewise.layout.contract import ALIGNED, HEAVIEST, HEAVY, Units

#: No in-degree is above this.
_NEVER = 2**32 - 1


def array_module(array: Any) -> Any:
    """NumPy or CuPy, where an array lies."""
    if isinstance(array, np.ndarray):
        return np
    from edgewise.kernels.cuda.memory import cupy

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
        from edgewise.layout.slots_cuda import measured as measure
    bounds = (HEAVIEST, HEAVY) if split else (_NEVER, _NEVER)
    found, in_order = measure(degrees, rows, group_size, *bounds), degrees is degree
    if found is None:
        kind = xp.greater(degrees, HEAVIEST).astype(np.uint8) + xp.greater(degrees, HEAVY)
        order = xp.concatenate([xp.flatnonzero(xp.equal(kind, which)) for which in (2, 1, 0)])
        degrees, rows, in_order = degrees[order], inverse(xp, order)[rows], False
        found = measure(degrees, rows, group_size, *bounds)
        assert found is not None, "heavy rows come first now"
    vertices, begin, numbers, (heaviest, heavy, _, size) = found
    groups = len(begin) - 1 - heaviest - heavy
    return Units(vertices, rows, degrees, begin, heaviest, heavy, groups, group_size, size, numbers, in_order)


def _measured(
    degrees: np.ndarray, rows: np.ndarray, group_size: int, heaviest_over: int, heavy_over: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]] | None:
    """The vertex of each row, where units begin, and `numbers` of `Units`, as an array and as a list.

    Sorted rows have the heavy ones first; None if they do not, since they were left as they are, or fell into few
    buckets.
    """
    vertices, found = np.empty(len(degrees), np.uint32), np.zeros(2, np.int64)
    run_alone(_invert, degrees, rows, heaviest_over, heavy_over, vertices, found)
    heaviest, alone = found.tolist()
    if alone < 0:
        return None
    begin = np.zeros(alone - (alone - len(degrees)) // group_size + 1, np.int64)
    run_alone(_add_up, degrees, alone, group_size, begin)
    numbers = [heaviest, alone - heaviest, group_size, int(begin[-1])]
    return vertices, begin, np.array(numbers), numbers


@team_kernel
def _invert(
    thread: Any,
    size: Any,
    control: Any,
    degrees: Any,
    rows: Any,
    heaviest_over: Any,
    heavy_over: Any,
    vertices: Any,
    found: Any,
) -> None:
    """Invert rows, and count those left alone; `found` is heaviest and alone, which is -1 out of order."""
    n, heaviest, alone = len(degrees), np.int64(0), np.int64(0)
    for v in range(np.uint64(n)):
        vertices[rows[v]] = v
    for row in range(n):
        if degrees[row] > heavy_over:
            if row > alone or (degrees[row] > heaviest_over and row > heaviest):
                found[1] = -1
                return
            alone += np.int64(1)
            heaviest += np.int64(degrees[row] > heaviest_over)
    found[0], found[1] = heaviest, alone


@team_kernel
def _add_up(
    thread: Any, size: Any, control: Any, degrees: Any, alone: Any, group_size: Any, begin: Any
) -> None:
    """Add up the places of units."""
    for row in range(alone):
        begin[row + 1] = begin[row] + (np.int64(degrees[row]) + ALIGNED - 1) // ALIGNED * ALIGNED
    if group_size == 1:
        for row in range(alone, len(degrees)):
            begin[row + 1] = begin[row] + np.int64(degrees[row])
        return
    for unit in range(alone, len(begin) - 1):
        first, longest = alone + (unit - alone) * group_size, np.int64(0)
        for row in range(first, min(first + group_size, len(degrees))):
            longest = max(longest, np.int64(degrees[row]))
        begin[unit + 1] = begin[unit] + longest * group_size


def first_places(units: Units, dtype: Any) -> np.ndarray:
    """The first place of each vertex, on the host, shape (n,)."""
    first = np.empty(len(units.rows), dtype)
    run_alone(_place, units.vertices, units.begin, units.heaviest + units.heavy, units.group_size, first)
    return first


@team_kernel
def _place(
    thread: Any, size: Any, control: Any, vertices: Any, begin: Any, alone: Any, group_size: Any, first: Any
) -> None:
    singles = len(vertices) if group_size == 1 else alone
    for row in range(singles):
        first[vertices[row]] = begin[row]
    for group in range(len(begin) - 1 - singles):
        start = singles + group * group_size
        for row in range(start, min(start + group_size, len(vertices))):
            first[vertices[row]] = begin[singles + group] + row - start
