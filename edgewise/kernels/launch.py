"""Launch kernels: on a team where the work is worth waking it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.kernels.costs import best_threads
from edgewise.kernels.team import available_threads, run_alone, team

#: Nanoseconds. What takes longer runs beside the calling thread, which an interruption (Ctrl-C) reaches at once.
INTERRUPTIBLE = 20_000_000


def launch(
    kernel: Callable[..., Any],
    *args: Any,
    work: float,
    num_threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Run a team kernel on as many threads as its work is worth, and on the calling one where there is little.

    Args:
        kernel: called with (thread, size, control, *args).
        args: the kernel's own arguments.
        work: about the nanoseconds that one thread would take.
        num_threads: exactly so many threads instead.
        progress: as for `Team.run`.

    Returns:
        The number of threads.
    """
    threads = best_threads(work, available_threads()) if num_threads is None else num_threads
    if threads == 1 and work < INTERRUPTIBLE:
        run_alone(kernel, *args)
    else:
        team(threads).run(kernel, *args, progress=progress)
    return threads


def launch_on(
    threads: int, kernel: Callable[..., Any], *args: Any, progress: Callable[[int], None] | None = None
) -> None:
    """Run a team kernel on so many threads, of which one alone is the calling one."""
    if threads == 1:
        run_alone(kernel, *args)
    else:
        team(threads).run(kernel, *args, progress=progress)


def sealed(array: np.ndarray) -> np.ndarray:
    """A read-only view. Kernels are compiled once for read-only input instead of for both kinds."""
    view = array.view()
    view.flags.writeable = False
    return view
