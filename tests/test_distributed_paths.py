"""Searches and shortest paths on ranks with CPUs: answers, directions and supersteps are those of one process. And what
ranks send in other algorithms.

Ranks are threads here; `ranks_algorithms.py` has processes.
"""

from itertools import pairwise

import numpy as np
import pytest
from battery import graphs
from thread_ranks import OfThread, on_threads

import edgewise as ew
from edgewise.algorithms.common.rank_lists import make_lists, put, vertices_of
from edgewise.algorithms.sssp.relaxation import paths_program
from edgewise.engine.distributed import group as groups
from edgewise.engine.distributed.partition import Ranges
from edgewise.graph import Graph
from edgewise.kernels.cpu.team import run_alone, team_kernel

#: Ranks, and threads of each: two of them meet in lists and bitmaps.
MEETING = [(2, 1), (3, 2)]
N = 3000
#: Graphs of the battery.
SMALL = ("one vertex with a loop", "self-loops", "star out", "star in", "long path", "disconnected")


@pytest.fixture(autouse=True, scope="module")
def ranks_that_are_threads():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "_groups", OfThread())
        yield


def on_ranks(ranks: int, call, *args, **options) -> list:
    """What a call gives on each rank."""
    return on_threads(ranks, lambda _: call(*args, distributed=True, **options))


def drawn(m: int, directed: bool, dtype=None, seed: int = 0, spread: int = 1, n: int = N) -> Graph:
    """A random graph with parallel edges and loops; vertices beyond the first n / spread have no edges."""
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, n // spread, (2, m))
    weight = None if dtype is None else rng.integers(seed % 2, 9, m).astype(dtype)
    if dtype is not None and np.dtype(dtype).kind == "f":
        weight = weight / dtype(7)
    return Graph.from_edges(source, target, weight, directed, num_vertices=n)


def with_in_edges(graph: Graph) -> Graph:
    graph.make_in_edges()
    return graph


def hubs(directed: bool) -> Graph:
    """Two vertices with many neighbours, on the first rank and the last one, among paths."""
    pairs = [(7, v) for v in range(0, N, 3)] + [(N - 2, v) for v in range(1, N, 3)]
    pairs += [(v, v + 1) for v in range(N - 1)] + [(9, N - 2)]
    source, target = np.array(pairs).T
    return Graph.from_edges(source, target, None, directed, num_vertices=N)


SEARCHED = {
    "directed": lambda: drawn(90_000, True),
    "directed, with in-edges": lambda: with_in_edges(drawn(90_000, True)),
    "undirected, rows in order": lambda: drawn(60_000, False),
    "undirected, rows in any order": lambda: drawn(60_000, False).reorder("hash"),
    "most are unreached": lambda: with_in_edges(drawn(20_000, True, spread=5)),
    "sparse": lambda: with_in_edges(drawn(2800, True)),
    "hubs": lambda: hubs(False),
    "hubs, directed": lambda: with_in_edges(hubs(True)),
    "hubs, without in-edges": lambda: hubs(True),
    "pushed, pulled and pushed": lambda: with_in_edges(ew.generate.rmat(13, 16, seed=1)),
    "few vertices for a word": lambda: drawn(200, False, n=70),
    **{name: lambda name=name: graphs()[name] for name in SMALL},
}


def levels_of(result) -> list[str]:
    """What is explained of directions."""
    return [line for line in result.explain().splitlines() if line.startswith("level")]


def searches(graph: Graph):
    """Sources and options."""
    n = graph.num_vertices
    yield 0, {}
    yield n // 2, {"max_depth": 2}
    yield n - 1, {"max_depth": 0}
    yield [n - 1, 0, n - 1], {"max_depth": 3}
    yield list(range(0, n, 3)), {}


@pytest.mark.parametrize(("ranks", "threads"), MEETING)
@pytest.mark.parametrize("name", SEARCHED)
def test_searches_are_those_of_one_process(name: str, ranks: int, threads: int) -> None:
    graph = SEARCHED[name]()
    has_in_edges = graph.has_in_edges
    schedule = ew.Schedule(num_threads=threads)
    for source, options in searches(graph):
        found = on_ranks(ranks, ew.bfs, graph, source, schedule=schedule, **options)
        assert graph.has_in_edges == has_in_edges
        one = graph if has_in_edges else SEARCHED[name]()
        expected = ew.bfs(one, source, device="cpu", schedule=ew.Schedule(num_threads=1), **options)
        for got in found:
            assert got.level.dtype == got.parent_index.dtype == np.int32
            assert np.array_equal(got.level, expected.level)
            assert np.array_equal(got.parent_index, expected.parent_index)
            assert got.supersteps == expected.supersteps
            if has_in_edges:
                assert levels_of(got) == levels_of(expected)
            else:
                assert "pushed throughout: the graph has no in-edges" in got.explain()


def test_large_frontiers_are_pulled_from() -> None:
    graph = SEARCHED["undirected, rows in order"]()
    for got in on_ranks(3, ew.bfs, graph, 0):
        directions = [line.split(": ")[1][:4] for line in levels_of(got)]
        assert directions[:2] == ["push", "pull"]


def test_all_push_if_one_rank_has_no_in_edges() -> None:
    of_ranks = [with_in_edges(SEARCHED["directed"]()), SEARCHED["directed"]()]
    expected = ew.bfs(of_ranks[1], 0, device="cpu", schedule=ew.Schedule(ew.Push()))
    for got in on_threads(2, lambda group: ew.bfs(of_ranks[group.rank], 0, distributed=True)):
        assert np.array_equal(got.level, expected.level)
        assert np.array_equal(got.parent_index, expected.parent_index)
        assert "pushed throughout" in got.explain()
    expected = ew.sssp(of_ranks[1], 0, device="cpu")
    for got in on_threads(2, lambda group: ew.sssp(of_ranks[group.rank], 0, distributed=True)):
        assert np.array_equal(got.parent_index, expected.parent_index)


WEIGHTED = {
    "int32": lambda: drawn(20_000, True, np.int32),
    "int32, zeros, with in-edges": lambda: with_in_edges(drawn(9000, True, np.int32, seed=2)),
    "int64": lambda: drawn(9000, False, np.int64, seed=1),
    "float32": lambda: with_in_edges(drawn(20_000, True, np.float32, seed=1)),
    "float32, zeros": lambda: drawn(20_000, True, np.float32, spread=3),
    "float64": lambda: drawn(9000, False, np.float64, seed=3),
    "no weights": lambda: hubs(True),
    **{name: lambda name=name: graphs()[name] for name in SMALL},
}


@pytest.mark.parametrize(("ranks", "threads"), MEETING)
@pytest.mark.parametrize("name", WEIGHTED)
def test_paths_are_those_of_one_process(name: str, ranks: int, threads: int) -> None:
    graph = WEIGHTED[name]()
    n = graph.num_vertices
    calls = [
        (0, {}),
        ([n - 1, 0, n // 2], {}),
        (n // 2, {"max_distance": 4}),
        (0, {"target": n - 1}),
        (0, {"weighted": False, "max_distance": 2}),
    ]
    for source, options in calls:
        expected = ew.sssp(graph, source, device="cpu", **options)
        schedule = ew.Schedule(num_threads=threads)
        for got in on_ranks(ranks, ew.sssp, graph, source, schedule=schedule, **options):
            assert got.distance.dtype == expected.distance.dtype
            assert got.distance.tobytes() == expected.distance.tobytes()
            assert np.array_equal(got.parent_index, expected.parent_index)


def test_supersteps_of_paths_are_those_of_a_program() -> None:
    for name in ("int32", "no weights", "float64"):
        graph = WEIGHTED[name]()
        dtype = graph.weight_dtype or np.dtype(np.int32)
        program = paths_program(dtype, False)(source=5)
        expected = ew.run(program, graph, device="cpu").supersteps
        told = list[int]()
        for got in on_ranks(3, ew.sssp, graph, 5, progress=told.append):
            assert got.supersteps == expected
        assert sorted(told) == sorted([*range(1, expected + 1)] * 3)


def test_a_distance_that_no_float_holds_is_refused_on_all_ranks() -> None:
    far = Graph.from_edges([0, 1], [1, 2], np.array([3e38, 3e38], np.float32))
    for refused in on_threads(2, lambda _: ew.sssp(far, 0, distributed=True), (ew.errors.GraphError,)):
        assert isinstance(refused, ew.errors.GraphError) and "scale the weights down" in str(refused)


def sent_by_two(call, *args, **options) -> int:
    """The bytes that two ranks send in a call beyond 1,024 for each exchange."""

    def sent(group) -> int:
        before = group.sent_bytes, group.exchanges
        call(*args, distributed=True, **options)
        return group.sent_bytes - before[0] - 1024 * (group.exchanges - before[1])

    return sum(on_threads(2, sent))


def test_each_level_and_parent_is_told_once() -> None:
    graph = with_in_edges(ew.generate.rmat(12, 16, seed=1, weights=(1, 255)))
    source = graph.ids_of(np.array([int(np.argmax(graph.out_degree))])).tolist()[0]
    reached = ew.bfs(graph, source, device="cpu").num_reached
    n = graph.num_vertices
    assert sent_by_two(ew.bfs, graph, source) < n + 4 * reached + n // 2
    assert sent_by_two(ew.sssp, graph, source) < 8 * reached + 8 * n


@pytest.mark.parametrize(("call", "back"), [(ew.katz, 0), (ew.eigenvector, 0), (ew.hits, 1)])
def test_values_are_told_to_ranks_that_need_them(call, back) -> None:
    """Each iteration tells the values of vertices with out-edges, which are few here, and for hubs of those with
    in-edges; the end tells all of them, and the beginning whose are needed."""
    graph, iterations = with_in_edges(drawn(20_000, True, spread=30, n=300_000)), 10
    needed = np.count_nonzero(graph.out_degree) + back * np.count_nonzero(graph.in_degree)
    answer = 8 * (1 + back) * graph.num_vertices
    assert needed < 0.1 * graph.num_vertices
    sums = 2 * 16 * graph.num_vertices // 1024
    most = answer + 4 * needed + iterations * (8 * needed + sums)
    options = {"alpha": 1e-3} if call is ew.katz else {}
    assert sent_by_two(call, graph, tol=0, max_iterations=iterations, device="cpu", **options) < 1.05 * most


def test_fields_that_nobody_reads_are_not_gathered() -> None:
    def call(**how):
        """Each rank has a graph of its own, which keeps its program."""
        path = Graph.from_edges(np.arange(N - 1), np.arange(1, N), num_vertices=50 * N)
        return ew.topological_order(path, device="cpu", **how)

    assert sent_by_two(call) < 1.2 * 4 * 50 * N


@team_kernel
def put_all(thread, size, control, vertices, lists):
    """Put vertices into lists, by one thread."""
    for i in range(len(vertices)):
        put(np.uint64(vertices[i]), True, lists)


@pytest.mark.parametrize("begins", [[0, 5, 70], [0, 64, 64, 200], [0, 100, 1000, 3000], [0, 3000]])
def test_lists_of_ranks_are_ascending_and_have_each_vertex_once(begins: list[int]) -> None:
    lists, rng = make_lists(Ranges(0, begins)), np.random.default_rng(1)
    for count in (0, 1, 7, begins[-1], 5 * begins[-1], 2):
        vertices = rng.integers(0, begins[-1], count)
        run_alone(put_all, vertices, lists)
        for rank, (low, high) in enumerate(pairwise(begins)):
            expected = np.unique(vertices[(vertices >= low) & (vertices < high)])
            assert np.array_equal(lists.of(rank), expected)
            words = lists.marks[low // 64 : -(-high // 64)]
            assert np.array_equal(vertices_of(words, low, high, len(expected)), expected)
        lists.restart()
        assert not lists.marks.any() and not any(len(lists.of(rank)) for rank in range(len(begins) - 1))
