"""Single machine instructions for CPU kernels that numba itself does not offer."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def lowest_bit(typing_context: Any, word: Any) -> Any:
    """The position of the lowest set bit of an unsigned word that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return word(word), generate


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Start to load an element of an array into the caches."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        address = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        read, keep, data_cache = (ir.Constant(word, value) for value in (0, 3, 1))
        builder.call(function, [address, read, keep, data_cache])
        return context.get_dummy_value()

    return types.void(array, types.uint64), generate
