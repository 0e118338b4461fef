"""The CUDA kernels in numba's simulator (NUMBA_ENABLE_CUDASIM=1), behind the same drivers as on a GPU.

NumPy stands for CuPy, and a launch in the simulator for one on a GPU. The simulator has one lane in a warp and here one
block of a few threads: what warps and several blocks do to each other is not seen.
"""

import contextlib
import sys

import numpy as np
from numba import cuda, types

from edgewise.kernels import door, gpu, gpu_host


class SimulatedKernel:
    """A kernel in the simulator, with the interface of `edgewise.kernels.gpu.Kernel`."""

    blocks = 1

    def __init__(self, function, kinds, shared_bytes=0):
        self._kernel, self._kinds = cuda.jit(function), kinds
        self._shape = 1, gpu.THREADS, 0, shared_bytes

    def start(self, arguments, blocks=1):
        """Launch, with arguments put together to the tuples that the types say."""
        given = iter(arguments)
        self._kernel[self._shape](
            *(
                tuple(next(given) for _ in range(kind.count))
                if isinstance(kind, types.BaseTuple)
                else next(given)
                for kind in self._kinds
            )
        )


@contextlib.contextmanager
def room(name, needed):
    """There is always room."""
    yield


def fixed_kernel(function, kinds, *variant, shared_bytes=0):
    """A kernel of edgewise's own."""
    return SimulatedKernel(function(*variant) if variant else function, kinds, shared_bytes)


def pretend():
    """Put NumPy and the simulator where the GPU would be; what runs on a GPU is loaded afterwards."""
    if not gpu.SIMULATED:
        sys.exit("set NUMBA_ENABLE_CUDASIM=1")
    gpu_host.cupy = lambda: np
    gpu_host.copy_of = gpu_host.host_copy = np.array
    gpu_host.copied = lambda owner, values: values
    gpu.words = gpu.address = lambda values: values
    gpu_host.send = gpu_host.receive = np.copyto
    gpu_host.device_number = lambda: 0
    gpu_host.wait = lambda host, progress: None
    gpu_host.finish = lambda: None
    gpu_host.fits = lambda needed: True
    gpu_host.most_threads = lambda: gpu.THREADS
    gpu_host.capability = gpu.capability = lambda: (9, 0)
    gpu_host.pinned, gpu.fixed_kernel, gpu_host.room = np.zeros, fixed_kernel, room
    gpu.compile_kernel = lambda function, kinds, capability, key: (function, kinds)
    gpu.Kernel = lambda code: SimulatedKernel(*code)
    door.cuda_problem = lambda: None
