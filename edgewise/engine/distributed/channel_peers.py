"""How ranks on GPUs of one machine speak that write to each other's memory.

Each rank has memory that the others have opened: of each of them a word, and room for two parts and their heads. To
tell a part, a rank has the driver copy it there and raise its word; the other's stream waits for that, and copies the
part to where it is needed. All of this is in the order of streams, and no kernel takes part.

A rank writes to one half of the room in one turn and to the other in the next. When it does so, it has waited for the
other's word of the turn before, which that one has raised after it took what came two turns before. So nothing has to
be told back. Longer parts take several turns, as many in both directions.

A rank that gives up lets its stream go on, which then writes whatever it was asked to, too early. So it first sets
another word in each memory, at which others look after each exchange: with it they have no answer.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, final

import numpy as np

from edgewise.engine.distributed.channel import Lists, StreamChannel, cut, wait_for_nothing
from edgewise.engine.distributed.exchange import meaningless
from edgewise.engine.distributed.exchange_cuda import Part
from edgewise.engine.distributed.group import Group
from edgewise.errors import DeviceError
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
from edgewise.kernels.cuda.peers import (
    SharedMemory,
    array_at,
    can_wait_for_words,
    close,
    fill_now,
    opened,
    raise_word,
    wait_for_word,
)

#: Turns whose parts lie in memory at once, and the most bytes of a part in one turn.
_TURNS, _ROOM = 2, 1 << 25
#: Turns that are asked for before the host waits for them: a driver that has very many holds the host up.
_AHEAD = 8
#: The bytes of a word of a rank that lets its stream go on: at least whatever that waits for. And of one that says so.
_FREED, _GIVEN_UP = 0x7F, 1
#: The most words of heads: that of the sender, how many parts there are, and two of each part; or those of lists.
_HEADS = 64
#: The most entries of a list that are sent before its length is known.
_FIRST = 1 << 13
#: The bytes, and the seconds, in which it has to be seen that memory can be written to.
_TRIED, _TRIAL = 1 << 16, 20.0


def _num_words(size: int) -> int:
    """The words of a rank's memory before the room for parts, which begins at a multiple of 256 bytes."""
    return -(-(size - 1) * (2 + _TURNS * _HEADS) // 32) * 32


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
        """The first word of heads, behind two words of each other rank."""
        return 2 * (self._size - 1) + (_TURNS * place + self.turn % _TURNS) * _HEADS

    @property
    def heads_here(self) -> int:
        """The first word in the memory of this rank of the heads of this turn."""
        return self._heads(self._its)

    def send(self, pieces: Iterable[tuple[int, int, int]], heads: tuple[int, int] = (0, 0)) -> None:
        """Begin a turn: start to send.

        Args:
            pieces: addresses, where they go in the room for a part, and how many bytes.
            heads: their address, and how many words.
        """
        self.turn += 1
        room = self._room(self._there, self._own)
        for address, at, length in pieces:
            copy_bytes(room + at, address, length)
        if heads[1]:
            copy_bytes(self._there + 8 * self._heads(self._own), heads[0], 8 * heads[1])
        raise_word(self._there + 8 * self._own, self.turn)

    def give_up(self) -> None:
        """Tell the other rank at once that this one writes too early from now on."""
        fill_now(self._there + 8 * (self._size - 1 + self._own), _GIVEN_UP, 8)

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
        self._told[:] = 0
        self._has_given_up = self._told[size - 1 : 2 * (size - 1)]

    @contextlib.contextmanager
    def in_run(self) -> Iterator[None]:
        """See `StreamChannel.in_run`."""
        try:
            with super().in_run():
                yield
        except BaseException:
            # After a failed kernel that can neither be done nor matters.
            with contextlib.suppress(RuntimeError):
                self._give_up()
                finish_all()  # streams use memory that this call gives back
            raise

    def _give_up(self) -> None:
        """Let this rank's stream go on, whatever it waits for."""
        for pair in self._pairs.values():
            pair.give_up()
        fill_now(self._memory.address, _FREED, 8 * len(self._others))

    def _end(self) -> Callable[[], None]:
        """What waits for all exchanges so far, and sees whether what they brought is right."""
        receive(self._told, self._words)
        has_ended = partial(done, mark())

        def wait() -> None:
            with self._lost_by_errors():
                self._await(has_ended)
                if self._has_given_up.any():
                    self._group.look()
                    raise RuntimeError("a rank has ended a run on the way")

        return wait

    def works(self) -> bool:
        """Whether what ranks write to each other's memory arrives. All ranks call it."""
        pattern = np.arange(_TRIED, dtype=np.uint32).view(np.uint8)
        sent = {other: [copy_of(pattern + np.uint8(self._group.rank))] for other in self._others}
        received = {other: [empty(len(pattern), np.uint8)] for other in self._others}
        end = time.perf_counter() + _TRIAL
        try:
            self._swap(sent, received)
            event = mark()
            while not done(event):
                if time.perf_counter() > end:
                    self._give_up()
                    return False
            return all(
                np.array_equal(host_copy(got), pattern + np.uint8(other))
                for other, (got,) in received.items()
            )
        except (RuntimeError, DeviceError):  # the driver refuses something
            return False

    def exchange(self, told: Sequence[Sequence[Part]], word: int) -> tuple[list[list[Part]], list[int]]:
        group, num_parts, words = self._group, len(told), 2 + 2 * len(told)
        of_ranks, rows = list(zip(*told, strict=True)), self._heads.reshape(group.size, _HEADS)
        found, told_words = [list(parts) for parts in of_ranks], [word] * group.size
        sent = {other: [each for part in of_ranks[other] for each in part.arrays] for other in self._others}
        with self._exchanging(sum(len(each) for arrays in sent.values() for each in arrays)):
            for other, pair in self._pairs.items():
                lengths = chain(*((part.head, part.length) for part in of_ranks[other]))
                heads = rows[other, :words]
                heads[:] = [word, num_parts, *lengths]
                pair.send(_pieces(sent[other], 0), (heads.ctypes.data, words))
            for pair in self._pairs.values():
                pair.arrive()
            self._end()()
        received = dict[int, list[Any]]()
        for other, pair in self._pairs.items():
            told_words[other], number, *heads = self._told[pair.heads_here :][:words].tolist()
            lengths = heads[1::2]
            if number != num_parts or min(lengths, default=0) < 0:
                raise meaningless()
            data = empty(sum(lengths), np.uint8)
            pair.take(_pieces([data], 0))
            received[other], found[other] = [data], cut(data, 0, np.reshape(heads, (-1, 2)).tolist())
        with self._lost_by_errors():
            if self._swap(sent, received, first=1):
                self._end()()
        return found, told_words

    def exchanging_lists(self, lists: Lists) -> Callable[[], tuple[list[list[int]], list[list[Any]]]]:
        """See `Channel.exchanging_lists`. The first entries are sent with the words, and mostly these are all: so the
        host waits once."""
        if len(lists.words) > _HEADS:
            return super().exchanging_lists(lists)
        rank, head, begins = self._group.rank, (address_of(lists.words), len(lists.words)), lists.begins
        own, room = pinned(head[1], np.int64), begins[rank + 1] - begins[rank]
        into = {other: [empty(room, each.dtype) for each in lists.arrays] for other in self._others}
        taken = {other: _firsts(arrays, 0, room) for other, arrays in into.items()}
        given = {other: _firsts(lists.arrays, *begins[other : other + 2]) for other in self._others}
        sent_bytes = sum(length for pieces in given.values() for *_, length in pieces)

        def exchange() -> tuple[list[list[int]], list[list[Any]]]:
            with self._exchanging(sent_bytes):
                for other, pair in self._pairs.items():
                    pair.send(given[other], head)
                for pair in self._pairs.values():
                    pair.arrive()
                receive(own, lists.words)
                wait = self._end()
                for other, pair in self._pairs.items():  # while the host waits
                    pair.take(taken[other])
                wait()
            rows: list[list[int]] = [[]] * self._group.size
            rows[rank] = own.tolist()
            for other, pair in self._pairs.items():
                rows[other] = self._told[pair.heads_here :][: head[1]].tolist()
            return rows, self._taken(lists, rows, into)

        return exchange

    def _taken(self, lists: Lists, rows: list[list[int]], into: dict[int, list[Any]]) -> list[list[Any]]:
        """What others have listed for this rank.

        Args:
            lists: see there.
            rows: the words of all ranks.
            into: arrays with what was sent together with these, to which the rest is added.
        """
        rank, begins, found = self._group.rank, lists.begins, list[list[Any]]([[]] * self._group.size)
        counts = {other: lists.length(rows[other], rank) for other in self._others}
        told = {other: lists.length(rows[rank], other) for other in self._others}
        for other, count in counts.items():
            if count:
                found[other] = [each[:count] for each in into[other]]
        if max(*counts.values(), *told.values()) > _FIRST:
            sent = {
                other: [
                    each[begins[other] + _FIRST : begins[other] + count].view(np.uint8)
                    for each in lists.arrays
                ]
                for other, count in told.items()
            }
            rests = {other: [each[_FIRST:].view(np.uint8) for each in found[other]] for other in self._others}
            self._group.sent_bytes += sum(len(each) for arrays in sent.values() for each in arrays)
            with self._lost_by_errors():
                self._swap(sent, rests)
                self._end()()
        return found

    def _exchanging_parts(
        self, sent: Sequence[Any], received: Sequence[Any]
    ) -> Callable[[], Callable[[], None]]:
        given, into = ({other: [each[other]] for other in self._others} for each in (sent, received))
        sent_bytes = sum(len(sent[other]) for other in self._others)

        def start() -> Callable[[], None]:
            with self._exchanging(sent_bytes):
                return self._end() if self._swap(given, into) else wait_for_nothing

        return start

    def _swap(self, sent: dict[int, list[Any]], received: dict[int, list[Any]], first: int = 0) -> bool:
        """Start to send arrays to others, and to receive what they send; whether there was anything.

        Args:
            sent, received: of each other rank, arrays on the GPU, uint8.
            first: how many turns are over.
        """
        turns = {other: _turns_for(sent[other], received[other]) for other in self._others}
        for turn in range(first, max(turns.values())):
            now = [(other, pair) for other, pair in self._pairs.items() if turn < turns[other]]
            for other, pair in now:
                pair.send(_pieces(sent[other], turn))
            for other, pair in now:
                pair.arrive()
                pair.take(_pieces(received[other], turn))
            if (turn + 1) % _AHEAD == 0:
                self._await(partial(done, mark()))
        return first < max(turns.values())

    @contextlib.contextmanager
    def _exchanging(self, sent_bytes: int) -> Iterator[None]:
        """See `StreamChannel`. What a word says was done before is known of one stream: another one comes after it."""
        with super()._exchanging(sent_bytes):
            stream = current_stream()
            if stream != self._stream:
                finish_all()
                self._stream = stream
            yield


def _firsts(arrays: Sequence[Any], begin: int, end: int) -> list[tuple[int, int, int]]:
    """What of entries from `begin` to `end` - 1 of arrays is sent before it is known how many there are; see
    `_Pair.send`."""
    count, at, found = min(end - begin, _FIRST), 0, list[tuple[int, int, int]]()
    for each in arrays:
        found.append((address_of(each) + each.itemsize * begin, at, each.itemsize * count))
        at += each.itemsize * count
    return found


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
    """How ranks speak whose GPUs write to each other's memory, or None if some cannot. All ranks call it; they are on
    one machine, and each has a GPU of its own."""
    memory, own, size = None, b"", group.size
    with contextlib.suppress(RuntimeError):  # there is no room, or the system has no such memory
        if can_wait_for_words():
            memory = SharedMemory(_num_words(size), (size - 1) * _TURNS * _ROOM)
            own = memory.handle
    handles, addresses = group.everywhere(np.frombuffer(own, np.uint8))[0], dict[int, int]()
    if memory is not None and all(map(len, handles)):
        addresses[group.rank] = memory.address
        with contextlib.suppress(RuntimeError):
            for other in range(size):
                if other != group.rank:
                    addresses[other] = opened(handles[other].tobytes())
    if group.total(len(addresses) == size) == size and memory is not None:
        channel = PeerChannel(group, memory, [addresses[rank] for rank in range(size)])
        if group.total(channel.works()) == size:
            return channel
    with contextlib.suppress(RuntimeError):
        for other, address in addresses.items():
            if other != group.rank:
                close(address)
    group.total(0)  # nobody has the others' memory open any more
    return None
