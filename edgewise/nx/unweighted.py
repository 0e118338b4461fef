"""Shortest paths of the fewest edges."""

from collections.abc import Iterator
from typing import Any

import networkx as nx

from edgewise.graph.csr import Rows
from edgewise.nx.garbage import ahead, uncollected
from edgewise.nx.graph import BackendGraph
from edgewise.nx.offered import brief, offered, since
from edgewise.nx.search import breadth_first, path_between


def _lengths(G: BackendGraph, rows: Rows, root: int, cutoff: Any) -> dict[Any, int]:
    found = breadth_first(rows, [root], cutoff)
    return dict(zip(G.names(found.order), found.level.tolist(), strict=True))


@uncollected()
def _paths(
    G: BackendGraph, rows: Rows, root: int, cutoff: Any, to_root: bool = False
) -> dict[Any, list[Any]]:
    found = breadth_first(rows, [root], cutoff)
    paths = {node: [node] for node in G.names(found.order[:1])}
    for node, parent in zip(G.names(found.order[1:]), G.names(found.parent[1:]), strict=True):
        paths[node] = [node, *paths[parent]] if to_root else [*paths[parent], node]
    return paths


@offered()
def single_source_shortest_path_length(G: BackendGraph, source: Any, cutoff: Any = None) -> dict[Any, int]:
    root = G.index(source, nx.NodeNotFound(f"Source {source} is not in G"))
    return _lengths(G, G.rows, root, cutoff)


@offered(since((3, 5)))
def single_target_shortest_path_length(G: BackendGraph, target: Any, cutoff: Any = None) -> dict[Any, int]:
    root = G.index(target, nx.NodeNotFound(f"Target {target} is not in G"))
    return _lengths(G, G.in_rows, root, cutoff)


@offered()
def all_pairs_shortest_path_length(
    G: BackendGraph, cutoff: Any = None
) -> Iterator[tuple[Any, dict[Any, int]]]:
    for root, node in enumerate(G):
        yield node, _lengths(G, G.rows, root, cutoff)


@offered()
def single_source_shortest_path(G: BackendGraph, source: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    root = G.index(source, nx.NodeNotFound(f"Source {source} not in G"))
    return _paths(G, G.rows, root, cutoff)


@offered()
def single_target_shortest_path(G: BackendGraph, target: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    root = G.index(target, nx.NodeNotFound(f"Target {target} not in G"))
    return _paths(G, G.in_rows, root, cutoff, to_root=True)


@offered()
def all_pairs_shortest_path(
    G: BackendGraph, cutoff: Any = None
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    return ahead(((node, _paths(G, G.rows, root, cutoff)) for root, node in enumerate(G)), len(G))


@offered(doubt=brief)
def bidirectional_shortest_path(G: BackendGraph, source: Any, target: Any) -> list[Any]:
    begin = G.index(source, nx.NodeNotFound(f"Source {source} is not in G"))
    end = G.index(target, nx.NodeNotFound(f"Target {target} is not in G"))
    path = path_between(G.rows, G.in_rows, begin, end)
    if path is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return [G.nodes[vertex] for vertex in path]


def _of_all(arguments: dict[str, Any]) -> str | None:
    missing = arguments["source"] is None or arguments["target"] is None
    return "edgewise expects two nodes, neither of which is None" if missing else None


@offered(_of_all, doubt=brief)
def has_path(G: BackendGraph, source: Any, target: Any) -> bool:
    try:
        bidirectional_shortest_path(G, source, target)
    except nx.NetworkXNoPath:
        return False
    return True
