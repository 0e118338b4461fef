"""Columns of ids as users give them, as arrays of a few kinds.

Integers and strings, of which most graphs are made, take arrays of NumPy and lists of Python alike. All other ids are
keys of a dictionary: Python objects that can be hashed.
"""

import datetime
import operator
from collections.abc import Mapping, MappingView
from typing import Any, NoReturn

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph.foreign_arrays import as_numpy
from edgewise.graph.ids import check_not_masked, objects
from edgewise.numeric import is_integer_type
from edgewise.text import shown

_PLAIN = "expected integers, or strings"
_KEYS = "expected integers, strings, or other keys of dictionaries, such as tuples of these"
_SEQUENCES = list | tuple | Mapping | MappingView
_DATES = np.datetime64 | np.timedelta64
#: The classes of values that stand for a missing one in pandas and NumPy: they are known by name without an import.
_MISSING = ("NAType", "NaTType", "MaskedConstant")


def as_id_column(column: Any, name: str, *, plain: bool = False) -> np.ndarray:
    """A column of ids as an array.

    Args:
        column: an array, a sequence, a view of a dictionary, or a column of a data frame.
        name: what to call it in messages.
        plain: whether only integers and strings are taken.

    Returns:
        One-dimensional int32, int64 or uint64 (then with a value beyond int64); or objects that are all Python strings,
        or all Python integers (then with a value beyond uint64 or int64), or of any kinds that can be hashed, no NaN
        among them. Scalars of NumPy are Python values then.

    Raises:
        GraphError: not one-dimensional, ids that are missing or cannot be hashed, or an array of floats or truth
            values.
    """
    check_not_masked(column, name)
    # np.asarray would turn [1, "a"] into strings, 2**64 into a float, and tuples into an array of two dimensions.
    array = objects(column) if isinstance(column, _SEQUENCES) else as_numpy(column)
    if array.ndim != 1:
        of_what = "vertex" if name in ("vertices", "order") else "edge"
        got = f"{name} has shape {array.shape}"
        advice = ". For pairs as ids, give a list of tuples" if array.ndim == 2 else ""
        if hasattr(column, "__next__"):
            got, advice = f"{name} is a {type(column).__name__}", f". Give a list: list({name})"
        raise GraphError(f"{got}; expected one dimension, an id for each {of_what}{advice}")
    if array.dtype.kind in "UT":
        array = array.astype(object)
    if array.dtype == object:
        return _from_objects(array.tolist(), name, plain)
    if len(array) == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind in "iu":
        return _narrowed(np.ascontiguousarray(array))
    if array.dtype.kind in "bfc" or plain:
        _refuse(array, name, plain)
    return objects(_hashed(list(array), name))


def _narrowed(array: np.ndarray) -> np.ndarray:
    """Integers as int32 or int64, or uint64 where a value needs it, in the machine's order of bytes."""
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype == np.uint64:
        return array if array.max() > np.iinfo(np.int64).max else array.view(np.int64)
    return array.astype(np.int32 if np.can_cast(array.dtype, np.int32) else np.int64, copy=False)


def _refuse(array: np.ndarray, name: str, plain: bool) -> NoReturn:
    """Refuse an array whose dtype is none of ids."""
    kind = array.dtype.kind
    advice = "; missing values make floats of integers" if kind == "f" else ""
    if kind in "fc" and np.isnan(array).any():
        advice += f", as at row {int(np.argmax(np.isnan(array)))}"
    wanted = "np.int64" if kind in "bf" else "str"
    other = "" if plain else ", or with .astype(object) to have the values as ids"
    raise GraphError(
        f"{name} has dtype {array.dtype}; {_PLAIN}{advice}. Convert it with .astype({wanted}){other}"
    )


def _from_objects(values: list[Any], name: str, plain: bool) -> np.ndarray:
    """Python objects as an array of integers, or of objects."""
    kinds = set(map(type, values))
    if all(is_integer_type(kind) for kind in kinds):
        values = list(map(int, values))
        for dtype in (np.int64, np.uint64):
            try:
                return np.array(values, dtype=dtype)
            except OverflowError:
                continue
    elif all(issubclass(kind, str) for kind in kinds):
        values = list(map(str, values))
    elif plain:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise GraphError(f"{name} holds ids of type {names}; {_PLAIN}, and no missing or mixed values")
    else:
        values = _hashed(values, name)
        if set(map(type, values)) == {int}:  # they were scalars of another library
            return _from_objects(values, name, plain)
    return objects(values)


def _hashed(values: list[Any], name: str) -> list[Any]:
    """Values of any kinds as keys of a dictionary; those that cannot be are refused with their row."""
    keys: dict[Any, Any] | None
    try:
        keys = {value: as_python(value) for value in dict.fromkeys(values)}  # equal ones are looked at once
    except Exception:  # one cannot be hashed: its class decides what is raised
        keys = None
    if keys is None or any(map(_problem, keys.values())):
        for row, value in enumerate(values):
            problem = _problem(as_python(value))
            if problem:
                raise GraphError(f"{name}[{row}] is {shown(value)}{problem}")
    if keys is None:
        raise GraphError(f"{name} holds ids that cannot be compared; {_KEYS}")
    return values if all(map(operator.is_, keys, keys.values())) else [keys[value] for value in values]


def _problem(key: Any) -> str:
    """Why a value is no id, or no text."""
    if key is None or type(key).__name__ in _MISSING or _has_nan(key):
        return ": a value is missing. Expected an id in each place; drop such rows first"
    if isinstance(key, _DATES):
        return ", which Python's dates and times do not hold exactly; convert the ids with .astype(str)"
    try:
        hash(key)
    except Exception:
        hashed = False
    else:  # tensors of PyTorch hash by what they are, not by what they hold
        hashed = not hasattr(key, "__dlpack__")
    return "" if hashed else f"; ids of type {type(key).__name__} cannot be hashed. {_KEYS.capitalize()}"


def _has_nan(key: Any) -> bool:
    """Whether a value is NaN, or has one inside: it would not be found again."""
    try:
        return bool(key != key) or (isinstance(key, tuple | frozenset) and any(map(_has_nan, key)))
    except Exception:  # the class of a value decides what it is compared with, and what that gives
        return False


def as_python(value: Any) -> Any:
    """A scalar of NumPy or of another library of arrays, and each in a tuple, as an equal Python value, if there is
    one."""
    if type(value) is tuple:
        parts = tuple(map(as_python, value))
        return value if all(map(operator.is_, parts, value)) else parts
    if isinstance(value, _DATES):
        return _as_date(value)
    zero_dimensional = hasattr(value, "__dlpack__") and getattr(value, "ndim", 1) == 0
    if isinstance(value, np.generic) or (zero_dimensional and type(value).__name__ not in _MISSING):
        return value.item()
    return value


def _as_date(value: Any) -> Any:
    """A date, a time or a duration of the standard library; the value itself if none is equal to it."""
    kind = "M8" if isinstance(value, np.datetime64) else "m8"
    shorter = (
        value.astype(f"{kind}[us]") if np.datetime_data(value.dtype)[0] in ("ns", "ps", "fs", "as") else value
    )
    found = shorter.item()
    return found if shorter == value and isinstance(found, datetime.date | datetime.timedelta) else value
