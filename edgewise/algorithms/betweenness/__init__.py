"""Betweenness centrality.

Result. For each vertex, over all pairs of other vertices, the sum of the shares of shortest paths between them that go
through it; from all sources, from some drawn at random, or from given ones. Shortest are those of fewest arcs, or of
least weight.

Idea. The share of all shortest paths from one source that go through a vertex, its dependency, follows from those of
the vertices after it. So a search from each source, and a walk back, find it without listing paths.

Encoding. float64. Numbers of shortest paths leave its range on lattices; they are counted with powers beside them, so
that results stay finite and right. Distances by integer weights are exact; those by floats are float64 sums from the
source on, and paths are equally long if these are equal, as NetworkX has it.

Reference. Brandes, "A faster algorithm for betweenness centrality", Journal of Mathematical Sociology 25 (2001); "On
variants of shortest-path betweenness centrality and their generic computation", Social Networks 30 (2008), for ends.

Steps. `cpu`, with weights after the search of `cpu_dijkstra`; on a GPU `cuda_batched`, or `cuda_weighted`.
"""

import os
from collections.abc import Iterator, Set
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from edgewise.algorithms.betweenness.cpu import ON_VERTICES, ON_VERTICES_AND_ENDS
from edgewise.algorithms.betweenness.dependencies import size_for, source_work, sum_over
from edgewise.algorithms.betweenness.verify import verify_dependencies
from edgewise.algorithms.common.derived import check_derived
from edgewise.algorithms.common.lengths import arrays_both_ways
from edgewise.errors import ParameterError, ScheduleError
from edgewise.execution import Chosen, Execution, Progress, choose, execution
from edgewise.graph import Graph
from edgewise.kernels.costs import levels
from edgewise.memory import Step, held, in_turn
from edgewise.result import HostArray, Result
from edgewise.schedule import Buffered, Pull, Schedule


class DependencyResult(Result):
    """Sums of dependencies over sources, on vertices or on arcs.

    Attributes:
        dependency: float64: of each vertex or arc the sum over sources, before it is scaled.
        num_sources: how many sources there were.
        supersteps: the same.
    """

    dependency = HostArray()
    _derived: tuple[str, ...] = ("centrality",)

    def __init__(
        self,
        graph: Graph,
        run: Execution,
        total: Any,
        sources: np.ndarray,
        weighted: bool,
        on: int,
        normalized: bool,
    ) -> None:
        super().__init__(graph, run, len(sources), {"dependency": total})
        self.num_sources = len(sources)
        self._sources, self._weighted, self._on, self._normalized = sources, weighted, on, normalized

    def _factors(self) -> Any:
        """See `scale_factors`."""
        return scale_factors(self.graph, self._sources, self._normalized, self._on != ON_VERTICES)

    def verify(self, graph: Graph) -> bool:
        """Check the sums: see `verify.verify_dependencies`. It takes longer than to find them."""
        check_derived(self, *self._derived)
        return verify_dependencies(graph, self._sources, self._weighted, self._on, self.dependency)


class BetweennessResult(DependencyResult):
    """Betweenness centrality of vertices; `dependency` has the shape (n,)."""

    @cached_property
    def centrality(self) -> np.ndarray:
        """Scaled as asked for, float64, shape (n,)."""
        return self.dependency * self._factors()

    def columns(self) -> dict[str, np.ndarray]:
        """The column ``centrality``."""
        return {"centrality": self.centrality}


def scale_factors(graph: Graph, sources: np.ndarray, normalized: bool, endpoints: bool) -> Any:
    """What sums of dependencies are multiplied by: a number, or float64, shape (n,).

    As NetworkX has it from version 3.5 on: normalised values are divided by the number of pairs; others count each pair
    of an undirected graph once. Sums over some sources stand for those over all: a source is no vertex between others
    in its own paths, so it has one source less. Where that is none it has 0, and NaN in NetworkX.
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
    weighted: bool = False,
    normalized: bool = True,
    endpoints: bool = False,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> BetweennessResult:
    """Betweenness centrality. The same for every number of threads.

    Of parallel arcs each makes paths of its own; in NetworkX all of them make one. On a GPU, as many sources are done
    at a time as there is memory for, up to 32, by weights one after the other, and in-edges are made if a directed
    graph has none. Sums are added in another order there: they are the same for each call with as many sources at a
    time, and differ from the CPU's by rounding.

    Args:
        graph: directed or undirected.
        k: take so many sources drawn at random, without drawing one twice, instead of all vertices.
        sources: take these, a list of the user's ids, instead.
        seed: of the drawing.
        weighted: shortest paths are those of least weight, which must be positive, instead of those of fewest arcs.
        normalized: divide by the number of pairs of other vertices; else pairs of an undirected graph count once.
            Sums over some sources are scaled up to those over all, as NetworkX does (3.5): see `scale_factors`.
        endpoints: count paths for their ends, too.
        device, schedule, progress, memory_limit: see `choose` and `execution` in `edgewise.execution`. Progress is that
            of sources. Within the limit, fewer sources are done at a time. There is no delivery to choose. On a GPU, a
            schedule with a balance, a layout or a buffer makes it run as a program, one source after the other, which
            can be pulled or buffered; not by weights.
        checkpoint: the name of a file for partial sums. They are written to it every ten seconds and when the run is
            interrupted, and a later call with the same arguments goes on from there, to the same values: on the same
            kind of device, on a GPU with as many sources at a time, or by the same schedule. The file is removed when
            the run ends well.

    Returns:
        A `BetweennessResult`. O(k (n + m)) work, with weights O(k (n + m) log n).

    Raises:
        GraphError: a source that is not in the graph; weights that are missing, not positive, or lost beside a distance
            when they are added to it as float64.
        ParameterError: `k` that is no integer from 1 to n; sources that are none, given twice, or beside `k`; a seed
            that is no integer of at least 0; a checkpoint that is damaged, or that of another graph or of other
            arguments.
        OutputError: the checkpoint cannot be written, before the run or when it is interrupted; in between, a
            RuntimeWarning says so, and the run goes on.
        ScheduleError: a device, a delivery, a balance or a layout that there is not; ``EdgeBased()`` without a buffer,
            which adds up in any order.
    """
    choosing = choosing_sources(graph, k, sources)
    chosen = chosen_sources("betweenness", graph, k, sources, seed)
    on = ON_VERTICES_AND_ENDS if endpoints else ON_VERTICES
    size = size_for(
        "betweenness", graph, len(chosen), weighted, on, schedule, memory_limit, checkpoint, choosing.kept
    )
    place = choose_place("betweenness", graph, len(chosen), weighted, device, schedule)
    if place.as_program and weighted:
        raise no_program("betweenness", "by weights")
    n, m = graph.num_vertices, graph.num_arcs

    def gpu_memory() -> int:
        if place.as_program:
            return 8 * n
        run = source_bytes(n, m, n) if weighted else batch_bytes(n, m, 1)
        return in_turn(graph.making_on_gpu(*arrays_both_ways(graph, weighted)), held(run)).most

    with execution(
        "betweenness",
        place,
        progress=progress,
        memory_limit=memory_limit,
        memory_needed=lambda: in_turn(choosing, held(size.num_bytes)).most,
        deliveries=(Pull, Buffered) if place.as_program else (),
        total=len(chosen),
        gpu_memory=gpu_memory,
    ) as run:
        total = sum_over(
            "betweenness", graph, chosen, weighted, on, size, memory_limit, run, checkpoint, place.as_program
        )
    return BetweennessResult(graph, run, total, chosen, weighted, on, normalized)


def choose_place(
    name: str, graph: Graph, num_sources: int, weighted: bool, device: Any, schedule: Schedule | None
) -> Chosen:
    """Where dependencies of so many sources are summed; weighted ones are done one after the other on a GPU."""
    n, m = graph.num_vertices, graph.num_arcs
    batches = num_sources if weighted else -(-num_sources // 32)
    return choose(
        name,
        graph,
        device,
        schedule,
        work=num_sources * source_work(n, m, weighted),
        rounds=batches * 2 * levels(n, m),
        arrays=("offsets", "targets", "in_offsets", "in_sources"),
    )


def batch_bytes(num_vertices: int, num_arcs: int, sources: int) -> int:
    """The memory of a run on a GPU with so many sources at a time."""
    return num_vertices * (40 + 20 * sources) + num_arcs // 256


def source_bytes(num_vertices: int, num_arcs: int, num_sums: int) -> int:
    """The memory of a run on a GPU that does one source after the other, for so many sums."""
    return 76 * num_vertices + 9 * num_arcs // 64 + 8 * num_sums


def no_program(name: str, what: str) -> ScheduleError:
    """The refusal of a schedule that has an algorithm run as a program."""
    return ScheduleError(
        f"{name}: {what} this does not run as a program, which a balance, a layout or a buffer asks for on a GPU. "
        "Leave them at 'auto'"
    )


def choosing_sources(graph: Graph, k: Any, sources: Any) -> Step:
    """The memory that it takes to choose sources, which are those of all vertices before some are drawn, and to copy
    the graph from a GPU."""
    chosen = graph.looking_up(sources) if sources is not None else held(8 * graph.num_vertices)
    return in_turn(graph.making(), chosen)


def chosen_sources(name: str, graph: Graph, k: Any, sources: Any, seed: int) -> np.ndarray:
    """The indices of sources, int64: those given, or k drawn at random, or all.

    Raises:
        GraphError: a source that is not in the graph.
        ParameterError: `k` that is no integer from 1 to n; sources that are none, given twice, or beside `k`; a seed
            that is no integer of at least 0.
    """
    n = graph.num_vertices
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise ParameterError(f"{name}: seed is {seed!r}; expected an integer of at least 0")
    if sources is not None:
        if k is not None:
            raise ParameterError(
                f"{name}: both k and sources are given; expected one of them, or none for all"
            )
        if isinstance(sources, Set | Iterator):
            sources = list(sources)
        found = np.atleast_1d(graph.index_of(sources)).astype(np.int64)
        if len(found) == 0 or len(np.unique(found)) < len(found):
            problem = "there are none" if len(found) == 0 else "one is given twice"
            raise ParameterError(f"{name}: sources: {problem}; expected a list of different vertices")
        return found
    if k is None:
        return np.arange(n)
    if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= k <= n:
        possible = (
            f"an integer from 1 to {n:,}, the number of vertices" if n else "none, for there is no vertex"
        )
        raise ParameterError(f"{name}: k is {k!r}; expected {possible}")
    return np.random.default_rng(seed).choice(n, int(k), replace=False)
