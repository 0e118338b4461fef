"""Core graphs: the few edges on which most shortest paths lie.

Result. A graph of the same vertices with a small part of the edges. A query on it is fast, gives most vertices their
exact value, and others one that is too far; `edgewise.approx.refine` makes them exact.

Idea. Paths of many sources share edges: those on paths from and to vertices of high degree. So a query is solved from
each of a few such vertices, along edges and against them, and the edges of its trees of shortest paths are kept. A
vertex from which no edge is kept gets its lightest one.

Encoding. Vertices keep their indices and ids; `arcs` says which arcs of the graph the core has.

Reference. Jiang, Afarin, Zhao, Abu-Ghazaleh and Gupta, "Core Graph: Exploiting Edge Centrality to Speedup the
Evaluation of Iterative Graph Queries", EuroSys 2024. Where several shortest paths lead to a vertex, the one that is
kept comes from the neighbour of highest degree, which trees of other sources are likely to share.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgewise.algorithms.bfs import bfs
from edgewise.algorithms.common.lengths import WeightedArcs, arcs_of, length, unreached_value, weight_range
from edgewise.algorithms.sssp import sssp
from edgewise.approx.transformed import as_count, as_fraction
from edgewise.errors import ParameterError
from edgewise.graph import Graph, check_graph
from edgewise.graph.csr import row_of_arcs
from edgewise.kernels.costs import best_threads
from edgewise.kernels.cpu.atomics import atomic_min
from edgewise.kernels.cpu.launch import INTERRUPTIBLE, launch_on, sealed
from edgewise.kernels.cpu.team import available_threads, claim, team_kernel
from edgewise.primitives.vertices import NO_VERTEX
from edgewise.result import Result
from edgewise.text import shown

#: Vertices that a thread takes at a time, and about the nanoseconds that an arc takes.
_STEP, _ARC_NS = 64, 4
_ONE = np.uint64(1)


@dataclass(frozen=True, eq=False, repr=False)
class Core:
    """The core of a graph.

    Attributes:
        original: the graph that it is of.
        arcs: the arcs of `original` that it has, int64, ascending: in an undirected graph both of an edge.
        call: the algorithm whose paths these are, ``ew.sssp`` or ``ew.bfs``.
        sources: the vertices whose trees were taken, as indices, int64.
        seconds: how long finding it took.
    """

    original: Graph
    arcs: np.ndarray
    call: Callable[..., Result]
    sources: np.ndarray
    seconds: float

    @cached_property
    def graph(self) -> Graph:
        """The graph to run on. It has the vertices of `original` in their order, and the attributes of its edges."""
        graph = self.original
        offsets = np.searchsorted(self.arcs, graph.offsets)
        weights = None if graph.weights is None else graph.weights[self.arcs]
        made = Graph.from_csr(offsets, graph.targets[self.arcs], weights, graph.directed, graph.vertices)
        return graph._handing_on(made, lambda: self.arcs.astype(graph.offsets.dtype))

    @property
    def fraction(self) -> float:
        """Which part of the arcs it has."""
        return len(self.arcs) / max(1, self.original.num_arcs)

    def __repr__(self) -> str:
        return f"<core of {self.original!r}: {len(self.arcs):,} arcs, {self.fraction:.1%}>"


def core_graph(
    graph: Graph,
    call: Callable[..., Result] | None = None,
    *,
    num_sources: int = 64,
    fraction: float = 0.25,
    device: str = "auto",
) -> Core:
    """Find the edges on which most shortest paths lie.

    The vertices of highest degree, in-edges and out-edges counted, are sources one after the other, until there are
    `num_sources`, or the core has the asked part of the edges; it may pass that by the trees of the last one, and by an
    edge of each vertex that had none. O(n + m) for each source beside its queries.

    Args:
        graph: directed or undirected, with weights of at least 0. A core helps where a few vertices are on most paths,
            as in social networks; a tree alone has a large part of the edges of a road network, and the core gives few
            vertices their exact value there.
        call: ``ew.sssp`` for paths by weight, ``ew.bfs`` for paths by steps; None takes the first if there are weights.
        num_sources: at least 1. With 20, fewer than 95% of the vertices had their exact value in most skewed graphs.
        fraction: from 0, which takes one source, to 1.
        device: where queries run: see `edgewise.execution.choose`.

    Returns:
        A `Core`.

    Raises:
        ParameterError: another call, a number out of its range, or negative weights.
    """
    check_graph("core_graph", graph)
    num_sources, fraction = (
        as_count("core_graph: num_sources", num_sources, 1),
        as_fraction("core_graph: fraction", fraction),
    )
    chosen = (sssp if graph.weighted else bfs) if call is None else call
    if chosen not in (sssp, bfs):
        raise ParameterError(f"core_graph: call is {shown(call)}; expected ew.sssp, ew.bfs or None")
    if chosen is sssp and weight_range(graph)[0] < 0:
        raise ParameterError(
            "core_graph: there are negative weights; expected weights of at least 0, or call=ew.bfs"
        )
    started = time.perf_counter()
    by_degree = _by_degree(graph)
    kept = np.zeros(graph.num_arcs, np.bool_)
    used = _keep_trees(graph, chosen, by_degree, num_sources, fraction, device, kept)
    _keep_one_of_each(graph, chosen, by_degree, kept)
    arcs = np.flatnonzero(kept)
    return Core(graph, arcs, chosen, by_degree[:used], time.perf_counter() - started)


def _by_degree(graph: Graph) -> np.ndarray:
    """Vertices, int64, the highest degree first."""
    degree = graph.out_degree.astype(np.int64) + (graph.in_degree if graph.directed else 0)
    return np.argsort(-degree, kind="stable")


def _keep_trees(
    graph: Graph,
    call: Callable[..., Result],
    by_degree: np.ndarray,
    num_sources: int,
    fraction: float,
    device: str,
    kept: np.ndarray,
) -> int:
    """Mark the arcs of trees of shortest paths from and to the first vertices; how many vertices were taken."""
    n = graph.num_vertices
    rank = np.empty(n, np.uint32)
    rank[by_degree] = np.arange(n, dtype=np.uint32)
    backwards = _reversed(graph) if graph.directed else None
    used = 0
    for source in by_degree[:num_sources].tolist():
        kept |= _tree(graph, call, source, rank, device)
        if backwards is None:
            # An arc of an undirected graph has a twin.
            kept[graph.in_arcs[kept]] = True
        else:
            kept[graph.in_arcs[_tree(backwards, call, source, rank, device)]] = True
        used += 1
        if np.count_nonzero(kept) >= fraction * graph.num_arcs:
            break
    return used


def _reversed(graph: Graph) -> Graph:
    """The graph with every arc the other way, in the order of `in_sources`, and indices for ids."""
    return Graph.from_csr(graph.in_offsets, graph.in_sources, graph.in_weights)


def _tree(
    graph: Graph, call: Callable[..., Result], source: int, rank: np.ndarray, device: str
) -> np.ndarray:
    """Which arcs are in a tree of shortest paths from a vertex, bool, shape (m,); parallel ones of a length all are."""
    (start,) = graph.ids_of(np.array([source])).tolist()
    if call is sssp:
        paths = sssp(graph, start, device=device)
        distance, parent, arcs = paths.distance, paths.parent_index, arcs_of(graph)
    else:
        search = bfs(graph, start, device=device)
        distance, parent, arcs = distances(search.level), search.parent_index, steps_of(graph)
    best, marked = np.full(graph.num_vertices, NO_VERTEX, np.uint32), np.zeros(graph.num_arcs, np.bool_)
    unreached = unreached_value(distance.dtype)
    given, work = (sealed(distance), unreached, sealed(rank), best, marked), _ARC_NS * graph.num_arcs
    threads = best_threads(work, available_threads())
    launch_on(threads, _look, arcs, *given, False, long=work > INTERRUPTIBLE)
    # Only arcs that add nothing lead there.
    orphans = np.flatnonzero((best == NO_VERTEX) & (parent >= 0))
    best[orphans] = rank[parent[orphans]]
    launch_on(threads, _look, arcs, *given, True, long=work > INTERRUPTIBLE)
    return marked


def distances(level: np.ndarray) -> np.ndarray:
    """Levels as distances, int32: the largest integer in place of -1."""
    return np.where(level < 0, unreached_value(level.dtype), level)


def steps_of(graph: Graph) -> WeightedArcs:
    """The arcs of a graph, each of length 1."""
    return arcs_of(graph)._replace(weights=np.empty(0, np.int32))


def _keep_one_of_each(
    graph: Graph, call: Callable[..., Result], by_degree: np.ndarray, kept: np.ndarray
) -> None:
    """Mark an arc out of each vertex that has arcs but none that is marked: the lightest, to the highest degree."""
    n, sources = graph.num_vertices, row_of_arcs(graph.offsets)
    leads_out = sources != graph.targets
    bare = np.bincount(sources[kept], minlength=n) == 0
    candidates = np.flatnonzero(bare[sources] & leads_out)
    rank = np.empty(n, np.int64)
    rank[by_degree] = np.arange(n)
    keys = [rank[graph.targets[candidates]]]
    if call is sssp and graph.weights is not None:
        keys.append(graph.weights[candidates])
    order = candidates[np.lexsort([*keys, sources[candidates]])]
    first = np.append(True, sources[order][1:] != sources[order][:-1])[: len(order)]
    kept[order[first]] = True
    if not graph.directed:
        kept[graph.in_arcs[order[first]]] = True


@team_kernel
def _look(
    thread: Any,
    size: Any,
    control: Any,
    arcs: Any,
    distance: Any,
    unreached: Any,
    rank: Any,
    best: Any,
    marked: Any,
    marking: Any,
) -> None:
    """Look at the last arcs of shortest paths.

    Args:
        best: uint32, shape (n,): lowered to the least rank of a vertex that is nearer, from which such an arc leads.
        marked: bool, shape (m,), False.
        marking: whether such arcs from the vertex of rank `best` are marked instead.
    """
    n = len(distance)
    while True:
        first = claim(control, 0, _STEP, n)
        if first == n:
            return
        for u in range(np.uint64(first), np.uint64(min(first + _STEP, n))):
            if distance[u] == unreached:
                continue
            for k in range(np.uint64(arcs.offsets[u]), np.uint64(arcs.offsets[u + _ONE])):
                v = np.uint64(arcs.targets[k])
                if distance.dtype.type(distance[u] + length(arcs, k)) != distance[v]:
                    continue
                if marking:
                    marked[k] = rank[u] == best[v]
                elif distance[u] < distance[v] and rank[u] < best[v]:
                    atomic_min(best, v, rank[u])
