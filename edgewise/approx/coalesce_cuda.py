"""Coalescing on a GPU: see `edgewise.approx.coalesce`.

Slots are given to replicas one after the other, on the host, where their edges are found, too: it is given the rows
that this looks at, of replicated vertices and of those of their chunks.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.approx.chunks import chunks_of_levels
from edgewise.approx.copies import Copies
from edgewise.approx.numbering import Numbering, number_in_turns
from edgewise.approx.numbering_cuda import number_on_gpu
from edgewise.approx.replicas import Pairs, assign, edges_of_replicas
from edgewise.approx.transformed import Added
from edgewise.graph import Graph
from edgewise.graph.csr import Rows
from edgewise.graph.keys_cuda import arc_keys
from edgewise.kernels.cuda.memory import copy_of, cupy, empty, full, host_copy, zeros


class ChunksThere(NamedTuple):
    """Where vertices lie, by their places in the new order, on the GPU: see `edgewise.approx.chunks.Chunks`.

    Attributes:
        size: how many slots a chunk has.
        slot: int64, shape (n,).
        chunk: int32, shape (n,).
        begins: int64, shape (chunks + 1,).
    """

    size: int
    slot: Any
    chunk: Any
    begins: Any


def coalesced_on_gpu(
    graph: Graph, size: int, threshold: float, most: int, extra: int
) -> tuple[np.ndarray, Added, Copies]:
    """The new order of vertices, the added edges, and the slots, on the host.

    Args:
        graph: the graph, which has arcs.
        size, threshold, extra: see `edgewise.approx.coalesce.coalesce`, which calls `size` the chunk.
        most: how many edges may be added.

    Raises:
        GraphError: slots beyond 2**31.
    """
    numbering = number_on_gpu(graph)
    if numbering is None:
        here = number_in_turns(graph)
        numbering = Numbering(copy_of(here.order), copy_of(here.parent), here.begins)
    chunks = _put_in_chunks(numbering, size, extra)
    order = host_copy(numbering.order)
    pairs, slots = _replicas(graph, numbering, chunks, threshold)
    rows = functools.partial(_rows_around, graph, numbering, chunks, pairs)
    added = edges_of_replicas(graph, order, host_copy(chunks.begins), pairs, most, rows)
    return order, added, _copies(numbering, chunks, pairs, slots)


def _put_in_chunks(numbering: Numbering, size: int, extra: int) -> ChunksThere:
    """`edgewise.approx.chunks.put_in_chunks` on the GPU."""
    xp = cupy()
    of_levels, num_chunks = chunks_of_levels(numbering.begins, size, extra)
    begins, first, room = copy_of(numbering.begins), copy_of(of_levels), size - extra
    places = xp.arange(len(numbering.order))
    level = xp.searchsorted(begins, places, side="right") - 1
    within = places - begins[level]
    chunk = first[level] + within // room
    begins = xp.searchsorted(chunk, xp.arange(num_chunks + 1))
    return ChunksThere(size, chunk * size + within % room, chunk.astype(np.int32), begins)


def _replicas(
    graph: Graph, numbering: Numbering, chunks: ChunksThere, threshold: float
) -> tuple[Pairs, np.ndarray]:
    """The pairs of vertices and chunks that get replicas, those with most edges first, and the replicas' slots, on the
    host."""
    xp, parent = cupy(), numbering.parent
    sizes = xp.diff(chunks.begins)
    has_parent = parent >= 0
    beside = chunks.chunk[parent[has_parent]]
    enough = zeros(len(sizes), np.bool_)
    enough[chunks.chunk[has_parent][chunks.size > sizes[beside]]] = threshold <= 1
    if not bool(enough.any()):
        none = np.empty(0, np.int32)
        return Pairs(none, none, none), np.empty(0, np.int64)
    least = xp.maximum(1, xp.ceil(min(threshold, 1) * sizes - 1e-9))
    place, of_original = empty(len(parent), np.int32), empty(len(parent), np.int32)
    place[numbering.order] = xp.arange(len(parent), dtype=np.int32)
    of_original[numbering.order] = chunks.chunk
    found = _well_connected(graph, of_original, enough, least)
    # They are in the order of vertices, then chunks.
    first = xp.argsort(place[found.vertex], kind="stable")
    first = first[xp.argsort(-found.edges[first], kind="stable")]
    vertex, chunk, edges = (host_copy(each[first]) for each in found)
    begins, parents, of_places = map(host_copy, (chunks.begins, parent, chunks.chunk))
    slot = assign(chunk, begins, parents, of_places, chunks.size)
    taken = slot >= 0
    return Pairs(vertex[taken], chunk[taken], edges[taken]), slot[taken]


def _well_connected(graph: Graph, chunk: Any, enough: Any, least: Any) -> Pairs:
    """`edgewise.approx.replicas.well_connected` on the GPU, by vertices, then chunks.

    Args:
        graph: the graph.
        chunk: int32, shape (n,): the chunk of each vertex.
        enough: which chunks may be wanted.
        least: how many edges are enough, for each of these.
    """
    xp = cupy()
    keys = arc_keys(graph.gpu.offsets, graph.gpu.targets)
    to = chunk[keys >> 32]
    wanted = enough[to]
    keys = (keys[wanted] & 0xFFFFFFFF) << 32 | to[wanted]
    keys.sort()
    is_first = xp.ones(len(keys) + 1, np.bool_)
    is_first[1:-1] = keys[1:] != keys[:-1]
    begins = xp.flatnonzero(is_first)
    keys, edges = keys[begins[:-1]], xp.diff(begins).astype(np.int32)
    kept = edges >= least[keys & 0xFFFFFFFF]
    vertex, to = ((keys[kept] >> 32).astype(np.int32), (keys[kept] & 0xFFFFFFFF).astype(np.int32))
    return Pairs(vertex, to, edges[kept])


def _rows_around(graph: Graph, numbering: Numbering, chunks: ChunksThere, pairs: Pairs) -> tuple[Rows, Rows]:
    """`edgewise.approx.replicas.rows_both_ways`, on the host, with no other rows than those of replicated vertices, and
    in-edges of vertices of chunks that they lead to."""
    n = graph.num_vertices
    is_replicated, is_reached = zeros(n, np.bool_), zeros(n, np.bool_)
    is_replicated[copy_of(pairs.vertex)] = True
    is_wanted = zeros(len(chunks.begins) - 1, np.bool_)
    is_wanted[copy_of(pairs.chunk)] = True
    is_reached[numbering.order] = is_wanted[chunks.chunk]
    own = _rows_of(graph, is_replicated, inward=False)
    return own, _rows_of(graph, is_reached, inward=graph.directed)


def _rows_of(graph: Graph, wanted: Any, inward: bool) -> Rows:
    """The rows of some vertices, or their in-edges, on the host; other rows are empty."""
    xp, n, there = cupy(), graph.num_vertices, graph.gpu
    keys = arc_keys(there.offsets, there.targets)
    arcs = xp.flatnonzero(wanted[keys >> 32 if inward else keys & 0xFFFFFFFF])
    keys = keys[arcs]
    if inward:
        order = xp.argsort(keys, kind="stable")
        arcs, keys = arcs[order], keys[order]
    owner, other = (keys >> 32, keys & 0xFFFFFFFF) if inward else (keys & 0xFFFFFFFF, keys >> 32)
    offsets = xp.searchsorted(owner, xp.arange(n + 1))
    weights: Any = host_copy(there.weights[arcs]) if graph.weighted else None
    return Rows(host_copy(offsets), host_copy(other.astype(np.int32)), weights)


def _copies(numbering: Numbering, chunks: ChunksThere, pairs: Pairs, slots: np.ndarray) -> Copies:
    """All slots: those of vertices and of replicas, on the host."""
    xp, n = cupy(), len(chunks.slot)
    num_slots = (len(chunks.begins) - 1) * chunks.size
    vertex, place = full(num_slots, -1, np.int32), empty(n, np.int32)
    place[numbering.order] = vertex[chunks.slot] = xp.arange(n, dtype=np.int32)
    owners, to = host_copy(vertex), np.full(num_slots, -1, np.int32)
    owners[slots], to[slots] = host_copy(place[copy_of(pairs.vertex)]), pairs.chunk
    return Copies(chunks.size, owners, to)
