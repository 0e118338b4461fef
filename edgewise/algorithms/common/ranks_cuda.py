"""Algorithms on several ranks with GPUs whose answers are arrays on the GPU with a value for each vertex.

A rank has the rows of its own vertices on its GPU. Ranks tell each other the values of their own vertices from GPU to
GPU, and join what each found for all vertices. What that takes beside the values is mostly less than what a search had
while it ran, which `memory_limit` counts.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from edgewise.algorithms.common.ranks import in_shares
from edgewise.engine.distributed.channel import Channel
from edgewise.engine.distributed.channel_cuda import channel_of
from edgewise.engine.distributed.exchange_cuda import Part, values_in
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.partition import Ranges
from edgewise.kernels.cuda.memory import cupy, room

#: For each vertex, the bytes that a rank takes at most while ranks join numbers of 4 bytes: what it sends and receives,
#: the share that it joins, which is half of them at most, and half a byte for marks (`offers_cuda`).
JOINING_BYTES = 2 * 4 + 2 + 1


@contextlib.contextmanager
def joining(name: str, num_vertices: int, group: Group, beside: int = 0) -> Iterator[Channel]:
    """While this is entered, ranks join what they have found for all vertices. An error of one ends the call on all.

    Args:
        name: what runs, for messages.
        num_vertices, group: of the graph, and the ranks.
        beside: the bytes for each vertex that the caller takes meanwhile.

    Raises:
        MemoryLimitError: the GPU has no room.
    """
    channel = channel_of(group)
    with channel.in_run(), room(name, (JOINING_BYTES + beside) * num_vertices):
        yield channel


def tell_own(values: Any, ranges: Ranges, channel: Channel) -> Callable[[], None]:
    """Start to fill in the values of all vertices, of which each rank has those of its own; what waits for that.

    Args:
        values: on the GPU, shape (n,), of one dtype on all ranks; changed.
        ranges: the vertices of ranks.
        channel: how ranks speak.
    """
    size = len(ranges.begins) - 1
    return channel.share([values[ranges.of(rank)].view(np.uint8) for rank in range(size)])


def take_least(values: Any, group: Group, channel: Channel) -> None:
    """Put the least of what ranks have in each place, on all ranks; see `join_shares`."""
    join_shares(cupy().minimum, values, group, channel)


def join_shares(join: Callable[..., Any], values: Any, group: Group, channel: Channel) -> None:
    """Join what ranks have in each place, in the order of ranks, on all ranks: each rank joins a share, and tells it.

    Args:
        join: ``join(these, others, out=these)``, as functions of NumPy and CuPy for arrays are.
        values: on the GPU, of one shape (k,) and one dtype on all ranks; changed.
        group, channel: the ranks, and how they speak.
    """
    if group.size == 1:
        return
    shares = in_shares(values, group.size)
    told = [share.view(np.uint8) for share in shares]
    received, _ = channel.exchange([[Part(0, [share]) for share in told]], 0)
    own = shares[group.rank]
    of_ranks = [
        own if rank == group.rank else values_in(part.data, values.dtype)
        for rank, (part,) in enumerate(received)
    ]
    joined = functools.reduce(join, of_ranks[:-1])
    join(joined, of_ranks[-1], out=own)  # it is one of these, so it is overwritten at the end alone
    del received, of_ranks, joined
    channel.share(told)()
