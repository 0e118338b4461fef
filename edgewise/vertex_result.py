"""Results that have a value for each vertex: looked up by the user's ids."""

from typing import Any

import numpy as np

from edgewise.convert.libraries import check_networkx
from edgewise.errors import GraphError
from edgewise.result import Result, check_columns
from edgewise.text import shown


class VertexResult(Result):
    """A value for each vertex, ``result[vertex]``: that of the main column."""

    #: The main column, an attribute of the same name.
    _main: str
    #: A result is looked up by ids; Python would go through 0, 1, 2...
    __iter__ = None

    def __getitem__(self, vertex: Any) -> Any:
        """The value of one vertex as a Python object; None for an integer of a vertex that was not reached. O(1).

        Raises:
            GraphError: no vertex has this id.
        """
        index = self._index_of(vertex)
        return self._as_values(self._main, self._raw(self._main)[index : index + 1])[0]

    def __contains__(self, vertex: Any) -> bool:
        """Whether the graph has a vertex of this id."""
        return vertex in self.graph

    def to_dict(self, field: str | None = None) -> dict[Any, Any]:
        """The values of all vertices as Python objects, by the user's ids, in the order of the graph.

        Args:
            field: the name of a column of `table`; None for that of ``result[vertex]``.

        Raises:
            ParameterError: there is no such column.
        """
        return dict(zip(self.graph.vertices.tolist(), self._values_of(field), strict=True))

    def to_networkx(self, graph: Any = None) -> Any:
        """The answer in a NetworkX graph: each column is an attribute of its nodes.

        Args:
            graph: a NetworkX graph whose nodes are the ids of the vertices, which is changed; nodes that are no
                vertices get no attributes. None for a new one, see `Graph.to_networkx`.

        Returns:
            That graph.

        Raises:
            GraphError: it lacks a vertex; then nothing was written.
            MissingDependencyError: NetworkX is not installed.
            ParameterError: no NetworkX graph.
        """
        if graph is None:
            graph = self.graph.to_networkx()
        check_networkx(graph)
        nodes, vertices = graph.nodes, self.graph.vertices.tolist()
        for vertex in vertices:
            if vertex not in nodes:
                raise GraphError(
                    f"to_networkx: the NetworkX graph has no node {shown(vertex)}; expected one whose nodes are the "
                    "vertices of the result"
                )
        for name in self.columns():
            for vertex, value in zip(vertices, self._values_of(name), strict=True):
                nodes[vertex][name] = value
        return graph

    def _index_of(self, vertex: Any) -> int:
        """The index of one vertex. Raises GraphError."""
        index = self.graph.index_of(vertex)
        if np.ndim(index):
            raise GraphError(f"got {shown(vertex)}; expected the id of one vertex")
        return int(index)

    def _values_of(self, field: str | None) -> list[Any]:
        """All values of a column, or of the main one, as Python objects."""
        name = self._main if field is None else field
        if name != self._main:
            check_columns("to_dict", [name], self.columns(), "one of")
        return self._as_values(name, self._raw(name))

    def _raw(self, name: str) -> np.ndarray:
        """The values of a column before `_as_values`, shape (n,)."""
        return np.asarray(getattr(self, name))

    def _as_values(self, name: str, raw: np.ndarray) -> list[Any]:
        """Values of a column as Python objects."""
        values: list[Any] = raw.tolist()
        return values
