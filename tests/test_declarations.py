"""What a program declares: fields and parameters hold what they say, names of hooks and settings are right."""

import numpy as np
import pytest
from declared_cases import PATH, Base, draws, made, refusal, start_of_edges

import edgewise as ew
from edgewise.engine.lowering.binding import bind, initial_vertex_value, parameter_values
from edgewise.errors import GraphError, ProgramError
from edgewise.program.inspect import inspect_program

WEIGHTED = ew.Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([5, 6, 7], np.int32))


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
    ew.run(made(Base, kind_of_it=dtype if isinstance(dtype, type) else bool)(), PATH, check=True)


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
    result = ew.run(Own.initialized(np.arange(4.0)), PATH, check=True)
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

    result = ew.run(Uses, PATH, check=True)
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
    assert program.own == 3 and ew.run(program, PATH, check=True).supersteps == 1


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

    assert ew.run(Silent("a"), PATH, check=True).value.tolist() == [0, 1, 1, 1]
    assert ew.run(Passes(3), PATH, check=True).value.tolist() == [0, 6, 6, 6]
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
