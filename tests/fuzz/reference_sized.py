"""Files that declare their sizes, in plain Python: Matrix Market, DIMACS, PACE, TNTP, METIS and adjacency lists."""

import re
from collections import Counter

from reference import (
    BLANKS,
    Expected,
    id_in,
    integer64,
    is_data,
    joined,
    lines_of,
    num_vertices,
    number,
    refuse_unless,
    size,
    value_of,
    weights_of,
    words_of,
)


def read_matrix(data: bytes, weighted: bool | None = None) -> Expected:
    """The entries of a Matrix Market file as edges; of a symmetric one once each."""
    lines = lines_of(data)
    words = lines[0].lower().split()
    refuse_unless(len(words) == 5 and words[:3] == ["%%matrixmarket", "matrix", "coordinate"])
    kind, symmetry = words[3:]
    refuse_unless(kind in ("pattern", "integer", "unsigned-integer", "real"))
    refuse_unless(symmetry in ("general", "symmetric"))
    kept = [line for line in lines if is_data(line, "%")]
    refuse_unless(kept and len(kept[0].split()) == 3)
    count, columns, entries = map(size, kept[0].split())
    rows = list(map(words_of, kept[1:]))
    refuse_unless(count == num_vertices(str(columns)) and entries == len(rows))
    refuse_unless(all(len(row) == (2 if kind == "pattern" else 3) for row in rows))
    ends = [(id_in(row[0], 1, count), id_in(row[1], 1, count)) for row in rows]
    weights = None
    if kind != "pattern" and weighted is not False:
        texts = [row[2] for row in rows]
        weights = list(map(number if kind == "real" else integer64, texts))
    return Expected(joined(ends, weights), symmetry == "general", range(1, count + 1))


def read_dimacs(data: bytes, weighted: bool | None = None) -> Expected:
    """The arcs "a u v w" after "p sp n m", or the edges "u v" after another problem of PACE."""
    kept = [line for line in lines_of(data) if is_data(line, "c")]
    refuse_unless(kept)
    words = kept[0].split()
    refuse_unless(len(words) == 4 and words[0] == "p" and words[1] in ("sp", "tw", "td", "ds", "cep"))
    count, entries = num_vertices(words[2]), size(words[3])
    rows = list(map(words_of, kept[1:]))
    refuse_unless(len(rows) == entries)
    weights = None
    if words[1] == "sp":
        refuse_unless(all(len(row) == 4 and row[0] == "a" for row in rows))
        weights = None if weighted is False else weights_of([row[3] for row in rows])
        rows = [row[1:3] for row in rows]
    refuse_unless(all(len(row) == 2 for row in rows))
    ends = [(id_in(u, 1, count), id_in(v, 1, count)) for u, v in rows]
    return Expected(joined(ends, weights), words[1] == "sp", range(1, count + 1))


_LINK = (
    "init_node",
    "term_node",
    "capacity",
    "length",
    "free_flow_time",
    "b",
    "power",
    "speed",
    "toll",
    "link_type",
)
_ENDS = (
    ("init_node", "term_node"), ("from", "to"), ("from_node", "to_node"), ("init", "term"), ("tail", "head"),
    ("source", "target"),
)  # fmt: skip


def read_tntp(data: bytes, weighted: bool | None = None, weight_column: str = "length") -> Expected:
    """The links of a network, directed, with the weights of one column."""
    lines = lines_of(data)
    end, sizes = _metadata(lines)
    count, entries = num_vertices(sizes["NUMBER OF NODES"]), size(sizes["NUMBER OF LINKS"])
    names, rows = [], []
    for line in lines[end + 1 :]:
        if line.strip(BLANKS).startswith("~"):
            called = _columns(line)
            names = called if not rows and _ends(called) else names
        elif line.strip(BLANKS):
            rows.append(words_of(line))
    refuse_unless(len(rows) == entries)
    words = [word for word in re.split("[ \t;]+", " ".join(rows[0])) if word] if rows else []
    refuse_unless(words or not rows)
    names = names or list(_LINK[: len(words) or None])
    source, target = _ends(names) or (0, 1)
    if rows:
        refuse_unless(len(words) == len(names) and all(value_of(word) is not None for word in words))
        refuse_unless(len(rows[0]) == len(names) + (rows[0][-1] == ";"))
        refuse_unless(all(len(row) == len(rows[0]) for row in rows))
    ends = [(id_in(row[source], 1, count), id_in(row[target], 1, count)) for row in rows]
    weights = None
    if weighted is not False:
        refuse_unless(weight_column in names and names.index(weight_column) not in (source, target))
        weights = weights_of([row[names.index(weight_column)] for row in rows])
    return Expected(joined(ends, weights), True, range(1, count + 1))


def _metadata(lines: list[str]) -> tuple[int, dict[str, str]]:
    """The line that ends metadata, and the values of both sizes."""
    sizes: dict[str, str] = {}
    for place, line in enumerate(lines):
        match = re.match("[ \t]*<([^>]*)>(.*)", line)
        refuse_unless(match or not is_data(line, "~"))
        name = match[1].strip().upper() if match else ""
        if name == "END OF METADATA":
            refuse_unless(len(sizes) == 2)
            return place, sizes
        if name in ("NUMBER OF NODES", "NUMBER OF LINKS"):
            refuse_unless(name not in sizes and len(match[2].split()) == 1)
            sizes[name] = match[2].strip()
    refuse_unless(False)
    raise AssertionError


def _columns(line: str) -> list[str]:
    """The names of columns in a line that starts with ~: between tabs, if it has some inside, else between blanks."""
    text = line.strip()[1:].rstrip("; \t").strip()
    words = text.split("\t") if "\t" in text else text.split()
    return [re.sub(r"[\s_]+", "_", word.strip().lower()) for word in words if word.strip()]


def _ends(names: list[str]) -> tuple[int, int] | None:
    """The columns of the ends of links, by their names."""
    return next(((names.index(u), names.index(v)) for u, v in _ENDS if u in names and v in names), None)


def read_metis(data: bytes, weighted: bool | None = None) -> Expected:
    """The edges of a file with a row of neighbours for each vertex; each edge stands in the rows of both its ends."""
    lines = [line for line in lines_of(data) if not line.strip(BLANKS).startswith("%")]
    first = next((place for place, line in enumerate(lines) if line.strip(BLANKS)), None)
    refuse_unless(first is not None)
    words = lines[first].split()
    refuse_unless(2 <= len(words) <= 4)
    count, entries = num_vertices(words[0]), size(words[1])
    fmt = words[2] if len(words) > 2 else "0"
    refuse_unless(re.fullmatch("[01]{1,3}", fmt))
    sized, weighs, has_weights = (digit == "1" for digit in fmt.zfill(3))
    leading = size(words[3]) if len(words) > 3 else 1
    refuse_unless(leading <= 10_000)
    leading = sized + leading * weighs
    arcs: Counter = Counter()
    for row, line in _rows(lines[first + 1 :], 1, count):
        numbers = list(map(integer64, words_of(line)))
        refuse_unless(len(numbers) >= leading)
        pairs = numbers[leading:]
        refuse_unless(not has_weights or len(pairs) % 2 == 0)
        step = 2 if has_weights else 1
        for place in range(0, len(pairs), step):
            refuse_unless(1 <= pairs[place] <= count)
            arcs[(row, *pairs[place : place + step])] += 1
    refuse_unless(all(arcs[v, u, *w] == times for (u, v, *w), times in arcs.copy().items()))
    edges = [edge for edge in arcs.elements() if edge[0] <= edge[1]]
    refuse_unless(len(edges) == entries)
    if weighted is False:
        edges = [edge[:2] for edge in edges]
    return Expected(edges, False, range(1, count + 1))


def read_adjacency(data: bytes) -> Expected:
    """The arcs of a file with the number of vertices and a row of successors for each, from 0 on."""
    lines = lines_of(data)
    refuse_unless(len(lines[0].split()) == 1)
    count = num_vertices(lines[0].split()[0])
    edges = [
        (row, id_in(word, 0, count)) for row, line in _rows(lines[1:], 0, count) for word in words_of(line)
    ]
    return Expected(edges, True, range(count))


def _rows(lines: list[str], lowest: int, count: int) -> list[tuple[int, str]]:
    """The rows of a file, each with its vertex; there are as many as vertices, and only blank lines follow."""
    if lines and not lines[-1]:
        del lines[-1]  # what follows the last line end
    refuse_unless(len(lines) >= count and not any(line.strip(BLANKS) for line in lines[count:]))
    return list(enumerate(lines[:count], start=lowest))
