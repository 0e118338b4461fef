"""Closeness, harmonic centrality and eccentricity: what the distances between a vertex and all others sum up to.

Result. For each vertex, or for those that are asked for: the number of vertices from which paths lead to it, the sum of
their distances, the sum of the reciprocals of these, and the largest. Closeness and harmonic centrality look at
distances to the vertex, as NetworkX does, eccentricity at those from it. Distances are numbers of arcs, or sums of
weights.

Idea. A breadth-first search from each vertex; 256 of them go together, a bit for each, so that one look at an arc
serves all searches that come along it. By weights, Dijkstra's search from each vertex.

Encoding. Integers are exact, in int64. Reciprocals are added up in float64 level by level, by the number of vertices of
each, or by weights in the order in which the search reaches vertices; so they depend neither on threads nor on the
device. Distances by float weights are float64 sums from the vertex on.

References. Then et al., "The More the Merrier: Efficient Multi-Source Graph Traversal", PVLDB 8(4), 2014. Bavelas,
"Communication patterns in task-oriented groups", Journal of the Acoustical Society of America 22 (1950), for closeness;
Wasserman and Faust, "Social Network Analysis", 1994, p. 201, for graphs that are not connected; Boldi and Vigna,
"Axioms for centrality", Internet Mathematics 10 (2014), for harmonic centrality.

Steps. `cpu_hops`, by weights `cpu_lengths`; on a GPU `program`.
"""

from functools import cached_property
from typing import Any

import numpy as np

from edgewise.algorithms.closeness.distances import DistancesResult, find_distances
from edgewise.algorithms.closeness.farthest import eccentricity as eccentricity
from edgewise.algorithms.closeness.job import Found, Job
from edgewise.algorithms.closeness.reciprocals import harmonic as harmonic
from edgewise.algorithms.common.names import names_elsewhere
from edgewise.errors import ParameterError
from edgewise.execution import Execution, Progress
from edgewise.graph import Graph, check_graph
from edgewise.graph.checks import check_flags
from edgewise.schedule import Schedule


class ClosenessResult(DistancesResult):
    """The closeness of vertices; see `DistancesResult` for the sums that it is made of.

    Attributes:
        wf_improved: whether values are scaled by the share of vertices that reach the vertex.
    """

    algorithm = "closeness"
    _main = "closeness"
    _derived = ("closeness",)

    def __init__(
        self, job: Job, run: Execution, vertices: np.ndarray, found: Found, *, wf_improved: bool
    ) -> None:
        super().__init__(job, run, vertices, found)
        self.wf_improved = self._improved = wf_improved

    @cached_property
    def closeness(self) -> np.ndarray:
        """The closeness, float64, shape (n,): 0 for a vertex that no other reaches, NaN if it was not asked for."""
        reached, total = self.reached.astype(np.float64), self.distance_sum
        found = np.divide(reached, total, out=np.zeros_like(reached), where=total > 0)
        if self._improved and len(found) > 1:
            found *= reached / (len(found) - 1)
        found[~self._asked] = np.nan
        return found

    def columns(self) -> dict[str, np.ndarray]:
        """The columns ``closeness``, ``reached`` and ``distance_sum``."""
        return {
            "closeness": self.closeness,
            "reached": self.reached,
            "distance_sum": self.distance_sum,
        }


@names_elsewhere(
    u="vertices, which takes one or several",
    distance="weighted=True for the weights of the graph, or weighted=False",
)
def closeness(
    graph: Graph,
    *,
    vertices: Any = None,
    weighted: bool | None = None,
    wf_improved: bool = True,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> ClosenessResult:
    """Closeness centrality: one over the mean distance to a vertex from those that reach it. As in NetworkX.

    Values depend neither on the number of threads nor on the device. In a directed graph distances are those to the
    vertex; ``ew.closeness(graph.reverse())`` looks at those from it. The result has the sums behind the values, too:
    ``reached``, ``distance_sum``, ``reciprocal_sum`` and ``farthest``.

    Args:
        graph: directed or undirected. Each thread takes 104 bytes for each vertex, by weights 28.
        vertices: the vertices whose closeness is asked for, a list of the user's ids; None for all.
        weighted: True for distances by weights, which must not be negative. False or None for numbers of arcs, whether
            there are weights or not, as in NetworkX.
        wf_improved: scale by the share of the other vertices that reach the vertex (Wasserman and Faust), so that
            vertices of small components are not the closest; no change if all are reached.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. Progress counts
            vertices. Under a tight limit, fewer threads are used. There is no delivery to choose on the CPU. On a GPU
            it runs as a program, 63 searches at a time, or one if not all vertices are asked for, or by weights.
        distributed: run on all ranks that torchrun has started, each of which makes this call on the same graph, and
            gets the whole result. They are on CPUs, or each on a GPU (docs/distributed.md); there is nothing to choose
            but the device and ``Schedule(num_threads=...)``. Ranks have a share of the vertices each.

    Returns:
        A `ClosenessResult`. O(k (n + m)) work at most for k vertices, mostly a hundredth of that on graphs of small
        diameter; by weights O(k (n + m) log n).

    Raises:
        GraphError: a vertex that is not in the graph; weights that are missing or negative, or that sum to more than
            int64 or float64 holds.
        ParameterError: `vertices` is empty or names one twice, or `wf_improved` is not True or False.
        ScheduleError: a device, a delivery, a balance or a layout that does not exist.
        MemoryLimitError: more memory is needed than allowed.
        DistributedError: `distributed`, and this process is no rank of several, or ranks differ in what they ask for.
    """
    check_graph("closeness", graph)
    check_flags(ParameterError, "closeness: ", wf_improved=wf_improved)
    how = device, schedule, progress, memory_limit, distributed
    found = find_distances("closeness", graph, vertices, weighted, True, *how)
    return ClosenessResult(*found, wf_improved=bool(wf_improved))
