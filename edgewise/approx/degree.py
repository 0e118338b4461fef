"""Degree normalisation: vertices of similar degree lie together, and those that fall a little short get more edges.

Threads of a warp wait for the one with the most edges. So vertices are put into buckets by their out-degree, from a
power of two to the next, in which they stay in their order. Of each warp, vertices whose degree is nearly the largest
get edges to vertices two steps away, as long as the paths there, up to a part of the largest degree.

With weights, an added edge is as long as a path that was there: shortest paths, strong components, and the weight of a
minimum spanning forest (if no weight is negative) stay exact. Searches by steps, PageRank and betweenness change.

Reference. Singh and Nasre (2020), section 4, and 5.4 for the similarity of degrees.
"""

import time
from typing import Any, Literal

import numpy as np

from edgewise.approx.transformed import (
    Added,
    Approximate,
    as_count,
    as_knob,
    cut,
    part_of,
    sum_fits,
    weight_bounds,
)
from edgewise.approx.where import made_where
from edgewise.graph import Graph, check_graph
from edgewise.kernels.cache import device_function
from edgewise.kernels.costs import best_threads
from edgewise.kernels.cpu.launch import INTERRUPTIBLE, launch_on, sealed
from edgewise.kernels.cpu.team import available_threads, claim, team_kernel

#: Vertices that a thread takes at a time; paths that are looked at for each edge that is wanted; about the nanoseconds
#: that a path takes; edges that are looked for at a time, at least.
_STEP, _PATHS, _PATH_NS, _AT_A_TIME = 64, 64, 5, 2**20
#: About the nanoseconds that an arc takes one thread in all; the bytes that a vertex and an edge that is wanted take on
#: a GPU, tables included.
_ARC_NS, _VERTEX_BYTES, _EDGE_BYTES = 10, 128, 640
#: Thresholds that "auto" takes, the lower one where few edges should be added; and the mean degree below which that is.
_LOW, _HIGH, _FEW_EDGES = 0.3, 0.4, 8


def normalize_degrees(
    graph: Graph,
    *,
    threshold: float | Literal["auto"] = 0.3,
    fill: float = 0.85,
    budget: float = 0.03,
    warp: int = 32,
    device: str = "auto",
) -> Approximate:
    """Put vertices of similar out-degree side by side, and add edges to those that fall a little short.

    A vertex falls short by ``1 - degree / largest``, where `largest` is the largest degree among the vertices of its
    warp. If it does by at most `threshold`, it gets edges up to ``int(fill * largest)``: to vertices two steps away, in
    the order of rows, to which it has no edge, at most 64 paths looked at for each edge. The weight of an added edge is
    the sum of the weights of its path; sums beyond the dtype are left out. O(n + m) on average.

    Args:
        graph: directed or undirected; in an undirected graph an edge is added to both rows, so the degree of its other
            end may pass what was asked for.
        threshold: from 0, which adds nothing, to 1; "auto" for `auto_threshold`, a number that is in `knobs` then.
        fill: from 0 to 1.
        budget: the most edges that are added, as a fraction of the graph's; vertices come in their new order.
        warp: how many vertices lie side by side, at least 1.
        device: where it is made: see `edgewise.execution.choose`. The result is the same.

    Returns:
        The graph, with what was added.

    Raises:
        ParameterError: a knob that is not a number in its range.
        ScheduleError, DeviceError, MemoryLimitError: an unknown device, or one that cannot be used or has no room.
    """
    check_graph("normalize_degrees", graph)
    knobs = degree_knobs(threshold, fill, budget, warp)
    started = time.perf_counter()
    if knobs["threshold"] == "auto":
        knobs["threshold"] = auto_threshold(graph.out_degree.astype(np.int64))
    most = int(part_of(knobs["budget"], graph.num_edges))
    shape = knobs["threshold"], knobs["fill"], knobs["warp"]

    def on_gpu() -> tuple[np.ndarray, Added]:
        from edgewise.approx.degree_cuda import normalized_on_gpu

        order, added = normalized_on_gpu(graph, *shape, most, _PATHS, _AT_A_TIME)
        return order, Added(*added)

    def on_cpu() -> tuple[np.ndarray, Added]:
        degree = graph.out_degree.astype(np.int64)
        order = order_by_degree(degree)
        return order, two_steps_away(graph, order, edges_wanted(degree[order], *shape), most)

    memory = _VERTEX_BYTES * graph.num_vertices + _EDGE_BYTES * max(most, _AT_A_TIME)
    (order, added), there = made_where(
        "normalize_degrees", graph, device, on_gpu, on_cpu, work=_ARC_NS * graph.num_arcs, memory=memory
    )
    seconds = time.perf_counter() - started
    return Approximate(graph, order, added, "normalize_degrees", knobs, seconds, on_gpu=there)


def degree_knobs(threshold: Any, fill: Any, budget: Any, warp: Any) -> dict[str, Any]:
    """The knobs of `normalize_degrees` by their names. Raises ParameterError."""
    given = {"threshold": threshold, "fill": fill, "budget": budget}
    knobs = {
        name: as_knob(f"normalize_degrees: {name}", value, most=1, auto=name == "threshold")
        for name, value in given.items()
    }
    return {**knobs, "warp": as_count("normalize_degrees: warp", warp, 1)}


def auto_threshold(degree: np.ndarray) -> float:
    """A threshold by the guidelines of the paper (section 5.4).

    It is low if vertices have few edges, or if in their buckets degrees lie nearer to the largest than to the smallest:
    then many vertices fall a little short. Means are over vertices that have edges. The paper gives no number but
    "below 0.4", and finds 0.3 to be the fastest; what counts as few edges, 8, and the higher threshold, 0.4, are set
    here.

    Args:
        degree: int64, shape (n,).
    """
    degree = degree[degree > 0]
    if len(degree) == 0:
        return _LOW
    buckets, inside = np.unique(np.frexp(degree.astype(np.float64))[1], return_inverse=True)
    least, largest = np.full(len(buckets), degree.max()), np.zeros(len(buckets), np.int64)
    np.minimum.at(least, inside, degree)
    np.maximum.at(largest, inside, degree)
    count = np.bincount(inside)
    mean = np.bincount(inside, degree) / count
    # How far the mean is from the smallest degree to the largest one, of buckets that have different ones.
    wide = largest > least
    place = (mean - least)[wide] / (largest - least)[wide]
    nearer = wide.any() and np.average(place, weights=count[wide]) > 0.5
    return _LOW if degree.mean() < _FEW_EDGES or nearer else _HIGH


def order_by_degree(degree: np.ndarray) -> np.ndarray:
    """Vertices in buckets of degrees, from a power of two to the next, the largest first; int32."""
    bucket = np.frexp(degree.astype(np.float64))[1]
    return np.argsort(-bucket, kind="stable").astype(np.int32)


def edges_wanted(degree: np.ndarray, threshold: float, fill: float, warp: int) -> np.ndarray:
    """How many edges vertices are to get, int64.

    Args:
        degree: int64, of vertices in their new order.
        threshold, fill, warp: see `normalize_degrees`.
    """
    if len(degree) == 0:
        return degree
    largest = np.maximum.reduceat(degree, np.arange(0, len(degree), warp)).repeat(warp)[: len(degree)]
    short = 1 - degree / np.maximum(largest, 1)
    missing = part_of(fill, largest) - degree
    return np.where((short > 0) & (short <= threshold + 1e-12) & (missing > 0), missing, 0)


def two_steps_away(graph: Graph, order: np.ndarray, wanted: np.ndarray, most: int) -> Added:
    """Edges from vertices to others that are two steps away.

    Args:
        graph: the graph.
        order: vertices, int32.
        wanted: how many edges each of them is to get, int64.
        most: how many there may be of all.
    """
    chosen = np.flatnonzero(wanted)
    sources, wanted = order[chosen], np.minimum(wanted[chosen], most)
    upto, parts, found, first = np.cumsum(wanted), list[Added](), 0, 0
    while first < len(sources) and found < most:
        # As many vertices at a time as want as many edges as there may be, or one.
        before = upto[first] - wanted[first]
        last = max(first + 1, int(np.searchsorted(upto, before + max(most, _AT_A_TIME), "right")))
        parts.append(_found(graph, sources[first:last], wanted[first:last]))
        found, first = found + len(parts[-1].sources), last
        # Both ends of an edge of an undirected graph may have found it.
        if not graph.directed:
            parts = [cut(_joined(graph, parts), False, most)]
            found = len(parts[0].sources)
    return cut(_joined(graph, parts), graph.directed, most)


def _joined(graph: Graph, parts: list[Added]) -> Added:
    """Edges one after the other."""
    none = np.empty(0, np.int32)
    sources, targets = (np.concatenate([none, *(part[end] for part in parts)]) for end in (0, 1))
    if graph.weights is None:
        return Added(sources, targets, None)
    weights = [part.weights for part in parts if part.weights is not None]
    return Added(sources, targets, np.concatenate([graph.weights[:0], *weights]))


def _found(graph: Graph, sources: np.ndarray, wanted: np.ndarray) -> Added:
    """Edges from some vertices, as many as each of them wants, or as there are."""
    begins = np.zeros(len(sources) + 1, np.int64)
    np.cumsum(wanted, out=begins[1:])
    count, targets = np.zeros(len(sources), np.int64), np.empty(begins[-1], np.int32)
    weights = None if graph.weights is None else np.empty(begins[-1], graph.weights.dtype)
    work = _PATH_NS * _PATHS * int(begins[-1])
    threads = best_threads(work, available_threads())
    longest = int((np.diff(graph.offsets)[sources] + wanted).max()) + 1
    seen = np.empty((threads, 1 << int(2 * longest - 1).bit_length()), np.int32)
    rows = sealed(graph.offsets), sealed(graph.targets), graph.weights
    bounds = weight_bounds(graph.weights)
    given = sealed(sources), sealed(begins), bounds, seen, count, targets, weights
    launch_on(threads, _find, *rows, *given, long=work > INTERRUPTIBLE)
    kept = np.arange(begins[-1]) - np.repeat(begins[:-1], wanted) < np.repeat(count, wanted)
    return Added(np.repeat(sources, count), targets[kept], None if weights is None else weights[kept])


@team_kernel
def _find(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    weights: Any,
    sources: Any,
    begins: Any,
    bounds: Any,
    seen: Any,
    count: Any,
    to: Any,
    lengths: Any,
) -> None:
    """Find vertices two steps away from sources, to which there is no edge, in the order of rows."""
    table = seen[thread]
    while True:
        first = claim(control, 0, _STEP, len(sources))
        if first >= len(sources):
            return
        for i in range(first, min(first + _STEP, len(sources))):
            u, at, end = np.int64(sources[i]), begins[i], begins[i + 1]
            row, row_end = np.int64(offsets[u]), np.int64(offsets[u + 1])
            used = 2
            while used < 2 * (row_end - row + end - at + 1):
                used *= 2
            table[:used] = -1
            _is_new(table, used, u)
            for k in range(row, row_end):
                _is_new(table, used, np.int64(targets[k]))
            left = _PATHS * (end - at)
            for k in range(row, row_end):
                x = np.int64(targets[k])
                for j in range(np.int64(offsets[x]), np.int64(offsets[x + 1])):
                    if at == end or left == 0:
                        break
                    left -= 1
                    w = np.int64(targets[j])
                    if weights is not None and not sum_fits(weights[k], weights[j], bounds):
                        continue
                    if _is_new(table, used, w):
                        to[at] = w
                        if weights is not None:
                            lengths[at] = weights[k] + weights[j]
                        at += 1
            count[i] = at - begins[i]


@device_function
def _is_new(table: Any, used: Any, v: Any) -> Any:
    """Put a vertex into a table of a power of two, which has room; whether it was not there."""
    slot = (v * np.int64(0x9E3779B1) >> 7) & (used - 1)
    while table[slot] != -1:
        if table[slot] == v:
            return False
        slot = (slot + 1) & (used - 1)
    table[slot] = v
    return True
