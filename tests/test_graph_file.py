"""Files of graphs: what is saved is loaded, whole or not at all."""

import copy
import os
import pickle
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from battery import graphs
from graph_files import IDS, Changed, checksum, drawn, read_all, same_graphs, slow_checksum

import edgewise as ew
from edgewise.errors import (
    GraphError,
    MemoryLimitError,
    OutputError,
    ParameterError,
    ParseError,
)
from edgewise.graph.file import file_facts
from edgewise.graph.file_format import BLOCK
from edgewise.graph.file_sums import add_to_blocks
from edgewise.graph.file_sums import checksum as own_checksum
from edgewise.graph.file_writer import GraphWriter
from edgewise.graph.ids import Ids

WEIGHTS = [None, np.int32, np.int64, np.float32, np.float64]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("ids", IDS)
def test_what_is_saved_is_loaded(ids, weights, directed, tmp_path):
    for n, m in ((40, 200), (1, 0), (0, 0), (3, 1)):
        graph = drawn(ids, weights, directed, n, m, number_edges=True)
        for in_edges in (False, True):
            assert graph.save(tmp_path / "g", in_edges=in_edges) is None
            loaded = ew.load(tmp_path / "g")
            assert repr(loaded) == repr(graph)
            assert loaded.weight_dtype == graph.weight_dtype and loaded.weighted == graph.weighted
            assert loaded.has_in_edges == (in_edges or not directed)
            for each in (
                loaded,
                pickle.loads(pickle.dumps(loaded)),
                copy.copy(loaded),
                copy.deepcopy(loaded),
            ):
                assert same_graphs(each, graph)
            assert all(not array.flags.writeable for array in read_all(loaded) if array is not None)
            assert same_graphs(loaded.as_directed(), graph.as_directed())
            loaded.save(tmp_path / "again", in_edges=in_edges)
            assert (tmp_path / "again").read_bytes() == (tmp_path / "g").read_bytes()
            if len(graph.vertices):
                assert loaded.index_of(loaded.vertices.tolist()) == pytest.approx(
                    np.arange(len(graph.vertices))
                )


@pytest.mark.parametrize("name", graphs())
def test_small_graphs_come_back(name, tmp_path):
    graph = graphs()[name]
    graph.save(tmp_path / "g", in_edges=True)
    assert same_graphs(ew.load(str(tmp_path / "g")), graph)


@pytest.mark.more
@pytest.mark.parametrize("directed", [True, False])
def test_arrays_of_many_blocks_come_back(directed, tmp_path):
    graph = drawn(weights=np.float64, directed=directed, n=500_000, m=900_000)
    graph.save(tmp_path / "g", in_edges=True)
    loaded = ew.load(tmp_path / "g")
    assert same_graphs(loaded, graph)
    for run in (
        lambda g: ew.bfs(g, 0).level,
        lambda g: ew.pagerank(g).rank,
        lambda g: ew.sssp(g, 0).distance,
    ):
        assert np.array_equal(run(loaded), run(graph))


@pytest.mark.more
def test_algorithms_run_on_a_file(saved):
    path, graph = saved
    loaded = ew.load(path)
    for run in (
        lambda g: ew.bfs(g, 3),
        lambda g: ew.sssp(g, 3),
        ew.pagerank,
        ew.connected_components,
        ew.scc,
        lambda g: ew.mst(g, symmetrize=True),
        ew.betweenness,
    ):
        found, expected = run(loaded), run(graph)
        assert found.verify(loaded) and found.verify(graph)
        for mine, theirs in zip(found.table().values(), expected.table().values(), strict=True):
            assert np.array_equal(mine, theirs)


def test_a_file_is_not_read_until_it_is_used(saved, tmp_path):
    path, graph = saved
    changed = Changed(path)
    changed.array("targets")[:] = 0
    loaded = ew.load(changed.write(tmp_path / "wrong"))
    assert repr(loaded) == repr(graph) and loaded.weighted and loaded.has_in_edges
    assert np.array_equal(loaded.offsets, graph.offsets)
    assert np.array_equal(loaded.in_sources, graph.in_sources)
    for _ in range(2):
        with pytest.raises(ParseError, match="block 0 of targets does not have its checksum"):
            _ = loaded.targets
    with pytest.raises(ParseError, match="targets"):
        ew.bfs(loaded, 0)


def test_bytes_of_a_graph_in_a_file(saved):
    path, graph = saved
    loaded = ew.load(path)
    in_file = loaded.nbytes
    _ = graph.in_sources
    assert in_file == graph.nbytes
    _ = loaded.targets, loaded.weights, loaded.in_sources
    assert loaded.nbytes == in_file + loaded.offsets.nbytes + loaded.in_offsets.nbytes
    drawn("integers").save(path)
    by_ids = ew.load(path)
    in_file = by_ids.nbytes
    assert len(by_ids.vertices) and by_ids.nbytes == in_file
    assert loaded.needed_on_host == 0
    graph.save(path, in_edges=True)
    assert ew.load(path).needed_on_host == graph.offsets.nbytes + graph.in_offsets.nbytes
    with pytest.raises(MemoryLimitError, match="the limit is"):
        ew.pagerank(ew.load(path), memory_limit=graph.offsets.nbytes)


def test_a_replaced_file_stays_what_it_was(saved):
    path, graph = saved
    loaded = ew.load(path)
    drawn(seed=2).save(path)
    assert same_graphs(loaded, graph)
    path.unlink()
    assert same_graphs(loaded, graph) and ew.pagerank(loaded).converged


def test_a_pickled_graph_needs_its_file(saved):
    path, _ = saved
    pickled = pickle.dumps(ew.load(path))
    assert len(pickled) < 1000
    drawn(seed=2).save(path)
    with pytest.raises(ParseError, match="holds another graph than the one that was pickled"):
        pickle.loads(pickled)
    path.unlink()
    with pytest.raises(ParseError, match="there is no file"):
        pickle.loads(pickled)


def test_arguments_of_save_and_load(tmp_path):
    graph, told = drawn(), []
    with pytest.raises(OutputError, match="expected the name of a file"):
        graph.save(3)
    with pytest.raises(OutputError, match="there is no folder"):
        graph.save(tmp_path / "none" / "g")
    with pytest.raises(OutputError, match="it is a folder"):
        graph.save(tmp_path)
    with pytest.raises(GraphError, match="in_edges is 1"):
        graph.save(tmp_path / "g", in_edges=1)
    with pytest.raises(ParameterError, match="progress is 1"):
        graph.save(tmp_path / "g", progress=1)
    with pytest.raises(ParseError, match="expected the name of a file"):
        ew.load(3)
    assert not list(tmp_path.iterdir())
    graph.save(tmp_path / "g", progress=told.append)
    assert told == [graph.offsets.nbytes, graph.nbytes]
    for path, problem in ((tmp_path, "a folder"), (tmp_path / "none", "there is no file"), ("\0", "null")):
        with pytest.raises(ParseError, match=problem):
            ew.load(path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ParseError, match="no ordinary file"):
        ew.load(tmp_path / "pipe")


# The writer.


def writer(path, n=3, m=5, **more):
    """A writer of a graph of n vertices and m arcs, all of them loops of vertex 0."""
    arrays = {"offsets": (np.int32, n + 1), "targets": (np.int32, m)}
    given = {
        "num_vertices": n,
        "num_arcs": m,
        "directed": True,
        "num_loops": 0,
        "arrays": arrays,
        "ids": Ids(n),
    }
    return GraphWriter(path, **given | more)


def test_pieces_in_any_order_make_the_same_file(tmp_path):
    graph = drawn("strings", np.float64, n=400_000, m=600_001)
    graph.save(tmp_path / "whole")
    arrays = {name: getattr(graph, name) for name in ("offsets", "targets", "weights")}
    draw = random.Random(5)
    with GraphWriter(
        tmp_path / "pieces",
        num_vertices=graph.num_vertices,
        num_arcs=graph.num_arcs,
        directed=True,
        num_loops=0,
        arrays={name: (values.dtype, len(values)) for name, values in arrays.items()},
        ids=Ids(graph.num_vertices, graph.vertices),
    ) as file:
        pieces = []
        for name, values in arrays.items():
            near = [1, 2, 3, BLOCK // 4 - 1, BLOCK // 4, BLOCK // 4 + 1]
            cuts = sorted({0, len(values), *near, *(draw.randrange(len(values)) for _ in range(50))})
            pieces += [(name, begin, end) for begin, end in pairwise(cuts)]
        draw.shuffle(pieces)
        for name, begin, end in pieces:
            # Elements that do not lie side by side, and start at any place in memory.
            values = np.repeat(arrays[name][begin:end], 2)[::2]
            file.write(name, begin, values)
            file.write(name, begin, values[:0])
    assert (tmp_path / "pieces").read_bytes() == (tmp_path / "whole").read_bytes()


def test_what_is_not_complete_leaves_nothing(tmp_path):
    (tmp_path / "g").write_bytes(b"older")
    with (
        pytest.raises(GraphError, match=r"not complete: targets has 3 of 5 elements"),
        writer(tmp_path / "g") as file,
    ):
        file.write("offsets", 0, np.array([0, 5, 5, 5], np.int32))
        file.write("targets", 1, np.zeros(3, np.int32))
    with pytest.raises(KeyError), writer(tmp_path / "g") as file:
        file.write("offsets", 0, np.array([0, 5, 5, 5], np.int32))
        raise KeyError
    assert os.listdir(tmp_path) == ["g"] and (tmp_path / "g").read_bytes() == b"older"
    with writer(tmp_path / "g") as file:
        file.write("targets", 0, np.zeros(5, np.int32))
        file.write("offsets", 0, np.array([0, 5, 5, 5], np.int32))
        assert (tmp_path / "g").read_bytes() == b"older", "the file appears when it is complete"
    assert os.listdir(tmp_path) == ["g"] and ew.load(tmp_path / "g").num_edges == 5


def test_a_piece_that_has_no_place_is_refused(tmp_path):
    zeros = np.zeros(5, np.int32)
    with pytest.raises(GraphError, match="not complete"), writer(tmp_path / "g") as file:
        file.write("targets", 1, zeros[:2])
        for begin, values, problem in (
            (0, zeros[:2], "written before"),
            (2, zeros[:1], "written before"),
            (2, zeros[:3], "written before"),
            (0, zeros, "written before"),
            (4, zeros[:2], "elements 4 to 6; it has 5"),
            (-1, zeros[:1], "elements -1 to 0"),
            (0, zeros.astype(np.int64), "got int64 of shape"),
            (0, zeros.reshape(1, 5), "got int32 of shape"),
        ):
            with pytest.raises(GraphError, match=problem):
                file.write("targets", begin, values)
        with pytest.raises(GraphError, match="no array 'sources'; it has offsets, targets"):
            file.write("sources", 0, zeros)


def test_arrays_that_no_graph_has_are_refused(tmp_path):
    rows = {"offsets": (np.int32, 4), "targets": (np.int32, 5)}
    for more, problem in (
        ({"arrays": {"offsets": (np.int32, 4)}}, "needs targets as well"),
        (
            {"arrays": {**rows, "targets": (np.int64, 5)}},
            "targets is int64 of 5 elements; expected int32 of 5",
        ),
        ({"arrays": {**rows, "offsets": (np.int64, 4)}}, "expected int32 of 4"),
        (
            {"arrays": {**rows, "weights": (np.uint8, 5)}},
            "expected int32 or int64 or float32 or float64 of 5",
        ),
        ({"arrays": {**rows, "in_offsets": (np.int32, 4)}}, "needs in_sources as well"),
        ({"arrays": {**rows, "in_offsets": (np.int32, 4)}, "directed": False}, "no array 'in_offsets'"),
        ({"arrays": {**rows, "ids": (np.int64, 3)}}, "no array 'ids'"),
        ({"num_loops": 6}, "6 self-loops"),
        ({"ids": Ids(4)}, "4 ids"),
        ({"num_arcs": 2**31, "arrays": {**rows, "targets": (np.int32, 2**31)}}, "offsets is int32"),
    ):
        with pytest.raises(GraphError, match=problem):
            writer(tmp_path / "g", **more)
    assert not os.listdir(tmp_path)


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    (tmp_path / "g").write_bytes(b"older")
    for function in ("pwrite", "ftruncate", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(os, function, full)
            with pytest.raises(OutputError, match="No space left on device"):
                drawn().save(tmp_path / "g")
        assert os.listdir(tmp_path) == ["g"] and (tmp_path / "g").read_bytes() == b"older"


def test_a_failed_write_is_not_forgotten(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with pytest.raises(GraphError, match="writing a piece of it failed"), writer(tmp_path / "g") as file:
        file.write("offsets", 0, np.array([0, 5, 5, 5], np.int32))
        with monkeypatch.context() as patch, pytest.raises(OutputError, match="No space left"):
            patch.setattr(os, "pwrite", full)
            file.write("targets", 0, np.zeros(4, np.int32))
        file.write("targets", 4, np.zeros(1, np.int32))
    assert not os.listdir(tmp_path)


def test_checksums_are_what_the_format_says():
    draw = np.random.default_rng(3)
    words = draw.integers(0, 2**64, 3 * BLOCK // 8 // 2, dtype=np.uint64)
    expected = [
        slow_checksum(words[: BLOCK // 8].tolist()),
        slow_checksum(words[BLOCK // 8 :].tolist(), BLOCK // 8),
    ]
    sums = np.zeros(2, np.uint64)
    cut = BLOCK // 8 - 5
    add_to_blocks(sums, cut, words[cut:])
    add_to_blocks(sums, 0, words[:cut])
    assert sums.tolist() == expected
    assert (
        own_checksum(words[:512].tobytes())
        == slow_checksum(words[:512].tolist())
        == checksum(words[:512].tobytes())
    )


# Reading and writing by the common doors.


def test_read_and_write_know_the_format(saved, tmp_path):
    from edgewise.io import write

    path, graph = saved
    other = path.rename(tmp_path / "no suffix")
    for how in ({}, {"format": "edgewise"}, {"memory_limit": 1, "progress": print}):
        assert same_graphs(ew.read(other, **how), graph)
    with pytest.raises(ParseError, match="which has no option directed, weighted"):
        ew.read(other, directed=True, weighted=False)
    with pytest.raises(ParseError, match="holds a graph of edgewise, which has to be a file"):
        ew.read(other, format="csv")
    (tmp_path / "text.edgewise").write_text("0 1\n")
    with pytest.raises(ParseError, match="it looks like text"):
        ew.read(tmp_path / "text.edgewise")
    told = []
    write(graph, tmp_path / "a.edgewise", told.append, in_edges=True)
    assert told == sorted(told) and told[-1] == graph.num_arcs
    assert same_graphs(ew.load(tmp_path / "a.edgewise"), graph)
    assert "in_sources int32" in file_facts(ew.load(tmp_path / "a.edgewise"))["arrays"]
    assert file_facts(graph) == {}
    write(ew.load(tmp_path / "a.edgewise"), tmp_path / "a.tsv")
    assert ew.read(tmp_path / "a.tsv").num_edges == graph.num_edges
    for how, name in (({"quote_formulas": True}, "b.edgewise"), ({"in_edges": True}, "b.tsv")):
        with pytest.raises(OutputError, match=f"has no place for what {next(iter(how))} asks for"):
            write(graph, tmp_path / name, **how)
    with pytest.raises(OutputError, match=r"ends in '.gz'; expected"):
        write(graph, tmp_path / "b.edgewise.gz")
    assert not list(Path(tmp_path).glob("b.*"))
