"""Edge attributes as columns of numbers, which remember where NetworkX has integers among floats."""

from typing import Any, NamedTuple

import numpy as np


class Column(NamedTuple):
    """An edge attribute as a number for each arc.

    Attributes:
        values: int64 or float64, shape (num_arcs,).
        whole: bool, shape (num_arcs,): which of the floats are integers in NetworkX; None if all are of one kind.
    """

    values: np.ndarray
    whole: np.ndarray | None = None

    def taken(self, arcs: np.ndarray) -> "Column":
        """The column of these arcs."""
        return Column(self.values[arcs], None if self.whole is None else self.whole[arcs])

    def put(self, arcs: np.ndarray, twins: np.ndarray, num_arcs: int) -> "Column":
        """The column of so many arcs, where each value is that of an arc and of its twin."""

        def of_arcs(values: np.ndarray) -> np.ndarray:
            placed = np.empty(num_arcs, values.dtype)
            placed[arcs] = placed[twins] = values
            return placed

        return Column(of_arcs(self.values), None if self.whole is None else of_arcs(self.whole))

    def numbers(self) -> list[Any]:
        """The values as numbers of Python."""
        return python_numbers(self.values, self.whole)

    def least(self, counts: np.ndarray, sign: int = 1) -> np.ndarray:
        """Of groups of so many values each, at least one, the place of the least, or of the greatest if sign is -1; the
        first of several."""
        return np.lexsort((sort_keys(self.values, sign), groups(counts)))[np.cumsum(counts) - counts]


def sort_keys(values: np.ndarray, sign: int) -> np.ndarray:
    """Numbers that are ordered as the values are, or the other way if sign is -1: -2**63 has no negative in int64."""
    if sign == 1:
        return values
    return ~values if values.dtype == np.int64 else -values


def groups(counts: np.ndarray) -> np.ndarray:
    """The group of each value, if groups have so many values each."""
    return np.repeat(np.arange(len(counts)), counts)


def as_column(name: Any, values: list[Any]) -> Column:
    """Values of an attribute as numbers.

    Raises:
        NotImplementedError: a value that is no integer of 64 bits and no finite float, or integers beside floats that
            float64 does not hold.
    """
    kinds = set(map(type, values))
    whole = {kind for kind in kinds if issubclass(kind, int | np.integer) and kind is not bool}
    floats = {kind for kind in kinds if issubclass(kind, float | np.floating)}
    if kinds - whole - floats:
        odd = next(value for value in values if type(value) not in whole | floats)
        raise NotImplementedError(f"{name!r} of an edge is {odd!r}; edgewise expects integers or floats")
    try:
        numbers = np.fromiter(values, np.float64 if floats else np.int64, len(values))
    except OverflowError:
        raise NotImplementedError(
            f"{name!r} has integers that 64 bits do not hold; edgewise needs that"
        ) from None
    if not floats:
        return Column(numbers)
    if not np.isfinite(numbers).all():
        raise NotImplementedError(f"{name!r} of an edge is infinite or NaN; edgewise expects finite numbers")
    if not whole:
        return Column(numbers)
    are_whole = np.fromiter(map(whole.__contains__, map(type, values)), np.bool_, len(values))
    if np.abs(numbers[are_whole]).max() >= 2**53:
        raise NotImplementedError(f"{name!r} has floats, and integers that float64 does not hold exactly")
    return Column(numbers, are_whole)


def python_numbers(values: np.ndarray, whole: np.ndarray | None) -> list[Any]:
    """An array as numbers of Python, with integers where `whole` says so."""
    numbers: list[Any] = values.tolist()
    if whole is None:
        return numbers
    return [int(value) if integer else value for value, integer in zip(numbers, whole.tolist(), strict=True)]
