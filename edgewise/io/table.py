"""Tables of edges, one edge on each line: the common part of edge lists and CSV files."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Self

from edgewise.convert.usual_names import has_row_numbers, is_no_weight, is_usual_weight, is_weight, usual_ends
from edgewise.errors import GraphError, ParseError
from edgewise.io.declared import Declared
from edgewise.io.doubts import (
    LOOKED_AT,
    columns_refusal,
    ends_problem,
    is_line_of_sizes,
    kind_doubt,
    left_out_doubt,
    lone_hint,
    look_like_times,
    names_doubt,
    rows_hint,
    times_doubt,
)
from edgewise.io.edge_data import edge_data, refuse_other_of_networkx
from edgewise.io.fields import (
    are_names_above_ids,
    has_decimal_comma,
    is_finite,
    is_integer,
    is_missing,
    is_number,
    looks_like_header,
)
from edgewise.io.formats import Plan
from edgewise.io.lines import UNCLOSED, LineLayout
from edgewise.io.misread import refuse_fractions, refuse_marks
from edgewise.io.options import Column, ReadOptions
from edgewise.io.source import TextFile
from edgewise.io.split import data_lines, named_delimiter, open_quote, split_line
from edgewise.text import listed, shortened, shown

#: Characters that start comments, unless the caller gives others.
COMMENTS = "#%"
#: The columns of a line with a weight.
_WITH_WEIGHT = 3
#: The column that says whether edges are directed.
_KIND = "type"
#: The most columns of a table; a line with more is refused before a list of them is made.
_MOST_COLUMNS = 10_000


def places_of(
    path: Path, names: list[str], numeric: list[bool], options: ReadOptions
) -> tuple[tuple[int, int, int | None], str | None]:
    """The columns of a table of typed columns that have the sources, the targets and, or None, the weights.

    Args:
        path: the file, for messages.
        names: of the columns.
        numeric: which columns have numbers.
        options: what the caller said.

    Returns:
        The columns, and what to warn of if they may have been meant otherwise.

    Raises:
        ParseError: columns that are not there.
    """
    table = _Table.typed(path, names, numeric)
    return table.places(options), table.doubt


def plan_table(
    file: TextFile, options: ReadOptions, delimiter: str | None, usual_header: bool | None = None
) -> Plan:
    """How to read a table of edges.

    Args:
        file: what to read.
        options: what the caller said.
        delimiter: between columns; None for any number of spaces and tabs.
        usual_header: whether files of this format have a line of column names, where the caller does not say; None to
            tell by its looks.

    Raises:
        ParseError: columns that are not there.
    """
    comments = COMMENTS if options.comments is None else options.comments
    declared = Declared()
    lines = (line for _, line in data_lines(file, comments, declared.note))
    first = list(islice(lines, 1))
    is_own = declared.names is not None  # its braces are names
    first.extend(islice(lines, LOOKED_AT - 1))
    if delimiter in (None, ","):
        refuse_other_of_networkx(file, first)
    seen = None if is_own else edge_data(file, first[0] if first else None, comments, options)
    if seen is not None:
        file, options = seen, replace(options, header=False, weighted=seen.weighted, weight_column=None)
    if options.header is None and named_columns(options):
        options = replace(options, header=True)
    table = _Table(file, delimiter, comments, usual_header if options.header is None else options.header)
    if options.header is None and usual_header is False:
        table.check_has_no_names()
    if delimiter is None and seen is None and options.names is None and not table.is_told:
        refuse_marks(file.path, first)
    layout, directed = table.layout(options), options.directed is not False
    if seen is not None and layout.num_columns != _WITH_WEIGHT:
        raise ParseError(
            f"{file.path}: got {shortened(first[0])!r}; expected two vertices before the attributes. If names have "
            "blanks in them, write the file with networkx.write_edgelist(G, path, delimiter='\\t') and read it with "
            "delimiter='\\t'"
        )
    return Plan(
        layout,
        options,
        table.skip,
        both_directions=not directed,
        directed=directed,
        doubt=table.doubt,
        kind_doubt=table.kind_doubt(options),
        are_names_by_looks=layout.names and options.names is None and not table.is_told,
        seen=seen,
        may_begin_with_sizes=options.header is None and table.may_begin_with_sizes,
    )


class _Table:
    """The facts that the first lines of a table show.

    Attributes:
        skip: the number of lines before the edges, if there is a header.
        doubt: what to warn of if the columns may have been meant otherwise, known from `layout` on.
    """

    def __init__(self, file: TextFile, delimiter: str | None, comments: str, header: bool | None) -> None:
        self._path = file.path
        self._delimiter = delimiter
        self._comments = comments
        self.doubt: str | None = None
        lines = self._data_lines(file)
        found = list(islice(lines, 2))
        self.is_told = self._declared is not None
        if header is None:
            header = self._declared is None and bool(found) and looks_like_header([line for _, line in found])
        self._header: list[str] | None = None
        self.skip = 0
        if found and header:
            self.skip, self._header = found.pop(0)
            found.extend(islice(lines, 1))
        elif found and self._delimiter is not None:  # comments before the edges
            self.skip = found[0][0] - 1
        self._found, self._later = found, [fields for _, fields in islice(lines, LOOKED_AT)]
        if header is not True and len(found) > 1:
            refusal = columns_refusal(found[0][1], found[0][0], found[1][1])
            if refusal:
                raise ParseError(f"{self._path}:{found[1][0]}: {refusal}")
        if self._header and found and len(self._header) != len(found[0][1]):
            raise ParseError(
                f"{self._path}:{self.skip}: the header names {len(self._header)} columns and the first line of data "
                f"has {len(found[0][1])}; expected as many. If the first line has no names, give header=False"
            )

    @classmethod
    def typed(cls, path: Path, names: list[str], numeric: list[bool]) -> Self:
        """A table whose columns have types in the place of first lines."""
        table = cls.__new__(cls)
        table._path, table._header, table.doubt, table.is_told, table._later = path, names, None, False, []
        table._found = [(1, ["0" if is_numeric else "a" for is_numeric in numeric])]
        return table

    def _data_lines(self, file: TextFile) -> Iterator[tuple[int, list[str]]]:
        """The number and the fields of each line that is not a comment; notes what comments before it declare.

        Raises:
            ParseError: a line of more columns than any table has, or with quotes that are not closed.
        """
        self._declared: bool | None = None
        self._undirected: str | None = None
        begun, declared = False, Declared()
        for number, line in file.data_lines(self._comments, declared.note):
            if number == 1 and self._delimiter is not None and named_delimiter(line):
                continue
            if not begun:
                begun, self._declared, self._undirected = True, declared.names, declared.undirected
            fields = list(islice(split_line(line, self._delimiter), _MOST_COLUMNS + 1))
            if len(fields) > _MOST_COLUMNS:
                raise ParseError(
                    f"{self._path}:{number}: got {shortened(line)!r}, which has more than {_MOST_COLUMNS:,} "
                    "columns; expected two or a few more. Write a line for each edge"
                )
            column = open_quote(line, self._delimiter)
            if column:
                raise ParseError(
                    f"{self._path}:{number}: got {shortened(line)!r}; the quotes in column {column} {UNCLOSED}"
                )
            yield number, fields
        if not begun:
            self._declared, self._undirected = declared.names, declared.undirected

    def check_has_no_names(self) -> None:
        """Refuse a first line that looks like names of columns above edges, if nothing says that it holds ids."""
        if self._declared is not None or len(self._found) < 2:
            return
        (number, names), (_, values) = self._found
        if are_names_above_ids(names, values):
            raise ParseError(
                f"{self._path}:{number}: got {listed(names)} above integers, which looks like names of columns. Give "
                "header=True if it is, or header=False if these are ids"
            )

    def layout(self, options: ReadOptions) -> LineLayout:
        """The layout, from the caller's options and the first line of data."""
        for column in named_columns(options):
            self._place(column, [])
        if not self._found and options.num_vertices is None and options.vertices is None:
            raise ParseError(f"{self._path} has no edges; give num_vertices for a graph without any")
        first = self._first
        source, target, weight = self.places(options)
        names = options.names if options.names is not None else self._declared
        if names is None:
            names = not (is_integer(first[source]) and is_integer(first[target]))
            if names:
                lines = [first, *self._below()]
                ends = source, target
                refuse_fractions(self._path, [line[end] for line in lines for end in ends if end < len(line)])
            if names and options.header is None and self._header is None:
                doubt = names_doubt(first, self._below(), (source, target))
                self.doubt = (
                    None if doubt else self.doubt
                )  # a header comes before what is made of its columns
                self._note(doubt)
        self._check_kinds(options)
        return LineLayout(
            source,
            target,
            weight,
            num_columns=len(first),
            delimiter=self._delimiter,
            comments=self._comments,
            names=bool(names),
            ids=allowed_ids(self._path, options, bool(names)),
            whole_weights=weight is None or is_integer(first[weight]),
            hint=rows_hint([first, *self._below()]) if self._delimiter is None else "",
            careful=self._delimiter is not None and options.comments is None,
        )

    def _check_kinds(self, options: ReadOptions) -> None:
        """Refuse edges of both kinds, and note undirected ones, in a column "Type" as Gephi has it."""
        header = self._header or []
        places = [place for place, name in enumerate(header) if name.lower() == _KIND]
        lines = [self._first, *self._below()]
        kinds = {fields[place].lower() for fields in lines for place in places if place < len(fields)}
        if not kinds or not kinds <= {"directed", "undirected"} or options.directed is not None:
            return
        if len(kinds) > 1:
            raise ParseError(
                f"{self._path} has directed and undirected edges by its column {shown(header[places[0]])}; "
                "expected one kind. Give directed=True or False to take all of them so"
            )
        if "undirected" in kinds:
            self._undirected = f"the column {shown(header[places[0]])}"

    def kind_doubt(self, options: ReadOptions) -> str | None:
        """What to warn of if the file calls its graph undirected, and the caller says nothing."""
        if self._undirected is None or options.directed is not None:
            return None
        return f"{self._path}: {kind_doubt(self._undirected)}"

    @property
    def _first(self) -> list[str]:
        """The fields of the first line of data."""
        return self._found[0][1] if self._found else ["0", "0"]

    def places(self, options: ReadOptions) -> tuple[int, int, int | None]:
        """The columns of sources, of targets and of weights; None where there are none."""
        first = self._first
        columns = options.columns or self._ends_by_name()
        source, target = (self._place(column, first) for column in columns)
        if source == target:
            raise ParseError(
                f"{self._path}: sources and targets are both in column {source}, counted from 0; expected two columns"
            )
        return source, target, self._weight_place(options, first, {source, target})

    def _ends_by_name(self) -> tuple[int, int]:
        """The columns of sources and targets: those with usual names, else the first two if the header allows it."""
        header = self._header or []
        ends = usual_ends(header)
        problem = None if ends else ends_problem(header)
        if problem:
            raise ParseError(
                f"{self._path}: the header is {listed(map(shown, header))}; {problem}. Say which columns have ids: "
                "columns=(0, 2), counted from 0, or by their names"
            )
        return ends or (0, 1)

    def _weight_place(self, options: ReadOptions, first: list[str], ends: set[int]) -> int | None:
        """The column of the weights: the one named, else a column "weight", else the remaining one of three."""
        if options.weighted is False:
            return None
        if options.weight_column is not None:
            place = self._place(options.weight_column, first)
            if place in ends:
                raise ParseError(
                    f"{self._path}: column {place}, counted from 0, has ids; expected another for weights"
                )
            return place
        others = [place for place in range(len(first)) if place not in ends]
        if self._header is not None:
            others = [place for place in others if not has_row_numbers(self._header[place])] or others
        named = [place for place in others if self._header and is_weight(self._header[place])]
        if named:
            assert self._header is not None
            return self._place(self._header[named[0]], first)
        if options.weighted:
            return self._demanded(others)
        if len(others) == 1:
            return self._remaining(others[0])
        if others and (self._header is None or any(is_number(first[place]) for place in others)):
            columns = [str(place) if self._header is None else shown(self._header[place]) for place in others]
            self._note(left_out_doubt(columns, len(first)))
        return None

    def _demanded(self, others: list[int]) -> int:
        """The column of weights that the caller demands without saying which: the first of those that may have some."""
        header = self._header
        if not others:
            raise ParseError(f"{self._path} has {len(self._first)} columns; weighted=True needs a third")
        if header is None:
            return others[0]
        likely = [place for place in others if not is_no_weight(header[place])]
        if not likely:
            raise ParseError(
                f"{self._path}: of the columns {listed(map(shown, header))}, none beside the ids is called like "
                "weights; weight_column= takes one by its name, or by its number from 0"
            )
        return next((place for place in likely if is_usual_weight(header[place])), likely[0])

    def _below(self) -> list[list[str]]:
        """Some lines below the first one of data."""
        return [*(fields for _, fields in self._found[1:]), *self._later]

    def _note(self, doubt: str | None) -> None:
        """Keep a doubt; edgewise's own files leave none."""
        if doubt is not None and self.doubt is None and not self.is_told:
            self.doubt = f"{self._path}: {doubt}"

    @property
    def may_begin_with_sizes(self) -> bool:
        """Whether the first line, which has columns like the others, may have the numbers of vertices and edges."""
        return (
            not self.is_told
            and self._header is None
            and bool(self._found)
            and is_line_of_sizes(self._found[0][1])
        )

    def _remaining(self, place: int) -> int | None:
        """The remaining one of three columns, if it has weights: numbers, under a name that allows them."""
        first = self._found[0][1][place]
        name = self._header[place] if self._header else None
        if name is not None and is_integer(name):  # a line of sizes that is left out as a header
            name = None
        if name is not None and is_no_weight(name):
            if is_number(first):
                self.doubt = (
                    f"{self._path} has numbers in the column {shown(name)}, which were left out: weight_column="
                    f"{shown(name)} takes it as weights, and weighted=False says that there are none"
                )
            return None
        if not self._has_numbers(place):
            if first and (name is None or is_usual_weight(name) or first[0].isdigit()):
                column = place if name is None else shown(name)
                self._note(left_out_doubt([f"{column}, such as {shown(first)},"], len(self._found[0][1])))
            return None
        values = [first, *(fields[place] for fields in self._below() if place < len(fields))]
        if name is None and look_like_times(values):
            self._note(times_doubt(place, first))
        if name is not None and not is_usual_weight(name):
            self.doubt = (
                f"{self._path} has no column of a usual name such as 'weight'; the numbers in the remaining "
                f"column, {shown(name)}, became the weights. If they are none, give weighted=False; weight_column= "
                "names another column"
            )
        return place

    def _has_numbers(self, place: int) -> bool:
        """Whether a column has numbers, as far as two lines of data show. Refuses fields that leave that open."""
        number, problem = self._found[0][0], None
        first, *later = (fields[place] for _, fields in self._found if place < len(fields))
        if not first and not any(later):  # lines that end with the delimiter
            return False
        if is_missing(first):
            problem = f"got {shown(first)} where a weight may stand"
        elif has_decimal_comma(first):
            problem = f"got {shown(first)} where a weight may stand; expected a decimal point"
        elif not is_number(first) and any(map(is_finite, later)):
            number = self._found[1][0]
            problem = f"got the number {shown(later[0])} where the line before has {shown(first)}"
            if self._header is None:
                problem += ". If that names columns, give header=True"
        if problem:
            raise ParseError(
                f"{self._path}:{number}: {problem}. Give weighted=False to leave weights out, or mend the file"
            )
        return is_number(first)

    def _place(self, column: Column, first: list[str]) -> int:
        """The number of a column that is given by number or name."""
        if isinstance(column, str):
            if self._header is None or column not in self._header:
                names = "no header" if self._header is None else f"the columns {listed(self._header)}"
                raise ParseError(f"{self._path} has {names}; there is no column {shown(column)}")
            if self._header.count(column) > 1:
                raise ParseError(
                    f"{self._path}: the header has several columns {shown(column)}; expected one. Give its number, "
                    "counted from 0"
                )
            return self._header.index(column)
        if not 0 <= column < len(first):
            raise ParseError(
                f"{self._path} has {len(first)} columns on the first line of data; expected one with number "
                f"{shown(column)}, counted from 0. If columns are separated by something else, give delimiter="
                f"{lone_hint(first)}"
            )
        return column


def named_columns(options: ReadOptions) -> list[str]:
    """The columns that the caller gives by name, which a header has."""
    return [column for column in (*(options.columns or ()), options.weight_column) if isinstance(column, str)]


def allowed_ids(path: Path, options: ReadOptions, names: bool) -> tuple[int, int] | None:
    """The smallest and the largest id that the caller allows. Raises GraphError for names with a number of vertices."""
    if options.num_vertices is None:
        return None
    if names:
        raise GraphError(f"{path}: num_vertices is given and the ids are names; leave num_vertices out")
    base = int(options.index_base or 0)
    return base, base + int(options.num_vertices) - 1
