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

Steps. `cpu_grow`; on a GPU `cuda`.
"""

from functools import cached_property
from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import check_derived, check_numbers
from edgewise.algorithms.common.dispatch import Form, begin, no_memory
from edgewise.algorithms.common.names import WEIGHT, names_elsewhere
from edgewise.algorithms.common.weighted import uses_weights, without_weights
from edgewise.algorithms.mst.cpu import forest, forest_memory, forest_work
from edgewise.algorithms.mst.memory import rounds_bytes
from edgewise.algorithms.mst.verify import exact_sum, verify_forest
from edgewise.edge_result import EdgeResult
from edgewise.errors import GraphError, ParameterError
from edgewise.execution import Execution, Progress
from edgewise.graph import Arrays, Graph, check_graph
from edgewise.graph.checks import check_flags
from edgewise.result import HostArray
from edgewise.schedule import Buffered, Pull, Push, Schedule


class MSTResult(EdgeResult):
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
    _main, _has_directions = "weight", False
    source_index, target_index, weight = HostArray(), HostArray(), HostArray()

    def __init__(
        self, graph: Graph, run: Execution, found: tuple[Any, Any, Any, int], weighted: bool
    ) -> None:
        source, target, weight, rounds = found
        super().__init__(
            graph, run, rounds, {"source_index": source, "target_index": target, "weight": weight}
        )
        self.num_edges, self._weighted = len(source), weighted
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

    def summary(self) -> dict[str, Any]:
        """The numbers of ``edges`` and ``components``, and the ``total_weight``."""
        return {
            "edges": self.num_edges,
            "components": self.num_components,
            "total_weight": self.total_weight,
        }

    def top_rows(self, count: int = 10) -> dict[str, np.ndarray]:
        """The heaviest edges."""
        return self._top_rows("weight", count, shown=np.ones(self.num_edges, bool))

    def verify(self, graph: Graph) -> bool:
        """Check that this is a minimum spanning forest: see `verify.verify_forest`."""
        check_graph(f"{type(self).__name__}.verify", graph)
        check_derived(self, "source", "target")
        weighed = graph if self._weighted else without_weights(graph)
        verify_forest(weighed, self.source_index, self.target_index, self.weight, self.total_weight)
        edges = len(self.source_index)
        check_numbers(self, num_edges=edges, num_components=graph.num_vertices - edges)
        return True


@names_elsewhere(
    algorithm="none: there is one algorithm, which the device carries out in its way",
    ignore_nan="a graph without such edges; weights are never NaN",
    **WEIGHT,
)
def mst(
    graph: Graph,
    *,
    weighted: bool | None = None,
    symmetrize: bool = False,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> MSTResult:
    """A minimum spanning forest of an undirected graph. It depends neither on the device nor on the number of threads,
    but for the sign of weights that are 0.0 or -0.0.

    Without weights every edge has the weight 1. Self-loops are in no forest, and of parallel edges only the lightest
    can be in one.

    Args:
        graph: undirected, or directed with `symmetrize`.
        weighted: True demands weights, and False gives each edge the weight 1; None uses weights if the graph has them.
        symmetrize: take each arc of a directed graph for an edge. This needs in-edges, which are made if there are none
            yet; the graph keeps them.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. There is no
            delivery to choose. On a GPU, a schedule with a balance, a layout or a buffer makes it run as a program, and
            that has deliveries.
        distributed: run on all ranks that torchrun has started, each of which makes this call on the same graph, and
            gets the whole result: the same forest. They are on CPUs, or each on a GPU (docs/distributed.md); there is
            nothing to choose but the device and ``Schedule(num_threads=...)``.

    Returns:
        An `MSTResult`. O(m log n) work.

    Raises:
        GraphError: a directed graph without `symmetrize`, or no weights although they are demanded.
        ScheduleError: a balance or a layout on the CPU, or a delivery that does not exist.
        DistributedError: `distributed`, and this process is no rank of several, or ranks differ in what they ask for.
    """
    check_graph("mst", graph)
    check_flags(ParameterError, "mst: ", symmetrize=symmetrize)
    if graph.directed and not symmetrize:
        raise GraphError(
            "mst: the graph is directed; a spanning forest is that of an undirected one. Set symmetrize=True to take "
            "each arc for an edge, or make the graph with directed=False"
        )
    weighs = uses_weights("mst", graph, weighted, graph.weighted)
    result_of, graph = graph, graph if weighs else without_weights(graph)
    dtype = graph.weight_dtype or np.dtype(np.int32)
    task = begin(
        "mst",
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        work=forest_work(graph),
        rounds=60,
        arrays=Arrays.rows(graph.weighted),
        cpu=Form(forest, lambda _: forest_memory(graph, dtype), in_order=True),
        cuda=Form(
            "mst.cuda.spanning_forest",
            lambda _: _gpu_memory(graph, dtype),
            arrays=Arrays.both_ways(graph.weighted),
        ),
        program=Form("mst.program.forest", no_memory, (Push, Pull, Buffered)),
        ranks=Form(
            "mst.ranks.forest",
            lambda _: _memory_on_ranks(graph, dtype),
            with_gpus=Form("mst.program.forest_on_ranks", no_memory),
        ),
        distributed=distributed,
    )
    found, run = task.find(graph, dtype)
    return MSTResult(result_of, run, found, weighs)


def _memory_on_ranks(graph: Graph, weight: np.dtype) -> int:
    """The memory that a run takes on one of several ranks: in-edges of its arcs, at most of all, or those of two
    forests, with these as columns, rows and bytes; and the forest that is found."""
    arcs = max(graph.num_arcs, 2 * graph.num_vertices)
    beside = (16 + weight.itemsize) * arcs + (48 + 12 * weight.itemsize) * graph.num_vertices
    return forest_memory(graph, weight) + beside


def _gpu_memory(graph: Graph, weight: np.dtype) -> int:
    """The GPU's memory that a run takes beside the graph."""
    return rounds_bytes(graph.num_vertices, graph.num_arcs * (1 + graph.directed), weight)
