"""Eigenvector and Katz centrality, hubs and authorities: small, drawn and real graphs beside NetworkX and NumPy,
threads, values to begin with, what does not converge, planted errors."""

import battery
import golden
import networkx as nx
import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import (
    GraphError,
    MemoryLimitError,
    ParameterError,
    ScheduleError,
    VerificationError,
)

pytestmark = pytest.mark.usefixtures("threads_even_for_small_graphs")

ALGORITHMS = (ew.eigenvector, ew.katz, ew.hits)
TIGHT = {"tol": 1e-15, "max_iterations": 3000}


def on_threads(algorithm, graph, **options):
    """The result, verified, and the same, bit for bit, on other numbers of threads."""
    results = [
        algorithm(graph, device="cpu", schedule=ew.Schedule(num_threads=threads), **options)
        for threads in (1, 2, 3)
    ]
    for other in results[1:]:
        assert other.iterations == results[0].iterations and other.residual == results[0].residual
        for name, values in results[0].columns().items():
            np.testing.assert_array_equal(values, getattr(other, name))
    assert results[0].verify(graph)
    return results[0]


def matrix_of(graph, weighted):
    """The adjacency matrix, to which parallel arcs add up."""
    matrix = np.zeros((graph.num_vertices, graph.num_vertices))
    np.add.at(matrix, (graph.sources, graph.targets), graph.weights if weighted else 1)
    return matrix


@pytest.mark.parametrize("name", battery.graphs())
@pytest.mark.parametrize("weighted", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_small_graphs(name, weighted):
    graph = battery.graphs()[name]
    matrix = matrix_of(graph, weighted)
    most = max(1.0, matrix.sum(axis=0).max(initial=0))
    found = on_threads(ew.katz, graph, weighted=weighted, alpha=0.5 / most, normalized=False, **TIGHT)
    identity = np.eye(graph.num_vertices)
    right = np.linalg.solve(identity - 0.5 / most * matrix.T, np.ones(graph.num_vertices))
    np.testing.assert_allclose(found.centrality, right, rtol=1e-12)
    found = on_threads(ew.eigenvector, graph, weighted=weighted, **TIGHT)
    value = found.centrality @ matrix.T @ found.centrality
    if found.converged and graph.num_vertices:
        np.testing.assert_allclose(matrix.T @ found.centrality, value * found.centrality, atol=1e-9 * most)
    found = on_threads(ew.hits, graph, weighted=weighted, **TIGHT)
    if found.converged and matrix.any():
        authority = matrix.T @ found.hub
        np.testing.assert_allclose(found.authority, authority / authority.sum(), atol=1e-9)
        np.testing.assert_allclose(found.authority.sum(), 1)
        np.testing.assert_allclose(found.hub.sum(), 1)


def drawn(directed, seed):
    """A simple graph, and the same in NetworkX."""
    random = np.random.default_rng(seed)
    ends = np.unique(random.integers(0, 200, (2, 900)), axis=1)
    if not directed:
        ends = ends[:, ends[0] <= ends[1]]
    weights = random.integers(1, 9, ends.shape[1])
    known = (nx.DiGraph if directed else nx.Graph)()
    known.add_nodes_from(range(200))
    known.add_weighted_edges_from(zip(*ends.tolist(), weights.tolist(), strict=True))
    return ew.Graph.from_edges(*ends, weights, directed, num_vertices=200), known


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_those_of_networkx(directed, weighted):
    graph, known = drawn(directed, seed=1)
    weight, every = "weight" if weighted else None, range(200)
    begin = {v: 1.0 + v for v in every}
    for start in (None, begin):
        found = on_threads(ew.eigenvector, graph, weighted=weighted, start=start)
        expected = nx.eigenvector_centrality(known, weight=weight, nstart=start)
        np.testing.assert_allclose(found.centrality, [expected[v] for v in every], rtol=1e-12)
        for beta in (2.0, begin):
            for normalized in (True, False):
                options = {"alpha": 0.003, "beta": beta, "normalized": normalized}
                found = on_threads(ew.katz, graph, weighted=weighted, start=start, **options)
                expected = nx.katz_centrality(known, weight=weight, nstart=start and dict(start), **options)
                np.testing.assert_allclose(found.centrality, [expected[v] for v in every], rtol=1e-12)
    if not weighted:
        nx.set_edge_attributes(known, 1, "weight")
    for normalized in (True, False):
        hubs, authorities = nx.hits(known, normalized=normalized)
        sign = np.sign(sum(hubs.values()))  # singular vectors may have either
        found = on_threads(
            ew.hits, graph, weighted=weighted, normalized=normalized, tol=1e-12, max_iterations=5000
        )
        assert found.converged
        np.testing.assert_allclose(found.hub, [sign * hubs[v] for v in every], atol=1e-8)
        np.testing.assert_allclose(found.authority, [sign * authorities[v] for v in every], atol=1e-8)


@pytest.mark.slow
def test_a_real_graph():
    name = "email-Eu-core"
    if name not in golden.NAMES:
        pytest.skip("its file is not there")
    graph = golden.load(name).graph
    matrix = matrix_of(graph, False)
    found = on_threads(ew.hits, graph, tol=1e-13, max_iterations=5000, normalized=False)
    _, values, right = np.linalg.svd(matrix)
    np.testing.assert_allclose(found.authority, np.abs(right[0]), atol=1e-9)
    np.testing.assert_allclose(np.sqrt(found.hub @ found.hub), values[0])
    found = on_threads(ew.eigenvector, graph, tol=1e-15, max_iterations=5000)
    largest = np.linalg.eigvals(matrix).real.max()
    np.testing.assert_allclose(matrix.T @ found.centrality, largest * found.centrality, atol=1e-9 * largest)


def test_what_does_not_converge_is_told():
    graph = ew.generate.rmat(8, 8, seed=1)
    for algorithm in ALGORITHMS:
        found = algorithm(graph, max_iterations=2, device="cpu")
        assert found.verify(graph)
        assert found.summary() == {"iterations": 2, "converged": False}
        none = algorithm(graph, max_iterations=0, device="cpu")
        assert none.verify(graph) and none.iterations == 0 and not none.converged
    with pytest.raises(ParameterError, match=r"katz: alpha is 0\.5, by which values grew beyond float64"):
        ew.katz(graph, alpha=0.5, max_iterations=10_000)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("weight", [1e300, 1e-300])
def test_weights_by_which_values_leave_float64_are_refused(algorithm, weight):
    graph = ew.Graph.from_edges([0, 1, 1], [1, 0, 2], np.full(3, weight))
    with pytest.raises(
        GraphError, match=r"the largest weight is 1e.300, so squares of sums may leave float64"
    ):
        algorithm(graph, weighted=True)


def test_names_and_the_first():
    graph = ew.Graph.from_edges(list("abcd"), list("xxxy"))
    found = ew.hits(graph, tol=1e-14)
    assert found["x"] == pytest.approx(1) and found.top(1)[0][0] == "x"
    assert found.to_dict("hub")["a"] == pytest.approx(1 / 3)
    assert ew.katz(graph).top(1)[0][0] == "x"
    np.testing.assert_allclose(
        ew.katz(graph, beta={"a": 1, "b": 0, "c": 0, "d": 0, "x": 0, "y": 0})["x"], 0.1 / 1.01**0.5
    )
    empty = ew.Graph.from_edges([], [], num_vertices=0)
    for algorithm in ALGORITHMS:
        assert algorithm(empty).converged and algorithm(empty).verify(empty)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_arguments_that_are_refused(algorithm):
    name, graph = algorithm.__name__, ew.Graph.from_edges([0, 1], [1, 2], [1, -1])
    for options, error, problem in (
        ({"weighted": True}, GraphError, f"{name}: the weight -1 is negative"),
        ({"tol": -1}, ParameterError, f"{name}: tol is -1; expected a number of at least 0"),
        ({"max_iterations": 1.5}, ParameterError, f"{name}: max_iterations is 1.5"),
        ({"start": [1, 2]}, ParameterError, f"{name}: start is an array"),
        ({"start": {9: 1.0}}, GraphError, "the graph has no vertex 9"),
        ({"start": [1, -2, 1]}, ParameterError, f"{name}: start has negative"),
        ({"max_iter": 3}, ParameterError, f"{name} has no argument 'max_iter'"),
        ({"nstart": 3}, ParameterError, "the (values|authorities) to begin with"),
        ({"schedule": ew.Schedule(ew.Push()), "device": "cpu"}, ScheduleError, "delivery"),
        ({"memory_limit": 10, "device": "cpu"}, MemoryLimitError, f"{name} needs"),
    ):
        with pytest.raises(error, match=problem):
            algorithm(graph, **options)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"alpha": -1}, "katz: alpha is -1"),
        ({"beta": -1}, "katz: beta is -1"),
        ({"beta": {0: 1.0}}, "katz: beta has 1 values; expected one for each of 3"),
        ({"beta": "x"}, "katz: beta"),
        ({"normalized": 1}, "katz: normalized is 1"),
    ],
)
def test_arguments_of_katz_that_are_refused(options, problem):
    with pytest.raises(ParameterError, match=problem):
        ew.katz(ew.generate.path(3), **options)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_verifier_finds_planted_errors(algorithm):
    graph = ew.generate.rmat(8, 6, seed=3)
    result = algorithm(
        graph, device="cpu", max_iterations=50, **({"alpha": 0.01} if algorithm is ew.katz else {})
    )
    assert result.verify(graph)
    for name, wrong in (
        ("iterations", result.iterations - 1),
        ("iterations", -1),
        ("residual", result.residual * 1.01 + 1),
        ("residual", np.nan),
        ("converged", not result.converged),
        ("tol", 1.0),
    ):
        right = getattr(result, name)
        setattr(result, name, wrong)
        with pytest.raises(VerificationError):
            result.verify(graph)
        setattr(result, name, right)
    with pytest.raises(VerificationError, match="the result has 256 vertices; the graph has 3"):
        result.verify(ew.generate.path(3))
    with pytest.raises(VerificationError, match="repeated"):
        result.verify(graph.reverse())
