"""Tables of columns between commas, semicolons or tabs, with or without a line of names (RFC 4180).

Fields may stand in quotes; a quoted field does not go over a line break.
"""

from itertools import islice

from edgewise.graph import Graph
from edgewise.io.edge_data import ends_of
from edgewise.io.edgelist import EDGE_LIST
from edgewise.io.fields import has_decimal_comma
from edgewise.io.formats import Format, Plan
from edgewise.io.options import ReadOptions
from edgewise.io.source import TextFile
from edgewise.io.split import data_lines, named_delimiter, split_line
from edgewise.io.table import COMMENTS, plan_table
from edgewise.io.writing import LineWriter

_DELIMITERS = "\t,;|"


def _plan(file: TextFile, options: ReadOptions) -> Plan:
    delimiter = options.delimiter or _delimiter(file, options.comments)
    return plan_table(file, options, delimiter)


def _delimiter(file: TextFile, comments: str | None = None) -> str | None:
    """The delimiter in the first line of data; None for spaces. A comma may be the point of a number between others."""
    named = named_delimiter(next(file.lines(), ""))
    if named:
        return named
    marks = COMMENTS if comments is None else comments
    first = ends_of(next((line for _, line in data_lines(file, marks)), ""))
    found = next((mark for mark in _DELIMITERS if mark in first), None)
    if found == "," and ";" in first:
        fields = list(islice(split_line(first, ";"), 3))
        if len(fields) == 3 and has_decimal_comma(fields[2]):
            return ";"
    return found


DELIMITED = Format(
    name="csv",
    suffixes=(".csv", ".tsv", ".tab"),
    looks_like=lambda file: _delimiter(file) not in (None, "\t"),
    plan=_plan,
    options=EDGE_LIST.options,
)


def _header(graph: Graph) -> str:
    return "source,target,weight\n" if graph.weighted else "source,target\n"


WRITER = LineWriter(",", _header, marks=",")
