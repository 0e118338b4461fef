"""Which vertices are replicated, where, and which edges they get: the second step of coalescing.

Reference. Singh and Nasre (2020), section 2.3.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.approx.transformed import Added, cut, sum_fits, weight_bounds
from edgewise.graph import Graph
from edgewise.graph.csr import Rows, transpose
from edgewise.kernels.cache import device_function
from edgewise.kernels.costs import best_threads
from edgewise.kernels.cpu.launch import INTERRUPTIBLE, launch_on, sealed
from edgewise.kernels.cpu.team import available_threads, claim, team_kernel

#: Vertices that a thread takes at a time, and about the nanoseconds that an arc takes.
_STEP, _ARC_NS = 64, 4


class Pairs(NamedTuple):
    """Vertices and chunks that they are well connected to.

    Attributes:
        vertex: int32, shape (p,): indices of the graph.
        chunk: int32, shape (p,).
        edges: int32, shape (p,): how many edges the vertex has to the chunk.
    """

    vertex: np.ndarray
    chunk: np.ndarray
    edges: np.ndarray


def well_connected(graph: Graph, chunk: np.ndarray, least: np.ndarray) -> Pairs:
    """Pairs of a vertex and a chunk to which it has enough edges; parallel ones count. O(n + m).

    Args:
        graph: the graph.
        chunk: int32, shape (n,): the chunk of each vertex.
        least: float64: how many edges are enough, for each chunk; infinity if none are.

    Returns:
        The pairs, by their vertices.
    """
    n, wanted = graph.num_vertices, np.where(np.isfinite(least), least, 2**31 - 1).astype(np.int32)
    none = np.empty(0, np.int32)
    if not np.isfinite(least).any():
        return Pairs(none, none, none)
    work = _ARC_NS * graph.num_arcs
    threads = best_threads(2 * work, available_threads())
    counts = np.zeros((threads, len(least)), np.int32)
    rows = sealed(graph.offsets), sealed(graph.targets), sealed(chunk), sealed(wanted)
    upto = np.zeros(n + 1, np.int64)
    launch_on(threads, _connect, *rows, counts, upto, none, none, long=work > INTERRUPTIBLE)
    np.cumsum(upto, out=upto)
    chunks, edges = np.empty((2, upto[-1]), np.int32)
    launch_on(threads, _connect, *rows, counts, upto, chunks, edges, long=work > INTERRUPTIBLE)
    return Pairs(np.repeat(np.arange(n, dtype=np.int32), np.diff(upto)), chunks, edges)


def assign(
    wanted: np.ndarray, begins: np.ndarray, parent: np.ndarray, chunk: np.ndarray, size: int
) -> np.ndarray:
    """The slots of replicas, int64; -1 for those for which none is free.

    Args:
        wanted: int32: the chunks that replicas lead to, in the order in which they get slots.
        begins: int64: the first vertex of each chunk, by places in the new order, and n.
        parent, chunk: int32, shape (n,): the parent and the chunk of each vertex, by places.
        size: how many slots a chunk has.
    """
    used, slots = np.diff(begins), np.full(len(wanted), -1, np.int64)
    given = sealed(wanted), sealed(begins), sealed(parent), sealed(chunk)
    launch_on(1, _assign, *given, size, used, slots, long=_ARC_NS * size * len(wanted) > INTERRUPTIBLE)
    return slots


def rows_both_ways(graph: Graph) -> tuple[Rows, Rows]:
    """The rows of a graph, and its in-edges."""
    own = Rows(graph.offsets, graph.targets, graph.weights)
    return own, transpose(own) if graph.directed else own


def edges_of_replicas(
    graph: Graph,
    order: np.ndarray,
    begins: np.ndarray,
    pairs: Pairs,
    most: int,
    rows: Callable[[], tuple[Rows, Rows]],
) -> Added:
    """Edges from replicated vertices to those of a chunk that are two steps away and no neighbours, at most `most`.

    Args:
        graph: the graph.
        order: its vertices in their new order.
        begins: int64: where the vertices of each chunk begin in that order, and n.
        pairs: the replicas; edges of the first ones come first.
        most: how many edges there may be.
        rows: gives the rows of replicated vertices, and the in-edges of vertices of their chunks; rows of others are
            not looked at.
    """
    if len(pairs.vertex) == 0 or most == 0:
        none = np.empty(0, np.int32)
        return Added(none, none, np.empty(0, graph.weight_dtype) if graph.weighted else None)
    own, inward = rows()
    by_vertex = np.argsort(pairs.vertex, kind="stable")
    vertex, chunk = pairs.vertex[by_vertex], pairs.chunk[by_vertex]
    room = np.diff(begins)[chunk]
    upto = np.zeros(len(room) + 1, np.int64)
    np.cumsum(room, out=upto[1:])
    groups = np.flatnonzero(np.append(vertex[1:] != vertex[:-1], True)) + 1
    n, in_degree = graph.num_vertices, np.diff(inward.offsets)[order].astype(np.int64)
    of_chunks = np.add.reduceat(in_degree, begins[:-1])
    out_degree = np.diff(own.offsets)[vertex[groups - 1]]
    work = _ARC_NS * int(of_chunks[chunk].sum() + out_degree.sum(dtype=np.int64))
    threads = best_threads(work, available_threads())
    weights, in_weights = own.weights, inward.weights
    dtype = np.int32 if weights is None else weights.dtype
    it = Searching(
        offsets=sealed(own.offsets),
        targets=sealed(own.targets),
        in_offsets=sealed(inward.offsets),
        in_sources=sealed(inward.targets),
        vertex=sealed(vertex),
        chunk=sealed(chunk),
        begins=sealed(begins),
        order=sealed(order),
        groups=sealed(np.append(0, groups)),
        upto=sealed(upto),
        bounds=weight_bounds(weights),
        seen=np.zeros((threads, n), np.int32),
        least=np.empty((threads, n if graph.weighted else 0), dtype),
        found=np.zeros(len(vertex), np.int64),
        ends=np.empty(upto[-1], np.int32),
        lengths=np.empty(upto[-1] if graph.weighted else 0, dtype),
    )
    both = None if weights is None else sealed(weights), None if in_weights is None else sealed(in_weights)
    launch_on(threads, _search, it, *both, long=work > INTERRUPTIBLE)
    kept = np.arange(upto[-1]) - np.repeat(upto[:-1], room) < np.repeat(it.found, room)
    first = np.argsort(np.repeat(by_vertex, it.found), kind="stable")
    sources = np.repeat(vertex, it.found)[first]
    lengths = it.lengths[kept][first] if graph.weighted else None
    return cut(Added(sources, it.ends[kept][first], lengths), graph.directed, most)


class Searching(NamedTuple):
    """What is searched for vertices two steps away.

    Attributes:
        offsets, targets, in_offsets, in_sources: arcs by their sources, and by their targets.
        vertex, chunk: of each pair, by vertices.
        begins, order: the vertices of chunk c are ``order[begins[c]:begins[c + 1]]``.
        groups: where the pairs of each vertex begin, and the end of the last ones.
        upto: where the ends of each pair's edges begin, and how many there may be of all.
        bounds: of `sum_fits`.
        seen: of each thread: the last group whose vertex has an arc to a vertex, from 1 on.
        least: of each thread: the least weight of these arcs, if there are weights.
        found: how many edges each pair has.
        ends, lengths: of these edges.
    """

    offsets: np.ndarray
    targets: np.ndarray
    in_offsets: np.ndarray
    in_sources: np.ndarray
    vertex: np.ndarray
    chunk: np.ndarray
    begins: np.ndarray
    order: np.ndarray
    groups: np.ndarray
    upto: np.ndarray
    bounds: np.ndarray
    seen: np.ndarray
    least: np.ndarray
    found: np.ndarray
    ends: np.ndarray
    lengths: np.ndarray


@team_kernel
def _connect(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    chunk: Any,
    least: Any,
    counts: Any,
    upto: Any,
    chunks: Any,
    edges: Any,
) -> None:
    """Count the chunks to which vertices are well connected, or list them if there is room. `counts` are 0, and stay
    so."""
    count, n = counts[thread], len(offsets) - 1
    while True:
        first = claim(control, 0, _STEP, n)
        if first >= n:
            return
        for v in range(first, min(first + _STEP, n)):
            begin, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
            for k in range(begin, end):
                count[chunk[targets[k]]] += 1
            at, found = upto[v], np.int64(0)
            for k in range(begin, end):
                c = chunk[targets[k]]
                if count[c] >= least[c]:
                    if len(chunks) > 0:
                        chunks[at + found], edges[at + found] = c, count[c]
                    found += 1
                count[c] = 0
            if len(chunks) == 0:
                upto[v + 1] = found


@team_kernel
def _assign(
    thread: Any,
    size: Any,
    control: Any,
    wanted: Any,
    begins: Any,
    parent: Any,
    chunk: Any,
    slots_of_chunk: Any,
    used: Any,
    slots: Any,
) -> None:
    """Give replicas the slots that are free beside parents; a thread does all."""
    for i in range(len(wanted)):
        for v in range(begins[wanted[i]], begins[wanted[i] + 1]):
            beside = np.int64(chunk[parent[v]]) if parent[v] >= 0 else np.int64(-1)
            if beside >= 0 and used[beside] < slots_of_chunk:
                slots[i] = beside * slots_of_chunk + used[beside]
                used[beside] += 1
                break


@team_kernel
def _search(thread: Any, size: Any, control: Any, it: Any, weights: Any, in_weights: Any) -> None:
    """Find the vertices of chunks that are two steps away from vertices."""
    seen, least, num_groups = it.seen[thread], it.least[thread], len(it.groups) - 1
    while True:
        group = claim(control, 0, 1, num_groups)
        if group >= num_groups:
            return
        stamp, v = group + 1, np.int64(it.vertex[it.groups[group]])
        for k in range(np.int64(it.offsets[v]), np.int64(it.offsets[v + 1])):
            x = np.int64(it.targets[k])
            if weights is not None and (seen[x] != stamp or weights[k] < least[x]):
                least[x] = weights[k]
            seen[x] = stamp
        for pair in range(it.groups[group], it.groups[group + 1]):
            c = np.int64(it.chunk[pair])
            for i in range(it.begins[c], it.begins[c + 1]):
                q = np.int64(it.order[i])
                if q != v and seen[q] != stamp:
                    _add(q, pair, stamp, seen, least, it, weights, in_weights)


@device_function
def _add(
    q: Any, pair: Any, stamp: Any, seen: Any, least: Any, it: Any, weights: Any, in_weights: Any
) -> None:
    """Add an edge from the vertex of a pair to q, if a path of two leads there, as long as the shortest one."""
    at, found = it.upto[pair] + it.found[pair], False
    for j in range(np.int64(it.in_offsets[q]), np.int64(it.in_offsets[q + 1])):
        x = np.int64(it.in_sources[j])
        if seen[x] != stamp:
            continue
        if weights is None:
            found = True
            break
        if sum_fits(least[x], in_weights[j], it.bounds):
            length = least[x] + in_weights[j]
            if not found or length < it.lengths[at]:
                it.lengths[at] = length
            found = True
    if found:
        it.ends[at] = q
        it.found[pair] += 1
