"""Brandes' accumulation of dependencies on the CPU: a thread for each source, sums in the order of sources.

From a source, a search finds distances, and the vertices in their order: breadth-first, or Dijkstra's with weights. An
arc from v to w is on shortest paths if the distance of w is that of v plus the length of the arc. Along these arcs the
shortest paths to each vertex are counted (`cpu_path_counts`). On the way back each vertex v adds up, over its arcs on
shortest paths, ``paths(v) / paths(w) * (1 + dependency(w))``, the dependency on the arc. ``share(w)``, that is
``(1 + dependency(w)) / paths(w)``, takes the place of the count of w for that; where paths count to some vertices only,
others have 0 in place of the 1. Where the search pulled a level, since it has fewer in-edges than the level before it
has arcs, its vertices push their shares back along these edges. Each of several sources has a row of dependencies, on
vertices or on arcs, and threads add these rows in the order of the sources. So the result depends neither on threads
nor on the number of rows.

Reference. Brandes, "A faster algorithm for betweenness centrality", Journal of Mathematical Sociology 25 (2001); "On
variants of shortest-path betweenness centrality and their generic computation", Social Networks 30 (2008), for arcs.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.betweenness.cpu_path_counts import SMALL, count_in_order, search_and_count
from edgewise.algorithms.common.dijkstra import Heap, make_heap, settle
from edgewise.algorithms.common.lengths import length
from edgewise.kernels.cache import device_function, inlined_function
from edgewise.kernels.cpu.team import barrier, claim, report, rewind, team_kernel

#: The most sources in a batch for each thread; and the most bytes of their rows, if that is a row for each thread.
ROWS_OF_THREAD, ROOM_OF_ROWS = 4, 1 << 32
#: Vertices or arcs whose sums are handed out at a time.
_PIECE = 4096
_SOURCES, _SUMS = 0, 1
#: What dependencies are on: vertices, vertices with paths counted for their ends, too, or arcs.
ON_VERTICES, ON_VERTICES_AND_ENDS, ON_ARCS = range(3)

_ONE = np.uint64(1)


class Accumulation(NamedTuple):
    """The state of t threads, n vertices and b sources at a time, for dependencies on w vertices or arcs.

    Attributes:
        distance: int32 without weights, int64 or float64 with them, shape (t, n): -1 between sources.
        paths: float64, shape (t, n): numbers of paths, and on the way back shares.
        power: int32, shape (t, n): the powers of paths and shares, if they are needed.
        queue: uint32, shape (t, n): vertices in the order of distances.
        heap: the heaps of t threads; of none without weights.
        rows: float64, shape (b, w): the dependencies of each source.
        total: float64, shape (w,): their sum.
        lost: int64, shape (1,): 1 once the weight of an arc was lost beside a distance; sums are of no use then.
    """

    distance: np.ndarray
    paths: np.ndarray
    power: np.ndarray
    queue: np.ndarray
    heap: Heap
    rows: np.ndarray
    total: np.ndarray
    lost: np.ndarray


class Size(NamedTuple):
    """The sizes of a state: see `Accumulation`.

    Attributes:
        num_vertices, num_sums, num_threads: n, w and t.
        dtype: that of distances; int32 for a state without heaps.
        num_copies: the number of copies of the sums beside the state.
        num_rows: b.
    """

    num_vertices: int
    num_sums: int
    num_threads: int
    dtype: np.dtype
    num_copies: int
    num_rows: int = 1

    @property
    def num_bytes(self) -> int:
        """The memory of such a state, and of the copies."""
        of_heap = 0 if self.dtype == np.int32 else self.dtype.itemsize + 8
        of_thread = self.num_vertices * (16 + self.dtype.itemsize + of_heap)
        return self.num_threads * of_thread + 8 * self.num_sums * (self.num_rows + 1 + self.num_copies)

    def with_rows(self, num_sources: int, memory_limit: int | None) -> "Size":
        """This size with as many rows as `num_sources` sources can use and as fit, but at least one."""
        of_row = max(8 * self.num_sums, 1)
        fitting = max(self.num_threads, ROOM_OF_ROWS // of_row)
        if memory_limit is not None:
            fitting = min(fitting, (memory_limit - self._replace(num_rows=0).num_bytes) // of_row)
        return self._replace(num_rows=max(1, min(num_sources, ROWS_OF_THREAD * self.num_threads, fitting)))


def make_accumulation(size: Size) -> Accumulation:
    """A state before the first source."""
    each = (size.num_threads, size.num_vertices)
    return Accumulation(
        np.full(each, -1, size.dtype),
        np.empty(each),
        np.empty(each, np.int32),
        np.empty(each, np.uint32),
        make_heap(size.num_vertices, 0 if size.dtype == np.int32 else size.num_threads, size.dtype),
        np.empty((size.num_rows, size.num_sums)),
        np.zeros(size.num_sums),
        np.zeros(1, np.int64),
    )


@inlined_function
def _share_along(
    arcs: Any, k: Any, here: Any, mine: Any, distance: Any, shares: Any, power: Any, with_powers: Any
) -> Any:
    """The share of an arc's target, scaled to the power `mine` of its source; 0 if the arc is on no shortest path."""
    u = np.uint64(arcs.targets[k])
    if distance[u] != distance.dtype.type(here + length(arcs, k)):
        return 0.0
    if not with_powers or power[u] == mine:
        return shares[u]
    return shares[u] * SMALL if power[u] == mine + 1 else 0.0


@inlined_function
def _end_paths(v: Any, total: Any, count: Any, is_target: Any) -> Any:
    """The dependency on a vertex by the sum of the shares after it; its share takes the place of its count."""
    paths, ends = count[v], 1.0 if len(is_target) == 0 else np.float64(is_target[v])
    count[v] = (ends + total * paths) / paths
    return total * paths


@inlined_function
def _go_back(
    arcs: Any,
    distance: Any,
    count: Any,
    power: Any,
    queue: Any,
    begin: Any,
    end: Any,
    with_powers: Any,
    on: Any,
    is_target: Any,
    row: Any,
) -> None:
    """Write the dependency on each vertex in a part of the queue, or on each of their arcs on shortest paths.

    Once a vertex is done, `count` holds its share; vertices farther away are done before.
    """
    i = end
    while i > begin:
        i -= _ONE
        v = np.uint64(queue[i])
        here, mine, paths, total = distance[v], power[v], count[v], 0.0
        arcs_end = np.uint64(arcs.offsets[v + _ONE])
        if on == ON_ARCS:
            for k in range(np.uint64(arcs.offsets[v]), arcs_end):
                part = _share_along(arcs, k, here, mine, distance, count, power, with_powers)
                total += part
                row[k] = paths * part
            _end_paths(v, total, count, is_target)
        else:
            for k in range(np.uint64(arcs.offsets[v]), arcs_end):
                total += _share_along(arcs, k, here, mine, distance, count, power, with_powers)
            row[v] = _end_paths(v, total, count, is_target)


@inlined_function
def _begin_of_level(distance: Any, queue: Any, end: Any) -> Any:
    """Where in the queue the level begins that ends before `end`."""
    begin = end - _ONE
    here = distance[queue[begin]]
    while begin > 0 and distance[queue[begin - _ONE]] == here:
        begin -= _ONE
    return begin


@inlined_function
def _push_back(
    in_arcs: Any, distance: Any, count: Any, queue: Any, end: Any, beyond: Any, is_target: Any, row: Any
) -> Any:
    """Write the dependency on each vertex of a level without powers, by the in-edges of the next.

    The level ends in the queue before `end`, and the next one before `beyond`. Returns where the level begins.
    """
    begin = _begin_of_level(distance, queue, end)
    here = distance[queue[begin]]
    for i in range(begin, end):
        row[queue[i]] = 0.0
    for i in range(end, beyond):
        u = np.uint64(queue[i])
        share = count[u]
        for k in range(np.uint64(in_arcs.offsets[u]), np.uint64(in_arcs.offsets[u + _ONE])):
            v = np.uint64(in_arcs.targets[k])
            if distance[v] == here:
                row[v] += share
    for i in range(begin, end):
        v = np.uint64(queue[i])
        row[v] = _end_paths(v, row[v], count, is_target)
    return begin


@inlined_function
def _forget(distance: Any, on: Any, row: Any) -> None:
    """Reset distances, and set dependencies on vertices that were not reached to 0."""
    for v in range(len(distance)):
        if on != ON_ARCS and distance[v] < 0:
            row[v] = 0.0
        distance[v] = -1


@device_function
def _depend(
    control: Any,
    arcs: Any,
    in_arcs: Any,
    source: Any,
    on: Any,
    is_target: Any,
    state: Any,
    thread: Any,
    row: Any,
) -> None:
    """Write the dependencies of one source on each vertex or arc."""
    distance, count, power = state.distance[thread], state.paths[thread], state.power[thread]
    queue, heap = state.queue[thread], state.heap
    pulled, pulled_end = np.uint64(0), np.uint64(0)
    if on == ON_ARCS:
        for k in range(len(row)):
            row[k] = 0.0
    if len(heap.key) > 0:
        reached, grows = settle(
            control,
            arcs,
            source,
            distance,
            queue,
            heap.key[thread],
            heap.vertex[thread],
            heap.place[thread],
        )
        if not grows:
            state.lost[0] = 1
            return
        with_powers = count_in_order(control, arcs, source, distance, count, power, queue, reached)
    else:
        reached, with_powers, pulled, pulled_end = search_and_count(
            control, arcs, in_arcs, source, distance, count, power, queue
        )
    end = _begin_of_level(distance, queue, reached)
    for i in range(end, reached):
        nothing = _end_paths(queue[i], 0.0, count, is_target)
        if on != ON_ARCS:
            row[queue[i]] = nothing
    if pulled > 0 and on != ON_ARCS and not with_powers:
        beyond = pulled_end
        last = _begin_of_level(distance, queue, beyond)
        _go_back(arcs, distance, count, power, queue, last, end, with_powers, on, is_target, row)
        end = last
        while end >= pulled:
            end, beyond = _push_back(in_arcs, distance, count, queue, end, beyond, is_target, row), end
    _go_back(arcs, distance, count, power, queue, np.uint64(0), end, with_powers, on, is_target, row)
    _forget(distance, on, row)
    if on != ON_ARCS:
        row[source] = 0.0
    if on == ON_VERTICES_AND_ENDS:
        for i in range(np.uint64(1), reached):
            row[queue[i]] += 1.0
        row[source] = np.float64(reached - _ONE)


@team_kernel
def accumulate(
    thread: Any,
    size: Any,
    control: Any,
    arcs: Any,
    in_arcs: Any,
    sources: Any,
    begin: Any,
    end: Any,
    on: Any,
    is_target: Any,
    state: Any,
) -> None:
    """Add up the dependencies of some of the sources, after those before them.

    Args:
        arcs: see `common.lengths.WeightedArcs`.
        in_arcs: the in-edges of an undirected graph; else of no vertices.
        sources: int64, shape (k,); those from ``begin`` to before ``end`` are added.
        on: `ON_VERTICES`, `ON_VERTICES_AND_ENDS` or `ON_ARCS`.
        is_target: bool, shape (n,): whether paths to each vertex count; of shape (0,) if all do. Then ends may count.
        state: see `Accumulation`; `total` holds the sums over the sources before.
    """
    rows, total, width = state.rows, state.total, len(state.total)
    if thread == 0:
        report(control, begin)
    for first in range(begin, end, len(rows)):
        count = min(len(rows), end - first)
        while True:
            i = claim(control, _SOURCES, 1, count)
            if i == count:
                break
            _depend(
                control, arcs, in_arcs, np.uint64(sources[first + i]), on, is_target, state, thread, rows[i]
            )
        if barrier(control, size) or state.lost[0] != 0:
            return
        if thread == 0:
            rewind(control, _SOURCES)
            report(control, first + count)
        while True:
            start = claim(control, _SUMS, _PIECE, width)
            if start == width:
                break
            for i in range(count):
                for place in range(np.uint64(start), np.uint64(min(start + _PIECE, width))):
                    total[place] += rows[i, place]
        if barrier(control, size):
            return
        if thread == 0:
            rewind(control, _SUMS)
