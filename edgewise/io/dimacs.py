"""Graphs of challenges, in files of the suffix .gr: a problem line with the sizes, then a line for each edge, ids 1..n.

Road graphs of the Ninth DIMACS Implementation Challenge have "p sp n m", then "a u v w" for each arc
(http://www.diag.uniroma1.it/challenge9/format.shtml). Undirected graphs of PACE have "p tw n m", or another word for
the problem, then "u v" for each edge (https://pacechallenge.org/2017/treewidth). Lines that start with c are comments.
"""

from edgewise.errors import ParseError
from edgewise.graph import Graph
from edgewise.io.formats import Format, Plan
from edgewise.io.lines import LineLayout
from edgewise.io.options import ReadOptions
from edgewise.io.sized import Sizes, plan_sized, plan_undirected, sizes_of
from edgewise.io.source import TextFile
from edgewise.io.writing import LineWriter, check_whole_weights
from edgewise.text import shortened

_COMMENTS = "c"
_PATHS = "sp"
#: The words for problems of PACE: tree width, tree depth and vertex cover, dominating sets, cluster editing.
_OF_PACE = ("tw", "td", "ds", "cep")
_ARC, _WEIGHT_COLUMN = "a", 3
#: Characters of comments before the problem line of a file whose name does not say that it is of this format.
_LONGEST_COMMENTS = 2**24


def _plan(file: TextFile, options: ReadOptions) -> Plan:
    """Read the problem line; arcs of paths have a weight, edges of PACE no direction and no weight."""
    problem, sizes = _read_problem(file)
    if problem == _PATHS:
        weight = None if options.weighted is False else _WEIGHT_COLUMN
        form = "a SOURCE TARGET WEIGHT"
        layout = LineLayout(1, 2, weight, num_columns=4, comments=_COMMENTS, mark=_ARC, form=form)
        return plan_sized(file, layout, sizes, options)
    if options.weighted:
        raise ParseError(f"{file.path} is a graph of PACE; it has no weights to read with weighted=True")
    layout = LineLayout(num_columns=2, comments=_COMMENTS, form="SOURCE TARGET")
    return plan_undirected(file, layout, sizes, options)


def _read_problem(file: TextFile) -> tuple[str, Sizes]:
    """The problem and the sizes that the first line after the comments declares."""
    expected = "'p sp VERTICES ARCS', or 'p tw VERTICES EDGES'"
    for number, line in file.data_lines(_COMMENTS):
        words = line.split(maxsplit=4)
        if not _is_problem(words):
            raise ParseError(
                f"{file.path}:{number}: got {shortened(line)!r}; expected {expected}. "
                "For other files of this name, give format='edgelist'"
            )
        return words[1], Sizes(number, *sizes_of(file, number, line, words[2:], expected))
    raise ParseError(f"{file.path} has no line {expected} after its comments")


def _is_problem(words: list[str]) -> bool:
    """Whether the words of a line are those of a problem line of these formats, whatever its sizes."""
    return len(words) == 4 and words[0] == "p" and words[1] in (_PATHS, *_OF_PACE)


def _looks_like(file: TextFile) -> bool:
    """Whether the first line after lines of the word c is a problem line. The comments that are read for that are of
    limited length, for c may be a name, too."""
    length = 0
    for _, line in file.data_lines(""):
        words, length = line.split(), length + len(line)
        if words and words[0] != _COMMENTS:
            return _is_problem(words) and all(size.isdecimal() for size in words[2:])
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


def _sizes(graph: Graph) -> str:
    return f"p sp {graph.num_vertices} {graph.num_arcs}\n"


WRITER = LineWriter(
    " ", _sizes, check_whole_weights, numbered=True, prefix="a ", arcs=True, unit_weights=True
)
