"""Launch kernels for work that is no run of its own: building a graph, reading or generating one."""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.kernels.team import available_threads, run_alone, team

#: Below this many items of work the calling thread does it alone: waking a team costs 40 µs.
_SMALL_WORK = 30_000


def launch(kernel: Callable[..., Any], *args: Any, work: int) -> None:
    """Run a team kernel over a number of items on all available threads, or alone where there are few."""
    if work < _SMALL_WORK:
        run_alone(kernel, *args)
    else:
        team(available_threads()).run(kernel, *args)


def sealed(array: np.ndarray) -> np.ndarray:
    """A read-only view. Kernels are compiled once for read-only input instead of for both kinds."""
    view = array.view()
    view.flags.writeable = False
    return view
