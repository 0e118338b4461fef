"""The words of the arrays `control` and `host` of kernels on a GPU, each given out once, and the turns of counts.

Blocks read a count of one superstep while they add to that of the next. Such a count has `TURNS` words: one for this
superstep, one for the next, and one that is set to 0 meanwhile.
"""

from typing import Any

from edgewise.kernels.cuda.device import device_function
from edgewise.kernels.cuda.memory import PROGRESS
from edgewise.kernels.words import Allocator

#: How many words a count that takes turns has.
TURNS = 3
#: Kernels look at the host's words in short supersteps whose number is a multiple of LOOK.
LOOK = 64


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
