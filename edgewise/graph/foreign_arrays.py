"""Arrays of other libraries as arrays of NumPy, or of CuPy, shared wherever they can be.

What an array offers decides, not who made it: the array interfaces of NumPy and of CUDA, DLPack, or a conversion of its
own, as cuDF has for text. So no library has to be imported.
"""

from typing import Any

import numpy as np

from edgewise.convert.host_arrays import detached, explained, on_host
from edgewise.kernels.door import cuda_door

#: What DLPack calls memory of CUDA.
_CUDA = 2


def lies_on_gpu(values: Any) -> bool:
    """Whether values are an array on a GPU, by one of the two protocols for that."""
    with explained(values):
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
    with explained(values):
        return on_host(detached(values))
