"""Closeness, harmonic centrality and eccentricity: small and real graphs beside NetworkX, threads, some vertices alone,
distances as a matrix, sums near the largest integer, planted errors."""

import battery
import golden
import networkx as nx
import numpy as np
import pytest

import edgewise as ew
from edgewise.algorithms.closeness.cpu import FAR_APART, FEW, PROBES
from edgewise.algorithms.closeness.distances import FOUND
from edgewise.errors import (
    GraphError,
    MemoryLimitError,
    ParameterError,
    ScheduleError,
    VerificationError,
)

pytestmark = pytest.mark.usefixtures("threads_even_for_small_graphs")

ALGORITHMS = (ew.closeness, ew.harmonic, ew.eccentricity)


def of_networkx(graph):
    """The graph in NetworkX, of parallel arcs the shortest; nodes are indices."""
    known = (nx.DiGraph if graph.directed else nx.Graph)()
    known.add_nodes_from(range(graph.num_vertices))
    weights = np.ones(graph.num_arcs) if graph.weights is None else graph.weights
    for u, v, length in zip(graph.sources.tolist(), graph.targets.tolist(), weights.tolist(), strict=True):
        if not known.has_edge(u, v) or known[u][v]["weight"] > length:
            known.add_edge(u, v, weight=length)
    return known


def check(graph, weighted, vertices=None):
    """Compare with NetworkX; answers are the same whatever the number of threads."""
    known, weight = of_networkx(graph), "weight" if weighted else None
    asked = range(graph.num_vertices) if vertices is None else vertices
    expected = {
        "closeness": {v: nx.closeness_centrality(known, v, distance=weight) for v in asked},
        "harmonic": nx.harmonic_centrality(known, asked, distance=weight),
        "eccentricity": {v: max(nx.shortest_path_length(known, v, weight=weight).values()) for v in asked},
    }
    for algorithm in ALGORITHMS:
        name = algorithm.__name__
        found = [
            algorithm(
                graph,
                vertices=vertices,
                weighted=weighted,
                device="cpu",
                schedule=ew.Schedule(num_threads=threads),
            )
            for threads in (1, 3)
        ]
        values = getattr(found[0], name)[list(asked)]
        right = np.array([expected[name][v] for v in asked], float)
        np.testing.assert_allclose(values, right, rtol=1e-13)
        if name != "harmonic":
            np.testing.assert_array_equal(values, right)
        for field in FOUND:
            np.testing.assert_array_equal(*(getattr(each, field) for each in found))
        assert found[0].verify(graph)


@pytest.mark.parametrize("name", battery.graphs())
@pytest.mark.parametrize("weighted", [False, True])
def test_small_graphs(name, weighted):
    graph = battery.graphs()[name]
    check(graph, weighted, [0, 5, 17] if graph.num_vertices > 100 else None)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_some_vertices_have_the_values_that_they_have_among_all(directed, dtype):
    drawn = ew.generate.rmat(9, 3, seed=2)
    weights = np.random.default_rng(2).integers(0, 50, drawn.num_arcs).astype(dtype)
    graph = ew.Graph.from_edges(drawn.sources, drawn.targets, weights, directed, num_vertices=512)
    some = [500, 3, 77, 4]
    for algorithm in ALGORITHMS:
        for weighted in (False, True):
            every, few = (algorithm(graph, vertices=v, weighted=weighted, device="cpu") for v in (None, some))
            assert few.verify(graph) and few.weighted == weighted
            for field in FOUND:
                ours, theirs = getattr(few, field), getattr(every, field)
                np.testing.assert_array_equal(ours[some], theirs[some])
                none = np.isnan(ours) if ours.dtype.kind == "f" else ours == -1
                assert none.sum() == 512 - len(some)
            assert few[1] is None or np.isnan(few[1])
            assert few[3] == every[3]
            assert {v for v, _ in few.top()} == set(some)
            assert few.missing()["reached"].sum() == 512 - len(some)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("find", ALGORITHMS)
def test_all_vertices_in_any_order_have_their_own_values(find, weighted):
    graph = ew.generate.rmat(9, 4, seed=3, weights=(1, 9))
    expected = find(graph, weighted=weighted, device="cpu")
    order = np.random.default_rng(5).permutation(graph.num_vertices).tolist()
    found = find(graph, vertices=order, weighted=weighted, device="cpu")
    for field in FOUND:
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))


@pytest.mark.parametrize(
    ("graph", "deep"),
    [
        (ew.generate.lattice(90, 30, 0.1, seed=3, directed=False), True),
        (ew.generate.rmat(11, 8, seed=5), False),
        (ew.generate.path(700), True),
    ],
)
@pytest.mark.parametrize("find", ALGORITHMS)
def test_some_vertices_have_what_searches_from_them_find(find, graph, deep):
    """Few, and more that are far apart in a deep graph, are searched from one after the other, others together."""
    n = graph.num_vertices
    drawn = np.random.default_rng(1).permutation(n)
    turned = find is not ew.eccentricity and graph.directed
    searched = ew.Graph.from_edges(graph.targets, graph.sources, num_vertices=n) if turned else graph
    for count in (1, FEW, n // FAR_APART, 300, 600):
        sources = drawn[:count]
        result = find(graph, vertices=sources.tolist(), device="cpu")
        apart = count <= FEW or (deep and count * FAR_APART <= n)
        each = count if apart else PROBES
        assert (f"{each} breadth-first searches, one" in result.explain()) == (
            count * FAR_APART <= n or apart
        )
        assert ("searches at a time" in result.explain()) != apart
        for source in sources[:40]:
            level = ew.bfs(searched, int(source), device="cpu").level
            reached = level[level > 0]
            assert result.reached[source] == len(reached)
            assert result.distance_sum[source] == reached.sum()
            assert result.farthest[source] == reached.max(initial=0)
        assert result.verify(graph)


def test_sums_of_few_are_those_of_all_bit_for_bit():
    for graph in (ew.generate.rmat(9, 4, seed=3), ew.generate.lattice(60, 50, directed=False)):
        expected = ew.harmonic(graph, device="cpu").harmonic
        for count in (3, graph.num_vertices // FAR_APART):
            vertices = np.arange(0, graph.num_vertices, 17)[:count]
            found = ew.harmonic(graph, vertices=vertices.tolist(), device="cpu").harmonic
            assert found[vertices].tobytes() == expected[vertices].tobytes()


def test_how_values_are_scaled():
    graph = ew.Graph.from_edges(list("abx"), list("bcy"))
    np.testing.assert_array_equal(ew.closeness(graph).closeness, [0, 0.25, 2 / 3 / 2, 0, 0.25])
    np.testing.assert_array_equal(ew.closeness(graph, wf_improved=False).closeness, [0, 1, 2 / 3, 0, 1])
    np.testing.assert_array_equal(ew.harmonic(graph).harmonic, [0, 1, 1.5, 0, 1])
    np.testing.assert_array_equal(
        ew.harmonic(graph, normalized=True).harmonic, np.array([0, 1, 1.5, 0, 1]) / 4
    )
    farthest = ew.eccentricity(graph)
    assert farthest.to_dict() == {"a": 2, "b": 1, "c": 0, "x": 1, "y": 0}
    assert farthest.summary() == {"radius": 0, "diameter": 2, "all_reached": False}
    assert ew.eccentricity(graph, vertices="a").summary() == {
        "radius": 2,
        "diameter": 2,
        "all_reached": False,
    }
    assert ew.eccentricity(ew.generate.cycle(7, directed=False)).summary()["all_reached"]


@pytest.mark.parametrize("name", ["dolphins", "email-Eu-core"])
def test_real_graphs_have_the_values_of_networkx(name):
    if name not in golden.NAMES:
        pytest.skip("its file is not there")
    graph = golden.load(name).graph
    some = None if graph.num_vertices < 100 else [3, 500, 77]
    check(graph, False, some)
    check(graph, True, some)


def test_sums_beyond_int64_are_refused():
    heavy = 2**60 // 8 * 15
    graph = ew.Graph.from_edges([0, 0, 0], [1, 2, 3], np.full(3, heavy), directed=False)
    found = ew.closeness(graph, vertices=[0], weighted=True, device="cpu")
    assert found.distance_sum[0] == 3 * heavy
    with pytest.raises(GraphError, match="closeness: the distances of a vertex sum to more than int64 holds"):
        ew.closeness(graph, weighted=True, device="cpu")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_arguments_that_are_refused(algorithm):
    name, graph = algorithm.__name__, ew.Graph.from_edges([0, 1], [1, 2], [1, -1])
    for call, error, problem in (
        (lambda: algorithm(graph, weighted=True), GraphError, f"{name}: the weight -1 is negative"),
        (lambda: algorithm(graph, vertices=[]), ParameterError, f"{name}: vertices: there are none"),
        (lambda: algorithm(graph, vertices=[1, 1]), ParameterError, "vertices: one is given twice"),
        (lambda: algorithm(graph, vertices=[9]), GraphError, "the graph has no vertex 9"),
        (lambda: algorithm(graph, device="tpu"), ScheduleError, "device is 'tpu'"),
        (lambda: algorithm(graph, schedule=ew.Schedule(ew.Push()), device="cpu"), ScheduleError, "delivery"),
        (lambda: algorithm(graph, memory_limit=10, device="cpu"), MemoryLimitError, f"{name} needs"),
    ):
        with pytest.raises(error, match=problem):
            call()


def test_names_of_networkx_are_told():
    graph = ew.generate.path(3)
    for algorithm, name in (
        (ew.closeness, "u"),
        (ew.closeness, "distance"),
        (ew.harmonic, "sources"),
        (ew.harmonic, "nbunch"),
        (ew.eccentricity, "v"),
    ):
        with pytest.raises(
            ParameterError, match=f"{algorithm.__name__} has no argument '{name}', as NetworkX has"
        ):
            algorithm(graph, **{name: 1})


def test_a_tight_limit_takes_fewer_threads():
    graph = ew.generate.uniform(3000, 9000, seed=1)
    graph.make_in_edges()
    many = ew.closeness(graph, device="cpu", schedule=ew.Schedule(num_threads=3))
    for weighted in (False, None):
        few = ew.closeness(
            graph,
            device="cpu",
            weighted=weighted,
            schedule=ew.Schedule(num_threads=3),
            memory_limit=900_000,
        )
        assert "at most 1 threads" in few.explain() and "at most 3 threads" in many.explain()
        np.testing.assert_array_equal(few.closeness, many.closeness)


def test_progress_grows():
    seen = []
    graph = ew.generate.rmat(13, 16, seed=1)
    ew.closeness(graph, device="cpu", progress=seen.append)
    assert seen == sorted(seen) and all(0 <= done <= graph.num_vertices for done in seen)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_verifier_finds_planted_errors(weighted):
    graph = ew.generate.uniform(200, 700, seed=3, weights=(1, 9))
    result = ew.harmonic(graph, weighted=weighted, vertices=list(range(190)), device="cpu")
    assert result.verify(graph)
    for name in FOUND:
        right = getattr(result, name).copy()
        for v, wrong in ((7, right[7] + 1), (199, 5)):
            changed = right.copy()
            changed[v] = wrong
            setattr(result, name, changed)
            vars(result).pop("harmonic", None)
            with pytest.raises(VerificationError, match=f"of vertex {v} is "):
                result.verify(graph)
        setattr(result, name, right)
    assert result.verify(graph)
