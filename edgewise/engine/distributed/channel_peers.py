"""How ranks on GPUs of one machine speak that write to each other's memory.

Each rank has memory that the others have opened: of each of them a word, and room for two parts. To tell a part, a rank
has the driver copy it there and raise its word; the other's stream waits for that, and copies the part to where it is
needed. All of this is in the order of streams, and no kernel takes part.

A rank writes to one half of the room in one turn and to the other in the next. When it does so, it has waited for the
other's word of the turn before, which that one has raised after it took what came two turns before. So nothing has to
be told back. Longer parts take several turns, as many in both directions.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, final

import numpy as np

from edgewise.engine.distributed.channel import StreamChannel, cut, wait_for_nothing
from edgewise.engine.distributed.exchange import meaningless
from edgewise.engine.distributed.exchange_cuda import Part
from edgewise.engine.distributed.group import Group
from edgewise.kernels.cuda.memory import (
    address_of,
    copy_bytes,
    copy_of,
    current_stream,
    done,
    empty,
    finish_all,
    host_copy,
    mark,
    pinned,
    receive,
)
from edgewise.kernels.cuda.peers import SharedMemory, array_at, opened, raise_word, wait_for_word

#: Turns whose parts lie in memory at once, and the most bytes of a part in one turn.
_TURNS, _ROOM = 2, 1 << 25
#: The most words of heads: that of the sender, how many parts there are, and two of each part.
_HEADS = 16
#: The bytes, and the seconds, in which it has to be seen that memory can be written to.
_TRIED, _TRIAL = 1 << 16, 20.0
#: The bytes by which memory is opened, and what tells whether processes are on one machine.
_HANDLE, _BOOT = 64, Path("/proc/sys/kernel/random/boot_id")


def _num_words(size: int) -> int:
    """The words of a rank's memory before the room for parts, which begins at a multiple of 256 bytes."""
    return -(-(size - 1) * (1 + _TURNS * _HEADS) // 32) * 32


class _Pair:
    """What goes between this rank and another one.

    Args:
        here, there: where the memory of this rank begins, and that of the other one.
        own, its: the place of this rank among those that write to the other's memory, and the other way round.
        size: how many ranks there are.
    """

    def __init__(self, here: int, there: int, own: int, its: int, size: int) -> None:
        self.turn, self._here, self._there, self._own, self._its, self._size = 0, here, there, own, its, size

    def _room(self, base: int, place: int) -> int:
        return base + 8 * _num_words(self._size) + (_TURNS * place + self.turn % _TURNS) * _ROOM

    def _heads(self, place: int) -> int:
        """The first word of heads."""
        return self._size - 1 + (_TURNS * place + self.turn % _TURNS) * _HEADS

    @property
    def heads_here(self) -> int:
        """The first word in the memory of this rank of the heads of this turn."""
        return self._heads(self._its)

    def send(self, pieces: Iterable[tuple[int, int, int]], heads: np.ndarray | None = None) -> None:
        """Begin a turn: start to send.

        Args:
            pieces: addresses, where they go in the room for a part, and how many bytes.
            heads: in locked memory; at most `_HEADS` words.
        """
        self.turn += 1
        room = self._room(self._there, self._own)
        for address, at, length in pieces:
            copy_bytes(room + at, address, length)
        if heads is not None:
            copy_bytes(self._there + 8 * self._heads(self._own), heads.ctypes.data, heads.nbytes)
        raise_word(self._there + 8 * self._own, self.turn)

    def arrive(self) -> None:
        """Have the stream wait for what the other rank sends in this turn."""
        wait_for_word(self._here + 8 * self._its, self.turn)

    def take(self, pieces: Iterable[tuple[int, int, int]]) -> None:
        """Start to copy what has arrived to addresses; see `send`."""
        room = self._room(self._here, self._its)
        for address, at, length in pieces:
            copy_bytes(address, room + at, length)


@final
class PeerChannel(StreamChannel):
    """From GPU to GPU, which write to each other's memory.

    Args:
        group: the ranks.
        memory: this rank's.
        addresses: for each rank, where its memory lies here.
    """

    name = "peer memory"

    def __init__(self, group: Group, memory: SharedMemory, addresses: Sequence[int]) -> None:
        super().__init__(group)
        rank, size = group.rank, group.size
        self._memory, self._stream = memory, current_stream()
        self._others = [(rank + step) % size for step in range(1, size)]
        self._pairs = {
            other: _Pair(
                addresses[rank], addresses[other], rank - (rank > other), other - (other > rank), size
            )
            for other in self._others
        }
        self._words = array_at(memory.address, _num_words(size), np.int64)
        self._told, self._heads = pinned(len(self._words), np.int64), pinned(size * _HEADS, np.int64)

    @contextlib.contextmanager
    def in_run(self) -> Iterator[None]:
        """See `StreamChannel.in_run`."""
        try:
            with super().in_run():
                yield
        except BaseException:
            self._memory.free_waiters()
            raise

    def works(self) -> bool:
        """Whether what ranks write to each other's memory arrives. All ranks call it."""
        pattern = np.arange(_TRIED, dtype=np.uint32).view(np.uint8)
        sent = {other: [copy_of(pattern + np.uint8(self._group.rank))] for other in self._others}
        received = {other: [empty(len(pattern), np.uint8)] for other in self._others}
        self._swap(
            sent, received, {other: _turns_for(sent[other], received[other]) for other in self._others}
        )
        end, event = time.perf_counter() + _TRIAL, mark()
        while not done(event):
            if time.perf_counter() > end:
                self._memory.free_waiters()
                return False
        return all(
            np.array_equal(host_copy(got), pattern + np.uint8(other)) for other, (got,) in received.items()
        )

    def exchange(self, told: Sequence[Sequence[Part]], word: int) -> tuple[list[list[Part]], list[int]]:
        group, num_parts, words = self._group, len(told), 2 + 2 * len(told)
        of_ranks, rows = list(zip(*told, strict=True)), self._heads.reshape(group.size, _HEADS)
        found, told_words = [list(parts) for parts in of_ranks], [word] * group.size
        if not self._others:
            return found, told_words
        sent = {other: [each for part in of_ranks[other] for each in part.arrays] for other in self._others}
        with self._exchanging(sum(len(each) for arrays in sent.values() for each in arrays)):
            for other, pair in self._pairs.items():
                lengths = chain(*((part.head, part.length) for part in of_ranks[other]))
                heads = rows[other, :words]
                heads[:] = [word, num_parts, *lengths]
                pair.send(_pieces(sent[other], 0), heads)
            for pair in self._pairs.values():
                pair.arrive()
            receive(self._told, self._words)
            event = mark()
            self._await(lambda: done(event))
        received, turns = dict[int, list[Any]](), dict[int, int]()
        for other, pair in self._pairs.items():
            told_words[other], number, *heads = self._told[pair.heads_here :][:words].tolist()
            lengths = heads[1::2]
            if number != num_parts or min(lengths, default=0) < 0:
                raise meaningless()
            data = empty(sum(lengths), np.uint8)
            pair.take(_pieces([data], 0))
            received[other], turns[other] = [data], _turns_for(sent[other], [data])
            found[other] = cut(data, 0, np.reshape(heads, (-1, 2)).tolist())
        if max(turns.values()) > 1:
            with self._lost_by_errors():
                self._swap(sent, received, turns, first=1)
                event = mark()
                self._await(lambda: done(event))
        return found, told_words

    def _exchanging_parts(
        self, sent: Sequence[Any], received: Sequence[Any]
    ) -> Callable[[], Callable[[], None]]:
        given, into = ({other: [each[other]] for other in self._others} for each in (sent, received))
        turns = {other: _turns_for(given[other], into[other]) for other in self._others}
        sent_bytes = sum(len(sent[other]) for other in self._others)

        def start() -> Callable[[], None]:
            with self._exchanging(sent_bytes):
                self._swap(given, into, turns)
                event = mark()

            def wait() -> None:
                with self._lost_by_errors():
                    self._await(lambda: done(event))

            return wait

        return start if max(turns.values()) else lambda: wait_for_nothing

    def _swap(
        self,
        sent: dict[int, list[Any]],
        received: dict[int, list[Any]],
        turns: dict[int, int],
        first: int = 0,
    ) -> None:
        """Start to send arrays to others, and to receive what they send.

        Args:
            sent, received: of each other rank, arrays on the GPU, uint8; what is received has one array.
            turns: how many turns that takes.
            first: how many of these are over.
        """
        for turn in range(first, max(turns.values())):
            now = [(other, pair) for other, pair in self._pairs.items() if turn < turns[other]]
            for other, pair in now:
                pair.send(_pieces(sent[other], turn))
            for other, pair in now:
                pair.arrive()
                pair.take(_pieces(received[other], turn))

    @contextlib.contextmanager
    def _exchanging(self, sent_bytes: int) -> Iterator[None]:
        """Count an exchange. What a word says was done before is known of one stream: another one comes after it."""
        stream = current_stream()
        if stream != self._stream:
            finish_all()
            self._stream = stream
        self._group.sent_bytes += sent_bytes
        self._group.exchanges += 1
        with self._lost_by_errors():
            yield


def _turns_for(sent: list[Any], received: list[Any]) -> int:
    """How many turns it takes to send arrays to another rank, and to receive those of it."""
    return -(-max(sum(map(len, sent)), sum(map(len, received))) // _ROOM)


def _pieces(arrays: Sequence[Any], turn: int) -> Iterator[tuple[int, int, int]]:
    """What of arrays that lie one after the other is sent in a turn; see `_Pair.send`."""
    begin = -turn * _ROOM
    for each in arrays:
        first, end = max(0, -begin), min(len(each), _ROOM - begin)
        if first < end:
            yield address_of(each) + first, begin + first, end - first
        begin += len(each)


def peers_of(group: Group) -> PeerChannel | None:
    """How ranks speak whose GPUs write to each other's memory, or None if some cannot. All ranks call it; each has a
    GPU of its own."""
    memory, own = None, b""
    with contextlib.suppress(RuntimeError, OSError):  # there is no room, or the system has no such memory
        memory = SharedMemory(_num_words(group.size), (group.size - 1) * _TURNS * _ROOM)
        own = memory.handle + _BOOT.read_bytes()
    told = [each.tobytes() for each in group.everywhere(np.frombuffer(own, np.uint8))[0]]
    addresses = list[int]()
    if memory is not None and all(each[_HANDLE:] == own[_HANDLE:] for each in told):
        with contextlib.suppress(RuntimeError):
            addresses = [
                memory.address if rank == group.rank else opened(each[:_HANDLE])
                for rank, each in enumerate(told)
            ]
    if group.total(bool(addresses)) < group.size or memory is None:
        return None
    channel = PeerChannel(group, memory, addresses)
    return channel if group.total(channel.works()) == group.size else None
