"""A check that edges are a minimum spanning forest, in near-linear time.

Edges are one if they are in the graph, make no cycle, join the ends of every edge of the graph, and no edge of the
graph is lighter than the heaviest on the path between its ends (the cycle property). To find that heaviest edge, trees
are put together once more by their edges, the lightest first: the root of the smaller tree is hung below that of the
larger. In such a tree weights do not fall on the way up to the root, and there are at most log n steps. So the heaviest
edge on the path between two vertices is one of the two by which their ways up meet.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import expect_integers
from edgewise.algorithms.common.lengths import arcs_of, length
from edgewise.errors import VerificationError
from edgewise.graph import Graph
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import run_alone, team_kernel
from edgewise.text import shown

#: Kinds of errors: an edge of the forest closes a cycle; an arc's ends are not joined; an arc is lighter than the path
#: between its ends.
_CYCLE, _APART, _LIGHTER = range(3)


def verify_forest(
    graph: Graph, source: np.ndarray, target: np.ndarray, weight: np.ndarray, total: int | float
) -> bool:
    """Check a minimum spanning forest against the graph, each of whose arcs counts as an edge.

    Args:
        graph: the graph, n vertices.
        source, target: indices, shape (k,).
        weight: shape (k,).
        total: the sum of the weights.

    Raises:
        VerificationError: naming an edge that is wrong.
    """
    expect_integers(source_index=source, target_index=target)
    n, count = graph.num_vertices, len(source)
    if not len(target) == len(weight) == count:
        raise VerificationError(f"got {count} sources, {len(target)} targets and {len(weight)} weights")
    if count and not (min(source.min(), target.min()) >= 0 and max(source.max(), target.max()) < n):
        raise VerificationError(
            f"an edge ends at a vertex that is not there; expected indices from 0 to {n - 1}"
        )
    order = np.argsort(weight, kind="stable")
    above, size, edge_above = np.arange(n), np.ones(n, np.int64), np.full(n, -1)
    parent, seen, wrong = np.full(n, -1), np.zeros(count, bool), np.full(3, -1)
    run_alone(_put_together, source, target, order, above, size, edge_above, wrong)
    if wrong[_CYCLE] >= 0:
        raise VerificationError(f"{_edge(graph, source, target, wrong[_CYCLE])} closes a cycle of the forest")
    _hang(source, target, n, parent)
    run_alone(_check, arcs_of(graph), source, target, weight, order, above, edge_above, parent, seen, wrong)
    for kind, problem in (
        (_APART, "is in the graph, but the forest does not join its ends"),
        (_LIGHTER, "is lighter than the heaviest edge between its ends in the forest"),
    ):
        if wrong[kind] >= 0:
            arc = wrong[kind : kind + 1]
            raise VerificationError(f"{_edge(graph, graph.sources[arc], graph.targets[arc], 0)} {problem}")
    if not seen.all():
        raise VerificationError(
            f"{_edge(graph, source, target, np.argmin(seen))} of the forest is not in the graph with that weight"
        )
    expected = exact_sum(weight)
    if total != expected:
        raise VerificationError(f"the total weight is {total}; the weights sum to {expected}")
    return True


def exact_sum(weights: np.ndarray) -> int | float:
    """The sum of finite weights: exact for integers; for floats the nearest float, infinite beyond the range."""
    if weights.dtype.kind != "f":
        return sum(weights.tolist())
    try:
        return math.fsum(weights.tolist())
    except OverflowError:  # of a part of the sum, perhaps not of the whole
        exact = sum(map(Fraction, weights.tolist()))
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _edge(graph: Graph, source: np.ndarray, target: np.ndarray, edge: Any) -> str:
    u, v = graph.ids_of(np.array([source[edge], target[edge]])).tolist()
    return f"the edge of {shown(u)} and {shown(v)}"


def _hang(source: np.ndarray, target: np.ndarray, n: int, parent: np.ndarray) -> None:
    """Write each edge to one of its ends, such that no vertex has two: the edge to its parent in its tree."""
    ends, other = np.concatenate([source, target]), np.concatenate([target, source])
    order = np.argsort(ends, kind="stable")
    begins = np.searchsorted(ends[order], np.arange(n + 1))
    edge = order % max(len(source), 1)
    run_alone(_hang_trees, begins, other[order], edge, parent, np.zeros(n, bool), np.empty(n, np.int64))


@team_kernel
def _hang_trees(
    thread: Any,
    size: Any,
    control: Any,
    begins: Any,
    other: Any,
    edge: Any,
    parent: Any,
    reached: Any,
    queue: Any,
) -> None:
    for root in range(len(parent)):
        if reached[root]:
            continue
        reached[root] = True
        head, tail, queue[0] = 0, 1, root
        while head < tail:
            v = queue[head]
            head += 1
            for k in range(begins[v], begins[v + 1]):
                u = other[k]
                if not reached[u]:
                    reached[u] = True
                    parent[u] = edge[k]
                    queue[tail] = u
                    tail += 1


@device_function
def _top(above: Any, v: Any) -> Any:
    while above[v] != v:
        v = above[v]
    return v


@team_kernel
def _put_together(
    thread: Any,
    size_of_team: Any,
    control: Any,
    source: Any,
    target: Any,
    order: Any,
    above: Any,
    size: Any,
    edge_above: Any,
    wrong: Any,
) -> None:
    """Join trees by edges in their order; `edge_above` is the place in the order of the edge that joined a root."""
    for place in range(len(order)):
        a, b = _top(above, np.int64(source[order[place]])), _top(above, np.int64(target[order[place]]))
        if a == b:
            wrong[_CYCLE] = order[place]
            return
        if size[a] > size[b]:
            a, b = b, a
        above[a] = b
        size[b] += size[a]
        edge_above[a] = place


@team_kernel
def _check(
    thread: Any,
    size: Any,
    control: Any,
    arcs: Any,
    source: Any,
    target: Any,
    weight: Any,
    order: Any,
    above: Any,
    edge_above: Any,
    parent: Any,
    seen: Any,
    wrong: Any,
) -> None:
    """Check every arc: whether it is an edge of the forest, and that the path between its ends is no heavier."""
    for u in range(len(above)):
        for k in range(np.int64(arcs.offsets[u]), np.int64(arcs.offsets[u + 1])):
            v, here = np.int64(arcs.targets[k]), length(arcs, k)
            if u == v:
                continue
            for end in (u, v):
                edge = parent[end]
                if (
                    edge >= 0
                    and weight[edge] == here
                    and np.int64(source[edge]) + np.int64(target[edge]) == u + v
                ):
                    seen[edge] = True
            a, b, last = np.int64(u), v, np.int64(-1)
            while a != b:
                if above[a] == a and above[b] == b:
                    wrong[_APART] = k
                    return
                if above[b] == b or (above[a] != a and edge_above[a] < edge_above[b]):
                    last, a = edge_above[a], above[a]
                else:
                    last, b = edge_above[b], above[b]
            if here < weight[order[last]]:
                wrong[_LIGHTER] = k
                return
