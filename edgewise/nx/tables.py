"""Graphs of the backend from arrays, matrices and tables, without a graph of NetworkX between."""

from typing import Any

import networkx as nx
import numpy as np

from edgewise.errors import EdgewiseError
from edgewise.graph.csr import Rows, build_rows, row_of_arcs
from edgewise.graph.id_columns import as_id_column
from edgewise.graph.numbering import number_vertices
from edgewise.graph.pairs import count_parallel
from edgewise.nx.columns import Column
from edgewise.nx.convert import convert_from_nx
from edgewise.nx.graph import BackendGraph, Contents
from edgewise.nx.offered import Refusal, offered, refuses

_plain = refuses("create_using", "edgewise makes nx.Graph or nx.DiGraph", None, nx.Graph, nx.DiGraph)


def _of_type(data: str) -> Refusal:
    """A refusal of a `data` that is no class of NetworkX itself, or is not given."""

    def refusal(arguments: dict[str, Any]) -> str | None:
        if arguments[data] is None:
            return "a graph of edgewise does not change; expected the edges of one"
        return (
            None
            if arguments["cls"] in (nx.Graph, nx.DiGraph)
            else f"{arguments['cls']} is no class of NetworkX"
        )

    return refusal


@offered(_of_type("incoming_graph_data"))
def graph__new__(cls: Any, incoming_graph_data: Any = None, **attr: Any) -> BackendGraph:
    """``nx.Graph(data, backend="edgewise")``."""
    made = object.__new__(cls)
    made.__init__(incoming_graph_data, **attr)
    return convert_from_nx(made, preserve_all_attrs=True)


@offered(_of_type("incoming_graph_data"))
def digraph__new__(cls: Any, incoming_graph_data: Any = None, **attr: Any) -> BackendGraph:
    """``nx.DiGraph(data, backend="edgewise")``."""
    return graph__new__(cls, incoming_graph_data, **attr)


def _of_numbers(arguments: dict[str, Any]) -> str | None:
    kind = arguments["A"].dtype
    return None if kind.kind in "biuf" else f"A is an array of {kind}; edgewise takes numbers"


def _named(arguments: dict[str, Any]) -> str | None:
    return "edgewise names the edge attribute" if arguments["edge_attribute"] is None else None


@offered(_plain, _named)
def from_scipy_sparse_array(
    A: Any, parallel_edges: bool = False, create_using: Any = None, edge_attribute: Any = "weight"
) -> BackendGraph:
    n = _square(A)
    if A.format == "csr" and create_using is not nx.DiGraph and _is_symmetric(A):
        rows = Rows(A.indptr.copy(), A.indices.astype(np.int32), None)
        columns = {edge_attribute: _column(edge_attribute, A.data)}
        return BackendGraph(range(n), rows, None, columns, Contents(None, {}, {}))
    if A.format in ("csr", "csc"):
        major, minor = row_of_arcs(A.indptr), A.indices
        source, target = (major, minor) if A.format == "csr" else (minor, major)
        values = A.data
    else:
        A = A.tocoo()
        source, target, values = A.row, A.col, A.data
    return _of_columns(range(n), source, target, {edge_attribute: values}, create_using)


def _array(arguments: dict[str, Any]) -> str | None:
    kind = type(arguments["A"])
    return None if kind is np.ndarray else f"A is a {kind.__name__}; edgewise takes a numpy.ndarray"


def _pandas(arguments: dict[str, Any]) -> str | None:
    kind = type(arguments["df"])
    is_table = kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"
    return None if is_table else f"df is a {kind.__name__}; edgewise takes a DataFrame of pandas"


@offered(_plain, _array, _of_numbers)
def from_numpy_array(
    A: Any,
    parallel_edges: bool = False,
    create_using: Any = None,
    edge_attr: Any = "weight",
    *,
    nodelist: Any = None,
) -> BackendGraph:
    if A.ndim != 2:
        raise nx.NetworkXError(f"Input array must be 2D, not {A.ndim}")
    n = _square(A)
    if nodelist is not None and len(nodelist) != n:
        raise ValueError("nodelist must have the same length as A.shape[0]")
    if nodelist is not None and len(set(nodelist)) < n:
        raise NotImplementedError("nodelist has nodes twice, which NetworkX makes one of")
    source, target = A.nonzero()
    columns = {} if edge_attr in (False, None) else {edge_attr: A[source, target]}
    return _of_columns(
        range(n) if nodelist is None else list(nodelist), source, target, columns, create_using
    )


@offered(_plain, _pandas)
def from_pandas_edgelist(
    df: Any,
    source: Any = "source",
    target: Any = "target",
    edge_attr: Any = None,
    create_using: Any = None,
    edge_key: Any = None,
) -> BackendGraph:
    if edge_attr is True:
        names = [name for name in df.columns if name not in (source, target)]
    else:
        names = (
            []
            if edge_attr is None
            else list(edge_attr)
            if isinstance(edge_attr, list | tuple)
            else [edge_attr]
        )
    if edge_attr is not None and not names:
        raise nx.NetworkXError(f"Invalid edge_attr argument: No columns found with name: {names}")
    try:
        columns = {name: df[name].to_numpy() for name in names}
    except (KeyError, TypeError) as problem:
        raise nx.NetworkXError(f"Invalid edge_attr argument: {edge_attr}") from problem
    if any(df[name].ndim > 1 for name in (source, target)):
        raise NotImplementedError(f"several columns are named {source!r} or {target!r}; edgewise expects one")
    ends, nodes = _numbered(df[source], df[target])
    return _of_columns(nodes, *ends, columns, create_using)


def _square(A: Any) -> int:
    """The number of rows of a matrix. Raises NetworkXError if it is not square."""
    n, m = A.shape
    if n != m:
        raise nx.NetworkXError(f"Adjacency matrix not square: nx,ny={A.shape}")
    return int(n)


def _is_symmetric(A: Any) -> bool:
    """Whether a matrix of sorted rows is its own transpose: then its rows are those of NetworkX's graph."""
    if not A.has_canonical_format or count_parallel(Rows(A.indptr, A.indices, None), directed=True):
        return False
    transposed = A.T.tocsr()
    same = np.array_equal(transposed.indptr, A.indptr) and np.array_equal(transposed.indices, A.indices)
    return same and np.array_equal(transposed.data, A.data)


def _numbered(source: Any, target: Any) -> tuple[tuple[np.ndarray, np.ndarray], Any]:
    """Columns of ids as indices, and the ids, in the order in which they first appear, edge by edge."""
    if any(ends.dtype.kind in "mM" for ends in (source, target)):
        raise NotImplementedError("nodes are dates or times, which NetworkX has as those of pandas")
    try:
        columns = as_id_column(source, "source"), as_id_column(target, "target")
        source, target, ids = number_vertices(*columns, None)
    except EdgewiseError as problem:
        raise NotImplementedError(f"nodes: {problem}") from None
    n, ends_in_turn = ids.num_vertices, np.stack([source, target], axis=1).ravel()
    first = np.empty(n, np.int64)
    first[ends_in_turn[::-1]] = np.arange(len(ends_in_turn))[
        ::-1
    ]  # the last that is written is the first place
    order = np.argsort(first)
    place = np.empty(n, np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    nodes = ids.array[order].tolist()
    return (place[source], place[target]), range(n) if nodes == list(range(n)) else nodes


def _column(name: Any, values: np.ndarray) -> Column:
    """An array as an edge attribute. Raises NotImplementedError for what is neither integers nor finite floats."""
    integers = values.dtype.kind in "iu" and (values.dtype != np.uint64 or values.max(initial=0) < 2**63)
    if values.ndim > 1:
        raise NotImplementedError(f"{name!r} is the name of {values.shape[1]} columns; edgewise expects one")
    if not integers and not (values.dtype.kind == "f" and np.isfinite(values).all()):
        raise NotImplementedError(
            f"{name!r} is a column of {values.dtype}; edgewise expects integers of 64 bits or finite floats"
        )
    return Column(values.astype(np.int64 if integers else np.float64))


def _of_columns(
    nodes: Any, source: np.ndarray, target: np.ndarray, columns: dict[Any, np.ndarray], create_using: Any
) -> BackendGraph:
    """The graph to which these edges are added in turn. One that stands there again has the place of the first and the
    values of the last.

    Args:
        nodes: the n nodes.
        source, target: indices of nodes, shape (m,).
        columns: the edge attributes by name, shape (m,).
        create_using: what kind of graph, see `_plain`.
    """
    directed, n = create_using is nx.DiGraph, len(nodes)
    source, target = (np.ascontiguousarray(ends, np.int32) for ends in (source, target))
    edges = np.arange(len(source))
    rows, _ = build_rows(source, target, edges, n, both_directions=not directed)
    if count_parallel(rows, directed):
        first, edges = _first_and_last(source, target, n, directed)
        source, target = source[first], target[first]
        rows, _ = build_rows(source, target, edges, n, both_directions=not directed)
    assert rows.weights is not None
    attributes = {name: _column(name, values[rows.weights]) for name, values in columns.items()}
    in_rows = build_rows(target, source, None, n)[0] if directed else None
    return BackendGraph(
        nodes, Rows(rows.offsets, rows.targets, None), in_rows, attributes, Contents(None, {}, {})
    )


def _first_and_last(
    source: np.ndarray, target: np.ndarray, num_vertices: int, directed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Of edges that stand there several times the first place, ascending, and the last of each, int64."""
    ends = (source, target) if directed else (np.minimum(source, target), np.maximum(source, target))
    keys = ends[0].astype(np.int64) * num_vertices + ends[1]
    order = np.argsort(keys, kind="stable")
    changes = np.flatnonzero(np.diff(keys[order]))
    firsts = order[np.concatenate([[0], changes + 1])]
    lasts = order[np.concatenate([changes, [len(keys) - 1]])]
    in_turn = np.argsort(firsts)
    return firsts[in_turn], lasts[in_turn]
