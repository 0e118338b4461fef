"""Write a graph in the format of a suffix, whole or not at all."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from edgewise.errors import GraphWarning, OutputError, ParameterError, warn
from edgewise.graph import Graph, check_graph
from edgewise.graph.checks import check_flags
from edgewise.graph.file import SUFFIX
from edgewise.graph.making import Made
from edgewise.io import adjacency, adjlist, delimited, dimacs, edgelist, matrix_market
from edgewise.io.column_texts import first_formula, tell_of_formula
from edgewise.io.formats import GraphFormat
from edgewise.io.writing import TextWriter
from edgewise.memory import held, in_turn
from edgewise.text import listed, printable, shown
from edgewise.whole import (
    COMPRESSIONS,
    check_compression,
    check_place,
    open_bytes,
    replacing,
    written_whole,
)

#: Bytes that the line of an arc takes while it is written.
_LINE_BYTES = 300
#: How the text formats are written, by their suffixes.
_WRITERS: dict[str, TextWriter] = {
    ".txt": edgelist.WRITER,
    ".tsv": edgelist.TSV_WRITER,
    ".csv": delimited.WRITER,
    ".mtx": matrix_market.WRITER,
    ".edges": edgelist.WRITER,
    ".edgelist": edgelist.WRITER,
    ".snap": edgelist.WRITER,
    ".el": edgelist.EL_WRITER,
    ".wel": edgelist.WEL_WRITER,
    ".gr": dimacs.WRITER,
    ".graph": adjacency.METIS_WRITER,
    ".metis": adjacency.METIS_WRITER,
    ".graph-txt": adjacency.WRITER,
    ".adjlist": adjlist.WRITER,
}


def write(
    graph: Graph,
    path: str | os.PathLike[str],
    progress: Callable[[int], None] | None = None,
    *,
    quote_formulas: bool = False,
    in_edges: bool = False,
) -> None:
    """Write the edges of a graph; .gz, .bz2, .xz or .zst at the end of the name of a text, or of GraphML, compresses.

    The suffix decides the format:

    - .edgewise: keeps all of the graph, see `edgewise.Graph.save`.
    - .txt, .edges, .edgelist, .snap, .tsv: an edge list, with comments. .csv: a table with a header.
    - .el, .wel: edge lists of the GAP Benchmark Suite, without and with weights; integer ids from 0 on.
    - .mtx: Matrix Market. .gr: DIMACS, for shortest paths, with integer weights, 1 where the graph has none; an
      undirected graph becomes one of both directions of each edge. Both have 1..n in the place of ids.
    - .graph, .metis: METIS, for undirected graphs without self-loops and parallel edges, with positive integer weights
      or none; 1..n in the place of ids.
    - .graph-txt: rows of successors, as WebGraph reads them, for graphs without weights and parallel edges; 0..n-1 in
      the place of ids; both directions of an undirected edge.
    - .adjlist: an adjacency list of NetworkX, for graphs without weights.
    - .parquet, .pq: a table of source, target and weight; ids are integers of 64 bits or strings.
    - .npz: a sparse matrix in compressed sparse rows, which `scipy.sparse.load_npz` reads; 0..n-1 in the place of ids.
    - .sg, .wsg: serialized graphs of the GAP Benchmark Suite, without weights and with weights of int32; 0..n-1 in the
      place of ids, and sorted rows.
    - .graphml: GraphML, with all vertices.

    Each edge of an undirected graph is written once where no other is said. `edgewise.read` reads the files back, with
    ``directed=False`` for an undirected graph in another format than Matrix Market, METIS, GAP and GraphML, and for .gr
    and .graph-txt with ``parallel_edges="first"`` beside it. Ids of vertices without edges are lost in edge lists and
    tables, Parquet among them, the order of the vertices and the dtypes of 32 bits in all texts. Edge attributes are
    lost in all but .edgewise, with a warning. A graph that would not be read back is refused.

    In texts, weights are written as the shortest decimal numbers that identify them in their dtype. They are read as
    int64 or float64: int32 and int64 with the same values, float64 with the same bits. A float32 weight comes back as
    the float64 nearest to its decimal number, which equals the weight after a cast to float32: 0.1 in float32,
    0.10000000149..., is written as 0.1 and read as the float64 0.1.

    Args:
        graph: what to write.
        path: where; the file appears when it is complete.
        progress: called with the number of arcs written.
        quote_formulas: put an apostrophe before names that a program for spreadsheets would take for formulas:
            those that start with =, +, - or @.
        in_edges: write in-edges as well, to .edgewise files.

    Warns:
        GraphWarning: edge attributes, or ids other than 0..n-1 and 1..n, that the format does not keep; names in a
            .csv file that a program for spreadsheets would take for formulas.

    Raises:
        OutputError: another suffix, ids or a graph that cannot stand in the format, or a place that cannot be written.
        MissingDependencyError: .zst or .parquet, and no module that writes it.
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
    own = path.suffix.lower() == SUFFIX
    useless = {
        "in_edges": in_edges and not own,
        "quote_formulas": quote_formulas and _suffix(path) not in _WRITERS,
    }
    if any(useless.values()):
        name = next(name for name, given in useless.items() if given)
        raise OutputError(
            f"{path} has no place for what {name} asks for; leave it at False, or take another suffix"
        )
    if own:
        graph.save(path, in_edges=in_edges, progress=progress and _of_arcs(progress, graph))
        return
    known, report = _graph_format(path), progress or (lambda done: None)
    if known is None:
        _write_text(graph, path, quote_formulas, report)
    else:
        _write_graph(graph, path, known, report)
    _tell_of_losses(graph, path)


def _tell_of_losses(graph: Graph, path: Path) -> None:
    """Warn of edge attributes, and of ids, that a format does not keep."""
    known, lost = _graph_format(path), []
    base = _WRITERS[_suffix(path)].first_number if known is None else known.first_number
    if graph.edge_attributes:
        lost.append(f"the edge attributes {listed(graph.edge_attributes)}")
    if base is not None and not _has_ids_from(graph, base):
        lost.append(
            f"the ids ({', '.join(map(shown, graph.vertices[:3].tolist()))}, ...), which became numbers"
        )
    if lost:
        problem = (
            f"{path} is without {', and without '.join(lost)}; a file whose name ends in {SUFFIX} keeps them"
        )
        warn(printable(problem), GraphWarning)


def _has_ids_from(graph: Graph, base: int) -> bool:
    """Whether the ids of a graph are numbers in their order from 0, or from `base`, on."""
    ids = graph.vertices
    return ids.dtype != object and any(
        np.array_equal(ids, np.arange(first, first + len(ids))) for first in (0, base)
    )


def writing(graph: Graph, path: Path, in_edges: bool) -> int:
    """About the bytes that `write` takes beside the graph, and beside pages of the graph's file."""
    reading, n = graph.reading_ids(), graph.num_vertices
    known = _graph_format(path)
    if known is not None:
        return known.writing(graph)
    if path.suffix.lower() == SUFFIX:
        made = graph.making(Made.IN_EDGES) if in_edges and graph.directed else graph.making()
        return in_turn(made, held(reading.most)).most
    writer = _WRITERS[_suffix(path)]
    return in_turn(graph.making(), reading, held(8 * n + _LINE_BYTES * writer.longest(graph))).most


def check_graph_writable(path: Path) -> None:
    """Refuse, before any work, a path that a graph cannot be written to. Raises OutputError."""
    if path.suffix.lower() != SUFFIX and _suffix(path) not in _WRITERS and _graph_format(path) is None:
        from edgewise.io.graph_formats import suffixes

        packed, others = suffixes(packed=True), suffixes(packed=False)
        raise OutputError(
            f"{path} ends in {path.suffix or 'no suffix'!r}; expected {', '.join([*_WRITERS, *packed])}, each also "
            f"with {', '.join(COMPRESSIONS)}, or {', '.join(others)} or {SUFFIX}"
        )
    check_place(path)
    check_compression(path)


def _graph_format(path: Path) -> GraphFormat | None:
    """The format of a file that is not one of lines of edges, by its suffix."""
    from edgewise.io.graph_formats import by_suffix  # not loaded with edgewise, but with the first file

    return by_suffix(path, COMPRESSIONS)


def _write_text(graph: Graph, path: Path, quote_formulas: bool, progress: Callable[[int], None]) -> None:
    """Write a file of lines of edges, or of rows."""
    writer = _WRITERS[_suffix(path)]
    ids = writer.ids(graph, quote_formulas)
    with _explained(path), written_whole(path) as file:
        for done in writer.write(file, graph, ids):
            progress(done)
        graph.check_unchanged()
    if _suffix(path) == ".csv" and not quote_formulas:
        tell_of_formula(path, first_formula([ids]))


def _write_graph(graph: Graph, path: Path, known: GraphFormat, progress: Callable[[int], None]) -> None:
    """Write a file that is not one of lines of edges."""
    with _explained(path), replacing(path) as aside, open_bytes(aside, path.suffix) as file:
        known.write(graph, file, _suffix(path), progress)
        graph.check_unchanged()


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say of a file that cannot be written which it is. Raises OutputError."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None


def _of_arcs(progress: Callable[[int], None], graph: Graph) -> Callable[[int], None]:
    """A function of a number of bytes written that reports as many arcs."""
    rows = graph.stored
    total = sum(each.nbytes for each in (rows.offsets, rows.targets, rows.weights) if each is not None)
    return lambda done: progress(min(done * graph.num_arcs // total, graph.num_arcs))


def _suffix(path: Path) -> str:
    """That of the format, in lower case, without the suffix of a compression."""
    return (path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path).suffix.lower()
