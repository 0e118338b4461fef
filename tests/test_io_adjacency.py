"""Reading rows of neighbours: METIS files, and adjacency lists as WebGraph writes them."""

import warnings
from typing import Any
from unittest import mock

import golden
import numpy as np
import pytest
from io_cases import edges_of as edges_in_order

import edgewise as ew
from edgewise.errors import GraphWarning, ParseError
from edgewise.io import read, source

#: The graph of figure 2 of the METIS manual, without weights.
FIGURE = "7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n"
EDGES = [(1, 2), (1, 3), (1, 5), (2, 3), (2, 4), (3, 4), (3, 5), (4, 6), (4, 7), (5, 6), (6, 7)]


def edges_of(graph: ew.Graph) -> list:
    """The arcs of a graph, sorted."""
    return sorted(edges_in_order(graph))


def both_ways(edges: list) -> list:
    """The arcs of undirected edges, sorted."""
    return sorted([edge for u, v, *w in edges for edge in ((u, v, *w), (v, u, *w))])


def test_metis(file: Any) -> None:
    for text in (
        FIGURE,
        f"% a comment\n{FIGURE}",
        FIGURE.replace("\n", "\r\n"),
        f"{FIGURE}\n \n",
        FIGURE[:-1],
    ):
        for name in ("a.graph", "a.metis"):
            graph = read(file(text, name))
            assert not (graph.directed or graph.weighted) and graph.num_edges == 11
            assert edges_of(graph) == both_ways(EDGES) and graph.vertices.tolist() == [*range(1, 8)]
    assert read(file(FIGURE), format="metis").num_edges == 11
    assert edges_of(read(file(FIGURE, "a.graph"), directed=True)) == both_ways(EDGES)
    with mock.patch.object(source, "_BLOCK", 5):
        assert edges_of(read(file(FIGURE, "a.graph"))) == both_ways(EDGES)


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("3 2 1\n2 5\n1 5 3 -7\n2 -7\n", [(1, 2, 5), (2, 3, -7)]),
        ("3 2 001\n2 5\n1 5 3 -7\n2 -7\n", [(1, 2, 5), (2, 3, -7)]),
        ("3 2 11 2\n9 9 2 5\n8 8 1 5 3 6\n7 7 2 6\n", [(1, 2, 5), (2, 3, 6)]),
        ("3 2 111 1\n4 9 2 5\n4 8 1 5 3 6\n4 7 2 6\n", [(1, 2, 5), (2, 3, 6)]),
        ("3 2 010\n9 2\n8 1 3\n7 2\n", [(1, 2), (2, 3)]),
        ("3 2 100\n9 2\n8 1 3\n7 2\n", [(1, 2), (2, 3)]),
        ("4 1\n\n4\n\n2\n", [(2, 4)]),
        ("3 0\n\n\n\n", []),
    ],
)
def test_sizes_and_weights(file: Any, text: str, edges: list) -> None:
    graph = read(file(text, "a.graph"))
    assert edges_of(graph) == both_ways(edges)
    assert graph.num_vertices == int(text[0])
    plain = read(file(text, "a.graph"), weighted=False)
    assert edges_of(plain) == both_ways([edge[:2] for edge in edges])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("7\n", {}, ":1: got '7'; expected 'VERTICES EDGES'"),
        ("3 2 2\n2\n1 3\n2\n", {}, ":1: got '3 2 2'; expected"),
        ("3 2 1 1 1\n", {}, ":1: got"),
        ("3 x\n", {}, ":1: got '3 x'; expected"),
        ("3 2 10 99999\n", {}, "at most 10,000"),
        ("% nothing\n", {}, "has no line 'VERTICES EDGES'"),
        ("3 2\n2\n1 3\n", {}, "declares 3 vertices and has rows for 2"),
        ("3 2\n2\n1 3\n2\n1\n", {}, ":5: got '1'; expected no more rows, as 3 vertices"),
        ("3 3\n2\n1 3\n2\n", {}, "declares 3 entries and holds 2"),
        ("3 2\n2\n1 4\n2\n", {}, ":3: got '1 4'; expected an id from 1 to 3 as number 2"),
        ("3 2\n2\n1 0\n2\n", {}, ":3: got '1 0'; expected an id from 1 to 3"),
        ("3 2\n2\n1 x\n2\n", {}, ":3: got '1 x'; expected an integer as number 2"),
        ("3 2\n2\n1 3.0\n2\n", {}, ":3: .*expected an integer as number 2"),
        (f"3 2\n2\n1 {10**30}\n2\n", {}, ":3: .*expected an integer of 64 bits"),
        ("3 2\n2\n1 3\n1\n", {}, "has an edge in the row of one of its ends only"),
        ("3 2 1\n2 5\n1 5 3 7\n2 8\n", {}, "or with another weight in the other"),
        (
            "3 2 1\n2 5\n1 5 3\n2 7\n",
            {},
            ":3: got '1 5 3'; it has 3 numbers; expected 0 and neighbours, each with",
        ),
        ("3 2 11 2\n9\n8 8 1 5\n7 7\n", {}, ":2: got '9'; it has 1 numbers; expected 2 and neighbours"),
        (FIGURE, {"weighted": True}, "has no weights of edges to read"),
        (FIGURE, {"names": True}, "is read as metis, which has no option names"),
        ("3000000000 1\n", {}, "at most 2..31 - 1"),
    ],
)
def test_what_is_not_metis_is_refused(file: Any, text: str, options: dict, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        read(file(text, "a.graph"), **options)


def test_adjacency_lists(file: Any) -> None:
    text = "4\n1 2\n\n0 3 3\n\n"
    graph = read(file(text, "a.graph-txt"))
    assert edges_of(graph) == [(0, 1), (0, 2), (2, 0), (2, 3), (2, 3)]
    assert graph.directed and graph.vertices.tolist() == [0, 1, 2, 3]
    assert edges_of(read(file(text), format="adjacency", parallel_edges="first")) == [
        (0, 1),
        (0, 2),
        (2, 0),
        (2, 3),
    ]
    with pytest.warns(GraphWarning, match="lists 1 edges in both directions"):
        assert read(file(text, "a.graph-txt"), directed=False).num_edges == 5
    assert read(file("0\n", "a.graph-txt")).num_vertices == 0
    for broken, message in (
        ("4\n1\n\n0 3\n", "declares 4 vertices and has rows for 3"),
        ("2\n1\n\n0\n", ":4: got '0'; expected no more rows"),
        ("2\n2\n\n", ":2: got '2'; expected an id from 0 to 1"),
        ("2 3\n1\n\n", ":1: got '2 3'; expected the number of vertices"),
        ("\n", ":1: got ''; expected the number of vertices"),
        ("x\n", ":1: got 'x'; expected the number"),
    ):
        with pytest.raises(ParseError, match=message):
            read(file(broken, "a.graph-txt"))
    with pytest.raises(ParseError, match="has no weights to read"):
        read(file(text, "a.graph-txt"), weighted=True)


@pytest.mark.parametrize("seed", range(20))
def test_random_rows_are_read_as_by_plain_python(file: Any, seed: int) -> None:
    """Rows of a random graph in blocks of a few bytes, each edge twice in METIS files."""
    random = np.random.default_rng(seed)
    n, fmt = int(random.integers(1, 12)), int(random.integers(0, 2))
    pairs = sorted({(min(u, v), max(u, v)) for u, v in random.integers(1, n + 1, (20, 2)).tolist() if u != v})
    edges = [(u, v, int(w)) for (u, v), w in zip(pairs, random.integers(-9, 99, len(pairs)), strict=True)]
    rows: list[list[str]] = [[] for _ in range(n)]
    for u, v, w in both_ways(edges):
        rows[u - 1] += [str(v), str(w)] if fmt else [str(v)]
    blank = ("", " ", "\t ")[seed % 3]
    lines = [f"{n} {len(edges)} {fmt}", *(blank + "  ".join(row) + blank for row in rows)]
    with mock.patch.object(source, "_BLOCK", int(random.integers(3, 40))):
        graph = read(file("\n".join(lines) + "\n", "a.metis"))
    assert edges_of(graph) == both_ways(edges if fmt else pairs)


def test_they_are_built_into_files(file: Any, tmp_path: Any) -> None:
    for text, name in ((FIGURE, "a.graph"), ("4\n1 2\n\n0 3 3\n\n", "b.graph-txt")):
        path, built = file(text, name), tmp_path / f"{name}.edgewise"
        ew.build(built, path)
        loaded, expected = ew.load(built), read(path)
        assert edges_of(loaded) == edges_of(expected)
        assert (loaded.directed, len(loaded)) == (expected.directed, len(expected))


@pytest.mark.parametrize("name", golden.NAMES)
def test_every_file_of_the_test_data_opens(name: str) -> None:
    folder, spec = golden._FOUND[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)
        graph = read(folder / spec["file"])
        merged = read(folder / spec["file"], directed=spec["directed"], parallel_edges="min", weighted=False)
    assert graph.num_edges > 0
    if spec["format"] != "projection":
        expected = golden.load(name).graph
        assert (merged.num_vertices, merged.num_edges) == (expected.num_vertices, expected.num_edges)
