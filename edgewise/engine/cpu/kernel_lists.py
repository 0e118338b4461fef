"""The lists of active vertices in supersteps: of this one and of the next."""

from typing import Any

from edgewise.engine.cpu.shared import FLIP, LISTED, NEXT, RANGE, TOUCHED, append, finish_segment
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import claim
from edgewise.kernels.words import CPU_LINE


@device_function
def active_lists(work: Any, shared: Any) -> Any:
    """The list of this superstep, and that for the next."""
    return (work.frontier, work.other_frontier) if shared[FLIP] == 0 else (work.other_frontier, work.frontier)


@device_function
def list_active(start: Any, end: Any, listed: Any, stamp: Any, work: Any, shared: Any, thread: Any) -> None:
    """List the active vertices v with start <= v < end."""
    for v in range(start, end):
        if work.active[v] == stamp:
            append(listed, work.cursors, CPU_LINE * thread, shared, NEXT, v)


@device_function
def list_phase(control: Any, thread: Any, listed: Any, stamp: Any, n: Any, work: Any, shared: Any) -> None:
    """List the active vertices of the ranges that this thread gets."""
    while True:
        start = claim(control, 0, shared[RANGE], n)
        if start >= n:
            break
        list_active(start, min(n, start + shared[RANGE]), listed, stamp, work, shared, thread)
    finish_segment(listed, work.cursors, CPU_LINE * thread)


@device_function
def next_superstep(shared: Any) -> None:
    """Make the list for the next superstep that of this one."""
    shared[LISTED] = shared[NEXT]
    shared[NEXT] = 0
    shared[TOUCHED] = 0
