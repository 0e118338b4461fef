"""Memory of one GPU that processes on other GPUs of the machine write to, and words in it for which a stream waits.

The driver copies between GPUs by its own engines, in the order of a stream, and so it writes and waits for words: the
host starts all of that, and no kernel runs meanwhile.
"""

from typing import Any, final

import numpy as np

from edgewise.kernels.cuda.memory import cupy, current_stream, driver, fault, finish_all, new_stream

#: What a word is at the end: at least whatever a stream waits for.
_FREED = 0x7F


@final
class SharedMemory:
    """Memory of this GPU that other processes may open, given back at the end: words that they raise, then bytes.

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
        runtime = cupy().cuda.runtime
        self._memory, self._bytes_of_words = cupy().cuda.Memory(8 * num_words + size), 8 * num_words
        self.address = int(self._memory.ptr)
        runtime.memset(self.address, 0, self._bytes_of_words)
        finish_all()
        self.handle: bytes = runtime.ipcGetMemHandle(self.address)

    def free_waiters(self) -> None:
        """Let streams go on that wait for words."""
        stream = new_stream()
        cupy().cuda.runtime.memsetAsync(self.address, _FREED, self._bytes_of_words, stream.ptr)
        stream.synchronize()


def opened(handle: bytes) -> int:
    """The address at which another process's `SharedMemory` lies in this one, until it ends.

    Raises:
        RuntimeError: the driver refuses, as it does if neither GPU can write to the other's memory.
    """
    return int(cupy().cuda.runtime.ipcOpenMemHandle(handle))


def raise_word(address: int, value: int) -> None:
    """Set a word when what the current stream has been asked for is done; what it has written is seen before."""
    _check(driver().cuStreamWriteValue64(current_stream(), address, value, 0))


def wait_for_word(address: int, value: int) -> None:
    """Have the current stream wait until a word is at least so large."""
    at_least = driver().CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ
    _check(driver().cuStreamWaitValue64(current_stream(), address, value, int(at_least)))


def _check(answer: tuple[Any]) -> None:
    """Raise a DeviceError if the driver refused."""
    if answer[0]:
        raise fault(answer[0].name)


def array_at(address: int, length: int, dtype: Any) -> Any:
    """Memory of this GPU as an array, shape (length,), which its owner keeps."""
    memory = cupy().cuda.UnownedMemory(address, length * np.dtype(dtype).itemsize, None)
    return cupy().ndarray(length, dtype, cupy().cuda.MemoryPointer(memory, 0))
