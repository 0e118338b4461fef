"""Breadth-first search."""

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from edgewise.nx.convert import new_graph
from edgewise.nx.garbage import uncollected
from edgewise.nx.graph import BackendGraph
from edgewise.nx.offered import limits, offered, refuses, since
from edgewise.nx.search import Levels, breadth_first, pieces

_unsorted = refuses("sort_neighbors", "edgewise takes neighbours in the order of the graph")


def _tree(G: BackendGraph, source: Any, depth_limit: Any, reverse: bool = False) -> Levels:
    root = _root(G, source, "digraph" if G.is_directed() else "graph")
    return breadth_first(G.in_rows if reverse else G.rows, [root], depth_limit)


def _root(G: BackendGraph, node: Any, kind: str = "graph") -> int:
    return G.index(node, nx.NetworkXError(f"The node {node} is not in the {kind}."))


@offered(_unsorted)
def bfs_edges(
    G: BackendGraph, source: Any, reverse: bool = False, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    found = _tree(G, source, depth_limit, reverse)
    yield from zip(G.names(found.parent[1:]), G.names(found.order[1:]), strict=True)


@offered(_unsorted)
@uncollected()
def bfs_tree(
    G: BackendGraph, source: Any, reverse: bool = False, depth_limit: Any = None, sort_neighbors: Any = None
) -> Any:
    if source is None:
        raise ValueError("None cannot be a node")
    found, tree = _tree(G, source, depth_limit, reverse), new_graph(directed=True)
    nodes, parents = G.names(found.order), G.names(found.parent[1:])
    children, above = tree._succ, tree._pred
    for filled in (tree._node, children, above):
        filled.update((node, {}) for node in nodes)
    for parent, node in zip(parents, nodes[1:], strict=True):
        children[parent][node] = above[node][parent] = {}
    return tree


@offered(_unsorted)
def bfs_predecessors(
    G: BackendGraph, source: Any, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    found = _tree(G, source, depth_limit)
    yield from zip(G.names(found.order[1:]), G.names(found.parent[1:]), strict=True)


@offered(_unsorted)
def bfs_successors(
    G: BackendGraph, source: Any, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, list[Any]]]:
    found = _tree(G, source, depth_limit)
    if len(found.order) == 1:
        yield source, []
    starts = np.flatnonzero(np.diff(found.parent[1:], prepend=-1))
    parents = G.names(found.parent[1:][starts])
    yield from zip(parents, pieces(G.names(found.order[1:]), starts.tolist()), strict=True)


@offered(since((3, 5), lambda arguments: arguments["sources"] not in arguments["G"]))
def bfs_layers(G: BackendGraph, sources: Any) -> Iterator[list[Any]]:
    roots = list({sources} if sources in G else set(sources))
    found = breadth_first(G.rows, [_root(G, root) for root in roots])
    yield from pieces(G.names(found.order), found.starts[:-1].tolist())


@offered(limits("distance"))
def descendants_at_distance(G: BackendGraph, source: Any, distance: Any) -> set[Any]:
    found = breadth_first(G.rows, [_root(G, source)], distance)
    return set(G.names(found.order[found.level == distance]))


@offered()
def descendants(G: BackendGraph, source: Any) -> set[Any]:
    return set(G.names(_tree(G, source, None).order[1:]))


@offered()
def ancestors(G: BackendGraph, source: Any) -> set[Any]:
    return set(G.names(_tree(G, source, None, reverse=True).order[1:]))
