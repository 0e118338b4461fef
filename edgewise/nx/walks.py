"""Centralities of nodes by walks: eigenvectors and Katz."""

import math
from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np
from scipy.linalg import norm
from scipy.sparse.linalg import eigs

import edgewise as ew
from edgewise.errors import ParameterError
from edgewise.nx.components import is_connected, is_strongly_connected
from edgewise.nx.graph import BackendGraph
from edgewise.nx.matrix import adjacency
from edgewise.nx.offered import LARGE, in_range, numbers_from, numbers_of_nodes, offered, whole
from edgewise.nx.ranks import iterate

_NULL_GRAPH = "cannot compute centrality for the null graph"


def _by_node(G: BackendGraph, values: np.ndarray, nstart: Any) -> dict[Any, float]:
    """Values by node, in the order of the start if there is one."""
    found = G.by_node(values)
    return found if nstart is None else {node: found[node] for node in nstart}


def _values(G: BackendGraph, given: Any) -> np.ndarray | None:
    """Numbers by node as an array, shape (n,)."""
    return None if given is None else np.array([given[node] for node in G], float)


@offered(
    numbers_from(0, LARGE, "tol"),
    whole("max_iter"),
    numbers_of_nodes("nstart", all_nodes=True),
)
def eigenvector_centrality(
    G: BackendGraph,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Any = None,
    weight: Any = None,
    **how: Any,
) -> dict[Any, float]:
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept(_NULL_GRAPH)
    start = _values(G, nstart)
    if start is not None and not start.any():
        raise nx.NetworkXError("initial vector cannot have all zero values")
    found = iterate(ew.eigenvector, G, weight or None, max_iter, how, tol=tol, start=start)
    return _by_node(G, found.centrality, nstart)


@offered()
def eigenvector_centrality_numpy(
    G: BackendGraph, weight: Any = None, max_iter: int = 50, tol: float = 0, **how: Any
) -> dict[Any, float]:
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept(_NULL_GRAPH)
    if not (is_strongly_connected if G.is_directed() else is_connected)(G, **how):
        raise nx.AmbiguousSolution(
            "`eigenvector_centrality_numpy` does not give consistent results for disconnected graphs"
        )
    _, vectors = eigs(adjacency(G, weight).T, k=1, which="LR", maxiter=max_iter, tol=tol)
    largest = vectors.flatten().real
    return G.by_node(largest / (np.sign(largest.sum()) * norm(largest)))


def _added(arguments: dict[str, Any]) -> str | None:
    """A refusal of values that all walks have by themselves."""
    beta = arguments["beta"]
    if in_range(beta):
        return None
    if not isinstance(arguments["alpha"], float):
        return f"alpha={arguments['alpha']!r}: edgewise takes a float if beta is a dict"
    return (
        numbers_of_nodes("beta")(arguments)
        if isinstance(beta, Mapping)
        else f"beta={beta!r}: edgewise takes numbers"
    )


@offered(
    numbers_from(0, LARGE, "alpha", "tol"),
    whole("max_iter"),
    _added,
    numbers_of_nodes("nstart", all_nodes=True),
)
def katz_centrality(
    G: BackendGraph,
    alpha: float = 0.1,
    beta: Any = 1.0,
    max_iter: int = 1000,
    tol: float = 1e-6,
    nstart: Any = None,
    normalized: bool = True,
    weight: Any = None,
    **how: Any,
) -> dict[Any, float]:
    if len(G) == 0:
        return {}
    if isinstance(beta, Mapping):
        if beta.keys() != set(G):
            raise nx.NetworkXError("beta dictionary must have a value for every node")
        beta = _values(G, beta)
    given = {"alpha": alpha, "beta": beta, "tol": tol, "start": _values(G, nstart), "normalized": False}
    try:
        found = iterate(ew.katz, G, weight, max_iter, how, **given)
    except ParameterError as problem:
        if "grew beyond" not in str(problem):
            raise
        raise nx.PowerIterationFailedConvergence(max_iter) from None
    values = found.centrality
    if normalized:
        length = math.hypot(*values.tolist())  # squares of values may leave float64
        values = values * (1.0 / length if length else 1.0)
    return _by_node(G, values, nstart)
