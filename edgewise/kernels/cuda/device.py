"""The device functions that kernels are written with. Other modules take numba-cuda's language from here.

`edgewise.kernels.cuda.memory` is the host's side of a GPU. Beside this module, `arguments` declares the arguments of
kernels, `compile` compiles kernels, and `launch` launches them.

All 32 lanes of a warp call these at once:

``ballot(flag)``, ``shuffle(value, lane)``, ``shuffle_up(value, lanes)``, ``shuffle_down(value, lanes)``
    the flags of all lanes as bits; the value of the given lane; the value of the lane that is `lanes` before this one,
    or after it.
``warp_sum(value)``, ``warp_sums(value, other)``, ``warp_min(value)``, ``warp_max(value)``
    the reduction of the values of all lanes, in the first lane; the results of other lanes mean nothing.

All threads of a cooperative launch call ``grid_barrier(control, turn)``, which waits for all of them. ``control[0]``
counts arrivals; ``turn`` is 0 at first, and then what the last barrier returned.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, cuda, types

from edgewise.kernels.cpu.atomics import unwrapped

#: Whether kernels run in numba's simulator (NUMBA_ENABLE_CUDASIM=1), as in tests without a GPU. It has no warps, so a
#: warp has one lane there. It has no barrier across blocks, so a grid has one block there, of few threads.
SIMULATED = bool(config.ENABLE_CUDASIM)
#: Threads of a block. Of 256, 512 and 1024, one block of 1024 on each multiprocessor was the fastest on an H100: it has
#: the fewest arrivals at a barrier for as many threads as hide the memory's latency.
THREADS = 4 if SIMULATED else 1024
WARP = 1 if SIMULATED else 32
#: Warps of a block.
WARPS = THREADS // WARP
#: The distances between lanes in the steps of a reduction over a warp.
HALVES = () if SIMULATED else (16, 8, 4, 2, 1)
_ALL_LANES = 0xFFFFFFFF
#: Types for ``cuda.shared.array(length, dtype)`` in a kernel, an array that the threads of a block share. `numba_type`
#: gives others.
INT32, INT64, UINT8, UINT16 = types.int32, types.int64, types.uint8, types.uint16
UINT32, FLOAT64 = types.uint32, types.float64


def device_function(function: Callable[..., Any]) -> Any:
    """A function that kernels call."""
    return cuda.jit(function, device=True)


def inlined(function: Callable[..., Any]) -> Any:
    """A device function that numba inlines. A call would change which other functions the compiler inlines."""
    return cuda.jit(function, device=True, inline="always")


@device_function
def lane() -> Any:
    """The number of this thread in its warp."""
    return np.int64(cuda.threadIdx.x % WARP)


@device_function
def thread_index() -> Any:
    """The number of this thread in the grid. Warps are numbered across blocks first, so that many multiprocessors
    share even little work."""
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
def block_any(flag: Any) -> Any:
    """Wait for all threads of the block; whether any of them says so."""
    return cuda.syncthreads_or(np.int32(flag)) != 0


@device_function
def warp_barrier() -> Any:
    """Wait for all lanes of the warp. Afterwards all of them see what they wrote before."""
    if not SIMULATED:
        cuda.syncwarp()


@device_function
def fence() -> Any:
    """Others that see what this thread writes from now on also see what its block wrote before its last barrier."""
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


@inlined
def warp_sum(value: Any) -> Any:
    """The sum of the values of all lanes, in the first one."""
    for lanes in HALVES:
        value += shuffle_down(value, lanes)
    return value


@inlined
def warp_sums(value: Any, other: Any) -> Any:
    """The sums of two values of all lanes, in the first one. The two reductions overlap."""
    for lanes in HALVES:
        value += shuffle_down(value, lanes)
        other += shuffle_down(other, lanes)
    return value, other


@inlined
def warp_min(value: Any) -> Any:
    """The least of the values of all lanes, in the first one."""
    for lanes in HALVES:
        value = min(value, shuffle_down(value, lanes))
    return value


@inlined
def warp_max(value: Any) -> Any:
    """The largest of the values of all lanes, in the first one."""
    for lanes in HALVES:
        value = max(value, shuffle_down(value, lanes))
    return value


@device_function
def lanes_before(bits: Any) -> Any:
    """How many of the bits that are set belong to lanes before this one."""
    return np.int64(cuda.popc(bits & ((np.uint32(1) << np.uint32(lane())) - np.uint32(1))))


@device_function
def count_bits(bits: Any) -> Any:
    return np.int64(cuda.popc(bits))


@device_function
def first_bit(bits: Any) -> Any:
    """The lowest lane whose bit is set; no lane of use if `bits` is 0."""
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
        """An element as it is in memory now. But the compiler may make one load of two at the same address."""
        return cuda.ldcv(values, i)

    @device_function
    def load_once(values: Any, i: Any) -> Any:
        """An element that is not needed again soon, so caches keep others instead."""
        return cuda.ldcs(values, i)


if SIMULATED:

    @device_function
    def clock_ns() -> Any:
        return np.int64(0)

    @device_function
    def unwrap(value: Any) -> Any:
        return value

    @device_function
    def load_now(values: Any, i: Any) -> Any:
        return values[i]

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

    @intrinsic
    def load_now(context: Any, values: Any, i: Any) -> Any:
        """An element, an integer of 32 or 64 bits, as it is in memory now, each time anew; the host's memory, too."""
        element, word = values.dtype, "r" if values.dtype.bitwidth == 32 else "l"

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            begin, index = arguments
            if isinstance(values, types.Array):
                begin = context.make_array(values)(context, builder, value=begin).data
            whole = ir.IntType(element.bitwidth)
            place = builder.ptrtoint(builder.gep(begin, [index]), ir.IntType(64))
            read = ir.FunctionType(whole, [place.type])
            load = f"ld.relaxed.sys.global.u{element.bitwidth} $0, [$1];"
            return builder.asm(read, load, f"={word},l,~{{memory}}", [place], True)

        return element(values, types.int64), generate

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
    """Count this block in the lower half of a word, and add the value to its upper half."""
    cuda.atomic.add(control, i, np.int64(value) << 32 | 1)


@device_function
def await_arrivals(control: Any, i: Any, now: Any, arrivals: Any) -> Any:
    """Wait until a word has counted `arrivals`, which is less than 2**31; the word then. `now` is an old value.

    It polls with loads, since atomic operations would queue up with the arrivals. The compiler assumes that the loaded
    value never changes, so the address is made to depend on the last value.
    """
    while (now & 0xFFFFFFFF) < arrivals:
        now = load_fresh(control, i + ((now & 0xFFFFFFFF) >> 31))
    return now


@device_function
def grid_barrier(control: Any, turn: Any) -> Any:
    """Wait for all threads of the grid. Afterwards all of them see what they wrote before."""
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
    """Add a value to an element; its old value."""
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
    """Store a value in an element; its old value."""
    return cuda.atomic.exch(values, i, value)


@device_function
def compare_and_swap(values: Any, i: Any, expected: Any, value: Any) -> Any:
    """Store a value in an element if that is as expected; its old value."""
    return cuda.atomic.cas(values, i, expected, value)


def numba_type(dtype: np.dtype) -> Any:
    """The type of a dtype for ``cuda.shared.array``; int32 for booleans."""
    return types.int32 if dtype.kind == "b" else getattr(types, dtype.name)
