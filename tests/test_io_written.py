"""Every format that is written: read back equal, by edgewise and by others, or refused with advice."""

import gzip
import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.io
from io_cases import edges_of

import edgewise as ew
from edgewise import generate
from edgewise.errors import GraphWarning, OutputError
from edgewise.whole import open_text

pytestmark = pytest.mark.filterwarnings("ignore:.*which became numbers")

#: For each suffix: whether ids are replaced by numbers and from which on; whether vertices without edges are kept;
#: whether edges may be without weights, and with; whether the text says that a graph is undirected.
FORMATS: dict[str, tuple[int | None, bool, bool, bool, bool]] = {
    ".txt": (None, False, True, True, False),
    ".tsv": (None, False, True, True, False),
    ".csv": (None, False, True, True, False),
    ".edges": (None, False, True, True, False),
    ".edgelist": (None, False, True, True, False),
    ".snap": (None, False, True, True, False),
    ".el": (None, False, True, False, False),
    ".wel": (None, False, False, True, False),
    ".mtx": (1, True, True, True, True),
    ".gr": (1, True, True, True, False),
    ".graph": (1, True, True, True, True),
    ".metis": (1, True, True, True, True),
    ".graph-txt": (0, True, True, False, False),
    ".adjlist": (None, True, True, False, False),
}
TWO_WAYS = (".gr", ".graph-txt")


def arcs_of(graph: ew.Graph, base: int | None) -> list[tuple]:
    """The arcs of a graph, sorted, with their ids or, from a base on, numbers."""
    if base is None:
        return sorted(edges_of(graph))
    columns = [(graph.sources + base).tolist(), (graph.targets + base).tolist()]
    if graph.weights is not None:
        columns.append(graph.weights.tolist())
    return sorted(zip(*columns, strict=True))


def random_graph(seed: int, directed: bool, weights: Any, loops: bool = False) -> ew.Graph:
    """A graph without parallel edges, of ids with gaps between them, some of which have no edges."""
    random = np.random.default_rng(seed)
    source, target = random.integers(0, 80, (2, 120)) * 7
    values = None if weights is None else weights(random, 120)
    if not directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    keep = np.unique(source * 1000 + target, return_index=True)[1]
    keep = keep if loops else keep[source[keep] != target[keep]]
    return ew.Graph.from_edges(source[keep], target[keep], None if values is None else values[keep], directed)


def integers(random: Any, count: int) -> Any:
    return random.integers(1, 10**6, count)


def floats(random: Any, count: int) -> Any:
    return random.normal(size=count) * 10.0 ** random.integers(-20, 20, count)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [None, integers, floats])
@pytest.mark.parametrize("suffix", FORMATS)
def test_graphs_are_read_back_equal_or_refused(
    tmp_path: Path, suffix: str, weights: Any, directed: bool
) -> None:
    base, keeps, plain, weighted, says = FORMATS[suffix]
    whole = suffix in (".gr", ".graph", ".metis")
    stands = (plain if weights is None else weighted) and not (whole and weights is floats)
    for seed in range(3):
        graph, path = random_graph(seed, directed, weights), tmp_path / f"graph{suffix}"
        if not stands or (directed and suffix in (".graph", ".metis")):
            with pytest.raises(OutputError, match=r"use \.|or use \."):
                ew.write(graph, path)
            continue
        done: list[int] = []
        ew.write(graph, path, progress=done.append)
        assert done[-1] == graph.num_arcs
        options: dict[str, Any] = {} if says else {"directed": directed}
        if suffix in TWO_WAYS and not directed:
            options["parallel_edges"] = "first"
        if suffix == ".gr" and weights is None:
            options["weighted"] = False
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = ew.read(path, **options)
        assert again.directed == directed and again.num_edges == graph.num_edges
        assert arcs_of(again, None) == arcs_of(graph, base)
        if keeps:
            expected = graph.vertices if base is None else np.arange(base, base + graph.num_vertices)
            assert again.vertices.tolist() == expected.tolist()


@pytest.mark.filterwarnings("ignore:.* says that the graph is undirected")
@pytest.mark.parametrize("packing", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("suffix", FORMATS)
def test_compressed_files_hold_the_same_text(tmp_path: Path, suffix: str, packing: str) -> None:
    graph = random_graph(1, False, integers if suffix == ".wel" else None)
    ew.write(graph, tmp_path / f"graph{suffix}")
    packed = tmp_path / f"graph{suffix}{packing}"
    ew.write(graph, packed)
    with open_text(packed, "rt", packing) as file:
        assert file.read() == (tmp_path / f"graph{suffix}").read_text()
    assert packed.read_bytes()[:1] != (tmp_path / f"graph{suffix}").read_bytes()[:1]
    assert ew.read(packed).num_vertices == ew.read(tmp_path / f"graph{suffix}").num_vertices


@pytest.mark.parametrize("suffix", [".mtx", ".gr", ".graph", ".graph-txt", ".adjlist"])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_graphs_without_edges(tmp_path: Path, suffix: str, size: int) -> None:
    graph = ew.Graph.from_edges([], [], directed=False, num_vertices=size)
    path = tmp_path / f"graph{suffix}"
    if suffix == ".adjlist" and size == 0:
        with pytest.raises(OutputError, match=r"without vertices cannot stand in this format; use \.mtx"):
            ew.write(graph, path)
        return
    ew.write(graph, path)
    again = ew.read(path, weighted=False)
    assert (again.num_vertices, again.num_edges) == (size, 0)


def test_texts_to_the_letter(tmp_path: Path) -> None:
    graph = ew.Graph.from_edges([5, 9, 5], [9, 30, 30], [4, 5, 6], directed=False)
    plain = ew.Graph.from_edges([5, 9, 5], [9, 30, 30], directed=False)
    for written, suffix, text in (
        (graph, ".gr", "p sp 3 6\na 1 2 4\na 1 3 6\na 2 1 4\na 2 3 5\na 3 2 5\na 3 1 6\n"),
        (graph, ".graph", "3 3 001\n2 4 3 6\n1 4 3 5\n1 6 2 5\n"),
        (plain, ".graph", "3 3\n2 3\n1 3\n1 2\n"),
        (plain, ".graph-txt", "3\n1 2\n0 2\n0 1\n"),
        (plain, ".adjlist", "# Ids: integers\n5 9 30\n9 30\n30\n"),
        (plain, ".el", "9 5\n30 9\n30 5\n"),
        (graph, ".wel", "9 5 4\n30 9 5\n30 5 6\n"),
        (ew.Graph.from_edges([5, 5], [9, 5]), ".gr", "p sp 2 2\na 1 2 1\na 1 1 1\n"),
        (ew.Graph.from_edges([5, 5, 9], [9, 5, 5]), ".graph-txt", "2\n0 1\n0\n"),
    ):
        ew.write(written, tmp_path / f"graph{suffix}")
        assert (tmp_path / f"graph{suffix}").read_text() == text


def test_others_read_what_is_written(tmp_path: Path) -> None:
    graph = random_graph(4, True, floats, loops=True)
    plain = random_graph(4, True, None, loops=True)
    ew.write(graph, tmp_path / "graph.mtx")
    matrix = scipy.io.mmread(tmp_path / "graph.mtx", spmatrix=False)
    assert (matrix != graph.to_scipy()).nnz == 0
    ew.write(graph, tmp_path / "graph.wel")
    ew.write(graph, tmp_path / "graph.edgelist.gz")
    for name in ("graph.wel", "graph.edgelist.gz"):
        found = nx.read_weighted_edgelist(tmp_path / name, nodetype=int, create_using=nx.DiGraph)
        assert sorted(found.edges(data="weight")) == arcs_of(graph, None)
    ew.write(plain, tmp_path / "graph.adjlist.bz2")
    found = nx.read_adjlist(tmp_path / "graph.adjlist.bz2", nodetype=int, create_using=nx.DiGraph)
    assert sorted(found.edges()) == arcs_of(plain, None) and set(found) == set(plain.vertices.tolist())
    undirected = ew.Graph.from_edges(["b", "a", "c"], ["a", "c", "c"], directed=False)
    ew.write(undirected, tmp_path / "names.adjlist")
    assert set(nx.read_adjlist(tmp_path / "names.adjlist").edges()) == {("b", "a"), ("a", "c"), ("c", "c")}


@pytest.mark.parametrize("suffix", [".graph", ".graph-txt", ".adjlist", ".gr"])
def test_large_rows_and_many_rows_go_through_pieces(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgewise.io.writing.CHUNK", 7)
    star = generate.star(30, directed=False)
    both = ew.Graph.from_edges([0, 3, 60], [50, 4, 61], directed=False, num_vertices=80)
    for graph in (star, both):
        path = tmp_path / f"graph{suffix}"
        ew.write(graph, path)
        again = ew.read(path, directed=False, weighted=False, parallel_edges="first")
        assert again.num_vertices == graph.num_vertices
        assert arcs_of(again, 0) == arcs_of(graph, 0)


PARALLEL = ew.Graph.from_edges([1, 1], [2, 2], directed=False)
LOOP = ew.Graph.from_edges([1, 1], [2, 1], directed=False)


@pytest.mark.parametrize(
    ("graph", "suffix", "message"),
    [
        (generate.path(3), ".graph", r"is directed, and those of METIS are not; write graph.to_undirected\(\)"),
        (PARALLEL, ".metis", r'parallel edges, such as 1 to 2, .* make it with parallel_edges="first", or use \.mtx'),
        (PARALLEL, ".graph-txt", "has parallel edges, such as 1 to 2"),
        (LOOP, ".graph", 'has a self-loop, such as 1 to 1, which this format does not take; .*self_loops="drop"'),
        (ew.Graph.from_edges([1], [2], [0], False), ".graph", "a weight is 0, and those of METIS are positive"),
        (ew.Graph.from_edges([1], [2], [0.5], False), ".graph", "weights are float64, and this format has integers"),
        (ew.Graph.from_edges([1], [2], [0.5]), ".gr", "the weights are float64, and this format has integers"),
        (ew.Graph.from_edges([1], [2], [5]), ".graph-txt", r"has weights, and this format has none; use \.txt"),
        (ew.Graph.from_edges([1], [2], [5]), ".adjlist", r"has weights, and this format has none; use \.edgelist"),
        (ew.Graph.from_edges([1], [2], [5]), ".el", r"has weights, and this format has none; use \.wel"),
        (ew.Graph.from_edges([1], [2]), ".wel", r"has a weight, and the graph has none; use \.el"),
        (ew.Graph.from_edges(["a"], ["b"]), ".el", "files of GAP have ids from 0 on, and no names"),
        (ew.Graph.from_edges([(0, 1)], [(0, 2)]), ".el", "files of GAP have ids from 0 on, and no names"),
        (ew.Graph.from_edges([(0, 1)], [(0, 2)]), ".adjlist", r"ids such as \(0, 1\), \(0, 2\) cannot stand"),
        (ew.Graph.from_edges([-1], [2], [5]), ".wel", "files of GAP have ids from 0 on, and no names"),
        (ew.Graph.from_edges(["a b"], ["c"]), ".adjlist", "'a b' cannot stand in this format"),
        (ew.Graph.from_edges(["a#b"], ["c"]), ".adjlist", "'a#b' cannot stand in this format"),
        (ew.Graph.from_edges([], [], num_vertices=3), ".el", "without edges cannot stand in this format"),
    ],
)  # fmt: skip
def test_graphs_that_cannot_stand_in_a_format(
    tmp_path: Path, graph: ew.Graph, suffix: str, message: str
) -> None:
    with pytest.raises(OutputError, match=message):
        ew.write(graph, tmp_path / f"graph{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_ids_of_any_kind_in_adjacency_lists(tmp_path: Path) -> None:
    for ids in (["a", "1", "é"], [2**63, 5, 2**64 - 1], [-(10**30), 0, 10**30]):
        graph = ew.Graph.from_edges(ids[:2], ids[1:])
        ew.write(graph, tmp_path / "graph.adjlist")
        again = ew.read(tmp_path / "graph.adjlist")
        assert edges_of(again) == edges_of(graph) and again.vertices.tolist() == graph.vertices.tolist()


def test_other_suffixes_are_refused_with_those_that_are_written(tmp_path: Path) -> None:
    with pytest.raises(
        OutputError, match=r"ends in '\.xyz'; expected \.txt, .*\.adjlist.*, each also with \.gz, \.bz2, \.xz"
    ):
        ew.write(generate.path(3), tmp_path / "graph.xyz")
    ew.write(generate.path(3), tmp_path / "graph.txt.gz")
    assert gzip.decompress((tmp_path / "graph.txt.gz").read_bytes()).startswith(b"# Directed graph\n")


@pytest.mark.parametrize("name", ["a.mtx", "a.gr", "a.npz", "a.sg", "a.graph-txt"])
def test_ids_that_become_numbers_are_told(tmp_path, name):
    for ids in (["a", "b", "c"], [2, 5, 9]):
        graph = ew.Graph.from_edges(ids[:2], ids[1:], edge_attributes={"toll": [1, 2]})
        with pytest.warns(
            GraphWarning, match=r"without the edge attributes toll, and without the ids \(.*became numb"
        ):
            ew.write(graph, tmp_path / name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ew.write(ew.Graph.from_edges([0, 1], [1, 2]), tmp_path / name)
        ew.write(ew.Graph.from_edges(["a"], ["b"]), tmp_path / "a.txt")
    if name in ("a.mtx", "a.gr"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ew.write(ew.Graph.from_edges([1, 2], [2, 3]), tmp_path / name)
