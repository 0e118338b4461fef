"""Ranks in a square grid: those of a row, or of a column, speak among themselves."""

import atexit
import datetime
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.distributed.group import Group, disconnect, timeout_seconds
from edgewise.errors import DistributedError


class Line(Group):
    """The ranks of one row or column.

    Args:
        whole: all ranks; what this rank sends in a line is among what it sends.
        ranks: which of them are in the line, ascending.
        among: these ranks as a group of `torch.distributed`.
    """

    def __init__(self, whole: Group, ranks: Sequence[int], among: Any) -> None:
        super().__init__(ranks.index(whole.rank), len(ranks), among)
        self.ranks, self.name, self._whole = ranks, whole.name, whole

    def exchange(self, parts: Sequence[np.ndarray], word: int = 0) -> tuple[list[np.ndarray], list[int]]:
        """See `Group.exchange`."""
        whole, before = self._whole, (self.sent_bytes, self.exchanges)
        self.has_failed = whole.has_failed
        try:
            return super().exchange(parts, word)
        finally:
            whole.has_failed = self.has_failed
            whole.sent_bytes += self.sent_bytes - before[0]
            whole.exchanges += self.exchanges - before[1]


class Grid(NamedTuple):
    """The row and the column of a rank."""

    row: Line
    column: Line

    def total(self, value: int) -> int:
        """The sum of a number over all ranks."""
        return self.column.total(self.row.total(value))


def side_of(size: int) -> int:
    """How many rows, and columns, so many ranks have in a square grid; 0 if there is none."""
    side = math.isqrt(size)
    return side if side > 1 and side * side == size else 0


@functools.cache
def grid_of(group: Group) -> Grid:
    """The grid of these ranks, row by row, connected at the first call, which all of them make.

    Raises:
        DistributedError: others do not answer.
    """
    import torch.distributed as distributed

    size, side = group.size, side_of(group.size)
    rows = [range(first, first + side) for first in range(0, size, side)]
    columns = [range(first, size, side) for first in range(side)]
    own, wait = list[Line](), datetime.timedelta(seconds=timeout_seconds())
    for ranks in (*rows, *columns):
        try:
            among = distributed.new_group(list(ranks), backend="gloo", timeout=wait)
        except (RuntimeError, ValueError) as error:
            raise DistributedError(
                f"{group.name}: the ranks of a row or column did not find each other in {wait.total_seconds():g} s: "
                f"{str(error).splitlines()[0]}"
            ) from error
        if group.rank in ranks:
            atexit.register(disconnect, among)
            own.append(Line(group, ranks, among))
    for each in (group, *own):
        each.all_groups = (group, *own)
    return Grid(*own)
