"""Harmonic centrality: see the folder's `__init__`."""

from functools import cached_property
from typing import Any

import numpy as np

from edgewise.algorithms.closeness.distances import DistancesResult, find_distances
from edgewise.algorithms.closeness.job import Found, Job
from edgewise.algorithms.common.names import names_elsewhere
from edgewise.errors import ParameterError
from edgewise.execution import Execution, Progress
from edgewise.graph import Graph, check_graph
from edgewise.graph.checks import check_flags
from edgewise.schedule import Schedule


class HarmonicResult(DistancesResult):
    """The harmonic centrality of vertices; see `DistancesResult` for the sums that it is made of.

    Attributes:
        normalized: whether values are divided by the number of other vertices.
    """

    algorithm = "harmonic"
    _main = "harmonic"
    _derived = ("harmonic",)

    def __init__(
        self, job: Job, run: Execution, vertices: np.ndarray, found: Found, *, normalized: bool
    ) -> None:
        super().__init__(job, run, vertices, found)
        self.normalized = self._normalized = normalized

    @cached_property
    def harmonic(self) -> np.ndarray:
        """The harmonic centrality, float64, shape (n,); NaN for vertices that were not asked for."""
        others = max(self.graph.num_vertices - 1, 1) if self._normalized else 1
        return self.reciprocal_sum / others

    def columns(self) -> dict[str, np.ndarray]:
        """The columns ``harmonic`` and ``reached``."""
        return {"harmonic": self.harmonic, "reached": self.reached}


@names_elsewhere(
    nbunch="vertices",
    sources="none: distances from all vertices count; `vertices` says whose centrality is asked for",
    distance="weighted=True for the weights of the graph, or weighted=False",
)
def harmonic(
    graph: Graph,
    *,
    vertices: Any = None,
    weighted: bool | None = None,
    normalized: bool = False,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> HarmonicResult:
    """Harmonic centrality: the sum over all other vertices of 1 / distance to a vertex. As in NetworkX.

    A vertex from which no path leads there adds 0, so it needs no connected graph. Vertices at distance 0, by weights
    of 0, add nothing.

    Args:
        graph, vertices, weighted: as for `closeness`.
        normalized: divide by the number of other vertices, as igraph does.
        device, schedule, progress, memory_limit, distributed: as for `closeness`.

    Returns:
        A `HarmonicResult`. As `closeness`, it does not depend on threads. Of all vertices without weights, a GPU adds
        reciprocals up in another order than the CPU: sums differ by rounding.

    Raises:
        GraphError, ParameterError, ScheduleError, MemoryLimitError, DistributedError: as `closeness`.
    """
    check_graph("harmonic", graph)
    check_flags(ParameterError, "harmonic: ", normalized=normalized)
    how = device, schedule, progress, memory_limit, distributed
    found = find_distances("harmonic", graph, vertices, weighted, True, *how)
    return HarmonicResult(*found, normalized=bool(normalized))
