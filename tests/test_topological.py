"""Topological order: small graphs that expose bugs, drawn graphs, NetworkX, planted errors."""

import battery
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgewise as ew
from edgewise.algorithms.topological import program
from edgewise.algorithms.topological.cpu_generations import OWN
from edgewise.errors import (
    GraphError,
    MemoryLimitError,
    ScheduleError,
    VerificationError,
)
from edgewise.graph.csr import Rows

pytestmark = pytest.mark.usefixtures("threads_even_for_small_graphs")


def by_removal(graph):
    """Generations by the definition: those into which no arc leads from what is left, again and again."""
    generation, number = np.full(graph.num_vertices, -1, np.int32), 0
    source, target = graph.sources, graph.targets
    while True:
        held = np.bincount(target[generation[source] < 0], minlength=graph.num_vertices) > 0
        free = (generation < 0) & ~held
        if not free.any():
            return generation
        generation[free] = number
        number += 1


def check(graph):
    expected = by_removal(graph)
    for threads in (1, 2, 3):
        result = ew.topological_order(graph, schedule=ew.Schedule(num_threads=threads))
        np.testing.assert_array_equal(result.generation, expected)
        assert result.generation.dtype == np.int32
        assert result.supersteps == expected.max(initial=-1) + 1
        assert result.is_acyclic == (expected >= 0).all()
        assert result.verify(graph)
    in_order = graph.index_of(result.order)
    place = np.full(graph.num_vertices, -1)
    place[in_order] = np.arange(len(in_order))
    assert len(in_order) == np.count_nonzero(expected >= 0)
    ends = place[graph.sources], place[graph.targets]
    assert (ends[0] < ends[1])[ends[1] >= 0].all()
    assert (np.diff(expected[in_order]) >= 0).all()
    return result


def upward(graph):
    """The arcs that lead to a higher index, which have no cycle."""
    kept = graph.sources < graph.targets
    return ew.Graph.from_edges(graph.sources[kept], graph.targets[kept], num_vertices=graph.num_vertices)


DIRECTED = [name for name, graph in battery.graphs().items() if graph.directed]


@pytest.mark.parametrize("name", DIRECTED)
def test_small_graphs(name):
    graph = battery.graphs()[name]
    check(graph)
    assert check(upward(graph)).is_acyclic


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    n=battery.sizes(60),
    share=st.floats(0, 3),
    back=st.sampled_from([0.0, 0.02, 0.5]),
    seed=st.integers(0, 2**32),
)
def test_drawn_graphs(n, share, back, seed):
    """With parallel arcs, loops, and some arcs back, which make cycles."""
    random = np.random.default_rng(seed)
    edges = np.sort(random.integers(0, n, (2, int(n * share))), axis=0)
    turned = random.random(edges.shape[1]) < back
    kept = turned | (edges[0] < edges[1])
    edges[:, turned] = edges[::-1, turned]
    names = random.permutation(n)
    check(ew.Graph.from_edges(*names[edges[:, kept]], num_vertices=n))


LARGE = {
    "rmat": lambda: ew.generate.rmat(15, 16, seed=2),
    "uniform": lambda: ew.generate.uniform(40_000, 240_000, seed=4),
    "one-way lattice": lambda: ew.generate.lattice(150, 150, directed=True, one_way=0.5),
    "star": lambda: ew.generate.star(30_000, directed=True),
    "path": lambda: ew.generate.path(5_000, directed=True),
}


@pytest.mark.parametrize("name", LARGE)
def test_generations_of_several_threads(name):
    """Some are large enough to be shared, and have more vertices than a thread keeps."""
    graph = LARGE[name]()
    check(graph)
    result = check(upward(graph))
    assert name == "path" or np.bincount(result.generation).max() > 8 * OWN


def test_networkx_has_the_same():
    random = np.random.default_rng(5)
    theirs = nx.gn_graph(500, seed=3)
    theirs.add_edges_from(sorted(pair, reverse=True) for pair in random.integers(0, 500, (900, 2)).tolist())
    theirs.remove_edges_from(list(nx.selfloop_edges(theirs)))
    theirs = nx.relabel_nodes(theirs, {node: f"n{node}" for node in theirs})
    result = ew.topological_order(ew.Graph.from_networkx(theirs))
    expected = {v: number for number, all_of in enumerate(nx.topological_generations(theirs)) for v in all_of}
    assert result.to_dict() == expected
    assert result.is_acyclic
    theirs.add_edge("n0", "n499")
    theirs.add_edge("n499", "n0")
    result = ew.topological_order(ew.Graph.from_networkx(theirs))
    assert not result.is_acyclic
    assert result["n0"] is None
    assert not nx.is_directed_acyclic_graph(theirs)


def test_long_offsets():
    short = upward(battery.graphs()["just over a block"])
    rows = Rows(short.offsets.astype(np.int64), short.targets, None)
    check(ew.Graph(rows, short._ids, True, 0))


#: A diamond with a tail, beside a path; and beside a cycle with a vertex after it.
TAIL = ew.Graph.from_edges(list("abacdxy"), list("bdcdeyz"), vertices=list("abcdexyz"))
CYCLE = ew.Graph.from_edges(list("abacdxyy"), list("bdcdeyxz"), vertices=list("abcdexyz"))


def test_what_a_result_says():
    result = ew.topological_order(CYCLE)
    assert result.to_dict() == dict(zip("abcdexyz", [0, 1, 1, 2, 3, None, None, None], strict=True))
    assert result.order.tolist() == list("abcde")
    assert result.summary() == {"generations": 4, "is_acyclic": False}
    assert result.top_rows(2)["vertex"].tolist() == ["a", "b"]
    assert result.to_frame()["generation"].to_list() == [0, 1, 1, 2, 3, None, None, None]
    assert (result.is_acyclic, ew.topological_order(TAIL).is_acyclic) == (False, True)
    nothing = ew.topological_order(ew.Graph.from_edges([], []))
    assert (nothing.is_acyclic, nothing.order.tolist(), nothing.supersteps) == (True, [], 0)


def test_files_are_verified():
    columns = {"vertex": list("zyxedcba"), "generation": ["", None, "", "3", "2", "1", "1", "0"]}
    assert ew.topological_order(CYCLE).verify_columns(CYCLE, columns)
    columns["generation"][5] = "2"
    with pytest.raises(
        VerificationError, match="vertex 'd' has the generation 2: an arc leads to it from one"
    ):
        ew.topological_order(CYCLE).verify_columns(CYCLE, columns)


@pytest.mark.parametrize(
    ("vertex", "value", "problem"),
    [
        (0, 1, "'b' has the generation 1: an arc leads to it from one that is not lower"),
        (1, 2, "'d' has the generation 2: an arc leads to it from one that is not lower"),
        (4, 4, "'e' has the generation 4: no arc leads to it from the one below"),
        (3, 1, "an arc leads to it from one that is not lower"),
        (4, -1, "no arc leads to it"),
        (5, 0, "an arc leads to it from one that is not lower"),
        (7, 1, "an arc leads to it from one that is not lower"),
        (2, 8, "expected one from 0 to 7, or -1 for none"),
        (2, -2, "expected one from 0 to 7, or -1 for none"),
    ],
)
def test_planted_errors_are_found(vertex, value, problem):
    result = ew.topological_order(CYCLE)
    result.generation[vertex] = value
    with pytest.raises(VerificationError, match=problem):
        result.verify(CYCLE)


def test_all_on_a_cycle_as_if_it_were_none():
    """Generations that only contradict each other round the cycle."""
    result = ew.topological_order(CYCLE)
    result.generation[5:] = [1, 2, 3]
    with pytest.raises(VerificationError, match="'x' has the generation 1: an arc leads to it from"):
        result.verify(CYCLE)


def test_undirected_graphs_are_refused():
    undirected = ew.Graph.from_edges([0], [1], directed=False)
    with pytest.raises(
        GraphError, match="topological_order: the graph is undirected; expected a directed one"
    ):
        ew.topological_order(undirected)
    with pytest.raises(VerificationError, match="the graph is undirected"):
        ew.topological_order(ew.Graph.from_edges([0], [1])).verify(undirected)


def test_what_it_cannot_follow_is_refused():
    for schedule in (ew.Schedule(delivery=ew.Push()), ew.Schedule(balance=ew.WarpMapped(8))):
        with pytest.raises(ScheduleError):
            ew.topological_order(TAIL, device="cpu", schedule=schedule)
    with pytest.raises(MemoryLimitError, match="topological_order"):
        ew.topological_order(LARGE["rmat"](), memory_limit=1000)


@pytest.mark.parametrize("delivery", [ew.Push(), ew.Pull(), ew.Buffered()])
def test_the_program_finds_the_same(delivery):
    """The form for a GPU, on the CPU."""
    for graph in (
        CYCLE,
        upward(battery.graphs()["just over a block"]),
        battery.graphs()["larger than one range"],
    ):
        found = ew.run(program.Generations(), graph, device="cpu", schedule=ew.Schedule(delivery=delivery))
        np.testing.assert_array_equal(found.generation, by_removal(graph))


def test_progress_counts_generations():
    seen = []
    ew.topological_order(LARGE["path"](), progress=lambda done, total: seen.append(done))
    assert not seen or max(seen) <= 5_000
