"""Road graphs of the Ninth DIMACS Implementation Challenge: "p sp n m", then "a u v w" for each arc, ids 1..n.

http://www.diag.uniroma1.it/challenge9/format.shtml. Lines that start with c are comments.
"""

from edgewise.errors import ParseError
from edgewise.io.formats import Format, Plan
from edgewise.io.lines import LineLayout
from edgewise.io.options import ReadOptions
from edgewise.io.sized import Sizes, plan_sized, sizes_of
from edgewise.io.source import TextFile
from edgewise.io.table import is_data
from edgewise.text import shortened

_COMMENTS = "c"
_WEIGHT_COLUMN = 3
#: Characters of comments before the problem line of a file whose name does not say that it is of this format.
_LONGEST_COMMENTS = 2**24


def _plan(file: TextFile, options: ReadOptions) -> Plan:
    """Read the line of sizes; each is directed, and has a weight."""
    weight = None if options.weighted is False else _WEIGHT_COLUMN
    layout = LineLayout(1, 2, weight, num_columns=4, comments=_COMMENTS)
    return plan_sized(file, layout, _read_problem(file), options)


def _read_problem(file: TextFile) -> Sizes:
    """The sizes that the first line after the comments declares."""
    expected = "'p sp VERTICES ARCS'"
    for number, line in enumerate(file.lines(), start=1):
        if is_data(line, _COMMENTS):
            words = line.split(maxsplit=4)
            if words[:2] != ["p", "sp"] or len(words) != 4:
                raise ParseError(
                    f"{file.path}:{number}: got {shortened(line)!r}; expected {expected}. "
                    "For other files of this name, give format='edgelist'"
                )
            return Sizes(number, *sizes_of(file, number, line, words[2:], expected))
    raise ParseError(f"{file.path} has no line {expected} after its comments")


def _looks_like(file: TextFile) -> bool:
    """Whether the first line after lines of the word c is a problem line. The comments that are read for that are of
    limited length, for c may be a name, too."""
    length = 0
    for line in file.lines():
        words, length = line.split(), length + len(line)
        if words and words[0] != _COMMENTS:
            sizes = words[2:]
            return words[:2] == ["p", "sp"] and len(sizes) == 2 and all(size.isdecimal() for size in sizes)
        if length > _LONGEST_COMMENTS:
            break
    return False


DIMACS = Format(
    name="dimacs",
    suffixes=(".gr",),
    looks_like=_looks_like,
    plan=_plan,
    options=frozenset({"weighted"}),
)
