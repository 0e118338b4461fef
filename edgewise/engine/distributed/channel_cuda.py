"""How ranks with GPUs speak: by each other's memory (`edgewise.engine.distributed.channel_peers`), by NCCL from GPU to
GPU, or by gloo through the host's memory.

Ranks of several machines cannot write to each other's memory. NCCL refuses two ranks on one GPU, and a machine may lack
it. Then parts are copied to locked memory of the host, sent as those of ranks on CPUs are, and copied to the GPU again.
"""

import contextlib
import datetime
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, final
from weakref import WeakKeyDictionary

import numpy as np

from edgewise.engine.distributed.channel import Channel, StreamChannel, cut, wait_for_nothing
from edgewise.engine.distributed.channel_peers import peers_of
from edgewise.engine.distributed.exchange_cuda import Part, as_one
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.sockets import machine_id
from edgewise.kernels.cuda.memory import (
    copy_of,
    current_stream,
    device_number,
    device_uuid,
    empty,
    finish,
    host_copy,
    pinned,
    receive,
)


@final
class HostChannel(Channel):
    """Through the host's memory, by the group's own exchange."""

    name = "gloo, through the host's memory"

    def __init__(self, group: Group) -> None:
        super().__init__(group)
        self._locked = pinned(1, np.uint8)

    def exchange(self, told: Sequence[Sequence[Part]], word: int) -> tuple[list[list[Part]], list[int]]:
        rank, others = (
            self._group.rank,
            [each for each in range(self._group.size) if each != self._group.rank],
        )
        if not others:
            return [[parts[0] for parts in told]], [word]
        of_ranks = list(zip(*told, strict=True))
        once = {
            id(each): each
            for other in others
            for part in of_ranks[other]
            for each in part.arrays
            if len(each)
        }
        there = dict(zip(once, self._on_host(list(once.values())), strict=True))
        sent = [np.empty(0, np.uint8)] * self._group.size
        for other in others:
            heads = np.array([(part.head, part.length) for part in of_ranks[other]], np.int64)
            data = [there[id(each)] for part in of_ranks[other] for each in part.arrays if len(each)]
            sent[other] = np.concatenate([heads.view(np.uint8).reshape(-1), *data])
        received, words = self._group.exchange(sent, word)
        whole = np.concatenate([received[other][16 * len(told) :] for other in others])
        data, begin = copy_of(whole) if len(whole) else empty(0, np.uint8), 0
        found = list[list[Part]]()
        for other, part in enumerate(received):
            if other == rank:
                found.append(list(of_ranks[rank]))
                continue
            heads = part[: 16 * len(told)].view(np.int64).reshape(-1, 2)
            found.append(cut(data, begin, heads.tolist()))
            begin += len(part) - 16 * len(told)
        return found, words

    def _exchanging_parts(
        self, sent: Sequence[Any], received: Sequence[Any]
    ) -> Callable[[], Callable[[], None]]:
        others = [each for each in range(self._group.size) if each != self._group.rank]
        once = {id(sent[other]): sent[other] for other in others if len(sent[other])}

        def start() -> Callable[[], None]:
            there = dict(zip(once, self._on_host(list(once.values())), strict=True))
            told = [np.empty(0, np.uint8)] * self._group.size
            for other in others:
                told[other] = there.get(id(sent[other]), told[other])
            found, _ = self._group.exchange(told)
            for other in others:
                if len(received[other]):
                    received[other][...] = copy_of(found[other])
            return wait_for_nothing

        return start

    def _on_host(self, arrays: list[Any]) -> list[np.ndarray]:
        """Bytes on the GPU as bytes in locked memory."""
        ends = np.cumsum([0, *map(len, arrays)]).tolist()
        if ends[-1] == 0:
            return []
        if ends[-1] > len(self._locked):
            self._locked = pinned(ends[-1] + ends[-1] // 4, np.uint8)
        found = [self._locked[begin:end] for begin, end in pairwise(ends)]
        for host, values in zip(found, arrays, strict=True):
            receive(host, values)
        finish()
        return found


@final
class NcclChannel(StreamChannel):
    """From GPU to GPU by NCCL. All ranks make it together.

    Args:
        group: the ranks, each of which has a GPU of its own.
    """

    name = "NCCL"

    def __init__(self, group: Group) -> None:
        import torch
        import torch.distributed as distributed

        os.environ.setdefault("NCCL_NVLS_ENABLE", "0")  # NVLink multicast
        torch.cuda.set_device(device_number())
        super().__init__(group)
        self._among = distributed.new_group(backend="nccl", timeout=datetime.timedelta(seconds=self._seconds))

    def exchange(self, told: Sequence[Sequence[Part]], word: int) -> tuple[list[list[Part]], list[int]]:
        of_ranks, size = list(zip(*told, strict=True)), self._group.size
        given = [sum(part.length for part in of_rank) for of_rank in of_ranks]
        heads = [
            [word, any(given), *chain(*((part.head, part.length) for part in of_rank))]
            for of_rank in of_ranks
        ]
        sent = copy_of(np.array(heads, np.int64).reshape(-1))
        received = empty(len(sent), np.int64)
        even = [sent.nbytes // size] * size
        self._swap(received.view(np.uint8), sent.view(np.uint8), even, even)
        rows = host_copy(received).reshape(size, -1)
        got = rows[:, 3::2].sum(axis=1).tolist()
        data = empty(sum(got), np.uint8)
        if rows[:, 1].any():
            whole = [each for of_rank in of_ranks for part in of_rank for each in part.arrays]
            self._swap(data, as_one(whole), got, given)
        begins = np.cumsum([0, *got]).tolist()
        found = [
            cut(data, begin, row[2:].reshape(-1, 2).tolist())
            for row, begin in zip(rows, begins, strict=False)
        ]
        return found, rows[:, 0].tolist()

    def _swap(self, into: Any, sent: Any, got: list[int], given: list[int]) -> None:
        """Send each rank so many bytes, and wait until so many of each are here."""
        import torch.distributed as distributed

        group = self._group
        with self._exchanging(len(sent) - given[group.rank]):
            work = distributed.all_to_all_single(
                _tensor(into), _tensor(sent), got, given, group=self._among, async_op=True
            )
            self._await(work.is_completed)
            work.wait()

    def _exchanging_parts(
        self, sent: Sequence[Any], received: Sequence[Any]
    ) -> Callable[[], Callable[[], None]]:
        import torch.distributed as distributed

        rank = self._group.rank
        given, into = (
            [_tensor(part[:0] if other == rank else part) for other, part in enumerate(parts)]
            for parts in (sent, received)
        )
        sent_bytes = sum(map(len, given))

        def start() -> Callable[[], None]:
            with self._exchanging(sent_bytes):
                work = distributed.all_to_all(into, given, group=self._among, async_op=True)
                work.wait()  # the stream does, not the host

            def wait() -> None:
                with self._lost_by_errors():
                    self._await(work.is_completed)
                    work.wait()

            return wait

        return start

    @contextlib.contextmanager
    def _exchanging(self, sent_bytes: int) -> Iterator[None]:
        """See `StreamChannel`; PyTorch is told which stream that is."""
        import torch

        stream = current_stream()
        in_order = torch.cuda.ExternalStream(stream) if stream else torch.cuda.default_stream()
        with super()._exchanging(sent_bytes), torch.cuda.stream(in_order):
            yield


def _tensor(values: Any) -> Any:
    """An array on the GPU as a tensor of PyTorch in the same memory."""
    import torch

    if len(values) == 0:
        return torch.empty(0, dtype=torch.uint8, device=device_number())
    return torch.from_dlpack(values)


def _has_nccl() -> bool:
    """Whether PyTorch can use NCCL on this rank."""
    import torch
    import torch.distributed as distributed

    return bool(torch.cuda.is_available() and distributed.is_nccl_available())


_channels: "WeakKeyDictionary[Group, Channel]" = WeakKeyDictionary()


def channel_of(group: Group) -> Channel:
    """How the ranks of a group speak, decided by all of them together at the first call: if each has a GPU of its own,
    by the memory of these, where they can write to each other's, or else by NCCL, if each has that."""
    if group not in _channels:
        own = np.frombuffer(f"{device_uuid()}\0{machine_id()}".encode(), np.uint8)
        told, have_nccl = group.everywhere(own, _has_nccl())
        gpus, machines = zip(*(each.tobytes().split(b"\0") for each in told), strict=True)
        apart, together = len(set(gpus)) == group.size, len(set(machines)) == 1
        found: Channel | None = peers_of(group) if apart and together and group.size > 1 else None
        if found is None:
            found = NcclChannel(group) if apart and all(have_nccl) else HostChannel(group)
        _channels[group] = found
    return _channels[group]
