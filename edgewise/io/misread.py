"""First lines that would be read as something else than they show: marks that blanks do not part, ids with a point."""

from pathlib import Path

from edgewise.errors import ParseError
from edgewise.io.fields import is_finite, is_integer, is_missing, is_number
from edgewise.text import shortened, shown

_ARROWS = {"->", "-->", "--", "<->", "=>"}
_NAMES = "names=True takes them as names as they are"


def refuse_marks(path: Path, lines: list[str]) -> None:
    """Refuse edges between blanks that show other marks on each line: ``1, 2``, ``(1, 2)``, ``1 -> 2``, ``1: 2 3``.

    Args:
        path: of the file, for the message.
        lines: the first ones of data.

    Raises:
        ParseError: with what to do.
    """
    words = [line.split(maxsplit=2) for line in lines]
    if not words or any(len(each) < 2 for each in words):
        return
    firsts = [each[0] for each in words]
    if all(line.lstrip().startswith("(") and line.rstrip().endswith(")") for line in lines):
        advice = (
            "vertices in parentheses; expected a line 'u v' for each edge. Write them without parentheses"
        )
    elif mark := next((mark for mark in ",;" if all(first.endswith(mark) for first in firsts)), None):
        advice = f"fields that end with {mark!r}. If that parts columns, give delimiter={mark!r}"
    elif all(each[1] in _ARROWS for each in words):
        advice = "an arrow in the place of a vertex; expected a line 'u v' for each edge. Write them without arrows"
    elif all(first.endswith(":") for first in firsts):
        advice = (
            "a colon behind the first vertex. If each line has a vertex and its neighbours, write them without colons "
            "and give format='adjlist'"
        )
    else:
        return
    raise ParseError(f"{path}: got {shortened(lines[0])!r}, which has {advice}; {_NAMES}")


def refuse_marks_of_rows(path: Path, lines: list[str]) -> None:
    """Refuse lines of a vertex and its neighbours of which each has commas, semicolons, or a colon behind the vertex.

    Args:
        path: of the file, for the message.
        lines: the first ones of data.

    Raises:
        ParseError: with what to do.
    """
    if lines and all(line.split(maxsplit=1)[0].endswith(":") for line in lines):
        mark, other = ":", ""
    else:
        other = "; if each line is an edge, give format='csv'"
        long = [line for line in lines if not is_integer(line.strip())]
        mark = next((mark for mark in ",;" if long and all(mark in line for line in long)), "")
    if mark:
        raise ParseError(
            f"{path}: got {shortened(lines[0])!r}, which has {mark!r} in it; expected a vertex and its neighbours, "
            f"between blanks. Write a blank in the place of {mark!r}{other}; {_NAMES}"
        )


def refuse_fractions(path: Path, ids: list[str]) -> None:
    """Refuse ids that are all numbers, some with a point or an exponent, which would become names.

    Args:
        path: of the file, for the message.
        ids: those of the first lines.

    Raises:
        ParseError: with what to do.
    """
    if not all(is_number(each) or is_missing(each) for each in ids):
        return
    found = next((each for each in ids if is_finite(each) and not is_integer(each)), None)
    if found is not None:
        raise ParseError(
            f"{path} has {shown(found)} among ids that are numbers; expected integers. pandas writes integers so where "
            f"a column had a missing value: .astype('Int64') mends that. {_NAMES}"
        )
