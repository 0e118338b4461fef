"""Sums of two weights on a GPU: see `edgewise.approx.transformed.sum_fits`."""

import math
from typing import Any

import numpy as np

from edgewise.kernels.cuda.device import device_function


def make_sum_fits(dtype: np.dtype) -> Any:
    """The device function ``sum_fits(a, b)``: whether the sum of two weights of this dtype is one, and finite."""
    if dtype.kind == "f":

        @device_function
        def sum_fits(a, b):
            return math.isfinite(a + b)

    else:
        low, high = np.int64(np.iinfo(dtype).min), np.int64(np.iinfo(dtype).max)

        @device_function
        def sum_fits(a, b):
            a, b = np.int64(a), np.int64(b)
            return low - b <= a if b < 0 else a <= high - b

    return sum_fits
