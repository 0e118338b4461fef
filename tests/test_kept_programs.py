"""A program stays laid out for a graph from one run to the next, for as long as it is what it was."""

import gc
import importlib
import types
import weakref

import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import ProgramError
from edgewise.program.inspect import specification

pytestmark = pytest.mark.more
runs = importlib.import_module("edgewise.run")  # edgewise.run is its function

LIMIT = 3
TABLE = np.array([1.0, 2.0])
SETTINGS = types.ModuleType("settings")
SETTINGS.extra = 0.0


def helper(x):
    return x + LIMIT


def path():
    return ew.Graph.from_edges([0, 1, 2], [1, 2, 3])


def new_program():
    factor = 1.0

    class Sums(ew.Program):
        value = ew.vertex("float64")
        combine = ew.SUM
        max_supersteps = 1

        @staticmethod
        def edge_compute(edge, state):
            return helper(TABLE[1]) * factor + SETTINGS.extra

        @staticmethod
        def vertex_compute(v, message, state):
            state.value[v] = message
            return ew.HALT

    def set_factor(x):
        nonlocal factor
        factor = x

    return Sums, set_factor


@pytest.fixture
def laid_out(monkeypatch):
    """A list with an entry for each time that a program is laid out for a graph."""
    found, begin = [], runs.Prepared.__init__

    def counting(self, *arguments, **options):
        found.append(arguments[0])
        begin(self, *arguments, **options)

    monkeypatch.setattr(runs.Prepared, "__init__", counting)
    return found


def test_a_second_run_lays_nothing_out(laid_out):
    program, _ = new_program()
    graph, other = path(), path()
    for _ in range(3):
        assert ew.run(program, graph).value.tolist() == [0, 5, 5, 5]
    assert laid_out == [program]
    spec = specification(program)
    ew.run(program, other)
    assert len(laid_out) == 2 and specification(program) is spec
    kernels = [key for key in spec.kept if isinstance(key, tuple) and key[0] == "cpu kernel"]
    assert len(kernels) == 1


def test_a_program_is_read_anew_when_anything_that_it_refers_to_has_changed(monkeypatch):
    program, set_factor = new_program()

    def changed():
        before = held[-1]
        held.append(specification(program))
        assert specification(program) is held[-1]
        return held[-1] is not before

    def vertex_compute(v, message, state):
        state.value[v] = -message
        return ew.HALT

    held = [specification(program)]
    assert not changed()
    monkeypatch.setitem(globals(), "LIMIT", 10)
    assert changed()
    TABLE[1] = 4.0
    assert changed()
    TABLE[1] = 2.0
    assert changed()
    set_factor(2.0)
    assert changed()
    monkeypatch.setattr(SETTINGS, "extra", 0.5)
    assert changed()
    monkeypatch.setattr(helper, "__code__", other_helper.__code__)
    assert changed()
    monkeypatch.setitem(globals(), "helper", other_helper)
    assert changed()
    program.value = ew.vertex("float32")
    assert changed()
    program.vertex_compute = staticmethod(vertex_compute)
    assert changed()


def other_helper(x):
    return x + 98


def test_the_values_of_now_are_computed_with(monkeypatch):
    program, _ = new_program()
    graph = path()
    assert ew.run(program, graph).value[1] == 5
    monkeypatch.setitem(globals(), "LIMIT", 10)
    assert ew.run(program, graph).value[1] == 12
    program.max_supersteps = 0
    assert ew.run(program, graph).supersteps == 0


def says(look):
    """A program whose values are what a function says."""

    class Says(ew.Program):
        value = ew.vertex("float64")
        combine = ew.SUM
        max_supersteps = 1

        @staticmethod
        def edge_compute(edge, state):
            return look()

        @staticmethod
        def vertex_compute(v, message, state):
            state.value[v] = message
            return ew.HALT

    return Says


def rows_of_table():
    return float(len(TABLE))


def last_of_table():
    return float(TABLE[0][1])


ALIKE = {
    "shape": (rows_of_table, np.zeros((2, 2)), np.zeros((4, 1)), (2, 4)),
    "size": (rows_of_table, np.zeros(8, np.int32), np.zeros(4, np.int64), (8, 4)),
    "dtype": (last_of_table, np.array([[0, 1]]), np.array([[0, 1]]).view(float), (1, 5e-324)),
    "tuple": (rows_of_table, (1, 2), (1, 2, 3), (2, 3)),
    "array in a tuple": (last_of_table, (np.array([1, 2]), 5), (np.array([1, 3]), 5), (2, 3)),
}


@pytest.mark.parametrize("what", ALIKE)
def test_keys_tell_values_that_are_alike_apart(what, monkeypatch):
    look, *tables, expected = ALIKE[what]
    keys = []
    for table, value in zip(tables, expected, strict=True):
        monkeypatch.setitem(globals(), "TABLE", table)
        keys.append(specification(says(look)).key)
        assert keys[-1] == specification(says(look)).key
        assert ew.run(says(look), path(), check=True).value[1] == value
    assert keys[0] != keys[1]


@pytest.mark.parametrize(
    "what",
    [pytest.param(what, marks=() if what in ("shape", "dtype") else pytest.mark.slow) for what in ALIKE],
)
def test_values_that_are_alike_are_compiled_apart(what, monkeypatch):
    look, before, after, expected = ALIKE[what]
    program, graph = says(look), path()
    for table, value in zip((before, after), expected, strict=True):
        monkeypatch.setitem(globals(), "TABLE", table)
        assert ew.run(program, graph).value[1] == value
        assert ew.run(says(look), graph).value[1] == value  # by the key of compiled code alone


def drawing(edge, state):
    return ew.random(edge.index, state) * 0 + TABLE[0][1]


def test_arrays_in_tuples_are_seen_to_change_in_place(monkeypatch):
    inner = np.array([1, 2, 3])
    plain, draws = says(last_of_table), says(last_of_table)
    draws.edge_compute = staticmethod(drawing)
    monkeypatch.setitem(globals(), "TABLE", (inner, 5))
    for program in (plain, draws):
        for value in (2, 77):
            inner[1] = value
            assert ew.run(program, path()).value[1] == value
        assert specification(program) is specification(program)


def by_default(table=np.array([1.0])):  # noqa: B008
    return table[0]


def test_an_array_that_is_a_default_is_seen_to_change():
    program, table = says(by_default), by_default.__defaults__[0]
    for value in (1.0, 5.0):
        table[0] = value
        assert ew.run(program, path()).value[1] == value


def test_a_prepared_program_keeps_what_it_was_compiled_with_and_compiles_nothing_else(monkeypatch):
    monkeypatch.setitem(globals(), "TABLE", (1, 2))
    program, graph = says(rows_of_table), path()
    prepared, late = ew.prepare(program, graph), ew.prepare(program, graph)
    assert prepared().value[1] == 2
    monkeypatch.setitem(globals(), "TABLE", (1, 2, 3, 4, 5))
    assert prepared().value[1] == 2
    with pytest.raises(ProgramError, match="has changed since it was prepared; prepare it again"):
        late()
    assert ew.run(program, graph).value[1] == ew.prepare(program, graph)().value[1] == 5


def test_constants_of_a_program_that_draws_are_looked_up_at_each_run(monkeypatch):
    class Draws(ew.Program):
        value = ew.vertex("float64")
        combine = ew.SUM

        @staticmethod
        def edge_compute(edge, state):
            return 1.0

        @staticmethod
        def vertex_compute(v, message, state):
            state.value[v] = ew.random(v, state) * 0 + LIMIT
            return ew.HALT

    spec = specification(Draws)
    assert specification(Draws) is spec
    monkeypatch.setitem(globals(), "LIMIT", 10)
    assert specification(Draws) is not spec


def test_a_graph_is_not_kept_by_what_it_keeps():
    program, _ = new_program()
    graph = path()
    result = ew.run(program, graph)
    assert result.graph is graph and result.verify(graph)
    seen = weakref.ref(graph)
    gc.disable()
    try:
        del graph, result
        assert seen() is None
    finally:
        gc.enable()


def test_a_graph_keeps_few_programs_and_gives_them_back():
    graph = path()
    for _ in range(runs.KEPT_PROGRAMS + 2):
        ew.run(new_program()[0], graph)
    assert len(graph.programs) == runs.KEPT_PROGRAMS
    runs.forget_programs()
    assert not graph.programs


def test_in_edges_that_were_made_meanwhile_are_used():
    program, _ = new_program()
    wide = type("Least", (program,), {"combine": ew.MIN})
    graph = path()
    schedule = ew.Schedule(ew.Pull())
    ew.run(wide, graph)
    graph.make_in_edges()
    assert ew.run(wide, graph).value[1] == ew.run(wide, graph, schedule=schedule).value[1] == 5


def test_code_for_gpus_depends_on_how_it_is_compiled(monkeypatch, tmp_path):
    compiling = pytest.importorskip("edgewise.kernels.cuda.compile", exc_type=ImportError)
    other = tmp_path / "pipeline.py"
    other.write_text("# another one")
    keys = set()
    for how in (compiling._HOW, (other, compiling._HOW[1])):
        compiling._compiler.cache_clear()
        monkeypatch.setattr(compiling, "_HOW", how)
        keys.add(compiling._compiler())
    compiling._compiler.cache_clear()
    assert len(keys) == 2
