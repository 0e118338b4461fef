"""Networks of KONECT, files out.*: a line "% FORMAT WEIGHTS", perhaps "% edges vertices vertices", then lines
"source target [weight [time]]".

Kunegis, "Handbook of Network Analysis: the KONECT Project" (2018), sections 8.1 and 9: FORMAT is sym for undirected
edges, asym for directed ones, bip for edges between two kinds of vertices, each numbered from 1.
"""

import re
from dataclasses import replace

from edgewise.errors import ParseError
from edgewise.io.edgelist import EDGE_LIST
from edgewise.io.formats import Format, Plan
from edgewise.io.lines import LineLayout
from edgewise.io.options import ReadOptions
from edgewise.io.source import TextFile
from edgewise.io.table import plan_table
from edgewise.text import shortened

#: Whether the third column has weights of edges, by the word that declares it. That of "positive" counts parallel
#: edges, that of "dynamic" says whether an edge appears or vanishes.
_WEIGHTED = {
    "unweighted": False,
    "positive": False,
    "posweighted": True,
    "signed": True,
    "multisigned": True,
    "weighted": True,
    "multiweighted": True,
    "multiposweighted": True,
    "dynamic": None,
}
_FIRST_LINE = re.compile(rf"%[ \t]*(sym|asym|bip)[ \t]+({'|'.join(_WEIGHTED)})[ \t\r]*")
_WEIGHT, _TIME = 2, 3


def _words(file: TextFile) -> tuple[str, str] | None:
    """The format and the kind of weights that the first line declares, if it does."""
    match = _FIRST_LINE.fullmatch(file.head.split(b"\n", 1)[0].decode(errors="replace"))
    return None if match is None else (match[1], match[2])


def _plan(file: TextFile, options: ReadOptions) -> Plan:
    """Read the first lines, which say whether edges have directions and weights."""
    words = _words(file)
    if words is None:
        line = file.head.split(b"\n", 1)[0].decode(errors="replace")
        raise ParseError(
            f"{file.path}:1: got {shortened(line)!r}; expected '% FORMAT WEIGHTS' with FORMAT one of sym, asym, bip "
            f"and WEIGHTS one of {', '.join(_WEIGHTED)}"
        )
    kind, weights = words
    if kind == "bip":
        raise ParseError(
            f"{file.path} has edges between two kinds of vertices, each numbered from 1, so that vertex 1 of one is "
            "not vertex 1 of the other. Add an offset to the second column first, or give format='edgelist' to "
            "read the columns as they are"
        )
    is_asked = options.weighted is not None or options.weight_column is not None
    if _WEIGHTED[weights] is None and not is_asked:
        raise ParseError(
            f"{file.path} has edges that appear and vanish (% {kind} dynamic); weighted=False takes all of "
            "them as edges"
        )
    if kind == "sym":  # with directed=True both directions of each edge, as of other undirected files
        plan = _plan_columns(file, replace(options, directed=False), weights, is_asked)
        return replace(plan, directed=bool(options.directed))
    return _plan_columns(file, options, weights, is_asked)


def _plan_columns(file: TextFile, options: ReadOptions, weights: str, is_asked: bool) -> Plan:
    """How to read the columns, for the declared kind of weights and, if `is_asked`, what the caller says of them."""
    if is_asked:
        return plan_table(file, options, options.delimiter, usual_header=False)
    plan = plan_table(file, replace(options, weighted=False), options.delimiter, usual_header=False)
    assert isinstance(plan.layout, LineLayout)
    columns = plan.layout.num_columns
    if _WEIGHTED[weights] and columns > _WEIGHT:
        plan = plan_table(file, replace(options, weighted=True), options.delimiter, usual_header=False)
    return replace(plan, doubt=_doubt(file, weights, columns))


def _doubt(file: TextFile, weights: str, columns: int) -> str | None:
    """What to say of columns that are left out."""
    left = []
    if columns > _WEIGHT and weights == "positive":
        left.append("the third column, which counts parallel edges (weighted=True takes it as weights)")
    if columns > _TIME:
        left.append("the fourth column, which has the times of edges")
    if not left:
        return None
    return (
        f"{file.path}: left out {' and '.join(left)}. weighted=True or weighted=False says that this is meant"
    )


KONECT = Format(
    name="konect",
    suffixes=(),
    looks_like=lambda file: _words(file) is not None,
    plan=_plan,
    options=EDGE_LIST.options,
)
