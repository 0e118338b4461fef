"""Columns as text: CSV and TSV, and JSON, a record on each line."""

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from edgewise.errors import GraphWarning, ParseError, warn
from edgewise.io.budget import Budget
from edgewise.text import shown

#: Rows that are formatted at a time: a few milliseconds of work between two looks at Ctrl-C.
CHUNK = 1 << 15
#: Characters that a spreadsheet takes for the start of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
#: Bytes of a field in memory beyond its text, and of the longest line.
FIELD_BYTES, _LONGEST_LINE = 66, 2**24

Columns = Mapping[str, np.ndarray]


class Span(NamedTuple):
    """Which rows of a file are written: all of them, or a part, so that parts one after the other are the file.

    Attributes:
        first, last: whether the file begins with this part, and ends with it.
        goes_on: whether rows follow.
        quotes_all: whether rows of any part have what makes CSV and TSV quote all fields, see `quotes_all`.
    """

    first: bool = True
    last: bool = True
    goes_on: bool = False
    quotes_all: bool = False


def quotes_all(columns: Columns) -> bool:
    """Whether a name holds a carriage return, which `csv` leaves without quotes and reads as a line break."""
    return any(map(_has_return, columns.values()))


def write_delimited(
    file: TextIO, columns: Columns, delimiter: str, quote_formulas: bool, span: Span
) -> Iterator[int]:
    """Write a line of names and a line for each row, and yield the number of rows done."""
    writer = csv.writer(
        file,
        delimiter=delimiter,
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if span.quotes_all else csv.QUOTE_MINIMAL,
    )
    if span.first:
        writer.writerow(columns)
    for piece in pieces(columns):
        part = [as_written(column[piece]) for column in columns.values()]
        if quote_formulas:
            part = list(map(with_formulas_quoted, part))
        writer.writerows(zip(*part, strict=True))
        yield piece.stop


def write_records(
    file: TextIO, columns: Columns, missing: Columns, as_array: bool, span: Span
) -> Iterator[int]:
    """Write an object of JSON on a line for each row, all in an array if asked for, and yield the number of rows done.
    Values that are missing, infinite or NaN are null."""
    record = ", ".join(json.dumps(name).replace("%", "%%") + ": %s" for name in columns)
    between = ",\n" if as_array else "\n"
    if as_array and span.first:
        file.write("[\n")
    length = len(next(iter(columns.values())))
    for piece in pieces(columns):
        tokens = [
            _as_tokens(column[piece], missing[name][piece] if name in missing else None)
            for name, column in columns.items()
        ]
        file.write(between.join(f"{{{record}}}" % row for row in zip(*tokens, strict=True)))
        file.write(between if piece.stop < length or span.goes_on else "\n")
        yield piece.stop
    if as_array and span.last:
        file.write("]\n")


def pieces(columns: Columns) -> Iterator[slice]:
    """The rows that are written together."""
    length = len(next(iter(columns.values())))
    for start in range(0, length, CHUNK):
        yield slice(start, min(start + CHUNK, length))


def with_formulas_quoted(values: list) -> list:
    """These values, with an apostrophe before names that a spreadsheet would take for formulas, and before those that
    are such names after apostrophes: so different names stay different."""
    return [
        f"'{each}" if isinstance(each, str) and each.lstrip("'").startswith(_FORMULA) else each
        for each in values
    ]


def first_formula(columns: Iterable[np.ndarray]) -> str | None:
    """A name that a spreadsheet would take for a formula, and run; None if there is none."""
    names = (each for column in columns if column.dtype.kind in "OUT" for each in column.tolist())
    return next((each for each in names if isinstance(each, str) and each.startswith(_FORMULA)), None)


def tell_of_formula(path: Path, first: str | None) -> None:
    """Warn of a file with names that a spreadsheet would take for formulas, such as this one."""
    if first is not None:
        warn(
            f"{path} has names that a spreadsheet takes for formulas, such as {shown(first)}. To open it in one, "
            "write it with quote_formulas=True, which puts ' before them",
            GraphWarning,
        )


def _has_return(column: np.ndarray) -> bool:
    return column.dtype == object and any(isinstance(each, str) and "\r" in each for each in column.tolist())


def as_written(array: np.ndarray) -> list:
    """Values with the shortest text that gives them back: a float32 must not become a float64 first."""
    return array.astype(str).tolist() if array.dtype == np.float32 else array.tolist()


def _as_tokens(array: np.ndarray, missing: np.ndarray | None) -> list[str]:
    """Values as JSON has them."""
    if array.dtype.kind == "f":
        values = map(float, as_written(array))
        tokens = [repr(each) if math.isfinite(each) else "null" for each in values]
    else:
        tokens = list(map(str if array.dtype.kind in "iu" else json.dumps, array.tolist()))
    if missing is not None:
        for row in np.flatnonzero(missing).tolist():
            tokens[row] = "null"
    return tokens


def read_delimited(path: Path, file: TextIO, delimiter: str, budget: Budget) -> dict[str, list[str | None]]:
    """The columns of a file with a line of names, as text. Raises ParseError, csv.Error or MemoryLimitError."""
    reader = csv.reader(_lines(path, file), delimiter=delimiter)
    names = next(reader, [])
    rows, taken = [], 0
    for row in reader:
        if len(row) != len(names):
            raise ParseError(
                f"{path}:{reader.line_num}: {len(row)} fields; expected {len(names)} as in line 1"
            )
        rows.append(row)
        taken += sum(map(len, row)) + FIELD_BYTES * (len(row) + 1)
        budget.check(taken)
    if not names:
        raise ParseError(f"{path} is empty; expected a line of column names")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def read_records(path: Path, file: TextIO, budget: Budget) -> dict[str, list[str | None]]:
    """The columns of a file with an object of JSON on each line, as `write_records` wrote it: null is None. Raises
    ParseError or MemoryLimitError."""
    columns: dict[str, list[str | None]] = {}
    taken = 0
    for number, line in enumerate(_lines(path, file), start=1):
        text = line.strip().removesuffix(",")
        if text in ("[", "]", ""):
            continue
        record = _record(path, number, text)
        columns = columns or {name: [] for name in record}
        if record.keys() != columns.keys():
            raise ParseError(f"{path}:{number}: a record of other names than the first one has")
        for name, value in record.items():
            columns[name].append(as_text(value))
        taken += len(text) + FIELD_BYTES * (len(record) + 1)
        budget.check(taken)
    return columns


def _record(path: Path, number: int, text: str) -> dict[str, Any]:
    """The object on a line. Raises ParseError if there is none."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"{path}:{number}: no JSON: {error}; expected a record on each line") from None
    if not isinstance(record, dict):
        raise ParseError(f"{path}:{number}: expected an object of JSON, {{...}}, on each line")
    return record


def as_text(value: Any) -> str | None:
    """A value as CSV has it; None stays."""
    return None if value is None else str(value)


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    """The lines of a file; a line that is too long is refused."""
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise ParseError(f"{path} has a line of more than {_LONGEST_LINE:,} characters; expected columns")
        yield line
