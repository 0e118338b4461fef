"""What counts as a number among arguments: numbers of Python and NumPy, and of classes that say that they are numbers.

Truth values do not, nor do spans of time, which NumPy has among its integers.
"""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

_NO_NUMBERS = (bool, np.timedelta64)


def is_integer(value: Any) -> bool:
    """Whether a value is an integer."""
    return is_integer_type(type(value))


def is_integer_type(kind: type) -> bool:
    """Whether the values of a class are integers."""
    return issubclass(kind, Integral) and not issubclass(kind, _NO_NUMBERS)


def is_number(value: Any) -> bool:
    """Whether a value is a real number."""
    return isinstance(value, Real) and not isinstance(value, _NO_NUMBERS)


def is_exact(integer: Any) -> bool:
    """Whether float64 holds an integer exactly."""
    try:
        return int(float(integer)) == int(integer)
    except OverflowError:
        return False


def first_inexact(columns: Iterable[np.ndarray]) -> int | None:
    """The first number in columns of int64 that float64 does not hold exactly, or None."""
    for integers in columns:
        if integers.max(initial=0) < 2**53 and integers.min(initial=0) > -(2**53):
            continue
        with np.errstate(invalid="ignore"):
            wrong = integers.astype(np.float64).astype(np.int64) != integers
        if wrong.any():
            return int(integers[np.argmax(wrong)])
    return None
