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
            how = {"schedule": ew.Schedule(layout=ew.Layered(root, min_edges=edges))}
            least = least_memory(graph, source, **how)
            got, expected = (
                ew.sssp(graph, source, memory_limit=least, device="cuda", **how),
                ew.sssp(graph, source, device="cpu"),
            )
            assert "read from the host's memory" in got.explain()
            np.testing.assert_array_equal(got.distance, expected.distance)
            np.testing.assert_array_equal(got.parent_index, expected.parent_index)


def least_memory(graph, source, **how):
    """The least memory that shortest paths take on a GPU."""
    try:
        ew.sssp(graph, source, memory_limit=0, device="cuda", **how)
    except MemoryLimitError as refused:
        return int(refused.needed)
    raise AssertionError("no memory is enough")


def sweeps_by_themselves():
    """Beyond the memory, deep layers from the source are swept unasked; not shallow ones, others, or with a delta."""
    deep = ew.generate.lattice(2, 40, removed=0.1, weights=(1, 9))
    shallow = ew.generate.rmat(6, 3, weights=(1, 9))
    for graph in (deep, shallow):
        layered = {"schedule": ew.Schedule(layout=ew.Layered(0))}
        limit = max(least_memory(graph, 0), least_memory(graph, 0, **layered))
        for source, how in ((0, {}), (1, {}), (0, {"delta": 3})):
            got = ew.sssp(graph, source, memory_limit=limit, device="cuda", **how)
            assert "read from the host's memory" in got.explain()
            assert ("swept" in got.explain()) == (graph is deep and source == 0 and not how), got.explain()
            np.testing.assert_array_equal(got.distance, ew.sssp(graph, source, device="cpu").distance)
        assert "swept" not in ew.sssp(graph, 0, device="cuda").explain()


if __name__ == "__main__":
    pretend()
    searches(np.random.default_rng(1))
    paths(np.random.default_rng(2))
    paths_beyond(np.random.default_rng(3))
    sweeps_by_themselves()
    print("as on the CPU")
