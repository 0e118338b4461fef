"""Dependencies of some sources, topological order, and triangles of directed graphs."""

from typing import Any

import numpy as np

from edgewise.kernels.cpu.team import cancelled, team_kernel

#: Vertices between two looks at whether the run was cancelled.
_LOOK = 1 << 14
_ONE = np.uint64(1)


@team_kernel
def add_dependencies(
    thread: Any,
    size: Any,
    control: Any,
    in_offsets: Any,
    in_sources: Any,
    in_lengths: Any,
    in_edges: Any,
    order: Any,
    distance: Any,
    is_target: Any,
    paths: Any,
    delta: Any,
    on_edges: Any,
) -> None:
    """Add the dependencies of one source on edges, counting paths to some targets only. What a vertex that is no target
    passes on is shared equally among those before it, as NetworkX does it for edges.

    Args:
        in_lengths, in_edges: of each entry of `in_sources`, the length and the number of its edge.
        order: int32, shape (reached,): the source, and all that can be reached, in the order of their distances.
        distance: shape (n,): negative for what was not reached.
        is_target: uint8, shape (n,).
        paths, delta: float64, shape (n,): 0; the numbers of shortest paths, and the dependencies.
        on_edges: float64: what is added to.
    """
    paths[np.uint64(order[0])] = 1.0
    for place in range(_ONE, np.uint64(len(order))):
        w = np.uint64(order[place])
        for k in range(np.uint64(in_offsets[w]), np.uint64(in_offsets[w + _ONE])):
            v = np.uint64(in_sources[k])
            if distance[v] >= 0 and distance[v] + in_lengths[k] == distance[w]:
                paths[w] += paths[v]
        if place % _LOOK == 0 and cancelled(control):
            return
    for place in range(np.uint64(len(order)) - _ONE, np.uint64(0), -1):
        w = np.uint64(order[place])
        before = 0
        for k in range(np.uint64(in_offsets[w]), np.uint64(in_offsets[w + _ONE])):
            v = np.uint64(in_sources[k])
            before += distance[v] >= 0 and distance[v] + in_lengths[k] == distance[w]
        for k in range(np.uint64(in_offsets[w]), np.uint64(in_offsets[w + _ONE])):
            v = np.uint64(in_sources[k])
            if distance[v] >= 0 and distance[v] + in_lengths[k] == distance[w]:
                share = paths[v] / paths[w] * (1.0 + delta[w]) if is_target[w] else delta[w] / before
                delta[v] += share
                on_edges[np.uint64(in_edges[k])] += share


@team_kernel
def peel_generations(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    waiting: Any,
    order: Any,
    starts: Any,
    found: Any,
) -> None:
    """The vertices whose predecessors have all been taken, generation by generation.

    Args:
        waiting: int64, shape (n,): the in-degree of each vertex.
        order: int32, shape (n,): first the vertices without predecessors.
        starts: int64, shape (n + 2,): where each generation begins in `order`; after the last, where that ends.
        found: int64, shape (2,): the numbers of vertices in `order` and of generations.
    """
    begin, end, generation = np.uint64(0), np.uint64(found[0]), np.int64(0)
    starts[0] = 0
    while begin < end:
        last = end
        for place in range(begin, last):
            v = np.uint64(order[place])
            for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
                u = np.uint64(targets[k])
                waiting[u] -= 1
                if waiting[u] == 0:
                    order[end] = u
                    end += _ONE
            if place % _LOOK == 0 and cancelled(control):
                return
        begin = last
        generation += 1
        starts[generation] = begin
    found[0], found[1] = end, generation


@team_kernel
def add_triangles(
    thread: Any, size: Any, control: Any, offsets: Any, targets: Any, times: Any, mark: Any, found: Any
) -> None:
    """Count the triangles through each vertex, each as often as there are ways to choose its edges.

    Args:
        offsets, targets: each edge at one of its ends, so that there is no cycle; best at that of lower degree.
        times: int64: how often there is each edge.
        mark: int64, shape (n,): 0; it is 0 again afterwards.
        found: int64, shape (n,): what is added to.
    """
    for u in range(np.uint64(len(found))):
        if u % _LOOK == 0 and cancelled(control):
            return
        first, last = np.uint64(offsets[u]), np.uint64(offsets[u + _ONE])
        for k in range(first, last):
            mark[np.uint64(targets[k])] = times[k]
        for k in range(first, last):
            v = np.uint64(targets[k])
            for i in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
                w = np.uint64(targets[i])
                here = times[k] * times[i] * mark[w]
                found[u] += here
                found[v] += here
                found[w] += here
        for k in range(first, last):
            mark[np.uint64(targets[k])] = 0
