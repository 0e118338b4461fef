"""What shortest paths are asked for: from which vertices, and how far."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.lengths import distance_dtype, unreached_value
from edgewise.algorithms.common.numbers import as_float
from edgewise.algorithms.sssp.weights import is_signed
from edgewise.errors import ParameterError
from edgewise.graph import Graph
from edgewise.text import shown


class Asked(NamedTuple):
    """What is asked for.

    Attributes:
        sources: int64, shape (k,), ascending: the indices of the sources; distances are those from the nearest.
        dtype: of distances.
        bound: the longest distance that is looked for, of this dtype; `unreached_value` for all of them.
        target: the index of the vertex beyond which nothing is looked for, or None.
    """

    sources: np.ndarray
    dtype: np.dtype
    bound: Any
    target: int | None = None

    @property
    def unreached(self) -> Any:
        """The distance of a vertex that was not reached."""
        return unreached_value(self.dtype)

    @property
    def is_bounded(self) -> bool:
        """Whether some vertices that can be reached may not be asked for."""
        return self.target is not None or bool(self.bound < self.unreached)

    def bound_by(self, distance: Any) -> Any:
        """The bound when distances are known, which may be on a GPU: that of the target if it was reached."""
        if self.target is None:
            return self.bound
        return min(self.bound, self.dtype.type(distance[self.target].item()))

    def cut(self, distance: Any, parent: Any) -> None:
        """Make all vertices unreached that are farther than what is asked for; arrays of NumPy or CuPy."""
        if self.is_bounded:
            far = distance > self.bound_by(distance)
            distance[far] = self.unreached
            parent[far] = -1


def as_bound(name: str, value: Any, dtype: np.dtype) -> Any:
    """The longest distance to look for in the dtype of distances: None means all; floats are rounded to that dtype.

    Raises:
        ParameterError: it is not a number of at least 0.
    """
    if value is None:
        return unreached_value(dtype)
    given = as_float(name, value, "a number of at least 0, or None for no bound", most=np.inf)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return dtype.type(given + 0.0)  # of -0.0 it makes 0.0, whose bits have the order of floats
    whole = int(value) if given < np.inf else np.iinfo(dtype).max
    return dtype.type(min(whole, np.iinfo(dtype).max))


def bound_of(name: str, graph: Graph, target: Any, max_distance: Any, weighted: bool) -> Any:
    """The longest distance that a call looks for, as `as_bound` gives it, in the dtype of its distances.

    Args:
        name: what runs, for messages.
        graph: the graph.
        target, max_distance: see `edgewise.sssp`.
        weighted: whether the lengths of arcs are the weights of the graph; else each is 1.

    Raises:
        ParameterError: a `max_distance` that is not a number of at least 0, or bounds beside negative weights.
        GraphError: not even int64 holds all distances.
    """
    bound = as_bound(
        f"{name}: max_distance", max_distance, distance_dtype(graph) if weighted else np.dtype(np.int32)
    )
    if (target is not None or max_distance is not None) and weighted and is_signed(graph):
        raise ParameterError(
            f"{name}: there are negative weights, with which a short path may lead through a far vertex; leave target "
            "and max_distance out"
        )
    return bound


def ask(name: str, graph: Graph, source: Any, target: Any, bound: Any) -> Asked:
    """What a call asks for, with ids as indices.

    Args:
        name: what runs, for messages.
        graph: the graph.
        source: the user's id of a vertex, or a sequence of ids.
        target: the id of a vertex, or None.
        bound: see `Asked`.

    Raises:
        GraphError: a source, or the target, is not in the graph.
        ParameterError: no source, or several targets.
    """
    sources = np.unique(np.atleast_1d(graph.index_of(source)).astype(np.int64, copy=False))
    if len(sources) == 0:
        raise ParameterError(f"{name}: the list of sources is empty; expected at least one")
    if target is None:
        return Asked(sources, bound.dtype, bound)
    index = graph.index_of(target)
    if np.ndim(index):
        raise ParameterError(f"{name}: target is {shown(target)}; expected one vertex")
    return Asked(sources, bound.dtype, bound, int(index))
