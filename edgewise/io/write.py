"""Write a graph as an edge list, a CSV file, a Matrix Market file or a file of edgewise's own, whole or not at all."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TextIO

import numpy as np

from edgewise.errors import GraphWarning, OutputError, ParameterError, warn
from edgewise.graph import Graph, check_graph
from edgewise.graph.checks import check_flags
from edgewise.graph.csr import rows_in_pieces
from edgewise.graph.file import SUFFIX
from edgewise.graph.ids import named_ids
from edgewise.graph.making import Made
from edgewise.io.columns import with_formulas_quoted
from edgewise.io.fields import is_integer
from edgewise.io.source import BLANKS
from edgewise.io.table import COMMENTS, DECLARED_IDS
from edgewise.memory import held, in_turn
from edgewise.text import listed, shown
from edgewise.whole import check_place, written_whole

#: Arcs that are written at a time: a fraction of a second of work between two looks at Ctrl-C.
_CHUNK = 1 << 17
#: Bytes that the line of an arc takes while it is written.
_LINE_BYTES = 300
#: Python refuses to write integers of more than 4,300 digits.
_LARGEST_WRITTEN = 10**4000


@dataclass(frozen=True)
class _Layout:
    """How a format writes a graph.

    Attributes:
        delimiter: the text between columns.
        start: makes the first lines.
        marks: the characters that names may not hold.
        declares_ids: whether the first lines say if ids are names.
        numbered: whether vertices are written as 1..n in place of their ids.
    """

    delimiter: str
    start: Callable[[Graph], str]
    marks: str = ""
    declares_ids: bool = False
    numbered: bool = False


def _comment(graph: Graph) -> str:
    kind = "Directed" if graph.directed else "Undirected"
    sizes = f"# Nodes: {graph.num_vertices} Edges: {graph.num_edges}"
    return f"# {kind} graph\n{sizes}\n{DECLARED_IDS[graph.has_names]}\n"


def _header(graph: Graph) -> str:
    return "source,target,weight\n" if graph.weighted else "source,target\n"


def _banner(graph: Graph) -> str:
    values = "pattern" if graph.weights is None else {"i": "integer", "f": "real"}[graph.weights.dtype.kind]
    symmetry = "general" if graph.directed else "symmetric"
    n = graph.num_vertices
    return f"%%MatrixMarket matrix coordinate {values} {symmetry}\n{n} {n} {graph.num_edges}\n"


_LAYOUTS = {
    ".txt": _Layout("\t", _comment, marks=" \t", declares_ids=True),
    ".tsv": _Layout("\t", _comment, marks="\t", declares_ids=True),
    ".csv": _Layout(",", _header, marks=","),
    ".mtx": _Layout(" ", _banner, numbered=True),
}


def write(
    graph: Graph,
    path: str | os.PathLike[str],
    progress: Callable[[int], None] | None = None,
    *,
    quote_formulas: bool = False,
    in_edges: bool = False,
) -> None:
    """Write the edges of a graph, each edge of an undirected graph once; .gz at the end of the name compresses.

    The suffix decides the format: .edgewise for one that keeps all of the graph, see `edgewise.Graph.save`; .txt or
    .tsv for an edge list, .csv for a table with a header, .mtx for Matrix Market, which keeps vertices without edges,
    and has 1..n in the place of ids. `edgewise.read` reads the texts back, with ``directed=False`` for an undirected
    graph in another format than Matrix Market. Ids of vertices without edges, the order of the vertices and the dtypes
    of 32 bits are lost in texts, and edge attributes, with a warning. A graph that it would not read is refused.

    Weights are written as the shortest decimal numbers that identify them in their dtype. They are read as int64 or
    float64: int32 and int64 with the same values, float64 with the same bits. A float32 weight comes back as the
    float64 nearest to its decimal number, which equals the weight after a cast to float32: 0.1 in float32,
    0.10000000149..., is written as 0.1 and read as the float64 0.1.

    Args:
        graph: what to write.
        path: where; the file appears when it is complete.
        progress: called with the number of arcs written.
        quote_formulas: put an apostrophe before names that a program for spreadsheets would take for formulas:
            those that start with =, +, - or @.
        in_edges: write in-edges as well, to .edgewise files.

    Raises:
        OutputError: another suffix, ids or a graph that would not be read back, or a place that cannot be written.
        GraphTypeError: `graph` is not a graph.
        ParameterError: another kind of `progress`, or of `quote_formulas`.
    """
    check_graph("write", graph)
    if not isinstance(path, str | os.PathLike):
        raise OutputError(f"path is {shown(path)}; expected the name of a file")
    if not (progress is None or callable(progress)):
        raise ParameterError(
            f"write: progress is {shown(progress)}; expected a function of the number of arcs written"
        )
    check_flags(ParameterError, "write: ", quote_formulas=quote_formulas, in_edges=in_edges)
    path = Path(os.fsdecode(path))
    check_graph_writable(path)
    own = path.suffix == SUFFIX
    if in_edges if not own else quote_formulas:
        name = "quote_formulas" if own else "in_edges"
        raise OutputError(
            f"{path} has no place for what {name} asks for; leave it at False, or take another suffix"
        )
    if own:
        graph.save(path, in_edges=in_edges, progress=progress and _of_arcs(progress, graph))
        return
    if graph.edge_attributes:
        warn(
            f"{path} is without the edge attributes {listed(graph.edge_attributes)}; a file whose name ends in "
            f"{SUFFIX} keeps them",
            GraphWarning,
        )
    layout = _LAYOUTS[_suffix(path)]
    ids = np.arange(1, graph.num_vertices + 1) if layout.numbered else graph.vertices
    if quote_formulas and ids.dtype == object:
        ids = named_ids(with_formulas_quoted(ids.tolist())).array
    _check_ids(graph, ids, layout)
    try:
        with written_whole(path) as file:
            file.write(layout.start(graph))
            for done in _write_lines(file, graph, ids, layout.delimiter):
                if progress is not None:
                    progress(done)
            graph.check_unchanged()
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None


def writing(graph: Graph, path: Path, in_edges: bool) -> int:
    """About the bytes that `write` takes beside the graph, and beside pages of the graph's file."""
    reading, n, m = graph.reading_ids(), graph.num_vertices, graph.num_arcs
    if path.suffix == SUFFIX:
        made = graph.making(Made.IN_EDGES) if in_edges and graph.directed else graph.making()
        return in_turn(made, held(reading.most)).most
    return in_turn(graph.making(), reading, held(8 * n + _LINE_BYTES * min(_CHUNK, m))).most


def check_graph_writable(path: Path) -> None:
    """Refuse, before any work, a path that a graph cannot be written to. Raises OutputError."""
    if path.suffix != SUFFIX and _suffix(path) not in _LAYOUTS:
        raise OutputError(
            f"{path} ends in {path.suffix or 'no suffix'!r}; expected {', '.join(_LAYOUTS)}, each also with .gz, or "
            f"{SUFFIX}"
        )
    check_place(path)


def _of_arcs(progress: Callable[[int], None], graph: Graph) -> Callable[[int], None]:
    """A function of a number of bytes written that reports as many arcs."""
    rows = graph.stored
    total = sum(each.nbytes for each in (rows.offsets, rows.targets, rows.weights) if each is not None)
    return lambda done: progress(min(done * graph.num_arcs // total, graph.num_arcs))


def _suffix(path: Path) -> str:
    return (path.with_suffix("") if path.suffix == ".gz" else path).suffix


def _write_lines(file: TextIO, graph: Graph, ids: np.ndarray, delimiter: str) -> Iterator[int]:
    """Write the arcs, or each edge once from its end of larger index, and yield the number of arcs done."""
    for part, source in rows_in_pieces(graph.offsets, _CHUNK):
        target = graph.targets[part]
        kept = slice(None) if graph.directed else source >= target
        columns = [ids[source[kept]].tolist(), ids[target[kept]].tolist()]
        if graph.weights is not None:
            weights = graph.weights[part][kept]
            columns.append((weights.astype(str) if weights.dtype == np.float32 else weights).tolist())
        line = delimiter.join(["%s"] * len(columns)) + "\n"
        file.write(line * len(columns[0]) % tuple(chain.from_iterable(zip(*columns, strict=True))))
        yield part.stop


def _check_ids(graph: Graph, ids: np.ndarray, layout: _Layout) -> None:
    """Refuse what would not be read back: ids that would be split, names that look like integers, no edges at all."""
    if layout.numbered:
        return
    if graph.num_arcs == 0:
        raise OutputError(
            "a graph without edges cannot stand in this format; use .mtx, which keeps its vertices"
        )
    if ids.dtype != object:
        return
    if not graph.has_plain_ids:
        some = ", ".join(map(shown, ids[:3].tolist()))
        raise OutputError(
            f"ids such as {some} cannot stand in this format, which holds integers only, or strings only; use .mtx, "
            "which has 1..n for ids, or other ids"
        )
    for given in ids.tolist():
        if isinstance(given, str) and _falls_apart(given, layout.marks):
            raise OutputError(
                f"the id {shown(given)} cannot stand in this format; use .mtx, which has 1..n for ids, or other ids"
            )
        if not isinstance(given, str) and abs(given) > _LARGEST_WRITTEN:
            raise OutputError("an id has over 4,000 digits; use .mtx, which has 1..n for ids, or other ids")
    if graph.has_names and not layout.declares_ids and all(map(is_integer, _first_edge(graph, ids))):
        raise OutputError(
            "the names of the first edge would be read as integers; use .txt or .tsv, which say that ids are names"
        )


def _first_edge(graph: Graph, ids: np.ndarray) -> list:
    """The ids of the edge that is written first."""
    for part, source in rows_in_pieces(graph.offsets, _CHUNK):
        target = graph.targets[part]
        first = 0 if graph.directed else int(np.argmax(source >= target))
        if graph.directed or source[first] >= target[first]:
            return ids[[source[first], target[first]]].tolist()
    return []


def _falls_apart(name: str, marks: str) -> bool:
    """Whether a name would not be read back as it is."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return True
    wrong = name != name.strip(BLANKS) or not name or name[0] in COMMENTS + '"'
    return wrong or any(mark in name for mark in marks + "\r\n\0")
