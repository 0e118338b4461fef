"""Arrays of other libraries in the host's memory as arrays of NumPy; what these do not give is an error of graphs."""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from edgewise.errors import GraphError
from edgewise.text import shortened

#: The integers of polars that NumPy does not have.
_WITHOUT_DTYPE = ("Int128", "UInt128")


def detached(values: Any) -> Any:
    """A tensor of PyTorch without its record of gradients, which no other library may see; anything else as it is."""
    return values.detach() if getattr(values, "requires_grad", False) is True else values


def on_host(values: Any) -> np.ndarray:
    """Values in the host's memory as a NumPy array."""
    kind = str(getattr(values, "dtype", ""))
    if kind in _WITHOUT_DTYPE:  # polars panics
        raise GraphError(f"NumPy has no {kind}; cast the column to integers of 64 bits, or to text")
    if kind == "Time" and (rounded := np.asarray(values.dt.nanosecond()) % 1000).any():
        raise GraphError(
            f"row {int(rounded.argmax()):,} has the time {values[int(rounded.argmax())]}, with nanoseconds, which "
            "Python's times do not hold; cast the column to integers, or to text"
        )
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return np.from_dlpack(values)
    try:
        return np.asarray(values)
    except TypeError:  # cuDF copies nothing to the host unless it is asked to
        if hasattr(values, "to_pandas"):
            return np.asarray(values.to_pandas())
        raise


@contextlib.contextmanager
def explained(values: Any) -> Iterator[None]:
    """Say of an array that its library does not give which one it is. Raises GraphError."""
    try:
        yield
    except GraphError:
        raise
    except (RuntimeError, BufferError, ValueError, TypeError) as error:
        raise GraphError(
            f"a {type(values).__name__} gives no array ({shortened(str(error), 200)}); expected one with its values in "
            "memory. Convert it first: tensors by .float(), .resolve_conj(), .to_dense() or .cpu(), others with "
            "np.array"
        ) from None
