"""A check of triangles that counts them by edges, over whole rows, with no order among vertices.

The common neighbours of the two ends of an edge are the triangles on it. At each vertex, its neighbours are marked; for
each that has no more neighbours than it, the marked ones among those of that neighbour are counted. All edges of a
vertex together have each triangle through it twice. A graph whose edges are those of k forests takes O(k m) time
(Chiba and Nishizeki, "Arboricity and subgraph listing algorithms", SIAM Journal on Computing 14, 1985). SciPy makes the
rows, without loops and parallel edges.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import expect_integers, vertex_shown
from edgewise.errors import GraphError, VerificationError
from edgewise.graph import Graph
from edgewise.kernels.cpu.atomics import atomic_add
from edgewise.kernels.cpu.launch import launch, unsigned
from edgewise.kernels.cpu.team import available_threads, claim, team_kernel

#: Vertices handed out at a time.
_PIECE = 64

_ONE = np.uint64(1)


@team_kernel
def _count_on_edges(
    thread: Any, size: Any, control: Any, offsets: Any, targets: Any, marks: Any, twice: Any
) -> None:
    """Count the triangles on each edge, and add them to both ends."""
    n, mark = len(twice), marks[thread]
    while True:
        start = claim(control, 0, _PIECE, n)
        if start == n:
            return
        for v in range(np.uint64(start), np.uint64(min(start + _PIECE, n))):
            first, end = np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])
            for k in range(first, end):
                mark[targets[k]] = v
            for k in range(first, end):
                u = np.uint64(targets[k])
                begin, stop = np.uint64(offsets[u]), np.uint64(offsets[u + _ONE])
                if stop - begin < end - first or (stop - begin == end - first and u < v):
                    common = np.int64(0)
                    for i in range(begin, stop):
                        common += np.int64(mark[targets[i]] == v)
                    atomic_add(twice, u, common)
                    atomic_add(twice, v, common)


def count_on_edges(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The triangles through each vertex, int64, and its different neighbours, int32."""
    from scipy.sparse import csr_array

    n, m = graph.num_vertices, graph.num_arcs
    others = np.flatnonzero(graph.sources != graph.targets)
    ends = graph.sources[others], graph.targets[others]
    simple = csr_array((np.ones(len(others), np.int8), ends), shape=(n, n))  # adds up parallel ones
    offsets, targets = (unsigned(each) for each in (simple.indptr, simple.indices))
    marks, twice = np.full((available_threads(), n), n, np.uint32), np.zeros(n, np.int64)
    launch(_count_on_edges, offsets, targets, marks, twice, work=30 * m)
    return twice // 2, np.diff(simple.indptr).astype(np.int32)


def verify_triangles(graph: Graph, triangles: np.ndarray, degree: np.ndarray | None = None) -> np.ndarray:
    """Check triangles, and degrees where they are given, against the graph.

    Args:
        graph: the graph, undirected, n vertices.
        triangles: integers, shape (n,).
        degree: integers, shape (n,): how many different neighbours each vertex has; or None.

    Returns:
        The degrees.

    Raises:
        VerificationError: naming the first vertex that is wrong.
    """
    if graph.directed:
        raise GraphError("verify: the graph is directed; expected the undirected graph of the triangles")
    expected, neighbours = count_on_edges(graph)
    _expect("triangles", triangles, expected, graph, "the edges have")
    if degree is not None:
        _expect("degree", degree, neighbours, graph, "its row has")
    return neighbours


def _expect(name: str, given: np.ndarray, expected: np.ndarray, graph: Graph, source: str) -> None:
    """Raise for the first vertex for which a value is not the expected one."""
    expect_integers(**{name: given})
    if given.shape != expected.shape:
        raise VerificationError(f"{name} has the shape {given.shape}; expected {expected.shape}")
    wrong = given != expected
    if wrong.any():
        v = int(np.argmax(wrong))
        vertex = vertex_shown(graph, v)
        raise VerificationError(f"{name} of vertex {vertex} is {given[v]}; {source} {expected[v]}")
