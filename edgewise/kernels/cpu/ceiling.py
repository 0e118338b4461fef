"""Resident memory below a ceiling while mapped files are read: a thread that gives their pages up.

Pages of a mapped file that were read count as resident memory of the process until they are given up, though the system
keeps them as well. While a run is `below` a ceiling, a thread looks at the resident memory of the process, as the
kernel counts it, and gives up all pages of the mapping whenever that is above the ceiling. What is read again comes
from the system's cache without a copy, 64 KiB in less than half a microsecond; or from the disk.

A program that reads at random fills 250 MB in a millisecond. So the thread looks again before `_FASTEST` could reach
the limit from what is resident, but not more often than `_SHORTEST`. It runs compiled code, and nothing in Python can
delay it. There is one for the process: with several runs under way it keeps to the lowest ceiling, and gives up the
pages of all their files.

Only Linux says how much is resident; elsewhere nothing is given up.
"""

import contextlib
import ctypes
import mmap
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import types

from edgewise.kernels.cache import device_function, kernel
from edgewise.kernels.cpu.atomics import atomic_load
from edgewise.kernels.cpu.single_pages import SMALL_PAGES, Singly, map_as_usual, map_singly

_STATM = Path("/proc/self/statm")
#: Bytes of that file that are read: its second number is what is resident, in pages.
_TEXT = 64
#: Words of the thread: whether it has to end; the ceiling and the limit, in pages; how often it gave pages up; then
#: the address and the size of each mapping.
_STOP, _CEILING, _LIMIT, _GIVEN, _MAPPINGS = range(5)
#: Pages that are read in a microsecond at most, and the microseconds between two looks.
_FASTEST, _SHORTEST, _LONGEST = 128, 100, 1000
#: Advice to Linux on mapped memory: give it up, it is read again when it is used.
_DONT_NEED = 4
_SPACE, _ZERO, _TEN = 32, 48, 10

_read = types.ExternalFunction("pread", types.intp(types.int32, types.intp, types.intp, types.intp))
_advise = types.ExternalFunction("madvise", types.int32(types.intp, types.intp, types.int32))
_sleep = types.ExternalFunction("usleep", types.int32(types.uint32))


class Ceiling(NamedTuple):
    """What a run keeps to.

    Attributes:
        ceiling: resident bytes of the process, above which pages are given up.
        limit: resident bytes that should not be reached.
        mapping: whose pages these are, uint8.
        file: the descriptor of the mapped file, to map single pages as they are read; -1 to leave that to the system.
    """

    ceiling: int
    limit: int
    mapping: np.ndarray
    file: int


def is_counted() -> bool:
    """Whether this system says how much memory is resident."""
    return sys.platform == "linux" and os.access(_STATM, os.R_OK)


def resident_without(mapping: np.ndarray) -> int:
    """Give up the pages of a mapping. Returns the bytes that are resident then.

    From then on it has no pages of 2 MiB, with which reading at random fills a gigabyte in less than a millisecond.
    """
    for advice in (SMALL_PAGES, _DONT_NEED):
        ctypes.CDLL(None).madvise(
            ctypes.c_void_p(mapping.ctypes.data), ctypes.c_size_t(mapping.nbytes), advice
        )
    return int(_STATM.read_text().split()[1]) * mmap.PAGESIZE


@device_function
def _resident(file: Any, text: Any) -> Any:
    """The resident pages; `text` is room for the file's bytes."""
    length = _read(np.int32(file), text.ctypes.data, len(text), 0)
    i, pages = 0, np.int64(0)
    while i < length and text[i] != _SPACE:
        i += 1
    i += 1
    while i < length and text[i] != _SPACE:
        pages = _TEN * pages + (np.int64(text[i]) - _ZERO)
        i += 1
    return pages


@kernel
def _watch(words: Any, file: Any, text: Any) -> None:
    """Give pages up whenever the resident ones are above the ceiling, until it is told to stop."""
    while atomic_load(words, _STOP) == 0:
        pages = _resident(file, text)
        if pages > words[_CEILING]:
            words[_GIVEN] += 1
            for i in range(_MAPPINGS, len(words), 2):
                _advise(words[i], words[i + 1], np.int32(_DONT_NEED))
        pause = min(max((words[_LIMIT] - pages) // _FASTEST, _SHORTEST), _LONGEST)
        _sleep(np.uint32(pause))


class _Watcher:
    """The thread, and what it looks at, as long as any run is below a ceiling."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ceilings: dict[object, Ceiling] = {}
        #: What `map_singly` gave for each mapping, by its address.
        self._singly: dict[int, tuple[Ceiling, Singly | None]] = {}
        self._words, self._given = np.zeros(_MAPPINGS, np.int64), 0
        self._thread: threading.Thread | None = None

    def times(self) -> int:
        """How often pages were given up so far."""
        return self._given + int(self._words[_GIVEN])

    @contextlib.contextmanager
    def below(self, ceiling: Ceiling) -> Iterator[Callable[[], int]]:
        key = object()
        try:
            _to_its_end(self._change, key, ceiling)
            before = self.times()
            yield lambda: self.times() - before
        finally:
            _to_its_end(self._change, key, None)

    def _change(self, key: object, ceiling: Ceiling | None) -> None:
        """Add or take away a ceiling, and begin anew with those that there are then."""
        with self._lock:
            self._ceilings.pop(key, None)
            if ceiling is not None:
                self._ceilings[key] = ceiling
            self._begin()

    def _begin(self) -> None:
        """End the thread, and begin anew with the ceilings that there are now."""
        if self._thread is not None:
            self._words[_STOP] = 1
            self._thread.join()
            self._thread, self._given = None, self.times()
            self._words[_GIVEN] = 0
        each = list(self._ceilings.values())
        self._map_singly({one.mapping.ctypes.data: one for one in each if one.file >= 0})
        if not each:
            return
        levels = [min(one.ceiling for one in each), min(one.limit for one in each)]
        mappings = {one.mapping.ctypes.data: one.mapping.nbytes for one in each}
        flat = [number for pair in mappings.items() for number in pair]
        self._words = np.array([1, *(level // mmap.PAGESIZE for level in levels), 0, *flat], np.int64)
        arguments = self._words, os.open(_STATM, os.O_RDONLY | os.O_CLOEXEC), np.zeros(_TEXT, np.uint8)
        _watch(*arguments)  # is stopped: this compiles it, which would take the thread long
        self._words[_STOP] = 0
        thread = threading.Thread(target=_run, args=(*arguments, each), name="edgewise-pages", daemon=True)
        thread.start()
        self._thread = thread

    def map_as_usual(self) -> None:
        """Map single pages of no file."""
        self._map_singly({})

    def _map_singly(self, wanted: dict[int, Ceiling]) -> None:
        """Map single pages of these mappings, by their addresses, and of no others."""
        for address in self._singly.keys() - wanted.keys():
            one, singly = self._singly.pop(address)
            if singly is not None:
                map_as_usual(one.mapping, singly)
        for address in wanted.keys() - self._singly.keys():
            one = wanted[address]
            self._singly[address] = one, map_singly(one.mapping, one.file)


def _to_its_end(function: Callable[..., None], *args: Any) -> None:
    """Call a function. Ctrl-C ends the wait for it, and not the call, which has a thread of its own."""
    failures: list[BaseException] = []

    def call() -> None:
        try:
            function(*args)
        except BaseException as failure:  # raised below
            failures.append(failure)

    thread = threading.Thread(target=call, name="edgewise-pages-change")
    try:
        thread.start()
    except RuntimeError:  # the system gives no thread
        call()
    else:
        thread.join()
    if failures:
        raise failures[0]


def _run(words: np.ndarray, file: int, text: np.ndarray, _: list[Ceiling]) -> None:
    """What the thread does, before all other threads where the system lets it: others may keep it waiting for
    milliseconds if more of them run than there are processors. The mappings are there as long as it runs."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # of this thread alone
    try:
        _watch(words, file, text)
    finally:
        os.close(file)


_watcher = _Watcher()


def _forget() -> None:
    """A forked child has no thread of its parent's, and maps files as usual."""
    global _watcher
    of_parent, _watcher = _watcher, _Watcher()
    of_parent.map_as_usual()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def below(ceiling: Ceiling) -> contextlib.AbstractContextManager[Callable[[], int]]:
    """Keep the process's resident memory below a ceiling, as far as pages of the mapping count there. Gives a function
    that says how often pages were given up since then."""
    return _watcher.below(ceiling)
