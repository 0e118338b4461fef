"""Networks of Transportation Networks for Research: metadata, then a link on each line, nodes 1..n.

https://github.com/bstabler/TransportationNetworks. Metadata are lines "<NAME> value" up to "<END OF METADATA>"; a line
that starts with ~ names the columns, and links end with a semicolon.
"""

import re
from collections.abc import Iterator
from itertools import islice

from edgewise.errors import ParseError
from edgewise.io.fields import is_integer, is_number
from edgewise.io.formats import Format, Plan
from edgewise.io.lines import LineLayout
from edgewise.io.options import ReadOptions
from edgewise.io.sized import Sizes, plan_sized, sizes_of
from edgewise.io.source import TextFile
from edgewise.io.table import is_data
from edgewise.text import listed, shortened, shown

_COMMENTS = "~"
_METADATA = re.compile(r"[ \t]*<([^>]*)>[ \t]*(\S*)")
_NODES, _LINKS, _END = "NUMBER OF NODES", "NUMBER OF LINKS", "END OF METADATA"
#: The columns of links, where a file does not name them, and the one that is taken as weights.
_COLUMNS = (
    "init_node", "term_node", "capacity", "length", "free_flow_time", "b", "power", "speed", "toll", "link_type",
)  # fmt: skip
_LENGTH = "length"
#: The most columns of a link that are looked at.
_MOST_COLUMNS = 100


def _plan(file: TextFile, options: ReadOptions) -> Plan:
    """Read the metadata and the names of the columns; links are directed."""
    sizes, names, first = _read_head(file)
    place = None if options.weighted is False else _weight_place(file, options, names)
    layout = LineLayout(
        0,
        1,
        place,
        num_columns=len(first) or len(names),
        comments=_COMMENTS,
        whole_weights=place is None or not first or is_integer(first[place]),
    )
    plan = plan_sized(file, layout, sizes, options)
    if options.weighted is None and options.weight_column is None:
        others = [name for name in names[2:] if name != _LENGTH]
        doubt = (
            f"{file.path}: the column {shown(_LENGTH)} became the weights, and {listed(others)} were left out: "
            "weight_column= names another, and weighted=False says that there are none"
        )
        return Plan(**{**vars(plan), "doubt": doubt})
    return plan


def _read_head(file: TextFile) -> tuple[Sizes, list[str], list[str]]:
    """The sizes, the names of the columns, and the fields of the first link, if there is one.

    Raises:
        ParseError: metadata that do not end, or lack a size; a link that is none.
    """
    lines = enumerate(file.lines(), start=1)
    end, declared = _read_metadata(file, lines)
    expected = f"<{_NODES}> and <{_LINKS}> with numbers"
    found = [declared.get(name, (end, "", "")) for name in (_NODES, _LINKS)]
    number, line, _ = found[0]
    vertices, links = sizes_of(file, number, line, [word for *_, word in found], expected)
    names = list(_COLUMNS)
    for number, line in lines:
        words = list(islice((match[0] for match in re.finditer(r"[^\s;]+", line)), _MOST_COLUMNS))
        if words[:1] == [_COMMENTS] and len(words) > 2:
            names = words[1:]
        elif is_data(line, _COMMENTS):
            fields = line.split(maxsplit=_MOST_COLUMNS)
            if len(words) != len(names) or not all(map(is_number, words)):
                raise ParseError(
                    f"{file.path}:{number}: got {shortened(line)!r}; expected numbers in {len(names)} columns, "
                    f"{listed(names)}"
                )
            return Sizes(end, vertices, links), names, fields
    return Sizes(end, vertices, links), names, []


def _read_metadata(
    file: TextFile, lines: Iterator[tuple[int, str]]
) -> tuple[int, dict[str, tuple[int, str, str]]]:
    """The number of the line that ends metadata, and of each name its line's number, the line and the value."""
    declared: dict[str, tuple[int, str, str]] = {}
    for number, line in lines:
        match = _METADATA.match(line)
        if match is None and not line.strip():
            continue
        if match is None:
            raise ParseError(
                f"{file.path}:{number}: got {shortened(line)!r}; expected metadata, <NAME> value, up to <{_END}>"
            )
        name = match[1].strip().upper()
        if name == _END:
            return number, declared
        declared.setdefault(name, (number, line, match[2]))
    raise ParseError(f"{file.path} has no line <{_END}>")


def _weight_place(file: TextFile, options: ReadOptions, names: list[str]) -> int:
    """The column of weights: the one that is named, else that of lengths."""
    column = _LENGTH if options.weight_column is None else options.weight_column
    if isinstance(column, str):
        if column not in names[2:]:
            raise ParseError(
                f"{file.path} has the columns {listed(names)}; there is no weight {shown(column)}"
            )
        return names.index(column)
    if not 2 <= column < len(names):
        raise ParseError(
            f"{file.path} has {len(names)} columns; expected one from 2 on for weights, counted from 0; got "
            f"{shown(column)}"
        )
    return int(column)


TNTP = Format(
    name="tntp",
    suffixes=(".tntp",),
    looks_like=lambda file: file.head.lstrip().upper().startswith(b"<NUMBER OF ZONES>"),
    plan=_plan,
    options=frozenset({"weighted", "weight_column"}),
)
