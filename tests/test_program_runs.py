"""Runs of programs: what ``check=True`` finds in one, threads, forks, progress and interruptions."""

import importlib.util
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
from program_cases import PATH

import edgewise as ew
from edgewise.errors import ProgramError, ScheduleError
from edgewise.kernels.cpu.atomics import yield_processor
from edgewise.kernels.cpu.team import Team, cancelled, team_kernel
from edgewise.program.declare import MIN


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
    for part in (*parts, "test_program_runs.py, line "):
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

    with pytest.raises(Stop):
        ew.run(Overflow(), PATH, progress=progress, max_supersteps=2**62)
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
