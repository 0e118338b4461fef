"""What a program's kernel on the CPU reads from its table of addresses, declared once.

The host fills these named tuples with arrays, whose addresses make the table in the order of the fields
(`edgewise.engine.cpu.table`). A kernel has the same tuples, with pointers in place of arrays.
"""

from typing import Annotated, Any, NamedTuple

from edgewise.kernels.arguments import Elements, Int64s, Offsets, Uint8s, Uint32s

#: Arrays of messages that are combined. Messages of several fields are not, and one of these arrays has no elements.
Messages = Annotated[Any, Elements("message")]


class SizedArcs(NamedTuple):
    """The graph. For an array that a kernel does not read, it gets another one of the same dtype.

    Attributes:
        n, m: vertices and arcs; these are not in the table.
        offsets, targets: see `edgewise.Graph`.
        in_offsets, in_sources: see `edgewise.Graph`. With a message buffer, the slots of a vertex are its in-edges.
        in_arcs: the arc of each in-edge.
    """

    n: int
    m: int
    offsets: Offsets
    targets: Uint32s
    in_offsets: Offsets
    in_sources: Uint32s
    in_arcs: Offsets


class Buffer(NamedTuple):
    """A message buffer.

    Attributes:
        slot_of: the slot of each arc.
        filled: whether a slot holds a message, for a program that asks for all messages; else empty.
        slots: a tuple of arrays, one for each field of a message. A slot without a message holds the combiner's
            identity.
    """

    slot_of: Offsets
    filled: Uint8s
    slots: Annotated[Any, Elements("slots")]


class Work(NamedTuple):
    """What a run in supersteps works in.

    Attributes:
        messages: shape (n,), the combiner's identity where there is none; empty with a message buffer.
        received, active: of each vertex, the stamp of the superstep in which it got a message last, or was active last.
        frontier, other_frontier: the lists of active vertices of this superstep and of the next, in turns.
        touched: the list of halted vertices that got a message.
        cursors: a cache line of words for each thread, the first two for the list that it adds to (`append`).
        buffer: a `Buffer`, or an empty tuple.
    """

    messages: Messages
    received: Uint32s
    active: Uint32s
    frontier: Uint32s
    other_frontier: Uint32s
    touched: Uint32s
    cursors: Int64s
    buffer: Annotated[Any, Elements("buffer")]


class NearFar(NamedTuple):
    """What a run of an asynchronous program works in.

    Attributes:
        messages: of each vertex, the best one it ever got.
        places: of each vertex, in which lists it is (`edgewise.engine.cpu.best_first_lists`).
        near, other_near: the lists of near vertices, now and next, in turns.
        far, other_far: the lists of far vertices, in turns.
        cursors: words for each thread, see `edgewise.engine.cpu.best_first_lists`.
        thresholds: the threshold, then room for a sample of messages.
        rings: of each thread, vertices that it made near itself.
    """

    messages: Messages
    places: Uint32s
    near: Uint32s
    other_near: Uint32s
    far: Uint32s
    other_far: Uint32s
    cursors: Int64s
    thresholds: Messages
    rings: Uint32s


class Table(NamedTuple):
    """All arrays of a run.

    Attributes:
        own: the program's arrays, a tuple in the order of `edgewise.engine.lowering.accessors.own_array_order`.
        graph: the graph.
        work: a `Work` or a `NearFar`.
    """

    own: Annotated[Any, Elements("own")]
    graph: SizedArcs
    work: Annotated[Any, Elements("work")]
