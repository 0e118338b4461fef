"""Results that have a tree of paths from their sources."""

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from edgewise.errors import VerificationError
from edgewise.graph.ids import with_none
from edgewise.result import HostArray, ids_or_none
from edgewise.text import shown
from edgewise.vertex_result import VertexResult


class PathResult(VertexResult):
    """Paths from the nearest of some sources.

    Attributes:
        parent_index: int32, shape (n,): the vertex before each on its path; -1 for sources and for vertices that were
            not reached.
    """

    parent_index = HostArray()

    @abstractmethod
    def _are_reached(self, lengths: np.ndarray) -> np.ndarray:
        """Whether lengths of paths are those of vertices that were reached; bool, of their shape."""

    @property
    def reached(self) -> np.ndarray:
        """Whether a path leads to each vertex, as one does to each source; bool, shape (n,)."""
        return self._are_reached(self._raw(self._main))

    @cached_property
    def parent(self) -> np.ndarray:
        """The parents as the user's ids, shape (n,); `edgewise.result.no_vertex`, mostly -1, for none."""
        return ids_or_none(self.graph, self.parent_index)

    @cached_property
    def num_reached(self) -> int:
        """The number of vertices that were reached, sources included."""
        return int(np.count_nonzero(self.reached))

    def path_to(self, vertex: Any) -> list[Any] | None:
        """The ids along the path to a vertex, from a source on; None if the vertex was not reached. O(length).

        Raises:
            GraphError: no vertex has this id.
            VerificationError: the parents were changed since the run, and lead round in a circle.
        """
        index, parents = self._index_of(vertex), self.parent_index
        if not self._are_reached(self._raw(self._main)[[index]])[0]:
            return None
        path = [index]
        while (index := int(parents[index])) >= 0:
            path.append(index)
            if len(path) > self.graph.num_vertices:
                raise VerificationError(
                    f"parent_index leads round in a circle from {shown(vertex)}; it is not what the run found"
                )
        ids: list[Any] = self.graph.ids_of(np.array(path[::-1])).tolist()
        return ids

    def _raw(self, name: str) -> np.ndarray:
        return self.parent_index if name == "parent" else super()._raw(name)

    def _as_values(self, name: str, raw: np.ndarray) -> list[Any]:
        if raw.dtype.kind == "f":
            return super()._as_values(name, raw)
        there = raw >= 0 if name == "parent" else self._are_reached(raw)
        values = self.graph.ids_of(raw[there]) if name == "parent" else raw[there]
        return list(with_none(values, there))

    def missing(self) -> dict[str, np.ndarray]:
        """Lengths of paths to vertices that were not reached, and parents of these and of sources."""
        return {self._main: ~self.reached, "parent": self.parent_index < 0}
