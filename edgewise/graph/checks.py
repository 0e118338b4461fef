"""Checks of what a graph is made from, with their messages: all that need no kernel."""

from typing import Any, NoReturn

import numpy as np

from edgewise.errors import EdgewiseError, GraphError
from edgewise.graph import csr
from edgewise.graph.foreign_arrays import as_numpy
from edgewise.graph.ids import MAX_VERTICES, as_array
from edgewise.numeric import is_integer
from edgewise.text import shown

#: What makes graphs of the objects of other libraries.
_CONVERTERS = {
    "pandas": "from_pandas",
    "polars": "from_polars",
    "pyarrow": "from_arrow",
    "networkx": "from_networkx",
    "igraph": "from_igraph",
    "scipy": "from_scipy",
}


def how_to_make_one_of(values: Any) -> str:
    """Which function makes a graph of an object of another library, as the end of a message; nothing of any other."""
    converter = _CONVERTERS.get(type(values).__module__.partition(".")[0])
    return f": Graph.{converter}(...) makes one of it" if converter else ""


def check_choice(name: str, value: Any, choices: Any) -> None:
    """Refuse a value that is not one of the choices of a Literal."""
    if not isinstance(value, str) or value not in choices.__args__:
        raise GraphError(
            f"{name} is {shown(value)}; expected one of {', '.join(map(repr, choices.__args__))}"
        )


def check_flags(error: type[EdgewiseError], where: str = "", **flags: Any) -> None:
    """Raise this error for arguments, given by name, that are neither True nor False."""
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise error(f"{where}{name} is {shown(value)}; expected True or False")


def check_lengths(source: np.ndarray, target: np.ndarray, weights: np.ndarray | None) -> None:
    """Refuse columns of different lengths."""
    lengths = {"source": len(source), "target": len(target)}
    if weights is not None:
        lengths["weight"] = len(weights)
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length:,}" for name, length in lengths.items())
        raise GraphError(f"{listed} entries; expected one length, an entry for each edge")


def refuse_one_column(edges: Any) -> NoReturn:
    """Refuse edges that are given as one argument, and say which call takes them."""
    library = type(edges).__module__.partition(".")[0]
    shape = getattr(edges, "shape", None)
    if library in _CONVERTERS:
        advice = f"Use Graph.{_CONVERTERS[library]}"
    elif isinstance(shape, tuple) and len(shape) == 2:
        calls = ["Graph.from_edges(*edges.T) for a row for each edge"] * (shape[1] in (2, 3))
        calls += ["Graph.from_edge_index(edges) for a row of sources and one of targets"] * (shape[0] == 2)
        advice = f"Use {', or '.join(calls) or 'the columns'}"
    elif isinstance(edges, list | tuple):
        advice = "Use Graph.from_edges(*zip(*edges)) for a list of pairs"
    else:
        advice = "Give both columns"
    of_shape = f" of shape {tuple(shape)}" if isinstance(shape, tuple) else ""
    raise GraphError(
        f"from_edges got one {type(edges).__name__}{of_shape}; expected a column of sources and one of targets. "
        f"{advice}"
    )


def as_count(num_vertices: Any, name: str = "num_vertices") -> int | None:
    """A number of vertices, or None; anything else is refused by this name."""
    if num_vertices is None:
        return None
    if not is_integer(num_vertices):
        raise GraphError(f"{name} is {shown(num_vertices)}; expected an integer")
    if num_vertices < 0:
        raise GraphError(f"{name} is {shown(num_vertices)}; expected 0 or more")
    if num_vertices > MAX_VERTICES:
        raise GraphError(f"{name} is {shown(num_vertices)}; at most 2**31 - 1 can be had")
    return int(num_vertices)


def check_order(values: Any, vertices: np.ndarray, name: str, error: type[EdgewiseError]) -> None:
    """Refuse a column of pandas, or of cuDF, whose index is neither 0..n-1 nor the ids in the graph's order, in which
    values of vertices are taken, whatever their index says. Raises this error."""
    index = getattr(values, "index", None) if hasattr(values, "reindex") else None
    if index is None or len(index) != len(vertices):
        return
    labels = as_numpy(index)
    if not np.array_equal(labels, np.arange(len(labels))) and not np.array_equal(labels, vertices):
        raise error(
            f"{name} is a {type(values).__name__} whose index is neither 0..n-1 nor graph.vertices; values are taken "
            "in the order of graph.vertices. Give .reindex(graph.vertices) if the index has ids, or .to_numpy() if the "
            "values are in this order already"
        )


def check_rows(offsets: np.ndarray, targets: np.ndarray) -> None:
    """Refuse arrays that are not compressed sparse rows."""
    for name, array in (("offsets", offsets), ("targets", targets)):
        if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
            raise GraphError(
                f"{name} is {array.dtype} of shape {array.shape}; expected integers in one dimension"
            )
    falls = (offsets[1:] < offsets[:-1]).any()
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(targets) or falls:
        raise GraphError(f"offsets must go from 0 to {len(targets):,}, the length of targets, and never fall")
    n = len(offsets) - 1
    if len(targets) and not 0 <= targets.min() <= targets.max() < n:
        raise GraphError(f"targets go from {targets.min()} to {targets.max()}; expected 0..{n - 1}")


def as_rows(offsets: Any, targets: Any, weights: Any, arrays: Any = np) -> csr.Rows:
    """Compressed sparse rows from arrays of any integers, of NumPy or, as `arrays`, of CuPy; arrays that have the right
    dtype are shared."""
    offsets, targets = (
        as_array(offsets, "offsets", arrays=arrays),
        as_array(targets, "targets", arrays=arrays),
    )
    check_rows(offsets, targets)
    if weights is not None and len(weights) != len(targets):
        raise GraphError(f"weights has {len(weights):,} entries; targets has {len(targets):,}")
    dtype = csr.offset_dtype(len(targets))
    return csr.Rows(offsets.astype(dtype, copy=False), targets.astype(np.int32, copy=False), weights)


def check_symmetric(rows: csr.Rows) -> None:
    """Refuse rows that do not hold every edge in both directions."""
    by_target = csr.transpose(rows)
    by_source = csr.transpose(by_target)
    pairs = [(by_source.offsets, by_target.offsets), (by_source.targets, by_target.targets)]
    if by_source.weights is not None and by_target.weights is not None:
        pairs.append((by_source.weights, by_target.weights))
    if not all(np.array_equal(one, other) for one, other in pairs):
        raise GraphError(
            "directed=False, but the rows are not symmetric: each edge must stand in the rows of both its "
            "ends, with one weight, and parallel edges in one order. Or give each edge once to from_edges"
        )
