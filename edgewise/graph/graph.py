"""The class `Graph`."""

from collections.abc import Callable, Iterator
from html import escape
from typing import Any, Literal

import numpy as np

from edgewise.errors import GraphError, GraphTypeError
from edgewise.graph import csr, gpu_rows
from edgewise.graph.attributes import as_attributes, check_both_directions
from edgewise.graph.checks import (
    as_count,
    check_choice,
    check_flags,
    check_lengths,
    check_symmetric,
    refuse_one_column,
)
from edgewise.graph.conversions import Conversions
from edgewise.graph.file_rows import FileRows
from edgewise.graph.file_save import save_graph
from edgewise.graph.foreign_arrays import lies_on_gpu
from edgewise.graph.given_ids import distinct_ids, given_ids, ids_in_order, number_among
from edgewise.graph.gpu_rows import gpu_column
from edgewise.graph.id_columns import as_id_column
from edgewise.graph.ids import Ids, is_sequence
from edgewise.graph.making import stored
from edgewise.graph.matrices import Matrices
from edgewise.graph.merge import merge_parallel_arcs, merging
from edgewise.graph.numbering import number_vertices
from edgewise.graph.ordering import arcs_in_order, reordering, rows_in_order, vertices_in_order
from edgewise.graph.sets_of_ids import as_listed
from edgewise.graph.weights import as_weights
from edgewise.kernels.door import cuda_door
from edgewise.memory import check_free, naming_memory_errors
from edgewise.text import html_table, listed, shown

ParallelEdges = Literal["keep", "min", "sum", "first"]
SelfLoops = Literal["keep", "drop"]


class Graph(Conversions, Matrices):
    """A directed or undirected graph that does not change once it is made.

    Made by `from_edges` and the other functions ``from_...``, by `edgewise.read`, or by `edgewise.load`. Inside,
    vertices have the indices 0..n-1; `vertices` gives the user's id of each. An undirected graph stores two arcs for
    each edge, and one for a self-loop. All arrays are read-only.

    Attributes:
        num_vertices: number of vertices.
        num_arcs: number of stored arcs.
        num_edges: number of edges: of an undirected graph each edge counts once.
        directed: whether edges have a direction.
        offsets: int32, or int64 from 2**31 arcs on, shape (num_vertices + 1,): the arcs of vertex v are
            ``offsets[v]:offsets[v + 1]`` (compressed sparse rows).
        targets: int32, shape (num_arcs,): where each arc goes; within a row in the order of the input.
        weights: None, or int32, int64, float32 or float64, shape (num_arcs,).
        edge_numbers: the edge of each arc, as an index into the columns that the graph was made from, int32 or int64,
            shape (num_arcs,); None unless made by ``from_edges(..., number_edges=True)``. Edge fields of a program take
            ``column[graph.edge_numbers]``, a column of edges in the order of arcs.
        edge_attributes: columns of numbers by name, a read-only mapping; each has a value for each edge of the columns
            that the graph was made from, those included that were dropped or merged. An edge field of a program that
            has the name of an attribute, and is given no values, holds the attribute: `arc_attribute`.
    """

    def __init__(self, *made: Any, **named: Any) -> None:
        if len(made) + len(named) < len(("rows", "ids", "directed", "num_loops")):
            raise GraphTypeError(
                "Graph(...) makes no graph; use Graph.from_edges(source, target), Graph.from_pandas(table) or another "
                "Graph.from_...; edgewise.read(file); or edgewise.load(file)"
            )
        super().__init__(*made, **named)

    def save(
        self, path: Any, *, in_edges: bool = False, progress: Callable[[int], None] | None = None
    ) -> None:
        """Write the graph to a file, whole or not at all, which `edgewise.load` opens at once.

        Everything is kept: ids, the order of arcs, dtypes, edge numbers, edge attributes.

        Args:
            path: where; ``.edgewise`` is the usual suffix. The file appears when it is complete and on the disk.
            in_edges: write the in-edges of a directed graph as well; they are made if they are not there yet.
            progress: called with the number of bytes of arrays written.

        Raises:
            OutputError: the place cannot be written, or the disk is full.
            GraphError, ParameterError: arguments of other kinds; more than 14 edge attributes.
        """
        save_graph(self, path, self._ids, in_edges, progress)

    @classmethod
    @naming_memory_errors
    def from_edges(
        cls,
        source: Any,
        target: Any = None,
        weight: Any = None,
        directed: bool = True,
        num_vertices: int | None = None,
        *,
        vertices: Any = None,
        parallel_edges: ParallelEdges = "keep",
        self_loops: SelfLoops = "keep",
        number_edges: bool = False,
        edge_attributes: Any = None,
    ) -> "Graph":
        """Make a graph from columns: edge i goes from ``source[i]`` to ``target[i]``.

        Args:
            source, target: ids, shape (m,): integers of any size, strings, or other values that can be hashed, such
                as tuples and dates, of one kind or of several; arrays, sequences, or columns of a data frame. From
                integers on a GPU (``__cuda_array_interface__``, as CuPy and PyTorch have it, or DLPack) the graph is
                built there, on CuPy's current stream, and stays there; its arrays are copied to the host when they
                are read. Merging parallel edges, and looking ids up among `vertices`, is done on the host.
            weight: None, or numbers, shape (m,). int32, int64, float32 and float64 stay what they are; bool
                and integers of 8 or 16 bits, signed or not, become int32, float16 becomes float32. Others, such
                as uint32 and uint64, are refused.
            directed: False to give each edge both directions.
            num_vertices: with it, the ids are 0..num_vertices-1 and vertices without edges are kept; without
                it, the vertices are the ids that occur: if all are integers in ascending order, else by first
                appearance (source before target, edge by edge).
            vertices: None, or the distinct ids of all vertices in the order of their indices, those without edges, too.
            parallel_edges: "keep" them, or merge those of one source and target into one at the place of the
                first: with the smallest weight ("min"), the sum ("sum"), or the first edge's weight ("first").
                Without weights these do not differ. In an undirected graph {u, v} and {v, u} are parallel.
            self_loops: "keep" or "drop".
            number_edges: make `edge_numbers` on the host, which takes about as long as making the graph. Both arcs
                of an undirected edge have its number; merged edges have that of the first.
            edge_attributes: more numbers of edges: a mapping of names to columns of shape (m,), which are copied. bool,
                int32, int64, float32 and float64 stay what they are, NaN included; integers of 8 or 16 bits become
                int32, float16 becomes float32. Merged edges have those of the first, whatever `parallel_edges` says of
                weights. With it, edges are numbered.

        Raises:
            GraphError: columns of different lengths, ids or weights of another kind or missing, an id out of range
                or not among `vertices`, a weight that is NaN or infinite, a sum that its dtype cannot hold.
            MemoryLimitError: the GPU, or the host, has no room to build the graph.

        Warns:
            GraphWarning: an integer and text of the same digits are both ids.
        """
        check_choice("parallel_edges", parallel_edges, ParallelEdges)
        check_choice("self_loops", self_loops, SelfLoops)
        check_flags(GraphError, directed=directed, number_edges=number_edges)
        count = as_count(num_vertices)
        known = given_ids(vertices, count)
        if target is None or isinstance(target, str):
            refuse_one_column(source)
        if lies_on_gpu(source) or lies_on_gpu(target):
            number_edges = number_edges or bool(edge_attributes)
            columns = (gpu_column(source, "source"), gpu_column(target, "target"))
            values = None if weight is None else as_weights(gpu_column(weight, "weight"), cuda_door().cupy())
            check_lengths(*columns, values)
            if parallel_edges == "keep" and not number_edges and known is None:
                with cuda_door().room("Graph.from_edges", gpu_rows.ARC_BYTES * len(columns[0])):
                    rows, ids, loops = gpu_rows.build(
                        *columns, values, count, both_directions=not directed, drop_loops=self_loops == "drop"
                    )
                return cls(rows, ids, directed, loops, len(rows.on_gpu.targets))
            source, target = map(cuda_door().host_copy, columns)
            weight = None if values is None else cuda_door().host_copy(values)
        source, target = as_id_column(source, "source"), as_id_column(target, "target")
        weights = None if weight is None else as_weights(weight)
        check_lengths(source, target, weights)
        attributes = as_attributes(edge_attributes, len(source))
        if known is None:
            source, target, ids = number_vertices(source, target, count)
        else:
            (source, target), ids = number_among(source, target, known), known
        merges = parallel_edges != "keep"
        check_free("Graph.from_edges", csr.building(ids.num_vertices, len(source), weights, directed, merges))
        graph = cls._from_indices(source, target, weights, directed, ids, parallel_edges, self_loops)
        if number_edges or attributes:
            numbers = np.arange(len(source), dtype=csr.offset_dtype(len(source)))
            graph._edge_numbers = cls._arcs_of_edges(
                source, target, numbers, directed, ids, parallel_edges, self_loops
            )
            graph._attributes = attributes
        return graph

    @classmethod
    def _arcs_of_edges(
        cls,
        source: np.ndarray,
        target: np.ndarray,
        numbers: np.ndarray,
        directed: bool,
        ids: Ids,
        parallel_edges: ParallelEdges,
        self_loops: SelfLoops = "keep",
    ) -> np.ndarray:
        """The number of the edge of each arc of the graph that `_from_indices` makes of these; merged edges have that
        of the first."""
        merged: ParallelEdges = "keep" if parallel_edges == "keep" else "first"
        made = cls._from_indices(source, target, numbers, directed, ids, merged, self_loops).weights
        assert made is not None
        return made

    @classmethod
    def _from_indices(
        cls,
        source: np.ndarray,
        target: np.ndarray,
        weights: np.ndarray | None,
        directed: bool,
        ids: Ids,
        parallel_edges: ParallelEdges = "keep",
        self_loops: SelfLoops = "keep",
        check_room: Callable[[int], None] | None = None,
    ) -> "Graph":
        """Make a graph from indices in range and finite weights.

        `check_room` is called with the bytes that rows take, and that merging parallel edges will take.
        """
        rows, loops = csr.build_rows(
            source,
            target,
            weights,
            ids.num_vertices,
            both_directions=not directed,
            drop_loops=self_loops == "drop",
        )
        if parallel_edges != "keep":
            if check_room is not None:
                check_room(rows.nbytes + merging(rows))
            rows, loops = merge_parallel_arcs(rows, parallel_edges)
        return cls(rows, ids, directed, loops)

    @classmethod
    def from_csr(
        cls,
        offsets: Any,
        targets: Any,
        weights: Any = None,
        directed: bool = True,
        vertices: Any = None,
        *,
        edge_attributes: Any = None,
    ) -> "Graph":
        """Make a graph from compressed sparse rows; arrays of the right dtype are shared: they must not change then.

        Arrays may be those of any library that has the array interface or DLPack. If `targets` lie on a GPU, so does
        the graph, as in `from_edges`.

        Args:
            offsets: integers, shape (n + 1,), from 0 to m, never falling.
            targets: indices 0..n-1, shape (m,).
            weights: None, or numbers, shape (m,); dtypes as in `from_edges`.
            directed: False if each edge stands in both rows (a self-loop once), with the same weight.
            vertices: None for the ids 0..n-1, or n distinct ids in index order, of any kind.
            edge_attributes: as in `from_edges`, columns of shape (m,) in the order of `targets`; with
                ``directed=False``, both arcs of an edge have one value.

        Raises:
            GraphError: arrays that are not such rows; ``directed=False`` and rows that are not symmetric.
        """
        check_flags(GraphError, directed=directed)
        rows = gpu_rows.given_rows(offsets, targets, weights)
        n, num_arcs = len(stored(rows).offsets) - 1, len(stored(rows).targets)
        ids = Ids(n) if vertices is None else ids_in_order(vertices, n)
        attributes, loops = as_attributes(edge_attributes, num_arcs), 0
        if not directed:
            on_host = csr.Rows(rows.offsets, rows.targets, rows.weights)
            check_symmetric(on_host)
            check_both_directions(attributes, on_host)
            loops = int(np.count_nonzero(csr.row_of_arcs(rows.offsets) == rows.targets))
        graph = cls(rows, ids, bool(directed), loops, num_arcs)
        graph._attributes = attributes
        return graph

    def as_directed(self) -> "Graph":
        """A directed graph of these arcs: two for each edge of an undirected graph. Arrays are shared."""
        if self.directed:
            return self
        graph = Graph(self._rows, self._ids, True, 0, self.num_arcs)
        graph._edge_numbers, graph._attributes = self._edge_numbers, self._attributes
        return graph

    def _with_weights(self, weights: np.ndarray) -> "Graph":
        """A directed graph of these arcs with other weights. All other arrays are shared."""
        return Graph(csr.Rows(self.offsets, self.targets, weights), self._ids, True, 0)

    def __len__(self) -> int:
        """The number of vertices."""
        return self.num_vertices

    def __iter__(self) -> Iterator[Any]:
        """The ids of the vertices, in index order."""
        return iter(self.vertices.tolist())

    def __contains__(self, vertex: Any) -> bool:
        """Whether a vertex has this id."""
        try:
            self._one(vertex)
        except (GraphError, TypeError):  # an id that cannot be looked up is none
            return False
        return True

    def neighbors(self, vertex: Any) -> np.ndarray:
        """The vertices to which edges of a vertex lead, in the order of the input, each as often as there are edges.

        Args:
            vertex: its id.

        Returns:
            Ids, shape (out-degree,).

        Raises:
            GraphError: no vertex has this id.
        """
        return self.ids_of(self.targets[self._row(self._one(vertex))])

    def degree(self, vertex: Any) -> int:
        """The number of ends of edges at a vertex: of a directed graph edges out of it and into it, and a loop is two.

        The first call for a directed graph counts in-degrees, O(m); others take O(degree).

        Raises:
            GraphError: no vertex has this id.
        """
        index = self._one(vertex)
        if self.directed:
            return int(self.out_degree[index]) + int(self.in_degree[index])
        targets = self.targets[self._row(index)]
        return len(targets) + int(np.count_nonzero(targets == index))

    def has_edge(self, source: Any, target: Any) -> bool:
        """Whether an edge leads from one vertex to another. O(out-degree).

        Raises:
            GraphError: no vertex has one of these ids.
        """
        wanted = self._one(target)
        return bool((self.targets[self._row(self._one(source))] == wanted).any())

    def reverse(self) -> "Graph":
        """The graph with all edges turned round, and their numbers and attributes; an undirected graph is its own.
        Arrays of in-edges are shared, but those in a file are copied."""
        if not self.directed:
            return self
        rows = self._in_edges
        if isinstance(rows, FileRows):  # what else is in the file, and beside it, belongs to this graph
            weights = None if rows.weights is None else np.array(rows.weights)
            rows = csr.Rows(np.array(rows.offsets), np.array(rows.targets), weights)
        graph = Graph(rows, self._ids, True, 0, self.num_arcs)
        return self._handing_on(graph, lambda: self.in_arcs)

    def to_undirected(self, parallel_edges: ParallelEdges = "first") -> "Graph":
        """The graph without directions, with all vertices, those without edges, too; an undirected graph is its own.

        Args:
            parallel_edges: what becomes of several arcs between two vertices, whichever way they lead: one edge with
                the "first" weight, the "min" or the "sum" of the weights; "keep" makes an edge of each, so that u to v
                and v to u are two. Edges have the number and the attributes of the first.

        Raises:
            GraphError: ``parallel_edges`` is none of these, or a sum that its dtype cannot hold.
        """
        check_choice("parallel_edges", parallel_edges, ParallelEdges)
        if not self.directed:
            return self
        how = False, self._ids, parallel_edges
        graph = Graph._from_indices(self.sources, self.targets, self.weights, *how)
        arcs = np.arange(self.num_arcs, dtype=self.offsets.dtype)
        return self._handing_on(graph, lambda: Graph._arcs_of_edges(self.sources, self.targets, arcs, *how))

    def subgraph(self, vertices: Any) -> "Graph":
        """The graph of some vertices and of all edges between them; they stay in their order, and keep their ids, edge
        numbers and attributes.

        Args:
            vertices: a sequence, a set or an iterator of ids; one that stands there twice counts once.

        Raises:
            GraphError: an id that is not in the graph, or one id.
        """
        vertices = as_listed(vertices, self)
        if not is_sequence(vertices):
            raise GraphError(f"subgraph got {shown(vertices)}; expected a sequence or a set of vertices")
        self.check_unchanged()
        kept = np.zeros(self.num_vertices, np.bool_)
        kept[self._ids.indices_of(vertices)] = True
        arcs = np.flatnonzero(kept[self.sources] & kept[self.targets])
        place, old = np.cumsum(kept, dtype=np.int32) - 1, np.flatnonzero(kept)
        source, target = place[self.sources[arcs]], place[self.targets[arcs]]
        offsets = np.zeros(len(old) + 1, csr.offset_dtype(len(arcs)))
        np.cumsum(np.bincount(source, minlength=len(old)), out=offsets[1:])
        weights = None if self.weights is None else self.weights[arcs]
        loops = 0 if self.directed else int(np.count_nonzero(source == target))
        rows, ids = csr.Rows(offsets, target, weights), distinct_ids(self._ids.of(old))
        graph = Graph(rows, ids, self.directed, loops)
        return self._handing_on(graph, lambda: arcs.astype(offsets.dtype, copy=False))

    @naming_memory_errors
    def reorder(self, order: Any) -> "Graph":
        """The graph with its vertices in another order: each keeps its id, and its edges with weights, numbers and
        attributes, and gets another index. O(n log n + m), on the host.

        It is what `from_edges` makes of the same edges with ``vertices=order``: the arcs of a row stay in the order of
        the input. It takes as much memory as the graph, and up to 50 bytes for each vertex (of ids that are integers)
        while it is made. In-edges are made when they are first read.

        Args:
            order: the ids of all vertices, each once, shape (n,), an array or a sequence; or "hash", a pseudo-random
                order that is the same on every machine: by the numbers that SplitMix64 gives from seed 0 on, of which
                vertex i has the one of place i. These are distinct.

        Raises:
            GraphError: an order of another kind; an id that is no vertex, one that stands there twice, one that is
                missing.
            MemoryLimitError: the host has no room for it.
        """
        self.check_unchanged()
        check_free("Graph.reorder", reordering(self, order).most)
        vertices, before = (
            vertices_in_order(order, self._ids),
            csr.Rows(self.offsets, self.targets, self.weights),
        )
        ids = distinct_ids(self._ids.of(vertices))
        loops = 0 if self.directed else 2 * self.num_edges - self.num_arcs
        graph = Graph(rows_in_order(vertices, before), ids, self.directed, loops)
        return self._handing_on(graph, lambda: arcs_in_order(vertices, before))

    def _one(self, vertex: Any) -> int:
        """The index of one vertex."""
        if not self._ids.may_be_one(vertex):
            raise GraphError(f"got {shown(vertex)}; expected the id of one vertex")
        self.check_unchanged()
        return self._ids.index_of(vertex)

    def _row(self, index: int) -> slice:
        """Which arcs a vertex has."""
        return slice(*self.offsets[index : index + 2].tolist())

    def __repr__(self) -> str:
        """The size and kind of the graph."""
        kind = "directed" if self.directed else "undirected"
        weights = f"{self.weight_dtype} weights" if self.weighted else "unweighted"
        count = len(self.edge_attributes)
        more = f", {count} edge attribute{'s' * (count > 1)}" if count else ""
        return f"<Graph: {self.num_vertices:,} vertices, {self.num_edges:,} edges, {kind}, {weights}{more}>"

    def _repr_html_(self) -> str:
        """The size and kind of the graph as a table, for notebooks."""
        facts = {
            "vertices": f"{self.num_vertices:,}",
            "edges": f"{self.num_edges:,}",
            "directed": "yes" if self.directed else "no",
            "weights": str(self.weight_dtype) if self.weighted else "none",
            "largest out-degree": f"{self.out_degree.max(initial=0):,}",
            "memory": f"{self.nbytes / 1e6:,.1f} MB",
        }
        if self.edge_attributes:
            facts["edge attributes"] = escape(listed(self.edge_attributes))
        return html_table(facts)
