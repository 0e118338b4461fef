"""Betweenness centrality.

Result. For each vertex, over all pairs of other vertices, the sum of the shares of shortest paths between them that go
through it; from all sources, from some drawn at random, or from given ones.

Idea. The share of all shortest paths from one source that go through a vertex, its dependency, follows from those of
the vertices after it. So a search from each source, and a walk back, find it without listing paths.

Encoding. float64. Numbers of shortest paths leave its range on lattices; they are counted with powers beside them, so
that results stay finite and right.

Reference. Brandes, "A faster algorithm for betweenness centrality", Journal of Mathematical Sociology 25 (2001); "On
variants of shortest-path betweenness centrality and their generic computation", Social Networks 30 (2008), for ends.

Steps. `_brandes`, and on a GPU `_brandes_gpu`.
"""

import operator
from functools import cached_property
from typing import Any

import numpy as np

from edgewise.algorithms._betweenness_verify import verify_dependencies
from edgewise.algorithms._bfs_state import rows_and_columns
from edgewise.algorithms._brandes import accumulate, accumulation_bytes, make_accumulation
from edgewise.errors import ParameterError
from edgewise.execution import Execution, Progress, execution, runs_as_program, threads_of
from edgewise.graph import Graph
from edgewise.result import HostArray, Result
from edgewise.schedule import Buffered, Pull, Schedule


class BetweennessResult(Result):
    """Betweenness centrality.

    Attributes:
        dependency: float64, shape (n,): of each vertex the sum over sources, before it is scaled.
        num_sources: how many sources there were.
        supersteps: the same.
    """

    dependency = HostArray()

    def __init__(
        self,
        graph: Graph,
        run: Execution,
        total: Any,
        sources: np.ndarray,
        normalized: bool,
        endpoints: bool,
    ) -> None:
        super().__init__(graph, run, len(sources), {"dependency": total})
        self.num_sources = len(sources)
        self._sources, self._normalized, self._endpoints = sources, normalized, endpoints

    @cached_property
    def centrality(self) -> np.ndarray:
        """Scaled as asked for, float64, shape (n,)."""
        factor = scale_factors(self.graph, self._sources, self._normalized, self._endpoints)
        return self.dependency * factor

    def columns(self) -> dict[str, np.ndarray]:
        """The column ``centrality``."""
        return {"centrality": self.centrality}

    def verify(self, graph: Graph) -> bool:
        """Check the sums: see `_betweenness_verify.verify_dependencies`. It takes longer than to find them."""
        return verify_dependencies(graph, self._sources, self._endpoints, self.dependency)


def scale_factors(graph: Graph, sources: np.ndarray, normalized: bool, endpoints: bool) -> Any:
    """What sums of dependencies are multiplied by: a number, or float64, shape (n,).

    As NetworkX has it from version 3.5 on: normalised values are divided by the number of pairs; others count each pair
    of an undirected graph once. Sums over some sources stand for those over all: a source is no vertex between others
    in its own paths, so it has one source less.
    """
    n, used = graph.num_vertices, len(sources)
    pairs_of = n if endpoints else n - 1  # for each source
    if pairs_of < 2:
        return 1.0
    weight = 1 / (pairs_of - 1) if normalized else pairs_of / (1 if graph.directed else 2)
    if used == n or endpoints:
        return weight / min(used, pairs_of) if used == n else weight / used
    factors = np.full(n, weight / used)
    factors[sources] = weight / (used - 1) if used > 1 else 0.0
    return factors


def betweenness(
    graph: Graph,
    *,
    k: int | None = None,
    sources: Any = None,
    seed: int = 0,
    normalized: bool = True,
    endpoints: bool = False,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: int | None = None,
) -> BetweennessResult:
    """Betweenness centrality by paths of fewest arcs. The same for every number of threads.

    Weights are not looked at. Of parallel arcs each makes paths of its own. On a GPU, as many sources are done at a
    time as there is memory for, up to 32, and in-edges are made if a directed graph has none. Sums are added in another
    order there: they are the same for each call with as many sources at a time, and differ from the CPU's by rounding.

    Args:
        graph: directed or undirected.
        k: take so many sources drawn at random, without drawing one twice, instead of all vertices.
        sources: take these, a list of the user's ids, instead.
        seed: of the drawing.
        normalized: divide by the number of pairs of other vertices; else pairs of an undirected graph count once.
            Sums over some sources are scaled up to those over all, as NetworkX does (3.5): see `scale_factors`.
        endpoints: count paths for their ends, too.
        device, schedule, progress, memory_limit: see `edgewise.execution.execution`. Progress is that of sources.
            There is no delivery to choose. On a GPU, `memory_limit` bounds the sources that are done at a time, and a
            schedule with a balance, a layout or a buffer makes it run as a program, one source after the other, which
            can be pulled or buffered.

    Returns:
        A `BetweennessResult`. O(k (n + m)) work.

    Raises:
        GraphError: a source that is not in the graph.
        ParameterError: `k` that is no integer from 1 to n; sources that are none, given twice, or beside `k`.
        ScheduleError: a device, a delivery, a balance or a layout that there is not.
    """
    as_program = runs_as_program("betweenness", device, schedule)
    chosen = _chosen(graph, k, sources, seed)
    n, m = graph.num_vertices, graph.num_arcs
    needed = accumulation_bytes(n, threads_of("betweenness", schedule), len(chosen))
    with execution(
        "betweenness",
        device=device,
        schedule=schedule,
        progress=progress,
        memory_limit=memory_limit,
        memory_needed=needed,
        deliveries=(Pull, Buffered) if as_program else (),
        total=len(chosen),
        gpu_memory=8 * n if as_program else batch_bytes(n, m, 1),
    ) as run:
        if as_program and len(chosen):
            from edgewise.algorithms import _as_program

            total = _as_program.dependencies(graph, chosen, endpoints, memory_limit, run)
        elif run.on_gpu and len(chosen):
            from edgewise.algorithms import _brandes_gpu

            total = _brandes_gpu.accumulate(graph, chosen, endpoints, memory_limit, run)
        else:
            arcs, state = rows_and_columns(graph), make_accumulation(n, run.num_threads, len(chosen))
            work, total = len(chosen) * (n + m), state.total
            run.launch(accumulate, arcs.offsets, arcs.targets, chosen, endpoints, state, work=work)
    return BetweennessResult(graph, run, total, chosen, normalized, endpoints)


def batch_bytes(num_vertices: int, num_arcs: int, sources: int) -> int:
    """The memory of a run on a GPU with so many sources at a time."""
    return num_vertices * (40 + 20 * sources) + num_arcs // 256


def _chosen(graph: Graph, k: Any, sources: Any, seed: int) -> np.ndarray:
    """The indices of sources, int64."""
    n = graph.num_vertices
    if sources is not None:
        if k is not None:
            raise ParameterError(
                "betweenness: both k and sources are given; expected one of them, or none for all"
            )
        found = np.atleast_1d(graph.index_of(sources)).astype(np.int64)
        if len(found) == 0 or len(np.unique(found)) < len(found):
            problem = "there are none" if len(found) == 0 else "one is given twice"
            raise ParameterError(f"betweenness: sources: {problem}; expected a list of different vertices")
        return found
    if k is None:
        return np.arange(n)
    try:
        count = operator.index(k)
    except TypeError:
        count = 0
    if not 1 <= count <= n:
        raise ParameterError(
            f"betweenness: k is {k!r}; expected an integer from 1 to {n:,}, the number of vertices"
        )
    return np.random.default_rng(seed).choice(n, count, replace=False)
