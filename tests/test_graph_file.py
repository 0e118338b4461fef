"""Files of graphs: what is saved is loaded, whole or not at all, and nothing in a file is trusted."""

import copy
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from battery import graphs
from graph_files import Changed, checksum, read_all, same_graphs, slow_checksum

import edgewise as ew
from edgewise.errors import (
    FileChangedError,
    GraphError,
    MemoryLimitError,
    OutputError,
    ParameterError,
    ParseError,
    VerificationError,
)
from edgewise.graph import file_rows
from edgewise.graph.file import file_facts
from edgewise.graph.file_format import BLOCK, PAGE
from edgewise.graph.file_sums import add_to_blocks
from edgewise.graph.file_sums import checksum as own_checksum
from edgewise.graph.file_writer import GraphWriter
from edgewise.graph.ids import Ids
from edgewise.kernels.cpu import mapped

IDS = {
    "range": lambda index: index,
    "integers": lambda index: index * 7 - 100,
    "unsigned": lambda index: index.astype(np.uint64) + np.uint64(2**63),
    "strings": lambda index: [f"n{i} é\ud800\n" if i else "" for i in index],
    "long": lambda index: [(-1) ** int(i) * (2**70 + int(i)) for i in index],
}
WEIGHTS = [None, np.int32, np.int64, np.float32, np.float64]


def drawn(ids="range", weights=None, directed=True, n=40, m=200, seed=1, **how):
    """A graph of drawn edges."""
    draw = np.random.default_rng(seed)
    source, target = draw.integers(0, max(n, 1), (2, m))
    values = None if weights is None else (draw.random(m) * 100).astype(weights)
    count = n if ids == "range" else None
    return ew.Graph.from_edges(IDS[ids](source), IDS[ids](target), values, directed, count, **how)


@pytest.fixture
def saved(tmp_path):
    """A file of a directed graph with weights and in-edges, and the graph."""
    graph = drawn(weights=np.float32)
    graph.save(tmp_path / "g.edgewise", in_edges=True)
    return tmp_path / "g.edgewise", graph


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


# What is refused.


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it is empty"),
        (b"\x1f\x8b\x08\x00rest", "it looks like gzip; unpack it first"),
        (b"BZh91AY", "bzip2"),
        (b"\xfd7zXZ\x00\x00", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x93NUMPY\x01\x00", "an array of NumPy"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"PAR1\x15\x04", "Parquet"),
        (b"<?xml version", "XML"),
        (b"0 1\n1 2\n", "it looks like text; read it with edgewise.read"),
        ("é è\n".encode(), "it looks like text"),
        (b"\x00\x01\x02", "it holds other data"),
        (b"\x89PNG\r\n\x1a\n", "it holds other data"),
        (b"\x89edgewise\n\x1a\n" + bytes(5000), "its line ends were changed"),
        (b"\xc2\x89edgewise\r\n\x1a\n" + bytes(5000), "its line ends were changed"),
        (b"\x89edgew", "is cut off: it has 6 bytes"),
    ],
)
def test_other_files_are_refused_by_what_they_look_like(content, problem, tmp_path):
    (tmp_path / "g").write_bytes(content)
    with pytest.raises(ParseError, match=problem):
        ew.load(tmp_path / "g")


def test_newer_files_and_other_byte_orders_are_refused(saved, tmp_path):
    for field, value, problem in (
        ("version", 2, "is of format 2; this version of edgewise reads format 1. Update edgewise"),
        ("version", 0, "is damaged"),
        ("byte_order", 0x04030201, "has its bytes in the other order"),
        ("byte_order", 5, "is damaged"),
        ("features", 1, "uses what this version of edgewise does not know. Update edgewise"),
        ("header_bytes", 8192, "values that no version writes"),
        ("block_bytes", 8192, "values that no version writes"),
        ("reserved", b"\1", "values that no version writes"),
        ("rest", b"\1", "values that no version writes"),
        ("directed", 2, "values that no version writes"),
        ("directed", 0, "an array 'in_offsets', which such a graph does not have"),
        ("num_arrays", 25, "lists 25 arrays"),
        ("num_arrays", 3, "values that no version writes"),
        ("num_vertices", 41, "its array offsets has 41 elements of int32"),
        ("num_vertices", 2**31, "no graph has"),
        ("num_arcs", 2**60, "no graph has"),
        ("num_arcs", 201, "has 200 elements"),
        ("num_loops", 1, "no graph has"),
        ("ids", 1, "it lacks ids"),
        ("ids", 4, "no graph has"),
        ("file_bytes", 0, "its header says 0"),
        ("file_bytes", 2**40, "is cut off"),
    ):
        changed = Changed(saved[0])
        changed.header[field] = value
        changed.seal_header()
        with pytest.raises(ParseError, match=problem):
            ew.load(changed.write(tmp_path / "wrong"))


def test_entries_of_arrays_are_not_trusted(saved, tmp_path):
    size = saved[0].stat().st_size
    for name, field, value, problem in (
        ("targets", "begin", size, "overlap, or do not lie in the file"),
        ("targets", "begin", 2**64 - PAGE, "overlap, or do not lie in the file"),
        ("targets", "begin", 0, "overlap, or do not lie in the file"),
        ("targets", "begin", PAGE, "overlap, or do not lie in the file"),
        ("targets", "begin", PAGE + 8, "does not begin at a multiple"),
        ("targets", "sums_begin", 3, "does not begin at a multiple"),
        ("targets", "sums_begin", PAGE, "overlap"),
        ("targets", "sums_begin", size, "overlap, or do not lie"),
        ("targets", "length", 2**63, "has 9,223,372,036,854,775,808 elements"),
        ("targets", "dtype", b"<f4", "has 200 elements of float32"),
        ("targets", "dtype", b">i4", "has the dtype '>i4'"),
        ("targets", "dtype", b"|O", "has the dtype"),
        ("targets", "name", b"target", "it lacks targets"),
        ("weights", "name", b"weight", "it lacks weights"),
        ("in_weights", "name", b"in_weight", "it lacks in_weights"),
        ("targets", "name", b"weights", "has the array 'weights' twice"),
        ("targets", "reserved", b"\1", "values that no version writes"),
    ):
        changed = Changed(saved[0])
        changed.entry(name)[field] = value
        changed.seal_header()
        with pytest.raises(ParseError, match=problem):
            ew.load(changed.write(tmp_path / "wrong"))


def changed_in(path, **values):
    """A file in which elements of arrays were replaced, with right checksums: name=(place, value)."""
    changed = Changed(path)
    for name, (place, value) in values.items():
        changed.array(name)[place] = value
    return changed.seal()


@pytest.mark.parametrize("in_edges", [False, True])
@pytest.mark.parametrize(
    ("name", "place", "value", "problem"),
    [
        ("offsets", 0, 1, "not from 0 to the number of arcs"),
        ("offsets", -1, 199, "not from 0 to the number of arcs|out of order"),
        ("offsets", -1, 2**31 - 1, "not from 0"),
        ("offsets", 5, -1, "out of order"),
        ("offsets", 5, 2**31 - 1, "out of order"),
        ("targets", 7, 40, "values that no such graph has"),
        ("targets", 7, -1, "values that no such graph has"),
        ("targets", 199, 2**31 - 1, "values that no such graph has"),
        ("weights", 3, np.nan, "values that no such graph has"),
        ("weights", 3, -np.inf, "values that no such graph has"),
    ],
)
def test_values_are_checked_whatever_checksums_say(name, place, value, problem, in_edges, tmp_path):
    drawn(weights=np.float32).save(tmp_path / "g", in_edges=in_edges)
    loaded = ew.load(changed_in(tmp_path / "g", **{name: (place, value)}).write(tmp_path / "wrong"))
    with pytest.raises(ParseError, match=problem):
        getattr(loaded, name)
    with pytest.raises(ParseError, match=problem):
        ew.sssp(loaded, 0)


def test_offsets_that_fall_between_two_blocks_are_refused(tmp_path):
    drawn(n=BLOCK // 4 * 2, m=BLOCK).save(tmp_path / "g")
    changed = Changed(tmp_path / "g")
    offsets = changed.array("offsets")
    offsets[BLOCK // 4 - 1] = offsets[BLOCK // 4] + 1
    offsets[BLOCK // 4 - 2] = offsets[BLOCK // 4 - 1]
    assert (np.diff(offsets) < 0).sum() == 1
    with pytest.raises(ParseError, match="out of order"):
        _ = ew.load(changed.seal().write(tmp_path / "wrong")).offsets


def test_in_edges_are_checked(tmp_path):
    graph = drawn(weights=np.float32)
    graph.save(tmp_path / "g", in_edges=True)
    row = int(np.argmax(graph.in_degree))
    first = int(graph.in_offsets[row])
    ascending = graph.in_sources[first : first + int(graph.in_degree[row])].copy()
    place = int(np.argmax(np.diff(ascending) > 0))
    for changes, name, problem in (
        ({"in_offsets": (3, -1)}, "in_offsets", "block 0 of in_offsets has values out of order"),
        ({"in_sources": (3, 40)}, "in_sources", "values that no such graph has"),
        (
            {"in_sources": (first + place, ascending[-1] + 1)},
            "in_sources",
            "out of order|that no such graph has",
        ),
        ({"in_weights": (3, np.inf)}, "in_weights", "values that no such graph has"),
    ):
        loaded = ew.load(changed_in(tmp_path / "g", **changes).write(tmp_path / "wrong"))
        with pytest.raises(ParseError, match=problem):
            getattr(loaded, name)
        with pytest.raises(ParseError):
            ew.scc(loaded), read_all(loaded)
    changed = Changed(tmp_path / "g")
    pair = changed.array("in_sources")[first + place : first + place + 2]
    pair[:] = pair[::-1].copy()  # the same edges in another order
    with pytest.raises(ParseError, match="block 0 of in_sources has values out of order"):
        _ = ew.load(changed.seal().write(tmp_path / "wrong")).in_sources
    changes = {"in_weights": (3, graph.in_weights[3] + 1)}
    loaded = ew.load(changed_in(tmp_path / "g", **changes).write(tmp_path / "wrong"))
    assert np.array_equal(loaded.weights, graph.weights), "in-weights were not used yet"
    with pytest.raises(ParseError, match="in_weights and weights are not those of the same edges"):
        _ = loaded.in_weights
    drawn(weights=np.float32, seed=1).save(tmp_path / "g", in_edges=True)
    changed = Changed(tmp_path / "g")
    changed.array("in_sources")[:] = 0  # in range, ascending, and wrong
    loaded = ew.load(changed.seal().write(tmp_path / "wrong"))
    _ = loaded.in_sources
    with pytest.raises(ParseError, match="targets and in_sources are not those of the same edges"):
        _ = loaded.targets


@pytest.mark.parametrize("loops", [0, 1])
def test_an_undirected_graph_has_both_arcs_of_every_edge(loops, tmp_path):
    graph = ew.Graph.from_edges([0, 1, 2, 3, 0], [1, 2, 3, 0, 0], [1.0, 2, 3, 4, 5], directed=False)
    graph.save(tmp_path / "g")
    target = int(graph.offsets[1])
    other = (int(graph.targets[target]) + 1) % 4
    changed = changed_in(tmp_path / "g", targets=(target, other)) if not loops else Changed(tmp_path / "g")
    if loops:
        changed.header["num_loops"] = 3  # as many edges as with one, to the parity
        changed.seal_header()
    loaded = ew.load(changed.write(tmp_path / "wrong"))
    with pytest.raises(ParseError, match="not every edge has both directions"):
        _ = loaded.targets
    loaded = ew.load(changed_in(tmp_path / "g", weights=(1, 9.0)).write(tmp_path / "wrong"))
    assert np.array_equal(loaded.targets, graph.targets)
    with pytest.raises(ParseError, match="not every edge has both directions and one weight"):
        _ = loaded.weights


def test_ids_are_checked(tmp_path):
    for ids, changes, problem in (
        ("integers", {"ids": (1, -100)}, "the same id twice"),
        ("strings", {"id_ends": (2, -1)}, "out of order"),
        ("strings", {"id_ends": (-1, 5)}, "out of order|end at 5"),
        ("strings", {"id_ends": (-1, 2**40)}, "end at 1,099,511,627,776, not at"),
        ("strings", {"id_texts": (0, 0xFF)}, "cannot be read"),
        ("long", {"id_texts": (3, ord("z"))}, "cannot be read"),
    ):
        drawn(ids).save(tmp_path / "g")
        loaded = ew.load(changed_in(tmp_path / "g", **changes).write(tmp_path / "wrong"))
        assert loaded.targets is not None, "ids are read when they are used"
        with pytest.raises(ParseError, match=problem):
            _ = loaded.vertices
    drawn("strings").save(tmp_path / "g")
    changed = Changed(tmp_path / "g")
    ends = changed.array("id_ends")
    ends[:] = np.minimum(ends, ends[0])
    ends[-1] = len(changed.array("id_texts"))
    with pytest.raises(ParseError, match="the same id twice"):
        _ = ew.load(changed.seal().write(tmp_path / "wrong")).vertices


def test_checksums_have_a_checksum(saved, tmp_path):
    changed = Changed(saved[0])
    stated = changed.entry("targets")["sums_checksum"].copy()
    changed.array("targets")[0] ^= 1
    changed.seal()
    changed.entry("targets")["sums_checksum"] = stated
    loaded = ew.load(changed.seal_header().write(tmp_path / "wrong"))
    with pytest.raises(ParseError, match="the checksums of targets are not those that were written"):
        _ = loaded.targets


def test_edge_numbers_are_checked(tmp_path):
    drawn(number_edges=True).save(tmp_path / "g")
    loaded = ew.load(changed_in(tmp_path / "g", edge_numbers=(3, -1)).write(tmp_path / "wrong"))
    with pytest.raises(ParseError, match="edge_numbers has values that no such graph has"):
        _ = loaded.edge_numbers


# Files that change while they are in use.

LONG_RUN = """
import sys, edgewise as ew
from edgewise.errors import FileChangedError
graph = ew.load(sys.argv[1])
held = graph.targets
try:
    ew.pagerank(graph, tol=0.0, max_iterations=2500, progress=lambda done: print("running", flush=True))
except FileChangedError as error:
    print("refused:", error)
for use in (lambda: graph.targets, lambda: graph.offsets, lambda: ew.bfs(graph, 0)):
    try:
        use()
    except FileChangedError:
        print("refused again")
print("alive, and what is gone reads as", held[-1])
"""


def start(script, *arguments):
    """A process that runs a script; its output is read as text."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=subprocess.STDOUT, text=True)


@pytest.mark.more
@pytest.mark.skipif(not mapped.handled(), reason="SIGBUS is not handled here")
@pytest.mark.parametrize("left", [0.0, 0.5, 0.98])
def test_a_file_that_is_cut_during_a_run_ends_it_with_an_error(left, tmp_path):
    path = tmp_path / "g"
    drawn(n=20_000, m=400_000).save(path)
    with start(LONG_RUN, path) as process:
        assert process.stdout.readline() == "running\n"
        os.truncate(path, int(left * path.stat().st_size))
        output = process.communicate(timeout=120)[0]
    assert process.returncode == 0, output
    assert output.count("refused again") == 3 and "was cut short while it was in use" in output
    assert "alive" in output


@pytest.mark.more
def test_a_file_that_is_written_to_during_a_run_ends_it_with_an_error(tmp_path):
    path = tmp_path / "g"
    drawn(n=20_000, m=400_000).save(path)
    with start(LONG_RUN, path) as process:
        assert process.stdout.readline() == "running\n"
        with open(path, "r+b") as file:
            file.seek(100 * PAGE)
            file.write(bytes(PAGE))
        output = process.communicate(timeout=120)[0]
    assert process.returncode == 0, output
    assert output.count("refused again") == 3 and "was written to while it was in use" in output


def test_a_file_that_was_changed_gives_no_answer(saved):
    path, _ = saved
    loaded = ew.load(path)
    result = ew.bfs(loaded, 0)
    assert result.verify(loaded)
    os.truncate(path, path.stat().st_size - 8)
    for use in (
        lambda: loaded.offsets,
        lambda: loaded.weights,
        lambda: loaded.check_unchanged(),
        lambda: ew.pagerank(loaded),
        lambda: result.verify(loaded),
        lambda: loaded.save(path.with_name("other")),
        lambda: ew.load(path),
    ):
        with pytest.raises((FileChangedError, ParseError), match=r"cut short|cut off"):
            use()
    assert os.listdir(path.parent) == [path.name]


def test_a_file_that_changes_while_it_is_copied_or_verified(saved):
    path, _ = saved

    def change(*_):
        os.utime(path, (0, path.stat().st_mtime - 1))

    class Hasty(ew.bfs(ew.load(path), 0).__class__):
        def verify(self, graph):
            change()
            if self is None:
                raise VerificationError("another answer")
            return True

    for result in (ew.bfs(ew.load(path), 0), None):
        with pytest.raises(FileChangedError, match="was written to"):
            Hasty.verify(result, ew.load(path))
    with pytest.raises(FileChangedError, match="was written to"):
        os.utime(path)
        ew.load(path).save(path.with_name("other"), progress=change)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.more
@pytest.mark.skipif(not mapped.handled(), reason="SIGBUS is not handled here")
def test_a_file_that_was_cut_and_mended_is_still_refused(saved):
    script = """
    import os, sys, edgewise as ew
    from edgewise.errors import FileChangedError
    path = sys.argv[1]
    graph = ew.load(path)
    content, times, held = open(path, "rb").read(), os.stat(path), graph.targets
    os.truncate(path, 0)
    print("gone:", held.tolist() == [0] * len(held))
    open(path, "r+b").write(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    try:
        print(graph.targets)
    except FileChangedError as error:
        print(error)
    print(ew.load(path).targets.any())
    """
    with start(script, saved[0]) as process:
        output = process.communicate(timeout=120)[0]
    assert process.returncode == 0 and "gone: True" in output and output.endswith("True\n"), output
    assert "was cut short while it was in use" in output


@pytest.mark.skipif(not mapped.handled(), reason="SIGBUS is not handled here")
@pytest.mark.parametrize("handler", ["none", "faulthandler", "sent"])
def test_other_faults_end_the_process_as_before(handler, tmp_path):
    script = """
    import faulthandler, mmap, os, signal, sys
    import edgewise as ew
    if sys.argv[2] == "faulthandler":
        faulthandler.enable()
    ew.Graph.from_edges([0], [1]).save(sys.argv[1])
    print(ew.load(sys.argv[1]).targets, flush=True)
    if sys.argv[2] == "sent":
        os.kill(os.getpid(), signal.SIGBUS)
    with open(sys.argv[1], "r+b") as file:
        view = mmap.mmap(file.fileno(), 0)
        os.truncate(sys.argv[1], 0)
        print(view[5])
    """
    with start(script, tmp_path / "g", handler) as process:
        output = process.communicate(timeout=120)[0]
    assert output.startswith("[1]") and process.returncode == -signal.SIGBUS
    assert ("Fatal Python error: Bus error" in output) == (handler == "faulthandler")


# A process that is killed.


@pytest.mark.more
def test_a_process_killed_while_saving_leaves_the_older_file(tmp_path):
    path = tmp_path / "g"
    older = drawn()
    older.save(path)
    script = """
    import sys, numpy as np, edgewise as ew
    source, target = np.random.default_rng(1).integers(0, 1000, (2, 300_000))
    graph = ew.Graph.from_edges(source, target, num_vertices=1000)
    while True:
        graph.save(sys.argv[1], progress=lambda done: print(done, flush=True))
    """
    new = ew.Graph.from_edges(*np.random.default_rng(1).integers(0, 1000, (2, 300_000)), num_vertices=1000)
    for delay in (0.0, 0.001, 0.003, 0.01, 0.02):
        with start(script, path) as process:
            process.stdout.readline()
            time.sleep(delay)
            process.kill()
            process.communicate()
        found = ew.load(path)
        assert same_graphs(found, older) or same_graphs(found, new)
    left = set(os.listdir(tmp_path)) - {"g"}
    assert all(name.startswith(".") and name.endswith(".part") for name in left)
    for name in left:  # as if a minute had passed
        os.utime(tmp_path / name, (0, 0))
    older.save(path)
    assert os.listdir(tmp_path) == ["g"] and same_graphs(ew.load(path), older)


def test_a_process_killed_while_saving_leaves_no_file_of_that_name(tmp_path):
    script = """
    import os, signal, sys, numpy as np, edgewise as ew
    graph = ew.Graph.from_edges(*np.random.default_rng(1).integers(0, 1000, (2, 300_000)))
    graph.save(sys.argv[1], progress=lambda done: os.kill(os.getpid(), signal.SIGKILL))
    """
    for older in (None, b"older"):
        if older:
            (tmp_path / "g").write_bytes(older)
        with start(script, tmp_path / "g") as process:
            process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL
        assert (tmp_path / "g").exists() == bool(older) and (
            older is None or (tmp_path / "g").read_bytes() == older
        )


def test_threads_that_use_a_file_at_once_check_it_once(saved, monkeypatch):
    path, graph = saved
    graph.save(path)
    loaded, calls, found = ew.load(path), [], []
    check = file_rows.check_below

    def counted(*arguments):
        calls.append(arguments)
        time.sleep(0.05)
        return check(*arguments)

    monkeypatch.setattr(file_rows, "check_below", counted)
    threads = [threading.Thread(target=lambda: found.append(loaded.targets)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1 and len(found) == 8 and all(each is found[0] for each in found)


# Reading and writing by the common doors.


def test_read_and_write_know_the_format(saved, tmp_path):
    from edgewise.io import write

    path, graph = saved
    other = path.rename(tmp_path / "no suffix")
    for how in ({}, {"format": "edgewise"}, {"memory_limit": 1, "progress": print}):
        assert same_graphs(ew.read(other, **how), graph)
    with pytest.raises(ParseError, match="which has no option directed, weighted"):
        ew.read(other, directed=True, weighted=False)
    with pytest.raises(ParseError, match="holds binary data"):
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
