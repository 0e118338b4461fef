"""Minimum spanning forests.

Result. The edges of a forest that joins whatever the graph joins, and has the least weight of all such forests.

Idea. The lightest edge that leaves a set of vertices is in every minimum spanning forest, if no two edges are equally
heavy. So all components take, at the same time, the lightest edges that leave them, and grow together until no edge
leaves any. Each round at least halves the number of components that an edge leaves.

Ties. Equally heavy edges are ordered by the lower index of their ends, then by the higher. So there is one answer,
whatever threads do.

Encoding. Weights are compared in their own dtype, and the total is exact: a Python integer, or the float nearest to the
sum.

References. Borůvka (1926); the cycle property, by which answers are verified, is Tarjan's "red rule", in "Data
Structures and Network Algorithms" (1983), chapter 6.

Steps. `cpu`; on a GPU `cuda`.
"""

from functools import cached_property
from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import check_derived, check_numbers
from edgewise.algorithms.common.dispatch import Form, begin
from edgewise.algorithms.common.lengths import arcs_of, in_arcs_of
from edgewise.algorithms.mst.cpu import (
    EDGES,
    FOUND_WORDS,
    GIANT,
    LIVE,
    ROOTS,
    ROUNDS,
    forest_bytes,
    grow,
    make_forest,
    sort_edges,
)
from edgewise.algorithms.mst.memory import joining_bytes, rounds_bytes
from edgewise.algorithms.mst.verify import exact_sum, verify_forest
from edgewise.errors import GraphError, ParameterError
from edgewise.execution import Execution, Progress
from edgewise.graph import Arrays, Graph, Made, check_graph
from edgewise.graph.checks import check_flags
from edgewise.kernels.cpu.team import run_alone
from edgewise.memory import held, in_turn
from edgewise.result import HostArray, Result
from edgewise.schedule import Buffered, Pull, Push, Schedule


class MSTResult(Result):
    """A minimum spanning forest.

    Attributes:
        source_index, target_index: int32, shape (num_edges,): the lower and the higher index of each edge's ends; edges
            are sorted by these.
        weight: the weight of each edge, shape (num_edges,), in the dtype of the graph's weights; int32 ones without
            weights.
        num_edges: the number of edges of the forest.
        num_components: the number of trees, those of a single vertex included.
        supersteps: the number of rounds.
    """

    algorithm = "mst"
    source_index, target_index, weight = HostArray(), HostArray(), HostArray()

    def __init__(self, graph: Graph, run: Execution, found: tuple[Any, Any, Any, int]) -> None:
        arrays = dict(zip(("source_index", "target_index", "weight"), found, strict=False))
        super().__init__(graph, run, found[3], arrays)
        self.num_edges = len(found[0])
        self.num_components = graph.num_vertices - self.num_edges

    @cached_property
    def source(self) -> np.ndarray:
        """The user's ids of the ends of lower index, shape (num_edges,)."""
        return self.graph.ids_of(self.source_index)

    @cached_property
    def target(self) -> np.ndarray:
        """The user's ids of the other ends, shape (num_edges,)."""
        return self.graph.ids_of(self.target_index)

    @cached_property
    def total_weight(self) -> int | float:
        """The sum of all weights: see `verify.exact_sum`."""
        return exact_sum(self.weight)

    def columns(self) -> dict[str, np.ndarray]:
        """The columns ``source``, ``target`` and ``weight``: of edges, not of vertices."""
        return {"source": self.source, "target": self.target, "weight": self.weight}

    def table(self) -> dict[str, np.ndarray]:
        """`columns`: there is no column of vertices."""
        return self.columns()

    def summary(self) -> dict[str, Any]:
        """The numbers of ``edges`` and ``components``, and the ``total_weight``."""
        return {
            "edges": self.num_edges,
            "components": self.num_components,
            "total_weight": self.total_weight,
        }

    def top(self, count: int = 10) -> dict[str, np.ndarray]:
        """The heaviest edges."""
        return self._top_rows("weight", count, shown=np.ones(self.num_edges, bool))

    def verify(self, graph: Graph) -> bool:
        """Check that this is a minimum spanning forest: see `verify.verify_forest`."""
        check_graph(f"{type(self).__name__}.verify", graph)
        check_derived(self, "source", "target")
        verify_forest(graph, self.source_index, self.target_index, self.weight, self.total_weight)
        edges = len(self.source_index)
        check_numbers(self, num_edges=edges, num_components=graph.num_vertices - edges)
        return True


def mst(
    graph: Graph,
    *,
    symmetrize: bool = False,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: int | None = None,
) -> MSTResult:
    """A minimum spanning forest of an undirected graph. It depends neither on the device nor on the number of threads,
    but for the sign of weights that are 0.0 or -0.0.

    Without weights every edge has the weight 1. Self-loops are in no forest, and of parallel edges only the lightest
    can be in one.

    Args:
        graph: undirected, or directed with `symmetrize`.
        symmetrize: take each arc of a directed graph for an edge. This needs in-edges, which are made if there are none
            yet; the graph keeps them.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. There is no
            delivery to choose. On a GPU, a schedule with a balance, a layout or a buffer makes it run as a program, and
            that has deliveries.

    Returns:
        An `MSTResult`. O(m log n) work.

    Raises:
        GraphError: a directed graph without `symmetrize`.
        ScheduleError: a balance or a layout on the CPU, or a delivery that does not exist.
    """
    check_graph("mst", graph)
    check_flags(ParameterError, "mst: ", symmetrize=symmetrize)
    if graph.directed and not symmetrize:
        raise GraphError(
            "mst: the graph is directed; a spanning forest is that of an undirected one. Set symmetrize=True to take "
            "each arc for an edge, or make the graph with directed=False"
        )
    dtype = np.dtype(graph.stored.weights.dtype if graph.weighted else np.int32)
    task = begin(
        "mst",
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        work=_work(graph),
        rounds=60,
        arrays=Arrays.rows(graph.weighted),
        cpu=Form(_forest, lambda _: _memory(graph, dtype)),
        cuda=Form("mst.cuda.spanning_forest", lambda _: _gpu_memory(graph, dtype)),
        program=Form(
            "mst.program.forest", lambda _: joining_bytes(graph.num_vertices), (Push, Pull, Buffered)
        ),
    )
    found, run = task.find(graph, dtype)
    return MSTResult(graph, run, found)


def _work(graph: Graph) -> float:
    """About the nanoseconds that one thread takes."""
    return 60 * graph.num_vertices + 8 * graph.num_arcs * (1 + graph.directed)


def _memory(graph: Graph, weight: np.dtype) -> int:
    """The memory that a run takes on the CPU."""
    making = graph.making(Made.IN_EDGES) if graph.directed else graph.making()
    return in_turn(making, held(forest_bytes(graph.num_vertices, weight))).most


def _gpu_memory(graph: Graph, weight: np.dtype) -> int:
    """The GPU's memory that a run takes."""
    making = graph.gpu.making(Arrays.both_ways(graph.weighted))
    arcs = graph.num_arcs * (1 + graph.directed)
    return in_turn(making, held(rounds_bytes(graph.num_vertices, arcs, weight))).most


def _forest(graph: Graph, dtype: np.dtype, run: Execution) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Ends and weights of the forest's edges in order, and the number of rounds."""
    n, rows = graph.num_vertices, arcs_of(graph)
    columns = rows
    if graph.directed:
        run.make_in_edges(graph)
        columns = in_arcs_of(graph)
    forest, found = make_forest(n, dtype), np.zeros(FOUND_WORDS, np.int64)
    found[[GIANT, LIVE, ROOTS]] = -1, n, n
    heaviest = dtype.type(np.inf if dtype.kind == "f" else np.iinfo(dtype).max)
    run.launch(grow, rows, columns, graph.directed, heaviest, forest, found, work=_work(graph))
    count = found[EDGES]
    edges = forest.edge_source[:count], forest.edge_target[:count], forest.edge_weight[:count]
    spare = forest.live[0, :count], forest.live[1, :count], forest.weight[:count]
    run_alone(sort_edges, *edges, np.empty(n + 1, np.int64), spare)
    if found[GIANT] >= 0:
        run.explain(
            "one component had most vertices in the end: it took no edges, the others took those to it"
        )
    source, target, weight = (each.copy() for each in edges)
    return source.view(np.int32), target.view(np.int32), weight, int(found[ROUNDS])
