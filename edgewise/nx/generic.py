"""Shortest paths by any method."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from edgewise.nx import unweighted, weighted
from edgewise.nx.graph import BackendGraph
from edgewise.nx.offered import brief, offered, since

_Function = Callable[..., Any]


class _Ways(NamedTuple):
    """The functions of a method: paths and lengths between all pairs, from one node, and between two nodes."""

    all_paths: _Function
    paths: _Function
    path: _Function
    all_lengths: _Function
    lengths: _Function
    length: _Function


_BY_HOPS = _Ways(
    unweighted.all_pairs_shortest_path,
    unweighted.single_source_shortest_path,
    unweighted.bidirectional_shortest_path,
    unweighted.all_pairs_shortest_path_length,
    unweighted.single_source_shortest_path_length,
    lambda *ends: len(unweighted.bidirectional_shortest_path(*ends)) - 1,
)
_BY_WEIGHT = {
    "dijkstra": _Ways(
        weighted.all_pairs_dijkstra_path,
        weighted.single_source_dijkstra_path,
        lambda *ends, weight: weighted.bidirectional_dijkstra(*ends, weight)[1],
        weighted.all_pairs_dijkstra_path_length,
        weighted.single_source_dijkstra_path_length,
        weighted.dijkstra_path_length,
    ),
    "bellman-ford": _Ways(
        weighted.all_pairs_bellman_ford_path,
        weighted.single_source_bellman_ford_path,
        weighted.bellman_ford_path,
        weighted.all_pairs_bellman_ford_path_length,
        weighted.single_source_bellman_ford_path_length,
        weighted.bellman_ford_path_length,
    ),
}


def ways(weight: Any, method: str) -> _Ways:
    """The functions of a method, or those without weights. Raises ValueError for a method that NetworkX lacks."""
    if method not in _BY_WEIGHT:
        raise ValueError(f"method not supported: {method}")
    if weight is None:
        return _BY_HOPS
    return _Ways(*(partial(function, weight=weight) for function in _BY_WEIGHT[method]))


def _is_of_all(arguments: dict[str, Any]) -> bool:
    return arguments["source"] is None and arguments["target"] is None


@offered(since((3, 5), _is_of_all), doubt=brief)
def shortest_path(
    G: BackendGraph, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    way = ways(weight, method)
    if source is not None:
        return way.paths(G, source) if target is None else way.path(G, source, target)
    if target is None:
        return way.all_paths(G)
    return {node: path[::-1] for node, path in way.paths(G.reversed(weight), target).items()}


@offered(doubt=brief)
def shortest_path_length(
    G: BackendGraph, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    way = ways(weight, method)
    if source is not None:
        return way.lengths(G, source) if target is None else way.length(G, source, target)
    return way.all_lengths(G) if target is None else way.lengths(G.reversed(weight), target)
