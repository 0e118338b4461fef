"""Matrix Market files of sparse matrices: entry (i, j) is the edge from i to j, and the ids are 1..n.

Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats: Initial Design" (NISTIR 5935, 1996), section 2.
"""

from edgewise.errors import ParseError
from edgewise.graph import Graph
from edgewise.io.formats import Format, Plan
from edgewise.io.lines import LineLayout
from edgewise.io.options import ReadOptions
from edgewise.io.sized import Sizes, plan_sized, plan_undirected, sizes_of
from edgewise.io.source import TextFile
from edgewise.io.writing import LineWriter
from edgewise.text import shortened

_MAGIC = b"%%MatrixMarket"
_VALUES = {"pattern": 0, "integer": 1, "unsigned-integer": 1, "real": 1}
_SYMMETRIES = ("general", "symmetric")
_COMMENTS = "%"


def _plan(file: TextFile, options: ReadOptions) -> Plan:
    """Read the first lines of a coordinate matrix; a symmetric one is an undirected graph."""
    values, symmetry = _read_banner(file)
    sizes = _read_sizes(file)
    has_weights = _VALUES[values] == 1
    if options.weighted and not has_weights:
        raise ParseError(f"{file.path} is a pattern matrix; it has no weights to read with weighted=True")
    layout = LineLayout(
        weight=2 if has_weights and options.weighted is not False else None,
        num_columns=3 if has_weights else 2,
        comments=_COMMENTS,
        whole_weights=values != "real",
        fractions=values == "real",
        form="ROW COLUMN VALUE" if has_weights else "ROW COLUMN",
    )
    if symmetry == "general":
        return plan_sized(file, layout, sizes, options)
    return plan_undirected(file, layout, sizes, options)


def _read_banner(file: TextFile) -> tuple[str, str]:
    """The kind of values and the symmetry that the first line declares."""
    line = file.head.split(b"\n", 1)[0].decode(errors="replace").strip()
    words = line.lower().split()
    if len(words) != 5 or words[0] != _MAGIC.decode().lower() or words[1] != "matrix":
        raise ParseError(
            f"{file.path}:1: got {shortened(line)!r}; expected '%%MatrixMarket matrix coordinate FIELD SYMMETRY'"
        )
    for word, known in zip(words[2:], (("coordinate",), _VALUES, _SYMMETRIES), strict=True):
        if word not in known:
            raise ParseError(
                f"{file.path}:1: got a matrix that is {shortened(word)}; expected {' or '.join(known)}"
            )
    return words[3], words[4]


def _read_sizes(file: TextFile) -> Sizes:
    """The sizes that the first line after the comments declares."""
    expected = "'rows columns entries'"
    for number, line in file.data_lines(_COMMENTS):
        words = line.split(maxsplit=3)
        if len(words) != 3:
            raise ParseError(f"{file.path}:{number}: got {shortened(line)!r}; expected {expected}")
        rows, columns, entries = sizes_of(file, number, line, words, expected)
        if rows != columns:
            raise ParseError(f"{file.path}:{number}: the matrix is {rows} by {columns}; a graph is square")
        return Sizes(number, rows, entries)
    raise ParseError(f"{file.path} has no line 'rows columns entries' after its comments")


MATRIX_MARKET = Format(
    name="matrix-market",
    suffixes=(".mtx", ".mm"),
    looks_like=lambda file: file.head[: len(_MAGIC)].lower() == _MAGIC.lower(),
    plan=_plan,
    options=frozenset({"weighted"}),
)


def _banner(graph: Graph) -> str:
    values = "pattern" if graph.weights is None else {"i": "integer", "f": "real"}[graph.weights.dtype.kind]
    symmetry = "general" if graph.directed else "symmetric"
    n = graph.num_vertices
    return f"%%MatrixMarket matrix coordinate {values} {symmetry}\n{n} {n} {graph.num_edges}\n"


WRITER = LineWriter(" ", _banner, numbered=True)
