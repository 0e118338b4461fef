"""The class `Graph`."""

from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph import csr, gpu_rows
from edgewise.graph.checks import (
    as_count,
    as_rows,
    check_choice,
    check_flags,
    check_lengths,
    check_symmetric,
    ids_in_order,
)
from edgewise.graph.file_rows import FileRows
from edgewise.graph.file_save import save_graph
from edgewise.graph.gpu_rows import GpuRows, gpu_column, lies_on_gpu
from edgewise.graph.ids import Ids, as_array, as_id_column, is_sequence
from edgewise.graph.making import (
    AnyRows,
    Made,
    bytes_held,
    making_array,
    needed_on_host,
    stored,
    transposed,
    weight_dtype,
)
from edgewise.graph.merge import merge_parallel_arcs, merging
from edgewise.graph.numbering import number_vertices
from edgewise.graph.resident import Placement, Resident
from edgewise.graph.weights import as_weights
from edgewise.kernels.cpu.launch import sealed
from edgewise.kernels.door import cuda_door
from edgewise.layout.slots import arrange, degrees_of
from edgewise.memory import Step, check_free, give_back, held, in_turn, naming_memory_errors
from edgewise.text import html_table, shown

ParallelEdges = Literal["keep", "min", "sum", "first"]
SelfLoops = Literal["keep", "drop"]


class Graph:
    """A directed or undirected graph that does not change once it is made.

    Made by `from_edges`, `from_csr`, `from_scipy`, `edgewise.read`, or `edgewise.load`. Inside, vertices have the
    indices 0..n-1; `vertices` gives the user's id of each. An undirected graph stores two arcs for each edge, and one
    for a self-loop. All arrays are read-only.

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
    """

    def __init__(
        self, rows: AnyRows, ids: Ids, directed: bool, num_loops: int, num_arcs: int | None = None
    ) -> None:
        check_flags(GraphError, directed=directed)
        self._ids, self._rows = ids, rows.sealed() if isinstance(rows, csr.Rows) else rows
        self.num_vertices = ids.num_vertices
        self.num_arcs = len(rows.targets) if num_arcs is None else num_arcs
        self.num_edges = self.num_arcs if directed else (self.num_arcs + num_loops) // 2
        self.directed = bool(directed)
        self._edge_numbers: np.ndarray | None = None
        #: Programs laid out for this graph, see `edgewise.run`.
        self.programs: OrderedDict[Any, Any] = OrderedDict()
        #: What lies on the GPU for this graph, and which parts if not all do: see `edgewise.graph.resident`.
        self.residents: dict[Any, Any] = {}
        self.placement: Placement | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What a copy has: all but what is laid out for this graph."""
        return {**vars(self), "programs": OrderedDict(), "residents": {}, "placement": None}

    @property
    def itself(self) -> "Graph":
        """This graph itself, also if it is reached through a weak proxy."""
        return self

    @property
    def offsets(self) -> np.ndarray:
        """Where the arcs of each vertex begin."""
        return self._rows.offsets

    @property
    def targets(self) -> np.ndarray:
        """Where each arc goes."""
        return self._rows.targets

    @property
    def weights(self) -> np.ndarray | None:
        """The weight of each arc, or None."""
        return self._rows.weights

    @property
    def edge_numbers(self) -> np.ndarray | None:
        """The edge of each arc, or None."""
        return self._rows.edge_numbers if isinstance(self._rows, FileRows) else self._edge_numbers

    @property
    def gpu(self) -> Resident:
        """This graph's arrays on the GPU; they are copied there once."""
        return Resident(self)

    @property
    def needed_on_host(self) -> int:
        """Bytes that a graph built on a GPU, or in a file, will take on the host, for arrays not copied yet."""
        return needed_on_host(self._rows)

    def check_unchanged(self) -> None:
        """Refuse a graph from `edgewise.load` whose file was cut short or written to. Raises FileChangedError."""
        if isinstance(self._rows, FileRows):
            self._rows.file.check_unchanged()

    def save(
        self, path: Any, *, in_edges: bool = False, progress: Callable[[int], None] | None = None
    ) -> None:
        """Write the graph to a file, whole or not at all, which `edgewise.load` opens at once.

        Everything is kept: ids, the order of arcs, dtypes, edge numbers.

        Args:
            path: where; ``.edgewise`` is the usual suffix. The file appears when it is complete and on the disk.
            in_edges: write the in-edges of a directed graph as well; they are made if they are not there yet.
            progress: called with the number of bytes of arrays written.

        Raises:
            OutputError: the place cannot be written, or the disk is full.
            GraphError, ParameterError: arguments of other kinds.
        """
        save_graph(self, path, self._ids, in_edges, progress)

    @classmethod
    @naming_memory_errors
    def from_edges(
        cls,
        source: Any,
        target: Any,
        weight: Any = None,
        directed: bool = True,
        num_vertices: int | None = None,
        *,
        parallel_edges: ParallelEdges = "keep",
        self_loops: SelfLoops = "keep",
        number_edges: bool = False,
    ) -> "Graph":
        """Make a graph from columns: edge i goes from ``source[i]`` to ``target[i]``.

        Args:
            source, target: ids, shape (m,): integers of any size, or strings; arrays, sequences, or columns
                of a data frame. From integers on a GPU (``__cuda_array_interface__``, as CuPy and PyTorch have
                it, or DLPack) the graph is built there, on CuPy's current stream, and stays there; its arrays
                are copied to the host when they are read. Merging parallel edges is done on the host.
            weight: None, or numbers, shape (m,). int32, int64, float32 and float64 stay what they are; bool
                and integers of 8 or 16 bits, signed or not, become int32, float16 becomes float32. Others, such
                as uint32 and uint64, are refused.
            directed: False to give each edge both directions.
            num_vertices: with it, the ids are 0..num_vertices-1 and vertices without edges are kept; without
                it, the vertices are the ids that occur, integers in ascending order and strings by first
                appearance (source before target, edge by edge).
            parallel_edges: "keep" them, or merge those of one source and target into one at the place of the
                first: with the smallest weight ("min"), the sum ("sum"), or the first edge's weight ("first").
                Without weights these do not differ. In an undirected graph {u, v} and {v, u} are parallel.
            self_loops: "keep" or "drop".
            number_edges: make `edge_numbers` on the host, which takes about as long as making the graph. Both arcs
                of an undirected edge have its number; merged edges have that of the first.

        Raises:
            GraphError: columns of different lengths, ids or weights of another kind or masked, an id out of range,
                a weight that is NaN or infinite, a sum that its dtype cannot hold.
            MemoryLimitError: the GPU, or the host, has no room to build the graph.
        """
        check_choice("parallel_edges", parallel_edges, ParallelEdges)
        check_choice("self_loops", self_loops, SelfLoops)
        check_flags(GraphError, directed=directed, number_edges=number_edges)
        if lies_on_gpu(source) or lies_on_gpu(target):
            columns = (gpu_column(source, "source"), gpu_column(target, "target"))
            values = None if weight is None else as_weights(gpu_column(weight, "weight"), cuda_door().cupy())
            check_lengths(*columns, values)
            count = as_count(num_vertices)
            if parallel_edges == "keep" and not number_edges:
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
        source, target, ids = number_vertices(source, target, as_count(num_vertices))
        merges = parallel_edges != "keep"
        check_free("Graph.from_edges", csr.building(ids.num_vertices, len(source), weights, directed, merges))
        graph = cls._from_indices(source, target, weights, directed, ids, parallel_edges, self_loops)
        if number_edges:
            numbers = np.arange(len(source), dtype=csr.offset_dtype(len(source)))
            merged: ParallelEdges = "keep" if parallel_edges == "keep" else "first"
            numbered = cls._from_indices(source, target, numbers, directed, ids, merged, self_loops)
            graph._edge_numbers = numbered.weights
        return graph

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
    ) -> "Graph":
        """Make a graph from compressed sparse rows; arrays of the right dtype are shared: they must not change then.

        Args:
            offsets: integers, shape (n + 1,), from 0 to m, never falling.
            targets: indices 0..n-1, shape (m,).
            weights: None, or numbers, shape (m,); dtypes as in `from_edges`.
            directed: False if each edge stands in both rows (a self-loop once), with the same weight.
            vertices: None for the ids 0..n-1, or n distinct ids in index order.

        Raises:
            GraphError: arrays that are not such rows; ``directed=False`` and rows that are not symmetric.
        """
        check_flags(GraphError, directed=directed)
        rows = as_rows(offsets, targets, None if weights is None else as_weights(weights))
        n = len(rows.offsets) - 1
        ids = Ids(n) if vertices is None else ids_in_order(vertices, n)
        if directed:
            return cls(rows, ids, True, num_loops=0)
        check_symmetric(rows)
        loops = np.count_nonzero(csr.row_of_arcs(rows.offsets) == rows.targets)
        return cls(rows, ids, False, int(loops))

    @classmethod
    def from_scipy(cls, matrix: Any, directed: bool = True, vertices: Any = None) -> "Graph":
        """Make a graph from a SciPy sparse matrix or array, as `from_csr`: entry (i, j) is the arc from i to j.

        Args:
            matrix: square, any sparse format; stored zeros are edges of weight 0, entries listed twice are
                summed as SciPy defines them. Boolean matrices make graphs without weights.
            directed: False for a symmetric matrix.
            vertices: as in `from_csr`.

        Raises:
            GraphError: not square, not sparse, not symmetric with ``directed=False``, or a dtype that weights cannot
                have.
        """
        if not hasattr(matrix, "tocsr"):
            raise GraphError(
                f"from_scipy got {type(matrix).__name__}; expected a scipy.sparse matrix or array"
            )
        rows = matrix.tocsr()
        if rows.ndim != 2 or rows.shape[0] != rows.shape[1]:
            raise GraphError(f"the matrix has shape {rows.shape}; expected a square one")
        weights = None if rows.dtype == np.bool_ else rows.data
        return cls.from_csr(rows.indptr, rows.indices, weights, directed, vertices)

    def as_directed(self) -> "Graph":
        """A directed graph of these arcs: two for each edge of an undirected graph. Arrays are shared."""
        if self.directed:
            return self
        graph = Graph(self._rows, self._ids, True, 0, self.num_arcs)
        graph._edge_numbers = self._edge_numbers
        return graph

    def _with_weights(self, weights: np.ndarray) -> "Graph":
        """A directed graph of these arcs with other weights. All other arrays are shared."""
        return Graph(csr.Rows(self.offsets, self.targets, weights), self._ids, True, 0)

    def to_scipy(self) -> Any:
        """The arcs as a new `scipy.sparse.csr_array` of the weights, or of ones; parallel arcs stay apart."""
        import scipy.sparse

        data = np.ones(self.num_arcs) if self.weights is None else self.weights.copy()
        shape = (self.num_vertices, self.num_vertices)
        return scipy.sparse.csr_array((data, self.targets.copy(), self.offsets.copy()), shape=shape)

    @property
    def weight_dtype(self) -> np.dtype | None:
        """The dtype of `weights`, or None; nothing is copied or read for it."""
        return weight_dtype(self._rows)

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self.weight_dtype is not None

    @property
    def stored(self) -> Any:
        """The rows where they lie, as `csr.Rows`: CuPy arrays if the graph was built on a GPU, else NumPy arrays."""
        return stored(self._rows)

    @property
    def stored_in_edges(self) -> Any:
        """The in-edges where they lie, as `csr.Rows`; made if they are not there yet."""
        return stored(self._in_edges)

    @property
    def built_on_gpu(self) -> bool:
        """Whether the graph was built on a GPU."""
        return isinstance(self._rows, GpuRows)

    @property
    def vertices(self) -> np.ndarray:
        """The user's ids in index order: int64, uint64, or Python strings or integers as objects."""
        return self._ids.array

    @property
    def has_names(self) -> bool:
        """Whether the ids are strings; nothing is read for it."""
        return self._ids.are_names

    def index_of(self, vertex: Any) -> Any:
        """The index of a vertex: an int for one id, an int64 array for a sequence of ids.

        Raises:
            GraphError: an id that is not in the graph.
        """
        if is_sequence(vertex):
            return self._ids.indices_of(vertex)
        return self._ids.index_of(vertex)

    def looking_up(self, vertex: Any) -> Step:
        """The memory that `index_of` takes for a vertex or a sequence of them."""
        return self._ids.looking_up(vertex)

    def reading_ids(self) -> Step:
        """The memory that reading `vertices` takes if they are in a file and were not read yet."""
        return self._ids.reading()

    def ids_of(self, indices: Any) -> np.ndarray:
        """The user's ids of an array of indices. Raises GraphError for an index that is not in 0..n-1."""
        found, n = as_array(indices, "the array of indices"), self.num_vertices
        if found.size == 0:
            return self._ids.of(np.empty(found.shape, np.int64))
        if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= n:
            raise GraphError(f"ids_of got {shown(indices)}; expected indices from 0 to {n - 1}")
        return self._ids.of(found)

    @cached_property
    def sources(self) -> np.ndarray:
        """The source of each arc, int32, shape (num_arcs,), in the order of `targets`."""
        return sealed(csr.row_of_arcs(self.offsets))

    @cached_property
    def out_degree(self) -> np.ndarray:
        """The number of arcs out of each vertex, int32, shape (num_vertices,)."""
        return csr.row_lengths(self.offsets)

    @cached_property
    def in_degree(self) -> np.ndarray:
        """The number of arcs into each vertex, int32, shape (num_vertices,)."""
        if not self.directed:
            return self.out_degree
        if self.has_in_edges or self.built_on_gpu:
            return csr.row_lengths(self.in_offsets)
        return sealed(degrees_of(self.targets, self.num_vertices).view(np.int32))

    @cached_property
    def _in_edges(self) -> AnyRows:
        """The in-edges; those of an undirected graph are its rows."""
        return transposed(self._rows) if self.directed else self._rows

    @property
    def has_in_edges(self) -> bool:
        """Whether `in_sources` and the like are there already, so that reading them costs nothing."""
        in_file = isinstance(self._rows, FileRows) and self._rows.in_edges is not None
        return not self.directed or in_file or Made.IN_EDGES.value in vars(self)

    def make_in_edges(self) -> None:
        """Make the in-edges now, unless they are there already; the graph keeps them."""
        _ = self._in_edges

    def making(self, *arrays: Made) -> Step:
        """The host's memory that it takes to make these arrays one after the other, and to copy the graph from a GPU.

        Arrays that exist take nothing.
        """
        there = {*vars(self), *([Made.IN_EDGES.value] if self.has_in_edges else [])}
        missing = [array for array in arrays if array.value not in there]
        return in_turn(held(self.needed_on_host), *map(self._making, missing))

    def _making(self, array: Made) -> Step:
        """The host's memory that it takes to make an array."""
        if array is Made.IN_DEGREE and not self.directed:
            return self.making(Made.OUT_DEGREE)
        return making_array(array, self._rows, self.num_vertices, self.num_arcs, self.directed)

    @property
    def in_offsets(self) -> np.ndarray:
        """The offsets of the in-edges of each vertex (compressed sparse columns); made once, on demand."""
        return self._in_edges.offsets

    @property
    def in_sources(self) -> np.ndarray:
        """The sources of the arcs into each vertex, int32, shape (num_arcs,).

        The sources of one vertex ascend; parallel arcs are in the order of `targets`. An undirected graph gives its
        `targets`, in the order of the input.
        """
        return self._in_edges.targets

    @property
    def in_weights(self) -> np.ndarray | None:
        """The weights in the order of `in_sources`."""
        return self._in_edges.weights

    @cached_property
    def in_arcs(self) -> np.ndarray:
        """For each arc in the order of `in_sources`, its place in `targets`; shape (num_arcs,)."""
        if self.directed:
            return sealed(csr.arcs_by_target(self.offsets, self.targets))
        arcs = csr.twin_arcs(self.offsets, self.targets)
        give_back(16 * self.num_arcs)
        return sealed(arcs)

    @cached_property
    def slots(self) -> tuple[np.ndarray, np.ndarray]:
        """The slots of a message buffer: the first slot of each vertex, shape (num_vertices + 1,), and the slot of each
        arc of `targets`, shape (num_arcs,), unsigned.

        Slots are sorted by target, then by source. The in-edges themselves are not made.
        """
        n, dtype = self.num_vertices, self.offsets.dtype
        units, slots, _ = arrange(
            self.targets, n, f"u{dtype.itemsize}", arcs=False, sort=None, group_size=1, split=False
        )
        return units.begin.astype(dtype), slots

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays held now, those made on demand included; strings count as their references.

        Of a graph from `edgewise.load`, those in the file count, and those copied into memory.
        """
        return bytes_held([self._ids, *vars(self).values(), *vars(self).get(Made.SLOTS.value, ())])

    def __repr__(self) -> str:
        """The size and kind of the graph."""
        kind = "directed" if self.directed else "undirected"
        weights = f"{self.weight_dtype} weights" if self.weighted else "unweighted"
        return f"<Graph: {self.num_vertices:,} vertices, {self.num_edges:,} edges, {kind}, {weights}>"

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
        return html_table(facts)
