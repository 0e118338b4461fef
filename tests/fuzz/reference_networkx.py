"""Files of NetworkX, in plain Python: adjacency lists, and edge lists with the attributes of edges."""

import ast
import re

from reference import (
    BLANKS,
    Expected,
    Unsure,
    id_in,
    integer,
    is_data,
    is_integer,
    lines_of,
    refuse_unless,
    words_of,
)
from reference_tables import are_encoded, declared_names, read_table


def read_adjlist(
    data: bytes,
    names: bool | None = None,
    directed: bool = True,
    num_vertices: int | None = None,
    index_base: int = 0,
) -> Expected:
    """The arcs from the first vertex of each line to the others; what follows # means nothing."""
    lines = lines_of(data)
    rows = [words_of(line.partition("#")[0]) for line in lines]
    first = next((place for place, row in enumerate(rows) if row), len(rows))
    if names is None:
        names = declared_names(lines[:first])
    rows = [row for row in rows if row]
    refuse_unless(rows or num_vertices is not None)
    if names is None:
        names = bool(rows) and not all(map(is_integer, rows[0]))
    refuse_unless(are_encoded(lines) or not names)
    refuse_unless(not names or num_vertices is None)
    ids = [[_id(word, names, index_base, num_vertices) for word in row] for row in rows]
    refuse_unless(are_encoded(lines) or all(-(2**63) <= each < 2**63 for row in ids for each in row))
    edges = [(row[0], other) for row in ids for other in row[1:]]
    if num_vertices is not None:
        return Expected(edges, directed, range(index_base, index_base + num_vertices))
    vertices = list(dict.fromkeys(each for row in ids for each in row))
    return Expected(edges, directed, vertices if names else sorted(vertices))


def _id(word: str, names: bool, lowest: int, count: int | None) -> str | int:
    if names:
        return word
    return integer(word) if count is None else id_in(word, lowest, count)


def read_edge_data(data: bytes, weighted: bool | None = None, **options: object) -> Expected:
    """Edges with dictionaries behind them, of which the value of "weight" is a weight."""
    lines = lines_of(data)
    kept = [place for place, line in enumerate(lines) if is_data(line, "#%")]
    if not kept or "{" not in data.decode(errors="replace"):
        return read_table(data, weighted=weighted, **options)
    weights = []
    for place in kept:
        parts = _parts(lines[place])
        if parts is None or len(words_of(parts[1])) != 2 or parts[1][-1] not in BLANKS:
            raise Unsure  # it may be a table of other columns
        weights.append(None if weighted is False else _weight(parts[2]))
        lines[place] = parts[1] + (" " + weights[-1] if weights[-1] else "")
    refuse_unless(len({weight is None for weight in weights}) == 1)
    has_weights = weights[0] is not None
    refuse_unless(has_weights or not weighted)
    text = ("\ufeff" + "\n".join(lines)).encode(errors="surrogateescape")
    return read_table(text, weighted=has_weights, header=False, **options)


def _parts(line: str) -> re.Match | None:
    return re.fullmatch(r"([^{]*[ \t,;|])(\{\}|\{[^:]+:.*\})[ \t]*", line)


def _weight(text: str) -> str | None:
    """The weight in a dictionary, as text; None if it has none.

    Raises:
        Unsure: a dictionary that Python would not write so. Values that are no weights may be anything.
    """
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError):
        raise Unsure from None
    if (
        not isinstance(found, dict)
        or repr(found) != text.strip()
        or not all(isinstance(key, str) for key in found)
    ):
        raise Unsure
    weight = found.get("weight")
    if weight is not None and type(weight) not in (int, float):
        raise Unsure
    return None if weight is None else repr(weight)
