"""Several threads that run one compiled function together and meet at barriers inside it.

A kernel for a team has the form ``kernel(thread, size, control, *arrays)``. All threads of the team enter it
once and stay until the algorithm ends: a superstep costs two or three barriers of 0.2 µs instead of a return
to Python. The functions below are for use inside kernels:

``barrier(control, size)``
    waits for all threads and returns True when the run was cancelled; the kernel then returns at once.
``claim(control, slot, step, end)``
    hands out ``range(0, end)`` in pieces of ``step``: returns the start of a piece, or ``end`` when nothing is
    left or the run was cancelled. Thread 0 calls ``rewind(control, slot)`` between two uses, with a barrier
    on either side; there are `NUM_SLOTS` slots.
``report(control, done)``
    what a progress display shows (any integer that grows).

The thread that called `Team.run` waits in Python meanwhile, so Ctrl-C and progress are handled there at once,
and the team leaves at its next barrier or piece. Pieces must therefore stay far below half a second. A
cancelled run always ends in an exception: its arrays hold nothing of use.
"""

import functools
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.errors import ScheduleError
from edgewise.kernels.atomics import atomic_add, atomic_load, spin_pause, yield_processor
from edgewise.kernels.cache import device_function

#: Offsets in the control array, a cache line (8 words) apart.
_ARRIVED, _GENERATION, _CANCEL, _PROGRESS, _SLOTS = 0, 8, 16, 24, 32
NUM_SLOTS = 4
_SPINS_BEFORE_YIELD = 100


def make_control() -> np.ndarray:
    """The words that the threads of one run share, int64."""
    return np.zeros(_SLOTS + 8 * NUM_SLOTS, dtype=np.int64)


@device_function
def barrier(control: Any, size: Any) -> Any:
    """Wait for all threads of the team; True if the run was cancelled."""
    if size > 1:
        generation = atomic_load(control, _GENERATION)
        if atomic_add(control, _ARRIVED, 1) == size - 1:
            control[_ARRIVED] = 0
            atomic_add(control, _GENERATION, 1)
        else:
            spins = 0
            while atomic_load(control, _GENERATION) == generation and atomic_load(control, _CANCEL) == 0:
                spin_pause()
                spins += 1
                if spins > _SPINS_BEFORE_YIELD:
                    yield_processor()
    return atomic_load(control, _CANCEL) != 0


@device_function
def claim(control: Any, slot: Any, step: Any, end: Any) -> Any:
    """The start of the next unclaimed piece of ``range(0, end)``, or ``end``."""
    if atomic_load(control, _CANCEL) != 0:
        return end
    return min(atomic_add(control, _SLOTS + 8 * slot, step), end)


@device_function
def rewind(control: Any, slot: Any) -> None:
    """Start handing out from 0 again. One thread calls it, between two barriers."""
    control[_SLOTS + 8 * slot] = 0


@device_function
def cancelled(control: Any) -> Any:
    """Whether the run was cancelled, for a thread that works for long without a barrier."""
    return atomic_load(control, _CANCEL) != 0


@device_function
def report(control: Any, done: Any) -> None:
    """Say how far the run is."""
    control[_PROGRESS] = done


_Job = tuple[Callable[..., Any], np.ndarray, tuple[Any, ...], "queue.SimpleQueue[BaseException | None]"]


def _serve(thread: int, size: int, inbox: "queue.SimpleQueue[_Job]") -> None:
    """The life of one thread of a team."""
    while True:
        function, control, args, done = inbox.get()
        failure: BaseException | None = None
        try:
            function(thread, size, control, *args)
        except BaseException as error:  # handed to the caller, who raises it
            control[_CANCEL] = 1
            failure = error
        del function, control, args
        done.put(failure)


class Team:
    """A fixed number of threads that run one kernel together. Runs of several callers take turns."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._turn = threading.Lock()
        self._caller: int | None = None
        self._inboxes: list[queue.SimpleQueue[_Job]] = [queue.SimpleQueue() for _ in range(size)]
        for thread, inbox in enumerate(self._inboxes):
            name = f"edgewise-{thread + 1}-of-{size}"
            threading.Thread(target=_serve, args=(thread, size, inbox), name=name, daemon=True).start()

    def run(
        self, function: Callable[..., Any], *args: Any, progress: Callable[[int], None] | None = None
    ) -> None:
        """Run ``function(thread, size, control, *args)`` on all threads and wait for them.

        Args:
            function: a kernel; the first thread that calls it with new types compiles it.
            args: what follows ``control`` in the kernel's parameters.
            progress: called about ten times a second with the number last given to ``report``; an exception
                raised there ends the run.

        Raises:
            KeyboardInterrupt: after the threads have left the kernel.
            ScheduleError: called from `progress` of another run, for whose end it would wait forever.
        """
        if self._caller == threading.get_ident():
            raise ScheduleError(
                f"a run on {self.size} threads was started from the progress function of another; start it after that"
            )
        control = make_control()
        done: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        with self._turn:
            self._caller = threading.get_ident()
            try:
                for inbox in self._inboxes:
                    inbox.put((function, control, args, done))
                failures = self._wait(control, done, progress)
            except BaseException:
                control[_CANCEL] = 1
                self._flush()
                raise
            finally:
                self._caller = None
        for failure in failures:
            raise failure

    def _wait(
        self,
        control: np.ndarray,
        done: "queue.SimpleQueue[BaseException | None]",
        progress: Callable[[int], None] | None,
    ) -> list[BaseException]:
        """Wait for every thread, showing progress; the exceptions that ended threads."""
        ended: list[BaseException | None] = []
        while len(ended) < self.size:
            try:
                ended.append(done.get(timeout=0.1))
            except queue.Empty:
                if progress is not None:
                    progress(int(control[_PROGRESS]))
        return [failure for failure in ended if failure is not None]

    def _flush(self) -> None:
        """Wait until every thread has left what it was given, whatever interrupts the waiting."""
        done: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        for inbox in self._inboxes:
            inbox.put((_nothing, make_control(), (), done))
        left = self.size
        while left:
            try:
                done.get()
                left -= 1
            except KeyboardInterrupt:
                continue


def _nothing(thread: int, size: int, control: np.ndarray) -> None:
    """A job that does nothing."""


def available_threads() -> int:
    """The processors that this process may use, or ``$EDGEWISE_NUM_THREADS`` where it is set."""
    configured = os.environ.get("EDGEWISE_NUM_THREADS", "")
    if configured:
        if not configured.isdigit() or int(configured) < 1:
            raise ScheduleError(f"EDGEWISE_NUM_THREADS is {configured!r}; expected a positive integer")
        return int(configured)
    return _processors()


@functools.cache
def _processors() -> int:
    """The processors that the process may use when this is first asked: some systems take long to tell."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_teams: dict[int, Team] = {}
_teams_lock = threading.Lock()


def _forget_teams() -> None:
    """A forked child has none of its parent's threads; it makes its own."""
    global _teams_lock
    _teams_lock = threading.Lock()
    _teams.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_teams)


def team(size: int | None = None) -> Team:
    """The team of this many threads (default: `available_threads`), made on first use."""
    size = available_threads() if size is None else size
    with _teams_lock:
        if size not in _teams:
            _teams[size] = Team(size)
        return _teams[size]


def run_alone(function: Callable[..., Any], *args: Any) -> None:
    """Run a kernel on the calling thread: for work so small that waking a team would cost more."""
    function(0, 1, make_control(), *args)
