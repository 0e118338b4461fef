"""Results that have a value for each edge: looked up by the ids of its ends."""

from abc import abstractmethod
from collections import Counter
from typing import Any

import numpy as np

from edgewise.convert.libraries import check_networkx, networkx_of
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
        if not _is_pair(edge):
            raise GraphError(
                f"got {shown(edge)}; expected an edge, the ids of two vertices: result[source, target]"
            )
        found = self._found(edge)
        if len(found) == 0:
            raise GraphError(f"the answer has no edge from {shown(edge[0])} to {shown(edge[1])}")
        if len(found) > 1:
            raise _several(edge)
        return self._values[found[0]].item()

    def __contains__(self, edge: Any) -> bool:
        """Whether the answer has an edge: ``(source, target) in result``. It looks at all edges."""
        return _is_pair(edge) and all(end in self.graph for end in edge) and len(self._found(edge)) > 0

    def _found(self, edge: tuple[Any, Any]) -> np.ndarray:
        """Where the edges between two vertices are among those of the answer."""
        ends = [int(self.graph.index_of(end)) for end in edge]
        if not self._has_directions:
            ends.sort()
        return np.flatnonzero((self.source_index == ends[0]) & (self.target_index == ends[1]))

    def to_networkx(self, graph: Any = None) -> Any:
        """The answer in a NetworkX graph: the main column is an attribute of its edges.

        Args:
            graph: a NetworkX graph that has the edges of the answer, none of them twice, which is changed. None for a
                new one of all vertices and of these edges: of a spanning forest, the forest.

        Returns:
            That graph.

        Raises:
            ParameterError: no NetworkX graph.
            GraphError: it lacks an edge, or has parallel edges; then nothing was written.
            MissingDependencyError: NetworkX is not installed.
        """
        if graph is None:
            columns = {"source": self.source_index, "target": self.target_index, self._main: self._values}
            return networkx_of(self.graph.vertices.tolist(), columns, self._has_directions)
        check_networkx(graph)
        if graph.is_multigraph():
            raise GraphError(
                "to_networkx: the NetworkX graph may have parallel edges; expected a Graph or a DiGraph"
            )
        values = self.to_dict()
        for edge in values:
            if not graph.has_edge(*edge):
                raise GraphError(
                    f"to_networkx: the NetworkX graph has no edge from {shown(edge[0])} to {shown(edge[1])}; expected "
                    "one that has the edges of the result"
                )
        for edge, value in values.items():
            graph.edges[edge][self._main] = value
        return graph

    @property
    def _values(self) -> np.ndarray:
        """The main column."""
        return np.asarray(getattr(self, self._main))

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


def _is_pair(edge: Any) -> bool:
    return isinstance(edge, tuple) and len(edge) == 2


def _several(edge: Any) -> GraphError:
    """The error for edges that have the same ends."""
    return GraphError(
        f"several edges lead from {shown(edge[0])} to {shown(edge[1])}; expected one. See table() or to_frame() "
        "for the value of each"
    )
