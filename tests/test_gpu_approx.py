"""Approximate graphs made on a GPU: the same as on the host, bit for bit. These tests need an NVIDIA GPU:
`pytest -m gpu`."""

import dataclasses

import numpy as np
import pytest
from approx_made import same_made
from battery import graphs as battery_graphs
from test_gpu_layers import on_gpu

import edgewise as ew

pytestmark = pytest.mark.gpu

GRAPHS = {
    "skewed": lambda: ew.generate.rmat(14, 16, seed=1, weights=(1, 100)),
    "skewed, floats": lambda: ew.generate.rmat(12, 8, seed=2, weights=(0.0, 1.0)),
    "skewed both ways": lambda: ew.generate.rmat(13, 8, seed=3, directed=False, weights=(1, 9)),
    "large weights": lambda: ew.generate.rmat(12, 6, seed=4, weights=(1, 2**32)),
    "no weights": lambda: ew.generate.rmat(13, 8, seed=5, directed=False),
    "streets": lambda: ew.generate.lattice(80, 90, removed=0.2, one_way=0.3, seed=6, weights=(1, 9)),
    "dense": lambda: ew.generate.uniform(6000, 4_000_000, seed=7, weights=(1, 9)),
    "star": lambda: ew.generate.star(70_000),
}


@pytest.fixture(params=[*GRAPHS, *battery_graphs()])
def graph(request):
    """A graph on the host."""
    return GRAPHS[request.param]() if request.param in GRAPHS else battery_graphs()[request.param]


@pytest.fixture(params=["on the host", "on the GPU"])
def both(request, graph):
    """The graph where it is given, and on the host."""
    if request.param == "on the host":
        return graph, graph
    there = on_gpu(graph) if graph.num_arcs else graph
    return there, ew.Graph.from_csr(there.offsets, there.targets, there.weights, there.directed)


def test_coefficients_are_those_of_the_host(both):
    given, graph = both
    expected = ew.approx.clustering_coefficients(graph, device="cpu")
    for _ in range(2):
        assert ew.approx.clustering_coefficients(given, device="cuda").tobytes() == expected.tobytes()


def test_triangles_of_rows_that_no_table_holds():
    """Every vertex has an edge to every other one, so rows are longer than tables of blocks."""
    n = 6000
    graph = ew.Graph.from_edges(*np.triu_indices(n, 1), directed=False, num_vertices=n)
    assert (ew.approx.clustering_coefficients(graph, device="cuda") == 1).all()


#: Techniques with knobs that add edges.
TECHNIQUES = {
    "degrees": (ew.approx.normalize_degrees, {"threshold": 0.5, "budget": 0.3}),
    "clusters": (ew.approx.form_clusters, {"threshold": 0.3, "margin": 0.3, "budget": 1.0}),
    "coalesce": (ew.approx.coalesce, {"threshold": 0.25, "budget": 1.0, "extra": 5}),
}


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_rows_are_those_of_the_host(both, technique):
    (given, graph), (make, knobs) = both, TECHNIQUES[technique]
    expected = make(graph, device="cpu", **knobs)
    found = dataclasses.replace(expected, original=given, on_gpu=graph.num_arcs > 0)
    same_made(found, expected)


@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize("by_default", [False, True])
def test_what_is_made_is_the_same(both, technique, by_default):
    (given, graph), (make, knobs) = both, TECHNIQUES[technique]
    knobs = {} if by_default else knobs
    expected = make(graph, device="cpu", **knobs)
    for _ in range(2):
        same_made(make(given, device="cuda", **knobs), expected)
