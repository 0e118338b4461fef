"""Coalescing: what the vertices of a warp reach at one time lies side by side, and replicas of vertices lie beside the
parents of what they reach.

Vertices come by the levels of a search, numbered in turns by their parents (`numbering`). Slots of threads lie in
chunks; a level begins with a chunk, so the last chunk of a level may have slots that are free: holes. A vertex with
many edges to a chunk gets a replica in a hole beside the parents of that chunk, which takes its arcs to the chunk, and
edges to vertices of the chunk that are two steps away.

In the paper holes and replicas are vertices. Here they are slots of threads (`copies`): vertices have their ids and one
state, and messages of all replicas are combined before a vertex computes. So replicas change no answer; added edges do.
With weights, an added edge is as long as a path that was there: shortest paths, strong components, and the weight of a
minimum spanning forest (if no weight is negative) stay exact. Searches by steps, PageRank and betweenness change.

Reference. Singh and Nasre (2020), section 2. Its levels begin at the next multiple of the chunk (line 15 rounds down,
on to slots that are taken), and a vertex is numbered once (line 19 numbers it again).
"""

import time
from typing import NamedTuple

import numpy as np

from edgewise.algorithms.common.numbers import as_float
from edgewise.approx.copies import Copies
from edgewise.approx.numbering import Numbering, number_in_turns
from edgewise.approx.replicas import Pairs, assign, edges_of_replicas, well_connected
from edgewise.approx.transformed import Approximate, as_count, as_fraction, part_of
from edgewise.errors import GraphError, ParameterError
from edgewise.graph import Graph, check_graph


def coalesce(
    graph: Graph, *, chunk: int = 16, threshold: float = 0.6, budget: float = 0.09, extra: int = 0
) -> Approximate:
    """Number vertices so that what a warp reaches at one time lies together, and replicate well-connected ones.

    Level by level, a vertex numbers its first neighbour that no other has numbered, then the others their first, then
    all of them their second ones. A vertex is well connected to a chunk if it has at least `threshold` edges for each
    vertex there. It gets a replica in a free slot beside the parents of that chunk, in the first of their chunks that
    has one, and edges to those vertices of the chunk that are two steps away, as long as the shortest such path; sums
    beyond the dtype are left out. Pairs of a vertex and a chunk with more edges come first, then those of the vertex
    that comes first. O(n log n + m) beside the paths of replicas.

    A level has fewer free slots than a chunk, and those of the last level are of no use. `extra` keeps free slots in
    each chunk, which is not in the paper.

    Args:
        graph: directed or undirected; in an undirected graph an edge is added to both rows.
        chunk: how many slots a chunk has, at least 1; a half or a whole warp lies together.
        threshold: at least 0; above 1 nothing is replicated, and nothing is added.
        budget: the most edges that are added, as a fraction of the graph's; 0 adds none.
        extra: how many slots of each chunk are kept free of vertices, less than `chunk`.

    Returns:
        The graph, with what was added, and `copies`: the slots. `balance` gives a GPU's threads these slots.

    Raises:
        ParameterError: a knob that is not a number in its range.
        GraphError: slots beyond 2**31: a level of few vertices takes a chunk all the same.
    """
    check_graph("coalesce", graph)
    chunk, extra = as_count("coalesce: chunk", chunk, 1), as_count("coalesce: extra", extra, 0)
    if extra >= chunk:
        raise ParameterError(f"coalesce: extra is {extra}; expected an integer from 0 to {chunk - 1}")
    threshold = as_float("coalesce: threshold", threshold, "a number of at least 0", most=np.inf)
    budget = as_fraction("coalesce: budget", budget)
    knobs = {"chunk": chunk, "threshold": threshold, "budget": budget, "extra": extra}
    started = time.perf_counter()
    numbering = number_in_turns(graph)
    chunks = put_in_chunks(numbering, chunk, extra)
    pairs, slots = _replicas(graph, numbering, chunks, threshold)
    added = edges_of_replicas(graph, numbering, chunks.begins, pairs, int(part_of(budget, graph.num_edges)))
    copies = _copies(numbering, chunks, pairs, slots)
    seconds = time.perf_counter() - started
    return Approximate(graph, numbering.order, added, "coalesce", knobs, seconds, copies=copies)


class Chunks(NamedTuple):
    """Where vertices lie, by their places in the new order.

    Attributes:
        size: how many slots a chunk has.
        slot: int64, shape (n,): the slot of each vertex.
        begins: int64, shape (chunks + 1,): the first vertex of each chunk, and n.
    """

    size: int
    slot: np.ndarray
    begins: np.ndarray

    @property
    def of_vertex(self) -> np.ndarray:
        """The chunk of each vertex, int32."""
        return (self.slot // self.size).astype(np.int32)


def put_in_chunks(numbering: Numbering, size: int, extra: int) -> Chunks:
    """Put vertices into chunks: a level begins with a new one.

    Args:
        numbering: the vertices.
        size: how many slots a chunk has.
        extra: how many of them have no vertex.

    Raises:
        GraphError: slots beyond 2**31.
    """
    in_level, room = np.diff(numbering.begins), size - extra
    of_level = -(-in_level // room)
    upto = np.cumsum(of_level)
    num_chunks = int(of_level.sum())
    if num_chunks * size >= 2**31:
        raise GraphError(
            f"coalesce: {num_chunks:,} chunks of {size:,} slots are more than 2**31 slots; take a smaller chunk"
        )
    within = np.arange(len(numbering.order)) - np.repeat(numbering.begins[:-1], in_level)
    chunk = np.repeat(upto - of_level, in_level) + within // room
    begins = np.zeros(num_chunks + 1, np.int64)
    np.cumsum(np.bincount(chunk, minlength=num_chunks), out=begins[1:])
    return Chunks(size, chunk * size + within % room, begins)


def _replicas(
    graph: Graph, numbering: Numbering, chunks: Chunks, threshold: float
) -> tuple[Pairs, np.ndarray]:
    """The pairs of vertices and chunks that get replicas, those with most edges first, and the replicas' slots."""
    sizes, chunk = np.diff(chunks.begins), chunks.of_vertex
    free = chunks.size - sizes
    has_parent = numbering.parent >= 0
    by_parent = chunk[numbering.parent[has_parent]]
    near_free = np.zeros(len(sizes), np.bool_)
    near_free[chunk[has_parent][free[by_parent] > 0]] = True
    enough = near_free & (threshold <= 1)
    least = np.where(enough, np.maximum(1, np.ceil(min(threshold, 1) * sizes - 1e-9)), np.inf)
    of_original = np.empty(len(chunk), np.int32)
    of_original[numbering.order] = chunk
    found = well_connected(graph, of_original, least)
    place = np.empty(len(chunk), np.int32)
    place[numbering.order] = np.arange(len(chunk), dtype=np.int32)
    first = np.lexsort((found.chunk, place[found.vertex], -found.edges))
    found = Pairs(*(each[first] for each in found))
    slot = assign(found.chunk, chunks.begins, numbering.parent, chunk, chunks.size)
    return Pairs(*(each[slot >= 0] for each in found)), slot[slot >= 0]


def _copies(numbering: Numbering, chunks: Chunks, pairs: Pairs, slots: np.ndarray) -> Copies:
    """All slots: those of vertices and of replicas."""
    num_slots = (len(chunks.begins) - 1) * chunks.size
    vertex, to = np.full((2, num_slots), -1, np.int32)
    place = np.empty(len(chunks.slot), np.int32)
    place[numbering.order] = np.arange(len(place), dtype=np.int32)
    vertex[chunks.slot] = np.arange(len(place), dtype=np.int32)
    vertex[slots], to[slots] = place[pairs.vertex], pairs.chunk
    return Copies(chunks.size, vertex, to)
