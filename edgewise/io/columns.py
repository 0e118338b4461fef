"""Files of named columns, in the format of their suffix: written whole or not at all."""

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

import numpy as np

from edgewise.errors import EdgewiseError, OutputError, ParseError
from edgewise.io.budget import Budget
from edgewise.io.column_parquet import load_arrow, read_parquet, write_parquet
from edgewise.io.column_texts import (
    Columns,
    read_delimited,
    read_records,
    tell_of_formulas,
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
    try:
        _write(path, columns, missing or {}, quote_formulas, progress or (lambda done: None))
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None
    except EdgewiseError:
        raise
    except (
        ValueError,
        TypeError,
    ) as error:  # half a character, an integer of too many digits, an id of another kind
        raise OutputError(f"cannot write {path}: {error}") from None
    if _format(path, OutputError) in _DELIMITERS and not quote_formulas:
        tell_of_formulas(path, columns.values())


def _write(
    path: Path, columns: Columns, missing: Columns, quote_formulas: bool, progress: Callable[[int], None]
) -> None:
    """Write columns in the format of the suffix. The loops are here: a generator may keep a file open."""
    suffix = _format(path, OutputError)
    if suffix == _PARQUET:
        with replacing(path) as aside:
            for done in write_parquet(aside, columns, missing):
                progress(done)
        return
    with written_whole(path) as file:
        if suffix in _RECORDS:
            rows = write_records(file, columns, missing, as_array=suffix == ".json")
        else:
            rows = write_delimited(file, columns, _DELIMITERS[suffix], quote_formulas)
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
