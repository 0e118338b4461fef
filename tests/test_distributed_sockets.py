"""Sockets between ranks of one machine: what is sent arrives, and ranks that cannot use them do without."""

import os
import re
import socket
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from ranks import by_hand, needs_torch, run_ranks
from thread_ranks import on_threads, own

from edgewise.engine.distributed import sockets
from edgewise.engine.distributed.sockets import BlockSockets, sockets_of

LENGTH = 1024


def connected(group: Any, seconds: float = 20) -> BlockSockets:
    found = sockets_of(group, seconds)
    assert found is not None
    return found


def block(sender: int, receiver: int, turn: int) -> np.ndarray:
    return np.random.default_rng([sender, receiver, turn]).integers(0, 256, LENGTH).astype(np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    """Where ranks find each other, which is empty afterwards."""
    with tempfile.TemporaryDirectory() as short, mock.patch.object(tempfile, "tempdir", short):
        yield short
        assert os.listdir(short) == []


@pytest.mark.parametrize("size", [2, 3, 5])
def test_each_rank_gets_the_block_that_is_for_it(size: int, folder: str) -> None:
    def call(group: Any) -> None:
        rank, there = group.rank, connected(group)
        for turn in range(40):
            if turn % 10 == rank:
                time.sleep(1e-3)  # one is late
            into = np.empty((size, LENGTH), np.uint8)
            there.swap(into, np.stack([block(rank, other, turn) for other in range(size)]))
            np.testing.assert_array_equal(into, [block(other, rank, turn) for other in range(size)])
        there.close()

    on_threads(size, call)


def test_a_rank_that_ends_ends_the_wait_of_others(folder: str) -> None:
    """But what it has sent before arrives."""

    def call(group: Any) -> None:
        there, sent = connected(group), np.zeros((3, LENGTH), np.uint8)
        there.swap(np.empty_like(sent), sent)
        if group.rank == 1:
            there.close()
            return
        with pytest.raises(OSError, match=r"has ended|Broken pipe|reset"):
            there.swap(np.empty_like(sent), sent)
        there.close()

    on_threads(3, call)


def test_a_rank_that_does_not_answer_is_waited_for_so_long(folder: str) -> None:
    def call(group: Any) -> None:
        there, sent = connected(group, seconds=0.2), np.zeros((2, LENGTH), np.uint8)
        if group.rank == 0:
            began = time.monotonic()
            with pytest.raises(TimeoutError):
                there.swap(np.empty_like(sent), sent)
            assert time.monotonic() - began >= 0.2
        group.total(0)
        there.close()

    on_threads(2, call)


class Unconnected(socket.socket):
    """A socket by which the last rank reaches nobody."""

    def connect(self, address: Any) -> None:
        if own.group.rank == 2:
            raise ConnectionRefusedError("nobody listens")
        super().connect(address)


class Unmet(socket.socket):
    """A socket by which the first rank meets nobody."""

    def accept(self) -> Any:
        if own.group.rank == 0:
            raise OSError("too many files are open")
        return super().accept()


def folder_of(**how: Any) -> Any:
    """A folder in which ranks find each other, of which the last one has none."""
    if own.group.rank == 2:
        raise PermissionError("this folder cannot be written to")
    return TEMPORARY(**how)


TEMPORARY = tempfile.TemporaryDirectory


@pytest.mark.parametrize(
    ("of", "name", "other"),
    [
        (sockets, "machine_id", lambda: f"machine {own.group.rank == 2}"),
        (tempfile, "TemporaryDirectory", folder_of),
        (socket, "socket", Unconnected),
        (socket, "socket", Unmet),
    ],
    ids=["on another machine", "without a folder", "not connected", "not met"],
)
def test_ranks_do_without_sockets_if_one_cannot_reach_another(
    of: Any, name: str, other: Any, folder: str
) -> None:
    with mock.patch.object(of, name, other):
        on_threads(3, lambda group: none(sockets_of(group, 20)))


def test_a_folder_with_a_long_name_is_of_no_use(tmp_path: Path) -> None:
    """The system has room for about 100 bytes."""
    long = tmp_path / ("x" * 120)
    long.mkdir()
    with mock.patch.object(tempfile, "tempdir", str(long)):
        on_threads(2, lambda group: none(sockets_of(group, 20)))
    assert os.listdir(long) == []


def none(found: Any) -> None:
    assert found is None


@needs_torch
@pytest.mark.more
@pytest.mark.parametrize("uses", [True, False])
def test_ranks_run_with_and_without_sockets(uses: bool, tmp_path: Path) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    with tempfile.TemporaryDirectory() as short:
        output = run_ranks(2, "ranks_sockets.py", "nothing", TMPDIR=short if uses else str(long))
        left = [each for each in os.listdir(short) + os.listdir(long) if each.startswith("edgewise")]
    assert left == []
    assert output.count(f"uses sockets: {uses}; right") == 2
    assert output.count(": 2 20 200; ") == 2


@needs_torch
@pytest.mark.more
def test_the_name_of_the_folder_need_not_be_text() -> None:
    with tempfile.TemporaryDirectory() as short:
        name = os.fsdecode(os.path.join(os.fsencode(short), b"\xff"))
        os.mkdir(name)
        output = run_ranks(2, "ranks_sockets.py", "nothing", TMPDIR=name)
    assert output.count("uses sockets: True; right") == 2


@needs_torch
@pytest.mark.more
def test_a_forked_process_is_no_rank() -> None:
    """It says so, and ends, and what it was forked by goes on."""
    output = run_ranks(2, "ranks_sockets.py", "forks", EDGEWISE_TIMEOUT="20")
    assert [f"child of rank {rank}: DistributedError" in output for rank in range(2)] == [True] * 2
    assert output.count(": 2 20 200; ") == 2


@needs_torch
@pytest.mark.more
def test_another_group_of_the_program_is_not_taken_for_the_first() -> None:
    output = run_ranks(2, "ranks_sockets.py", "all have another group", EDGEWISE_TIMEOUT="20")
    refused = r"rank (\d): DistributedError DistributedError DistributedError; 0\.\d s"
    assert sorted(re.findall(refused, output)) == ["0", "1"]


@needs_torch
@pytest.mark.more
@pytest.mark.parametrize(
    ("what", "expected", "most"),
    [
        ("one is late", {0: "DistributedError", 1: "DistributedError"}, 4),
        ("one is interrupted", {0: "DistributedError", 1: "KeyboardInterrupt"}, 2),
        ("one has ended the group", {0: "DistributedError", 1: "DistributedError"}, 1),
    ],
)
def test_no_rank_goes_on_after_another_has_failed(what: str, expected: dict[int, str], most: float) -> None:
    """What was sent for one exchange is not taken for the next, and a rank that has failed leaves nobody waiting."""
    ranks = by_hand(2, "ranks_sockets.py", what, EDGEWISE_TIMEOUT="3")
    try:
        outputs = [rank.communicate(timeout=100)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    for rank, output in enumerate(outputs):
        assert "uses sockets: True" in output
        *_, told = output.splitlines()
        outcomes, seconds = told.removeprefix(f"rank {rank}: ").split(";")
        assert outcomes.split() == [expected[rank], "DistributedError", "DistributedError"], told
        assert float(seconds.split()[0]) < most, told
