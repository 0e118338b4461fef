"""Atomic operations on array elements for CPU kernels, which numba itself does not offer.

Each takes a one-dimensional contiguous array, or a pointer, and an index that the caller guarantees to be in range.
Float minimum and maximum compare as floats and exchange as integers. All are sequentially consistent, so they also
keep the compiler from moving ordinary loads and stores across them.
"""

import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.pointers import checked_pointer, element_pointer

_INDEX = types.intp


def _read_modify_write(operation: str) -> Any:
    def typed(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = checked_pointer(context, builder, signature.args[0], args[0], args[1])
            return builder.atomic_rmw(operation, pointer, args[2], "seq_cst")

        return array.dtype(array, _INDEX, array.dtype), generate

    return intrinsic(typed)


#: ``atomic_add(array, i, x)`` adds to an integer element and returns the old value.
atomic_add = _read_modify_write("add")
#: ``atomic_exchange(array, i, x)`` stores and returns the old value (integers).
atomic_exchange = _read_modify_write("xchg")
#: ``atomic_or(array, i, x)`` sets bits and returns the old value (integers).
atomic_or = _read_modify_write("or")


@intrinsic
def atomic_load(typing_context: Any, array: Any, index: Any) -> Any:
    """``atomic_load(array, i)``: the element as other threads last stored it (integers, floats and booleans)."""
    dtype = array.dtype

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = checked_pointer(context, builder, signature.args[0], args[0], args[1])
        width = context.get_abi_sizeof(pointer.type.pointee)
        loaded = builder.load_atomic(pointer, "seq_cst", width)
        return context.data_model_manager[dtype].from_data(builder, loaded)

    return dtype(array, _INDEX), generate


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """``prefetch(array, i)``: have the element brought into the cache, for a read that comes soon."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = element_pointer(context, builder, signature.args[0], args[0], args[1])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        builder.call(function, [builder.bitcast(pointer, byte), word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, _INDEX), generate


@intrinsic
def compare_and_swap(typing_context: Any, array: Any, index: Any, expected: Any, desired: Any) -> Any:
    """``compare_and_swap(array, i, expected, desired)``: store if the element still has these bits.

    Returns True if it was stored. Works on integers, floats (compared by bits) and booleans.
    """
    dtype = array.dtype

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = checked_pointer(context, builder, signature.args[0], args[0], args[1])
        bits = ir.IntType(8 * context.get_abi_sizeof(pointer.type.pointee))
        old, new = (context.get_value_as_data(builder, dtype, value) for value in args[2:])
        old, new = builder.bitcast(old, bits), builder.bitcast(new, bits)
        pair = builder.cmpxchg(builder.bitcast(pointer, bits.as_pointer()), old, new, "seq_cst", "seq_cst")
        return builder.extract_value(pair, 1)

    return types.boolean(array, _INDEX, dtype, dtype), generate


@device_function
def atomic_min(array: Any, i: Any, value: Any) -> Any:
    """Lower the element to the value; True if that lowered it."""
    old = array[i]
    while value < old:
        if compare_and_swap(array, i, old, value):
            return True
        old = array[i]
    return False


@device_function
def atomic_max(array: Any, i: Any, value: Any) -> Any:
    """Raise the element to the value; True if that raised it."""
    old = array[i]
    while value > old:
        if compare_and_swap(array, i, old, value):
            return True
        old = array[i]
    return False


@intrinsic
def no_vectors(typing_context: Any) -> Any:
    """Keep the compiler from turning the loop around this into vector instructions; it makes no instruction itself.

    LLVM 22 moves a conditional load of an element behind a conditional store to it when it vectorises a loop such
    as ``x = default; if c[v]: x = a[v]; a[v] = 0`` with x used afterwards. Loops around users' functions may hold that.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.fence("seq_cst", targetscope="singlethread")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def spin_pause(typing_context: Any) -> Any:
    """Tell the processor that this thread is waiting in a loop."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if platform.machine() in ("x86_64", "AMD64"):
            function_type = ir.FunctionType(ir.VoidType(), [])
            pause = cgutils.get_or_insert_function(builder.module, function_type, "llvm.x86.sse2.pause")
            builder.call(pause, [])
        return context.get_dummy_value()

    return types.void(), generate


yield_processor = types.ExternalFunction("sched_yield", types.int32())


def unwrapped(typing_context: Any, value: Any) -> Any:
    """The value of an optional that is known not to be None; any other value as it is. An intrinsic for CPUs and GPUs
    is made of this."""
    inner = value.type if isinstance(value, types.Optional) else value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.cast(builder, args[0], signature.args[0], signature.return_type)

    return types.unliteral(inner)(value), generate


unwrap = intrinsic(unwrapped)
