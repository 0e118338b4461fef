"""Vertex ids of any kind that can be hashed: tuples, dates, and kinds beside each other."""

from typing import Any

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph.id_columns import as_python
from edgewise.graph.ids import Ids, is_sequence
from edgewise.text import shown


class AnyIds(Ids):
    """Ids that are looked up as Python's dictionaries do it; see `edgewise.graph.ids.Ids`.

    Equal values that hash alike are one id, as 1, 1.0 and True are. A tuple can be one id, or several: it is one if a
    vertex has it.
    """

    def may_be_one(self, vertex: Any) -> bool:
        """See `Ids.may_be_one`; whatever can be hashed may be."""
        try:
            hash(vertex)
        except TypeError:
            return not is_sequence(vertex)
        return True

    def is_one(self, vertex: Any) -> bool:
        """See `Ids.is_one`; a sequence is one id if a vertex has it."""
        return not is_sequence(vertex) or self._find(vertex) >= 0

    def index_of(self, vertex: Any) -> int:
        """See `Ids.index_of`."""
        if isinstance(vertex, np.ndarray) and vertex.ndim == 0:
            vertex = vertex[()]
        index = self._find(vertex)
        if index < 0:
            raise self._unknown(vertex)
        return index

    def indices_of(self, ids: Any) -> np.ndarray:
        """See `Ids.indices_of`."""
        if isinstance(ids, tuple) and self._find(ids) < 0:
            for each in ids:
                if self._find(each) < 0:  # more likely it was meant as one id
                    raise GraphError(f"{self._unknown(ids)}; nor is {shown(each)} one, were these several")
        return super().indices_of(ids)

    def _find(self, vertex: Any) -> int:
        """The index of an id, or -1."""
        try:
            return self._position.get(as_python(vertex), -1)
        except TypeError:  # it cannot be hashed
            return -1

    @property
    def are_plain(self) -> bool:
        """See `Ids.are_plain`."""
        return False

    @property
    def are_names(self) -> bool:
        """See `Ids.are_names`."""
        return False
