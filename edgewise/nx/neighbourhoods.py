"""Triangles, and how closely neighbours are joined."""

from typing import Any, NamedTuple

import networkx as nx
import numpy as np

import edgewise as ew
from edgewise.graph.csr import Rows, build_rows, row_of_arcs, transpose
from edgewise.nx.cpu_sums import add_triangles
from edgewise.nx.distances import nodes_among
from edgewise.nx.graph import BackendGraph
from edgewise.nx.offered import brief, offered, options, refuses
from edgewise.nx.search import alone

_unweighted = refuses("weight", "edgewise counts triangles; it does not weigh them")


class _Closed(NamedTuple):
    """How closely the neighbours of each vertex are joined.

    Attributes:
        triangles: of each vertex the triangles through it, those of a directed graph by their directions.
        clustering: of each vertex their share of the possible ones; the integer 0 where there is none, as in NetworkX.
        possible: how many there would be in all if all neighbours were joined.
    """

    triangles: list[int]
    clustering: list[Any]
    possible: int


def _closed(G: BackendGraph, how: dict[str, Any]) -> _Closed:
    """What is counted for all vertices; it is kept, for NetworkX asks for single nodes, too."""
    kept = G.kept.get(_closed)
    if kept is None:
        kept = G.kept[_closed] = _directed_triangles(G) if G.is_directed() else _triangles(G, how)
    return kept


def _triangles(G: BackendGraph, how: dict[str, Any]) -> _Closed:
    found = ew.triangles(G.plain, **options(how))
    degree = found.degree.astype(np.int64)
    return _shares(found.triangles, degree * (degree - 1) // 2)


def _shares(triangles: np.ndarray, possible: np.ndarray) -> _Closed:
    """What is kept of the triangles through each vertex and the possible ones, int64, shape (n,)."""
    shares = (triangles / np.maximum(possible, 1)).tolist()
    return _Closed(triangles.tolist(), [share or 0 for share in shares], sum(possible.tolist()))


def _directed_triangles(G: BackendGraph) -> _Closed:
    """Triangles of a directed graph: of three vertices there are as many as ways to choose an edge, of any direction,
    for each two of them; NetworkX counts each from both ends of the opposite edge."""
    n = len(G)
    either, _ = build_rows(G.sources, G.rows.targets, None, n, both_directions=True, drop_loops=True)
    both = transpose(either)  # rows in ascending order; it is its own transpose
    sources, targets = row_of_arcs(both.offsets), both.targets
    first = np.flatnonzero(
        np.concatenate([[True], (np.diff(sources) != 0) | (np.diff(targets) != 0)])[: len(sources)]
    )
    times = np.diff(first, append=len(sources))  # 2 for edges of both directions
    sources, targets = sources[first], targets[first]
    degree = np.bincount(sources, minlength=n)
    total = np.bincount(sources, times, n).astype(np.int64)
    upwards = (degree[sources] < degree[targets]) | (
        (degree[sources] == degree[targets]) & (sources < targets)
    )
    offsets = np.concatenate([[0], np.cumsum(np.bincount(sources[upwards], minlength=n))])
    found = np.zeros(n, np.int64)
    alone(add_triangles, Rows(offsets, targets[upwards], None), times[upwards], np.zeros(n, np.int64), found)
    mutual = np.bincount(sources[times == 2], minlength=n)
    return _shares(2 * found, 2 * (total * (total - 1) - 2 * mutual))


def _at(G: BackendGraph, nodes: Any, values: list[Any]) -> Any:
    """The values of one node, of some, or of all."""
    if nodes is None:
        return dict(zip(G, values, strict=True))
    if nodes in G:
        return values[G.index(nodes, KeyError(nodes))]
    return {node: values[G.index(node, KeyError(node))] for node in nodes_among(G, nodes)}


def _of_all(arguments: dict[str, Any]) -> str | None:
    """A doubt of calls for some nodes."""
    return None if arguments["nodes"] is None else brief(arguments)


def _refuse_parallel(G: BackendGraph) -> None:
    if G.is_multigraph():
        raise nx.NetworkXNotImplemented("not implemented for multigraph type")


@offered(doubt=_of_all)
def triangles(G: BackendGraph, nodes: Any = None, **how: Any) -> Any:
    if nodes is not None:
        _refuse_parallel(G)
    return _at(G, nodes, _closed(G, how).triangles)


@offered(_unweighted, doubt=_of_all)
def clustering(G: BackendGraph, nodes: Any = None, weight: Any = None, **how: Any) -> Any:
    _refuse_parallel(G)
    return _at(G, nodes, _closed(G, how).clustering)


@offered(_unweighted, doubt=_of_all)
def average_clustering(
    G: BackendGraph, nodes: Any = None, weight: Any = None, count_zeros: bool = True, **how: Any
) -> float:
    values = list(clustering(G, nodes, weight, **how).values())
    if not count_zeros:
        values = [value for value in values if abs(value) > 0]
    return sum(values) / len(values)


def _undirected(arguments: dict[str, Any]) -> str | None:
    return "edgewise counts triangles of undirected graphs here" if arguments["G"].is_directed() else None


@offered(_undirected)
def transitivity(G: BackendGraph, **how: Any) -> float:
    _refuse_parallel(G)
    found = _closed(G, how)
    counted = sum(found.triangles)
    return counted / found.possible if counted else 0
