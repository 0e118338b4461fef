"""Calls at the edges of what the backend takes: answered as NetworkX does, or left to it as they were given."""

import random
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sparse
from nx_graphs import compare, told

from edgewise.nx import backend, offered

#: NetworkX tells that it uses a graph again that it has converted.
pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs:UserWarning")

KINDS = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)


def is_left(function: Any, *args: Any, **kwargs: Any) -> str:
    """Why a call is left to NetworkX."""
    with pytest.raises(NotImplementedError) as problem:
        function(*args, **kwargs, backend="edgewise")
    reason = backend.can_run(function.name, args, kwargs)
    return str(problem.value.__cause__) if reason is True else str(reason)


@pytest.fixture
def first(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The backend is asked first, for small graphs, too."""
    monkeypatch.setattr(backend, "should_run", lambda name, args, kwargs: True)
    with nx.config.backend_priority(algos=["edgewise"], generators=["edgewise"]):
        yield


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_the_least_integer_of_64_bits_in_spanning_trees(kind: Any) -> None:
    graph = kind([(0, 1, {"weight": -(2**63)}), (1, 2, {"weight": 5}), (2, 0, {"weight": 7}), (0, 1)])
    for name in ("minimum_spanning_tree", "maximum_spanning_tree", "maximum_spanning_edges"):
        compare(name, graph)


def test_integers_beside_floats_that_sum_beyond_float64_are_left_to_networkx() -> None:
    graph = nx.Graph([(0, 1, {"weight": 2**53 - 1}), (1, 2, {"weight": 2}), (3, 4, {"weight": 0.5})])
    for call in (
        (nx.single_source_dijkstra_path_length, graph, 0),
        (nx.single_source_bellman_ford_path_length, graph, 0),
        (nx.bidirectional_dijkstra, graph, 0, 2),
        (nx.average_shortest_path_length, graph, "weight"),
    ):
        assert "float64" in is_left(*call)
    assert "float64" in is_left(nx.closeness_centrality, graph, distance="weight")
    graph[0][1]["weight"] = 2**51
    graph.__networkx_cache__.clear()
    compare("single_source_dijkstra_path_length", graph, 0)


def test_integers_whose_sums_are_beyond_64_bits() -> None:
    graph = nx.path_graph(10)
    nx.set_edge_attributes(graph, 2**58, "weight")
    compare("closeness_centrality", graph, distance="weight")
    compare("average_shortest_path_length", graph, "weight")
    compare("eccentricity", graph, weight="weight")


def test_harmonic_centrality_of_distances_beyond_float64() -> None:
    graph = nx.Graph([(0, 1, {"weight": 2**53}), (1, 2, {"weight": 1}), (2, 3, {"weight": 0})])
    compare("harmonic_centrality", graph, distance="weight", nbunch=[2])
    compare("harmonic_centrality", graph, distance="weight", sources=[2])


@pytest.mark.parametrize("limit", [-1, -0.5, float("-inf"), float("inf"), 0, -0.0, 0.5, np.int8(1), 2])
def test_limits_of_searches(limit: Any) -> None:
    """A negative cutoff leaves out edges of length 0, too."""
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, {(0, 1): 0, (1, 2): 1, (2, 3): 1}, "weight")
    for name in (
        "single_source_dijkstra",
        "single_source_shortest_path",
        "single_source_shortest_path_length",
    ):
        compare(name, graph, 0, cutoff=limit)
    compare("multi_source_dijkstra", graph, [3, 0, 3], cutoff=limit)
    compare("single_source_dijkstra", graph, 0, 1, cutoff=limit)
    compare("bfs_edges", graph, 0, depth_limit=limit)
    compare("descendants_at_distance", graph, 0, limit)


@pytest.mark.parametrize("limit", [True, float("nan"), "1", 2**53 + 1, 10**400, np.float32(1)])
def test_odd_limits_are_left_to_networkx(limit: Any) -> None:
    graph = nx.path_graph(4)
    assert "cutoff" in is_left(nx.single_source_dijkstra, graph, 0, cutoff=limit)
    assert "cutoff" in is_left(nx.all_pairs_shortest_path, graph, cutoff=limit)
    assert "depth_limit" in is_left(nx.bfs_tree, graph, 0, depth_limit=limit)
    assert "distance" in is_left(nx.descendants_at_distance, graph, 0, limit)


@pytest.mark.parametrize(
    "seed",
    [
        lambda: 5,
        lambda: None,
        lambda: np.random,
        lambda: random.Random(5),
        lambda: np.random.RandomState(5),
        lambda: np.random.default_rng(5),
    ],
)
@pytest.mark.parametrize("function", [nx.betweenness_centrality, nx.edge_betweenness_centrality])
@pytest.mark.usefixtures("first")
def test_a_refused_call_leaves_random_numbers_as_they_were(function: Any, seed: Callable[[], Any]) -> None:
    arcs = [(0, 1, 1e16), (1, 2, 1.0), (2, 3, 1.0), (0, 3, 1e16), (3, 4, 2.0), (4, 5, 2.0), (5, 0, 3.0)]
    graph, answers = nx.DiGraph(), []
    graph.add_weighted_edges_from(arcs)
    for by in ("networkx", None):
        random.seed(5)
        np.random.seed(5)
        state = seed()
        answers.append([function(graph, k=2, seed=state, weight="weight", backend=by) for _ in range(3)])
    assert answers[0] == answers[1]
    assert is_left(function, graph, k=2, weight="weight")


@pytest.mark.usefixtures("first")
def test_iterators_are_left_to_networkx_as_they_are() -> None:
    graph = nx.path_graph(4)
    for function, given in (
        (nx.multi_source_dijkstra_path, {"sources": [1]}),
        (nx.multi_source_dijkstra, {"sources": [1]}),
        (nx.betweenness_centrality_subset, {"sources": [0, 1], "targets": [2, 3]}),
        (nx.bfs_layers, {"sources": [0, 3]}),
        (nx.harmonic_centrality, {"nbunch": [0, 3]}),
    ):
        assert "iterator" in is_left(function, graph, **{name: iter(each) for name, each in given.items()})
        answers = []
        for by in (None, "networkx"):
            once = {name: iter(each) for name, each in given.items()}
            answer = function(graph, **once, backend=by)
            answers.append(told(list(answer) if function is nx.bfs_layers else answer))
        assert answers[0] == answers[1]
    assert nx.Graph(iter([(0, 1)])).size() == 1


def test_components_that_are_given_to_condensation() -> None:
    graph = nx.DiGraph([(0, 1), (1, 0), (1, 2)])
    graph.add_node(5)
    for components in ([{0, 1}, {2}], [{0, 1}], [{2}], [{2}, {0}, {1}, {5}]):
        compare("condensation", graph, components)
    compare("condensation", nx.DiGraph(), [{0}])
    once = nx.condensation(graph, nx.strongly_connected_components(graph), backend="edgewise")
    assert told(once) == told(nx.condensation(graph))
    assert "no components" in is_left(nx.condensation, graph, [])


def test_attributes_of_a_graph_are_those_of_the_call() -> None:
    graph = nx.cycle_graph(4)
    for year in (1, 2):
        graph.graph["year"] = year
        for name in ("k_core", "minimum_spanning_tree"):
            compare(name, graph)


def test_weights_that_networkx_does_not_tell_of_are_seen_once_its_cache_is_cleared() -> None:
    graph = nx.Graph([(0, 1, {"weight": 1}), (1, 2, {"weight": 2})])
    compare("single_source_dijkstra_path_length", graph, 0)
    nx.remove_edge_attributes(graph, "weight")
    graph.__networkx_cache__.clear()
    compare("single_source_dijkstra_path_length", graph, 0)
    with nx.config(cache_converted_graphs=False):
        graph.__networkx_cache__.clear()
        for weight in (5, 7):
            nx.set_edge_attributes(graph.subgraph([0, 1]), weight, "weight")
            compare("single_source_dijkstra_path_length", graph, 0)


def test_a_graph_of_a_matrix_does_not_change_with_it() -> None:
    matrix = sparse.csr_array(np.array([[0, 1.0, 0], [1, 0, 1], [0, 1, 0]]))
    graph = nx.from_scipy_sparse_array(matrix, backend="edgewise")
    matrix.data[:2] = 0
    matrix.eliminate_zeros()
    matrix.indices[:] = 0
    assert list(nx.bfs_edges(graph, 0)) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("equal", [1.0, 1 + 0j, np.float64(1), True])
def test_neighbours_that_are_equals_of_nodes_are_left_to_networkx(equal: Any, kind: Any) -> None:
    for nodes in (range(3), [1, 0, 7], ["a", 0, 1], [0, 2.0, 1]):
        graph = kind()
        graph.add_nodes_from(nodes)
        graph.add_edge(0, equal)
        assert "equal of a node" in is_left(nx.bfs_edges, graph, 0)
        turned = kind()
        turned.add_nodes_from(nodes)
        turned.add_edge(equal, 0)
        assert "equal of a node" in is_left(nx.bfs_edges, turned, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_of_numpy_are_the_nodes_of_python_that_they_equal(kind: Any) -> None:
    for nodes in (range(3), [1, 0, 7], ["a", 0, 1]):
        graph = kind()
        graph.add_nodes_from(nodes)
        graph.add_edge(0, np.int64(1))
        (edge,) = nx.bfs_edges(graph, 0, backend="edgewise")
        assert edge == (0, 1) and list(map(type, edge)) == [int, int]


def test_nodes_of_several_types() -> None:
    graph = nx.DiGraph([(0, 1.5), (1.5, "a"), ("a", np.int64(3)), (np.int64(3), 0), (True, 0)])
    for node in graph:
        compare("bfs_edges", graph, node)
        compare("single_source_dijkstra", graph, node)


@pytest.mark.usefixtures("first")
def test_what_cannot_be_hashed_is_left_to_networkx_before_a_generator_starts() -> None:
    graph = nx.path_graph(4)
    functions = (nx.bfs_edges, nx.bfs_predecessors, nx.bfs_successors, nx.descendants, nx.ancestors)
    for function in functions:
        with pytest.raises(TypeError, match="unhashable"):
            list(function(graph, [1]))
    with pytest.raises(TypeError, match="unhashable"):
        nx.dijkstra_path(graph, 2, [1])


def test_spanning_edges_can_be_closed() -> None:
    edges = nx.minimum_spanning_edges(nx.path_graph(4), backend="edgewise")
    next(edges)
    edges.close()
    assert list(edges) == []


def test_layers_from_several_nodes_had_another_order_before(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nx.path_graph(4)
    monkeypatch.setattr(offered, "VERSION", (3, 4))
    assert "3.5" in backend.can_run("bfs_layers", (graph, [3, 1]), {})
    assert backend.can_run("bfs_layers", (graph, 3), {}) is True


def test_arrays_and_tables_that_are_left_to_networkx() -> None:
    with pytest.warns(PendingDeprecationWarning, match="matrix"):
        matrix = np.asmatrix(np.eye(2))
    assert "matrix" in is_left(nx.from_numpy_array, matrix)
    doubled = pd.DataFrame([[1, 2, 3]], columns=["source", "source", "target"])
    assert "several columns" in is_left(nx.from_pandas_edgelist, doubled)
    assert "dict" in is_left(nx.from_pandas_edgelist, {"source": [1], "target": [2]})


def test_keywords_of_a_run_are_for_small_graphs_too() -> None:
    graph = nx.path_graph(4)
    with nx.config.backend_priority(algos=["edgewise"]):
        assert list(nx.pagerank(graph, device="cpu")) == [0, 1, 2, 3]
        assert nx.number_connected_components(graph, memory_limit="1GB") == 1


def test_refused_calls_of_graphs_of_the_backend_run_in_networkx_if_it_may() -> None:
    graph = nx.from_numpy_array(np.ones((3, 3)), backend="edgewise")
    with pytest.raises(NotImplementedError):
        nx.clustering(graph, weight="weight")
    with nx.config(fallback_to_nx=True):
        assert nx.clustering(graph, weight="weight") == {0: 1, 1: 1, 2: 1}


def test_one_function_that_gives_graphs_can_be_led_to_the_backend() -> None:
    graph = nx.path_graph(3000)
    with nx.config.backend_priority(minimum_spanning_tree=["edgewise"]):
        tree = nx.minimum_spanning_tree(graph)
        assert type(nx.from_numpy_array(np.eye(2))) is nx.Graph
    assert graph.__networkx_cache__["backends"]["edgewise"]
    assert type(tree) is nx.Graph


@pytest.mark.parametrize("sources", [[], [99], [0], None])
@pytest.mark.parametrize("targets", [None, 5, [[1]], [3]])
def test_subsets_are_read_in_the_order_of_networkx(sources: Any, targets: Any) -> None:
    for name in ("betweenness_centrality_subset", "edge_betweenness_centrality_subset"):
        compare(name, nx.path_graph(5), sources, targets)


def test_functions_without_a_device_are_on_the_cpu_whatever_is_configured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, 1.5, "weight")
    monkeypatch.setattr(nx.config.backends.edgewise, "device", "cuda")
    monkeypatch.setattr(nx.config.backends.edgewise, "memory_limit", 10)
    compare("closeness_centrality", graph, distance="weight")
    compare("harmonic_centrality", graph, distance="weight")
    compare("eccentricity", graph, weight="weight")
    compare("edge_betweenness_centrality_subset", graph, [0], [3], weight="weight")


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_one_over_the_least_floats_is_infinite_without_a_warning() -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 1e-310), (1, 2, 5e-324)])
    compare("harmonic_centrality", graph, distance="weight")


def test_a_graph_of_the_backend_has_the_attributes_that_it_is_made_with() -> None:
    made = nx.Graph([(0, 1)], name="roads", backend="edgewise")
    assert backend.convert_to_nx(made).graph == {"name": "roads"}
