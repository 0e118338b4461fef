"""Clusters: well-connected vertices lie together, and get more edges among themselves.

A vertex of which most pairs of neighbours are neighbours is the centre of a cluster. One that nearly is gets edges
between its neighbours until it is one; the worst connected neighbours of a centre get an edge each, too. An edge is
added from u to w only where a path leads from u to the centre and on to w, with the weight of that path: so shortest
paths, strong components and the weight of a minimum spanning forest stay exact, if no weight is negative. Clusters are
no larger than what fits in shared memory, and lie one after the other.

Reference. Singh and Nasre (2020), section 3. Clustering coefficients are those of the graph taken as undirected.
"""

import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from edgewise.approx.coefficients import ARC_NS, memory_on_gpu, triangles
from edgewise.approx.near import Arcs, Neighbours, arcs_in_order, neighbours
from edgewise.approx.transformed import (
    Added,
    Approximate,
    as_count,
    as_fraction,
    as_knob,
    part_of,
    sum_fits,
    weight_bounds,
)
from edgewise.approx.where import made_where
from edgewise.graph import Graph, check_graph
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.launch import launch_on, sealed
from edgewise.kernels.cpu.team import team_kernel

#: The most neighbours of a vertex that may be a centre: pairs of them are looked at one by one.
MOST_NEIGHBOURS = 128
#: The least and the largest threshold that "auto" takes.
_LEAST, _LARGEST = 0.6, 0.9


def form_clusters(
    graph: Graph,
    *,
    threshold: float | Literal["auto"] = 0.7,
    margin: float = 0.1,
    budget: float = 0.06,
    size: int = 2048,
    device: str = "auto",
) -> Approximate:
    """Put well-connected vertices side by side, and add edges among them.

    Vertices with a clustering coefficient of at least `threshold` are centres. Those that miss it by at most `margin`
    get as many edges between their neighbours as are missing, first between neighbours that have a common neighbour
    there, if so many can be; of a centre, those of its neighbours that are neighbours of the fewest others get an edge
    to each other. Vertices come by their coefficient, the largest first, and those of more than 128 neighbours not at
    all. A cluster is a centre with those of its neighbours that are in none yet. O(m sqrt(m)) for the coefficients.

    Args:
        graph: directed or undirected; in an undirected graph an edge is added to both rows.
        threshold: at least 0; above 1 nothing is a centre, and nothing is added. "auto" for `auto_threshold`, a number
            that is in `knobs` then.
        margin: from 0 to 1.
        budget: the most edges that are added, as a fraction of the graph's.
        size: the most vertices of a cluster, at least 2: a number for each has to fit in shared memory.
        device: where triangles are counted and rows are made: see `edgewise.execution.choose`. The edges are chosen one
            after the other, on the host. The result is the same.

    Returns:
        The graph, with what was added, and `clusters`: where each begins, and the end of the last one.

    Raises:
        ParameterError: a knob that is not a number in its range.
        ScheduleError, DeviceError, MemoryLimitError: an unknown device, or one that cannot be used or has no room.
    """
    check_graph("form_clusters", graph)
    knobs = cluster_knobs(threshold, margin, budget, size)
    started = time.perf_counter()

    def on_gpu() -> _Formed:
        from edgewise.approx.clusters_cuda import around_on_gpu, counted_on_gpu

        near, degree, found = counted_on_gpu(graph)
        return _form(graph, degree, found, lambda centres: around_on_gpu(graph, near, centres), **knobs)

    def on_cpu() -> _Formed:
        near = neighbours(graph)
        return _form(graph, near.degree, triangles(near), lambda _: (near, arcs_in_order(graph)), **knobs)

    work, memory = ARC_NS * graph.num_arcs, memory_on_gpu(graph)
    (order, clusters, added, threshold), there = made_where(
        "form_clusters", graph, device, on_gpu, on_cpu, work=work, memory=memory
    )
    knobs["threshold"] = threshold
    seconds = time.perf_counter() - started
    return Approximate(graph, order, added, "form_clusters", knobs, seconds, clusters, on_gpu=there)


def cluster_knobs(threshold: Any, margin: Any, budget: Any, size: Any) -> dict[str, Any]:
    """The knobs of `form_clusters` by their names. Raises ParameterError."""
    return {
        "threshold": as_knob("form_clusters: threshold", threshold, most=np.inf, auto=True),
        "margin": as_fraction("form_clusters: margin", margin),
        "budget": as_fraction("form_clusters: budget", budget),
        "size": as_count("form_clusters: size", size, 2),
    }


class _Formed(NamedTuple):
    """The order of vertices, where clusters begin, the added edges, and the threshold."""

    order: np.ndarray
    clusters: np.ndarray
    added: Added
    threshold: float


def _form(
    graph: Graph,
    degree: np.ndarray,
    found: np.ndarray,
    around: Callable[[np.ndarray], tuple[Neighbours, Arcs]],
    *,
    threshold: float | Literal["auto"],
    margin: float,
    budget: float,
    size: int,
) -> _Formed:
    """Form clusters by the numbers of neighbours and triangles. `around` gives neighbours and arcs of vertices that may
    become centres."""
    pairs = degree * (degree - 1) // 2
    coefficient = found / np.maximum(pairs, 1)
    fits = (degree >= 2) & (degree <= MOST_NEIGHBOURS)
    if threshold == "auto":
        threshold = auto_threshold(coefficient[fits])
    centres = _by_coefficient(
        coefficient, fits & (coefficient >= threshold - margin - 1e-12) & (threshold <= 1)
    )
    wanted = np.ceil(threshold * pairs[centres] - 1e-9).astype(np.int64)
    near, arcs = around(centres)
    most = min(int(part_of(budget, graph.num_edges)), int(pairs[centres].sum()))
    added, reached = edges_in_clusters(arcs, near, centres, wanted, most)
    return _Formed(*_order(near, centres[reached], size), added, threshold)


def auto_threshold(coefficient: np.ndarray) -> float:
    """A threshold by the guidelines of the paper (section 5.3): by the average coefficient, and high for all graphs.

    It is the mean plus the standard deviation, so that centres are the better connected vertices of any graph, in
    hundredths, from 0.6 to 0.9. The paper gives no formula; this one, and its limits, are set here.

    Args:
        coefficient: of the vertices that may be centres.
    """
    if len(coefficient) == 0:
        return _LARGEST
    high = round(float(coefficient.mean() + coefficient.std()), 2)
    return min(max(high, _LEAST), _LARGEST)


def _by_coefficient(coefficient: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The wanted vertices, int32, the largest coefficient first."""
    vertices = np.flatnonzero(wanted).astype(np.int32)
    return vertices[np.argsort(-coefficient[vertices], kind="stable")]


class Growing(NamedTuple):
    """What edges are added to.

    Attributes:
        offsets, targets: `Neighbours`.
        keys: int64: arcs, ascending: the source's bits above the target.
        weights: of these arcs, or none.
        bounds: of `sum_fits`.
        table: added edges, the lower end's bits above the other, in slots of a power of two; -1 for none.
        ends: added edges, the source's bits above the target.
        lengths: their weights, or none.
        used: shape (1,): how many there are.
        inner: shape (MOST_NEIGHBOURS,): of how many others neighbours are neighbours.
    """

    offsets: np.ndarray
    targets: np.ndarray
    keys: np.ndarray
    weights: np.ndarray
    bounds: np.ndarray
    table: np.ndarray
    ends: np.ndarray
    lengths: np.ndarray
    used: np.ndarray
    inner: np.ndarray


def edges_in_clusters(
    arcs: Arcs, near: Neighbours, centres: np.ndarray, wanted: np.ndarray, most: int
) -> tuple[Added, np.ndarray]:
    """Edges between neighbours of centres.

    Args:
        arcs, near: the arcs from and to centres, and the neighbours of centres and those of these among each other;
            others are not looked at.
        centres: int32, in the order in which they get edges.
        wanted: int64: how many pairs of neighbours are neighbours where a vertex is a centre.
        most: how many edges there may be of all.

    Returns:
        The edges, and which of the vertices are centres now.
    """
    weights = np.zeros(0, np.int32) if arcs.weights is None else arcs.weights
    it = Growing(
        sealed(near.offsets),
        sealed(near.targets),
        sealed(arcs.keys),
        weights,
        weight_bounds(weights),
        table=np.full(1 << (2 * most + 1).bit_length(), -1, np.int64),
        ends=np.empty(most, np.int64),
        lengths=np.empty(0 if arcs.weights is None else most, weights.dtype),
        used=np.zeros(1, np.int64),
        inner=np.empty(MOST_NEIGHBOURS, np.int64),
    )
    reached = np.zeros(len(centres), np.bool_)
    launch_on(1, _connect, it, sealed(centres), sealed(wanted), reached, long=True)
    ends = it.ends[: it.used[0]]
    lengths = None if arcs.weights is None else it.lengths[: it.used[0]]
    return Added((ends >> 32).astype(np.int32), (ends & 0xFFFFFFFF).astype(np.int32), lengths), reached


def _order(near: Neighbours, centres: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices in the order of clusters, then the others; and where clusters begin, and the last one's end."""
    n = len(near.offsets) - 1
    order, begins = np.empty(n, np.int32), np.empty(len(centres) + 1, np.int64)
    count = np.zeros(1, np.int64)
    rows = sealed(near.offsets), sealed(near.targets)
    launch_on(
        1, _gather, *rows, sealed(centres), size, np.zeros(n, np.bool_), order, begins, count, long=True
    )
    return order, begins[: count[0] + 1]


@team_kernel
def _gather(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    centres: Any,
    largest: Any,
    taken: Any,
    order: Any,
    begins: Any,
    count: Any,
) -> None:
    """Put clusters one after the other; a thread does all."""
    at: Any = np.int64(0)
    clusters: Any = np.int64(0)
    for i in range(len(centres)):
        v = np.int64(centres[i])
        if taken[v]:
            continue
        begins[clusters] = at
        clusters += 1
        taken[v] = True
        order[at] = v
        at += 1
        for k in range(offsets[v], offsets[v + 1]):
            u = np.int64(targets[k])
            if not taken[u] and at < begins[clusters - 1] + largest:
                taken[u] = True
                order[at] = u
                at += 1
    begins[clusters] = at
    count[0] = clusters
    for each in range(len(taken)):
        if not taken[each]:
            order[at] = each
            at += 1


@team_kernel
def _connect(thread: Any, size: Any, control: Any, it: Any, centres: Any, wanted: Any, reached: Any) -> None:
    """Add edges between neighbours of centres, one centre after the other; a thread does all."""
    for i in range(len(centres)):
        v = np.int64(centres[i])
        row = it.targets[it.offsets[v] : it.offsets[v + 1]]
        missing = wanted[i]
        for a in range(len(row)):
            for b in range(a + 1, len(row)):
                missing -= _are_near(np.int64(row[a]), np.int64(row[b]), it)
        if missing > 0:
            reached[i] = _complete(v, row, missing, it)
        else:
            reached[i] = True
            _connect_worst(v, row, it)


@device_function
def _complete(v: Any, row: Any, missing: Any, it: Any) -> Any:
    """Add as many edges between neighbours as are missing, if there can be so many; whether there can."""
    possible = 0
    for a in range(len(row)):
        for b in range(a + 1, len(row)):
            possible += _may_add(v, np.int64(row[a]), np.int64(row[b]), it)
    if possible < missing or it.used[0] + missing > len(it.ends):
        return False
    for turn in range(2):
        for a in range(len(row)):
            for b in range(a + 1, len(row)):
                u, w = np.int64(row[a]), np.int64(row[b])
                if missing > 0 and (turn == 1 or _have_common(u, w, row, it)):
                    missing -= _add(v, u, w, it)
    return missing == 0


@device_function
def _connect_worst(v: Any, row: Any, it: Any) -> None:
    """Add an edge between any two of those neighbours that are neighbours of the fewest others."""
    least, inner = len(row), it.inner
    for a in range(len(row)):
        inner[a] = 0
        for b in range(len(row)):
            inner[a] += a != b and _are_near(np.int64(row[a]), np.int64(row[b]), it)
        least = min(least, inner[a])
    for a in range(len(row)):
        for b in range(a + 1, len(row)):
            if inner[a] == least and inner[b] == least and _add(v, np.int64(row[a]), np.int64(row[b]), it):
                inner[a], inner[b] = len(row), len(row)


@device_function
def _have_common(u: Any, w: Any, row: Any, it: Any) -> Any:
    """Whether two vertices have a common neighbour in a row."""
    for k in range(len(row)):
        x = np.int64(row[k])
        if x not in (u, w) and _are_near(u, x, it) and _are_near(w, x, it):
            return True
    return False


@device_function
def _place(values: Any, wanted: Any, low: Any, high: Any) -> Any:
    """Where a number is among ascending ones from `low` to before `high`, or -1."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < end and values[low] == wanted else np.int64(-1)


@device_function
def _are_near(u: Any, w: Any, it: Any) -> Any:
    """Whether two vertices are neighbours, or an edge between them was added."""
    if _place(it.targets, w, it.offsets[u], it.offsets[u + 1]) >= 0:
        return True
    return it.table[_slot(u, w, it.table)] != -1


@device_function
def _slot(u: Any, w: Any, table: Any) -> Any:
    """The slot of an edge between two vertices, which has it, or is free for it."""
    key, mask = min(u, w) << 32 | max(u, w), len(table) - 1
    slot = (key * np.int64(-7046029254386353131) >> 20) & mask
    while table[slot] != -1 and table[slot] != key:
        slot = (slot + 1) & mask
    return slot


@device_function
def _arc(u: Any, w: Any, it: Any) -> Any:
    """The first arc from one vertex to another, or -1."""
    return _place(it.keys, u << 32 | w, np.int64(0), np.int64(len(it.keys)))


@device_function
def _is_path(u: Any, v: Any, w: Any, it: Any) -> Any:
    """Whether a path leads from u over v to w, whose weight is one of the dtype."""
    first, second = _arc(u, v, it), _arc(v, w, it)
    if first < 0 or second < 0:
        return False
    return len(it.weights) == 0 or sum_fits(it.weights[first], it.weights[second], it.bounds)


@device_function
def _may_add(v: Any, u: Any, w: Any, it: Any) -> Any:
    """Whether two neighbours of v are none of each other, and a path leads over v from one to the other."""
    return not _are_near(u, w, it) and (_is_path(u, v, w, it) or _is_path(w, v, u, it))


@device_function
def _add(v: Any, u: Any, w: Any, it: Any) -> Any:
    """Add an edge between two neighbours of v along a path over it, if it may be; whether it was."""
    if it.used[0] == len(it.ends) or not _may_add(v, u, w, it):
        return False
    if not _is_path(u, v, w, it):
        u, w = w, u
    it.table[_slot(u, w, it.table)] = min(u, w) << 32 | max(u, w)
    it.ends[it.used[0]] = u << 32 | w
    if len(it.weights) > 0:
        it.lengths[it.used[0]] = it.weights[_arc(u, v, it)] + it.weights[_arc(v, w, it)]
    it.used[0] += 1
    return True
