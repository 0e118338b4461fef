"""What strongly connected components on a GPU do between phases: passes over all vertices, or over those that are left.

Each pass fills a list for the phase that follows, see `cuda`. A barrier of all threads has to follow it.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.components.cuda import SAMPLE, link
from edgewise.algorithms.scc.cuda_supersteps import (
    BACK,
    BOTH,
    COLLECTED,
    LEFT,
    VERTEX,
    priority,
    put,
)
from edgewise.kernels.cuda.device import (
    atomic_add,
    atomic_max,
    atomic_min,
    block_barrier,
    block_size,
    block_thread,
    device_function,
    lane,
    num_threads,
    thread_index,
    warp_max,
    warp_min,
)
from edgewise.primitives.control import TURNS, control_words
from edgewise.primitives.deal import append, degree

#: Words of `control`. In turns: the pieces and arcs of a list, whether the run is to end; the vertices of two lists.
#: Then the vertex with the most arcs, see `vote`; the lowest vertex that both searches reached; how many both did;
#: components that were found by colours, and all.
CONTROL = control_words()
PIECES, ARCS, ENDED = CONTROL.take_line(TURNS), CONTROL.take(TURNS), CONTROL.take(TURNS)
REST = CONTROL.take(2)
PIVOT, LEAST, REACHED, ROOTS, FOUND = (CONTROL.take() for _ in range(5))
#: Arcs of each vertex that are looked at for one back.
LINK_ARCS = 4


class Round(NamedTuple):
    """Vertices that are left: a list that is read, and one that is made.

    Attributes:
        rest, count: uint32: the vertices, and how many they are.
        next_rest, control, counter: the list that is made, and the word that counts its entries.
    """

    rest: Any
    count: Any
    next_rest: Any
    control: Any
    counter: Any


@device_function
def _entry(i: Any, around: Any) -> Any:
    """A vertex that is left, and whether the list has one at this place."""
    if i < around.count:
        return np.int64(around.rest[i]), True
    return np.int64(0), False


@device_function
def _leads_back(v: Any, target: Any, graph: Any) -> Any:
    """Whether there is an arc from target to v: in-edges are in the order of their sources."""
    low, end = np.int64(graph.in_offsets[v]), np.int64(graph.in_offsets[v + 1])
    high = end
    while low < high:
        middle = (low + high) // 2
        if np.int64(graph.in_sources[middle]) < target:
            low = middle + 1
        else:
            high = middle
    return low < end and np.int64(graph.in_sources[low]) == target


@device_function
def mostly_both_ways(n: Any, graph: Any, seen: Any) -> Any:
    """Whether at least half of a sample of arcs go both ways; every block finds the same. `seen` is shared by it."""
    for i in range(block_thread(), 2, block_size()):
        seen[i] = 0
    block_barrier()
    for i in range(block_thread(), SAMPLE, block_size()):
        v = (2 * i + 1) * n // (2 * SAMPLE)
        k, arcs = np.int64(graph.offsets[v]), degree(v, graph.offsets)
        if arcs > 0:
            target = np.int64(graph.targets[k + arcs // 2])
            atomic_add(seen, 0, np.int32(1))
            if target != v and _leads_back(v, target, graph):
                atomic_add(seen, 1, np.int32(1))
    block_barrier()
    return seen[0] > 0 and 2 * seen[1] >= seen[0]


@device_function
def fill(n: Any, state: Any, listing: Any, block: Any) -> Any:
    """Fill the arrays, and take away vertices without an arc in or out; how many arcs this thread listed."""
    graph, listed = listing.graph, np.int64(0)
    for begin in range(thread_index() - lane(), n, num_threads()):
        v, into, out = begin + lane(), np.int64(1), np.int64(1)
        if v < n:
            into, out = degree(v, graph.in_offsets), degree(v, graph.offsets)
            state.counts[v] = into
            state.counts[n + v] = out
            state.component[v] = v if min(into, out) == 0 else LEFT
            state.group[v] = 0
            state.mark[v] = v
        listed += put(v, min(into, out) == 0 and max(into, out) > 0, block, listing)
    return listed


@device_function
def vote(n: Any, state: Any, control: Any) -> None:
    """Find the vertex that has the most arcs in or out among those left, whichever are fewer; of several the lowest."""
    best = np.int64(0)
    for v in range(thread_index(), n, num_threads()):
        if state.component[v] == LEFT:
            arcs = np.int64(min(state.counts[v], state.counts[n + v]))
            best = max(best, arcs << 32 | (VERTEX - v))
    best = warp_max(best)
    if lane() == 0 and best > 0:
        atomic_max(control, PIVOT, best)


@device_function
def join_both_ways(n: Any, graph: Any, mark: Any) -> None:
    """Join the trees of vertices with arcs both ways between them, of the first arcs of each vertex."""
    for v in range(thread_index(), n, num_threads()):
        start, end = np.int64(graph.offsets[v]), np.int64(graph.offsets[v + 1])
        for k in range(start, min(end, start + LINK_ARCS)):
            target = np.int64(graph.targets[k])
            if target > v and _leads_back(v, target, graph):
                link(v, target, mark)


@device_function
def list_sources(n: Any, tree: Any, state: Any, listing: Any, block: Any) -> Any:
    """List the vertices of a tree, from which both searches begin; how many arcs this thread listed."""
    listed = np.int64(0)
    for begin in range(thread_index() - lane(), n, num_threads()):
        v, wanted = begin + lane(), False
        if v < n:
            wanted = bool(state.mark[v] == tree)
        if wanted:
            state.component[v] = BOTH
        listed += put(v, wanted, block, listing)
        listed += put(v | BACK, wanted, block, listing)
    return listed


@device_function
def split(n: Any, state: Any, around: Any, listing: Any, block: Any) -> Any:
    """List the vertices that not both searches reached, in groups; how many both did, as this thread saw."""
    lowest, reached = n, np.int64(0)
    for begin in range(thread_index() - lane(), n, num_threads()):
        v, seen = begin + lane(), np.int64(0)
        if v < n:
            seen = np.int64(state.component[v])
        is_left = seen < 0 and seen != BOTH
        if is_left:
            state.group[v] = -1 - seen
            _empty(v, state)
        elif seen == BOTH:
            lowest = min(lowest, v)
            reached += 1
        append(around.next_rest, around.control, around.counter, v, is_left)
        put(v, is_left, block, listing)
    lowest = warp_min(lowest)
    if lane() == 0:
        atomic_min(around.control, LEAST, lowest)
    return reached


@device_function
def _empty(v: Any, state: Any) -> None:
    """Leave a vertex for another round, its arcs not counted yet."""
    state.component[v] = LEFT
    state.counts[v] = 0
    state.counts[len(state.component) + v] = 0


@device_function
def free(state: Any, around: Any, listing: Any, block: Any) -> None:
    """Take away vertices without an arc in or out inside their group."""
    n = len(state.component)
    for begin in range(thread_index() - lane(), around.count, num_threads()):
        v, given = _entry(begin + lane(), around)
        wanted = given and bool(min(state.counts[v], state.counts[n + v]) == 0)
        if wanted:
            state.component[v] = v
        put(v, wanted, block, listing)


@device_function
def give_colours(state: Any, around: Any, listing: Any, block: Any) -> None:
    """Let vertices that are left have their own priorities as colours."""
    for begin in range(thread_index() - lane(), around.count, num_threads()):
        v, given = _entry(begin + lane(), around)
        is_left = given and bool(state.component[v] == LEFT)
        if is_left:
            state.colour[v] = priority(v)
            state.mark[v] = -1
        append(around.next_rest, around.control, around.counter, v, is_left)
        put(v, is_left, block, listing)


@device_function
def begin_at_roots(state: Any, around: Any, listing: Any, block: Any) -> Any:
    """Begin to collect at vertices that kept their own priority; how many this thread saw."""
    roots = np.int64(0)
    for begin in range(thread_index() - lane(), around.count, num_threads()):
        v, given = _entry(begin + lane(), around)
        is_root = given and bool(state.colour[v] == priority(v))
        if is_root:
            state.component[v] = COLLECTED
            state.counts[v] = VERTEX
            roots += 1
        put(v | BACK, is_root, block, listing)
    return roots


@device_function
def lower_roots(state: Any, around: Any) -> None:
    """Find the smallest vertex of each component that was collected."""
    for i in range(thread_index(), around.count, num_threads()):
        v = np.int64(around.rest[i])
        root = state.colour[v] & VERTEX
        if state.component[v] == COLLECTED and v < state.counts[root]:
            atomic_min(state.counts, root, np.int32(v))


@device_function
def next_round(state: Any, around: Any, listing: Any, block: Any) -> None:
    """Label what was collected; the colours of all others are their groups from now on."""
    for begin in range(thread_index() - lane(), around.count, num_threads()):
        v, given = _entry(begin + lane(), around)
        is_left = given and bool(state.component[v] == LEFT)
        if is_left:
            state.group[v] = state.colour[v]
            _empty(v, state)
        elif given:
            state.component[v] = state.counts[state.colour[v] & VERTEX]
        append(around.next_rest, around.control, around.counter, v, is_left)
        put(v, is_left, block, listing)


@device_function
def finish(n: Any, component: Any, least: Any) -> Any:
    """Label what both searches reached; how many components this thread saw."""
    found = np.int64(0)
    for v in range(thread_index(), n, num_threads()):
        if component[v] == BOTH:
            component[v] = least
        found += component[v] == v
    return found
