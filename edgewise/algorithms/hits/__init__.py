"""Hubs and authorities (HITS).

Result. For each vertex two numbers: as an authority, the sum of the hubs that point to it; as a hub, that of the
authorities that it points to; each up to a factor, by which they sum to 1. These are the singular vectors of the
largest singular value of the adjacency matrix.

Idea. Power iteration: hubs from authorities, over out-edges, then authorities from hubs, over in-edges, then scale.

Encoding. float64; sums are made in blocks of fixed size, so the bits do not depend on the number of threads.

Reference. Kleinberg, "Authoritative sources in a hyperlinked environment", Journal of the ACM 46 (1999).

Steps. `common.power_iterations`; on a GPU `program`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgewise.algorithms.common.distribution import distribution
from edgewise.algorithms.common.names import WEIGHT, names_elsewhere
from edgewise.algorithms.common.power import PowerResult, begin_power, checked_power, compare, divided
from edgewise.algorithms.common.power_iterations import UNIT_SUM
from edgewise.algorithms.common.power_state import Iterated, Power
from edgewise.errors import ParameterError
from edgewise.execution import Execution, Progress
from edgewise.graph import Graph, check_graph
from edgewise.graph.checks import check_flags
from edgewise.result import HostArray
from edgewise.schedule import Schedule


class HITSResult(PowerResult):
    """Hubs and authorities: see `PowerResult` for how they were found. ``result[vertex]`` is the authority.

    Attributes:
        authority: float64, shape (n,): sums to 1; if it is not normalised, its squares do.
        hub: float64, shape (n,): sums to 1; if it is not normalised, the sum of authorities over out-edges.
        normalized: whether they are normalised.
    """

    algorithm = "hits"
    _main = "authority"
    authority = HostArray()
    hub = HostArray()

    def __init__(
        self, power: Power, tol: float, run: Execution, iterated: Iterated, *, normalized: bool
    ) -> None:
        authority, hub = _normalised(iterated.values, iterated.back, normalized)
        super().__init__(power, tol, run, iterated, {"authority": authority, "hub": hub})
        self.normalized = self._normalized = normalized

    def columns(self) -> dict[str, np.ndarray]:
        """The columns ``authority`` and ``hub``."""
        return {"authority": self.authority, "hub": self.hub}

    def verify(self, graph: Graph) -> bool:
        """Check the values: all iterations are repeated by SciPy."""
        authority, hub = _normalised(*self._repeated(graph), self._normalized)
        compare(graph, "authority", self.authority, authority)
        compare(graph, "hub", self.hub, hub)
        return True


def _normalised(authority: Any, hub: Any, normalized: bool) -> tuple[Any, Any]:
    """Authorities that sum to 1 and the hubs that follow from them, as asked for."""
    if normalized:
        return divided(authority, authority.sum()), divided(hub, hub.sum())
    length = (authority @ authority) ** 0.5
    return divided(authority, length), divided(hub, length)


@names_elsewhere(
    max_iter="max_iterations",
    nstart="start, the authorities to begin with",
    **WEIGHT,
)
def hits(
    graph: Graph,
    *,
    tol: float = 1e-8,
    max_iterations: int = 1000,
    start: Mapping[Any, float] | np.ndarray | None = None,
    normalized: bool = True,
    weighted: bool | None = None,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> HITSResult:
    """Hubs and authorities: good hubs point to good authorities, and these are what good hubs point to.

    The answer is that of NetworkX, which finds singular vectors by SciPy, and uses weights if there are any. Values do
    not depend on the number of threads; those of a GPU differ by rounding. Where several vectors are right, as in
    graphs of several components alike, that which the start leads to is given. Each of several parallel arcs counts.

    Args:
        graph: directed, or undirected (each edge both ways).
        tol: end when the absolute changes of the authorities, which sum to 1, sum to less than this. The error is about
            ``tol / (1 - q)`` where q is the square of the ratio of the second singular value to the first.
        max_iterations: the most iterations. Not converging is not an error: see ``converged``.
        start: the authorities to begin with: {id: value} (others 0), or an array of shape (n,) in the order of
            ``graph.vertices``; not negative, not all 0; all alike if left out.
        normalized: scale authorities and hubs so that each sum to 1. Else the squares of authorities sum to 1, and a
            hub is the sum of the authorities that it points to.
        weighted: True to multiply values by the graph's weights, which must not be negative; False or None to count
            each arc alike.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. There is no delivery
            but ``Pull()``. On a GPU it runs as a program on a graph of twice as many vertices and arcs, which is kept.
        distributed: run on all ranks that torchrun has started, each of which makes this call on the same graph, and
            gets the whole result. They are on CPUs, or each on a GPU (docs/distributed.md); there is nothing to choose
            but the device and ``Schedule(num_threads=...)``.

    Returns:
        A `HITSResult`. O(n + m) for each iteration.

    Raises:
        ParameterError: a parameter out of its range.
        GraphError: weights that are missing, negative, or so large or small that values leave float64; an id that is
            not in the graph.
        ScheduleError: a balance or a layout on the CPU, or ``Push()``.
        MemoryLimitError: more memory is needed than allowed.
        DistributedError: `distributed`, and this process is no rank of several, or ranks differ in what they ask for.
    """
    check_graph("hits", graph)
    check_flags(ParameterError, "hits: ", normalized=normalized)
    weighted, tol, limit = checked_power("hits", graph, weighted, tol, max_iterations)
    task = begin_power(
        "hits",
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        program="hits.program.iterate",
        limit=limit,
        back=True,
        given=(start,),
        distributed=distributed,
    )
    begin_with = distribution(graph, "hits: start", start)
    if begin_with is None:
        begin_with = np.full(graph.num_vertices, 1 / max(graph.num_vertices, 1))
    power = Power(graph, weighted, begin_with, np.zeros(1), 0.0, 1.0, True, UNIT_SUM, tol, limit)
    iterated, run = task.find(power, total=limit)
    return HITSResult(power, tol, run, iterated, normalized=bool(normalized))
