"""Files of named columns, CSV or TSV by their suffix, compressed with .gz: written whole or not at all."""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from edgewise.errors import OutputError, ParseError
from edgewise.io.whole import check_place, open_text, written_whole

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
#: Rows that are formatted at a time: a few milliseconds of work between two looks at Ctrl-C.
_CHUNK = 1 << 15


def check_writable(path: Path) -> None:
    """Find out before a run whether its output can be written.

    Raises:
        OutputError: a suffix that is no format of columns, a folder that is missing or cannot be written to,
            or a folder in the place of the file.
    """
    _delimiter(path, OutputError)
    check_place(path)


def write_columns(
    path: Path, columns: Mapping[str, np.ndarray], progress: Callable[[int], None] | None = None
) -> None:
    """Write columns of equal length under a line of their names.

    Floats are written with as many digits as tell them apart. The file appears under its name when it is
    complete; what was there before stays until then.

    Args:
        path: ends in .csv, .tsv, .csv.gz or .tsv.gz.
        columns: arrays of one dimension and one length, by name.
        progress: called with the number of rows written.

    Raises:
        OutputError: the file cannot be written.
    """
    length = len(next(iter(columns.values())))
    try:
        with written_whole(path) as file:
            writer = csv.writer(file, delimiter=_delimiter(path, OutputError), lineterminator="\n")
            writer.writerow(columns)
            for start in range(0, length, _CHUNK):
                part = [_as_values(column[start : start + _CHUNK]) for column in columns.values()]
                writer.writerows(zip(*part, strict=True))
                if progress is not None:
                    progress(min(start + _CHUNK, length))
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None


def _as_values(array: np.ndarray) -> list:
    """Values whose text is the shortest that gives them back: a float32 must not become a float64 first."""
    return array.astype(str).tolist() if array.dtype == np.float32 else array.tolist()


def read_columns(path: Path) -> dict[str, list[str]]:
    """The columns of a file that `write_columns` wrote, as text, by name.

    Raises:
        ParseError: no such file, not text, no line of names, or a line with another number of fields.
    """
    delimiter = _delimiter(path, ParseError)
    try:
        with open_text(path, "rt", compressed=path.suffix == ".gz") as file:
            reader = csv.reader(file, delimiter=delimiter)
            names = next(reader, [])
            rows = []
            for row in reader:
                if len(row) != len(names):
                    raise ParseError(
                        f"{path}:{reader.line_num}: {len(row)} fields; expected {len(names)} as in line 1"
                    )
                rows.append(row)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise ParseError(f"cannot read {path}: {error}") from None
    if not names:
        raise ParseError(f"{path} is empty; expected a line of column names")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _delimiter(path: Path, error: type[Exception]) -> str:
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    if plain.suffix not in _DELIMITERS:
        raise error(
            f"{path} ends in {plain.suffix or 'no suffix'!r}; expected .csv, .tsv, .csv.gz or .tsv.gz"
        )
    return _DELIMITERS[plain.suffix]
