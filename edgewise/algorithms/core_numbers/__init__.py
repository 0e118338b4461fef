"""Core numbers: how deep in the dense parts of a graph each vertex is.

Result. For each vertex the largest k for which it belongs to the k-core: the largest subgraph in which every vertex has
at least k edges. The largest of all is the degeneracy of the graph.

Idea. Vertices with the fewest edges are taken away, level by level. The level at which a vertex goes is its core
number: on level k, all vertices go that have k edges left, and so do those that have no more than k after that.

Edges. Loops are not counted, parallel edges are, each. In a directed graph edges out of a vertex and into it count, as
in NetworkX: two vertices with arcs both ways are joined by two edges.

References. Matula and Beck, "Smallest-last ordering and clustering and graph coloring algorithms", Journal of the ACM
30 (1983); Batagelj and Zaversnik, "An O(m) algorithm for cores decomposition of networks" (2003); levels by several
threads as in Dasari, Desh and Zubair, "ParK: an efficient algorithm for k-core decomposition on multicore processors",
IEEE Big Data 2014, and Kabir and Madduri, "Parallel k-core decomposition on multicore platforms", IPDPSW 2017.

Steps. `cpu_peel`; on a GPU `cuda`; on several ranks `ranks`.
"""

from functools import cached_property
from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import check_derived
from edgewise.algorithms.common.dispatch import Form, begin, memory_by
from edgewise.algorithms.common.names import names_elsewhere
from edgewise.algorithms.core_numbers.cpu import ROUNDS, core_numbers_memory, core_numbers_work
from edgewise.algorithms.core_numbers.cpu import core_numbers as core_numbers_on_cpu
from edgewise.algorithms.core_numbers.verify import verify_core_numbers
from edgewise.errors import ParameterError
from edgewise.execution import Execution, Progress
from edgewise.graph import Arrays, Graph, check_graph
from edgewise.numeric import is_integer
from edgewise.result import Columns, HostArray, SavedColumns
from edgewise.schedule import Schedule
from edgewise.text import shown
from edgewise.vertex_result import VertexResult


class CoreNumbersResult(VertexResult):
    """Core numbers. ``result[vertex]`` is that of one vertex.

    Attributes:
        core: int32, shape (n,): the core number of each vertex.
        supersteps: the number of levels, that is of different core numbers.
    """

    algorithm = "core_numbers"
    _main = "core"
    core = HostArray()

    def __init__(self, graph: Graph, run: Execution, found: tuple[Any, int]) -> None:
        core, levels = found
        super().__init__(graph, run, levels, {"core": core})

    @cached_property
    def max_core(self) -> int:
        """The largest core number, the degeneracy of the graph; 0 without vertices."""
        return int(self.core.max(initial=0))

    def k_core(self, k: int | None = None) -> np.ndarray:
        """The vertices of the k-core: those with core numbers of at least k.

        Args:
            k: an integer of at least 0; None for the largest core number.

        Returns:
            The user's ids in the order of the graph, for `Graph.subgraph`, say; none if k is above `max_core`.

        Raises:
            ParameterError: k is not an integer of at least 0.
        """
        if k is not None and (not is_integer(k) or k < 0):
            raise ParameterError(
                f"k_core: k is {shown(k)}; expected an integer of at least 0, or None for the largest core number"
            )
        return self.graph.ids_of(np.flatnonzero(self.core >= (self.max_core if k is None else k)))

    def columns(self) -> dict[str, np.ndarray]:
        """The column ``core``."""
        return {"core": self.core}

    def summary(self) -> dict[str, Any]:
        """The largest core number, ``max_core``, and the number of vertices that have it, ``innermost``."""
        return {"max_core": self.max_core, "innermost": int(np.count_nonzero(self.core == self.max_core))}

    def verify(self, graph: Graph) -> bool:
        """Check that these are the core numbers: see `verify.verify_core_numbers`."""
        check_graph(f"{type(self).__name__}.verify", graph)
        verify_core_numbers(graph, self.core)
        check_derived(self, "max_core")
        return True

    @classmethod
    def verify_columns(cls, graph: Graph, columns: Columns, **given: Any) -> bool:
        """Check core numbers that were written to a file: see `Result.verify_columns`."""
        return verify_core_numbers(graph, SavedColumns(graph, columns).numbers("core", np.int64))


@names_elsewhere()
def core_numbers(
    graph: Graph,
    *,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> CoreNumbersResult:
    """The core number of each vertex: the largest k for which it is in a subgraph in which all have k edges. It depends
    neither on the device nor on the number of threads.

    Loops are not counted; NetworkX refuses graphs with loops. Parallel edges count each. In a directed graph edges out
    of a vertex and into it count, as in NetworkX; ``graph.to_undirected()`` has one edge for arcs both ways.

    Args:
        graph: undirected or directed; weights are not looked at. In-edges of a directed graph are made if there are
            none yet; the graph keeps them.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. Progress counts
            levels. There is no delivery to choose, and no program of it: a balance, a layout or a buffer is refused.
        distributed: run on all ranks that torchrun has started, each of which makes this call on the same graph, and
            gets the whole result. They are on CPUs, or each on a GPU (docs/distributed.md); there is nothing to choose
            but the device and ``Schedule(num_threads=...)``. It runs as a program then.

    Returns:
        A `CoreNumbersResult`. O(n + m) work.

    Raises:
        ScheduleError: a schedule that has more than a number of threads.
        DistributedError: `distributed`, and this process is no rank of several, or ranks differ in what they ask for.
    """
    check_graph("core_numbers", graph)
    task = begin(
        "core_numbers",
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        work=core_numbers_work(graph),
        rounds=ROUNDS,
        arrays=Arrays.BOTH_WAYS if graph.directed else Arrays.ROWS,
        cpu=Form(core_numbers_on_cpu, lambda chosen: core_numbers_memory(graph, chosen)),
        cuda=Form(
            "core_numbers.cuda.core_numbers",
            lambda _: 20 * graph.num_vertices,
            arrays=Arrays.BOTH_WAYS if graph.directed else Arrays.ROWS,
        ),
        program="level by level",
        ranks=Form(
            "core_numbers.ranks.core_numbers",
            memory_by("core_numbers.ranks.core_numbers_memory_of_rank", graph),
        ),
        distributed=distributed,
    )
    found, run = task.find(graph)
    return CoreNumbersResult(graph, run, found)
