"""Core numbers: small graphs that expose bugs, drawn graphs, other libraries, planted errors."""

import battery
import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgewise as ew
from edgewise.algorithms.core_numbers import cpu_peel
from edgewise.errors import (
    MemoryLimitError,
    ParameterError,
    ScheduleError,
    VerificationError,
)
from edgewise.graph.csr import Rows

pytestmark = pytest.mark.usefixtures("threads_even_for_small_graphs")


def by_deletion(graph):
    """Core numbers by the definition: delete vertices with fewer than k edges until none is left, for each k."""
    out = np.flatnonzero(graph.sources != graph.targets)
    source, target = graph.sources[out], graph.targets[out]
    if graph.directed:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
    core, alive, k = np.zeros(graph.num_vertices, np.int32), np.ones(graph.num_vertices, bool), 0
    while alive.any():
        kept = alive[source] & alive[target]
        few = alive & (np.bincount(source[kept], minlength=graph.num_vertices) < k)
        if few.any():
            alive &= ~few
        else:
            core[alive] = k
            k += 1
    return core


def check(graph):
    expected = by_deletion(graph)
    for threads in (1, 2, 3):
        result = ew.core_numbers(graph, schedule=ew.Schedule(num_threads=threads))
        np.testing.assert_array_equal(result.core, expected)
        assert result.core.dtype == np.int32
        assert result.max_core == expected.max(initial=0)
        assert result.supersteps == len(np.unique(expected))
        assert result.verify(graph)


@pytest.mark.parametrize("name", battery.graphs())
def test_small_graphs(name):
    check(battery.graphs()[name])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    n=battery.sizes(60),
    share=st.floats(0, 6),
    seed=st.integers(0, 2**32),
    directed=st.booleans(),
)
def test_drawn_graphs(n, share, seed, directed):
    """With loops and parallel edges."""
    edges = np.random.default_rng(seed).integers(0, n, (2, int(n * share)))
    check(ew.Graph.from_edges(*edges, directed=directed, num_vertices=n))


LARGE = {
    "rmat": lambda: ew.generate.rmat(15, 16, seed=2),
    "rmat both ways": lambda: ew.generate.rmat(12, 8, seed=3, directed=False),
    "uniform": lambda: ew.generate.uniform(20_000, 120_000, seed=4, directed=False),
    "lattice": lambda: ew.generate.lattice(150, 150, directed=False),
    "star": lambda: ew.generate.star(30_000),
    "clique": lambda: ew.Graph.from_edges(*np.triu_indices(300, 1), directed=False),
}


@pytest.mark.parametrize("name", LARGE)
def test_waves_and_lists_of_several_threads(name):
    graph = LARGE[name]()
    loopless = graph.sources < graph.targets if not graph.directed else graph.sources != graph.targets
    theirs = igraph.Graph(graph.num_vertices, np.stack([graph.sources, graph.targets], 1)[loopless].tolist())
    expected = np.array(theirs.coreness())
    for threads in (1, 2, 4):
        result = ew.core_numbers(graph, schedule=ew.Schedule(num_threads=threads))
        np.testing.assert_array_equal(result.core, expected)
    assert result.verify(graph)


@pytest.mark.parametrize("directed", [False, True])
def test_networkx_has_the_same(directed):
    random = np.random.default_rng(5)
    theirs = nx.DiGraph() if directed else nx.Graph()
    theirs.add_nodes_from(range(400))
    theirs.add_edges_from((u, v) for u, v in random.integers(0, 400, (3000, 2)).tolist() if u != v)
    graph = ew.Graph.from_networkx(theirs)
    assert ew.core_numbers(graph).to_dict() == nx.core_number(theirs)
    assert set(ew.core_numbers(graph).k_core(4).tolist()) == set(nx.k_core(theirs, 4))


def test_long_offsets():
    for name in ("undirected", "self-loops"):
        short = battery.graphs()[name]
        rows = Rows(short.offsets.astype(np.int64), short.targets, None)
        check(ew.Graph(rows, short._ids, short.directed, 2 * short.num_edges - short.num_arcs))


def test_loops_do_not_count_and_parallel_edges_do():
    assert ew.core_numbers(ew.Graph.from_edges([0, 0], [0, 1], directed=False)).core.tolist() == [1, 1]
    assert ew.core_numbers(ew.Graph.from_edges([0, 0, 1], [1, 1, 1], directed=False)).core.tolist() == [2, 2]
    assert ew.core_numbers(ew.Graph.from_edges([0, 1, 1], [1, 0, 1])).core.tolist() == [2, 2]


#: A triangle with a tail, and a vertex alone.
TAIL = ew.Graph.from_edges(list("abcd"), list("bcaa"), directed=False, vertices=list("abcde"))


def test_what_a_result_offers():
    result = ew.core_numbers(TAIL)
    assert result.to_dict() == {"a": 2, "b": 2, "c": 2, "d": 1, "e": 0}
    assert result["d"] == 1
    assert (result.max_core, result.summary()) == (2, {"max_core": 2, "innermost": 3})
    assert result.top(4) == [("a", 2), ("b", 2), ("c", 2), ("d", 1)]
    assert result.k_core().tolist() == ["a", "b", "c"]
    assert result.k_core(1).tolist() == ["a", "b", "c", "d"]
    assert len(result.k_core(0)) == 5
    assert result.k_core(3).tolist() == []
    assert TAIL.subgraph(result.k_core()).num_edges == 3
    nothing = ew.core_numbers(ew.Graph.from_edges([], []))
    assert (nothing.max_core, nothing.k_core().tolist(), nothing.supersteps) == (0, [], 0)


@pytest.mark.parametrize("k", [-1, 1.0, "2", True])
def test_a_core_that_is_none_is_refused(k):
    with pytest.raises(ParameterError, match=r"k_core: k is .*; expected an integer of at least 0"):
        ew.core_numbers(TAIL).k_core(k)


@pytest.mark.parametrize(
    ("core", "problem"),
    [
        ([2, 2, 2, 2, 0], "vertex 'd' has the core number 2: it has fewer edges to vertices"),
        ([1, 1, 1, 1, 0], "vertex 'a' has the core number 1: it is in a subgraph in which all"),
        ([2, 2, 2, 0, 0], "vertex 'd' has the core number 0: it is in a subgraph"),
        ([2, 2, 1, 1, 0], "vertex 'a' has the core number 2: it has fewer edges"),
        ([2, 2, 2, 1, -1], "vertex 'e' has the core number -1: expected one of at least 0"),
        ([2, 2, 2, 1], "expected one for each of 5 vertices"),
        ([2.0, 2.0, 2.0, 1.0, 0.0], "array of float64; expected integers"),
    ],
)
def test_planted_errors_are_rejected(core, problem):
    result = ew.core_numbers(TAIL)
    result.core = np.array(core)
    with pytest.raises(VerificationError, match=problem):
        result.verify(TAIL)


def test_a_changed_degeneracy_is_found():
    result = ew.core_numbers(TAIL)
    vars(result)["max_core"] = 3
    with pytest.raises(VerificationError, match=r"max_core\[0\] is .*3.*; the verified arrays make it"):
        result.verify(TAIL)


def test_files_are_verified():
    columns = {"vertex": ["e", "d", "c", "b", "a"], "core": ["0", "1", "2", "2", "2"]}
    assert ew.core_numbers(TAIL).verify_columns(TAIL, columns)
    with pytest.raises(VerificationError, match="vertex 'd'"):
        ew.core_numbers(TAIL).verify_columns(TAIL, columns | {"core": ["0", "2", "2", "2", "2"]})


def test_schedules_that_it_does_not_have_are_refused():
    with pytest.raises(ScheduleError, match="this algorithm has no manual delivery"):
        ew.core_numbers(TAIL, schedule=ew.Schedule(delivery=ew.Pull()))
    with pytest.raises(ScheduleError, match="balance"):
        ew.core_numbers(TAIL, device="cpu", schedule=ew.Schedule(balance=ew.WarpMapped()))


def test_memory_limit():
    least = cpu_peel.peeling_bytes(5, 2)
    one = ew.Schedule(num_threads=2)
    with pytest.raises(MemoryLimitError, match=f"core_numbers needs {least:,} bytes"):
        ew.core_numbers(TAIL, schedule=one, memory_limit=least - 1)
    assert ew.core_numbers(TAIL, schedule=one, memory_limit=least).max_core == 2


def test_progress_counts_levels():
    seen = []
    result = ew.core_numbers(LARGE["rmat"](), progress=seen.append)
    assert all(0 <= step <= result.supersteps for step in seen)
