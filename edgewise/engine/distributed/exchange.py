"""What ranks tell each other about vertices, as bytes: which ones, and a value or a few for each.

A part has a word that says how many vertices it has, then which, then the values of one array after the other. Which
they are takes a list of numbers or a bitmap over all vertices that they may be, whichever is shorter, and nothing if
they are all of these.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from edgewise.errors import DistributedError

_HEAD = 8
#: Stands for the number of vertices if they are all that they may be.
_ALL = 0
_NUMBER = np.dtype(np.uint32)


def packed(vertices: np.ndarray, among: slice, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Vertices and their values as bytes; none if there are no vertices.

    Args:
        vertices: indices, ascending, in `among`.
        among: the vertices that they may be.
        arrays: the values of these vertices, each of shape (len(vertices),).
    """
    count, possible = len(vertices), among.stop - among.start
    if count == 0:
        return np.empty(0, np.uint8)
    by_bitmap = _is_shorter(possible, count)
    if by_bitmap:
        flags = np.zeros(possible, np.bool_)
        flags[vertices - among.start] = True
        which = np.packbits(flags)
    else:
        which = vertices.astype(_NUMBER).view(np.uint8)
    return _part(-count if by_bitmap else count, which, arrays)


def packed_length(count: int, possible: int, itemsize: int) -> int:
    """The bytes of `packed` for `count` of so many possible vertices, whose values take `itemsize` bytes together."""
    return _HEAD + min(-(-possible // 8), _NUMBER.itemsize * count) + itemsize * count if count else 0


def packed_flags(flags: np.ndarray, among: slice, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """As `packed`, of the vertices that have a flag.

    Args:
        flags: bool, one for each of the vertices `among`.
        among: see there.
        arrays: the values of all these vertices, each of shape (len(flags),).
    """
    count = int(np.count_nonzero(flags))
    if 0 < count == len(flags):
        return _part(_ALL, np.empty(0, np.uint8), arrays)
    if _is_shorter(len(flags), count):
        return _part(-count, np.packbits(flags), [each.compress(flags) for each in arrays])
    found = np.flatnonzero(flags)
    return packed(found + among.start, among, [each[found] for each in arrays])


def _is_shorter(possible: int, count: int) -> bool:
    """Whether a bitmap is shorter than a list."""
    return -(-possible // 8) < _NUMBER.itemsize * count


def _part(head: int, which: np.ndarray, arrays: Sequence[np.ndarray]) -> np.ndarray:
    values = [np.ascontiguousarray(each).view(np.uint8) for each in arrays]
    return np.concatenate([np.array([head], np.int64).view(np.uint8), which, *values])


def unpacked(
    part: np.ndarray, among: slice, dtypes: Sequence[np.dtype]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The vertices of `packed` as int64, and the values of each array."""
    places, values = placed(part, among, dtypes)
    if isinstance(places, slice):
        return np.arange(among.start, among.stop), values
    found = np.flatnonzero(places) if places.dtype == np.bool_ else places
    return found + among.start, values


def placed(
    part: np.ndarray, among: slice, dtypes: Sequence[np.dtype]
) -> tuple[np.ndarray | slice, list[np.ndarray]]:
    """The vertices of `packed` as an index of an array of those `among`, and the values of each array.

    Raises:
        DistributedError: the part is none of these: ranks call different things.
    """
    if len(part) == 0:
        return np.empty(0, np.int64), [np.empty(0, dtype) for dtype in dtypes]
    head, possible = int(part[:_HEAD].view(np.int64)[0]), among.stop - among.start
    count, size = possible if head == _ALL else abs(head), 0
    places: np.ndarray | slice = slice(None)
    if head < 0:
        size = -(-possible // 8)
        places = np.unpackbits(part[_HEAD : _HEAD + size], count=possible).view(np.bool_)
    elif head != _ALL:
        size = _NUMBER.itemsize * count
        places = part[_HEAD : _HEAD + size].view(_NUMBER).astype(np.int64) - among.start
    begin = _HEAD + size
    fits = len(part) == begin + count * sum(dtype.itemsize for dtype in dtypes)
    if fits and isinstance(places, np.ndarray):
        is_flags = places.dtype == np.bool_
        fits = np.count_nonzero(places) == count if is_flags else ((places >= 0) & (places < possible)).all()
    if not fits:
        raise meaningless()
    return places, columns_of(part[begin:], count, dtypes)


def meaningless() -> DistributedError:
    """The error of a rank that was told what are no vertices and values."""
    return DistributedError(
        "ranks do not make the same calls in the same order: what one told means nothing here"
    )


def _copied_values(data: Any, dtype: np.dtype) -> Any:
    """Bytes as values of their own."""
    return data.copy().view(dtype)


def columns_of(
    data: Any,
    count: int,
    dtypes: Sequence[np.dtype],
    values_in: Callable[[Any, np.dtype], Any] = _copied_values,
) -> list[Any]:
    """Arrays of `count` values each that follow each other in bytes, each by ``values_in(data, dtype)``."""
    ends = np.cumsum([0, *(dtype.itemsize * count for dtype in dtypes)]).tolist()
    return [
        values_in(data[begin:end], dtype) for (begin, end), dtype in zip(pairwise(ends), dtypes, strict=True)
    ]


def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Several parts as one."""
    lengths = np.array([len(part) for part in parts], np.int64).view(np.uint8)
    return np.concatenate([lengths, *parts])


def separated(part: np.ndarray, count: int) -> list[np.ndarray]:
    """The parts that `joined` has made one of; `count` says how many."""
    lengths = part[: 8 * count].view(np.int64).tolist()
    ends = np.cumsum([8 * count, *lengths]).tolist()
    return [part[begin:end].copy() for begin, end in pairwise(ends)]


class Shared:
    """Arrays of which each rank tells others what has changed at its own vertices.

    Args:
        arrays: of shape (n,) each.
        own: this rank's vertices.
        wanted: for each rank, a flag for each own vertex, or None for all of them.
    """

    def __init__(self, arrays: Sequence[np.ndarray], own: slice, wanted: Sequence[np.ndarray | None]) -> None:
        self._arrays, self._own, self._wanted = list(arrays), own, list(wanted)
        self._told = [_bits(array[own]).copy() for array in arrays]

    @property
    def dtypes(self) -> list[np.dtype]:
        """Those of the arrays."""
        return [array.dtype for array in self._arrays]

    def changes(self) -> list[np.ndarray]:
        """For each rank, what it is to be told now."""
        own, changed = self._own, np.zeros(self._own.stop - self._own.start, np.bool_)
        for array, told in zip(self._arrays, self._told, strict=True):
            bits = _bits(array[own])
            changed |= bits != told
            told[:] = bits
        every = (
            self._part(changed) if any(wanted is None for wanted in self._wanted) else np.empty(0, np.uint8)
        )
        return [every if wanted is None else self._part(changed & wanted) for wanted in self._wanted]

    def _part(self, chosen: np.ndarray) -> np.ndarray:
        return packed_flags(chosen, self._own, [array[self._own] for array in self._arrays])

    def take(self, part: np.ndarray, among: slice) -> None:
        """Take what the rank with the vertices `among` has told."""
        places, values = placed(part, among, self.dtypes)
        for array, new in zip(self._arrays, values, strict=True):
            array[among][places] = new


def _bits(array: np.ndarray) -> np.ndarray:
    """The same memory as integers, so that NaN equals NaN and 0.0 is not -0.0."""
    return array.view(f"u{array.dtype.itemsize}")
