"""Betweenness centrality.

Result. For each vertex, over all pairs of other vertices, the sum of the shares of shortest paths between them that go
through it; from all sources, from sources drawn at random, or from given ones; to all vertices, or to given ones.
Shortest paths have the fewest arcs, or the least weight.

Idea. The dependency of a source on a vertex is the share of all shortest paths from the source that go through the
vertex. It follows from the dependencies on the vertices after it, so a search from each source, and a walk back, find
it without listing paths.

Encoding. float64. Numbers of shortest paths leave its range on lattices; they are counted with powers beside them, so
that results stay finite and right. Distances by integer weights are exact. Distances by float weights are float64 sums
from the source on, and paths are equally long if these sums are equal, as in NetworkX.

Reference. Brandes, "A faster algorithm for betweenness centrality", Journal of Mathematical Sociology 25 (2001); "On
variants of shortest-path betweenness centrality and their generic computation", Social Networks 30 (2008), for ends.

Steps. `cpu` and `cpu_path_counts`, with weights after the search of `common.dijkstra`; on a GPU `cuda_batched`, or
`cuda_weighted`; on ranks `ranks`, or `gpu_ranks`.
"""

import os
from functools import cached_property
from typing import Any

import numpy as np

from edgewise.algorithms.betweenness.cpu import ON_VERTICES, ON_VERTICES_AND_ENDS
from edgewise.algorithms.betweenness.dependencies import sum_dependencies
from edgewise.algorithms.betweenness.edges import edge_betweenness as edge_betweenness
from edgewise.algorithms.betweenness.sums import DependencyResult
from edgewise.algorithms.common.names import WEIGHT, names_elsewhere
from edgewise.algorithms.common.sources import asked_sources
from edgewise.algorithms.common.weighted import uses_weights
from edgewise.errors import ParameterError
from edgewise.execution import Progress
from edgewise.graph import Graph, check_graph
from edgewise.graph.checks import check_flags
from edgewise.schedule import Schedule
from edgewise.vertex_result import VertexResult


class BetweennessResult(DependencyResult, VertexResult):
    """The betweenness centrality of vertices; `dependency` has the shape (n,)."""

    algorithm = "betweenness"
    _main = "centrality"

    @cached_property
    def centrality(self) -> np.ndarray:
        """The centrality, scaled as asked for, float64, shape (n,)."""
        return self.dependency * self._factors()

    def columns(self) -> dict[str, np.ndarray]:
        """The column ``centrality``."""
        return {"centrality": self.centrality}


@names_elsewhere(**WEIGHT)
def betweenness(
    graph: Graph,
    *,
    k: int | None = None,
    sources: Any = None,
    targets: Any = None,
    seed: int = 0,
    weighted: bool | None = None,
    normalized: bool = True,
    endpoints: bool = False,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    distributed: bool = False,
) -> BetweennessResult:
    """Betweenness centrality, which does not depend on the number of threads.

    Each of several parallel arcs makes paths of its own; in NetworkX all of them make one. On a GPU, at most 32 sources
    are done at a time, as many as there is memory for, or one with weights; in-edges are made if a directed graph has
    none. Sums are reproducible there for one number of sources at a time, and differ from the CPU's by rounding.

    Args:
        graph: directed or undirected.
        k: the number of sources to draw at random, without repetition, instead of all vertices.
        sources: the sources instead, a list of the user's ids.
        targets: a list of ids: only paths that end there count, of which none begins and ends at one vertex. None for
            all vertices. On a GPU, sources are done one after the other then.
        seed: the seed of the drawing.
        weighted: True for shortest paths of the least weight; weights must be positive. False or None for those of the
            fewest arcs, whether there are weights or not, as in NetworkX.
        normalized: divide by the number of pairs of other vertices; else pairs of an undirected graph count once.
            Sums over some sources are scaled up to those over all, as in NetworkX (3.5): see `scale_factors`. With
            `targets` they are not, as in its ``betweenness_centrality_subset``.
        endpoints: count paths for their ends, too; not with `targets`.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. Progress counts
            sources. Under a tight limit, fewer sources are done at a time. There is no delivery to choose. On a GPU, a
            schedule with a balance, a layout or a buffer makes it run as a program, one source after the other, which
            can be pulled or buffered; weights and targets are refused then.
        checkpoint: the name of a file for partial sums. They are written every ten seconds and when the run is
            interrupted, and a later call with the same arguments goes on from there, to the same values: on the same
            kind of device, on a GPU with the same number of sources at a time, or by the same schedule. The file is
            removed when the run ends without an error.
        distributed: run on all ranks that torchrun has started, each of which makes this call on the same graph, and
            gets the whole result. Each has a share of the sources, and the sums of ranks are added in their order: they
            are the same in each run on so many ranks, and differ from those of one rank by rounding. Ranks are on CPUs,
            or each on a GPU (docs/distributed.md), and keep no checkpoint; there is nothing to choose but the device
            and ``Schedule(num_threads=...)``.

    Returns:
        A `BetweennessResult`. O(k (n + m)) work, with weights O(k (n + m) log n).

    Raises:
        GraphError: a source that is not in the graph; weights that are missing, not positive, or lost beside a distance
            when they are added to it as float64.
        ParameterError: `k` is not an integer from 1 to n; `sources` or `targets` is empty, or repeats one; `sources` is
            given beside `k`, or `targets` beside `endpoints`; the seed is not an integer of at least 0; the checkpoint
            is damaged, or that of another graph or of other arguments.
        OutputError: the checkpoint cannot be written before the run. Later a warning says so
            (`edgewise.errors.NotKeptWarning`), and the run goes on, or ends by what interrupted it.
        ScheduleError: a device, a delivery, a balance or a layout that does not exist; ``EdgeBased()`` without a
            buffer, which adds up in any order.
        DistributedError: `distributed` beside a checkpoint, or this process is no rank of several, or ranks differ in
            what they ask for.
    """
    check_graph("betweenness", graph)
    weighted = uses_weights("betweenness", graph, weighted, by_itself=False)
    check_flags(ParameterError, "betweenness: ", normalized=normalized, endpoints=endpoints)
    on = ON_VERTICES_AND_ENDS if endpoints else ON_VERTICES
    if endpoints and targets is not None:
        raise ParameterError("betweenness: both targets and endpoints are given; expected one of them")
    asked = asked_sources("betweenness", graph, k, sources, seed)
    how = device, schedule, progress, memory_limit, checkpoint, distributed
    total, chosen, ends, run = sum_dependencies(asked, targets, weighted, on, *how)
    return BetweennessResult(graph, run, total, chosen, ends, weighted, on, normalized)
