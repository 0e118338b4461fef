"""Columns of numbers of edges, such as weights: which are accepted, and the dtypes in which they are kept."""

from typing import Any

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph.ids import as_array
from edgewise.numeric import is_exact, is_integer

#: The dtypes that weights can have, and those that others become.
_KEPT = (np.int32, np.int64, np.float32, np.float64)
_WIDER = (np.int32, np.float32)
#: Up to here, float64 holds all integers.
_EXACT = 2.0**53


def as_weights(weight: Any, arrays: Any = np) -> Any:
    """A column of weights as a contiguous int32, int64, float32 or float64 array of the module `arrays`: NumPy or CuPy.

    Booleans and integers of 8 or 16 bits become int32, and float16 becomes float32; no other dtype is changed.

    Raises:
        GraphError: not one-dimensional, of another dtype, or a weight that is NaN or infinite.
    """
    array = as_numbers(weight, "weight", _KEPT, arrays)
    if array.dtype.kind == "f":
        finite = arrays.isfinite(array)
        if not finite.all():
            at = int(arrays.argmin(finite))
            raise GraphError(f"weight[{at}] is {array[at]}; expected finite numbers. Drop such edges first")
    return array


def as_numbers(column: Any, name: str, kept: tuple[type, ...], arrays: Any = np) -> Any:
    """A column of numbers as a contiguous array of one of the dtypes `kept`, of the module `arrays`.

    Booleans and integers of 8 or 16 bits become int32, and float16 becomes float32, where they are not kept; no other
    dtype is changed.

    Raises:
        GraphError: not one-dimensional, or of another dtype; a value that is missing, or an integer among floats that
            float64 does not hold exactly.
    """
    _check_none_missing(column, name)
    array = as_array(column, name, arrays=arrays)
    if array.ndim != 1:
        raise GraphError(f"{name} has shape {array.shape}; expected one dimension, a number for each edge")
    if array.dtype.kind == "f" and isinstance(column, list | tuple):
        _check_exact(column, array, name)
    if array.dtype.kind in "iuf":
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype not in kept:
        wider = [kind for kind in _WIDER if np.can_cast(array.dtype, kind)]
        if not wider:
            *first, last = (np.dtype(kind).name for kind in kept)
            raise GraphError(
                f"{name} has dtype {array.dtype}; expected {', '.join(first)} or {last}. {_advice(column, array)}"
            )
        array = array.astype(wider[0])
    return arrays.ascontiguousarray(array)


def _check_none_missing(column: Any, name: str) -> None:
    """Refuse a column of Arrow, polars or pandas in which a value is missing: NumPy would have NaN there."""
    nulls, is_missing = getattr(column, "null_count", None), getattr(column, "is_null", None)
    count = nulls() if callable(nulls) else nulls
    if nulls is None and not isinstance(getattr(column, "dtype", np.dtype(float)), np.dtype):
        count, is_missing = True, getattr(column, "isna", None)
    if not count or is_missing is None:
        return
    absent = np.asarray(is_missing())
    if absent.any():
        raise GraphError(f"{name}[{int(absent.argmax())}] is missing. Drop such edges first, or fill them")


def _check_exact(column: Any, array: Any, name: str) -> None:
    """Refuse integers in a list that become floats beside others, and are rounded."""
    for row in np.flatnonzero(np.abs(array) >= _EXACT).tolist():
        if is_integer(column[row]) and not is_exact(column[row]):
            raise GraphError(
                f"{name}[{row}] is {int(column[row])}, an integer among floats, and float64 does not hold it exactly; "
                "give integers of 64 bits only, or floats only"
            )


def _advice(column: Any, array: Any) -> str:
    """What mends a column that `as_numbers` refuses."""
    if array.dtype == object and any(value is None for value in array):
        return "It has None: drop such edges first, or fill them"
    if hasattr(column, "astype"):
        return "Convert it with .astype(np.float64), or .astype(np.int64) for integers"
    return "Convert it with np.array(values, np.float64)"
