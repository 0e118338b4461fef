"""PageRank."""

from typing import Any

import networkx as nx
import numpy as np

import edgewise as ew
from edgewise.nx.graph import BackendGraph
from edgewise.nx.offered import no_multigraphs, offered, options, refuses


def _distribution(G: BackendGraph, given: Any) -> np.ndarray | None:
    """The values of a dict by node as an array that sums to 1, shape (n,)."""
    if given is None:
        return None
    values = np.array([given.get(node, 0) for node in G], float)
    if values.sum() == 0:
        raise ZeroDivisionError
    return values / values.sum()


@offered(
    no_multigraphs,
    refuses("dangling", "edgewise gives the rank of nodes without edges away as `personalization` says"),
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
    ones = bool((G.column(weight).values == 1).all())
    found = ew.pagerank(
        G.plain if ones else G.weighted(weight),
        damping=alpha,
        tol=np.nextafter(len(G) * tol, 0),  # NetworkX ends below it, edgewise at it
        max_iterations=max_iter,
        personalization=_distribution(G, personalization),
        start=_distribution(G, nstart),
        weighted=not ones,
        **options(how),
    )
    if not found.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return G.by_node(found.rank)
