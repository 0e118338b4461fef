"""Whether CUDA can be used, asked without loading what only a GPU needs."""

import functools
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from edgewise.errors import DeviceError

#: Modules that the GPU needs, beside the CUDA libraries that come with them.
_NEEDED = ("numba_cuda", "cupy", "cuda.core")
_INSTALL = "pip install 'edgewise[cuda13]', or 'edgewise[cuda12]' for a driver of CUDA 12"


@functools.cache
def cuda_problem() -> str | None:
    """Why CUDA cannot be used in this process and the command that mends it, or None."""
    for name in _NEEDED:
        try:
            missing = find_spec(name) is None
        except ModuleNotFoundError:
            missing = True
        if missing:
            return f"the package {name} is not installed; {_INSTALL}"
    try:
        import_module("edgewise.kernels.cuda.device")
        from edgewise.kernels.cuda import memory as cuda_memory
    except Exception as error:
        return f"its packages cannot be loaded ({type(error).__name__}: {error}); {_INSTALL}"
    return cuda_memory.problem()


def cuda_door() -> Any:
    """The module `edgewise.kernels.cuda.memory`.

    Raises:
        DeviceError: CUDA cannot be used; the message says why.
    """
    problem = cuda_problem()
    if problem:
        raise DeviceError(f"device='cuda': {problem}")
    from edgewise.kernels.cuda import memory as cuda_memory

    return cuda_memory
