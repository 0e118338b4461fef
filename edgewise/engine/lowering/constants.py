"""The arrays of a program on a graph that runs read and never write, for every engine."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.lowering.binding import (
    Binding,
    giving,
    initial_edge_value,
    initial_vertex_value,
    starts_as_weights,
)
from edgewise.graph import Graph, Made, Resident
from edgewise.graph.attributes import in_order
from edgewise.kernels.cpu.launch import sealed
from edgewise.memory import Step, held, in_turn
from edgewise.program.declarations import STATE_ARRAYS

#: Stands for degrees that no function reads.
_NO_DEGREES = sealed(np.zeros(1, np.int32))


class Constants(NamedTuple):
    """What runs only read.

    Attributes:
        arrays: by kind and name, as in `edgewise.engine.lowering.accessors.own_array_order`. Arrays of the graph are
            not copied.
        supplied: a bit for each vertex field that is given as an array.
        uniform: edge fields that have one value for all arcs.
    """

    arrays: dict[tuple[str, str], Any]
    supplied: int
    uniform: frozenset[str]


def constant_arrays(
    binding: Binding,
    given: dict[str, Any],
    pull: bool,
    of_graph: Graph | Resident,
    shared: Constants | None = None,
) -> Constants:
    """The arrays that runs only read.

    Args:
        binding: the program on its graph.
        given: arrays for fields, by name.
        pull: whether edge fields are needed in the order of in-edges, too.
        of_graph: has the graph's arrays, where the engine reads them.
        shared: those of runs to which nothing is given, if they were made; the arrays of other fields are taken from
            them.
    """
    graph, spec = binding.graph, binding.spec
    arrays: dict[tuple[str, str], Any] = {} if shared is None else dict(shared.arrays)
    anew = [*spec.vertex_fields, *spec.edge_fields] if shared is None else given
    supplied, uniform = 0, set() if shared is None else set(shared.uniform).difference(given)
    if pull and any(name in given for name in spec.edge_fields):
        _ = graph.in_arcs  # before other arrays: making it takes more memory than it keeps
    for i, name in enumerate(spec.vertex_fields):
        if name not in anew:
            continue
        start = initial_vertex_value(binding, name, given)
        supplied |= (start.ndim == 1) << i
        arrays["initial", name] = np.atleast_1d(start)
    for name in spec.edge_fields:
        if name not in anew:
            continue
        whole = name in spec.edge_writes or name in spec.state_reads
        start = initial_edge_value(binding, name, given, of_graph)
        if start.ndim == 0 and not whole:
            uniform.add(name)
        values = start if start.ndim else np.full(graph.num_arcs if whole else 1, start)
        arrays["edge", name] = arrays["along", name] = values
        if not pull or start.ndim == 0:
            arrays["in_along", name] = values
        elif starts_as_weights(binding, name, given):
            arrays["in_along", name] = of_graph.in_weights
        else:
            arrays["in_along", name] = in_order(values, graph.in_arcs)
    if shared is None:
        for name in STATE_ARRAYS:
            arrays["degree", name] = getattr(of_graph, name) if name in spec.state_reads else _NO_DEGREES
    return Constants(arrays, int(supplied), frozenset(uniform))


def laying_out(binding: Binding) -> Step:
    """The host's memory that `constant_arrays` takes beside arrays of the graph if nothing is given."""
    spec, num_arcs = binding.spec, binding.graph.num_arcs
    whole = [name for name in spec.edge_fields if name in spec.edge_writes | spec.state_reads]
    made = [name for name in whole if not starts_as_weights(binding, name, {})]
    return held(num_arcs * sum(binding.edge[name].itemsize for name in made))


def taking(binding: Binding, given: dict[str, Any], pull: bool) -> Step:
    """The host's memory that `constant_arrays` takes for what is given."""
    steps: list[Step] = []
    for name in given:
        in_order = pull and name in binding.edge
        size = binding.graph.num_arcs * binding.edge[name].itemsize if in_order else 0
        steps += giving(binding, name, given), held(size)
    return in_turn(*steps)


def made_for(binding: Binding, given: dict[str, Any], pull: bool) -> list[Made]:
    """Which arrays of the graph a run on the CPU needs."""
    spec = binding.spec
    ordered = spec.needs_arc_index or any(name in given for name in spec.edge_fields)
    degrees = [Made(name) for name in STATE_ARRAYS if name in spec.state_reads]
    return [*[Made.IN_EDGES] * pull, *[Made.IN_ARCS] * (pull and ordered), *degrees]


def written_arrays(
    constants: Constants, binding: Binding, parameters: dict[str, Any], given: dict[str, Any], partials: int
) -> dict[tuple[str, str], np.ndarray]:
    """The arrays that a run on a CPU writes, and its parameters, by kind and name as in `Constants`.

    Args:
        constants: what it only reads.
        binding: the program on its graph.
        parameters: their values.
        given: arrays for fields, by name.
        partials: how many parts of an aggregate it keeps.
    """
    arrays: dict[tuple[str, str], np.ndarray] = {}
    for name, dtype in binding.vertex.items():
        arrays["vertex", name] = (
            constants.arrays["initial", name].copy()
            if name in given
            else np.empty(binding.graph.num_vertices, dtype)
        )
    for name in binding.spec.edge_writes:
        arrays["edge", name] = constants.arrays["edge", name].copy()
    for name, value in parameters.items():
        arrays["parameter", name] = np.array([value])
    for name, dtype in binding.aggregates.items():
        arrays["aggregate", name] = np.zeros(1, dtype)
        arrays["partial", name] = np.empty(max(1, partials), dtype)
    return arrays
