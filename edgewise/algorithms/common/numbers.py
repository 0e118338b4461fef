"""Checks that arguments are numbers in their range, of Python or NumPy; truth values are refused."""

from contextlib import suppress
from typing import Any

import numpy as np

from edgewise.errors import ParameterError
from edgewise.numeric import is_integer, is_number
from edgewise.text import shown

_LARGEST = float(np.finfo(np.float64).max)
#: More steps than any run takes, and room in int64 for some more.
_MOST_STEPS = 1 << 62


def as_float(name: str, value: Any, expected: str, least: float = 0.0, most: float = _LARGEST) -> float:
    """A number from `least` to `most`.

    Args:
        name: of the algorithm and its argument, for the message.
        value: the argument.
        expected: what is expected, for the message.
        least, most: the range.

    Raises:
        ParameterError: it is not a number, or not in the range.
    """
    if is_number(value) and least <= value <= most:
        with suppress(OverflowError):  # an integer beyond all floats
            return float(value)
    raise ParameterError(f"{name} is {shown(value)}; expected {expected}")


def as_steps(name: str, value: Any) -> int:
    """A number of steps, at least 0; numbers above all that a run can take become one of these.

    Raises:
        ParameterError: it is not an integer, or negative.
    """
    if not is_integer(value) or value < 0:
        raise ParameterError(f"{name} is {shown(value)}; expected an integer of at least 0")
    return min(int(value), _MOST_STEPS)
