"""What tests of the algorithms on a GPU share."""

import battery
import numpy as np

import edgewise as ew

SMALL = battery.graphs()
#: Frontiers that stay in the blocks, that overflow them, and that are pulled; vertices with more arcs than one lane,
#: one warp or one block takes alone.
LARGE = {
    "path": lambda: ew.generate.path(5000, weights=(0, 3)),
    "star": lambda: ew.generate.star(200_000, weights=(1, 9)),
    "lattice": lambda: ew.generate.lattice(300, 400, seed=3, weights=(0, 20)),
    "one-way streets": lambda: ew.generate.lattice(200, 200, one_way=0.3, seed=4, weights=(1, 100)),
    "hubs": lambda: ew.generate.rmat(17, 24, seed=5, weights=(0, 20)),
    "uniform": lambda: ew.generate.uniform(60_000, 900_000, seed=7, weights=(1, 1000)),
    "sparse": lambda: ew.generate.uniform(100_000, 90_000, seed=8, weights=(1, 10)),
}


def graphs():
    """Small graphs, the same with other weights or none or undirected, and random ones."""
    for name, graph in SMALL.items():
        if graph.num_vertices == 0:
            continue
        yield name, graph
        arcs = (graph.sources, graph.targets)
        for dtype in (np.int64, np.float32, np.float64):
            weights = graph.weights.astype(dtype) / (4 if dtype != np.int64 else 1)
            yield (
                f"{name} {dtype.__name__}",
                ew.Graph.from_edges(*arcs, weights.astype(dtype), num_vertices=graph.num_vertices),
            )
        yield f"{name} bare", ew.Graph.from_edges(*arcs, num_vertices=graph.num_vertices)
        yield (
            f"{name} both ways",
            ew.Graph.from_edges(*arcs, graph.weights, False, num_vertices=graph.num_vertices),
        )
    for seed in range(40):
        random = np.random.default_rng(seed)
        n = int(random.integers(2, 3000))
        m = int(random.integers(0, 6 * n))
        weights = random.integers(0, int(random.integers(1, 50)), m)
        yield (
            f"random {seed}",
            ew.Graph.from_edges(*random.integers(0, n, (2, m)), weights, bool(seed % 3), num_vertices=n),
        )


def same(name, got, expected, *attributes):
    for attribute in attributes:
        np.testing.assert_array_equal(
            getattr(got, attribute), getattr(expected, attribute), err_msg=f"{name}: {attribute}"
        )


FOREST = ("source_index", "target_index", "weight", "num_components")


def chain_of_cycles(length, count, order):
    """Cycles, each with an arc to the next; the vertices get numbers in the order that is given."""
    v = np.arange(length * count)
    turns, last = np.where(v % length == length - 1, v - length + 1, v + 1), v[length - 1 : -1 : length]
    return ew.Graph.from_edges(order[np.r_[v, last]], order[np.r_[turns, last + 1]], num_vertices=len(v))


def as_program(algorithm, graph, *args, balance, delivery="auto", **options):
    """The result of an algorithm on the GPU by a strategy, verified."""
    got = algorithm(graph, *args, device="cuda", schedule=ew.Schedule(delivery, balance=balance), **options)
    assert balance == "auto" or f"balance {balance}" in got.explain()
    assert got.verify(graph)
    return got
