"""The table of addresses that a program's kernel on the CPU takes in place of arrays, and how the kernel reads it."""

import hashlib
import uuid
from typing import Any

import numpy as np
from numba import types

from edgewise.engine.lowering.accessors import own_array_order, own_dtypes
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import numba_type
from edgewise.engine.lowering.message_buffer import slot_dtypes
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.pointers import pointer_to
from edgewise.kernels.cpu.team import team_kernel

#: The table begins with the addresses of these arrays. Those of the program's own arrays follow, in the order of
#: `own_array_order`, then those of BUFFER_ARRAYS and of an array of slots for each field of a message.
GRAPH_ARRAYS = ("offsets", "targets", "in_offsets", "in_sources", "in_arcs")
WORK_ARRAYS = (
    "messages",
    "received",
    "active",
    "list",
    "other_list",
    "touched",
    "cursors",
    "thresholds",
    "rings",
)
BUFFER_ARRAYS = ("slot_of", "filled")


def named_kernel(
    function: Any,
    binding: Binding,
    message: np.dtype,
    parameters: dict[str, Any],
    uniform: frozenset[str],
    buffered: bool = False,
) -> Any:
    """Compile a kernel of a program, kept under the program's key and the dtypes that stand in the code.

    Its name tells it from the kernels of all other programs in the process, loaded or compiled.
    """
    spec = binding.spec
    dtypes = [str(dtype) for group in own_dtypes(binding, parameters).values() for dtype in group.values()]
    key = "\n".join(
        [
            str(spec.key),
            f"{message} {buffered}",
            str(binding.graph.offsets.dtype),
            *sorted(uniform),
            *dtypes,
        ]
    )
    known = spec.key is not None
    digest = hashlib.sha256(key.encode()).hexdigest() if known else uuid.uuid4().hex
    function.__qualname__ = f"{spec.name}_{digest[:32]}"
    return team_kernel(function, key=key if known else None)


def unsigned(array: np.ndarray) -> np.ndarray:
    """The same memory as unsigned integers."""
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


def make_readers(
    binding: Binding, message: np.dtype, parameters: dict[str, Any], buffered: bool = False
) -> tuple[Any, Any, Any]:
    """Functions that read the graph's arrays, the workspace's and the program's own from the table of addresses.

    With a message buffer, `BUFFER_ARRAYS` and the slots are the last part of the workspace's.
    """
    index_at, vertex_at = (
        pointer_to(numba_type(unsigned(binding.graph.offsets).dtype)),
        pointer_to(types.uint32),
    )
    message_at, words_at = pointer_to(numba_type(slot_dtypes(message)[0])), pointer_to(types.int64)
    first = len(GRAPH_ARRAYS)

    @device_function
    def graph_arrays(table, n, m):
        rows, columns = (index_at(table, 0), vertex_at(table, 1)), (index_at(table, 2), vertex_at(table, 3))
        return (n, m, rows[0], rows[1], columns[0], columns[1], index_at(table, 4))

    @device_function
    def no_buffer(table):
        return ()

    read_buffer = _buffer_reader(binding, message) if buffered else no_buffer

    @device_function
    def work_arrays(table):
        stamps = (vertex_at(table, first + 1), vertex_at(table, first + 2))
        lists = (vertex_at(table, first + 3), vertex_at(table, first + 4), vertex_at(table, first + 5))
        cursors, thresholds = words_at(table, first + 6), message_at(table, first + 7)
        return (
            message_at(table, first),
            stamps[0],
            stamps[1],
            lists[0],
            lists[1],
            lists[2],
            cursors,
            thresholds,
            vertex_at(table, first + 8),
            read_buffer(table),
        )

    dtypes = own_dtypes(binding, parameters)
    own = [dtypes[kind][name] for kind, name in own_array_order(binding.spec)]
    first_own = first + len(WORK_ARRAYS)
    pointers = ", ".join(f"{dtype}_at(table, {first_own + i})" for i, dtype in enumerate(own))
    scope: dict[str, Any] = {f"{dtype}_at": pointer_to(numba_type(dtype)) for dtype in own}
    exec(f"def own_arrays(table):\n    return ({pointers},)", scope)
    return graph_arrays, work_arrays, device_function(scope["own_arrays"])


def _buffer_reader(binding: Binding, message: np.dtype) -> Any:
    """The function that reads the message buffer: the slot of each arc, whether a slot is filled, and the slots."""
    index_at, filled_at = (
        pointer_to(numba_type(unsigned(binding.graph.offsets).dtype)),
        pointer_to(types.uint8),
    )
    first = len(GRAPH_ARRAYS) + len(WORK_ARRAYS) + len(own_array_order(binding.spec))
    dtypes = slot_dtypes(message)
    arrays = ", ".join(f"{dtype}_at(table, {first + 2 + i})" for i, dtype in enumerate(dtypes))
    scope: dict[str, Any] = {f"{dtype}_at": pointer_to(numba_type(dtype)) for dtype in dtypes}
    scope |= {"index_at": index_at, "filled_at": filled_at}
    exec(
        f"def read_buffer(table):\n    return index_at(table, {first}), filled_at(table, {first + 1}), ({arrays},)",
        scope,
    )
    return device_function(scope["read_buffer"])
