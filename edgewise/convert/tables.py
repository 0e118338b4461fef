"""Edges in tables of pandas, polars and Arrow, and tables of edges.

A column of numbers is passed on as it lies in memory where it is one piece without missing values; it is not copied.
"""

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.convert.edges import (
    Edges,
    choose_columns,
    missing,
    refuse_missing,
    refuse_time_zone,
    warn_of_weights,
)
from edgewise.convert.host_arrays import explained, on_host
from edgewise.errors import GraphError
from edgewise.text import shown


def edges_of_pandas(frame: Any, *columns: Any) -> Edges:
    """The edges in a DataFrame of pandas; `columns` are those of `choose_columns`, from `source` on."""
    try:
        import pandas
    except ImportError:
        raise missing("pandas") from None
    where = "from_pandas"
    _check_is(where, frame, isinstance(frame, pandas.DataFrame), "a pandas DataFrame")

    def column(name: Any, values: Any = None) -> np.ndarray:
        values = frame[name] if values is None else values
        dtype = values.dtype
        if isinstance(dtype, pandas.ArrowDtype):
            return _of_arrow(where, name, values.array.__arrow_array__())
        if not (isinstance(dtype, np.dtype) and dtype.kind in "iub"):
            absent = values.isna().to_numpy()
            if absent.any():
                refuse_missing(where, name, int(absent.argmax()))
        if isinstance(dtype, pandas.CategoricalDtype):
            return column(name, dtype.categories.to_series())[values.cat.codes.to_numpy()]
        plain = getattr(dtype, "numpy_dtype", None)  # integers, floats and truth values that may be missing
        return values.to_numpy() if plain is None else values.to_numpy(plain)

    def attribute(name: Any) -> np.ndarray:
        values = frame[name]
        is_float = isinstance(values.dtype, np.dtype) and values.dtype.kind == "f"
        return values.to_numpy() if is_float else column(name)

    def is_numeric(name: Any) -> bool:
        return pandas.api.types.is_numeric_dtype(frame[name].dtype)

    return _edges(where, list(frame.columns), column, attribute, is_numeric, *columns)


def edges_of_polars(frame: Any, *columns: Any) -> Edges:
    """The edges in a DataFrame of polars; `columns` as for `edges_of_pandas`."""
    try:
        import polars
    except ImportError:
        raise missing("polars") from None
    where = "from_polars"
    expected = "a polars DataFrame; a LazyFrame becomes one by .collect()"
    _check_is(where, frame, isinstance(frame, polars.DataFrame), expected)

    def column(name: Any) -> np.ndarray:
        values = frame.get_column(name)
        if values.null_count():
            refuse_missing(where, name, int(values.is_null().arg_max()))
        if isinstance(values.dtype, polars.Categorical | polars.Enum):
            values = values.cast(polars.String)
        if isinstance(values.dtype, polars.Datetime):
            refuse_time_zone(where, name, values.dtype.time_zone)
        return _converted(where, name, values)

    def is_numeric(name: Any) -> bool:
        return bool(frame.schema[name].is_numeric())

    return _edges(where, frame.columns, column, column, is_numeric, *columns)


def edges_of_arrow(table: Any, *columns: Any) -> Edges:
    """The edges in a table or a batch of Arrow, or whatever gives one; `columns` as for `edges_of_pandas`."""
    try:
        import pyarrow
    except ImportError:
        raise missing("pyarrow") from None
    where = "from_arrow"
    if isinstance(table, pyarrow.RecordBatch):
        table = pyarrow.Table.from_batches([table])
    elif not isinstance(table, pyarrow.Table):
        gives = any(hasattr(table, f"__arrow_c_{kind}__") for kind in ("stream", "array"))
        expected = "a table or a record batch of Arrow, or what has __arrow_c_stream__"
        _check_is(where, table, gives, expected)
        try:
            table = pyarrow.table(table)
        except (pyarrow.ArrowException, TypeError, ValueError) as error:
            raise GraphError(f"{where} got {shown(table)}: {error}; expected {expected}") from None

    def column(name: Any) -> np.ndarray:
        return _of_arrow(where, name, table.column(name))

    def is_numeric(name: Any) -> bool:
        kind = table.schema.field(name).type
        return bool(pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind))

    return _edges(where, table.column_names, column, column, is_numeric, *columns)


def _check_is(where: str, table: Any, is_one: bool, expected: str) -> None:
    if not is_one:
        raise GraphError(f"{where} got {shown(table)}; expected {expected}")


def _edges(
    where: str,
    names: list[Any],
    column: Callable[[Any], np.ndarray],
    attribute: Callable[[Any], np.ndarray],
    is_numeric: Callable[[Any], bool],
    *asked: Any,
) -> Edges:
    """The columns of a table that are asked for."""
    chosen = choose_columns(where, names, *asked)
    if chosen.weight is None and asked[2] is not None:
        taken = (chosen.source, chosen.target, *chosen.attributes)
        left_out = [name for name in names if name not in taken and names.count(name) == 1]
        warn_of_weights(where, left_out, is_numeric)
    weight = None if chosen.weight is None else _numbers(where, chosen.weight, column(chosen.weight))
    return Edges(
        column(chosen.source),
        column(chosen.target),
        weight,
        {name: _numbers(where, name, attribute(name)) for name in chosen.attributes},
    )


def _numbers(where: str, name: Any, values: np.ndarray) -> np.ndarray:
    """A column of numbers."""
    if values.dtype.kind not in "biuf":
        raise GraphError(
            f"{where}: the column {shown(name)} holds {values.dtype}, not numbers{_such_as(values)}; leave it out, by "
            f"weight=None or by a list of the others as edge_attributes, or convert it{_conversion(values)}"
        )
    return values


def _such_as(values: np.ndarray) -> str:
    """The first value of a column that is not one of numbers."""
    return f", such as {shown(values[0])} in row 0" if len(values) else ""


def _conversion(values: np.ndarray) -> str:
    """How such a column becomes one of numbers, where that is known."""
    if values.dtype.kind == "m":
        return ", spans of time by .dt.total_seconds()"
    return (
        ": pandas.to_numeric, or a cast, reads numbers from objects and text"
        if values.dtype.kind in "OUT"
        else ""
    )


def _of_arrow(where: str, name: Any, values: Any) -> np.ndarray:
    """A column of Arrow."""
    import pyarrow

    if pyarrow.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if values.null_count:
        refuse_missing(where, name, values.is_null().index(True).as_py())
    if pyarrow.types.is_timestamp(values.type):
        refuse_time_zone(where, name, values.type.tz)
    if isinstance(values, pyarrow.ChunkedArray) and values.num_chunks == 1:
        values = values.chunk(0)
    return _converted(where, name, values)


def _converted(where: str, name: Any, values: Any) -> np.ndarray:
    """A column of another library as an array."""
    try:
        with explained(values):
            return on_host(values)
    except GraphError as error:
        raise GraphError(f"{where}: the column {shown(name)}: {error}") from None


def pandas_of(columns: dict[str, np.ndarray]) -> Any:
    """A DataFrame of pandas."""
    try:
        import pandas
    except ImportError:
        raise missing("pandas") from None
    return pandas.DataFrame(columns)


def polars_of(columns: dict[str, np.ndarray]) -> Any:
    """A DataFrame of polars."""
    try:
        import polars
    except ImportError:
        raise missing("polars") from None
    return polars.DataFrame({name: for_polars(values) for name, values in columns.items()})


def for_polars(values: np.ndarray) -> Any:
    """A column for a DataFrame of polars, which would take the kind of the first value for that of all: of strings, of
    dates, or of objects if they are of several kinds; None is no value."""
    import polars

    if values.dtype != object:
        return values
    each = values.tolist()
    kinds = set(map(type, each)) - {type(None)}
    if kinds <= {str}:
        return polars.Series(each, dtype=polars.String)
    if kinds == {datetime.date}:
        return polars.Series(each, dtype=polars.Date)
    return polars.Series(each, dtype=polars.Object) if len(kinds) > 1 else values


def arrow_of(columns: dict[str, np.ndarray]) -> Any:
    """A table of Arrow."""
    try:
        import pyarrow
    except ImportError:
        raise missing("pyarrow") from None

    try:
        table = pyarrow.table(columns)
    except (pyarrow.ArrowException, OverflowError, TypeError):
        table = None
    if table is None or any(map(pyarrow.types.is_list, table.schema.types)):  # tuples
        kinds = sorted({type(each).__name__ for each in columns["source"].tolist()})
        raise GraphError(
            f"Arrow has no type for these ids ({', '.join(kinds)}); use to_pandas() or to_polars()"
        )
    return table
