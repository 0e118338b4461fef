"""Answers of the backend on drawn graphs: ranks, centralities by walks, core numbers and triangles."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from nx_graphs import SEEDS, close, compare, draw, returned

#: NetworkX tells that it uses a graph again that it has converted; it divides by 0 where a graph has no edges.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs:UserWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

KINDS = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
of_kinds = pytest.mark.parametrize("kind", KINDS)
of_seeds = pytest.mark.parametrize("seed", SEEDS)
of_weights = pytest.mark.parametrize("weights", ["none", "integers", "floats", "both"])
#: The least share by which the largest singular value or eigenvalue is above the next one, so that it has one vector.
GAP = 1e-3


def drawn(seed: int, kind: Any, weights: str = "none") -> Any:
    """A drawn graph of this kind."""
    return draw(seed, kind in (nx.DiGraph, nx.MultiDiGraph), weights, kind)


def starts(graph: Any) -> list[dict[str, Any]]:
    """No values to begin with; some in an order of their own; none above 0."""
    backwards = list(graph)[::-1]
    some = {node: 1 + place % 5 for place, node in enumerate(backwards)}
    return [{}, {"nstart": some}, {"nstart": dict.fromkeys(backwards, 0)}]


@of_kinds
@of_weights
@of_seeds
def test_pagerank(seed: int, weights: str, kind: Any) -> None:
    graph = drawn(seed, kind, weights)
    here, nowhere = dict.fromkeys(list(graph)[:2], 2), dict.fromkeys(graph, 0)
    for more in (
        {},
        {"alpha": 0.5},
        {"weight": None},
        {"weight": "none such"},
        {"max_iter": 2},
        {"max_iter": -1},
    ):
        for given in ({}, {"personalization": here}, {"nstart": here}):
            close("pagerank", graph, **more, **given)
    close("pagerank", graph, personalization=nowhere)
    close("pagerank", graph, nstart=nowhere)


@of_kinds
@of_weights
@of_seeds
def test_eigenvectors_and_katz(seed: int, weights: str, kind: Any) -> None:
    graph = drawn(seed, kind, weights)
    beta = {node: place % 3 for place, node in enumerate(graph)}
    for more in starts(graph):
        for weight in (None, "weight", "none such"):
            given = {"weight": weight, **more}
            for iterations in ({}, {"max_iter": 3}, {"max_iter": 5000, "tol": 1e-12}, {"max_iter": 0}):
                close("eigenvector_centrality", graph, 1e-9, **given, **iterations)
                close("katz_centrality", graph, 1e-9, **given, **iterations)
            close("katz_centrality", graph, 1e-9, **given, alpha=0.05, beta=beta, normalized=False)
            close("katz_centrality", graph, 1e-9, **given, alpha=0, beta=2)
    close("katz_centrality", graph, beta={"absent": 1})
    close("katz_centrality", graph, beta=0)
    close("katz_centrality", graph, alpha=3.0)
    for number in (1e-200, 1e149):
        close("katz_centrality", graph, beta=number)


@of_kinds
@of_weights
@of_seeds
def test_eigenvectors_by_scipy(seed: int, weights: str, kind: Any) -> None:
    graph = drawn(seed, kind, weights)
    parts = nx.strongly_connected_components if graph.is_directed() else nx.connected_components
    largest = graph.subgraph(max(parts(graph), key=len)).copy()
    for weight in (None, "weight"):
        close("eigenvector_centrality_numpy", graph, 1e-7, weight=weight)
        values = np.sort(np.linalg.eigvals(nx.to_numpy_array(largest, weight=weight)).real)
        if len(values) < 3 or values[-1] - values[-2] > GAP * values[-1]:
            close("eigenvector_centrality_numpy", largest, 1e-7, weight=weight)


@of_kinds
@pytest.mark.parametrize("weights", ["none", "integers", "floats", "both", "negative"])
@of_seeds
def test_hits(seed: int, weights: str, kind: Any) -> None:
    graph = drawn(seed, kind, "integers" if weights == "negative" else weights)
    if weights == "negative":
        for *_, attributes in list(graph.edges(data=True))[::5]:
            attributes["weight"] = -1.5
    values = np.linalg.svd(nx.to_numpy_array(graph), compute_uv=False)
    is_unique = len(values) > 1 and values[0] - values[1] > GAP * values[0]
    floats, wrong = {node: place + 0.5 for place, node in enumerate(graph)}, dict.fromkeys(graph, 1)
    for more in ({}, {"normalized": False}, {"nstart": floats}, {"nstart": wrong}, {"max_iter": 1000}):
        expected, found = (returned(nx.hits, graph, **more, backend=by) for by in ("networkx", "edgewise"))
        if not isinstance(expected[0], dict):
            assert found == expected
            continue
        for theirs, ours in zip(expected, found, strict=True):
            assert (list(ours), set(map(type, ours.values()))) == (list(theirs), {float})
            values = np.array([*ours.values()]), np.array([*theirs.values()])
            sign = 1 if values[0] @ values[1] >= 0 else -1
            assert not is_unique or np.allclose(sign * values[0], values[1], 1e-7, 1e-9)
    for wrong in ({"max_iter": 0}, {"max_iter": 1.5}, {"tol": -1}):
        compare("hits", graph, **wrong)


@of_kinds
@of_seeds
def test_core_numbers(seed: int, kind: Any) -> None:
    graph = drawn(seed, kind, "both")
    graph.graph["name"], graph.nodes[next(iter(graph))]["colour"] = "drawn", "red"
    loops = nx.selfloop_edges(graph, keys=True) if graph.is_multigraph() else nx.selfloop_edges(graph)
    without = graph.copy()
    without.remove_edges_from(list(loops))
    for each in (graph, without):
        compare("core_number", each)
        for k in (None, 0, 1, 2, 3, 2.5):
            for name in ("k_core", "k_shell", "k_crust"):
                if not each.is_multigraph():
                    compare(name, each, k)
            if not each.is_multigraph():
                compare("k_corona", each, 1 if k is None else k)


@of_kinds
@of_seeds
def test_triangles(seed: int, kind: Any) -> None:
    graph = drawn(seed, kind)
    nodes = list(graph)
    for chosen in (None, nodes[0], nodes[:3], {*nodes[1:4]}, "absent", ["absent"], [], 7.5):
        compare("triangles", graph, chosen)
        compare("clustering", graph, chosen)
        for count_zeros in (True, False):
            compare("average_clustering", graph, chosen, count_zeros=count_zeros)
    if not graph.is_directed():
        compare("transitivity", graph)


def test_graphs_without_nodes() -> None:
    for kind in KINDS:
        for name in (
            "pagerank",
            "eigenvector_centrality",
            "eigenvector_centrality_numpy",
            "katz_centrality",
            "hits",
        ):
            compare(name, kind())
        for name in ("core_number", "triangles", "clustering", "average_clustering"):
            compare(name, kind())
    for name in ("k_core", "k_shell", "k_crust", "transitivity"):
        compare(name, nx.Graph())


def test_what_was_counted_is_kept_for_single_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nx.complete_graph(5)
    assert nx.clustering(graph, 0, backend="edgewise") == 1.0
    monkeypatch.setattr("edgewise.triangles", None)
    assert nx.triangles(graph, 1, backend="edgewise") == 6


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
@of_seeds
def test_counts_of_parallel_edges(seed: int, kind: Any) -> None:
    graph = drawn(seed, kind)
    for edge in list(graph.edges)[::2]:
        graph.add_edge(*edge[:2])
    view = graph.edge_subgraph(list(graph.edges)[::2])
    for each in (graph, view):
        for name in ("degree_centrality", "in_degree_centrality", "out_degree_centrality"):
            compare(name, each)
        close("pagerank", each)


@of_kinds
def test_nodes_of_many_kinds(kind: Any) -> None:
    nodes = [2**70, -5, "a", b"a", (1, 2), frozenset(), True, 1.5]
    graph = kind(zip(nodes, nodes[1:] + nodes[2:4], strict=False))
    graph.add_edges_from(zip(nodes[::2], nodes[1::2], strict=True), weight=0.5)
    for name in ("pagerank", "eigenvector_centrality", "katz_centrality"):
        close(name, graph)
    for name in ("core_number", "triangles", "clustering", "average_clustering", "degree_centrality"):
        compare(name, graph)
    if not graph.is_multigraph():
        compare("k_core", graph)


@pytest.mark.parametrize("name", ["pagerank", "eigenvector_centrality", "katz_centrality"])
@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), 2**70, True, 1e300])
def test_weights_that_are_left_to_networkx(name: str, weight: Any) -> None:
    graph = nx.Graph([(0, 1, {"weight": 1}), (1, 2, {"weight": weight})])
    if name == "pagerank" and weight == 1e300:
        close(name, graph, weight="weight")
    else:
        with pytest.raises(NotImplementedError):
            getattr(nx, name)(graph, weight="weight", backend="edgewise")


@pytest.mark.parametrize("weight", [1e-200, 1e200, 2**62])
def test_hits_with_weights_of_any_size(weight: Any) -> None:
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 0), (0, 2)])
    nx.set_edge_attributes(graph, weight, "weight")
    expected, found = (returned(nx.hits, graph, backend=backend) for backend in ("networkx", "edgewise"))
    assert (
        found[1] == pytest.approx(expected[1], rel=1e-9)
        if isinstance(expected[0], dict)
        else found == expected
    )


def test_numbers_beyond_floats_are_left_to_networkx() -> None:
    for name, given in (
        ("pagerank", {"tol": 10**400}),
        ("katz_centrality", {"beta": 10**400, "max_iter": True}),
    ):
        with pytest.raises(NotImplementedError):
            getattr(nx, name)(nx.path_graph(3), **given, backend="edgewise")


def test_an_attribute_whose_name_is_empty_is_no_weight_of_eigenvectors() -> None:
    graph = nx.Graph([(0, 1, {"": 3}), (1, 2, {"": 5}), (2, 0)])
    close("eigenvector_centrality", graph, weight="")
    close("katz_centrality", graph, weight="")


def test_spanning_trees_of_directed_graphs() -> None:
    for name in ("minimum_spanning_tree", "maximum_spanning_tree"):
        compare(name, nx.DiGraph([(0, 1)]))
