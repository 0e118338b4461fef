"""Arrays that kernels read where they lie: in the host's own memory, over the link, or in part on the GPU.

A kernel takes one address for an array, wherever its bytes are. The host's memory is locked and read in place, without
a copy: that of a NumPy array, or of a file that is mapped. An array of which a part shall lie on the GPU gets a range
of addresses of its own, whose first pages are the GPU's memory and whose others are locked memory of the host. On one
H100, kernels read 51 GB/s in sequence from the host, or 48 million rows of up to 128 bytes a second at random places.
"""

import ctypes
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any, final

import numpy as np

from edgewise.kernels.cuda import memory
from edgewise.kernels.cuda.memory import (
    OWN_PAGES,
    copy_of,
    cupy,
    current_device,
    device_number,
    driver,
    give_back,
    is_locked,
    lock,
    new_stream,
    unlock,
)
from edgewise.memory import LARGE_PAGE, RefusedBySystem

#: The host's memory is copied in pieces of _PIECE bytes, by _THREADS threads.
_PIECE, _THREADS = 2**26, 4
#: The bytes of a line of memory, which a GPU reads of the host's at once.
_LINE = 128


def place(values: np.ndarray, on_gpu: int, written: bool = False) -> Any:
    """An array that kernels read, as a CuPy array: its first bytes lie on the GPU, the others in the host's memory.

    The array must not be written while it is in use. CuPy's functions may read the result, but must not copy, fill or
    assign to it: the driver copies no memory of both kinds. `snapshot` copies it to the host.

    Args:
        values: contiguous, shape (length,).
        on_gpu: how many bytes shall lie on the GPU: a multiple of `LARGE_PAGE`, or at least all.
        written: whether kernels write the result: then it is a copy in any case.

    Raises:
        MemoryLimitError: the system does not lock these bytes of the host's memory, or the GPU has no room.
    """
    if on_gpu >= values.nbytes:
        return copy_of(values)
    locked = None if written or on_gpu or values.nbytes < OWN_PAGES else _locked_in_place(values)
    if locked is not None:
        return locked.seen_as(values.shape, values.dtype)
    divided = _Divided(values.nbytes, on_gpu)
    divided.fill(values)
    return divided.seen_as(values.shape, values.dtype)


def empty_divided(length: int, dtype: Any, on_gpu: int) -> Any:
    """An array as `place` gives it that kernels write, too; its values are not set.

    Raises:
        MemoryLimitError: as `place`.
    """
    dtype = np.dtype(dtype)
    size = length * dtype.itemsize
    return cupy().empty(length, dtype) if on_gpu >= size else _Divided(size, on_gpu).seen_as((length,), dtype)


def on_gpu(values: Any) -> int:
    """How many bytes of an array as kernels take it lie on the GPU."""
    holder = _holder_of(values)
    return int(values.nbytes) if holder is None else holder.on_gpu


def after_line(values: Any) -> int:
    """How many of its elements an array begins after the beginning of a line of memory: NumPy's large arrays begin 16
    bytes after one, and warps that read across lines get two thirds of what the link gives."""
    return int(values.data.ptr) % _LINE // int(values.dtype.itemsize)


def snapshot(values: Any) -> np.ndarray:
    """A copy in the host's memory, wherever the array lies, made while a kernel may be writing it."""
    holder = _holder_of(values)
    return memory.snapshot(values) if holder is None else holder.snapshot(values)


def for_users(values: Any) -> Any:
    """An array with which all of CuPy works, or if not all of it lies on the GPU, its copy in the host's memory, made
    when the current stream's work has ended."""
    if _holder_of(values) is None:
        return values
    memory.finish()
    return snapshot(values)


def _holder_of(values: Any) -> "_Holder | None":
    return _held.get((values.data.ptr, values.nbytes))


class _Holder:
    """Memory that is given back when no array refers to it any more; `on_gpu` of its bytes lie on the GPU."""

    address: int
    size: int
    on_gpu: int = 0

    def seen_as(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """The memory as a CuPy array."""
        memory = cupy().cuda.UnownedMemory(self.address, self.size, self, device_number())
        return cupy().ndarray(shape, dtype, cupy().cuda.MemoryPointer(memory, 0))

    def spans(self, other: "_Holder") -> bool:
        """Whether all bytes of another one are bytes of this."""
        return self.address <= other.address and other.address + other.size <= self.address + self.size

    def snapshot(self, values: Any) -> np.ndarray:
        """A copy of this memory, as which these values are seen, in an array of the host."""
        return memory.snapshot(values)


@final
class _Locked(_Holder):
    """An array of the host whose pages are locked, so that the GPU reads them at the same addresses. Where they are
    locked for arrays of which it is a part, it holds those."""

    def __init__(self, values: np.ndarray, begin: int | None) -> None:
        self._values, self.address, self.size = values, values.ctypes.data, values.nbytes
        self._within = (
            [] if begin is not None else [each for each in list(_held.values()) if each.spans(self)]
        )
        if begin is not None:
            weakref.finalize(self, unlock, begin)


#: What lies on the host now, at least in part, by address and size: graphs may share arrays, which are locked once.
_held: "weakref.WeakValueDictionary[tuple[int, int], _Holder]" = weakref.WeakValueDictionary()


def _locked_in_place(values: np.ndarray) -> _Holder | None:
    """An array of the host with its pages locked; None if the system refuses."""
    key = values.ctypes.data, values.nbytes
    found = _held.get(key)
    if found is None:
        begin = lock(values)
        if begin is None and not is_locked(values):
            return None
        found = _held[key] = _Locked(values, begin)
    return found


@final
class _Divided(_Holder):
    """A range of addresses: its first pages lie on the GPU, its others in locked memory of the host."""

    def __init__(self, size: int, on_gpu: int) -> None:
        api, device = driver(), device_number()
        kinds = api.CUmemLocationType
        node = current_device().properties.host_numa_id
        gpu, host = (
            (kinds.CU_MEM_LOCATION_TYPE_DEVICE, device),
            (kinds.CU_MEM_LOCATION_TYPE_HOST_NUMA, max(node, 0)),
        )
        self.size, self.on_gpu = size, on_gpu
        whole = -(-size // LARGE_PAGE) * LARGE_PAGE
        self.address = int(_checked(whole, api.cuMemAddressReserve(whole, LARGE_PAGE, 0, 0)))
        give_back()  # the driver has none of what CuPy holds
        pieces: list[tuple[int, int]] = []
        weakref.finalize(self, _unmap, self.address, whole, pieces)
        for begin, end, place, seers in ((0, on_gpu, gpu, [gpu]), (on_gpu, whole, host, [gpu, host])):
            if begin == end:
                continue
            asked = api.CUmemAllocationProp()
            asked.type = api.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
            asked.location.type, asked.location.id = place
            piece = (self.address + begin, end - begin)
            made = _checked(end - begin, api.cuMemCreate(end - begin, asked, 0))
            _checked(end - begin, api.cuMemMap(*piece, 0, made, 0))
            api.cuMemRelease(made)  # the mapping holds it
            pieces.append(piece)
            access = [_access(*each) for each in seers]
            _checked(end - begin, api.cuMemSetAccess(*piece, access, len(access)))

        _held[self.address, size] = self

    def fill(self, values: np.ndarray) -> None:
        """Copy an array of the host to this memory."""
        self._copy(self.address, values.ctypes.data)

    def snapshot(self, values: Any) -> np.ndarray:
        """A copy in two parts."""
        found = np.empty(values.shape, values.dtype)
        self._copy(found.ctypes.data, self.address)
        return found

    def _copy(self, to: int, source: int) -> None:
        """Copy as many bytes as this memory has, from or to it; no kernel is waited for."""
        here, runtime = self.on_gpu, cupy().cuda.runtime
        if here:
            kind = runtime.memcpyHostToDevice if to == self.address else runtime.memcpyDeviceToHost
            stream = new_stream()
            runtime.memcpyAsync(to, source, here, kind, stream.ptr)
            stream.synchronize()

        def copy(first: int) -> None:
            ctypes.memmove(to + first, source + first, min(_PIECE, self.size - first))

        with ThreadPoolExecutor(_THREADS) as threads:
            list(threads.map(copy, range(here, self.size, _PIECE)))


def _access(kind: Any, number: int) -> Any:
    """That a GPU, or the host, may read and write memory."""
    api = driver()
    asked = api.CUmemAccessDesc()
    asked.location.type, asked.location.id = kind, number
    asked.flags = api.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    return asked


def _unmap(address: int, size: int, pieces: list[tuple[int, int]]) -> None:
    """Give a range of addresses and its memory back, when all kernels that may read it have ended. The function of the
    runtime makes the device's context current in this thread, which may be any."""
    api = driver()
    cupy().cuda.runtime.deviceSynchronize()
    for piece in pieces:
        api.cuMemUnmap(*piece)
    api.cuMemAddressFree(address, size)


def _checked(size: int, answer: tuple[Any, ...]) -> Any:
    """What the driver gives.

    Raises:
        RefusedBySystem: it refuses.
    """
    if answer[0]:
        raise RefusedBySystem(
            f"the system does not give {size:,} bytes that a GPU may read ({answer[0].name}); raise the limit of "
            "locked memory (ulimit -l), free some memory, or run on the CPU with device='cpu'"
        )
    return answer[1] if len(answer) > 1 else None
