"""Connections between ranks of one machine, by which they send each other blocks of a fixed length.

What ranks tell each other between two steps is mostly short, and all of them wait for it. A socket of the system hands
it over in a fraction of the time that gloo takes. It ends with the process at its other end, and with those that this
has forked.
"""

import contextlib
import os
import platform
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

import numpy as np

_NUMBER = np.dtype(np.int64)
#: The most seconds for which Python lets a socket wait: it counts milliseconds in 32 bits.
_MOST_SECONDS = 2_000_000.0


@final
class BlockSockets:
    """Connections of this rank to all others.

    Args:
        rank: this one.
        connections: by rank, each with the time that this one waits for an answer.
    """

    def __init__(self, rank: int, connections: dict[int, socket.socket]) -> None:
        self._rank, self._connections = rank, connections

    def swap(self, into: np.ndarray, sent: np.ndarray) -> None:
        """Send each rank its block, and receive one of each.

        Args:
            into, sent: uint8, shape (ranks, length), of one length on all ranks: so short that the system takes a block
                before it is received.

        Raises:
            OSError: a rank has ended, or does not answer in time.
        """
        for rank, connection in self._connections.items():
            connection.sendall(sent[rank])
        for rank, connection in self._connections.items():
            _receive(connection, into[rank])
        into[self._rank] = sent[self._rank]

    def close(self) -> None:
        """End all connections."""
        for each in self._connections.values():
            each.close()


def _receive(connection: socket.socket, block: Any) -> None:
    """Fill a block with what arrives.

    Raises:
        OSError: see `BlockSockets.swap`.
    """
    while len(block):
        length = connection.recv_into(block)
        if length == 0:
            raise ConnectionError("its connection has ended")
        block = block[length:]


def machine_id() -> str:
    """What this machine is called since it was started, in any of its containers; by its name if it does not say."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return platform.node()


def sockets_of(group: Any, seconds: float) -> BlockSockets | None:
    """Connections between the ranks of a group, or None if some are on other machines, or cannot be reached. All ranks
    call it.

    Ranks find each other in folders that belong to their user alone, and that they take away afterwards.

    Args:
        group: the `Group` of the ranks, which speak by gloo so far.
        seconds: how long this rank waits for another one.
    """
    with contextlib.ExitStack() as stack:
        door, path = None, ""
        # The system may have no such sockets, or no such folder.
        with contextlib.suppress(OSError, AttributeError):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="edgewise-"))
            door = stack.enter_context(socket.socket(socket.AF_UNIX))
            door.settimeout(min(seconds, _MOST_SECONDS))
            door.bind(f"{folder}/rank")
            door.listen(group.size)
            path = f"{folder}/rank"
        own = machine_id().encode() + b"\0" + os.fsencode(path)
        told, _ = group.everywhere(np.frombuffer(own, np.uint8))
        machines, paths = zip(*(each.tobytes().split(b"\0") for each in told), strict=True)
        if door is None or len(set(machines)) > 1 or not all(paths):
            return None
        made = _connections(group, door, paths)
    if group.total(list(made) == [rank for rank in range(group.size) if rank != group.rank]) == group.size:
        return BlockSockets(group.rank, made)
    for each in made.values():
        each.close()
    return None


def _connections(group: Any, door: socket.socket, paths: Sequence[bytes]) -> dict[int, socket.socket]:
    """A connection to each other rank that can be reached. All ranks call it.

    Args:
        group: the ranks.
        door: where those with higher numbers connect to this one.
        paths: of the doors of all ranks.
    """
    made = dict[int, socket.socket]()
    with contextlib.suppress(OSError):
        for other in range(group.rank):
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(door.gettimeout())
            connection.connect(paths[other])
            connection.sendall(np.array([group.rank], _NUMBER).tobytes())
            made[other] = connection
    have_connected = group.total(len(made) == group.rank) == group.size
    with contextlib.suppress(OSError):
        for _ in range(group.rank + 1, group.size if have_connected else 0):
            connection, _ = door.accept()
            connection.settimeout(door.gettimeout())
            number = np.empty(_NUMBER.itemsize, np.uint8)
            _receive(connection, number)
            made[int(number.view(_NUMBER)[0])] = connection
    return dict(sorted(made.items()))
