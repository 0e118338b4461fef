"""Core numbers, and subgraphs by them."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

import edgewise as ew
from edgewise.nx.convert import arc_data, new_graph
from edgewise.nx.garbage import uncollected
from edgewise.nx.graph import BackendGraph
from edgewise.nx.offered import no_multigraphs, no_subclasses, offered, options, refuses

_own_numbers = refuses("core_number", "with core numbers that are known NetworkX takes the subgraph itself")


def _cores(G: BackendGraph, how: dict[str, Any]) -> list[int]:
    """The core number of each vertex."""
    if (G.sources == G.rows.targets).any():
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    cores: list[int] = ew.core_numbers(G.plain, **options(how)).core.tolist()
    return cores


@offered()
def core_number(G: BackendGraph, **how: Any) -> dict[Any, int]:
    return dict(zip(G, _cores(G, how), strict=True))


@offered(no_multigraphs, no_subclasses, _own_numbers)
def k_core(G: BackendGraph, k: Any = None, core_number: Any = None, **how: Any) -> Any:
    return _subgraph_of(G, k, how, lambda core, k: core >= k)


@offered(no_multigraphs, no_subclasses, _own_numbers)
def k_shell(G: BackendGraph, k: Any = None, core_number: Any = None, **how: Any) -> Any:
    return _subgraph_of(G, k, how, lambda core, k: core == k)


@offered(no_multigraphs, no_subclasses, _own_numbers)
def k_crust(G: BackendGraph, k: Any = None, core_number: Any = None, **how: Any) -> Any:
    cores = _cores(G, how)
    highest = max(cores) - 1 if k is None else k
    return _subgraph(G, [vertex for vertex, core in enumerate(cores) if core <= highest])


@offered(no_multigraphs, no_subclasses, _own_numbers)
def k_corona(G: BackendGraph, k: Any, core_number: Any = None, **how: Any) -> Any:
    cores = _cores(G, how)
    wanted = max(cores) if k is None else k
    shell = [vertex for vertex, core in enumerate(cores) if core == wanted]
    is_deep = np.array(cores) >= (cores[shell[0]] if shell else 0)
    neighbours = np.bincount(G.sources[is_deep[G.rows.targets]], minlength=len(G)).tolist()
    return _subgraph(G, [vertex for vertex in shell if neighbours[vertex] == wanted])


def _subgraph_of(G: BackendGraph, k: Any, how: dict[str, Any], keeps: Callable[[int, Any], bool]) -> Any:
    """The subgraph of the nodes whose core number is kept; k is the largest if it is not given."""
    cores = _cores(G, how)
    wanted = max(cores) if k is None else k
    return _subgraph(G, [vertex for vertex, core in enumerate(cores) if keeps(core, wanted)])


@uncollected()
def _subgraph(G: BackendGraph, vertices: list[int]) -> Any:
    """The graph of NetworkX that its ``G.subgraph(nodes).copy()`` gives, with all attributes.

    That has nodes in the order of the set of them if these are less than half of all. Neighbours are in the order of G,
    as far as edges are not met from their other end before.
    """
    kept = np.array(vertices, np.int32)
    names = G.names(kept)
    if 2 * len(kept) < len(G):
        vertex_of = dict(zip(names, vertices, strict=True))
        names = list(set(names))
        kept = np.array([vertex_of[name] for name in names], np.int32)
    place = np.full(len(G), -1)
    place[kept] = np.arange(len(kept))
    begins, ends = place[G.sources], place[G.rows.targets]
    arcs = np.flatnonzero((begins >= 0) & (ends >= (0 if G.is_directed() else begins)))
    arcs = arcs[np.argsort(begins[arcs], kind="stable")]
    graph, data = new_graph(G.is_directed()), arc_data(G)
    graph.graph.update(G.contents.graph)
    graph.add_nodes_from((name, G.contents.nodes.get(name, {})) for name in names)
    ends = G.names(G.sources[arcs]), G.names(G.rows.targets[arcs])
    graph.add_edges_from(zip(*ends, [data[arc] for arc in arcs.tolist()], strict=True))
    return graph
