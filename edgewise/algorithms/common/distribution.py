"""Numbers for vertices as users give them, by id or in the order of the graph, and distributions made of them."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from edgewise.errors import ParameterError
from edgewise.graph import Graph
from edgewise.graph.checks import check_order
from edgewise.graph.ids import as_array
from edgewise.memory import Step, in_turn
from edgewise.numeric import is_number
from edgewise.text import shown

#: Bytes of an id in a list, with its index and its value in arrays.
_ID_BYTES = 3 * 8

#: A number for each vertex: by id, or an array in the order of the graph.
VertexNumbers = Mapping[Any, float] | np.ndarray


def distributing(graph: Graph, *given: VertexNumbers | None) -> Step:
    """The memory that `distribution` or `vertex_numbers` takes for these: for each id its index and its value; and once
    what the graph keeps to look up ids."""
    n = graph.num_vertices
    looking_up = [graph.looking_up(())] if any(isinstance(each, Mapping) for each in given) else []
    sizes = [_ID_BYTES * len(each) if isinstance(each, Mapping) else 0 for each in given if each is not None]
    return in_turn(*looking_up, *(Step(8 * n, 8 * n + max(2 * n, size)) for size in sizes))


def distribution(graph: Graph, name: str, given: VertexNumbers | None) -> np.ndarray | None:
    """A distribution over the vertices, float64, shape (n,), that sums to 1; None if none is given.

    Raises:
        ParameterError, GraphError: as `vertex_numbers`, or all are 0.
    """
    if given is None:
        return None
    values = vertex_numbers(graph, name, given)
    most = values.max(initial=0.0)
    if most == 0 and graph.num_vertices:
        raise ParameterError(f"{name} sums to 0; expected a positive value for at least one vertex")
    values /= most or 1.0  # so that no sum overflows
    values /= values.sum() or 1.0
    return values


def vertex_numbers(graph: Graph, name: str, given: VertexNumbers) -> np.ndarray:
    """Numbers of at least 0 for the vertices, float64, shape (n,); 0 where a mapping has none.

    Args:
        graph: the graph.
        name: of the algorithm and its argument, for messages.
        given: the argument.

    Raises:
        ParameterError: they are no such numbers, or of another shape.
        GraphError: an id that is not in the graph.
    """
    values = np.zeros(graph.num_vertices)
    if isinstance(given, Mapping):
        values[graph.index_of(list(given))] = _as_floats(name, given.values())
    else:
        check_order(given, graph.vertices, name, ParameterError)
        array = as_array(given, name, ParameterError)
        if array.shape != values.shape or array.dtype.kind not in "biuf":
            raise ParameterError(
                f"{name} is an array of {array.dtype} and shape {array.shape}; expected numbers of shape "
                f"{values.shape}, or a dictionary by id"
            )
        values[:] = array
    if not np.isfinite(values).all() or (values < 0).any():
        raise ParameterError(f"{name} has negative, NaN or infinite values; expected none")
    return values


def _as_floats(name: str, values: Collection[Any]) -> np.ndarray:
    """Numbers of any kind, also large integers, as float64."""
    if not all(is_number(value) or isinstance(value, bool | np.bool_) for value in values):
        raise ParameterError(f"{name} has the values {shown(list(values))}; expected numbers")
    try:
        return np.fromiter(map(float, values), np.float64, len(values))
    except OverflowError:
        raise ParameterError(f"{name} has a value beyond float64; scale its values down") from None
