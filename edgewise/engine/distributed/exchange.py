"""What ranks tell each other about vertices, as bytes: which ones, and a value or a few for each.

A part has a word that says how many vertices it has, then which, then the values of one array after the other. Which
they are takes a list of numbers or a bitmap over all vertices that they may be, whichever is shorter.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

_HEAD = 8
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
    by_bitmap = -(-possible // 8) < _NUMBER.itemsize * count
    if by_bitmap:
        flags = np.zeros(possible, np.bool_)
        flags[vertices - among.start] = True
        which = np.packbits(flags)
    else:
        which = vertices.astype(_NUMBER).view(np.uint8)
    head = np.array([-count if by_bitmap else count], np.int64).view(np.uint8)
    return np.concatenate([head, which, *(np.ascontiguousarray(each).view(np.uint8) for each in arrays)])


def unpacked(
    part: np.ndarray, among: slice, dtypes: Sequence[np.dtype]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The vertices of `packed` as int64, and the values of each array."""
    if len(part) == 0:
        return np.empty(0, np.int64), [np.empty(0, dtype) for dtype in dtypes]
    count = int(part[:_HEAD].view(np.int64)[0])
    if count < 0:
        count, size = -count, -(-(among.stop - among.start) // 8)
        flags = np.unpackbits(part[_HEAD : _HEAD + size], count=among.stop - among.start)
        vertices = np.flatnonzero(flags) + among.start
    else:
        size = _NUMBER.itemsize * count
        vertices = part[_HEAD : _HEAD + size].view(_NUMBER).astype(np.int64)
    values, begin = list[np.ndarray](), _HEAD + size
    for dtype in dtypes:
        end = begin + dtype.itemsize * count
        values.append(part[begin:end].copy().view(dtype))
        begin = end
    return vertices, values


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
        vertices = np.flatnonzero(chosen) + self._own.start
        return packed(vertices, self._own, [array[vertices] for array in self._arrays])

    def take(self, part: np.ndarray, among: slice) -> None:
        """Take what the rank with the vertices `among` has told."""
        vertices, values = unpacked(part, among, self.dtypes)
        for array, new in zip(self._arrays, values, strict=True):
            array[vertices] = new


def _bits(array: np.ndarray) -> np.ndarray:
    """The same memory as integers, so that NaN equals NaN and 0.0 is not -0.0."""
    return array.view(f"u{array.dtype.itemsize}")
