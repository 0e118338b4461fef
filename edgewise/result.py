"""What every algorithm and every program returns."""

from abc import abstractmethod
from typing import Any

import numpy as np

from edgewise.errors import MissingDependencyError
from edgewise.execution import Execution
from edgewise.graph import Graph


class Result:
    """The answer of one run. Arrays are indexed 0..n-1 in the order of ``graph.vertices``.

    Attributes:
        graph: the graph that the answer is for.
        supersteps: supersteps (levels, iterations, rounds) that were run.
        seconds: wall time of the run, without compiling.
        compile_seconds: time spent on compiling, or on loading compiled code; 0 when warm.
    """

    def __init__(self, graph: Graph, run: Execution, supersteps: int) -> None:
        self.graph = graph
        self.supersteps = supersteps
        self.seconds = run.seconds
        self.compile_seconds = run.compile_seconds
        self._notes = tuple(run.notes)

    @abstractmethod
    def columns(self) -> dict[str, np.ndarray]:
        """The answer as named arrays, one entry for each vertex, vertices in the user's ids."""

    @abstractmethod
    def verify(self, graph: Graph) -> bool:
        """Check the answer against the graph. True, or `VerificationError` that names what is wrong."""

    def explain(self) -> str:
        """How the run was carried out and why, a line for each decision."""
        return "\n".join(self._notes)

    def to_frame(self) -> Any:
        """The answer as a data frame: the column ``vertex`` (the user's ids), then `columns`.

        Returns:
            A polars DataFrame where polars is installed, else a pandas one.

        Raises:
            MissingDependencyError: neither is installed.
        """
        data = {"vertex": self.graph.vertices, **self.columns()}
        return make_frame(data)

    def __repr__(self) -> str:
        """The kind of answer, its size and its time."""
        return (
            f"<{type(self).__name__}: {self.graph.num_vertices:,} vertices, {self.supersteps:,} supersteps, "
            f"{self.seconds:.4g} s>"
        )


def ids_or_none(graph: Graph, indices: np.ndarray) -> np.ndarray:
    """The user's ids of vertex indices, of which negative ones stand for no vertex.

    No vertex is "" where ids are strings and -1 otherwise.
    """
    none = indices < 0
    if not none.any():
        return graph.ids_of(indices)
    if none.all():
        ids = np.zeros(len(indices), graph.vertices.dtype)
    else:
        ids = graph.ids_of(np.where(none, indices.max(), indices))
    if ids.dtype.kind == "u":
        ids = ids.astype(object)
    ids[none] = "" if len(graph.vertices) and isinstance(graph.vertices[0], str) else -1
    return ids


def make_frame(data: dict[str, np.ndarray]) -> Any:
    """A polars DataFrame of these columns, or a pandas one."""
    try:
        import polars
    except ImportError:
        pass
    else:
        return polars.DataFrame(data)
    try:
        import pandas
    except ImportError:
        raise MissingDependencyError(
            "to_frame() needs polars or pandas and found neither; run: pip install 'edgewise[polars]'"
        ) from None
    return pandas.DataFrame(data)
