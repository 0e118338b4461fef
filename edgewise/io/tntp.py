"""Networks of Transportation Networks for Research: metadata, then a link on each line, nodes 1..n.

https://github.com/bstabler/TransportationNetworks. Metadata are lines "<NAME> value" up to "<END OF METADATA>"; a line
that starts with ~ names the columns, and links end with a semicolon.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from edgewise.convert.usual_names import usual_ends
from edgewise.errors import ParseError
from edgewise.io.fields import is_integer, is_number
from edgewise.io.formats import Format, Plan
from edgewise.io.lines import LineLayout
from edgewise.io.options import ReadOptions
from edgewise.io.sized import Sizes, plan_sized, sizes_of
from edgewise.io.source import BLANKS, TextFile
from edgewise.io.split import is_data, split_line
from edgewise.text import listed, shortened, shown

_COMMENTS = "~"
_METADATA = re.compile(r"[ \t]*<([^>]*)>(.*)")
_NODES, _LINKS, _END = "NUMBER OF NODES", "NUMBER OF LINKS", "END OF METADATA"
#: The columns of links, where a file does not name them, and the one that is taken as weights.
_COLUMNS = (
    "init_node", "term_node", "capacity", "length", "free_flow_time", "b", "power", "speed", "toll", "link_type",
)  # fmt: skip
_LENGTH = "length"
#: How the ends of links are called, in the spelling of `_name`.
_ENDS = (
    ("init_node", "term_node"),
    ("from", "to"),
    ("from_node", "to_node"),
    ("init", "term"),
    ("tail", "head"),
)
#: What metadata declare: of each name the number of its line, the line, and the words behind the name.
_Declared = dict[str, tuple[int, str, list[str]]]
#: The most columns of a link that are looked at.
_MOST_COLUMNS = 100


def _plan(file: TextFile, options: ReadOptions) -> Plan:
    """Read the metadata and the names of the columns; links are directed."""
    sizes, names, first = _read_head(file)
    source, target = _ends_of(names) or (0, 1)
    place = None if options.weighted is False else _weight_place(file, options, names, (source, target))
    if place is not None and first and not is_number(first[place]):
        raise ParseError(
            f"{file.path}: got {shown(first[place])} in the column {shown(names[place])} of the first link; expected a "
            "number, apart from the semicolon"
        )
    layout = LineLayout(
        source,
        target,
        place,
        num_columns=len(first) or len(names),
        comments=_COMMENTS,
        whole_weights=place is None or not first or is_integer(first[place]),
    )
    plan = plan_sized(file, layout, sizes, options)
    others = [name for at, name in enumerate(names) if at not in (source, target, place)]
    if others and options.weighted is None and options.weight_column is None:
        doubt = (
            f"{file.path}: the column {shown(_LENGTH)} became the weights, and other columns were left out: "
            f"{listed(others)}. weight_column= names another, and weighted=False says that there are none"
        )
        return replace(plan, doubt=doubt)
    return plan


def _read_head(file: TextFile) -> tuple[Sizes, list[str], list[str]]:
    """The sizes, the names of the columns, and the fields of the first link, if there is one.

    Raises:
        ParseError: metadata that do not end, or lack a size; a link that is none.
    """
    lines = enumerate(file.lines(), start=1)
    end, declared = _read_metadata(file, lines)
    found = Sizes(end, _declared_size(file, _NODES, declared), _declared_size(file, _LINKS, declared))
    names: list[str] = []
    for number, line in lines:
        if line.strip().startswith(_COMMENTS):
            called = _names_in(line)
            names = called if _ends_of(called) else names
        elif is_data(line, _COMMENTS):
            fields = list(islice(split_line(line, None), _MOST_COLUMNS))
            words = [word for word in re.split(rf"[{BLANKS};]+", line) if word]
            names = names or list(_COLUMNS[: len(words)])
            expected = len(names) + (fields[-1:] == [";"])
            is_link = 2 <= len(words) == len(names) and len(fields) == expected
            if not (is_link and all(map(is_number, words))):
                raise ParseError(
                    f"{file.path}:{number}: got {shortened(line)!r}; expected numbers in {len(names)} columns, "
                    f"{listed(names)}, by spaces or tabs"
                )
            return found, names, fields
    return found, names or list(_COLUMNS), []


def _names_in(line: str) -> list[str]:
    """The names of columns in a line that starts with ~: by tabs if it has some between them, else by spaces."""
    text = line.strip().removeprefix(_COMMENTS).rstrip("; \t").strip()
    words = [word.strip() for word in text.split("\t")] if "\t" in text else text.split()
    return [_name(word) for word in words if word.strip()]


def _name(word: str) -> str:
    """A name as it is compared: in lower case, with underscores."""
    return re.sub(r"[\s_]+", "_", word.strip().lower())


def _ends_of(names: list[str]) -> tuple[int, int] | None:
    """The columns of the ends of links, if names tell them."""
    for ends in _ENDS:
        if all(name in names for name in ends):
            return names.index(ends[0]), names.index(ends[1])
    return usual_ends(names)


def _declared_size(file: TextFile, name: str, declared: _Declared) -> int:
    """A size that metadata declare. Raises ParseError."""
    if name not in declared:
        raise ParseError(f"{file.path} has no line <{name}> before <{_END}>")
    number, line, words = declared[name]
    expected = f"<{name}> and a number"
    if len(words) != 1:
        raise ParseError(f"{file.path}:{number}: got {shortened(line)!r}; expected {expected}")
    return sizes_of(file, number, line, words, expected)[0]


def _read_metadata(file: TextFile, lines: Iterator[tuple[int, str]]) -> tuple[int, _Declared]:
    """The number of the line that ends metadata, and what the lines before declare."""
    declared: _Declared = {}
    for number, line in lines:
        match = _METADATA.match(line)
        if match is None and not is_data(line, _COMMENTS):
            continue
        if match is None:
            raise ParseError(
                f"{file.path}:{number}: got {shortened(line)!r}; expected metadata, <NAME> value, up to <{_END}>"
            )
        name = match[1].strip().upper()
        if name == _END:
            return number, declared
        if name in declared and name in (_NODES, _LINKS):
            raise ParseError(f"{file.path}:{number}: <{name}> a second time; expected it once")
        declared[name] = number, line, match[2].split()
    raise ParseError(f"{file.path} has no line <{_END}>")


def _weight_place(file: TextFile, options: ReadOptions, names: list[str], ends: tuple[int, int]) -> int:
    """The column of weights: the one that is named, else that of lengths."""
    column = _LENGTH if options.weight_column is None else options.weight_column
    place = names.index(_name(column)) if isinstance(column, str) and _name(column) in names else column
    if isinstance(place, str) or place in ends or not 0 <= place < len(names):
        raise ParseError(
            f"{file.path} has the columns {listed(names)}; there is no weight {shown(column)}. weight_column= names "
            "another, or its number from 0, and weighted=False says that there are none"
        )
    return int(place)


TNTP = Format(
    name="tntp",
    suffixes=(".tntp",),
    looks_like=lambda file: file.head.lstrip().upper().startswith(b"<NUMBER OF ZONES>"),
    plan=_plan,
    options=frozenset({"weighted", "weight_column"}),
)
