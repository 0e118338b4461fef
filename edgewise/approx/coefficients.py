"""Clustering coefficients: how many pairs of a vertex's neighbours are neighbours themselves. Exact, in parallel.

The graph is taken as undirected and simple. Edges are directed from the end of lower degree to the other one, so rows
are short, and each triangle is found once, from its end of lowest degree. O(m sqrt(m)).

Reference. Watts and Strogatz, Nature 393 (1998); for the direction of edges, Chiba and Nishizeki, SIAM Journal on
Computing 14 (1985).
"""

from typing import Any

import numpy as np

from edgewise.approx.near import Neighbours, neighbours, rows_of
from edgewise.approx.where import made_where
from edgewise.graph import Graph, check_graph
from edgewise.graph.csr import row_of_arcs
from edgewise.kernels.costs import best_threads
from edgewise.kernels.cpu.atomics import atomic_add
from edgewise.kernels.cpu.launch import INTERRUPTIBLE, launch_on, sealed
from edgewise.kernels.cpu.team import available_threads, claim, team_kernel

#: Vertices that a thread takes at a time, and about the nanoseconds that a step through two rows takes.
_STEP, _MEET_NS = 16, 1
#: About the nanoseconds that an arc takes one thread in all, on graphs with few and many triangles.
ARC_NS = 100


def clustering_coefficients(graph: Graph, *, device: str = "auto") -> np.ndarray:
    """The clustering coefficient of each vertex, by index: float64, shape (n,), 0 for fewer than two neighbours.

    Args:
        graph: taken as undirected, without self-loops and parallel edges.
        device: "cpu", "cuda" or "auto"; they give the same numbers.

    Raises:
        ScheduleError, DeviceError, MemoryLimitError: see `edgewise.execution.choose`; the GPU has no room.
    """
    check_graph("clustering_coefficients", graph)

    def on_gpu() -> np.ndarray:
        from edgewise.approx.coefficients_cuda import coefficients_on_gpu

        return coefficients_on_gpu(graph)

    def on_cpu() -> np.ndarray:
        found = neighbours(graph)
        degree = found.degree
        return 2 * triangles(found) / np.maximum(degree * (degree - 1), 1)

    work, memory = ARC_NS * graph.num_arcs, memory_on_gpu(graph)
    return made_where("clustering_coefficients", graph, device, on_gpu, on_cpu, work=work, memory=memory)[0]


def memory_on_gpu(graph: Graph) -> int:
    """The bytes that finding neighbours and triangles takes on a GPU, beside the graph."""
    return 48 * graph.num_arcs * (1 + graph.directed) + 64 * graph.num_vertices


def triangles(given: Neighbours) -> np.ndarray:
    """How many triangles each vertex is in, int64, shape (n,)."""
    degree, n = given.degree, len(given.offsets) - 1
    sources = row_of_arcs(given.offsets)
    lower = degree[sources] < degree[given.targets]
    ahead = lower | ((degree[sources] == degree[given.targets]) & (sources < given.targets))
    offsets, targets = rows_of(sources[ahead], given.targets[ahead], n)
    found = np.zeros(n, np.int64)
    longest = int(np.diff(offsets).max(initial=0))
    work = _MEET_NS * int((np.diff(offsets) * np.bincount(targets, minlength=n)).sum() + len(targets))
    # What threads have for themselves takes no more than the rows.
    threads = max(1, min(best_threads(work, available_threads()), len(targets) // max(n, 1)))
    places, counts = np.full((threads, n), -1, np.int32), np.empty((threads, longest), np.int64)
    launch_on(
        threads,
        _count,
        sealed(offsets),
        sealed(targets),
        places,
        counts,
        found,
        long=work > INTERRUPTIBLE,
    )
    return found


@team_kernel
def _count(
    thread: Any, size: Any, control: Any, offsets: Any, targets: Any, places: Any, counts: Any, found: Any
) -> None:
    """Count triangles: for each arc from u to v, what the row of v has of that of u. `places` are -1, and stay so."""
    n, place, count = len(offsets) - 1, places[thread], counts[thread]
    while True:
        first = claim(control, 0, _STEP, n)
        if first >= n:
            return
        for u in range(first, min(first + _STEP, n)):
            begin, end = offsets[u], offsets[u + 1]
            for k in range(begin, end):
                place[targets[k]] = k - begin
                count[k - begin] = 0
            of_u = 0
            for k in range(begin, end):
                v, of_v = np.int64(targets[k]), 0
                for j in range(offsets[v], offsets[v + 1]):
                    at = place[targets[j]]
                    if at >= 0:
                        count[at] += 1
                        of_v += 1
                count[k - begin] += of_v
                of_u += of_v
            for k in range(begin, end):
                place[targets[k]] = -1
                if count[k - begin] > 0:
                    atomic_add(found, np.int64(targets[k]), count[k - begin])
            if of_u > 0:
                atomic_add(found, u, of_u)
