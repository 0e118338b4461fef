"""What a strategy is, what it is made for, and what it makes: see `edgewise.balance`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import dtype_of, type_of
from edgewise.primitives.control import TURNS, control_words

#: What a unit that is gathered over is, if no part of a vertex: all of it, or what is left of it after a first share,
#: whose message waits to be added to.
WHOLE, MORE = -1, -2
#: Words that a strategy may count in at each superstep; they are 0 when its vertices begin to be listed.
COUNTERS = TURNS
#: Words of `control`: SHARED counts the supersteps whose vertices sent in equal shares where a strategy might have done
#: otherwise, SHARING_NS adds up the nanoseconds in which shares were found, by the clock of thread 0.
CONTROL = control_words()
SHARED, SHARING_NS = CONTROL.take_line(), CONTROL.take()


class Bodies(NamedTuple):
    """What is done with arcs. All are called by all lanes of a warp at once.

    Attributes:
        visit: ``visit(takes, v, key, k, context)``, for those lanes that have out-edge k of vertex v: send along it.
            It returns two numbers that are added up.
        scatter: ``scatter(v, first, end, step, lanes, context)``: send along the out-edges of a unit.
        gather: ``gather(v, first, end, step, lanes, part, context)``: gather over the in-edges of a unit. It is the
            part of that number, which is kept apart, or `WHOLE`, or `MORE`.
        join: ``join(v, first, end, context)``, with the same vertex on all lanes: combine the parts first to end with
            the message that it has, if it has one.
        add: ``add(takes, v, k, context)``, for those lanes that have in-edge k of vertex v: send along it by an atomic
            operation, where messages may be combined in any order.
    """

    visit: Any
    scatter: Any
    gather: Any
    join: Any
    add: Any


class Traversal(NamedTuple):
    """The compiled functions of a strategy. All are called by all threads of the grid.

    `run` has the attributes ``graph`` (with offsets, targets, in_offsets and in_sources), ``plan`` (the strategy's
    arrays, see `Strategy.arrays`), ``control`` (int64), and, shared by a block, ``tally`` and ``scratch``. `generation`
    is that of the barrier of the grid.

    Attributes:
        list_units: ``list_units(v, active, counter, run)``, by all lanes of a warp at once: note that those lanes'
            vertices that are active will send; the degree of this lane's, or 0. `counter` is the first of the
            `COUNTERS` words of `control` that this superstep counts in.
        push_all: ``push_all(listed, count, counter, generation, context, run)``: send along all out-edges of the
            vertices listed[:count]; the generation afterwards. A barrier of the grid lies before, and follows.
        pull_all: ``pull_all(n, generation, context, run)``: gather over all in-edges.
    """

    list_units: Any
    push_all: Any
    pull_all: Any


class Rows(NamedTuple):
    """What a strategy may ask of a graph.

    Attributes:
        num_vertices, num_arcs: of the graph.
        offsets: the dtype of offsets, unsigned.
        kept: ``kept(inward, key, needed, make)``: what ``make(offsets)`` gives for the offsets of out-edges or, inward,
            of in-edges, on the GPU. It is made when it is first asked for, which takes `needed` bytes, and stays with
            the graph. `key` begins with what it is, in words.
    """

    num_vertices: int
    num_arcs: int
    offsets: np.dtype
    kept: Callable[[bool, tuple[Any, ...], int, Callable[[Any], Any]], Any]


@dataclass(frozen=True)
class Own:
    """Stands in a plan for an array that each run has for itself."""

    length: int


class Plan(NamedTuple):
    """A strategy's arrays for a graph.

    Attributes:
        arrays: those of `Strategy.arrays`, on the GPU; all runs share them, but for what is `Own`.
        offsets: the dtype of offsets, unsigned.
        num_parts: parts of vertices that are gathered over.
        notes: for `Result.explain`.
    """

    arrays: Any
    offsets: np.dtype
    num_parts: int = 0
    notes: tuple[str, ...] = ()

    def of_run(self, make: Callable[[int, np.dtype], Any]) -> Any:
        """The arrays of one run; ``make(length, dtype)`` makes its own."""
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
    """A named tuple, with arrays for what is `Own`; `kind` is its type."""
    if isinstance(value, tuple):
        return type(value)(*(_filled(*each, make) for each in zip(value, kind.types, strict=True)))
    return make(value.length, dtype_of(kind)) if isinstance(value, Own) else value


def _leaves(value: Any) -> Iterator[Any]:
    """What is in a tuple, and in tuples in it."""
    if isinstance(value, tuple):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


class Strategy(ABC):
    """Who does which arcs, for a choice of a schedule: what the host and the kernel have to know of it.

    Attributes:
        arrays: a named tuple of what its functions find in ``run.plan``, see `edgewise.kernels.cuda.arguments`.
        any_order: whether messages are combined in any order, by atomic operations, where vertices gather.
        code_key: what the code of a kernel depends on: not bounds on degrees and depths, which are data.
    """

    arrays: ClassVar[type]
    any_order: ClassVar[bool] = False

    def __init__(self, code_key: str) -> None:
        self.code_key = code_key

    @abstractmethod
    def prepare(self, rows: Rows, pushes: bool, pulls: bool) -> Plan:
        """The arrays for a graph, for a kernel that pushes, or pulls, or both."""

    @abstractmethod
    def make(self, bodies: Bodies) -> Traversal:
        """The functions that give arcs out to these bodies."""
