"""Files with a row of neighbours for each vertex: METIS, and adjacency lists as WebGraph writes them.

Karypis and Kumar, "METIS 5.1.0 manual" (2013), section 4.1.1: a line "n m [fmt [ncon]]", then for each vertex 1..n its
size if fmt says so, its ncon weights, and its neighbours, each with the weight of the edge if fmt says so; each edge
stands in the rows of both its ends. Lines that start with % are comments.

Boldi and Vigna, "The WebGraph Framework I" (WWW 2004), class ASCIIGraph: the number of vertices, then a line of
successors for each vertex 0..n-1.
"""

import re
from dataclasses import replace
from itertools import islice

from edgewise.errors import OutputError, ParseError
from edgewise.graph import Graph
from edgewise.io.doubts import LOOKED_AT
from edgewise.io.foreign import refuse_foreign
from edgewise.io.formats import Format, Plan
from edgewise.io.options import ReadOptions
from edgewise.io.rows import RowLayout
from edgewise.io.sized import Sizes, plan_sized, plan_undirected, sizes_of
from edgewise.io.source import LONGEST_ROW, TextFile
from edgewise.io.writing import RowWriter, check_has_no_weights, check_whole_weights
from edgewise.text import shortened

_COMMENTS = "%"
_SIZES = "'VERTICES EDGES', 'VERTICES EDGES FMT' or 'VERTICES EDGES FMT NCON'"
#: The digits of fmt, each 0 or 1: vertices have sizes; weights; edges have weights.
_FMT = re.compile("[01]{1,3}")
#: The columns of an edge list with weights.
_MOST_COLUMNS = 3
#: More weights of a vertex than any file has.
_MOST_WEIGHTS = 10_000


def _plan_metis(file: TextFile, options: ReadOptions) -> Plan:
    """Read the line of sizes; the graph is undirected."""
    sizes, sized, weights, weighted = _read_header(file)
    file.longest_line = LONGEST_ROW
    if options.weighted and not weighted:
        raise ParseError(f"{file.path} has no weights of edges to read with weighted=True")
    layout = RowLayout(
        (1, sizes.num_vertices),
        leading=sized + weights,
        weighted=weighted,
        keeps_weights=weighted and options.weighted is not False,
        once=True,
        comments=_COMMENTS,
        hint=_hint(file),
    )
    return plan_undirected(file, layout, sizes, options)


def _read_header(file: TextFile) -> tuple[Sizes, int, int, bool]:
    """The sizes; how many sizes and weights a vertex has; whether edges have weights."""
    for number, line in file.data_lines(_COMMENTS):
        words = line.split(maxsplit=4)
        fmt = words[2] if len(words) > 2 else "0"
        if not words[0].isdecimal():
            refuse_foreign(file)
        if not 2 <= len(words) <= 4 or not _FMT.fullmatch(fmt):
            raise ParseError(
                f"{file.path}:{number}: got {shortened(line)!r}; expected {_SIZES}. For other files of this name, give "
                "format='adjacency' or 'edgelist'"
            )
        vertices, edges = sizes_of(file, number, line, words[:2], _SIZES)
        sized, weighs, weighted = (digit == "1" for digit in fmt.zfill(3))
        (count,) = sizes_of(file, number, line, words[3:] or ["1"], _SIZES)
        if count > _MOST_WEIGHTS:
            raise ParseError(
                f"{file.path}:{number}: got {count:,} weights of each vertex; expected at most {_MOST_WEIGHTS:,}"
            )
        return Sizes(number, vertices, edges), int(sized), count * weighs, weighted
    raise ParseError(f"{file.path} has no line {_SIZES}")


def _hint(file: TextFile) -> str:
    """What to say of a file whose rows are wrong, if its first lines look like edges."""
    data = (line for _, line in file.data_lines(_COMMENTS))
    lengths = {len(line.split(maxsplit=_MOST_COLUMNS)) for line in islice(data, LOOKED_AT)}
    if len(lengths) != 1 or not lengths <= {2, 3}:
        return ""
    return ". Its first lines have as many numbers each, as edges have: format='edgelist' reads them so"


def _plan_adjacency(file: TextFile, options: ReadOptions) -> Plan:
    """Read the number of vertices; rows list arcs."""
    if options.weighted:
        raise ParseError(
            f"{file.path} is read as rows of neighbours; it has no weights to read with weighted=True"
        )
    line = file.head.split(b"\n", 1)[0].decode(errors="replace")
    expected = "the number of vertices"
    if len(line.split(maxsplit=1)) != 1:
        raise ParseError(f"{file.path}:1: got {shortened(line)!r}; expected {expected}")
    (vertices,) = sizes_of(file, 1, line, line.split(), expected)
    layout = RowLayout((0, vertices - 1))
    return replace(plan_sized(file, layout, Sizes(1, vertices, 0), options, base=0), declared=None)


def _is_called_so(file: TextFile) -> bool:
    """Never: their first lines could be edges, or a number of edges, so only names tell."""
    return False


METIS = Format(
    name="metis",
    suffixes=(".graph", ".metis"),
    looks_like=_is_called_so,
    plan=_plan_metis,
    options=frozenset({"weighted"}),
)
ADJACENCY = Format(
    name="adjacency",
    suffixes=(".graph-txt",),
    looks_like=_is_called_so,
    plan=_plan_adjacency,
    options=frozenset({"weighted"}),
)


def _metis_sizes(graph: Graph) -> str:
    return f"{graph.num_vertices} {graph.num_edges}{' 001' if graph.weighted else ''}\n"


def _check_metis(graph: Graph) -> None:
    if graph.directed:
        raise OutputError(
            "the graph is directed, and those of METIS are not; write graph.to_undirected(), or use .gr or .mtx"
        )
    check_whole_weights(graph)
    if graph.weights is not None and graph.weights.min(initial=1) < 1:
        raise OutputError(
            f"a weight is {graph.weights.min()}, and those of METIS are positive; use .txt, .csv or .mtx"
        )


def _number_of_vertices(graph: Graph) -> str:
    return f"{graph.num_vertices}\n"


def _check_adjacency(graph: Graph) -> None:
    check_has_no_weights(graph, ".txt, .csv or .mtx")


METIS_WRITER = RowWriter(_metis_sizes, _check_metis, base=1, parallel=False, loops=False)
WRITER = RowWriter(_number_of_vertices, _check_adjacency, base=0, parallel=False)
