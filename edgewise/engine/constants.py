"""The arrays that runs of a program on a graph only read, the same for every engine."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.binding import Binding, initial_edge_value, initial_vertex_value
from edgewise.inspection import STATE_ARRAYS
from edgewise.kernels.launch import sealed

#: Stands for degrees that no function reads.
_NO_DEGREES = sealed(np.zeros(1, np.int32))


class Constants(NamedTuple):
    """What runs only read.

    Attributes:
        arrays: by kind and name, as in `edgewise.engine.glue.own_array_order`.
        supplied: a bit for each vertex field that is given as an array.
        uniform: edge fields that have one value for all arcs.
    """

    arrays: dict[tuple[str, str], np.ndarray]
    supplied: int
    uniform: frozenset[str]


def constant_arrays(binding: Binding, given: dict[str, Any], pull: bool) -> Constants:
    """The arrays that runs only read.

    Args:
        binding: the program on its graph.
        given: arrays for fields, by name.
        pull: whether edge fields are needed in the order of in-edges, too.
    """
    graph, found = binding.graph, binding.found
    arrays: dict[tuple[str, str], np.ndarray] = {}
    supplied, uniform = 0, set()
    for i, name in enumerate(found.vertex_fields):
        start = initial_vertex_value(binding, name, given)
        supplied |= (start.ndim == 1) << i
        arrays["initial", name] = np.atleast_1d(start)
    for name in found.edge_fields:
        start = initial_edge_value(binding, name, given)
        whole = name in found.edge_writes or name in found.state_reads
        if start.ndim == 0 and not whole:
            uniform.add(name)
        values = np.full(graph.num_arcs, start) if start.ndim == 0 and whole else np.atleast_1d(start)
        arrays["edge", name] = arrays["along", name] = values
        arrays["in_along", name] = _in_order_of_in_edges(binding, values, start) if pull else values
    for name in STATE_ARRAYS:
        arrays["degree", name] = getattr(graph, name) if name in found.state_reads else _NO_DEGREES
    return Constants(arrays, int(supplied), frozenset(uniform))


def _in_order_of_in_edges(binding: Binding, values: np.ndarray, start: Any) -> np.ndarray:
    """An edge field that is only read, as pulling reads it."""
    graph = binding.graph
    if start.ndim == 0 or values is not start:
        return values
    if start is graph.weights:
        assert graph.in_weights is not None
        return graph.in_weights
    return np.ascontiguousarray(values[graph.in_arcs])
