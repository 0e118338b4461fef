"""The only door to CUDA: what kernels are written with, how they are compiled and kept, how they are launched.

The host's side of a GPU, its memory and waiting for it, is `edgewise.kernels.cuda.memory`.

A kernel is compiled once for a GPU's architecture, to PTX by numba-cuda and to machine code by nvJitLink, and kept on
disk. numba's own launch takes 55 to 190 µs for eight arrays, so kernels take addresses and are launched by the driver's
own function. Compiling needs no GPU, which is how every kernel is compiled in tests.

For use inside kernels, on all 32 lanes of a warp at once:

``ballot(flag)``, ``shuffle(value, lane)``, ``shuffle_up(value, lanes)``, ``shuffle_down(value, lanes)``
    the flags of all lanes as bits; the value that a lane has, or the lane so many before or after this one.
``grid_barrier(control, turn)``
    waits for every thread of a cooperative launch. ``control[0]`` counts arrivals; ``turn`` is 0 at first and then what
    the last barrier returned.
"""

import ctypes
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba import config, cuda, types

from edgewise.kernels.cache import counted_as_compiling, kept
from edgewise.kernels.cpu.atomics import unwrapped
from edgewise.kernels.cuda.memory import capability, current_device, current_stream, device_number, fault

#: Whether kernels run in numba's simulator (NUMBA_ENABLE_CUDASIM=1), as in tests without a GPU. It has no warps: there
#: a warp has one lane. It has no barrier across blocks either: there a grid has one block, of few threads.
SIMULATED = bool(config.ENABLE_CUDASIM)
#: Threads of a block. One block of 1024 on each multiprocessor was the fastest of 256, 512 and 1024 on an H100: it has
#: the fewest arrivals at a barrier for the number of threads that hide the memory's latency.
THREADS = 4 if SIMULATED else 1024
WARP = 1 if SIMULATED else 32
#: How far the steps of a reduction over a warp look ahead.
HALVES = () if SIMULATED else (16, 8, 4, 2, 1)
_ALL_LANES = 0xFFFFFFFF
#: Constants for ``cuda.shared.array(length, dtype)`` in a kernel, an array that the threads of a block share; see
#: `numba_type` for others.
INT32, INT64, UINT32, FLOAT64 = types.int32, types.int64, types.uint32, types.float64


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
def block_thread() -> Any:
    """The number of this thread in its block."""
    return np.int64(cuda.threadIdx.x)


@device_function
def block_size() -> Any:
    """Threads in the block."""
    return np.int64(cuda.blockDim.x)


@device_function
def block_index() -> Any:
    return np.int64(cuda.blockIdx.x)


@device_function
def num_blocks() -> Any:
    return np.int64(cuda.gridDim.x)


@device_function
def block_barrier() -> Any:
    """Wait for all threads of the block."""
    cuda.syncthreads()


@device_function
def warp_barrier() -> Any:
    """Wait for all lanes of the warp; what they wrote before is seen by all of them afterwards."""
    if not SIMULATED:
        cuda.syncwarp()


@device_function
def fence() -> Any:
    """What this block wrote before a barrier of the block is seen by all before what this thread writes from now on."""
    cuda.threadfence()


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


if SIMULATED:

    @device_function
    def load_fresh(values: Any, i: Any) -> Any:
        return values[i]

    @device_function
    def load_once(values: Any, i: Any) -> Any:
        return values[i]

else:

    @device_function
    def load_fresh(values: Any, i: Any) -> Any:
        """An element as it is in memory now. The compiler believes that asking twice at one place gives one answer."""
        return cuda.ldcv(values, i)

    @device_function
    def load_once(values: Any, i: Any) -> Any:
        """An element that is not needed again soon: caches rather keep others."""
        return cuda.ldcs(values, i)


if SIMULATED:

    @device_function
    def clock_ns() -> Any:
        return np.int64(0)

    @device_function
    def unwrap(value: Any) -> Any:
        return value

else:
    from llvmlite import ir
    from numba.cuda.extending import intrinsic

    @intrinsic
    def clock_ns(context: Any) -> Any:
        """The GPU's clock in nanoseconds, int64; 0 in the simulator."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            read = ir.FunctionType(ir.IntType(64), [])
            return builder.asm(read, "mov.u64 $0, %globaltimer;", "=l", [], True)

        return types.int64(), generate

    unwrap = intrinsic(unwrapped)


if SIMULATED:

    def float_bits(dtype: np.dtype) -> tuple[Any, Any]:
        whole = np.dtype(f"i{dtype.itemsize}").type
        return lambda value: dtype.type(value).view(whole), lambda bits: whole(bits).view(dtype.type)

else:

    def float_bits(dtype: np.dtype) -> tuple[Any, Any]:
        """Device functions from a float to its bits as an integer, and back. Floats of at least 0 keep their order."""
        to, back = (
            (cuda.libdevice.float_as_int, cuda.libdevice.int_as_float)
            if dtype.itemsize == 4
            else (cuda.libdevice.double_as_longlong, cuda.libdevice.longlong_as_double)
        )
        real, whole = dtype.type, np.dtype(f"i{dtype.itemsize}").type
        return device_function(lambda value: to(real(value))), device_function(lambda bits: back(whole(bits)))


@device_function
def arrive(control: Any, i: Any, value: Any) -> None:
    """Count this block at a word: its lower half counts, its upper half adds up the values."""
    cuda.atomic.add(control, i, np.int64(value) << 32 | 1)


@device_function
def await_arrivals(control: Any, i: Any, now: Any, arrivals: Any) -> Any:
    """Wait until so many have arrived at a word (fewer than 2**31 in all); the word then. `now` is what it was before.

    Loads wait less than atomic operations, which queue up with the arrivals. The compiler takes such a load for one of
    a value that never changes, so its address is made to depend on the value before.
    """
    while (now & 0xFFFFFFFF) < arrivals:
        now = load_fresh(control, i + ((now & 0xFFFFFFFF) >> 31))
    return now


@device_function
def grid_barrier(control: Any, turn: Any) -> Any:
    """Wait for all threads of the grid; what they wrote before is seen by all afterwards."""
    turn += 1
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        now = cuda.atomic.add(control, 0, 1) + 1
        while now < turn * cuda.gridDim.x:
            now = load_fresh(control, now >> 62)
        cuda.threadfence()
    cuda.syncthreads()
    return turn


@device_function
def atomic_add(values: Any, i: Any, value: Any) -> Any:
    """Add to an element; its old value."""
    return cuda.atomic.add(values, i, value)


@device_function
def atomic_or(values: Any, i: Any, value: Any) -> Any:
    """Set bits of an element; its old value."""
    return cuda.atomic.or_(values, i, value)


@device_function
def atomic_min(values: Any, i: Any, value: Any) -> Any:
    """Lower an element to the value; its old value."""
    return cuda.atomic.min(values, i, value)


@device_function
def atomic_max(values: Any, i: Any, value: Any) -> Any:
    """Raise an element to the value; its old value."""
    return cuda.atomic.max(values, i, value)


@device_function
def atomic_and(values: Any, i: Any, value: Any) -> Any:
    """Clear the bits of an element that the value does not have; its old value."""
    return cuda.atomic.and_(values, i, value)


@device_function
def atomic_exchange(values: Any, i: Any, value: Any) -> Any:
    """Store the value; the old one."""
    return cuda.atomic.exch(values, i, value)


@device_function
def compare_and_swap(values: Any, i: Any, expected: Any, value: Any) -> Any:
    """Store the value where the element is as expected; its old value."""
    return cuda.atomic.cas(values, i, expected, value)


def numba_type(dtype: np.dtype) -> Any:
    """The constant of a dtype for ``cuda.shared.array``. Booleans take four bytes."""
    return types.int32 if dtype.kind == "b" else getattr(types, dtype.name)


def pointer(dtype: np.dtype) -> Any:
    """The type of a kernel's argument that is the address of an array. Booleans need an array (`words`)."""
    return types.CPointer(_element(dtype))


def array(dtype: np.dtype) -> Any:
    """The type of an argument that is an array, as atomic operations need it: seven words, see `words`."""
    return types.Array(_element(dtype), 1, "C")


def _element(dtype: np.dtype) -> Any:
    return types.boolean if dtype.kind == "b" else getattr(types, dtype.name)


def tuple_of(kinds: list[Any]) -> Any:
    """The type of a tuple argument; its parts are passed one after the other."""
    return types.Tuple(kinds)


class Words(tuple[int, ...]):
    """What is passed for an argument of type `array`: it keeps the array, whose memory is used again otherwise."""

    values: Any


def words(values: Any) -> Words:
    """What is passed for an argument of type `array`."""
    size, itemsize = values.size, values.dtype.itemsize
    passed = Words((0, 0, size, itemsize, values.data.ptr, size, itemsize))
    passed.values = values
    return passed


def address(values: Any) -> int:
    """What is passed for an argument of type `pointer` again and again; whoever holds it keeps the array."""
    return int(values.data.ptr)


class _Architecture:
    """Stands for the GPU where numba-cuda asks for it while it compiles."""

    def __init__(self, capability: tuple[int, int]) -> None:
        self.compute_capability = capability


@contextmanager
def _compiling_for(capability: tuple[int, int]) -> Any:
    """Answer numba-cuda's question for the current device without a driver."""
    from numba.cuda import compiler, dispatcher

    from edgewise.kernels.cuda.pipeline import short_compiler

    asked = [(module, module.get_current_device) for module in (compiler, dispatcher)]
    for module, _ in asked:
        module.get_current_device = lambda: _Architecture(capability)
    try:
        with short_compiler():
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
    with counted_as_compiling():
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


#: Of each thread: the GPU that was made current last, and words for arguments.
_thread = threading.local()


class Kernel:
    """A kernel on the current GPU, launched cooperatively: all its blocks are resident.

    Args:
        code: machine code.
        shared_bytes: of its ``cuda.shared.array(0, dtype)``, where it needs more than the 48 KB that blocks may share
            unasked.
    """

    def __init__(self, code: bytes, shared_bytes: int = 0) -> None:
        from cuda.bindings import driver
        from cuda.core import ObjectCode

        device = current_device()
        device.set_current()
        self._kernel = ObjectCode.from_cubin(code).get_kernel("kernel")
        self._function = driver.CUfunction(int(self._kernel.handle))
        self._launch = driver.cuLaunchCooperativeKernel
        self._shared_bytes, self._asked = shared_bytes, set[int]()
        self._ask_for_shared(device.device_id)
        resident = self._kernel.occupancy.max_active_blocks_per_multiprocessor(THREADS, shared_bytes)
        #: Blocks that run at the same time: the most that a cooperative launch may have.
        self.blocks = resident * device.properties.multiprocessor_count

    def _ask_for_shared(self, device: int) -> None:
        """Ask for the memory that blocks share, once for each GPU."""
        if self._shared_bytes == 0 or device in self._asked:
            return
        from cuda.bindings import driver

        room = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        owner = driver.CUkernel(int(self._kernel.handle)), driver.CUdevice(device)
        _check(driver.cuKernelSetAttribute(room, self._shared_bytes, *owner))
        self._asked.add(device)

    def start(self, arguments: Iterable[Any], blocks: int | None = None) -> None:
        """Start the kernel on the current stream.

        cuda.core's own launch asks the driver each time how many blocks may be resident, which takes 40 µs.

        Args:
            arguments: arrays on the GPU and `pinned` ones for pointers, `words` of arrays, integers and floats.
            blocks: at most `blocks`, which is the default.

        Raises:
            DeviceError: the driver refused, as it does after a kernel failed.
        """
        # A thread has no context of its own at first, and memory from a pool gives it none.
        device = device_number()
        if getattr(_thread, "device", None) != device:
            current_device().set_current()
            _thread.device = device
        self._ask_for_shared(device)
        passed = [*_passed(arguments)]
        values, addresses = _argument_words(len(passed))
        values[:] = passed
        shape = (blocks or self.blocks, 1, 1, THREADS, 1, 1)
        stream, place = current_stream(), ctypes.addressof(addresses)
        _check(self._launch(self._function, *shape, self._shared_bytes, stream, place))


def _check(answer: tuple[Any]) -> None:
    """Raise what the driver answered, if it refused."""
    if answer[0]:
        raise fault(answer[0].name)


def _argument_words(count: int) -> tuple[Any, Any]:
    """This thread's words for so many arguments, and their addresses. A launch copies the words before it returns."""
    held = vars(_thread).setdefault("words", {})
    if count not in held:
        values = (ctypes.c_int64 * count)()
        begin = ctypes.addressof(values)
        held[count] = values, (ctypes.c_int64 * count)(*range(begin, begin + ctypes.sizeof(values), 8))
    found: tuple[Any, Any] = held[count]
    return found


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _passed(arguments: Iterable[Any]) -> Iterator[Any]:
    """The words of 64 bits that a launch takes."""
    for value in arguments:
        if isinstance(value, (int, np.integer)):
            yield int(value)
        elif isinstance(value, tuple):
            yield from value
        elif isinstance(value, np.ndarray):
            yield _address(value)
        elif isinstance(value, float):
            yield int(np.float64(value).view(np.int64))
        else:
            yield value.data.ptr


def fixed_kernel(
    function: Callable[..., Any], types: tuple[Any, ...], *variant: Any, shared_bytes: int = 0
) -> Kernel:
    """A kernel of edgewise's own for arguments of these types, on the current GPU; for its caller to keep.

    Args:
        function: the kernel, or where there are several variants, what makes one.
        types: of its arguments.
        variant: what to give to `function` to get the kernel.
        shared_bytes: see `Kernel`.
    """
    made = function(*variant) if variant else function
    code = compile_kernel(made, types, capability(), f"{function.__qualname__} {variant}")
    return Kernel(code, shared_bytes)
