"""What a program declares: combiners and their identities, settings, and what a class has for its own use."""

from pathlib import Path

import numpy as np
import pytest
from declared_cases import PATH, Base, draws, made, refusal, start_of_edges

import edgewise as ew
from edgewise.errors import GraphError, ParameterError, ProgramError


def larger(a, b):
    return a if a > b else b


def added(a, b):
    return a + b


@pytest.mark.parametrize(
    ("function", "identity", "problem"),
    [
        (
            max,
            0,
            r"expected a function of two messages that is made by def.*combine = ew.MAX is there already",
        ),
        (np.minimum, 0, r"combine = ew.MIN is there already"),
        (lambda a, b: a + b, 0, r"made by def: def combined\(a, b\): return ...$"),
        ("max", 0, "got 'max', expected a function"),
        (larger, None, "identity=None; expected the number"),
        (larger, [1], r"identity=\[1\]; expected the number"),
        (larger, np.zeros(2), r"identity=array"),
        (larger, "0", "identity='0'; expected the number"),
        (larger, ew.REQUIRED, "identity=edgewise.REQUIRED; expected the number"),
    ],
)
def test_a_combiner_that_cannot_be_one(function, identity, problem):
    with pytest.raises(ProgramError, match=problem):
        ew.combiner(function, identity=identity)


class Combined(ew.Program):
    """Two messages come to vertex 2: 3 and 4."""

    value = ew.vertex("float64")
    message = "int64"
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return edge.source + 3

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message
        return ew.HALT


MEETING = ew.Graph.from_edges([0, 1], [2, 2])


@pytest.mark.parametrize(
    ("dtype", "identity"),
    [("int64", 0.5), ("int64", 2**63), ("int32", 2**31), ("int64", np.inf), ("bool", 2), ("float32", 1e300)],
)
def test_an_identity_that_is_no_message_is_refused(dtype, identity):
    program = made(Combined, message=dtype, combine=ew.combiner(larger, identity=identity))
    assert f"Made.combine: identity={identity!r} does not fit messages, which are {dtype}" in refusal(
        program, MEETING
    )


@pytest.mark.parametrize(
    ("dtype", "least", "check"),
    [
        ("int64", -(2**63), False),
        ("int64", -(2**63), True),
        pytest.param("int32", -(2**31), False, marks=pytest.mark.more),
        ("int32", -(2**31), True),
        ("float64", -np.inf, False),
        ("float64", -np.inf, True),
    ],
)
def test_an_identity_may_be_the_smallest_value(dtype, least, check):
    program = made(Combined, message=dtype, combine=ew.combiner(larger, identity=-ew.INFINITY))
    assert ew.run(program, MEETING, check=check).value.tolist() == [least, least, 4]


def test_a_checked_run_says_for_which_message_an_identity_is_not_neutral():
    program = made(Combined, combine=ew.combiner(added, identity=1))
    with pytest.raises(
        ProgramError, match=r"combine in .*: edge 0 -> 2: of the identity 1 and the message 3"
    ):
        ew.run(program, MEETING, check=True)
    right = made(Combined, combine=ew.combiner(added, identity=0))
    assert ew.run(right, MEETING, check=True).value.tolist() == [0, 0, 7]


def test_a_vertex_field_that_holds_no_vertex_is_named():
    class Points(Base):
        parent = ew.vertex(ew.VERTEX, init=-1)

        @staticmethod
        def initialize(v, state):
            state.parent[v] = v + 1
            return ew.HALT

    with pytest.raises(GraphError, match=r"Points.parent of vertex 3 is 4, which is no vertex.*check=True"):
        ew.run(Points, PATH).to_frame()
    with pytest.raises(ProgramError, match=r"initialize in .*vertex 3: parent\[3\] = 4: no vertex; expected"):
        ew.run(Points, PATH, check=True)


def test_what_has_to_be_given_has_no_other_end():
    assert -(ew.vertex("int64", init=-ew.INFINITY).init) is ew.INFINITY
    with pytest.raises(ProgramError, match=r"got -ew.REQUIRED; expected ew.REQUIRED, or -ew.INFINITY"):
        _ = -ew.REQUIRED


@pytest.mark.parametrize("default", [np.float32(2.5), np.float64(2.5), 2.5])
def test_a_default_weight_may_be_a_float_of_numpy(default):
    assert start_of_edges(PATH, default=default).tolist() == [2.5] * 3


def test_a_default_weight_that_does_not_fit_is_called_so():
    with pytest.raises(ProgramError, match=r"Made.x: default=9223372036854775808 does not fit int64"):
        start_of_edges(PATH, default=2**63)


def test_mistakes_of_a_class_are_found_in_its_file(tmp_path):
    head = ["import edgewise as ew", "class Parent(ew.Program):"]
    right = {
        "value": 'value = ew.vertex("float64")',
        "combine": "combine = ew.SUM",
        "edge_compute": "def edge_compute(edge, state): return 1.0",
        "vertex_compute": "def vertex_compute(v, message, state): return False",
    }
    for name, wrong in {
        "value": 'value = ew.vertex("int32", init=1.5)',
        "combine": "combine = 3",
        "max_superstep": "max_superstep = 3",
        "extra": "extra = ew.vertex('complex')",
        "seconds": "seconds = ew.vertex('int64')",
    }.items():
        body = [f"    {line}" for line in (right | {name: wrong}).values()]
        path = tmp_path / "mistaken.py"
        path.write_text("\n".join(head + body))
        scope = {"__name__": "mistaken"}
        exec(compile(path.read_text(), path, "exec"), scope)
        text = refusal(type("Child", (scope["Parent"],), {}))
        assert text.startswith(f"mistaken.py, line {3 + body.index('    ' + wrong)}: Child.{name}"), text

    class Empty(ew.Program):
        combine = ew.SUM

    line = Path(__file__).read_text().splitlines().index("    class Empty(ew.Program):") + 1
    assert f"test_declarations_combiners.py, line {line}: Empty has no edge_compute" in refusal(Empty)


def test_integers_of_numpy_are_integers():
    schedule = ew.Schedule(num_threads=np.int64(2))
    assert ew.run(Base, PATH, schedule=schedule).supersteps == 1
    assert ew.run(made(Base, max_supersteps=np.int32(3)), PATH, check=True).supersteps == 1
    assert ew.run(Base, PATH, max_supersteps=np.int64(0)).supersteps == 0
    for wrong in (True, np.True_, 1.0, np.float64(1), "1", -1, 2**63, 2**70):
        with pytest.raises(ProgramError, match=r"expected None or an integer from 0 to 2\*\*63 - 1"):
            ew.run(Base, PATH, max_supersteps=wrong)


@pytest.mark.parametrize("progress", [5, "bar", [], 0])
def test_progress_is_true_false_or_a_function(progress):
    for run in (lambda: ew.run(Base, PATH, progress=progress), lambda: ew.bfs(PATH, 0, progress=progress)):
        with pytest.raises(ParameterError, match=r"progress is .*; expected True, False, or a function"):
            run()


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

    assert ew.run(Own.starting_at(3), PATH, check=True).value.tolist() == [0, 1, 1, 1]


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
