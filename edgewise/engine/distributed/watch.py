"""Whether a run on several ranks has an end: all of them look at its state after the same supersteps."""

import time
import zlib
from collections.abc import Callable, Iterable

import numpy as np

from edgewise.engine import endless
from edgewise.engine.distributed.group import Group

#: The first superstep after which ranks ask each other whether it is time for a look; then at twice as many each time.
_FIRST = 4


class RanksWatch:
    """A warning, by the first rank, of a run that seems to change nothing any more on any rank.

    Args:
        name: of the program.
        group: the ranks.
        state: gives the arrays of this rank that functions write.
    """

    def __init__(self, name: str, group: Group, state: Callable[[], Iterable[np.ndarray]]) -> None:
        self._looks, self._group, self._state = endless.Looks(name), group, state
        self._first_look, self._next = time.monotonic() + endless.FIRST_LOOK, _FIRST

    def __call__(self, done: int, count: int) -> None:
        """Take the number of supersteps done, and how many vertices of this rank are active. All ranks call it.

        Raises:
            ProgramWarning: on the first rank, where warnings are errors; the others are told.
        """
        if done < self._next or self._looks.are_over:
            return
        self._next = 2 * done
        _, are_due = self._group.everywhere(np.empty(0, np.uint8), time.monotonic() >= self._first_look)
        if not are_due[0]:
            return
        own = np.array([endless.digest_of_state(self._state())], np.int64)
        digests, counts = self._group.everywhere(own.view(np.uint8), count)
        self._looks.take(zlib.crc32(np.concatenate(digests).data), done, sum(counts), self._group.rank == 0)
