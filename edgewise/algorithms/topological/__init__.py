"""Topological order: every vertex of a directed graph without cycles after all from which an arc leads to it.

Result. For each vertex its generation, the number of arcs of the longest path that ends there; so each arc leads to a
higher one. A vertex on a cycle, or that can be reached from one, has none.

Idea. Vertices into which no arc leads are taken first, generation 0. Each that is taken lets go of its arcs, and those
that nothing holds any more are the next generation. What is on a cycle, or after one, is never taken.

Encoding. int32; -1 for vertices without a generation. Loops are cycles; parallel arcs count each and change nothing.

Reference. Kahn, "Topological sorting of large networks", Communications of the ACM 5 (1962).

Steps. `cpu_generations`; on a GPU `program`; on several ranks `ranks`.
"""

from functools import cached_property
from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import check_derived
from edgewise.algorithms.common.dispatch import Form, begin, memory_by, no_memory
from edgewise.algorithms.common.names import names_elsewhere
from edgewise.algorithms.topological.cpu import (
    generations,
    generations_memory,
    generations_rounds,
    generations_work,
)
from edgewise.algorithms.topological.verify import verify_generations
from edgewise.errors import GraphError
from edgewise.execution import Execution, Progress
from edgewise.graph import Graph, check_graph
from edgewise.result import Columns, HostArray, SavedColumns
from edgewise.schedule import Buffered, Pull, Push, Schedule
from edgewise.vertex_result import VertexResult


class TopologicalResult(VertexResult):
    """The generations of vertices. ``result[vertex]`` is that of one vertex, or None if it has none.

    Attributes:
        generation: int32, shape (n,): the generation of each vertex; -1 on a cycle, or after one.
        supersteps: the number of generations; as a program, of supersteps.
    """

    algorithm = "topological_order"
    _main = "generation"
    generation = HostArray()

    def __init__(self, graph: Graph, run: Execution, found: tuple[Any, int]) -> None:
        generation, supersteps = found
        super().__init__(graph, run, supersteps, {"generation": generation})

    @cached_property
    def is_acyclic(self) -> bool:
        """Whether the graph has no cycle, so that all vertices have a generation."""
        return bool((self.generation >= 0).all())

    @cached_property
    def order(self) -> np.ndarray:
        """The ids of the vertices that have a generation, by it; those of one in the order of the graph."""
        by_generation = np.argsort(self.generation, kind="stable")
        return self.graph.ids_of(by_generation[np.count_nonzero(self.generation < 0) :])

    def columns(self) -> dict[str, np.ndarray]:
        """The column ``generation``."""
        return {"generation": self.generation}

    def summary(self) -> dict[str, Any]:
        """The number of ``generations``, and whether the graph ``is_acyclic``."""
        return {"generations": int(self.generation.max(initial=-1)) + 1, "is_acyclic": self.is_acyclic}

    def missing(self) -> dict[str, np.ndarray]:
        """Generations of vertices that have none."""
        return {"generation": self.generation < 0}

    def top_rows(self, count: int = 10) -> dict[str, np.ndarray]:
        """The vertices of the lowest generations."""
        return self._top_rows("generation", count, largest=False, shown=self.generation >= 0)

    def _as_values(self, name: str, raw: np.ndarray) -> list[Any]:
        return [None if value < 0 else value for value in raw.tolist()]

    def verify(self, graph: Graph) -> bool:
        """Check that these are the generations: see `verify.verify_generations`."""
        check_graph(f"{type(self).__name__}.verify", graph)
        verify_generations(graph, self.generation)
        check_derived(self, "is_acyclic", "order")
        return True

    @classmethod
    def verify_columns(cls, graph: Graph, columns: Columns, **given: Any) -> bool:
        """Check generations that were written to a file: see `Result.verify_columns`."""
        return verify_generations(
            graph, SavedColumns(graph, columns).numbers("generation", np.int64, missing=-1)
        )


@names_elsewhere()
def topological_order(
    graph: Graph,
    *,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> TopologicalResult:
    """The generation of each vertex of a directed graph, which gives a topological order, and tells whether there is a
    cycle. It depends neither on the device nor on the number of threads.

    A graph with cycles is no error: ``is_acyclic`` says so, and vertices on a cycle or after one have no generation.

    Args:
        graph: directed; weights are not looked at.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. Progress counts
            generations. On a GPU it runs as a program; on the CPU there is no delivery to choose.
        distributed: run on all ranks that torchrun has started, each of which makes this call on the same graph, and
            gets the whole result. They are on CPUs, or each on a GPU (docs/distributed.md); there is nothing to choose
            but the device and ``Schedule(num_threads=...)``. Supersteps are those of the program.

    Returns:
        A `TopologicalResult`. O(n + m) work.

    Raises:
        GraphError: the graph is undirected.
        ScheduleError: a balance or a layout on the CPU, or a delivery that does not exist.
        DistributedError: `distributed`, and this process is no rank of several, or ranks differ in what they ask for.
    """
    check_graph("topological_order", graph)
    if not graph.directed:
        raise GraphError(
            "topological_order: the graph is undirected; expected a directed one: only arcs have an order"
        )
    as_program = Form("topological.program.generations", no_memory, (Push, Pull, Buffered))
    task = begin(
        "topological_order",
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        work=generations_work(graph),
        rounds=generations_rounds(graph),
        cpu=Form(generations, lambda chosen: generations_memory(graph, chosen)),
        cuda=as_program,
        program=as_program,
        ranks=Form(
            "topological.ranks.generations",
            memory_by("topological.ranks.generations_memory_of_rank", graph),
        ),
        distributed=distributed,
    )
    found, run = task.find(graph)
    return TopologicalResult(graph, run, found)
