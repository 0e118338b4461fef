"""Connected components, weak and strong ones."""

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

import edgewise as ew
from edgewise.nx.convert import new_graph
from edgewise.nx.graph import BackendGraph
from edgewise.nx.offered import offered, options
from edgewise.nx.search import breadth_first, pieces, strong_components


def _sets(G: BackendGraph, component: np.ndarray) -> Iterator[set[Any]]:
    """The nodes of each component, by the labels of vertices in ascending order."""
    order = np.argsort(component, kind="stable")
    starts = np.flatnonzero(np.diff(component[order], prepend=-1)).tolist()
    yield from map(set, pieces(G.names(order), starts))


def _number(G: BackendGraph, how: dict[str, Any]) -> int:
    return int(ew.connected_components(G.plain, **options(how)).num_components)


def _refuse_no_nodes(G: BackendGraph) -> None:
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")


@offered()
def connected_components(G: BackendGraph, **how: Any) -> Iterator[set[Any]]:
    yield from _sets(G, ew.connected_components(G.plain, **options(how)).component)


@offered()
def number_connected_components(G: BackendGraph, **how: Any) -> int:
    return _number(G, how)


@offered()
def is_connected(G: BackendGraph, **how: Any) -> bool:
    _refuse_no_nodes(G)
    return _number(G, how) == 1


@offered()
def node_connected_component(G: BackendGraph, n: Any) -> set[Any]:
    return set(G.names(breadth_first(G.rows, [G.index(n, KeyError(n))]).order))


@offered()
def weakly_connected_components(G: BackendGraph, **how: Any) -> Iterator[set[Any]]:
    yield from connected_components(G, **how)


@offered()
def number_weakly_connected_components(G: BackendGraph, **how: Any) -> int:
    return _number(G, how)


@offered()
def is_weakly_connected(G: BackendGraph, **how: Any) -> bool:
    return bool(is_connected(G, **how))


@offered()
def strongly_connected_components(G: BackendGraph) -> Iterator[set[Any]]:
    yield from _sets(G, strong_components(G.rows))


@offered()
def number_strongly_connected_components(G: BackendGraph, **how: Any) -> int:
    return int(ew.scc(G.plain, **options(how)).num_components)


@offered()
def is_strongly_connected(G: BackendGraph, **how: Any) -> bool:
    _refuse_no_nodes(G)
    return int(ew.scc(G.plain, **options(how)).num_components) == 1


@offered()
def condensation(G: BackendGraph, scc: Any = None) -> Any:
    if len(G) == 0:
        scc = ()
    members = dict(enumerate(strongly_connected_components(G) if scc is None else scc))
    if len(G) > len(members) == 0:
        raise NotImplementedError("there are no components; edgewise expects those of all nodes with edges")
    mapping = {node: number for number, nodes in members.items() for node in nodes}
    condensed = new_graph(directed=True)
    condensed.graph["mapping"] = mapping
    component = np.fromiter((mapping.get(node, -1) for node in G), np.int64, len(G))
    source, target = component[G.sources], component[G.rows.targets]
    if (lacks := (source < 0) | (target < 0)).any():
        arc = int(np.argmax(lacks))
        raise KeyError(G.nodes[(G.sources if source[arc] < 0 else G.rows.targets)[arc]])
    joining = source != target
    _, first = np.unique(source[joining] * len(members) + target[joining], return_index=True)
    first.sort()
    condensed.add_nodes_from((number, {"members": nodes}) for number, nodes in members.items())
    ends = source[joining][first].tolist(), target[joining][first].tolist()
    condensed.add_edges_from(zip(*ends, strict=True))
    return condensed
