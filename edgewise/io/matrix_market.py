"""Matrix Market files of sparse matrices: entry (i, j) is the edge from i to j, and the ids are 1..n.

Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats: Initial Design" (NISTIR 5935, 1996), section 2.
"""

from dataclasses import replace

from edgewise.errors import ParseError
from edgewise.graph import Graph
from edgewise.graph.ids import MAX_VERTICES
from edgewise.io.formats import Format
from edgewise.io.lines import Layout, read_edges
from edgewise.io.options import ReadOptions
from edgewise.io.source import TextFile, first_lines
from edgewise.io.table import make_graph

_MAGIC = b"%%MatrixMarket"
_VALUES = {"pattern": 0, "integer": 1, "real": 1}
_SYMMETRIES = ("general", "symmetric")


def _read(file: TextFile, options: ReadOptions) -> tuple[Graph, int]:
    """Read a coordinate matrix; a symmetric one is an undirected graph."""
    values, symmetry = _read_banner(file)
    skip, num_vertices, num_entries = _read_sizes(file)
    has_weights = _VALUES[values] == 1
    if options.weighted and not has_weights:
        raise ParseError(f"{file.path} is a pattern matrix; it has no weights to read with weighted=True")
    layout = Layout(
        weight=2 if has_weights and options.weighted is not False else None,
        num_columns=3 if has_weights else 2,
        comments="%",
        ids=(1, num_vertices),
        whole_weights=values == "integer",
        fractions=values != "integer",
    )
    edges = read_edges(file, layout, skip, options.progress)
    if len(edges.source) != num_entries:
        raise ParseError(
            f"{file.path} declares {num_entries:,} entries and holds {len(edges.source):,}; it is truncated, "
            "or its line of sizes is wrong"
        )
    sized = replace(options, num_vertices=num_vertices, index_base=1)
    if symmetry == "general":
        return make_graph(edges, sized, integers=True)
    graph, mirrored = make_graph(edges, replace(sized, directed=False), integers=True)
    return graph.as_directed() if options.directed else graph, mirrored


def _read_banner(file: TextFile) -> tuple[str, str]:
    """The kind of values and the symmetry that the first line declares."""
    line = file.head.split(b"\n", 1)[0].decode(errors="replace").strip()
    words = line.lower().split()
    if len(words) != 5 or words[0] != _MAGIC.decode().lower() or words[1] != "matrix":
        raise ParseError(
            f"{file.path}:1: got {line[:60]!r}; expected '%%MatrixMarket matrix coordinate FIELD SYMMETRY'"
        )
    for word, known in zip(words[2:], (("coordinate",), _VALUES, _SYMMETRIES), strict=True):
        if word not in known:
            raise ParseError(f"{file.path}:1: got a matrix that is {word}; expected {' or '.join(known)}")
    return words[3], words[4]


def _read_sizes(file: TextFile) -> tuple[int, int, int]:
    """The lines up to the line of sizes, the number of vertices, and the number of entries."""
    for number, line in enumerate(first_lines(file.head), start=1):
        words = line.split()
        if not words or line.startswith("%"):
            continue
        if len(words) != 3 or not all(word.isdecimal() for word in words):
            raise ParseError(f"{file.path}:{number}: got {line[:60]!r}; expected 'rows columns entries'")
        rows, columns, entries = map(int, words)
        if rows != columns:
            raise ParseError(f"{file.path}:{number}: the matrix is {rows} by {columns}; a graph is square")
        if rows > MAX_VERTICES:
            raise ParseError(
                f"{file.path}:{number}: {rows:,} vertices would need {8 * rows:,} bytes for ids alone; at most "
                "2**31 - 1 can be had"
            )
        return number, rows, entries
    raise ParseError(f"{file.path} has no line 'rows columns entries' after its comments")


MATRIX_MARKET = Format(
    name="matrix-market",
    suffixes=(".mtx", ".mm"),
    looks_like=lambda head: head[: len(_MAGIC)].lower() == _MAGIC.lower(),
    read=_read,
    options=frozenset({"weighted"}),
)
