"""Sparse matrices in archives of NumPy (``.npz``), as ``scipy.sparse.save_npz`` writes them, and columns of edges.

Three kinds of archives are known by the names of their arrays:

- those of SciPy, with ``format``: entry (i, j) is the arc from i to j, and the ids are 0..n-1. Stored zeros are edges
  of weight 0; in blocks (``bsr``) zeros are no edges.
- data sets for learning on graphs: the same arrays of compressed sparse rows, each name after ``adj_``;
- ``edge_index``, of shape (2, m), as PyTorch Geometric calls it: sources and targets, with ``edge_weight`` or without.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import IO, Any

import numpy as np

from edgewise.errors import GraphError, GraphWarning, ParseError, warn
from edgewise.graph import Graph
from edgewise.graph.checks import as_rows
from edgewise.graph.csr import Rows, transpose
from edgewise.graph.file_checks import BOTH_ARCS, walk_rows
from edgewise.graph.ids import MAX_VERTICES, Ids
from edgewise.graph.pairs import count_parallel
from edgewise.graph.weights import as_weights
from edgewise.io.archive import Archive
from edgewise.io.arrays import graph_of_columns
from edgewise.io.asked import as_asked
from edgewise.io.binary import opened
from edgewise.io.budget import Budget
from edgewise.io.formats import GraphFormat, Report
from edgewise.io.options import ReadOptions
from edgewise.memory import held, in_turn
from edgewise.text import listed, printable, shown

#: The prefix of the arrays of data sets for learning on graphs.
_ADJACENCY = "adj_"
_NUMBERS = "iufb"
#: Bytes of an entry while SciPy makes rows of blocks or diagonals: two indices, twice, and its value twice.
_ENTRY_BYTES = 32
#: Bytes of a row then: its offset, twice.
_ROW_BYTES = 16
#: Bytes that NumPy writes at a time.
_PIECE = 2**24


def _read(budget: Budget, options: ReadOptions, report: Report) -> tuple[Graph, int]:
    with opened(budget) as file:
        archive = Archive(file, budget, report)
        try:
            if "edge_index" in archive.names:
                return _read_edges(archive, budget, options)
            matrix = _Matrix(archive, budget, options)
            return _as_asked(matrix.rows(), matrix.sums, budget, options)
        except GraphError as error:
            raise GraphError(f"{budget.path}: {error}") from None


def _as_asked(rows: Rows, sums: bool, budget: Budget, options: ReadOptions) -> tuple[Graph, int]:
    """The graph of a matrix. `sums` says whether entries listed twice stand for their sum.

    Raises:
        ParseError: it is not symmetric, and is to have no direction, and nothing says how to join both entries.
    """
    ids, loops, keeps = Ids(len(rows.offsets) - 1), 0, options.parallel_edges == "keep"
    if sums and keeps and count_parallel(rows, directed=True):
        summed = replace(options, parallel_edges="sum", self_loops="keep", directed=None)
        rows = as_asked(Graph(rows, ids, True, 0), summed, budget)[0].stored
    undirected = options.directed is False and keeps
    if undirected:
        walked = walk_rows(rows, BOTH_ARCS)
        loops = walked.loops
        if walked.print != 0:
            raise ParseError(
                f"{budget.path} is not symmetric, and directed=False was given: expected the entries (i, j) and (j, i) "
                'of one value. To make one edge of both, give parallel_edges="first", or "min" or "sum" of the values'
            )
    return as_asked(Graph(rows, ids, not undirected, loops), options, budget)


class _Matrix:
    """The matrix in an archive.

    Attributes:
        sums: whether its entries may be listed twice, and stand for their sum then.
    """

    def __init__(self, archive: Archive, budget: Budget, options: ReadOptions) -> None:
        self._archive, self._budget, self._options = archive, budget, options
        self._prefix = "" if "format" in archive.names else _ADJACENCY
        if not self._prefix:
            self._format = archive.array("format", "SU", 0).item()
            if isinstance(self._format, bytes):
                self._format = self._format.decode("latin-1")
        elif {f"{_ADJACENCY}indptr", f"{_ADJACENCY}indices"} <= archive.names:
            self._format = "csr"
        else:
            raise ParseError(
                f"{budget.path} has the arrays {listed(sorted(archive.names))}; expected those of "
                'scipy.sparse.save_npz, or "edge_index" of shape (2, m). Give others to Graph.from_edges, or a matrix '
                "to Graph.from_scipy"
            )
        for option in ("num_vertices", "index_base"):
            if getattr(options, option) is not None:
                raise ParseError(
                    f"{budget.path} holds a matrix, which has no option {option}: it has a shape"
                )
        self.sums = self._format == "coo"
        self._size = self._side()

    def rows(self) -> Rows:
        """The rows, checked.

        Raises:
            ParseError: arrays that are no matrix.
            GraphError: values that weights cannot be.
        """
        readers = {"csr": self._compressed, "csc": self._compressed, "coo": self._listed,
                   "bsr": self._blocks, "dia": self._diagonals}  # fmt: skip
        if self._format not in readers:
            raise ParseError(
                f"{self._budget.path} has a matrix of format {shown(self._format)}; expected {', '.join(readers)}"
            )
        rows = readers[self._format]()
        return transpose(rows) if self._format == "csc" else rows

    def _side(self) -> int:
        shape = self._array("shape", "iu", 1).tolist()
        if len(shape) != 2 or shape[0] != shape[1] or not 0 <= shape[0] <= MAX_VERTICES:
            raise ParseError(
                f"{self._budget.path} has a matrix of shape {shown(tuple(shape))}; expected a square one, of at most "
                "2**31 - 1 rows"
            )
        return int(shape[0])

    def _array(self, name: str, kinds: str, dimensions: int) -> np.ndarray:
        return self._archive.array(self._prefix + name, kinds, dimensions)

    def _weights(self, count: int) -> np.ndarray | None:
        """The values as weights; None for truth values, or if they are not wanted."""
        if self._options.weighted is False:
            return None
        weights = _as_weights(self._array("data", _NUMBERS, 1), self._budget, self._options)
        if weights is not None and len(weights) != count:
            raise ParseError(
                f"{self._budget.path} has {count:,} entries and {len(weights):,} values; expected as many"
            )
        return weights

    def _compressed(self) -> Rows:
        """The rows or columns."""
        offsets, targets = self._array("indptr", "iu", 1), self._array("indices", "iu", 1)
        if len(offsets) != self._size + 1:
            raise ParseError(
                f"{self._budget.path} has {len(offsets):,} offsets of {self._size:,} rows; expected one more than rows"
            )
        return self._checked(offsets, targets, self._weights(len(targets)))

    def _listed(self) -> Rows:
        """The rows of entries in any order."""
        if "coords" in self._archive.names:
            row, column = self._array("coords", "iu", 2)
        else:
            row, column = self._array("row", "iu", 1), self._array("col", "iu", 1)
        wanted = ReadOptions(num_vertices=self._size)
        return graph_of_columns(row, column, self._weights(len(row)), wanted, self._budget)[0].stored

    def _blocks(self) -> Rows:
        """The rows of blocks without their zeros."""
        import scipy.sparse

        offsets, indices = self._array("indptr", "iu", 1), self._array("indices", "iu", 1)
        data = self._array("data", _NUMBERS, 3)
        height, width = data.shape[1:]
        as_many = len(data) == len(indices) and (len(offsets) - 1) * height == self._size
        if not as_many or height != width or height == 0:
            raise ParseError(
                f"{self._budget.path} has {len(data):,} blocks of {height} by {width} in {len(offsets) - 1:,} rows of "
                f"blocks; expected square ones that make {self._size:,} rows"
            )
        blocks = self._checked(offsets, indices, None)
        data = self._converted(data)
        matrix = scipy.sparse.bsr_array(
            (data, blocks.targets, blocks.offsets), shape=(self._size, self._size)
        )
        return self._without_zeros(matrix.tocsr())

    def _diagonals(self) -> Rows:
        """The rows of diagonals without their zeros."""
        import scipy.sparse

        data, places = self._array("data", _NUMBERS, 2), self._array("offsets", "iu", 1)
        if len(data) != len(places) or len(set(places.tolist())) != len(places):
            raise ParseError(
                f"{self._budget.path} has {len(data):,} diagonals and {len(places):,} places; expected as many, all "
                "distinct"
            )
        if len(places) and not -self._size < places.min() <= places.max() < self._size:
            raise ParseError(
                f"{self._budget.path} has diagonals from {places.min()} to {places.max()}; expected those of a matrix "
                f"of {self._size:,} rows"
            )
        data = self._converted(data)
        matrix = scipy.sparse.dia_array((data, places), shape=(self._size, self._size))
        return self._without_zeros(matrix.tocsr())

    def _converted(self, data: np.ndarray) -> np.ndarray:
        """Values in a dtype that SciPy takes, if it has the memory to make rows of them."""
        self._budget.check(data.nbytes + _ENTRY_BYTES * data.size + _ROW_BYTES * self._size)
        return data.astype(np.float32) if data.dtype == np.float16 else data

    def _without_zeros(self, matrix: Any) -> Rows:
        matrix.eliminate_zeros()
        weights = _as_weights(matrix.data, self._budget, self._options)
        return self._checked(matrix.indptr, matrix.indices, weights)

    def _checked(self, offsets: np.ndarray, targets: np.ndarray, weights: np.ndarray | None) -> Rows:
        self._budget.check(2 * (offsets.nbytes + targets.nbytes) + (0 if weights is None else weights.nbytes))
        try:
            return as_rows(offsets, targets, weights)
        except GraphError as error:
            raise ParseError(f"{self._budget.path} is damaged: {error}") from None


def _read_edges(archive: Archive, budget: Budget, options: ReadOptions) -> tuple[Graph, int]:
    """The graph of columns of edges."""
    ends = archive.array("edge_index", "iu", 2)
    if len(ends) != 2:
        raise ParseError(
            f"{budget.path}: edge_index has shape {ends.shape}; expected (2, m), sources and targets"
        )
    has_weights = "edge_weight" in archive.names
    if options.weighted and not has_weights:
        raise ParseError(f"{budget.path} has no array edge_weight to read with weighted=True")
    if not has_weights and options.weighted is None and "edge_attr" in archive.names:
        warn(
            f"{printable(str(budget.path))} has the array edge_attr, which was left out: weights are in edge_weight. "
            "weighted=False says that there are none",
            GraphWarning,
        )
    weights = None
    if has_weights and options.weighted is not False:
        weights = _as_weights(archive.array("edge_weight", _NUMBERS, 1), budget, options)
    if "num_nodes" in archive.names and options.num_vertices is None:
        options = replace(options, num_vertices=int(archive.array("num_nodes", "iu", 0)))
    return graph_of_columns(ends[0], ends[1], weights, options, budget)


def _as_weights(values: np.ndarray, budget: Budget, options: ReadOptions) -> np.ndarray | None:
    """Values as weights; None for truth values, or if weights are not wanted."""
    if options.weighted is False:
        return None
    if values.dtype != np.bool_:
        return as_weights(values)
    if options.weighted:
        raise ParseError(f"{budget.path} has truth values, and no weights to read with weighted=True")
    return None


def _write(graph: Graph, file: IO[bytes], suffix: str, progress: Callable[[int], None]) -> None:
    """Write the arcs as a matrix of compressed sparse rows: of weights, or of truth values."""
    import scipy.sparse

    data = np.ones(graph.num_arcs, np.bool_) if graph.weights is None else graph.weights
    shape = (graph.num_vertices, graph.num_vertices)
    matrix = scipy.sparse.csr_array((data, graph.targets, graph.offsets), shape=shape)
    scipy.sparse.save_npz(file, matrix, compressed=False)
    progress(graph.num_arcs)


NPZ = GraphFormat(
    name="npz",
    suffixes=(".npz",),
    looks_like=lambda head: head.startswith(b"PK\x03\x04"),
    read=_read,
    write=_write,
    writing=lambda graph: in_turn(graph.making(), held(graph.num_arcs + _PIECE)).most,
    options=frozenset({"weighted", "num_vertices", "index_base"}),
    first_number=0,
)
