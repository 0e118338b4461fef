"""The host's side of a GPU: which one there is, memory on it, waiting for a kernel. CuPy has the memory."""

import functools
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import numpy as np

from edgewise.errors import DeviceError, MemoryLimitError


def current_device() -> Any:
    """The GPU that CuPy uses now."""
    from cuda.core import Device

    return Device(cupy().cuda.runtime.getDevice())


def device_number() -> int:
    """The number of the GPU that CuPy uses now."""
    return int(cupy().cuda.runtime.getDevice())


def problem() -> str | None:
    """Why no GPU can be used, or None."""
    try:
        current_device().set_current()
    except (
        Exception
    ) as error:  # the driver's and the packages' own, all of which mean that there is no GPU for us
        return f"{type(error).__name__}: {error}"
    return None


def capability() -> tuple[int, int]:
    """The compute capability of the current GPU."""
    found = current_device().compute_capability
    return found.major, found.minor


def most_threads() -> int:
    """The most threads that run at the same time on the current GPU."""
    found = current_device().properties
    return int(found.multiprocessor_count * found.max_threads_per_multiprocessor)


def facts() -> dict[str, Any]:
    """The current GPU, and the versions of what uses it."""
    runtime, device = cupy().cuda.runtime, current_device()
    driver, (major, minor) = runtime.driverGetVersion(), capability()
    return {
        "gpu": device.name,
        "compute_capability": f"{major}.{minor}",
        "multiprocessors": device.properties.multiprocessor_count,
        "memory_bytes": _memory(),
        "cuda_driver": f"{driver // 1000}.{driver % 1000 // 10}",
        **{name: version(name) for name in ("numba-cuda", "cuda-core", "numpy")},
        "cupy": cupy().__version__,
    }


def cupy() -> Any:
    """CuPy, for memory, sorting, scans and arithmetic on whole arrays."""
    import cupy

    return cupy


def copy_of(values: Any) -> Any:
    """A copy on the GPU."""
    return cupy().asarray(values)


def host_copy(values: Any) -> np.ndarray:
    """A copy in the host's memory."""
    return values.get()


def empty(length: int, dtype: Any) -> Any:
    """An array on the GPU with no particular values."""
    return cupy().empty(length, dtype)


def zeros(length: int, dtype: Any) -> Any:
    """An array of zeros on the GPU."""
    return cupy().zeros(length, dtype)


def full(length: int, value: Any, dtype: Any) -> Any:
    """An array of one value on the GPU."""
    return cupy().full(length, value, dtype)


def signals(length: int) -> np.ndarray:
    """Zeros in the host's memory that the GPU reads and writes at the same address, int64: see CANCEL and PROGRESS."""
    found = pinned(length, np.int64)
    found[...] = 0
    return found


def pinned(length: int, dtype: Any) -> np.ndarray:
    """An array in the host's memory that the GPU reads and writes at the same address."""
    dtype = np.dtype(dtype)
    memory = cupy().cuda.alloc_pinned_memory(length * dtype.itemsize)
    return np.frombuffer(memory, dtype, length)


def snapshot(values: Any) -> np.ndarray:
    """A copy in the host's memory of what a kernel works on at this time."""
    found: np.ndarray = values.get(stream=cupy().cuda.Stream(non_blocking=True))
    return found


def send(values: Any, host: np.ndarray) -> None:
    """Start to copy a `pinned` array to one on the GPU, in the order of the current stream."""
    _copy(values.data.ptr, host.ctypes.data, host.nbytes)


def receive(host: np.ndarray, values: Any) -> None:
    """Start to copy an array on the GPU to a `pinned` one, in the order of the current stream."""
    _copy(host.ctypes.data, values.data.ptr, host.nbytes)


def _copy(to: int, source: int, nbytes: int) -> None:
    """The driver tells from the addresses which way it goes."""
    runtime = cupy().cuda.runtime
    runtime.memcpyAsync(to, source, nbytes, runtime.memcpyDefault, current_stream())


def current_stream() -> int:
    """The address of the caller's current stream."""
    return int(cupy().cuda.get_current_stream().ptr)


def finish() -> None:
    """Wait for all that the current stream was given."""
    cupy().cuda.get_current_stream().synchronize()


#: Words of the array in the host's memory that both sides see: the host asks the kernel to end; how far it is.
CANCEL, PROGRESS = 0, 1
#: The host asks for the end of a run without a pause for so long, then this often; progress is shown this often.
SPIN_SECONDS, PAUSE_SECONDS, SHOW_SECONDS = 20e-3, 100e-6, 0.1


def wait(host: np.ndarray, progress: Callable[[int], None] | None) -> None:
    """Wait for the kernel that the current stream was given last, showing progress.

    An interruption (Ctrl-C) asks the kernel to end, waits for it, and goes on as an exception. More interruptions
    do not end the waiting: the kernel works in memory that would be given back.

    Raises:
        DeviceError: the kernel faulted, after which this process cannot use the GPU.
    """
    event = cupy().cuda.Event(disable_timing=True)
    event.record(cupy().cuda.get_current_stream())
    started = shown = time.perf_counter()
    try:
        while not _done(event):
            now = time.perf_counter()
            if now - started > SPIN_SECONDS:
                time.sleep(PAUSE_SECONDS)
            if progress is not None and now - shown > SHOW_SECONDS:
                shown = now
                progress(int(host[PROGRESS]))
    except DeviceError:
        raise
    except BaseException:
        host[CANCEL] = 1
        while True:
            try:
                while not _done(event):
                    time.sleep(PAUSE_SECONDS)
                break
            except KeyboardInterrupt:
                continue
        raise


def written_forms(counts: Iterable[int], names: Iterable[str]) -> str:
    """How many supersteps had each form, for `Result.explain`."""
    return ", ".join(f"{count} {name}" for count, name in zip(counts, names, strict=False) if count)


def _done(event: Any) -> bool:
    try:
        return bool(event.done)
    except cupy().cuda.runtime.CUDARuntimeError as error:
        raise fault(error) from error


def fault(reason: object) -> DeviceError:
    """The error for a kernel that failed."""
    return DeviceError(
        f"a kernel failed on the GPU ({reason}); this process cannot use the GPU any more: start it anew"
    )


@functools.cache
def _memory() -> int:
    """Bytes of memory that the GPU has."""
    return int(cupy().cuda.runtime.memGetInfo()[1])


def _free() -> int:
    """Bytes of the GPU's memory that nothing uses now."""
    return int(cupy().cuda.runtime.memGetInfo()[0] + cupy().get_default_memory_pool().free_bytes())


#: What gives back memory that is held for speed alone; called where memory is short.
spare: list[Callable[[], None]] = []


def fits(needed: int) -> bool:
    """Whether the GPU's memory has room for so many bytes more.

    To ask the driver takes as long as a search: that is done only where it may be too much.
    """
    pool = cupy().get_default_memory_pool()
    if needed <= pool.free_bytes() or pool.total_bytes() + needed <= _memory() // 2 or needed <= _free():
        return True
    for give_back in spare:
        give_back()
    return needed <= _free()


@contextmanager
def room(name: str, needed: int) -> Iterator[None]:
    """Refuse what the GPU's memory does not hold, before it is begun where that can be told.

    Raises:
        MemoryLimitError: with what is needed and what is free.
    """
    if not fits(needed):
        raise MemoryLimitError(
            f"{name} needs {needed:,} bytes on the GPU, of which {_free():,} are free; free some, use a smaller "
            "dtype, or run on the CPU with device='cpu'"
        )
    try:
        yield
    except cupy().cuda.memory.OutOfMemoryError as error:
        raise MemoryLimitError(
            f"{name}: the GPU's memory is used up ({error}); run on the CPU with device='cpu'"
        ) from error
