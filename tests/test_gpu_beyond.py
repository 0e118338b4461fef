"""Runs on a GPU with less memory than the graph takes: the same answers, within the limit. These tests need an NVIDIA
GPU: `pytest -m gpu`."""

import gc
import mmap
import re
import threading
import warnings
import weakref
from functools import partial

import kept_messages
import numpy as np
import pytest
from beyond_programs import Reads, lengths
from test_engines import PROGRAMS

import edgewise as ew
from edgewise.algorithms.pagerank import cuda_apart
from edgewise.engine import endless
from edgewise.errors import MemoryLimitError, ProgramWarning
from edgewise.graph import resident
from edgewise.graph.resident import RESERVE
from edgewise.kernels.cuda import memory, placed
from edgewise.kernels.cuda.memory import OWN_PAGES
from edgewise.memory import LARGE_PAGE
from edgewise.run import Prepared

pytestmark = pytest.mark.gpu


def graph_of(directed=True, weights=(1, 100), edge_factor=10):
    """A graph whose arrays of arcs take several pages each."""
    return ew.generate.rmat(18, edge_factor, seed=5, weights=weights, directed=directed)


def in_own_pages(length):
    """An array of zeros, int32, that is not in the heap, where large ones are not locked in place."""
    return np.frombuffer(mmap.mmap(-1, 4 * length), np.int32)


ALGORITHMS = {
    "bfs": (True, lambda graph, **how: ew.bfs(graph, 1, **how), ("level", "parent")),
    "bfs undirected": (False, lambda graph, **how: ew.bfs(graph, 1, **how), ("level", "parent")),
    "bfs by pushing": (
        True,
        lambda graph, **how: ew.bfs(graph, 1, schedule=ew.Schedule(ew.Push()), **how),
        ("level", "parent"),
    ),
    "sssp": (True, lambda graph, **how: ew.sssp(graph, 1, **how), ("distance", "parent")),
    "sssp undirected": (False, lambda graph, **how: ew.sssp(graph, 1, **how), ("distance", "parent")),
    "components": (True, ew.connected_components, ("component",)),
    "components undirected": (False, ew.connected_components, ("component",)),
    "scc": (True, ew.scc, ("component",)),
    "mst": (False, ew.mst, ("source", "target", "weight")),
    "mst symmetrized": (
        True,
        lambda graph, **how: ew.mst(graph, symmetrize=True, **how),
        ("source", "target", "weight"),
    ),
    "betweenness": (True, lambda graph, **how: ew.betweenness(graph, k=16, **how), ("centrality",)),
    "weighted betweenness": (
        True,
        lambda graph, **how: ew.betweenness(graph, k=2, weighted=True, **how),
        ("centrality",),
    ),
}


def least(call, graph):
    """The fewest bytes with which a call runs."""
    with pytest.raises(MemoryLimitError) as refused:
        call(graph, device="cuda", memory_limit=0)
    (number,) = re.findall(r"needs ([\d,]+) bytes on the GPU for what vertices have", str(refused.value))
    return int(number.replace(",", ""))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_algorithms_give_the_same_answers_within_the_limit(name):
    directed, call, fields = ALGORITHMS[name]
    graph = graph_of(directed)
    expected = call(graph_of(directed), device="cuda")
    lowest = least(call, graph)
    arcs = graph.targets.nbytes
    for limit in (lowest, lowest + arcs // 3, lowest + arcs * 3 // 4, lowest):
        result = call(graph, device="cuda", memory_limit=limit)
        assert "read from the host's memory" in result.explain()
        for field in fields:
            if field == "centrality":
                np.testing.assert_allclose(getattr(result, field), getattr(expected, field), rtol=1e-9)
            else:
                np.testing.assert_array_equal(getattr(result, field), getattr(expected, field))
        assert result.verify(graph)
    again = call(graph, device="cuda")
    assert "read from the host's memory" not in again.explain()
    np.testing.assert_allclose(getattr(again, fields[0]), getattr(expected, fields[0]), rtol=1e-9)


@pytest.mark.parametrize("edge_factor", [4, 10])
@pytest.mark.parametrize("weights", [(0, 255), (1, 256), (1, 65536), (1, 10**8), (0.5, 2.0), "float32"])
def test_distances_over_weights_of_any_width(weights, edge_factor):
    def made():
        graph = graph_of(weights=(0.0, 2.0) if weights == "float32" else weights, edge_factor=edge_factor)
        if weights != "float32":
            return graph
        rows = graph.offsets, graph.targets, graph.weights.astype(np.float32)
        return ew.Graph.from_csr(*rows)

    graph, expected = made(), ew.sssp(made(), 1, device="cuda")
    result = ew.sssp(graph, 1, device="cuda", memory_limit=least(ALGORITHMS["sssp"][1], graph))
    assert "read from the host's memory" in result.explain()
    by_weight = edge_factor == 10 and weights not in [(1, 10**8), (0.5, 2.0)]
    assert ("ranges of distances" in result.explain()) == by_weight
    np.testing.assert_array_equal(result.distance, expected.distance)
    np.testing.assert_array_equal(result.parent, expected.parent)


@pytest.mark.parametrize("weighted", [False, True])
def test_pagerank_without_room_for_its_layout(weighted):
    graph = graph_of()
    expected = ew.pagerank(graph_of(), device="cuda", weighted=weighted)

    def call(graph, **how):
        return ew.pagerank(graph, weighted=weighted, **how)

    lowest = least(call, graph)
    for limit in (lowest, lowest + graph.targets.nbytes // 4):
        result = call(graph, device="cuda", memory_limit=limit)
        assert limit > lowest or "the host's memory" in result.explain()
        np.testing.assert_allclose(result.rank, expected.rank, rtol=1e-9)
        assert result.verify(graph)


def no_room(name, needed):
    """Stands for `check_free` where nothing is free."""
    raise MemoryLimitError(f"no room for {name}")


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pagerank_over_in_edges_as_they_are(directed, dtype, monkeypatch):
    options = {"dtype": dtype, "tol": 0, "max_iterations": 20}
    expected = ew.pagerank(graph_of(directed), device="cuda", **options)
    graph = graph_of(directed)
    monkeypatch.setattr(cuda_apart, "check_free", no_room)

    def call(graph, **how):
        return ew.pagerank(graph, **options, **how)

    lowest = least(call, graph)
    for limit in (lowest, lowest + graph.targets.nbytes // 2):
        result = call(graph, device="cuda", memory_limit=limit)
        assert "0 rows by themselves" in result.explain()
        np.testing.assert_allclose(result.rank, expected.rank, rtol=1e-9 if dtype == np.float64 else 1e-4)
        assert result.verify(graph)


@pytest.mark.parametrize("after", [0, 1, 4, 31])
def test_pagerank_over_arrays_that_begin_anywhere(after, monkeypatch):
    rows, line = ew.generate.uniform(2**20, 9_000_000, seed=5, directed=False), 32
    room = in_own_pages(rows.num_arcs + 2 * line)
    begin = -(room.ctypes.data // 4) % line + after
    targets = room[begin : begin + rows.num_arcs]
    targets[:] = rows.targets
    graph = ew.Graph.from_csr(rows.offsets, targets, directed=False)
    expected = ew.pagerank(rows, device="cuda", tol=0, max_iterations=20).rank
    monkeypatch.setattr(cuda_apart, "check_free", no_room)
    monkeypatch.setattr(resident.Resident, "_host_has_room", lambda self, size: size <= 0)
    lowest = least(lambda graph, **how: ew.pagerank(graph, **how), graph)
    got = ew.pagerank(graph, device="cuda", tol=0, max_iterations=20, memory_limit=lowest)
    seen = graph.gpu.targets
    assert (seen.data.ptr, placed.after_line(seen)) == (targets.ctypes.data, after)
    assert "0 rows by themselves" in got.explain()
    np.testing.assert_allclose(got.rank, expected, rtol=1e-9)


UNSORTED = ew.Layout(None, group_size=1, split=False)
SCHEDULES = {
    "push": ew.Schedule(ew.Push()),
    "pull": ew.Schedule(ew.Pull()),
    "auto": ew.Schedule(),
    "buffered": ew.Schedule(ew.Buffered()),
    "buffered, unsorted": ew.Schedule(ew.Buffered(), layout=UNSORTED),
    "laid out": ew.Schedule(ew.Pull(), layout=ew.Layout("linear", num_buckets=20, made_on="cpu")),
}
#: By name: a program, and whether its vertices may have many in-edges.
BEYOND = {
    **{name: (program, True) for name, (program, _) in PROGRAMS.items()},
    **{name: (program, False) for name, program in kept_messages.PROGRAMS.items()},
    "reads": (Reads, True),
}
CASES = [
    (name, schedule)
    for name, (program, _) in BEYOND.items()
    for schedule in SCHEDULES
    if program.combine is not ew.MESSAGES or schedule.startswith(("auto", "buffered"))
]


def program_on(name):
    """A program of `BEYOND`, a graph for it, and its values."""
    program, hubs = BEYOND[name]
    make = partial(ew.generate.rmat, 17, 40) if hubs else partial(ew.generate.uniform, 2**17, 40 * 2**17)
    graph = make(seed=5, weights=(1, 9))
    return (
        program,
        graph,
        PROGRAMS[name][1] if name in PROGRAMS else lengths(graph) if program is Reads else {},
    )


def assert_equal(result, expected, exactly):
    """Fields equal: bit for bit, or but for rounding."""
    for field, right in {**expected.fields, **expected.edge_fields}.items():
        values = result.host_array(field)
        if exactly:
            np.testing.assert_array_equal(values, right, err_msg=field)
        else:
            np.testing.assert_allclose(values, right, rtol=1e-5, err_msg=field)


@pytest.mark.parametrize(("name", "schedule"), CASES)
def test_programs_give_the_same_answers_within_the_limit(name, schedule, monkeypatch):
    """From the least memory on, with a part of each array of arcs on the GPU, and with more; then all of it."""
    monkeypatch.setattr(resident, "RESERVE", LARGE_PAGE)
    program, graph, values = program_on(name)
    told = (
        values
        if program.asynchronous
        else {**values, "max_supersteps": min(program.max_supersteps or 30, 30)}
    )
    try:
        prepared = [Prepared(program, graph, "cuda", SCHEDULES[schedule], in_edges=True) for _ in range(2)]
        expected, again = prepared[0](**told), prepared[0](**told)
    except ew.errors.ScheduleError as refused:
        pytest.skip(str(refused))
    exactly = all(
        np.array_equal(values, again.host_array(field))
        for field, values in {**expected.fields, **expected.edge_fields}.items()
    )
    lowest, arcs = least(lambda graph, device, **how: prepared[1](**told, **how), graph), graph.targets.nbytes
    for limit in (lowest, lowest + arcs * 3 // 4, lowest + arcs * 3, lowest):
        result = prepared[1](**told, memory_limit=limit)
        if limit < lowest + arcs:
            assert "read from the host's memory" in result.explain()
            assert all(isinstance(result.on_device(field), np.ndarray) for field in expected.edge_fields)
        assert_equal(result, expected, exactly)
        assert program.asynchronous or result.supersteps == expected.supersteps
    result = prepared[1](**told)
    assert "read from the host's memory" not in result.explain()
    assert_equal(result, expected, exactly)


@pytest.fixture
def most_on_gpu(monkeypatch):
    """A function that empties CuPy's pool, and gives one that tells the most bytes taken on the GPU since: what the
    pool holds, and the parts of arrays that lie there. The driver counts all processes together."""
    import cupy

    pool, made, most = cupy.get_default_memory_pool(), [], [0]
    make = placed._Divided

    def taken():
        parts = [each() for each in made]
        return pool.total_bytes() + sum(each.on_gpu for each in parts if each is not None)

    def counted(size, there):
        most[0] = max(most[0], taken())  # before CuPy gives back what it holds
        divided = make(size, there)
        made.append(weakref.ref(divided))
        most[0] = max(most[0], taken())
        return divided

    def begin():
        gc.collect()
        pool.free_all_blocks()
        before = most[0] = taken()
        return lambda: max(most[0], taken()) - before

    monkeypatch.setattr(placed, "_Divided", counted)
    return begin


def call_of(program, schedule):
    """A call of a program, for a graph."""

    def call(graph, **how):
        values = lengths(graph) if program is Reads else {}
        return ew.run(program(**values), graph, schedule=SCHEDULES[schedule], **how)

    return call


TAKING = {
    **{name: ALGORITHMS[name][1] for name in ("bfs", "components", "scc", "mst symmetrized")},
    "messages": call_of(kept_messages.PROGRAMS["spread"], "auto"),
    "slots": call_of(PROGRAMS["edge fields"][0], "buffered"),
    "written fields": call_of(PROGRAMS["edge fields"][0], "push"),
    "layout": call_of(PROGRAMS["float sums"][0], "laid out"),
    "fields in a layout": call_of(Reads, "auto"),
}


@pytest.mark.parametrize("name", TAKING)
def test_no_more_is_taken_from_the_driver_than_the_limit(name, most_on_gpu):
    call = TAKING[name]
    call(ew.generate.rmat(8, 8, seed=1, weights=(1, 9)), device="cuda")
    graph = ew.generate.rmat(20, 16, seed=5, weights=(1, 100))
    lowest = least(call, graph)
    for limit in (lowest + RESERVE, lowest + graph.targets.nbytes * 3 // 4):
        taken = most_on_gpu()
        result = call(graph, device="cuda", memory_limit=limit)
        assert "read from the host's memory" in result.explain()
        assert taken() <= limit, result.explain()
        del result


class Endless(ew.Program):
    """Vertices stay active for ever, and write the same into their edges."""

    used = ew.edge("int32")
    combine = ew.SUM
    message = "int32"

    @staticmethod
    def initialize(v, state):
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        state.used[edge.index] = 7
        return None

    @staticmethod
    def vertex_compute(v, message, state):
        return ew.ACTIVE


def test_edge_fields_on_the_host_are_looked_at_during_a_run(monkeypatch):
    monkeypatch.setattr(endless, "FIRST_LOOK", 0.1)
    graph = graph_of()
    fewest = least(lambda graph, **how: ew.run(Endless, graph, **how), graph)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProgramWarning)
        with pytest.raises(ProgramWarning, match="its fields were the same at 3 looks"):
            ew.run(Endless, graph, device="cuda", memory_limit=fewest)


@pytest.mark.parametrize("there", [0, LARGE_PAGE, 3 * LARGE_PAGE])
def test_divided_arrays_come_back(there):
    values = np.arange(3 * LARGE_PAGE // 4, dtype=np.int32)
    array = placed.place(values, there, written=True)
    assert placed.on_gpu(array) == there
    array += 1
    memory.finish()  # a snapshot does not wait for it
    found = placed.for_users(array)
    assert isinstance(found, np.ndarray) == (there < values.nbytes)
    np.testing.assert_array_equal(placed.snapshot(array), values + 1)
    assert there == values.nbytes or (found == values + 1).all()
    np.testing.assert_array_equal(values, np.arange(len(values)))


REFUSING = {"bfs": ALGORITHMS["bfs"][1], "a program": call_of(PROGRAMS["float sums"][0], "auto")}


@pytest.mark.parametrize("name", REFUSING)
def test_arrays_are_read_in_place_if_the_system_gives_no_parts_of_them(name, monkeypatch):
    call, make = REFUSING[name], placed._Divided

    def made(size, there):
        if there:
            raise MemoryLimitError("no parts")
        return make(size, there)

    graph, expected = graph_of(), call(graph_of(), device="cuda")
    limit = least(call, graph) + graph.targets.nbytes
    monkeypatch.setattr(placed, "_Divided", made)
    result = call(graph, device="cuda", memory_limit=limit)
    assert graph.placement.arcs == 0
    assert "read from the host's memory" in result.explain()
    values = [each.fields if name == "a program" else each.columns() for each in (result, expected)]
    for key, array in values[1].items():
        np.testing.assert_array_equal(values[0][key], array)


def test_memory_that_is_locked_already_is_read_in_place():
    values = memory.pinned(OWN_PAGES // 4 + 5, np.int32)
    values[:] = np.arange(len(values))
    for _ in range(2):
        array = placed.place(values, 0)
        assert array.data.ptr == values.ctypes.data and placed.on_gpu(array) == 0
        assert int(array.sum(dtype=np.int64)) == len(values) * (len(values) - 1) // 2
        del array
        gc.collect()
        assert memory.is_locked(values)
    assert not memory.is_locked(np.zeros(OWN_PAGES, np.uint8))


def test_memory_is_locked_and_unlocked_in_any_thread():
    values, held = in_own_pages(2 * OWN_PAGES // 4), []
    for work, locked in ((lambda: held.append(placed.place(values, 0)), True), (held.clear, False)):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert memory.is_locked(values) == locked
    memory.cupy().asarray(values[len(values) // 2 :])


@pytest.mark.parametrize("kind", ["plain", "locked", "read-only", "strided", "two-dimensional"])
def test_large_arrays_are_copied_to_the_gpu(kind):
    drawn = np.random.default_rng(1).integers(0, 2**31, 2 * (OWN_PAGES // 4) + 10, dtype=np.int32)
    values = drawn[: OWN_PAGES // 4 + 7]
    if kind == "locked":
        values = memory.pinned(len(values), np.int32)
        values[:] = drawn[: len(values)]
    elif kind == "strided":
        values = drawn[::2]
    elif kind == "two-dimensional":
        values = np.asfortranarray(drawn[: 2 * (OWN_PAGES // 8)].reshape(2, -1))
    elif kind == "read-only":
        values.flags.writeable = False
    copies = [memory.copy_of(values) for _ in range(2)]
    for copy in copies:
        np.testing.assert_array_equal(copy.get(), values)
    assert memory.is_locked(values) == (kind == "locked")


def test_graphs_share_what_is_locked():
    graph = ew.generate.rmat(20, 20, seed=5)
    targets = in_own_pages(graph.num_arcs)
    targets[:] = graph.targets
    assert targets.nbytes >= OWN_PAGES
    graph, other = (ew.Graph.from_csr(graph.offsets, targets) for _ in range(2))
    for each in (graph, other):
        lowest = least(lambda graph, **how: ew.bfs(graph, 1, **how), each)
        result = ew.bfs(each, 1, device="cuda", memory_limit=lowest)
        assert result.verify(each)


def test_a_graph_built_on_the_gpu_counts():
    import cupy

    graph = graph_of()
    there = ew.Graph.from_edges(cupy.asarray(graph.sources), cupy.asarray(graph.targets))
    with pytest.raises(MemoryLimitError, match="with the graph, which was built there"):
        ew.bfs(there, 1, device="cuda", memory_limit=2**20)
