"""Answers of the backend on drawn graphs: equal to those of NetworkX with types, order and errors."""

from typing import Any

import networkx as nx
import pytest
from nx_graphs import SEEDS, close, compare, draw

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


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_small_graphs_without_weights(seed: int, directed: bool) -> None:
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
@pytest.mark.parametrize("seed", SEEDS)
def test_small_graphs_with_weights(seed: int, weights: str, directed: bool) -> None:
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


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", ["none", "integers", "floats", "both"])
@pytest.mark.parametrize("seed", SEEDS)
def test_distances(seed: int, weights: str, directed: bool) -> None:
    graph = draw(seed, directed, weights)
    hub = graph.copy()
    for node in graph:  # connected, strongly if there are directions
        hub.add_edge("hub", node)
        hub.add_edge(node, "hub", weight=3)
    for each in (graph, hub):
        for weight in (None, "weight"):
            for name in ("eccentricity", "diameter", "radius", "periphery", "average_shortest_path_length"):
                compare(name, each, weight=weight)
            compare("eccentricity", each, list(each)[:3], weight=weight)
            compare("closeness_centrality", each, distance=weight)
            compare("closeness_centrality", each, "absent", weight)
            compare("closeness_centrality", each, next(iter(each)), weight, False)
            for nbunch in (None, list(each)[:3]):
                if weight is None:
                    close("harmonic_centrality", each, nbunch=nbunch)
                else:
                    compare("harmonic_centrality", each, nbunch, weight)
            compare("harmonic_centrality", each, distance=weight, sources=list(each)[:3])
    compare("eccentricity", graph, "absent")


@pytest.mark.parametrize("seed", SEEDS)
def test_topological_order(seed: int) -> None:
    graph = draw(seed, True)
    order = {node: place for place, node in enumerate(graph)}
    acyclic = graph.edge_subgraph(edge for edge in graph.edges if order[edge[0]] < order[edge[1]]).copy()
    for each in (graph, acyclic, graph.to_undirected()):
        for name in ("topological_generations", "topological_sort", "is_directed_acyclic_graph"):
            compare(name, each)


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
@pytest.mark.parametrize("weights", ["none", "integers", "floats", "both"])
@pytest.mark.parametrize("seed", SEEDS)
def test_spanning_trees(seed: int, weights: str, kind: Any) -> None:
    graph = draw(seed, False, weights, kind)
    for place, edge in enumerate(list(graph.edges(keys=True))[::3] if graph.is_multigraph() else ()):
        graph.add_edge(*edge[:2], weight=place % 4 - 1)
        graph.add_edge(*edge[:2], f"key {place}", **graph.edges[edge])
    graph.graph["name"], graph.nodes[next(iter(graph))]["colour"] = "drawn", "red"
    for which in ("minimum", "maximum"):
        compare(f"{which}_spanning_tree", graph)
        for data in (True, False):
            for keys in (True, False):
                compare(f"{which}_spanning_edges", graph, data=data, keys=keys)
    compare("minimum_spanning_edges", graph, algorithm="none such")


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("seed", SEEDS)
def test_betweenness(seed: int, weight: Any, kind: Any) -> None:
    """Sums of edgewise are added up in another order; those of edges to some targets are equal."""
    graph = draw(seed, kind in (nx.DiGraph, nx.MultiDiGraph), "floats", kind)
    for edge in list(graph.edges(data=True))[::3] if graph.is_multigraph() else ():
        graph.add_edge(*edge[:2], "another", **edge[2])  # as long as this
    nodes = list(graph)
    for normalized in (True, False):
        each = {"weight": weight, "normalized": normalized}
        for more in ({}, {"endpoints": True}, {"k": (len(graph) + 1) // 2, "seed": 3}):
            close("betweenness_centrality", graph, **each, **more)
        for more in ({}, {"k": (len(graph) + 1) // 2, "seed": 3}):
            close("edge_betweenness_centrality", graph, **each, **more)
        for sources in (nodes[::2], nodes[::2] + nodes[:3]):
            close("betweenness_centrality_subset", graph, sources=sources, targets=nodes[1:], **each)
            compare("edge_betweenness_centrality_subset", graph, sources, nodes[1:], **each)
    compare("betweenness_centrality_subset", graph, nodes, [])
    compare("betweenness_centrality_subset", graph, [], nodes)
    compare("betweenness_centrality_subset", graph, ["absent"], nodes)


def test_nodes_of_many_kinds() -> None:
    for nodes in (
        [2**70, 2**70 + 1, 2**70 + 2],
        [-5, 3, 10**9],
        [(1, 2), True, 1.5],
        ["a", b"a", frozenset()],
    ):
        graph = nx.path_graph(nodes, nx.DiGraph)
        compare("bfs_edges", graph, nodes[0])
        compare("single_source_dijkstra", graph, nodes[0])
        compare("strongly_connected_components", graph)


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("weights", ["none", "integers", "floats", "both"])
@pytest.mark.parametrize("seed", SEEDS)
def test_multigraphs(seed: int, weights: str, kind: Any) -> None:
    """One of parallel edges counts, the lightest."""
    graph = draw(seed, False, weights, kind)
    for name in OF_GRAPHS:
        compare(name, graph)
    for name in ("all_pairs_dijkstra", "topological_generations", "is_directed_acyclic_graph"):
        compare(name, graph)
    compare("closeness_centrality", graph, distance="weight")
    for node in list(graph)[::3]:
        for name in (*OF_NODES, *PATHS_FROM):
            compare(name, graph, node)
        for other in list(graph)[::4]:
            for name in (*OF_PAIRS, *PATHS_BETWEEN):
                compare(name, graph, node, other)
    for name in ("betweenness_centrality", "edge_betweenness_centrality"):
        close(name, graph)
