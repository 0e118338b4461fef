"""Breadth-first search: small graphs that expose bugs, drawn graphs, directions, planted errors, bad input."""

import re
from collections import deque

import battery
import numpy as np
import pytest
import scipy.sparse.csgraph
from hypothesis import given, settings
from hypothesis import strategies as st

import edgewise as ew
from edgewise.algorithms.bfs import bfs, cpu_state
from edgewise.errors import GraphError, MemoryLimitError, ParameterError, VerificationError
from edgewise.graph.csr import Rows
from edgewise.memory import LARGE_PAGE

pytestmark = pytest.mark.usefixtures("threads_even_for_small_graphs")

SCHEDULES = [
    ew.Schedule(delivery, threads) for delivery in ("auto", ew.Push(), ew.Pull()) for threads in (1, 2, 3)
]


def by_queue(graph, sources, max_depth=None):
    """Levels, and of each vertex the first in-edge from the level before, by a plain queue."""
    arcs = list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    following = [[] for _ in range(graph.num_vertices)]
    for u, v in arcs:
        following[u].append(v)
    level, waiting = dict.fromkeys(sources, 0), deque(dict.fromkeys(sources))
    while waiting:
        u = waiting.popleft()
        if level[u] != max_depth:
            new = [v for v in dict.fromkeys(following[u]) if v not in level]
            level.update(dict.fromkeys(new, level[u] + 1))
            waiting.extend(new)
    parent = {}
    in_edges = sorted((v, u) for u, v in arcs) if graph.directed else arcs
    for v, u in in_edges:
        if level.get(v, 0) > 0 and level.get(u) == level[v] - 1:
            parent.setdefault(v, u)
    vertices = range(graph.num_vertices)
    return (np.array([found.get(v, -1) for v in vertices], np.int32) for found in (level, parent))


def check(graph, sources, max_depth=None, schedules=SCHEDULES):
    level, parent = by_queue(graph, sources, max_depth)
    for schedule in schedules:
        result = bfs(graph, graph.ids_of(sources), max_depth=max_depth, schedule=schedule)
        np.testing.assert_array_equal(result.level, level)
        np.testing.assert_array_equal(result.parent_index, parent)
        assert result.level.dtype == result.parent_index.dtype == np.int32
        assert result.num_reached == np.count_nonzero(level >= 0)
        assert result.supersteps == min(level.max() + 1, level.max() + 1 if max_depth is None else max_depth)
        assert result.verify(graph)


@pytest.mark.parametrize("name", [name for name in battery.graphs() if name != "no vertices"])
def test_small_graphs(name):
    graph = battery.graphs()[name]
    for source in sorted({0, graph.num_vertices // 2, graph.num_vertices - 1}):
        check(graph, [source], schedules=SCHEDULES if graph.num_arcs < 10_000 else SCHEDULES[:6])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    n=battery.sizes(60),
    share=st.floats(0, 4),
    seed=st.integers(0, 2**32),
    directed=st.booleans(),
    in_edges=st.booleans(),
    sources=st.integers(1, 3),
    max_depth=st.none() | st.integers(0, 4),
)
def test_drawn_graphs(n, share, seed, directed, in_edges, sources, max_depth):
    rng = np.random.default_rng(seed)
    graph = ew.Graph.from_edges(*rng.integers(0, n, (2, int(n * share))), directed=directed, num_vertices=n)
    if in_edges:
        graph.make_in_edges()
    check(graph, rng.integers(0, n, sources).tolist(), max_depth)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("max_depth", [None, 2])
def test_levels_wide_enough_for_all_threads(directed, max_depth):
    rng = np.random.default_rng(5)
    edges = np.minimum(*rng.integers(0, 30_000, (2, 2, 200_000)))
    graph = ew.Graph.from_edges(*edges, directed=directed, num_vertices=30_000)
    check(graph, [int(np.argmax(graph.out_degree))], max_depth)


@pytest.mark.parametrize("directed", [True, False])
def test_parallel_edges_to_more_vertices_than_there_is_room_for_candidates(directed):
    leaves = np.tile(np.arange(1, 3000), 2)
    twice = ew.Graph.from_edges(np.zeros_like(leaves), leaves, directed=directed, num_vertices=3000)
    for source in (0, 2999):
        check(twice, [source])


@pytest.mark.parametrize("directed", [True, False])
def test_lattice_and_scipy(directed):
    graph = ew.generate.lattice(150, 150, 0.1, seed=2, directed=directed)
    result = bfs(graph, 11_000, schedule=ew.Schedule(num_threads=2))
    found = scipy.sparse.csgraph.dijkstra(graph.to_scipy(), indices=11_000, unweighted=True)
    np.testing.assert_array_equal(result.level, np.where(np.isinf(found), -1, found).astype(np.int32))
    alone = bfs(graph, 11_000, schedule=ew.Schedule(num_threads=1))
    np.testing.assert_array_equal(result.parent_index, alone.parent_index)
    assert result.verify(graph)


def test_long_offsets():
    def lengthen(offsets, targets):
        return Rows(offsets.astype(np.int64), targets, None)

    short = battery.graphs()["larger than one range"]
    graph = ew.Graph(lengthen(short.offsets, short.targets), short._ids, True, 0)
    graph._columns = lengthen(short.in_offsets, short.in_sources)
    check(graph, [7])


def test_parents_are_ids_of_the_user():
    named = bfs(ew.Graph.from_edges(["a", "a", "b", "d"], ["b", "c", "c", "a"]), "a")
    assert named.parent.tolist() == ["", "a", "a", ""]
    assert named.columns()["level"].tolist() == [0, 1, 1, -1]
    numbered = bfs(ew.Graph.from_edges([10, 20], [20, 30]), 20)
    assert numbered.parent.tolist() == [-1, -1, 20]
    assert numbered.source == 20


def test_several_sources():
    path = ew.Graph.from_edges(range(9), range(1, 10), directed=False)
    assert bfs(path, [0, 9, 0]).level.tolist() == [0, 1, 2, 3, 4, 4, 3, 2, 1, 0]


SMALL_WORLD = ew.generate.uniform(20_000, 300_000, seed=3)


def small_world():
    """The same graph, without in-edges."""
    return ew.Graph.from_csr(SMALL_WORLD.offsets, SMALL_WORLD.targets)


def test_in_edges_are_made_once_and_reported_apart():
    graph = small_world()
    first, second = bfs(graph, 0), bfs(graph, 0)
    assert "made the in-edges for pulling" in first.explain()
    assert first.layout_seconds > 0
    assert "made" not in second.explain()
    assert second.layout_seconds == 0
    np.testing.assert_array_equal(first.parent_index, second.parent_index)


def test_pushing_needs_no_in_edges():
    graph = small_world()
    levels = bfs(graph, 0, schedule=ew.Schedule(ew.Push())).level
    assert not graph.has_in_edges
    with pytest.raises(MemoryLimitError) as refused:
        bfs(graph, 0, memory_limit=0)
    limited = bfs(
        graph, 0, memory_limit=int(re.search(r"needs ([\d,]+)", str(refused.value))[1].replace(",", ""))
    )
    assert not graph.has_in_edges
    assert "no room for the in-edges" in limited.explain()
    np.testing.assert_array_equal(limited.level, levels)


def test_each_level_has_its_direction_and_the_reason():
    graph = small_world()
    told = bfs(graph, 0).explain().splitlines()
    lines = [line for line in told if line.startswith("level")]
    assert [line.split(":")[1].split()[0] for line in lines] == ["push", "pull"]
    assert "edges leave level 0, pulling would look at about" in lines[0]
    forced = bfs(graph, 0, schedule=ew.Schedule(ew.Pull()))
    assert f"levels 1-{forced.supersteps}: pull (as the schedule says)" in forced.explain().splitlines()


def test_no_path_is_found_beyond_max_depth():
    path = ew.Graph.from_edges(range(9), range(1, 10))
    assert bfs(path, 2, max_depth=3).level.tolist() == [-1, -1, 0, 1, 2, 3, -1, -1, -1, -1]
    assert bfs(path, 2, max_depth=0).num_reached == 1
    assert bfs(path, 2, max_depth=2**70).num_reached == 8


def test_few_vertices_that_are_left_are_pulled_though_few_edges_lead_to_them():
    """Vertices of the last two levels, as those before are reached: there is next to nothing to pull."""
    rng = np.random.default_rng(1)
    first, second = np.arange(1, 20_001), np.arange(20_001, 40_001)
    source = np.concatenate([np.zeros_like(first), first.repeat(10), second[:5000]])
    last = rng.integers(40_001, 40_011, 5000)
    target = np.concatenate([first, rng.choice(second, 200_000), last])
    graph = ew.Graph.from_edges(source, target, num_vertices=40_011)
    graph.make_in_edges()
    assert "levels 2-3: pull" in bfs(graph, 0, device="cpu").explain()


@pytest.mark.parametrize("n", [2, 9, 4097])
@pytest.mark.parametrize("first", [0, -1])
def test_all_vertices_of_the_last_level_have_parents(n, first):
    """Those that max_depth leaves unexpanded, among them the first and the last of the graph."""
    centre = (n - 1 + first) % n
    others = np.delete(np.arange(n), centre)
    star = ew.Graph.from_edges(np.full(n - 1, centre), others, directed=False)
    check(star, [centre], max_depth=1)


@pytest.mark.parametrize("max_depth", [-1, 1.5, "2"])
def test_bad_max_depth(max_depth):
    with pytest.raises(ParameterError, match="expected an integer of at least 0"):
        bfs(SMALL_WORLD, 0, max_depth=max_depth)


@pytest.mark.parametrize("source", [20_000, -1, "a", None, [3, 20_000]])
def test_source_that_is_not_in_the_graph(source):
    with pytest.raises(GraphError, match="the graph has no vertex"):
        bfs(SMALL_WORLD, source)


def test_no_source():
    with pytest.raises(ParameterError, match="the list of sources is empty"):
        bfs(SMALL_WORLD, [])


def test_graph_without_vertices():
    with pytest.raises(GraphError, match="it has no vertices"):
        bfs(battery.graphs()["no vertices"], 0)


def test_memory_limit():
    with pytest.raises(MemoryLimitError, match="bfs needs"):
        bfs(SMALL_WORLD, 0, memory_limit=20_000 * 12)


@pytest.mark.parametrize("n", [1, 1000, 1_000_000])
def test_memory_of_a_search_is_that_of_its_arrays(n):
    """Of one thread, whose queue begins in a page of its own; the levels are kept."""
    said, search = cpu_state.searching(n, 1), cpu_state.make_search(n, 1)
    assert said.kept == search.level.base.nbytes
    arrays = sum((array if array.base is None else array.base).nbytes for array in search)
    assert arrays <= said.most <= arrays + min(4 * n, LARGE_PAGE) + 2000


#: 0 -> 1 -> 2 -> 3 with 0 -> 2, and 4 -> 5 -> 4 apart.
PLANTED = ew.Graph.from_edges([0, 1, 2, 0, 4, 5], [1, 2, 3, 2, 5, 4])


@pytest.mark.parametrize(
    ("levels", "parents", "problem"),
    [
        (
            [0, 1, 1, 1, -1, -1],
            [-1, 0, 0, 2, -1, -1],
            "vertex 3 with level 1: expected an arc from its parent",
        ),
        (
            [0, 1, 2, 3, -1, -1],
            [-1, 0, 1, 2, -1, -1],
            "vertex 2 with level 2: expected 1 at most, .* arc from 0",
        ),
        ([0, 1, 1, -1, -1, -1], [-1, 0, 0, -1, -1, -1], "vertex 3 with level -1: expected 2 at most"),
        (
            [0, 1, 1, 2, -1, -1],
            [-1, 0, 0, 1, -1, -1],
            "vertex 3 with level 2: expected an arc from its parent",
        ),
        ([0, 1, 1, 2, -1, -1], [-1, 0, 0, 9, -1, -1], "vertex 3 .* expected a parent that is in the graph"),
        ([0, 1, 1, 2, -1, -1], [-1, 0, 0, -1, -1, -1], "vertex 3 .* expected a parent if it was reached"),
        ([0, 1, 1, 2, -1, -1], [-1, 0, 0, 2, 5, -1], "vertex 4 .* expected a parent if it was reached"),
        ([0, 1, 1, 2, 1, 2], [-1, 0, 0, 2, 5, 4], "vertex 4 with level 1: expected an arc from its parent"),
        ([0, 1, 1, 2, 3, 3], [-1, 0, 0, 2, 5, 4], "vertex 4 with level 3: expected an arc from its parent"),
        ([0, 1, 1, 2, 0, 1], [-1, 0, 0, 2, -1, 4], "vertex 4 with level 0: expected level 0 at the sources"),
        (
            [1, 1, 1, 2, -1, -1],
            [-1, 0, 0, 2, -1, -1],
            "vertex 0 with level 1: expected level 0 at the sources",
        ),
        (
            [0, 1, 1, 2, -2, -1],
            [-1, 0, 0, 2, -1, -1],
            "vertex 4 with level -2: expected a level of at least -1",
        ),
        ([0, 1, 1, 2, 7, -1], [-1, 0, 0, 2, 5, -1], "vertex 4 with level 7: expected none above"),
        ([0, 1, 1, 2, -1], [-1, 0, 0, 2, -1], "expected one of each for 6 vertices"),
    ],
)
def test_planted_errors_are_rejected(levels, parents, problem):
    result = bfs(PLANTED, 0)
    assert result.verify(PLANTED)
    result.level, result.parent_index = np.array(levels, np.int32), np.array(parents, np.int32)
    with pytest.raises(VerificationError, match=problem):
        result.verify(PLANTED)


def test_levels_beyond_max_depth_are_rejected():
    result = bfs(PLANTED, 0, max_depth=1)
    assert result.verify(PLANTED)
    result.level, result.parent_index = bfs(PLANTED, 0).level, bfs(PLANTED, 0).parent_index
    with pytest.raises(VerificationError, match="vertex 3 with level 2: expected none above max_depth"):
        result.verify(PLANTED)


@pytest.mark.parametrize("max_depth", [True, -1, 2.0])
def test_depths_that_are_no_numbers_of_arcs_are_refused(max_depth):
    with pytest.raises(
        ParameterError, match=f"max_depth is {max_depth}; expected an integer of at least 0, or None"
    ):
        bfs(ew.Graph.from_edges([0], [1]), 0, max_depth=max_depth)


def test_the_source_is_the_first_at_the_top_and_vertices_not_reached_are_left_out():
    graph = ew.Graph.from_edges([0, 1, 3], [1, 2, 0], num_vertices=4)
    top = ew.bfs(graph, 1).top_rows(4)
    assert top["level"].tolist() == [0, 1]
    assert next(column.tolist() for name, column in top.items() if name != "level") == [1, 2]
