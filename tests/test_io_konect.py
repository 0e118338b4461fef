"""Networks of KONECT: the first line says whether edges have directions and weights."""

import warnings
from typing import Any

import pytest
from io_cases import edges_of

import edgewise as ew
from edgewise.errors import GraphWarning, ParseError


@pytest.mark.parametrize(
    ("first", "lines", "edges"),
    [
        ("% asym unweighted", "1 2\n2 3\n", [(1, 2), (2, 3)]),
        ("%\tasym  unweighted \r", "1 2 \n2 3\n", [(1, 2), (2, 3)]),
        ("% asym unweighted", "1 2 1\n2 3 1\n", [(1, 2), (2, 3)]),
        ("% asym weighted", "1 2 0.5\n2 3 -1\n", [(1, 2, 0.5), (2, 3, -1)]),
        ("% asym multisigned", "1\t2\t1\n1\t2\t-1\n", [(1, 2, 1), (1, 2, -1)]),
        ("% sym posweighted\n% 1 2 2", "1 2 4\n", [(1, 2, 4), (2, 1, 4)]),
        ("% sym posweighted", "1 2\n", [(1, 2), (2, 1)]),
    ],
)
@pytest.mark.parametrize("name", ["out.moreno", "edges", "graph.txt"])
def test_networks(file: Any, first: str, lines: str, edges: list, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = ew.read(file(f"{first}\n{lines}", name))
    assert edges_of(graph) == edges
    assert graph.directed == ("asym" in first)


def test_directed_means_both_directions_of_undirected_edges(file: Any) -> None:
    graph = ew.read(file("% sym weighted\n1 2 0.5\n3 3 1\n", "out.a"), directed=True)
    assert graph.directed
    assert edges_of(graph) == [(1, 2, 0.5), (2, 1, 0.5), (3, 3, 1)]


def test_columns_left_out_are_named(file: Any) -> None:
    path = file("% asym weighted\n1 2 0.5 1200000000\n", "out.a")
    with pytest.warns(GraphWarning, match="left out the fourth column, which has the times of edges"):
        assert edges_of(ew.read(path)) == [(1, 2, 0.5)]
    counts = file("% sym positive\n1 2 3\n", "out.b")
    with pytest.warns(GraphWarning, match=r"the third column, which counts parallel edges \(weighted=True"):
        assert edges_of(ew.read(counts)) == [(1, 2), (2, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert edges_of(ew.read(counts, weighted=True)) == [(1, 2, 3), (2, 1, 3)]
        assert not ew.read(path, weighted=False).weighted
        assert edges_of(ew.read(path, weight_column=3)) == [(1, 2, 1200000000)]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("% bip unweighted\n1 1\n", {}, "two kinds of vertices, each numbered from 1.*format='edgelist'"),
        ("% asym dynamic\n1 2 1 5\n1 2 -1 6\n", {}, "edges that appear and vanish.*weighted=False takes all"),
        ("% asym heavy\n1 2\n", {"format": "konect"}, ":1: got '% asym heavy'; expected '% FORMAT WEIGHTS'"),
        ("% asym weighted\n1 2 x\n", {}, ":2: got '1 2 x'; expected a number as the weight in column 3"),
        ("% asym weighted\n", {}, "has no edges"),
    ],
)
def test_what_is_refused(file: Any, text: str, options: dict, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        ew.read(file(text, "out.x"), **options)


def test_refused_networks_are_read_as_the_message_says(file: Any) -> None:
    assert edges_of(ew.read(file("% bip unweighted\n1 1\n"), format="edgelist")) == [(1, 1)]
    assert ew.read(file("% asym dynamic\n1 2 1 5\n1 2 -1 6\n"), weighted=False).num_edges == 2
