"""Whether dependencies are right, by other arithmetic: counts of paths as logarithms, and dependencies handed to the
vertices before, source by source. It takes some ten times as long as to find them.

Besides, all dependencies together are the sum of ``distance - 1`` over all pairs of a source and a vertex that it
reaches: a path of d arcs has d - 1 vertices between its ends.
"""

from typing import Any

import numpy as np

from edgewise.errors import VerificationError
from edgewise.graph import Graph
from edgewise.kernels.cache import device_function, kernel
from edgewise.kernels.team import run_alone

#: How much sums may differ, relatively.
TOLERANCE = 1e-7


def verify_dependencies(graph: Graph, sources: np.ndarray, endpoints: bool, total: np.ndarray) -> bool:
    """Check sums of dependencies against the graph, in O(k (n + m)) for k sources.

    Args:
        graph: the graph, n vertices.
        sources: indices, shape (k,).
        endpoints: whether paths count for their ends, too.
        total: float64, shape (n,).

    Raises:
        VerificationError: naming the first vertex that is wrong.
    """
    n = graph.num_vertices
    if total.shape != (n,):
        raise VerificationError(f"got {total.shape} values, expected one for each of {n} vertices")
    expected, between, floats = np.zeros(n), np.zeros(1, np.int64), np.empty((2, n))
    level, queue = np.full(n, -1, np.int64), np.empty(n, np.int64)
    run_alone(
        _add_up, graph.offsets, graph.targets, sources, endpoints, level, queue, *floats, expected, between
    )
    right = np.isclose(total, expected, rtol=TOLERANCE, atol=TOLERANCE)
    if not right.all():
        v = int(np.argmin(right))
        name = graph.ids_of(np.array([v])).tolist()[0]
        raise VerificationError(f"vertex {name!r} has {total[v]}, by its paths it has {expected[v]}")
    if not np.isclose(total.sum(), between[0], rtol=TOLERANCE, atol=TOLERANCE):
        raise VerificationError(f"the values sum to {total.sum()}; by all distances they sum to {between[0]}")
    return True


@device_function
def _log_of_sum(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b))."""
    return max(a, b) + np.log1p(np.exp(-abs(a - b)))


@kernel
def _add_up(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    sources: Any,
    endpoints: Any,
    level: Any,
    queue: Any,
    logs: Any,
    dependency: Any,
    expected: Any,
    between: Any,
) -> None:
    for source in sources:
        level[source], logs[source], queue[0] = 0, 0.0, source
        head, tail = 0, 1
        while head < tail:
            v = queue[head]
            head += 1
            dependency[v] = 0.0
            between[0] += max(level[v] + (1 if endpoints else -1), 0) if v != source else 0
            for k in range(np.int64(offsets[v]), np.int64(offsets[v + 1])):
                u = targets[k]
                if level[u] < 0:
                    level[u], logs[u], queue[tail] = level[v] + 1, logs[v], u
                    tail += 1
                elif level[u] == level[v] + 1:
                    logs[u] = _log_of_sum(logs[u], logs[v])
        for i in range(tail - 1, -1, -1):
            v = queue[i]
            for k in range(np.int64(offsets[v]), np.int64(offsets[v + 1])):
                u = targets[k]
                if level[u] == level[v] + 1:
                    dependency[v] += np.exp(logs[v] - logs[u]) * (1.0 + dependency[u])
            if v != source:
                expected[v] += dependency[v] + (1.0 if endpoints else 0.0)
        if endpoints:
            expected[source] += tail - 1
        for i in range(tail):
            level[queue[i]] = -1
