"""Edge lists and tables between delimiters, in plain Python."""

import math
import re

from reference import (
    BLANKS,
    Expected,
    Refused,
    id_in,
    integer,
    is_data,
    is_integer,
    joined,
    lines_of,
    refuse_unless,
    value_of,
    weights_of,
    words_of,
)

_SOURCES, _TARGETS = {"source", "src", "from", "u", "node1"}, {"target", "dst", "to", "v", "node2"}
_ALL_SOURCES = _SOURCES | {"origin", "caller", "sender"}
_ALL_TARGETS = _TARGETS | {"dest", "destination", "callee", "receiver"}
_WEIGHTS = {"weight", "weights", "w", "cost", "length", "distance", "dist", "capacity", "value"}


def fields_of(line: str, delimiter: str | None) -> list[str]:
    """The fields of a line; quotes around one are closed at its end."""
    if delimiter is None:
        return words_of(line)
    fields, rest, blanks = [], line, BLANKS.replace(delimiter, "")
    while True:
        rest = rest.lstrip(blanks)
        if rest.startswith('"'):
            match = re.match(rf'"((?:[^"]|"")*)"[{blanks}]*', rest)
            refuse_unless(match and rest[match.end() :][:1] in ("", delimiter))
            fields.append(match[1].replace('""', '"'))
            rest = rest[match.end() :]
        else:
            field = rest.split(delimiter)[0]
            fields.append(field.strip(BLANKS))
            rest = rest[len(field) :]
        if not rest:
            return fields
        rest = rest[1:]


def read_table(
    data: bytes,
    delimiter: str | None = None,
    header: bool = False,
    names: bool | None = None,
    weighted: bool | None = None,
    num_vertices: int | None = None,
    index_base: int = 0,
    directed: bool = True,
    format: str | None = None,  # noqa: A002 (as `edgewise.read` calls it)
) -> Expected:
    """The edges of a table; by default, of an edge list without a line of names."""
    lines = lines_of(data)
    kept = [place for place, line in enumerate(lines) if is_data(line, "#%")]
    declared = declared_names(lines[: kept[0]] if kept else lines)
    begin = kept[0] if kept else len(lines)
    titles = fields_of(lines[kept.pop(0)], delimiter) if header and kept else None
    body = lines if titles is None else lines[(kept or [len(lines)])[0] :]
    rows = [fields_of(lines[place], delimiter) for place in kept]
    refuse_unless(rows or num_vertices is not None)
    refuse_unless(all(len(row) == len(rows[0]) for row in rows))
    if delimiter is not None:  # comments that have as many columns
        width = len(rows[0]) if rows else 2
        marked = [line for line in lines[begin:] if line.strip(BLANKS) and not is_data(line, "#%")]
        refuse_unless(all(_width(line, delimiter) != width for line in marked))
    if rows:
        refuse_unless(len(rows[0]) >= 2 and (titles is None or len(titles) == len(rows[0])))
    if titles is None and delimiter is None and declared is None:
        refuse_unless(not _are_titles(rows[:2]))
    source, target = _ends(titles)
    place = _place_of_weights(rows[:2], titles, {source, target}, weighted)
    if names is None:
        names = declared
    pairs = [(row[source], row[target]) for row in rows]
    if names is None:
        if delimiter is None:
            refuse_unless(not _are_marked([lines[place] for place in kept[:20]]))
        names = bool(rows) and not (is_integer(rows[0][source]) and is_integer(rows[0][target]))
        refuse_unless(not (names and _have_fractions([end for pair in pairs[:22] for end in pair])))
    ends = _ids(pairs, names, num_vertices, index_base, are_encoded(body))
    weights = None if place is None else weights_of([row[place] for row in rows])
    vertices = None if num_vertices is None else range(index_base, index_base + num_vertices)
    if names and source > target:  # names are numbered as they stand in the lines
        vertices = list(dict.fromkeys(end for pair in ends for end in pair[::-1]))
    return Expected(joined(ends, weights), directed, vertices)


def declared_names(lines: list[str]) -> bool | None:
    """Whether comments before the first line of data say that ids are names."""
    declared = None
    for line in lines:
        declared = {"# Ids: names": True, "# Ids: integers": False}.get(line.strip(BLANKS), declared)
    return declared


def are_encoded(lines: list[str]) -> bool:
    """Whether lines are UTF-8, which matters for names only."""
    try:
        "\n".join(lines).encode()
    except UnicodeEncodeError:
        return False
    return True


def _ids(
    pairs: list[tuple], names: bool, num_vertices: int | None, index_base: int, encoded: bool
) -> list[tuple]:
    """The ends of edges as ids."""
    if num_vertices is not None:
        refuse_unless(not names)
        return [tuple(id_in(end, index_base, num_vertices) for end in pair) for pair in pairs]
    if names:
        refuse_unless(encoded and all(end for pair in pairs for end in pair))
        return pairs
    ends = [tuple(map(integer, pair)) for pair in pairs]
    refuse_unless(encoded or all(-(2**63) <= end < 2**63 for pair in ends for end in pair))
    return ends


def _usual_ends(titles: list[str]) -> tuple[int, int] | None:
    """The columns that usual names call those of sources and of targets."""
    sources = [place for place, title in enumerate(titles) if title.lower() in _SOURCES]
    targets = [place for place, title in enumerate(titles) if title.lower() in _TARGETS]
    return (sources[0], targets[0]) if len(sources) == len(targets) == 1 else None


def _ends(titles: list[str] | None) -> tuple[int, int]:
    """The columns of sources and of targets."""
    ends = _usual_ends(titles or [])
    if ends is None and titles is not None:
        refuse_unless(all(title.lower() != "weight" for title in titles[:2]))
        plain = [title.lower() for title in titles]
        are_all = len(plain) == 2 and plain[0] not in _ALL_TARGETS and plain[1] not in _ALL_SOURCES
        refuse_unless(_usual_ends(titles[:2]) or are_all or not (_ALL_SOURCES | _ALL_TARGETS) & {*plain})
        refuse_unless(not {"", "unnamed: 0"} & {title.lower() for title in titles[:2]})
    return ends or (0, 1)


def _are_titles(rows: list[list[str]]) -> bool:
    """Whether the first of two lines of an edge list has usual names of columns, above integers as ends."""
    ends = _usual_ends(rows[0]) if len(rows) == 2 else None
    if ends is None or not all(is_integer(rows[1][end]) for end in ends):
        return False
    others = [title for place, title in enumerate(rows[0]) if place not in ends]
    return all(title.lower() in _WEIGHTS or _is_no_weight(title) for title in others)


def _width(line: str, delimiter: str) -> int:
    """The number of columns of a line that need not be right."""
    try:
        return len(fields_of(line, delimiter))
    except Refused:
        return 0


def _are_marked(lines: list[str]) -> bool:
    """Whether lines have marks that blanks do not part."""
    words = [words_of(line) for line in lines]
    return (
        all(line.strip(BLANKS)[0] + line.strip(BLANKS)[-1] == "()" for line in lines)
        or any(all(each[0].endswith(mark) for each in words) for mark in ",;:")
        or all(each[1] in ("->", "-->", "--", "<->", "=>") for each in words)
    ) and bool(lines)


def _have_fractions(ends: list[str]) -> bool:
    """Whether ids are all numbers or missing, and some no integers."""
    finite = [end for end in ends if (value := value_of(end)) is not None and math.isfinite(value)]
    others = [end for end in ends if value_of(end) is None]
    missing = ("", "na", "n/a", "<na>", "#n/a", "null", "none", "?", "-")
    return not all(map(is_integer, finite)) and all(end.lower() in missing for end in others)


def _is_no_weight(title: str) -> bool:
    plain = re.sub("[ -]", "_", title.lower())
    return (
        re.fullmatch("|unnamed:_0|id|.*_id|edgeid|key|index|row|label|type|name|year|date", plain) is not None
    )


def _place_of_weights(
    rows: list[list[str]], titles: list[str] | None, ends: set[int], weighted: bool | None
) -> int | None:
    """The column of weights, by its name, or by two lines of data."""
    if weighted is False:
        return None
    others = [place for place in range(len(rows[0]) if rows else 2) if place not in ends]
    for place in others:
        if titles and titles[place].lower() == "weight":
            return place
    if weighted:
        likely = [place for place in others if not titles or not _is_no_weight(titles[place])]
        refuse_unless(likely)
        return next((place for place in likely if titles and titles[place].lower() in _WEIGHTS), likely[0])
    if len(others) != 1:
        return None
    place = others[0]
    if titles and _is_no_weight(titles[place]):
        return None
    return place if _are_numbers([row[place] for row in rows]) else None


def _are_numbers(fields: list[str]) -> bool:
    """Whether the first of two fields is a number, and so a weight; what leaves that open is refused."""
    if not any(fields):
        return False
    if fields[0].lower() in ("", "na", "n/a", "<na>", "#n/a", "null", "none", "?", "-"):
        raise Refused
    if re.fullmatch(r"[+-]?[0-9.]*,[0-9]+([eE][+-]?[0-9]+)?", fields[0]):
        raise Refused
    if value_of(fields[0]) is not None:
        return True
    second = value_of(fields[-1])
    refuse_unless(second is None or not math.isfinite(second))
    return False
