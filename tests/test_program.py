"""The contract of programs: what is refused before a run, and what ``check=True`` finds in one."""

import dataclasses
import importlib.util
import linecache
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

import edgewise as ew
from edgewise.errors import GraphError, MemoryLimitError, ProgramError, ScheduleError, VerificationError
from edgewise.kernels.cache import kept, kernel
from edgewise.kernels.cpu.atomics import yield_processor
from edgewise.kernels.cpu.team import Team, cancelled, team_kernel
from edgewise.program.declare import ALL, ANY, MAX, MIN, PRODUCT, SUM
from edgewise.program.inspect import inspect_program

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATH = ew.Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([5, 6, 7], np.int32))
LINE = {"edge": "edge_compute", "vertex": "vertex_compute"}


class Plain(ew.Program):
    """A program that is right; the others break one rule each."""

    value = ew.vertex("int32")
    factor = ew.parameter(int, default=2)
    weight = ew.edge(ew.WEIGHT)
    mark = ew.edge("int32")
    combine = ew.SUM
    max_supersteps = 3

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] + 1

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message
        return ew.ACTIVE


def refused(program, *parts, **values):
    """Run on a path; the message of the error, which must hold all parts."""
    with pytest.raises(ProgramError) as caught:
        ew.run(program(**values), PATH)
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    return str(caught.value)


def line_of(function, text):
    """The line in this file on which a function's source has a text."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_a_program_without_its_functions_is_refused():
    class Empty(ew.Program):
        combine = ew.MIN

    refused(Empty, "Empty has no edge_compute", "@staticmethod")


def test_a_combiner_is_needed():
    class NoCombiner(Plain):
        combine = None  # type: ignore[assignment]

    refused(NoCombiner, "NoCombiner.combine", "ew.MIN")


def test_a_wrong_signature_is_refused():
    class WithSelf(Plain):
        def vertex_compute(self, v, message, state):
            return True

    refused(WithSelf, "vertex_compute", "test_program.py", "(self, v, message, state)", "@staticmethod")


def test_an_unknown_field_is_refused_with_its_line():
    class Unknown(Plain):
        @staticmethod
        def edge_compute(edge, state):
            return state.valeu[edge.source]

    refused(Unknown, f"line {line_of(Unknown.edge_compute, 'valeu')}", "the state has no 'valeu'", "value")


def test_an_unknown_edge_name_is_refused():
    class Unknown(Plain):
        @staticmethod
        def edge_compute(edge, state):
            return edge.length

    refused(Unknown, "the edge has no 'length'", "source, target, index, weight, mark")


def test_a_missing_return_is_refused():
    class Missing(Plain):
        @staticmethod
        def vertex_compute(v, message, state):
            if message > 3:
                return ew.ACTIVE

    refused(Missing, "vertex_compute", "a path ends without a return")

    class Bare(Plain):
        @staticmethod
        def vertex_compute(v, message, state):
            if message > 3:
                return
            return ew.HALT

    refused(Bare, "it returns nothing here", f"line {line_of(Bare.vertex_compute, 'return' + chr(10))}")


def test_an_edge_compute_without_a_return_is_refused_unless_it_writes():
    class Forgotten(Plain):
        @staticmethod
        def edge_compute(edge, state):
            state.value[edge.source] + 1

    line = line_of(Forgotten.edge_compute, "state.value")
    refused(Forgotten, f"line {line}", "it returns nothing and writes no field; return a message, or None")

    class Some(Plain):
        @staticmethod
        def edge_compute(edge, state):
            if edge.target == 1:
                return 1

    class Writing(Plain):
        @staticmethod
        def edge_compute(edge, state):
            state.mark[edge.index] = 1

    for program in (Some, Writing):
        assert ew.run(program, PATH, device="cpu").verify(PATH)


@pytest.mark.parametrize("combine", [ew.SUM, ew.ANY, ew.MESSAGES])
@pytest.mark.parametrize("message", [None, "float32"])
def test_edges_may_never_send(combine, message):
    kind = message

    class Silent(Plain):
        @staticmethod
        def edge_compute(edge, state):
            state.mark[edge.index] = edge.weight
            return None

        @staticmethod
        def vertex_compute(v, message, state):
            state.value[v] += 1
            return ew.ACTIVE

    silent = type("Silent", (Silent,), {"combine": combine, "message": kind})
    result = ew.run(silent, PATH)
    assert result.value.tolist() == [3, 3, 3, 3]
    assert result.mark.tolist() == [5, 6, 7]
    assert result.verify(PATH)


def test_edges_that_never_send_wake_nobody():
    class Silent(Plain):
        combine = ew.SUM

        @staticmethod
        def initialize(v, state):
            return v == 0

        @staticmethod
        def edge_compute(edge, state):
            return None

        @staticmethod
        def vertex_compute(v, message, state):
            state.value[v] += 1
            return ew.HALT

    assert ew.run(Silent, PATH, device="cpu").value.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("state.value[v + 1] = 3", "may only be used at [v]"),
        ("state.mark[0] = 3", "vertex_compute writes vertex fields"),
        ("state.factor = 3", "may not be assigned"),
        ("field = state.value", "only be used as state.value[index]"),
        ("everything = state", "only be used as state.name"),
        ("v = 3", "'v' is a parameter"),
        ("raise ValueError", "'raise' cannot be used"),
        ("assert message", "'assert' cannot be used"),
    ],
)
def test_statements_that_the_contract_forbids(tmp_path, statement, problem):
    (tmp_path / "broken.py").write_text(
        textwrap.dedent(
            f"""
            import edgewise as ew

            class Broken(ew.Program):
                value = ew.vertex("int32")
                mark = ew.edge("int32")
                factor = ew.parameter(int, default=2)
                combine = ew.SUM

                @staticmethod
                def edge_compute(edge, state):
                    return 1

                @staticmethod
                def vertex_compute(v, message, state):
                    state.value[v] = 1
                    {statement}
                    return False
            """
        )
    )
    sys.path.insert(0, str(tmp_path))
    try:
        from broken import Broken

        with pytest.raises(ProgramError) as caught:
            ew.run(Broken(), PATH)
    finally:
        sys.path.remove(str(tmp_path))
        del sys.modules["broken"]
    assert problem in str(caught.value)
    assert "broken.py, line 17" in str(caught.value)


def test_an_edge_may_not_write_a_vertex_field():
    class Writes(Plain):
        @staticmethod
        def edge_compute(edge, state):
            state.value[edge.target] = 3
            return 1

    refused(Writes, "edge_compute writes edge fields")


def test_what_numba_cannot_compile_is_refused_with_its_line():
    class Text(Plain):
        @staticmethod
        def edge_compute(edge, state):
            name = "a" + edge.source
            return len(name)

    refused(Text, "edge_compute", f"line {line_of(Text.edge_compute, 'name =')}", "cannot compile")


def test_a_message_that_does_not_fit_is_refused():
    class Half(Plain):
        message = "int32"

        @staticmethod
        def edge_compute(edge, state):
            return state.value[edge.source] / 2

    refused(Half, "edge_compute", "float64", "a message is declared as int32")


def test_a_float_stored_into_an_integer_field_is_refused():
    class Half(Plain):
        @staticmethod
        def vertex_compute(v, message, state):
            state.value[v] = message / 2
            return False

    refused(Half, f"line {line_of(Half.vertex_compute, 'message / 2')}", "a field of int32", "int()")


def test_a_vote_that_is_no_vote_is_refused():
    class Tuple(Plain):
        @staticmethod
        def vertex_compute(v, message, state):
            return 0.5

    refused(Tuple, "vertex_compute", "expected ACTIVE or HALT")


def test_infinity_inside_a_function_is_refused():
    class Infinite(Plain):
        @staticmethod
        def vertex_compute(v, message, state):
            return message == ew.INFINITY

    refused(Infinite, "vertex_compute", "INFINITY is only for init=")


def test_dtypes_that_do_not_exist_are_refused():
    class Wide(Plain):
        value = ew.vertex("float128")

    refused(Wide, "Wide.value", "float128", "int32, int64")

    class Fraction(Plain):
        value = ew.vertex("int32", init=0.5)

    refused(Fraction, "init=0.5", "int32")


def test_parameters_are_checked():
    refused(Plain, "Plain has no 'facter'", "factor", facter=3)
    refused(Plain, "expected an integer", factor=0.5)
    refused(Plain, "at most 64 bits", factor=2**70)
    refused(Plain, "shape (3,), expected (4,)", value=np.zeros(3, np.int32))
    refused(Plain, "an array of float64, expected int32", value=np.zeros(4))

    class Needs(Plain):
        start = ew.parameter(ew.VERTEX)

    refused(Needs, "Needs needs start")
    with pytest.raises(GraphError, match="99"):
        ew.run(Needs(start=99), PATH)


def test_weights_that_the_graph_lacks_are_refused():
    bare = ew.Graph.from_edges([0, 1], [1, 2])
    with pytest.raises(GraphError, match=r"Plain\.weight reads the weights of a graph that has none"):
        ew.run(Plain(), bare)


def test_what_is_no_program_is_refused():
    with pytest.raises(ProgramError, match="expected an instance"):
        ew.run("sssp", PATH)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="expected the class"):
        ew.prepare(Plain(), PATH)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="max_supersteps"):
        ew.run(Plain(), PATH, max_supersteps=-1)


def test_devices_schedules_and_memory_are_checked():
    with pytest.raises(ScheduleError, match="expected 'auto', 'cpu' or 'cuda'"):
        ew.run(Plain(), PATH, device="tpu")
    with pytest.raises(ScheduleError, match="num_threads"):
        ew.run(Plain(), PATH, schedule=ew.Schedule(num_threads=0))
    with pytest.raises(MemoryLimitError, match="the limit is 10"):
        ew.run(Plain(), PATH, memory_limit=10)


@pytest.mark.parametrize(
    "balance",
    [
        ew.ThreadMapped(),
        ew.WarpMapped(8),
        ew.BlockMapped(),
        ew.Binned(),
        ew.EdgeBased(chunking=False),
        ew.WorkloadDecomposition(),
        ew.MergePath(),
        ew.NodeSplitting(max_degree=9),
        ew.HierarchicalProcessing(depth=0),
        "warp",
        32,
        None,
    ],
)
def test_who_does_which_edges_is_for_a_gpu(balance):
    schedule = ew.Schedule(balance=balance)
    for start in (
        lambda: ew.run(Plain(), PATH, device="cpu", schedule=schedule),
        lambda: ew.bfs(PATH, 0, device="cpu", schedule=schedule),
        lambda: ew.sssp(PATH, 0, schedule=dataclasses.replace(schedule, num_threads=1)),
        lambda: ew.pagerank(PATH, device="cpu", schedule=schedule),
        lambda: ew.connected_components(PATH, device="cpu", schedule=schedule),
    ):
        with pytest.raises(ScheduleError, match="only runs on a GPU can be told"):
            start()


@pytest.mark.parametrize("lanes", [1, 3, 64, "8", None, 8.0])
def test_virtual_warps_have_a_power_of_two_of_lanes(lanes):
    with pytest.raises(ScheduleError, match="expected 2, 4, 8, 16 or 32"):
        ew.WarpMapped(lanes)


@pytest.mark.parametrize("value", [0, -1, 2.0, "many", None, True])
@pytest.mark.parametrize("name", ["max_degree", "bins"])
@pytest.mark.parametrize("kind", [ew.NodeSplitting, ew.HierarchicalProcessing])
def test_degrees_are_bounded_by_whole_numbers(kind, name, value):
    with pytest.raises(
        ScheduleError, match=f"{kind.__name__}: {name} is .*expected an integer of at least 1"
    ):
        kind(**{name: value})


def test_there_are_not_very_many_ranges_of_degrees():
    assert ew.NodeSplitting(bins=10**6).bins == 10**6
    with pytest.raises(ScheduleError, match="NodeSplitting: bins is 1000001; expected at most 1,000,000"):
        ew.NodeSplitting(bins=10**6 + 1)


@pytest.mark.parametrize("value", [-1, 2.0, "auto", False])
def test_sub_iterations_are_a_whole_number(value):
    with pytest.raises(ScheduleError, match=r"depth is .*expected None or an integer of at least 0"):
        ew.HierarchicalProcessing(depth=value)


def test_only_a_gpu_has_phases_and_memory_of_its_own():
    result = ew.run(Plain(), PATH, device="cpu")
    assert result.phase_seconds == result.memory_bytes == {}


@pytest.mark.parametrize("value", [0, 1, None, "yes"])
def test_work_chunking_is_on_or_off(value):
    with pytest.raises(ScheduleError, match=r"chunking is .*expected True or False"):
        ew.EdgeBased(chunking=value)


def test_combiners_have_their_identities():
    for combine in (MIN, MAX, SUM, PRODUCT, ANY, ALL):
        for dtype in map(np.dtype, ("bool", "int32", "int64", "float32", "float64")):
            identity = dtype.type(combine.identity(dtype))
            for value in (dtype.type(0), dtype.type(1)):
                if combine.name in ("ANY", "ALL") and dtype.kind != "b":
                    continue
                assert dtype.type(combine.function(identity, value)) == value, (combine.name, dtype)


class Unmessaged(ew.Program):
    """Vertex 0 is active without a message; it is told the identity."""

    seen = ew.vertex("int64", init=-1)
    combine = ew.MAX
    message = "int64"

    @staticmethod
    def initialize(v, state):
        return v == 0

    @staticmethod
    def edge_compute(edge, state):
        return 42

    @staticmethod
    def vertex_compute(v, message, state):
        state.seen[v] = message
        return ew.HALT


def test_no_message_is_the_identity_and_a_message_wakes():
    result = ew.run(Unmessaged(), PATH)
    assert result.seen.tolist() == [np.iinfo(np.int64).min, 42, -1, -1]
    assert result.supersteps == 1
    assert result.ended == "no vertex is active"
    assert result.verify(PATH)
    result.seen[2] = 5
    with pytest.raises(VerificationError, match="seen of vertex 2 is 5"):
        result.verify(PATH)


class OutOfRange(ew.Program):
    """Reads one past the end at the last vertex."""

    value = ew.vertex("int32")
    combine = ew.MIN
    max_supersteps = 2

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.target + 1]

    @staticmethod
    def vertex_compute(v, message, state):
        return True


class Overflow(OutOfRange):
    """Doubles beyond int32."""

    value = ew.vertex("int32", init=2**30)
    max_supersteps = 40

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = state.value[v] * 2
        return True


class Hashes(OutOfRange):
    """Leaves 64 bits on the way to a result that fits."""

    @staticmethod
    def edge_compute(edge, state):
        return 1

    @staticmethod
    def vertex_compute(v, message, state):
        hashed = v + 1
        for _ in range(2):
            hashed *= 6364136223846793005
        state.value[v] = hashed & 0xFFFF
        return True


class DividesByZero(OutOfRange):
    @staticmethod
    def edge_compute(edge, state):
        return 1 // state.value[edge.source]


@pytest.mark.parametrize(
    ("program", "parts"),
    [
        (OutOfRange, ["edge_compute", "edge 2 -> 3", "value[4]: out of range, expected 0 to 3"]),
        (Overflow, ["vertex_compute", "vertex 0", "2147483648 does not fit int32"]),
        (Hashes, ["vertex_compute", "vertex 0", "OverflowError", "does not fit in 64 bits"]),
        (DividesByZero, ["edge_compute", "edge 0 -> 1", "ZeroDivisionError"]),
    ],
)
def test_check_reports_function_line_and_vertex(program, parts):
    with pytest.raises(ProgramError) as caught:
        ew.run(program(), PATH, check=True)
    for part in (*parts, "test_program.py, line "):
        assert part in str(caught.value), str(caught.value)


def test_overflow_wraps_without_check():
    assert ew.run(Overflow(), PATH, max_supersteps=1).value.tolist() == [-(2**31)] * 4


def test_vertices_are_named_by_the_users_ids():
    class Reach(ew.Program):
        start = ew.parameter(ew.VERTEX)
        previous = ew.vertex(ew.VERTEX, init=-1)
        combine = ew.MIN

        @staticmethod
        def initialize(v, state):
            return v == state.start

        @staticmethod
        def edge_compute(edge, state):
            return edge.source

        @staticmethod
        def vertex_compute(v, message, state):
            if state.previous[v] == -1 and v != state.start and message < state.num_vertices:
                state.previous[v] = message
                return ew.ACTIVE
            return ew.HALT

    graph = ew.Graph.from_edges(["bash", "libc6", "curl"], ["libc6", "gcc", "libc6"])
    result = ew.run(Reach(start="bash"), graph)
    names = dict(zip(graph.vertices.tolist(), result.columns()["previous"].tolist(), strict=True))
    assert names["libc6"] == "bash"
    assert names["gcc"] == "libc6"
    assert names["bash"] == names["curl"] == ""


def test_calls_from_several_threads():
    rng = np.random.default_rng(0)
    graph = ew.Graph.from_edges(rng.integers(0, 4000, 50000), rng.integers(0, 4000, 50000), num_vertices=4000)
    prepared = ew.prepare(Degrees, graph, schedule=ew.Schedule(num_threads=2))
    expected, failures = graph.in_degree, []

    def call():
        failures.extend("wrong" for _ in range(10) if not np.array_equal(prepared().count, expected))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.timeout(20)
def test_a_run_from_the_progress_function_of_another_is_refused():
    @team_kernel(key=None)
    def wait(thread, size, control):  # until the team is told to leave
        while not cancelled(control):
            yield_processor()

    @team_kernel(key=None)
    def nothing(thread, size, control):
        pass

    team = Team(2)
    with pytest.raises(ScheduleError, match="started from the progress function of another"):
        team.run(wait, long=True, progress=lambda done: team.run(wait))
    team.run(nothing)


class Degrees(ew.Program):
    """In-degrees by counting messages."""

    count = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return 1

    @staticmethod
    def vertex_compute(v, message, state):
        state.count[v] = message
        return ew.HALT


def test_calls_after_a_fork():
    rng = np.random.default_rng(0)
    graph = ew.Graph.from_edges(rng.integers(0, 4000, 50000), rng.integers(0, 4000, 50000), num_vertices=4000)
    prepared = ew.prepare(Degrees, graph, schedule=ew.Schedule(num_threads=2))
    expected = prepared().count
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(prepared().count, expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.array_equal(prepared().count, expected)


def test_a_fork_while_another_thread_compiles():
    compiling, may_end = threading.Event(), threading.Event()

    def compile_something():
        with global_compiler_lock:
            compiling.set()
            may_end.wait(0.2)

    thread = threading.Thread(target=compile_something)
    thread.start()
    compiling.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        ew.run(Degrees, PATH, schedule=ew.Schedule(num_threads=1))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()


def test_damaged_files_of_compiled_code_are_written_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEWISE_CACHE_DIR", str(tmp_path))

    def load(function_key):
        cached = kernel(_add_one, key=function_key)
        assert cached(1) == 2

    def ask():
        return kept("what", __name__, lambda: b"that")

    load("key")
    assert ask() == b"that"
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    for damage in (lambda _: b"", lambda data: data[:-5], lambda data: data[:40] + b"~" + data[41:]):
        whole = {file: file.read_bytes() for file in files}
        for file in files:
            file.write_bytes(damage(whole[file]))
        load("key")
        assert ask() == b"that"
        assert all(file.read_bytes() != damage(whole[file]) for file in files)


def _add_one(value):
    return value + 1


def test_compiled_code_of_a_module_that_cannot_be_imported_is_compiled_anew(tmp_path):
    """As that of a program that was loaded from its file by a path, in a later process."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "apart.py").write_text("def amount(value):\n    return value + 1\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import importlib.util, numba\n"
        "from edgewise.kernels.cache import kernel\n"
        "spec = importlib.util.spec_from_file_location('apart', 'folder/apart.py')\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "amount = numba.njit(module.amount)\n"
        "def outer(value):\n"
        "    return amount(value)\n"
        "print(kernel(outer, key='key')(1))\n"
    )
    environment = {**os.environ, "EDGEWISE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ROOT}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.stdout == "2\n", done.stderr


EDITED = """
import sys
import numpy as np
import edgewise as ew
from helper import amount

OFFSET = {offset}

class Edited(ew.Program):
    value = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return amount(OFFSET)

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message + {inside}
        return ew.HALT

result = ew.run(Edited(), ew.Graph.from_edges([0], [1]))
print(result.value[1], result.compile_seconds < 0.5)
"""


def test_edits_of_the_users_files_are_seen_and_unchanged_files_start_warm(tmp_path):
    environment = {**os.environ, "EDGEWISE_CACHE_DIR": str(tmp_path / "cache")}

    def value(offset, inside, helper):
        (tmp_path / "helper.py").write_text(f"def amount(x):\n    return x * {helper}\n")
        (tmp_path / "edited.py").write_text(EDITED.format(offset=offset, inside=inside))
        command = [sys.executable, "-B", str(tmp_path / "edited.py")]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return ran.stdout.split()

    assert value(1, 0, 1)[0] == "1"
    assert value(1, 0, 1) == ["1", "True"]
    assert value(3, 0, 5)[0] == "15"


def test_the_key_tells_every_edit(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))

    def key(offset, inside, helper):
        (tmp_path / "helper.py").write_text(f"def amount(x):\n    return x * {helper}\n")
        source = EDITED.format(offset=offset, inside=inside).partition("result =")[0]
        (tmp_path / "edited.py").write_text(source)
        for name in ("helper", "edited"):
            sys.modules.pop(name, None)
        linecache.clearcache()
        importlib.invalidate_caches()
        return inspect_program(importlib.import_module("edited").Edited).key

    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        keys = [key(1, 0, 1), key(3, 0, 1), key(1, 7, 1), key(1, 0, 5)]
        assert None not in keys
        assert len(set(keys)) == 4
        assert key(1, 0, 1) == keys[0]
    finally:
        sys.dont_write_bytecode = before
        for name in ("helper", "edited"):  # other tests have modules of these names
            sys.modules.pop(name, None)


REFERRING = """
import enum
from collections import namedtuple
import numba
import edgewise as ew

class Mode(enum.IntEnum):
    A = {member}

Pair = namedtuple("Pair", {fields})
PAIR = Pair(1, 2)
NESTED = {nested}

def inner(x):
    return x

def amount(x, k={default}):
    return inner(x) + k

@numba.njit{options}
def other(x, k={compiled_default}):
    return x + k

class Referring(ew.Program):
    value = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return amount(1) + other(1) + Mode.A.value

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message + PAIR.b + len(NESTED[0])
        return ew.HALT
"""
REFERRED = {
    "member": 1,
    "fields": "('a', 'b')",
    "nested": "((1, 2), (3, 4, 5))",
    "default": 1,
    "compiled_default": 1,
    "options": "",
}


def referring(folder, number, **changed):
    """The program above in a file of its own, with some of its values changed."""
    path = folder / f"referring{number}.py"
    path.write_text(REFERRING.format(**{**REFERRED, **changed}))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return path, module.Referring


def test_the_key_tells_defaults_enumerations_and_tuples_and_the_program_runs_with_them(tmp_path):
    _, program = referring(tmp_path, 0)
    assert ew.run(program, ew.Graph.from_edges([0], [1])).value[1] == 2 + 2 + 1 + 2 + 2
    changes = [
        {"member": 2},
        {"fields": "('b', 'a')"},
        {"nested": "((1, 2, 3), (4, 5))"},
        {"default": 2},
        {"compiled_default": 2},
        {"options": "(fastmath=True)"},
    ]
    programs = [program, *(referring(tmp_path, i + 1, **change)[1] for i, change in enumerate(changes))]
    keys = [inspect_program(each).key.replace(each.__module__, "") for each in programs]
    assert len(set(keys)) == len(keys)


def test_a_file_that_is_edited_after_the_import_changes_nothing(tmp_path):
    path, program = referring(tmp_path, 0)
    before = inspect_program(program)
    path.write_text(path.read_text().replace("amount(1)", "amount(edge.index)"))
    after = inspect_program(program)
    assert (after.key, after.edge_reads) == (before.key, set())


def test_a_source_that_is_not_what_was_imported_is_refused(tmp_path):
    path = tmp_path / "late.py"
    indented = textwrap.indent(REFERRING[REFERRING.index("class Ref") :], "    ")
    late = f"import edgewise as ew\ndef make():\n{indented}    return Referring\n"
    path.write_text(late)
    spec = importlib.util.spec_from_file_location("late", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text(late.replace("amount(1)", "amount(2)"))
    with pytest.raises(ProgramError, match=r"edge_compute in late.py, line 8: its file was edited after"):
        inspect_program(module.make())


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def test_helpers_that_call_each_other_are_refused():
    class Recursive(Plain):
        @staticmethod
        def edge_compute(edge, state):
            return even(edge.source)

    refused(
        Recursive, f"even in test_program.py, line {line_of(even, 'def even')}: it calls itself by way of"
    )


def test_a_module_is_no_value():
    class Passing(Plain):
        @staticmethod
        def edge_compute(edge, state):
            module = np
            return module.sqrt(edge.source)

    refused(
        Passing,
        f"line {line_of(Passing.edge_compute, 'module = np')}",
        "np is a module, which is no value here",
    )


def test_ctrl_c_ends_a_run_that_would_not_end(tmp_path):
    (tmp_path / "endless.py").write_text(
        textwrap.dedent(
            """
            import numpy as np
            import edgewise as ew

            class Endless(ew.Program):
                value = ew.vertex("int64")
                combine = ew.SUM

                @staticmethod
                def edge_compute(edge, state):
                    return 1

                @staticmethod
                def vertex_compute(v, message, state):
                    state.value[v] = message
                    return ew.ACTIVE

            ew.run(Endless(), ew.Graph.from_edges([0, 1], [1, 0]), max_supersteps=1)
            print("ready", flush=True)
            try:
                ew.run(Endless(), ew.Graph.from_edges([0, 1], [1, 0]))
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            """
        )
    )
    command = [sys.executable, str(tmp_path / "endless.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert process.wait(timeout=30) == 0


def test_progress_counts_supersteps_and_can_end_a_run():
    class Stop(Exception):
        pass

    seen = []

    def progress(superstep):
        seen.append(superstep)
        if len(seen) == 3:
            raise Stop

    class Endless(Degrees):
        max_supersteps = None

        @staticmethod
        def vertex_compute(v, message, state):
            return ew.ACTIVE

    with pytest.raises(Stop):
        ew.run(Endless(), PATH, progress=progress)
    assert seen == sorted(seen)
    assert seen[-1] > seen[0]


class Bounded(ew.Program):
    start = ew.parameter(ew.VERTEX)
    step = ew.parameter("int32", default=1)
    x = ew.vertex("int64")
    combine = ew.MIN

    @staticmethod
    def edge_compute(edge, state):
        return state.step + state.start

    @staticmethod
    def vertex_compute(v, message, state):
        return ew.HALT


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"start": 0, "step": 2**40}, r"step=1099511627776\): expected an integer of at most 32 bits"),
        ({"start": [0, 1]}, r"start=\[0, 1\]\): expected one vertex"),
    ],
)
def test_values_that_no_parameter_can_hold_are_refused(values, expected):
    graph = ew.Graph.from_edges([0, 1], [1, 2])
    with pytest.raises(ProgramError, match=expected):
        ew.prepare(Bounded, graph)(**values)


def test_a_dtype_that_does_not_exist_and_a_graph_that_is_none_are_refused():
    class Odd(Bounded):
        x = ew.vertex("int7")

    with pytest.raises(ProgramError, match="dtype 'int7'"):
        ew.prepare(Odd, ew.Graph.from_edges([0, 1], [1, 2]))
    with pytest.raises(ProgramError, match="got 3 for the graph"):
        ew.prepare(Bounded, 3)


def test_parts_of_imported_modules_are_called(tmp_path):
    path = tmp_path / "rooted.py"
    path.write_text(
        textwrap.dedent("""
        import math
        try:
            import numpy as np
        finally:
            import os.path
        import edgewise as ew

        class Rooted(ew.Program):
            value = ew.vertex("float64")
            combine = ew.SUM
            max_supersteps = 1

            @staticmethod
            def edge_compute(edge, state):
                return math.sqrt(edge.source) + np.abs(edge.target - 9)

            @staticmethod
            def vertex_compute(v, message, state):
                state.value[v] = message
                return False
        """)
    )
    spec = importlib.util.spec_from_file_location("rooted", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    graph = ew.Graph.from_edges([4, 9], [0, 0], num_vertices=10)
    for check in (False, True):
        result = ew.run(module.Rooted(), graph, device="cpu", check=check)
        assert result.value[0] == 2 + 9 + 3 + 9


def test_not_a_number_is_never_the_least():
    class Least(ew.Program):
        value = ew.vertex("float64")
        message = "float64"
        combine = MIN

        @staticmethod
        def edge_compute(edge, state):
            return np.nan if edge.source == 1 else 2.0 + edge.source

        @staticmethod
        def vertex_compute(v, message, state):
            state.value[v] = message
            return False

    graph = ew.Graph.from_edges([1, 2, 3, 1], [0, 0, 0, 4], num_vertices=5)
    for check in (False, True):
        value = ew.run(Least(), graph, device="cpu", max_supersteps=1, check=check).value
        assert value[0] == 4
        assert value[4] == np.inf
