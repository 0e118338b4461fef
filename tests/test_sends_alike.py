"""Of which programs it is known that a vertex sends one message along all of its out-edges, and who makes use of it."""

import math

import numpy as np
import pytest
import spread_programs

import edgewise as ew
from edgewise.engine.delivery import decide
from edgewise.program.inspect import inspect_program

NOTHING, HALF, TABLE = None, 0.5, np.arange(9)


class Base(ew.Program):
    """What programs here have in common."""

    value = ew.vertex("float64", 1)
    length = ew.edge(ew.WEIGHT, default=1)
    factor = ew.parameter("float64", 2)
    combine = ew.SUM
    max_supersteps = 3

    @staticmethod
    def initialize(v, state):
        return ew.ACTIVE

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message
        return ew.ACTIVE


class Plain(Base):
    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source]


class OfTheRun(Base):
    @staticmethod
    def edge_compute(edge, state):
        sent = state.value[edge.source] * state.factor * HALF
        if state.superstep > 1 and edge.source > 2:
            return sent / state.out_degree[edge.source]
        return sent + state.num_vertices


class ByName(Base):
    @staticmethod
    def edge_compute(edge, state):
        u = edge.source
        return state.value[u] / state.out_degree[u]


class ByNameGivenTwice(Base):
    @staticmethod
    def edge_compute(edge, state):
        u = edge.source
        u -= u % 2
        return state.value[u]


class ByNameGivenSometimes(Base):
    @staticmethod
    def edge_compute(edge, state):
        u = 0
        if state.superstep > 1:
            u = edge.source
        return state.value[u]


class ByNameOfMore(Base):
    @staticmethod
    def edge_compute(edge, state):
        u = edge.source // 2
        return state.value[u]


class ByNameOfTheTarget(Base):
    @staticmethod
    def edge_compute(edge, state):
        u = edge.target
        return state.value[u]


class SometimesNone(Base):
    @staticmethod
    def edge_compute(edge, state):
        if state.value[edge.source] > 0:
            return state.value[edge.source]
        return None


class NoReturn(Base):
    @staticmethod
    def edge_compute(edge, state):
        if state.value[edge.source] > 0:
            return state.value[edge.source]


class NoneInside(Base):
    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] if state.value[edge.source] > 0 else None


class NoneByName(Base):
    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] if state.value[edge.source] > 0 else NOTHING


class OfTheTarget(Base):
    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] - state.value[edge.target]


class OfTheEdge(Base):
    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] + edge.length


class OfAnEdgeField(Base):
    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] + state.length[edge.source]


class OfTheIndex(Base):
    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] + edge.index


class OfATable(Base):
    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] + TABLE[edge.source]


class OfACall(Base):
    @staticmethod
    def edge_compute(edge, state):
        return math.sqrt(state.value[edge.source])


class Drawn(Base):
    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] + ew.random(edge.source, state)


@pytest.mark.parametrize(
    "program", [Plain, OfTheRun, ByName, *spread_programs.PROGRAMS], ids=lambda each: each.__name__
)
def test_programs_that_send_alike(program):
    assert inspect_program(program).sends_alike


@pytest.mark.parametrize(
    "program",
    [
        SometimesNone, NoReturn, NoneInside, NoneByName, OfTheTarget, OfTheEdge, OfAnEdgeField, OfTheIndex, OfATable,
        OfACall, Drawn, ByNameGivenTwice, ByNameGivenSometimes, ByNameOfMore, ByNameOfTheTarget,
    ],
    ids=lambda each: each.__name__,
)  # fmt: skip
def test_programs_of_which_that_is_not_known(program):
    assert not inspect_program(program).sends_alike


def spreads(program, message, schedule, in_edges=True, on_gpu=True):
    return decide(inspect_program(program), np.dtype(message), schedule, in_edges, on_gpu).spreads


def test_with_a_layout_or_a_thread_for_each_vertex_they_send_once():
    layout, threads = ew.Schedule(layout=ew.Layout()), ew.Schedule(balance=ew.ThreadMapped())
    slots = ew.approx.coalesce(ew.generate.uniform(90, 310, seed=1)).schedule
    for schedule in (ew.Schedule(), layout, threads, slots):
        assert spreads(Plain, "float64", schedule)
        assert not spreads(Plain, "float64", schedule, on_gpu=False)
        assert not spreads(OfTheEdge, "float64", schedule)
    asked = decide(inspect_program(Plain), np.dtype("float64"), ew.Schedule(), True, True)
    assert asked.by_threads().spreads
    assert not asked.by_merge_path().spreads and not asked.without_layout().spreads
    for schedule in (ew.Schedule(balance=ew.EdgeBased()), ew.Schedule(ew.Buffered()), ew.Schedule(ew.Push())):
        assert not spreads(spread_programs.Counts, "int64", schedule)
    assert spreads(spread_programs.Counts, "int64", layout)
    assert not spreads(spread_programs.Counts, "int64", threads, in_edges=False)
