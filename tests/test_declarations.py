"""What a program declares: every combination of options works as it reads, or is refused before the run."""

import itertools
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import edgewise as ew
from edgewise.engine.lowering.binding import bind, initial_edge_value, initial_vertex_value, parameter_values
from edgewise.errors import GraphError, ParameterError, ProgramError, ProgramWarning
from edgewise.program.inspect import inspect_program

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
    start = initial_edge_value(binding, "x", {}, graph)
    return np.broadcast_to(start, graph.num_arcs)


def start_of_vertices(*declared, **options):
    """The same of a vertex field."""
    return initial_vertex_value(bind(inspect_program(made(x=ew.vertex(*declared, **options))), PATH), "x", {})


def parameter_of(*declared):
    """The value of a parameter that is not given."""
    return parameter_values(bind(inspect_program(made(x=ew.parameter(*declared))), PATH), {})["x"]


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64", ew.WEIGHT, ew.VERTEX])
@pytest.mark.parametrize("graph", [PATH, WEIGHTED], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("options", [{}, {"init": 1}, {"default": 1}, {"init": 1, "default": 1}], ids=str)
def test_every_edge_field_holds_what_it_says_or_is_refused(dtype, graph, options):
    if dtype is not ew.WEIGHT and "default" in options:
        with pytest.raises(ProgramError, match=r"is no ew.WEIGHT; give init="):
            start_of_edges(graph, dtype, **options)
    elif dtype is not ew.WEIGHT:
        start = start_of_edges(graph, dtype, **options)
        assert start.tolist() == [options.get("init", 0)] * 3
    elif "init" in options:
        with pytest.raises(ProgramError, match=r"init=. would never be used.*give default="):
            start_of_edges(graph, dtype, **options)
    elif not options and not graph.weighted:
        with pytest.raises(GraphError, match="weights of a graph that has none"):
            start_of_edges(graph, dtype, **options)
    else:
        assert start_of_edges(graph, dtype, **options).tolist() == ([5, 6, 7] if graph.weighted else [1] * 3)


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
    "bool": ["True", (True,), 3, -1, 0.5, np.nan, ew.INFINITY, -ew.INFINITY],
    ew.VERTEX: [4, 7, -2, 1.0, ew.INFINITY, -ew.INFINITY],
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
        ("bool", 1, True),
        ("bool", np.False_, False),
        (ew.VERTEX, -1, -1),
        (ew.VERTEX, 3, 3),
        ("int32", -ew.INFINITY, -(2**31)),
        ("float64", -ew.INFINITY, -np.inf),
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
        ("bool", 1, True),
        ("bool", np.False_, False),
        ("bool", 0.0, False),
    ]:
        value = parameter_of(dtype, default)
        assert value == expected and type(value) is type(expected)
    for dtype, default in [
        ("int32", 1.5),
        ("int32", 2**31),
        (None, "7"),
        ("float64", [1.0]),
        (None, None),
        ("bool", 2),
        ("bool", np.nan),
        ("float64", 10**400),
        (None, 10**5000),
    ]:
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
    assert "expected (3,), one value for each arc, in CSR order: see graph.edge_numbers" in refusal(
        Needs, x=x, y=x
    )
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
        assert f"Made.{name} means nothing; did you mean {near}?" in refusal(made(Base, **{name: value}))


@pytest.mark.parametrize("dtype", [bool, float, np.float32, "bool"])
def test_a_dtype_under_a_name_near_a_setting_is_refused(dtype):
    assert "Made.mesage means nothing; did you mean message?" in refusal(made(Base, mesage=dtype))
    ew.run(made(Base, kind_of_it=dtype if isinstance(dtype, type) else bool)(), PATH)


def test_the_number_of_parameters_tells_a_misspelt_hook():
    def two(a, b):
        return a

    for name, near in [("resumed", "resume"), ("combined", "combine"), ("initialized", "initialize")]:
        assert f"did you mean {near}?" in refusal(made(Base, **{name: staticmethod(two)}))
    assert "did you mean" not in refusal(made(Base, other=staticmethod(lambda v, state: True)))


def test_what_is_the_users_own_may_be_named_almost_like_a_hook():
    class Own(Base):
        initial = staticmethod(lambda a: a)

        @property
        def resumed(self):
            return self.combined() + self.proceeds(1)

        @classmethod
        def initialized(cls, value):
            return cls(value=value)

        def combined(self):
            return self.resume_with(2, 3)

        def proceeds(self, other):
            return other

        @staticmethod
        def resume_with(a, b):
            return a + b

        @staticmethod
        def vertex_computed(result):
            return result.value.sum()

        class Combined:
            """A class of the user's own."""

    assert Own().resumed == 6
    result = ew.run(Own.initialized(np.arange(4.0)), PATH)
    assert result.value.tolist() == ew.run(Base(value=np.arange(4.0)), PATH).value.tolist()
    assert Own.vertex_computed(result) == result.value.sum()


def test_a_name_for_draws_in_the_class_is_refused():
    for draw in (ew.random, ew.random.uniform):
        assert "Made.draw: functions do not see the names of their class" in refusal(made(Base, draw=draw))


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


HOOK_LIKE = {
    "init": lambda v, state: True,
    "finalize": lambda v, state: True,
    "setup": lambda state: None,
    "keep_going": lambda state: True,
    "stillContinue": lambda state: True,
    "on_edge": lambda edge, state: 1.0,
    "on_message": lambda vertex, message, state: True,
}


@pytest.mark.parametrize("name", HOOK_LIKE)
def test_a_function_that_looks_as_if_it_were_called_is_refused(name):
    text = refusal(made(Base, **{name: staticmethod(HOOK_LIKE[name])}))
    assert f"Made.{name}(" in text and "is never called" in text and "did you mean" not in text
    assert "initialize, edge_compute, vertex_compute, resume, proceed" in text


def test_functions_that_the_class_uses_itself_are_allowed():
    class Uses(Base):
        @staticmethod
        def begin(v, state):
            state.value[v] = 5.0
            return ew.HALT

        initialize = begin

        @staticmethod
        def share(v, state):
            return state.value[v]

        total = ew.aggregator(ew.SUM)(share)

        @staticmethod
        def shown(v, state):
            return v

        @classmethod
        def text(cls, state):
            return str(cls.shown(0, state))

        @staticmethod
        def finalize(result):
            return result.value.sum()

    result = ew.run(Uses, PATH)
    assert result.value.tolist() == [5.0] * 4 and result.aggregates == {"total": 20.0}
    assert Uses.finalize(result) == 20.0


def test_what_is_set_on_an_instance_is_refused():
    class Set(Base):
        k = ew.parameter("int64", default=1)

        @property
        def own(self):
            return self._own

        @own.setter
        def own(self, value):
            self._own = value

    program = Set(k=2)
    for name, value, advice in [
        ("k", 10, r"give it as Set\(k=...\)"),
        ("value", np.zeros(4), r"give it as Set\(value=...\)"),
        ("max_supersteps", 0, "write max_supersteps = ... in the class"),
        ("initialize", len, "write initialize = ... in the class"),
        ("nonsense", 3, "declares no 'nonsense'"),
    ]:
        with pytest.raises(ProgramError, match=advice):
            setattr(program, name, value)
    program.own = program._mine = 3
    assert program.own == 3 and ew.run(program, PATH).supersteps == 1


def test_a_program_may_have_an_init_of_its_own():
    class Silent(Base):
        def __init__(self, label):
            self._label = label

    class Passes(Base):
        k = ew.parameter("int64")

        def __init__(self, k):
            super().__init__(k=2 * k)

        @staticmethod
        def edge_compute(edge, state):
            return state.k

    class Sets(Passes):
        def __init__(self, k):
            self.k = k

    assert ew.run(Silent("a"), PATH).value.tolist() == [0, 1, 1, 1]
    assert ew.run(Passes(3), PATH).value.tolist() == [0, 6, 6, 6]
    with pytest.raises(ProgramError, match=r"super\(\).__init__\(k=...\)"):
        Sets(3)


@pytest.mark.parametrize(
    ("annotations", "advice"),
    [
        ({"max_supersteps": 7}, "write max_supersteps = ..."),
        ({"max_supersteps": "int"}, "write max_supersteps = ..."),
        ({"asynchronus": True}, "write asynchronous = ..."),
        ({"combine": ew.MIN}, "write combine = ..."),
        ({"level": ew.vertex("int64")}, "write level = ..."),
        ({"limit": 7}, "write limit = ..."),
    ],
)
def test_an_annotation_in_the_place_of_a_value_is_refused(annotations, advice):
    text = refusal(made(Base, __annotations__=annotations))
    assert "is only annotated" in text and advice in text


def test_names_of_the_result_are_taken():
    result = ew.run(Base, PATH)
    table = result.to_frame()
    own = {*dir(result), *vars(result), "vertex"} - {"value"}
    public = {name for name in own if not name.startswith("_")}
    assert {"seconds", "fields", "columns", "host_array", "ended", "memory_bytes"} <= public
    assert table.columns == ["vertex", "value"]
    for name in sorted(public):
        declared = (
            ew.vertex("int64"),
            ew.edge("int64"),
            ew.parameter(default=1),
            ew.aggregator(ew.SUM)(draws),
        )
        for each in declared:
            assert f"Made.{name}: this name is taken" in refusal(made(Base, **{name: each}))


def test_none_and_what_has_a_dtype_are_no_dtype():
    strange = (
        ew.vertex(None),
        ew.edge(None),
        ew.vertex([("a",)]),
        ew.vertex(np.float64(3)),
        ew.edge(np.zeros(2)),
    )
    for declared in (*strange, ew.aggregator(ew.SUM, None)(Base.initialize)):
        assert "Made.x has the dtype" in refusal(made(Base, x=declared))
    several = made(
        Base,
        combine=ew.MESSAGES,
        message=ew.fields(label=None),
        edge_compute=staticmethod(one_field),
        vertex_compute=staticmethod(takes_fields),
    )
    assert "Made.message.label has the dtype None; expected bool, int32" in refusal(several)


def one_field(edge, state):
    return (1,)


def takes_fields(v, messages, state):
    return len(messages.label) > 0


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


@pytest.mark.parametrize("check", [False, True])
def test_an_identity_may_be_the_smallest_value(check):
    for dtype, least in (("int64", -(2**63)), ("int32", -(2**31)), ("float64", -np.inf)):
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
    assert f"test_declarations.py, line {line}: Empty has no edge_compute" in refusal(Empty)


def test_integers_of_numpy_are_integers():
    schedule = ew.Schedule(num_threads=np.int64(2))
    assert ew.run(made(Base, max_supersteps=np.int32(3)), PATH, schedule=schedule).supersteps == 1
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
