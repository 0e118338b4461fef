"""Small graphs that each expose a bug, and the schedules that every program is tried with."""

import numpy as np
from hypothesis import strategies as st

import edgewise as ew
from edgewise import Graph

SCHEDULES = {
    "auto": ew.Schedule(),
    "one thread": ew.Schedule(num_threads=1),
    "three threads": ew.Schedule(num_threads=3),
    "push": ew.Schedule(delivery=ew.Push(), num_threads=2),
    "pull": ew.Schedule(delivery=ew.Pull(), num_threads=2),
}


def _graph(pairs, n, weights=None, directed=True):
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    if weights is None:
        weights = 1 + np.arange(len(source)) % 7
    return Graph.from_edges(source, target, np.asarray(weights, np.int32), directed, num_vertices=n)


def _heavy_row(n=700):
    """One vertex with arcs to all others among vertices with one arc each."""
    return [(5, v) for v in range(n) if v != 5] + [(v, (v + 1) % n) for v in range(n)]


def _random(n, m, seed):
    return np.random.default_rng(seed).integers(0, n, (m, 2))


def graphs():
    """Name -> graph. Weights are int32."""
    path = [(v, v + 1) for v in range(299)]
    return {
        "no vertices": _graph([], 0),
        "one vertex": _graph([], 1),
        "one vertex with a loop": _graph([(0, 0)], 1),
        "no edges": _graph([], 33),
        "self-loops": _graph([(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)], 3),
        "parallel edges": _graph([(0, 1), (0, 1), (1, 2), (0, 1)], 3, [5, 2, 1, 9]),
        "star out": _graph([(0, v) for v in range(1, 66)], 66),
        "star in": _graph([(v, 0) for v in range(1, 66)], 66),
        "long path": _graph(path, 300),
        "long path backwards": _graph([(b, a) for a, b in path], 300),
        "disconnected": _graph([(0, 1), (1, 0), (2, 3), (3, 2)], 6),
        "heavy row": _graph(_heavy_row(), 700),
        "duplicate weights": _graph(_random(40, 200, 1), 40, np.ones(200)),
        "zero weights": _graph(_random(40, 120, 2), 40, np.arange(120) % 2),
        "isolated vertices": _graph([(10, 20), (20, 30)], 50),
        "just over a warp": _graph(_random(33, 100, 3), 33),
        "just over a block": _graph(_random(257, 2000, 4), 257),
        "undirected": _graph(_random(60, 150, 5), 60, directed=False),
        "larger than one range": _graph(_random(2500, 15000, 6), 2500),
    }


def sizes(few):
    """Numbers of vertices: a few, more than a warp has lanes, more than two threads are given at a time."""
    return st.one_of(st.integers(1, few), st.integers(few, 300), st.integers(2049, 2200))
