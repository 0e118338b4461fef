"""A check of breadth-first levels and parents that needs no second search."""

from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import expect_integers
from edgewise.errors import VerificationError
from edgewise.graph import Graph
from edgewise.kernels.cpu.atomics import atomic_min
from edgewise.kernels.cpu.launch import launch
from edgewise.kernels.cpu.team import claim, team_kernel
from edgewise.primitives.vertices import NO_VERTEX
from edgewise.text import shown

_VERTICES = 1024
_NONE, _ONE = NO_VERTEX, np.uint64(1)


@team_kernel
def _look_at_arcs(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    level: Any,
    parent: Any,
    limit: Any,
    confirmed: Any,
    wrong: Any,
) -> None:
    """Lower `wrong` to the first arc whose target should be nearer; confirm vertices with an arc from the parent."""
    n = len(level)
    while True:
        start = claim(control, 0, _VERTICES, n)
        if start == n:
            return
        for u in range(np.uint64(start), np.uint64(min(start + _VERTICES, n))):
            if level[u] == _NONE or level[u] == limit:
                continue
            after = np.uint32(level[u] + np.uint32(1))
            for k in range(np.uint64(offsets[u]), np.uint64(offsets[u + _ONE])):
                v = np.uint64(targets[k])
                if level[v] > after:
                    atomic_min(wrong, 0, np.int64(k))
                if parent[v] == u and level[v] == after:
                    confirmed[v] = True


def verify_levels(
    graph: Graph, sources: np.ndarray, max_depth: int | None, level: np.ndarray, parent: np.ndarray
) -> bool:
    """Check levels and parents against the graph, in O(n + m).

    No level is too high, and none is missing, if no arc leads from level d to a level above d + 1. None is too low if
    every reached vertex but the sources has an arc from a parent one level lower: parents then lead to a source, in
    as many steps as the level says.

    Args:
        graph: the graph, n vertices.
        sources: indices of the vertices on level 0.
        max_depth: the highest level that was looked for, or None.
        level, parent: int32, shape (n,), -1 for none.

    Raises:
        VerificationError: names the first vertex found wrong.
    """
    expect_integers(level=level, parent_index=parent)
    n, every = graph.num_vertices, np.arange(graph.num_vertices)
    if level.shape != (n,) or parent.shape != (n,):
        raise VerificationError(
            f"got {level.shape} levels and {parent.shape} parents; expected one of each for {n:,} vertices"
        )

    def expect(right: np.ndarray, problem: str) -> None:
        if not right.all():
            v = int(np.argmin(right))
            (name,) = graph.ids_of(every[[v]]).tolist()
            raise VerificationError(f"vertex {shown(name)} with level {level[v]}: {problem}")

    is_source, reached = np.zeros(n, np.bool_), level >= 0
    is_source[sources] = True
    expect((level == 0) == is_source, "expected level 0 at the sources, and only there")
    expect(level >= -1, "expected a level of at least -1")
    expect(level <= (n if max_depth is None else max_depth), "expected none above max_depth, or n")
    expect(
        (parent >= 0) == (reached & ~is_source),
        "expected a parent if it was reached, is no source, and only then",
    )
    expect((parent >= -1) & (parent < n), "expected a parent that is in the graph")

    limit = _NONE if max_depth is None else np.uint32(min(max_depth, n))
    confirmed, wrong = ~(reached & ~is_source), np.array([graph.num_arcs])
    arcs = (graph.offsets.view(f"u{graph.offsets.itemsize}"), graph.targets.view(np.uint32))
    answer = (np.ascontiguousarray(a, np.int32).view(np.uint32) for a in (level, parent))
    launch(_look_at_arcs, *arcs, *answer, limit, confirmed, wrong, work=2 * graph.num_arcs)
    if wrong[0] < graph.num_arcs:
        u = int(np.searchsorted(graph.offsets, wrong[0], side="right")) - 1
        v = int(graph.targets[wrong[0]])
        a, b = graph.ids_of(np.array([u, v])).tolist()
        raise VerificationError(
            f"vertex {shown(b)} with level {level[v]}: expected {level[u] + 1} at most, for there is an arc "
            f"from {shown(a)}"
        )
    expect(confirmed, "expected an arc from its parent, one level lower")
    return True
