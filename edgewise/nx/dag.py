"""Topological order."""

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

import edgewise as ew
from edgewise.nx.cpu_sums import peel_generations
from edgewise.nx.graph import BackendGraph
from edgewise.nx.offered import offered, options
from edgewise.nx.search import alone, pieces


def _generations(G: BackendGraph) -> tuple[np.ndarray, np.ndarray]:
    """The vertices in topological order, as far as there is one, and where each generation begins."""
    waiting = np.diff(G.in_rows.offsets).astype(np.int64)
    first = np.flatnonzero(waiting == 0)
    order, starts, found = (
        np.empty(len(G), np.int32),
        np.empty(len(G) + 2, np.int64),
        np.array([len(first), 0]),
    )
    order[: len(first)] = first
    alone(peel_generations, G.rows, waiting, order, starts, found)
    return order[: found[0]], starts[: found[1]]


@offered()
def topological_generations(G: BackendGraph) -> Iterator[list[Any]]:
    if not G.is_directed():
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    order, starts = _generations(G)
    yield from pieces(G.names(order), starts.tolist())
    if len(order) < len(G):
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


@offered()
def topological_sort(G: BackendGraph) -> Iterator[Any]:
    for generation in topological_generations(G):
        yield from generation


@offered()
def is_directed_acyclic_graph(G: BackendGraph, **how: Any) -> bool:
    return G.is_directed() and ew.topological_order(G.plain, **options(how)).is_acyclic
