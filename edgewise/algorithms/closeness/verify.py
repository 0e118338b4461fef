"""A check of sums over distances by other searches, those of SciPy."""

from collections.abc import Iterator

import numpy as np

from edgewise.algorithms.closeness.job import Found
from edgewise.algorithms.common.derived import expect_integers
from edgewise.errors import VerificationError
from edgewise.graph import Graph
from edgewise.text import shown

#: The relative difference that float sums may have, since all summands are positive or 0.
TOLERANCE = 1e-9
#: Distances that are held at a time.
_AT_A_TIME = 1 << 22


def verify_distances(graph: Graph, vertices: np.ndarray, weighted: bool, inward: bool, found: Found) -> bool:
    """Check sums against the distances that `scipy.sparse.csgraph` finds, by Dijkstra's search with a Fibonacci heap or
    breadth-first; by integer weights beyond 2**53 rounding is allowed for.

    Args:
        graph: the graph, n vertices.
        vertices: those that were asked for, indices, shape (k,).
        weighted, inward: see `job.Job`.
        found: arrays of shape (n,): what was found at `vertices`, and none at the others.

    Raises:
        VerificationError: naming the first vertex that is wrong.
    """
    n = graph.num_vertices
    expect_integers(reached=found.reached)
    for name, values in found._asdict().items():
        if values.shape != (n,):
            raise VerificationError(
                f"got {values.shape} values of {name}, expected one for each of {n} vertices"
            )
    others = np.ones(n, bool)
    others[vertices] = False
    for name, values in found._asdict().items():
        none = np.isnan(values) if values.dtype.kind == "f" else values == -1
        if not none[others].all():
            v = np.flatnonzero(others & ~none)[0]
            raise VerificationError(
                f"{name} of vertex {_name(graph, v)} is {values[v]}; it was not asked for"
            )
    for some, distance in _distances(graph, vertices, weighted, inward):
        reached = np.isfinite(distance)
        reached[np.arange(len(some)), some] = False
        known = np.where(reached, distance, 0.0)
        reciprocals = np.divide(1.0, known, out=np.zeros_like(known), where=known > 0)
        expected = Found(reached.sum(axis=1), known.sum(axis=1), reciprocals.sum(axis=1), known.max(axis=1))
        for name, right, values in zip(Found._fields, expected, found, strict=True):
            same = np.isclose(
                values[some], right, rtol=TOLERANCE if weighted or name == "reciprocals" else 0, atol=0
            )
            if not same.all():
                i = int(np.argmin(same))
                raise VerificationError(
                    f"{name} of vertex {_name(graph, some[i])} is {values[some[i]]}; by its distances it is {right[i]}"
                )
    return True


def _name(graph: Graph, index: int) -> str:
    return shown(graph.ids_of(np.array([index])).tolist()[0])


def _distances(
    graph: Graph, vertices: np.ndarray, weighted: bool, inward: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Some of the vertices and their distances, float64, one row for each; inf where there is no path."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    n, ends = graph.num_vertices, np.stack([graph.sources, graph.targets])
    lengths = (
        graph.weights.astype(np.float64)
        if weighted and graph.weights is not None
        else np.ones(graph.num_arcs)
    )
    order = np.lexsort((lengths, ends[1], ends[0]))  # SciPy adds parallel arcs up, so the shortest is kept
    ends, lengths = ends[:, order], lengths[order]
    first = np.ones(len(order), bool)
    first[1:] = (ends[:, 1:] != ends[:, :-1]).any(axis=0)
    (source, target), lengths = ends[:, first], lengths[first]
    if inward:
        source, target = target, source
    matrix = csr_array((lengths, (source, target)), shape=(n, n))
    step = max(1, _AT_A_TIME // max(n, 1))
    for begin in range(0, len(vertices), step):
        some = vertices[begin : begin + step]
        yield some, dijkstra(matrix, indices=some, unweighted=not weighted)
