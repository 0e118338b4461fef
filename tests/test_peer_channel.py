"""Parts arrive as they were sent by ranks that write to each other's memory: threads of this process, whose GPUs are
pretended. A stream is what its thread does; it waits as a thread does."""

import ctypes
import threading
import time
from typing import Any
from unittest import mock

import numpy as np
import pytest
from thread_ranks import on_threads

from edgewise.errors import DeviceError, DistributedError

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)
from edgewise.engine.distributed import channel_peers, exchange_cuda
from edgewise.engine.distributed.channel import Lists
from edgewise.engine.distributed.channel_peers import PeerChannel
from edgewise.engine.distributed.exchange_cuda import Part

#: The most bytes of a part in one turn.
ROOM = 40


class Memory:
    """What stands for `SharedMemory`."""

    def __init__(self, size: int) -> None:
        self.values = np.zeros(channel_peers._num_words(size) + size * channel_peers._TURNS * ROOM, np.int64)
        self.address = self.values.ctypes.data


def word_at(address: int) -> Any:
    return ctypes.c_int64.from_address(address)


def raise_word(address: int, value: int) -> None:
    word_at(address).value = value


def wait_for_word(address: int, value: int) -> None:
    end = time.monotonic() + 20
    while word_at(address).value < value:
        assert time.monotonic() < end, "nobody has raised this word"
        time.sleep(1e-5)


def copy(to: int, source: int, nbytes: int) -> None:
    """A copy that takes its time, at times."""
    if (to + nbytes) % 7 == 0:
        time.sleep(1e-4)
    ctypes.memmove(to, source, nbytes)


def fill(address: int, value: int, size: int) -> None:
    ctypes.memset(address, value, size)


def pretended() -> Any:
    """NumPy and this thread in place of the GPU and its stream."""
    names = {
        "raise_word": raise_word,
        "wait_for_word": wait_for_word,
        "copy_bytes": copy,
        "fill_now": fill,
        "address_of": lambda values: values.ctypes.data,
        "array_at": lambda address, length, dtype: np.ctypeslib.as_array(
            (ctypes.c_int64 * length).from_address(address)
        ),
        "empty": np.empty,
        "pinned": np.zeros,
        "receive": np.copyto,
        "mark": lambda: None,
        "done": lambda event: True,
        "copy_of": np.array,
        "host_copy": np.array,
        "current_stream": lambda: 0,
        "_ROOM": ROOM,
        "_TRIED": 100,
    }
    return mock.patch.multiple(channel_peers, **names)


def on_peers(size: int, call: Any) -> list[Any]:
    """What a call with a channel gives on each of so many ranks."""
    memories = [Memory(size) for _ in range(size)]

    def run(group: Any) -> Any:
        addresses = [each.address for each in memories]
        return call(PeerChannel(group, memories[group.rank], addresses))

    with pretended(), mock.patch.multiple(exchange_cuda, cupy=lambda: np, empty=np.empty):
        return on_threads(size, run)


def told(sender: int, receiver: int, turn: int, place: int) -> list[np.ndarray]:
    """The arrays of a part: none, short ones, and ones that take several turns."""
    draw = np.random.default_rng([sender, receiver, turn, place])
    lengths = draw.choice([0, 1, ROOM - 1, ROOM, ROOM + 1, 5 * ROOM], draw.integers(0, 4))
    return [draw.integers(0, 256, length).astype(np.uint8) for length in lengths]


def whole(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty(0, np.uint8), *arrays])


@pytest.mark.parametrize("size", [2, 3, 4])
def test_parts_arrive_as_they_were_sent(size: int) -> None:
    def call(channel: PeerChannel) -> int:
        rank = channel._group.rank
        for turn in range(30):
            sent = [
                [Part(7 * place - turn, told(rank, other, turn, place)) for other in range(size)]
                for place in range(1 + turn % 4)
            ]
            received, words = channel.exchange(sent, rank - 10**15)
            assert words == [other - 10**15 for other in range(size)]
            for other, parts in enumerate(received):
                assert len(parts) == 1 + turn % 4
                for place, part in enumerate(parts):
                    assert part.head == 7 * place - turn
                    np.testing.assert_array_equal(part.data, whole(told(other, rank, turn, place)))
        return channel._group.sent_bytes

    sent = on_peers(size, call)
    assert sent == [
        sum(
            len(whole(told(rank, other, turn, place)))
            for turn in range(30)
            for place in range(1 + turn % 4)
            for other in range(size)
            if other != rank
        )
        for rank in range(size)
    ]


@pytest.mark.parametrize("size", [2, 3])
def test_what_ranks_share_arrives_between_exchanges(size: int) -> None:
    def call(channel: PeerChannel) -> None:
        rank = channel._group.rank
        for turn in range(20):
            lengths = [(other * turn * 13) % (4 * ROOM) for other in range(size)]
            parts = [
                np.full(length, 100 * turn % 251 + other if other == rank else 0, np.uint8)
                for other, length in enumerate(lengths)
            ]
            wait = channel.share(parts)
            _, words = channel.exchange([[Part(0, [])] * size], turn)
            assert words == [turn] * size
            wait()
            for other, part in enumerate(parts):
                assert (part == 100 * turn % 251 + other).all()

    on_peers(size, call)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_lists_arrive_whose_lengths_the_host_does_not_know(size: int) -> None:
    begins = [0, 3, 3, 50, 51, 80][: size + 1]

    def entries(sender: int, receiver: int, turn: int) -> np.ndarray:
        draw = np.random.default_rng([sender, receiver, turn])
        room = begins[receiver + 1] - begins[receiver]
        return draw.integers(0, 2**31, draw.choice([0, room, draw.integers(0, room + 1)]))

    def call(channel: PeerChannel) -> None:
        rank, words = channel._group.rank, np.zeros(4 + size, np.int64)
        vertices, keys = np.zeros(begins[-1], np.uint32), np.zeros(begins[-1], np.int64)
        exchange = channel.exchanging_lists(Lists(words, 3, begins, [vertices, keys]))
        for turn in range(25):
            words[:3] = rank, turn, -rank
            for other in range(size):
                mine = entries(rank, other, turn)
                words[3 + other] = end = begins[other] + len(mine)
                vertices[begins[other] : end], keys[begins[other] : end] = mine, mine * 2**31
            rows, found = exchange()
            assert [row[:3] for row in rows] == [[other, turn, -other] for other in range(size)]
            for other in set(range(size)) - {rank}:
                expected = entries(other, rank, turn)
                assert len(found[other]) == 2 * (len(expected) > 0)
                if len(expected) == 0:
                    continue
                np.testing.assert_array_equal(found[other][0], expected)
                np.testing.assert_array_equal(found[other][1], expected * 2**31)

    with mock.patch.object(channel_peers, "_FIRST", 2):
        on_peers(size, call)


def test_lists_that_are_longer_than_there_are_vertices_are_refused() -> None:
    def call(channel: PeerChannel) -> None:
        words = np.array([0, 3, 5], np.int64)  # each ends after the next one's beginning
        with pytest.raises(DistributedError, match="means nothing here"):
            channel.exchanging_lists(Lists(words, 1, [0, 2, 4], [np.zeros(4, np.uint32)]))()

    with mock.patch.object(channel_peers, "_FIRST", 2):
        on_peers(2, call)


def test_whether_memory_can_be_written_to_is_seen() -> None:
    assert on_peers(3, PeerChannel.works) == [True] * 3
    with mock.patch(f"{__name__}.copy", lambda to, source, nbytes: None):
        assert on_peers(2, PeerChannel.works) == [False] * 2


def test_ranks_that_tell_other_parts_are_refused() -> None:
    def call(channel: PeerChannel) -> None:
        with pytest.raises(DistributedError, match="means nothing here"):
            channel.exchange([[Part(0, [])] * 2] * (1 + channel._group.rank), 0)

    on_peers(2, call)


@pytest.mark.parametrize("turns", [1, 3, 5])
def test_a_rank_that_gives_up_leaves_others_no_answer(turns: int) -> None:
    """Its stream goes on, and overwrites what a late rank has not taken yet."""
    late = threading.Event()

    def call(channel: PeerChannel) -> None:
        rank = channel._group.rank
        parts = [np.repeat(np.arange(turns, dtype=np.uint8) + 10 * other, ROOM) for other in range(2)]
        if rank == 0:
            channel._give_up()
            channel.share(parts)
            late.set()
            return
        assert late.wait(60)
        with pytest.raises(DistributedError, match="has ended a run"):
            channel.share(parts)()

    on_peers(2, call)


def test_an_error_in_a_run_is_told_though_the_gpu_is_lost() -> None:
    def call(channel: PeerChannel) -> None:
        with pytest.raises(KeyError), channel.in_run():
            raise KeyError("its own")

    with mock.patch(f"{__name__}.fill", side_effect=RuntimeError("illegal address")):
        on_peers(2, call)


def test_what_the_driver_refuses_is_no_way_to_speak() -> None:
    with mock.patch(f"{__name__}.raise_word", side_effect=DeviceError("not supported")):
        assert on_peers(2, PeerChannel.works) == [False] * 2
