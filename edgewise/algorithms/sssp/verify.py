"""A check of shortest paths that needs no second search."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import expect_integers
from edgewise.algorithms.common.lengths import unreached_value
from edgewise.algorithms.sssp.asked import Asked
from edgewise.errors import VerificationError
from edgewise.graph import Graph
from edgewise.text import shown

#: Arcs that are looked at together.
_BLOCK = 1 << 22


def verify_paths(
    graph: Graph, asked: Asked, distance: np.ndarray, parent: np.ndarray, weighted: bool = True
) -> bool:
    """Check distances and parents against the graph, in O(n log n + m), arcs in blocks.

    No distance is too long if no arc gives its target a smaller one. None is too short, and no vertex wrongly counts as
    reached, if the parents lead to the source along arcs that give exactly the distances. Together these leave one
    answer, whatever the signs of the weights. A vertex beyond what is asked for must not count as reached.

    Args:
        graph: the graph, n vertices.
        asked: what was asked for.
        distance, parent: shape (n,).
        weighted: whether the lengths of arcs are the weights of the graph; else each is 1.

    Raises:
        VerificationError: names the first vertex found wrong.
    """
    expect_integers(parent_index=parent)
    n, every = graph.num_vertices, np.arange(graph.num_vertices)
    if not n == len(distance) == len(parent):
        raise VerificationError(
            f"{len(distance):,} distances and {len(parent):,} parents, but {n:,} vertices"
        )

    def expect(right: np.ndarray, vertices: np.ndarray, problem: str) -> None:
        if not right.all():
            index = vertices[np.argmin(right)]
            name = graph.ids_of(np.array([index])).tolist()[0]
            raise VerificationError(f"vertex {shown(name)} with distance {distance[index]}: {problem}")

    is_source = np.zeros(n, np.bool_)
    is_source[asked.sources] = True
    reached, root = distance != unreached_value(distance.dtype), is_source & (distance == 0)
    inner, bound = reached & ~root, asked.bound_by(distance)
    expect(np.isfinite(distance) | ~reached, every, "expected a finite number")
    expect((distance <= 0) | ~is_source, every, "expected 0 at the source")
    expect((distance <= bound) | ~reached, every, f"expected none above {bound}, which was asked for")
    expect(
        (parent >= 0) == inner,
        every,
        "expected a parent where it was reached from the source, and only there",
    )
    expect((parent >= -1) & (parent < n), every, "expected a parent that is in the graph")
    confirmed = ~inner
    for u, v, weight in _arcs_from(graph, reached, weighted):
        with np.errstate(over="ignore"):
            offered = distance[u] + weight
        if asked.is_bounded:
            near = offered <= bound
            u, v, offered = u[near], v[near], offered[near]
        expect(distance[v] <= offered, v, "an edge gives it a smaller distance")
        expect(reached[v], v, "an edge from a vertex that was reached leads to it")
        confirmed[v[(parent[v] == u) & (distance[v] == offered)]] = True
    expect(confirmed, every, "expected that of an edge from its parent")
    following = np.where(inner, parent, every)
    for _ in range(n.bit_length()):
        following = following[following]
    expect(root[following] | ~reached, every, "expected parents that lead to the source")
    return True


def _arcs_from(
    graph: Graph, chosen: np.ndarray, weighted: bool
) -> Iterator[tuple[np.ndarray, np.ndarray, Any]]:
    """Source, target and weight of the arcs from chosen vertices, in blocks of rows; integers as int64."""
    bounds = np.searchsorted(graph.offsets, np.arange(0, graph.num_arcs, _BLOCK))
    for first, last in itertools.pairwise([*bounds.tolist(), graph.num_vertices]):
        low, high = graph.offsets[[first, last]]
        u = np.repeat(np.arange(first, last), np.diff(graph.offsets[first : last + 1]))
        kept = chosen[u]
        weights = graph.weights if weighted else None
        weight: Any = np.int64(1) if weights is None else weights[low:high][kept]
        if weights is not None and weights.dtype.kind == "i":
            weight = weight.astype(np.int64)
        yield u[kept], graph.targets[low:high][kept], weight
