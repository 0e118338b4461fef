"""What edge lists, CSV and Matrix Market files mean, in plain Python: slow, and written apart from `edgewise.io`."""

import math
import re

BLANKS = " \t"
LARGEST = 2**31 - 1


class Refused(Exception):
    """A file that is no graph."""


class Unknown(Exception):
    """A file of which nothing is said here: one with mistakes in its line of column names, or one that declares
    names and has such a line, too."""


def lines_of(data: bytes) -> list[str]:
    """The lines of a file."""
    if b"\0" in data or not data:
        raise Refused
    text = data.decode("utf-8-sig", errors="surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def is_integer(text: str) -> bool:
    """Whether a field is an integer in digits."""
    return re.fullmatch(r"[+-]?[0-9]+", text) is not None


def integer(text: str) -> int:
    """An integer in digits."""
    if not is_integer(text) or len(text) > 4000:
        raise Refused
    return int(text)


def number(text: str) -> float:
    """A finite number in decimal digits."""
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,18})?", text):
        raise Refused
    value = float(text)
    if not math.isfinite(value):
        raise Refused
    return value


def weights_of(texts: list[str]) -> list[int] | list[float]:
    """Weights: integers of 64 bits if all are integers, else floats; a fraction comes before what is too large."""
    fraction = next((place for place, text in enumerate(texts) if not is_integer(text)), len(texts))
    if any(not -(2**63) <= integer(text) < 2**63 for text in texts[:fraction]):
        raise Refused
    return [integer(text) for text in texts] if fraction == len(texts) else [number(text) for text in texts]


def fields_of(line: str, delimiter: str | None) -> list[str]:
    """The fields of a line."""
    if delimiter is None:
        return line.split()
    fields, rest = [], line
    while True:
        rest = rest.lstrip(BLANKS.replace(delimiter, ""))
        if rest.startswith('"'):
            match = re.match(r'"((?:[^"]|"")*)"[ \t]*', rest)
            if delimiter == "\t":
                match = re.match(r'"((?:[^"]|"")*)"[ ]*', rest)
            if match is None or rest[match.end() :][:1] not in ("", delimiter):
                raise Refused
            fields.append(match[1].replace('""', '"'))
            rest = rest[match.end() :]
        else:
            field, _, _ = rest.partition(delimiter)
            fields.append(field.strip(BLANKS))
            rest = rest[len(field) :]
        if not rest:
            return fields
        rest = rest[1:]


def read_edge_list(data: bytes) -> list[tuple]:
    """The edges of a file that `edgewise.read` reads with ``format="edgelist"``, in its order."""
    rows = [
        line.strip(BLANKS)
        for line in lines_of(data)
        if line.strip(BLANKS) and line.strip(BLANKS)[0] not in "#%"
    ]
    return edges_of([re.split(r"[ \t]+", row) for row in rows], None, data)


def is_encoded(data: bytes) -> bool:
    """Whether a file is UTF-8, which matters for names only."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def declared_names(data: bytes) -> bool | None:
    """What comments before the first edge say of ids."""
    declared = None
    for line in lines_of(data):
        text = line.strip(BLANKS)
        if text and text[0] not in "#%":
            break
        declared = {"# Ids: names": True, "# Ids: integers": False}.get(text, declared)
    return declared


def edges_of(rows: list[list[str]], header: list[str] | None, data: bytes) -> list[tuple]:
    """Rows of fields as edges: ids of one kind, and weights where there is a third column of numbers."""
    names, encoded = declared_names(data), is_encoded(data)
    if not rows or any(len(row) != len(rows[0]) for row in rows) or len(rows[0]) < 2:
        raise Refused
    if header is not None and len(header) != len(rows[0]):
        raise Refused
    if names is None:
        names = not all(map(is_integer, rows[0][:2]))
    if names and not (encoded and all(field for row in rows for field in row[:2])):
        raise Refused
    ends = [tuple(row[:2]) if names else tuple(map(integer, row[:2])) for row in rows]
    if not names and not encoded and any(not -(2**63) <= end < 2**63 for pair in ends for end in pair):
        raise Refused
    place = place_of_weights(rows, header)
    if place is None:
        return ends
    weights = weights_of([row[place] for row in rows])
    return [(*end, weight) for end, weight in zip(ends, weights, strict=True)]


def place_of_weights(rows: list[list[str]], header: list[str] | None) -> int | None:
    """The column of weights, by the header or by the first two rows."""
    if header is not None:
        for place, name in enumerate(header[2:], start=2):
            if name.lower() == "weight":
                return place
    if len(rows[0]) != 3:
        return None
    if header is not None and re.fullmatch("|id|.*_id|key|index|label|type", header[2].lower()):
        return None
    third = [row[2] for row in rows[:2]]
    if third in ([""], ["", ""]):
        return None
    if third[0].lower() in ("", "na", "n/a", "null", "none", "?", "-"):
        raise Refused
    if re.fullmatch(r"[+-]?[0-9.]*,[0-9]+([eE][+-]?[0-9]+)?", third[0]):
        raise Refused
    if value_of(third[0]) is not None:
        return 2
    second = value_of(third[1]) if len(third) > 1 else None
    if second is not None and math.isfinite(second):
        raise Refused
    return None


def value_of(text: str) -> float | None:
    """A field as a number of Python, if it is one."""
    try:
        return float(text)
    except ValueError:
        return None


def read_csv(data: bytes, header: bool) -> list[tuple]:
    """The edges of a file that `edgewise.read` reads with ``delimiter=","`` and this header."""
    lines = lines_of(data)
    kept = [
        place for place, line in enumerate(lines) if line.strip(BLANKS) and line.strip(BLANKS)[0] not in "#%"
    ]
    if not header:
        return edges_of([fields_of(lines[place], ",") for place in kept], None, data)
    if not kept:
        raise Refused
    rest = "\n".join(lines[kept[0] + 1 :]).encode(errors="surrogateescape")
    if declared_names(data) is not None or declared_names(rest) is not None:
        raise Unknown
    try:
        names = fields_of(lines[kept[0]], ",")
    except Refused:
        raise Unknown from None
    return edges_of([fields_of(lines[place], ",") for place in kept[1:]], names, rest)


def read_matrix(data: bytes) -> list[tuple]:
    """The entries of a Matrix Market file as edges; of a symmetric one once each."""
    lines = lines_of(data)
    words = lines[0].lower().split()
    if len(words) != 5 or words[:3] != ["%%matrixmarket", "matrix", "coordinate"]:
        raise Refused
    if words[3] not in ("pattern", "integer", "real") or words[4] not in ("general", "symmetric"):
        raise Refused
    if not data.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t").startswith(b"%"):
        raise Refused
    kept = [line.strip(BLANKS) for line in lines[1:] if line.strip(BLANKS) and line.strip(BLANKS)[0] != "%"]
    rows = [kept[0].split(), *(re.split("[ \t]+", line) for line in kept[1:])] if kept else []
    if not rows or len(rows[0]) != 3 or not all(re.fullmatch("[0-9]+", word) for word in rows[0]):
        raise Refused
    num_rows, num_columns, count = map(integer, rows[0])
    entries = rows[1:]
    width = 2 if words[3] == "pattern" else 3
    if num_rows != num_columns or num_rows > LARGEST or count != len(entries):
        raise Refused
    if any(len(entry) != width for entry in entries):
        raise Refused
    ends = [tuple(map(integer, entry[:2])) for entry in entries]
    if any(not 1 <= end <= num_rows for pair in ends for end in pair):
        raise Refused
    if width == 2:
        return ends
    texts = [entry[2] for entry in entries]
    weights = [integer(text) for text in texts] if words[3] == "integer" else [number(text) for text in texts]
    if words[3] == "integer" and any(not -(2**63) <= weight < 2**63 for weight in weights):
        raise Refused
    return [(*end, weight) for end, weight in zip(ends, weights, strict=True)]
