"""The arrays that runs of a program on a graph only read, the same for every engine."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.declarations import STATE_ARRAYS
from edgewise.engine.binding import Binding, initial_edge_value, initial_vertex_value, starts_as_weights
from edgewise.kernels.launch import sealed

#: Stands for degrees that no function reads.
_NO_DEGREES = sealed(np.zeros(1, np.int32))


class Constants(NamedTuple):
    """What runs only read.

    Attributes:
        arrays: by kind and name, as in `edgewise.engine.glue.own_array_order`; those of the graph where they lie.
        supplied: a bit for each vertex field that is given as an array.
        uniform: edge fields that have one value for all arcs.
    """

    arrays: dict[tuple[str, str], Any]
    supplied: int
    uniform: frozenset[str]


def constant_arrays(
    binding: Binding, given: dict[str, Any], pull: bool, graph_array: Callable[[str], Any]
) -> Constants:
    """The arrays that runs only read.

    Args:
        binding: the program on its graph.
        given: arrays for fields, by name.
        pull: whether edge fields are needed in the order of in-edges, too.
        graph_array: gives one of the graph's arrays by its name, where the engine reads it.
    """
    graph, found = binding.graph, binding.found
    arrays: dict[tuple[str, str], Any] = {}
    supplied, uniform = 0, set()
    for i, name in enumerate(found.vertex_fields):
        start = initial_vertex_value(binding, name, given)
        supplied |= (start.ndim == 1) << i
        arrays["initial", name] = np.atleast_1d(start)
    for name in found.edge_fields:
        whole = name in found.edge_writes or name in found.state_reads
        start = initial_edge_value(binding, name, given, graph_array)
        if start.ndim == 0 and not whole:
            uniform.add(name)
        values = start if start.ndim else np.full(graph.num_arcs if whole else 1, start)
        arrays["edge", name] = arrays["along", name] = values
        if not pull or start.ndim == 0:
            arrays["in_along", name] = values
        elif starts_as_weights(binding, name, given):
            arrays["in_along", name] = graph_array("in_weights")
        else:
            arrays["in_along", name] = np.ascontiguousarray(values[graph.in_arcs])
    for name in STATE_ARRAYS:
        arrays["degree", name] = graph_array(name) if name in found.state_reads else _NO_DEGREES
    return Constants(arrays, int(supplied), frozenset(uniform))
