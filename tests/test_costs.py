"""The number of threads and the device follow the work, and a run that goes on with more threads loses nothing."""

import itertools
import math
import os
import time

import numpy as np
import pytest
from test_engines import GRAPHS, PROGRAMS, assert_same

import edgewise as ew
from edgewise import execution
from edgewise.engine.cpu import program as cpu_program
from edgewise.graph import Arrays
from edgewise.kernels import costs
from edgewise.kernels.cache import counted_as_compiling
from edgewise.memory import held
from edgewise.run import Prepared

#: Arrays that a run of breadth-first search needs on a GPU.


@pytest.mark.parametrize("most", [1, 2, 3, 16, 24])
def test_threads_grow_with_the_work_up_to_the_most(most):
    sizes = [costs.best_threads(work, most) for work in (0, 1e3, 1e5, 1e6, 1e7, 1e9, 1e11)]
    assert sizes == sorted(sizes)
    assert sizes[:2] == [1, 1] and sizes[-1] == most
    assert all(size == most or math.log2(size).is_integer() for size in sizes)


def test_many_barriers_take_fewer_threads():
    assert costs.best_threads(1e7, 16, rounds=10_000) < costs.best_threads(1e7, 16)


def test_the_best_number_is_the_one_of_least_time():
    for work, rounds in itertools.product((1e5, 7e5, 3e6, 5e7), (1, 50, 2000)):
        times = {size: costs.cpu_time(work, size, rounds) for size in (1, 2, 4, 8, 16)}
        assert times[costs.best_threads(work, 16, rounds)] == min(times.values())


@pytest.mark.parametrize(
    ("nanoseconds", "text"), [(840.0, "0.84 µs"), (41_000, "41 µs"), (2.54e6, "2.5 ms"), (3e9, "3 s")]
)
def test_times_are_written_for_people(nanoseconds, text):
    assert costs.written(nanoseconds) == text


def never_asked():
    raise AssertionError("a GPU was asked for")


class FakeGraph:
    """What a choice asks of a graph."""

    needed_on_host = 0

    def __init__(self, missing):
        self.missing = missing

    gpu = property(lambda self: self)

    def making(self, arrays):
        assert arrays == Arrays.BOTH_WAYS
        return held(self.missing)


def chosen(monkeypatch, work, missing=0, schedule=None, problem=None, device="auto", **options):
    """Whether a run would go to the GPU, and what is said of that, where there are four processors."""
    monkeypatch.setattr(execution, "cuda_problem", problem if callable(problem) else lambda: problem)
    monkeypatch.setattr(execution, "available_threads", lambda: 4)
    found = execution.choose(
        "bfs", FakeGraph(missing), device, schedule, work=work, rounds=10, arrays=Arrays.BOTH_WAYS, **options
    )
    return found.on_gpu, " ".join(found.notes)


def test_a_run_that_is_soon_over_does_not_ask_for_a_gpu(monkeypatch):
    assert chosen(monkeypatch, 50_000, problem=never_asked) == (
        False,
        "on the CPU: about 50 µs, too little to ask for a GPU",
    )


def test_much_work_goes_to_the_gpu_and_says_why(monkeypatch):
    on_gpu, told = chosen(monkeypatch, 1e9)
    assert on_gpu and told.startswith("on the GPU: about 20 ms there, 3")


def test_no_graph_is_brought_to_the_gpu_for_a_run_that_ends_before_the_copy_would(monkeypatch):
    work = 4e6
    assert chosen(monkeypatch, work, missing=0)[0]
    on_gpu, told = chosen(monkeypatch, work, missing=30_000_000)
    assert costs.copy_time(30_000_000) > costs.cpu_time(work, 4)
    assert not on_gpu and told.startswith("on the CPU, not on the GPU: about 3.")


def test_without_a_gpu_nothing_is_said(monkeypatch):
    assert chosen(monkeypatch, 1e9, problem="there is none") == (False, "")


@pytest.mark.parametrize("schedule", [ew.Schedule(num_threads=2), ew.Schedule(ew.Pull(), num_threads=1)])
def test_a_schedule_with_threads_is_one_for_the_cpu(monkeypatch, schedule):
    assert not chosen(monkeypatch, 1e12, schedule=schedule, problem=never_asked)[0]


@pytest.mark.parametrize(
    "schedule",
    [
        ew.Schedule(balance=ew.WarpMapped()),
        ew.Schedule(ew.Pull(), layout=ew.Layout()),
        ew.Schedule(ew.Buffered()),
    ],
)
def test_what_only_a_gpu_has_goes_there_however_little_it_is(monkeypatch, schedule):
    assert chosen(monkeypatch, 10.0, schedule=schedule)[0]


def test_a_program_has_its_buffer_on_both(monkeypatch):
    assert not chosen(monkeypatch, 10.0, schedule=ew.Schedule(ew.Buffered()), programmed=True)[0]


def test_the_number_of_threads_is_the_one_asked_for():
    graph = ew.generate.rmat(6, 8, seed=1)
    assert "threads" not in ew.bfs(graph, 0, device="cpu", schedule=ew.Schedule(num_threads=3)).explain()


def test_the_default_takes_what_the_work_is_worth(monkeypatch):
    monkeypatch.setenv("EDGEWISE_NUM_THREADS", "3")
    small, large = ew.generate.rmat(5, 8, seed=1), ew.generate.rmat(17, 8, seed=1)
    assert "on 1 of 3 threads" in ew.connected_components(small, device="cpu").explain()
    assert "on 3 of 3 threads" in ew.connected_components(large, device="cpu").explain()
    assert "on 1 of 3 threads" in ew.run(PROGRAMS["components"][0], small, device="cpu").explain()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_a_run_on_one_processor_is_on_one_thread(monkeypatch):
    monkeypatch.setenv("EDGEWISE_NUM_THREADS", "1")
    graph = ew.generate.rmat(10, 8, seed=1)
    result = ew.connected_components(graph, device="cpu")
    assert "threads" not in result.explain() and result.verify(graph)


@pytest.mark.more
@pytest.mark.parametrize(
    "name", ["sssp", "float sums", "logic and aggregates", "core numbers", "phases and random numbers"]
)
def test_a_run_that_stops_after_each_superstep_goes_on_where_it_was(name, monkeypatch):
    monkeypatch.setenv("EDGEWISE_NUM_THREADS", "3")
    monkeypatch.setattr(cpu_program, "ALONE_BUDGET", 1)
    monkeypatch.setattr(cpu_program, "LONGEST_BUDGET", 0)
    program, values = PROGRAMS[name]
    sizes = itertools.chain([1, 1, 2, 2], itertools.repeat(3))
    monkeypatch.setattr(cpu_program, "best_threads", lambda work, most, rounds: next(sizes))
    monkeypatch.setattr(cpu_program, "worth_waking", lambda threads, most: math.inf if threads == 1 else 0)
    for graph_name in ("long path", "undirected", "larger than one range"):
        graph = GRAPHS[graph_name]
        expected = Prepared(program, graph).reference(values, program.max_supersteps)
        for schedule in (ew.Schedule(), ew.Schedule(ew.Push())):
            sizes = itertools.chain([1, 1, 2, 2], itertools.repeat(3))
            prepared = Prepared(program, graph, device="cpu", schedule=schedule)
            result = prepared(**values)
            assert_same(result, expected, program.asynchronous)
            if result.supersteps > 8:
                assert "on 3 of 3 threads" in result.explain()


def test_a_run_on_the_calling_thread_can_be_interrupted(monkeypatch):
    class Impatient(Exception):
        pass

    def progress(supersteps):
        if supersteps > 1000:
            raise Impatient

    monkeypatch.setenv("EDGEWISE_NUM_THREADS", "1")
    monkeypatch.setattr(cpu_program, "ALONE_BUDGET", 1000)
    graph = ew.Graph.from_edges(np.arange(20_000), np.arange(1, 20_001))
    with pytest.raises(Impatient):
        ew.run(PROGRAMS["bfs"][0](source=0), graph, device="cpu", progress=progress)


def test_what_is_compiled_while_something_is_laid_out_counts_once():
    run = execution.Execution(ew.Schedule(), 1, None)
    with run.laying_out("made nothing"), counted_as_compiling():
        time.sleep(0.05)
    assert 0 <= run.layout_seconds < 0.05
