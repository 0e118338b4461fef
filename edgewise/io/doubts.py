"""What makes it doubtful that a table of edges was understood as it was meant: sentences for warnings."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from edgewise.convert.usual_names import has_row_numbers, is_end, is_weight, may_be_ends, usual_ends
from edgewise.io.fields import is_finite, is_integer, is_number
from edgewise.io.lines import Edges
from edgewise.text import listed, shortened, shown

#: Seconds since 1970 from 1973 on, and milliseconds, that a column of times has.
_TIMES = ((10**8, 10**10), (10**11, 10**13))
#: Names that stand for a missing value, as programs write them.
_MISSING = frozenset({"", "NA", "N/A", "#N/A", "<NA>", "nan", "NaN", "NAN", "null", "NULL", "None"})
#: Dates as eight digits.
_DATE = re.compile("(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])")
_UNDIRECTED = re.compile(r"\bundirected\b", re.IGNORECASE)
_NOT_SO = re.compile(r"\bnot\b|\bdirected\b|undirected\W+(false|no|0)\b", re.IGNORECASE)
#: Lines that are looked at, and the fewest words above integers that may be names of columns.
LOOKED_AT, _FEWEST = 20, 2
_METIS = "If the first line has the numbers of vertices and edges, and each other line neighbours, give format='metis'"
#: From this many numbers of columns on, lines may be rows of neighbours.
_LENGTHS_OF_ROWS = 3


def ends_problem(header: list[str]) -> str | None:
    """Why the first two columns may not be the sources and targets, where no two have usual names; None if they may."""
    usual = [name for name in header if is_end(name)]
    are_all = len(header) == 2 and may_be_ends(*header)
    if usual and usual_ends(header[:2]) is None and not are_all:
        return (
            f"of the usual names of sources and targets it has {listed(map(shown, usual))}, not one of each"
        )
    if any(map(has_row_numbers, header[:2])):
        return "a column without a name has numbers of rows, or labels of a matrix"
    if any(map(is_weight, header[:2])):
        return "it calls one of the first two columns a weight, and none a source and a target"
    return None


def look_like_times(values: list[str]) -> bool:
    """Whether all of some fields are numbers that look like seconds, or milliseconds, since 1970, or like dates."""
    if not values or not all(map(is_finite, values)):
        return False
    if all(map(_DATE.fullmatch, values)):
        return True
    numbers = list(map(float, values))
    return any(all(least <= number < beyond for number in numbers) for least, beyond in _TIMES)


def times_doubt(place: int, value: str) -> str:
    """The warning for a column of times that was taken as weights."""
    what = "dates" if _DATE.fullmatch(value) else "times since 1970"
    return (
        f"column {place}, counted from 0, became the weights, and its numbers, such as {value}, look like {what}. If "
        "they are, give weighted=False; weighted=True says that they are weights"
    )


def left_out_doubt(columns: list[str], in_all: int) -> str:
    """The warning for columns that were left out, where nothing says which one has weights."""
    which = f"column {columns[0]} was" if len(columns) == 1 else f"the columns {listed(columns)} were"
    return (
        f"of {in_all} columns, {which} left out. weight_column= takes one, counted from 0 or by a name in the header, "
        "as weights; weighted=False says that there are none"
    )


def names_doubt(first: list[str], later: list[list[str]], ends: tuple[int, int]) -> str | None:
    """The warning for words above integers, which became ids, or that stand beside words above numbers; else None."""
    words = [first[end] for end in ends]
    if any(map(is_integer, words)) or len(later) < _FEWEST:
        return None

    def stand_below(columns: Iterable[int], is_one: Callable[[str], bool]) -> bool:
        return all(is_one(fields[place]) for fields in later for place in columns if place < len(fields))

    others = [place for place, word in enumerate(first) if place not in ends and word and not is_number(word)]
    if stand_below(ends, is_integer):
        what = "integers"
    elif any(stand_below([place], is_number) for place in others):
        what = "numbers in another column"
    else:
        return None
    return (
        f"the first line has {listed(words)} above lines of {what}; all became names of vertices. If that line names "
        "columns, give header=True; header=False says that it is an edge"
    )


def lone_hint(fields: list[str]) -> str:
    """What to say of a first line of one column, if it may be a number of vertices, or a vertex without neighbours."""
    if not all(map(is_integer, fields)):
        return ""
    return (
        ". If it is the number of vertices, and each other line has neighbours, give format='adjacency'; if each line "
        "has a vertex and its neighbours, format='adjlist'"
    )


def missing_doubt(names: list[str]) -> str | None:
    """The warning for names that usually stand for a missing value, else None."""
    found = _MISSING.intersection(names)
    if not found:
        return None
    return (
        f"{listed(map(shown, sorted(found)))} became a vertex like other names; if it stands for a missing value, drop "
        "such edges first. names=True says that it is a name"
    )


def says_undirected(comment: str) -> bool:
    """Whether a comment calls the graph undirected."""
    return _UNDIRECTED.search(comment) is not None and _NOT_SO.search(comment) is None


def kind_doubt(what: str) -> str:
    """The warning for a file that calls its graph undirected, by what it has, and is read as directed."""
    return (
        f"{what} says that the graph is undirected, and it was read as directed. Give directed=False for edges of both "
        "directions, or directed=True if this is meant"
    )


def rows_hint(lines: list[list[str]]) -> str:
    """What to say of lines of different numbers of columns, if these look like rows of neighbours."""
    lengths = {len(fields) for fields in lines}
    if len(lengths) > 1 and is_metis(lines):
        return f". {_METIS}; if each line has a vertex and its neighbours, give format='adjlist'"
    many = len(lengths) >= _LENGTHS_OF_ROWS or 1 in lengths
    return ". If each line has a vertex and its neighbours, give format='adjlist'" if many else ""


def is_metis(lines: list[list[str]]) -> bool:
    """Whether the first lines may be those of METIS: numbers of vertices and edges above lines of neighbours from 1."""
    (sizes, *rows) = lines
    if not 2 <= len(sizes) <= 3 or not all(
        is_integer(word) and len(word) < 20 for line in lines for word in line
    ):
        return False
    return len(rows) <= int(sizes[0]) and all(
        1 <= int(word) <= int(sizes[0]) for line in rows for word in line
    )


def is_line_of_sizes(words: list[str]) -> bool:
    """Whether a line may have the numbers of vertices and edges: two integers, or three of which two are equal."""
    whole = all(re.fullmatch("[0-9]{1,18}", word) for word in words)
    return whole and (len(words) == 2 or (len(words) == 3 and words[0] == words[1]))


def columns_refusal(line: list[str], number: int, later: list[str]) -> str | None:
    """What is wrong with a first line of integers that has fewer columns than the next one; None if it has not."""
    if len(line) >= len(later) or not is_line_of_sizes(line):
        return None
    return (
        f"got {shortened(' '.join(later))!r}; it has {len(later)} columns; expected {len(line)}, as "
        f"{shortened(' '.join(line))!r} on line {number}. If that line has the numbers of vertices and edges, remove "
        "it, or put # before it. If each other line has a vertex's neighbours, give format='metis'"
    )


class FirstEdge:
    """Tells whether the first edge equals the numbers of vertices and of edges of the rest, from edges in pieces."""

    def __init__(self) -> None:
        self._first: list[int] = []
        self._count, self._largest = -1, -1

    def add(self, source: np.ndarray, target: np.ndarray, weight: np.ndarray | None) -> None:
        """Look at edges, by integers, that come next."""
        rest = 0
        if not self._first and len(source):
            self._first, rest = [int(source[0]), int(target[0])], 1
            if weight is not None:
                self._first.append(int(weight[0]))
        self._count += len(source)
        self._largest = max(
            [self._largest, *(int(column[rest:].max(initial=-1)) for column in (source, target))]
        )

    def told(self) -> list[Any]:
        """What was seen, for `follow`."""
        return [self._count, self._largest, self._first]

    def follow(self, told: list[Any]) -> None:
        """Take edges that stand behind these, which another one has seen."""
        count, largest, first = told
        if not self._first:
            self._count, self._largest, self._first = count, largest, first
        elif first:
            self._count, self._largest = self._count + count + 1, max(self._largest, largest, *first[:2])

    def doubt(self, count_vertices: Callable[[], int] | None = None) -> str | None:
        """The warning for such an edge, else None.

        Args:
            count_vertices: tells how many vertices the rest has, if that can be told; it may take long. Vertices are
                also taken to be numbered from 0 or 1 on.
        """
        first, largest = self._first, self._largest
        if self._count < 1 or first[-1] != self._count or len(set(first[:-1])) != 1:
            return None
        if first[0] not in (largest, largest + 1) and (
            count_vertices is None or count_vertices() != first[0]
        ):
            return None
        return (
            f"the first line, '{' '.join(map(str, first))}', has the number of vertices and that of edges of the rest; "
            "it became an edge. If these are sizes, header=True leaves the line out; header=False says that it is one"
        )


def sizes_doubt(edges: Edges) -> str | None:
    """The warning for a first edge that equals the numbers of vertices and of edges of the rest, else None."""
    if edges.names is not None:
        return None
    first = FirstEdge()
    first.add(edges.source, edges.target, edges.weight)
    return first.doubt(lambda: len(np.unique(np.concatenate([edges.source[1:], edges.target[1:]]))))
