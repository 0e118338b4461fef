"""Spanning trees."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from networkx.algorithms.tree.mst import ALGORITHMS

import edgewise as ew
from edgewise.nx.columns import sort_keys
from edgewise.nx.convert import arc_data, new_graph
from edgewise.nx.garbage import uncollected
from edgewise.nx.graph import BackendGraph
from edgewise.nx.offered import no_subclasses, offered, options, refuses

_one_data = refuses("data", "edgewise gives all attributes or none", True, False)


def _kruskal(arguments: dict[str, Any]) -> str | None:
    other = arguments["algorithm"] != "kruskal" and arguments["algorithm"] in ALGORITHMS
    return "edgewise gives the edges in the order of Kruskal's algorithm" if other else None


class _Forest(NamedTuple):
    """The edges of a forest in the order of Kruskal's algorithm: their arcs, and their places among the edges of a
    multigraph, None for other graphs."""

    arcs: np.ndarray
    places: np.ndarray | None


def _forest(G: BackendGraph, weight: Any, algorithm: str, sign: int, how: dict[str, Any]) -> _Forest:
    """The forest that Kruskal's algorithm finds, of the least weights, or if `sign` is -1 of the greatest.

    It takes equal weights in the order of edges. With places in that order for weights there is one forest. Of parallel
    edges, it takes at most the first.
    """
    if algorithm != "kruskal":
        raise ValueError(f"{algorithm} is not a valid choice for an algorithm.")
    _refuse_directed(G)
    if G.parallel is None:
        best, weights = None, G.column(weight).values[G.edge_arcs]
    else:
        best = G.column_of_all(weight).least(G.parallel.counts, sign)
        weights = G.column_of_all(weight).values[best]
    in_turn = np.argsort(sort_keys(weights, sign), kind="stable")
    place = np.empty(len(in_turn), np.int64)
    place[in_turn] = np.arange(len(in_turn))
    found = ew.mst(G.with_values(place[G.edge_numbers]), **options(how))
    taken = in_turn[np.sort(found.weight)]
    return _Forest(G.edge_arcs[taken], None if best is None else best[taken])


def _edges(G: BackendGraph, forest: _Forest, keys: bool, data: bool) -> Iterator[tuple[Any, ...]]:
    parts = [G.names(G.sources[forest.arcs]), G.names(G.rows.targets[forest.arcs])]
    places = forest.arcs if forest.places is None else forest.places
    if G.parallel is not None and keys:
        parts.append([G.parallel.keys[place] for place in places.tolist()])
    if data:
        attributes = arc_data(G)
        parts.append([attributes[place] for place in places.tolist()])
    yield from zip(*parts, strict=True)


def _refuse_directed(G: BackendGraph) -> None:
    if G.is_directed():
        raise nx.NetworkXNotImplemented("not implemented for directed type")


def _tree(G: BackendGraph, weight: Any, algorithm: str, sign: int, how: dict[str, Any]) -> Any:
    _refuse_directed(G)
    forest = _forest(G, weight, algorithm, sign, how)
    tree = new_graph(directed=False, multigraph=G.is_multigraph())
    tree.graph.update(G.contents.graph)
    with uncollected():
        tree.add_nodes_from(G)
        tree.add_nodes_from(G.contents.nodes.items())
        tree.add_edges_from(_edges(G, forest, keys=True, data=True))
    return tree


@offered(_kruskal, _one_data)
def minimum_spanning_edges(
    G: BackendGraph,
    algorithm: str = "kruskal",
    weight: Any = "weight",
    keys: bool = True,
    data: Any = True,
    ignore_nan: bool = False,
    **how: Any,
) -> Iterator[tuple[Any, ...]]:
    return _edges(G, _forest(G, weight, algorithm, 1, how), keys, data)


@offered(_kruskal, _one_data)
def maximum_spanning_edges(
    G: BackendGraph,
    algorithm: str = "kruskal",
    weight: Any = "weight",
    keys: bool = True,
    data: Any = True,
    ignore_nan: bool = False,
    **how: Any,
) -> Iterator[tuple[Any, ...]]:
    return _edges(G, _forest(G, weight, algorithm, -1, how), keys, data)


@offered(_kruskal, no_subclasses)
def minimum_spanning_tree(
    G: BackendGraph, weight: Any = "weight", algorithm: str = "kruskal", ignore_nan: bool = False, **how: Any
) -> Any:
    return _tree(G, weight, algorithm, 1, how)


@offered(_kruskal, no_subclasses)
def maximum_spanning_tree(
    G: BackendGraph, weight: Any = "weight", algorithm: str = "kruskal", ignore_nan: bool = False, **how: Any
) -> Any:
    return _tree(G, weight, algorithm, -1, how)
