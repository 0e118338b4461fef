"""A file of columns of which each rank writes its own rows; no rank has those of all."""

import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import IO

import numpy as np

from edgewise.engine.distributed.group import Group
from edgewise.errors import DistributedError, OutputError
from edgewise.io.column_texts import Span, quotes_all, tell_of_formula
from edgewise.io.columns import check_writable, is_text, naming_output, risky_name, write_rows
from edgewise.whole import replacing

#: What each rank tells of its rows: flags.
_QUOTES_ALL, _IS_RISKY = 1, 2
_NOTHING = np.empty(0, np.uint8)

Columns = Mapping[str, np.ndarray]


def write_by_ranks(
    path: Path,
    columns: Columns,
    missing: Columns,
    group: Group,
    progress: Callable[[int], None],
    *,
    quote_formulas: bool,
) -> None:
    """Write columns of which each rank has some rows, in the order of ranks: the file that one process would write.

    The first rank makes the file aside, and gives it its name when all have written. The others write their rows aside,
    too, tell how long they are, and copy them to their place. All ranks call it.

    Args:
        path: in a folder that all ranks see under this name; see `edgewise.io.columns.write_columns`, but neither
            compressed nor Parquet.
        columns, missing, progress, quote_formulas: see there, of the rows of this rank.
        group: the ranks.

    Raises:
        OutputError: the file cannot be written, by any of the ranks, or in this format not by parts.
        DistributedError: ranks name other files.
    """
    _check_parts(path)
    rank = group.differing(f"{path.absolute()}\0{quote_formulas}".encode(errors="surrogateescape"))
    if rank is not None:
        raise DistributedError(
            f"rank {group.rank} writes {path}, and rank {rank} another file, or in another way; expected the same call "
            "on all ranks"
        )
    check_writable(path, quote_formulas=quote_formulas)
    risky = risky_name(path, columns, quote_formulas)
    own = _QUOTES_ALL * quotes_all(columns) | _IS_RISKY * (risky is not None)
    rows = np.array([len(next(iter(columns.values())))], np.int64)
    parts, flags = group.everywhere(rows.view(np.uint8), own)
    after = sum(int(part.view(np.int64)[0]) for part in parts[group.rank + 1 :])
    is_first, is_last = group.rank == 0, group.rank == group.size - 1
    span = Span(is_first, is_last, after > 0, any(flag & _QUOTES_ALL for flag in flags))
    with naming_output(path):
        with _made_by_first(path, group) as (aside, binary):
            text = io.TextIOWrapper(binary, encoding="utf-8", newline="")
            write_rows(path, text, columns, missing, progress, span, quote_formulas=quote_formulas)
            text.flush()
            lengths = group.everywhere(_NOTHING, binary.tell())[1]
            begins = [0, *accumulate(lengths)]
            if not is_first:
                _copy(binary, aside, begins[group.rank])
            group.total(0)  # all have written
            if is_first and aside.stat().st_size != begins[-1]:
                raise OutputError(f"cannot write {path}: what other ranks wrote is not in it")
        group.total(0)  # it has its name
    if group.rank == next((each for each, flag in enumerate(flags) if flag & _IS_RISKY), None):
        tell_of_formula(path, risky)


def _check_parts(path: Path) -> None:
    """Refuse a format that is not written by parts. Raises OutputError."""
    if not is_text(path):
        raise OutputError(
            f"{path} ends in {path.suffix or 'no suffix'!r}; expected .csv, .tsv, .json or .jsonl, which ranks write "
            "together. Other files are written from the beginning to the end: compress it afterwards, or gather() the "
            "result"
        )


@contextlib.contextmanager
def _made_by_first(path: Path, group: Group) -> Iterator[tuple[Path, IO[bytes]]]:
    """The file aside, and what this rank writes to: the first one to that file, others to one without a name."""
    if group.rank == 0:
        with replacing(path) as aside, open(aside, "wb") as file:
            group.everywhere(np.frombuffer(os.fsencode(aside.absolute()), np.uint8))
            yield aside, file
    else:
        name = group.everywhere(_NOTHING)[0][0].tobytes()
        with tempfile.TemporaryFile(dir=path.absolute().parent) as file:
            yield Path(os.fsdecode(name)), file


def _copy(binary: IO[bytes], aside: Path, begin: int) -> None:
    """Copy what was written to its place in the file aside. Raises OutputError, if that is not seen here."""
    binary.seek(0)
    try:
        with open(aside, "r+b") as whole:
            whole.seek(begin)
            shutil.copyfileobj(binary, whole, 1 << 20)
    except FileNotFoundError:
        raise OutputError(
            f"cannot write {aside.parent}: a file of another rank is not seen in it; expected a folder that all ranks "
            "share"
        ) from None
