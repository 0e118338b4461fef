"""Shortest paths by weight."""

from collections.abc import Iterator
from typing import Any

import networkx as nx

from edgewise.nx.garbage import ahead
from edgewise.nx.graph import BackendGraph
from edgewise.nx.lengths import Paths, bellman_ford, dijkstra, dijkstra_between, dijkstra_each, lengths_of
from edgewise.nx.offered import brief, offered


def _from_sources(
    G: BackendGraph, sources: Any, cutoff: Any, weight: Any, how: dict[str, Any], target: Any = None
) -> Paths:
    """Dijkstra's paths, to all nodes or as far as to the target."""
    if not sources:
        raise ValueError("sources must not be empty")
    found = [G.index(source, nx.NodeNotFound(f"Node {source} not found in graph")) for source in sources]
    return dijkstra(G, found, weight, cutoff, _vertex(G, target), how)


def _vertex(G: BackendGraph, node: Any) -> int | None:
    return G.index(node, KeyError(node)) if node in G else None


def _one_or_all(G: BackendGraph, found: Paths, target: Any, missing: str) -> Any:
    """The length and the path to the target, or those to all nodes if it is None."""
    if target is None:
        return found.by_node(G), found.to_nodes(G)
    path = found.to(G, _vertex(G, target))
    if path is None:
        raise nx.NetworkXNoPath(missing)
    return path


@offered()
def multi_source_dijkstra(
    G: BackendGraph, sources: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight", **how: Any
) -> Any:
    if sources and all(source in G for source in sources) and target in sources:
        return (0, [target])
    found = _from_sources(G, sources, cutoff, weight, how, target)
    return _one_or_all(G, found, target, f"No path to {target}.")


@offered()
def multi_source_dijkstra_path(
    G: BackendGraph, sources: Any, cutoff: Any = None, weight: Any = "weight", **how: Any
) -> dict[Any, list[Any]]:
    return _from_sources(G, sources, cutoff, weight, how).to_nodes(G)


@offered()
def multi_source_dijkstra_path_length(
    G: BackendGraph, sources: Any, cutoff: Any = None, weight: Any = "weight", **how: Any
) -> dict[Any, Any]:
    return _from_sources(G, sources, cutoff, weight, how).by_node(G)


@offered()
def single_source_dijkstra(
    G: BackendGraph, source: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight", **how: Any
) -> Any:
    return multi_source_dijkstra(G, [source], target, cutoff, weight, **how)


@offered()
def single_source_dijkstra_path(
    G: BackendGraph, source: Any, cutoff: Any = None, weight: Any = "weight", **how: Any
) -> dict[Any, list[Any]]:
    return _from_sources(G, [source], cutoff, weight, how).to_nodes(G)


@offered()
def single_source_dijkstra_path_length(
    G: BackendGraph, source: Any, cutoff: Any = None, weight: Any = "weight", **how: Any
) -> dict[Any, Any]:
    return _from_sources(G, [source], cutoff, weight, how).by_node(G)


@offered()
def dijkstra_path(G: BackendGraph, source: Any, target: Any, weight: Any = "weight", **how: Any) -> Any:
    return multi_source_dijkstra(G, [source], target, None, weight, **how)[1]


@offered()
def dijkstra_path_length(
    G: BackendGraph, source: Any, target: Any, weight: Any = "weight", **how: Any
) -> Any:
    begin = G.index(source, nx.NodeNotFound(f"Node {source} not found in graph"))
    if source == target:
        return 0
    found = dijkstra(G, [begin], weight, target=_vertex(G, target), how=how).to(G, _vertex(G, target))
    if found is None:
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return found[0]


@offered(doubt=brief)
def bidirectional_dijkstra(G: BackendGraph, source: Any, target: Any, weight: Any = "weight") -> Any:
    begin = G.index(source, nx.NodeNotFound(f"Source {source} is not in G"))
    end = G.index(target, nx.NodeNotFound(f"Target {target} is not in G"))
    found = dijkstra_between(G, begin, end, weight)
    if found is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return found[0], [G.nodes[vertex] for vertex in found[1]]


def _from_each(G: BackendGraph, cutoff: Any, weight: Any, how: dict[str, Any]) -> Iterator[tuple[Any, Paths]]:
    """Each node and the paths from it."""
    return zip(G, dijkstra_each(G, range(len(G)), weight, cutoff, how), strict=True)


@offered()
def all_pairs_dijkstra(
    G: BackendGraph, cutoff: Any = None, weight: Any = "weight", **how: Any
) -> Iterator[tuple[Any, tuple[dict[Any, Any], dict[Any, list[Any]]]]]:
    found = _from_each(G, cutoff, weight, how)
    return ahead(((node, (paths.by_node(G), paths.to_nodes(G))) for node, paths in found), len(G))


@offered()
def all_pairs_dijkstra_path(
    G: BackendGraph, cutoff: Any = None, weight: Any = "weight", **how: Any
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    return ahead(((node, paths.to_nodes(G)) for node, paths in _from_each(G, cutoff, weight, how)), len(G))


@offered()
def all_pairs_dijkstra_path_length(
    G: BackendGraph, cutoff: Any = None, weight: Any = "weight", **how: Any
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    return ((node, paths.by_node(G)) for node, paths in _from_each(G, cutoff, weight, how))


def _relaxed(G: BackendGraph, source: Any, weight: Any) -> Paths:
    return bellman_ford(G, G.index(source, nx.NodeNotFound(f"Source {source} not in G")), weight)


@offered()
def single_source_bellman_ford(
    G: BackendGraph, source: Any, target: Any = None, weight: Any = "weight"
) -> Any:
    if source == target:
        G.index(source, nx.NodeNotFound(f"Node {source} is not found in the graph"))
        return (0, [source])
    missing = f"Target {target} cannot be reached from given sources"
    return _one_or_all(G, _relaxed(G, source, weight), target, missing)


@offered()
def single_source_bellman_ford_path(
    G: BackendGraph, source: Any, weight: Any = "weight"
) -> dict[Any, list[Any]]:
    return single_source_bellman_ford(G, source, weight=weight)[1]


@offered()
def single_source_bellman_ford_path_length(
    G: BackendGraph, source: Any, weight: Any = "weight"
) -> dict[Any, Any]:
    return _relaxed(G, source, weight).by_node(G)


@offered()
def bellman_ford_path(G: BackendGraph, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    return single_source_bellman_ford(G, source, target, weight)[1]


@offered()
def bellman_ford_path_length(G: BackendGraph, source: Any, target: Any, weight: Any = "weight") -> Any:
    if source == target:
        G.index(source, nx.NodeNotFound(f"Node {source} not found in graph"))
        return 0
    found = _relaxed(G, source, weight).to(G, _vertex(G, target))
    if found is None:
        raise nx.NetworkXNoPath(f"node {target} not reachable from {source}")
    return found[0]


@offered()
def all_pairs_bellman_ford_path(
    G: BackendGraph, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    lengths_of(G, weight, signed=True)
    return ((node, bellman_ford(G, root, weight).to_nodes(G)) for root, node in enumerate(G))


@offered()
def all_pairs_bellman_ford_path_length(
    G: BackendGraph, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    lengths_of(G, weight, signed=True)
    return ((node, bellman_ford(G, root, weight).by_node(G)) for root, node in enumerate(G))
