"""Core numbers, triangles and topological order on a GPU: the CPU's answers."""

import battery
import numpy as np
import pytest

import edgewise as ew

pytestmark = pytest.mark.gpu

LARGE = {
    "rmat": lambda: ew.generate.rmat(16, 16, seed=2),
    "uniform": lambda: ew.generate.uniform(100_000, 900_000, seed=4),
    "lattice": lambda: ew.generate.lattice(400, 400, directed=True, one_way=0.3),
    "star": lambda: ew.generate.star(200_000, directed=True),
}
GRAPHS = {name: lambda name=name: battery.graphs()[name] for name in battery.graphs()} | LARGE


def on_both(algorithm, graph, *fields, **options):
    """The results on the GPU, verified, and on the CPU, which are the same."""
    got, expected = (algorithm(graph, device=device, **options) for device in ("cuda", "cpu"))
    for name in fields:
        np.testing.assert_array_equal(getattr(got, name), getattr(expected, name), err_msg=name)
    assert got.verify(graph)
    return got


@pytest.mark.parametrize("name", GRAPHS)
def test_core_numbers(name):
    for graph in (GRAPHS[name](), GRAPHS[name]().to_undirected()):
        on_both(ew.core_numbers, graph, "core", "supersteps", "max_core")


@pytest.mark.parametrize("name", GRAPHS)
def test_triangles(name):
    on_both(ew.triangles, GRAPHS[name]().to_undirected(), "triangles", "degree", "total", "clustering")


@pytest.mark.parametrize("name", [name for name in GRAPHS if name != "undirected"])
@pytest.mark.parametrize("delivery", ["auto", ew.Push(), ew.Pull(), ew.Buffered()])
def test_topological_order(name, delivery):
    graph = GRAPHS[name]()
    upward = graph.sources < graph.targets
    ends = graph.sources[upward], graph.targets[upward]
    given = ew.Graph.from_edges(*ends, num_vertices=graph.num_vertices)
    for each in (graph, given):
        got = ew.topological_order(each, device="cuda", schedule=ew.Schedule(delivery=delivery))
        np.testing.assert_array_equal(got.generation, ew.topological_order(each, device="cpu").generation)
        assert got.verify(each)
        assert got.is_acyclic or each is graph
