"""The only door to CUDA: what kernels are written with, how they are compiled and kept, how they are launched.

A kernel is compiled once for a GPU's architecture, to PTX by numba-cuda and to machine code by nvJitLink, and kept on
disk. numba's own launch takes 55 to 190 µs for eight arrays, so kernels take addresses and are launched by cuda.core
in 5 to 8 µs. Compiling needs no GPU, which is how every kernel is compiled in tests.

For use inside kernels, on all 32 lanes of a warp at once:

``ballot(flag)``, ``shuffle(value, lane)``, ``shuffle_up(value, lanes)``, ``shuffle_down(value, lanes)``
    the flags of all lanes as bits; the value that a lane has, or the lane so many before or after this one.
``grid_barrier(control, turn)``
    waits for every thread of a cooperative launch. ``control[0]`` counts arrivals; ``turn`` is 0 at first and then what
    the last barrier returned.
"""

import re
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba import config, cuda, types

from edgewise.kernels.cache import kept

#: Threads of a block. One block of 1024 on each multiprocessor was the fastest of 256, 512 and 1024 on an H100: it has
#: the fewest arrivals at a barrier for the number of threads that hide the memory's latency.
THREADS = 1024
#: Whether kernels run in numba's simulator (NUMBA_ENABLE_CUDASIM=1), as in tests without a GPU. It has no warps: there
#: a warp has one lane. It has no barrier across blocks either: there a grid has one block.
SIMULATED = bool(config.ENABLE_CUDASIM)
WARP = 1 if SIMULATED else 32
#: How far the steps of a reduction over a warp look ahead.
HALVES = () if SIMULATED else (16, 8, 4, 2, 1)
_ALL_LANES = 0xFFFFFFFF


def device_function(function: Callable[..., Any]) -> Any:
    """A function that kernels call."""
    return cuda.jit(function, device=True)


@device_function
def lane() -> Any:
    """The number of this thread in its warp."""
    return np.int64(cuda.threadIdx.x % WARP)


@device_function
def thread_index() -> Any:
    """The number of this thread in the grid. Warps are numbered across blocks first: little work is then done by many
    multiprocessors, not by the first one alone."""
    warp = np.int64(cuda.threadIdx.x // WARP) * cuda.gridDim.x + cuda.blockIdx.x
    return warp * WARP + cuda.threadIdx.x % WARP


@device_function
def num_threads() -> Any:
    """Threads in the grid."""
    return np.int64(cuda.gridDim.x) * cuda.blockDim.x


@device_function
def ballot(flag: Any) -> Any:
    if SIMULATED:
        return np.uint32(flag)
    return np.uint32(cuda.ballot_sync(_ALL_LANES, flag))


@device_function
def shuffle(value: Any, from_lane: Any) -> Any:
    if SIMULATED:
        return value
    return cuda.shfl_sync(_ALL_LANES, value, from_lane)


@device_function
def shuffle_up(value: Any, lanes: Any) -> Any:
    return cuda.shfl_up_sync(_ALL_LANES, value, lanes)


@device_function
def shuffle_down(value: Any, lanes: Any) -> Any:
    return cuda.shfl_down_sync(_ALL_LANES, value, lanes)


@device_function
def lanes_before(bits: Any) -> Any:
    """How many bits belong to lanes before this one."""
    return np.int64(cuda.popc(bits & ((np.uint32(1) << np.uint32(lane())) - np.uint32(1))))


@device_function
def count_bits(bits: Any) -> Any:
    return np.int64(cuda.popc(bits))


@device_function
def first_bit(bits: Any) -> Any:
    """The lowest lane whose bit is set; bits is not 0."""
    return np.int64(cuda.ffs(bits)) - 1


@device_function
def grid_barrier(control: Any, turn: Any) -> Any:
    """Wait for all threads of the grid; what they wrote before is seen by all afterwards."""
    turn += 1
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        cuda.atomic.add(control, 0, 1)
        while cuda.atomic.add(control, 0, 0) < turn * cuda.gridDim.x:
            pass
        cuda.threadfence()
    cuda.syncthreads()
    return turn


@device_function
def atomic_add(values: Any, i: Any, value: Any) -> Any:
    """Add to an element; its old value."""
    return cuda.atomic.add(values, i, value)


@device_function
def atomic_min(values: Any, i: Any, value: Any) -> Any:
    """Lower an element to the value; its old value."""
    return cuda.atomic.min(values, i, value)


@device_function
def atomic_max(values: Any, i: Any, value: Any) -> Any:
    """Raise an element to the value; its old value."""
    return cuda.atomic.max(values, i, value)


@device_function
def atomic_exchange(values: Any, i: Any, value: Any) -> Any:
    """Store the value; the old one."""
    return cuda.atomic.exch(values, i, value)


def pointer(dtype: np.dtype) -> Any:
    """The type of a kernel's argument that is the address of an array. Booleans need an array (`array_words`)."""
    return types.CPointer(_element(dtype))


def array(dtype: np.dtype) -> Any:
    """The type of an argument that is an array, as atomic operations need it: seven words, see `array_words`."""
    return types.Array(_element(dtype), 1, "C")


def _element(dtype: np.dtype) -> Any:
    return types.boolean if dtype.kind == "b" else getattr(types, dtype.name)


INT64 = types.int64


def tuple_of(kinds: list[Any]) -> Any:
    """The type of a tuple argument; its parts are passed one after the other."""
    return types.Tuple(kinds)


def array_words(address: int, length: int, dtype: np.dtype) -> tuple[int, ...]:
    """What is passed for an argument of type `array`."""
    return (0, 0, length, dtype.itemsize, address, length, dtype.itemsize)


class _Architecture:
    """Stands for the GPU where numba-cuda asks for it while it compiles."""

    def __init__(self, capability: tuple[int, int]) -> None:
        self.compute_capability = capability


@contextmanager
def _compiling_for(capability: tuple[int, int]) -> Any:
    """Answer numba-cuda's question for the current device without a driver."""
    from numba.cuda import compiler, dispatcher

    asked = [(module, module.get_current_device) for module in (compiler, dispatcher)]
    for module, _ in asked:
        module.get_current_device = lambda: _Architecture(capability)
    try:
        yield
    finally:
        for module, original in asked:
            module.get_current_device = original


def compile_kernel(
    function: Callable[..., Any], signature: tuple[Any, ...], capability: tuple[int, int], key: str | None
) -> bytes:
    """Machine code of a kernel for an architecture, from disk where it was compiled before.

    Args:
        function: the kernel.
        signature: the types of its arguments, from `pointer`, `array`, `tuple_of` and `INT64`.
        capability: the compute capability, (9, 0) for an H100.
        key: what the code depends on beyond edgewise's sources; None to compile it anew each time.
    """
    question = None if key is None else f"{capability} {signature} {key}"
    return kept(question, function.__module__, lambda: _compiled(function, signature, capability))


def _compiled(function: Callable[..., Any], signature: tuple[Any, ...], capability: tuple[int, int]) -> bytes:
    from cuda.core import Linker, LinkerOptions, ObjectCode

    with _compiling_for(capability):
        ptx, _ = cuda.compile(
            function, signature, device=False, abi="numba", cc=capability, launch_bounds=THREADS
        )
    # The name of a kernel holds every type of its arguments; one short name serves all.
    (name,) = re.findall(r"\.visible \.entry (\S+?)\(", ptx)
    ptx = re.sub(rf"\b{re.escape(name)}\b", "kernel", ptx)
    options = LinkerOptions(arch=f"sm_{capability[0]}{capability[1]}")
    return bytes(Linker(ObjectCode.from_ptx(ptx.encode()), options=options).link("cubin").code)


class Kernel:
    """A kernel on the current GPU."""

    def __init__(self, code: bytes) -> None:
        from cuda.core import ObjectCode

        device = _device()
        device.set_current()
        self._kernel = ObjectCode.from_cubin(code).get_kernel("kernel")
        resident = self._kernel.occupancy.max_active_blocks_per_multiprocessor(THREADS, 0)
        #: Blocks that run at the same time: the most that a cooperative launch may have.
        self.blocks = resident * device.properties.multiprocessor_count

    def launch(self, stream: int, arguments: list[Any], blocks: int) -> None:
        """Start the kernel with all blocks resident.

        Args:
            stream: the address of a CUDA stream.
            arguments: addresses as integers, everything else as NumPy scalars.
            blocks: at most `blocks`.
        """
        from cuda.core import LaunchConfig, Stream, launch

        config = LaunchConfig(grid=blocks, block=THREADS, is_cooperative=True)
        launch(Stream.from_handle(stream), config, self._kernel, *arguments)


def _device() -> Any:
    """The GPU that CuPy uses now."""
    from cuda.core import Device

    return Device(_cupy().cuda.runtime.getDevice())


def problem() -> str | None:
    """Why no GPU can be used, or None."""
    try:
        _device().set_current()
    except (
        Exception
    ) as error:  # the driver's and the packages' own, all of which mean that there is no GPU for us
        return f"{type(error).__name__}: {error}"
    return None


def capability() -> tuple[int, int]:
    """The compute capability of the current GPU."""
    found = _device().compute_capability
    return found.major, found.minor


def _cupy() -> Any:
    import cupy

    return cupy


def copy_of(values: np.ndarray) -> Any:
    """A copy on the GPU."""
    return _cupy().asarray(values)


def empty(length: int, dtype: Any) -> Any:
    """An array on the GPU with no particular values."""
    return _cupy().empty(length, dtype)


def zeros(length: int, dtype: Any) -> Any:
    """An array of zeros on the GPU."""
    return _cupy().zeros(length, dtype)


def full(length: int, value: Any, dtype: Any) -> Any:
    """An array of one value on the GPU."""
    return _cupy().full(length, value, dtype)


def pinned(length: int, dtype: Any) -> np.ndarray:
    """An array in the host's memory that the GPU reads and writes at the same address."""
    dtype = np.dtype(dtype)
    memory = _cupy().cuda.alloc_pinned_memory(length * dtype.itemsize)
    return np.frombuffer(memory, dtype, length)


def current_stream() -> int:
    """The address of the caller's current stream."""
    return int(_cupy().cuda.get_current_stream().ptr)


def finished() -> Callable[[], bool]:
    """A question: whether all that the current stream was given until now is done."""
    event = _cupy().cuda.Event(disable_timing=True)
    event.record(_cupy().cuda.get_current_stream())
    return lambda: bool(event.done)
