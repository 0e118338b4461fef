"""Graphs from tables and graphs of other libraries, and their edges as tuples, tables and such graphs."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from edgewise.convert import libraries, tables
from edgewise.convert.edges import Edges
from edgewise.errors import GraphError, GraphWarning, MissingDependencyError, warn
from edgewise.graph.adjacency import Adjacency
from edgewise.graph.attributes import in_order
from edgewise.graph.csr import build_rows, rows_in_pieces
from edgewise.graph.given_ids import ids_in_order, number_among
from edgewise.graph.id_columns import as_id_column
from edgewise.graph.pairs import count_mirrored, count_parallel, listed_twice
from edgewise.text import listed

#: Arcs whose edges are given one by one are brought into lists of Python this many at a time.
_PIECE = 2**14
#: The arguments of `Graph.from_edges` that its converters pass on.
_HOW = {"directed", "num_vertices", "vertices", "parallel_edges", "self_loops", "number_edges"}


class Conversions(Adjacency):
    """The part of `edgewise.Graph` that speaks with other libraries."""

    #: As in `Graph`.
    from_edges: Any

    @classmethod
    def from_pandas(
        cls,
        frame: Any,
        source: Any = None,
        target: Any = None,
        weight: Any = "weight",
        *,
        edge_attributes: Any = None,
        **how: Any,
    ) -> Self:
        """Make a graph from a pandas DataFrame with a row for each edge.

        Columns of numbers are read where they lie, without a copy, if they are contiguous. Columns of categories,
        strings, nullable numbers and Arrow types are taken, too.

        Args:
            frame: the table.
            source, target: the names of the columns with the ids of both ends; if left out, the only columns with
                usual names: source, src, from, u or node1, and target, dst, to, v or node2.
            weight: the name of the column of weights; None for no weights. If left out, a column ``weight`` has them,
                if there is one.
            edge_attributes: the names of other columns of numbers that the graph keeps, a list, or True for all others;
                see `Graph.edge_attributes`. NaN in a column of NumPy floats is a value of an attribute.
            how: ``directed``, ``num_vertices``, ``vertices``, ``parallel_edges``, ``self_loops`` and ``number_edges``
                as for `Graph.from_edges`.

        Raises:
            GraphError: no such table, columns that are not there or hold no numbers, a value that is missing, with its
                row counted from 0, and all that `Graph.from_edges` refuses.
            MissingDependencyError: pandas is not installed.

        Warns:
            GraphWarning: ``directed=False``, parallel edges that are kept, and edges that stand there in both
                directions; a column of numbers that has a usual name of weights, such as "cost", and was left out.
        """
        edges = tables.edges_of_pandas(frame, source, target, weight, edge_attributes)
        return cls._of_table("from_pandas", edges, how)

    @classmethod
    def from_polars(
        cls,
        frame: Any,
        source: Any = None,
        target: Any = None,
        weight: Any = "weight",
        *,
        edge_attributes: Any = None,
        **how: Any,
    ) -> Self:
        """Make a graph from a polars DataFrame with a row for each edge; see `from_pandas`.

        Columns of numbers that are one chunk are read where they lie, without a copy.
        """
        edges = tables.edges_of_polars(frame, source, target, weight, edge_attributes)
        return cls._of_table("from_polars", edges, how)

    @classmethod
    def from_arrow(
        cls,
        table: Any,
        source: Any = None,
        target: Any = None,
        weight: Any = "weight",
        *,
        edge_attributes: Any = None,
        **how: Any,
    ) -> Self:
        """Make a graph from a pyarrow Table or RecordBatch, or from any table that has ``__arrow_c_stream__``, with a
        row for each edge; see `from_pandas`.

        Columns of numbers that are one chunk are read where they lie, without a copy.
        """
        edges = tables.edges_of_arrow(table, source, target, weight, edge_attributes)
        return cls._of_table("from_arrow", edges, how)

    @classmethod
    def from_networkx(
        cls, graph: Any, weight: Any = "weight", *, edge_attributes: Any = None, **how: Any
    ) -> Self:
        """Make a graph from one of NetworkX: its nodes in their order, those without edges, too, as ids.

        Args:
            graph: a Graph, DiGraph, MultiGraph or MultiDiGraph; it decides whether edges have a direction.
            weight: the name of the attribute of edges that is their weight, an integer or a float for each; None for no
                weights. If no edge has the attribute ``weight``, there are none. Integers become int64, floats float64,
                and scalars of NumPy of one dtype keep it.
            edge_attributes: the names of other attributes of edges that the graph keeps, a list, or True for all
                others; numbers or truth values.
            how: ``parallel_edges``, ``self_loops`` and ``number_edges`` as for `Graph.from_edges`.

        Raises:
            GraphError: no such graph; an attribute that no edge has; an edge without a number, which the message names.
            MissingDependencyError: NetworkX is not installed.

        Warns:
            GraphWarning: no edge has the attribute ``weight``, and all have numbers of a usual name of weights, such as
                "length", which were left out.
        """
        return cls._of_library("from_networkx", libraries.of_networkx(graph, weight, edge_attributes), how)

    @classmethod
    def from_igraph(
        cls, graph: Any, weight: Any = "weight", *, edge_attributes: Any = None, **how: Any
    ) -> Self:
        """Make a graph from one of igraph: its vertices in their order. Their attribute ``name``, if there is one,
        gives the ids, which are 0..n-1 else; arguments and errors as for `from_networkx`."""
        return cls._of_library("from_igraph", libraries.of_igraph(graph, weight, edge_attributes), how)

    @classmethod
    def _of_table(cls, where: str, edges: Edges, how: dict[str, Any]) -> Self:
        """Make a graph from a table, and warn if it lists edges without direction in both directions."""
        graph = cls._of_edges(where, edges, how)
        if graph.directed or how.get("parallel_edges", "keep") != "keep":
            return graph
        if count_parallel(graph.stored, directed=False):
            source, target = as_id_column(edges.source, "source"), as_id_column(edges.target, "target")
            indices = number_among(source, target, graph._ids)
            both = build_rows(*indices, None, graph.num_vertices, both_directions=True, mark_reversed=True)
            if mirrored := count_mirrored(both[0]):
                warn(listed_twice(f"{where}: the table", mirrored, "row", True), GraphWarning)
        return graph

    @classmethod
    def _of_library(cls, where: str, found: libraries.Found, how: dict[str, Any]) -> Self:
        """Make a graph from one of another library."""
        given = {"directed", "num_vertices", "vertices"} & how.keys()
        if given:
            raise GraphError(f"the other graph decides {listed(sorted(given))}; leave it out")
        ids = None if found.vertices is None else ids_in_order(found.vertices, found.num_vertices)
        wanted = how | {"directed": found.directed, "num_vertices": found.num_vertices}
        graph = cls._of_edges(where, found.edges, wanted)
        graph._ids = graph._ids if ids is None else ids
        return graph

    @classmethod
    def _of_edges(cls, where: str, edges: Edges, how: dict[str, Any]) -> Self:
        """Make a graph from columns of edges."""
        unknown = sorted(how.keys() - _HOW)
        if unknown:
            advice = "; weight=None leaves weights out" if unknown[0] == "weighted" else ""
            raise TypeError(f"{where}() got an unexpected keyword argument {unknown[0]!r}{advice}")
        source, target, weight, attributes = edges
        graph: Self = cls.from_edges(source, target, weight, edge_attributes=attributes or None, **how)
        return graph

    def edges(self, *attributes: str) -> Iterator[tuple[Any, ...]]:
        """The edges one by one: (source, target), or (source, target, weight) if there are weights, in the user's ids.

        Each edge of an undirected graph comes once, from its end of smaller index. They come by source, and those of
        one source in the order of the input. For large graphs, `edge_columns` is faster.

        Args:
            attributes: names of edge attributes, whose values come after the weight.

        Raises:
            GraphError: the graph has no such attribute.
        """
        self._check_attributes(*attributes)
        return self._edges_in_turn(attributes)

    def _edges_in_turn(self, attributes: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
        ids = self.vertices
        for part, source in rows_in_pieces(self.offsets, _PIECE):
            target = self.targets[part]
            kept = slice(None) if self.directed else source <= target
            columns = [ids[source[kept]], ids[target[kept]]]
            if self.weights is not None:
                columns.append(self.weights[part][kept])
            numbers = (
                np.arange(part.start, part.stop) if self.edge_numbers is None else self.edge_numbers[part]
            )
            columns += [self.edge_attributes[name][numbers[kept]] for name in attributes]
            yield from zip(*(column.tolist() for column in columns), strict=True)

    def edge_columns(self) -> dict[str, np.ndarray]:
        """The edges as arrays of one length: ``source`` and ``target`` in the user's ids, ``weight`` if there are
        weights, and the edge attributes by name; in the order of `edges`."""
        ids, columns = self.vertices, self._columns()
        return columns | {end: ids[columns[end]] for end in ("source", "target")}

    def _columns(self) -> dict[str, np.ndarray]:
        """The edges as `edge_columns`, with the indices of vertices."""
        arcs = np.arange(self.num_arcs) if self.directed else np.flatnonzero(self.sources <= self.targets)
        columns = {"source": self.sources[arcs], "target": self.targets[arcs]}
        if self.weights is not None:
            columns["weight"] = self.weights[arcs]
        numbers = arcs if self.edge_numbers is None else self.edge_numbers[arcs]
        return columns | {name: in_order(values, numbers) for name, values in self.edge_attributes.items()}

    def to_frame(self) -> Any:
        """The edges as a data frame of `edge_columns`: of polars where it is installed, else of pandas.

        Raises:
            MissingDependencyError: neither is installed.
        """
        try:
            return self.to_polars()
        except MissingDependencyError:
            return self.to_pandas()

    def to_pandas(self) -> Any:
        """The edges as a pandas DataFrame of `edge_columns`. Raises MissingDependencyError without pandas."""
        return tables.pandas_of(self.edge_columns())

    def to_polars(self) -> Any:
        """The edges as a polars DataFrame of `edge_columns`. Raises MissingDependencyError without polars."""
        return tables.polars_of(self.edge_columns())

    def to_arrow(self) -> Any:
        """The edges as a pyarrow Table of `edge_columns`.

        Raises:
            GraphError: ids for which Arrow has no type.
            MissingDependencyError: pyarrow is not installed.
        """
        return tables.arrow_of(self.edge_columns())

    def to_networkx(self) -> Any:
        """The graph as one of NetworkX: a Graph or a DiGraph; where there are parallel edges, a MultiGraph or a
        MultiDiGraph. All vertices are in it, in their order; weights are the attribute ``weight`` of edges, as numbers
        of Python, and edge attributes have their names. Raises MissingDependencyError without NetworkX."""
        return libraries.networkx_of(self.vertices.tolist(), self._columns(), self.directed)

    def to_igraph(self) -> Any:
        """The graph as one of igraph. Ids other than 0..n-1 are the attribute ``name`` of vertices; weights are the
        attribute ``weight`` of edges, and edge attributes have their names. Raises MissingDependencyError without
        igraph."""
        vertices = None if self._ids.given is None else self.vertices.tolist()
        return libraries.igraph_of(vertices, self.num_vertices, self._columns(), self.directed)
