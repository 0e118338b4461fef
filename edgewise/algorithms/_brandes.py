"""Brandes' accumulation of dependencies on the CPU: a thread for each source, sums in the order of sources.

From a source, a breadth-first search counts the shortest paths to each vertex. On the way back each vertex v adds up,
over the targets w that are one level further, ``paths(v) / paths(w) * (1 + dependency(w))``, for which ``share(w)``,
that is ``(1 + dependency(w)) / paths(w)``, is kept. Threads have a row of dependencies for each of some sources, and
add these rows in the order of the sources. So the result does not depend on threads.

The number of shortest paths doubles every other level or so on a lattice, and leaves the range of float64 after a
thousand. It is ``count * 2**(512 * power)``: where counts stay small nothing looks at powers; else the source is begun
anew with them. Scaling by powers of two is exact. A quotient of counts is taken for 0 only where their powers differ by
two or more: it is less than 2**-500 there.

Reference. Brandes, "A faster algorithm for betweenness centrality", Journal of Mathematical Sociology 25 (2001).
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cache import device_function, kernel
from edgewise.kernels.team import barrier, cancelled, claim, report, rewind

#: Sources of which a batch has one or more for each thread.
ROWS_OF_THREAD = 4
#: Vertices of which sums are handed out at a time; vertices between two looks at whether the run was cancelled.
_PIECE, _LOOK = 4096, 1 << 16
#: Counts without powers may grow so large; with powers, so large, and are then scaled down.
_LIMIT, _LARGE, _SMALL = 2.0**900, 2.0**512, 2.0**-512
_SOURCES, _VERTICES = 0, 1

_ONE = np.uint64(1)


class Accumulation(NamedTuple):
    """The state of t threads, n vertices and b sources at a time.

    Attributes:
        level: int32, shape (t, n): -1 between sources.
        paths, share: float64, shape (t, n): the first with powers, where they are needed.
        power: int32, shape (t, n).
        queue: uint32, shape (t, n): vertices in the order of levels.
        rows: float64, shape (b, n): the dependencies of each source.
        total: float64, shape (n,): their sum.
    """

    level: np.ndarray
    paths: np.ndarray
    share: np.ndarray
    power: np.ndarray
    queue: np.ndarray
    rows: np.ndarray
    total: np.ndarray


def make_accumulation(num_vertices: int, num_threads: int, num_sources: int) -> Accumulation:
    """A state before the first source."""
    each, n = (num_threads, num_vertices), num_vertices
    return Accumulation(
        np.full(each, -1, np.int32),
        np.empty(each),
        np.empty(each),
        np.empty(each, np.int32),
        np.empty(each, np.uint32),
        np.empty((rows_at_a_time(num_threads, num_sources), n)),
        np.zeros(n),
    )


def rows_at_a_time(num_threads: int, num_sources: int) -> int:
    """Sources of a batch."""
    return max(1, min(num_sources, ROWS_OF_THREAD * num_threads))


def accumulation_bytes(num_vertices: int, num_threads: int, num_sources: int) -> int:
    """The memory of such a state."""
    return num_vertices * (28 * num_threads + 8 * rows_at_a_time(num_threads, num_sources) + 8)


@device_function
def _add(count: Any, power: Any, u: Any, paths: Any, paths_power: Any) -> None:
    """Add a number of paths to that of a vertex."""
    if power[u] == paths_power:
        count[u] += paths
    elif power[u] < paths_power:
        count[u] = paths + (count[u] * _SMALL if power[u] + 1 == paths_power else 0.0)
        power[u] = paths_power
    elif power[u] == paths_power + 1:
        count[u] += paths * _SMALL


@device_function
def _count_paths(
    control: Any,
    offsets: Any,
    targets: Any,
    source: Any,
    level: Any,
    count: Any,
    power: Any,
    queue: Any,
    with_powers: Any,
) -> Any:
    """Find levels and numbers of shortest paths; how many vertices were reached, and whether powers are not needed."""
    level[source], count[source], power[source], queue[0] = 0, 1.0, 0, source
    head, tail = np.uint64(0), np.uint64(1)
    while head < tail:
        v = np.uint64(queue[head])
        head += _ONE
        if count[v] > (_LARGE if with_powers else _LIMIT):
            if not with_powers:
                return tail, False
            count[v] *= _SMALL
            power[v] += 1
        after, paths, paths_power = np.int32(level[v] + 1), count[v], power[v]
        for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
            u = np.uint64(targets[k])
            if level[u] < 0:
                level[u], count[u], power[u], queue[tail] = after, paths, paths_power, u
                tail += _ONE
            elif level[u] == after:
                if with_powers:
                    _add(count, power, u, paths, paths_power)
                else:
                    count[u] += paths
        if head % _LOOK == 0 and cancelled(control):
            break
    return tail, True


@device_function
def _go_back(
    offsets: Any,
    targets: Any,
    level: Any,
    count: Any,
    share: Any,
    power: Any,
    queue: Any,
    reached: Any,
    with_powers: Any,
    row: Any,
) -> None:
    """Write the dependency on each vertex that was reached."""
    i = reached
    while i > 0:
        i -= _ONE
        v = np.uint64(queue[i])
        after, total = np.int32(level[v] + 1), 0.0
        for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
            u = np.uint64(targets[k])
            if level[u] == after:
                if not with_powers or power[u] == power[v]:
                    total += share[u]
                elif power[u] == power[v] + 1:
                    total += share[u] * _SMALL
        row[v] = total * count[v]
        share[v] = (1.0 + row[v]) / count[v]


@device_function
def _forget(level: Any, queue: Any, reached: Any) -> None:
    for i in range(reached):
        level[queue[i]] = -1


@device_function
def _depend(
    control: Any, offsets: Any, targets: Any, source: Any, endpoints: Any, state: Any, thread: Any, row: Any
) -> None:
    """Write what one source adds for each vertex."""
    level, count, power, queue = (
        state.level[thread],
        state.paths[thread],
        state.power[thread],
        state.queue[thread],
    )
    for v in range(len(row)):
        row[v] = 0.0
    reached, is_enough = _count_paths(control, offsets, targets, source, level, count, power, queue, False)
    if not is_enough:
        _forget(level, queue, reached)
        reached, _ = _count_paths(control, offsets, targets, source, level, count, power, queue, True)
    _go_back(offsets, targets, level, count, state.share[thread], power, queue, reached, not is_enough, row)
    row[source] = 0.0
    if endpoints:
        for i in range(np.uint64(1), reached):
            row[queue[i]] += 1.0
        row[source] = np.float64(reached - _ONE)
    _forget(level, queue, reached)


@kernel
def accumulate(
    thread: Any, size: Any, control: Any, offsets: Any, targets: Any, sources: Any, endpoints: Any, state: Any
) -> None:
    """Add up the dependencies of all sources.

    Args:
        offsets, targets: the rows, unsigned.
        sources: int64, shape (k,).
        endpoints: whether a path counts for its ends, too.
        state: see `Accumulation`; `total` is filled here.
    """
    rows, total, n = state.rows, state.total, len(state.total)
    for first in range(0, len(sources), len(rows)):
        count = min(len(rows), len(sources) - first)
        while True:
            i = claim(control, _SOURCES, 1, count)
            if i == count:
                break
            _depend(
                control, offsets, targets, np.uint64(sources[first + i]), endpoints, state, thread, rows[i]
            )
        if barrier(control, size):
            return
        if thread == 0:
            rewind(control, _SOURCES)
            report(control, first + count)
        while True:
            start = claim(control, _VERTICES, _PIECE, n)
            if start == n:
                break
            for i in range(count):
                for v in range(np.uint64(start), np.uint64(min(start + _PIECE, n))):
                    total[v] += rows[i, v]
        if barrier(control, size):
            return
        if thread == 0:
            rewind(control, _VERTICES)
