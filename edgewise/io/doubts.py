"""What makes it doubtful that a table of edges was understood as it was meant: sentences for warnings."""

import re

import numpy as np

from edgewise.io.fields import is_integer
from edgewise.io.lines import Edges
from edgewise.text import listed, shortened

#: Seconds since 1970 from 1973 on, and milliseconds, that a column of times has.
_TIMES = ((10**8, 10**10), (10**11, 10**13))
#: Lines that are looked at, and the fewest words above integers that may be names of columns.
LOOKED_AT, _FEWEST = 20, 2


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


def sizes_doubt(edges: Edges) -> str | None:
    """The warning for a first edge that equals the numbers of vertices and of edges of the rest; else None."""
    count = len(edges.source) - 1
    if count < 1 or edges.names is not None:
        return None
    first = [int(edges.source[0]), int(edges.target[0])]
    if edges.weight is not None:
        first.append(int(edges.weight[0]) if np.isfinite(edges.weight[0]) else -1)
    if first[-1] != count or len(set(first[:-1])) != 1:
        return None
    rest = np.unique(np.concatenate([edges.source[1:], edges.target[1:]]))
    if first[0] not in (len(rest), int(rest[-1]), int(rest[-1]) + 1):
        return None
    words = " ".join(map(str, first))
    return (
        f"the first line, {words!r}, has the number of vertices and that of edges of the rest; it became an edge. "
        "If these are sizes, header=True leaves the line out; header=False says that it is an edge"
    )
