"""One run from its start to its end: what it may use, its threads, its clock, and its refusals."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from edgewise.errors import MemoryLimitError, ScheduleError
from edgewise.kernels.cache import compile_seconds
from edgewise.kernels.launch import launch
from edgewise.kernels.team import available_threads
from edgewise.progress import progress_bar
from edgewise.schedule import Pull, Push, Schedule

Progress = bool | Callable[[int], None] | None


@dataclass
class Execution:
    """A run in progress. `seconds` and `compile_seconds` are set when it ends."""

    schedule: Schedule
    num_threads: int
    progress: Callable[[int], None] | None
    seconds: float = 0.0
    compile_seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    def launch(self, kernel: Callable[..., Any], *args: Any, work: int) -> None:
        """Run a team kernel over an estimated number of edges of work."""
        launch(kernel, *args, work=work, num_threads=self.num_threads, progress=self.progress)

    def explain(self, note: str) -> None:
        """Record one decision and its reason for `Result.explain`."""
        self.notes.append(note)


@contextlib.contextmanager
def execution(
    name: str,
    *,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: int | None = None,
    memory_needed: int = 0,
    deliveries: tuple[type, ...] = (Push, Pull),
    total: int | None = None,
    devices: tuple[str, ...] = ("cpu",),
) -> Iterator[Execution]:
    """Check how a run is to be carried out, and time it.

    Args:
        name: what runs, for messages.
        device: "auto" or one of ``devices``.
        schedule: the choices, or None for all defaults.
        progress: True for a bar on a terminal, or a function of the number of supersteps done.
        memory_limit: bytes that the run may allocate, results included.
        memory_needed: bytes that it will allocate.
        deliveries: the forms of delivery that this run has.
        total: the last number that progress will show, where it is known.
        devices: the devices that this run has a form for.

    Raises:
        ScheduleError: an unknown device, or a schedule that this run cannot follow.
        MemoryLimitError: more memory is needed than allowed.
    """
    schedule = Schedule() if schedule is None else schedule
    if device not in ("auto", *devices):
        expected = " or ".join(repr(known) for known in ("auto", *devices))
        raise ScheduleError(f"{name}: device is {device!r}; expected {expected}")
    if not isinstance(schedule, Schedule):
        raise ScheduleError(f"{name}: schedule is {schedule!r}; expected an edgewise.Schedule")
    if schedule.delivery != "auto" and not isinstance(schedule.delivery, deliveries):
        possible = " or ".join(f"{kind.__name__}()" for kind in deliveries) or "no manual delivery"
        raise ScheduleError(
            f"{name}: delivery is {schedule.delivery!r}; this algorithm has {possible}. Leave it at 'auto', or "
            "write the algorithm as a Program, which runs with every delivery"
        )
    threads = available_threads() if schedule.num_threads is None else schedule.num_threads
    if not isinstance(threads, int) or threads < 1:
        raise ScheduleError(f"{name}: num_threads is {threads!r}; expected a positive integer")
    if memory_limit is not None and memory_needed > memory_limit:
        raise MemoryLimitError(
            f"{name} needs {memory_needed:,} bytes beyond the graph; the limit is {memory_limit:,}. Raise "
            "memory_limit, or use 32-bit weights and results"
        )
    bar = progress_bar(name, total) if progress is True else contextlib.nullcontext(progress or None)
    with bar as shown:
        run = Execution(schedule, threads, shown)
        started, compiled = time.perf_counter(), compile_seconds()
        yield run
        run.compile_seconds = compile_seconds() - compiled
        run.seconds = max(0.0, time.perf_counter() - started - run.compile_seconds)
