"""The steps of strongly connected components on the CPU, after two searches from one vertex.

A component lies inside one of four sets: vertices reached by both searches, by only one or only the other, or by none.
The first set is a component. In the others, a vertex that has no target, or no source, in its own set is alone. The
rest is small in most graphs; one thread finds its components by a depth-first search, in linear time on every graph.

The depth-first search is Tarjan's as Pearce writes it, with a stack instead of calls. ``low[v]`` is 0 for a vertex
that was not seen, then the lowest number that it is known to reach, and in the end the largest integer: that never
changes a minimum, so vertices of finished components need no test.

References. Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing 1 (1972). Pearce, "A
space-efficient algorithm for finding strongly connected components", Information Processing Letters 116 (2016).
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add, atomic_min
from edgewise.kernels.cpu.team import barrier, cancelled, claim, team_kernel
from edgewise.kernels.words import CPU_LINE, Allocator
from edgewise.primitives.vertices import NO_VERTEX

#: Results of the kernel: the lowest vertex that both searches reached, the number of vertices that both reached, the
#: number of others that are alone, and that of all components.
_FOUND = Allocator(0, CPU_LINE)
LOWEST, BOTH, ALONE, COMPONENTS = (_FOUND.take() for _ in range(4))
FOUND_WORDS = _FOUND.lines_size
#: Vertices handed out at a time; steps of the depth-first search between two looks at whether the run was cancelled.
_PIECE, _LOOK = 1024, 1 << 18

_ONE, _DONE = np.uint64(1), np.uint32(0xFFFFFFFF)
_UNREACHED = NO_VERTEX


class Depth(NamedTuple):
    """The state of a depth-first search over n vertices.

    Attributes:
        low: uint32, shape (n,).
        path, number, following: uint32, uint32 and int64, shape (n,): for each vertex on the current path, the vertex,
            its number in the order of visits, and the next of its arcs.
        waiting: uint32, shape (n,): vertices whose component is not complete, in the order in which they were left.
    """

    low: np.ndarray
    path: np.ndarray
    number: np.ndarray
    following: np.ndarray
    waiting: np.ndarray


def make_depth(num_vertices: int) -> Depth:
    """A search that has not begun. The kernel fills `low`."""
    low, path, number, waiting = (np.empty(num_vertices, np.uint32) for _ in range(4))
    return Depth(low, path, number, np.empty(num_vertices, np.int64), waiting)


def depth_bytes(num_vertices: int) -> int:
    """The memory that a depth-first search may write to."""
    return 24 * num_vertices


@device_function
def _find_both(control: Any, forward: Any, backward: Any, found: Any) -> None:
    """Count the vertices that both searches reached, and find the lowest."""
    n, lowest, count = len(forward), np.int64(len(forward)), np.int64(0)
    while True:
        start = claim(control, 0, _PIECE, n)
        if start == n:
            break
        for v in range(np.uint64(start), np.uint64(min(start + _PIECE, n))):
            if forward[v] != _UNREACHED and backward[v] != _UNREACHED:
                lowest = min(lowest, np.int64(v))
                count += 1
    atomic_min(found, LOWEST, lowest)
    atomic_add(found, BOTH, count)


@device_function
def _has_peer(v: Any, offsets: Any, targets: Any, forward: Any, backward: Any) -> Any:
    """Whether another vertex at the end of an arc of v was reached by the same searches as v."""
    by_forward, by_backward = forward[v] != _UNREACHED, backward[v] != _UNREACHED
    for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
        u = np.uint64(targets[k])
        if u != v and (forward[u] != _UNREACHED) == by_forward and (backward[u] != _UNREACHED) == by_backward:
            return True
    return False


@device_function
def _label(
    control: Any, arcs: Any, forward: Any, backward: Any, low: Any, component: Any, found: Any
) -> None:
    """Label the vertices that both searches reached, and those that are alone."""
    n, alone = len(forward), np.int64(0)
    lowest = np.uint32(found[LOWEST])
    while True:
        start = claim(control, 1, _PIECE, n)
        if start == n:
            break
        for v in range(np.uint64(start), np.uint64(min(start + _PIECE, n))):
            low[v] = _DONE
            if forward[v] != _UNREACHED and backward[v] != _UNREACHED:
                component[v] = lowest
            elif _has_peer(v, arcs.offsets, arcs.targets, forward, backward) and _has_peer(
                v, arcs.in_offsets, arcs.in_sources, forward, backward
            ):
                low[v] = 0
            else:
                component[v] = v
                alone += 1
    atomic_add(found, ALONE, alone)


@device_function
def _close(left: Any, lowest: Any, v: Any, low: Any, waiting: Any, component: Any) -> Any:
    """Complete the component whose first vertex is v: the waiting vertices that reach no lower number. Returns the
    number of vertices that still wait."""
    label, begin = v, left
    while begin > 0 and low[waiting[np.uint64(begin - 1)]] >= lowest:
        begin -= 1
        label = min(label, waiting[np.uint64(begin)])
    for i in range(np.uint64(begin), np.uint64(left)):
        component[waiting[i]] = label
        low[waiting[i]] = _DONE
    component[v] = label
    low[v] = _DONE
    return begin


@device_function
def _search(control: Any, offsets: Any, targets: Any, depth: Any, component: Any) -> Any:
    """Find the components of vertices whose `low` is 0, by one thread. Returns their number."""
    low, path, number, following, waiting = depth
    left, visits, components, steps = np.int64(0), np.uint32(0), np.int64(0), np.int64(0)
    for root in range(np.uint64(len(low))):
        if low[root] != 0:
            continue
        visits = np.uint32(visits + np.uint32(1))
        low[root], path[0], number[0], following[0], height = visits, root, visits, np.int64(offsets[root]), 0
        while height >= 0:
            v = np.uint64(path[np.uint64(height)])
            lowest, k, end = low[v], np.uint64(following[np.uint64(height)]), np.uint64(offsets[v + _ONE])
            entered = False
            while k < end:
                u = targets[k]
                k += _ONE
                if low[u] == 0:
                    following[np.uint64(height)] = k
                    height += 1
                    visits = np.uint32(visits + np.uint32(1))
                    low[u], path[np.uint64(height)], number[np.uint64(height)] = visits, u, visits
                    following[np.uint64(height)] = np.int64(offsets[u])
                    entered = True
                    break
                lowest = min(lowest, low[u])
            low[v] = lowest
            steps += 1
            if steps % _LOOK == 0 and cancelled(control):
                return components
            if entered:
                continue
            if lowest == number[np.uint64(height)]:
                left = _close(left, lowest, np.uint32(v), low, waiting, component)
                components += 1
            else:
                waiting[np.uint64(left)] = v
                left += 1
            height -= 1
            if height >= 0:
                above = np.uint64(path[np.uint64(height)])
                low[above] = min(low[above], low[v])
    return components


@team_kernel
def split(
    thread: Any,
    size: Any,
    control: Any,
    arcs: Any,
    forward: Any,
    backward: Any,
    depth: Any,
    component: Any,
    found: Any,
) -> None:
    """Label each vertex with the lowest index in its strongly connected component, and count the components.

    Args:
        arcs: out-edges and in-edges, see `ArcsBothWays` of `bfs.cpu`.
        forward, backward: uint32, shape (n,): levels of the two searches, the largest integer for vertices not reached.
        depth: see `make_depth`.
        component: uint32, shape (n,), filled here.
        found: int64, the results `LOWEST` to `COMPONENTS`; zeros but for the first, which is n.
    """
    _find_both(control, forward, backward, found)
    if barrier(control, size):
        return
    _label(control, arcs, forward, backward, depth.low, component, found)
    if barrier(control, size):
        return
    if thread == 0:
        rest = _search(control, arcs.offsets, arcs.targets, depth, component)
        found[COMPONENTS] = rest + found[ALONE] + np.int64(found[BOTH] > 0)
