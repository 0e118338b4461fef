"""Arguments of kernels, declared once: their types, and what a launch passes for them.

A kernel takes named tuples. Their annotations say what each field is: an array (`Int32s` and others of this module), a
named tuple, ``int``, ``float`` or ``bool``. `type_of` gives the type for which the kernel is compiled, and a launch
takes a tuple of the same class, so the order of arguments stands in one place. See docs/design/arguments.md.
"""

import ctypes
import functools
from collections.abc import Iterable
from itertools import repeat
from typing import Annotated, Any, get_type_hints

import numpy as np
from numba import types

from edgewise.kernels.arguments import Elements as Elements
from edgewise.kernels.arguments import Float64s as Float64s
from edgewise.kernels.arguments import Int32s as Int32s
from edgewise.kernels.arguments import Int64s as Int64s
from edgewise.kernels.arguments import Keys as Keys
from edgewise.kernels.arguments import Offsets as Offsets
from edgewise.kernels.arguments import Uint8s as Uint8s
from edgewise.kernels.arguments import Uint32s as Uint32s
from edgewise.kernels.arguments import Weights as Weights

AtomicInt32s = Annotated[Any, Elements(np.int32, atomic=True)]
AtomicInt64s = Annotated[Any, Elements(np.int64, atomic=True)]
AtomicUint32s = Annotated[Any, Elements(np.uint32, atomic=True)]
AtomicKeys = Annotated[Any, Elements("key", atomic=True)]


def type_of(kind: Any, **told: Any) -> Any:
    """The numba type of an argument.

    Args:
        kind: the annotation of a field, or a class of named tuples.
        told: by name, dtypes and whole types that differ between kernels.
    """
    if kind is float:
        return types.float64
    if kind in (int, bool):
        return types.int64
    if isinstance(kind, type):
        parts = [type_of(part, **told) for part in get_type_hints(kind, include_extras=True).values()]
        return types.BaseTuple.from_types(parts, kind)
    (elements,) = kind.__metadata__
    found = told.get(elements.dtype, elements.dtype)
    if isinstance(found, types.Type):
        return found
    dtype = np.dtype(found)
    return array(dtype) if elements.atomic else pointer(dtype)


@functools.cache
def _atomic_fields(kind: type) -> Iterable[bool]:
    """Whether atomic operations change each field of a named tuple; always False for other classes."""
    if not hasattr(kind, "_fields"):
        return repeat(False)
    kinds = get_type_hints(kind, include_extras=True).values()
    return [any(each.atomic for each in getattr(kind, "__metadata__", ())) for kind in kinds]


def pointer(dtype: np.dtype) -> Any:
    """The type of an argument that is the address of an array. Booleans need an array (`words`)."""
    return types.CPointer(_element(dtype))


def array(dtype: np.dtype) -> Any:
    """The type of an argument that is an array of seven words, as atomic operations need it; see `words`."""
    return types.Array(_element(dtype), 1, "C")


def dtype_of(kind: Any) -> np.dtype:
    """The dtype of an array, from the type of its argument."""
    return np.dtype(kind.dtype.name)


def _element(dtype: np.dtype) -> Any:
    return types.boolean if dtype.kind == "b" else getattr(types, dtype.name)


def tuple_of(kinds: list[Any]) -> Any:
    """The type of a tuple argument; its parts are passed one after the other."""
    return types.Tuple(kinds)


class Words(tuple[int, ...]):
    """The words of arguments. They keep the arrays, whose memory would be reused otherwise."""

    values: Any


def words(values: Any) -> Words:
    """The seven words of an argument of type `array`."""
    passed = Words(_array_words(values))
    passed.values = values
    return passed


def _array_words(values: Any) -> tuple[int, ...]:
    size, itemsize = values.size, values.dtype.itemsize
    return 0, 0, size, itemsize, values.data.ptr, size, itemsize


def packed(values: tuple[Any, ...]) -> Any:
    """The words of a named tuple, to pass in its place at every launch."""
    passed = Words(words_of(values))
    passed.values = values
    return passed


def address(values: Any) -> int:
    """The word of an argument of type `pointer`, to pass at every launch. The caller keeps the array."""
    return int(values.data.ptr)


def _address(array: np.ndarray) -> int:
    """The address of a `pinned` array, in a third of the time that NumPy takes to tell it."""
    return ctypes.addressof(ctypes.c_char.from_buffer(array.data)) if array.size else 0


def words_of(arguments: Iterable[Any]) -> list[int]:
    """The words of 64 bits that a launch takes for arguments."""
    passed: list[int] = []
    for value, atomic in zip(arguments, _atomic_fields(type(arguments)), strict=False):
        kind = _kind_of(value.__class__)
        if kind == _ON_GPU:
            if atomic:
                passed += _array_words(value)
            else:
                passed.append(value.data.ptr)
        elif kind == _INTEGER:
            passed.append(int(value))
        elif kind == _TUPLE:
            passed += words_of(value)
        elif kind == _PASSED:
            passed += value
        elif kind == _ON_HOST:
            passed.append(_address(value))
        else:
            passed.append(int(np.float64(value).view(np.int64)))
    return passed


#: How a value is passed, by its type; anything else is an array on the GPU.
_ON_GPU, _INTEGER, _TUPLE, _PASSED, _ON_HOST, _FLOAT = range(6)


@functools.cache
def _kind_of(kind: type) -> int:
    for base, how in (
        (Words, _PASSED),
        ((int, np.integer), _INTEGER),
        (tuple, _TUPLE),
        (np.ndarray, _ON_HOST),
        (float, _FLOAT),
    ):
        if issubclass(kind, base):
            return how
    return _ON_GPU
