"""Graphs from sparse matrices and from the edges of libraries for neural networks, and back."""

from typing import Any, Self

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph import csr
from edgewise.graph.adjacency import Adjacency
from edgewise.graph.checks import as_count, check_flags, check_rows, check_symmetric
from edgewise.graph.foreign_arrays import as_cupy, lies_on_gpu
from edgewise.graph.ids import as_array
from edgewise.graph.weights import as_weights
from edgewise.text import shown


class Matrices(Adjacency):
    """The part of `edgewise.Graph` that speaks with libraries of arrays."""

    #: As in `Graph`.
    from_edges: Any
    from_csr: Any

    @classmethod
    def from_scipy(
        cls, matrix: Any, directed: bool = True, vertices: Any = None, *, weighted: bool | None = None
    ) -> Self:
        """Make a graph from a sparse matrix or array of SciPy, as `from_csr`: entry (i, j) is the arc from i to j.

        Nothing is copied of a CSR matrix with indices of int32 and values of int32, int64, float32 or float64: the
        matrix must not change then. Other formats and dtypes are converted. Matrices of `cupyx.scipy.sparse` make
        graphs on the GPU.

        Args:
            matrix: square, any sparse format. Stored zeros are edges of weight 0. Entries that a COO matrix lists twice
                are summed, as SciPy does it; those of a CSR or CSC matrix are parallel edges.
            directed: False for a symmetric matrix.
            vertices: as in `from_csr`.
            weighted: whether the values are weights: by default they are, unless they are boolean.

        Raises:
            GraphError: not square, not sparse, not symmetric with ``directed=False``, indices that the shape does not
                have, a sum that its dtype cannot hold, or a dtype that weights cannot have.
        """
        if not hasattr(matrix, "tocsr"):
            raise GraphError(
                f"from_scipy got {type(matrix).__name__}; expected a scipy.sparse matrix or array"
            )
        if weighted is not None:
            check_flags(GraphError, weighted=weighted)
        keeps = matrix.dtype != np.bool_ if weighted is None else weighted
        rows = _rows_of(matrix, keeps)
        return cls.from_csr(rows.indptr, rows.indices, rows.data if keeps else None, directed, vertices)

    def to_scipy(self, dtype: Any = None) -> Any:
        """The arcs as a new `scipy.sparse.csr_array`.

        Parallel arcs are entries of their own in one place. SciPy adds up their values when it converts them, as its
        shortest paths do with integers; make the graph with ``parallel_edges="min"`` for those.

        Args:
            dtype: of the values. By default the weights keep theirs, and a graph without weights gives truth values,
                which `from_scipy` makes a graph without weights again. SciPy joins truth values by "or" and "and":
                ones of `float` or `int` let products and sums count paths and edges.

        Raises:
            GraphError: `dtype` is none of numbers.
        """
        import scipy.sparse

        dtype = None if dtype is None else _dtype_of_numbers(dtype)
        shape = (self.num_vertices, self.num_vertices)
        if self.weights is None:
            data = np.ones(self.num_arcs, dtype or np.bool_)
        elif dtype == np.bool_:  # an edge of weight 0 is one, too
            data = np.ones(self.num_arcs, np.bool_)
        else:
            data = np.array(self.weights, dtype)
        return scipy.sparse.csr_array((data, self.targets.copy(), self.offsets.copy()), shape=shape)

    @classmethod
    def from_edge_index(
        cls,
        edge_index: Any,
        edge_weight: Any = None,
        num_nodes: int | None = None,
        directed: bool = True,
        *,
        number_edges: bool = False,
    ) -> Self:
        """Make a graph from the edges of PyTorch Geometric: column i of `edge_index` is an edge, source above target.

        The ids are 0..num_nodes-1, so that indices of vertices are rows of a matrix of features. Edges are sorted by
        source: ``from_edge_index(..., number_edges=True).edge_numbers`` says which column each arc of the graph is.

        Args:
            edge_index: integers, shape (2, m): a tensor or an array of any library, on the host or on a GPU, where the
                graph stays then; see `from_edges`. Strides do not matter.
            edge_weight: None, or numbers, shape (m,); dtypes as in `from_edges`. Gradients are not followed.
            num_nodes: the number of vertices; None for the largest index and 1.
            directed: False if `edge_index` has both directions of each edge, with one weight, as PyTorch Geometric
                keeps undirected graphs. For edges that stand there once, use
                ``from_edges(*edge_index, directed=False)``.
            number_edges: see `from_edges`.

        Raises:
            GraphError: another shape, and everything that `from_edges` refuses; ``directed=False`` and an edge that
                does not stand there both ways.
        """
        check_flags(GraphError, directed=directed)
        source, target = _two_rows(edge_index)
        count = as_count(num_nodes, "num_nodes")
        low, high = _limits(source, target)
        count = high + 1 if count is None else count
        if low < 0:
            raise GraphError(f"edge_index has the index {low}; expected 0 or more")
        if high >= count:
            raise GraphError(
                f"edge_index has the index {high}; expected less than num_nodes, which is {count}"
            )
        graph = cls.from_edges(source, target, edge_weight, True, count, number_edges=number_edges)
        if directed:
            return graph
        check_symmetric(csr.Rows(graph.offsets, graph.targets, graph.weights))
        loops = int(np.count_nonzero(graph.sources == graph.targets))
        both = cls(graph._rows, graph._ids, False, loops, graph.num_arcs)
        both._edge_numbers = graph._edge_numbers
        return both

    def to_edge_index(self) -> np.ndarray:
        """The arcs as PyTorch Geometric takes them, int64, shape (2, num_arcs): indices of sources above those of
        targets. `weights` are in the same order. An undirected edge stands there both ways, a self-loop once.

        The array is new: ``torch.from_numpy(graph.to_edge_index())`` shares it.
        """
        return np.stack([self.sources, self.targets], dtype=np.int64)


def _dtype_of_numbers(given: Any) -> np.dtype:
    """A dtype that a caller asks for."""
    try:
        dtype = np.dtype(given)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in "biufc":
        raise GraphError(
            f"to_scipy: dtype is {shown(given)}; expected one of numbers, such as bool or np.float64"
        )
    return dtype


def _rows_of(matrix: Any, keeps: bool) -> Any:
    """A sparse matrix in compressed sparse rows, checked as far as making them needs it, since SciPy does not: indices
    are in range, and if the caller `keeps` the values, sums are no smaller for a narrow dtype."""
    shape, form = tuple(matrix.shape), getattr(matrix, "format", "")
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(f"the matrix has shape {shape}; expected a square one")
    if form in ("csc", "bsr"):
        side = matrix.blocksize[0] if form == "bsr" else 1
        if len(matrix.indptr) - 1 != shape[0] // side:
            raise GraphError(
                f"the matrix has {len(matrix.indptr) - 1:,} rows of indices; expected {shape[0] // side:,}"
            )
        check_rows(matrix.indptr, matrix.indices)
    if form != "coo":
        return matrix.tocsr()
    low, high = _limits(matrix.row, matrix.col)
    if low < 0 or high >= shape[0]:
        raise GraphError(f"the matrix has indices from {low} to {high}; expected 0..{shape[0] - 1}")
    if keeps and matrix.dtype.kind in "iuf":
        matrix = matrix.astype(as_weights(matrix.data[:0]).dtype)
    rows = matrix.tocsr()
    if keeps and rows.dtype.kind == "i" and rows.nnz < matrix.nnz:
        limit = float(-int(np.iinfo(rows.dtype).min))
        if abs(matrix.astype(np.float64).tocsr().data).max(initial=0) >= limit:
            raise GraphError(f"entries that are listed twice have a sum that {rows.dtype} cannot hold")
    return rows


def _two_rows(edge_index: Any) -> tuple[Any, Any]:
    """The rows of an array of shape (2, m), each as an array of integers of NumPy or CuPy."""
    if isinstance(edge_index, list | tuple) and len(edge_index) == 2:
        rows = tuple(map(_array, edge_index))
        shape = (2, *rows[0].shape) if rows[0].shape == rows[1].shape else tuple(row.shape for row in rows)
    else:
        rows = _array(edge_index)
        shape = rows.shape
    if len(shape) != 2 or shape[0] != 2:
        advice = ". Transpose it" if len(shape) == 2 and shape[1] == 2 else ""
        raise GraphError(f"edge_index has shape {shape}; expected (2, number of edges){advice}")
    for row in rows:
        if row.dtype.kind not in "iu" and len(row):
            raise GraphError(f"edge_index has dtype {row.dtype}; expected integers")
    return rows[0], rows[1]


def _limits(source: Any, target: Any) -> tuple[int, int]:
    """The least and the largest index; 0 and -1 if there are none."""
    if len(source) == 0:
        return 0, -1
    return int(min(source.min(), target.min())), int(max(source.max(), target.max()))


def _array(values: Any) -> Any:
    """An array where it lies, of NumPy or CuPy."""
    return as_cupy(values) if lies_on_gpu(values) else as_array(values, "edge_index")
