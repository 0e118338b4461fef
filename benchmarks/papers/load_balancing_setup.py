"""What the reproduction of the paper on load balancing compares: graphs, strategies, and the files of these."""

from collections.abc import Callable
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.graphs import GTGRAPH

#: With these the largest degree of rmat20 is about the 1,181 of the paper, which GTGRAPH's do not give.
SKEWED = (0.48, 0.16, 0.16, 0.20)
GRAPH500 = (0.57, 0.19, 0.19, 0.05)
#: The number of vertices; sources, targets and weights of edges on the GPU.
Columns = tuple[int, tuple[Any, ...]]
STRATEGIES: dict[str, Any] = {
    "BS": ew.ThreadMapped(),
    "EP": ew.EdgeBased(),
    "EP, by vertex": ew.EdgeBased("vertex"),
    "EP, no chunking": ew.EdgeBased(chunking=False),
    "WD": ew.WorkloadDecomposition(),
    "NS": ew.NodeSplitting(),
    "HP": ew.HierarchicalProcessing(),
    "automatic": "auto",
}
#: The file of each strategy.
FILES = {
    "BS": "grouped",
    "EP": "edge_based",
    "WD": "workload_decomposition",
    "NS": "node_splitting",
    "HP": "hierarchical",
}


def rmat_on_gpu(scale: int, edges: int, seed: int, quadrants: tuple[float, ...]) -> Columns:
    """R-MAT with shuffled vertices and weights from 1 to 100, made on the GPU."""
    import cupy

    random = cupy.random.RandomState(seed)
    names = random.permutation(1 << scale).astype(np.int32)
    a, b, c, _ = quadrants
    ends = cupy.zeros((2, edges), np.int32)
    for begin in range(0, edges, 1 << 24):
        part = ends[:, begin : begin + (1 << 24)]
        for _ in range(scale):
            drawn = random.random_sample(part.shape[1], np.float32)
            part *= 2
            part[0] += drawn >= a + b
            part[1] += ((drawn >= a) & (drawn < a + b)) | (drawn >= a + b + c)
    weights = random.randint(1, 101, edges).astype(np.int32)
    return 1 << scale, (names[ends[0]], names[ends[1]], weights)


def road(name: str) -> Columns:
    """A road network with the weights of its golden answers, on the GPU."""
    import cupy

    from tests.golden import load as golden

    graph = golden(name).graph
    ends = (graph.sources, graph.targets, graph.weights)
    return graph.num_vertices, tuple(cupy.asarray(column.astype(np.int32)) for column in ends)


def uniform_on_gpu(vertices: int, edges: int, seed: int) -> Columns:
    """Random pairs of vertices with weights from 1 to 100, made on the GPU."""
    import cupy

    random = cupy.random.RandomState(seed)
    ends = [random.randint(0, vertices, edges).astype(np.int32) for _ in range(2)]
    weights = random.randint(1, 101, edges).astype(np.int32)
    return vertices, (*ends, weights)


GRAPHS: dict[str, Callable[[], Columns]] = {
    "rmat20": lambda: rmat_on_gpu(20, 8_260_000, 1, GTGRAPH),
    "rmat20-skewed": lambda: rmat_on_gpu(20, 8_260_000, 1, SKEWED),
    "ER20": lambda: uniform_on_gpu(1 << 20, 4_190_000, 1),
    "ER23": lambda: uniform_on_gpu(1 << 23, 33_550_000, 1),
    "road-NY": lambda: road("road-NY"),
    "road-FLA": lambda: road("road-FLA"),
    "road-NE": lambda: road("road-NE"),
    **{
        f"graph500-{seed}": (lambda seed=seed: rmat_on_gpu(24, 335_000_000, seed, GRAPH500))
        for seed in (1, 2, 3)
    },
}
