"""The words of kernels' arrays `control` and `host`, each given out once, and the turns that counts take.

Blocks read a count of one superstep while they add to that of the next. Such a count has `TURNS` words: one for this
superstep, one for the next, and one that is set to 0 meanwhile.
"""

from typing import Any

from edgewise.kernels.cuda.device import device_function
from edgewise.kernels.cuda.memory import PROGRESS

#: How many words a count that takes turns has.
TURNS = 3
#: How many words a cache line has. A thread that waits for a word does not slow down those that change other lines.
LINE = 16


class Allocator:
    """Gives out words of 64 bits, so that none has two meanings.

    Attributes:
        size: how many words were given out, at last the length of the array.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def take(self, count: int = 1) -> int:
        """Give out `count` words; the index of the first."""
        first = self.size
        self.size += count
        return first

    def take_line(self, count: int = 1) -> int:
        """Give out `count` words that begin a cache line; the index of the first."""
        self.size += -self.size % LINE
        return self.take(count)

    def more(self) -> "Allocator":
        """An allocator of the words behind these, for one of several kernels that share the first words."""
        return Allocator(self.size)


def control_words() -> Allocator:
    """The allocator of an array `control` of zeros. Word 0 is that of `grid_barrier`."""
    return Allocator(1)


def host_words() -> Allocator:
    """The allocator of an array in the host's memory, see `edgewise.kernels.cuda.memory.signals`."""
    return Allocator(PROGRESS + 1)


@device_function
def turns_after(turn: Any) -> Any:
    """The turn of the next superstep, and the one after it."""
    return (turn + 1) % TURNS, (turn + 2) % TURNS
