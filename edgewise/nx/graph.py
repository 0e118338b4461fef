"""The graph that functions of the backend get."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import edgewise as ew
from edgewise.graph.csr import Rows, arcs_by_target, row_of_arcs, transpose, twin_arcs
from edgewise.graph.ids import Ids
from edgewise.nx.columns import Column, as_column, groups


class Contents(NamedTuple):
    """What NetworkX keeps beside the structure, as far as it was asked for.

    Attributes:
        edges: the dict of each arc, in the order of arcs, or of each edge of a multigraph; None if attributes are in
            columns.
        nodes: the dict of each node.
        graph: the dict of the graph itself, for NetworkX does not tell when it changes.
    """

    edges: list[dict[Any, Any]] | None
    nodes: Mapping[Any, dict[Any, Any]]
    graph: dict[Any, Any]


class Parallel(NamedTuple):
    """The edges of a multigraph, in the order of NetworkX's ``G.edges(keys=True)``.

    Attributes:
        counts: int64: how many edges each of `BackendGraph.edge_arcs` stands for.
        keys: the key of each edge.
    """

    counts: np.ndarray
    keys: list[Any]


class BackendGraph:
    """A graph of NetworkX as arrays, in NetworkX's order of nodes and of the neighbours of each. It does not change.

    Attributes:
        nodes: the nodes in their order; vertex v of the arrays is ``nodes[v]``.
        rows: the successors, or the neighbours, of each vertex in NetworkX's order.
        in_rows: the predecessors of each vertex in NetworkX's order; those of an undirected graph are its rows.
        contents: see `Contents`.
        parallel: the edges of a multigraph, which has one arc for parallel edges here; None for other graphs.
        kept: what functions of the backend keep of the graph for later calls, by the function that found it.
        checked: what it was looked through for, and need not be again.
    """

    __networkx_backend__ = "edgewise"

    def __init__(
        self,
        nodes: Sequence[Any],
        rows: Rows,
        in_rows: Rows | None,
        columns: dict[Any, Column],
        contents: Contents,
        parallel: Parallel | None = None,
    ) -> None:
        self.nodes, self.rows, self.in_rows = nodes, rows, rows if in_rows is None else in_rows
        self.contents, self._directed, self._columns = contents, in_rows is not None, columns
        self.parallel, self.kept, self.checked = parallel, dict[Any, Any](), set[Any]()
        self._read: dict[Any, Column] = {}
        self._of_all: dict[Any, Column] = {}
        self._weighted: dict[Any, ew.Graph] = {}
        self._summed: dict[Any, ew.Graph] = {}
        self._reversed: dict[Any, BackendGraph] = {}
        self.__networkx_cache__: dict[str, Any] = {}

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return self._directed

    def is_multigraph(self) -> bool:
        """Whether it was converted from a multigraph."""
        return self.parallel is not None

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes)

    def __contains__(self, node: Any) -> bool:
        try:
            return node in self.positions
        except TypeError:  # what cannot be hashed is no node
            return False

    def number_of_nodes(self) -> int:
        """The number of nodes."""
        return len(self.nodes)

    def number_of_edges(self) -> int:
        """The number of edges."""
        return self.plain.num_edges if self.parallel is None else len(self.parallel.keys)

    def __repr__(self) -> str:
        kind = "DiGraph" if self._directed else "Graph"
        return f"<{kind} of edgewise for NetworkX: {len(self):,} nodes, {self.number_of_edges():,} edges>"

    def reversed(self, weight: Any) -> "BackendGraph":
        """The graph with all edges turned round and one of their attributes, in the order of NetworkX's ``reverse``; an
        undirected graph is its own."""
        if not self._directed:
            return self
        if weight not in self._reversed:
            columns = {weight: self.column(weight).taken(self.in_arcs)}
            contents = Contents(None, self.contents.nodes, self.contents.graph)
            self._reversed[weight] = BackendGraph(self.nodes, self.in_rows, self.rows, columns, contents)
        return self._reversed[weight]

    @cached_property
    def positions(self) -> dict[Any, int]:
        """The vertex of each node."""
        return dict(zip(self.nodes, range(len(self)), strict=True))

    @cached_property
    def _names(self) -> np.ndarray:
        return np.fromiter(self.nodes, object, len(self))

    def index(self, node: Any, missing: Exception) -> int:
        """The vertex of a node. Raises `missing` if there is none, and NotImplementedError for what is no node of any
        graph: what NetworkX says of that differs."""
        try:
            vertex = self.positions.get(node)
        except TypeError as problem:
            raise NotImplementedError(f"no node is {node!r}: {problem}") from None
        if vertex is None:
            raise missing
        return vertex

    def names(self, vertices: np.ndarray) -> list[Any]:
        """The nodes of an array of vertices."""
        named = vertices if isinstance(self.nodes, range) else self._names[vertices]
        nodes: list[Any] = named.tolist()
        return nodes

    def by_node(self, values: np.ndarray) -> dict[Any, Any]:
        """The values of all vertices, shape (n,), by node."""
        return dict(zip(self.nodes, values.tolist(), strict=True))

    @cached_property
    def plain(self) -> ew.Graph:
        """The graph without weights, for edgewise; its ids are 0..n-1."""
        return self._with(None)

    def weighted(self, weight: Any) -> ew.Graph:
        """The graph with an edge attribute as weights, for edgewise; its ids are 0..n-1. Of parallel edges the least
        counts."""
        if weight not in self._weighted:
            self._weighted[weight] = self._with(self.column(weight).values)
        return self._weighted[weight]

    def summed(self, weight: Any) -> tuple[ew.Graph, bool]:
        """The graph for edgewise with an edge attribute as weights, summed over parallel edges, and whether weights
        count: if all are 1, there are none."""
        sums = self.sums(weight)
        if (sums == 1).all():
            return self.plain, False
        if self.parallel is None:
            return self.weighted(weight), True
        if weight not in self._summed:
            self._summed[weight] = self._with(sums)
        return self._summed[weight], True

    def with_values(self, values: np.ndarray) -> ew.Graph:
        """The graph with other weights, shape (num_arcs,), for edgewise; its ids are 0..n-1."""
        return self._with(values)

    def _with(self, weights: np.ndarray | None) -> ew.Graph:
        loops = 0 if self._directed else int(np.count_nonzero(self.sources == self.rows.targets))
        rows = Rows(self.rows.offsets, self.rows.targets, weights)
        return ew.Graph(rows, Ids(len(self)), self._directed, loops)

    def add_column(self, name: Any, column: Column) -> None:
        """Keep an attribute of `edge_arcs`, or of all edges of a multigraph, while the graph is made."""
        if self.parallel is None:
            self._columns[name] = self._of_arcs(column)
        else:
            self._of_all[name] = column

    def column(self, name: Any) -> Column:
        """An edge attribute for each arc, the least of parallel edges; 1 if there is none of this name."""
        if name in self._columns:
            return self._columns[name]
        if name not in self._read:  # by which the graph does not get the attribute
            self._read[name] = self._new_column(name)
        return self._read[name]

    def _new_column(self, name: Any) -> Column:
        if self.parallel is not None:
            column = self.column_of_all(name)
            return self._of_arcs(column.taken(column.least(self.parallel.counts)))
        if self.contents.edges is None or name is None:
            return Column(np.ones(len(self.rows.targets), np.int64))
        return as_column(name, [each.get(name, 1) for each in self.contents.edges])

    def _of_arcs(self, column: Column) -> Column:
        """A column of `edge_arcs` as one of arcs."""
        if self._directed:
            return column
        return column.put(self.edge_arcs, self.in_arcs[self.edge_arcs], len(self.in_arcs))

    def column_of_all(self, name: Any) -> Column:
        """An attribute of all edges of a multigraph, in the order of `Parallel`."""
        assert self.parallel is not None
        if name not in self._of_all:
            dicts = [{}] * len(self.parallel.keys) if self.contents.edges is None else self.contents.edges
            self._of_all[name] = as_column(name, [1 if name is None else each.get(name, 1) for each in dicts])
        return self._of_all[name]

    def sums(self, name: Any) -> np.ndarray:
        """An edge attribute for each arc, summed over parallel edges; see `column`."""
        if self.parallel is None:
            return self.column(name).values
        counts = self.parallel.counts
        return np.bincount(groups(counts), self.column_of_all(name).values, len(counts))[self.edge_numbers]

    @property
    def attributes(self) -> dict[Any, list[Any]]:
        """The edge attributes that the graph was made with, as numbers of Python in the order of arcs."""
        return {name: column.numbers() for name, column in self._columns.items()}

    @cached_property
    def sources(self) -> np.ndarray:
        """The source of each arc, int32, shape (num_arcs,)."""
        return row_of_arcs(self.rows.offsets)

    @cached_property
    def in_arcs(self) -> np.ndarray:
        """The arc of each entry of `in_rows`, as an index into the rows; shape (num_arcs,)."""
        offsets, targets = self.rows.offsets, self.rows.targets
        if not self._directed:
            return twin_arcs(offsets, targets)
        by_target = arcs_by_target(offsets, targets)
        transposed = transpose(self.rows)
        by_ends = by_target[arcs_by_target(transposed.offsets, transposed.targets)]
        arcs = np.empty_like(by_ends)
        arcs[arcs_by_target(self.in_rows.offsets, self.in_rows.targets)] = by_ends
        return arcs

    @cached_property
    def edge_arcs(self) -> np.ndarray:
        """The arcs that stand for the edges, in the order of NetworkX's ``G.edges``."""
        if self._directed:
            return np.arange(len(self.rows.targets))
        return np.flatnonzero(self.sources <= self.rows.targets)

    @cached_property
    def edge_numbers(self) -> np.ndarray:
        """The edge of each arc, as a place in `edge_arcs`; shape (num_arcs,)."""
        if self._directed:
            return self.edge_arcs
        numbers = np.empty(len(self.rows.targets), np.int64)
        numbers[self.edge_arcs] = numbers[self.in_arcs[self.edge_arcs]] = np.arange(len(self.edge_arcs))
        return numbers

    @cached_property
    def degrees(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of edges out of each vertex, and into it, int64, shape (n,). An undirected loop has both ends."""
        counts = into = np.ones(len(self.rows.targets), np.int64)
        if self.parallel is not None:
            counts = self.parallel.counts[self.edge_numbers]
            into = counts[self.in_arcs]
        out = _sums_of_rows(self.rows.offsets, counts)
        if self._directed:
            return out, _sums_of_rows(self.in_rows.offsets, into)
        loops = np.where(self.sources == self.rows.targets, counts, 0)
        return out + _sums_of_rows(self.rows.offsets, loops), out


def _sums_of_rows(offsets: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The sums of int64 values over rows."""
    return np.diff(np.concatenate([[0], values.cumsum()])[offsets])
