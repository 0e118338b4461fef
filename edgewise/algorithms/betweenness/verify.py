"""A check of dependencies by other searches and other arithmetic, source by source: distances from `bfs` and `sssp`,
counts of paths as numbers from 1 to 2 times powers of two, and dependencies handed to the vertices before. It takes
several times as long as finding them.

Besides, the sum of all dependencies is a sum over pairs of a source and a vertex that it reaches. A path of h arcs has
h - 1 vertices between its ends, so a pair adds ``h - 1`` to the sum over vertices and ``h`` to that over arcs; h is the
mean over the pair's shortest paths. It follows from the means of the vertices before; without weights it is the
distance.
"""

import math
from typing import Any

import numpy as np

from edgewise.algorithms.betweenness.cpu import ON_ARCS, ON_VERTICES, ON_VERTICES_AND_ENDS
from edgewise.algorithms.betweenness.lengths import arcs_for
from edgewise.algorithms.bfs import bfs
from edgewise.algorithms.common.lengths import length, unreached_value
from edgewise.algorithms.sssp import sssp
from edgewise.errors import VerificationError
from edgewise.graph import Graph
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import run_alone, team_kernel
from edgewise.text import shown

#: The relative difference that sums may have, since all summands are positive; and the size of sums taken for equal.
TOLERANCE, NOTHING = 1e-7, 1e-300
#: The relative error that all mean lengths of paths may have: their sum less the number of pairs may be near 0.
OF_HOPS = 1e-12


def verify_dependencies(
    graph: Graph,
    sources: np.ndarray,
    targets: np.ndarray | None,
    weighted: bool,
    on: int,
    total: np.ndarray,
) -> bool:
    """Check sums of dependencies against the graph: a search and O(n log n + m) for each source.

    Args:
        graph: the graph, n vertices and m arcs.
        sources: indices, shape (k,).
        targets: indices of those to which paths count; None for all.
        weighted: whether the lengths of arcs are their weights.
        on: what dependencies are on; see `cpu`.
        total: float64, shape (n,), or (m,) on arcs.

    Raises:
        VerificationError: naming the first vertex or arc that is wrong.
    """
    n, what = graph.num_vertices, "arcs" if on == ON_ARCS else "vertices"
    width = graph.num_arcs if on == ON_ARCS else n
    if total.shape != (width,):
        raise VerificationError(f"got {total.shape} values, expected one for each of {width} {what}")
    expected, sum_of_all, ends = np.zeros(width), np.zeros(2), np.ones(n)
    if targets is not None:
        ends[:] = 0
        ends[targets] = 1
    powers, floats = np.empty(n, np.int64), np.empty((3, n))
    arcs, searched = arcs_for(graph, weighted), _in_wide_dtypes(graph) if weighted else graph
    for source in sources.tolist():
        distance = _distances(searched, source, weighted)
        reached = np.flatnonzero(distance >= 0)
        order = reached[np.argsort(distance[reached], kind="stable")]
        run_alone(_add_up, arcs, order, on, ends, distance, powers, *floats, expected, sum_of_all)
    right = np.isclose(total, expected, rtol=TOLERANCE, atol=NOTHING)
    if not right.all():
        i = int(np.argmin(right))
        raise VerificationError(f"{_name(graph, on, i)} has {total[i]}, by its paths it has {expected[i]}")
    hops, pairs = sum_of_all
    by_paths = hops + pairs * ((on == ON_VERTICES_AND_ENDS) - (on == ON_VERTICES))
    if not np.isclose(total.sum(), by_paths, rtol=TOLERANCE, atol=NOTHING + OF_HOPS * hops):
        raise VerificationError(f"the values sum to {total.sum()}; by all paths they sum to {by_paths}")
    return True


def _name(graph: Graph, on: int, index: int) -> str:
    if on != ON_ARCS:
        return f"vertex {shown(graph.ids_of(np.array([index])).tolist()[0])}"
    ends = graph.ids_of(np.array([graph.sources[index], graph.targets[index]])).tolist()
    return f"the arc from {shown(ends[0])} to {shown(ends[1])}"


def _in_wide_dtypes(graph: Graph) -> Graph:
    """The graph with weights of 64 bits, whose distances decide dependencies, and ids 0..n-1."""
    assert graph.weights is not None
    wide = graph.weights.astype(np.float64 if graph.weights.dtype.kind == "f" else np.int64)
    return Graph.from_csr(graph.offsets, graph.targets, wide)


def _distances(graph: Graph, source: int, weighted: bool) -> np.ndarray:
    """Distances from a vertex, given by its index, shape (n,); -1 for vertices that it does not reach."""
    if not weighted:
        return bfs(graph, graph.ids_of(np.array([source])).tolist()[0], device="cpu").level
    distance = sssp(graph, source, device="cpu").distance
    return np.where(distance == unreached_value(distance.dtype), -1, distance)


@device_function
def _times_power(value: Any, power: Any) -> Any:
    """value * 2**power; the power is at most 0 and may be far below the exponents of floats."""
    return math.ldexp(value, max(power, np.int64(-4000)))


@device_function
def _add(counts: Any, powers: Any, u: Any, v: Any) -> None:
    """Add the count of v to that of u. A count is 0, or a number from 1 to 2 times a power of two."""
    if counts[u] == 0.0:
        counts[u], powers[u] = counts[v], powers[v]
        return
    larger = max(powers[u], powers[v])
    counts[u] = _times_power(counts[u], powers[u] - larger) + _times_power(counts[v], powers[v] - larger)
    powers[u] = larger
    if counts[u] >= 2.0:
        counts[u] *= 0.5
        powers[u] += 1


@device_function
def _quotient(counts: Any, powers: Any, v: Any, u: Any) -> Any:
    """The count of v divided by that of u."""
    return _times_power(counts[v] / counts[u], powers[v] - powers[u])


@device_function
def _is_shortest(arcs: Any, distance: Any, v: Any, k: Any) -> Any:
    """Whether an arc from v is on shortest paths."""
    return distance[arcs.targets[k]] == distance[v] + length(arcs, k)


@team_kernel
def _add_up(
    thread: Any,
    size: Any,
    control: Any,
    arcs: Any,
    order: Any,
    on: Any,
    ends: Any,
    distance: Any,
    powers: Any,
    counts: Any,
    hops: Any,
    dependency: Any,
    expected: Any,
    sum_of_all: Any,
) -> None:
    """Add the dependencies of one source, the first vertex in `order`, which is that of distances; `ends` has 1 for
    vertices to which paths count, and 0 for others."""
    for v in order:
        counts[v], powers[v], hops[v], dependency[v] = 0.0, 0, 0.0, 0.0
    source = order[0]
    counts[source] = 1.0
    for v in order:
        for k in range(np.int64(arcs.offsets[v]), np.int64(arcs.offsets[v + 1])):
            if _is_shortest(arcs, distance, v, k):
                _add(counts, powers, arcs.targets[k], v)
    for v in order:
        if v != source:
            sum_of_all[0] += ends[v] * hops[v]
            sum_of_all[1] += ends[v]
        for k in range(np.int64(arcs.offsets[v]), np.int64(arcs.offsets[v + 1])):
            if _is_shortest(arcs, distance, v, k):
                u = arcs.targets[k]
                hops[u] += _quotient(counts, powers, v, u) * (1.0 + hops[v])
    for i in range(len(order) - 1, -1, -1):
        v = order[i]
        for k in range(np.int64(arcs.offsets[v]), np.int64(arcs.offsets[v + 1])):
            if _is_shortest(arcs, distance, v, k):
                u = arcs.targets[k]
                part = _quotient(counts, powers, v, u) * (ends[u] + dependency[u])
                dependency[v] += part
                if on == ON_ARCS:
                    expected[k] += part
        if on != ON_ARCS and v != source:
            expected[v] += dependency[v] + (on == ON_VERTICES_AND_ENDS)
    if on == ON_VERTICES_AND_ENDS:
        expected[source] += len(order) - 1
