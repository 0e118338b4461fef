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

import functools
import time
from typing import Any

import numpy as np

from edgewise.algorithms.common.numbers import as_float
from edgewise.approx.chunks import Chunks, put_in_chunks
from edgewise.approx.copies import Copies
from edgewise.approx.numbering import Numbering, number_in_turns
from edgewise.approx.replicas import Pairs, assign, edges_of_replicas, rows_both_ways, well_connected
from edgewise.approx.transformed import Added, Approximate, as_count, as_fraction, part_of
from edgewise.approx.where import made_where
from edgewise.errors import ParameterError
from edgewise.graph import Graph, check_graph

#: About the nanoseconds that an arc takes one thread in all, and the bytes that an arc and a vertex take on a GPU.
_ARC_NS, _ARC_BYTES, _VERTEX_BYTES = 50, 48, 256


def coalesce(
    graph: Graph,
    *,
    chunk: int = 16,
    threshold: float = 0.6,
    budget: float = 0.09,
    extra: int = 0,
    device: str = "auto",
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
        device: where it is made: see `edgewise.execution.choose`. Slots are given to replicas one after the other, on
            the host; a graph of many levels is numbered there, too. The result is the same.

    Returns:
        The graph, with what was added, and `copies`: the slots. `balance` gives a GPU's threads these slots.

    Raises:
        ParameterError: a knob that is not a number in its range.
        GraphError: slots beyond 2**31: a level of few vertices takes a chunk all the same.
        ScheduleError, DeviceError, MemoryLimitError: an unknown device, or one that cannot be used or has no room.
    """
    check_graph("coalesce", graph)
    knobs = chunk_knobs(chunk, threshold, budget, extra)
    chunk, threshold, extra = knobs["chunk"], knobs["threshold"], knobs["extra"]
    most = int(part_of(knobs["budget"], graph.num_edges))
    started = time.perf_counter()

    def on_gpu() -> tuple[np.ndarray, Added, Copies]:
        from edgewise.approx.coalesce_cuda import coalesced_on_gpu

        return coalesced_on_gpu(graph, chunk, threshold, most, extra)

    def on_cpu() -> tuple[np.ndarray, Added, Copies]:
        numbering = number_in_turns(graph)
        chunks = put_in_chunks(numbering, chunk, extra)
        pairs, slots = _replicas(graph, numbering, chunks, threshold)
        rows = functools.partial(rows_both_ways, graph)
        added = edges_of_replicas(graph, numbering.order, chunks.begins, pairs, most, rows)
        return numbering.order, added, _copies(numbering, chunks, pairs, slots)

    memory = _VERTEX_BYTES * graph.num_vertices + _ARC_BYTES * graph.num_arcs
    (order, added, copies), there = made_where(
        "coalesce", graph, device, on_gpu, on_cpu, work=_ARC_NS * graph.num_arcs, memory=memory
    )
    seconds = time.perf_counter() - started
    return Approximate(graph, order, added, "coalesce", knobs, seconds, copies=copies, on_gpu=there)


def chunk_knobs(chunk: Any, threshold: Any, budget: Any, extra: Any) -> dict[str, Any]:
    """The knobs of `coalesce` by their names. Raises ParameterError."""
    chunk, extra = as_count("coalesce: chunk", chunk, 1), as_count("coalesce: extra", extra, 0)
    if extra >= chunk:
        raise ParameterError(f"coalesce: extra is {extra}; expected an integer from 0 to {chunk - 1}")
    threshold = as_float("coalesce: threshold", threshold, "a number of at least 0", most=np.inf)
    budget = as_fraction("coalesce: budget", budget)
    return {"chunk": chunk, "threshold": threshold, "budget": budget, "extra": extra}


def edges_enough(threshold: float, sizes: np.ndarray) -> np.ndarray:
    """How many edges to a chunk are enough for a replica, float64. The threshold is at most 1.

    Args:
        threshold: see `coalesce`.
        sizes: how many vertices chunks have.
    """
    return np.maximum(1, np.ceil(threshold * sizes - 1e-9))


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
    least = np.where(near_free & (threshold <= 1), edges_enough(min(threshold, 1), sizes), np.inf)
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
