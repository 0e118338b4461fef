"""What makes it doubtful that a table of edges was understood as it was meant: sentences for warnings."""

import re
from collections.abc import Callable

import numpy as np

from edgewise.io.fields import has_row_numbers, is_end, is_integer, is_weight, usual_ends
from edgewise.io.lines import Edges
from edgewise.text import listed, shortened, shown

#: Seconds since 1970 from 1973 on, and milliseconds, that a column of times has.
_TIMES = ((10**8, 10**10), (10**11, 10**13))
#: Lines that are looked at, and the fewest words above integers that may be names of columns.
LOOKED_AT, _FEWEST = 20, 2
#: From this many numbers of columns on, lines may be rows of neighbours.
_LENGTHS_OF_ROWS = 3


def ends_problem(header: list[str]) -> str | None:
    """Why the first two columns may not be the sources and targets, where no two have usual names; None if they may."""
    usual = [name for name in header if is_end(name)]
    if usual and usual_ends(header[:2]) is None:
        return f"of the usual names of sources and targets it has {listed(map(shown, usual))}, not one of each"
    if any(map(has_row_numbers, header[:2])):
        return "a column without a name has numbers of rows, or labels of a matrix"
    if any(map(is_weight, header[:2])):
        return "it calls one of the first two columns a weight, and none a source and a target"
    return None


def look_like_times(values: list[str]) -> bool:
    """Whether all of some fields are integers that look like seconds, or milliseconds, since 1970."""
    if not values or not all(map(is_integer, values)):
        return False
    numbers = [int(value) for value in values if len(value) < 20]
    return len(numbers) == len(values) and any(
        all(least <= number < beyond for number in numbers) for least, beyond in _TIMES
    )


def times_doubt(place: int, value: str) -> str:
    """The warning for a column of times that was taken as weights."""
    return (
        f"column {place}, counted from 0, became the weights, and its numbers, such as {value}, look like times since "
        "1970. If they are, give weighted=False; weighted=True says that they are weights"
    )


def left_out_doubt(columns: list[str], in_all: int) -> str:
    """The warning for columns that were left out, where nothing says which one has weights."""
    which = f"column {columns[0]} was" if len(columns) == 1 else f"the columns {listed(columns)} were"
    return (
        f"of {in_all} columns, {which} left out. weight_column= takes one, counted from 0 or by a name in the header, "
        "as weights; weighted=False says that there are none"
    )


def names_doubt(first: list[str], later: list[list[str]], ends: tuple[int, int]) -> str | None:
    """The warning for words above integers, which became ids; None if other lines have words, too."""
    words = [first[end] for end in ends]
    below = [fields[end] for fields in later for end in ends if end < len(fields)]
    if any(map(is_integer, words)) or len(later) < _FEWEST or not all(map(is_integer, below)):
        return None
    return (
        f"the first line has {listed(words)} above lines of integers; all became names of vertices. If that line names "
        "columns, give header=True; header=False says that it is an edge"
    )


def rows_hint(lines: list[list[str]]) -> str:
    """What to say of lines of different numbers of columns, if these look like rows of neighbours."""
    many = len({len(fields) for fields in lines}) >= _LENGTHS_OF_ROWS
    return ". If each line has a vertex and its neighbours, give format='adjlist'" if many else ""


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
        "it, or put # before it"
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
