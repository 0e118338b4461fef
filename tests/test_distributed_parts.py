"""The parts of distributed runs, each by itself: what is sent, who has which vertices, and what is refused."""

import importlib.util
from collections.abc import Sequence
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import edgewise as ew
from edgewise import distributed
from edgewise.engine.cpu.kernel_aggregates import BLOCK
from edgewise.engine.distributed import group as groups
from edgewise.engine.distributed.exchange import Shared, packed, packed_flags, placed, unpacked
from edgewise.engine.distributed.group import Group, connect, timeout_seconds
from edgewise.engine.distributed.partition import Ranges, blocks_of, by_arcs
from edgewise.engine.distributed.waiting import Waiting
from edgewise.errors import DistributedError, EdgewiseError, ScheduleError

DTYPES = [np.dtype(name) for name in ("bool", "int32", "int64", "float32", "float64")]
ODD = np.array([np.nan, -0.0, 0.0, np.inf, -np.inf, 1.5])


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("possible", [1, 7, 8, 9, 64, 1000])
@pytest.mark.parametrize("begin", [0, 5, 2**32 - 2000])
def test_vertices_and_values_are_what_was_packed(possible: int, begin: int) -> None:
    rng = np.random.default_rng(possible)
    among = slice(begin, begin + possible)
    for count in sorted({0, 1, possible // 33, possible // 31, possible // 2, possible}):
        vertices = np.sort(rng.permutation(possible)[:count]).astype(np.int64) + begin
        arrays = [ODD[rng.integers(0, 6, count)].astype(dtype) for dtype in DTYPES if dtype.kind == "f"]
        arrays += [
            rng.integers(-(2**31), 2**31, count).astype(dtype) for dtype in DTYPES if dtype.kind != "f"
        ]
        part = packed(vertices, among, arrays)
        assert part.dtype == np.uint8
        which, values = unpacked(part, among, [array.dtype for array in arrays])
        assert which.tolist() == vertices.tolist()
        assert all(map(same_bits, values, arrays))
        listed, bitmap = 4 * count, (possible + 7) // 8
        sizes = sum(array.nbytes for array in arrays)
        assert len(part) == (8 + min(listed, bitmap) + sizes if count else 0)
        assert unpacked(packed(vertices, among, []), among, [])[0].tolist() == vertices.tolist()
        flags, whole = np.isin(np.arange(begin, begin + possible), vertices), list[np.ndarray]()
        for array in arrays:
            whole.append(np.zeros(possible, array.dtype))
            whole[-1][flags] = array
        part = packed_flags(flags, among, whole)
        which, values = unpacked(part, among, [array.dtype for array in arrays])
        assert which.tolist() == vertices.tolist()
        places, _ = placed(part, among, [array.dtype for array in arrays])
        for array, value, old in zip(arrays, values, whole, strict=True):
            assert value.tobytes() == array.tobytes()
            new = np.zeros(possible, array.dtype)
            new[places] = value
            assert new.tobytes() == old.tobytes()
        if possible and len(vertices) == possible:
            assert len(part) == 8 + sum(array.nbytes for array in arrays)


def test_only_what_has_changed_is_told_and_only_to_those_who_want_it() -> None:
    """-0.0 is not 0.0, and NaN is NaN."""
    values, flags = np.array([0.0, np.nan, 2.0, 3.0, 4.0]), np.zeros(5, np.bool_)
    own = slice(1, 4)
    shared = Shared([values, flags], own, [None, np.array([True, False, False]), np.zeros(3, np.bool_)])
    assert [len(part) for part in shared.changes()] == [0, 0, 0]
    values[1] = np.nan
    values[2] = -0.0
    values[0] = values[4] = 9.0
    flags[3] = True
    parts = shared.changes()
    assert unpacked(parts[0], own, shared.dtypes)[0].tolist() == [2, 3]
    assert [len(part) for part in parts[1:]] == [0, 0]
    values[2], flags[1] = 0.0, True
    to_all, to_one, to_none = shared.changes()
    assert unpacked(to_all, own, shared.dtypes)[0].tolist() == [1, 2]
    assert unpacked(to_one, own, shared.dtypes)[0].tolist() == [1]
    assert len(to_none) == 0
    there = Shared([np.zeros(5), np.zeros(5, np.bool_)], slice(4, 5), [None])
    there.take(to_all, own)
    assert np.array_equal(there._arrays[0], [0, np.nan, 0, 0, 0], equal_nan=True)
    assert there._arrays[1].tolist() == [False, True, False, False, False]


OFFSETS = {
    "no vertices": [0],
    "one vertex": [0, 0],
    "fewer vertices than ranks": [0, 3, 5],
    "no arcs": [0] * 40,
    "a hub first": [0] + [1000] * 50,
    "a hub last": [0] * 50 + [1000],
    "even": list(range(0, 300, 3)),
    "blocks": [0] * (5 * BLOCK + 4),
}


@pytest.mark.parametrize("name", OFFSETS)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_each_vertex_belongs_to_one_rank(name: str, size: int) -> None:
    offsets = np.array(OFFSETS[name], np.int64)
    n = len(offsets) - 1
    ranges = [by_arcs(rank, size, offsets) for rank in range(size)]
    assert all(each.begins == ranges[0].begins for each in ranges)
    begins = ranges[0].begins
    assert (begins[0], begins[-1], len(begins)) == (0, n, size + 1)
    assert begins == sorted(begins)
    assert [v for each in ranges for v in range(n)[each.own]] == list(range(n))
    places = [int(offsets[stop] - offsets[start]) + stop - start for start, stop in pairwise(begins)]
    largest = 1 + int(np.diff(offsets).max(initial=0))
    assert max(places) <= (n + int(offsets[n])) / size + largest


@pytest.mark.parametrize(
    "begins",
    [
        [0, 0],
        [0, 1],
        [0, 0, 1, 1],
        [0, 5, 9],
        [0, BLOCK, 2 * BLOCK],
        [0, BLOCK - 1, BLOCK + 1, 3 * BLOCK + 7],
        [0, 3, 3, 5, BLOCK, BLOCK + 1, 2 * BLOCK - 1],
        [0, 1, 4 * BLOCK + 2],
        [0, 4 * BLOCK + 1, 4 * BLOCK + 1, 4 * BLOCK + 2, 4 * BLOCK + 3],
        [0, 2 * BLOCK + 5, 2 * BLOCK + 9, 2 * BLOCK + 9],
    ],
)
def test_the_parts_of_ranks_joined_by_blocks_are_the_blocks_of_one(begins: list[int]) -> None:
    """Sums of floats, rounded, folded as one process folds: each block from its first vertex on."""
    n = begins[-1]
    values = np.random.default_rng(n).random(n) * 10.0 ** np.random.default_rng(n + 1).integers(-9, 9, n)
    expected = [fold(values[start : start + BLOCK]) for start in range(0, n, BLOCK)]
    parts = Ranges(0, begins).parts()
    results = dict[int, float]()
    covered = list[int]()
    for rank, of_rank in enumerate(parts):
        for part in of_rank:
            assert begins[rank] <= part.low <= part.high <= begins[rank + 1] or part.results == 0
            covered += range(part.low, part.high)
            for i in range(part.results):
                low = part.low + i * part.length
                results[part.first + i] = fold(values[low : min(part.high, low + part.length)])
    assert covered == list(range(n))
    assert sorted(results) == list(range(len(results)))
    starts, several = blocks_of(parts)
    blocks = [slice(*each) for each in pairwise([*starts.tolist(), len(results)])]
    assert [fold([results[i] for i in range(block.start, block.stop)]) for block in blocks] == expected
    assert several == [block for block in blocks if block.stop > block.start + 1]


def fold(values: np.ndarray | list[float]) -> float:
    """The sum from left to right."""
    total = 0.0
    for value in values:
        total += float(value)
    return total


def test_a_single_rank_sends_itself_everything() -> None:
    alone = Group(0, 1)
    parts = [np.arange(5000, dtype=np.uint8)]
    received, words = alone.exchange(parts, -7)
    assert received[0].tolist() == parts[0].tolist()
    assert words == [-7]
    assert alone.total(12) == 12
    assert alone.everywhere(np.empty(0, np.uint8))[0][0].tolist() == []
    assert (alone.sent_bytes, alone.exchanges) == (0, 0)


class Sends(ew.Program):
    """A plain program."""

    value = ew.vertex("int64", init=1)
    combine = ew.SUM
    max_supersteps = 2

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = message
        return ew.ACTIVE


GRAPH = ew.Graph.from_edges([0, 1], [1, 2])


@pytest.fixture
def not_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    """No group of an earlier test, and nothing of what torchrun sets."""
    monkeypatch.setattr(groups, "_groups", [])
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "EDGEWISE_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)


def test_a_missing_torch_is_named(not_connected: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        DistributedError, match=r"PyTorch is not installed: pip install 'edgewise\[distributed\]'"
    ):
        ew.run(Sends(), GRAPH, distributed=True)


@pytest.mark.more
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_a_process_that_is_no_rank_is_told_how_to_start(
    not_connected: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        DistributedError, match=r"RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT not set.*torchrun"
    ):
        ew.run(Sends(), GRAPH, distributed=True)
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(
        DistributedError, match=r"one of several: WORLD_SIZE, MASTER_ADDR, MASTER_PORT not set"
    ):
        connect()


def test_a_timeout_is_a_number_of_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDGEWISE_TIMEOUT", raising=False)
    assert timeout_seconds() == 300
    monkeypatch.setenv("EDGEWISE_TIMEOUT", "2.5")
    assert timeout_seconds() == 2.5
    for nonsense in ("soon", "0", "-1", "nan", "inf", "1e12", "3s"):
        monkeypatch.setenv("EDGEWISE_TIMEOUT", nonsense)
        with pytest.raises(DistributedError, match=f"EDGEWISE_TIMEOUT is '{nonsense}'; expected seconds"):
            timeout_seconds()


@pytest.mark.parametrize(
    "schedule",
    [
        ew.Schedule(ew.Push()),
        ew.Schedule(ew.Pull()),
        ew.Schedule(ew.Buffered()),
        ew.Schedule(balance=ew.BlockMapped()),
    ],
)
def test_schedules_of_one_process_are_refused(schedule: ew.Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_groups", [Group(0, 1)])
    with pytest.raises(ScheduleError, match="decides by itself how messages go: expected num_threads alone"):
        ew.run(Sends(), GRAPH, schedule=schedule, distributed=True)


def test_an_only_rank_gives_the_answer_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_groups", [Group(0, 1)])
    result = ew.run(Sends(), GRAPH, distributed=True)
    assert result.value.tolist() == ew.run(Sends(), GRAPH, device="cpu").value.tolist()
    assert (result.group_rank, result.group_size, result.vertices, result.sent_bytes) == (
        0,
        1,
        slice(0, 3),
        0,
    )
    assert result.gather().value.tolist() == result.fields["value"].tolist()


@pytest.mark.parametrize("device", ["tpu", 3, None])
def test_unknown_devices_are_refused(device: object) -> None:
    with pytest.raises(DistributedError, match="expected 'auto', 'cpu' or 'cuda'"):
        ew.run(Sends(), GRAPH, device=device, distributed=True)


class OneOfTwo(Group):
    """The first of two ranks, of which the other tells the same, but for its word."""

    def __init__(self, other_word: int) -> None:
        super().__init__(0, 2)
        self._other_word = other_word

    def exchange(self, parts: Sequence[np.ndarray], word: int = 0) -> tuple[list[np.ndarray], list[int]]:
        return list(parts), [word, self._other_word]


@pytest.mark.parametrize(
    ("device", "usable", "other_word", "refusal"),
    [
        ("cuda", True, 4, r"rank 1 has no GPU that can be used; look at its own error"),
        ("cuda", False, 5, r"rank 0 has no GPU that can be used; device='cuda': there is none"),
        ("cuda", True, 3, r"device is 'cuda' on rank 0, and 'auto' on rank 1; expected the same call"),
        ("auto", True, 0, r"device is 'auto' on rank 0, and 'cpu' on rank 1; expected the same call"),
        ("auto", True, 2, None),
        ("auto", False, 3, None),
        ("cpu", True, 0, None),
    ],
)
def test_ranks_decide_together_where_they_run(
    device: str, usable: bool, other_word: int, refusal: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "_groups", [OneOfTwo(other_word)])
    monkeypatch.setattr(distributed, "cuda_problem", lambda: None if usable else "there is none")
    if refusal is None:
        assert not distributed.ranks_for("Some", GRAPH, device, None)[1]
    else:
        with pytest.raises(EdgewiseError, match=refusal):
            distributed.ranks_for("Some", GRAPH, device, None)


def test_ranks_with_gpus_take_those_of_their_machine_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    used = list[int]()
    monkeypatch.setattr(groups, "_groups", [OneOfTwo(3)])
    monkeypatch.setattr(distributed, "cuda_problem", lambda: None)
    monkeypatch.setattr(distributed, "cuda_door", lambda: SimpleNamespace(use_device=used.append))
    monkeypatch.setenv("LOCAL_RANK", "5")
    assert distributed.ranks_for("Some", GRAPH, "auto", None)[1]
    assert used == [5]
    threads = ew.Schedule(num_threads=1)
    monkeypatch.setattr(groups, "_groups", [OneOfTwo(2)])
    assert not distributed.ranks_for("Some", GRAPH, "auto", threads)[1]  # threads are those of a CPU
    assert used == [5]
    assert not distributed.ranks_for("Some", GRAPH, "auto", None, takes_gpus=False)[1]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [({"distributed": 1}, "distributed"), ({"distributed": True, "check": True}, "check=True")],
)
def test_other_arguments_are_refused(arguments: dict[str, object], error: str) -> None:
    with pytest.raises(EdgewiseError, match=error):
        ew.run(Sends(), GRAPH, **arguments)


def test_fields_with_names_of_the_result_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a field would be hidden, and something else be taken for it."""

    class Hidden(Sends):
        vertices = ew.vertex("int64")

    monkeypatch.setattr(groups, "_groups", [Group(0, 1)])
    with pytest.raises(DistributedError, match="Hidden has a vertex field 'vertices'; this name is taken"):
        ew.run(Hidden(), GRAPH, distributed=True)


def test_what_is_no_graph_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_groups", [Group(0, 1)])
    with pytest.raises(EdgewiseError, match=r"expected an edgewise\.Graph"):
        ew.run(Sends(), "roads.edgewise", distributed=True)


class TestWaiting:
    """100 vertices that begin active, every tenth without out-edges."""

    def begun(self, combine="MIN", best_first=True, active=100):
        spec = SimpleNamespace(best_first=best_first, combine=SimpleNamespace(name=combine))
        self.active = np.zeros(100, np.uint32)
        self.active[:active] = 1
        offsets = np.cumsum([0, *(v % 10 > 0 for v in range(100))])
        self.waiting = Waiting(spec, Group(0, 1), slice(0, 100), offsets, self.active)
        return self.waiting.begin(active)

    def release(self, superstep):
        self.superstep = superstep
        total, begun = self.waiting.release(superstep, self.best)
        assert total == len(begun) and (self.active[begun] == superstep).all()
        return begun.tolist()

    def best(self):
        """Of two threads: the values are 7 times the vertices modulo 100."""
        active = np.flatnonzero(self.active == self.superstep)
        halves = active[active < 50], active[active >= 50]
        found = np.array([min(half, key=lambda v: 7 * v % 100) for half in halves if len(half)], np.uint32)
        return found, (7 * found % 100).astype(np.float64)

    def test_the_best_begins_alone_and_then_who_was_not_reached(self):
        assert self.begun() and not self.active.any()
        assert self.release(1) == [43]  # 7 * 43 is 301
        self.active[20:95] = 2
        assert self.release(3) == [v for v in range(100) if v % 10 and not 20 <= v < 95]
        assert self.release(4) == []

    def test_the_largest_is_the_best_by_max_and_the_first_of_equals(self):
        assert self.begun("MAX")
        self.best = lambda: (np.array([7, 60, 3], np.uint32), np.array([5, 2, 5]))
        assert self.release(1) == [3]

    def test_one_after_the_other_begins_a_few_times_alone(self):
        assert self.begun()
        assert [len(self.release(superstep)) for superstep in range(1, 7)] == [1, 1, 1, 1, 86, 0]

    def test_all_begin_if_none_would_send(self):
        assert self.begun()
        self.best = lambda: (np.empty(0, np.uint32), np.empty(0))
        assert len(self.release(1)) == 90

    @pytest.mark.parametrize("how", [{"best_first": False}, {"active": 6}])
    def test_few_vertices_and_those_of_other_programs_do_not_wait(self, how):
        assert not self.begun(**how)
        assert self.active.any() and self.release(2) == []
