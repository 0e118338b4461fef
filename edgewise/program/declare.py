"""Programs: what happens on one edge and on one vertex, and nothing about threads.

The contract that every engine keeps
------------------------------------
A run is a sequence of supersteps (bulk synchronous parallel; Valiant 1990). Vertices are active or halted.

0. **Start.** Every field gets its ``init`` value; then ``initialize(v, state)`` is called once for each vertex
   and says who is active.
1. **Edges.** ``edge_compute(edge, state)`` is called for each arc whose source is active. What it returns is a
   message to ``edge.target``; ``None``, or a path without a return, sends nothing. A halted source sends nothing.
2. **Combining.** The messages to one vertex are folded with ``combine``. A vertex that got none is given the
   combiner's identity (``INFINITY`` or the largest integer for MIN, 0 for SUM, False for ANY, ...). With
   ``combine = MESSAGES`` they are not folded: ``vertex_compute`` is given all of them.
3. **Vertices.** After *all* edges are done, ``vertex_compute(v, message, state)`` is called for each vertex
   that is active or got a message (a message wakes a halted vertex) and returns ACTIVE or HALT for the next
   superstep. So a value written in superstep k is seen by edges in superstep k + 1.
4. **Aggregates.** Each aggregator is evaluated over all vertices. Its value can be read as ``state.name`` from
   the next superstep on (in superstep 1: the value after ``initialize``), and in ``proceed``. Before that there is
   none: ``initialize`` may not read it.
5. **Resuming.** When no vertex is active, ``resume(v, state)``, if the program has one, is called once for each
   vertex and says who is active in the next superstep; aggregates are evaluated once more. So vertices sleep through
   many supersteps until all that was going on has come to rest.
6. **The end.** The run ends when no vertex is active, and none resumes; when ``max_supersteps`` supersteps were run;
   or when the program's ``proceed(state)``, called once after each superstep, returns False.

*Reading and writing.* ``initialize``, ``vertex_compute`` and ``resume`` write vertex fields at index ``v`` only, and
read fields that they write at index ``v`` only. ``edge_compute`` writes edge fields at ``edge.index`` only. Anything
else may be read anywhere. These rules are checked before the run, in the source; indices that can only be known
while running are checked with ``check=True``.

*Numbers.* Fields and messages are bool, int32, int64, float32 or float64. Inside a function integers have 64
bits and floats at least the precision of their field. Every value that leaves a function is cast to the
declared dtype: integers wrap, floats round, anything becomes bool by ``!= 0``. A float where an integer is
declared is refused before the run. Inside a function, an integer that does not fit in 64 bits is undefined.
Division by zero and overflow are found by ``check=True``.

*Random numbers.* ``ew.random`` draws them inside any function; see `edgewise.program.draws`. They depend on the run's
``seed=``, the superstep, the vertex, the function and how many were drawn in this call of it, and on nothing else.
``random`` and ``numpy.random`` are refused.

*All messages of a vertex.* With ``combine = MESSAGES``, ``vertex_compute(v, messages, state)`` is given an array with
a message for each in-edge along which one came: ``len(messages)``, ``messages[i]``, ``for message in messages``. They
come in the order of their sources' indices, those of parallel arcs in the order of these. The array is the vertex's
own in this superstep, so it may be sorted where it lies; afterwards it is gone. What a loop over the messages can
compute, such as a median or the most frequent value, need not be associative. With ``message = fields(label="int64",
weight="float64")`` a message has several fields: ``edge_compute`` returns a tuple of them in this order, or None, and
``messages.label``, ``messages.weight`` are arrays of one length; ``messages`` itself has none. Only a message buffer
can deliver these (`edgewise.schedule.Buffered`).

*Order.* MIN, MAX, ANY, ALL and integer sums do not depend on any order; MIN and MAX take no notice of NaN. Float sums
and products and a user's own combiner, which has to be associative, are folded in an order that depends on neither
the number of threads nor the timing, but may differ between engines and deliveries: a sum of k messages then differs
by at most ``k * eps * sum(abs(messages))``.

*Asynchronous programs.* With ``asynchronous = True`` an engine may let edges see a value in the superstep in which
it was written, may put off what an active vertex sends and deliver a message later than in its superstep, combined
with later ones, and may drop a message that is no better (by MIN or MAX) than one its target got before. A program
that only ever lowers a value by MIN, or raises one by MAX, reaches the same end with less work; how many supersteps
that takes may differ from run to run. Other programs run as without it.

The paper's Table 1 (Zhong et al. 2016, section 3.2.5) maps to this form as ``docs/programs.md`` shows.
"""

import inspect
import math
import operator
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import FunctionType, MappingProxyType
from typing import Any, ClassVar, Final

import numpy as np

from edgewise.errors import ProgramError
from edgewise.numeric import is_integer
from edgewise.program.source import source_of
from edgewise.text import shown

ACTIVE: Final = True
HALT: Final = False

#: The dtypes of fields, messages and aggregates.
DTYPES = tuple(np.dtype(name) for name in ("bool", "int32", "int64", "float32", "float64"))


class GraphType(Enum):
    """A dtype that is known once there is a graph."""

    WEIGHT = "the dtype of the graph's weights"
    VERTEX = "the index of a vertex"


WEIGHT: Final = GraphType.WEIGHT
VERTEX: Final = GraphType.VERTEX


class Start(Enum):
    """The values that ``init=`` may have beside a number."""

    INFINITY = "the largest value of the field's dtype: inf for floats"
    MINUS_INFINITY = "the smallest value of the field's dtype: -inf for floats"
    REQUIRED = "nothing: the field has to be given for each run"

    def __repr__(self) -> str:
        return "-edgewise.INFINITY" if self is Start.MINUS_INFINITY else f"edgewise.{self.name}"

    def __neg__(self) -> "Start":
        """The other end of the dtype: ``-INFINITY``."""
        if self is Start.REQUIRED:
            raise ProgramError(
                "got -ew.REQUIRED; expected ew.REQUIRED, or -ew.INFINITY for the smallest value"
            )
        return Start.MINUS_INFINITY if self is Start.INFINITY else Start.INFINITY


INFINITY: Final = Start.INFINITY
REQUIRED: Final = Start.REQUIRED


def largest(dtype: np.dtype) -> Any:
    """The largest value of a dtype: True, the largest integer, or infinity."""
    if dtype.kind == "b":
        return True
    return np.iinfo(dtype).max if dtype.kind == "i" else float("inf")


def smallest(dtype: np.dtype) -> Any:
    """The smallest value of a dtype: False, the smallest integer, or minus infinity."""
    if dtype.kind == "b":
        return False
    return np.iinfo(dtype).min if dtype.kind == "i" else float("-inf")


def is_number(value: Any) -> bool:
    """Whether a value is one number or bool of Python or NumPy."""
    return isinstance(value, bool | float | np.bool_ | np.floating) or is_integer(value)


def in_dtype(value: Any, dtype: np.dtype) -> Any:
    """A number unchanged; the largest value of the dtype for `INFINITY`, the smallest for ``-INFINITY``."""
    if value is Start.INFINITY:
        return largest(dtype)
    return smallest(dtype) if value is Start.MINUS_INFINITY else value


def _minimum(a: Any, b: Any) -> Any:
    return b if b < a else a


def _maximum(a: Any, b: Any) -> Any:
    return b if b > a else a


def _sum(a: Any, b: Any) -> Any:
    return a + b


def _product(a: Any, b: Any) -> Any:
    return a * b


def _any(a: Any, b: Any) -> Any:
    return a or b


def _all(a: Any, b: Any) -> Any:
    return a and b


@dataclass(frozen=True)
class Combiner:
    """How two messages to one vertex become one: an associative and commutative function with its identity.

    Attributes:
        name: for messages, and for engines that know a faster form of the six named combiners.
        function: ``function(a, b)``, the combination of two messages.
        identity: ``identity(dtype)``, which combines with any message to that message.
    """

    name: str
    function: Callable[[Any, Any], Any]
    identity: Callable[[np.dtype], Any]

    def ordered(self, dtype: np.dtype) -> bool:
        """Whether the result depends on the order of combining (rounding, or a user's function)."""
        return self.name == "user" or (self.name in ("SUM", "PRODUCT") and dtype.kind == "f")

    def has_one_zero(self, dtype: np.dtype) -> bool:
        """Whether -0.0 is taken as 0.0: neither is less, so the order would decide which of them is left."""
        return self.name in ("MIN", "MAX") and dtype.kind == "f"


MIN: Final = Combiner("MIN", _minimum, largest)
MAX: Final = Combiner("MAX", _maximum, smallest)
SUM: Final = Combiner("SUM", _sum, lambda dtype: dtype.type(0).item())
PRODUCT: Final = Combiner("PRODUCT", _product, lambda dtype: dtype.type(1).item())
ANY: Final = Combiner("ANY", _any, lambda dtype: False)
ALL: Final = Combiner("ALL", _all, lambda dtype: True)


def _not_combined(*_: Any) -> None:
    """MESSAGES has neither a function nor an identity."""


#: Messages to one vertex are not combined: ``vertex_compute`` is given all of them.
MESSAGES: Final = Combiner("MESSAGES", _not_combined, _not_combined)


@dataclass(frozen=True, eq=False)
class Fields:
    """The dtypes of a message's fields by name; see `fields`."""

    dtypes: dict[str, Any]


def fields(**dtypes: Any) -> Fields:
    """Declare a message of several fields: ``message = ew.fields(label="int64", weight=ew.WEIGHT)``.

    Args:
        dtypes: of each field, as for `vertex`.
    """
    return Fields(dtypes)


#: The named combiners that do what a function of Python does.
_NAMED: dict[Any, str] = {
    min: "MIN",
    max: "MAX",
    sum: "SUM",
    any: "ANY",
    all: "ALL",
    operator.add: "SUM",
    operator.mul: "PRODUCT",
    math.prod: "PRODUCT",
    np.minimum: "MIN",
    np.maximum: "MAX",
    np.add: "SUM",
    np.multiply: "PRODUCT",
    np.logical_or: "ANY",
    np.logical_and: "ALL",
}


def combiner(function: Callable[[Any, Any], Any], *, identity: Any) -> Combiner:
    """A combiner of the user's own.

    Messages are combined in any order and grouping, and with the identity besides. A function or an identity that
    breaks the rules below gives other results without an error; ``check=True`` compares ``function(identity, m)`` with
    each message m that comes first.

    Args:
        function: ``function(a, b)`` of two messages, made by ``def``. It has to be associative,
            ``function(function(a, b), c) == function(a, function(b, c))``, and commutative,
            ``function(a, b) == function(b, a)``.
        identity: the neutral number, ``function(identity, m) == m`` for each message m, in the dtype of messages;
            `INFINITY` and ``-INFINITY`` are the largest and the smallest value of that dtype.

    Raises:
        ProgramError: another kind of function, or of identity.
    """
    plain = getattr(function, "__func__", getattr(function, "py_func", function))
    if not isinstance(plain, FunctionType) or plain.__name__ == "<lambda>":
        named = _NAMED.get(plain) if isinstance(plain, Hashable) else None
        advice = f"; combine = ew.{named} is there already" if named else ""
        raise ProgramError(
            f"combiner: got {shown(function)}, expected a function of two messages that is made by def: "
            f"def combined(a, b): return ...{advice}"
        )
    if not (is_number(identity) or identity is INFINITY or identity is -INFINITY):
        raise ProgramError(
            f"combiner: identity={shown(identity)}; expected the number that combines with each message to that "
            "message, ew.INFINITY or -ew.INFINITY"
        )
    return Combiner("user", function, lambda dtype: in_dtype(identity, dtype))


class Nothing(Enum):
    """An option that was left out, where None could be meant."""

    LEFT_OUT = "left out"


LEFT_OUT: Final = Nothing.LEFT_OUT


@dataclass(frozen=True, eq=False)
class VertexField:
    """One value for each vertex; see `vertex`."""

    dtype: Any
    init: Any


@dataclass(frozen=True, eq=False)
class EdgeField:
    """One value for each arc; see `edge`."""

    dtype: Any
    init: Any
    default: Any


@dataclass(frozen=True, eq=False)
class Parameter:
    """One value for the whole run; see `parameter`."""

    dtype: Any
    default: Any


@dataclass(frozen=True, eq=False)
class Aggregator:
    """A value folded over all vertices after each superstep; see `aggregator`."""

    combine: Combiner
    dtype: Any
    function: Callable[..., Any]


def vertex(dtype: Any, init: Any = 0) -> Any:
    """Declare a vertex field, read and written as ``state.name[v]``.

    Args:
        dtype: bool, int32, int64, float32, float64 (or int, float), `WEIGHT`, or `VERTEX` for the index of a
            vertex (``to_frame`` shows it as the user's id; the index -1 is none).
        init: the value of all vertices at the start of a run: a number, or `INFINITY` for the largest and
            ``-INFINITY`` for the smallest value (of floats, inf and -inf). An array with one value for each vertex, or
            a dictionary of all by id, may be given when the program is made, ``MyProgram(name=array)``; with `REQUIRED`
            it must be. A `VERTEX` field takes an array of indices only.
    """
    return VertexField(dtype, init)


def edge(dtype: Any = WEIGHT, *, init: Any = LEFT_OUT, default: Any = LEFT_OUT) -> Any:
    """Declare an edge field, read as ``edge.name`` and written as ``state.name[edge.index]``.

    Args:
        dtype: as for `vertex`. With `WEIGHT`, the field holds the graph's weights.
        init: as for `vertex`, 0 if left out; only for a field that does not hold the weights. An array that is given,
            ``MyProgram(name=array)``, has one value for each arc, in the order of ``graph.targets``: by source, not in
            the order of the input. ``column[graph.edge_numbers]`` brings a column of edges into this order, for a graph
            made by ``Graph.from_edges(..., number_edges=True)``. If nothing is given and the graph has an edge
            attribute of this name, the field starts as that, whatever `init` says; each value has to be the same number
            in the field's dtype.
        default: a number for the weights of an unweighted graph; only with `WEIGHT`. Without it such a graph is
            refused.
    """
    return EdgeField(dtype, init, default)


def parameter(dtype: Any = None, default: Any = LEFT_OUT) -> Any:
    """Declare a parameter, read as ``state.name`` and given as ``MyProgram(name=value)``.

    Args:
        dtype: a dtype as for `vertex`; `VERTEX` takes the user's id of a vertex; if left out, the dtype is that of the
            value (int64, float64 or bool).
        default: the value when none is given; without a default, a value must be given.
    """
    return Parameter(dtype, default)


def aggregator(combine: Combiner, dtype: Any = LEFT_OUT) -> Callable[[Any], Any]:
    """Declare a value that is folded over all vertices after each superstep, as a decorator.

    ::

        @ew.aggregator(ew.SUM)
        @staticmethod
        def dangling(v, state):
            return state.rank[v] if state.out_degree[v] == 0 else 0.0

    Any function then reads ``state.dangling`` in the next superstep.

    Args:
        combine: one of the six named combiners.
        dtype: that of the value; if left out, bool for ANY and ALL, float64 for the others.
    """
    if not isinstance(combine, Combiner) or combine.name in ("user", "MESSAGES"):
        raise ProgramError(
            f"aggregator: got {shown(combine)}, expected one of MIN, MAX, SUM, PRODUCT, ANY, ALL"
        )

    logical = combine.name in ("ANY", "ALL")

    def declare(function: Any) -> Any:
        kind = (np.bool_ if logical else np.float64) if dtype is LEFT_OUT else dtype
        return Aggregator(combine, kind, getattr(function, "__func__", function))

    return declare


class Program:
    """The base of a user's program. See the contract above, and ``docs/programs.md`` for a guide.

    A subclass declares fields and parameters as class attributes and defines ``edge_compute`` and
    ``vertex_compute``; the rest has defaults. All functions are static methods. Attributes other than these and those
    below would mean nothing, so they are refused unless their names begin with an underscore.

    Attributes:
        combine: how messages to one vertex are combined; `MESSAGES` if they are not.
        message: the dtype of messages; None takes what ``edge_compute`` returns. With `MESSAGES` it may be `fields`.
        asynchronous: whether values may be seen early and messages come late.
        max_supersteps: when to end in any case; None for no limit. A run may give its own.
    """

    combine: ClassVar[Combiner]
    message: ClassVar[Any] = None
    asynchronous: ClassVar[bool] = False
    max_supersteps: ClassVar[int | None] = None
    #: The values given to `__init__`.
    values: Mapping[str, Any] = MappingProxyType({})

    def __init_subclass__(cls, **options: Any) -> None:
        """Read the sources of the functions now: their files may be edited before the first run."""
        super().__init_subclass__(**options)
        for value in vars(cls).values():
            declared = value.function if isinstance(value, Aggregator | Combiner) else value
            function = declared.__func__ if isinstance(declared, staticmethod) else declared
            if isinstance(function, FunctionType):
                source_of(function)

    def __init__(self, **values: Any) -> None:
        """Take values for parameters, and arrays for fields, by name."""
        self.values = values

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse it: a run takes values from `__init__` and all the rest from the class, so it would not see this."""
        kind, owner = inspect.getattr_static(type(self), name, None), type(self).__name__
        if name == "values" or name.startswith("_") or hasattr(kind, "__set__"):
            return super().__setattr__(name, value)
        if isinstance(kind, VertexField | EdgeField | Parameter):
            advice = f"give it as {owner}({name}=...); an __init__ of your own does so by super().__init__({name}=...)"
        elif name in vars(Program):
            advice = f"write {name} = ... in the class"
        else:
            advice = f"{owner} declares no '{name}'; what is your own begins with an underscore"
        raise ProgramError(
            f"{owner}: a run does not see what is set on an instance, such as .{name}; {advice}"
        )

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        """Say whether vertex ``v`` starts ACTIVE or HALT, and set its fields. Default: all are active."""
        return True

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        """The message of an arc from an active vertex, or None; a path without a return sends nothing, too.

        ``edge`` has ``source``, ``target``, ``index`` (the position of the arc in the graph's CSR order) and
        the declared edge fields; ``state`` has the fields, parameters and aggregates by name, and
        ``num_vertices``, ``num_arcs``, ``superstep``, ``out_degree[v]``, ``in_degree[v]``.
        """
        raise TypeError("edge_compute must be defined")

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        """Update vertex ``v`` with the combined message, or all messages with `MESSAGES`; return ACTIVE or HALT."""
        raise TypeError("vertex_compute must be defined")

    @staticmethod
    def resume(v: Any, state: Any) -> Any:
        """Say whether vertex ``v`` is ACTIVE again, asked when no vertex is. Default: none is, and the run ends."""
        return False

    @staticmethod
    def proceed(state: Any) -> Any:
        """Whether the run goes on, asked once after each superstep. Default: as long as a vertex is active."""
        return True


def is_required(declared: Parameter) -> bool:
    """Whether a parameter has no default."""
    return declared.default is LEFT_OUT
