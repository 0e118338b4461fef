"""Files of named columns, CSV or TSV by their suffix, compressed with .gz: written whole or not at all."""

import csv
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TextIO

import numpy as np

from edgewise.errors import EdgewiseError, OutputError, ParseError
from edgewise.io.budget import Budget
from edgewise.whole import check_place, open_text, written_whole

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
#: Rows that are formatted at a time: a few milliseconds of work between two looks at Ctrl-C.
_CHUNK = 1 << 15
#: Characters that a spreadsheet takes for the start of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
#: Bytes of a field in memory beyond its text, and of the longest line.
_FIELD_BYTES, _LONGEST_LINE = 66, 2**24


def check_writable(path: Path, *sources: Path) -> None:
    """Refuse, before a run that reads the sources, a path that its output cannot be written to.

    Raises:
        OutputError: a suffix that is no format of columns, a folder that is missing or cannot be written to,
            a folder in the place of the file, or a source.
    """
    _delimiter(path, OutputError)
    check_place(path, *sources)


def write_columns(
    path: Path,
    columns: Mapping[str, np.ndarray],
    progress: Callable[[int], None] | None = None,
    *,
    quote_formulas: bool = False,
) -> None:
    """Write columns of equal length under a line of their names.

    Floats are written with as many digits as tell them apart. The file appears under its name when it is
    complete; what was there before stays until then.

    Args:
        path: ends in .csv, .tsv, .csv.gz or .tsv.gz.
        columns: arrays of one dimension and one length, by name.
        progress: called with the number of rows written.
        quote_formulas: put an apostrophe before names that a program for spreadsheets would take for formulas.

    Raises:
        OutputError: the file cannot be written, or a name is no text.
    """
    length = len(next(iter(columns.values())))
    try:
        with written_whole(path) as file:
            writer = csv.writer(
                file,
                delimiter=_delimiter(path, OutputError),
                lineterminator="\n",
                quoting=csv.QUOTE_ALL if any(map(_has_return, columns.values())) else csv.QUOTE_MINIMAL,
            )
            writer.writerow(columns)
            for start in range(0, length, _CHUNK):
                part = [_as_values(column[start : start + _CHUNK]) for column in columns.values()]
                if quote_formulas:
                    part = list(map(with_formulas_quoted, part))
                writer.writerows(zip(*part, strict=True))
                if progress is not None:
                    progress(min(start + _CHUNK, length))
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None
    except ValueError as error:  # half a character, or an integer of too many digits
        raise OutputError(f"cannot write {path}: {error}") from None


def with_formulas_quoted(values: list) -> list:
    """These values, with an apostrophe before names that a spreadsheet would take for formulas."""
    return [f"'{each}" if isinstance(each, str) and each.startswith(_FORMULA) else each for each in values]


def _has_return(column: np.ndarray) -> bool:
    """Whether a name holds a carriage return, which `csv` leaves without quotes and reads as a line break."""
    return column.dtype == object and any(isinstance(each, str) and "\r" in each for each in column.tolist())


def _as_values(array: np.ndarray) -> list:
    """Values with the shortest text that gives them back: a float32 must not become a float64 first."""
    return array.astype(str).tolist() if array.dtype == np.float32 else array.tolist()


def read_columns(path: Path, memory_limit: int | None = None) -> dict[str, list[str]]:
    """The columns of a file that `write_columns` wrote, as text, by name.

    Raises:
        ParseError: no such file, not text, no line of names, or a line with another number of fields.
        MemoryLimitError: it takes more than `memory_limit` bytes; by default, more than is free on the machine.
    """
    delimiter = _delimiter(path, ParseError)
    budget = Budget.of(path, memory_limit)
    try:
        with budget.kept(), open_text(path, "rt", path.suffix) as file:
            reader = csv.reader(_lines(path, file), delimiter=delimiter)
            names = next(reader, [])
            rows, taken = [], 0
            for row in reader:
                if len(row) != len(names):
                    raise ParseError(
                        f"{path}:{reader.line_num}: {len(row)} fields; expected {len(names)} as in line 1"
                    )
                rows.append(row)
                taken += sum(map(len, row)) + _FIELD_BYTES * (len(row) + 1)
                budget.check(taken)
    except EdgewiseError:
        raise
    except (OSError, EOFError, ValueError, zlib.error, csv.Error) as error:
        raise ParseError(f"cannot read {path}: {error}") from None
    if not names:
        raise ParseError(f"{path} is empty; expected a line of column names")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    """The lines of a file; a line that is too long is refused."""
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise ParseError(f"{path} has a line of more than {_LONGEST_LINE:,} characters; expected columns")
        yield line


def _delimiter(path: Path, error: type[Exception]) -> str:
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    if plain.suffix not in _DELIMITERS:
        raise error(
            f"{path} ends in {plain.suffix or 'no suffix'!r}; expected .csv, .tsv, .csv.gz or .tsv.gz"
        )
    return _DELIMITERS[plain.suffix]
