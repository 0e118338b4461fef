"""Centralities of nodes by degrees and distances."""

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

import edgewise as ew
from edgewise.nx.distances import measure_at_once, nodes_among
from edgewise.nx.graph import BackendGraph
from edgewise.nx.lengths import dijkstra_each
from edgewise.nx.offered import SORTED_SINCE, VERSION, brief, offered
from edgewise.nx.search import breadth_first


def _shares(G: BackendGraph, degree: np.ndarray) -> dict[Any, float]:
    """Degrees as shares of all other nodes."""
    if len(G) <= 1:
        return dict.fromkeys(G, 1)
    return G.by_node(degree * (1.0 / (len(G) - 1.0)))


@offered(doubt=brief)
def degree_centrality(G: BackendGraph) -> dict[Any, float]:
    out, into = G.degrees
    return _shares(G, out + into if G.is_directed() else out)


@offered(doubt=brief)
def in_degree_centrality(G: BackendGraph) -> dict[Any, float]:
    return _shares(G, G.degrees[1])


@offered(doubt=brief)
def out_degree_centrality(G: BackendGraph) -> dict[Any, float]:
    return _shares(G, G.degrees[0])


@offered()
def closeness_centrality(
    G: BackendGraph, u: Any = None, distance: Any = None, wf_improved: bool = True
) -> Any:
    missing = f"Source {u} is not in G" if distance is None else f"Node {u} not found in graph"
    roots = list(range(len(G))) if u is None else [G.index(u, nx.NodeNotFound(missing))]
    found = measure_at_once(ew.closeness, G, roots, distance)
    if found is not None:
        reached, total = found.reached.tolist(), found.total.tolist()
    else:
        lengths = [paths.lengths for paths in dijkstra_each(G.reversed(distance), roots, distance)]
        reached, total = [len(each) - 1 for each in lengths], list(map(sum, lengths))
    values = [_closeness(len(G), *each, wf_improved) for each in zip(reached, total, strict=True)]
    return dict(zip(G, values, strict=True)) if u is None else values[0]


def _closeness(n: int, reached: int, total: float, wf_improved: bool) -> float:
    """The number of others by the sum of their distances, times the share of them that was reached."""
    if total <= 0.0 or n <= 1:
        return 0.0
    value = float(reached) / total
    return value * (float(reached) / (n - 1)) if wf_improved else value


@offered()
def harmonic_centrality(
    G: BackendGraph, nbunch: Any = None, distance: Any = None, sources: Any = None
) -> dict[Any, float]:
    wanted, begins = set(nodes_among(G, nbunch)), set(nodes_among(G, sources))
    centrality: dict[Any, float] = dict.fromkeys(wanted, 0)
    if distance is None and len(begins) == len(G) and wanted:
        roots = [G.index(node, KeyError(node)) for node in wanted]
        sums = ew.harmonic(G.plain, vertices=roots, device="cpu").harmonic[roots].tolist()
        return {node: value or 0 for node, value in zip(wanted, sums, strict=True)}
    if len(wanted) < len(begins):
        turned, counts = G.reversed(distance), _mask(G, begins)
        if VERSION < SORTED_SINCE:
            each = zip(wanted, _distances(turned, wanted, distance), strict=True)
            return {node: _summed_by_set(distances, begins) for node, distances in each}
        for node, (vertices, terms) in zip(wanted, _inverse_distances(turned, wanted, distance), strict=True):
            if counts[vertices].any():
                centrality[node] = (
                    terms[counts[vertices]].cumsum()[-1].item()
                )  # added in turn, as by NetworkX
        return centrality
    sums = np.zeros(len(G))
    for vertices, terms in _inverse_distances(G, begins, distance):
        sums[vertices] += terms
    found = G.by_node(sums)
    return {node: found[node] or 0 for node in wanted}


def _distances(G: BackendGraph, nodes: set[Any], distance: Any) -> Iterator[dict[Any, Any]]:
    """For each node the distances of all that it reaches, in NetworkX's order."""
    roots = [G.index(node, KeyError(node)) for node in nodes]
    if distance is not None:
        return (paths.by_node(G) for paths in dijkstra_each(G, roots, distance))
    found = (breadth_first(G.rows, [root]) for root in roots)
    return (dict(zip(G.names(each.order), each.level.tolist(), strict=True)) for each in found)


def _summed_by_set(distances: dict[Any, Any], nodes: set[Any]) -> Any:
    """The sum of one over the distance of each of these nodes that is farther than 0, in the order of a set."""
    return sum(1 / distances[node] for node in nodes.intersection(distances) if distances[node] != 0)


def _mask(G: BackendGraph, nodes: set[Any]) -> np.ndarray:
    return np.fromiter(map(nodes.__contains__, G), np.bool_, len(G))


def _inverse_distances(
    G: BackendGraph, nodes: set[Any], distance: Any
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each node the vertices farther from it than 0, in NetworkX's order, and one over the distance of each."""
    roots = [G.index(node, KeyError(node)) for node in nodes]
    if distance is None:
        for root in roots:
            levels = breadth_first(G.rows, [root])
            yield levels.order[1:], 1 / levels.level[1:]
        return
    for paths in dijkstra_each(G, roots, distance):
        lengths = paths.summed.values
        far = lengths != 0
        if lengths.dtype == np.int64 and lengths[-1] >= 2**53:  # float64 may not hold the farthest
            yield paths.order[far], np.array([1 / length for length in paths.lengths if length], np.float64)
        else:
            with np.errstate(over="ignore"):  # one over the least of floats
                terms = 1 / lengths[far]
            yield paths.order[far], terms
