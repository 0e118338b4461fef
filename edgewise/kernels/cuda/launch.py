"""How kernels are launched.

numba's own launch takes 55 to 190 µs for eight arrays. So kernels take addresses, and the driver's own function
launches them.
"""

import ctypes
import threading
from collections.abc import Callable, Iterable
from typing import Any

from edgewise.kernels.cuda.arguments import words_of
from edgewise.kernels.cuda.compile import compile_kernel
from edgewise.kernels.cuda.device import THREADS
from edgewise.kernels.cuda.memory import capability, check, current_device, current_stream, make_current

#: What each thread keeps: words for arguments.
_thread = threading.local()


class Kernel:
    """A kernel on the current GPU. It is launched cooperatively: all its blocks are resident at once.

    Args:
        code: machine code.
        shared_bytes: the size of its ``cuda.shared.array(0, dtype)``, or 0 if it has none. Beyond 48 KB the driver must
            be asked for this memory.
        threads: the threads of a block, at most as many as the code was compiled for.
    """

    def __init__(self, code: bytes, shared_bytes: int = 0, threads: int = THREADS) -> None:
        from cuda.bindings import driver
        from cuda.core import ObjectCode

        device = current_device()
        device.set_current()
        self._kernel = ObjectCode.from_cubin(code).get_kernel("kernel")
        self._function = driver.CUfunction(int(self._kernel.handle))
        self._launch = driver.cuLaunchCooperativeKernel
        self._shared_bytes, self.threads, self._asked = shared_bytes, threads, set[int]()
        self._ask_for_shared(device.device_id)
        resident = self._kernel.occupancy.max_active_blocks_per_multiprocessor(threads, shared_bytes)
        #: The most blocks that run at the same time, which a cooperative launch may have.
        self.blocks = resident * device.properties.multiprocessor_count

    def _ask_for_shared(self, device: int) -> None:
        """Ask the driver for the memory that blocks share, once for each GPU."""
        if self._shared_bytes == 0 or device in self._asked:
            return
        from cuda.bindings import driver

        room = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        owner = driver.CUkernel(int(self._kernel.handle)), driver.CUdevice(device)
        check(driver.cuKernelSetAttribute(room, self._shared_bytes, *owner))
        self._asked.add(device)

    def start(self, arguments: Iterable[Any], blocks: int | None = None) -> None:
        """Start the kernel on the current stream.

        cuda.core's own launch asks the driver each time how many blocks may be resident, which takes 40 µs.

        Args:
            arguments: arrays on the GPU and `pinned` ones for pointers, `words` of arrays, integers, floats, and named
                tuples, see `edgewise.kernels.cuda.arguments`.
            blocks: how many blocks, at most `self.blocks`, which is the default.

        Raises:
            DeviceError: the driver refuses, as it does after a kernel has failed.
        """
        self._ask_for_shared(make_current())
        passed = words_of(arguments)
        values, addresses = _argument_words(len(passed))
        values[:] = passed
        shape = (blocks or self.blocks, 1, 1, self.threads, 1, 1)
        stream, place = current_stream(), ctypes.addressof(addresses)
        check(self._launch(self._function, *shape, self._shared_bytes, stream, place))


def _argument_words(count: int) -> tuple[Any, Any]:
    """This thread's `count` words for arguments, and their addresses. A launch copies the words before it returns."""
    held = vars(_thread).setdefault("words", {})
    if count not in held:
        values = (ctypes.c_int64 * count)()
        begin = ctypes.addressof(values)
        held[count] = values, (ctypes.c_int64 * count)(*range(begin, begin + ctypes.sizeof(values), 8))
    found: tuple[Any, Any] = held[count]
    return found


def fixed_kernel(
    function: Callable[..., Any],
    types: tuple[Any, ...],
    *variant: Any,
    shared_bytes: int = 0,
    threads: int = THREADS,
) -> Kernel:
    """A kernel of edgewise's own for arguments of these types, on the current GPU. The caller keeps it.

    Args:
        function: the kernel; with `variant`, the function that makes it.
        types: the types of the kernel's arguments.
        variant: the arguments of `function` that give the kernel.
        shared_bytes, threads: see `Kernel`.
    """
    made = function(*variant) if variant else function
    code = compile_kernel(made, types, capability(), f"{function.__qualname__} {variant}", threads)
    return Kernel(code, shared_bytes, threads)
