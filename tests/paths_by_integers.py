"""Dependencies with counts of shortest paths as Python integers, which have no largest: slow, and plain to read."""

import heapq

import numpy as np


def dependencies(graph, sources, *, weighted=False, endpoints=False):
    """The sums over sources on vertices, shape (n,), and on arcs, shape (m,)."""
    lengths = graph.weights.tolist() if weighted else [1] * graph.num_arcs
    out = [[] for _ in range(graph.num_vertices)]
    ends = zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)
    for arc, (v, u) in enumerate(ends):
        out[v].append((arc, u, lengths[arc]))
    on_vertices, on_arcs = np.zeros(graph.num_vertices), np.zeros(graph.num_arcs)
    for source in sources:
        distance, order = _distances(out, source)
        count = dict.fromkeys(order, 0)
        count[source] = 1
        for v in order:
            for _, u, length in out[v]:
                if distance[u] == distance[v] + length:
                    count[u] += count[v]
        dependency = dict.fromkeys(order, 0.0)
        for v in reversed(order):
            for arc, u, length in out[v]:
                if distance[u] == distance[v] + length:
                    share = count[v] / count[u] * (1 + dependency[u])
                    dependency[v] += share
                    on_arcs[arc] += share
            if v != source:
                on_vertices[v] += dependency[v] + endpoints
        on_vertices[source] += endpoints * (len(order) - 1)
    return on_vertices, on_arcs


def _distances(out, source):
    """The distance of each vertex that is reached, and these vertices in the order of distances."""
    distance, order, waiting = {}, [], [(0, source)]
    while waiting:
        reached, v = heapq.heappop(waiting)
        if v not in distance:
            distance[v] = reached
            order.append(v)
            for _, u, length in out[v]:
                heapq.heappush(waiting, (reached + length, u))
    return distance, order
