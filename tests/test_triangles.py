"""Triangles: small graphs that expose bugs, drawn graphs, other libraries, planted errors."""

import battery
import igraph
import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import edgewise as ew
from edgewise.algorithms.triangles import cpu_count, cpu_orient
from edgewise.errors import (
    GraphError,
    MemoryLimitError,
    ParameterError,
    ScheduleError,
    VerificationError,
)
from edgewise.graph.csr import Rows

pytestmark = pytest.mark.usefixtures("threads_even_for_small_graphs")


def by_product(graph):
    """Triangles and degrees by a product of matrices."""
    others, n = graph.sources != graph.targets, graph.num_vertices
    ends = graph.sources[others], graph.targets[others]
    matrix = scipy.sparse.csr_array((np.ones(others.sum(), np.int64), ends), shape=(n, n))
    matrix.data[:] = 1
    return (matrix @ matrix).multiply(matrix).sum(axis=1) // 2, np.diff(matrix.indptr)


def check(graph):
    graph = graph.to_undirected("keep")
    expected, degree = by_product(graph)
    for threads in (1, 2, 3):
        result = ew.triangles(graph, schedule=ew.Schedule(num_threads=threads))
        np.testing.assert_array_equal(result.triangles, expected)
        np.testing.assert_array_equal(result.degree, degree)
        assert (result.triangles.dtype, result.degree.dtype) == (np.int64, np.int32)
        assert result.total == expected.sum() // 3
        assert result.clustering.dtype == np.float64
        assert result.verify(graph)


@pytest.mark.parametrize("name", battery.graphs())
def test_small_graphs(name):
    check(battery.graphs()[name])


@settings(max_examples=80, deadline=None, derandomize=True)
@given(n=battery.sizes(60), share=st.floats(0, 8), seed=st.integers(0, 2**32))
def test_drawn_graphs(n, share, seed):
    """With loops and parallel edges."""
    check(
        ew.Graph.from_edges(*np.random.default_rng(seed).integers(0, n, (2, int(n * share))), num_vertices=n)
    )


LARGE = {
    "rmat": lambda: ew.generate.rmat(12, 16, seed=2, directed=False),
    "uniform": lambda: ew.generate.uniform(5_000, 100_000, seed=4, directed=False),
    "lattice": lambda: ew.generate.lattice(90, 90, directed=False),
    "star": lambda: ew.generate.star(1_000),
    "clique": lambda: ew.Graph.from_edges(*np.triu_indices(300, 1), directed=False),
    "hubs of one clique": lambda: ew.Graph.from_edges(
        np.repeat(np.arange(30), 700), np.tile(np.arange(700), 30), directed=False
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_graphs(name):
    graph = LARGE[name]().to_undirected("keep")
    expected, degree = by_product(graph)
    pairs = np.stack([graph.sources, graph.targets], 1)[graph.sources < graph.targets]
    theirs = igraph.Graph(graph.num_vertices, np.unique(pairs, axis=0).tolist())
    for threads in (1, 2, 4):
        result = ew.triangles(graph, schedule=ew.Schedule(num_threads=threads))
        np.testing.assert_array_equal(result.triangles, expected)
        np.testing.assert_array_equal(result.degree, degree)
    coefficients = theirs.transitivity_local_undirected(mode="zero")
    np.testing.assert_allclose(result.clustering, coefficients, rtol=1e-12)
    assert result.transitivity == pytest.approx(theirs.transitivity_undirected(mode="zero"), rel=1e-12)
    assert result.average_clustering == pytest.approx(np.mean(coefficients), rel=1e-12)
    assert result.verify(graph)


def test_networkx_has_the_same():
    theirs = nx.gnm_random_graph(300, 4000, seed=3)
    result = ew.triangles(ew.Graph.from_networkx(theirs))
    assert result.to_dict() == nx.triangles(theirs)
    assert result.to_dict("clustering") == pytest.approx(nx.clustering(theirs), rel=1e-12)
    assert result.transitivity == pytest.approx(nx.transitivity(theirs), rel=1e-12)
    assert result.average_clustering == pytest.approx(nx.average_clustering(theirs), rel=1e-12)


def test_degrees_are_rounded_in_their_order():
    degrees = [*range(5000), *range(2**20, 2**20 + 5000), 2**31 - 2, 2**31 - 1]
    places = [cpu_orient._rounded.py_func(degree) for degree in degrees]
    assert places == sorted(places)
    assert places[:600] == [*range(512), *(256 + d // 2 for d in range(512, 600))]
    assert places[-1] == cpu_orient.DEGREES - 1


def test_long_offsets():
    short = battery.graphs()["undirected"]
    rows = Rows(short.offsets.astype(np.int64), short.targets, None)
    check(ew.Graph(rows, short._ids, False, 2 * short.num_edges - short.num_arcs))


def test_what_a_result_offers():
    """Two triangles with a common edge, a tail, a vertex alone, a loop, and an edge that stands there three times."""
    graph = ew.Graph.from_edges(list("abcbcdaab"), list("bcaddeaba"), directed=False, vertices=list("abcdef"))
    result = ew.triangles(graph)
    assert result.to_dict() == {"a": 1, "b": 2, "c": 2, "d": 1, "e": 0, "f": 0}
    assert result.degree.tolist() == [2, 3, 3, 3, 1, 0]
    assert result.clustering.tolist() == [1, 2 / 3, 2 / 3, 1 / 3, 0, 0]
    assert (result.total, result["b"]) == (2, 2)
    assert result.transitivity == 6 / 10
    assert result.summary() == {
        "triangles": 2,
        "transitivity": result.transitivity,
        "average_clustering": pytest.approx(8 / 18),
    }
    assert result.top(3) == [("b", 2), ("c", 2), ("a", 1)]
    assert list(result.table()) == ["vertex", "triangles", "clustering"]
    nothing = ew.triangles(ew.Graph.from_edges([], [], directed=False))
    assert (nothing.total, nothing.transitivity, nothing.average_clustering) == (0, 0.0, 0.0)


def test_sums_are_exact_beyond_int64():
    result = ew.triangles(TAIL)
    result.triangles = np.full(4, 3 * 2**61)
    assert result.total == 2**63


def test_directed_graphs_are_refused():
    graph = ew.Graph.from_edges([0, 1, 2], [1, 2, 0])
    with pytest.raises(GraphError, match=r"triangles: the graph is directed; expected an undirected one"):
        ew.triangles(graph)
    with pytest.raises(GraphError, match=r"verify: the graph is directed"):
        ew.triangles(graph.to_undirected()).verify(graph)


def test_names_of_networkx_are_pointed_to():
    with pytest.raises(ParameterError, match="triangles has no argument 'nodes', as NetworkX has"):
        ew.triangles(TAIL, nodes=[0])


#: A triangle with a tail.
TAIL = ew.Graph.from_edges(list("abca"), list("bcad"), directed=False)


@pytest.mark.parametrize(
    ("name", "values", "problem"),
    [
        ("triangles", [1, 1, 1, 1], "triangles of vertex 'd' is 1; the edges have 0"),
        ("triangles", [1, 1, 1], r"triangles has the shape \(3,\); expected \(4,\)"),
        ("triangles", [1.0, 1.0, 1.0, 0.0], "array of float64; expected integers"),
        ("degree", [3, 2, 2, 2], "degree of vertex 'd' is 2; its row has 1"),
        (
            "clustering",
            [1.0, 1.0, 1.0, 0.0],
            r"clustering\[0\] is .*1.0.*; the verified arrays make it .*0.33",
        ),
        ("total", 2, r"total\[0\] is .*2.*; the verified arrays make it"),
        ("transitivity", 0.5, r"transitivity\[0\] is .*0.5.*; the verified arrays make it"),
        ("average_clustering", 0.5, r"average_clustering\[0\] is .*0.5"),
    ],
)
def test_planted_errors_are_rejected(name, values, problem):
    result = ew.triangles(TAIL)
    setattr(result, name, np.array(values) if isinstance(values, list) else values)
    with pytest.raises(VerificationError, match=problem):
        result.verify(TAIL)


def test_files_are_verified():
    columns = {
        "vertex": ["d", "c", "b", "a"],
        "triangles": ["0", "1", "1", "1"],
        "clustering": ["0.0", "1.0", "1.0", "0.333333333333"],
    }
    assert ew.triangles(TAIL).verify_columns(TAIL, columns)
    with pytest.raises(
        VerificationError, match=r"clustering of vertex 'a' is 0\.33; its triangles make it 0\.333333"
    ):
        ew.triangles(TAIL).verify_columns(TAIL, columns | {"clustering": ["0", "1", "1", "0.33"]})
    with pytest.raises(VerificationError, match="triangles of vertex 'c' is 2; the edges have 1"):
        ew.triangles(TAIL).verify_columns(TAIL, columns | {"triangles": ["0", "2", "1", "1"]})


def test_schedules_that_it_does_not_have_are_refused():
    with pytest.raises(ScheduleError, match="this algorithm has no manual delivery"):
        ew.triangles(TAIL, schedule=ew.Schedule(delivery=ew.Pull()))
    with pytest.raises(ScheduleError, match="balance"):
        ew.triangles(TAIL, device="cpu", schedule=ew.Schedule(balance=ew.WarpMapped()))


def test_memory_limit():
    least, one = cpu_count.counting_bytes(4, 8, np.dtype(np.uint32), 1), ew.Schedule(num_threads=1)
    with pytest.raises(MemoryLimitError, match=f"triangles needs {least:,} bytes"):
        ew.triangles(TAIL, schedule=one, memory_limit=least - 1)
    assert ew.triangles(TAIL, schedule=one, memory_limit=least).total == 1


def test_progress_counts_vertices():
    graph, seen = LARGE["rmat"](), []
    ew.triangles(graph, progress=seen.append)
    assert all(0 <= vertex <= graph.num_vertices for vertex in seen)
