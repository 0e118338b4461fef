"""The words of kernels' arrays `control` and `host`, given out once each, and what takes turns among them.

A count that all blocks read in one superstep and add to in the next has `TURNS` words: one for this superstep, one for
the next, and one that is set to 0 meanwhile.
"""

from typing import Any

from edgewise.kernels.cuda.device import device_function
from edgewise.kernels.cuda.memory import PROGRESS

#: Words of a count that takes turns.
TURNS = 3
#: Words of a cache line: whoever waits for a word does not get in the way of those that change others.
LINE = 16


class Allocator:
    """Gives out words of 64 bits, so that none has two meanings.

    A part that several kernels are made of has words, too: `more` goes on behind them.

    Attributes:
        size: how many words were given out: the length of the array, once all are.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def take(self, count: int = 1) -> int:
        """The first of so many words."""
        first = self.size
        self.size += count
        return first

    def take_line(self, count: int = 1) -> int:
        """The same from the begin of a cache line on."""
        self.size += -self.size % LINE
        return self.take(count)

    def more(self) -> "Allocator":
        """For kernels that have further words behind these."""
        return Allocator(self.size)


def control_words() -> Allocator:
    """For an array `control` of zeros, of which word 0 is that of `grid_barrier`."""
    return Allocator(1)


def host_words() -> Allocator:
    """For an array in the host's memory, see `edgewise.kernels.cuda.memory.signals`."""
    return Allocator(PROGRESS + 1)


@device_function
def turns_after(turn: Any) -> Any:
    """The turn of the next superstep, and the one after it."""
    return (turn + 1) % TURNS, (turn + 2) % TURNS
