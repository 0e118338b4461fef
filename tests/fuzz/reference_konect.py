"""Networks of KONECT, in plain Python."""

import re

from reference import Expected, is_data, lines_of, refuse_unless, words_of
from reference_tables import read_table

_UNWEIGHTED = ("unweighted", "positive")
_WEIGHTED = ("posweighted", "signed", "multisigned", "weighted", "multiweighted", "multiposweighted")


def read_konect(data: bytes, weighted: bool | None = None, format: str = "konect") -> Expected:  # noqa: A002
    """The edges after a line that says if they have directions and weights."""
    lines = lines_of(data)
    match = re.fullmatch(r"%[ \t]*(sym|asym|bip)[ \t]+([a-z]+)[ \t]*", lines[0])
    refuse_unless(match and match[1] != "bip" and match[2] in (*_UNWEIGHTED, *_WEIGHTED, "dynamic"))
    refuse_unless(match[2] != "dynamic" or weighted is not None)
    if weighted is None:
        first = next((words_of(line) for line in lines if is_data(line, "#%")), [])
        weighted = match[2] in _WEIGHTED and len(first) > 2
    return read_table(data, weighted=weighted, directed=match[1] == "asym")
