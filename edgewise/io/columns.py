"""Files of named columns, in the format of their suffix: written whole or not at all."""

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TextIO

import numpy as np

from edgewise.errors import EdgewiseError, OutputError, ParseError
from edgewise.io.budget import Budget
from edgewise.io.column_parquet import load_arrow, read_parquet, write_parquet
from edgewise.io.column_texts import (
    Columns,
    Span,
    first_formula,
    quotes_all,
    read_delimited,
    read_records,
    tell_of_formula,
    write_delimited,
    write_records,
)
from edgewise.io.streams import open_bzip2, open_xz
from edgewise.io.zstd import open_zstd
from edgewise.whole import COMPRESSIONS, check_compression, check_place, open_text, replacing, written_whole

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_RECORDS = (".json", ".jsonl")
_PARQUET = ".parquet"
#: What unpacks files within a budget; those packed with gzip take little memory in any case.
_UNPACKED = {".bz2": open_bzip2, ".xz": open_xz, ".zst": open_zstd}


def check_writable(path: Path, *sources: Path, quote_formulas: bool = False) -> None:
    """Refuse, before a run that reads the sources, a path that its output cannot be written to.

    Raises:
        OutputError: a suffix that is no format of columns, or one without a place for quoted formulas; a folder that is
            missing or cannot be written to, a folder in the place of the file, or a source.
        MissingDependencyError: the format needs a package that is not installed.
    """
    suffix = _format(path, OutputError)
    if quote_formulas and suffix not in _DELIMITERS:
        raise OutputError(
            f"{path} is no file for spreadsheets, so its names stay as they are; leave out quote_formulas=True"
        )
    if suffix == _PARQUET:
        load_arrow()
    check_place(path, *sources)
    check_compression(path)


def write_columns(
    path: Path,
    columns: Mapping[str, np.ndarray],
    progress: Callable[[int], None] | None = None,
    *,
    quote_formulas: bool = False,
    missing: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write columns of equal length under their names.

    Floats are written with as many digits as tell them apart. The file appears under its name when it is
    complete; what was there before stays until then.

    Args:
        path: ends in .csv, .tsv, .json (an array of records) or .jsonl (a record on each line), also compressed, see
            `edgewise.whole.COMPRESSIONS`; or in .parquet.
        columns: arrays of one dimension and one length, by name.
        progress: called with the number of rows written.
        quote_formulas: put an apostrophe before names that a program for spreadsheets would take for formulas.
        missing: where columns have no value, masks by the names of the columns: null in JSON and Parquet, which have
            that; in CSV and TSV, the column's own value for it.

    Warns:
        GraphWarning: a CSV or TSV file has names that a program for spreadsheets would take for formulas.

    Raises:
        OutputError: the file cannot be written, or it has no place for a name.
        MissingDependencyError: the format needs a package that is not installed.
    """
    check_writable(path, quote_formulas=quote_formulas)
    progress, missing = progress or (lambda done: None), missing or {}
    with naming_output(path):
        if _format(path, OutputError) == _PARQUET:
            with replacing(path) as aside:
                for done in write_parquet(aside, columns, missing):
                    progress(done)
        else:
            span = Span(quotes_all=quotes_all(columns))
            with written_whole(path) as file:
                write_rows(path, file, columns, missing, progress, span, quote_formulas=quote_formulas)
    tell_of_formula(path, risky_name(path, columns, quote_formulas))


@contextlib.contextmanager
def naming_output(path: Path) -> Iterator[None]:
    """While this is entered, errors in writing a file become an OutputError that names it."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None
    except EdgewiseError:
        raise
    except (
        ValueError,
        TypeError,
    ) as error:  # half a character, an integer of too many digits, an id of another kind
        raise OutputError(f"cannot write {path}: {error}") from None


def is_text(path: Path) -> bool:
    """Whether a file of this name is text that is not compressed, of which parts can be written by themselves."""
    return path.suffix in _DELIMITERS or path.suffix in _RECORDS


def risky_name(path: Path, columns: Columns, quote_formulas: bool) -> str | None:
    """A name that a spreadsheet would take for a formula, if the file is one for spreadsheets; else None."""
    told = _format(path, OutputError) in _DELIMITERS and not quote_formulas
    return first_formula(columns.values()) if told else None


def write_rows(
    path: Path,
    file: TextIO,
    columns: Columns,
    missing: Columns,
    progress: Callable[[int], None],
    span: Span,
    *,
    quote_formulas: bool,
) -> None:
    """Write rows as text in the format of a suffix. The loop is here: a generator may keep a file open.

    Args:
        path: whose suffix decides.
        file: where they are written.
        columns, missing, progress, quote_formulas: as for `write_columns`.
        span: which rows of the file they are.
    """
    suffix = _format(path, OutputError)
    if suffix in _RECORDS:
        rows = write_records(file, columns, missing, suffix == ".json", span)
    else:
        rows = write_delimited(file, columns, _DELIMITERS[suffix], quote_formulas, span)
    for done in rows:
        progress(done)


def read_columns(path: Path, memory_limit: int | None = None) -> dict[str, list[str | None]]:
    """The columns of a file that `write_columns` wrote, as text, by name. Null, which JSON and Parquet have, is None.

    Raises:
        ParseError: no such file, not of the format that its suffix says, no line of names, or a line with another
            number of fields.
        MemoryLimitError: it takes more than `memory_limit` bytes; by default, more than is free on the machine.
        MissingDependencyError: the format needs a package that is not installed.
    """
    suffix = _format(path, ParseError)
    budget = Budget.of(path, memory_limit)
    try:
        with budget.kept():
            if suffix == _PARQUET:
                return read_parquet(path, budget)
            with _opened(path, budget) as file:
                if suffix in _RECORDS:
                    return read_records(path, file, budget)
                return read_delimited(path, file, _DELIMITERS[suffix], budget)
    except EdgewiseError:
        raise
    except Exception as error:  # each decompressor has its own, and so have CSV files
        raise ParseError(f"cannot read {path}: {error}") from None


def _opened(path: Path, budget: Budget) -> TextIO:
    """A file of text, unpacked within the budget."""
    if path.suffix not in _UNPACKED:
        return open_text(path, "rt", path.suffix)
    return io.TextIOWrapper(_UNPACKED[path.suffix](open(path, "rb"), budget), encoding="utf-8", newline="")


def _format(path: Path, error: type[Exception]) -> str:
    """The suffix that decides the format. Raises `error` if there is no such format."""
    plain = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    if plain.suffix in _DELIMITERS or plain.suffix in _RECORDS or path.suffix == _PARQUET:
        return plain.suffix
    raise error(
        f"{path} ends in {plain.suffix or 'no suffix'!r}; expected .csv, .tsv, .json or .jsonl, each also with "
        f"{' or '.join(COMPRESSIONS)}, or {_PARQUET}"
    )
