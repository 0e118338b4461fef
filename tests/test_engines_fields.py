"""The CPU engine agrees with the reference on what edges of halted vertices, fields and messages hold."""

import battery
import numpy as np
import pytest
from test_engines import (
    BFS,
    Chain,
    Helped,
    LateMirror,
    Loop,
    Mirror,
    Traffic,
)

import edgewise as ew
from edgewise.program.inspect import inspect_program
from edgewise.run import Prepared


@pytest.mark.parametrize(
    "program",
    [Chain, pytest.param(Loop, marks=pytest.mark.slow), pytest.param(Helped, marks=pytest.mark.slow)],
)
def test_edges_of_halted_vertices_are_not_asked_where_that_could_harm(program):
    """Pulling looks at all in-edges. Asked of a halted source, these programs would read outside, or hang."""
    assert not inspect_program(program).edge_compute_is_harmless
    graph = ew.generate.uniform(3000, 20_000, seed=1)
    prepared = Prepared(program, graph, schedule=ew.Schedule(delivery=ew.Pull()))
    np.testing.assert_array_equal(prepared().found, prepared.reference({}, None).vertex_fields["found"])


def test_edges_of_halted_vertices_may_be_asked_where_ends_are_all_that_matters():
    assert inspect_program(BFS).edge_compute_is_harmless
    assert not inspect_program(Traffic).edge_compute_is_harmless


@pytest.mark.parametrize("program", [Mirror, pytest.param(LateMirror, marks=pytest.mark.slow)])
def test_initialize_reads_fields_that_are_all_filled(program):
    graph = ew.Graph.from_edges([0], [1], num_vertices=300_000)
    prepared = Prepared(program, graph, schedule=ew.Schedule(num_threads=3))
    for _ in range(5):
        assert np.all(prepared().seen == 7)


def stores_its_message(combiner, dtype):
    """A program whose vertices store what they get without a look at it."""

    class Stores(ew.Program):
        got = ew.vertex(dtype)
        combine = combiner
        message = dtype
        max_supersteps = 3

        @staticmethod
        def edge_compute(edge, state):
            return edge.source % 100 + 1

        @staticmethod
        def vertex_compute(v, message, state):
            state.got[v] = message
            return v % 3 != 0

    return Stores


@pytest.mark.parametrize(
    ("combiner", "dtype"),
    [
        (ew.MIN, "int64"),
        (ew.MAX, "float64"),
        pytest.param(ew.SUM, "int32", marks=pytest.mark.slow),
        pytest.param(ew.PRODUCT, "int32", marks=pytest.mark.slow),
    ],
    ids=lambda each: getattr(each, "name", each),
)
def test_messages_that_are_stored_unseen_agree_with_the_reference(combiner, dtype):
    """Loops without a branch of the program's own are those that the compiler turns into vector instructions."""
    graph = ew.generate.uniform(300, 900, seed=4)
    for schedule in battery.SCHEDULES.values():
        prepared = Prepared(stores_its_message(combiner, dtype), graph, schedule=schedule)
        expected = prepared.reference({}, 3).vertex_fields["got"]
        np.testing.assert_array_equal(prepared().got, expected)


class Swaps(ew.Program):
    """What LLVM 22 gets wrong in a vectorised loop: a conditional load, then a conditional store to the same place."""

    stock = ew.vertex("int64", init=5)
    taken = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 2

    @staticmethod
    def initialize(v, state):
        got = 2**40
        if v % 7 != 3:
            got = state.stock[v]
            state.stock[v] = 2**40
        state.taken[v] = got
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        return 1

    @staticmethod
    def vertex_compute(v, message, state):
        got = 2**40
        if state.stock[v] < 2**40 or message > 2:
            got = state.stock[v]
            state.stock[v] = 2**40
        state.taken[v] = got + message
        return ew.ACTIVE


def test_fields_that_are_read_and_then_written_keep_that_order():
    graph = ew.generate.uniform(3000, 9000, seed=4)
    for schedule in battery.SCHEDULES.values():
        prepared = Prepared(Swaps, graph, schedule=schedule)
        expected = prepared.reference({}, 2).vertex_fields
        for name, want in expected.items():
            np.testing.assert_array_equal(prepared().fields[name], want)


def test_a_combiner_may_be_a_loop_and_its_identity_is_part_of_the_compiled_code():
    def gcd(a, b):
        while b:
            a, b = b, a % b
        return a

    graph = ew.Graph.from_edges([1, 2], [0, 0], num_vertices=4)
    for identity in (0, 12):
        prepared = Prepared(stores_its_message(ew.combiner(gcd, identity=identity), "int64"), graph)
        got = prepared(max_supersteps=1).got
        np.testing.assert_array_equal(got, prepared.reference({}, 1).vertex_fields["got"])
        assert got[3] == identity


def zeros(combiner, dtype, delayed):
    """A program in which vertices get 0.0 and -0.0, and keep what they get."""

    class Zeros(ew.Program):
        got = ew.vertex(dtype, init=1.0 if combiner is ew.MIN else -1.0)
        combine = combiner
        message = dtype
        asynchronous = delayed

        @staticmethod
        def edge_compute(edge, state):
            return -0.0 if edge.source % 2 == 0 else 0.0

        @staticmethod
        def vertex_compute(v, message, state):
            if message < 0.5 and message > -0.5:
                state.got[v] = message
            return ew.HALT

        @ew.aggregator(combiner, dtype)
        @staticmethod
        def either(v, state):
            return -0.0 if v % 2 == 0 else 0.0

    if delayed:
        del Zeros.either
    return Zeros


ZEROS = [
    (ew.MIN, "float64", False),
    (ew.MAX, "float32", False),
    (ew.MAX, "float64", True),
    pytest.param(ew.MIN, "float32", True, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(("combiner", "dtype", "delayed"), ZEROS)
def test_zeros_of_either_sign_are_one(combiner, dtype, delayed, device, small_pieces):
    """Neither is less, so that which came first would say which is kept."""
    graph = ew.generate.uniform(300, 3000, seed=2)
    program = zeros(combiner, dtype, delayed)
    expected = Prepared(program, graph, "cpu").reference({}, None)
    assert not np.signbit(expected.vertex_fields["got"][graph.in_degree > 0]).any()
    threads = {"num_threads": 3} if device == "cpu" else {}
    for delivery in ("auto",) if delayed else ("auto", ew.Push(), ew.Pull(), ew.Buffered()):
        prepared = Prepared(program, graph, device, schedule=ew.Schedule(delivery, **threads))
        for _ in range(5):
            result = prepared()
            assert result.got.tobytes() == expected.vertex_fields["got"].tobytes()
            if not delayed:
                assert not np.signbit(result.aggregates["either"])
