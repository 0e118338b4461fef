"""The table of addresses that a program's kernel on the CPU takes in place of arrays, and how the kernel reads it."""

import hashlib
import uuid
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, get_type_hints

import numpy as np

from edgewise.engine.cpu.arguments import Buffer, NearFar, Table, Work
from edgewise.engine.lowering.accessors import DeviceFunction, own_array_order, own_dtypes
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import numba_type
from edgewise.engine.lowering.message_buffer import slot_dtypes
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.pointers import addresses, pointer_to
from edgewise.kernels.cpu.team import team_kernel


def named_kernel(
    function: Any,
    binding: Binding,
    message: np.dtype,
    parameters: dict[str, Any],
    uniform: frozenset[str],
    kind: bool | tuple[bool, ...] = False,
) -> Any:
    """Compile a kernel of a program, kept under the program's key and the dtypes that stand in the code.

    Its name tells it from the kernels of all other programs in the process, loaded or compiled; `kind` says in what
    else those of one engine differ.
    """
    spec = binding.spec
    dtypes = [str(dtype) for group in own_dtypes(binding, parameters).values() for dtype in group.values()]
    key = "\n".join(
        [
            str(spec.key),
            f"{message} {kind}",
            str(binding.graph.offset_dtype),
            *sorted(uniform),
            *dtypes,
        ]
    )
    known = spec.key is not None
    digest = hashlib.sha256(key.encode()).hexdigest() if known else uuid.uuid4().hex
    function.__qualname__ = f"{spec.name}_{digest[:32]}"
    return team_kernel(function, key=key if known else None)


def make_reader(
    binding: Binding,
    message: np.dtype,
    parameters: dict[str, Any],
    work: type[Work] | type[NearFar],
    buffered: bool = False,
) -> DeviceFunction:
    """The function by which a kernel reads the table: ``read(table, n, m)`` gives a `Table` of pointers.

    Args:
        binding, message, parameters: their dtypes are those of the arrays.
        work: the class of the arrays that a run works in.
        buffered: whether there is a message buffer.
    """
    dtypes = own_dtypes(binding, parameters)
    told = {
        "own": [dtypes[kind][name] for kind, name in own_array_order(binding.spec)],
        "work": work,
        "buffer": Buffer if buffered else [],
        "slots": slot_dtypes(message),
        "message": slot_dtypes(message)[0],
        "offset": np.dtype(f"u{binding.graph.offset_dtype.itemsize}"),
    }
    scope: dict[str, Any] = {}
    exec(f"def read(table, n, m):\n    return {_reading(Table, told, count(), scope)}", scope)
    return device_function(scope["read"])


def _reading(kind: Any, told: dict[str, Any], rows: Iterator[int], scope: dict[str, Any]) -> str:
    """What reads an argument from the next rows of the table, as source.

    Args:
        kind: the annotation of a field, a class of named tuples, a list of the parts of a tuple, or the dtype of an
            array.
        told: by name, what differs between kernels.
        rows: the rows that are left.
        scope: gets what the source refers to.
    """
    if isinstance(kind, list):
        return f"({''.join(f'{_reading(part, told, rows, scope)}, ' for part in kind)})"
    if hasattr(kind, "__metadata__"):
        (elements,) = kind.__metadata__
        return _reading(told.get(elements.dtype, elements.dtype), told, rows, scope)
    if hasattr(kind, "_fields"):
        fields = get_type_hints(kind, include_extras=True).items()
        parts = [name if part is int else _reading(part, told, rows, scope) for name, part in fields]
        scope[kind.__name__] = kind
        return f"{kind.__name__}({', '.join(parts)})"
    dtype = np.dtype(kind)
    scope[f"{dtype}_at"] = pointer_to(numba_type(dtype))
    return f"{dtype}_at(table, {next(rows)})"


def rows_of(arguments: Iterable[Any]) -> np.ndarray:
    """The rows of the table for a tuple of arrays, numbers (which are not in the table) and tuples of these."""
    return addresses(_arrays_in(arguments))


def _arrays_in(arguments: Iterable[Any]) -> Iterator[np.ndarray]:
    for each in arguments:
        if isinstance(each, tuple):
            yield from _arrays_in(each)
        elif isinstance(each, np.ndarray):
            yield each
