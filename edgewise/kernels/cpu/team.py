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
    sets the number that a progress display shows (any integer that grows).

Kernels are compiled by `team_kernel`. The thread that called `Team.run` is one of the team, unless the kernel takes
long: then it waits in Python and handles Ctrl-C and progress at once, and a cancelled team leaves at its next barrier
or piece. A piece must therefore take far less than half a second. A cancelled run always ends in an exception: its
arrays hold nothing of use.
"""

import functools
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.errors import ScheduleError
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add, atomic_load, spin_pause, yield_processor
from edgewise.kernels.cpu.workers import (
    ARRIVED,
    CANCEL,
    CONTROL,
    GENERATION,
    LOOKS_BEFORE_YIELD,
    PROGRESS,
    Crew,
)
from edgewise.kernels.cpu.workers import team_kernel as team_kernel
from edgewise.kernels.words import CPU_LINE
from edgewise.text import shown

#: Slots of `claim`, each a cache line of the control array.
NUM_SLOTS = 4
_WORDS = CONTROL.more()
_SLOTS = _WORDS.take_line(CPU_LINE * NUM_SLOTS)


def make_control() -> np.ndarray:
    """The words that the threads of one run share, int64."""
    return np.zeros(_WORDS.size, dtype=np.int64)


@device_function
def barrier(control: Any, size: Any) -> Any:
    """Wait for all threads of the team; True if the run was cancelled."""
    if size > 1:
        generation = atomic_load(control, GENERATION)
        if atomic_add(control, ARRIVED, 1) == size - 1:
            control[ARRIVED] = 0
            atomic_add(control, GENERATION, 1)
        else:
            looks = 0
            while atomic_load(control, GENERATION) == generation and atomic_load(control, CANCEL) == 0:
                spin_pause()
                looks += 1
                if looks > LOOKS_BEFORE_YIELD:
                    yield_processor()
    return atomic_load(control, CANCEL) != 0


@device_function
def claim(control: Any, slot: Any, step: Any, end: Any) -> Any:
    """The start of the next unclaimed piece of ``range(0, end)``, or ``end``."""
    if atomic_load(control, CANCEL) != 0:
        return end
    return min(atomic_add(control, _SLOTS + CPU_LINE * slot, step), end)


@device_function
def rewind(control: Any, slot: Any) -> None:
    """Start handing out from 0 again. One thread calls it, between two barriers."""
    control[_SLOTS + CPU_LINE * slot] = 0


@device_function
def cancelled(control: Any) -> Any:
    """Whether the run was cancelled, for a thread that works for long without a barrier."""
    return atomic_load(control, CANCEL) != 0


@device_function
def report(control: Any, done: Any) -> None:
    """Say how far the run is."""
    control[PROGRESS] = done


_Job = tuple[Callable[..., Any], tuple[Any, ...], "queue.SimpleQueue[BaseException | None]"]


def _lead(inbox: "queue.SimpleQueue[_Job]") -> None:
    """The loop of the thread that takes part in long kernels in place of their callers."""
    while True:
        function, arguments, done = inbox.get()
        failure: BaseException | None = None
        try:
            function(*arguments)
        except BaseException as error:  # handed to the caller, who raises it
            failure = error
        del function, arguments
        done.put(failure)


class Team:
    """A fixed number of threads that run one kernel together. Runs of several callers take turns."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._turn = threading.Lock()
        self._caller: int | None = None
        self._crew = Crew(size - 1, f"edgewise-{size}")
        self._leader: queue.SimpleQueue[_Job] | None = None

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        long: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Run ``function(thread, size, control, *args)`` on all threads and wait for them.

        Args:
            function: a kernel from `team_kernel`, compiled here if its arguments have new types.
            args: what follows ``control`` in the kernel's parameters.
            long: whether an interruption and `progress` should not wait for the kernel's end; it then begins later.
            progress: for a long kernel, called about ten times a second with the number last given to ``report``; an
                exception raised there ends the run.

        Raises:
            KeyboardInterrupt: after the threads have left the kernel.
            ScheduleError: called from `progress` of another run, whose end it would wait for forever.
        """
        if self._caller == threading.get_ident():
            raise ScheduleError(
                f"a run on {self.size} threads was started from the progress function of another; start it after that"
            )
        control = make_control()
        arguments = (self._crew.address, self.size, control, *args)
        with self._turn:
            self._caller = threading.get_ident()
            try:
                if long:
                    self._watch(function, arguments, control, progress)
                else:
                    function(*arguments)
            finally:
                self._caller = None

    def _watch(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        control: np.ndarray,
        progress: Callable[[int], None] | None,
    ) -> None:
        """Have the leading thread call a function, and wait for its end, showing progress."""
        if self._leader is None:
            self._leader = queue.SimpleQueue()
            name = f"edgewise-{self.size}-leader"
            threading.Thread(target=_lead, args=(self._leader,), name=name, daemon=True).start()
        done: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        try:
            self._leader.put((function, arguments, done))
            while True:
                try:
                    failure = done.get(timeout=0.1)
                    break
                except queue.Empty:
                    if progress is not None:
                        progress(int(control[PROGRESS]))
        except BaseException:
            control[CANCEL] = 1
            self._flush()
            raise
        if failure is not None:
            raise failure

    def _flush(self) -> None:
        """Wait until the leading thread has finished its job, whatever interrupts the waiting."""
        done: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        assert self._leader is not None
        self._leader.put((_nothing, (), done))
        while True:
            try:
                done.get()
                return
            except KeyboardInterrupt:
                continue


def _nothing() -> None:
    """A job that does nothing."""


#: The most threads of a run, more than any machine has processors; and the most digits of their number.
MOST_THREADS, _MOST_DIGITS = 4096, 20


def available_threads() -> int:
    """The processors that this process may use, or ``$EDGEWISE_NUM_THREADS`` where it is set."""
    configured = os.environ.get("EDGEWISE_NUM_THREADS", "")
    if configured:
        digits = configured.isdigit() and len(configured) <= _MOST_DIGITS
        if not digits or not 1 <= int(configured) <= MOST_THREADS:
            raise ScheduleError(
                f"EDGEWISE_NUM_THREADS is {shown(configured)}; expected a positive integer up to {MOST_THREADS:,}"
            )
        return int(configured)
    return _processors()


@functools.cache
def _processors() -> int:
    """The processors that the process may use when this is first called: some systems take long to tell."""
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
