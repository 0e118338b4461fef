"""What tests of declarations share."""

import numpy as np
import pytest

import edgewise as ew
from edgewise.engine.lowering.binding import bind, initial_edge_value
from edgewise.errors import ProgramError
from edgewise.program.inspect import inspect_program

PATH = ew.Graph.from_edges([0, 1, 2], [1, 2, 3])


class Base(ew.Program):
    """Vertices add up what their in-edges say; one superstep."""

    value = ew.vertex("float64")
    combine = ew.SUM
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return 1.0

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message
        return ew.HALT


def refusal(program, graph=PATH, **values):
    with pytest.raises(ProgramError) as caught:
        ew.run(program(**values), graph)
    return str(caught.value)


def made(base=Base, **attributes):
    return type("Made", (base,), attributes)


def start_of_edges(graph, *declared, **options):
    """What an edge field has at the start of a run, for every engine."""
    binding = bind(inspect_program(made(x=ew.edge(*declared, **options))), graph)
    start = initial_edge_value(binding, "x", {}, graph)
    return np.broadcast_to(start, graph.num_arcs)


def draws(edge, state):
    return ew.random.integers(edge.index, state, 0, 2)
