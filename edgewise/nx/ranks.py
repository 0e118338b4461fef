"""Ranks by links: PageRank, hubs and authorities."""

import sys
from typing import Any

import networkx as nx
import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, svds

import edgewise as ew
from edgewise.errors import GraphError
from edgewise.nx.graph import BackendGraph
from edgewise.nx.matrix import adjacency
from edgewise.nx.offered import (
    LARGE,
    found_by,
    numbers_from,
    numbers_of_nodes,
    offered,
    options,
    refuses,
    whole,
)

#: Hubs and authorities change less than this in the last iteration: they are right to about as many digits as those
#: of NetworkX, however many it asks for.
_NOTHING = 1e-13


def _distribution(G: BackendGraph, given: Any, nothing: Exception) -> np.ndarray | None:
    """The values of a dict by node as an array that sums to 1, shape (n,). Raises `nothing` if they sum to 0."""
    if given is None:
        return None
    values = np.array([given.get(node, 0) for node in G], float)
    if values.sum() == 0:
        raise nothing
    return values / values.sum()


def _truth_value(arguments: dict[str, Any]) -> str | None:
    weight = arguments["weight"]
    return f"weight is {weight}; edgewise takes a name or None" if isinstance(weight, bool) else None


@offered(
    _truth_value,
    refuses("dangling", "edgewise gives the rank of nodes without edges away as `personalization` says"),
    numbers_from(0, 1, "alpha"),
    numbers_from(sys.float_info.min, LARGE, "tol"),
    whole("max_iter"),
    numbers_of_nodes("personalization"),
    numbers_of_nodes("nstart"),
)
def pagerank(
    G: BackendGraph,
    alpha: float = 0.85,
    personalization: Any = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Any = None,
    weight: Any = "weight",
    dangling: Any = None,
    **how: Any,
) -> dict[Any, float]:
    if len(G) == 0:
        return {}
    found = iterate(
        ew.pagerank,
        G,
        weight,
        max_iter,
        how,
        damping=alpha,
        tol=np.nextafter(len(G) * tol, 0),  # NetworkX ends below it, edgewise at it
        personalization=_distribution(G, personalization, ZeroDivisionError()),
        start=_distribution(G, nstart, nx.PowerIterationFailedConvergence(max_iter)),
    )
    return G.by_node(found.rank)


def iterate(find: Any, G: BackendGraph, weight: Any, max_iter: int, how: dict[str, Any], **given: Any) -> Any:
    """The result of an algorithm of edgewise that iterates.

    Raises:
        NotImplementedError: weights that edgewise does not take.
        PowerIterationFailedConvergence: there are not enough iterations.
    """
    sums = G.sums(weight)
    if sums.dtype == np.float64 and sums.min(initial=1, where=sums > 0) < sys.float_info.min:
        raise NotImplementedError(f"values of {weight!r} are below {sys.float_info.min:g}")
    graph, weighted = G.summed(weight)
    given |= {"max_iterations": max(max_iter, 0), "weighted": weighted}
    found = found_by(find, graph, **given, **options(how))
    if not found.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return found


@offered()
def hits(
    G: BackendGraph,
    max_iter: int = 100,
    tol: float = 1e-8,
    nstart: Any = None,
    normalized: bool = True,
    **how: Any,
) -> tuple[dict[Any, float], dict[Any, float]]:
    if len(G) == 0:
        return {}, {}
    start = None if nstart is None else np.array(list(nstart.values()))
    if max_iter <= 0:
        raise nx.PowerIterationFailedConvergence(max_iter)
    found = None
    if start is None:
        found = _iterated(G, max_iter, tol, normalized, how)
    hubs, authorities = found or _decomposed(G, max_iter, tol, start, normalized)
    return G.by_node(hubs), G.by_node(authorities)


def _iterated(
    G: BackendGraph, max_iter: int, tol: float, normalized: bool, how: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Hubs and authorities by power iteration; None if they need more iterations, or weights or arguments are such that
    SciPy has to say what comes of it."""
    sums = G.sums("weight")
    positive = sums.min(initial=0) >= 0 and sums.max(initial=0) > 0
    if not positive or len(G) == 1 or not 0 <= tol < np.inf or int(max_iter) != max_iter:
        return None
    graph, weighted = G.summed("weight")
    given: dict[str, Any] = {"tol": _NOTHING, "max_iterations": int(max_iter), "normalized": bool(normalized)}
    try:
        found = ew.hits(graph, weighted=weighted, **given, **options(how))
    except GraphError:
        return None
    return (found.hub, found.authority) if found.converged else None


def _decomposed(
    G: BackendGraph, max_iter: int, tol: float, start: np.ndarray | None, normalized: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Hubs and authorities by a singular value decomposition, as NetworkX finds them."""
    matrix = adjacency(G, "weight")
    try:
        authorities = svds(matrix, k=1, v0=start, maxiter=max_iter, tol=tol)[2].flatten().real
    except ArpackNoConvergence as problem:
        raise nx.PowerIterationFailedConvergence(max_iter) from problem
    hubs = matrix @ authorities
    if normalized:
        hubs /= hubs.sum()
        authorities /= authorities.sum()
    return hubs, authorities
