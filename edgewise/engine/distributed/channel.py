"""How ranks with GPUs speak to each other, of whatever kind: what all channels do.

`edgewise.engine.distributed.channel_cuda` has the kinds.
"""

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.distributed.exchange import columns_of, meaningless
from edgewise.engine.distributed.exchange_cuda import Part, values_in
from edgewise.engine.distributed.group import Group, timeout_seconds
from edgewise.errors import EdgewiseError, EdgewiseWarning
from edgewise.kernels.cuda.memory import host_copy

#: Seconds between two looks at whether an exchange has ended, once it has taken SPIN seconds.
_PAUSE, _SPIN = 50e-6, 2e-3
#: Seconds between two looks at whether another rank has ended the run.
_LOOK = 0.1
_WORD = np.dtype(np.int64)


class Lists(NamedTuple):
    """What a rank has listed for each other one, on its GPU, whose host does not know how much that is.

    Attributes:
        words: int64, shape (k,), of one length on all ranks, k >= `ends` + number of ranks. From `ends` on, where the
            list for each rank ends.
        ends: see there.
        begins: where the list for each rank begins, and the end of the last: the same on all ranks. No list is longer.
        arrays: of the lists' values, shape (begins[-1],) each.
    """

    words: Any
    ends: int
    begins: Sequence[int]
    arrays: Sequence[Any]

    def room(self, rank: int) -> int:
        """The most entries of a rank's list."""
        return self.begins[rank + 1] - self.begins[rank]

    def length(self, words: Sequence[int], rank: int) -> int:
        """How long the list for a rank is, by the words of one that tells it.

        Raises:
            DistributedError: it cannot be that long.
        """
        count = words[self.ends + rank] - self.begins[rank]
        if not 0 <= count <= self.room(rank):
            raise meaningless()
        return count


class Channel(ABC):
    """How parts on the GPUs of ranks go from one to the others.

    Args:
        group: the ranks.

    Attributes:
        name: for `explain`.
    """

    name: str

    def __init__(self, group: Group) -> None:
        self._group = group

    @contextlib.contextmanager
    def in_run(self) -> Iterator[None]:
        """While this is entered, ranks are in the midst of a run by this channel; see `Group.in_run`."""
        with self._group.in_run():
            yield

    @abstractmethod
    def exchange(self, told: Sequence[Sequence[Part]], word: int) -> tuple[list[list[Part]], list[int]]:
        """Send each rank its parts, and all of them a word.

        Args:
            told: lists with a part for each rank; as many lists on all ranks.
            word: a number of 64 bits.

        Returns:
            For each rank, the parts that it sent to this one; and the word of each.

        Raises:
            DistributedError: a rank has ended, or does not answer in time.
        """

    def exchanging_lists(self, lists: Lists) -> Callable[[], tuple[list[list[int]], list[list[Any]]]]:
        """What sends each other rank the list for it, and all of them words, as often as it is called.

        Args:
            lists: see there; the dtypes of its arrays are the same on all ranks.

        Returns:
            A function that gives the words of all ranks; and for each other rank what it has told this one, an array on
            the GPU for each of `arrays`, or nothing.

        Raises:
            DistributedError: a rank has ended, or does not answer in time; raised by that function.
        """
        rank, size = self._group.rank, self._group.size
        dtypes, head = [each.dtype for each in lists.arrays], values_in(lists.words, np.dtype(np.uint8))

        def exchange() -> tuple[list[list[int]], list[list[Any]]]:
            words = host_copy(lists.words).tolist()
            told: list[list[Part]] = [[Part(0, [head])] * size, []]
            for other in range(size):
                begin = lists.begins[other]
                end = begin + (lists.length(words, other) if other != rank else 0)
                told[1].append(Part(end - begin, [each[begin:end].view(np.uint8) for each in lists.arrays]))
            received, _ = self.exchange(told, 0)
            rows, found = [host_copy(values_in(part.data, _WORD)).tolist() for part, _ in received], []
            for other, (_, part) in enumerate(received):
                count = 0 if other == rank else lists.length(rows[other], rank)
                if part.length != count * sum(dtype.itemsize for dtype in dtypes):
                    raise meaningless()
                found.append(columns_of(part.data, count, dtypes, values_in) if count else [])
            return rows, found

        return exchange

    def share(self, parts: Sequence[Any]) -> Callable[[], None]:
        """Send what this rank has to each other one, and receive what these have, of lengths that all ranks know.

        What is done in the current stream from now on comes after it, and the host need not wait.

        Args:
            parts: for each rank, the array on the GPU for what it has, uint8; this rank's is sent, and the others are
                overwritten. The part of a rank has one length on all ranks.

        Returns:
            A function that waits until all is sent and received.

        Raises:
            DistributedError: a rank has ended, or does not answer in time; raised by that function, too.
        """
        return self.exchanging([parts[self._group.rank]] * len(parts), parts)()

    def exchanging(self, sent: Sequence[Any], received: Sequence[Any]) -> Callable[[], Callable[[], None]]:
        """What sends each other rank a part, and receives one of each, as often as it is called; see `share`.

        Args:
            sent, received: for each rank, arrays on the GPU, uint8. The part from one rank to another has one length on
                both. Those of this rank for itself are left alone.

        Returns:
            A function that starts an exchange; it returns what `share` does.
        """
        if self._group.size == 1:
            return lambda: wait_for_nothing
        return self._exchanging_parts(sent, received)

    @abstractmethod
    def _exchanging_parts(
        self, sent: Sequence[Any], received: Sequence[Any]
    ) -> Callable[[], Callable[[], None]]:
        """See `exchanging`."""


class StreamChannel(Channel):
    """From GPU to GPU, in the order of a stream."""

    def __init__(self, group: Group) -> None:
        super().__init__(group)
        self._seconds = timeout_seconds()

    @contextlib.contextmanager
    def in_run(self) -> Iterator[None]:
        """See `Channel.in_run`. What ranks wait for in a stream ends with the process alone, so an error of edgewise is
        the last of this group."""
        try:
            with super().in_run():
                yield
        except (EdgewiseError, EdgewiseWarning) as error:
            self._group.stop(error)
            raise

    @contextlib.contextmanager
    def _exchanging(self, sent_bytes: int) -> Iterator[None]:
        """Count an exchange, which is started meanwhile, in the order of the current stream."""
        self._group.sent_bytes += sent_bytes
        self._group.exchanges += 1
        with self._lost_by_errors():
            yield

    @contextlib.contextmanager
    def _lost_by_errors(self) -> Iterator[None]:
        """Errors of PyTorch or of CUDA meanwhile say that ranks are lost."""
        try:
            yield
        except EdgewiseError:
            raise
        except RuntimeError as error:
            raise self._group.lost(error) from error

    def _await(self, has_ended: Callable[[], bool]) -> None:
        """Wait for an exchange as long as ranks wait for each other.

        Raises:
            RuntimeError: it has not ended then.
            EdgewiseError: of another rank, which ends the run.
        """
        began, next_look = time.perf_counter(), _LOOK
        while not has_ended():
            waited = time.perf_counter() - began
            if waited > self._seconds:
                raise RuntimeError(f"an exchange by {self.name} has not ended")
            if waited > next_look:
                self._group.look()
                next_look = waited + _LOOK
            if waited > _SPIN:
                time.sleep(_PAUSE)


def wait_for_nothing() -> None:
    """What is to be waited for has ended."""


def cut(data: Any, begin: int, heads: list[list[int]]) -> list[Part]:
    """The parts that lie one after the other in bytes, from `begin` on."""
    found = list[Part]()
    for head, length in heads:
        found.append(Part(head, [data[begin : begin + length]]))
        begin += length
    return found
