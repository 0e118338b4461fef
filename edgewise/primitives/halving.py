"""Where a number lies among ascending ones, found by halving."""

from typing import Any

import numpy as np

from edgewise.kernels.cuda.device import device_function


@device_function
def last_not_after(values: Any, wanted: Any, low: Any, high: Any) -> Any:
    """The last index from `low` to before `high` whose value is not more than `wanted`; that of `low` is not."""
    while low + 1 < high:
        middle = (low + high) >> 1
        if np.int64(values[middle]) <= wanted:
            low = middle
        else:
            high = middle
    return low
