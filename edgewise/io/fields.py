"""What the fields of a table's first lines look like: names of columns, numbers, and missing values."""

import math
import re

#: Usual names of the columns of sources, of targets and of weights.
_SOURCES, _TARGETS = {"source", "src", "from", "u", "node1"}, {"target", "dst", "to", "v", "node2"}
#: Others, less usual, without the marks between their words.
_LATER_SOURCES = {
    "fromnodeid",
    "fromnode",
    "fromid",
    "sourceid",
    "srcid",
    "sourcenode",
    "id1",
    "vertex1",
    "nodeid1",
}
_LATER_TARGETS = {
    "tonodeid",
    "tonode",
    "toid",
    "targetid",
    "dstid",
    "targetnode",
    "id2",
    "vertex2",
    "nodeid2",
}
_WEIGHT = "weight"
_WEIGHTS = {_WEIGHT, "weights", "w", "cost", "length", "distance", "dist", "capacity", "value"}
#: Names of columns that have no weights; numbers of rows often have none at all.
_OTHERS = {
    "", "unnamed:_0", "id", "edgeid", "key", "index", "row", "line", "year", "date", "timestamp", "label",
    "type", "kind", "category", "name", "comment", "note",
}  # fmt: skip
#: What stands for a missing value.
_MISSING = {"", "na", "n/a", "<na>", "#n/a", "null", "none", "?", "-"}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9.]*,[0-9]+([eE][+-]?[0-9]+)?")


def is_weight(name: str) -> bool:
    """Whether a column of this name has the weights, wherever it stands."""
    return name.lower() == _WEIGHT


def is_usual_weight(name: str) -> bool:
    """Whether a column of this name is likely to have weights."""
    return name.lower() in _WEIGHTS


def is_no_weight(name: str) -> bool:
    """Whether a column of this name has no weights, though it may have numbers."""
    plain = name.lower().replace(" ", "_").replace("-", "_")
    return plain in _OTHERS or plain.endswith("_id")


def usual_ends(names: list[str]) -> tuple[int, int] | None:
    """The columns of sources and targets, if exactly one has a usual name of each; else one of the less usual names."""
    plain = [name.lower() for name in names]
    later = [re.sub("[-_ ]", "", name) for name in plain]
    for found, usual in ((plain, (_SOURCES, _TARGETS)), (later, (_LATER_SOURCES, _LATER_TARGETS))):
        source, target = ([k for k, name in enumerate(found) if name in ends] for ends in usual)
        if len(source) == len(target) == 1:
            return source[0], target[0]
    return None


def looks_like_header(lines: list[list[str]]) -> bool:
    """Whether the first line names columns: it has usual names, "weight" over a number, or words above integers."""
    names, values = lines[0], lines[-1]
    if usual_ends(names) is not None or (_SOURCES | _TARGETS).issuperset(map(str.lower, names[:2])):
        return True
    if any(is_weight(name) and is_number(value) for name, value in zip(names, values, strict=False)):
        return True
    return not any(map(is_integer, names[:2])) and all(map(is_integer, values[:2]))


def are_names_above_ids(names: list[str], values: list[str]) -> bool:
    """Whether one line has nothing but usual names of columns, and the other integers as source and target."""
    ends = usual_ends(names)
    if ends is None or max(ends) >= len(values) or not all(is_integer(values[end]) for end in ends):
        return False
    others = (name for place, name in enumerate(names) if place not in ends)
    return all(is_usual_weight(name) or is_no_weight(name) for name in others)


def is_integer(text: str) -> bool:
    """Whether a field is an integer in digits."""
    return _INTEGER.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """Whether a field is a number, finite or not."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_finite(text: str) -> bool:
    """Whether a field is a finite number."""
    return is_number(text) and math.isfinite(float(text))


def is_missing(text: str) -> bool:
    """Whether a field stands for a missing value."""
    return text.lower() in _MISSING


def has_decimal_comma(text: str) -> bool:
    """Whether a field is a number with a comma for the point."""
    return _DECIMAL_COMMA.fullmatch(text) is not None
