"""Eccentricity: see the folder's `__init__`."""

from typing import Any

import numpy as np

from edgewise.algorithms.closeness.distances import DistancesResult, find_distances
from edgewise.algorithms.common.names import names_elsewhere
from edgewise.execution import Progress
from edgewise.graph import Graph, check_graph
from edgewise.schedule import Schedule


class EccentricityResult(DistancesResult):
    """The eccentricity of vertices; see `DistancesResult` for the sums that were made beside it."""

    algorithm = "eccentricity"
    _main = "eccentricity"
    _derived = ()

    @property
    def eccentricity(self) -> np.ndarray:
        """The largest distance from each vertex to those that it reaches, `farthest`, shape (n,): int32 without
        weights, else int64 or float64; -1 or NaN for vertices that were not asked for."""
        values: np.ndarray = self.farthest
        return values

    def columns(self) -> dict[str, np.ndarray]:
        """The columns ``eccentricity`` and ``reached``."""
        return {"eccentricity": self.eccentricity, "reached": self.reached}

    def summary(self) -> dict[str, Any]:
        """The ``radius`` and the ``diameter``, the least and the largest eccentricity of the vertices that were asked
        for, and whether each of these reaches all others (``all_reached``)."""
        values, reached = self.eccentricity[self._asked], self.reached[self._asked]
        ends = (values.min().item(), values.max().item()) if len(values) else (None, None)
        all_reached = bool((reached == self.graph.num_vertices - 1).all())
        return {"radius": ends[0], "diameter": ends[1], "all_reached": all_reached}


@names_elsewhere(
    v="vertices, which takes one or several",
    sp="none: distances are found, not given",
    weight="weighted=True for the weights of the graph, or weighted=False",
)
def eccentricity(
    graph: Graph,
    *,
    vertices: Any = None,
    weighted: bool | None = None,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> EccentricityResult:
    """Eccentricity: the largest distance from a vertex to any that it reaches.

    NetworkX refuses a graph in which a vertex does not reach all others. Here vertices that are not reached do not
    count, as in igraph: ``reached`` says how many are, and ``summary()`` whether all are.

    Args:
        graph, vertices, weighted: as for `closeness`; distances are those from the vertex, also in a directed graph.
        device, schedule, progress, memory_limit, distributed: as for `closeness`.

    Returns:
        An `EccentricityResult`. Work is that of `closeness`.

    Raises:
        GraphError, ParameterError, ScheduleError, MemoryLimitError, DistributedError: as `closeness`.
    """
    check_graph("eccentricity", graph)
    how = device, schedule, progress, memory_limit, distributed
    return EccentricityResult(*find_distances("eccentricity", graph, vertices, weighted, False, *how))
