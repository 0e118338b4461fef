"""What the CUDA engine's kernel for supersteps takes, and the form in which messages are stored.

The GPU has atomic operations for that form: floats combined by MIN or MAX are stored as their keys, booleans as int32.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from edgewise.balance.registry import strategy_of
from edgewise.engine.delivery import Delivery
from edgewise.engine.lowering.accessors import own_array_order, own_dtypes
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.message_buffer import slot_dtypes
from edgewise.kernels.cuda.arguments import (
    AtomicInt64s,
    AtomicUint32s,
    Elements,
    Int64s,
    Offsets,
    Uint8s,
    Uint32s,
    array,
    pointer,
    tuple_of,
    type_of,
)
from edgewise.layout.slots_cuda import LayoutArrays
from edgewise.primitives.ordered_keys import key_dtype, worst_key
from edgewise.program.declare import Combiner

#: Arrays of messages as they are combined (`kept_dtype`).
Messages = Annotated[Any, Elements("message")]


class Arcs(NamedTuple):
    """The graph. For an array that a kernel does not read, it gets another one of the same dtype.

    Attributes:
        offsets, targets, in_offsets: see `edgewise.Graph`.
        in_sources: of each in-edge, or of each place of a layout that is gathered over.
        in_arcs: the arc of each of these.
    """

    offsets: Offsets
    targets: Uint32s
    in_offsets: Offsets
    in_sources: Uint32s
    in_arcs: Offsets


class Work(NamedTuple):
    """Which vertices are active: arrays that are changed without atomic operations.

    Attributes:
        active: of each vertex, the stamp of the last superstep in which it was active.
        frontier, other_frontier: the active vertices of this superstep and of the next, in turns.
        touched: halted vertices that got a message.
    """

    active: Uint32s
    frontier: Uint32s
    other_frontier: Uint32s
    touched: Uint32s


class Parts(NamedTuple):
    """Parts of messages, for strategies in which several units gather over one vertex.

    Attributes:
        totals: what was gathered.
        found: whether anything was.
    """

    totals: Messages
    found: Uint8s


class SlotMaps(NamedTuple):
    """Which arc a slot of a message buffer belongs to.

    Attributes:
        slot_of: of each arc, its slot.
        arc_of, source_of: of each slot, its arc and the arc's source. A slot of no arc has the number of arcs, and the
            number of vertices. Where arcs write to their slots, `source_of` is that of each arc, and `arc_of` empty.
    """

    slot_of: Offsets
    arc_of: Offsets
    source_of: Uint32s


class Buffer(NamedTuple):
    """A message buffer.

    Attributes:
        slots: messages; a slot without one holds the combiner's identity. For a program that asks for all messages, a
            tuple of arrays, one for each field of a message.
        filled: for such a program, whether a slot holds a message; else empty.
    """

    maps: SlotMaps
    slots: Annotated[Any, Elements("slots")]
    filled: Uint8s


class Supersteps(NamedTuple):
    """What the kernel of a program that is run in supersteps takes.

    Attributes:
        own: the program's arrays, a tuple in the order of `own_array_order`.
        messages, received: of each vertex, its message, and the stamp of the superstep in which it got one last.
        outgoing: of each vertex, what it sends, if that is computed once; else empty.
        control: zeros, see `edgewise.engine.cuda.control`.
        host: see `edgewise.kernels.cuda.memory.signals`.
        n, m: vertices and arcs.
        base: the stamp of superstep 0.
        limit: the largest number of supersteps, or -1.
        can_pull: whether there are in-edges.
        supplied: bits that say which vertex fields have an array to begin with.
        plan: the strategy's arrays, see `edgewise.balance.contract.Strategy.arrays`.
        layout: a `LayoutArrays` of what is gathered over, or an empty tuple.
        buffer: a `Buffer`, or an empty tuple.
    """

    graph: Arcs
    work: Work
    own: Annotated[Any, Elements("own")]
    messages: Annotated[Any, Elements("stored", atomic=True)]
    received: AtomicUint32s
    outgoing: Messages
    control: AtomicInt64s
    host: Int64s
    n: int
    m: int
    base: int
    limit: int
    can_pull: bool
    supplied: int
    plan: Annotated[Any, Elements("plan")]
    parts: Parts
    layout: Annotated[Any, Elements("layout")]
    buffer: Annotated[Any, Elements("buffer")]


class Run(NamedTuple):
    """What stays the same in all supersteps, inside the kernel.

    Attributes:
        graph, own, work, messages, received, outgoing, plan, parts, layout, buffer, control: see `Supersteps`.
        tally, scratch, totals, flags, boxes: shared by a block: for `add_to_total`; for views; what each warp gathered;
            whether it gathered anything; an outbox.
    """

    graph: Any
    own: Any
    work: Any
    messages: Any
    received: Any
    outgoing: Any
    plan: Any
    parts: Any
    layout: Any
    buffer: Any
    control: Any
    tally: Any
    scratch: Any
    totals: Any
    flags: Any
    boxes: Any


def own_type(binding: Binding, parameters: dict[str, Any]) -> Any:
    """The type of the tuple of a program's own arrays."""
    dtypes = own_dtypes(binding, parameters)
    own = [dtypes[kind][name] for kind, name in own_array_order(binding.spec)]
    return tuple_of([array(dtype) if dtype.kind == "b" else pointer(dtype) for dtype in own])


def offset_dtype(binding: Binding) -> np.dtype:
    """The dtype of a graph's offsets, unsigned."""
    return np.dtype(f"u{binding.graph.stored.offsets.itemsize}")


def signature(
    binding: Binding, message: np.dtype, parameters: dict[str, Any], delivery: Delivery
) -> tuple[Any, ...]:
    """The type of the kernel's argument."""
    spec, nothing = binding.spec, tuple_of([])
    dtypes = {"offset": offset_dtype(binding), "message": kept_dtype(message)}
    slots = pointer(kept_dtype(message))
    if spec.keeps_messages:
        slots = tuple_of([array(dtype) for dtype in slot_dtypes(message)])
    types = {
        "own": own_type(binding, parameters),
        "plan": type_of(strategy_of(delivery.balance).arrays, **dtypes),
        "layout": nothing if delivery.layout is None else type_of(LayoutArrays),
        "buffer": type_of(Buffer, slots=slots, **dtypes) if delivery.buffered else nothing,
    }
    return (type_of(Supersteps, stored=stored(spec.combine, message), **types, **dtypes),)


def has_keys(combine: Combiner, message: np.dtype) -> bool:
    """Whether messages are stored as keys: GPUs have no atomic minimum or maximum of floats."""
    return message.kind == "f" and combine.name in ("MIN", "MAX")


def stored(combine: Combiner, message: np.dtype) -> np.dtype:
    """The dtype in which messages are stored."""
    message = kept_dtype(message)
    return key_dtype(message) if has_keys(combine, message) else message


def stored_identity(combine: Combiner, message: np.dtype) -> Any:
    """What is stored where no message came."""
    if combine.name == "MESSAGES":
        return stored(combine, message).type(0)
    value = worst_key(message) if has_keys(combine, message) else combine.identity(message)
    return stored(combine, message).type(value)


def kept_dtype(message: np.dtype) -> np.dtype:
    """The dtype in which messages are combined: int32 for booleans, for which atomic operations need four bytes.

    Messages of several fields are not combined; uint8 stands for them.
    """
    if message.names is not None:
        return np.dtype(np.uint8)
    return np.dtype(np.int32) if message.kind == "b" else message
