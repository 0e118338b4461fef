"""Programs whose vertices send one message along all of their out-edges, in supersteps in which all send and in others,
and how they are compared with the reference."""

import numpy as np
from test_engines import assert_same

import edgewise as ew
from edgewise.run import Prepared


class Sums(ew.Program):
    """Sums of what depends on a parameter, an aggregate, degrees and the superstep; float32 holds these numbers."""

    scale = ew.parameter("int64", default=3)
    value = ew.vertex("float32", 2)
    combine = ew.SUM
    message = "float32"
    max_supersteps = 4

    @staticmethod
    def initialize(v, state):
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        sent = state.scale * state.value[edge.source] + state.out_degree[edge.source] % 4
        if state.superstep > 2:
            return sent + state.highest
        return sent

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = (message + state.superstep) % 64
        return ew.ACTIVE

    @ew.aggregator(ew.MAX)
    @staticmethod
    def highest(v, state):
        return state.value[v]


class Pulse(ew.Program):
    """The least of floats of both signs, of which one is no number. Vertices sleep in every second superstep unless a
    message is small, so that all send in some, and a few in others."""

    value = ew.vertex("float64")
    combine = ew.MIN
    max_supersteps = 7

    @staticmethod
    def initialize(v, state):
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] * 0.5 - 1.0

    @staticmethod
    def vertex_compute(v, message, state):
        if message < state.value[v]:
            state.value[v] = message
        return ew.HALT if message > -1.5 and state.superstep % 2 == 1 else ew.ACTIVE


def product(a, b):
    return a * b % 101


class Products(ew.Program):
    """A combiner of the user's own."""

    value = ew.vertex("int64", 3)
    combine = ew.combiner(product, identity=1)
    max_supersteps = 3

    @staticmethod
    def initialize(v, state):
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        u = edge.source
        return (2 * state.value[u] + state.out_degree[u]) % 101

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message
        return ew.ACTIVE


class Counts(ew.Program):
    """Sums of integers, which may be pushed, too: only vertices with an even sum send again."""

    value = ew.vertex("int64", 1)
    combine = ew.SUM
    max_supersteps = 5

    @staticmethod
    def initialize(v, state):
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] + state.in_degree[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message % 101
        return ew.ACTIVE if message % 2 == 0 or state.superstep < 2 else ew.HALT


PROGRAMS = (Sums, Pulse, Products, Counts)
SCHEDULES = (
    ew.Schedule(),
    ew.Schedule(layout=ew.Layout(threshold=1)),
    ew.Schedule(ew.Pull(), layout=ew.Layout(sort=None)),
    ew.Schedule(ew.Pull(), balance=ew.ThreadMapped()),
)


def values_of(program, graph):
    """Floats of both signs, of which one is no number, for fields that have no value of their own."""
    if program is not Pulse:
        return {}
    value = np.random.default_rng(1).normal(0, 3, graph.num_vertices)
    value[graph.num_vertices // 2 : graph.num_vertices // 2 + 1] = np.nan
    return {"value": value}


def compare(program, graphs, schedules=SCHEDULES):
    """Each schedule on each graph, twice with what the first run left."""
    for name, graph in graphs.items():
        values = values_of(program, graph)
        expected = Prepared(program, graph, "cpu").reference(values, program.max_supersteps)
        for schedule in schedules:
            prepared = Prepared(program, graph, "cuda", schedule, in_edges=True)
            try:
                for _ in range(2):
                    assert_same(prepared(**values), expected, False)
            except AssertionError as error:
                raise AssertionError(f"{program.__name__} on '{name}', {schedule}: {error}") from error
