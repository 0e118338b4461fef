"""Facts about a graph: its size and kind, degrees, components, doubled edges, weights, memory."""

from typing import Any

import numpy as np

from edgewise.algorithms.components import connected_components
from edgewise.execution import limited
from edgewise.graph import Graph
from edgewise.graph.csr import Rows, rows_in_pieces
from edgewise.graph.file import file_facts
from edgewise.graph.making import Made
from edgewise.graph.pairs import count_parallel, count_reciprocal
from edgewise.kernels.door import cuda_door, cuda_problem
from edgewise.memory import Step, free_memory, held, in_turn

Facts = dict[str, Any]
#: Arcs that are looked at together.
_PIECE = 2**20
_MEGABYTE = 1e6


def graph_facts(graph: Graph) -> Facts:
    """The size and kind of a graph, and what its file says of itself if it is one of edgewise's own."""
    return {
        "vertices": graph.num_vertices,
        "edges": graph.num_edges,
        "directed": graph.directed,
        "weights": None if graph.weight_dtype is None else str(graph.weight_dtype),
        **file_facts(graph),
    }


def graph_line(graph: Graph) -> str:
    """The size and kind of a graph in words."""
    kind = "directed" if graph.directed else "undirected"
    weights = "unweighted" if graph.weight_dtype is None else f"{graph.weight_dtype} weights"
    return f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges, {kind}, {weights}"


def facts_of_edges(graph: Graph, limit: int | None) -> Facts:
    """What takes passes over the edges: degrees, components, loops and doubled edges, weights; and the memory of all.

    Raises:
        MemoryLimitError: it takes more than `limit` bytes beside the graph.
    """
    with limited("info without --brief", graph, limit, lambda: degree_bytes(graph)):
        facts = {**degree_facts(graph), **pair_facts(graph), **weight_facts(graph)}
    return {**facts, **component_facts(graph, limit), **memory_facts(graph)}


def degree_facts(graph: Graph) -> Facts:
    """The least, middle, mean and largest degrees, outward and inward, and the number of isolated vertices."""
    if not graph.num_vertices:
        return {}
    facts: Facts = {}
    for name, degree in (("out_degree", graph.out_degree), ("in_degree", graph.in_degree)):
        most = int(np.argmax(degree))
        facts[f"min_{name}"] = int(degree.min())
        facts[f"median_{name}"] = float(np.median(degree))
        facts[f"mean_{name}"] = graph.num_arcs / graph.num_vertices
        facts[f"max_{name}"] = int(degree[most])
        facts[f"max_{name}_vertex"] = graph.ids_of(np.array([most])).tolist()[0]
    facts["isolated_vertices"] = int(((graph.out_degree == 0) & (graph.in_degree == 0)).sum())
    return facts


def pair_facts(graph: Graph) -> Facts:
    """The numbers of self-loops, of parallel edges and, in a directed graph, of reciprocal ones."""
    pieces = rows_in_pieces(graph.offsets, _PIECE)
    rows = Rows(graph.offsets, graph.targets, None)
    facts = {
        "self_loops": sum(int((source == graph.targets[part]).sum()) for part, source in pieces),
        "parallel_edges": count_parallel(rows, graph.directed),
    }
    if graph.directed:
        facts["reciprocal_edges"] = count_reciprocal(rows, Rows(graph.in_offsets, graph.in_sources, None))
    return facts


def weight_facts(graph: Graph) -> Facts:
    """The least and the largest weight, and how many edges have none above zero."""
    if graph.weights is None or not graph.num_arcs:
        return {}
    zero = negative = 0
    for part, source in rows_in_pieces(graph.offsets, _PIECE):
        weights = graph.weights[part]
        if not graph.directed:  # an edge is in two rows
            weights = weights[source >= graph.targets[part]]
        zero, negative = zero + int((weights == 0).sum()), negative + int((weights < 0).sum())
    return {
        "min_weight": graph.weights.min().item(),
        "max_weight": graph.weights.max().item(),
        "zero_weights": zero,
        "negative_weights": negative,
    }


def component_facts(graph: Graph, limit: int | None) -> Facts:
    """The number of connected components, of a directed graph weakly connected ones, and the largest one's share."""
    if not graph.num_vertices:
        return {"components": 0}
    found = connected_components(graph, device="cpu", memory_limit=limit)
    largest = int(np.bincount(found.component).max())
    return {
        "components": found.num_components,
        "largest_component": largest,
        "largest_component_share": largest / graph.num_vertices,
    }


def memory_facts(graph: Graph) -> Facts:
    """What the graph takes in memory, with in-edges, and would take on a GPU; what is free, and whether it fits."""
    outward = Rows(graph.offsets, graph.targets, graph.weights).nbytes
    inward = outward if graph.directed else 0
    free, problem = free_memory(), cuda_problem()
    facts = {
        "megabytes": graph.nbytes / _MEGABYTE,
        "free_megabytes": None if free is None else free / _MEGABYTE,
        "gpu_megabytes": outward / _MEGABYTE,
        "gpu_megabytes_with_in_edges": (outward + inward) / _MEGABYTE,
    }
    if problem:
        return {**facts, "gpu": None}
    gpu = cuda_door().facts()
    return {**facts, "gpu": gpu["gpu"], "fits_on_gpu": outward + inward <= gpu["memory_bytes"]}


def degree_bytes(graph: Graph) -> int:
    """The bytes that `facts_of_edges` takes beside the graph, and beside pages of its file, without components."""
    n, m = graph.num_vertices, graph.num_arcs
    degrees = graph.making(Made.OUT_DEGREE, Made.IN_DEGREE)
    in_edges = graph.making(Made.IN_EDGES) if graph.directed else held(0)
    stamps = 8 * n + 4 * (n + m)
    return in_turn(degrees, graph.reading_ids(), in_edges, Step(0, stamps)).most
