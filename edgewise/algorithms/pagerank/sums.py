"""How PageRank on a GPU adds up what ranks changed, and the ranks of vertices without out-edges."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cache import DeviceFunction
from edgewise.kernels.cuda.device import inlined

#: A number in fixed point has two words: a multiple of 1 / _WHOLE, and one of 1 / _WHOLE / _REST. Up to 2**31 numbers
#: that sum to at most 2 do not overflow them. Each is cut off after 92 binary places.
_WHOLE, _REST = 2.0**60, 2.0**32


class Summing(NamedTuple):
    """How numbers are added up.

    Attributes:
        nothing: the sum of no numbers.
        add: ``add(total, value)``: the sum of a sum and a float64.
    """

    nothing: Any
    add: DeviceFunction


@inlined
def _add_float(total: Any, value: Any) -> Any:
    return total + value


#: Sums of floats, which depend on the order.
IN_FLOATS = Summing(0.0, _add_float)


@inlined
def _add_fixed(total: Any, value: Any) -> Any:
    whole, rest = total
    scaled = value * _WHOLE
    floor = np.int64(scaled)
    return whole + floor, rest + np.int64((scaled - np.float64(floor)) * _REST)


#: Sums in fixed point, which do not depend on the order: two integers each.
IN_FIXED_POINT = Summing((np.int64(0), np.int64(0)), _add_fixed)


@inlined
def as_number(whole: Any, rest: Any) -> Any:
    """A sum in fixed point as a float64."""
    return np.float64(whole) / _WHOLE + np.float64(rest) / (_WHOLE * _REST)
