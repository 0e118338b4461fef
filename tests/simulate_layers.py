"""Graphs in layers on a GPU that tests/simulator.py pretends: the answers of the CPU."""

import itertools

import numpy as np
from simulator import pretend

import edgewise as ew
from edgewise.errors import MemoryLimitError
from edgewise.layout import layers

#: Drawn roots and sources for each graph.
DRAWS = 6


def graphs():
    """Directed and undirected graphs, deep and shallow."""
    yield ew.generate.lattice(9, 9, removed=0.1, weights=(1, 9))
    yield ew.generate.rmat(6, 3, weights=(1, 9))
    yield ew.generate.lattice(7, 7, removed=0.3, directed=False)
    yield ew.generate.rmat(5, 1)
    yield ew.generate.rmat(5, 3, weights=(0, 2), directed=False)


def same(got, expected):
    """Assert that levels and parents are the same."""
    np.testing.assert_array_equal(got.level, expected.level)
    np.testing.assert_array_equal(got.parent_index, expected.parent_index)


def searches(random):
    """Searches from the roots and from other vertices are those without layers."""
    for graph in graphs():
        for _ in range(DRAWS):
            roots, others = (random.integers(0, graph.num_vertices, 2).tolist() for _ in range(2))
            schedule = ew.Schedule(layout=ew.Layered(roots))
            for source in (roots, others):
                for depth in (None, 2):
                    expected = ew.bfs(graph, source, max_depth=depth, device="cpu")
                    got = ew.bfs(graph, source, max_depth=depth, schedule=schedule, device="cuda")
                    assert "layer" in got.explain()
                    same(got, expected)
            again = ew.bfs(graph, roots, device="cuda")
            assert "which the graph keeps" in again.explain()
            same(again, ew.bfs(graph, roots, device="cpu"))


def paths(random):
    """Shortest paths by sweeps are those without layers, whatever the lists."""
    for graph in graphs():
        for edges in (1, 20, None):
            root, source = random.integers(0, graph.num_vertices, 2).tolist()
            schedule = ew.Schedule(layout=ew.Layered(root, min_edges=edges))
            for start in (root, source):
                expected = ew.sssp(graph, start, device="cpu")
                for device in ("cuda", "cpu"):
                    got = ew.sssp(graph, start, schedule=schedule, device=device)
                    assert ("swept" in got.explain()) == (device == "cuda")
                    np.testing.assert_array_equal(got.distance, expected.distance)
                    np.testing.assert_array_equal(got.parent_index, expected.parent_index)


def paths_beyond(random):
    """Shortest paths with the least memory, and with rings that hold a part of a list, or all arcs."""
    for layers.RING_ARCS, layers.STAGE_ARCS in ((1, 1), (64, 16), (16, 64), (10**6, 10**6)):
        for graph, edges in itertools.product(graphs(), (1, 60)):
            root, source = random.integers(0, graph.num_vertices, 2).tolist()
            how = {"schedule": ew.Schedule(layout=ew.Layered(root, min_edges=edges)), "device": "cuda"}
            try:
                ew.sssp(graph, source, memory_limit=0, **how)
            except MemoryLimitError as refused:
                least = int(refused.needed)
            got, expected = (
                ew.sssp(graph, source, memory_limit=least, **how),
                ew.sssp(graph, source, device="cpu"),
            )
            assert "read from the host's memory" in got.explain()
            np.testing.assert_array_equal(got.distance, expected.distance)
            np.testing.assert_array_equal(got.parent_index, expected.parent_index)


if __name__ == "__main__":
    pretend()
    searches(np.random.default_rng(1))
    paths(np.random.default_rng(2))
    paths_beyond(np.random.default_rng(3))
    print("as on the CPU")
