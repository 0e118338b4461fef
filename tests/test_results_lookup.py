"""Results as dicts, lists, frames, attributes of NetworkX graphs, and pickles."""

import ast
import copy
import functools
import math
import pickle
import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pandas
import polars
import pytest

import edgewise as ew
from edgewise.errors import GraphError, ParameterError, ProgramError

IDS = {
    "indices": list(range(12)),
    "sparse": [7, 10**12, -3, *range(100, 109)],
    "uint64": [2**63, 1, 2**64 - 1, *range(100, 109)],
    "big": [10**21, 5, -(10**30), *range(100, 109)],
    "names": list("abcdefghijkl"),
    "pairs": [(i // 4, i % 4) for i in range(12)],
    "mixed": ["a", 1, (2, 3), b"c", 2.5, frozenset({1}), *range(100, 106)],
}


def both(ids, directed=True, weights=True):
    """A drawn graph with these ids, parallel edges left out, and the same in NetworkX."""
    rng = np.random.default_rng(len(ids))
    other = nx.DiGraph() if directed else nx.Graph()
    for u, v in rng.integers(0, 9, (16, 2)).tolist():
        if not other.has_edge(ids[u], ids[v]):
            other.add_edge(ids[u], ids[v], weight=int(rng.integers(1, 9)))
    other.add_edge(ids[10], ids[11], weight=2)
    source, target, weight = zip(*other.edges(data="weight"), strict=True)
    graph = ew.Graph.from_edges(
        source, target, np.array(weight, np.int32) if weights else None, directed=directed
    )
    return graph, other


class Marks(ew.Program):
    """Steps from a vertex, a vertex before each, and what is given."""

    start = ew.parameter(ew.VERTEX)
    steps = ew.vertex("int32", init=ew.INFINITY)
    before = ew.vertex(ew.VERTEX, init=-1)
    bonus = ew.vertex("float32", init=0.5)
    combine = ew.MIN
    message = ew.VERTEX

    @staticmethod
    def initialize(v, state):
        if v == state.start:
            state.steps[v] = 0
            return ew.ACTIVE
        return ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        return edge.source

    @staticmethod
    def vertex_compute(v, message, state):
        if state.superstep < state.steps[v]:
            state.steps[v] = state.superstep
            state.before[v] = message
            return ew.ACTIVE
        return ew.HALT

    @ew.aggregator(ew.SUM, "int64")
    @staticmethod
    def marked(v, state):
        return 1 if state.steps[v] < 100 else 0


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("directed", [True, False])
def test_values_by_id_are_those_of_networkx(kind, directed):
    ids = IDS[kind]
    graph, other = both(ids, directed)
    first = next(iter(other))
    levels, lengths = ew.bfs(graph, first), ew.sssp(graph, first)
    expected = nx.single_source_shortest_path_length(other, first)
    assert levels.to_dict() == {v: expected.get(v) for v in graph}
    assert lengths.to_dict() == {v: nx.single_source_dijkstra_path_length(other, first).get(v) for v in graph}
    ranks, between = ew.pagerank(graph, tol=1e-12, weighted=True), ew.betweenness_centrality(graph)
    assert ranks.to_dict() == pytest.approx(nx.pagerank(other, tol=1e-12, max_iter=500))
    assert between.to_dict() == pytest.approx(nx.betweenness_centrality(other))
    groups = nx.weakly_connected_components(other) if directed else nx.connected_components(other)
    components = ew.connected_components(graph)
    for group in groups:
        assert {components[v] for v in group} == {next(v for v in graph if v in group)}
    for result in (levels, lengths, ranks, between, components):
        whole = result.to_dict()
        assert list(whole) == list(graph) and {v: result[v] for v in graph} == whole
        assert not any(isinstance(value, np.generic) for entry in whole.items() for value in entry)
        assert first in result and "?" not in result
    for v in graph:
        path = levels.path_to(v)
        assert (path is None) == (v not in expected)
        assert path is None or (nx.is_path(other, path) and len(path) == expected[v] + 1 and path[0] == first)
    assert levels.reached.tolist() == [v in expected for v in graph]


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("directed", [True, False])
def test_values_of_edges_are_those_of_networkx(kind, directed):
    graph, other = both(IDS[kind], directed)
    result, expected = ew.edge_betweenness_centrality(graph), nx.edge_betweenness_centrality(other)

    def key(u, v):
        return (u, v) if directed else frozenset((u, v))

    assert {key(*e): x for e, x in result.to_dict().items()} == pytest.approx(
        {key(*e): x for e, x in expected.items()}
    )
    for u, v in other.edges:
        assert result[u, v] == pytest.approx(expected[u, v])
        assert directed or result[v, u] == result[u, v]
    forest = ew.minimum_spanning_forest(graph, symmetrize=directed)
    undirected = other.to_undirected(reciprocal=False) if directed else other
    if not directed:
        trees = nx.minimum_spanning_tree(undirected)
        assert sum(forest.to_dict().values()) == trees.size(weight="weight")
        assert all(forest[e] == undirected.edges[e]["weight"] for e in forest.to_dict())
    hops = ew.mst(graph, symmetrize=directed, weighted=False)
    assert set(hops.to_dict().values()) == {1} and hops.num_edges == forest.num_edges
    assert hops.verify(graph) and hops.weight.dtype == np.int32


def test_several_edges_with_the_same_ends_are_not_taken_for_one():
    graph = ew.Graph.from_edges(["a", "a", "b"], ["b", "b", "c"])
    result = ew.edge_betweenness(graph)
    assert result["b", "c"] > 0
    for call in (result.to_dict, lambda: result["a", "b"]):
        with pytest.raises(GraphError, match=r"several edges lead from 'a' to 'b'.*to_frame\(\)"):
            call()
    with pytest.raises(GraphError, match="no edge from 'c' to 'a'"):
        result["c", "a"]
    for edge in ("a", ["a", "b"], ("a",)):
        with pytest.raises(GraphError, match=r"expected an edge, .* result\[source, target\]"):
            result[edge]


def test_ids_that_are_none_are_refused():
    result = ew.bfs(ew.generate.path(3), 0)
    for call in (result.__getitem__, result.path_to):
        with pytest.raises(GraphError, match="no vertex 9"):
            call(9)
    with pytest.raises(GraphError, match=r"got \[0, 1\]; expected the id of one vertex"):
        result[[0, 1]]
    with pytest.raises(ParameterError, match="no column 'depth'; expected one of level, parent"):
        result.to_dict("depth")
    with pytest.raises(TypeError, match="not iterable"):
        iter(result)


def test_top_is_a_list_of_pairs():
    graph = ew.Graph.from_edges(
        ["a", "b", "c", "c", "e"], ["b", "c", "a", "d", "f"], np.arange(1, 6, dtype=np.int32)
    )
    assert ew.bfs(graph, "b").top(3) == [("b", 0), ("c", 1), ("a", 2)]
    assert ew.sssp(graph, "b").top(100) == [("b", 0), ("c", 2), ("a", 5), ("d", 6)]
    assert ew.connected_components(graph).top() == [("a", 4), ("e", 2)]
    assert ew.strongly_connected_components(graph).top(1) == [("a", 3)]
    assert ew.mst(graph, symmetrize=True).top(2) == [(("e", "f"), 5), (("c", "d"), 4)]
    assert ew.edge_betweenness(graph, normalized=False).top(1) == [(("b", "c"), 5.0)]
    assert ew.run(Marks(start="b"), graph).top(2) == [("a", 2), ("d", 2)]
    assert ew.pagerank(graph).top(0) == []


def test_programs_give_all_fields():
    graph = ew.Graph.from_edges(["a", "b", "c"], ["b", "c", "d"])
    result = ew.run(Marks(start="b"), graph)
    assert result["d"] == {"steps": 2, "before": "c", "bonus": 0.5}
    assert result["a"] == {"steps": None, "before": None, "bonus": 0.5}
    assert result.to_dict() == {v: result[v] for v in "abcd"}
    assert result.to_dict("before") == {"a": None, "b": None, "c": "b", "d": "c"}
    assert {"steps", "before", "bonus", "marked", "to_frame", "seconds"} <= set(dir(result))
    frame = result.to_frame(["steps"])
    assert frame.columns == ["vertex", "steps"] and frame["steps"].to_list() == [None, 0, 1, 2]
    with pytest.raises(
        ParameterError, match="there is no column 'age'; expected a list of steps, before, bonus"
    ):
        result.to_frame(["age"])


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_integers_of_vertices_that_were_not_reached_are_null_in_frames(library, monkeypatch):
    if library == "pandas":
        monkeypatch.setitem(sys.modules, "polars", None)
    for dtype, results in {
        "int32": (ew.bfs, ew.sssp, functools.partial(ew.sssp, weighted=False)),
        "int64": (ew.sssp,),
    }.items():
        weights = np.array([1, 2, 3], dtype) * (1 if dtype == "int32" else 2**40)
        graph = ew.Graph.from_edges([0, 1, 3], [1, 2, 4], weights)
        for call in results:
            result = call(graph, 0)
            name = next(iter(result.columns()))
            column = result.to_frame()[name]
            if library == "polars":
                assert isinstance(column, polars.Series) and str(column.dtype).lower() == dtype
                values, nulls = column.to_list(), column.is_null().to_list()
            else:
                assert isinstance(column, pandas.Series) and str(column.dtype).lower() == dtype
                nulls = column.isna().tolist()
                values = [None if null else int(x) for x, null in zip(column, nulls, strict=True)]
            assert values == [result[v] for v in range(5)] and nulls == (~result.reached).tolist()
            assert nulls[3:] == [True, True] and not result.table()[name][2:3] < 0
    floats = ew.sssp(ew.Graph.from_edges([0], [1], [1.5], num_vertices=3), 0).to_frame()["distance"]
    assert list(floats) == [0.0, 1.5, math.inf]


@pytest.mark.parametrize("library", ["polars", "pandas"])
@pytest.mark.parametrize(("ids", "kind"), [([2**63, 1, 5], "UInt64"), ([-1, 1, 5], "Int64")])
def test_ids_that_are_missing_keep_the_dtype_of_ids_in_frames(library, ids, kind, monkeypatch):
    if library == "pandas":
        monkeypatch.setitem(sys.modules, "polars", None)
    graph = ew.Graph.from_edges(np.array(ids[:2], kind.lower()), np.array(ids[1:], kind.lower()))
    frame = ew.bfs(graph, ids[0]).to_frame("parent")
    assert str(frame["parent"].dtype) == kind
    parents = dict(zip(frame["vertex"].to_list(), frame["parent"].to_list(), strict=True))
    assert parents.pop(ids[0]) in (None, pandas.NA)
    assert parents == {ids[1]: ids[0], ids[2]: ids[1]}


def test_names_are_text_in_frames_of_polars_where_the_first_is_missing():
    graph = ew.Graph.from_edges(["a", "b"], ["b", "c"])
    for source, parents in (("a", [None, "a", "b"]), ("c", [None, None, None])):
        column = ew.bfs(graph, source).to_frame()["parent"]
        assert column.dtype == polars.String and column.to_list() == parents


def test_attributes_of_networkx_graphs():
    graph, other = both(IDS["names"])
    first = next(iter(other))
    other.add_node("alone")
    result = ew.bfs(graph, first)
    assert result.to_networkx(other) is other
    expected = nx.single_source_shortest_path_length(other, first)
    assert nx.get_node_attributes(other, "level") == {v: expected.get(v) for v in graph}
    parents = nx.get_node_attributes(other, "parent")
    assert all((parents[v] is None) == (not expected.get(v)) for v in graph) and "alone" not in parents
    ew.pagerank(graph).to_networkx(other)
    assert set(other.nodes[first]) == {"level", "parent", "rank"}
    new = result.to_networkx()
    assert nx.get_node_attributes(new, "level") == result.to_dict() and set(new.edges) == set(other.edges)
    with pytest.raises(GraphError, match="the NetworkX graph has no node"):
        result.to_networkx(nx.Graph())


RUNS = {
    "bfs": lambda g: ew.bfs(g, ["a", "b"], max_depth=2),
    "sssp": lambda g: ew.sssp(g, "b", target="d"),
    "pagerank": lambda g: ew.pagerank(g, personalization={"a": 1}),
    "weighted pagerank": lambda g: ew.pagerank(g, weighted=True, dtype=np.float32),
    "components": ew.connected_components,
    "scc": ew.scc,
    "mst": lambda g: ew.mst(g, symmetrize=True),
    "betweenness": lambda g: ew.betweenness(g, k=2),
    "edges": lambda g: ew.edge_betweenness(g),
    "program": lambda g: ew.run(Marks(start="b"), g),
    "prepared": lambda g: ew.prepare(Marks, g)(start="b", bonus=np.arange(6, dtype=np.float32)),
}


@pytest.mark.parametrize("name", RUNS)
def test_results_are_pickled_and_copied(name):
    graph = ew.Graph.from_edges(
        ["a", "b", "c", "c", "e"], ["b", "c", "a", "d", "f"], np.array([1, 2, 3, 4, 5], np.int32)
    )
    result = RUNS[name](graph)
    for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), copy.copy(result)):
        assert type(again) is type(result) and again.explain() == result.explain()
        assert again.summary() == result.summary() and again.seconds == result.seconds
        for column, values in result.table().items():
            np.testing.assert_array_equal(again.table()[column], values)
        assert again.to_dict() == result.to_dict() and again.top() == result.top()
        assert again.verify(again.graph) and again.verify(graph)
        assert pickle.loads(pickle.dumps(again)).to_dict() == result.to_dict()


def test_results_of_graphs_in_files_and_of_local_programs_are_pickled(tmp_path):
    class Local(Marks):
        pass

    graph = ew.Graph.from_edges(["a", "b"], ["b", "c"])
    graph.save(tmp_path / "g.edgewise")
    graph = ew.load(tmp_path / "g.edgewise")
    assert pickle.loads(pickle.dumps(ew.bfs(graph, "a")))["c"] == 2
    result = pickle.loads(pickle.dumps(ew.run(Local(start="a"), graph)))
    assert result["c"]["steps"] == 2 and result.marked == 3
    with pytest.raises(ProgramError, match=r"its program .*Local is not here; import the module first"):
        result.verify(graph)


def test_a_result_of_a_script_is_read_by_another_process(tmp_path):
    result = ew.run(Marks(start="b"), ew.Graph.from_edges(["a", "b"], ["b", "c"]))
    (tmp_path / "r.pickle").write_bytes(pickle.dumps(result))
    script = (
        "import pickle, sys\n"
        "result = pickle.load(open(sys.argv[1], 'rb'))\n"
        "assert result['c']['steps'] == 1, result['c']\n"
        "try: result.verify(result.graph)\n"
        "except Exception as error: print(type(error).__name__)\n"
    )
    root = Path(ew.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "r.pickle")],
        capture_output=True,
        text=True,
        cwd=root,
        check=True,
    )
    assert done.stdout == "ProgramError\n"


def test_one_meaning_of_weighted():
    weighted, plain = ew.generate.path(4, weights=(2, 3)), ew.generate.path(4)
    calls = {
        "sssp": lambda g, w: ew.sssp(g, 0, weighted=w).distance,
        "mst": lambda g, w: ew.mst(g, symmetrize=True, weighted=w).weight,
        "pagerank": lambda g, w: ew.pagerank(g, weighted=w).rank,
        "betweenness": lambda g, w: ew.betweenness(g, weighted=w).centrality,
        "edge_betweenness": lambda g, w: ew.edge_betweenness(g, weighted=w).centrality,
    }
    for name, call in calls.items():
        by_itself = name in ("sssp", "mst")
        np.testing.assert_array_equal(call(weighted, None), call(weighted, by_itself))
        np.testing.assert_array_equal(call(plain, None), call(weighted, False))
        with pytest.raises(GraphError, match=f"{name}: weighted=True, but the graph has no weights"):
            call(plain, True)
        for value in (1, "yes"):
            with pytest.raises(ParameterError, match=f"{name}: weighted is {value!r}"):
                call(weighted, value)


@pytest.mark.parametrize(
    ("call", "given", "expected"),
    [
        (ew.pagerank, {"alpha": 0.9}, "pagerank has no argument 'alpha', as NetworkX has; expected damping"),
        (ew.pagerank, {"max_iter": 9}, "expected max_iterations"),
        (ew.pagerank, {"nstart": {}}, "expected start"),
        (ew.pagerank, {"weight": None}, "expected weighted=True"),
        (ew.betweenness_centrality, {"weight": "x"}, "betweenness has no argument 'weight'"),
        (ew.edge_betweenness, {"weight": "x"}, "expected weighted=True"),
        (ew.mst, {"weight": "x"}, "expected weighted=True"),
        (ew.sssp, {"source": 0, "cutoff": 3}, "expected max_distance"),
        (ew.bfs, {"source": 0, "depth_limit": 3}, "expected max_depth"),
        (ew.bfs, {"source": 0, "reverse": True}, r"expected a graph .*: bfs\(graph.reverse\(\), source\)"),
        (ew.sssp, {"source": 0, "method": "dijkstra"}, "expected none: "),
        (ew.mst, {"algorithm": "kruskal"}, "expected none: there is one algorithm"),
        (ew.mst, {"ignore_nan": True}, "expected a graph without such edges"),
        (ew.connected_components, {"weight": "x"}, "expected none: components do not depend on weights"),
        (ew.scc, {"weight": "x"}, "expected none: components"),
    ],
)
def test_names_of_networkx_are_explained(call, given, expected):
    with pytest.raises(ParameterError, match=expected):
        call(ew.generate.path(3), **given)


def test_long_names_are_the_same_functions():
    assert ew.betweenness_centrality is ew.betweenness
    assert ew.edge_betweenness_centrality is ew.edge_betweenness
    assert ew.minimum_spanning_forest is ew.mst and ew.strongly_connected_components is ew.scc
    assert pickle.loads(pickle.dumps(ew.pagerank)) is ew.pagerank
    assert "breadth-first" not in ew.explain(ew.betweenness_centrality, ew.generate.path(3))


def test_a_graph_without_vertices():
    graph = ew.Graph.from_edges([], [], np.empty(0, np.int32))
    for call in (ew.pagerank, ew.connected_components, ew.betweenness):
        assert call(graph).to_dict() == {} and call(graph).top() == []
        assert call(graph).to_frame().shape[0] == 0
    assert ew.mst(graph, symmetrize=True).to_dict() == {}


def test_the_page_of_results_says_what_is_so():
    page = (Path(__file__).parent.parent / "docs" / "results.md").read_text(encoding="utf-8")
    names, told = {}, 0
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)
        for line in block.splitlines():
            expression, _, comment = line.partition("  # ")
            try:
                value = ast.literal_eval(
                    comment.partition(";")[0].partition(":")[0] if "{" not in comment else comment
                )
            except (SyntaxError, ValueError):
                continue
            found = eval(expression, names)
            if isinstance(found, np.ndarray | tuple):  # the page rounds their numbers
                found, value = list(found), pytest.approx(list(value), abs=5e-4)
            assert found == value, line
            told += 1
    assert told == 16


def test_edges_in_networkx_graphs():
    networkx = pytest.importorskip("networkx")
    graph = ew.Graph.from_edges(["a", "b", "a", "d"], ["b", "c", "c", "d"], [1, 2, 3, 4], False)
    forest, theirs = ew.mst(graph), graph.to_networkx()
    ours = forest.to_networkx()
    assert list(ours) == ["a", "b", "c", "d"]
    assert sorted(ours.edges.data("weight")) == [("a", "b", 1), ("b", "c", 2)]
    assert (
        ("b", "a") in forest and ("a", "c") not in forest and ("a", "x") not in forest and "ab" not in forest
    )
    result = ew.edge_betweenness(graph, weighted=False)
    assert result.to_networkx(theirs) is theirs
    expected = networkx.edge_betweenness_centrality(theirs)
    for made in (theirs, result.to_networkx()):
        assert networkx.get_edge_attributes(made, "centrality") == pytest.approx(expected)
    parallel = ew.edge_betweenness(ew.Graph.from_edges([0, 0], [1, 1]))
    assert isinstance(parallel.to_networkx(), networkx.MultiDiGraph)
    with pytest.raises(GraphError, match="the NetworkX graph may have parallel edges"):
        result.to_networkx(parallel.to_networkx())
    with pytest.raises(GraphError, match="the NetworkX graph has no edge from 'a' to 'b'"):
        result.to_networkx(networkx.Graph())
    for each in (result, ew.bfs(graph, "a")):
        with pytest.raises(ParameterError, match="to_networkx: got 3; expected a graph of NetworkX"):
            each.to_networkx(3)


def test_names_of_columns_are_checked():
    result = ew.bfs(ew.generate.path(3), 0)
    assert result.to_frame("level").columns == ["vertex", "level"]
    for call, problem in (
        (
            lambda: result.to_dict(["level"]),
            r"to_dict: there is no column \['level'\]; expected one of level, parent",
        ),
        (lambda: result.to_frame(3), "to_frame: got 3; expected the names of columns, a list"),
        (
            lambda: result.to_frame("dist"),
            "to_frame: there is no column 'dist'; expected a list of level, parent",
        ),
        (lambda: result.to_frame([["level"]]), r"to_frame: there is no column \['level'\]"),
    ):
        with pytest.raises(ParameterError, match=problem):
            call()
