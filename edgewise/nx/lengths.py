"""Shortest paths by weight in the order of NetworkX, from Python: see `cpu_paths`."""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

import edgewise as ew
from edgewise.kernels.cpu.launch import launch
from edgewise.kernels.cpu.team import available_threads
from edgewise.nx.columns import Column, python_numbers
from edgewise.nx.cpu_paths import (
    DONE,
    NEGATIVE,
    TOO_SMALL,
    order_by_distance,
    relax_in_turn,
    search_both_ways_by_length,
    search_each_by_length,
)
from edgewise.nx.garbage import uncollected
from edgewise.nx.graph import BackendGraph
from edgewise.nx.offered import SORTED_SINCE, VERSION, options
from edgewise.nx.search import alone, walk

#: The most arcs of a graph on which each thread searches by itself, where there are many searches: with more, all
#: threads are as fast at one. The most vertices of all searches that are made at a time, and of such a graph. About the
#: nanoseconds that a search takes for each arc and vertex.
_SMALL, _BLOCK, _PER_ARC, _PER_VERTEX = 1 << 22, 1 << 20, 10, 50
#: What `search_each_by_length` takes for searches to all vertices: no target, and any number of arcs.
_TO_ALL = -1, np.iinfo(np.int64).max
#: A search for one target is on one thread while it looks at this fraction of all arcs: 1 / `_FEW_ARCS`.
_FEW_ARCS = 8
#: Entries of lists that `relax_in_turn` has at first, for each arc.
_ENTRIES = 4


class Paths(NamedTuple):
    """Shortest paths.

    Attributes:
        order: int32, shape (reached,): the vertices in the order of NetworkX, first the sources.
        parent: int32, shape (n,): the vertex before each that was reached on its path; of a source itself.
        summed: the length of the path to each vertex of `order`, an integer or a float as in NetworkX.
        seen: gives the vertices in the order in which NetworkX lists paths, int32, shape (reached,), if it is another.
    """

    order: np.ndarray
    parent: np.ndarray
    summed: Column
    seen: Callable[[], np.ndarray] | None = None

    @property
    def lengths(self) -> list[Any]:
        """The lengths as numbers of Python."""
        return self.summed.numbers()

    def by_node(self, G: BackendGraph) -> dict[Any, Any]:
        """The lengths by node."""
        return dict(zip(G.names(self.order), self.lengths, strict=True))

    @uncollected()
    def to_nodes(self, G: BackendGraph) -> dict[Any, list[Any]]:
        """The paths by node."""
        paths: dict[Any, list[Any]] = {}
        nodes, parents = G.names(self.order), G.names(self.parent[self.order])
        for place, (node, parent) in enumerate(zip(nodes, parents, strict=True)):
            try:
                paths[node] = [*paths[parent], node]
            except KeyError:  # of a source, or across an edge of length 0
                paths[node] = self._path(G, int(self.order[place]))
        return paths if self.seen is None else {node: paths[node] for node in G.names(self.seen())}

    def _path(self, G: BackendGraph, vertex: int) -> list[Any]:
        return [G.nodes[each] for each in reversed(walk(self.parent, vertex))]

    def to(self, G: BackendGraph, vertex: int | None) -> tuple[Any, list[Any]] | None:
        """The length of the path to a vertex, and the path; None if it was not reached."""
        if vertex is None or self.parent[vertex] < 0:
            return None
        return self.summed.taken(np.flatnonzero(self.order == vertex)).numbers()[0], self._path(G, vertex)


def lengths_of(G: BackendGraph, weight: Any, signed: bool = False) -> Column:
    """The lengths of arcs, which are looked through once. Raises NotImplementedError for negative ones, unless
    `signed`, and for long sums."""
    column, looked_through = G.column(weight), (lengths_of, weight, signed)
    if looked_through in G.checked:
        return column
    values = column.values
    least, most = values.min(initial=0), values.max(initial=0)
    if not signed and least < 0:
        raise NotImplementedError(
            f"there are negative values of {weight!r}; edgewise leaves Dijkstra with them alone"
        )
    largest = max(int(most), -int(least))
    if len(G) * largest >= (2**62 if values.dtype == np.int64 else sys.float_info.max):
        raise NotImplementedError(f"sums of {weight!r} may be beyond 64 bits")
    if column.whole is not None and np.abs(values[column.whole]).sum() >= 2**53:
        raise NotImplementedError(
            f"{weight!r} has floats, and integers whose sums float64 may not hold exactly"
        )
    G.checked.add(looked_through)
    return column


def dijkstra(
    G: BackendGraph,
    sources: Sequence[int],
    weight: Any,
    cutoff: Any = None,
    target: int | None = None,
    how: dict[str, Any] | None = None,
) -> Paths:
    """Dijkstra's paths from the nearest source, to all vertices or to those that are not farther than the target."""
    column, n = lengths_of(G, weight), len(G)
    if cutoff is not None and cutoff < 0:
        return _sources_alone(n, sources)
    bound, given = None if cutoff == np.inf else cutoff, _given(how)
    if target is not None and len(sources) == 1 and bound is None and _is_free(given):
        near = _to_near(G, column, sources[0], target)
        if near is not None:
            return near
    found = ew.sssp(G.weighted(weight), list(sources), target=target, max_distance=bound, **given)
    distance, reached = found.distance, np.flatnonzero(found.reached)
    _, group_of, counts = np.unique(distance[reached], return_inverse=True, return_counts=True)
    group, place = np.full(n, -1, np.int32), np.cumsum(counts) - counts
    group[reached] = group_of
    order, parent, arc = np.empty(len(reached), np.int32), np.full(n, -1, np.int32), np.full(n, -1)
    for source in dict.fromkeys(sources):
        order[place[0]] = parent[source] = source
        place[0] += 1
    alone(order_by_distance, G.rows, column.values, distance, group, place, order, parent, arc)
    return _found(G, column, distance, order, parent, arc, bound)


def dijkstra_each(
    G: BackendGraph,
    sources: Sequence[int],
    weight: Any,
    cutoff: Any = None,
    how: dict[str, Any] | None = None,
) -> Iterator[Paths]:
    """Dijkstra's paths from each source by itself: on small graphs some at a time, each on one thread, first as many as
    there are threads. What is not taken is refused before the first is asked for."""
    column = lengths_of(G, weight)
    small = len(column.values) <= _SMALL and len(G) <= _BLOCK
    if not small or cutoff is not None or not _is_free(_given(how)):
        return (dijkstra(G, [source], weight, cutoff, how=how) for source in sources)
    return _in_blocks(G, np.array(sources, np.int64), column)


def _given(how: dict[str, Any] | None) -> dict[str, Any]:
    """The keywords of a run; a function that has none of them is on the CPU, whatever is configured."""
    return {"device": "cpu", "memory_limit": None} if how is None else options(how)


def _is_free(given: dict[str, Any]) -> bool:
    """Whether a run may be on the CPU and take what memory it wants."""
    return given["device"] in ("auto", "cpu") and given["memory_limit"] is None


def _in_blocks(G: BackendGraph, sources: np.ndarray, column: Column) -> Iterator[Paths]:
    n, threads = len(G), available_threads()
    heaps, size, begin = _heaps(threads, n, column.values.dtype), threads, 0
    while begin < len(sources):
        block = sources[begin : begin + size]
        begin += len(block)
        found = distance, order, parent, arc, reached = _room(len(block), n, column.values.dtype)
        work = len(block) * (_PER_ARC * len(column.values) + _PER_VERTEX * n)
        rows = G.rows.offsets, G.rows.targets
        launch(search_each_by_length, *rows, column.values, block, *_TO_ALL, *heaps, *found, work=work)
        for row, number in enumerate(reached.tolist()):
            vertices, before = order[row, :number], parent[row]
            yield _found(G, column, distance[row], vertices, before, arc[row])
        size = min(2 * size, max(threads, _BLOCK // n))


def _heaps(threads: int, num_vertices: int, dtype: np.dtype) -> list[np.ndarray]:
    """The heaps of `search_each_by_length`, for lengths of this dtype."""
    return [np.empty((threads, num_vertices), kind) for kind in (dtype, np.int64, np.int32, np.uint32)]


def _room(
    sources: int, num_vertices: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Room for what `search_each_by_length` finds from so many sources: distances, orders, parents, arcs, and how many
    vertices were reached."""
    shape = sources, num_vertices
    parents, reached = np.full(shape, -1, np.int32), np.zeros(sources, np.int64)
    return np.empty(shape, dtype), np.empty(shape, np.int32), parents, np.empty(shape, np.int64), reached


def _to_near(G: BackendGraph, column: Column, source: int, target: int) -> Paths | None:
    """Dijkstra's paths to the vertices that are nearer than the target, and to it, on one thread; None if these have
    many arcs."""
    n, most = len(G), len(column.values) // _FEW_ARCS
    found = distance, order, parent, arc, reached = _room(1, n, column.values.dtype)
    state = *_heaps(1, n, column.values.dtype), *found
    alone(search_each_by_length, G.rows, column.values, np.array([source]), target, most, *state)
    number = int(reached[0])
    return _found(G, column, distance[0], order[0, :number], parent[0], arc[0]) if number else None


def _sources_alone(num_vertices: int, sources: Sequence[int]) -> Paths:
    """What a search finds that goes along no arc, not even along those of length 0."""
    order = np.array(list(dict.fromkeys(sources)), np.int32)
    parent = np.full(num_vertices, -1, np.int32)
    parent[order] = order
    return Paths(order, parent, Column(np.zeros(len(order), np.int64)))


def _found(
    G: BackendGraph,
    column: Column,
    distance: np.ndarray,
    order: np.ndarray,
    parent: np.ndarray,
    arc: np.ndarray,
    bound: Any = None,
) -> Paths:
    """What Dijkstra's search found, none of it farther than a bound."""
    older = VERSION < SORTED_SINCE
    seen = partial(_as_seen, G, column.values, distance, order, parent, bound) if older else None
    return Paths(order, parent, _as_summed(distance, order, parent, arc, column), seen)


def _as_seen(
    G: BackendGraph,
    lengths: np.ndarray,
    distance: np.ndarray,
    order: np.ndarray,
    parent: np.ndarray,
    bound: Any,
) -> np.ndarray:
    """The vertices in the order in which Dijkstra's search first sees them: the sources, then the heads of arcs that
    are no longer than the bound allows, in the order in which their tails are reached."""
    offsets, heads = G.rows.offsets, G.rows.targets
    turn = np.full(len(parent), -1)
    turn[order] = np.arange(len(order))
    tails = np.repeat(np.arange(len(parent)), np.diff(offsets))
    arcs = np.flatnonzero(turn[tails] >= 0)
    if bound is not None:
        arcs = arcs[distance[tails[arcs]] + lengths[arcs] <= bound]
    arcs = arcs[np.argsort(turn[tails[arcs]], kind="stable")]
    sources = order[parent[order] == order]
    found = np.concatenate([sources, heads[arcs]])
    return found[np.sort(np.unique(found, return_index=True)[1])]


def _as_summed(
    distance: np.ndarray, order: np.ndarray, parent: np.ndarray, arc: np.ndarray, column: Column
) -> Column:
    """Distances in this order. NetworkX starts with the integer 0 and adds up, so a distance is an integer if all
    lengths on its path are."""
    if column.values.dtype == np.int64:
        return Column(distance[order])
    are_sources = parent[order] == order
    if column.whole is None:
        return Column(distance[order], are_sources)
    whole, above = np.ones(len(parent), np.bool_), np.arange(len(parent))
    whole[order], above[order] = are_sources | column.whole[arc[order]], parent[order]
    while (above != above[above]).any():  # of the path up to `above`, without that, all are known
        whole, above = whole & whole[above], above[above]
    return Column(distance[order], whole[order])


def dijkstra_between(G: BackendGraph, source: int, target: int, weight: Any) -> tuple[Any, list[int]] | None:
    """The length of the path that searches from both ends find, and its vertices; None if there is none."""
    column, n = lengths_of(G, weight), len(G)
    if source == target:
        return 0, [source]
    values, into, room = column.values, G.in_rows, (2, len(column.values) + 1)
    _, turns, vertices = heaps = [np.zeros(room, kind) for kind in (values.dtype, np.int64, np.int32)]
    vertices[:, 0], turns[1, 0] = (source, target), 1
    seen, done, step = (
        np.zeros((2, n), values.dtype),
        np.zeros((2, n), np.uint8),
        np.full((2, n), -1, np.int32),
    )
    step[0, source], step[1, target] = source, target
    found = meeting, total = np.array([-1]), np.zeros(1, values.dtype)
    backwards = into.offsets, into.targets, values[G.in_arcs] if G.is_directed() else values
    alone(search_both_ways_by_length, G.rows, values, *backwards, *heaps, seen, step, done, *found)
    if meeting[0] < 0:
        return None
    middle = int(meeting[0])
    path = [*reversed(walk(step[0], middle)), *walk(step[1], middle)[1:]]
    return python_numbers(total, _all_whole(G, path, column))[0], path


def _all_whole(G: BackendGraph, path: list[int], column: Column) -> np.ndarray | None:
    """Whether all lengths on a path are integers, shape (1,); None if all of the graph are of one kind."""
    if column.whole is None:
        return None
    offsets, targets = G.rows.offsets, G.rows.targets
    row = [slice(*offsets[v : v + 2].tolist()) for v in path[:-1]]
    arcs = [part.start + int(np.argmax(targets[part] == u)) for part, u in zip(row, path[1:], strict=True)]
    return np.array([column.whole[arcs].all()])


def bellman_ford(G: BackendGraph, source: int, weight: Any) -> Paths:
    """Bellman and Ford's paths from a source. Raises NetworkXUnbounded for a negative cycle."""
    column, n, entries = lengths_of(G, weight, signed=True), len(G), _ENTRIES * (len(G.rows.targets) + 1)
    ended = TOO_SMALL
    while ended == TOO_SMALL:
        order, queue, parent = np.full((3, n), -1, np.int32)
        arc, first, last = np.full((3, n), -1)
        distance, waits, times, found = (
            np.zeros(length, dtype)
            for length, dtype in ((n, column.values.dtype), (n, np.uint8), (n, np.int64), (2, np.int64))
        )
        order[0] = queue[0] = parent[source] = source
        waits[source] = 1
        paths, lists = (
            (distance, order, parent, arc),
            (np.empty(entries, np.int32), np.empty(entries, np.int64)),
        )
        alone(relax_in_turn, G.rows, column.values, *paths, queue, waits, times, first, last, *lists, found)
        (ended, reached), entries = found.tolist(), 4 * entries
    if ended == NEGATIVE:
        raise nx.NetworkXUnbounded("Negative cycle detected.")
    assert ended == DONE
    return Paths(order[:reached], parent, _as_summed(distance, order[:reached], parent, arc, column))
