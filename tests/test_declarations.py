"""What a program declares: every combination of options works as it reads, or is refused before the run."""

import itertools
import subprocess
import sys
import warnings

import numpy as np
import pytest

import edgewise as ew
from edgewise.engine.binding import bind, initial_edge_value, initial_vertex_value, parameter_values
from edgewise.errors import GraphError, ProgramError, ProgramWarning
from edgewise.inspection import inspect_program

PATH = ew.Graph.from_edges([0, 1, 2], [1, 2, 3])
WEIGHTED = ew.Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([5, 6, 7], np.int32))


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
    start = initial_edge_value(binding, "x", {}, lambda name: getattr(graph, name))
    return np.broadcast_to(start, graph.num_arcs)


def start_of_vertices(*declared, **options):
    """The same of a vertex field."""
    return initial_vertex_value(bind(inspect_program(made(x=ew.vertex(*declared, **options))), PATH), "x", {})


def parameter_of(*declared):
    """The value of a parameter that is not given."""
    return parameter_values(bind(inspect_program(made(x=ew.parameter(*declared))), PATH), {})["x"]


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64", ew.WEIGHT, ew.VERTEX])
@pytest.mark.parametrize("graph", [PATH, WEIGHTED], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("options", [{}, {"init": 7}, {"default": 7}, {"init": 3, "default": 7}], ids=str)
def test_every_edge_field_holds_what_it_says_or_is_refused(dtype, graph, options):
    if dtype is not ew.WEIGHT and "default" in options:
        with pytest.raises(ProgramError, match=r"is no ew.WEIGHT; give init="):
            start_of_edges(graph, dtype, **options)
    elif dtype is not ew.WEIGHT:
        start = start_of_edges(graph, dtype, **options)
        assert start.tolist() == [options.get("init", 0)] * 3 if dtype != "bool" else [bool(options)] * 3
    elif "init" in options:
        with pytest.raises(ProgramError, match=r"init=. would never be used.*give default="):
            start_of_edges(graph, dtype, **options)
    elif not options and not graph.weighted:
        with pytest.raises(GraphError, match="weights of a graph that has none"):
            start_of_edges(graph, dtype, **options)
    else:
        assert start_of_edges(graph, dtype, **options).tolist() == ([5, 6, 7] if graph.weighted else [7] * 3)


def test_an_edge_field_that_is_read_has_its_start():
    class Sends(Base):
        x = ew.edge("int64", init=7)

        @staticmethod
        def edge_compute(edge, state):
            return float(edge.x)

    assert ew.run(Sends, WEIGHTED).value.tolist() == [0, 7, 7, 7]


BAD = {
    "int32": ["7", [1, 2, 3, 4], np.arange(4), None, 1.5, 2**31, ew.MIN, 1j, np.float64(2.0)],
    "int64": [2**63, -(2**63) - 1, {1: 2}],
    "float32": [1e300, "inf", b"1"],
    "float64": [2**2000],
    "bool": ["True", (True,)],
}


@pytest.mark.parametrize(
    ("dtype", "value"),
    [(d, v) for d, values in BAD.items() for v in values],
    ids=lambda each: getattr(each, "name", repr(each)),
)
def test_a_start_that_is_no_number_of_the_dtype_is_refused(dtype, value):
    with pytest.raises(ProgramError, match=r"Made.x: init="):
        start_of_vertices(dtype, init=value)
    with pytest.raises(ProgramError, match=r"Made.x: init="):
        start_of_edges(PATH, dtype, init=value)


@pytest.mark.parametrize("value", ["7", [1], None, ew.INFINITY])
def test_a_default_weight_that_is_no_number_is_refused(value):
    with pytest.raises(ProgramError, match=r"Made.x: default="):
        start_of_edges(PATH, default=value)


@pytest.mark.parametrize(
    ("dtype", "value", "start"),
    [
        ("int32", True, 1),
        ("int64", np.int8(-3), -3),
        ("float32", np.float64(0.5), 0.5),
        ("float64", 2**60, 2**60),
        ("float32", -np.inf, -np.inf),
        ("bool", 2, True),
        ("int32", ew.INFINITY, 2**31 - 1),
        ("float64", ew.INFINITY, np.inf),
    ],
)
def test_numbers_of_all_kinds_start_a_field(dtype, value, start):
    assert start_of_vertices(dtype, init=value) == start
    assert start_of_edges(PATH, dtype, init=value).tolist() == [start] * 3


def test_parameters_take_their_defaults_or_refuse_them():
    for dtype, default, expected in [
        (None, 7, 7),
        (None, 0.5, 0.5),
        (None, True, True),
        ("int32", -3, -3),
        ("float32", 2, 2.0),
        (ew.VERTEX, 2, 2),
    ]:
        value = parameter_of(dtype, default)
        assert value == expected and type(value) is type(expected)
    for dtype, default in [("int32", 1.5), ("int32", 2**31), (None, "7"), ("float64", [1.0]), (None, None)]:
        with pytest.raises(ProgramError, match=r"Made\(x="):
            parameter_of(dtype, default)
    for default in (ew.INFINITY, ew.REQUIRED):
        with pytest.raises(ProgramError, match="only for init="):
            parameter_of("float64", default)
    with pytest.raises(GraphError):
        parameter_of(ew.VERTEX, 9)


def test_a_required_field_has_to_be_given():
    class Needs(Base):
        x = ew.vertex("int64", init=ew.REQUIRED)
        y = ew.edge("int64", init=ew.REQUIRED)

        @staticmethod
        def edge_compute(edge, state):
            return float(state.x[edge.source] + edge.y)

    x, y = np.arange(4), 10 * np.arange(3)
    assert "Needs needs x, an array with a value for each vertex" in refusal(Needs)
    assert "Needs needs y, an array with a value for each edge, in CSR order" in refusal(Needs, x=x)
    assert "shape (3,), expected (4,)" in refusal(Needs, x=y, y=y)
    prepared = ew.prepare(Needs, PATH)
    with pytest.raises(ProgramError, match="needs x"):
        prepared()
    assert prepared(x=x, y=y).value.tolist() == [0, 0, 11, 22]
    assert prepared(x=x, y=y, check=True).value.tolist() == [0, 0, 11, 22]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("initialise", "initialize"),
        ("initalize", "initialize"),
        ("edge_computes", "edge_compute"),
        ("vertexcompute", "vertex_compute"),
        ("procede", "proceed"),
    ],
)
def test_a_function_whose_name_is_near_a_hook_is_refused(name, near):
    def function(v, state):
        return ew.HALT

    for value in (function, staticmethod(function), classmethod(function)):
        assert refusal(made(Base, **{name: value})) == f"Made.{name} means nothing; did you mean {near}?"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("max_superstep", "max_supersteps"),
        ("asynchronus", "asynchronous"),
        ("combiner", "combine"),
        ("Combine", "combine"),
        ("messages", "message"),
    ],
)
def test_an_attribute_whose_name_is_near_a_setting_is_refused(name, near):
    assert f"did you mean {near}?" in refusal(made(Base, **{name: 1}))


def test_an_attribute_that_means_nothing_is_refused_wherever_it_is_inherited_from():
    assert "Made.limit means nothing" in refusal(made(Base, limit=3))
    assert "ew.parameter(default=3)" in refusal(made(Base, limit=3))

    class Mixin:
        depth = 5

    assert "Mixed.depth means nothing" in refusal(type("Mixed", (Mixin, Base), {}))


def test_what_a_class_has_for_its_own_use_is_allowed():
    class Own(Base):
        """Neither of these has anything to do with a run."""

        _limit = 3
        names: dict[str, int]

        @classmethod
        def starting_at(cls, x):
            return cls()

        @staticmethod
        def shown(result):
            return result.value

        @property
        def size(self):
            return 1

    assert ew.run(Own.starting_at(3), PATH).value.tolist() == [0, 1, 1, 1]


def test_settings_of_another_kind_are_refused():
    assert "asynchronous is 1; expected True or False" in refusal(made(Base, asynchronous=1))


@pytest.mark.parametrize("name", ["progress", "memory_limit", "check", "max_supersteps", "values"])
def test_names_of_options_are_taken(name):
    assert "this name is taken" in refusal(made(Base, **{name: ew.parameter(default=1)}))


class Seeded(Base):
    """Has a seed of its own, and draws nothing."""

    seed = ew.parameter("int64")

    @staticmethod
    def initialize(v, state):
        state.value[v] = state.seed
        return False


def test_a_program_that_draws_nothing_may_have_a_seed_of_its_own():
    assert ew.run(Seeded(seed=7), PATH).value.tolist() == [7, 7, 7, 7]
    assert ew.prepare(Seeded, PATH)(seed=8).value.tolist() == [8, 8, 8, 8]
    program = made(Seeded, edge_compute=staticmethod(draws))
    assert "seed: this name is taken, for the program draws random numbers" in refusal(program)


def draws(edge, state):
    return ew.random.integers(edge.index, state, 0, 2)


class Peeling(ew.Program):
    """Reads how many vertices are gone before any can be, unless that is given or `patient`."""

    patient = ew.parameter("bool", default=False)
    gone = ew.vertex("bool", init=False)
    k = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 3

    @staticmethod
    def edge_compute(edge, state):
        return 1

    @staticmethod
    def vertex_compute(v, message, state):
        if not state.patient or state.superstep > 1:
            state.k[v] += state.count == 0
        state.gone[v] = message <= state.k[v]
        return True

    @ew.aggregator(ew.SUM, "int64")
    @staticmethod
    def count(v, state):
        return 1 if state.gone[v] else 0


def test_a_checked_run_says_that_an_aggregate_is_read_too_early():
    with pytest.warns(
        ProgramWarning, match=r"state\.count is read in superstep 1, where gone, of which"
    ) as caught:
        checked = ew.run(Peeling(), PATH, check=True)
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(ew.run(Peeling(), PATH).k, checked.k)


def test_an_aggregate_of_what_was_set_is_not_read_too_early():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ew.run(Peeling(patient=True), PATH, check=True)
        ew.run(Peeling(gone=np.zeros(PATH.num_vertices, bool)), PATH, check=True)


def never_sets(v, state):
    if state.superstep > 9:
        state.gone[v] = True
    return True


def test_a_branch_that_is_never_taken_sets_nothing():
    with pytest.warns(ProgramWarning, match=r"state\.count is read in superstep 1"):
        ew.run(made(Peeling, initialize=staticmethod(never_sets))(), PATH, check=True)


class Resumed(Peeling):
    """All vertices sleep at first; who goes on, and from what count, is what `resume` says."""

    @staticmethod
    def initialize(v, state):
        return False

    @staticmethod
    def resume(v, state):
        state.gone[v] = True
        return state.count == 0


def test_resume_is_before_the_first_superstep_not_too_early_in_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ew.run(Resumed(), PATH, check=True).aggregates == ew.run(Resumed(), PATH).aggregates


def test_an_aggregate_by_a_logical_combiner_is_a_bool():
    class Ended(Base):
        max_supersteps = 5

        @ew.aggregator(ew.ANY)
        @staticmethod
        def some(v, state):
            return state.value[v] > 0.5

        @ew.aggregator(ew.ALL)
        @staticmethod
        def every(v, state):
            return state.value[v] > 0.5

        @staticmethod
        def proceed(state):
            return state.every

    result = ew.run(Ended, PATH)
    assert result.aggregates["some"] is True and result.aggregates["every"] is False


def test_initialize_may_not_read_an_aggregate():
    class Early(Base):
        @staticmethod
        def initialize(v, state):
            return state.total > 0

        @ew.aggregator(ew.SUM)
        @staticmethod
        def total(v, state):
            return state.value[v]

    assert "state.total has no value yet" in refusal(Early)


def test_messages_of_several_fields_have_no_length_of_their_own():
    class Several(Base):
        combine = ew.MESSAGES
        message = ew.fields(a="int64", b="int64")

        @staticmethod
        def edge_compute(edge, state):
            return 1, 2

    uses = (
        "len(messages)",
        "messages[0].a",
        "sum(messages)",
        "messages.c",
        "messages.count",
        "messages.a.sum()",
    )
    for use in uses:
        scope = {"ew": ew}
        source = f"def vertex_compute(v, messages, state):\n    state.value[v] = {use}\n    return ew.HALT\n"
        program = written(Several, source, scope)
        assert "messages.a" in refusal(program) and "line 2" in refusal(program)

    class Right(Several):
        @staticmethod
        def vertex_compute(v, messages, state):
            state.value[v] = len(messages.a) + 10 * len(messages.b)
            return ew.HALT

    assert ew.run(Right, PATH).value.tolist() == [0, 11, 11, 11]
    assert ew.run(Right, PATH, check=True).value.tolist() == [0, 11, 11, 11]


_files = itertools.count()


def written(base, source, scope):
    """A program whose vertex_compute has this source, in a file that exists."""
    import linecache

    name = f"<written {next(_files)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), scope)
    return made(base, vertex_compute=staticmethod(scope["vertex_compute"]))


HELPERS = """
def inner(x):
    return x + 1
"""


@pytest.mark.parametrize(
    ("body", "expected", "line"),
    [
        ("state.value[v] = Plain.helper(1)", "Plain.helper cannot be used", 2),
        ("state.value[v] = Plain.LIMIT", "define this value outside of classes", 2),
        ("a = [1, 2, 3]; state.value[v] = a[0]", "a list cannot be made", 2),
        ("a = {1: 2}; state.value[v] = a[1]", "a dict cannot be made", 2),
        ("a = [x for x in range(3)]; state.value[v] = a[0]", "a list cannot be made", 2),
        ("a = np.zeros(3); state.value[v] = a[0]", "there is no zeros(", 2),
        ("state.value[v] = (y := message) + y", "':=' cannot be used", 2),
        ("state.value[v] = 'abc' + message", "there is no add(Literal[str](abc), float64)", 2),
        ("state.value[v] = sorted((message, 3))[0]", "numba cannot compile this", 1),
        ("state.value[v] = np.random.rand()", "np.random.rand draws other numbers", 2),
        ("state.value[v] = random.random()", "random.random draws other numbers", 2),
        ("state.value[v] = rand()", "rand draws other numbers", 2),
        ("state.value[v] = generator.random()", "generator draws other numbers", 2),
        ("state.value[v] = noisy(message)", "np.random.rand draws other numbers", None),
    ],
)
def test_what_cannot_be_compiled_is_said_in_the_users_terms(body, expected, line):
    import random

    class Plain(Base):
        _LIMIT = 3

        @staticmethod
        def helper(x):
            return x

    Plain.LIMIT = 3
    generator = np.random.default_rng(1)

    def noisy(x):
        return x + np.random.rand()

    scope = {
        "ew": ew,
        "np": np,
        "random": random,
        "rand": np.random.rand,
        "generator": generator,
        "noisy": noisy,
        "Plain": Plain,
    }
    source = f"def vertex_compute(v, message, state):\n    {body}\n    return ew.HALT\n"
    line = line or noisy.__code__.co_firstlineno + 1
    text = refusal(written(Base, source, scope))
    assert expected in text and f"line {line}:" in text, text


def test_messages_are_an_array_without_methods():
    class Kept(Base):
        combine = ew.MESSAGES

    source = "def vertex_compute(v, messages, state):\n    messages.sort()\n    return ew.HALT\n"
    text = refusal(written(Kept, source, {"ew": ew}))
    assert "'messages.sort': messages have no 'sort'" in text and "line 2" in text


PROGRAM = """
import edgewise as ew

class Typed(ew.Program):
    x = ew.vertex("int64")
    combine = ew.SUM
    @staticmethod
    def edge_compute(edge, state): return 1
    @staticmethod
    def vertex_compute(v, message, state): return ew.HALT

try:
    ew.run(Typed, ew.Graph.from_edges([0], [1]))
except ew.errors.ProgramError as error:
    print(error)
"""


def test_a_program_that_is_piped_or_passed_to_python_is_told_to_be_in_a_file():
    for arguments, piped in ((["-"], PROGRAM), (["-c", PROGRAM], "")):
        ran = subprocess.run(
            [sys.executable, *arguments], input=piped, capture_output=True, text=True, check=True
        )
        assert "Python keeps no source" in ran.stdout and "in a file" in ran.stdout, ran.stdout + ran.stderr
