"""What ranks with GPUs tell each other about vertices: parts that are made, and taken, on the GPU.

A part says which vertices it has by a list of their places among all that they may be or by a bitmap over these,
whichever is shorter, as on the CPU (`edgewise.engine.distributed.exchange`); then follow the values of one array after
the other. How many they are is a word on the host.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.distributed.bitmaps_cuda import Marks, among, changed, checked_places_of
from edgewise.engine.distributed.exchange import columns_of, meaningless
from edgewise.kernels.cuda.memory import address_of, copy_of, cupy, empty
from edgewise.primitives.bitmaps import words_for

#: The words of parts that have no vertex, and that have all that there may be.
_NONE, _ALL = 0, -(1 << 62)
_NUMBER = np.dtype(np.uint32)


class Part(NamedTuple):
    """What one rank tells another.

    Attributes:
        head: how many vertices are listed; of a bitmap, their number, negated; or `_NONE`, or `_ALL`.
        arrays: uint8, on the GPU, one after the other. What another rank has sent is one.
    """

    head: int
    arrays: Sequence[Any]

    @property
    def length(self) -> int:
        """How many bytes it has."""
        return sum(map(len, self.arrays))

    @property
    def data(self) -> Any:
        """All of it in one array."""
        return as_one(self.arrays)


def as_one(arrays: Sequence[Any]) -> Any:
    """Bytes on the GPU, one after the other; those of one array stay where they lie."""
    if len(arrays) == 1:
        return arrays[0]
    return cupy().concatenate(arrays) if arrays else empty(0, np.uint8)


def bytes_of(arrays: Sequence[Any]) -> list[Any]:
    """Arrays on the GPU as bytes, of those that have any."""
    return [cupy().ascontiguousarray(each).view(np.uint8) for each in arrays if len(each)]


def values_in(data: Any, dtype: np.dtype) -> Any:
    """Bytes on the GPU as values, copied if they lie across its words, where it reads none."""
    return (data.copy() if address_of(data) % dtype.itemsize else data).view(dtype)


def nothing() -> Part:
    """A part without vertices."""
    return Part(_NONE, [])


def part_of(marks: Marks, values: Callable[[Any], Sequence[Any]]) -> tuple[Part, Any]:
    """A part of the vertices that are marked, and their places, as an index.

    Args:
        marks: a bit for each vertex that they may be.
        values: ``values(places)``: arrays of the values at places, which stay until they are sent.
    """
    count, possible = marks.count, marks.length
    if count == 0:
        return nothing(), slice(0)
    if count == possible:
        return Part(_ALL, bytes_of(values(slice(None)))), slice(None)
    places = marks.places()
    by_bitmap = marks.bits.nbytes < places.nbytes
    which = marks.bits if by_bitmap else places
    return Part(-count if by_bitmap else count, bytes_of([which, *values(places)])), places


def placed(part: Part, among: slice, dtypes: Sequence[np.dtype]) -> tuple[Any, list[Any]]:
    """The vertices of a part as an index of an array of those `among`, and the values of each array.

    Raises:
        DistributedError: the part is none of these: ranks call different things.
    """
    head, possible = part.head, among.stop - among.start
    count, size = possible if head == _ALL else abs(head), 0
    if head not in (_NONE, _ALL):
        size = _NUMBER.itemsize * count if head > 0 else 8 * words_for(possible)
    if count > possible or part.length != size + count * sum(dtype.itemsize for dtype in dtypes):
        raise meaningless()
    data = part.data
    values, which = columns_of(data[size:], count, dtypes, values_in), data[:size]
    if head == _ALL:
        return slice(None), values
    if head >= 0:
        places = values_in(which, _NUMBER)
    else:
        places = checked_places_of(values_in(which, np.dtype(np.int64)), count, possible)
    if places is None:
        raise meaningless()
    return places, values


class WantedOnGpu(NamedTuple):
    """Which vertices of a rank others want to be told of.

    Attributes:
        rows: for each rank, its place among `bits`, or -1 if it wants none.
        bits: bitmaps of the rank's vertices, on the GPU.
        length: how many these are.
    """

    rows: list[int]
    bits: list[Any]
    length: int

    def parts(self, told: Any, arrays: Sequence[Any]) -> list[Part]:
        """For each rank the vertices that are to be told of and that it wants.

        Args:
            told: a bit for each vertex of this rank.
            arrays: the values of all of these.
        """
        found = [
            part_of(marks, lambda places: [each[places] for each in arrays])[0]
            for marks in among(told, self.length, self.bits)
        ]
        return [nothing() if row < 0 else found[row] for row in self.rows]


def wanted_on_gpu(wanted: Sequence[np.ndarray | None], length: int) -> WantedOnGpu:
    """Which vertices others want, on the GPU; all that want all of them share a bitmap.

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
    return WantedOnGpu(rows, [copy_of(_bitmap(flags)) for flags in found], length)


def _bitmap(flags: np.ndarray) -> np.ndarray:
    """A bit for each flag, int64."""
    packed = np.packbits(flags, bitorder="little")
    return np.pad(packed, (0, 8 * words_for(len(flags)) - len(packed))).view("<i8")


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
        values = [array[self._own] for array in self._arrays]
        return self._wanted.parts(changed([_bits(each) for each in values], self._told), values)

    def take(self, part: Part, among: slice) -> None:
        """Take what the rank with the vertices `among` has told."""
        if part.head != _NONE:
            places, values = placed(part, among, [array.dtype for array in self._arrays])
            for array, new in zip(self._arrays, values, strict=True):
                array[among][places] = new


def _bits(array: Any) -> Any:
    """The same memory as integers, so that NaN equals NaN and 0.0 is not -0.0."""
    return array.view(f"u{array.dtype.itemsize}")
