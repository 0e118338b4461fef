"""Shortest paths from several sources and within bounds on a GPU: as on the CPU. These tests need an NVIDIA GPU."""

import numpy as np
import pytest
from bounded_cases import GRAPHS, compare, compare_negative, same
from gpu_cases import LARGE

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("seed", range(0, GRAPHS, 8))
def test_drawn_graphs(seed):
    for each in range(seed, seed + 8):
        compare(each)
    compare_negative(seed)


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("weighted", [True, False])
def test_large_graphs(name, weighted):
    graph = LARGE[name]()
    random = np.random.default_rng(len(name))
    sources = random.choice(graph.num_vertices, 40).tolist()
    everywhere = same(graph, sources, {}, weighted=weighted)
    reached = everywhere.distance[everywhere.distance < np.iinfo(everywhere.distance.dtype).max]
    middle = int(np.median(reached))
    for target in random.choice(graph.num_vertices, 4).tolist():
        same(graph, sources, {}, weighted=weighted, target=target)
        same(graph, sources[:1], {}, weighted=weighted, target=target, max_distance=middle)
    for bound in (0, middle, int(reached.max())):
        got = same(graph, sources, {}, weighted=weighted, max_distance=bound)
        assert got.verify(graph)
