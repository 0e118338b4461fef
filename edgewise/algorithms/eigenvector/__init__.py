"""Eigenvector centrality.

Result. For each vertex a number that is proportional to the sum of those of its in-neighbours: the eigenvector of the
largest eigenvalue of the adjacency matrix, transposed. Its squares sum to 1.

Idea. Power iteration with the matrix plus the identity, which has the same eigenvectors, and converges on bipartite
graphs, too: each vertex adds to its value those of its in-neighbours, and all are scaled.

Encoding. float64; sums are made in blocks of fixed size, so the bits do not depend on the number of threads.

Reference. Bonacich, "Factoring and weighting approaches to status scores and clique identification", Journal of
Mathematical Sociology 2 (1972); the iteration and where it ends are those of NetworkX.

Steps. `common.power_iterations`; on a GPU `program`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgewise.algorithms.common.distribution import distribution
from edgewise.algorithms.common.names import WEIGHT, names_elsewhere
from edgewise.algorithms.common.power import PowerResult, begin_power, checked_power, compare
from edgewise.algorithms.common.power_iterations import UNIT_LENGTH
from edgewise.algorithms.common.power_state import Power
from edgewise.execution import Progress
from edgewise.graph import Graph, check_graph
from edgewise.result import HostArray
from edgewise.schedule import Schedule


class EigenvectorResult(PowerResult):
    """Eigenvector centrality: see `PowerResult` for how it was found.

    Attributes:
        centrality: float64, shape (n,): at least 0; squares sum to 1.
    """

    algorithm = "eigenvector"
    _main = "centrality"
    centrality = HostArray()

    def columns(self) -> dict[str, np.ndarray]:
        """The column ``centrality``."""
        return {"centrality": self.centrality}

    def verify(self, graph: Graph) -> bool:
        """Check the values: all iterations are repeated by SciPy."""
        expected, _ = self._repeated(graph)
        compare(graph, "centrality", self.centrality, expected)
        return True


@names_elsewhere(max_iter="max_iterations", nstart="start, the values to begin with", **WEIGHT)
def eigenvector(
    graph: Graph,
    *,
    tol: float = 1e-6,
    max_iterations: int = 100,
    start: Mapping[Any, float] | np.ndarray | None = None,
    weighted: bool | None = None,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> EigenvectorResult:
    """Eigenvector centrality, as in NetworkX: vertices count for what their in-neighbours count for.

    Values do not depend on the number of threads; those of a GPU differ by rounding. If the graph is not strongly
    connected, several vectors may be right; that which the start leads to is given. Each of several parallel arcs
    counts.

    Args:
        graph: directed, or undirected (each edge both ways). ``graph.reverse()`` sums over out-neighbours.
        tol: end when the absolute changes of an iteration sum to less than ``tol * n``, as in NetworkX.
        max_iterations: the most iterations. Not converging is not an error: see ``converged``.
        start: the values to begin with: {id: value} (others 0), or an array of shape (n,) in the order of
            ``graph.vertices``; not negative, not all 0; all alike if left out.
        weighted: True to multiply values by the graph's weights, which must not be negative; False or None to count
            each arc alike.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. There is no delivery
            but ``Pull()``. On a GPU it runs as a program.
        distributed: run on all ranks that torchrun has started, each of which makes this call on the same graph, and
            gets the whole result. They are on CPUs, or each on a GPU (docs/distributed.md); there is nothing to choose
            but the device and ``Schedule(num_threads=...)``.

    Returns:
        An `EigenvectorResult`. O(n + m) for each iteration.

    Raises:
        ParameterError: a parameter out of its range.
        GraphError: weights that are missing, negative, or so large or small that values leave float64; an id that is
            not in the graph.
        ScheduleError: a balance or a layout on the CPU, or ``Push()``.
        MemoryLimitError: more memory is needed than allowed.
        DistributedError: `distributed`, and this process is no rank of several, or ranks differ in what they ask for.
    """
    check_graph("eigenvector", graph)
    weighted, tol, limit = checked_power("eigenvector", graph, weighted, tol, max_iterations)
    task = begin_power(
        "eigenvector",
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        program="eigenvector.program.iterate",
        limit=limit,
        back=False,
        given=(start,),
        distributed=distributed,
    )
    n = graph.num_vertices
    begin_with = distribution(graph, "eigenvector: start", start)
    if begin_with is None:
        begin_with = np.full(n, 1 / max(n, 1))
    power = Power(graph, weighted, begin_with, np.zeros(1), 1.0, 1.0, False, UNIT_LENGTH, tol * n, limit)
    iterated, run = task.find(power, total=limit)
    return EigenvectorResult(power, tol, run, iterated, {"centrality": iterated.values})
