"""Launch kernels: on a team where the work is worth waking it."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from edgewise.kernels.costs import best_threads
from edgewise.kernels.cpu.team import available_threads, run_alone, team

#: Nanoseconds. A longer kernel runs without the calling thread, so an interruption (Ctrl-C) reaches that at once.
INTERRUPTIBLE = 20_000_000


def launch(kernel: Callable[..., Any], *args: Any, work: float) -> None:
    """Run a team kernel on as many of the available threads as its work is worth.

    Args:
        kernel: called with (thread, size, control, *args).
        args: the kernel's own arguments.
        work: about the nanoseconds that one thread would take.
    """
    launch_on(best_threads(work, available_threads()), kernel, *args, long=work > INTERRUPTIBLE)


def launch_on(
    threads: int,
    kernel: Callable[..., Any],
    *args: Any,
    long: bool = False,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Run a team kernel on `threads` threads; one is the calling thread, unless the kernel takes long.

    Args:
        threads: the size of the team.
        kernel, args: as for `launch`.
        long, progress: as for `Team.run`.
    """
    if threads == 1 and not long:
        run_alone(kernel, *args)
    else:
        team(threads).run(kernel, *args, long=long, progress=progress)


def unsigned(array: np.ndarray) -> np.ndarray:
    """The same memory as unsigned integers: kernels that index by these need not look at signs."""
    return array.view(f"u{array.itemsize}")


def sealed(array: np.ndarray) -> np.ndarray:
    """A read-only view. Kernels are compiled once for read-only input instead of for both kinds."""
    view = array.view()
    view.flags.writeable = False
    return view


def all_sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name, with the arrays among them read-only."""
    return {name: sealed(value) if isinstance(value, np.ndarray) else value for name, value in values.items()}


class Sealed:
    """Has read-only arrays, which come out of a pickle, and of a deep copy, writable: they are sealed again."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(all_sealed(state))
