"""Writing graphs: what is written is read again or refused, and what was there is left or replaced."""

import fcntl
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from io_cases import MATRIX, edges_of

from edgewise import generate
from edgewise.errors import (
    GraphWarning,
    OutputError,
)
from edgewise.graph import Graph
from edgewise.graph.ids import Ids
from edgewise.io import read, write

pytestmark = pytest.mark.filterwarnings("ignore:.*which became numbers")

# ---------------------------------------------------------------- writing


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [None, (1, 100), (-1.0, 1.0)])
@pytest.mark.parametrize("suffix", [".txt", ".tsv.gz", ".csv", ".csv.gz", ".mtx", ".mtx.gz"])
def test_written_graphs_are_read_again(tmp_path: Path, suffix: str, weights: Any, directed: bool) -> None:
    graph = generate.uniform(50, 400, 3, directed=directed, weights=weights)
    path = tmp_path / f"graph{suffix}"
    seen: list[int] = []
    write(graph, path, progress=seen.append)
    assert seen[-1] == graph.num_arcs
    again = read(path) if ".mtx" in suffix else read(path, directed=directed)
    shift = 1 if ".mtx" in suffix else 0
    assert again.directed == directed
    assert again.num_edges == graph.num_edges
    assert np.array_equal(again.vertices, graph.vertices + shift)
    order, other = (
        np.lexsort((g.weights if g.weighted else g.targets, g.targets, g.sources)) for g in (graph, again)
    )
    assert np.array_equal(graph.targets[order], again.targets[other])
    assert np.array_equal(graph.offsets, again.offsets)
    if graph.weights is not None:
        assert np.array_equal(graph.weights[order], again.weights[other])


def test_written_names_and_short_floats(tmp_path: Path) -> None:
    graph = Graph.from_edges(["a", "b"], ["b", "New York"], np.array([0.1, 2.5], np.float32))
    write(graph, tmp_path / "graph.csv")
    assert (tmp_path / "graph.csv").read_text() == "source,target,weight\na,b,0.1\nb,New York,2.5\n"
    long = Graph.from_edges([10**20], [5])
    write(long, tmp_path / "graph.txt")
    assert edges_of(read(tmp_path / "graph.txt")) == [(10**20, 5)]


def test_vertices_without_edges_are_kept_in_matrix_market(tmp_path: Path) -> None:
    write(generate.path(3), tmp_path / "path.mtx")
    write(Graph.from_edges([], [], num_vertices=4), tmp_path / "none.mtx")
    assert read(tmp_path / "none.mtx").num_vertices == 4
    assert (tmp_path / "path.mtx").read_text() == f"{MATRIX} pattern general\n3 3 2\n1 2\n2 3\n"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    graph = generate.path(3)
    for name, message in (
        ("graph.xyz", "ends in '.xyz'; expected .txt, .tsv, .csv, .mtx"),
        ("graph", "ends in 'no suffix'"),
        ("nowhere/graph.txt", "there is no folder"),
    ):
        with pytest.raises(OutputError, match=message):
            write(graph, tmp_path / name)
    with pytest.raises(OutputError, match="'a b' cannot stand in this format"):
        write(Graph.from_edges(["a b"], ["c"]), tmp_path / "graph.txt")


IDS = st.one_of(
    st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=6, unique=True),
    st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True),
    st.lists(
        st.one_of(
            st.sampled_from(
                ["a", "b", "u", "v", "source", "from", "2", "02", "-7", "c", "p", "nan", "=1", "#", '"']
            ),
            st.text(max_size=4),
            st.text(st.characters(min_codepoint=0, max_codepoint=127), min_size=1, max_size=3),
        ),
        min_size=1,
        max_size=6,
        unique=True,
    ),
)
WEIGHTS = st.sampled_from(
    [
        None,
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(-5, 5).map(float),
    ]
)


@pytest.mark.filterwarnings("ignore:.*takes for formulas")
@pytest.mark.filterwarnings("ignore:.*became a vertex like other names")
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), IDS, WEIGHTS, st.booleans(), st.sampled_from([".txt", ".tsv", ".csv", ".mtx", ".tsv.gz"]))
def test_what_is_written_is_read_or_refused(
    tmp_path: Path, data: Any, ids: list, weights: Any, directed: bool, suffix: str
) -> None:
    end = st.sampled_from(ids)
    edges = data.draw(st.lists(st.tuples(end, end), max_size=8))
    if not directed:
        edges = list({frozenset(edge): edge for edge in edges}.values())
    values = None
    if weights is not None:
        drawn = data.draw(st.lists(weights, min_size=len(edges), max_size=len(edges)))
        values = np.array(drawn, float if drawn and isinstance(drawn[0], float) else np.int64)
    graph = Graph.from_edges([u for u, _ in edges], [v for _, v in edges], values, directed)
    path = tmp_path / f"graph{suffix}"
    try:
        write(graph, path)
    except OutputError as error:
        assert "use ." in str(error)
        return
    again = read(path, directed=None if suffix == ".mtx" else directed)
    if suffix == ".mtx":
        numbered = Graph(
            graph._rows, Ids(graph.num_vertices, np.arange(1, graph.num_vertices + 1)), directed, 0
        )
        expected = edges_of(numbered)
    else:
        expected = edges_of(graph)
        assert set(again.vertices) == set(graph.vertices)
    assert again.directed == directed
    assert sorted(map(repr, edges_of(again))) == sorted(map(repr, expected))


def test_names_of_digits_come_back(tmp_path: Path) -> None:
    graph = Graph.from_edges(["02", "2", "x"], ["2", "3", "02"])
    for suffix in (".txt", ".tsv"):
        write(graph, tmp_path / f"graph{suffix}")
        assert edges_of(read(tmp_path / f"graph{suffix}")) == [("02", "2"), ("2", "3"), ("x", "02")]
    with pytest.raises(OutputError, match=r"first edge would be read as integers; use \.txt or \.tsv"):
        write(graph, tmp_path / "graph.csv")
    write(Graph.from_edges(["a", "1"], ["b", "2"]), tmp_path / "words.tsv")
    assert read(tmp_path / "words.tsv").num_edges == 2


def test_ids_and_graphs_that_are_not_written(tmp_path: Path) -> None:
    for name in ("a\0b", "a\rb", "a\nb", "\ud800", "", " a", "#a", "a\tb"):
        for suffix in (".txt", ".tsv", ".csv"):
            if name == "a\tb" and suffix == ".csv":
                continue
            with pytest.raises(OutputError, match=r"cannot stand in this format; use \.mtx"):
                write(Graph.from_edges(["x", name], ["y", "z"]), tmp_path / f"graph{suffix}")
    with pytest.raises(OutputError, match="over 4,000 digits"):
        write(Graph.from_edges([10**5000], [1]), tmp_path / "graph.txt")
    with pytest.raises(OutputError, match=r"without edges cannot stand in this format; use \.mtx"):
        write(Graph.from_edges([], [], num_vertices=3), tmp_path / "graph.txt")
    assert list(tmp_path.iterdir()) == []


def test_names_that_spreadsheets_take_for_formulas(tmp_path: Path) -> None:
    graph = Graph.from_edges(["=1+1", "@x"], ["-a", "b"])
    with pytest.warns(GraphWarning, match=r"such as '=1\+1'\. .* with quote_formulas=True"):
        write(graph, tmp_path / "graph.csv")
    assert (tmp_path / "graph.csv").read_text() == "source,target\n=1+1,-a\n@x,b\n"
    write(graph, tmp_path / "graph.csv", quote_formulas=True)
    assert (tmp_path / "graph.csv").read_text() == "source,target\n'=1+1,'-a\n'@x,b\n"
    write(Graph.from_edges([-1], [2]), tmp_path / "graph.csv", quote_formulas=True)
    assert (tmp_path / "graph.csv").read_text() == "source,target\n-1,2\n"


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    path.write_text("before")

    def fail(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(generate.path(3), path, progress=fail)
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph.txt"]


@pytest.mark.parametrize("suffix", ["txt", "csv", "mtx"])
def test_weights_in_float32_come_back_as_the_float64_nearest_to_their_text(
    tmp_path: Path, suffix: str
) -> None:
    bits = np.random.default_rng(4).integers(0, 0x7F800000, 10_000).astype(np.uint32)
    weights = np.concatenate(
        [np.array([0.1, 1e-45, 3.4028235e38, 2**24, 0.0], np.float32), bits.view(np.float32)]
    )
    index = np.arange(len(weights))
    write(Graph.from_edges(index, index, weights), tmp_path / f"graph.{suffix}")
    found = read(tmp_path / f"graph.{suffix}").weights
    assert found is not None and found.dtype == np.float64 and found[0] == 0.1
    assert found[0] != weights[0]
    np.testing.assert_array_equal(found.astype(np.float32), weights)


# ---------------------------------------------------------------- places, permissions, what is left


def test_a_replaced_file_keeps_its_permissions_and_its_link(tmp_path: Path) -> None:
    target, link = tmp_path / "there" / "graph.txt", tmp_path / "graph.txt"
    target.parent.mkdir()
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    write(generate.path(3), link)
    assert link.is_symlink() and target.stat().st_mode & 0o777 == 0o640
    assert read(target).num_edges == 2
    target.unlink()
    write(generate.path(4), link)
    assert link.is_symlink() and read(target).num_edges == 3
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    for name, message in (("loop.txt", "cannot write"), ("pipe.txt", "no ordinary file")):
        with pytest.raises(OutputError, match=message):
            write(generate.path(3), tmp_path / name)


def test_a_file_is_as_private_while_it_is_written(tmp_path: Path) -> None:
    path, modes = tmp_path / "graph.txt", []
    path.write_text("before")
    path.chmod(0o600)

    def look(done: int) -> None:
        modes.extend(part.stat().st_mode & 0o777 for part in tmp_path.glob(".*.part"))

    write(generate.path(3), path, progress=look)
    assert modes == [0o600]


def test_what_killed_processes_leave_is_cleared(tmp_path: Path) -> None:
    left, held, young = (tmp_path / f".{'0' * 16}.{number}.1.part" for number in (1, 2, 3))
    other = tmp_path / ".mine.part"
    for path in (left, held, young, other):
        path.write_text("part")
        os.utime(path, (1, 1) if path != young else None)
    with open(held) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write(generate.path(3), tmp_path / "graph.txt")
    assert sorted(tmp_path.iterdir()) == sorted([held, young, other, tmp_path / "graph.txt"])
