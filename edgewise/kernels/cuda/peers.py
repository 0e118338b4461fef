"""Memory of one GPU that processes on other GPUs of the machine write to, and words in it for which a stream waits.

The driver copies between GPUs by its own engines, in the order of a stream, and so it writes and waits for words: the
host starts all of that, and no kernel runs meanwhile.
"""

import functools
from typing import Any, final

import numpy as np

from edgewise.kernels.cuda.memory import (
    check,
    cupy,
    current_stream,
    device_number,
    driver,
    finish_all,
    give_back,
    new_stream,
)


@final
class SharedMemory:
    """Memory of this GPU that other processes may open, given back at the end: words, then bytes.

    Args:
        num_words: how many words, which are 0 at first.
        size: how many bytes follow.

    Attributes:
        address: where it begins.
        handle: what others open it by.

    Raises:
        RuntimeError: the driver refuses.
    """

    def __init__(self, num_words: int, size: int) -> None:
        runtime, needed = cupy().cuda.runtime, 8 * num_words + size
        if runtime.memGetInfo()[0] < needed:
            give_back()  # the driver has none of what CuPy holds
        self._memory = cupy().cuda.Memory(needed)
        self.address = int(self._memory.ptr)
        runtime.memset(self.address, 0, 8 * num_words)
        finish_all()
        self.handle: bytes = runtime.ipcGetMemHandle(self.address)


def can_wait_for_words() -> bool:
    """Whether streams of this GPU can wait for words."""
    api = driver()
    asked = api.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS
    error, can = api.cuDeviceGetAttribute(asked, device_number())
    return not error and bool(can)


def opened(handle: bytes) -> int:
    """The address at which another process's `SharedMemory` lies in this one.

    Raises:
        RuntimeError: the driver refuses, as it does if neither GPU can write to the other's memory.
    """
    return int(cupy().cuda.runtime.ipcOpenMemHandle(handle))


def close(address: int) -> None:
    """Give back what `opened` has opened, when all work of this GPU is done."""
    finish_all()
    cupy().cuda.runtime.ipcCloseMemHandle(address)


def fill_now(address: int, value: int, size: int) -> None:
    """Set bytes of memory to a value, whatever streams wait for."""
    stream = new_stream()
    cupy().cuda.runtime.memsetAsync(address, value, size, stream.ptr)
    stream.synchronize()


def raise_word(address: int, value: int) -> None:
    """Set a word when what the current stream has been asked for is done; what it has written is seen before."""
    check(driver().cuStreamWriteValue64(current_stream(), address, value, 0))


def wait_for_word(address: int, value: int) -> None:
    """Have the current stream wait until a word is at least so large."""
    check(driver().cuStreamWaitValue64(current_stream(), address, value, _at_least()))


@functools.cache
def _at_least() -> int:
    """The flag of the driver for waiting until a word is at least as large."""
    return int(driver().CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ)


def array_at(address: int, length: int, dtype: Any) -> Any:
    """Memory of this GPU as an array, shape (length,), which its owner keeps."""
    memory = cupy().cuda.UnownedMemory(address, length * np.dtype(dtype).itemsize, None)
    return cupy().ndarray(length, dtype, cupy().cuda.MemoryPointer(memory, 0))
