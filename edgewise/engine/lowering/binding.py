"""A program and a graph brought together: every dtype known, every value checked and cast."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise.errors import GraphError, ProgramError
from edgewise.graph import Graph, Resident
from edgewise.graph.attributes import ArcAttribute
from edgewise.graph.checks import check_order
from edgewise.graph.ids import check_not_masked, is_column
from edgewise.memory import Step, give_back, held
from edgewise.program.declarations import refusal
from edgewise.program.declare import (
    DTYPES,
    LEFT_OUT,
    REQUIRED,
    VERTEX,
    WEIGHT,
    EdgeField,
    Fields,
    Parameter,
    Start,
    VertexField,
    in_dtype,
    is_number,
    is_required,
)
from edgewise.program.inspect import Specification
from edgewise.text import shown

#: How many given values are checked at a time.
_PIECE = 2**16


@dataclass(frozen=True, eq=False)
class Binding:
    """The dtypes of a program's names on one graph.

    Attributes:
        parameters: dtypes of parameters; those without a declared dtype are missing here.
        message: the declared dtype of messages, one with named fields where there are several, or None where
            edge_compute decides.
    """

    spec: Specification
    graph: Graph
    vertex: dict[str, np.dtype]
    edge: dict[str, np.dtype]
    aggregates: dict[str, np.dtype]
    parameters: dict[str, np.dtype]
    message: np.dtype | None

    @property
    def dtypes(self) -> str:
        """All dtypes that compiled code depends on, in one text."""
        groups = (self.vertex, self.edge, self.aggregates, self.parameters)
        texts = (f"{name}:{dtype}" for group in groups for name, dtype in group.items())
        return " ".join((*texts, str(self.message), str(self.graph.offset_dtype)))

    @property
    def result_bytes(self) -> int:
        """The memory of the fields that a run writes."""
        vertex = sum(dtype.itemsize for dtype in self.vertex.values()) * self.graph.num_vertices
        written = sum(self.edge[name].itemsize for name in self.spec.edge_writes)
        return vertex + written * self.graph.num_arcs


def bind(spec: Specification, graph: Graph) -> Binding:
    """Resolve every dtype of a program on a graph.

    Raises:
        ProgramError: a dtype that is not one of the contract's.
        GraphError: the program reads weights that the graph does not have.
    """
    weight = _weight_dtype(spec, graph)

    def dtype(name: str, declared: Any) -> np.dtype:
        return _dtype(spec, name, declared, weight, graph)

    return Binding(
        spec,
        graph,
        vertex={name: dtype(name, declared.dtype) for name, declared in spec.vertex_fields.items()},
        edge={name: dtype(name, declared.dtype) for name, declared in spec.edge_fields.items()},
        aggregates={name: dtype(name, declared.dtype) for name, declared in spec.aggregators.items()},
        parameters={
            name: _parameter_dtype(dtype(name, declared.dtype))
            for name, declared in spec.parameters.items()
            if declared.dtype is not None
        },
        message=_message_dtype(spec, dtype),
    )


def _message_dtype(spec: Specification, dtype: Callable[[str, Any], np.dtype]) -> np.dtype | None:
    declared = spec.program.message
    if isinstance(declared, Fields):
        return np.dtype([(name, dtype(f"message.{name}", kind)) for name, kind in declared.dtypes.items()])
    return None if declared is None else dtype("message", declared)


def vertex_dtype(graph: Graph) -> np.dtype:
    """The dtype of vertex indices on this graph."""
    return np.dtype(np.int32 if graph.num_vertices < 2**31 else np.int64)


def _weight_dtype(spec: Specification, graph: Graph) -> np.dtype:
    """The dtype that `WEIGHT` stands for: that of the weights, or of the default if the graph has none."""
    if graph.weight_dtype is not None:
        return graph.weight_dtype
    for name, declared in spec.edge_fields.items():
        if declared.dtype is WEIGHT:
            if declared.default is LEFT_OUT:
                raise GraphError(
                    f"{spec.name}.{name} reads the weights of a graph that has none; give the graph weights, or "
                    f"declare {name} = ew.edge(default=1)"
                )
            return np.dtype(np.float64 if isinstance(declared.default, float | np.floating) else np.int64)
    return np.dtype(np.int64)


def _dtype(spec: Specification, name: str, declared: Any, weight: np.dtype, graph: Graph) -> np.dtype:
    if declared is WEIGHT:
        return weight
    if declared is VERTEX:
        return vertex_dtype(graph)
    try:  # NumPy makes float64 of None, and takes the dtype of whatever has one
        dtype = np.dtype(declared) if isinstance(declared, str | type | np.dtype) else None
    except (TypeError, ValueError):
        dtype = None
    if dtype is None or dtype not in DTYPES:
        names = ", ".join(str(possible) for possible in DTYPES)
        raise refusal(
            spec.program, name, f" has the dtype {shown(declared)}; expected {names}, ew.WEIGHT or ew.VERTEX"
        )
    return np.dtype(dtype)


def check_identity(spec: Specification, message: np.dtype) -> None:
    """Refuse an identity of a user's combiner that does not fit the messages' dtype. Raises ProgramError."""
    if spec.combine.name != "user":
        return
    identity = spec.combine.identity(message)
    if not _fits(identity, message):
        raise refusal(
            spec.program,
            "combine",
            f": identity={shown(identity)} does not fit messages, which are {message}; give a number that does, "
            "ew.INFINITY or -ew.INFINITY for the largest or the smallest, or another dtype by message = ...",
        )


def _parameter_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype in which a parameter is passed: that in which functions compute."""
    return np.dtype({"b": np.bool_, "i": np.int64, "f": np.float64}[dtype.kind])


def parameter_values(binding: Binding, given: dict[str, Any], *, look_up: bool = True) -> dict[str, Any]:
    """The parameters of one run as Python scalars. Vertices become indices, or 0 without `look_up`.

    Raises:
        ProgramError: an unknown name, a missing value, or a value of the wrong kind.
        GraphError: a vertex that the graph does not have.
    """
    spec = binding.spec
    known = {**spec.parameters, **spec.vertex_fields, **spec.edge_fields}
    unknown = [name for name in given if name not in known]
    fields: dict[str, Any] = {**spec.vertex_fields, **spec.edge_fields}
    missing = [name for name in fields if fields[name].init is REQUIRED and name not in given]
    if unknown:
        raise ProgramError(f"{spec.name} has no '{unknown[0]}'; it has {', '.join(known) or 'no parameters'}")
    if missing:
        each = "vertex" if missing[0] in spec.vertex_fields else "edge, in CSR order"
        other = "" if missing[0] in spec.vertex_fields else ", or an edge attribute of that name to the graph"
        raise ProgramError(
            f"{spec.name} needs {missing[0]}, an array with a value for each {each}; give "
            f"{spec.name}({missing[0]}=...){other}"
        )
    values = {}
    for name, declared in spec.parameters.items():
        if name not in given and is_required(declared):
            raise ProgramError(f"{spec.name} needs {name}; give {spec.name}({name}=...)")
        of_vertex = declared.dtype is VERTEX and not look_up
        value = given.get(name, declared.default)
        values[name] = 0 if of_vertex else _parameter(binding, name, declared, value)
    return values


def _parameter(binding: Binding, name: str, declared: Parameter, value: Any) -> Any:
    if declared.dtype is VERTEX:
        index = binding.graph.index_of(value)
        if np.ndim(index):
            raise _unfit(binding, name, value, "one vertex")
        return int(index)
    if isinstance(value, np.generic) and is_number(value):
        value = value.item()
    if not isinstance(value, bool | int | float):
        raise _unfit(binding, name, value, "a number")
    dtype = binding.parameters.get(name)
    if dtype is None:
        example = value if is_required(declared) else declared.default
        dtype = np.dtype(type(example)) if isinstance(example, bool | float) else np.dtype(np.int64)
    if dtype.kind == "i":
        if isinstance(value, float):
            raise _unfit(binding, name, value, "an integer")
        bits = 64 if declared.dtype in (None, WEIGHT) else 8 * np.dtype(declared.dtype).itemsize
        if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise _unfit(binding, name, value, f"an integer of at most {bits} bits")
    if dtype.kind == "b" and value not in (0, 1):
        raise _unfit(binding, name, value, "True or False")
    try:
        return {"b": bool, "i": int, "f": float}[dtype.kind](value)
    except OverflowError:
        raise _unfit(binding, name, value, "a number that float64 can hold") from None


def _unfit(binding: Binding, name: str, value: Any, expected: str) -> ProgramError:
    return ProgramError(f"{binding.spec.name}({name}={shown(value)}): expected {expected}")


def initial_vertex_value(binding: Binding, name: str, given: dict[str, Any]) -> Any:
    """The start of a vertex field: a scalar of its dtype, or an array of shape (num_vertices,) given for it."""
    declared: VertexField = binding.spec.vertex_fields[name]
    if name in given:
        return _given(binding, name, given[name], binding.vertex[name], binding.graph.num_vertices)
    return _initial(binding, name, declared, "init", binding.vertex[name])


def starts_as_weights(binding: Binding, name: str, given: dict[str, Any]) -> bool:
    """Whether an edge field starts as the graph's weights."""
    return name not in given and binding.spec.edge_fields[name].dtype is WEIGHT and binding.graph.weighted


def initial_edge_value(binding: Binding, name: str, given: dict[str, Any], of_graph: Graph | Resident) -> Any:
    """The start of an edge field: a scalar, or an array of shape (num_arcs,) in CSR order.

    Args:
        of_graph: has the graph's arrays, where the engine reads them.
    """
    if starts_as_weights(binding, name, given):
        return of_graph.weights
    if name in given:
        return _given(binding, name, given[name], binding.edge[name], binding.graph.num_arcs)
    declared: EdgeField = binding.spec.edge_fields[name]
    return _initial(
        binding, name, declared, "default" if declared.dtype is WEIGHT else "init", binding.edge[name]
    )


def _initial(
    binding: Binding, name: str, declared: VertexField | EdgeField, option: str, dtype: np.dtype
) -> Any:
    """The initial value of all vertices or edges that an option of a field gives; 0 if it is required or left out."""
    given = getattr(declared, option)
    if given is REQUIRED or given is LEFT_OUT:  # what is required is laid out before it is given
        return dtype.type(0)
    value, vertices = in_dtype(given, dtype), binding.graph.num_vertices
    if (isinstance(given, Start) and dtype.kind == "b") or not _fits(value, dtype):
        wanted = "; expected True or False" if dtype.kind == "b" else ""
        raise refusal(binding.spec.program, name, f": {option}={shown(given)} does not fit {dtype}{wanted}")
    if declared.dtype is VERTEX and not -1 <= value < max(vertices, 1):
        raise refusal(
            binding.spec.program,
            name,
            f": {option}={shown(given)} is no vertex; expected an index from 0 to {vertices - 1}, or -1 for none",
        )
    return dtype.type(value)


def _given(binding: Binding, name: str, values: Any, dtype: np.dtype, length: int) -> np.ndarray:
    """The array that was given for a field, in the field's dtype."""
    if isinstance(values, ArcAttribute):
        return values.values()
    spec, vertices = binding.spec, binding.graph.num_vertices
    is_vertex = (spec.vertex_fields.get(name) or spec.edge_fields[name]).dtype is VERTEX
    hint = "; vertices are given by their indices, graph.index_of(ids)" if is_vertex else ""
    order = "one value for each arc, in CSR order: see graph.edge_numbers" if name in spec.edge_fields else ""

    def unfit(got: str, expected: str) -> ProgramError:
        return ProgramError(f"{spec.name}({name}=...): got {got}, expected {expected}{hint}")

    check_not_masked(values, f"{spec.name}({name}=...)", ProgramError)
    if isinstance(values, Mapping):
        if name in spec.edge_fields or is_vertex:
            raise unfit(
                f"a {type(values).__name__}", f"an array of shape ({length},)" + (order and f", {order}")
            )
        values = _by_id(binding, name, values)
    elif name in spec.edge_fields and is_column(values):
        raise unfit(
            f"a {type(values).__name__}, whose rows are those of a table of edges",
            f"an array, {order}. Keep it with the graph instead: edge_attributes= of from_edges, from_pandas or "
            "from_polars",
        )
    elif name in spec.vertex_fields and is_column(values):
        check_order(values, binding.graph.vertices, f"{spec.name}({name}=...)", ProgramError)
    try:
        array = np.asarray(values)
    except ValueError:
        raise unfit("rows of different lengths", f"an array of shape ({length},)") from None
    if array.shape != (length,):
        raise unfit(f"an array of shape {array.shape}", f"({length},)" + (order and f", {order}"))
    truths = dtype.kind == "b" and array.dtype.kind in "iu"
    if not truths and not np.can_cast(array.dtype, dtype, casting="same_kind"):
        raise unfit(f"an array of {array.dtype}", str(dtype))
    expected = "True or False, or 1 or 0" if truths else str(dtype)
    place = _first(array, lambda piece: _unfit_values(piece, dtype))
    if is_vertex and place is None:
        place = _first(array, lambda piece: (piece < -1) | (piece >= vertices))
        expected = f"indices from 0 to {vertices - 1}, or -1 for none"
    if place is not None:
        raise unfit(f"{array[place]} at [{place}]", expected)
    fitting = np.ascontiguousarray(array, dtype=dtype)
    if array is not values and array is not fitting:
        del array
        give_back(8 * length)
    return fitting


def _by_id(binding: Binding, name: str, values: Mapping[Any, Any]) -> list[Any]:
    """The values of vertices that are given by their ids, in the order of the graph."""
    vertices = binding.graph.vertices.tolist()
    without = next((vertex for vertex in vertices if vertex not in values), None)
    if len(values) != len(vertices) or without is not None:
        unknown = next((each for each in values if each not in binding.graph), None)
        what = (
            f"none for {shown(without)}"
            if without is not None
            else f"one for {shown(unknown)}, which is no vertex"
        )
        raise ProgramError(
            f"{binding.spec.name}({name}=...): got values of {len(values):,} ids, and {what}; expected one for each "
            f"of the {len(vertices):,} vertices, {{id: value}}"
        )
    return [values[vertex] for vertex in vertices]


def giving(binding: Binding, name: str, given: dict[str, Any]) -> Step:
    """The memory that it takes to bring what is given for a field into its dtype. A contiguous array of that dtype
    takes none. Anything but an array becomes an array of 8-byte numbers first."""
    if name not in given:
        return held(0)
    in_arcs = name in binding.edge
    dtype = binding.edge[name] if in_arcs else binding.vertex[name]
    length = binding.graph.num_arcs if in_arcs else binding.graph.num_vertices
    values, size = given[name], dtype.itemsize * length
    if isinstance(values, ArcAttribute):
        return values.making()
    if not isinstance(values, np.ndarray):
        return Step(size, 8 * length + size)
    return held(0 if values.dtype == dtype and values.flags.c_contiguous else size)


def _first(values: np.ndarray, is_wrong: Callable[[np.ndarray], np.ndarray]) -> int | None:
    """The first place whose value is wrong, or None. It goes in pieces, for a mask of all values would take memory."""
    for start in range(0, len(values), _PIECE):
        wrong = is_wrong(values[start : start + _PIECE])
        if wrong.any():
            return start + int(np.argmax(wrong))
    return None


def _unfit_values(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Which values cannot be stored with no loss but rounding. One False stands for none."""
    if values.dtype != dtype and dtype.kind == "b":
        return np.asarray((values != 0) & (values != 1))
    if values.dtype != dtype and values.dtype.kind in "iu" and dtype.kind == "i":
        bounds = np.iinfo(dtype)
        return np.asarray((values < int(bounds.min)) | (values > int(bounds.max)))
    if values.dtype != dtype and values.dtype.kind == "f":
        return np.isfinite(values) & (np.abs(values) > np.finfo(dtype).max)
    return np.zeros(1, np.bool_)


def _fits(value: Any, dtype: np.dtype) -> bool:
    """Whether a number can be stored with no loss but rounding."""
    value = value.item() if isinstance(value, np.generic) else value
    if dtype.kind == "i":
        bounds = np.iinfo(dtype)
        return not isinstance(value, float) and int(bounds.min) <= int(value) <= int(bounds.max)
    if dtype.kind == "b":
        return value in (0, 1)
    # A finite number that becomes infinite does not fit.
    return value != value or abs(value) == np.inf or abs(value) <= float(np.finfo(dtype).max)
