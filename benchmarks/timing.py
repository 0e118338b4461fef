"""Times of several contenders in one process, taken in turns."""

import gc
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.contenders import Job

#: A first call longer than this is not repeated, and one longer than a second is repeated three times only.
RUN_ONCE_ABOVE = 30.0
RUN_OFTEN_BELOW = 1.0


@dataclass
class Timing:
    """Seconds of one job.

    Attributes:
        prepare: making the job, which is not part of the comparison.
        first: the first call; compiling and converting included.
        warm: the calls after it.
    """

    prepare: float
    first: float
    warm: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The median of the warm calls, or the first where there are none."""
        return statistics.median(self.warm or [self.first])

    def wants_round(self, number: int) -> bool:
        """Whether the job takes part in a round; long ones are called less often."""
        shortest = min([self.first, *self.warm])
        if shortest > RUN_ONCE_ABOVE:
            return False
        return number < 3 or shortest < RUN_OFTEN_BELOW


def timed(job: Job) -> tuple[float, Any]:
    """Seconds of one call, and what it returned."""
    if job.before is not None:
        job.before()
    gc.collect()
    gc.disable()
    try:
        started = time.perf_counter()
        result = job.call()
        return time.perf_counter() - started, result
    finally:
        gc.enable()


@dataclass
class Outcome:
    """What one contender did at one task: either `error`, or all the rest."""

    job: Job | None = None
    timing: Timing | None = None
    result: Any = None
    error: Exception | None = None


def measure_in_turns(tasks: dict[str, Callable[[], Job]], repeat: int) -> dict[str, Outcome]:
    """Call each job once, then in rounds, each round starting with another job.

    Args:
        tasks: what makes each job, by the name of the contender.
        repeat: rounds. Jobs of more than a second take part in three, those of more than 30 s in none.

    Returns:
        By name; the result is that of the last call.
    """
    outcomes = {name: _first_call(make) for name, make in tasks.items()}
    running = {name: outcome for name, outcome in outcomes.items() if outcome.error is None}
    for number in range(repeat):
        names = [name for name, outcome in running.items() if outcome.timing.wants_round(number)]
        turn = number % max(len(names), 1)
        for name in names[turn:] + names[:turn]:
            running[name].result = None  # no two at a time
            seconds, running[name].result = timed(running[name].job)
            running[name].timing.warm.append(seconds)
    return outcomes


def columns_of(outcome: Outcome, times: float = 1.0) -> dict[str, Any]:
    """The columns of a row that say how long a contender took, and in what its work differs.

    Args:
        outcome: what it did; times are NaN if it failed.
        times: what its seconds stand for, if it did a part of the task.
    """
    timing = outcome.timing or Timing(math.nan, math.nan)
    return {
        "seconds": times * timing.seconds,
        "fastest": times * min(timing.warm or [timing.first]),
        "first_seconds": times * timing.first,
        "prepare_seconds": timing.prepare,
        "calls": len(timing.warm),
        "note": outcome.job.note if outcome.job else "",
    }


def _first_call(make: Callable[[], Job]) -> Outcome:
    """Make a job and call it. A rival's failure is a finding, not the end of the measurement."""
    try:
        started = time.perf_counter()
        job = make()
        prepare = time.perf_counter() - started
        first, result = timed(job)
    except Exception as error:
        return Outcome(error=error)
    return Outcome(job, Timing(prepare, first), result)
