"""Random programs on random graphs: the CPU engine (with `pytest -m gpu` the GPU's), the reference, and a renumbered
graph agree.

The programs differ in dtype and combiner; what they compute, where they start, which edges stay silent and who
halts when depends on drawn parameters.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import edgewise as ew
from edgewise.run import Prepared


class Drawn(ew.Program):
    """A program whose behaviour is drawn. It knows vertices by `name` only, so renumbering cannot matter."""

    name = ew.vertex("int64")
    value = ew.vertex("int64")
    woken = ew.vertex("int32")
    weight = ew.edge(ew.WEIGHT, default=1)
    seed = ew.parameter(int)
    period = ew.parameter(int)
    silent = ew.parameter(int)
    last = ew.parameter(int)
    combine = ew.MIN

    @staticmethod
    def initialize(v, state):
        state.value[v] = (state.name[v] * 7 + state.seed) % 13
        return (state.name[v] + state.seed) % state.period != 0

    @staticmethod
    def edge_compute(edge, state):
        if (state.name[edge.source] + 3 * state.name[edge.target]) % 5 == state.silent:
            return None
        return state.value[edge.source] + edge.weight

    @staticmethod
    def vertex_compute(v, message, state):
        state.woken[v] = state.woken[v] + 1
        if message < state.value[v] or (state.name[v] + state.superstep) % 3 == 0:
            state.value[v] = message
        return state.superstep < state.last and (state.name[v] + state.superstep) % state.period != 0

    @ew.aggregator(ew.SUM, "int64")
    @staticmethod
    def wakings(v, state):
        return state.woken[v]


class MinInt32(Drawn):
    value = ew.vertex("int32")
    message = "int32"


class MaxFloat64(Drawn):
    value = ew.vertex("float64")
    combine = ew.MAX


class SumInt64(Drawn):
    combine = ew.SUM


class SumFloat32(Drawn):
    value = ew.vertex("float32")
    combine = ew.SUM
    message = "float32"


class ProductInt32(Drawn):
    value = ew.vertex("int32")
    combine = ew.PRODUCT
    message = "int32"


class AnyBool(Drawn):
    value = ew.vertex("bool")
    combine = ew.ANY
    message = "bool"


def _greater_even(a, b):
    return a if (a % 2 == 0, a) > (b % 2 == 0, b) else b


class UserInt64(Drawn):
    combine = ew.combiner(_greater_even, identity=-1)


PROGRAMS = [MinInt32, MaxFloat64, SumInt64, SumFloat32, ProductInt32, AnyBool, UserInt64]
SCHEDULES = {
    "cpu": [
        ew.Schedule(num_threads=1),
        ew.Schedule(num_threads=3),
        ew.Schedule(delivery=ew.Push(), num_threads=2),
        ew.Schedule(delivery=ew.Pull(), num_threads=2),
    ],
    "cuda": [ew.Schedule(), ew.Schedule(ew.Pull(), balance=ew.BlockMapped()), ew.Schedule(ew.Buffered())],
}


@st.composite
def drawn_graphs(draw):
    """Edges with weights, parallel ones and loops included, and a renumbering; of few vertices, or of more than a warp
    or a block has threads or one thread is given at a time."""
    n = draw(st.one_of(st.integers(1, 40), st.integers(41, 300), st.integers(1025, 1300)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    m = draw(st.integers(0, 4 * n))
    edges = rng.integers(0, n, (m, 2))
    return n, edges, rng.integers(0, 9, m).astype(np.int32), rng.permutation(n), draw(st.booleans())


def graph_of(n, edges, weights, directed, number):
    return ew.Graph.from_edges(number[edges[:, 0]], number[edges[:, 1]], weights, directed, num_vertices=n)


#: Combiners whose likes are drawn for, too: `make test-all` takes them on the CPU.
ALIKE = (MaxFloat64, SumInt64, ProductInt32)
DRAWN = [
    pytest.param(program, "cpu", marks=pytest.mark.slow if program in ALIKE else ()) for program in PROGRAMS
]
DRAWN += [pytest.param(program, "cuda", marks=pytest.mark.gpu) for program in PROGRAMS]


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(("program", "device"), DRAWN)
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(drawn=drawn_graphs(), data=st.data())
def test_engines_agree_on_drawn_programs(program, device, drawn, data):
    n, edges, weights, renumbered, directed = drawn
    values = {
        "seed": data.draw(st.integers(0, 12)),
        "period": data.draw(st.integers(2, 5)),
        "silent": data.draw(st.integers(0, 6)),
        "last": data.draw(st.integers(1, 5)),
    }
    plain = graph_of(n, edges, weights, directed, np.arange(n))
    expected = Prepared(program, plain, "cpu").reference({"name": np.arange(n), **values}, None)
    exact = expected.vertex_fields["value"].dtype.kind != "f"
    for schedule in SCHEDULES[device]:
        got = Prepared(program, plain, device, schedule)(name=np.arange(n), **values)
        assert got.supersteps == expected.supersteps
        assert got.aggregates == expected.aggregates
        np.testing.assert_array_equal(got.woken, expected.vertex_fields["woken"])
        np.testing.assert_allclose(got.value, expected.vertex_fields["value"], rtol=0 if exact else 1e-5)
    other = graph_of(n, edges, weights, directed, renumbered)
    names = np.argsort(renumbered)
    got = Prepared(program, other, device)(name=names, **values)
    assert got.supersteps == expected.supersteps
    np.testing.assert_allclose(
        got.value[renumbered], expected.vertex_fields["value"], rtol=0 if exact else 1e-5
    )


def test_float_sums_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(5)
    graph = ew.Graph.from_edges(
        rng.integers(0, 3000, 60000),
        rng.integers(0, 300, 60000) ** 2 % 3000,
        rng.integers(0, 99, 60000).astype(np.int32),
        num_vertices=3000,
    )
    values = {"name": np.arange(3000), "seed": 3, "period": 4, "silent": 2, "last": 5}
    schedules = [ew.Schedule(num_threads=threads) for threads in (1, 2, 3)]
    answers = [ew.prepare(SumFloat32, graph, schedule=schedule)(**values).value for schedule in schedules]
    assert answers[0].tobytes() == answers[1].tobytes() == answers[2].tobytes()
