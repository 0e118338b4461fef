"""What the fields of a table's first lines look like: names of columns, numbers, and missing values."""

import math
import re

from edgewise.convert.usual_names import (
    SOURCES,
    TARGETS,
    has_row_numbers,
    is_no_weight,
    is_usual_weight,
    is_weight,
    usual_ends,
)

#: What stands for a missing value.
_MISSING = {"", "na", "n/a", "<na>", "#n/a", "null", "none", "?", "-"}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9.]*,[0-9]+([eE][+-]?[0-9]+)?")


def looks_like_header(lines: list[list[str]]) -> bool:
    """Whether the first line names columns: it has usual names, "weight" over a number, words above integers, or first
    no name or "Unnamed: 0"."""
    names, values = lines[0], lines[-1]
    if len(names) > 2 and has_row_numbers(names[0]):
        return True
    if usual_ends(names) is not None or (SOURCES | TARGETS).issuperset(map(str.lower, names[:2])):
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
