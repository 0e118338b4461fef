"""The host's side of a GPU: the device, its memory (from CuPy), and waiting for a kernel."""

import ctypes
import functools
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path
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


def device_uuid() -> str:
    """What the current GPU is called by, which no other one is, on any machine."""
    return str(current_device().uuid)


def use_device(number: int) -> None:
    """Have CuPy use a GPU in this thread from now on: of those that there are, the one of this number, counted on from
    the first after the last."""
    cupy().cuda.Device(number % cupy().cuda.runtime.getDeviceCount()).use()


def make_current() -> int:
    """Have the driver know the caller's GPU, and which one that is: a thread has no context of its own at first, and
    memory from a pool gives it none."""
    device = device_number()
    if getattr(_thread, "device", None) != device:
        current_device().set_current()
        _thread.device = device
    return device


def problem() -> str | None:
    """Why no GPU can be used, or None if one can."""
    try:
        current_device().set_current()
    except Exception as error:  # any error of the driver or the packages means that there is no GPU
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
    """The current GPU, and the versions of the driver and the packages."""
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
    """CuPy, imported when it is first needed."""
    import cupy

    return cupy


def copy_of(values: Any) -> Any:
    """A copy on the GPU."""
    if not isinstance(values, np.ndarray):
        return cupy().asarray(values)
    if values.nbytes >= OWN_PAGES:
        # CuPy would first copy all of it to locked memory, which takes long, and which it keeps.
        values = np.ascontiguousarray(values)
        with _copying, locked(values) as is_all:
            if is_all:
                return _copied(values)
    if values.size and _locked_at(values.ctypes.data) and not is_locked(values):
        # CuPy would copy it as it lies, since it asks for the first byte only, and the driver refuses that.
        whole = pinned(values.size, values.dtype).reshape(values.shape)
        whole[...] = values
        return _copied(whole)
    return cupy().asarray(values)


def _copied(values: np.ndarray) -> Any:
    """A copy on the GPU of an array that is locked, contiguous, when it is made."""
    found = cupy().empty(values.shape, values.dtype)
    copy_bytes(found.data.ptr, values.ctypes.data, values.nbytes)
    finish()
    return found


@contextmanager
def locked(values: np.ndarray) -> Iterator[bool]:
    """Lock the pages of an array meanwhile, which the GPU then copies at the rate of the link; whether all are locked.
    The driver copies no memory of which a part is locked."""
    begin = lock(values)
    try:
        yield begin is not None or is_locked(values)
    finally:
        if begin is not None:
            unlock(begin)


def lock(values: np.ndarray) -> int | None:
    """Lock the pages of an array of at least `OWN_PAGES` bytes, which kernels then read at the same addresses; the
    address by which `unlock` unlocks them. None if the system refuses, if they are locked, or if the array lies in the
    heap: there malloc puts even a large one where what was freed leaves room, and its first and last page are others',
    too, of which the driver would then copy none."""
    if _in_heap(values.ctypes.data):
        return None
    begin = values.ctypes.data // _PAGE * _PAGE
    size = -(-(values.ctypes.data + values.nbytes - begin) // _PAGE) * _PAGE
    runtime = cupy().cuda.runtime
    try:
        runtime.hostRegister(begin, size, _READ_ONLY)
    except runtime.CUDARuntimeError:
        return None
    return begin


def unlock(begin: int) -> None:
    """Unlock what `lock` has locked, in any thread: functions of the runtime make the device's context current there,
    which those of the driver ask for."""
    cupy().cuda.runtime.hostUnregister(begin)


def is_locked(values: np.ndarray) -> bool:
    """Whether the driver knows all of an array as locked, such as one that was made so. Its first and last page may be
    locked with a neighbour that `lock` has locked."""
    begin, end = values.ctypes.data, values.ctypes.data + values.nbytes - 1
    return all(map(_locked_at, (begin, min(begin + _PAGE, end), max(end - _PAGE, begin), end)))


def _locked_at(address: int) -> bool:
    return bool(cupy().cuda.runtime.pointerGetAttributes(address).type == _LOCKED)


def _in_heap(address: int) -> bool:
    """Whether memory lies between where the heap begins and where it ends now."""
    begin, end = _heap()
    return begin <= address < int(end(0))


@functools.cache
def _heap() -> tuple[int, Callable[[int], int]]:
    """Where the heap begins, and what tells its end; one without bytes where the system does not say."""
    try:
        fields = Path("/proc/self/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        end = ctypes.CDLL(None).sbrk
    except (OSError, TypeError, AttributeError):  # only Linux has both
        return 0, lambda _: 0
    end.restype, end.argtypes = ctypes.c_void_p, (ctypes.c_ssize_t,)
    return int(fields[_START_BRK]), end


@functools.cache
def driver() -> Any:
    """The functions of the driver."""
    from cuda.bindings import driver

    return driver


def host_copy(values: Any) -> np.ndarray:
    """A copy of an array on the GPU in the host's memory."""
    return values.get()


def address_of(values: Any) -> int:
    """Where an array on the GPU begins."""
    return int(values.data.ptr)


def empty(length: int, dtype: Any) -> Any:
    """An array on the GPU, shape (length,), whose values are not set."""
    return cupy().empty(length, dtype)


def zeros(length: int, dtype: Any) -> Any:
    """An array of zeros on the GPU, shape (length,)."""
    return cupy().zeros(length, dtype)


def full(length: int, value: Any, dtype: Any) -> Any:
    """An array of one value on the GPU, shape (length,)."""
    found = empty(length, dtype)
    fill(found, value)
    return found


def fill(values: Any, value: Any) -> None:
    """Set all of an array on the GPU to one value. The driver writes values of up to four bytes, and of eight whose
    halves are the same, as fast as memory takes them, a kernel of CuPy a fifth as fast.

    Args:
        values: shape (k,), without gaps.
        value: which one.
    """
    word, api = np.full(1, value, values.dtype), driver()
    setters = {1: api.cuMemsetD8Async, 2: api.cuMemsetD16Async, 4: api.cuMemsetD32Async}
    parts = set(word.view(f"u{min(4, word.itemsize)}").tolist())
    if len(values) == 0 or len(parts) > 1:
        values.fill(value)
        return
    make_current()
    size = min(4, word.itemsize)
    check(setters[size](address_of(values), parts.pop(), values.nbytes // size, current_stream()))


def signals(length: int) -> np.ndarray:
    """A `pinned` array of zeros, int64, shape (length,): the words CANCEL, PROGRESS and those of a kernel."""
    found = pinned(length, np.int64)
    found[...] = 0
    return found


def pinned(length: int, dtype: Any) -> np.ndarray:
    """An array in the host's memory, shape (length,), that the GPU reads and writes at the same address."""
    dtype = np.dtype(dtype)
    memory = cupy().cuda.alloc_pinned_memory(length * dtype.itemsize)
    return np.frombuffer(memory, dtype, length)


def snapshot(values: Any) -> np.ndarray:
    """A copy in the host's memory, made while a kernel may be writing the array."""
    found: np.ndarray = values.get(stream=new_stream())
    return found


def new_stream(follows: bool = False) -> Any:
    """A stream whose work waits for no other one's, but if it `follows`, for what the current one has now. It is the
    current one in a `with` statement."""
    stream = cupy().cuda.Stream(non_blocking=True)
    if follows:
        stream.wait_event(cupy().cuda.get_current_stream().record())
    return stream


def follow(stream: Any) -> None:
    """Have the current stream wait for what another one has now."""
    cupy().cuda.get_current_stream().wait_event(stream.record())


def send(values: Any, host: np.ndarray) -> None:
    """Start to copy a `pinned` array to one on the GPU, in the order of the current stream."""
    copy_bytes(values.data.ptr, host.ctypes.data, host.nbytes)


def send_part(values: Any, at: int, host: Any, first: int, count: int) -> None:
    """Start to copy `count` elements of locked memory, as kernels take it, from `first` on, to place `at` of an array
    on the GPU, in the order of the current stream."""
    size = values.dtype.itemsize
    copy_bytes(values.data.ptr + at * size, host.data.ptr + first * size, count * size)


def receive(host: np.ndarray, values: Any) -> None:
    """Start to copy an array on the GPU to a `pinned` one, in the order of the current stream."""
    copy_bytes(host.ctypes.data, values.data.ptr, host.nbytes)


def copy_bytes(to: int, source: int, nbytes: int) -> None:
    """Start a copy in the order of the current stream. The driver tells its direction from the addresses."""
    runtime = cupy().cuda.runtime
    runtime.memcpyAsync(to, source, nbytes, runtime.memcpyDefault, current_stream())


def current_stream() -> int:
    """The address of the caller's current stream."""
    return int(cupy().cuda.get_current_stream().ptr)


@functools.cache
def link_rate() -> float:
    """The bytes a second at which locked memory of the host is copied to the GPU, measured once: the best of four.

    It is asked at the end of a run, whose limit has no room for much: so a little memory is copied several times.
    """
    host, there, best = pinned(_PROBE, np.uint8), empty(_PROBE, np.uint8), float("inf")
    stream, event = cupy().cuda.get_current_stream(), cupy().cuda.Event
    for _ in range(4):
        begin, end = event(), event()
        begin.record(stream)
        for _ in range(_COPIES):
            send(there, host)
        end.record(stream)
        end.synchronize()
        best = min(best, 1e-3 * cupy().cuda.get_elapsed_time(begin, end))
    return _COPIES * _PROBE / best


def finish() -> None:
    """Wait for all work of the current stream."""
    cupy().cuda.get_current_stream().synchronize()


def finish_all() -> None:
    """Wait for all work of the current GPU."""
    cupy().cuda.runtime.deviceSynchronize()


#: The size of the pages in which the host's memory is locked in place, and the bytes from which arrays outside of the
#: heap have pages of their own: smaller ones may share theirs with others.
_PAGE, OWN_PAGES = 4096, 2**26
#: Which field after a process's name says where its heap begins (proc_pid_stat(5): start_brk, the 47th of all).
_START_BRK = 44
#: The bytes that are copied to measure the link, and how often in a row.
_PROBE, _COPIES = 2**22, 8
#: How the driver calls memory of the host that it has locked (cudaMemoryTypeHost), and the flag of memory that kernels
#: only read (cudaHostRegisterReadOnly).
_LOCKED, _READ_ONLY = 1, 8
#: Held while an array is locked to be copied: of two threads the first would unlock it for both.
_copying = threading.Lock()
#: What each thread keeps: the GPU that it made current last.
_thread = threading.local()
#: Work that takes more bytes than this has memory of its own.
_MUCH = 1 << 30
#: Words of `signals`: the host asks the kernel to end; the kernel's progress.
CANCEL, PROGRESS = 0, 1
#: The host polls without a pause for SPIN_SECONDS, then every PAUSE_SECONDS. It shows progress every SHOW_SECONDS.
SPIN_SECONDS, PAUSE_SECONDS, SHOW_SECONDS = 20e-3, 100e-6, 0.1


def wait(
    host: np.ndarray,
    progress: Callable[[int], None] | None,
    meanwhile: Callable[[], None] | None = None,
    event: Any = None,
) -> None:
    """Wait for an event, or for the last kernel of the current stream, call `meanwhile` again and again, and show
    progress.

    At an interruption (Ctrl-C) the kernel is asked to end; when it has, the exception goes on. Further interruptions do
    not end the wait, for the kernel works in memory that would be freed.

    Raises:
        DeviceError: the kernel failed; this process cannot use the GPU any more.
    """
    event = mark() if event is None else event
    started = shown = time.perf_counter()
    try:
        while not done(event):
            if meanwhile is not None:
                meanwhile()
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
                while not done(event):
                    time.sleep(PAUSE_SECONDS)
                break
            except KeyboardInterrupt:
                continue
        raise


def written_forms(counts: Iterable[int], names: Iterable[str]) -> str:
    """How many supersteps had each form, in words, for `Result.explain`."""
    return ", ".join(f"{count} {name}" for count, name in zip(counts, names, strict=False) if count)


def mark() -> Any:
    """An event that has happened when what the current stream has been asked for is done."""
    event = cupy().cuda.Event(disable_timing=True)
    event.record(cupy().cuda.get_current_stream())
    return event


def done(event: Any) -> bool:
    """Whether an event has happened.

    Raises:
        DeviceError: a kernel failed before it.
    """
    try:
        return bool(event.done)
    except cupy().cuda.runtime.CUDARuntimeError as error:
        raise fault(error) from error


def check(answer: tuple[Any]) -> None:
    """Raise a DeviceError if the driver refused."""
    if answer[0]:
        raise fault(answer[0].name)


def fault(reason: object) -> DeviceError:
    """The error that says that a kernel failed."""
    return DeviceError(
        f"a kernel failed on the GPU ({reason}); this process cannot use the GPU any more: start it anew"
    )


@functools.cache
def _memory() -> int:
    """The size of the GPU's memory in bytes."""
    return int(cupy().cuda.runtime.memGetInfo()[1])


def free() -> int:
    """How many bytes of the GPU's memory are free, those in CuPy's pool included."""
    return int(cupy().cuda.runtime.memGetInfo()[0] + cupy().get_default_memory_pool().free_bytes())


@contextmanager
def scratch(size: int) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Arrays made meanwhile have memory of their own if they take much, and that is given back at the end. CuPy would
    keep large pieces of it as long as a small array lies in one of them.

    Yields:
        A function: what is made under it (``with outside():``) lies where other arrays lie, and stays.
    """
    if size < _MUCH:
        yield nullcontext
        return
    pool, usual = cupy().cuda.MemoryPool(), cupy().cuda.get_allocator()
    with cupy().cuda.using_allocator(pool.malloc):
        yield lambda: cupy().cuda.using_allocator(usual)
    pool.free_all_blocks()


def give_back() -> None:
    """Give the driver the memory that CuPy holds for arrays to come."""
    cupy().get_default_memory_pool().free_all_blocks()


#: Functions that free memory which is kept only for speed. They are called when memory is short.
spare: list[Callable[[], None]] = []


def fits(needed: int) -> bool:
    """Whether `needed` more bytes fit in the GPU's memory; if they do not at first, `spare` memory is freed.

    To ask the driver takes as long as a search, so it is asked only if the bytes may be too many.
    """
    pool = cupy().get_default_memory_pool()
    if needed <= pool.free_bytes() or pool.total_bytes() + needed <= _memory() // 2 or needed <= free():
        return True
    for drop in spare:
        drop()
    return needed <= free()


@contextmanager
def room(name: str, needed: int) -> Iterator[None]:
    """Refuse work that does not fit in the GPU's memory: before it begins if possible, else when memory runs out.

    Raises:
        MemoryLimitError: it does not fit.
    """
    if not fits(needed):
        raise MemoryLimitError(
            f"{name} needs {needed:,} bytes on the GPU, of which {free():,} are free; free some, use a smaller "
            "dtype, or run on the CPU with device='cpu'"
        )
    try:
        yield
    except cupy().cuda.memory.OutOfMemoryError as error:
        raise MemoryLimitError(
            f"{name}: the GPU's memory is used up ({error}); run on the CPU with device='cpu'"
        ) from error
