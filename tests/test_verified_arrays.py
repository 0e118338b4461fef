"""Verifiers look at what users read: any entry of it that is changed is found."""

import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import VerificationError

GRAPH = ew.Graph.from_edges(list("aabbcx"), list("bccdey"), [2, 7, 3, 4, 1, 5], directed=False)
#: With a cycle, from x on.
ARCS = ew.Graph.from_edges(list("aabbcxzy"), list("bccdeyxz"))
RUNS = {
    "bfs": lambda: ew.bfs(GRAPH, "a"),
    "sssp": lambda: ew.sssp(GRAPH, "a"),
    "pagerank": lambda: ew.pagerank(GRAPH),
    "components": lambda: ew.connected_components(GRAPH),
    "scc": lambda: ew.scc(GRAPH.as_directed()),
    "mst": lambda: ew.mst(GRAPH),
    "betweenness": lambda: ew.betweenness(GRAPH, normalized=False),
    "edge_betweenness": lambda: ew.edge_betweenness(GRAPH),
    "closeness": lambda: ew.closeness(GRAPH),
    "harmonic": lambda: ew.harmonic(GRAPH, weighted=True),
    "eccentricity": lambda: ew.eccentricity(GRAPH),
    "eigenvector": lambda: ew.eigenvector(GRAPH),
    "katz": lambda: ew.katz(GRAPH, weighted=True, alpha=0.01),
    "hits": lambda: ew.hits(GRAPH),
    "core_numbers": lambda: ew.core_numbers(GRAPH),
    "triangles": lambda: ew.triangles(GRAPH),
    "topological_order": lambda: ew.topological_order(ARCS),
}
ARRAYS = {
    "bfs": ("level", "parent_index", "parent"),
    "sssp": ("distance", "parent_index", "parent"),
    "pagerank": ("rank",),
    "components": ("component", "sizes"),
    "scc": ("component", "sizes"),
    "mst": ("source_index", "target_index", "weight", "source", "target"),
    "betweenness": ("dependency", "centrality"),
    "edge_betweenness": ("dependency", "centrality", "source_index", "target_index"),
    "closeness": ("reached", "distance_sum", "reciprocal_sum", "farthest", "closeness"),
    "harmonic": ("reached", "distance_sum", "reciprocal_sum", "farthest", "harmonic"),
    "eccentricity": ("reached", "distance_sum", "reciprocal_sum", "farthest"),
    "eigenvector": ("centrality",),
    "katz": ("centrality",),
    "hits": ("authority", "hub"),
    "core_numbers": ("core",),
    "triangles": ("triangles", "degree", "clustering"),
    "topological_order": ("generation", "order"),
}
CASES = [(algorithm, name) for algorithm, names in ARRAYS.items() for name in names]


def other(value):
    """Another value of the same kind."""
    if isinstance(value, str):
        return "e" if value != "e" else "a"
    return value - 1


@pytest.mark.parametrize(("algorithm", "name"), CASES)
def test_a_changed_entry_is_found(algorithm, name):
    result = RUNS[algorithm]()
    graph = result.graph
    values = getattr(result, name).copy()
    assert result.verify(graph)
    for i in range(len(values)):
        changed = values.copy()
        changed[i] = other(values[i])
        setattr(result, name, changed)
        with pytest.raises(VerificationError):
            result.verify(graph)
    setattr(result, name, values)
    assert result.verify(graph)


@pytest.mark.parametrize(("algorithm", "name"), CASES)
def test_an_array_without_its_last_entry_is_found(algorithm, name):
    result = RUNS[algorithm]()
    setattr(result, name, getattr(result, name)[:-1])
    with pytest.raises(VerificationError):
        result.verify(result.graph)


@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
@pytest.mark.parametrize("source", ["b", "x", "nobody", 0, None])
def test_another_source_is_found(algorithm, source):
    result = RUNS[algorithm]()
    result.source = source
    with pytest.raises(VerificationError):
        result.verify(GRAPH)


def test_a_list_of_sources_that_is_changed_later_is_the_users_own():
    sources = ["a", "x"]
    result = ew.bfs(GRAPH, sources)
    sources.append("c")
    assert result.source == ["a", "x"]
    assert result.verify(GRAPH)


@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_a_changed_number_of_reached_vertices_is_found(algorithm):
    result = RUNS[algorithm]()
    result.num_reached += 1
    with pytest.raises(
        VerificationError, match=r"num_reached\[0\] is .*6.*; the verified arrays make it .*5"
    ):
        result.verify(GRAPH)


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [
        ("mst", "num_edges"),
        ("mst", "num_components"),
        ("betweenness", "num_sources"),
        ("edge_betweenness", "num_sources"),
        ("pagerank", "tol"),
        ("eigenvector", "tol"),
    ],
)
@pytest.mark.parametrize("value", [-1, 1.0, np.nan, np.inf, "6", None, np.array([6, 6])])
def test_a_changed_number_is_found(algorithm, name, value):
    result = RUNS[algorithm]()
    right = getattr(result, name)
    setattr(result, name, value)
    with pytest.raises(VerificationError, match=f"{name} is .*; the run makes it "):
        result.verify(result.graph)
    setattr(result, name, right)
    assert result.verify(result.graph)


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [
        ("bfs", "level"),
        ("bfs", "parent_index"),
        ("sssp", "parent_index"),
        ("scc", "component"),
        ("mst", "source_index"),
        ("core_numbers", "core"),
        ("triangles", "triangles"),
        ("triangles", "degree"),
        ("topological_order", "generation"),
    ],
)
def test_floats_in_the_place_of_integers_are_found(algorithm, name):
    result = RUNS[algorithm]()
    setattr(result, name, getattr(result, name) + 0.25)
    with pytest.raises(VerificationError, match="array of float64; expected integers"):
        result.verify(result.graph)


@pytest.mark.parametrize("algorithm", [ew.betweenness, ew.edge_betweenness])
def test_small_dependencies_are_compared_relatively(algorithm):
    """2**24 paths along parallel arcs, and one as long, along a chain of vertices."""
    stages, chain = np.arange(24), np.array([0, *range(25, 48), 24])
    source, target = [*stages, *stages, *chain[:-1]], [*(stages + 1), *(stages + 1), *chain[1:]]
    result = algorithm(ew.Graph.from_edges(source, target), sources=[0], normalized=False)
    assert result.verify(result.graph)
    least = int(np.argmin(np.where(result.dependency > 0, result.dependency, np.inf)))
    assert result.dependency[least] == pytest.approx(2**-24, rel=1e-6)
    result.dependency[least] = 0
    with pytest.raises(VerificationError, match=r"has 0\.0, by its paths it has 5\.96"):
        result.verify(result.graph)
