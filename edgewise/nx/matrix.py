"""Adjacency matrices of graphs of the backend."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from edgewise.nx.graph import BackendGraph


def adjacency(G: BackendGraph, weight: Any) -> csr_array:
    """The adjacency matrix, float64, shape (n, n), as NetworkX's `to_scipy_sparse_array` has it: an edge attribute,
    summed over parallel edges."""
    parts = G.sums(weight).astype(np.float64), G.rows.targets, G.rows.offsets
    return csr_array(parts, shape=(len(G), len(G)))
