"""Centralities of nodes."""

from typing import Any

import numpy as np

from edgewise.nx.graph import BackendGraph
from edgewise.nx.offered import offered


def _shares(G: BackendGraph, degree: np.ndarray) -> dict[Any, float]:
    """Degrees as shares of all other nodes."""
    if len(G) <= 1:
        return dict.fromkeys(G, 1)
    return G.by_node(degree * (1.0 / (len(G) - 1.0)))


@offered()
def degree_centrality(G: BackendGraph) -> dict[Any, float]:
    out, into = G.degrees
    return _shares(G, out + into if G.is_directed() else out)


@offered()
def in_degree_centrality(G: BackendGraph) -> dict[Any, float]:
    return _shares(G, G.degrees[1])


@offered()
def out_degree_centrality(G: BackendGraph) -> dict[Any, float]:
    return _shares(G, G.degrees[0])
