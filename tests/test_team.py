"""Teams of threads: every thread takes part once in each kernel, whatever ends it, and however it is called."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from edgewise.errors import ScheduleError
from edgewise.kernels.cpu.launch import launch_on
from edgewise.kernels.cpu.team import Team, barrier, cancelled, claim, report, team_kernel

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@team_kernel(key=None)
def visit(thread, size, control, visits, sizes, meetings):
    """Count this thread's visit, then meet the others `meetings` times."""
    visits[8 * thread] += 1
    sizes[8 * thread] = size
    for _ in range(meetings):
        if barrier(control, size):
            return
    if thread == 0:
        report(control, 7)


@team_kernel(key=None)
def add_up(thread, size, control, values, flag, step, total):
    """The sum of an array that has its pieces claimed; arguments of several kinds."""
    if not flag:
        return
    while True:
        start = claim(control, 0, step, len(values))
        if start >= len(values):
            return
        for i in range(start, min(start + step, len(values))):
            total[8 * thread] += values[i]


@team_kernel(key=None)
def fail(thread, size, control, failing):
    """One thread raises, the others wait for it."""
    if thread == failing:
        raise ValueError("thread failed")
    barrier(control, size)


@team_kernel(key=None)
def until_told(thread, size, control, entered):
    entered[thread] = 1
    while not cancelled(control):
        pass


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_every_thread_takes_part_once_in_each_call(size, long):
    visits, sizes = np.zeros(8 * size, np.int64), np.zeros(8 * size, np.int64)
    for call in range(1, 200):
        launch_on(size, visit, visits, sizes, call % 5, long=long)
        assert np.all(visits[::8] == call) and np.all(sizes[::8] == size)


@pytest.mark.parametrize("long", [False, True])
def test_arguments_of_all_kinds_reach_every_thread(long):
    values = np.arange(10_000, dtype=np.float32)
    for flag, expected in ((True, values.sum(dtype=np.float64)), (False, 0)):
        total = np.zeros(8 * 3)
        launch_on(3, add_up, values, flag, 64, total, long=long)
        assert total.sum() == expected


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("failing", [0, 1, 3])
def test_what_one_thread_raises_ends_the_others_and_reaches_the_caller(failing, long):
    team = Team(4)
    for _ in range(3):
        with pytest.raises(ValueError, match="thread failed"):
            team.run(fail, failing, long=long)
    visits, sizes = np.zeros(32, np.int64), np.zeros(32, np.int64)
    team.run(visit, visits, sizes, 3, long=long)
    assert np.all(visits[::8] == 1)


def test_an_exception_of_the_progress_function_ends_the_run():
    def refuse(done):
        raise RuntimeError("enough")

    entered = np.zeros(3, np.int64)
    with pytest.raises(RuntimeError, match="enough"):
        Team(3).run(until_told, entered, long=True, progress=refuse)
    assert np.all(entered == 1)


def test_several_callers_take_turns():
    visits, sizes = np.zeros(16, np.int64), np.zeros(16, np.int64)
    team = Team(2)

    def call_often():
        for call in range(100):
            team.run(visit, visits, sizes, 2, long=call % 10 == 0)

    callers = [threading.Thread(target=call_often) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert np.all(visits[::8] == 400)


def test_the_threads_of_a_team_end_with_it():
    team, before = Team(5), threading.active_count()
    team.run(visit, np.zeros(40, np.int64), np.zeros(40, np.int64), 0, long=False)
    del team
    deadline = time.monotonic() + 60
    while threading.active_count() > before - 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before - 4


def test_a_team_that_the_system_has_no_room_for_leaves_no_thread(monkeypatch):
    start, started = threading.Thread.start, []

    def start_two(thread):
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_two)
    with pytest.raises(ScheduleError, match="started 3 of 9 threads"):
        Team(9)
    for thread in started:
        thread.join(60)
        assert not thread.is_alive()


SCRIPT = """
import os
import numpy as np
import edgewise as ew

graph = ew.generate.rmat(8, 8, seed=1)
expected = ew.connected_components(graph, schedule=ew.Schedule(num_threads=2)).component
child = os.fork()
found = ew.connected_components(graph, schedule=ew.Schedule(num_threads=2)).component
if child == 0:
    os._exit(0 if np.array_equal(found, expected) else 1)
print(np.array_equal(found, expected), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_forked_child_has_workers_of_its_own_and_both_processes_end():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "True 0\n"), done.stderr
