"""Graphs whose vertices are in another order: the same graph by its ids, and the one that is made in that order."""

import datetime
import tracemalloc
from pathlib import Path

import golden
import numpy as np
import pytest
from cli_cases import invoke, refuse, succeed
from graph_files import IDS, drawn, same_graphs

import edgewise as ew
from edgewise.errors import FileChangedError, GraphError, MemoryLimitError
from edgewise.graph import graph as graph_module
from edgewise.graph.ordering import reordering

#: What SplitMix64 gives first from seed 0 on, as its authors' program in C prints it.
SPLITMIX = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]


def splitmix(count: int) -> list[int]:
    """Numbers of SplitMix64 in plain Python."""
    found, state, word = [], 0, 2**64 - 1
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & word
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & word
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & word
        found.append(z ^ (z >> 31))
    return found


def shuffled(graph: ew.Graph, seed: int = 0) -> list[object]:
    """The ids of a graph in a drawn order."""
    ids = graph.vertices.tolist()
    return [ids[i] for i in np.random.default_rng(seed).permutation(len(ids))]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("ids", IDS)
def test_it_is_the_graph_that_is_made_in_that_order(ids: str, directed: bool) -> None:
    """Loops, parallel edges and vertices without edges among them."""
    for seed, weights, merge in ((1, None, "keep"), (2, np.float32, "keep"), (3, np.int64, "sum")):
        draw = np.random.default_rng(seed)
        source, target = draw.integers(0, 30, (2, 90))
        vertices = list(IDS[ids](np.arange(36)))
        weight = None if weights is None else draw.integers(1, 50, 90).astype(weights)
        edges = IDS[ids](source), IDS[ids](target), weight, directed
        how = {"parallel_edges": merge, "number_edges": True, "edge_attributes": {"toll": np.arange(90.0)}}
        graph = ew.Graph.from_edges(*edges, vertices=vertices, **how)
        order = shuffled(graph, seed)
        expected, found = ew.Graph.from_edges(*edges, vertices=order, **how), graph.reorder(order)
        assert same_graphs(found, expected) and not same_graphs(found, graph)
        np.testing.assert_array_equal(found.arc_attribute("toll"), expected.arc_attribute("toll"))
        assert found.vertices.tolist() == order and found.index_of(order).tolist() == [*range(36)]
        assert same_graphs(found.reorder(vertices), graph)
        assert same_graphs(graph.reorder(np.array(order, graph.vertices.dtype)), found)


def test_a_hash_orders_vertices_by_splitmix() -> None:
    assert splitmix(4) == SPLITMIX
    hashes = splitmix(1000)
    graph = ew.generate.uniform(1000, 5000, seed=1).reorder("hash")
    assert graph.vertices.tolist() == sorted(range(1000), key=hashes.__getitem__)
    named = drawn("strings", weights=np.float64)
    assert named.reorder("hash").vertices.tolist() == [
        named.vertices[i] for i in sorted(range(len(named)), key=hashes.__getitem__)
    ]


@pytest.mark.parametrize("n", [0, 1])
def test_graphs_of_no_vertex_and_of_one(n: int) -> None:
    graph = ew.Graph.from_edges([0] * n, [0] * n, num_vertices=n)
    for order in ("hash", range(n), np.arange(n)):
        assert same_graphs(graph.reorder(order), graph)


def test_ids_of_other_kinds_keep_their_values() -> None:
    day = datetime.date(2026, 1, 2)
    graph = ew.Graph.from_edges([(0, 1), day, "a"], [day, 7, (0, 1)])
    found = graph.reorder(["a", 7.0, day, (0, 1)])
    assert list(map(repr, found)) == ["'a'", "7", repr(day), "(0, 1)"]
    assert found.neighbors("a").tolist() == [(0, 1)] and found.has_edge(day, 7)
    assert sorted(map(repr, graph.reorder("hash"))) == sorted(map(repr, graph))


@pytest.mark.parametrize("in_edges", [True, False])
@pytest.mark.parametrize("ids", IDS)
def test_files_keep_the_order(tmp_path: Path, ids: str, in_edges: bool) -> None:
    how = {"number_edges": True, "edge_attributes": {"toll": np.arange(200)}}
    graph = drawn(ids, np.float32, **how)
    order = shuffled(graph)
    expected = graph.reorder(order)
    expected.save(tmp_path / "a.edgewise", in_edges=in_edges)
    loaded = ew.load(tmp_path / "a.edgewise")
    assert loaded.has_in_edges == in_edges
    assert same_graphs(loaded, expected) and loaded.index_of(order).tolist() == [*range(len(order))]
    back = loaded.reorder(graph.vertices)
    del loaded
    (tmp_path / "a.edgewise").unlink()
    assert same_graphs(back, graph)
    np.testing.assert_array_equal(back.arc_attribute("toll"), graph.arc_attribute("toll"))


def test_a_file_that_was_cut_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.edgewise"
    ew.generate.uniform(3000, 20_000, seed=1).save(path)
    loaded = ew.load(path)
    with open(path, "r+b") as file:
        file.truncate(5000)
    with pytest.raises(FileChangedError):
        loaded.reorder("hash")


def parts(labels: np.ndarray) -> np.ndarray:
    """For each vertex, the first one of its part."""
    _, first, part = np.unique(labels, return_index=True, return_inverse=True)
    return first[part]


@pytest.mark.parametrize("order", ["drawn", "hash"])
@pytest.mark.parametrize("name", ["dolphins", "wiki-Vote", "debian-depends"])
def test_answers_by_ids_are_those_of_the_graph(name: str, order: str) -> None:
    real = golden.load(name)
    graph = real.graph
    other = graph.reorder(shuffled(graph) if order == "drawn" else order)
    places = other.index_of(graph.vertices)
    assert not np.array_equal(places, np.arange(len(graph)))
    source, device = real.source("hub"), "cpu"
    for run, field in ((ew.bfs, "level"), (ew.sssp, "distance")):
        found, expected = run(other, source, device=device), run(graph, source, device=device)
        assert found.verify(other)
        np.testing.assert_array_equal(getattr(found, field)[places], getattr(expected, field))
    ranks = ew.pagerank(other, device=device).rank[places]
    np.testing.assert_allclose(ranks, ew.pagerank(graph, device=device).rank, rtol=1e-9)
    for run in (ew.connected_components, ew.scc):
        found = parts(run(other, device=device).component[places])
        np.testing.assert_array_equal(found, parts(run(graph, device=device).component))
    forests = [ew.mst(each, symmetrize=graph.directed, device=device) for each in (other, graph)]
    assert forests[0].total_weight == pytest.approx(forests[1].total_weight, rel=1e-12)
    assert forests[0].num_edges == forests[1].num_edges


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("hashed", "order is 'hashed'; expected \"hash\", or a list"),
        (None, "order is None; expected"),
        (3, "order is 3; expected"),
        ({"a", "b", "c"}, "expected .* a list or an array"),
        (["a", "b", "d"], "order has 'd' at 2, which is no vertex of the graph"),
        ([0, 1, 2], "order has 0 at 0, which is no vertex of the graph"),
        (["a", "b", "c", "d"], "order has 'd' at 3, which is no vertex"),
        (["a", "c", "a", "b"], "order has 'a' twice, at 0 and at 2"),
        (["c", "b", "b"], "order has 'b' twice, at 1 and at 2"),
        (["c", "a"], "order has 2 ids, and the graph 3 vertices; 'b' is missing"),
        ([], "order has 0 ids, and the graph 3 vertices; 'a' is missing"),
        (["a", None, "c"], r"order\[1\] is None"),
        ([["a", "b", "c"]], r"order\[0\] is \['a', 'b', 'c'\]"),
        (np.array([["a", "b", "c"]]), r"order has shape \(1, 3\); expected .* an id for each vertex"),
    ],
)
def test_what_is_no_order_is_refused(order: object, message: str) -> None:
    graph = ew.Graph.from_edges(["a", "b"], ["b", "c"])
    with pytest.raises(GraphError, match=message):
        graph.reorder(order)


@pytest.mark.parametrize(
    "order", [[0, 1, -1], [0, 1, 3], [0.0, 1.0, 2.0], [0, True, 2], np.array([0, 1, 2**63], np.uint64)]
)
def test_indices_beyond_the_graph_are_refused(order: object) -> None:
    with pytest.raises(GraphError, match="order has"):
        ew.generate.path(3).reorder(order)


@pytest.mark.parametrize("attributes", [False, True])
@pytest.mark.parametrize("ids", ["range", "integers", "strings", "long"])
def test_memory_is_counted(ids: str, attributes: bool) -> None:
    n = 22_000  # a dictionary of so many strings has just grown
    how = {"edge_attributes": {"toll": np.arange(5 * n)}} if attributes else {}
    graph = drawn(ids, np.float32, n=n, m=5 * n, **how)
    order = shuffled(graph)
    for given in (order, "hash"):
        graph.reorder(given)  # what is compiled, and kept with the graph, is there
        tracemalloc.start()
        made = graph.reorder(given)
        kept, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        counted = reordering(graph, given)
        assert kept <= counted.kept + 50_000 and most <= counted.most + 50_000
        assert counted.most < 2.5 * most, "too much is refused"
        del made


def test_without_room_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_all(name: str, needed: int) -> None:
        raise MemoryLimitError(f"{name} needs {needed}")

    graph = ew.generate.path(3)
    monkeypatch.setattr(graph_module, "check_free", refuse_all)
    with pytest.raises(MemoryLimitError, match=r"Graph\.reorder needs \d+"):
        graph.reorder("hash")


def test_convert_lays_a_graph_out_in_an_order(towns: Path, tmp_path: Path) -> None:
    graph, made, file = ew.read(towns), tmp_path / "made.edgewise", tmp_path / "order.txt"
    order = ["Nice", "Metz", "Lille", "Paris", "Lyon"]
    for text in ("\n".join(order), "\r\n".join(order) + "\r\n", "\ufeff" + "\n".join(order) + "\n"):
        file.write_bytes(text.encode())
        assert "5 vertices, 5 edges" in succeed("convert", towns, made, "--order", file, "--in-edges")
        assert same_graphs(ew.load(made), graph.reorder(order)) and ew.load(made).has_in_edges
    succeed("convert", made, tmp_path / "hash.edgewise", "--order", "hash", "--memory-limit", "40MB")
    assert same_graphs(ew.load(tmp_path / "hash.edgewise"), graph.reorder(order).reorder("hash"))
    succeed("convert", towns, tmp_path / "hash.tsv", "--order", "hash")
    assert (tmp_path / "hash.tsv").read_text() != towns.read_text()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (b"5\n7\n", "order.txt: order has 2 ids, and the graph 3 vertices; 6 is missing"),
        (b"5\n7\n6\n\n", "order.txt: the graph has no vertex ''; its ids are integers"),
        (b"5\n7\n6\n6\n5\n5\n", "order.txt: order has 6 twice, at 2 and at 3"),
        (b"5\n7\n8\n", "order.txt: order has 8 at 2, which is no vertex"),
        (b"5\nseven\n6\n", "order.txt: the graph has no vertex 'seven'; its ids are integers"),
        (b"5\n\xff\n6\n", "order.txt: 'utf-8' codec can't decode"),
    ],
)
def test_files_of_no_order_are_refused(tmp_path: Path, lines: bytes, message: str) -> None:
    graph, file = tmp_path / "g.tsv", tmp_path / "order.txt"
    graph.write_text("5\t6\n6\t7\n")
    file.write_bytes(lines)
    assert message in refuse("convert", graph, tmp_path / "h.edgewise", "--order", file)
    assert not (tmp_path / "h.edgewise").exists()


def test_orders_that_cannot_be_read_are_refused_before_the_graph(towns: Path, tmp_path: Path) -> None:
    missing, made = tmp_path / "none", tmp_path / "a.edgewise"
    for order in (missing, "degree", tmp_path):
        assert f"cannot read {order}: " in refuse("convert", missing, made, "--order", order)
    succeed("convert", towns, made)
    copy = tmp_path / "b.edgewise"
    copy.write_bytes(made.read_bytes())
    assert "it is what is read" in refuse("convert", towns, copy, "--order", copy)
    limited = invoke("convert", made, tmp_path / "c.edgewise", "--order", "hash", "--memory-limit", "50")
    assert limited.exit_code == 2 and "reordering needs" in limited.output
