"""Files of graphs in layers: written, read again, made anew or refused."""

import os

import numpy as np
import pytest
from graph_files import Changed
from test_layers import GRAPHS, in_layers, layered, same_search

import edgewise as ew
from edgewise.algorithms.bfs.layers import layers_at_hand, note_search
from edgewise.errors import (
    MemoryLimitError,
    NotKeptWarning,
    OutputError,
    ParseError,
)
from edgewise.graph.file_map import GraphFile
from edgewise.graph.layers import drop_layers, kept_in_layers, load_in_layers, save_in_layers


@pytest.fixture
def saved(tmp_path):
    """A graph, and the path of the file of its layers from vertex 3."""
    graph = GRAPHS["streets"]()
    save_in_layers(tmp_path / "layers", graph, in_layers(graph, 3))
    return graph, tmp_path / "layers"


def test_layers_beside_a_graph_that_are_damaged_are_made_anew(tmp_path):
    GRAPHS["streets"]().save(tmp_path / "g.edgewise")
    graph, schedule = ew.load(tmp_path / "g.edgewise"), layered(3, file="beside")
    first = ew.bfs(graph, 3, schedule=schedule)
    (path,) = tmp_path.glob("*.layers")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    again = ew.bfs(ew.load(tmp_path / "g.edgewise"), 3, schedule=schedule)
    assert "made in" in again.explain() and path.read_bytes() == whole
    same_search(again, first)


def test_layers_that_cannot_be_written_beside_the_graph_are_kept_with_it(tmp_path, monkeypatch):
    GRAPHS["streets"]().save(tmp_path / "g.edgewise")
    graph, schedule = ew.load(tmp_path / "g.edgewise"), layered(3, file="beside")

    def refuse(*_):
        raise OutputError("no room")

    monkeypatch.setattr("edgewise.algorithms.bfs.layers.save_in_layers", refuse)
    with pytest.warns(NotKeptWarning, match="bfs: layers are not kept in a file: no room"):
        found = ew.bfs(graph, 3, schedule=schedule)
    same_search(found, ew.bfs(graph, 3))
    with pytest.raises(OutputError):
        ew.bfs(graph, 3, schedule=layered(3, file=tmp_path / "named"))


def test_a_limit_holds_for_reading_layers(saved):
    graph, path = saved
    with pytest.raises(MemoryLimitError, match="reading layers"):
        ew.bfs(graph, 3, schedule=layered(3, file=path), memory_limit=1000, device="cpu")
    found = ew.bfs(graph, 3, schedule=layered(3, file=path), memory_limit="1 MB", device="cpu")
    assert "read from" in found.explain()


def test_a_file_is_written_and_reused(tmp_path):
    graph, path = GRAPHS["streets"](), tmp_path / "layers"
    first = ew.bfs(graph, [3, 5], schedule=layered(3, 5, file=path))
    assert str(path) in first.explain()
    written = path.stat().st_mtime_ns
    for fresh in (GRAPHS["streets"](), ew.Graph.from_csr(*_rows(graph))):
        again = ew.bfs(fresh, [5, 3], schedule=layered(5, 3, file=path))
        assert f"read from {path}" in again.explain()
        same_search(again, first)
        paths = ew.sssp(fresh, 9, schedule=layered(3, 5, file=path))
        np.testing.assert_array_equal(paths.distance, ew.sssp(graph, 9).distance)
    assert path.stat().st_mtime_ns == written


def _rows(graph):
    return graph.offsets, graph.targets, graph.weights


def test_a_file_beside_that_of_the_graph_is_found_and_made_anew(tmp_path):
    graph = GRAPHS["streets"]()
    graph.save(tmp_path / "g.edgewise")
    opened = ew.load(tmp_path / "g.edgewise")
    first = ew.bfs(opened, 3, schedule=layered(3, file="beside"))
    (beside,) = set(os.listdir(tmp_path)) - {"g.edgewise"}
    assert beside.startswith("g.edgewise.") and beside.endswith(".layers")
    again = ew.bfs(ew.load(tmp_path / "g.edgewise"), 3, schedule=layered(3, file="beside"))
    assert "read from" in again.explain()
    same_search(again, first)
    changed = ew.Graph.from_csr(graph.offsets, graph.targets, graph.weights + 1)
    changed.save(tmp_path / "g.edgewise")
    opened = ew.load(tmp_path / "g.edgewise")
    assert "made in" in ew.bfs(opened, 3, schedule=layered(3, file="beside")).explain()
    assert set(os.listdir(tmp_path)) == {"g.edgewise", beside}
    got = ew.sssp(ew.load(tmp_path / "g.edgewise"), 3, schedule=layered(3, file="beside"))
    np.testing.assert_array_equal(got.distance, ew.sssp(changed, 3).distance)


def test_files_of_other_graphs_weights_and_roots_are_refused(saved):
    graph, path = saved
    others = {
        "another graph, or of this one with other weights": (
            ew.Graph.from_csr(graph.offsets, graph.targets, graph.weights * 2),
            ew.Graph.from_csr(graph.offsets, graph.targets),
            ew.Graph.from_csr(graph.offsets, graph.targets[::-1].copy(), graph.weights),
        ),
        "layers from other roots": (graph,),
    }
    for problem, refused in others.items():
        for other in refused:
            with pytest.raises(ParseError, match=problem):
                load_in_layers(path, other, np.array([3] if other is not graph else [4]))
    with pytest.raises(ParseError, match="layers from other roots"):
        ew.bfs(graph, 4, schedule=layered(4, file=path))
    with pytest.raises(ParseError, match=r"layers; load the graph itself, and give this file by Schedule"):
        ew.load(path)
    graph.save(path)
    with pytest.raises(ParseError, match="is the file of a graph, and not of one in layers"):
        load_in_layers(path, graph, np.array([3]))


@pytest.mark.parametrize("name", ["offsets", "targets", "weights", "vertices", "begins", "roots", "graph"])
def test_a_damaged_file_is_refused(saved, name):
    graph, path = saved
    changed = Changed(path)
    changed.array(name).view(np.uint8)[-1] ^= 1
    path.write_bytes(changed.content)
    with pytest.raises(ParseError, match="damaged"):
        load_in_layers(path, graph, np.array([3])).graph.weights.sum()


def _swapped(values, i, j):
    values[[i, j]] = values[[j, i]]


def _set(values, i, value):
    values[i] = value


#: What is wrong with a file whose checksums are right.
FORGED = {
    "a vertex in two places": ("vertices", lambda values: _set(values, -1, values[-2]), "in one place"),
    "vertices out of order": ("vertices", lambda values: _swapped(values, 5, 6), "in one place|as long as"),
    "a place for no vertex": ("vertices", lambda values: _set(values, 4, 10**6), "does not have"),
    "a negative vertex": ("vertices", lambda values: _set(values, 4, -1), "does not have"),
    "layers that fall": ("begins", lambda values: _swapped(values, 2, 3), "follow each other"),
    "an empty layer": ("begins", lambda values: _set(values, 2, values[3]), "follow each other"),
    "layers that end early": ("begins", lambda values: _set(values, -1, values[-1] - 1), "follow each other"),
    "a layer that begins late": ("begins", lambda values: _set(values, 1, values[1] + 1), "one place|roots"),
    "an arc beyond the next layer": ("targets", lambda values: _set(values, 0, 179), "beyond the next layer"),
    "a vertex that no arc leads to": ("targets", lambda values: _set(values, slice(None), 0), "no arc leads"),
    "rows of other lengths": ("offsets", lambda values: _set(values, 1, values[1] - 1), "not as long"),
}


@pytest.mark.parametrize("problem", FORGED)
def test_a_forged_file_is_refused(saved, problem):
    graph, path = saved
    name, forge, message = FORGED[problem]
    changed = Changed(path)
    forge(changed.array(name))
    path.write_bytes(changed.seal().content)
    with pytest.raises(ParseError, match=message):
        load_in_layers(path, graph, np.array([3]))


@pytest.mark.parametrize("size", ["num_vertices", "num_arcs"])
def test_files_of_graphs_of_another_size_are_refused(saved, size):
    graph, path = saved
    changed = Changed(path)
    more = int(changed.header[size][0]) + 1
    changed.header[size] = more
    for name in ("vertices", "offsets") if size == "num_vertices" else ("targets", "weights"):
        changed.entry(name)["length"] = more + (name == "offsets")
    path.write_bytes(changed.seal().content)
    with pytest.raises(ParseError, match="another graph"):
        load_in_layers(path, graph, np.array([3]))


@pytest.mark.parametrize("value", [-1, 2**30, 3])
def test_weights_that_are_not_those_of_the_graph_are_refused(saved, value):
    graph, path = saved
    changed = Changed(path)
    assert changed.array("weights")[0] != value
    changed.array("weights")[0] = value
    path.write_bytes(changed.seal().content)
    ew.bfs(graph, 3, schedule=layered(3, file=path))  # which has no use for them
    with pytest.raises(ParseError, match="weights are not those of the graph"):
        ew.sssp(graph, 3, schedule=layered(3, file=path))


def test_weights_in_a_file_have_the_dtype_of_the_graph(saved):
    graph, path = saved
    changed = Changed(path)
    changed.entry("weights")["dtype"] = b"<f4"
    path.write_bytes(changed.seal().content)
    with pytest.raises(ParseError, match="another graph"):
        load_in_layers(path, graph, np.array([3]))


def test_a_named_file_is_looked_at_though_the_graph_keeps_the_layers(saved, tmp_path):
    _, path = saved
    other = GRAPHS["both ways"]()
    ew.bfs(other, 3, schedule=layered(3))
    with pytest.raises(ParseError, match="layers of another graph"):
        ew.bfs(other, 3, schedule=layered(3, file=path))
    (tmp_path / "text").write_text("1 2\n")
    with pytest.raises(ParseError, match="no file of a graph"):
        ew.bfs(other, 3, schedule=layered(3, file=tmp_path / "text"))
    with pytest.raises(ew.errors.OutputError, match="too long"):
        ew.bfs(other, 3, schedule=layered(3, file="x" * 300))
    ew.bfs(other, 3, schedule=layered(3, file=tmp_path / "new"))
    assert load_in_layers(tmp_path / "new", other, np.array([3])).kinds.lost == 0


def test_layers_whose_file_was_written_to_are_given_up(saved):
    graph, path = saved
    ew.bfs(graph, 3, schedule=layered(3, file=path))
    assert kept_in_layers(graph, np.array([3])) is not None
    content = path.read_bytes()
    with open(path, "r+b") as file:
        file.write(content)
    os.utime(path, ns=(1, 1))
    assert kept_in_layers(graph, np.array([3])) is None
    same_search(ew.bfs(graph, 3, schedule=layered(3)), ew.bfs(graph, 3))


def test_a_file_that_cannot_be_written_leaves_the_old_one(saved, monkeypatch):
    graph, path = saved
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda file: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(ew.errors.OutputError, match="No space left"):
        save_in_layers(path, graph, in_layers(graph, 5))
    assert path.read_bytes() == before


def test_a_file_beside_the_graph_is_at_hand_once_it_is_worth_reading(tmp_path):
    GRAPHS["streets"]().save(tmp_path / "g.edgewise")
    sources = np.array([3])
    ew.bfs(ew.load(tmp_path / "g.edgewise"), 3, schedule=layered(3, file="beside"))
    graph = ew.load(tmp_path / "g.edgewise")
    note_search(graph, sources, 1.0)  # it was not asked for before
    assert layers_at_hand(graph, sources) is None
    note_search(graph, np.array([4]), 1.0)
    note_search(graph, sources, 1e-9)
    assert layers_at_hand(graph, sources) is None
    note_search(graph, sources, 1.0)
    assert layers_at_hand(graph, sources, 10_000) is None
    found = layers_at_hand(graph, sources, weights=True)
    assert "read from" in found.how
    assert "which the graph keeps" in layers_at_hand(graph, sources).how
    assert layers_at_hand(graph, sources, 10_000) is None


def test_damaged_weights_of_a_file_are_not_kept(saved):
    graph, path = saved
    ew.sssp(graph, 3)
    drop_layers(graph)
    data = bytearray(path.read_bytes())
    weights = GraphFile(path).header.arrays["weights"]
    data[weights.begin] ^= 1
    path.write_bytes(data)
    same_search(ew.bfs(graph, 3, schedule=layered(3, file=path)), ew.bfs(graph, 3))  # reads none
    for _ in range(2):
        with pytest.raises(ParseError, match="is damaged"):
            ew.sssp(graph, 3, schedule=layered(3, file=path))
    got = ew.sssp(graph, 3, schedule=layered(3))
    assert "made in" in got.explain()
    np.testing.assert_array_equal(got.distance, ew.sssp(graph, 3).distance)


def test_a_graph_whose_file_has_a_long_name_has_no_layers_at_hand(tmp_path):
    graph, path = GRAPHS["streets"](), tmp_path / ("g" * 240)
    graph.save(path)
    assert layers_at_hand(ew.load(path), np.array([3])) is None
    with pytest.raises(ew.errors.OutputError, match="too long"):
        ew.bfs(ew.load(path), 3, schedule=layered(3, file="beside"))
