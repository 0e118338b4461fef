"""Dependencies with counts of shortest paths as Python integers, which have no largest: slow, and plain to read. And
graphs to find them on."""

import heapq

import networkx as nx
import numpy as np
from hypothesis import strategies as st

import edgewise as ew

WEIGHTS = ("int32", "int64", "float32", "float64")


def dependencies(graph, sources, *, targets=None, weighted=False, endpoints=False):
    """The sums over sources on vertices, shape (n,), and on arcs, shape (m,); of paths to targets, if there are any."""
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
                    ends = targets is None or u in targets
                    share = count[v] / count[u] * (ends + dependency[u])
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


@st.composite
def _drawn_graphs(draw):
    n, dtype = draw(st.integers(1, 20)), np.dtype(draw(st.sampled_from(WEIGHTS)))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    edges = np.array(draw(st.lists(ends, max_size=3 * n)), np.int64).reshape(-1, 2)
    numbers = np.array(draw(st.lists(st.integers(1, 5), min_size=len(edges), max_size=len(edges))), np.int64)
    weights = (numbers / 10 if dtype.kind == "f" else numbers).astype(dtype)
    return ew.Graph.from_edges(*edges.T, weights, directed=draw(st.booleans()), num_vertices=n)


#: Small graphs with weights of every dtype, floats in tenths: many paths are equally long, some only but for rounding.
drawn_graphs = _drawn_graphs()


def drawn_for_networkx(seed, directed):
    """A graph without parallel edges, and the same as one of NetworkX."""
    drawn = np.random.default_rng(seed)
    known = nx.gnm_random_graph(12, int(drawn.integers(10, 40)), seed=seed, directed=directed)
    ends = np.array(known.edges).reshape(-1, 2)
    weights = drawn.integers(1, 6, len(ends)) if seed % 2 else drawn.integers(1, 6, len(ends)) / 10
    for (v, u), weight in zip(ends.tolist(), weights.tolist(), strict=True):
        known.edges[v, u]["weight"] = weight
    return ew.Graph.from_edges(*ends.T, weights, directed=directed, num_vertices=12), known


def diamonds(count):
    """A chain of squares, each of which doubles the number of shortest paths; square i begins at vertex 3 i."""
    first = 3 * np.arange(count)
    source = np.concatenate([first, first, first + 1, first + 2])
    target = np.concatenate([first + 1, first + 2, first + 3, first + 3])
    return source, target, 3 * count + 1


def two_ways(count, few, many, times=1):
    """A chain of `count` squares, with each edge `times` times. Its end leads to the last vertex by two others, to
    which it has few and many parallel arcs."""
    source, target, n = diamonds(count)
    first, second, last, end = n, n + 1, n + 2, n - 1
    source = np.concatenate([source.repeat(times), [end] * (few + many), [first, second]])
    target = np.concatenate([target.repeat(times), [first] * few, [second] * many, [last, last]])
    return source, target, n + 3
