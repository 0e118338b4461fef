"""Tables of columns between commas, semicolons or tabs, with or without a line of names (RFC 4180).

Fields may stand in quotes; a quoted field does not go over a line break.
"""

from edgewise.graph import Graph
from edgewise.io.edgelist import EDGE_LIST
from edgewise.io.formats import Format
from edgewise.io.options import ReadOptions
from edgewise.io.source import TextFile
from edgewise.io.table import COMMENTS, is_data, read_table

_DELIMITERS = "\t,;|"


def _read(file: TextFile, options: ReadOptions) -> tuple[Graph, int]:
    delimiter = options.delimiter or _delimiter(file, options.comments)
    return read_table(file, options, delimiter)


def _delimiter(file: TextFile, comments: str | None = None) -> str | None:
    """The delimiter in the first line of data; None for spaces."""
    marks = COMMENTS if comments is None else comments
    first = next((line for line in file.lines() if is_data(line, marks)), "")
    return next((mark for mark in _DELIMITERS if mark in first), None)


DELIMITED = Format(
    name="csv",
    suffixes=(".csv", ".tsv", ".tab"),
    looks_like=lambda file: _delimiter(file) not in (None, "\t"),
    read=_read,
    options=EDGE_LIST.options,
)
