"""Whether a program's functions look at other vertices than the one that they are called for."""

import pytest
from test_engines import SSSP, Components, Highest, Least, Widest

import edgewise as ew
from edgewise.program.inspect import inspect_program
from edgewise.program.reach import looks_at_others


class Own(ew.Program):
    """It reads its own values and parameters."""

    factor = ew.parameter("int64", default=2)
    value = ew.vertex("int64")
    length = ew.edge("int64", init=1)
    combine = ew.MIN

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] * state.factor + edge.length

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message
        return state.value[v] > state.out_degree[v]


class Follows(Own):
    """It follows a pointer."""

    start = ew.vertex("int64")
    pointer = ew.vertex(ew.VERTEX, init=0)

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = state.start[state.pointer[v]]
        return False


class ByEdge(Own):
    """It takes the number of an edge for a vertex."""

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.index]


class Renames(Own):
    """It may mean another vertex by another name: that is not plain."""

    @staticmethod
    def edge_compute(edge, state):
        u = edge.source
        return state.value[u]


@pytest.mark.parametrize("program", [SSSP, Components, Highest, Widest, Own])
def test_programs_that_look_at_their_own_vertex(program):
    assert not looks_at_others(inspect_program(program))


@pytest.mark.parametrize("program", [Least, Follows, ByEdge, Renames])
def test_programs_that_may_look_at_others(program):
    assert looks_at_others(inspect_program(program))
