"""Files of graphs: nothing in a file is trusted."""

import numpy as np
import pytest
from graph_files import Changed, drawn, read_all

import edgewise as ew
from edgewise.errors import (
    ParseError,
)
from edgewise.graph.file_format import BLOCK, PAGE


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
        ("features", 4, "uses what this version of edgewise does not know. Update edgewise"),
        ("features", 2, "does not have the attributes of edges that its header announces"),
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
