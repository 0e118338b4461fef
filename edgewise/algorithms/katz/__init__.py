"""Katz centrality.

Result. For each vertex the number of walks that end there, of which one of k arcs counts ``alpha**k``: the solution of
``x = alpha * A^T x + beta``, where A is the adjacency matrix.

Idea. The equation, taken as an assignment, again and again. It converges if alpha is less than 1 over the largest
eigenvalue of A.

Encoding. float64; sums are made in blocks of fixed size, so the bits do not depend on the number of threads.

Reference. Katz, "A new status index derived from sociometric analysis", Psychometrika 18 (1953); where iterations end
is as in NetworkX.

Steps. `common.power_iterations`; on a GPU `program`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgewise.algorithms.common.distribution import vertex_numbers
from edgewise.algorithms.common.names import WEIGHT, names_elsewhere
from edgewise.algorithms.common.numbers import as_float
from edgewise.algorithms.common.power import PowerResult, begin_power, checked_power, compare, divided
from edgewise.algorithms.common.power_iterations import AS_THEY_ARE
from edgewise.algorithms.common.power_state import Iterated, Power
from edgewise.errors import ParameterError
from edgewise.execution import Execution, Progress
from edgewise.graph import Graph, check_graph
from edgewise.graph.checks import check_flags
from edgewise.numeric import is_number
from edgewise.result import HostArray
from edgewise.schedule import Schedule


class KatzResult(PowerResult):
    """Katz centrality: see `PowerResult` for how it was found.

    Attributes:
        centrality: float64, shape (n,); squares sum to 1 if it is normalised.
        alpha: what a walk loses with each arc.
        normalized: whether it is normalised.
    """

    algorithm = "katz"
    _main = "centrality"
    centrality = HostArray()

    def __init__(
        self, power: Power, tol: float, run: Execution, iterated: Iterated, *, normalized: bool
    ) -> None:
        values = iterated.values
        if normalized:
            values = divided(values, (values @ values) ** 0.5)
        super().__init__(power, tol, run, iterated, {"centrality": values})
        self.alpha, self.normalized = power.factor, normalized
        self._normalized = normalized

    def columns(self) -> dict[str, np.ndarray]:
        """The column ``centrality``."""
        return {"centrality": self.centrality}

    def verify(self, graph: Graph) -> bool:
        """Check the values: all iterations are repeated by SciPy."""
        expected, _ = self._repeated(graph)
        if self._normalized:
            expected = divided(expected, np.sqrt(expected @ expected))
        compare(graph, "centrality", self.centrality, expected)
        return True


@names_elsewhere(max_iter="max_iterations", nstart="start, the values to begin with", **WEIGHT)
def katz(
    graph: Graph,
    *,
    alpha: float = 0.1,
    beta: float | Mapping[Any, float] | np.ndarray = 1.0,
    tol: float = 1e-6,
    max_iterations: int = 1000,
    start: Mapping[Any, float] | np.ndarray | None = None,
    normalized: bool = True,
    weighted: bool | None = None,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> KatzResult:
    """Katz centrality, as in NetworkX: the walks that end at a vertex, long ones counting less.

    Values do not depend on the number of threads; those of a GPU differ by rounding. Each of several parallel arcs
    counts.

    Args:
        graph: directed, or undirected (each edge both ways). ``graph.reverse()`` counts walks that begin at a vertex.
        alpha: what a walk loses with each arc, at least 0. It has to be less than 1 over the largest eigenvalue of the
            adjacency matrix, which is at most the largest in-degree.
        beta: what each vertex has by itself, at least 0: a number, an array of shape (n,) in the order of
            ``graph.vertices``, or {id: value} with every vertex.
        tol: end when the absolute changes of an iteration sum to less than ``tol * n``, as in NetworkX.
        max_iterations: the most iterations. Not converging is not an error, unless values leave float64: see
            ``converged``.
        start: the values to begin with, given like an array or a mapping for `beta`; in a mapping, others are 0. 0 if
            left out.
        normalized: scale values so that their squares sum to 1.
        weighted: True to multiply values by the graph's weights, which must not be negative; False or None to count
            each arc alike.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. There is no delivery
            but ``Pull()``. On a GPU it runs as a program.
        distributed: run on all ranks that torchrun has started, each of which makes this call on the same graph, and
            gets the whole result. They are on CPUs, or each on a GPU (docs/distributed.md); there is nothing to choose
            but the device and ``Schedule(num_threads=...)``.

    Returns:
        A `KatzResult`. O(n + m) for each iteration.

    Raises:
        ParameterError: a parameter out of its range, or an alpha by which values grow beyond float64.
        GraphError: weights that are missing, negative, or so large or small that values leave float64; an id that is
            not in the graph.
        ScheduleError: a balance or a layout on the CPU, or ``Push()``.
        MemoryLimitError: more memory is needed than allowed.
        DistributedError: `distributed`, and this process is no rank of several, or ranks differ in what they ask for.
    """
    check_graph("katz", graph)
    check_flags(ParameterError, "katz: ", normalized=normalized)
    weighted, tol, limit = checked_power("katz", graph, weighted, tol, max_iterations)
    alpha = as_float("katz: alpha", alpha, "a number of at least 0")
    number = as_float("katz: beta", beta, "a number of at least 0") if is_number(beta) else None
    task = begin_power(
        "katz",
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        program="katz.program.iterate",
        limit=limit,
        back=False,
        given=(None if number is not None else beta, start),  # type: ignore[arg-type]
        distributed=distributed,
    )
    n = graph.num_vertices
    added = np.full(1, number) if number is not None else _beta_of_all(graph, beta)
    begin_with = np.zeros(n) if start is None else vertex_numbers(graph, "katz: start", start)
    power = Power(graph, weighted, begin_with, added, 0.0, alpha, False, AS_THEY_ARE, tol * n, limit)
    iterated, run = task.find(power, total=limit)
    if not np.isfinite(iterated.residual):
        raise ParameterError(
            f"katz: alpha is {alpha}, by which values grew beyond float64; expected less than 1 over the largest "
            "eigenvalue of the adjacency matrix: give a smaller one"
        )
    return KatzResult(power, tol, run, iterated, normalized=bool(normalized))


def _beta_of_all(graph: Graph, beta: Any) -> np.ndarray:
    """A beta for each vertex.

    Raises:
        ParameterError: some have none, or one that is no number of at least 0.
        GraphError: an id that is not in the graph.
    """
    if isinstance(beta, Mapping) and len(beta) != graph.num_vertices:
        raise ParameterError(
            f"katz: beta has {len(beta):,} values; expected one for each of {graph.num_vertices:,} vertices, or one "
            "number"
        )
    return vertex_numbers(graph, "katz: beta", beta)
