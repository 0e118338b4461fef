"""Betweenness centrality of edges.

Result. For each edge, over all pairs of vertices, the sum of the shares of shortest paths between them that go along
it; from all sources, from sources drawn at random, or from given ones.

Idea. On the walk back of `betweenness` from the farthest vertices, the dependency on a vertex is the sum of those on
its arcs. Here each of them is kept.

Encoding. float64, as for vertices. Each arc has a value of its own while sources are added up; in the end an undirected
edge has the sum of its two arcs' values.

Reference. Brandes, "On variants of shortest-path betweenness centrality and their generic computation", Social Networks
30 (2008), section 3.3.

Steps. `cpu`, with weights after the search of `common.dijkstra`; on a GPU `cuda_weighted`.
"""

import os
from functools import cached_property
from typing import Any

import numpy as np

from edgewise.algorithms.betweenness.cpu import ON_ARCS
from edgewise.algorithms.betweenness.dependencies import sum_dependencies
from edgewise.algorithms.betweenness.sums import DependencyResult
from edgewise.algorithms.common.names import WEIGHT, names_elsewhere
from edgewise.algorithms.common.sources import asked_sources
from edgewise.algorithms.common.weighted import uses_weights
from edgewise.edge_result import EdgeResult
from edgewise.errors import ParameterError
from edgewise.execution import Progress
from edgewise.graph import Graph, check_graph
from edgewise.graph.checks import check_flags
from edgewise.graph.csr import row_of_some
from edgewise.result import check_count, first_rows
from edgewise.schedule import Schedule


class EdgeBetweennessResult(DependencyResult, EdgeResult):
    """The betweenness centrality of edges; in a directed graph, of arcs.

    Edges are in the order of the graph's arcs; an undirected edge has the place of its arc from the end of lower index.
    `dependency` has the shape (num_arcs,).
    """

    algorithm = "edge_betweenness"
    _main = "centrality"
    _derived = ("source_index", "target_index", "centrality")

    @property
    def _has_directions(self) -> bool:
        return self.graph.directed

    @cached_property
    def _arcs(self) -> Any:
        """The arc that stands for each edge, as an index of arrays of arcs."""
        if self.graph.directed:
            return slice(None)
        return np.flatnonzero(self.graph.sources <= self.graph.targets)

    @cached_property
    def source_index(self) -> np.ndarray:
        """The indices of sources, int32, shape (num_edges,); for an undirected edge, the lower of its ends."""
        return self.graph.sources[self._arcs]

    @cached_property
    def target_index(self) -> np.ndarray:
        """The indices of targets, int32, shape (num_edges,)."""
        return self.graph.targets[self._arcs]

    @cached_property
    def centrality(self) -> np.ndarray:
        """The centrality, scaled as asked for, float64, shape (num_edges,)."""
        both = (
            self.dependency if self.graph.directed else self.dependency + self.dependency[self.graph.in_arcs]
        )
        return both[self._arcs] * self._factors()

    def top_rows(self, count: int = 10) -> dict[str, np.ndarray]:
        """The edges with the largest centrality."""
        rows = first_rows(self.centrality, check_count(count))
        arcs = rows if self.graph.directed else self._arcs[rows]
        ends = row_of_some(self.graph.offsets, arcs), self.graph.targets[arcs]
        source, target = map(self.graph.ids_of, ends)
        return {"source": source, "target": target, "centrality": self.centrality[rows]}

    def columns(self) -> dict[str, np.ndarray]:
        """The columns ``source``, ``target`` (the user's ids) and ``centrality``: of edges, not of vertices."""
        ends = self.graph.ids_of(self.source_index), self.graph.ids_of(self.target_index)
        return {"source": ends[0], "target": ends[1], "centrality": self.centrality}


@names_elsewhere(**WEIGHT)
def edge_betweenness(
    graph: Graph,
    *,
    k: int | None = None,
    sources: Any = None,
    targets: Any = None,
    seed: int = 0,
    weighted: bool | None = None,
    normalized: bool = True,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    distributed: bool = False,
) -> EdgeBetweennessResult:
    """Betweenness centrality of edges, which does not depend on the number of threads.

    Each of several parallel edges makes paths of its own and has a value of its own. (NetworkX counts the paths along
    all of them once, and then divides their value between them.) On a GPU, sources are done one after the other, and
    in-edges are made if a directed graph has none. Sums are reproducible there, and differ from the CPU's by rounding.

    Args:
        graph: directed or undirected.
        k, sources, targets, seed, weighted: as for `betweenness`.
        normalized: divide by the number of pairs of vertices; else pairs of an undirected graph count once. Sums over
            some sources are scaled up to those over all, as in NetworkX; with `targets` they are not.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. Progress counts
            sources. On the CPU, each source of a batch has a number for each arc; a batch has at most four sources for
            each thread, fewer beyond 4 GiB (but one for each thread) or under a tight limit. There is no delivery, no
            balance and no layout to choose.
        checkpoint: the name of a file for partial sums, as for `betweenness`.
        distributed: run on all ranks that torchrun has started, as for `betweenness`.

    Returns:
        An `EdgeBetweennessResult`. O(k (n + m)) work, with weights O(k (n + m) log n).

    Raises:
        GraphError, ParameterError, OutputError, ScheduleError, DistributedError: as `betweenness`.
    """
    check_graph("edge_betweenness", graph)
    weighted = uses_weights("edge_betweenness", graph, weighted, by_itself=False)
    check_flags(ParameterError, "edge_betweenness: ", normalized=normalized)
    asked = asked_sources("edge_betweenness", graph, k, sources, seed)
    how = device, schedule, progress, memory_limit, checkpoint, distributed
    total, chosen, ends, run = sum_dependencies(asked, targets, weighted, ON_ARCS, *how)
    return EdgeBetweennessResult(graph, run, total, chosen, ends, weighted, ON_ARCS, normalized)
