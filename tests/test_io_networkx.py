"""Files that NetworkX writes: edge lists with attributes, and adjacency lists."""

import random
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from io_cases import edges_of

import edgewise as ew
from edgewise.errors import GraphWarning, ParseError

ANY_FILE = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def plain(graph: Any, attribute: str | None = "weight") -> list[tuple]:
    """The edges of a graph of NetworkX, in order."""
    if attribute is None:
        return sorted(graph.edges())
    return sorted((u, v, data[attribute]) for u, v, data in graph.edges(data=True))


# ---------------------------------------------------------------- edge lists


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.Graph, nx.MultiDiGraph])
@pytest.mark.parametrize("weights", [random.random, lambda: random.randrange(-9, 9), lambda: np.float64(0.5)])
def test_edge_lists_with_weights(tmp_path: Path, kind: Any, weights: Any) -> None:
    random.seed(5)
    written = kind(nx.gnm_random_graph(40, 200, 3, directed=kind is not nx.Graph))
    for *_, data in written.edges(data=True):
        data["weight"] = weights()
    nx.write_edgelist(written, tmp_path / "graph.edgelist", data=True)
    graph = ew.read(tmp_path / "graph.edgelist", directed=kind is not nx.Graph)
    both = [(v, u, w) for u, v, w in plain(written) if u != v] if kind is nx.Graph else []
    assert sorted(edges_of(graph)) == sorted([*plain(written), *both])
    assert graph.weights is not None and graph.weights.dtype.kind == np.asarray(weights()).dtype.kind


def test_other_ways_to_write_weights(tmp_path: Path) -> None:
    written = nx.DiGraph([("a", "b", {"weight": 3.5}), ("b", "c", {"weight": 1e-30})])
    expected = plain(written)
    nx.write_weighted_edgelist(written, tmp_path / "weighted.txt")
    nx.write_edgelist(written, tmp_path / "chosen.txt", data=["weight"])
    nx.write_edgelist(written, tmp_path / "data.csv", delimiter=",")
    nx.write_edgelist(written, tmp_path / "data.tsv.gz", delimiter="\t")
    nx.write_edgelist(written, tmp_path / "data")
    for path in tmp_path.iterdir():
        assert edges_of(ew.read(path)) == expected


def test_attributes_are_chosen_and_left_out_with_a_warning(tmp_path: Path, recwarn: Any) -> None:
    path = tmp_path / "graph.edges"
    path.write_text(
        "1 2 {'weight': 3, 'color': 'red', 'w': 2.5}\n2 3 {'size': [1, {'a': 2}], 'weight': 4, 'w': 1}\n"
    )
    with pytest.warns(GraphWarning, match=r"were left out: 'color', 'w', 'size'. weight_column= takes one"):
        assert edges_of(ew.read(path)) == [(1, 2, 3), (2, 3, 4)]
    recwarn.clear()
    assert edges_of(ew.read(path, weight_column="w")) == [(1, 2, 2.5), (2, 3, 1.0)]
    assert edges_of(ew.read(path, weight_column="weight")) == [(1, 2, 3), (2, 3, 4)]
    assert edges_of(ew.read(path, weighted=False)) == [(1, 2), (2, 3)]
    nx.write_edgelist(nx.path_graph(3), path)
    assert edges_of(ew.read(path)) == [(0, 1), (1, 2)]
    assert not recwarn.list
    path.write_text("1 2 {}\n2 3 {'color': 'red'}\n")
    with pytest.warns(
        GraphWarning, match="'color'. weight_column= takes one as weights; weighted=False says"
    ):
        assert not ew.read(path).weighted


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a b {'weight': 3}\n# x\nb c {}\n", {}, ":3: got 'b c {}'; expected the attribute 'weight', as before"),
        ("a b {}\nb c {'weight': 3}\n", {}, ":2: .*expected no attribute 'weight', as before. weighted=False"),
        ("a b {'weight': 3}\nb c\n", {}, ":2: got 'b c'; expected attributes in braces"),
        ("a b {'weight': '3'}\n", {}, "expected a number as the attribute 'weight'"),
        ("a b {'weight': 3}\nb c {'weight': True}\n", {}, ":2: .*expected a number"),
        ("a b {'weight': 3}\nb c {'weight': None}\n", {}, ":2: .*expected a number"),
        ("a b {'weight': 3}\nb c {'weight': nan}\n", {}, ":2: .*expected a finite weight"),
        ("a b {'weight': __import__('os').abort()}\n", {}, "expected a number"),
        ("a b {'weight': 1}\nb c {'weight': 2\n", {}, ":2: .*attributes as Python writes a dictionary"),
        ("a b {'weight': 1}\nb c {'weight' 2}\n", {}, ":2: .*attributes as Python writes a dictionary"),
        ("a b {'weight': 1}\nb c {'weight': }\n", {}, ":2: .*attributes as Python writes a dictionary"),
        ("a b {'weight': 1}\nb c {'weight': 2} d\n", {}, ":2: .*attributes as Python writes a dictionary"),
        ("a b {'weight': 1}\nb c {f(): 1, 'weight': 2}\n", {}, ":2: .*strings as their names"),
        ("a b {'w': 1, 'x': 2}\n", {"weight_column": "v"}, "no attribute 'v' on its first edge; it has 'w', 'x'"),
        ("a b {}\n", {"weighted": True}, "no attribute 'weight' on its first edge; it has none"),
        ("New York Boston {}\n", {}, "expected two vertices before the attributes.*delimiter="),
        ("a 2\nb {}\nc {}\n", {}, "looks like a multi-line adjacency list of NetworkX"),
    ],
)  # fmt: skip
def test_edge_lists_that_are_refused(tmp_path: Path, text: str, options: dict, message: str) -> None:
    path = tmp_path / "graph.edgelist"
    path.write_text(text)
    with pytest.raises(ParseError, match=message):
        ew.read(path, **options)


@pytest.mark.parametrize("data", [True, False])
def test_tuples_as_vertices_are_refused(tmp_path: Path, data: bool) -> None:
    nx.write_edgelist(nx.grid_graph((2, 2)), tmp_path / "grid.txt", data=data)
    with pytest.raises(ParseError, match=r"whose vertices are tuples.*from_networkx.*convert_node_labels"):
        ew.read(tmp_path / "grid.txt")


ATTRIBUTES = st.dictionaries(
    st.one_of(st.text(max_size=4), st.sampled_from(["color", "'weight': 1", "{", "a:b"])),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=2), st.tuples(inner), st.dictionaries(st.text(max_size=2), inner, max_size=2)
        ),
        max_leaves=4,
    ),
    max_size=3,
)  # fmt: skip


@ANY_FILE
@given(st.lists(st.tuples(ATTRIBUTES, st.integers(-99, 99), ATTRIBUTES), min_size=1, max_size=3))
@pytest.mark.filterwarnings("ignore")
def test_attributes_of_any_kind_are_passed_over(tmp_path: Path, found: list) -> None:
    written = nx.MultiDiGraph()
    for i, (before, weight, behind) in enumerate(found):
        before.pop("weight", None)
        behind.pop("weight", None)
        written.add_edges_from([(i, i + 1, {**before, "weight": weight, **behind})])
    nx.write_edgelist(written, tmp_path / "graph.edgelist")
    assert edges_of(ew.read(tmp_path / "graph.edgelist")) == plain(written)


@ANY_FILE
@given(st.text(st.sampled_from("'\"\\{}[](),: ab1."), max_size=24))
@pytest.mark.filterwarnings("ignore")
def test_broken_attributes_are_refused_or_read_as_python_reads_them(tmp_path: Path, text: str) -> None:
    path = tmp_path / "graph.edgelist"
    path.write_text(f"1 2 {{'weight': 1}}\n2 3 {{{text}, 'weight': 7}}\n")
    try:
        edges = edges_of(ew.read(path))
    except ParseError:
        return
    assert edges == [(1, 2, 1), (2, 3, 7)]


def test_edge_lists_are_read_in_blocks_and_built(tmp_path: Path, monkeypatch: Any) -> None:
    written = nx.gnm_random_graph(30, 200, 3, directed=True)
    for u, v, data in written.edges(data=True):
        data["weight"] = 100 * u + v
    nx.write_edgelist(written, tmp_path / "graph.edgelist")
    monkeypatch.setattr("edgewise.io.source._BLOCK", 64)
    done: list[int] = []
    assert sorted(edges_of(ew.read(tmp_path / "graph.edgelist", progress=done.append))) == plain(written)
    assert done[-1] == (tmp_path / "graph.edgelist").stat().st_size
    assert sorted(edges_of(ew.build(tmp_path / "graph.edgewise", [tmp_path / "graph.edgelist"]))) == plain(
        written
    )
    (tmp_path / "more.txt").write_text("1 2 {'weight': 5}\n3 4 {'color': 'red', 'weight': 6}\n")
    with pytest.warns(GraphWarning, match="left out: 'color'"):
        ew.build(tmp_path / "graph.edgewise", tmp_path / "more.txt")
    (tmp_path / "long.txt").write_text(f"{10**30} 2 {{'weight': 5}}\n")
    assert edges_of(ew.read(tmp_path / "long.txt")) == [(10**30, 2, 5)]


# ---------------------------------------------------------------- adjacency lists


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("names", [True, False])
def test_adjacency_lists(tmp_path: Path, directed: bool, names: bool) -> None:
    written = nx.gnm_random_graph(60, 50, 4, directed=directed)
    written.add_edge(3, 3)
    if names:
        written = nx.relabel_nodes(written, lambda v: f"v{v}")
    nx.write_adjlist(written, tmp_path / "graph.adjlist")
    graph = ew.read(tmp_path / "graph.adjlist", directed=directed)
    assert set(graph.vertices.tolist()) == set(written) and graph.num_edges == written.number_of_edges()
    both = [] if directed else [(v, u) for u, v in written.edges() if u != v]
    assert sorted(edges_of(graph)) == sorted([*written.edges(), *both])


def test_adjacency_lists_of_isolated_vertices_comments_and_long_ids(tmp_path: Path) -> None:
    path = tmp_path / "graph.adjlist"
    path.write_text("# 9 9\n\n7 3 # 5\n-2\n 100\t\n#\n")
    graph = ew.read(path)
    assert graph.vertices.tolist() == [-2, 3, 7, 100] and edges_of(graph) == [(7, 3)]
    path.write_text(f"{10**40} 5\n6\n")
    assert ew.read(path).vertices.tolist() == [5, 6, 10**40]
    path.write_text("a\nb\n")
    assert ew.read(path).vertices.tolist() == ["a", "b"] and ew.read(path).num_edges == 0
    path.write_text("1 2\n4\n")
    assert ew.read(path, num_vertices=6).num_vertices == 6
    assert ew.read(path, names=True).vertices.tolist() == ["1", "2", "4"]
    assert ew.read(path, format="edgelist", weighted=False, comments="4#").num_edges == 1


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "1 2\n2 x\n",
            {},
            ":2: got '2 x'; expected an integer id in column 2. For names as ids, give names=True",
        ),
        ("1 2\n7\n", {"num_vertices": 7}, ":2: got '7'; expected an id from 0 to 6 in column 1"),
        ("1 2\n", {"weighted": True}, "it has no weights to read"),
        ("# x\n", {}, "has no vertices; give num_vertices"),
        ("1 2\n", {"header": True}, "read as adjlist, which has no option header"),
    ],
)
def test_adjacency_lists_that_are_refused(tmp_path: Path, text: str, options: dict, message: str) -> None:
    path = tmp_path / "graph.adjlist"
    path.write_text(text)
    with pytest.raises(ParseError, match=message):
        ew.read(path, **options)


def test_multi_line_adjacency_lists_are_refused(tmp_path: Path) -> None:
    for name in ("graph.adjlist", "graph.txt"):
        nx.write_multiline_adjlist(nx.path_graph(4), tmp_path / name)
        with pytest.raises(ParseError, match=r"multi-line adjacency list.*networkx\.write_adjlist"):
            ew.read(tmp_path / name)


def test_many_names_in_one_line_and_in_blocks(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "graph.adjlist"
    names = [f"vertex{i}" for i in range(20_000)]
    path.write_text(" ".join(names) + "\n" + "\n".join(names) + "\nlast vertex7\n")
    monkeypatch.setattr("edgewise.io.source._BLOCK", 1000)
    graph = ew.read(path)
    assert graph.vertices.tolist() == [*names, "last"] and graph.num_edges == 20_000
    assert graph.neighbors("last").tolist() == ["vertex7"]


def test_adjacency_lists_are_built(tmp_path: Path) -> None:
    path = tmp_path / "graph.adjlist"
    path.write_text("a b\nc\n")
    assert ew.build(tmp_path / "a.edgewise", [path]).vertices.tolist() == ["a", "b", "c"]
    path.write_text("1 2\n5\n")
    assert ew.build(tmp_path / "b.edgewise", [path], num_vertices=6).num_vertices == 6
    with pytest.raises(
        ParseError, match=r"vertices without neighbours.*give num_vertices.*or take edgewise.read"
    ):
        ew.build(tmp_path / "c.edgewise", [path])
