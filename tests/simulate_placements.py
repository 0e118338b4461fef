"""Where arrays lie at runs one after the other beyond the memory of a GPU that tests/simulator.py pretends, and what
they take; the argument is the name of one test."""

import contextlib
import gc
import re
import sys
import warnings
from unittest import mock

import numpy as np
from simulator import Placed, pretend
from test_engines import SSSP

import edgewise as ew
from edgewise.errors import DeviceWarning, MemoryLimitError
from edgewise.graph import resident
from edgewise.run import Prepared


def least(run):
    """The fewest bytes with which a run begins."""
    try:
        run(0)
    except MemoryLimitError as refused:
        (number,) = re.findall(r"needs ([\d,]+) bytes on the GPU", str(refused))
        return int(number.replace(",", ""))
    raise AssertionError("a limit of 0 bytes is accepted")


def refuse(*_):
    raise MemoryLimitError("the host has no room")


def drawn(directed=True):
    rng = np.random.default_rng(1)
    ends, weights = rng.integers(0, 20, (2, 1000)), rng.integers(1, 9, 1000, np.int32)
    return ew.Graph.from_edges(*ends, weights, directed, num_vertices=20)


def far():
    """A path of 40 heavy edges, and many more heavy edges back."""
    rng = np.random.default_rng(1)
    ahead, more = np.arange(39), rng.integers(0, 40, (2, 800))
    back = np.where(more[1] > more[0] + 1, more[0], more[1])
    sources, targets = np.concatenate([ahead, more[0]]), np.concatenate([ahead + 1, back])
    return ew.Graph.from_edges(sources, targets, np.full(839, 2**26), num_vertices=40)


def refused_limit():
    """A limit that is too small, once, must not change where arrays lie at later runs."""
    prepared = Prepared(SSSP, drawn(), "cuda")
    lowest = least(lambda limit: prepared(source=0, memory_limit=limit))
    prepared(source=0, memory_limit=lowest + 2000)
    before = prepared.graph.placement
    with contextlib.suppress(MemoryLimitError):
        prepared(source=0, memory_limit=lowest - 1)
    prepared(source=0, memory_limit=lowest + 2000)
    assert prepared.graph.placement == before, prepared.graph.placement


def no_room_for_a_layout():
    """A run that works with a limit works with a larger one, too."""
    from edgewise.algorithms.pagerank import cuda_apart
    from edgewise.engine import delivery
    from edgewise.engine.cuda import layout

    for limit in (31_000, 34_000):
        with (
            mock.patch.object(cuda_apart, "check_free", refuse),
            mock.patch.object(layout, "check_free", refuse),
            mock.patch.object(layout, "free_memory", return_value=0),
            mock.patch.object(delivery, "FEW_ARCS", 0),
        ):
            graph = ew.generate.uniform(12, 1000, seed=1, weights=(1, 9))
            options = {"weighted": True, "max_iterations": 3}
            got = ew.pagerank(graph, device="cuda", memory_limit=limit, **options)
        assert "there was no room for a layout" in got.explain()


def made(of):
    """As `Resident._made`, whose arrays are not NumPy's."""
    values, found = list(of._graph.residents.values()), {}
    while values:
        each = values.pop()
        if isinstance(each, Placed):
            found[id(each)] = each
        elif isinstance(each, dict):
            values += each.values()
        elif isinstance(each, (list, tuple)) and not isinstance(each, resident._Copy):
            values += each
    for copy in of._copies():
        found.pop(id(copy.seen), None)
    return list(found.values())


def second_run():
    """What is free counts: a second run needs no more than the first one."""
    from edgewise.kernels.cuda import memory

    graph, most = drawn(), 8000 + Placed.bytes_on_gpu()

    @contextlib.contextmanager
    def room(name, needed):
        if needed > memory.free():
            raise MemoryLimitError(f"{name} needs {needed:,} bytes, of which {memory.free():,} are free")
        yield

    resident.RESERVE, resident.Resident._made = 200, made
    memory.free, memory.room = lambda: most - Placed.bytes_on_gpu(), room
    memory.fits = lambda needed: needed <= memory.free()
    for _ in range(2):
        assert "read from the host's memory" in ew.sssp(graph, 0, device="cuda").explain()
        gc.collect()


def too_far():
    """Where a distance is too long for sorted rows, the limit still holds, and later runs do not try again."""
    from edgewise.algorithms.sssp import cuda_apart

    limit = least(lambda limit: ew.sssp(far(), 0, device="cuda", memory_limit=limit)) + 8000
    graph, before = far(), Placed.bytes_on_gpu()
    Placed.most = before
    searched, search = [], cuda_apart.search

    def counted(*arguments):
        searched.append(None)
        return search(*arguments)

    with mock.patch.object(cuda_apart, "search", counted):
        for _ in range(2):
            assert "more than 31 bits" in ew.sssp(graph, 0, device="cuda", memory_limit=limit).explain()
    assert Placed.most - before <= limit, (Placed.most - before, limit)
    assert len(searched) == 1


def not_too_far():
    """Distances of 30 bits are found over sorted rows, though other vertices cannot be reached."""
    path = np.arange(21)
    graph = ew.Graph.from_edges([*path, 30], [*path + 1, 31], np.full(22, 2**26), num_vertices=32)
    for delta in (2.0**26, 1.2e9):
        limit = least(lambda limit: ew.sssp(graph, 0, device="cuda", memory_limit=limit))
        got = ew.sssp(graph, 0, device="cuda", memory_limit=limit, delta=delta)
        assert got.distance[21] == 21 * 2**26
        assert "more than 31 bits" not in got.explain(), delta


def pieces():
    """`most_long_pieces` holds for rows that are cut into more pieces than `DIRECT` fits into."""
    from edgewise.algorithms.sssp import cuda_reading

    with mock.patch.object(cuda_reading, "_LONGER", 8):  # PIECE * _LONGER == DIRECT
        length = cuda_reading.PIECE * cuda_reading._LONGER
        rows = [cuda_reading.DIRECT + 1] * 7
        listed = sum(-(-row // length) for row in rows if row > cuda_reading.DIRECT)
        assert listed <= cuda_reading.most_long_pieces(sum(rows)), listed


def host_parts():
    """What sorted rows take of the host's memory is there already at the next run with the same limit."""

    def on_host():
        return sum(each().nbytes - each().on_gpu for each in Placed.made if each() is not None)

    graph, limit, before, placements = drawn(), 8000, on_host(), []
    resident.Resident._made = made
    with mock.patch.object(resident, "free_memory", lambda: 17_000 - (on_host() - before)):
        for _ in range(4):
            gc.collect()
            ew.sssp(graph, 0, device="cuda", memory_limit=limit)
            placements.append(graph.placement.arcs)
    assert placements[0] > 0 and len(set(placements)) == 1, placements


def with_a_small_gpu(calls):
    """Each call where "auto" prefers a GPU that has no room, with the warnings that it gives."""
    from edgewise import execution
    from edgewise.kernels import costs
    from edgewise.kernels.cuda import memory

    memory.free, memory.fits = lambda: 100, lambda needed: needed <= 100
    execution.cuda_problem = lambda: None
    with mock.patch.multiple(costs, gpu_time=lambda *_: 0, copy_time=lambda _: 0):
        for call in calls:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                yield call(), [each.category for each in warned]


def no_room_on_the_gpu():
    """A run that was free to go anywhere goes on the CPU, with a warning, and one that was not is refused."""
    graph = ew.generate.uniform(60, 500, seed=1, weights=(1, 9))
    auto = {
        "bfs": lambda **how: ew.bfs(graph, 0, **how).level,
        "pagerank": lambda **how: ew.pagerank(graph, **how).rank,
        "components": lambda **how: ew.connected_components(graph, **how).component,
        "program": lambda **how: ew.run(SSSP(source=0), graph, **how).distance,
    }
    for call, (got, warned) in zip(auto.values(), with_a_small_gpu(auto.values()), strict=True):
        np.testing.assert_array_equal(got, call(device="cpu"))
        assert warned == [DeviceWarning], warned
    explained = [lambda: ew.explain(ew.bfs, graph, 0)]
    ((text, warned),) = with_a_small_gpu(explained)
    assert text.startswith("on the CPU, for the GPU has no room: bfs needs") and warned == [DeviceWarning], (
        text
    )
    balanced = {"schedule": ew.Schedule(balance=ew.WorkloadDecomposition())}
    for name, how in (
        *((name, {"device": "cuda"}) for name in auto),
        ("components", balanced),
        ("program", balanced),
    ):

        def is_refused(call=auto[name], how=how):
            try:
                call(**how)
            except MemoryLimitError:
                return True
            return False

        ((refused, warned),) = with_a_small_gpu([is_refused])
        assert refused and warned == [], (name, how)


def made_graph():
    """What a run keeps may be a graph."""
    graph = drawn()
    ew.connected_components(graph, device="cuda", schedule=ew.Schedule(balance=ew.WorkloadDecomposition()))
    assert any(isinstance(each, ew.Graph) for each in graph.residents.values())
    assert "read from the host's memory" in ew.bfs(graph, 0, device="cuda", memory_limit=4000).explain()


def least_of_all_forms():
    """A refusal says the fewest bytes with which any form runs."""
    for options in ({}, {"dtype": np.float32}, {"weighted": True}):

        def run(limit, graph, options=options):
            return ew.pagerank(graph, device="cuda", memory_limit=limit, max_iterations=3, **options)

        fewest = least(lambda limit, run=run: run(limit, drawn()))
        assert run(fewest, drawn()).rank.sum() > 0.99
        with contextlib.suppress(MemoryLimitError):
            raise AssertionError(f"runs with less than {fewest}: {run(fewest - 1, drawn())}")


def explained():
    """Where arrays lie is told before a run, and the run keeps to it; a layout is made, and no superstep is run."""
    from edgewise.engine.cuda.program import GpuProgram
    from edgewise.kernels.cuda import memory

    memory.link_rate = lambda: 50e9
    for run in (
        lambda call, graph, limit: call(ew.bfs, graph, 0, device="cuda", memory_limit=limit),
        lambda call, graph, limit: call(ew.sssp, graph, 0, device="cuda", memory_limit=limit),
        lambda call, graph, limit: call(ew.run, SSSP(source=0), graph, device="cuda", memory_limit=limit),
    ):
        graph = drawn()
        limit = least(lambda limit, run=run, graph=graph: run(ew.explain, graph, limit)) + 1000
        with mock.patch.object(GpuProgram, "__call__", refuse):
            told = run(ew.explain, graph, limit)
        placement = graph.placement
        assert str(placement) in told, told
        assert f"reads all {placement.elsewhere:,} bytes from the host's memory" in told, told
        got = run(lambda call, *given, **options: call(*given, **options), graph, limit)
        assert str(placement) in got.explain() and graph.placement == placement
        assert "superstep that reads all" not in got.explain()
    graph = drawn()
    told = ew.explain(ew.bfs, graph, 0, device="cuda")
    assert told.startswith("on the GPU; at most ") and "host" not in told, told


TESTS = (
    least_of_all_forms,
    made_graph,
    explained,
    no_room_on_the_gpu,
    host_parts,
    refused_limit,
    no_room_for_a_layout,
    second_run,
    too_far,
    not_too_far,
    pieces,
)


def main():
    pretend()
    from edgewise.algorithms.sssp import cuda_rows

    resident.LARGE_PAGE, resident.RESERVE, cuda_rows._LONG = 8, 0, 0
    {each.__name__: each for each in TESTS}[sys.argv[1]]()
    print("ok")


if __name__ == "__main__":
    main()
