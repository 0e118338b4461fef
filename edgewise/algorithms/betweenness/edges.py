"""Betweenness centrality of edges.

Result. For each edge, over all pairs of vertices, the sum of the shares of shortest paths between them that go along
it; from all sources, from some drawn at random, or from given ones.

Idea. On the way back from the farthest vertices that `betweenness` goes, the dependency on a vertex is the sum of those
on its arcs. Here each is kept.

Encoding. float64, as for vertices. Each arc has a value of its own while sources are added up; an undirected edge has
the sum of its two arcs' in the end.

Reference. Brandes, "On variants of shortest-path betweenness centrality and their generic computation", Social Networks
30 (2008), section 3.3.

Steps. `cpu`, with weights after the search of `cpu_dijkstra`; on a GPU `cuda_weighted`.
"""

import os
from functools import cached_property
from typing import Any

import numpy as np

from edgewise.algorithms.betweenness.cpu import ON_ARCS
from edgewise.algorithms.betweenness.dependencies import sum_dependencies
from edgewise.algorithms.betweenness.sources import asked_sources
from edgewise.algorithms.betweenness.sums import DependencyResult
from edgewise.errors import ParameterError
from edgewise.execution import Progress
from edgewise.graph import Graph, check_graph
from edgewise.graph.checks import check_flags
from edgewise.schedule import Schedule


class EdgeBetweennessResult(DependencyResult):
    """Betweenness centrality of edges: of arcs, where the graph is directed.

    Edges are in the order of the graph's arcs; an undirected one stands where its end of lower index has it.
    `dependency` has the shape (num_arcs,).
    """

    algorithm = "edge_betweenness"
    _derived = ("source_index", "target_index", "centrality")

    @cached_property
    def _arcs(self) -> np.ndarray:
        """The arc that stands for each edge."""
        if self.graph.directed:
            return np.arange(self.graph.num_arcs)
        return np.flatnonzero(self.graph.sources <= self.graph.targets)

    @cached_property
    def source_index(self) -> np.ndarray:
        """The indices of sources, int32, shape (num_edges,); of an undirected edge the lower one of its ends."""
        return self.graph.sources[self._arcs]

    @cached_property
    def target_index(self) -> np.ndarray:
        """The indices of targets, int32, shape (num_edges,)."""
        return self.graph.targets[self._arcs]

    @cached_property
    def centrality(self) -> np.ndarray:
        """Scaled as asked for, float64, shape (num_edges,)."""
        both = (
            self.dependency if self.graph.directed else self.dependency + self.dependency[self.graph.in_arcs]
        )
        return both[self._arcs] * self._factors()

    def columns(self) -> dict[str, np.ndarray]:
        """The columns ``source``, ``target`` (the user's ids) and ``centrality``: of edges, not of vertices."""
        ends = self.graph.ids_of(self.source_index), self.graph.ids_of(self.target_index)
        return {"source": ends[0], "target": ends[1], "centrality": self.centrality}

    def table(self) -> dict[str, np.ndarray]:
        """The same: there is no column of vertices."""
        return self.columns()


def edge_betweenness(
    graph: Graph,
    *,
    k: int | None = None,
    sources: Any = None,
    seed: int = 0,
    weighted: bool = False,
    normalized: bool = True,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> EdgeBetweennessResult:
    """Betweenness centrality of edges. The same for every number of threads.

    Of parallel edges each makes paths of its own and has a value of its own. (NetworkX counts the paths along all of
    them once, and then divides their value between them.) On a GPU, sources are done one after the other, and in-edges
    are made if a directed graph has none. Sums are the same for each call there, and differ from the CPU's by rounding.

    Args:
        graph: directed or undirected.
        k, sources, seed, weighted: as for `betweenness`.
        normalized: divide by the number of pairs of vertices; else pairs of an undirected graph count once. Sums over
            some sources are scaled up to those over all, as NetworkX does.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. Progress is that
            of sources. On the CPU, a number for each arc is kept for each source that is added up at the same time,
            four or, where that is more than 4 GiB, one for each thread; within the limit, fewer. There is no delivery,
            no balance and no layout to choose.
        checkpoint: the name of a file for partial sums, as for `betweenness`.

    Returns:
        An `EdgeBetweennessResult`. O(k (n + m)) work, with weights O(k (n + m) log n).

    Raises:
        GraphError, ParameterError, OutputError, ScheduleError: as `betweenness`.
    """
    check_graph("edge_betweenness", graph)
    check_flags(ParameterError, "edge_betweenness: ", weighted=weighted, normalized=normalized)
    asked = asked_sources("edge_betweenness", graph, k, sources, seed)
    how = device, schedule, progress, memory_limit, checkpoint
    total, chosen, run = sum_dependencies(asked, weighted, ON_ARCS, *how)
    return EdgeBetweennessResult(graph, run, total, chosen, weighted, ON_ARCS, normalized)
