"""Distances as keys, which are integers: floats of at least 0 are ordered as their bits are."""

from typing import Any

import numpy as np

from edgewise.kernels.cuda.device import device_function, float_bits, load_fresh
from edgewise.primitives.near_far_rise import LARGEST
from edgewise.primitives.ordered_keys import key_dtype


@device_function
def distance_of(v: Any, below: Any, best: Any, context: Any) -> Any:
    """The key that a far vertex waits with, for `make_near_far`: that of its distance."""
    return np.int64(best[v])


@device_function
def is_current(v: Any, key: Any, best: Any, context: Any) -> Any:
    """Whether a far vertex still has the distance that it was put aside with, for `make_near_far`."""
    return np.int64(load_fresh(best, v)) >= key


def make_sums(distance: np.dtype, weighted: bool) -> tuple[Any, Any, Any]:
    """Device functions for distances of this dtype, with weights or with 1 for each arc.

    ``plus(key, weight)`` and ``raised(key, delta)`` give keys; ``weight_of(k, weights)`` is the length of an arc.
    """
    kind, key_type = distance.type, key_dtype(distance).type
    is_float = distance.kind == "f"

    if is_float:
        bits, real = float_bits(distance)

        @device_function
        def plus(key, weight):
            """The key of a distance and a weight's sum."""
            return np.int64(bits(kind(real(key_type(key)) + kind(weight))))

        @device_function
        def raised(key, delta):
            return max(key + 1, np.int64(bits(kind(real(key_type(key)) + kind(delta)))))

    else:

        @device_function
        def plus(key, weight):
            return key + np.int64(weight)

        @device_function
        def raised(key, delta):
            step = max(np.int64(1), np.int64(min(delta, 9.2e18)))
            return key + step if key < LARGEST - step else LARGEST

    @device_function
    def weight_of(k, weights):
        return weights[k] if weighted else kind(1)

    return plus, raised, weight_of
