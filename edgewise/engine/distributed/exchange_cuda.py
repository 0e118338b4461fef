"""What ranks with GPUs tell each other about vertices: parts that are made, and taken, on the GPU.

A part says which vertices it has by a list of numbers or by a bitmap over all that they may be, whichever is shorter,
as on the CPU (`edgewise.engine.distributed.exchange`); then follow the values of one array after the other. How many
they are is a word on the host.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.distributed.exchange import columns_of, meaningless
from edgewise.kernels.cuda.memory import copy_of, cupy, host_copy

#: The words of parts that have no vertex, and that have all that there may be.
_NONE, _ALL = 0, -(1 << 62)
_NUMBER = np.dtype(np.uint32)


class Part(NamedTuple):
    """What one rank tells another.

    Attributes:
        head: how many vertices are listed; of a bitmap, their number, negated; or `_NONE`, or `_ALL`.
        data: uint8, on the GPU.
    """

    head: int
    data: Any


def as_bytes(arrays: Sequence[Any]) -> Any:
    """Arrays on the GPU as bytes, one after the other."""
    whole = [cupy().ascontiguousarray(each).view(np.uint8) for each in arrays if len(each)]
    return cupy().concatenate(whole) if whole else cupy().empty(0, np.uint8)


def nothing() -> Part:
    """A part without vertices."""
    return Part(_NONE, cupy().empty(0, np.uint8))


def _part(vertices: Any, flags: Any, values: Sequence[Any]) -> Part:
    """A part of vertices.

    Args:
        vertices: their numbers, ascending.
        flags: of all vertices that they may be, which ones they are.
        values: of these vertices.
    """
    count, possible = len(vertices), len(flags)
    if count == 0:
        return nothing()
    if count == possible:
        return Part(_ALL, as_bytes(values))
    if -(-possible // 8) < _NUMBER.itemsize * count:
        return Part(-count, as_bytes([cupy().packbits(flags), *values]))
    return Part(count, as_bytes([vertices.astype(_NUMBER), *values]))


def parts_of(flags: Any, among: slice, arrays: Sequence[Any]) -> list[Part]:
    """A part for each row of flags, of the vertices that have one, with their values.

    Args:
        flags: bool, shape (rows, vertices), on the GPU.
        among: the vertices that a row is of.
        arrays: the values of all these vertices.
    """
    rows, possible = flags.shape
    found = cupy().flatnonzero(flags)
    if len(found) == 0:
        return [nothing() for _ in range(rows)]
    ends = [0, *np.cumsum(host_copy(flags.sum(axis=1))).tolist()]
    places = found % possible
    values = [each[places] for each in arrays]
    return [
        _part(places[begin:end] + among.start, flags[row], [each[begin:end] for each in values])
        for row, (begin, end) in enumerate(pairwise(ends))
    ]


def parts_by_ranks(flags: Any, begins: Sequence[int], values: Any) -> tuple[list[Part], Any]:
    """A part for each range of vertices, of those that have a flag, and all of these.

    Args:
        flags: bool, one for each vertex of the graph, on the GPU.
        begins: where the ranges begin, and the number of all vertices.
        values: ``values(vertices)``: those of vertices that are given in ascending order.
    """
    found = cupy().flatnonzero(flags)
    if len(found) == 0:
        return [nothing() for _ in begins[1:]], found
    ends = host_copy(cupy().searchsorted(found, copy_of(np.asarray(begins)))).tolist()
    told = values(found)
    parts = [
        _part(found[first:end], flags[begin:stop], [told[first:end]])
        for (first, end), (begin, stop) in zip(pairwise(ends), pairwise(begins), strict=True)
    ]
    return parts, found


def placed(part: Part, among: slice, dtypes: Sequence[np.dtype]) -> tuple[Any, list[Any]]:
    """The vertices of a part as an index of an array of those `among`, and the values of each array.

    Raises:
        DistributedError: the part is none of these: ranks call different things.
    """
    head, possible = part.head, among.stop - among.start
    count, size = possible if head == _ALL else abs(head), 0
    if head not in (_NONE, _ALL):
        size = _NUMBER.itemsize * count if head > 0 else -(-possible // 8)
    if count > possible or len(part.data) != size + count * sum(dtype.itemsize for dtype in dtypes):
        raise meaningless()
    values = columns_of(part.data[size:], count, dtypes)
    if head == _ALL:
        return slice(None), values
    if head < 0:
        return cupy().flatnonzero(cupy().unpackbits(part.data[:size])[:possible]), values
    return part.data[:size].copy().view(_NUMBER).astype(np.int64) - among.start, values


class WantedOnGpu(NamedTuple):
    """Which vertices of a rank others want to be told of.

    Attributes:
        rows: for each rank, its row of `flags`, or -1 if it wants none.
        flags: bool, shape (rows, vertices of the rank), on the GPU; None without rows.
    """

    rows: list[int]
    flags: Any

    def parts(self, told: Any, own: slice, arrays: Sequence[Any]) -> list[Part]:
        """For each rank the vertices that are to be told of and that it wants.

        Args:
            told: a flag for each vertex of this rank.
            own: these vertices.
            arrays: their values.
        """
        found = [] if self.flags is None else parts_of(told & self.flags, own, arrays)
        return [nothing() if row < 0 else found[row] for row in self.rows]


def wanted_on_gpu(wanted: Sequence[np.ndarray | None], length: int) -> WantedOnGpu:
    """Which vertices others want, on the GPU; all that want all of them share a row.

    Args:
        wanted: for each rank, a flag for each own vertex, or None for all of them.
        length: this rank's vertices.
    """
    rows, found = [0 if flags is None else -1 for flags in wanted], list[np.ndarray]()
    if 0 in rows:
        found.append(np.ones(length, np.bool_))
    for rank, flags in enumerate(wanted):
        if flags is not None and flags.any():
            rows[rank] = len(found)
            found.append(flags)
    return WantedOnGpu(rows, copy_of(np.array(found)) if found else None)


class SharedOnGpu:
    """Arrays on the GPU of which each rank tells others what has changed at its own vertices.

    Args:
        arrays: of shape (n,) each.
        own: this rank's vertices.
        wanted: who wants which.
    """

    def __init__(self, arrays: Sequence[Any], own: slice, wanted: WantedOnGpu) -> None:
        self._arrays, self._own, self._wanted = list(arrays), own, wanted
        self._told = [_bits(array[own]).copy() for array in arrays]

    def changes(self) -> list[Part]:
        """For each rank, what it is to be told now."""
        own, changed = self._own, cupy().zeros(self._own.stop - self._own.start, np.bool_)
        for array, told in zip(self._arrays, self._told, strict=True):
            bits = _bits(array[own])
            changed |= bits != told
            told[...] = bits
        return self._wanted.parts(changed, own, [array[own] for array in self._arrays])

    def take(self, part: Part, among: slice) -> None:
        """Take what the rank with the vertices `among` has told."""
        if part.head != _NONE:
            places, values = placed(part, among, [array.dtype for array in self._arrays])
            for array, new in zip(self._arrays, values, strict=True):
                array[among][places] = new


def _bits(array: Any) -> Any:
    """The same memory as integers, so that NaN equals NaN and 0.0 is not -0.0."""
    return array.view(f"u{array.dtype.itemsize}")
