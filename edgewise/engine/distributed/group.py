"""The ranks of a distributed run, and how they speak: each sends bytes to each other at the same time.

`torch.distributed` starts nothing here: ranks are started by torchrun or by what stands for it, which sets RANK,
WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Ranks speak by gloo; those of one machine hand each other what is short by
sockets (`edgewise.engine.distributed.sockets`).
"""

import atexit
import contextlib
import datetime
import importlib.util
import os
import sys
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from edgewise import errors
from edgewise.engine.distributed.sockets import BlockSockets, sockets_of
from edgewise.errors import DistributedError, EdgewiseError, EdgewiseWarning, MemoryLimitError

#: What torchrun sets.
_STARTED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
#: Seconds after which a rank that waits for others gives up, unless ``$EDGEWISE_TIMEOUT`` says otherwise.
_TIMEOUT = 300.0
#: Bytes that each rank sends to each other at once. What is longer takes a second exchange.
_BLOCK = 1024
#: The words at the beginning of a block: the bytes for this rank, flags of the sender, and the sender's word.
_LENGTH, _FLAGS, _WORD = range(3)
_WORDS = 3
#: Flags: the sender has longer bytes for anybody; it refuses, and its bytes are an error.
_IS_LONGER, _REFUSES = 1, 2
_FIRST = _BLOCK - 8 * _WORDS
#: What the store has when a rank ends a run on the way, in which others may wait for it by another channel.
_STOPS = "stops"


class Group:
    """The ranks of a run. All of them call the same methods in the same order.

    Attributes:
        rank, size: which rank this is, of how many.
        name: the same, for messages.
        sent_bytes: the bytes that this rank has sent to others.
        exchanges: how often ranks have waited for each other.
        runs: how many programs all ranks have begun together.
        has_failed: whether a run of this rank has ended on the way, so that ranks are no longer at the same place.
        all_groups: the groups that this rank speaks in: this one, and in a grid its row and its column.
    """

    def __init__(self, rank: int, size: int, among: Any = None) -> None:
        self.rank, self.size, self.name = rank, size, f"rank {rank} of {size}"
        self.sent_bytes = self.exchanges = self.runs = 0
        self._among, self.has_failed = among, False
        self._store: Any = None
        self._sockets: BlockSockets | None = None
        #: A weak reference to PyTorch's group of all ranks, if there are sockets: what keeps that, keeps its threads,
        #: and they abort the process at its end.
        self._world: Any = None
        self._process = os.getpid()
        self._stops = False
        self.all_groups: tuple[Group, ...] = (self,)
        self._blocks = np.zeros((size, _BLOCK), np.uint8)
        self._received = np.zeros((size, _BLOCK), np.uint8)

    def exchange(self, parts: Sequence[np.ndarray], word: int = 0) -> tuple[list[np.ndarray], list[int]]:
        """Send each rank its part, and all of them a word.

        Args:
            parts: for each rank, uint8, of any lengths.
            word: a number of 64 bits.

        Returns:
            What each rank sent to this one, and the word of each.

        Raises:
            DistributedError: a rank has ended, or does not answer in time.
            EdgewiseError: the error of a rank that refuses to go on, of the same class.
        """
        if self.size == 1:
            return list(parts), [word]
        return self._exchange(parts, word, 0)

    def _exchange(
        self, parts: Sequence[np.ndarray], word: int, flags: int
    ) -> tuple[list[np.ndarray], list[int]]:
        """See `exchange`; with the flag `_REFUSES`, parts are an error of this rank."""
        if os.getpid() != self._process:
            raise DistributedError(
                f"{self.name}: this process was forked by the one that is this rank; let that one make all calls with "
                "distributed=True"
            )
        if self.has_failed:
            raise DistributedError(
                f"{self.name}: a run has failed on this rank before, so ranks are no longer at the "
                "same place; start all of them again"
            )
        blocks, words = self._blocks, self._blocks.view(np.int64)
        words[:, _FLAGS] = flags | _IS_LONGER * any(len(part) > _FIRST for part in parts)
        words[:, _WORD] = word
        for rank, part in enumerate(parts):
            words[rank, _LENGTH] = len(part)
            first = part[:_FIRST]
            blocks[rank, 8 * _WORDS : 8 * _WORDS + len(first)] = first
        self._swap_blocks()
        heads = self._received.view(np.int64)[:, :_WORDS].copy()
        lengths, found = heads[:, _LENGTH].tolist(), heads[:, _WORD].tolist()
        received = [
            self._received[rank, 8 * _WORDS : 8 * _WORDS + min(length, _FIRST)].copy()
            for rank, length in enumerate(lengths)
        ]
        if (heads[:, _FLAGS] & _IS_LONGER).any():
            received = self._with_rests(received, parts, lengths)
        refusing = np.flatnonzero(heads[:, _FLAGS] & _REFUSES)
        if len(refusing):
            told = received[refusing[0]]
            if not flags & _REFUSES:
                self._tell([each for each in self.all_groups if each is not self], told)
            raise _refusal_of(told.tobytes().decode())
        return received, found

    def refuse(self, error: Exception) -> None:
        """Take part in the next exchange of the others with an error of this rank, in which theirs ends.

        This rank need not know in which of its groups that is: it takes part in the next one of each, at the same time.
        Who is told in one of them does so in the others. So each group has one exchange for an error, after which its
        ranks are at the same place.

        Nothing is told of an error that came from the others, or that they were told of before, nor where ranks are no
        longer at the same place.
        """
        if self.size == 1 or self.has_failed or _is_told(error):
            return
        vars(error)["told"] = True
        text = f"{type(error).__name__}\nrank {self.rank}: {error}"
        self._tell(self.all_groups, np.frombuffer(text.encode(errors="replace"), np.uint8))
        self.has_failed |= self._stops

    @contextlib.contextmanager
    def in_run(self) -> Iterator[None]:
        """While this is entered, ranks are no longer at the same place after another error than those of edgewise."""
        try:
            yield
        except (EdgewiseError, EdgewiseWarning):
            raise
        except BaseException:
            self.has_failed = True
            raise

    def stop(self, error: Exception) -> None:
        """Have an error of edgewise end a run in which ranks wait by another channel, too, and so come to different
        places. That this rank is about to tell it is noted where they look."""
        if _is_told(error):
            self.has_failed = True
            return
        self._stops = True
        if self._store is not None:
            self._store.set(_STOPS, b"1")

    def look(self) -> None:
        """Look whether another rank has ended the run that this one waits in; if so, its error is told, and raised."""
        if self._store is not None and self._store.check([_STOPS]):
            self.everywhere(np.empty(0, np.uint8))

    def _tell(self, groups: Sequence["Group"], told: np.ndarray) -> None:
        """Take part in the next exchange of groups with an error, in all of them at the same time."""

        def tell(group: Group) -> None:
            with contextlib.suppress(EdgewiseError, EdgewiseWarning):  # others refuse as well, or have ended
                group._exchange([told] * group.size, 0, _REFUSES)

        if len(groups) > 1:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(len(groups)) as threads:
                list(threads.map(tell, groups))
        else:
            for group in groups:
                tell(group)
        failed = any(each.has_failed for each in self.all_groups)
        for each in self.all_groups:
            each.has_failed = failed

    def differing(self, own: bytes) -> int | None:
        """The first rank that gives other bytes than this one, or None. All ranks call it."""
        told = self.everywhere(np.frombuffer(own, np.uint8))[0]
        return next((rank for rank, other in enumerate(told) if other.tobytes() != own), None)

    def everywhere(self, part: np.ndarray, word: int = 0) -> tuple[list[np.ndarray], list[int]]:
        """Send the same part to all ranks; see `exchange`."""
        return self.exchange([part] * self.size, word)

    def total(self, value: int) -> int:
        """The sum of a number over all ranks."""
        return sum(self.everywhere(np.empty(0, np.uint8), value)[1])

    def refuse_together(self, refused: MemoryLimitError | None, word: int = 0) -> list[int]:
        """End the call on all ranks if one of them has no room; else the words of all ranks. All ranks call it.

        Raises:
            MemoryLimitError: `refused`, or that of the first rank that has no room.
        """
        told = np.frombuffer(str(refused or "").encode(), np.uint8)
        texts, words = self.everywhere(told, word)
        if refused is not None:
            raise refused
        for rank, text in enumerate(texts):
            if len(text):
                raise MemoryLimitError(f"rank {rank}: {text.tobytes().decode()}")
        return words

    def _with_rests(
        self, received: list[np.ndarray], parts: Sequence[np.ndarray], lengths: list[int]
    ) -> list[np.ndarray]:
        """What was received, with what did not fit into blocks."""
        sent = [max(0, len(part) - _FIRST) for part in parts]
        got = [max(0, length - _FIRST) for length in lengths]
        rests = np.concatenate([part[_FIRST:] for part in parts])
        into = np.empty(sum(got), np.uint8)
        self._swap(into, rests, got, sent)
        ends = np.cumsum(got)
        return [
            np.concatenate((first, into[end - length : end])) if length else first
            for first, end, length in zip(received, ends, got, strict=True)
        ]

    def _swap_blocks(self) -> None:
        """Send each rank its block."""
        if self._sockets is None:
            self._swap(self._received.reshape(-1), self._blocks.reshape(-1))
            return
        import torch.distributed as distributed

        world = distributed.group.WORLD
        if world is None or world is not self._world():  # what is longer than a block would be refused
            self._sockets.close()
            raise self._disconnected()
        self.sent_bytes += (self.size - 1) * _BLOCK
        self.exchanges += 1
        try:
            self._sockets.swap(self._received, self._blocks)
        except BaseException as error:  # it may have sent a block, and not received those of others
            self.has_failed = True
            self._sockets.close()
            if isinstance(error, OSError):
                raise self.lost(error) from error
            raise

    def _swap(
        self, into: np.ndarray, sent: np.ndarray, got: list[int] | None = None, given: list[int] | None = None
    ) -> None:
        import torch
        import torch.distributed as distributed

        to_itself = len(sent) // self.size if given is None else given[self.rank]
        self.sent_bytes += len(sent) - to_itself
        self.exchanges += 1
        try:
            distributed.all_to_all_single(
                torch.from_numpy(into), torch.from_numpy(sent), got, given, group=self._among
            )
        except RuntimeError as error:
            raise self.lost(error) from error
        except ValueError as error:
            if distributed.is_initialized():
                raise
            raise self._disconnected() from error

    def _disconnected(self) -> DistributedError:
        """The error of ranks whose group the program has ended."""
        return DistributedError(
            f"{self.name}: the ranks are no longer connected, for the program has called "
            "torch.distributed.destroy_process_group(); call it after all of edgewise, or not at all: ranks that "
            "edgewise connects, it disconnects when the program ends"
        )

    def lost(self, error: RuntimeError | OSError) -> DistributedError:
        """The error of this rank if an exchange has failed, after which it is no longer at the place of the others."""
        self.has_failed = True
        return DistributedError(
            f"{self.name}: another rank has ended, or did not make this call, which all ranks have to, in time "
            f"($EDGEWISE_TIMEOUT seconds, {timeout_seconds():g} now); look for the first error of another rank: "
            f"{str(error).splitlines()[0]}"
        )


def _refusal_of(text: str) -> Exception:
    """The error of a rank that refuses, from its class and its message, which names the rank."""
    name, _, message = text.partition("\n")
    kind = getattr(errors, name, DistributedError)
    is_known = isinstance(kind, type) and issubclass(kind, EdgewiseError | EdgewiseWarning)
    error: Exception = (kind if is_known else DistributedError)(message)
    vars(error)["told"] = True
    return error


def _is_told(error: BaseException | None) -> bool:
    """Whether other ranks know of an error, or of the one in whose handling it was raised."""
    while error is not None:
        if vars(error).get("told"):
            return True
        error = error.__context__
    return False


@contextlib.contextmanager
def telling_errors() -> Iterator[None]:
    """While this is entered, other ranks are told of an error of edgewise on this one, so that they do not wait for it:
    their next exchange ends in the same error."""
    try:
        yield
    except (EdgewiseError, EdgewiseWarning) as error:
        if _groups:
            _groups[0].refuse(error)
        raise


def sent_for(length: int) -> int:
    """The bytes that are sent to another rank for a part of so many."""
    return _BLOCK + max(0, length - _FIRST)


def timeout_seconds() -> float:
    """How long a rank waits for the others."""
    text = os.environ.get("EDGEWISE_TIMEOUT", "")
    try:
        seconds = float(text) if text else _TIMEOUT
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise DistributedError(f"$EDGEWISE_TIMEOUT is {text!r}; expected seconds, such as 300")
    return seconds


def ranks_here() -> int:
    """How many ranks run on this machine, as torchrun says."""
    text = os.environ.get("LOCAL_WORLD_SIZE", "1")
    return int(text) if text.isdigit() and int(text) > 0 else 1


_groups: list[Group] = []


def connect() -> Group:
    """The ranks that were started with this one, connected at the first call.

    Raises:
        DistributedError: PyTorch is not installed, this process was not started as a rank, or others do not answer.
    """
    if _groups:
        return _groups[0]
    if importlib.util.find_spec("torch") is None:
        raise DistributedError(
            "distributed=True needs torch.distributed, and PyTorch is not installed: "
            "pip install 'edgewise[distributed]'"
        )
    missing = [name for name in _STARTED if name not in os.environ]
    if missing and "torch" not in sys.modules:  # importing it takes seconds
        raise _not_started(missing)
    import torch.distributed as distributed

    wait = datetime.timedelta(seconds=timeout_seconds())
    if missing and not distributed.is_initialized():
        raise _not_started(missing)
    among = store = None
    try:
        if distributed.is_initialized():
            among = distributed.new_group(backend="gloo", timeout=wait)
        else:
            store, rank, size = next(distributed.rendezvous("env://", timeout=wait))
            # The store of torchrun stays when ranks are started again, with the addresses of those that have ended.
            attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
            store = distributed.PrefixStore(f"edgewise attempt {attempt}", store)
            distributed.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=wait)
    except (RuntimeError, ValueError) as error:
        raise DistributedError(
            f"the ranks did not find each other in {wait.total_seconds():g} s at "
            f"{os.environ.get('MASTER_ADDR', '?')}:{os.environ.get('MASTER_PORT', '?')}: {str(error).splitlines()[0]}"
        ) from error
    group = Group(distributed.get_rank(), distributed.get_world_size(), among)
    group._store = store
    _groups.append(group)
    atexit.register(_forget, among)
    if group.size > 1:
        group._world = weakref.ref(distributed.group.WORLD)
        group._sockets = sockets_of(group, wait.total_seconds())
    return group


def _not_started(missing: list[str]) -> DistributedError:
    return DistributedError(
        f"distributed=True, but this process was not started as one of several: {', '.join(missing)} not set. "
        "Start it with torchrun, as in: torchrun --standalone --nproc-per-node 2 program.py"
    )


def _forget(among: Any) -> None:
    """Disconnect the ranks that were started with this one."""
    for group in _groups:
        if group._sockets is not None:
            group._sockets.close()
    _groups.clear()
    disconnect(among)


def disconnect(among: Any) -> None:
    """End the threads of a group of ranks; None is the one of all. A process that ends before them is aborted."""
    import torch.distributed as distributed

    if distributed.is_initialized():
        with contextlib.suppress(RuntimeError, ValueError):  # the program has ended this group itself
            distributed.destroy_process_group(among)
