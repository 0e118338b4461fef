"""Answers of the backend on drawn graphs: equal to those of NetworkX with types, order and errors."""

from typing import Any

import networkx as nx
import pytest
from nx_graphs import SEEDS, draw, outcome

#: NetworkX tells that it uses a graph again that it has converted.
pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs:UserWarning")

#: Functions of a graph alone; of a graph and a node; of a graph and two nodes.
OF_GRAPHS = (
    "all_pairs_shortest_path",
    "all_pairs_shortest_path_length",
    "condensation",
    "connected_components",
    "degree_centrality",
    "in_degree_centrality",
    "is_connected",
    "is_strongly_connected",
    "is_weakly_connected",
    "number_connected_components",
    "number_strongly_connected_components",
    "number_weakly_connected_components",
    "out_degree_centrality",
    "strongly_connected_components",
    "weakly_connected_components",
)
OF_NODES = (
    "ancestors",
    "bfs_edges",
    "bfs_layers",
    "bfs_predecessors",
    "bfs_successors",
    "bfs_tree",
    "descendants",
    "node_connected_component",
    "single_source_shortest_path",
    "single_source_shortest_path_length",
    "single_target_shortest_path",
    "single_target_shortest_path_length",
)
#: Functions of a graph, a source and a weight; of a graph and two nodes.
PATHS_FROM = (
    "single_source_bellman_ford_path",
    "single_source_bellman_ford_path_length",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
)
PATHS_BETWEEN = (
    "bellman_ford_path",
    "bellman_ford_path_length",
    "bidirectional_dijkstra",
    "dijkstra_path",
    "dijkstra_path_length",
    "single_source_bellman_ford",
    "single_source_dijkstra",
)
OF_PAIRS = ("bidirectional_shortest_path", "has_path")


def compare(name: str, graph: Any, *args: Any, **kwargs: Any) -> None:
    """Ask both."""
    function = getattr(nx, name)
    expected = outcome(function, graph, *args, **kwargs, backend="networkx")
    assert outcome(function, graph, *args, **kwargs, backend="edgewise") == expected, (name, args, kwargs)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_without_weights(seed: int, directed: bool) -> None:
    graph = draw(seed, directed)
    nodes = [*graph, "absent"]
    for name in OF_GRAPHS:
        compare(name, graph)
    for node in nodes[::3] + nodes[-1:]:
        for name in OF_NODES:
            compare(name, graph, node)
        compare("bfs_edges", graph, node, reverse=True, depth_limit=2)
        compare("bfs_tree", graph, node, depth_limit=1)
        compare("single_source_shortest_path", graph, node, cutoff=1.5)
        compare("single_source_shortest_path_length", graph, node, cutoff=-1)
        compare("descendants_at_distance", graph, node, 2)
        for other in nodes[::4] + nodes[-1:]:
            for name in OF_PAIRS:
                compare(name, graph, node, other)
    compare("bfs_layers", graph, nodes[:3])


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", ["none", "integers", "floats", "both"])
@pytest.mark.parametrize("seed", SEEDS[:8])
def test_pagerank(seed: int, weights: str, directed: bool) -> None:
    graph = draw(seed, directed, weights)
    here = dict.fromkeys(list(graph)[:2], 2)
    for more in ({}, {"personalization": here}, {"nstart": here, "alpha": 0.5}, {"weight": None}):
        expected = nx.pagerank(graph, **more, backend="networkx")
        found = nx.pagerank(graph, **more, backend="edgewise")
        assert list(found) == list(expected)
        assert set(map(type, found.values())) == {float}
        assert found == pytest.approx(expected, abs=1e-12)
    compare("pagerank", graph, max_iter=1, tol=0.0)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", ["none", "integers", "floats", "both"])
@pytest.mark.parametrize("seed", SEEDS)
def test_paths_by_weight(seed: int, weights: str, directed: bool) -> None:
    graph = draw(seed, directed, weights)
    nodes = [*graph, "absent"]
    for name in ("all_pairs_dijkstra", "all_pairs_dijkstra_path", "all_pairs_dijkstra_path_length"):
        compare(name, graph)
    compare("all_pairs_dijkstra", graph, cutoff=1.5)
    compare("multi_source_dijkstra", graph, nodes[:3])
    compare("multi_source_dijkstra", graph, nodes[:3], nodes[-2])
    for node in nodes[::4] + nodes[-1:]:
        for method in ("dijkstra", "bellman-ford"):
            for name in ("shortest_path", "shortest_path_length"):
                compare(name, graph, node, weight="weight", method=method)
                compare(name, graph, target=node, weight="weight", method=method)
        for name in ("single_source_bellman_ford", "single_source_dijkstra"):
            compare(name, graph, node)
        for name in PATHS_FROM:
            compare(name, graph, node, weight=None)
        compare("single_source_dijkstra", graph, node, cutoff=2)
        for other in nodes[::5] + nodes[-1:]:
            for name in PATHS_BETWEEN:
                compare(name, graph, node, other)


@pytest.mark.parametrize("seed", SEEDS)
def test_negative_weights(seed: int) -> None:
    graph = draw(seed, True, "integers")
    for edge in list(graph.edges)[::9]:
        graph.edges[edge]["weight"] = -1
    for node in graph:
        compare("single_source_bellman_ford", graph, node)
        compare("single_source_bellman_ford_path_length", graph, node)
    compare("all_pairs_bellman_ford_path", graph)
    compare("all_pairs_bellman_ford_path_length", graph)
