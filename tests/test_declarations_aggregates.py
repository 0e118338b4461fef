"""What a program declares: aggregates and when they are read, messages, and what cannot be compiled."""

import itertools
import subprocess
import sys
import warnings

import numpy as np
import pytest
from declared_cases import PATH, Base, made, refusal

import edgewise as ew
from edgewise.errors import ProgramWarning


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
        ("state.value[v] = 'abc' + message", "'abc': strings cannot be used", 2),
        ("state.value[v] = sorted((message, 3))[0]", "sorted(...) makes a list", 2),
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
