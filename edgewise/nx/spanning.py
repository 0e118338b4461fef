"""Spanning trees."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from networkx.algorithms.tree.mst import ALGORITHMS

import edgewise as ew
from edgewise.nx.convert import arc_data, new_graph
from edgewise.nx.graph import BackendGraph
from edgewise.nx.offered import no_multigraphs, offered, options, refuses

_one_data = refuses("data", "edgewise gives all attributes or none", True, False)


def _kruskal(arguments: dict[str, Any]) -> str | None:
    other = arguments["algorithm"] != "kruskal" and arguments["algorithm"] in ALGORITHMS
    return "edgewise gives the edges in the order of Kruskal's algorithm" if other else None


def _forest(G: BackendGraph, weight: Any, algorithm: str, minimum: bool, how: dict[str, Any]) -> np.ndarray:
    """The arcs of the forest that Kruskal's algorithm finds, in its order.

    It takes equal weights in the order of edges. With places in that order for weights there is one forest.
    """
    if algorithm != "kruskal":
        raise ValueError(f"{algorithm} is not a valid choice for an algorithm.")
    weights = G.column(weight).values[G.edges]
    in_turn = G.edges[np.argsort(weights if minimum else -weights, kind="stable")]
    place = np.empty(len(in_turn), np.int64)
    place[G.edge_numbers[in_turn]] = np.arange(len(in_turn))
    found = ew.mst(G.with_values(place[G.edge_numbers]), **options(how))
    return in_turn[np.sort(found.weight)]


def _edges(G: BackendGraph, arcs: np.ndarray, data: bool) -> Iterator[tuple[Any, ...]]:
    ends = G.names(G.sources[arcs]), G.names(G.rows.targets[arcs])
    if not data:
        return zip(*ends, strict=True)
    attributes = arc_data(G)
    return zip(*ends, [attributes[arc] for arc in arcs.tolist()], strict=True)


def _tree(G: BackendGraph, arcs: np.ndarray) -> Any:
    tree = new_graph(directed=False)
    tree.graph.update(G.contents.graph)
    tree.add_nodes_from(G)
    tree.add_nodes_from(G.contents.nodes.items())
    tree.add_edges_from(_edges(G, arcs, data=True))
    return tree


@offered(no_multigraphs, _kruskal, _one_data)
def minimum_spanning_edges(
    G: BackendGraph,
    algorithm: str = "kruskal",
    weight: Any = "weight",
    keys: bool = True,
    data: Any = True,
    ignore_nan: bool = False,
    **how: Any,
) -> Iterator[tuple[Any, ...]]:
    return _edges(G, _forest(G, weight, algorithm, True, how), data)


@offered(no_multigraphs, _kruskal, _one_data)
def maximum_spanning_edges(
    G: BackendGraph,
    algorithm: str = "kruskal",
    weight: Any = "weight",
    keys: bool = True,
    data: Any = True,
    ignore_nan: bool = False,
    **how: Any,
) -> Iterator[tuple[Any, ...]]:
    return _edges(G, _forest(G, weight, algorithm, False, how), data)


@offered(no_multigraphs, _kruskal)
def minimum_spanning_tree(
    G: BackendGraph, weight: Any = "weight", algorithm: str = "kruskal", ignore_nan: bool = False, **how: Any
) -> Any:
    return _tree(G, _forest(G, weight, algorithm, True, how))


@offered(no_multigraphs, _kruskal)
def maximum_spanning_tree(
    G: BackendGraph, weight: Any = "weight", algorithm: str = "kruskal", ignore_nan: bool = False, **how: Any
) -> Any:
    return _tree(G, _forest(G, weight, algorithm, False, how))
