"""Numbers for vertices whose ids are strings, by first appearance. All of them stay in memory."""

import sys

import numpy as np

from edgewise.building.sizes import Room
from edgewise.graph.ids import Ids, named_ids

#: Bytes of a string beyond itself: its place in the dictionary and in the array of ids, its number, and itself once
#: more as the bytes that are written.
_ENTRY_BYTES = 8 + 32 + 90
_COPIES = 2


class Names:
    """The distinct strings among ids that come in batches.

    Attributes:
        held_bytes: about what they take of memory.
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        self._numbers: dict[str, int] = {}
        self.held_bytes = 0

    def number(self, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of ids, int32: in the order of the edges, source before target.

        Raises:
            MemoryLimitError: the names do not fit.
        """
        both = np.empty(2 * len(source), dtype=object)
        both[0::2], both[1::2] = source, target
        indices = self.add(both.tolist())
        return np.ascontiguousarray(indices[0::2]), np.ascontiguousarray(indices[1::2])

    def add(self, names: list[str]) -> np.ndarray:
        """The numbers of names, int32; those that are new are numbered in their order.

        Raises:
            MemoryLimitError: the names do not fit.
        """
        numbers, indices = self._numbers, np.empty(len(names), np.int32)
        for place, name in enumerate(names):
            number = numbers.get(name)
            if number is None:
                number = numbers[name] = len(numbers)
                self.held_bytes += _COPIES * sys.getsizeof(name) + _ENTRY_BYTES
            indices[place] = number
        self.check()
        return indices

    def __contains__(self, name: str) -> bool:
        return name in self._numbers

    def check(self) -> None:
        """Refuse names that do not fit. Raises MemoryLimitError."""
        self._room.left(self.held_bytes, f"{len(self._numbers):,} names", share=0)

    def finish(self) -> Ids:
        """The ids of the graph."""
        names = list(self._numbers)
        self._numbers.clear()
        return named_ids(names)
