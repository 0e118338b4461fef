"""What users ask of a graph is what NetworkX says of the same edges."""

import networkx as nx
import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import FileChangedError, GraphError, ParseError

NAMES = np.array([f"n{i}" for i in range(12)], dtype=object)


def graphs():
    """A graph and that of NetworkX: with directions and without, loops, parallel edges, isolated vertices, names."""
    for seed in range(12):
        random = np.random.default_rng(seed)
        directed, named, weighted = (bool(each) for each in random.integers(0, 2, 3))
        source, target = random.integers(0, 9, (2, 25))
        weight = random.integers(1, 9, 25) if weighted else None
        other = nx.MultiDiGraph() if directed else nx.MultiGraph()
        if named:
            other.add_nodes_from(dict.fromkeys(NAMES[np.stack([source, target], 1).ravel()]))
            ours = ew.Graph.from_edges(NAMES[source], NAMES[target], weight, directed)
            source, target = NAMES[source], NAMES[target]
        else:
            other.add_nodes_from(range(12))
            ours = ew.Graph.from_edges(source, target, weight, directed, num_vertices=12)
        weights = [1] * 25 if weight is None else weight.tolist()
        other.add_weighted_edges_from(zip(source.tolist(), target.tolist(), weights, strict=True))
        yield pytest.param(ours, other, id=f"{'di' * directed}graph {'named ' * named}{seed}")


def arcs_of(graph):
    """All arcs with their weights, sorted."""
    ends = graph.ids_of(graph.sources).tolist(), graph.ids_of(graph.targets).tolist()
    weights = [1] * graph.num_arcs if graph.weights is None else graph.weights.tolist()
    return sorted(zip(*ends, weights, strict=True), key=repr)


def expected_arcs(other):
    """Those of a graph of NetworkX; an undirected edge is two, a loop one."""
    found = [(u, v, w) for u, v, w in other.edges(data="weight")]
    if not other.is_directed():
        found += [(v, u, w) for u, v, w in found if u != v]
    return sorted(found, key=repr)


@pytest.mark.parametrize(("ours", "other"), [*graphs()])
def test_vertices_and_their_edges(ours, other):
    assert len(ours) == len(other) and list(ours) == list(other)
    for vertex in other:
        assert vertex in ours
        assert ours.degree(vertex) == other.degree(vertex)
        expected = [v for v in other[vertex] for _ in range(other.number_of_edges(vertex, v))]
        assert sorted(ours.neighbors(vertex).tolist()) == sorted(expected)
        for target in other:
            assert ours.has_edge(vertex, target) == other.has_edge(vertex, target)


@pytest.mark.parametrize(("ours", "other"), [*graphs()])
def test_graphs_made_of_it(ours, other):
    if other.is_directed():
        assert arcs_of(ours.reverse()) == expected_arcs(other.reverse())
        assert arcs_of(ours.reverse().reverse()) == arcs_of(ours)
        every = ours.to_undirected("keep")
        assert arcs_of(every) == expected_arcs(nx.MultiGraph(other.edges(data=True)))
        assert list(every) == list(ours) and not every.directed
        simple = nx.Graph(other.edges())
        once = ours.to_undirected()
        assert (once.num_edges, len(once)) == (simple.number_of_edges(), len(other))
        assert all(once.has_edge(u, v) and once.has_edge(v, u) for u, v in simple.edges())
    else:
        assert ours.reverse() is ours and ours.to_undirected() is ours
    some = list(other)[2:9:2]
    part = ours.subgraph(some + some[:1])
    assert list(part) == some and part.directed == ours.directed
    assert arcs_of(part) == expected_arcs(other.subgraph(some))
    assert part.num_edges == other.subgraph(some).number_of_edges()
    assert arcs_of(ours.subgraph(list(other))) == arcs_of(ours)
    assert len(ours.subgraph([])) == 0
    for several in (set(some), frozenset(some), iter(some)):
        assert arcs_of(ours.subgraph(several)) == arcs_of(part)


def test_the_weight_of_an_edge_without_direction_is_said():
    graph = ew.Graph.from_edges([0, 1, 0], [1, 0, 2], [5, 3, 7])
    for how, weights in (("first", [5, 7]), ("min", [3, 7]), ("sum", [8, 7]), ("keep", [3, 5, 7])):
        made = graph.to_undirected(how)
        assert sorted(made.weights[made.sources <= made.targets].tolist()) == sorted(weights)
    with pytest.raises(GraphError, match="parallel_edges is 'mean'"):
        graph.to_undirected("mean")


def test_a_search_runs_on_what_was_made():
    graph = ew.generate.uniform(200, 900, seed=1, weights=(1, 9))
    back = graph.reverse()
    assert ew.sssp(back, 3).verify(back)
    assert np.array_equal(back.in_degree, graph.out_degree)
    part = graph.subgraph(range(0, 200, 2))
    assert ew.bfs(part, 4).verify(part) and part.vertices.tolist() == list(range(0, 200, 2))


@pytest.mark.parametrize("vertex", [12, -1, "a", None, 1.5, True, [1], (0, 1), np.array([1]), {}], ids=str)
def test_what_is_no_vertex_is_refused(vertex):
    graph = ew.generate.path(12)
    assert vertex not in graph
    for ask in (
        graph.neighbors,
        graph.degree,
        lambda v: graph.has_edge(v, 0),
        lambda v: graph.has_edge(0, v),
    ):
        with pytest.raises(GraphError):
            ask(vertex)
    with pytest.raises(GraphError):
        graph.subgraph([vertex] if not isinstance(vertex, list | tuple | np.ndarray) else [[99]])


def test_a_subgraph_needs_a_sequence():
    for given in (3, "ab", None):
        with pytest.raises(GraphError):
            ew.generate.path(12).subgraph(given)


@pytest.mark.parametrize("in_edges", [False, True])
def test_a_graph_from_a_file_is_turned_round(tmp_path, in_edges):
    graph = ew.generate.uniform(300, 900, seed=5, weights=(1, 9))
    graph.save(tmp_path / "a.edgewise", in_edges=in_edges)
    loaded = ew.load(tmp_path / "a.edgewise")
    back, expected = loaded.reverse(), graph.reverse()
    assert arcs_of(back) == arcs_of(expected)
    for name in ("in_offsets", "in_sources", "in_weights", "in_degree", "out_degree"):
        np.testing.assert_array_equal(getattr(back, name), getattr(expected, name), err_msg=name)
    for algorithm in (ew.pagerank, ew.connected_components, ew.scc):
        name = {"pagerank": "rank", "connected_components": "component", "scc": "component"}
        found, wanted = (getattr(algorithm(each), name[algorithm.__name__]) for each in (back, expected))
        np.testing.assert_array_equal(found, wanted)
    back.save(tmp_path / "b.edgewise", in_edges=True)
    assert arcs_of(ew.load(tmp_path / "b.edgewise").reverse()) == arcs_of(graph)
    in_layers = ew.Schedule(layout=ew.Layered(0, file=tmp_path / "layers"))
    np.testing.assert_array_equal(ew.bfs(loaded, 0, schedule=in_layers).level, ew.bfs(graph, 0).level)
    with pytest.raises(ParseError, match="of another graph"):
        ew.bfs(back, 0, schedule=in_layers)


def test_a_file_that_was_cut_is_noticed_where_ids_are_asked_for(tmp_path):
    n = 20_000
    ends = np.arange(n) * 3 + 5
    ew.Graph.from_edges(ends, np.roll(ends, 1)).save(tmp_path / "a.edgewise")
    loaded = ew.load(tmp_path / "a.edgewise")
    assert 8 in loaded and loaded.vertices[1] == 8
    with open(tmp_path / "a.edgewise", "r+b") as file:
        file.truncate(4096)
    for ask in (
        lambda: 8 in loaded,
        lambda: list(loaded),
        lambda: loaded.degree(8),
        lambda: loaded.ids_of([0, 1]),
        lambda: loaded.index_of(8),
        lambda: loaded.subgraph([8]),
    ):
        with pytest.raises(FileChangedError):
            ask()
