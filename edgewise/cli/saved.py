"""Results that were written to files, checked against the graph without running anything again."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgewise.algorithms.bfs import as_depth
from edgewise.algorithms.bfs.verify import verify_levels
from edgewise.algorithms.common.lengths import distance_dtype
from edgewise.algorithms.components import verify_components
from edgewise.algorithms.pagerank import verify_ranks
from edgewise.algorithms.scc.verify import verify_strong_components
from edgewise.algorithms.sssp.verify import verify_paths
from edgewise.errors import GraphError, ParseError, ProgramError, VerificationError
from edgewise.graph import Graph
from edgewise.result import no_vertex
from edgewise.text import listed

Columns = Mapping[str, list[str]]

VERIFIABLE = ("bfs", "sssp", "pagerank", "components", "scc")


def verify_saved(algorithm: str, graph: Graph, columns: Columns, given: Mapping[str, Any]) -> bool:
    """Check the columns that the result of an algorithm was written as.

    Args:
        algorithm: its name, one of `VERIFIABLE`.
        graph: the graph that it ran on.
        columns: as `edgewise.io.columns.read_columns` gives them, rows in any order.
        given: the parameters that it ran with, where they are not the defaults.

    Returns:
        True.

    Raises:
        ProgramError: another algorithm, whose results are checked by ``verify()`` right after the run only.
        VerificationError: the result is wrong, or is none of this graph.
        ParseError: a column is missing, or its values are of another kind.
        GraphError: the source is not in the graph.
    """
    if algorithm not in VERIFIABLE:
        raise ProgramError(
            f"files of {algorithm} cannot be verified, those of {', '.join(VERIFIABLE)} can; run it with --verify"
        )
    saved = _Saved(graph, columns)
    if algorithm == "pagerank":
        verify_ranks(graph, lambda kind: saved.numbers("rank", kind), **given)
    elif algorithm in ("components", "scc"):
        check = verify_components if algorithm == "components" else verify_strong_components
        component = saved.numbers("component", np.int64)
        check(graph, component, len(np.unique(component)))
    elif algorithm == "bfs":
        sources = np.atleast_1d(graph.index_of(given["source"]))
        level = saved.numbers("level", np.int32)
        depth = given.get("max_depth")
        limit = None if depth is None else as_depth(depth)
        verify_levels(graph, sources, limit, level, saved.vertices("parent"))
    else:
        start, distance = graph.index_of(given["source"]), saved.numbers("distance", distance_dtype(graph))
        verify_paths(graph, start, distance, saved.vertices("parent"))
    return True


class _Saved:
    """Columns of text as arrays in the order of the graph's vertices."""

    def __init__(self, graph: Graph, columns: Columns) -> None:
        self.graph, self._columns = graph, columns
        self._rows = np.empty(graph.num_vertices, np.int64)
        vertices = self._indices(self._texts("vertex"))
        if len(vertices) != graph.num_vertices or len(np.unique(vertices)) != len(vertices):
            different = len(np.unique(vertices))
            raise VerificationError(
                f"the result has {len(vertices):,} rows for {different:,} vertices; expected one for each of "
                f"{graph.num_vertices:,}"
            )
        self._rows[vertices] = np.arange(len(vertices))

    def _texts(self, name: str) -> list[str]:
        if name not in self._columns:
            raise ParseError(f"the result has no column {name!r}; it has {listed(self._columns)}")
        return self._columns[name]

    @property
    def _named(self) -> bool:
        ids = self.graph.vertices
        return len(ids) > 0 and isinstance(ids[0], str)

    def _indices(self, texts: list[str]) -> np.ndarray:
        try:
            return self.graph.index_of(texts if self._named else list(map(int, texts)))
        except (GraphError, ValueError) as error:
            raise VerificationError(f"the result is none of this graph: {error}") from None

    def numbers(self, name: str, dtype: Any) -> np.ndarray:
        """A column of numbers, shape (n,)."""
        texts = self._texts(name)
        try:
            return np.array(texts, dtype=dtype)[self._rows]
        except (ValueError, OverflowError) as error:
            raise ParseError(f"column {name!r}: {error}; expected numbers of {np.dtype(dtype)}") from None

    def vertices(self, name: str) -> np.ndarray:
        """A column of ids as indices, int32, shape (n,): -1 where it says "no vertex", which None is as no text."""
        texts, none = self._texts(name), no_vertex(self.graph)
        nothing = "" if none is None else str(none)
        index = np.full(len(texts), -1, np.int32)
        index[[text != nothing for text in texts]] = self._indices(
            [text for text in texts if text != nothing]
        )
        return index[self._rows]
