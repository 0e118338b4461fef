"""Run the algorithms on a GPU that tests/simulator.py pretends, and compare them with the CPU."""

import numpy as np
from simulator import pretend

import edgewise as ew
from edgewise.graph.gpu_rows import build

GRAPHS = {
    "one vertex": ew.Graph.from_edges([], [], np.empty(0, np.int32), num_vertices=1),
    "star out": ew.Graph.from_edges([0] * 67, range(1, 68), [1] * 67),
    "many to one": ew.Graph.from_edges([*range(1, 18), 0], [0] * 17 + [3], range(18)),
    "path": ew.generate.path(12, weights=(0, 3)),
    "random": ew.generate.uniform(12, 40, seed=1, weights=(1, 9)),
    "apart": ew.generate.uniform(20, 14, seed=2, weights=(1, 9)),
    "both ways": ew.generate.uniform(15, 25, seed=3, directed=False, weights=(1, 9)),
}


def same(got, expected, *attributes):
    """Assert that two results are the same in these arrays."""
    for attribute in attributes:
        np.testing.assert_array_equal(
            getattr(got, attribute), getattr(expected, attribute), err_msg=attribute
        )


def compare(graph):
    """Compare all algorithms on a graph with the CPU."""
    for delivery in ("auto", ew.Push(), ew.Pull()):
        schedule = ew.Schedule(delivery=delivery)
        got, expected = (ew.bfs(graph, 0, device=device, schedule=schedule) for device in ("cuda", "cpu"))
        same(got, expected, "level", "parent_index", "supersteps")
    for delta in ("auto", 2.0):
        got, expected = (ew.sssp(graph, 0, device=device, delta=delta) for device in ("cuda", "cpu"))
        same(got, expected, "distance", "parent_index")
    got, expected = (ew.connected_components(graph, device=device) for device in ("cuda", "cpu"))
    same(got, expected, "component", "num_components")
    for weighted in (False, True):
        options = {"max_iterations": 3, "weighted": weighted}
        got, expected = (ew.pagerank(graph, device=device, **options) for device in ("cuda", "cpu"))
        np.testing.assert_allclose(got.rank, expected.rank, rtol=1e-12)
        assert got.verify(graph)
    got, expected = (ew.pagerank(graph, device=device, tol=0, max_iterations=4) for device in ("cuda", "cpu"))
    np.testing.assert_allclose(got.residual, expected.residual, rtol=1e-9, atol=1e-15)


def compare_huge_weights():
    """Distances near the largest integer, and a width beyond it."""
    graph = ew.Graph.from_edges(range(9), range(1, 10), np.full(9, 9 * 10**17))
    for delta in (2e18, 1e19):
        got, expected = (ew.sssp(graph, 0, device=device, delta=delta) for device in ("cuda", "cpu"))
        same(got, expected, "distance", "parent_index")


def compare_building():
    """Rows and columns from edge arrays, in the order of the input."""
    source, target = np.random.default_rng(4).integers(0, 30, (2, 200))
    for weights in (None, np.arange(200)):
        expected = ew.Graph.from_edges(source, target, weights, num_vertices=31)
        for ids in (np.int32, np.uint64):
            rows, _, loops = build(
                source.astype(ids), target.astype(ids), weights, 31, both_directions=False, drop_loops=False
            )
            assert loops == np.count_nonzero(source == target)
            columns = rows.transposed()
            for made, names in (
                (rows, ("offsets", "targets", "weights")),
                (columns, ("in_offsets", "in_sources", "in_weights")),
            ):
                for got, name in zip(made.on_gpu.values(), names, strict=True):
                    np.testing.assert_array_equal(got, getattr(expected, name), err_msg=name)


def main():
    """Print the name of each graph on which all agreed; the exit code is 1 where one does not."""
    pretend()
    for name, graph in GRAPHS.items():
        compare(graph)
        print(name, flush=True)
    compare_huge_weights()
    compare_building()


if __name__ == "__main__":
    main()
