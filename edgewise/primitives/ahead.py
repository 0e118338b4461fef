"""Arrays that a warp goes over from beginning to end, several values for each lane at once: it waits once for several,
and few threads take what memory gives.

A warp has `AHEAD` * `WARP` places in a row. Those of a lane are `WARP` apart, so that lanes read neighbours.
"""

from typing import Any

from edgewise.kernels.cuda.device import WARP, device_function, lane, num_threads, thread_index

#: How many values a lane reads at once.
AHEAD = 4


@device_function
def first_place(begin: Any) -> Any:
    """The first place of this lane's warp, in a range that begins there."""
    return begin + (thread_index() - lane()) * AHEAD


@device_function
def stride() -> Any:
    """From the first place of a warp to the next one that it has."""
    return num_threads() * AHEAD


@device_function
def read_ahead(first: Any, end: Any, values: Any, held: Any) -> None:
    """Read the values of this lane of those from `first` on, but for those from `end` on.

    Args:
        first: the first place of this lane's warp.
        end: see there.
        values: an array.
        held: shape (AHEAD,), this thread's own: gets the values, or 0.
    """
    for i in range(AHEAD):
        place = first + i * WARP + lane()
        held[i] = values[place] if place < end else 0
