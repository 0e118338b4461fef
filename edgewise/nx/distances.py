"""Measures of distances: eccentricity and what follows from it, and the mean."""

from collections.abc import Callable
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

import edgewise as ew
from edgewise.errors import GraphError
from edgewise.nx.graph import BackendGraph
from edgewise.nx.lengths import dijkstra_each, lengths_of
from edgewise.nx.offered import offered, refuses

_unbounded = refuses("usebounds", "edgewise searches from all nodes", False)
#: So few searches by weight go one after the other.
_FEW = 8
_own_paths = refuses("sp", "edgewise finds paths itself")


class Measured(NamedTuple):
    """Of some vertices: the number of others at the ends of paths, the sum of the distances, and the largest; an entry
    for each."""

    reached: np.ndarray
    total: np.ndarray
    farthest: np.ndarray


def measure(find: Callable[..., Any], G: BackendGraph, roots: list[int], weight: Any = None) -> Measured:
    """Search from each vertex by `ew.eccentricity`, or to it by `ew.closeness`, by weight if one is given."""
    different = sorted(set(roots))
    found = find(
        G.plain if weight is None else G.weighted(weight),
        vertices=None if len(different) == len(G) else different,
        weighted=weight is not None,
        device="cpu",
    )
    return Measured(found.reached[roots], found.distance_sum[roots], found.farthest[roots])


def measure_at_once(
    find: Callable[..., Any], G: BackendGraph, roots: list[int], weight: Any
) -> Measured | None:
    """`measure`, or None where single searches are needed: for lengths that are floats, which NetworkX adds up in an
    order of its own, and sums beyond 64 bits; or take less time, from few vertices."""
    if weight is None:
        return measure(find, G, roots)
    if lengths_of(G, weight).values.dtype != np.int64 or len(roots) <= _FEW:
        return None
    try:
        return measure(find, G, roots, weight)
    except GraphError:
        return None


class _Nodes:
    """Stands for a graph where NetworkX only looks for nodes."""

    def __init__(self, G: BackendGraph) -> None:
        self._adj, self._graph = G.positions, G

    def __contains__(self, node: Any) -> bool:
        return node in self._graph


def nodes_among(G: BackendGraph, nbunch: Any) -> list[Any]:
    """The nodes that NetworkX's ``G.nbunch_iter(nbunch)`` gives, with its errors."""
    return list(nx.Graph.nbunch_iter(_Nodes(G), nbunch))


@offered(_own_paths)
def eccentricity(G: BackendGraph, v: Any = None, sp: Any = None, weight: Any = None) -> Any:
    nodes = nodes_among(G, v)
    if not nodes:
        return {}
    roots = [G.index(node, KeyError(node)) for node in nodes]
    found = measure_at_once(ew.eccentricity, G, roots, weight)
    if found is not None:
        are_all, farthest = (found.reached == len(G) - 1).all(), found.farthest.tolist()
    else:
        lengths = [paths.lengths for paths in dijkstra_each(G, roots, weight)]
        are_all, farthest = all(len(each) == len(G) for each in lengths), list(map(max, lengths))
    if not are_all:
        kind = "digraph is not strongly connected" if G.is_directed() else "graph is not connected"
        raise nx.NetworkXError(f"Found infinite path length because the {kind}")
    return farthest[0] if v in G else dict(zip(nodes, farthest, strict=True))


def _all_of(G: BackendGraph, e: Any, weight: Any) -> dict[Any, Any]:
    return eccentricity(G, weight=weight) if e is None else e


@offered(_unbounded)
def diameter(G: BackendGraph, e: Any = None, usebounds: bool = False, weight: Any = None) -> Any:
    return max(_all_of(G, e, weight).values())


@offered(_unbounded)
def radius(G: BackendGraph, e: Any = None, usebounds: bool = False, weight: Any = None) -> Any:
    return min(_all_of(G, e, weight).values())


@offered(_unbounded)
def periphery(G: BackendGraph, e: Any = None, usebounds: bool = False, weight: Any = None) -> list[Any]:
    found = _all_of(G, e, weight)
    largest = max(found.values())
    return [node for node, value in found.items() if value == largest]


@offered(refuses("method", "edgewise searches from each node", None, "unweighted", "dijkstra"))
def average_shortest_path_length(G: BackendGraph, weight: Any = None, method: Any = None) -> float:
    n = len(G)
    if n == 0:
        raise nx.NetworkXPointlessConcept(
            "the null graph has no paths, thus there is no average shortest path length"
        )
    if n == 1:
        return 0
    by_weight, roots = method == "dijkstra" or (method is None and weight is not None), list(range(n))
    summed = measure_at_once(ew.eccentricity, G, roots, weight) if by_weight else None
    found = summed or measure(ew.eccentricity, G, roots)
    if (found.reached < n - 1).any():
        raise nx.NetworkXError(f"Graph is not {'strongly ' if G.is_directed() else ''}connected.")
    if by_weight and summed is None:
        total = sum(length for paths in dijkstra_each(G, roots, weight) for length in paths.lengths)
    else:
        total = sum(found.total.tolist())
    return total / (n * (n - 1))
