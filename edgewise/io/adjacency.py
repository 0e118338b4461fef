"""Files with a row of neighbours for each vertex: METIS, and adjacency lists as WebGraph writes them.

Karypis and Kumar, "METIS 5.1.0 manual" (2013), section 4.1.1: a line "n m [fmt [ncon]]", then for each vertex 1..n its
size if fmt says so, its ncon weights, and its neighbours, each with the weight of the edge if fmt says so; each edge
stands in the rows of both its ends. Lines that start with % are comments.

Boldi and Vigna, "The WebGraph Framework I" (WWW 2004), class ASCIIGraph: the number of vertices, then a line of
successors for each vertex 0..n-1.
"""

import re
from dataclasses import replace

from edgewise.errors import ParseError
from edgewise.io.formats import Format, Plan
from edgewise.io.options import ReadOptions
from edgewise.io.rows import RowLayout
from edgewise.io.sized import Sizes, plan_sized, plan_undirected, sizes_of
from edgewise.io.source import TextFile
from edgewise.io.table import is_data
from edgewise.text import shortened

_COMMENTS = "%"
_SIZES = "'VERTICES EDGES', 'VERTICES EDGES FMT' or 'VERTICES EDGES FMT NCON'"
#: The digits of fmt, each 0 or 1: vertices have sizes; weights; edges have weights.
_FMT = re.compile("[01]{1,3}")
#: More weights of a vertex than any file has.
_MOST_WEIGHTS = 10_000


def _plan_metis(file: TextFile, options: ReadOptions) -> Plan:
    """Read the line of sizes; the graph is undirected."""
    sizes, sized, weights, weighted = _read_header(file)
    if options.weighted and not weighted:
        raise ParseError(f"{file.path} has no weights of edges to read with weighted=True")
    layout = RowLayout(
        (1, sizes.num_vertices),
        leading=sized + weights,
        weighted=weighted,
        keeps_weights=weighted and options.weighted is not False,
        once=True,
        comments=_COMMENTS,
    )
    return plan_undirected(file, layout, sizes, options)


def _read_header(file: TextFile) -> tuple[Sizes, int, int, bool]:
    """The sizes; how many sizes and weights a vertex has; whether edges have weights."""
    for number, line in enumerate(file.lines(), start=1):
        if not is_data(line, _COMMENTS):
            continue
        words = line.split(maxsplit=4)
        fmt = words[2] if len(words) > 2 else "0"
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
