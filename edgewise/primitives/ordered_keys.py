"""Keys: integers in the order of messages, so that the GPU's atomic operations on integers find the best message.

The bits of floats, as integers, have the order of the floats; those of negative floats have the reverse order, so all
but the sign are flipped. For MAX all bits are flipped, so the best message always has the least key.
"""

from typing import Any

import numpy as np

from edgewise.kernels.cuda.device import device_function, float_bits


def key_dtype(value: np.dtype) -> np.dtype:
    """The dtype of the keys of values of a dtype."""
    return np.dtype(f"i{max(4, value.itemsize)}")


def make_keys(message: np.dtype, smaller_is_better: bool) -> tuple[Any, Any, Any, Any]:
    """Device functions from a message to its key and back, and from a key to float64 and back.

    The float64 rises with the key: for MAX it is the negated message.
    """
    kind = message.type
    whole = key_dtype(message).type
    turn = np.int64(0 if smaller_is_better else -1)
    if message.kind == "f":
        bits, back = float_bits(message)
        rest = whole(np.iinfo(whole).max)

        @device_function
        def key_of(value):
            found = bits(value)
            return np.int64(found ^ rest if found < 0 else found) ^ turn

        @device_function
        def message_of(key):
            found = whole(key ^ turn)
            return back(found ^ rest if found < 0 else found)

        @device_function
        def whole_of(x):
            return key_of(kind(x if smaller_is_better else -x))

    else:

        @device_function
        def key_of(value):
            return np.int64(value) ^ turn

        @device_function
        def message_of(key):
            return kind(key ^ turn)

        @device_function
        def whole_of(x):
            return np.int64(min(max(x, -9.2e18), 9.2e18))

    @device_function
    def real(key):
        value = np.float64(message_of(key))
        return value if smaller_is_better else -value

    return key_of, message_of, real, whole_of


def worst_key(message: np.dtype) -> int:
    """The key of the identity of MIN, and of that of MAX: no message is worse."""
    if message.kind == "i":
        return int(np.iinfo(message).max)
    return int(np.array([np.inf], message).view(key_dtype(message))[0])
