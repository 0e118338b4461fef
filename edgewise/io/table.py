"""Tables of edges, a line for each: what edge lists and CSV files have in common."""

import csv
import re
from collections.abc import Iterator
from functools import partial
from itertools import islice

import numpy as np

from edgewise.errors import ParseError
from edgewise.graph import Graph
from edgewise.graph.checks import as_count
from edgewise.graph.csr import build_rows
from edgewise.graph.ids import Ids, as_id_column, named_ids
from edgewise.graph.numbering import number_vertices
from edgewise.graph.pairs import count_mirrored
from edgewise.io.lines import Edges, Layout, read_edges, read_edges_of_any_id
from edgewise.io.options import Column, ReadOptions
from edgewise.io.source import BLANKS, TextFile, first_lines

#: Names that are taken for those of columns where a header is not announced.
_USUAL_NAMES = {"source", "target", "src", "dst", "from", "to", "u", "v", "node1", "node2"}


def read_table(
    file: TextFile, options: ReadOptions, delimiter: str | None, header: bool | None
) -> tuple[Graph, int]:
    """Read a table of edges, and count as `make_graph` does.

    Args:
        file: what to read.
        options: what the caller said.
        delimiter: between columns; None for any number of spaces and tabs.
        header: whether the first line names the columns; None to tell by its looks.

    Raises:
        ParseError: columns that are not there, and everything that `read_edges` refuses.
    """
    comments = "#%" if options.comments is None else options.comments
    table = _Table(file, delimiter, comments, header)
    layout = table.layout(options)
    read = partial(read_edges, file, layout, table.skip, options.progress)
    if not layout.names:
        read = partial(read_edges_of_any_id, file, layout, table.skip, options.progress)
    return make_graph(read(), options, integers=not layout.names)


def make_graph(edges: Edges, options: ReadOptions, integers: bool) -> tuple[Graph, int]:
    """The graph of these edges, directed where the caller says nothing; `integers` is what ids are.

    Returns:
        The graph; and if it is undirected and keeps parallel edges, the number of pairs of vertices that are joined
        both by an edge "u v" and by an edge "v u".
    """
    source, target, ids = _numbered(edges, options, integers)
    parallel, loops = options.parallel_edges, options.self_loops
    directed = options.directed is not False
    if directed or parallel != "keep":
        return Graph._from_indices(source, target, edges.weight, directed, ids, parallel, loops), 0
    rows, num_loops = build_rows(
        source,
        target,
        edges.weight,
        ids.num_vertices,
        both_directions=True,
        drop_loops=loops == "drop",
        mark_reversed=True,
    )
    mirrored = count_mirrored(rows)
    return Graph(rows, ids, directed=False, num_loops=num_loops), mirrored


def _numbered(edges: Edges, options: ReadOptions, integers: bool) -> tuple[np.ndarray, np.ndarray, Ids]:
    """Both columns as indices, and the ids."""
    source, target = edges.source, edges.target
    if edges.names is not None and integers:
        return _by_value(edges)
    if edges.names is not None:
        return source, target, named_ids(edges.names)
    if options.num_vertices is not None and options.index_base:
        base, count = options.index_base, options.num_vertices
        return source - base, target - base, Ids(count, np.arange(base, base + count))
    return number_vertices(source, target, as_count(options.num_vertices))


def _by_value(edges: Edges) -> tuple[np.ndarray, np.ndarray, Ids]:
    """Integers that were read as names, as indices in the order of their values; 7 and 007 are one."""
    assert edges.names is not None
    values = list(map(int, edges.names))
    ordered = sorted(set(values))
    position = {value: index for index, value in enumerate(ordered)}
    index = np.array([position[value] for value in values], np.int32)
    return index[edges.source], index[edges.target], Ids(len(ordered), as_id_column(ordered, "ids"))


class _Table:
    """What the first lines of a table show.

    Attributes:
        skip: lines before those of edges, if there is a header.
    """

    def __init__(self, file: TextFile, delimiter: str | None, comments: str, header: bool | None) -> None:
        self._path = file.path
        self._delimiter = delimiter
        self._comments = comments
        found = list(islice(_lines_of_fields(file, delimiter, comments), 2))
        self._header: list[str] | None = None
        self.skip = 0
        if found and (header or (header is None and _looks_like_header(found))):
            self.skip, self._header = found.pop(0)
        self._fields = found[0][1] if found else None

    def layout(self, options: ReadOptions) -> Layout:
        """Where edges stand, by what the caller said and the first line of data shows."""
        first = self._fields
        if first is None:
            if options.num_vertices is None:
                raise ParseError(f"{self._path} has no edges; give num_vertices for a graph without any")
            first = ["0", "0"]
        source, target = (self._place(column, first) for column in options.columns or (0, 1))
        weight = self._weight_place(options, first, {source, target})
        integers = _is_integer(first[source]) and _is_integer(first[target])
        ids = None
        if options.num_vertices is not None:
            base = options.index_base or 0
            ids = (base, base + options.num_vertices - 1)
        return Layout(
            source,
            target,
            weight,
            num_columns=len(first),
            delimiter=self._delimiter,
            comments=self._comments,
            names=not integers if options.names is None else options.names,
            ids=ids,
            whole_weights=weight is None or _is_integer(first[weight]),
        )

    def _weight_place(self, options: ReadOptions, first: list[str], ends: set[int]) -> int | None:
        """The column of the weights: the one named, else a column "weight", else the third of three."""
        if options.weighted is False:
            return None
        if options.weight_column is not None:
            return self._place(options.weight_column, first)
        others = [place for place in range(len(first)) if place not in ends]
        named = [place for place in others if self._header and self._header[place].lower() == "weight"]
        if named:
            return named[0]
        if options.weighted and others:
            return others[0]
        if options.weighted:
            raise ParseError(f"{self._path} has {len(first)} columns; weighted=True needs a third")
        return others[0] if len(others) == 1 and _is_number(first[others[0]]) else None

    def _place(self, column: Column, first: list[str]) -> int:
        """The number of a column that is given by number or name."""
        if isinstance(column, str):
            if self._header is None or column not in self._header:
                names = "no header" if self._header is None else f"the columns {', '.join(self._header)}"
                raise ParseError(f"{self._path} has {names}; there is no column {column!r}")
            return self._header.index(column)
        if not 0 <= column < len(first):
            raise ParseError(
                f"{self._path} has {len(first)} columns on the first line of data; expected one with number "
                f"{column}, counted from 0. If something else stands between columns, give delimiter="
            )
        return column


def _lines_of_fields(file: TextFile, delimiter: str | None, comments: str) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line at the start of a file that is no comment, and the lines up to its end."""
    for number, line in enumerate(first_lines(file.head), start=1):
        if line.strip(BLANKS) and line.strip(BLANKS)[0] not in comments:
            yield number, split_line(line, delimiter)


def split_line(line: str, delimiter: str | None) -> list[str]:
    """The fields of one line, as the compiled scan sees them."""
    if delimiter is None:
        return re.split(f"[{BLANKS}]+", line.strip(BLANKS))
    return [
        field.strip(BLANKS) for field in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    ]


def _looks_like_header(lines: list[tuple[int, list[str]]]) -> bool:
    """Whether the first line names columns: by usual names, or by words above integers."""
    first = lines[0][1][:2]
    if _USUAL_NAMES.issuperset(name.lower() for name in first):
        return True
    second = lines[-1][1][:2]
    return not any(map(_is_integer, first)) and all(map(_is_integer, second))


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").removeprefix("+").isdecimal() and text.isascii()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
