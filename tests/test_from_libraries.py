"""Graphs from NetworkX and igraph, and back."""

import sys
import warnings

import networkx as nx
import numpy as np
import pytest
from networkx.utils import graphs_equal

import edgewise as ew
from edgewise.errors import GraphError, GraphWarning, MissingDependencyError

igraph = pytest.importorskip("igraph")

CLASSES = {each.__name__: each for each in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)}
#: Nodes of every kind, from small integers.
NODES = {
    "integers": lambda i: i,
    "names": lambda i: f"n{i}",
    "tuples": lambda i: (i, (str(i), 2)),
    "large": lambda i: 2**70 - i,
    "mixed": lambda i: [i, f"n{i}", (i,), frozenset({i}), 0.5 + i][i % 5],
}


def drawn(kind, nodes="integers", n=25, m=60, seed=1, weights=float):
    """A graph of NetworkX with drawn edges, nodes in another order than that of edges, and some without edges."""
    draw = np.random.default_rng(seed)
    graph = CLASSES[kind]()
    name = NODES[nodes]
    graph.add_nodes_from(name(int(i)) for i in draw.permutation(n + 3))
    for u, v in draw.integers(0, n, (m, 2)).tolist():
        graph.add_edge(
            name(u),
            name(v),
            weight=weights(draw.integers(1, 99)),
            toll=int(draw.integers(9)),
            open=bool(u % 2),
        )
    return graph


def edges_of(graph, *names):
    """The edges of a graph of NetworkX with these values, sorted; ends of an undirected one in the order of nodes."""
    place = {node: i for i, node in enumerate(graph)}
    found = []
    for u, v, data in graph.edges(data=True):
        u, v = place[u], place[v]
        ends = (u, v) if graph.is_directed() else (min(u, v), max(u, v))
        found.append((*ends, *(data[name] for name in names)))
    return sorted(found)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("nodes", NODES)
def test_graphs_of_networkx(kind, nodes):
    given = drawn(kind, nodes)
    graph = ew.Graph.from_networkx(given, edge_attributes=True)
    assert graph.vertices.tolist() == list(given) and graph.directed == given.is_directed()
    assert graph.num_edges == given.number_of_edges() and graph.weight_dtype == np.float64
    assert {name: str(each.dtype) for name, each in graph.edge_attributes.items()} == {
        "toll": "int64",
        "open": "bool",
    }
    place = {node: i for i, node in enumerate(given)}
    ours = sorted((place[u], place[v], *rest) for u, v, *rest in graph.edges("toll", "open"))
    assert ours == edges_of(given, "weight", "toll", "open")
    back = graph.to_networkx()
    assert list(back) == list(given) and back.is_directed() == given.is_directed()
    assert edges_of(back, "weight", "toll", "open") == edges_of(given, "weight", "toll", "open")
    parallel = len(set(edges_of(given))) < given.number_of_edges()
    assert back.is_multigraph() == parallel
    if not given.is_multigraph():
        assert graphs_equal(back, given)
        assert all(type(weight) is float for _, _, weight in back.edges(data="weight"))
    again = ew.Graph.from_networkx(back, edge_attributes=True)
    assert sorted(again.edges("toll", "open"), key=repr) == sorted(graph.edges("toll", "open"), key=repr)


def test_weights_of_networkx():
    whole = ew.Graph.from_networkx(drawn("DiGraph", weights=int))
    assert whole.weight_dtype == np.int64
    assert type(next(iter(whole.to_networkx().edges(data="weight")))[2]) is int
    assert not ew.Graph.from_networkx(drawn("Graph"), weight=None).weighted
    assert ew.Graph.from_networkx(drawn("Graph"), weight="toll").weight_dtype == np.int64
    assert not ew.Graph.from_networkx(nx.path_graph(3)).weighted
    assert ew.Graph.from_networkx(drawn("Graph", weights=np.float32)).weight_dtype == np.float32
    mixed = nx.DiGraph([(0, 1, {"weight": 1}), (1, 2, {"weight": 0.5})])
    assert ew.Graph.from_networkx(mixed).weights.tolist() == [1.0, 0.5]
    merged = ew.Graph.from_networkx(
        nx.MultiGraph([(0, 1, {"weight": 1}), (1, 0, {"weight": 2}), (2, 2, {"weight": 5})]),
        parallel_edges="sum",
        self_loops="drop",
    )
    assert list(merged.edges()) == [(0, 1, 3)] and merged.num_vertices == 3


def test_shortest_paths_are_those_of_networkx():
    given = drawn("DiGraph", "names")
    graph = ew.Graph.from_networkx(given)
    expected = nx.single_source_dijkstra_path_length(given, "n3")
    found = dict(zip(graph.vertices.tolist(), ew.sssp(graph, "n3").distance.tolist(), strict=True))
    assert {node: found[node] for node in expected} == expected
    assert all(np.isinf(found[node]) for node in found.keys() - expected)


@pytest.mark.parametrize(
    ("weight", "problem"),
    [
        (None, "the edge from 'b' to 'c' has no 'weight'"),
        (True, "the edge from 'b' to 'c' has True as weight; expected an integer or a float"),
        (1j, "the edge from 'b' to 'c' has 1j as weight"),
        ("2", "the edge from 'b' to 'c' has '2' as weight"),
        (
            2**63,
            "the edge from 'b' to 'c' has 9223372036854775808 as weight; expected integers of at most 64 bits",
        ),
        (float("nan"), r"weight\[1\] is nan"),
    ],
)
def test_weights_of_networkx_that_are_refused(weight, problem):
    whole = isinstance(weight, int)
    given = nx.DiGraph([("a", "b", {"weight": 1 if whole else 1.5}), ("b", "c", {"weight": weight})])
    with pytest.raises(GraphError, match=problem):
        ew.Graph.from_networkx(given)
    if weight is None:
        del given["b"]["c"]["weight"]
        with pytest.raises(GraphError, match=problem):
            ew.Graph.from_networkx(given)
    assert ew.Graph.from_networkx(given, weight=None).num_edges == 2


def test_what_networkx_cannot_give():
    given = drawn("Graph")
    for refused, problem in (
        (
            lambda: ew.Graph.from_networkx(given, "cost"),
            "no edge has an attribute 'cost'; they have weight, toll, open",
        ),
        (
            lambda: ew.Graph.from_networkx(nx.path_graph(3), "cost"),
            "no edge has an attribute 'cost'; they have none",
        ),
        (lambda: ew.Graph.from_networkx(given, edge_attributes=["x"]), "no edge has an attribute 'x'"),
        (lambda: ew.Graph.from_networkx(given, edge_attributes="toll"), "expected a list of names"),
        (
            lambda: ew.Graph.from_networkx(given, edge_attributes=["weight"]),
            "which is that of another column",
        ),
        (
            lambda: ew.Graph.from_networkx(given, directed=True),
            "the other graph decides directed; leave it out",
        ),
        (lambda: ew.Graph.from_networkx({1: [2]}), "expected a graph of NetworkX"),
        (lambda: ew.Graph.from_igraph(given), "expected a graph of igraph"),
        (lambda: ew.Graph.from_edges(given), "got one Graph; .* Use Graph.from_networkx"),
        (lambda: ew.Graph.from_edges(nx.MultiDiGraph(given)), "Use Graph.from_networkx"),
        (lambda: ew.Graph.from_edges(igraph.Graph(2)), "Use Graph.from_igraph"),
    ):
        with pytest.raises(GraphError, match=problem):
            refused()
    several = nx.Graph([(0, 1, {"weight": 2**53 + 1}), (1, 2, {"weight": 0.5})])
    with pytest.raises(GraphError, match="the integer 9007199254740993, which float64 does not hold exactly"):
        ew.Graph.from_networkx(several)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_graphs_of_igraph(directed, named):
    draw = np.random.default_rng(2)
    given = igraph.Graph(n=20, edges=draw.integers(0, 17, (50, 2)).tolist(), directed=directed)
    given.es["weight"] = draw.random(50).tolist()
    given.es["toll"] = draw.integers(0, 9, 50).tolist()
    if named:
        given.vs["name"] = [f"n{i}" for i in draw.permutation(20)]
    graph = ew.Graph.from_igraph(given, edge_attributes=True)
    assert graph.vertices.tolist() == (given.vs["name"] if named else list(range(20)))
    assert graph.directed == directed and graph.num_edges == 50

    def listed(other):
        ends = (edge if directed else sorted(edge) for edge in other.get_edgelist())
        return sorted(
            (*edge, *each) for edge, *each in zip(ends, other.es["weight"], other.es["toll"], strict=True)
        )

    index = {vertex: i for i, vertex in enumerate(graph)}
    assert sorted((index[u], index[v], *rest) for u, v, *rest in graph.edges("toll")) == listed(given)
    back = graph.to_igraph()
    assert listed(back) == listed(given) and back.is_directed() == directed
    assert back.vs.attributes() == given.vs.attributes() and (
        not named or back.vs["name"] == given.vs["name"]
    )
    reached = [-1 if np.isinf(each) else each for each in given.distances(0)[0]]
    assert ew.bfs(graph, graph.vertices[0]).level.tolist() == reached


def test_what_igraph_cannot_give():
    given = igraph.Graph(n=3, edges=[(0, 1), (1, 2)])
    assert not ew.Graph.from_igraph(given).weighted
    assert ew.Graph.from_igraph(igraph.Graph()).num_vertices == 0
    given.es["weight"] = [1, None]
    with pytest.raises(GraphError, match="edge 1, from vertex 1 to vertex 2, has no 'weight'"):
        ew.Graph.from_igraph(given)
    with pytest.raises(GraphError, match="no edge has an attribute 'cost'; they have weight"):
        ew.Graph.from_igraph(given, "cost")
    given.vs["name"] = ["a", "a", "b"]
    with pytest.raises(GraphError, match="the same id twice"):
        ew.Graph.from_igraph(given, None)


@pytest.mark.parametrize("directed", [True, False])
def test_graphs_of_our_own_come_back(directed):
    """Parallel edges, self-loops, vertices without edges, int32 weights."""
    source, target = ["b", "a", "a", "c", "b"], ["a", "b", "b", "c", "c"]
    options = {"directed": directed, "vertices": ["d", "c", "b", "a"], "edge_attributes": {"toll": range(5)}}
    graph = ew.Graph.from_edges(source, target, np.arange(5, dtype=np.int32), **options)
    for other in (
        ew.Graph.from_networkx(graph.to_networkx(), edge_attributes=True),
        ew.Graph.from_igraph(graph.to_igraph(), edge_attributes=["toll"]),
    ):
        assert other.vertices.tolist() == ["d", "c", "b", "a"] and other.directed == directed
        assert sorted(other.edges("toll")) == sorted(graph.edges("toll"))
    assert graph.to_networkx().is_multigraph()
    assert not ew.Graph.from_edges([0, 1], [1, 0]).to_networkx().is_multigraph()
    assert ew.Graph.from_edges([0, 1], [1, 0], directed=False).to_networkx().is_multigraph()
    empty = ew.Graph.from_edges([], [], num_vertices=2, directed=directed)
    assert list(empty.to_networkx()) == [0, 1] and empty.to_igraph().vcount() == 2
    for back in (
        ew.Graph.from_networkx(empty.to_networkx(), "length", edge_attributes=["toll"]),
        ew.Graph.from_igraph(empty.to_igraph(), "length", edge_attributes=["toll"]),
    ):
        assert back.num_vertices == 2 and back.arc_attribute("toll").shape == (0,)


def test_libraries_that_are_missing_are_named(monkeypatch):
    graph = ew.Graph.from_edges([0], [1])
    for package, made in (
        ("networkx", (lambda: ew.Graph.from_networkx(None), graph.to_networkx)),
        ("igraph", (lambda: ew.Graph.from_igraph(None), graph.to_igraph)),
    ):
        monkeypatch.setitem(sys.modules, package, None)
        for make in made:
            with pytest.raises(MissingDependencyError, match=f"pip install {package}"):
                make()


def test_numbers_under_a_usual_name_of_weights_are_told():
    graph = nx.DiGraph([(0, 1, {"length": 2}), (1, 2, {"length": 1.5, "cost": 1})])
    with pytest.warns(GraphWarning, match=r"the numbers in 'length' were left out\. weight='length' takes"):
        assert not ew.Graph.from_networkx(graph).weighted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ew.Graph.from_networkx(graph, "length").weights.tolist() == [2, 1.5]
        ew.Graph.from_networkx(graph, None)


@pytest.mark.parametrize("large", [2**53 + 1, np.int64(2**53 + 1), np.uint64(2**63 + 1)])
def test_integers_beside_floats_are_not_rounded(large):
    graph = nx.Graph([(0, 1, {"weight": large}), (1, 2, {"weight": 1.5})])
    with pytest.raises(GraphError, match=f"has floats, and the integer {large}, which float64 does not hold"):
        ew.Graph.from_networkx(graph)
    for how in ({"weight": [1.5, large]}, {"edge_attributes": {"x": (1.5, large)}}):
        with pytest.raises(GraphError, match=rf"\[1\] is {large}, an integer among floats"):
            ew.Graph.from_edges([0, 1], [1, 2], **how)
    assert ew.Graph.from_edges([0, 1], [1, 2], [2**54, 1.5]).weights.tolist() == [2.0**54, 1.5]
