"""What every algorithm and every program returns."""

from abc import abstractmethod
from typing import Any

import numpy as np

from edgewise.errors import GraphError, MissingDependencyError
from edgewise.execution import Execution
from edgewise.graph import Graph

#: The column of a result's table that holds the user's ids.
ID_COLUMN = "vertex"


class HostArray:
    """An array of a result. A run on a GPU leaves it there; it is copied when it is first read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __set__(self, result: "Result", values: Any) -> None:
        result._arrays[self._name] = values
        result._on_host.pop(self._name, None)

    def __get__(self, result: "Result | None", owner: type) -> Any:
        if result is None:
            return self
        return result.host_array(self._name)


class Result:
    """The answer of one run. Arrays are indexed 0..n-1 in the order of ``graph.vertices``.

    Attributes:
        graph: the graph that the answer is for.
        supersteps: supersteps (levels, iterations, rounds) that were run.
        seconds: wall time of the run, without compiling.
        compile_seconds: time spent on compiling, or on loading compiled code; 0 when warm.
        layout_seconds: time spent on what is made once for a graph and kept: in-edges, copies and layouts on the GPU.
            Not part of `seconds`.
    """

    graph: Graph
    supersteps: int
    seconds: float
    compile_seconds: float
    layout_seconds: float

    def __init__(self, graph: Graph, run: Execution, supersteps: int, arrays: dict[str, Any]) -> None:
        self.graph = graph
        self._arrays, self._on_host = arrays, dict[str, np.ndarray]()
        self.supersteps = supersteps
        self.seconds = run.seconds
        self.compile_seconds = run.compile_seconds
        self.layout_seconds = run.layout_seconds
        self._notes = tuple(run.notes)

    @classmethod
    def own_names(cls) -> set[str]:
        """The names that a result has whatever it is of, that of the column of ids among them."""
        classes = [vars(base) for base in cls.__mro__]
        return {ID_COLUMN}.union(*classes, *(each.get("__annotations__", ()) for each in classes))

    @abstractmethod
    def columns(self) -> dict[str, np.ndarray]:
        """The answer as named arrays, one entry for each vertex, vertices in the user's ids."""

    def table(self) -> dict[str, np.ndarray]:
        """The answer as named arrays of one length: the column ``vertex`` (the user's ids), then `columns`."""
        return {ID_COLUMN: self.graph.vertices, **self.columns()}

    @abstractmethod
    def verify(self, graph: Graph) -> bool:
        """Check the answer against the graph. True, or `VerificationError` that names what is wrong."""

    def host_array(self, name: str) -> np.ndarray:
        """An array of the answer as a NumPy array, copied from the GPU the first time."""
        if name not in self._on_host:
            values = self._arrays[name]
            self._on_host[name] = values if isinstance(values, np.ndarray) else values.get()
        return self._on_host[name]

    def on_device(self, name: str) -> Any:
        """An array of the answer where the run left it: a CuPy array after a run on a GPU, else the NumPy array.

        Raises:
            KeyError: the result has no such array.
        """
        return self._arrays[name]

    def explain(self) -> str:
        """How the run was carried out and why, a line for each decision."""
        return "\n".join(self._notes)

    def to_frame(self) -> Any:
        """The answer as a data frame of the columns of `table`.

        Returns:
            A polars DataFrame where polars is installed, else a pandas one.

        Raises:
            MissingDependencyError: neither is installed.
        """
        return make_frame(self.table())

    def __repr__(self) -> str:
        """The kind of answer, its size and its time."""
        return (
            f"<{type(self).__name__}: {self.graph.num_vertices:,} vertices, {self.supersteps:,} supersteps, "
            f"{self.seconds:.4g} s>"
        )


def no_vertex(graph: Graph) -> Any:
    """What stands for no vertex among ids: "" among strings, else -1, or None where a vertex has the id -1."""
    if len(graph.vertices) and isinstance(graph.vertices[0], str):
        return ""
    try:
        graph.index_of(-1)
    except GraphError:
        return -1
    return None


def ids_or_none(graph: Graph, indices: np.ndarray) -> np.ndarray:
    """The user's ids of vertex indices, of which negative ones stand for `no_vertex`.

    The array holds Python objects where the ids are such, or no vertex does not fit their dtype.
    """
    none = indices < 0
    if not none.any():
        return graph.ids_of(indices)
    if none.all():
        ids = np.zeros(len(indices), graph.vertices.dtype)
    else:
        ids = graph.ids_of(np.where(none, indices.max(), indices))
    nothing = no_vertex(graph)
    if ids.dtype.kind == "u" or nothing is None:
        ids = ids.astype(object)
    ids[none] = nothing
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
