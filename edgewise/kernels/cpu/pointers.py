"""Arrays passed to a kernel as a table of addresses and lengths, and read there as typed pointers.

An array argument is seven words that every function passes on, and its index may be negative; a pointer is one word
and is never indexed from the end. Measured on the kernel of a program with two fields: compiling takes half the time,
a call 20 µs less.

Where numba is told to check bounds (NUMBA_BOUNDSCHECK=1), kernels read arrays from the table instead.
"""

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils, config
from numba.core.datamodel import models
from numba.extending import intrinsic, lower_builtin, register_model
from numba.np.arrayobj import populate_array


class BooleanPointer(types.CPointer):
    """A pointer to booleans of a byte each. numba's own pointer stores and loads a bit and fails (0.68)."""

    def __init__(self) -> None:
        super().__init__(types.boolean)


register_model(BooleanPointer)(models.PointerModel)


@lower_builtin(operator.getitem, BooleanPointer, types.Integer)
def _load_boolean(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data = builder.load(builder.gep(args[0], [args[1]]))
    return context.get_data_as_value(builder, types.boolean, data)


@lower_builtin(operator.setitem, BooleanPointer, types.Integer, types.Boolean)
def _store_boolean(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data = context.get_value_as_data(builder, types.boolean, args[2])
    builder.store(data, builder.gep(args[0], [args[1]]))
    return context.get_dummy_value()


def pointer_type(element: Any) -> Any:
    """The type of a pointer to elements of a numba type; of an array, where bounds are checked."""
    if config.BOUNDSCHECK:
        return types.Array(element, 1, "C")
    return BooleanPointer() if element is types.boolean else types.CPointer(element)


def addresses(arrays: Iterable[np.ndarray]) -> np.ndarray:
    """The table of contiguous arrays for a kernel, uint64, shape (k, 2). The caller keeps the arrays alive."""
    return np.array([address(array) for array in arrays], dtype=np.uint64).reshape(-1, 2)


def address(array: np.ndarray) -> tuple[int, int]:
    """A row of the table: the address of a contiguous array and its length."""
    return array.ctypes.data, array.size


def pointer_to(element: Any) -> Any:
    """A function for kernels: ``f(table, i)`` is the i-th address as a pointer to elements of this numba type."""
    result = pointer_type(element)

    def typed(typing_context: Any, table: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            row = builder.gep(data, [builder.mul(args[1], args[1].type(2))])
            pointer = builder.inttoptr(builder.load(row), context.get_value_type(types.CPointer(element)))
            if isinstance(result, types.Array):
                length = builder.load(builder.gep(row, [args[1].type(1)]))
                return _array(context, builder, result, pointer, length)
            return pointer

        return result(table, types.intp), generate

    return intrinsic(typed)


def _array(context: Any, builder: Any, kind: Any, data: Any, length: Any) -> Any:
    """An array of type `kind` with `length` elements from the address `data` on."""
    made = context.make_array(kind)(context, builder)
    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    populate_array(made, data=data, shape=[length], strides=[size], itemsize=size, meminfo=None)
    return made._getvalue()


@intrinsic
def words_at(typing_context: Any, address: Any) -> Any:
    """``words_at(address)``: a pointer to the int64 words there."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.int64)(types.intp), generate


@intrinsic
def array_at(typing_context: Any, pointer: Any, first: Any, end: Any) -> Any:
    """``array_at(pointer, first, end)``: the elements from first to before end as an array, which has a length."""
    kind = types.Array(pointer.dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = element_pointer(context, builder, signature.args[0], args[0], args[1])
        return _array(context, builder, kind, data, builder.sub(args[2], args[1]))

    return kind(pointer, types.intp, types.intp), generate


def element_pointer(context: Any, builder: Any, container_type: Any, container: Any, index: Any) -> Any:
    """The address of one element of an array or of what a pointer points to."""
    if isinstance(container_type, types.CPointer):
        return builder.gep(container, [index])
    data = context.make_array(container_type)(context, builder, container).data
    return builder.gep(data, [index])


def checked_pointer(context: Any, builder: Any, container_type: Any, container: Any, index: Any) -> Any:
    """`element_pointer` for a read or a write: an array's index is checked if numba is told to check bounds."""
    if isinstance(container_type, types.Array) and context.enable_boundscheck:
        length = context.make_array(container_type)(context, builder, container).nitems
        cgutils.do_boundscheck(context, builder, index, length)
    return element_pointer(context, builder, container_type, container, index)
