"""Columns in Parquet files, by pyarrow."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from edgewise.errors import MissingDependencyError, OutputError, ParseError
from edgewise.io.budget import Budget
from edgewise.io.column_texts import FIELD_BYTES, Columns, as_text
from edgewise.text import shown

#: Rows that are written together, and rows that are read together.
_GROUP, _BATCH = 1 << 20, 1 << 12


def load_arrow() -> Any:
    """The package pyarrow, with its part for Parquet.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError(
            "Parquet files need pyarrow, which is not installed; run: pip install 'edgewise[parquet]'"
        ) from None
    return pyarrow


def write_parquet(path: Path, columns: Columns, missing: Columns) -> Iterator[int]:
    """Write columns, null where a value is missing, and yield the number of rows done. Raises OutputError."""
    pyarrow = load_arrow()
    length = len(next(iter(columns.values())))
    columns = {name: _with_none(column, missing.get(name)) for name, column in columns.items()}
    schema = pyarrow.schema([(name, _type(name, column)) for name, column in columns.items()])
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, length, _GROUP):
            piece = slice(start, min(start + _GROUP, length))
            arrays = [
                pyarrow.array(
                    column[piece],
                    type=schema.field(name).type,
                    mask=missing[name][piece] if name in missing else None,
                )
                for name, column in columns.items()
            ]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            yield piece.stop


def _with_none(column: np.ndarray, missing: np.ndarray | None) -> np.ndarray:
    """A column in which Python objects that stand for no value are None."""
    if missing is None or column.dtype != object:
        return column
    column = column.copy()
    column[missing] = None
    return column


def _type(name: str, column: np.ndarray) -> Any:
    """The type of a column in the file. Raises OutputError for ids that none holds."""
    pyarrow = load_arrow()
    if column.dtype.kind in "biuf":
        return pyarrow.from_numpy_dtype(column.dtype)
    values = [each for each in column.tolist() if each is not None]
    kinds = set(map(type, values))
    if kinds <= {str}:
        return pyarrow.large_string()
    if kinds == {int} and min(values) >= -(2**63):
        if max(values) < 2**63:
            return pyarrow.int64()
        if min(values) >= 0 and max(values) < 2**64:
            return pyarrow.uint64()
    what = (
        "integers of over 64 bits"
        if kinds == {int}
        else " and ".join(sorted(each.__name__ for each in kinds))
    )
    raise OutputError(
        f"the column {shown(name)} has {what}, which Parquet has no type for; write .jsonl or .csv"
    )


def read_parquet(path: Path, budget: Budget) -> dict[str, list[str | None]]:
    """The columns of a file as text: null is None. Raises ParseError, OSError or MemoryLimitError."""
    pyarrow = load_arrow()
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            columns: dict[str, list[str | None]] = {name: [] for name in file.schema_arrow.names}
            taken = 0
            for batch in file.iter_batches(_BATCH):
                for name, part in zip(columns, batch.columns, strict=True):
                    taken += part.nbytes + FIELD_BYTES * len(part)
                    budget.check(taken)
                    columns[name] += map(as_text, part.to_pylist())
    except pyarrow.ArrowException as error:
        raise ParseError(f"cannot read {path}: {error}") from None
    return columns
