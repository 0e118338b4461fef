"""Ids of any kind that can be hashed, and the ids of all vertices given in their order."""

import copy
import datetime
import pickle
import warnings
from decimal import Decimal

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest

import edgewise as ew
from edgewise.errors import GraphError, GraphWarning, OutputError, ParameterError, VerificationError
from edgewise.io.write import write

#: Ids of each kind, seven each, all different.
KINDS = {
    "tuples": [(i, j) for i in range(2) for j in range(3)] + [(0, (1, "a"))],
    "sets": [frozenset(range(i)) for i in range(7)],
    "bytes": [b"\0", b"a", b"ab", b"", b"b", b"\xff", b"c"],
    "dates": [datetime.date(2020, 1, 1 + i) for i in range(7)],
    "floats": [0.5, -1.5, 1e300, float("inf"), 2.0, 3.25, -0.0],
    "exact": [Decimal("0.1"), Decimal(2), Decimal("1e50"), Decimal(3), Decimal(5), Decimal(7), Decimal(-1)],
    "mixed": [1, "b", "a", (0, 1), b"x", 2.5, -1],
    "nested": [0, 1, (0, 1), (1, 0), "a", ((0, 1), 1), ()],
    "integers": [7, -3, 2**70, 0, 5, 2**40, 1],
    "names": ["b", "a", "", "ä", "x y", "7", "\n"],
}
PLAIN = ("integers", "names")


def drawn(kind, seed, size=20):
    """Edges between some of the ids of a kind, as two lists."""
    places = np.random.default_rng(seed).integers(0, 6, (2, size)).tolist()
    return [[KINDS[kind][place] for place in ends] for ends in places]


def assert_agrees(graph, other):
    """A graph says what one of NetworkX with the same vertices, in the same order, says."""
    assert list(graph) == list(other) and len(graph) == len(other)
    assert graph.index_of(list(other)).tolist() == list(range(len(other)))
    for index, vertex in enumerate(other):
        assert vertex in graph and graph.index_of(vertex) == index
        assert graph.degree(vertex) == other.degree(vertex)
        expected = [v for v in other[vertex] for _ in range(other.number_of_edges(vertex, v))]
        assert sorted(graph.neighbors(vertex), key=repr) == sorted(expected, key=repr)
        assert all(graph.has_edge(vertex, v) == other.has_edge(vertex, v) for v in other)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("directed", [True, False])
def test_a_graph_says_what_networkx_says(kind, directed):
    for seed in range(3):
        source, target = drawn(kind, seed)
        other = (nx.MultiDiGraph if directed else nx.MultiGraph)()
        other.add_edges_from(zip(source, target, strict=True))
        if kind == "integers":  # in ascending order
            ascending = type(other)()
            ascending.add_nodes_from(sorted(other))
            ascending.add_edges_from(other.edges)
            other = ascending
        graph = ew.Graph.from_edges(source, target, directed=directed)
        assert_agrees(graph, other)
        part = list(other)[1:4]
        assert_agrees(graph.subgraph(part), nx.subgraph(other, part).copy())
        every = KINDS[kind][::-1]
        other = type(other)()
        other.add_nodes_from(every)
        other.add_edges_from(zip(source, target, strict=True))
        assert_agrees(ew.Graph.from_edges(source, target, directed=directed, vertices=every), other)


@pytest.mark.parametrize("kind", KINDS)
def test_algorithms_take_and_give_them(kind):
    source, target = drawn(kind, 5)
    every, graph = KINDS[kind], ew.Graph.from_edges(source, target, vertices=KINDS[kind], directed=False)
    first = source[0]
    distances = nx.single_source_shortest_path_length(nx.Graph(zip(source, target, strict=True)), first)
    for result in (ew.bfs(graph, first), ew.bfs(graph, [first]), ew.sssp(graph, first)):
        levels = result.level if hasattr(result, "level") else result.distance
        reached = {vertex: levels[graph.index_of(vertex)] for vertex in distances}
        assert reached == distances and result.verify(graph)
        parents = dict(zip(every, result.parent.tolist(), strict=True))
        nothing = {"integers": -1, "names": None}.get(kind)  # "" is the name of a vertex
        assert parents[first] == nothing and parents[every[6]] == nothing
        for vertex, distance in distances.items():
            assert vertex == first or distances[parents[vertex]] == distance - 1
        assert result.table()["vertex"].tolist() == every
        assert result.to_frame()["vertex"].to_list() == every
        assert result.top_rows(1)["vertex"].tolist() == [first]
    for result in (
        ew.connected_components(graph),
        ew.scc(graph),
        ew.pagerank(graph, personalization={first: 1.0}),
        ew.mst(graph),
        ew.betweenness(graph, sources=[first]),
        ew.betweenness(graph, sources=first),
        ew.edge_betweenness(graph),
    ):
        assert result.verify(graph)
        assert all(vertex in graph for vertex in next(iter(result.top_rows(3).values())))


class Parents(ew.Program):
    """Some way from one vertex to each, as parents."""

    source = ew.parameter(ew.VERTEX)
    parent = ew.vertex(ew.VERTEX, init=-1)
    combine = ew.MIN

    @staticmethod
    def initialize(v, state):
        if v == state.source:
            state.parent[v] = v
            return ew.ACTIVE
        return ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        return edge.source

    @staticmethod
    def vertex_compute(v, message, state):
        if state.parent[v] == -1:
            state.parent[v] = message
            return ew.ACTIVE
        return ew.HALT


def test_programs_take_and_give_them():
    every = KINDS["nested"]
    graph = ew.Graph.from_edges(every[:3], every[1:4], vertices=every)
    for source in every[:3]:
        result = ew.run(Parents(source=source), graph)
        parents = dict(zip(every, result.table()["parent"].tolist(), strict=True))
        assert parents[source] == source and parents[every[3]] == (0, 1) and parents[()] is None
        assert result.verify(graph)
        assert result.top_rows(2)["vertex"].tolist() == every[:2], "ids without an order stay in theirs"


@pytest.mark.parametrize("make", [ew.approx.coalesce, ew.approx.normalize_degrees, ew.approx.form_clusters])
def test_approximate_graphs_keep_them(make):
    source, target = zip(*nx.grid_graph((6, 5)).edges, strict=True)
    graph = ew.Graph.from_edges(source, target, directed=False)
    made = make(graph)
    assert (
        set(made.graph) == set(graph) and ew.bfs(made.graph, (0, 0)).level[made.graph.index_of((0, 0))] == 0
    )


def test_a_tuple_is_one_vertex_if_the_graph_has_it():
    graph = ew.Graph.from_edges([0, (0, 1)], [1, (1, 0)])
    assert graph.vertices.tolist() == [0, 1, (0, 1), (1, 0)]
    assert graph.index_of((0, 1)) == 2 and graph.index_of([0, 1]).tolist() == [0, 1]
    assert graph.index_of((1, 1)).tolist() == [1, 1]
    assert graph.index_of(((0, 1), 0)).tolist() == [2, 0]
    assert ew.bfs(graph, (0, 1)).level.tolist() == [-1, -1, 0, 1]
    assert ew.bfs(graph, [0, 1]).level.tolist() == [0, 0, -1, -1]
    assert graph.subgraph((0, 1)).vertices.tolist() == [0, 1], "a subgraph has several vertices"
    with pytest.raises(
        GraphError, match=r"no vertex \(0, 7\); its 4 ids .*; nor is 7 one, were these several"
    ):
        graph.index_of((0, 7))
    with pytest.raises(GraphError, match="no vertex"):
        graph.neighbors((0, 7))
    assert (0, 7) not in graph and [0, 1] not in graph and {} not in graph
    for several in ([0], np.array([0])):
        with pytest.raises(GraphError, match="expected the id of one vertex"):
            graph.neighbors(several)
    for roots, levels in ((0, 1), [-1, -1, 0, 1]), ([0, 1], [0, 0, -1, -1]):
        in_layers = ew.bfs(graph, roots, schedule=ew.Schedule(layout=ew.Layered(roots)))
        assert in_layers.level.tolist() == levels and in_layers.supersteps == 0, "read from the layers"
    sets = ew.Graph.from_edges([frozenset([1])], [frozenset([2])])
    assert ew.betweenness(sources=frozenset([1]), graph=sets).verify(sets)
    with pytest.raises(ParameterError, match="there are none"):
        ew.betweenness(sets, sources=set())


def test_keys_are_equal_as_in_a_dictionary():
    graph = ew.Graph.from_edges([1, 1.0, "a"], [True, "b", np.float32(1)])
    assert graph.vertices.tolist() == [1, "b", "a"] and type(graph.vertices[0]) is int
    assert [graph.index_of(one) for one in (1, 1.0, True, np.int8(1), np.array(1), np.True_)] == [0] * 6
    plain = ew.Graph.from_edges([0, 1], [1, 2])
    assert 1 in plain and 1.0 not in plain and True not in plain, "integers alone are looked up as ever"


def test_scalars_of_numpy_become_python_values():
    given = [
        np.int64(3),
        np.str_("a"),
        np.bytes_(b"b"),
        np.float64(0.5),
        (np.int8(1), (np.str_("x"), 2)),
        np.True_,
    ]
    graph = ew.Graph.from_edges(given[:3], given[3:])
    assert graph.vertices.tolist() == [3, 0.5, "a", (1, ("x", 2)), b"b", True]
    kinds = [int, float, str, tuple, bytes, bool]
    assert [type(each) for each in graph] == kinds and type(graph.vertices[3][0]) is int
    assert graph.index_of(given).tolist() == [0, 2, 4, 1, 3, 5]


@pytest.mark.parametrize("make", [list, tuple, pd.Series, pd.Index], ids=["list", "tuple", "series", "index"])
def test_columns_of_tuples_stay_tuples(make):
    source, target = make([(0, 1), (1, 2)]), make([(1, 2), (2, 0)])
    graph = ew.Graph.from_edges(source, target)
    assert graph.vertices.tolist() == [(0, 1), (1, 2), (2, 0)]
    assert graph.index_of(source).tolist() == [0, 1]
    assert graph.vertices.shape == graph.ids_of([0, 1, 2]).shape == (3,)
    with pytest.raises(GraphError, match=r"shape \(2, 2\).*For pairs as ids, give a list of tuples"):
        ew.Graph.from_edges(np.array([[0, 1], [1, 2]]), target)
    with pytest.raises(GraphError, match="Give tuples as a list of them"):
        graph.index_of(np.array([[0, 1], [1, 2]]))


def test_arrays_of_bytes_and_dates():
    graph = ew.Graph.from_edges(np.array([b"a", b"bc"]), np.array([b"bc", b"d"]))
    assert graph.vertices.tolist() == [b"a", b"bc", b"d"] and graph.index_of(np.array([b"d"])).tolist() == [2]
    days = np.array(["2020-01-01", "2021-02-03"], "M8[D]")
    assert ew.Graph.from_edges(days, days[::-1]).vertices.tolist() == days.tolist()
    for unit in ("s", "us", "ns"):
        times = days.astype(f"M8[{unit}]")
        graph = ew.Graph.from_edges(times, times[::-1])
        assert graph.vertices.tolist() == times.astype("M8[us]").tolist()
        assert graph.index_of(times).tolist() == graph.index_of(pd.Series(times)).tolist() == [0, 1]
    with pytest.raises(
        GraphError, match=r"source\[1\] is .*001'\), which Python's dates and times do not hold"
    ):
        ew.Graph.from_edges(np.array([0, 1], "M8[ns]"), [1, 2])
    assert ew.Graph.from_edges(pl.Series(days), pl.Series(days)).vertices.tolist() == days.tolist()


def test_an_integer_beside_the_same_digits_as_text():
    with pytest.warns(GraphWarning, match="the ids 1 and '1' are two vertices"):
        graph = ew.Graph.from_edges([1, 2], ["1", "a"])
    assert graph.vertices.tolist() == [1, "1", 2, "a"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(ew.Graph.from_edges([1, 2], ["3", "a"])) == 4


MISSING = {
    "None": (["a", None], "source[1] is None: a value is missing"),
    "NaN": ([1, float("nan")], "source[1] is nan: a value is missing"),
    "NaN in a tuple": ([(0, 1), (0, float("nan"))], "source[1] is (0, nan): a value is missing"),
    "decimal": ([1, Decimal("nan")], "source[1] is Decimal('NaN'): a value is missing"),
    "NA": (pd.Series([1, pd.NA]), "source[1] is <NA>: a value is missing"),
    "NA of integers": (pd.Series([1, pd.NA], dtype="Int64"), "make floats of integers, as at row 1"),
    "NA of text": (pd.Series(["a", None], dtype="string"), "source[1] is"),
    "NaN of text": (pd.Series(["a", np.nan], dtype=object), "source[1] is nan"),
    "NaT": (pd.Series([pd.Timestamp(0), pd.NaT], dtype=object), "source[1] is NaT"),
    "NaT in an array": (np.array(["2020-01-01", "NaT"], "M8[D]"), "source[1] is np.datetime64('NaT','D')"),
    "polars": (pl.Series(["a", None]), "source[1] is None"),
    "polars' integers": (pl.Series([1, None]), "missing values make floats of integers, as at row 1"),
    "floats": (np.array([1.0, np.nan]), "missing values make floats of integers, as at row 1"),
    "masked": (
        np.ma.array([1, 2], mask=[0, 1]),
        "source has masked entries; expected a value in each place. The first",
    ),
    "masked value": ([1, np.ma.masked], "source[1] is masked"),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_values_are_refused_with_their_row(name):
    column, message = MISSING[name]
    with pytest.raises(GraphError) as refused:
        ew.Graph.from_edges(column, ["a", "b"])
    assert message in str(refused.value)
    with pytest.raises(GraphError, match="vertices"):
        ew.Graph.from_csr([0, 0, 0], [], vertices=column)


class Scalar:
    """A tensor without a dimension, as PyTorch has them: it hashes by what it is, not by what it holds."""

    ndim = 0

    def __init__(self, value):
        self.item = lambda: value

    def __dlpack__(self):
        raise AssertionError("not for a scalar")


class Tensor(Scalar):
    """One with a dimension."""

    ndim = 1


def test_scalars_of_other_libraries_are_what_they_hold():
    graph = ew.Graph.from_edges([Scalar(5), Scalar(3)], [Scalar(3), Scalar(5)])
    assert graph.vertices.dtype == np.int64 and graph.vertices.tolist() == [3, 5]
    graph = ew.Graph.from_edges([Scalar(5), "a"], [(Scalar(5), 1), Scalar(5)])
    assert graph.vertices.tolist() == [5, (5, 1), "a"] and graph.index_of(Scalar(5)) == 0
    with pytest.raises(GraphError, match="ids of type Tensor cannot be hashed"):
        ew.Graph.from_edges([Tensor(5)], [5])


class Unusual:
    """A key that cannot be hashed, or compared."""

    def __hash__(self):
        raise RuntimeError("no hash")


class Incomparable:
    """A key that hashes like others, and cannot be compared with them."""

    def __hash__(self):
        return 1

    def __eq__(self, other):
        raise RuntimeError("no comparison")


def test_keys_that_cannot_be_compared_are_refused():
    with pytest.raises(
        GraphError, match="target holds ids that cannot be compared; expected integers, strings, or"
    ):
        ew.Graph.from_edges(["a", "b"], [Incomparable(), Incomparable()])


@pytest.mark.parametrize("key", [[1], {1}, {}, np.array([1]), Unusual()], ids=lambda key: type(key).__name__)
def test_what_cannot_be_a_key_is_refused(key):
    with pytest.raises(
        GraphError, match=r"target\[1\] is .*cannot be hashed\. Expected integers, strings, or other"
    ):
        ew.Graph.from_edges(["a", "b"], ["b", key])


def test_floats_and_truth_values_are_ids_when_asked_for():
    for column in (np.array([0.5, 1.0]), np.array([True, False])):
        with pytest.raises(GraphError, match=r"with \.astype\(object\) to have the values as ids"):
            ew.Graph.from_edges(column, column)
        graph = ew.Graph.from_edges(column.astype(object), column.astype(object))
        assert graph.vertices.tolist() == column.tolist()


# ---------------------------------------------------------------- the ids of all vertices


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint64, object])
@pytest.mark.parametrize("add", [0, 5, 2**62])
def test_edges_among_given_integers(dtype, add):
    random = np.random.default_rng(3)
    add = min(add, {np.int8: 100, np.int32: 2**30}.get(dtype, add))
    every = [int(each) + add for each in random.permutation(20)]
    source, target = random.integers(0, 9, (2, 40))
    weights = random.random(40)
    graph = ew.Graph.from_edges((source + add).astype(dtype), target + add, weights, vertices=every)
    place = np.argsort(np.array(every) - add)
    expected = ew.Graph.from_edges(place[source], place[target], weights, num_vertices=20)
    assert graph.vertices.tolist() == every
    for name in ("offsets", "targets", "weights"):
        np.testing.assert_array_equal(getattr(graph, name), getattr(expected, name))
    assert graph.targets.dtype == np.int32


def test_given_ids_in_order_are_none_to_keep():
    graph = ew.Graph.from_edges([2, 0], [1, 2], vertices=range(5))
    assert graph.num_vertices == 5 and graph.vertices.dtype == np.int64
    assert graph.vertices.tolist() == [0, 1, 2, 3, 4] and graph.degree(4) == 0
    assert len(ew.Graph.from_edges([], [], vertices=["a", "b"])) == 2
    assert len(ew.Graph.from_edges([], [], vertices=[])) == 0
    assert list(ew.Graph.from_edges([1], [2], vertices={2: "x", 1: "y"})) == [2, 1]
    merged = ew.Graph.from_edges(
        ["b"] * 2, ["a"] * 2, [1, 2], vertices=["a", "b"], parallel_edges="sum", number_edges=True
    )
    assert merged.weights.tolist() == [3] and merged.edge_numbers.tolist() == [0]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (
            ([0, 1], [1, 7]),
            {"vertices": [0, 1]},
            "edge 1 joins 1 and 7; 7 is not in vertices. Add it there, or leave",
        ),
        (([0, -1], [1, 1]), {"vertices": [0, 1]}, "edge 1 joins -1 and 1; -1 is not in vertices"),
        (([5, 6], [6, 7]), {"vertices": [6, 5]}, "edge 1 joins 6 and 7; 7 is not"),
        ((["a", "c"], ["b", "a"]), {"vertices": ["a", "b"]}, "edge 1 joins 'c' and 'a'; 'c' is not"),
        (([0], [1]), {"vertices": ["0", "1"]}, "edge 0 joins 0 and 1; 0 is not"),
        (([0], [1]), {"vertices": []}, "edge 0 joins 0 and 1; 0 is not"),
        (
            ([(0, 1)], [(0, 2)]),
            {"vertices": [(0, 1), 0]},
            r"edge 0 joins \(0, 1\) and \(0, 2\); \(0, 2\) is not",
        ),
        (([0], [1]), {"vertices": [0, 1, 0]}, "same id twice, 0 at 0 and at 2; expected distinct"),
        ((["a"], ["a"]), {"vertices": ["b", "a", "a"]}, "same id twice, 'a' at 1 and at 2"),
        (([0], [1]), {"vertices": [0, 1, True]}, "same id twice, True at 1 and at 2"),
        (([0], [1]), {"vertices": [0, 1], "num_vertices": 2}, "both vertices and num_vertices are given"),
        (([0], [1]), {"vertices": {0, 1}}, "vertices is a set, which has no order; expected a list"),
        (([0], [1]), {"vertices": 2}, r"vertices has shape \(\); expected one dimension"),
        (([0], [1]), {"vertices": "ab"}, r"vertices has shape \(\); expected one dimension"),
        (([(0, 1)], [(0, 2)]), {"num_vertices": 3}, r"the ids are such as \(0, 1\); leave num_vertices out"),
        (([0], ["a"]), {"num_vertices": 3}, "the ids are strings; leave num_vertices out"),
        (([0, True], [1, 0]), {"num_vertices": 3}, "the ids are such as True; leave num_vertices out"),
    ],
)
def test_edges_and_vertices_that_do_not_fit(columns, options, message):
    with pytest.raises(GraphError, match=message):
        ew.Graph.from_edges(*columns, **options)


def test_rows_with_ids_of_any_kind():
    graph = ew.Graph.from_csr([0, 1, 2, 2], [1, 2], vertices=[(0, 1), "a", 5])
    assert graph.neighbors((0, 1)).tolist() == ["a"] and graph.index_of([5, "a"]).tolist() == [2, 1]
    with pytest.raises(GraphError, match="vertices has 2 ids; offsets are for 3"):
        graph.from_csr([0, 0, 0, 0], [], vertices=["a", (0, 1)])


# ---------------------------------------------------------------- files, copies, text


def test_files_do_not_hold_them(tmp_path):
    graph = ew.Graph.from_edges([(0, 1), "a"], ["a", 5])
    for suffix in (".edgewise", ".csv", ".txt", ".adjlist", ".graphml", ".parquet"):
        path = tmp_path / f"a{suffix}"
        with pytest.raises(
            OutputError, match=r"ids such as \(0, 1\), 'a', 5.* holds integers only, or strings only"
        ):
            write(graph, path)
    assert not list(tmp_path.iterdir())
    with pytest.warns(GraphWarning, match="which became numbers"):
        write(graph, tmp_path / "a.mtx")
    assert ew.read(tmp_path / "a.mtx").targets.tolist() == graph.targets.tolist()
    indices = ew.Graph.from_csr(graph.offsets, graph.targets, graph.weights, graph.directed)
    indices.save(tmp_path / "a.edgewise")
    assert len(ew.load(tmp_path / "a.edgewise")) == 3
    with pytest.raises(GraphError, match="ids of type tuple; expected integers, or strings"):
        ew.build(tmp_path / "b.edgewise", [([(0, 1)], [(1, 0)])])
    with pytest.raises(VerificationError, match="neither all integers nor all strings"):
        ew.connected_components(graph).verify_columns(graph, {"vertex": ["0"], "component": ["0"]})


def test_copies_and_text():
    graph = ew.Graph.from_edges([(0, 1), (0, 1)], [(0, 2), "a\x1b"], [1, 2])
    assert repr(graph) == "<Graph: 3 vertices, 2 edges, directed, int64 weights>"
    with pytest.raises(GraphError, match=r"no vertex 3; its 3 ids are such as \(0, 1\), \(0, 2\), 'a\\x1b'"):
        graph.index_of(3)
    for other in (
        copy.deepcopy(graph),
        pickle.loads(pickle.dumps(graph)),
        graph.reverse(),
        graph.to_undirected(),
    ):
        assert list(other) == list(graph) and other.index_of((0, 2)) == 1
    assert graph.has_plain_ids is False and graph.has_names is False
    assert ew.Graph.from_edges(["a"], ["b"]).has_plain_ids
