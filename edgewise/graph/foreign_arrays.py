"""Arrays of other libraries as arrays of NumPy, or of CuPy, shared wherever they can be.

What an array offers decides, not who made it: the array interfaces of NumPy and of CUDA, DLPack, or a conversion of its
own, as cuDF has for text. So no library has to be imported.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from edgewise.errors import GraphError
from edgewise.kernels.door import cuda_door
from edgewise.text import shortened

#: What DLPack calls memory of CUDA.
_CUDA = 2
#: The integers of polars that NumPy does not have.
_WITHOUT_DTYPE = ("Int128", "UInt128")


def detached(values: Any) -> Any:
    """A tensor of PyTorch without its record of gradients, which no other library may see; anything else as it is."""
    return values.detach() if getattr(values, "requires_grad", False) is True else values


def lies_on_gpu(values: Any) -> bool:
    """Whether values are an array on a GPU, by one of the two protocols for that."""
    with _explained(values):
        values = detached(values)
        if hasattr(values, "__cuda_array_interface__"):
            return True
        return hasattr(values, "__dlpack_device__") and int(values.__dlpack_device__()[0]) == _CUDA


def as_cupy(values: Any) -> Any:
    """Values as a CuPy array, not copied where they lie on the GPU already."""
    values, xp = detached(values), cuda_door().cupy()
    by_interface = hasattr(values, "__cuda_array_interface__") or not lies_on_gpu(values)
    return xp.asarray(values) if by_interface else xp.from_dlpack(values)


def as_numpy(values: Any) -> np.ndarray:
    """Values as a NumPy array, not copied where they lie in the host's memory as one.

    Raises:
        GraphError: a library does not give its array.
        ValueError, TypeError, OverflowError: as NumPy, of lists.
    """
    if isinstance(values, np.ndarray | list | tuple):
        return np.asarray(values)
    if lies_on_gpu(values):
        return cuda_door().host_copy(as_cupy(values))
    with _explained(values):
        return _on_host(detached(values))


def _on_host(values: Any) -> np.ndarray:
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
def _explained(values: Any) -> Iterator[None]:
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
