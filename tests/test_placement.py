"""What of a graph lies on a GPU, for any limit; NumPy stands for CuPy. tests/test_gpu_beyond.py runs on a GPU."""

import contextlib
from types import SimpleNamespace

import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import MemoryLimitError
from edgewise.graph import Arrays, Needs, resident
from edgewise.graph.resident import HEAD_BYTES, LISTS, part
from edgewise.kernels.cuda import memory as cuda_memory
from edgewise.kernels.cuda import placed
from edgewise.memory import LARGE_PAGE

#: Less than usual, so that small graphs do.
RESERVE = LARGE_PAGE


class Door(SimpleNamespace):
    """The GPU's memory: how much is free, and how often what CuPy holds was given back."""

    def fits(self, needed):
        return needed <= self.left

    def free(self):
        return self.left

    def give_back(self):
        self.given_back += 1

    def room(self, name, needed):
        return contextlib.nullcontext()


@pytest.fixture
def gpu(monkeypatch):
    door = Door(left=10**12, given_back=0, placed=[])

    def place(values, on_gpu):
        door.placed.append(on_gpu)
        return np.array(values)

    monkeypatch.setattr(resident, "cuda_door", lambda: door)
    monkeypatch.setattr(placed, "place", place)
    monkeypatch.setattr(resident, "RESERVE", RESERVE)
    return door


def graph_of(directed=True):
    """Arrays of arcs of several pages each."""
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 1000, (2, 5_000_000 if directed else 2_500_000), dtype=np.int64)
    return ew.Graph.from_edges(*ends, directed=directed, num_vertices=1000)


def test_parts_are_whole_pages_or_all():
    assert part(10 * LARGE_PAGE + 5, 1.0) == 10 * LARGE_PAGE + 5
    assert part(10 * LARGE_PAGE, 0.39) == 3 * LARGE_PAGE
    assert part(LARGE_PAGE - 1, 0.99) == 0


def test_a_graph_that_fits_lies_there_as_a_whole(gpu):
    graph = graph_of()
    whole = 2 * (4 * 1001 + graph.targets.nbytes)
    for limit in (None, whole + 100):
        assert graph.gpu.place("it", Needs(Arrays.BOTH_WAYS, 100), limit).most == whole
        assert graph.placement is None
    _ = graph.gpu.targets, graph.gpu.offsets
    assert gpu.placed == [graph.targets.nbytes, 4 * 1001]
    assert graph.gpu.making(Arrays.BOTH_WAYS).most == whole - graph.targets.nbytes - 4 * 1001


def test_arrays_lie_in_place_if_the_host_has_no_room_for_parts_of_them(gpu, monkeypatch):
    graph = graph_of()
    arcs = graph.targets.nbytes
    needs, limit = Needs(Arrays.ROWS, 100), 100 + 4 * 1001 + RESERVE + arcs // 2
    for free, in_place in ((arcs, False), (arcs // 2, True)):
        monkeypatch.setattr(resident, "free_memory", lambda free=free: free)
        graph.gpu.place("it", needs, limit)
        assert (graph.placement.arcs == 0) is in_place
    monkeypatch.setattr(resident, "free_memory", lambda: arcs)
    graph.gpu.place("it", needs, limit)
    _ = graph.gpu.targets  # its second part takes what was free
    placement = graph.placement
    monkeypatch.setattr(resident, "free_memory", lambda: arcs // 2)
    graph.gpu.place("it", needs, limit)
    assert graph.placement is placement


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("share", [0, 0.2, 0.7])
def test_a_graph_that_does_not_fit_keeps_within_the_limit(gpu, directed, share):
    graph = graph_of(directed)
    ways = 1 + directed
    offsets, arcs = ways * 4 * 1001, ways * graph.targets.nbytes
    limit = 100 + offsets + RESERVE + int(share * arcs)
    making = graph.gpu.place("it", Needs(Arrays.BOTH_WAYS, 100), limit)
    there = [graph.gpu.offsets, graph.gpu.targets, graph.gpu.in_offsets, graph.gpu.in_sources]
    assert len(there) == 4 and len(gpu.placed) == 2 * ways
    assert making.most == sum(gpu.placed) == graph.placement.there
    assert offsets <= sum(gpu.placed) <= limit - 100 - RESERVE
    assert sum(gpu.placed) >= offsets + share * arcs - ways * LARGE_PAGE
    assert graph.placement.there + graph.placement.elsewhere == offsets + arcs
    assert f"{sum(gpu.placed):,} of {offsets + arcs:,} bytes" in str(graph.placement)


def test_the_least_that_works_is_said(gpu):
    graph = graph_of()
    least = 100 + 2 * 4 * 1001
    with pytest.raises(MemoryLimitError, match=f"it needs {least:,} bytes on the GPU for what vertices have"):
        graph.gpu.place("it", Needs(Arrays.BOTH_WAYS, 100), least - 1)
    graph.gpu.place("it", Needs(Arrays.BOTH_WAYS, 100), least)
    assert graph.placement.arcs == 0


def test_without_a_limit_what_is_free_counts(gpu):
    graph = graph_of()
    gpu.left = graph.targets.nbytes + RESERVE
    graph.gpu.place("it", Needs(Arrays.BOTH_WAYS, 100), None)
    assert 0.4 < graph.placement.arcs < 0.5
    _ = graph.gpu.targets
    gpu.left = 10**12
    graph.gpu.place("it", Needs(Arrays.BOTH_WAYS, 100), None)
    assert graph.placement is None and not graph.residents and gpu.given_back == 2


def test_heads_come_before_lists_and_lists_before_arcs(gpu):
    graph = graph_of()
    offsets, heads, lists = 2 * 4 * 1001, HEAD_BYTES * 1000, 20 * LARGE_PAGE
    needs = Needs(Arrays.BOTH_WAYS, 100, lists, heads=True)
    graph.gpu.place("it", needs, 100 + offsets + RESERVE + heads - 1)
    assert not graph.placement.heads
    graph.gpu.place("it", needs, 100 + offsets + RESERVE + heads)
    assert graph.placement.heads and graph.placement.lists == graph.placement.arcs == 0
    room = 8 * LARGE_PAGE
    making = graph.gpu.place("it", needs, 100 + offsets + RESERVE + heads + room)
    assert graph.placement.lists == LISTS * room / lists
    assert making.most <= offsets + heads + room
    graph.gpu.place("it", needs, 10**9)
    assert graph.placement is None


def test_arrays_that_a_run_makes_lie_as_the_graph_does(gpu):
    graph, asked = graph_of(), []
    own = [7 * LARGE_PAGE, LARGE_PAGE + 3]

    def of_arcs(exactly):
        asked.append(exactly)
        return own if exactly else own[:1]

    needs = Needs(Arrays.ROWS, 100, of_arcs=of_arcs, if_all_fits=50)
    gpu.left = graph.gpu.place("it", Needs(Arrays.ROWS, 100), None).most + 100 + own[0] + 50
    graph.gpu.place("it", needs, None)
    assert graph.placement is None and asked == [False]
    gpu.left -= 1
    graph.gpu.place("it", needs, None)
    assert graph.placement is not None and asked == [False, False, True]
    offsets, arcs = 4 * 1001, graph.targets.nbytes + sum(own)
    graph.gpu.place("it", needs, 100 + offsets + arcs + 50)
    assert graph.placement is None and graph.gpu.part(own[1]) == own[1]
    graph.gpu.place("it", needs, 100 + offsets + RESERVE + arcs // 2)
    assert graph.placement.arcs == arcs // 2 / arcs
    assert [graph.gpu.part(size) for size in own] == [3 * LARGE_PAGE, 0]
    assert graph.placement.there == offsets + part(graph.targets.nbytes, 0.5) + 3 * LARGE_PAGE
    assert graph.placement.there + graph.placement.elsewhere == offsets + arcs
    least = 100 + offsets
    with pytest.raises(MemoryLimitError, match=f"needs {least:,} bytes"):
        graph.gpu.place("it", needs, least - 1)
    graph.gpu.place("it", needs, least)
    assert graph.gpu.part(own[0]) == 0
    before = len(gpu.placed)
    assert graph.gpu.placed(graph.targets).tolist() == graph.targets.tolist()
    assert gpu.placed[before:] == [0]


def test_divided_memory_is_copied_in_two_parts(monkeypatch):
    """The host's part by the host, the GPU's by the driver; an array of the host stands for both."""
    import ctypes

    copies = []

    def by_driver(to, source, size, kind, stream):
        copies.append((size, kind))
        ctypes.memmove(to, source, size)

    runtime = SimpleNamespace(memcpyHostToDevice="in", memcpyDeviceToHost="out", memcpyAsync=by_driver)
    stream = SimpleNamespace(ptr=0, synchronize=lambda: None)
    cuda = SimpleNamespace(runtime=runtime, Stream=lambda non_blocking: stream)
    for module in (placed, cuda_memory):
        monkeypatch.setattr(module, "cupy", lambda: SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(placed, "_PIECE", 40)
    values, memory = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
    divided = placed._Divided.__new__(placed._Divided)
    divided.address, divided.size, divided.on_gpu = memory.ctypes.data, memory.nbytes, 64
    divided.fill(values)
    assert copies == [(64, "in")]
    np.testing.assert_array_equal(memory, values)
    memory += 1
    np.testing.assert_array_equal(divided.snapshot(memory), values + 1)
    assert copies == [(64, "in"), (64, "out")]


def test_arrays_are_read_in_place_once_the_system_gives_no_parts_of_them(gpu):
    graph = graph_of()
    needs, limit = Needs(Arrays.ROWS, 100, 1000), 100 + 4 * 1001 + RESERVE + graph.targets.nbytes // 2
    assert not graph.gpu.read_in_place()
    graph.gpu.place("it", needs, limit)
    assert graph.placement.arcs > 0
    assert graph.gpu.read_in_place()
    graph.gpu.place("it", needs, limit)
    assert (graph.placement.arcs, graph.placement.lists) == (0, 1)
    assert not graph.gpu.read_in_place()


def test_what_was_chosen_for_what_is_free_stays(gpu):
    graph, lists = graph_of(), 8 * LARGE_PAGE
    needs = Needs(Arrays.ROWS, 100, lists)
    free = 100 + 4 * 1001 + RESERVE + 6 * LARGE_PAGE
    gpu.left = free
    first = graph.gpu.place("it", needs, None).most
    placement = graph.placement
    assert 0 < placement.arcs < 1 and 0 < placement.lists < 1
    of_lists = int(lists * placement.lists)

    def made(graph):
        return [SimpleNamespace(nbytes=of_lists, data=SimpleNamespace(ptr=1)), np.int64(3), np.zeros(5), 7]

    _, _, _ = graph.gpu.kept(made), graph.gpu.targets, graph.gpu.offsets
    for other in (0, 1000, -1000):
        gpu.left = free - first + other
        assert graph.gpu.place("it", needs, None).most == 0
        assert graph.placement is placement
    gpu.left = free - first + graph.targets.nbytes // 4
    graph.gpu.place("it", needs, None)
    assert graph.placement.arcs > placement.arcs


def test_what_other_runs_made_is_given_up_where_there_is_no_room_beside_it(gpu):
    graph, size = graph_of(), 50_000_000
    _ = graph.gpu.targets, graph.gpu.offsets

    def made(graph):
        return [SimpleNamespace(nbytes=size, data=SimpleNamespace(ptr=1))]

    graph.gpu.kept(made)
    gpu.left = 10_000_000
    step = graph.gpu.place("it", Needs(Arrays.ROWS, 30_000_000), None)
    given_up = 0 if graph.residents else size + graph.targets.nbytes + graph.offsets.nbytes
    assert step.most + 30_000_000 <= gpu.left + given_up


def test_what_lies_otherwise_is_given_up(gpu):
    graph = graph_of()

    def made(graph):
        return object()

    graph.gpu.place("it", Needs(Arrays.BOTH_WAYS, 0), None)
    first, rows = graph.gpu.kept(made), graph.gpu.targets
    graph.programs["a program"] = object()
    graph.gpu.place("it", Needs(Arrays.BOTH_WAYS, 0), 10**9)
    assert graph.gpu.kept(made) is first and graph.gpu.targets is rows and graph.programs
    limit = 10 * LARGE_PAGE + RESERVE
    graph.gpu.place("it", Needs(Arrays.BOTH_WAYS, 0), limit)
    assert not graph.gpu.has(made) and not graph.programs
    second, rows = graph.gpu.kept(made), graph.gpu.targets
    graph.gpu.place("it", Needs(Arrays.BOTH_WAYS, 0), limit)
    assert graph.gpu.kept(made) is second is not first and graph.gpu.targets is rows


def test_copies_of_a_graph_have_nothing_there(gpu):
    import copy

    graph = graph_of()
    graph.gpu.place("it", Needs(Arrays.ROWS, 0), 4 * 1001)
    assert graph.placement is not None and copy.copy(graph).placement is None
