"""What tests of programs share."""

import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import ProgramError

PATH = ew.Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([5, 6, 7], np.int32))


class Plain(ew.Program):
    """A program that is right; the others break one rule each."""

    value = ew.vertex("int32")
    factor = ew.parameter(int, default=2)
    weight = ew.edge(ew.WEIGHT)
    mark = ew.edge("int32")
    combine = ew.SUM
    max_supersteps = 3

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] + 1

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message
        return ew.ACTIVE


def refused(program, *parts, **values):
    """Run on a path; the message of the error, which must hold all parts."""
    with pytest.raises(ProgramError) as caught:
        ew.run(program(**values), PATH)
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    return str(caught.value)


def line_of(function, text):
    """The line in this file on which a function's source has a text."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)
