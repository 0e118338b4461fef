"""Launch kernels: on a team where the work is worth waking it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.kernels.team import run_alone, team

#: Below this many items of work the calling thread does it alone: waking a team costs 40 µs.
SMALL_WORK = 30_000


def launch(
    kernel: Callable[..., Any],
    *args: Any,
    work: int,
    num_threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Run a team kernel on all available threads, or on the calling one where there is little work.

    Args:
        kernel: called with (thread, size, control, *args).
        args: the kernel's own arguments.
        work: about how many items (edges, vertices, bytes) it looks at.
        num_threads: the size of the team, if not all available.
        progress: as for `Team.run`.
    """
    if work < SMALL_WORK:
        run_alone(kernel, *args)
    else:
        team(num_threads).run(kernel, *args, progress=progress)


def sealed(array: np.ndarray) -> np.ndarray:
    """A read-only view. Kernels are compiled once for read-only input instead of for both kinds."""
    view = array.view()
    view.flags.writeable = False
    return view
