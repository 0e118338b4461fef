"""The classes of strategies, of the bodies that they call, and of what they make: see `edgewise.balance`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from edgewise.kernels.cache import DeviceFunction
from edgewise.kernels.cuda.arguments import dtype_of, type_of
from edgewise.primitives.control import TURNS, control_words

#: The `part` of a unit that is gathered over, if it is no part of that number: all of a vertex (WHOLE), or arcs whose
#: total is added to the message that the vertex has so far (MORE).
WHOLE, MORE = -1, -2
#: How many words a strategy may count in at each superstep. They are 0 before vertices are listed.
COUNTERS = TURNS
#: Words of `control`: SHARED counts the supersteps that a strategy which chooses pushed in equal shares, SHARING_NS
#: adds up the nanoseconds that scans for equal shares took, by the clock of thread 0.
CONTROL = control_words()
SHARED, SHARING_NS = CONTROL.take_line(), CONTROL.take()


class Bodies(NamedTuple):
    """What is done with arcs: device functions that all lanes of a warp call at once.

    Attributes:
        visit: ``visit(takes, v, key, k, context)``: lanes with `takes` send along out-edge k of vertex v. It returns
            two numbers that are added up.
        scatter: ``scatter(v, first, end, step, lanes, context)``: send along the out-edges of a unit.
        gather: ``gather(v, first, end, step, lanes, part, context)``: gather over the in-edges of a unit. `part` is the
            number of a part, whose total is kept apart, or `WHOLE`, or `MORE`.
        join: ``join(v, first, end, context)``, with the same vertex on all lanes: combine the parts first to end - 1
            with the message that the vertex has so far.
        add: ``add(takes, v, k, context)``: lanes with `takes` send along in-edge k of vertex v by an atomic operation;
            for messages that may be combined in any order.
    """

    visit: DeviceFunction
    scatter: DeviceFunction
    gather: DeviceFunction
    join: DeviceFunction
    add: DeviceFunction


class Traversal(NamedTuple):
    """The device functions of a strategy. All threads of the grid call them.

    `run` has the attributes ``graph`` (with offsets, targets, in_offsets and in_sources), ``plan`` (the strategy's
    arrays, see `Strategy.arrays`), ``control`` (int64), and, shared by a block, ``tally`` and ``scratch``. `generation`
    is that of the barrier of the grid.

    Attributes:
        list_units: ``list_units(v, active, counter, run)``, called by all lanes of a warp at once: note that the
            vertices of lanes with `active` will send; the out-degree of this lane's vertex, or 0. `counter` is the
            first of the `COUNTERS` words of `control` that this superstep counts in.
        push_all: ``push_all(listed, count, counter, generation, context, run)``: send along all out-edges of the
            vertices listed[:count]; the generation afterwards. A barrier of the grid lies before and after each call.
        pull_all: ``pull_all(low, high, generation, context, run)``: gather over all in-edges of the vertices low to
            high - 1; the generation afterwards.
    """

    list_units: DeviceFunction
    push_all: DeviceFunction
    pull_all: DeviceFunction


class GraphRows(NamedTuple):
    """What a strategy may ask of a graph.

    Attributes:
        num_vertices, num_arcs: of the graph.
        offsets: the dtype of offsets, unsigned.
        kept: ``kept(inward, what, needed, make, *arguments)``: the result of ``make(offsets, *arguments)`` for the
            offsets of out-edges or, inward, of in-edges, on the GPU. The first call makes it, which takes `needed`
            bytes; the graph keeps it. `what` names it in messages. Raises MemoryLimitError if the GPU has no room.
        is_of: ``is_of(choice)``: whether a choice that belongs to one graph belongs to this one.
    """

    num_vertices: int
    num_arcs: int
    offsets: np.dtype
    kept: Callable[..., Any]
    is_of: Callable[[Any], bool]


@dataclass(frozen=True)
class Own:
    """Stands in a plan for an array of `length` elements that each run has for itself."""

    length: int


class Plan(NamedTuple):
    """A strategy's arrays for a graph.

    Attributes:
        arrays: the tuple `Strategy.arrays`, on the GPU. All runs share the arrays, except where it has `Own`.
        offsets: the dtype of offsets, unsigned.
        num_parts: how many parts `gather` may be called for.
        notes: for `Result.explain`.
    """

    arrays: Any
    offsets: np.dtype
    num_parts: int = 0
    notes: tuple[str, ...] = ()

    def of_run(self, make: Callable[[int, np.dtype], Any]) -> Any:
        """The arrays of one run; ``make(length, dtype)`` makes those that it has for itself."""
        return _filled(self.arrays, type_of(type(self.arrays), offset=self.offsets), make)

    def nbytes(self) -> int:
        """The memory that a run needs for its own arrays."""
        sizes: list[int] = []
        self.of_run(lambda length, dtype: sizes.append(length * dtype.itemsize))
        return sum(sizes)

    def shared_nbytes(self) -> int:
        """The memory of the arrays that all runs share."""
        shared = (each for each in _leaves(self.arrays) if not isinstance(each, Own))
        return sum({id(values): values.nbytes for values in shared}.values())


def _filled(value: Any, kind: Any, make: Callable[[int, np.dtype], Any]) -> Any:
    """A named tuple with arrays in place of `Own`; `kind` is its numba type."""
    if isinstance(value, tuple):
        return type(value)(*(_filled(*each, make) for each in zip(value, kind.types, strict=True)))
    return make(value.length, dtype_of(kind)) if isinstance(value, Own) else value


def _leaves(value: Any) -> Iterator[Any]:
    """The items of a tuple, and of the tuples in it."""
    if isinstance(value, tuple):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


class Strategy(ABC):
    """A way to share arcs out to threads, for a schedule's choice.

    Attributes:
        arrays: the class of ``run.plan``, a named tuple as `edgewise.kernels.cuda.arguments` describes.
        any_order: whether vertices gather by atomic operations, which combine messages in any order.
        code_key: what the code of a kernel depends on. Bounds on degrees and depths are data, and do not belong here.
    """

    arrays: ClassVar[type]
    any_order: ClassVar[bool] = False

    def __init__(self, code_key: str) -> None:
        self.code_key = code_key

    @abstractmethod
    def prepare(self, rows: GraphRows, pushes: bool, pulls: bool) -> Plan:
        """The arrays for a graph, for a kernel that pushes, or pulls, or both.

        Raises:
            MemoryLimitError: the GPU has no room for them.
        """

    @abstractmethod
    def make(self, bodies: Bodies) -> Traversal:
        """The functions that share arcs out to these bodies."""
