"""Results that have a value for each edge: looked up by the ids of its ends."""

from abc import abstractmethod
from collections import Counter
from typing import Any

import numpy as np

from edgewise.errors import GraphError
from edgewise.result import Result
from edgewise.text import shown


class EdgeResult(Result):
    """A value for each of some edges, ``result[source, target]``: that of the main column.

    Attributes:
        source_index, target_index: int32, shape (num_edges,): the ends of each edge; of an undirected edge, its lower
            and its higher index.
    """

    #: The main column, an attribute of the same name.
    _main: str
    source_index: Any
    target_index: Any
    #: A result is looked up by ids; Python would go through 0, 1, 2...
    __iter__ = None

    @property
    @abstractmethod
    def _has_directions(self) -> bool:
        """Whether the edges have directions."""

    def table(self) -> dict[str, np.ndarray]:
        """`columns`: there is no column of vertices."""
        return self.columns()

    def __getitem__(self, edge: Any) -> Any:
        """The value of the edge between two vertices, as a Python number. It looks at all edges; see `to_dict`.

        Raises:
            GraphError: there is no such edge in the answer, or there are several.
        """
        if not (isinstance(edge, tuple) and len(edge) == 2):
            raise GraphError(
                f"got {shown(edge)}; expected an edge, the ids of two vertices: result[source, target]"
            )
        ends = [int(self.graph.index_of(end)) for end in edge]
        if not self._has_directions:
            ends.sort()
        found = np.flatnonzero((self.source_index == ends[0]) & (self.target_index == ends[1]))
        if len(found) == 0:
            raise GraphError(f"the answer has no edge from {shown(edge[0])} to {shown(edge[1])}")
        if len(found) > 1:
            raise _several(edge)
        return getattr(self, self._main)[found[0]].item()

    def to_dict(self) -> dict[tuple[Any, Any], Any]:
        """The values of all edges as Python numbers, by pairs of the user's ids of their ends.

        Raises:
            GraphError: two edges have the same ends.
        """
        columns = self.columns()
        edges = list(zip(columns["source"].tolist(), columns["target"].tolist(), strict=True))
        values = dict(zip(edges, columns[self._main].tolist(), strict=True))
        if len(values) < len(edges):
            raise _several(next(edge for edge, count in Counter(edges).items() if count > 1))
        return values

    def top(self, k: int = 10) -> list[tuple[Any, Any]]:
        """The edges with the largest values, at most `k`: pairs of an edge, which is a pair of ids, and its value.

        Raises:
            ParameterError: `k` is not an integer of at least 0.
        """
        rows = self.top_rows(k)
        edges = zip(rows["source"].tolist(), rows["target"].tolist(), strict=True)
        return list(zip(edges, rows[self._main].tolist(), strict=True))


def _several(edge: Any) -> GraphError:
    """The error for edges that have the same ends."""
    return GraphError(
        f"several edges lead from {shown(edge[0])} to {shown(edge[1])}; expected one. See table() or to_frame() "
        "for the value of each"
    )
