"""Graphs of the backend that are made of arrays, matrices and tables, against those of NetworkX."""

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sparse
from nx_graphs import SEEDS, draw, told

from edgewise.nx.backend import can_run, convert_from_nx, convert_to_nx
from edgewise.nx.offered import VERSION

#: NetworkX tells that it uses a graph again that it has converted.
pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs:UserWarning")

KINDS = (nx.Graph, nx.DiGraph)
#: `nx.Graph(..., backend=...)`.
made_by_backends = pytest.mark.skipif(VERSION < (3, 6), reason="NetworkX 3.6 made classes of graphs dispatch")


def compare(function: Any, *args: Any, **kwargs: Any) -> None:
    """Make a graph with both, with the order of nodes and of neighbours, and all attributes."""
    made = function(*args, **kwargs, backend="edgewise")
    assert made.__networkx_backend__ == "edgewise"
    assert told(convert_to_nx(made)) == told(function(*args, **kwargs, backend="networkx"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_edges_in_any_order(seed: int, kind: Any) -> None:
    random = np.random.default_rng(seed)
    n, m = random.integers(1, 12, 2).tolist()
    source, target = random.integers(0, n, (2, 3 * m))
    values = random.integers(1, 9, 3 * m)
    matrix = sparse.coo_array((values, (source, target)), (n, n))
    symmetric = (matrix + matrix.T).tocsr()
    for each in (matrix, matrix.tocsr(), matrix.tocsc(), matrix.tolil(), symmetric, symmetric * 0.5):
        compare(nx.from_scipy_sparse_array, each, create_using=kind)
    names = [f"v{node}" for node in range(n)]
    compare(nx.from_numpy_array, matrix.toarray(), create_using=kind, nodelist=names)
    compare(nx.from_numpy_array, symmetric.toarray() / 3, create_using=kind, edge_attr=None)
    table = pd.DataFrame({"source": source * 7, "target": target * 7, "length": values, "toll": values / 2})
    for attributes in (None, "length", ["toll", "length"], True):
        compare(nx.from_pandas_edgelist, table, edge_attr=attributes, create_using=kind)
    table[["source", "target"]] = table[["source", "target"]].astype(str)
    compare(nx.from_pandas_edgelist, table, create_using=kind)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", ["none", "integers", "floats", "both"])
@pytest.mark.parametrize("seed", SEEDS[:6])
def test_graphs_go_there_and_back(seed: int, weights: str, directed: bool) -> None:
    graph = draw(seed, directed, weights)
    graph.graph["name"], graph.nodes[next(iter(graph))]["colour"] = "drawn", "red"
    assert told(convert_to_nx(convert_from_nx(graph, preserve_all_attrs=True))) == told(graph)


@made_by_backends
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_graphs_are_made_of_graphs(seed: int, kind: Any) -> None:
    graph = draw(seed, kind is nx.DiGraph, "both")
    there = kind(graph, backend="edgewise")
    assert told(convert_to_nx(there)) == told(kind(graph))
    assert (len(there), there.number_of_edges()) == (len(graph), graph.number_of_edges())


def test_views_of_subgraphs() -> None:
    """Their adjacency is no dict; that of a multigraph tells a length beyond what it gives."""
    for kind in (nx.Graph, nx.MultiGraph, nx.MultiDiGraph):
        graph = draw(1, False, "integers", kind)
        for view in (graph.edge_subgraph(list(graph.edges)[::2]), graph.subgraph(list(graph)[::2])):
            found = nx.single_source_dijkstra(view, next(iter(view)), backend="edgewise")
            assert told(found) == told(nx.single_source_dijkstra(view, next(iter(view))))


def test_undirected_views_of_directed_graphs() -> None:
    """An edge has the attributes of the arc from the end where it is looked at."""
    graph = nx.DiGraph([(0, 1, {"weight": 1}), (1, 0, {"weight": 5}), (2, 1)])
    view = graph.to_undirected(as_view=True)
    assert list(nx.bfs_edges(view, 0, backend="edgewise")) == [(0, 1), (1, 2)]
    for each in (view, view.subgraph([0, 1])):
        with pytest.raises(NotImplementedError) as problem:
            nx.dijkstra_path_length(each, 1, 0, backend="edgewise")
        assert "each direction" in str(problem.value.__cause__)
    assert nx.dijkstra_path_length(graph.to_undirected(), 1, 0, backend="edgewise") == 5


def test_undirected_edges_have_one_dict_at_both_ends() -> None:
    graph = convert_to_nx(nx.from_numpy_array(np.ones((2, 2)), backend="edgewise"))
    assert graph._adj[0][1] is graph._adj[1][0]


@made_by_backends
def test_functions_that_are_not_offered_run_in_networkx_if_it_may() -> None:
    graph = nx.Graph([(0, 1), (1, 2), (2, 0)], backend="edgewise")
    with pytest.raises(NotImplementedError):
        nx.greedy_color(graph)
    with nx.config(fallback_to_nx=True):
        assert nx.greedy_color(graph) == {0: 0, 1: 1, 2: 2}


@made_by_backends
def test_an_empty_graph_is_left_to_networkx() -> None:
    with pytest.raises(NotImplementedError, match="given arguments"):
        nx.Graph(backend="edgewise")


def test_tables_that_networkx_reads_otherwise_are_left_to_it() -> None:
    dates = pd.DataFrame({"source": pd.to_datetime(["2020-01-01"]), "target": pd.to_datetime(["2021-01-01"])})
    twice = pd.DataFrame([[1, 2, 3, 4]], columns=["source", "target", "toll", "toll"])
    for make, text in (
        (lambda: nx.from_pandas_edgelist(dates, backend="edgewise"), "dates"),
        (lambda: nx.from_pandas_edgelist(twice, edge_attr="toll", backend="edgewise"), "2 columns"),
        (lambda: nx.from_numpy_array(np.eye(2), nodelist=["a", "a"], backend="edgewise"), "twice"),
    ):
        with pytest.raises(NotImplementedError) as problem:
            make()
        assert text in str(problem.value.__cause__)


def test_graphs_do_not_change_where_they_are_read() -> None:
    table = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "weight": [2, 3]})
    for attribute in ("weight", None):
        made, theirs = (
            nx.from_pandas_edgelist(table, edge_attr=attribute, backend=name)
            for name in ("edgewise", "networkx")
        )
        assert nx.dijkstra_path_length(made, "a", "c", weight="wieght", backend="edgewise") == 2
        for function in (nx.minimum_spanning_edges, nx.maximum_spanning_edges):
            ours = list(function(made, backend="edgewise"))
            assert ours == list(function(theirs, backend="networkx"))
        assert told(convert_to_nx(made)) == told(theirs)
        assert not hasattr(made, "edges")


def test_arrays_of_objects_and_attributes_without_a_name_are_left_to_networkx() -> None:
    matrix = np.eye(3)
    assert "array of object" in can_run("from_numpy_array", (matrix.astype(object),), {})
    given = {"edge_attribute": None}
    assert "names the edge attribute" in can_run(
        "from_scipy_sparse_array", (sparse.csr_array(matrix),), given
    )
